//! The warnings of a report: what a person has to know before the change is made, the gravest
//! first. Each has a code that never changes, for programs, and a sentence.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::alike::alike;
use super::amount::{part, size};
use super::holders::Words;
use super::losses::{DomainName, Loss};
use super::slips::{slips, slips_of, Slips};
use super::texts::{count, listed, Texts};
use crate::map::{Map, Pin};
use crate::plan::same_nodes;
use crate::policy::NodeId;
use crate::verdict::Problem;
use crate::weight::Weight;

/// The number of slices that a step must add before it is warned of; fewer make a small file.
const MANY_SLICES: usize = 1_000;

/// One warning.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Warning {
    /// What kind it is; docs/cli.md lists the codes.
    pub code: &'static str,
    /// The warning in words.
    pub text: String,
}

/// What warnings are made from.
pub(super) struct Facts<'f, 'a> {
    pub old: Option<&'a Map>,
    pub new: &'a Map,
    pub words: &'f Words<'a, 'f>,
    /// what it costs to lose each domain, if there were no pins
    pub base_losses: &'f [Loss],
    /// the largest number of copies of one point in an outermost domain of the old map, if
    /// it had no pins
    pub old_most_copies: Option<usize>,
    pub gone: &'f [DomainName<'a>],
    /// the points of copies that are dropped
    pub dropped: u128,
    /// the points of which every copy was on a dead node
    pub lost_points: u128,
    /// the nodes of the old map that are dead
    pub dead: &'f HashSet<NodeId>,
}

/// Gathers the warnings.
pub(super) fn warnings(facts: &Facts) -> Vec<Warning> {
    let slips = facts.slips();
    let lists = [
        ("no-survivor", facts.without_survivor()),
        ("drop-copies", facts.drop_copies()),
        ("lose-domain", facts.lose_domains()),
        ("no-targets", facts.without_targets()),
        ("one-domain", facts.one_domain()),
        ("pin-in-one-domain", facts.pins_in_one_domain()),
        ("spread", facts.spread_less()),
        ("lost-node", facts.lost_nodes()),
        ("drained-node", facts.drained_nodes()),
        ("attribute-taken", slips.taken.in_all("more node")),
        ("attribute-shared", slips.shared.in_all("more value")),
        ("attribute-missing", slips.missing.in_all("more attribute")),
        ("weight-alone", slips.weight.in_all("more node")),
        ("labels-alike", facts.labels_alike()),
        ("name-spaces", facts.names_with_spaces()),
        ("names-alike", facts.names_alike()),
        ("few-cells", facts.few_cells()),
        ("many-slices", facts.many_slices()),
    ];
    let warning = |code: &'static str| move |text: String| Warning { code, text };
    let all = lists
        .into_iter()
        .flat_map(|(code, texts)| texts.into_iter().map(warning(code)));
    all.collect()
}

impl Facts<'_, '_> {
    fn replicas(&self) -> u32 {
        self.new.replicas()
    }

    /// The points of which every copy was on a dead node.
    fn without_survivor(&self) -> Vec<String> {
        match self.lost_points {
            0 => Vec::new(),
            points => vec![format!(
                "{} of the keys have no copy left: every node that held them is lost",
                part(points, 1)
            )],
        }
    }

    fn drop_copies(&self) -> Vec<String> {
        let Some(old) = self.old.filter(|_| self.dropped > 0) else {
            return Vec::new();
        };
        let all = old.replicas().max(self.replicas());
        let share = part(self.dropped, all);
        vec![match (old.replicas(), self.replicas()) {
            (was, is) if is < was => {
                let keeps = match is {
                    1 => "1 copy".to_owned(),
                    is => format!("{is} copies"),
                };
                format!("drops {share} of all copies: a key keeps {keeps} of {was}")
            }
            _ => format!("drops {share} of all copies: pins or policies have fewer nodes than held these keys"),
        }]
    }

