//! The fleets of a scenario: the first one, and the one after each step. They are built through the
//! public reader of fleet texts, so every rule of docs/fleet.md holds for each of them.

use std::collections::BTreeMap;

use super::scenario::{text, Scenario, ScenarioNode, Step};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::weight::Weight;

/// Where a node stands: pairs of a label and its value.
type Labels = Vec<(String, String)>;

/// The fleets of a scenario, one after the other. Each is built when it is asked for, since a
/// thousand fleets of a thousand nodes are large.
pub struct History<'a> {
    scenario: &'a Scenario,
    nodes: BTreeMap<String, (Weight, Labels)>,
    /// The number of fleets that were yielded so far.
    next: usize,
}

impl Scenario {
    /// Yields the first fleet, and then the fleet after each step.
    ///
    /// Errors of an item: those of [`Fleet::parse`], with the line and the number of the step.
    pub fn fleets(&self) -> History<'_> {
        History {
            scenario: self,
            nodes: BTreeMap::new(),
            next: 0,
        }
    }

    /// Changes an error of fleet `number` so that it names the place in the scenario and not the
    /// text that was generated from it.
    pub(super) fn placed(&self, error: Error, number: usize) -> Error {
        let file = self.file.clone();
        let line = number
            .checked_sub(1)
            .and_then(|i| self.steps.get(i))
            .map_or(1, |step| step.line);
        let place = if number == 0 {
            "the first fleet".to_owned()
        } else {
            format!("step {number}")
        };
        // a problem of a whole fleet starts with the name of the file
        let bare = |text: &str| {
            text.strip_prefix(&format!("{file}: "))
                .unwrap_or(text)
                .to_owned()
        };
        match error {
            Error::Fleet { problem, .. } => Error::Fleet {
                problem: format!("{place}: {problem}"),
                file,
                line,
            },
            Error::Impossible { problem } => Error::Impossible {
                problem: format!("{file}:{line}: {place}: {}", bare(&problem)),
            },
            other => other,
        }
    }
}

impl Iterator for History<'_> {
    type Item = Result<Fleet>;

    fn next(&mut self) -> Option<Result<Fleet>> {
        let number = self.next;
        match number.checked_sub(1) {
            None => self.add(&self.scenario.nodes),
            Some(i) => self.take(self.scenario.steps.get(i)?),
        }
        self.next += 1;
        Some(
            Fleet::parse(&self.text(), &self.scenario.file)
                .map_err(|error| self.scenario.placed(error, number)),
        )
    }
}

impl History<'_> {
    fn add(&mut self, nodes: &[ScenarioNode]) {
        self.nodes.extend(
            nodes
                .iter()
                .map(|node| (node.name.clone(), (node.weight, node.labels.clone()))),
        );
    }

    fn take(&mut self, step: &Step) {
        for name in &step.remove {
            self.nodes.remove(name);
        }
        for (name, weight) in &step.reweight {
            if let Some(node) = self.nodes.get_mut(name) {
                node.0 = *weight;
            }
        }
        self.add(&step.add);
    }

    /// The fleet as JSON.
    fn text(&self) -> String {
        let pair = |(label, value): &(String, String)| format!("{}:{}", text(label), text(value));
        let node = |(name, (weight, labels)): (&String, &(Weight, Labels))| {
            let labels: Vec<String> = labels.iter().map(pair).collect();
            format!(
                "{{\"name\":{},\"weight\":{weight},\"labels\":{{{}}}}}",
                text(name),
                labels.join(",")
            )
        };
        let nodes: Vec<String> = self.nodes.iter().map(node).collect();
        let spread: Vec<String> = self
            .scenario
            .spread
            .iter()
            .map(|label| text(label))
            .collect();
        let (name, replicas) = (text(&self.scenario.name), self.scenario.replicas);
        format!(
            "{{\"name\":{name},\"replicas\":{replicas},\"spread\":[{}],\"node\":[\n{}]}}",
            spread.join(","),
            nodes.join(",\n")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fleets_follow_the_steps() {
        let text = r#"{"name": "s", "nodes": [{"name": "a", "labels": {"zone": "z"}}, {"name": "b"}],
            "steps": [{"add": [{"name": "c", "weight": 2}], "remove": ["b"]}, {"reweight": {"a": 0.5}}]}"#;
        let scenario = Scenario::parse(text, "s.json").unwrap();
        let fleets: Vec<Fleet> = scenario.fleets().collect::<Result<_>>().unwrap();
        let nodes = |fleet: &Fleet| {
            fleet
                .nodes
                .iter()
                .map(|n| format!("{} {}", n.name, n.weight))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            fleets.iter().map(nodes).collect::<Vec<_>>(),
            [vec!["a 1", "b 1"], vec!["a 1", "c 2"], vec!["a 0.5", "c 2"]]
        );
        assert_eq!(
            (
                fleets[2].nodes[0].labels["zone"].as_str(),
                fleets[2].name.as_str()
            ),
            ("z", "s")
        );
    }

    #[test]
    fn the_rules_of_fleets_hold_at_every_step() {
        let error = |text: &str| {
            let scenario = Scenario::parse(text, "s.json").unwrap();
            let error = scenario
                .fleets()
                .find_map(Result::err)
                .expect("a mistake")
                .to_string();
            error
        };
        for (text, words) in [
            (r#"{"name": "s", "nodes": []}"#, "s.json:1: the first fleet: the fleet has no node; "),
            (r#"{"name": "s", "nodes": [{"name": "a,b"}]}"#, "s.json:1: the first fleet: node name \
                `a,b` has a comma; "),
            ("{\"name\": \"s\", \"nodes\": [{\"name\": \"a\"}],\n\"steps\": [{\"reweight\": {\"a\": 0}}]}", "s.json:2: step 1: no node or policy has a weight"),
            ("{\"name\": \"s\", \"nodes\": [{\"name\": \"a\"}],\n\"steps\": [{}, {\"add\": [{\"name\": \"\"}]}]}", "s.json:2: step 2: node name is empty"),
        ] {
            assert!(error(text).starts_with(words), "{text}: {}", error(text));
        }
    }
}
