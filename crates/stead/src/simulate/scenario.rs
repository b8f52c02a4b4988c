//! A scenario: a first fleet and the steps that change it. This file also writes it as JSON.

use crate::weight::Weight;

/// A first fleet and the steps that change it. It satisfies the rules of [`Scenario::parse`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    /// The name of the scenario, which is also the name of its fleets.
    pub name: String,
    /// The number of replicas, R: how many nodes hold each point.
    pub replicas: u32,
    /// The labels over which copies are kept apart, outermost first.
    pub spread: Vec<String>,
    /// The nodes of the first fleet.
    pub nodes: Vec<ScenarioNode>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The file, or the name of the built-in scenario. Error messages name it.
    pub file: String,
}

/// A node as a scenario lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioNode {
    /// The name of the node.
    pub name: String,
    /// The weight of the node.
    pub weight: Weight,
    /// Where the node stands: pairs of a label and its value.
    pub labels: Vec<(String, String)>,
}

/// One change of the fleet. All parts of a step take effect at once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// The nodes that are added.
    pub add: Vec<ScenarioNode>,
    /// The names of the nodes that are removed.
    pub remove: Vec<String>,
    /// The nodes that stay and get another weight.
    pub reweight: Vec<(String, Weight)>,
    /// The line at which the step starts, counted from 1.
    pub line: usize,
}

impl Scenario {
    /// The number of nodes of the largest fleet.
    pub fn largest(&self) -> usize {
        let mut nodes = self.nodes.len();
        let after = self.steps.iter().map(|step| {
            nodes = (nodes + step.add.len()).saturating_sub(step.remove.len());
            nodes
        });
        after.max().unwrap_or(0).max(self.nodes.len())
    }

    /// Writes the scenario as JSON that [`Scenario::parse`] reads: one node a line, one step a
    /// line, with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut json = format!("{{\n  \"name\": {},\n", text(&self.name));
        if self.replicas != 1 {
            json += &format!("  \"replicas\": {},\n", self.replicas);
        }
        if !self.spread.is_empty() {
            let labels: Vec<String> = self.spread.iter().map(|label| text(label)).collect();
            json += &format!("  \"spread\": [{}],\n", labels.join(", "));
        }
        let nodes: Vec<String> = self.nodes.iter().map(ScenarioNode::to_json).collect();
        let steps: Vec<String> = self.steps.iter().map(Step::to_json).collect();
        let lines = |list: &[String]| {
            if list.is_empty() {
                "[]".to_owned()
            } else {
                format!("[\n    {}\n  ]", list.join(",\n    "))
            }
        };
        json + &format!(
            "  \"nodes\": {},\n  \"steps\": {}\n}}\n",
            lines(&nodes),
            lines(&steps)
        )
    }
}

impl ScenarioNode {
    fn to_json(&self) -> String {
        let mut json = format!("{{\"name\": {}", text(&self.name));
        if self.weight != Weight::ONE {
            json += &format!(", \"weight\": {}", self.weight);
        }
        if !self.labels.is_empty() {
            let labels: Vec<String> = self
                .labels
                .iter()
                .map(|(label, value)| format!("{}: {}", text(label), text(value)))
                .collect();
            json += &format!(", \"labels\": {{{}}}", labels.join(", "));
        }
        json + "}"
    }
}

impl Step {
    fn to_json(&self) -> String {
        let mut parts = Vec::new();
        if !self.add.is_empty() {
            let nodes: Vec<String> = self.add.iter().map(ScenarioNode::to_json).collect();
            parts.push(format!("\"add\": [{}]", nodes.join(", ")));
        }
        if !self.remove.is_empty() {
            let names: Vec<String> = self.remove.iter().map(|name| text(name)).collect();
            parts.push(format!("\"remove\": [{}]", names.join(", ")));
        }
        if !self.reweight.is_empty() {
            let weights: Vec<String> = self
                .reweight
                .iter()
                .map(|(name, weight)| format!("{}: {weight}", text(name)))
                .collect();
            parts.push(format!("\"reweight\": {{{}}}", weights.join(", ")));
        }
        format!("{{{}}}", parts.join(", "))
    }
}

/// A JSON string.
pub(super) fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