    fn lose_domains(&self) -> Vec<String> {
        // a domain inside one that is gone is gone with it
        let gone: HashSet<&[&str]> = self.gone.iter().map(|one| one.path.as_slice()).collect();
        let is_inner = |domain: &DomainName| {
            let around = |depth: usize| domain.path.get(..depth);
            (1..domain.path.len())
                .any(|depth| around(depth).is_some_and(|path| gone.contains(path)))
        };
        let mut levels: BTreeMap<usize, Vec<&DomainName>> = BTreeMap::new();
        for domain in self.gone.iter().filter(|domain| !is_inner(domain)) {
            levels.entry(domain.path.len()).or_default().push(domain);
        }
        let told = |domains: Vec<&DomainName>| {
            let names = domains.iter().map(|domain| domain.path.join("/")).collect();
            let nodes: usize = domains.iter().map(|domain| domain.nodes).sum();
            let level = domains.first().map_or("domain", |domain| domain.level);
            let whose = match nodes {
                1 => "its only node can hold no copies any more".to_owned(),
                _ => format!("none of its {nodes} nodes can hold copies any more"),
            };
            format!("loses {level} {}: {whose}", listed(names))
        };
        levels.into_values().map(told).collect()
    }

    fn without_targets(&self) -> Vec<String> {
        let verdict = self.words.verdict;
        let problems = verdict.violations.listed.iter().map(|one| &one.problem);
        let few = problems.filter(|problem| matches!(problem, Problem::TooFew { .. }));
        few.map(Problem::to_string).collect()
    }

    /// The outermost domain whose loss costs more than one copy of a key. Said when it becomes so,
    /// and not again with every change of such a fleet.
    fn one_domain(&self) -> Vec<String> {
        let all = self
            .words
            .verdict
            .domains
            .iter()
            .zip(self.base_losses)
            .enumerate();
        let outer: Vec<_> = all.filter(|(_, (domain, _))| domain.level == 1).collect();
        let worst = outer.iter().max_by_key(|(number, (_, loss))| {
            let points: u128 = loss.points.parse().unwrap_or(0);
            (loss.copies, points, std::cmp::Reverse(*number))
        });
        let known = self.old_most_copies.unwrap_or(0).max(1);
        let Some((number, (_, loss))) = worst.filter(|(_, (_, loss))| loss.copies > known) else {
            return Vec::new();
        };
        let count = |text: &str| text.parse::<u128>().unwrap_or(0);
        let name = self.words.name(*number);
        let holding = outer
            .iter()
            .filter(|(_, (domain, _))| domain.can_hold > 0)
            .count();
        let level = self.words.spread.first().unwrap_or(&"domain");
        let lost = match count(&loss.last_points) {
            0 => String::new(),
            points => format!(", and every copy of {}", part(points, 1)),
        };
        vec![format!(
            "losing {name} costs {} copies of {} for {} of the keys{lost}: {}",
            loss.copies,
            self.replicas(),
            part(count(&loss.points), 1),
            match holding {
                1 => format!("there is only one {level}"),
                _ if holding < self.replicas() as usize => format!(
                    "there are only {holding} {level}s for {} copies",
                    self.replicas()
                ),
                _ => format!("the other {level}s have too few nodes"),
            }
        )]
    }

    /// Pins of several nodes that are all in one outermost domain, if there are others.
    fn pins_in_one_domain(&self) -> Vec<String> {
        let inside = |map: &Map| -> Vec<String> {
            let Some(label) = map.spread().next() else {
                return Vec::new();
            };
            let of = |node: NodeId| map.node(node).label(label).unwrap_or("").to_owned();
            let one = |pin: Pin| {
                let nodes = map.policy(pin.slice.policy).distinct();
                let mut domains = nodes.iter().map(|node| of(*node));
                let first = domains.next()?;
                (nodes.len() > 1 && domains.all(|domain| domain == first)).then_some(first)
            };
            map.pins().filter_map(one).collect()
        };
        let outer = self.words.verdict.domains.iter();
        let several = outer
            .filter(|domain| domain.level == 1 && domain.can_hold > 0)
            .count();
        let (before, now) = (
            self.old.map_or(0, |old| inside(old).len()),
            inside(self.new),
        );
        if several < 2 || now.len() <= before {
            return Vec::new();
        }
        let level = self.words.spread.first().unwrap_or(&"domain");
        let domain = now.first().map_or("", String::as_str);
        vec![match now.len() {
            1 => format!("all nodes of a pin are in {level} {domain}: losing it costs every copy"),
            pins => format!(
                "{pins} pins have all their nodes in one {level}, such as {domain}: losing it costs \
                 every copy"
            ),
        }]
    }

