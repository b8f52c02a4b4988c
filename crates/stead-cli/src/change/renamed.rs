//! A node with a new name: one whose fleet lacks its `formerly`, so that all its data moves, and
//! one of RRD files, whose router refuses the new name.

use std::collections::{HashMap, HashSet};

use stead::map::Node;
use stead::plan::same_nodes;

use super::{Change, Show};

impl Change {
    /// Says which node of a fleet of RRD files gets a name by which its router does not know it. A
    /// node that is named back gets the name that the router knows.
    pub(super) fn renamed_in_rrd(&self) -> Option<String> {
        let old = self.old.as_ref().filter(|_| self.is_rrd())?;
        let now = same_nodes(old, &self.new).ok()?;
        let pairs = old.nodes().zip(now);
        let pairs = pairs.filter_map(|(before, now)| Some((before, self.new.node(now?).name())));
        let renamed =
            |(before, now): &(Node, &str)| before.name() != *now && before.formerly() != Some(*now);
        let (before, now) = pairs.into_iter().find(renamed)?;
        Some(format!(
            "{now} was {}: stead-rrd knows backends by their names, and refuses such a map; keep \
             the name, and change the attributes",
            before.name()
        ))
    }

    /// Asks about a node that is gone, and a new one that has its weight and its labels, whether
    /// they are one node with a new name. Of several new ones, it names one that has its
    /// attributes, too.
    pub fn renamed(&self, show: &Show) -> Option<String> {
        let (old, new) = (self.old.as_ref()?, &self.new);
        let lost = self.lost(&show.lost).ok()?;
        let mut come: HashMap<_, Vec<Node>> = HashMap::new();
        for node in new.nodes().filter(|node| !node.leaving()) {
            let before = node.formerly().and_then(|name| old.node_named(name));
            if before.is_none() && old.node_named(node.name()).is_none() {
                come.entry(kind(&node)).or_default().push(node);
            }
        }
        let former: HashSet<&str> = new.nodes().filter_map(|node| node.formerly()).collect();
        let is_gone = |node: &Node| {
            let name = node.name();
            let stays = new.node_named(name).filter(|node| !node.leaving());
            let is_lost = lost.iter().any(|lost| lost == name);
            !node.leaving() && !is_lost && !former.contains(name) && stays.is_none()
        };
        let (before, now) = old.nodes().filter(is_gone).find_map(|gone| {
            let alike = come.get(&kind(&gone))?;
            let same = |node: &&Node| node.attributes().eq(gone.attributes());
            let found = alike.iter().find(same).or(alike.first())?;
            Some((gone.name(), found.name()))
        })?;
        let told = match self.is_rrd() {
            true => "keep the name, by which stead-rrd knows it".to_owned(),
            false => format!("say formerly = {before:?}, and nothing moves"),
        };
        Some(format!(
            "{now} is new, and has the weight and the labels of {before}, which is gone: if it is \
             the same node, {told}"
        ))
    }
}

/// What two nodes have in common that may be one: the weight and the labels.
fn kind<'a>(node: &Node<'a>) -> (String, Vec<(&'a str, &'a str)>) {
    (node.weight().to_string(), node.labels().collect())
}
