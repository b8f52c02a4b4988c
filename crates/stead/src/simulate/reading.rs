//! Reads a scenario from JSON.
//!
//! serde_json checks the grammar. Nodes and steps are kept as raw text until they are processed, so
//! that an error message can name the line and the step, and no weight ever becomes a
//! floating-point number.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::scenario::{Scenario, ScenarioNode, Step};
use crate::error::{Error, Result};
use crate::weight::Weight;

impl Scenario {
    /// Reads a scenario from a file.
    ///
    /// Errors: [`Error::Io`] when the file cannot be read, and those of [`Scenario::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<Scenario> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| Error::io("read", path, source))?;
        let file = path.display().to_string();
        match std::str::from_utf8(&bytes) {
            Ok(text) => Scenario::parse(text, &file),
            Err(error) => {
                let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
                Err(Error::Fleet {
                    file,
                    line,
                    problem: "a byte is not UTF-8; save the file as UTF-8".into(),
                })
            }
        }
    }

    /// Reads a scenario from a text. `file` is the name for error messages.
    ///
    /// A node that a step adds must be new, and one that it removes or reweighs must exist before
    /// the step. No step may name a node twice. The rules of fleets (names, labels, a weight above
    /// 0 somewhere) are checked when the fleets are built. Errors: [`Error::Fleet`] with the line
    /// and the step.
    pub fn parse(text: &str, file: &str) -> Result<Scenario> {
        let reading = Reading { text, file };
        let raw: RawScenario = reading.read(text, "")?;
        if raw.replicas == 0 {
            return reading.wrong(1, "", "replicas is 0; write 1 to 255");
        }
        let mut there = BTreeSet::new();
        let mut nodes = Vec::with_capacity(raw.nodes.len());
        for part in &raw.nodes {
            let node = reading.node(part, "nodes")?;
            if !there.insert(node.name.clone()) {
                let problem = format!("node `{}` is listed twice; keep one", node.name);
                return reading.wrong(reading.line(part.get()), "nodes", problem);
            }
            nodes.push(node);
        }
        let mut steps = Vec::with_capacity(raw.steps.len());
        for (number, part) in (1..).zip(&raw.steps) {
            steps.push(step(reading, part, number, &mut there)?);
        }
        Ok(Scenario {
            name: raw.name,
            replicas: raw.replicas,
            spread: raw.spread,
            nodes,
            steps,
            file: file.to_owned(),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario<'a> {
    name: String,
    #[serde(default = "one")]
    replicas: u32,
    #[serde(default)]
    spread: Vec<String>,
    #[serde(borrow)]
    nodes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    steps: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNode<'a> {
    name: String,
    #[serde(borrow)]
    weight: Option<&'a RawValue>,
    #[serde(default)]
    labels: Pairs<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep<'a> {
    #[serde(borrow, default)]
    add: Vec<&'a RawValue>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(borrow, default)]
    reweight: Pairs<&'a RawValue>,
}

fn one() -> u32 {
    1
}

/// A JSON object whose keys must all differ, in the order of the text. (serde's maps silently keep
/// the last of two equal keys.)
struct Pairs<V>(Vec<(String, V)>);

impl<V> Default for Pairs<V> {
    fn default() -> Pairs<V> {
        Pairs(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Pairs<V>, D::Error> {
        struct Entries<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
            type Value = Pairs<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Pairs<V>, A::Error> {
                let (mut seen, mut pairs) = (BTreeSet::new(), Vec::new());
                while let Some((key, value)) = map.next_entry::<String, V>()? {
                    if !seen.insert(key.clone()) {
                        return Err(serde::de::Error::custom(format!("duplicate field `{key}`")));
                    }
                    pairs.push((key, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}

/// The text that is being read and its name, for error messages.
#[derive(Clone, Copy)]
struct Reading<'a> {
    text: &'a str,
    file: &'a str,
}

impl<'a> Reading<'a> {
    /// The line at which a part of the text starts.
    fn line(&self, part: &str) -> usize {
        let at = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        1 + self
            .text
            .bytes()
            .take(at)
            .filter(|byte| *byte == b'\n')
            .count()
    }

    fn wrong<T>(&self, line: usize, place: &str, problem: impl fmt::Display) -> Result<T> {
        let colon = if place.is_empty() { "" } else { ": " };
        Err(Error::Fleet {
            file: self.file.to_owned(),
            line,
            problem: format!("{place}{colon}{problem}"),
        })
    }

    /// Reads a part of the text that serde_json has accepted as JSON, or the whole text.
    fn read<T: Deserialize<'a>>(&self, part: &'a str, place: &str) -> Result<T> {
        serde_json::from_str(part).or_else(|error| {
            let line = self.line(part) + error.line().saturating_sub(1);
            self.wrong(line, place, words(&error))
        })
    }

    fn weight(&self, raw: &RawValue, place: &str, name: &str) -> Result<Weight> {
        let text = raw.get();
        let digits = text
            .strip_prefix('"')
            .and_then(|t| t.strip_suffix('"'))
            .unwrap_or(text);
        Weight::parse(digits).or_else(|why| {
            self.wrong(
                self.line(text),
                place,
                format!("node `{name}`: weight {text} {why}"),
            )
        })
    }

    fn node(&self, raw: &'a RawValue, place: &str) -> Result<ScenarioNode> {
        let node: RawNode = self.read(raw.get(), place)?;
        let weight = node
            .weight
            .map_or(Ok(Weight::ONE), |raw| self.weight(raw, place, &node.name))?;
        Ok(ScenarioNode {
            name: node.name,
            weight,
            labels: node.labels.0,
        })
    }
}

/// The problem and its remedy, in the words of this project.
fn words(error: &serde_json::Error) -> String {
    let all = error.to_string();
    let what = all.split(" at line ").next().unwrap_or_default();
    if let Some((key, known)) = what
        .strip_prefix("unknown field ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        let known = known.trim_start_matches("one of ").replace('`', "");
        return format!("unknown key {key}; known keys: {known}");
    }
    if let Some(key) = what.strip_prefix("missing field ") {
        return format!("required key {key} is missing; add it, as docs/simulate.md shows");
    }
    if let Some(key) = what.strip_prefix("duplicate field ") {
        return format!("key {key} is given twice; keep one");
    }
    if error.is_data() {
        return format!("{what}; docs/simulate.md shows the shape");
    }
    format!("not valid JSON: {what}; check the commas, brackets and quotes here")
}

/// Reads a step and applies it to `there`, the names of the present nodes.
fn step<'a>(
    reading: Reading<'a>,
    part: &'a RawValue,
    number: usize,
    there: &mut BTreeSet<String>,
) -> Result<Step> {
    let place = format!("step {number}");
    let line = reading.line(part.get());
    // the parts must borrow from the whole text, so that their lines are known
    let raw: RawStep = reading.read(part.get(), &place)?;
    let mut touched = BTreeSet::new();
    let mut there_before = |name: &str| {
        if !there.contains(name) {
            return Err(format!(
                "node `{name}` is not in the fleet before this step; check the name"
            ));
        }
        touched
            .insert(name.to_owned())
            .then_some(())
            .ok_or_else(|| format!("node `{name}` is named twice; keep one"))
    };
    let mut reweight = Vec::with_capacity(raw.reweight.0.len());
    for name in &raw.remove {
        there_before(name).or_else(|problem| reading.wrong(line, &place, problem))?;
    }
    for (name, weight) in &raw.reweight.0 {
        there_before(name)
            .or_else(|problem| reading.wrong(reading.line(weight.get()), &place, problem))?;
        reweight.push((name.clone(), reading.weight(weight, &place, name)?));
    }
    let mut add = Vec::with_capacity(raw.add.len());
    let mut new = BTreeSet::new();
    for part in &raw.add {
        let node = reading.node(part, &place)?;
        let known = if there.contains(&node.name) {
            Some("is in the fleet already; choose another name, or reweight it")
        } else {
            (!new.insert(node.name.clone())).then_some("is added twice; keep one")
        };
        if let Some(known) = known {
            return reading.wrong(
                reading.line(part.get()),
                &place,
                format!("node `{}` {known}", node.name),
            );
        }
        add.push(node);
    }
    raw.remove.iter().for_each(|name| {
        there.remove(name);
    });
    there.extend(new);
    Ok(Step {
        add,
        remove: raw.remove,
        reweight,
        line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_scenario_is_read_back() {
        let text = r#"{"name": "a \"b\"", "replicas": 3, "spread": ["zone", "rack"],
            "nodes": [{"name": "n1", "weight": 1.5, "labels": {"zone": "a", "rack": "a1"}}, {"name": "n2", "weight": "0.000001"}],
            "steps": [{}, {"add": [{"name": "n3"}], "remove": ["n1"], "reweight": {"n2": 2.50}},
              {"add": [{"name": "n1"}]}]}"#;
        let scenario = Scenario::parse(text, "s.json").unwrap();
        assert_eq!(
            (
                scenario.replicas,
                scenario.nodes.len(),
                scenario.steps.len()
            ),
            (3, 2, 3)
        );
        assert_eq!(
            scenario.nodes[0].weight,
            Weight::from_millionths(1_500_000).unwrap()
        );
        assert_eq!(
            scenario.nodes[1].weight,
            Weight::from_millionths(1).unwrap()
        );
        assert_eq!(
            scenario.nodes[0].labels,
            [
                ("zone".to_owned(), "a".to_owned()),
                ("rack".to_owned(), "a1".to_owned())
            ]
        );
        assert_eq!(
            scenario.steps[1].reweight,
            [("n2".to_owned(), Weight::from_millionths(2_500_000).unwrap())]
        );
        assert_eq!(
            scenario.steps.iter().map(|s| s.line).collect::<Vec<_>>(),
            [3, 3, 4]
        );
        let json = scenario.to_json();
        let mut again = Scenario::parse(&json, "s.json").unwrap();
        assert_eq!(again.to_json(), json);
        again
            .steps
            .iter_mut()
            .zip(&scenario.steps)
            .for_each(|(new, old)| new.line = old.line);
        assert_eq!(again, scenario);
    }

    #[test]
    fn a_mistake_is_reported_with_its_line_and_its_step() {
        let with = |steps: &str| {
            format!("{{\"name\": \"s\",\n\"nodes\": [{{\"name\": \"a\"}}, {{\"name\": \"b\"}}],\n\"steps\": [{{}},\n{steps}]}}")
        };
        for (steps, words) in [
            (
                r#"{"ad": []}"#,
                "s.json:4: step 2: unknown key `ad`; known keys: add, remove, reweight",
            ),
            (
                "{\"add\": [\n{\"name\": \"c\", \"wieght\": 2}]}",
                "s.json:5: step 2: unknown key `wieght`; known keys: name, weight, labels",
            ),
            (
                r#"{"add": [{"weight": 2}]}"#,
                "s.json:4: step 2: required key `name` is missing; add it",
            ),
            (
                r#"{"add": [{"name": "a"}]}"#,
                "s.json:4: step 2: node `a` is in the fleet already; ",
            ),
            (
                r#"{"add": [{"name": "c"}, {"name": "c"}]}"#,
                "s.json:4: step 2: node `c` is added twice; keep one",
            ),
            (
                r#"{"remove": ["c"]}"#,
                "s.json:4: step 2: node `c` is not in the fleet before this step; ",
            ),
            (
                r#"{"remove": ["a", "a"]}"#,
                "s.json:4: step 2: node `a` is named twice; keep one",
            ),
            (
                r#"{"remove": ["a"], "reweight": {"a": 2}}"#,
                "s.json:4: step 2: node `a` is named twice; keep one",
            ),
            (
                "{\"reweight\": {\"a\": 2},\n\"remove\": \"b\"}",
                "s.json:5: step 2: invalid type: string",
            ),
            (
                "{\"reweight\": {\"a\": 2,\n\"c\": 2}}",
                "s.json:5: step 2: node `c` is not in the fleet",
            ),
            (
                r#"{"reweight": {"a": 2, "a": 3}}"#,
                "s.json:4: step 2: key `a` is given twice; keep one",
            ),
            (
                r#"{"add": [{"name": "c", "labels": {"z": "1", "z": "1"}}]}"#,
                "s.json:4: step 2: key `z` is given twice; keep one",
            ),
            (
                r#"{"add": [{"name": "c"}]}, {"add": [{"name": "c"}]}"#,
                "s.json:4: step 3: node `c` is in the fleet already",
            ),
            (
                r#"{"remove": ["a"]}, {"reweight": {"a": 1}}"#,
                "s.json:4: step 3: node `a` is not in the fleet",
            ),
            (
                r#"{"reweight": {"a": 1.0000001}}"#,
                "s.json:4: step 2: node `a`: weight 1.0000001 has 7 places; ",
            ),
            (
                r#"{"reweight": {"a": -1}}"#,
                "s.json:4: step 2: node `a`: weight -1 has a sign; ",
            ),
            (
                r#"{"reweight": {"a": 1e3}}"#,
                "s.json:4: step 2: node `a`: weight 1e3 has an exponent; ",
            ),
            (
                r#"{"add": [{"name": "c", "weight": true}]}"#,
                "s.json:4: step 2: node `c`: weight true is not a plain decimal number; ",
            ),
            ("{", "s.json:4: not valid JSON: "),
        ] {
            let error = Scenario::parse(&with(steps), "s.json")
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(words), "{steps}: {error}");
            assert!(!error.contains('\n') && error.contains(';'), "{error}");
        }
        for (text, words) in [
            ("", "s.json:1: not valid JSON: "),
            ("[]", "s.json:1: invalid "),
            (
                r#"{"nodes": []}"#,
                "s.json:1: required key `name` is missing",
            ),
            (
                r#"{"name": "s"}"#,
                "s.json:1: required key `nodes` is missing",
            ),
            (
                r#"{"name": "s", "replicas": 0, "nodes": []}"#,
                "s.json:1: replicas is 0; write 1 to 255",
            ),
            (
                r#"{"name": "s", "replicas": 1.5, "nodes": []}"#,
                "s.json:1: invalid type: ",
            ),
            (
                r#"{"name": "s", "node": []}"#,
                "s.json:1: unknown key `node`; known keys: name, replicas, spread, nodes, steps",
            ),
            (
                "{\"name\": \"s\", \"nodes\": [{\"name\": \"a\"},\n{\"name\": \"a\"}]}",
                "s.json:2: nodes: node `a` is listed twice",
            ),
            (
                r#"{"name": "s", "nodes": [{"name": "a", "weight": "x"}]}"#,
                "s.json:1: nodes: node `a`: weight \"x\" is not a plain",
            ),
        ] {
            let error = Scenario::parse(text, "s.json").unwrap_err().to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }
}