    /// The labels over which copies are not kept apart any more.
    fn spread_less(&self) -> Vec<String> {
        let Some(old) = self
            .old
            .filter(|old| old.replicas() > 1 && self.replicas() > 1)
        else {
            return Vec::new();
        };
        let gone: Vec<String> = old
            .spread()
            .filter(|label| !self.words.spread.contains(label))
            .map(str::to_owned)
            .collect();
        match gone.is_empty() {
            true => Vec::new(),
            false => vec![format!(
                "copies are no longer kept apart by {}",
                listed(gone)
            )],
        }
    }

    /// The dead nodes that the new map still uses.
    fn lost_nodes(&self) -> Vec<String> {
        let Some(old) = self.old.filter(|_| !self.dead.is_empty()) else {
            return Vec::new();
        };
        let same = same_nodes(old, self.new).unwrap_or_default();
        let kept = |dead: &NodeId| {
            let now = same.get(dead.index()).copied().flatten()?;
            let holder = self.words.verdict.nodes.get(now.index())?;
            let points = holder.now.points + holder.pinned_points;
            (points > 0).then(|| {
                format!(
                    "{} is lost, and the fleet still gives it {} of all copies: remove it from \
                     the fleet",
                    holder.name,
                    part(points, self.replicas())
                )
            })
        };
        let mut dead: Vec<&NodeId> = self.dead.iter().collect();
        dead.sort_unstable();
        dead.into_iter().filter_map(kept).collect()
    }

    /// Nodes without a weight that pins or policies still use.
    fn drained_nodes(&self) -> Vec<String> {
        let drained = |node: NodeId| self.new.node(node).weight() == Weight::ZERO;
        let mut pins: BTreeMap<NodeId, usize> = BTreeMap::new();
        for pin in self.new.pins() {
            for node in self.new.policy(pin.slice.policy).distinct() {
                if drained(node) {
                    *pins.entry(node).or_default() += 1;
                }
            }
        }
        let told = |(node, pins): (NodeId, usize)| {
            let name = self.new.node(node).name();
            let pins = count(pins, "pin");
            format!("{name} has weight 0 and still answers for {pins}")
        };
        let mut texts = Texts::default();
        pins.into_iter().for_each(|pin| texts.add(|| told(pin)));
        texts.in_all("more node")
    }

    /// Labels that look alike, of which one is new: side by side they make two domains.
    fn labels_alike(&self) -> Vec<String> {
        let domains = &self.words.verdict.domains;
        let mut siblings: BTreeMap<usize, BTreeMap<&str, usize>> = BTreeMap::new();
        for domain in domains {
            if let Some(parent) = domain.parent.filter(|_| domain.can_hold > 0) {
                let values = siblings.entry(parent).or_default();
                values.insert(domain.name, domain.can_hold);
            }
        }
        let known = self.old.map(values_of);
        let is_new = |label: &str, value: &str| {
            let known = known.as_ref();
            known.is_none_or(|known| !known.contains(&(label, value)))
        };
        let mut texts = Texts::default();
        for (parent, values) in &siblings {
            let level = domains.get(*parent).map_or(0, |parent| parent.level);
            let label = self.words.spread.get(level).copied().unwrap_or("domain");
            for (one, other) in alike(values) {
                if !is_new(label, one) && !is_new(label, other) {
                    continue;
                }
                let nodes = |value| count(values.get(value).copied().unwrap_or(0), "node");
                texts.add(|| {
                    format!(
                        "{label} {one:?} ({}) and {label} {other:?} ({}) are two domains and \
                         look alike: is one a slip?",
                        nodes(one),
                        nodes(other)
                    )
                });
            }
        }
        texts.in_all("more pair")
    }

    /// New nodes whose names begin or end with white space, which nobody sees.
    fn names_with_spaces(&self) -> Vec<String> {
        let mut texts = Texts::default();
        let nodes = self.new.nodes().map(|node| node.name());
        for name in nodes.filter(|name| name.trim() != *name && self.is_new(name)) {
            texts.add(|| {
                format!("the name of node {name:?} begins or ends with white space: is it a slip?")
            });
        }
        texts.in_all("more node")
    }

    /// Nodes whose names differ only in upper and lower case or in white space, of which one is
    /// new.
    fn names_alike(&self) -> Vec<String> {
        let mut known: HashMap<String, &str> = HashMap::new();
        let mut texts = Texts::default();
        for name in self.new.nodes().map(|node| node.name()) {
            let letters = name.chars().filter(|c| !c.is_whitespace());
            let meaning: String = letters.flat_map(char::to_lowercase).collect();
            match known.get(&meaning) {
                Some(other) if self.is_new(name) || self.is_new(other) => texts.add(|| {
                    format!("{other:?} and {name:?} are two nodes and look alike: is one a slip?")
                }),
                Some(_) => {}
                None => {
                    known.insert(meaning, name);
                }
            }
        }
        texts.in_all("more pair")
    }

    /// Whether the old map, if there is one, had no node of this name.
    fn is_new(&self, name: &str) -> bool {
        self.old.is_none_or(|old| old.node_named(name).is_none())
    }

    /// Attributes and weights that were forgotten, copied or exchanged.
    fn slips(&self) -> Slips {
        let Some(old) = self.old else {
            return slips_of(self.new);
        };
        match same_nodes(old, self.new) {
            Ok(same) => slips(old, self.new, &same, self.dead),
            Err(_) => Slips::default(),
        }
    }

    /// Nodes that can hold nothing, since an adopted rule has fewer cells than there are nodes.
    /// Said with each change that adds nodes to such a map.
    fn few_cells(&self) -> Vec<String> {
        let nodes = |map: &Map| map.nodes().filter(|n| n.weight() > Weight::ZERO).count();
        let (now, cells) = (nodes(self.new), self.new.cells().count());
        let before = self.old.map_or(0, nodes);
        if now <= before || now as u128 <= cells {
            return Vec::new();
        }
        vec![format!(
            "{} for {}: some of them get no key, as cells are never divided; adopt the rule again \
             with more cells (docs/rings.md)",
            count(cells as usize, "cell"),
            count(now, "node")
        )]
    }

    /// A step that adds more than a tenth to the slices.
    fn many_slices(&self) -> Vec<String> {
        let Some(old) = self.old else {
            return Vec::new();
        };
        let (before, after) = (old.base_count(), self.new.base_count());
        let added = after.saturating_sub(before);
        if added < MANY_SLICES || added * 10 <= before {
            return Vec::new();
        }
        vec![format!(
            "adds {added} slices to {before}, {} % more: the file grows from {} to {}; \
             max_slices in the fleet limits them{}",
            added * 100 / before.max(1),
            size(old.bytes().len()),
            size(self.new.bytes().len()),
            match self.new.tolerance() {
                None => ", and a tolerance makes fewer",
                Some(_) => "",
            }
        )]
    }
}

/// The labels of the nodes of a map that can hold points.
fn values_of(map: &Map) -> HashSet<(&str, &str)> {
    let nodes = map.nodes().filter(|node| node.weight() > Weight::ZERO);
    nodes.flat_map(|node| node.labels()).collect()
}
