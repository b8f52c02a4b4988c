//! Compose: turns pieces into the nodes, policies and slices of a map.

use std::collections::{BTreeMap, BTreeSet};

use super::holder::HolderId;
use super::piece::Piece;
use super::roster::{Holder, Roster};
use super::sets::{SetId, Sets};
use super::table::Table;
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::fleet::{self, Fleet, LaidPin, PinTo, Pinned};
use crate::format::{FirstPart, NodeLists, NodePart, PinPart, PolicyPart, TargetPart};
use crate::hash::{Hash, KeyRule};
use crate::map;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId, NODES_MAX};
use crate::slice::{turned, under_firsts, with_ends, First, Slice};
use crate::weight::Weight;

/// The parts of a map besides its header.
pub(super) struct Composed {
    pub nodes: Vec<NodePart>,
    /// The named policies.
    pub policies: Vec<PolicyPart>,
    /// The nodes of the unnamed ones.
    pub unnamed: NodeLists,
    pub base: Vec<(Point, PolicyId)>,
    pub pins: Vec<PinPart>,
    pub firsts: Vec<FirstPart>,
    pub target: Option<TargetPart>,
}

/// Turns the base pieces, and the target pieces of a gradual change, into parts of a map.
pub(super) struct Composer<'a> {
    pub fleet: &'a Fleet,
    pub roster: &'a Roster<'a>,
    pub sets: &'a Sets,
    pub hash: &'a Hash,
    pub key_rule: KeyRule,
    pub cells: Cells,
}

/// An error that only a bug in this module can cause.
fn internal(problem: String) -> Error {
    Error::Internal { problem }
}

impl Composer<'_> {
    pub(super) fn compose(&self, base: &[Piece], target: Option<&[Piece]>) -> Result<Composed> {
        let nodes = Nodes::new(self, base)?;
        let laid = self.fleet.lay_pins(self.hash, self.key_rule, self.cells)?;
        let pinned = self.pinned(&nodes)?;
        let firsts = self.firsts(&nodes)?;
        let under: Vec<Slice> = laid.iter().map(pinned_points).collect();
        let turned = self.turned(base, &nodes, &firsts, &under)?;
        let pieces = base.iter().chain(target.unwrap_or(&[]));
        let lists = pinned.iter().flatten().chain(&turned);
        let policies = Policies::new(self, &nodes, pieces, lists)?;
        let mut pins = Vec::with_capacity(laid.len());
        for laid in laid {
            let pin = self.fleet.pins.get(laid.pin).zip(pinned.get(laid.pin));
            let (pin, members) = pin.ok_or_else(|| internal(format!("no pin {}", laid.pin)))?;
            pins.push(PinPart {
                first: laid.first,
                last: laid.last,
                policy: match (&pin.to, members) {
                    (PinTo::Policy(name), _) => policies.by_name(name)?,
                    (PinTo::Nodes(_), members) => policies.by_members(members.as_deref())?,
                },
                key: match &pin.what {
                    Pinned::Key(key) => Some(key.clone()),
                    Pinned::Range { .. } => None,
                },
                short: pin.short,
            });
        }
        let base = self.slices(base, &policies)?;
        let target = match target {
            Some(target) => Some(TargetPart {
                slices: self.slices(target, &policies)?,
                leaving: nodes.leaving,
            }),
            None => None,
        };
        Ok(Composed {
            nodes: nodes.parts,
            policies: policies.named,
            unnamed: policies.unnamed,
            base,
            pins,
            firsts,
            target,
        })
    }

    /// The firsts of the fleet.
    fn firsts(&self, nodes: &Nodes) -> Result<Vec<FirstPart>> {
        let laid = self
            .fleet
            .lay_firsts(self.hash, self.key_rule, self.cells)?;
        let mut firsts = Vec::with_capacity(laid.len());
        for laid in laid {
            let first = self.fleet.firsts.get(laid.pin);
            let first = first.ok_or_else(|| internal(format!("no first {}", laid.pin)))?;
            let node = nodes.named(std::slice::from_ref(&first.node))?;
            firsts.push(FirstPart {
                first: laid.first,
                last: laid.last,
                node: *node.first().ok_or_else(|| internal("no node".into()))?,
                key: match &first.what {
                    Pinned::Key(key) => Some(key.clone()),
                    Pinned::Range { .. } => None,
                },
            });
        }
        Ok(firsts)
    }

    /// The lists of nodes that base pieces have because of firsts, where no pin lies.
    fn turned(
        &self,
        base: &[Piece],
        nodes: &Nodes,
        firsts: &[FirstPart],
        pins: &[Slice],
    ) -> Result<Vec<Vec<NodeId>>> {
        if firsts.is_empty() {
            return Ok(Vec::new());
        }
        let runs: Vec<First> = firsts.iter().map(FirstPart::run).collect();
        let mut cell = 0;
        let numbered = (0..).map(PolicyId).zip(base).map(|(number, piece)| {
            let first = Point(self.cells.bound(cell) as u64); // cell < G, so the bound is < 2^64
            cell += piece.cells;
            (first, number)
        });
        let mut lists = BTreeSet::new();
        for (slice, node) in under_firsts(with_ends(numbered).collect(), &runs, pins) {
            let piece = base.get(slice.policy.index());
            let set = piece.ok_or_else(|| internal("no piece".into()))?.set;
            let primary = self.sets.primary(set);
            let primary = primary.map(|primary| self.roster.holders()[primary]);
            if !matches!(primary, Some(Holder::Policy(_))) {
                let mut members = Vec::new();
                nodes.append(set, self.sets, &mut members)?;
                lists.extend(turned(&members, node));
            }
        }
        Ok(lists.into_iter().collect())
    }

    /// The nodes that each pin of the fleet lists; `None` for a pin to a named policy.
    fn pinned(&self, nodes: &Nodes) -> Result<Vec<Option<Vec<NodeId>>>> {
        let members = |pin: &fleet::Pin| match &pin.to {
            PinTo::Policy(_) => Ok(None),
            PinTo::Nodes(names) => nodes.named(names).map(Some),
        };
        self.fleet.pins.iter().map(members).collect()
    }

    fn slices(&self, pieces: &[Piece], policies: &Policies) -> Result<Vec<(Point, PolicyId)>> {
        let mut cell = 0;
        let slice = |piece: &Piece| {
            let first = Point(self.cells.bound(cell) as u64); // cell < G, so the bound is < 2^64
            cell += piece.cells;
            Ok((first, policies.by_set(piece.set)?))
        };
        pieces.iter().map(slice).collect()
    }
}

/// The points of a laid pin; the policy does not matter.
fn pinned_points(pin: &LaidPin) -> Slice {
    Slice {
        first: pin.first,
        last: pin.last,
        policy: PolicyId(0),
    }
}

/// The nodes of the new map: those of the fleet, and those that are leaving and still hold points.
struct Nodes {
    /// All nodes, sorted by name.
    parts: Vec<NodePart>,
    leaving: Vec<NodeId>,
    /// The number of each holder that is one of these nodes.
    ids: Table<HolderId, Option<NodeId>>,
}

impl Nodes {
    fn new(composer: &Composer, base: &[Piece]) -> Result<Nodes> {
        let Composer { roster, sets, .. } = composer;
        let mut holds = Table::filled(roster.holders().len(), false);
        for piece in base {
            for holder in sets.holders(piece.set) {
                holds[holder] = true;
            }
        }
        let mut all: Vec<(NodePart, HolderId, bool)> = Vec::new();
        for (id, holder) in roster.holders().iter() {
            match holder {
                Holder::Node(node) => all.push((of_fleet(node), id, false)),
                Holder::LeavingNode(node) if holds[id] => all.push((of_map(*node), id, true)),
                Holder::LeavingPolicy if holds[id] => {
                    let problem = "a weighted policy that the fleet dropped still holds points, \
                        which cannot be given up step by step; keep it with weight 0, and \
                        replicas = 1, until it holds none, or apply without --max-move";
                    return Err(Error::Impossible {
                        problem: problem.to_owned(),
                    });
                }
                Holder::Policy(_) | Holder::LeavingNode(_) | Holder::LeavingPolicy => {}
            }
        }
        if all.len() > NODES_MAX {
            let staying = composer.fleet.nodes.len();
            let problem = format!(
                "{staying} nodes and {} that still hold points are more than {NODES_MAX}; let more \
                 move in this step, or leave out --max-move",
                all.len() - staying
            );
            return Err(Error::Impossible { problem });
        }
        all.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let mut nodes = Nodes {
            parts: Vec::with_capacity(all.len()),
            leaving: Vec::new(),
            ids: Table::filled(roster.holders().len(), None),
        };
        for ((part, holder, leaves), id) in all.into_iter().zip((0..).map(NodeId)) {
            if leaves {
                nodes.leaving.push(id);
            }
            nodes.ids[holder] = Some(id);
            nodes.parts.push(part);
        }
        Ok(nodes)
    }

    /// The numbers of the nodes with these names.
    fn named(&self, names: &[String]) -> Result<Vec<NodeId>> {
        let id = |name: &String| {
            let place = self.parts.binary_search_by(|node| node.name.cmp(name));
            let place = place.map_err(|_| internal(format!("no node `{name}`")))?;
            Ok(NodeId(place as u32))
        };
        names.iter().map(id).collect()
    }

    /// Appends the nodes of a set: the primary first, then the others by name.
    fn append(&self, set: SetId, sets: &Sets, list: &mut Vec<NodeId>) -> Result<()> {
        let id = |holder| {
            self.ids[holder].ok_or_else(|| internal("a holder that left still has points".into()))
        };
        let primary = sets.primary(set);
        if let Some(primary) = primary {
            list.push(id(primary)?);
        }
        let start = list.len();
        for holder in sets.holders(set).filter(|holder| Some(*holder) != primary) {
            list.push(id(holder)?);
        }
        // ids are in the order of the names
        list.get_mut(start..).unwrap_or_default().sort_unstable();
        Ok(())
    }
}

fn of_fleet(node: &fleet::Node) -> NodePart {
    let owned = |pairs: &BTreeMap<String, String>| {
        let pairs = pairs.iter();
        pairs.map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    NodePart {
        name: node.name.clone(),
        formerly: node.formerly.clone().unwrap_or_default(),
        weight: node.weight,
        labels: owned(&node.labels),
        attributes: owned(&node.attributes),
    }
}

/// A node of the old map that is leaving.
fn of_map(node: map::Node) -> NodePart {
    let owned = |(k, v): (&str, &str)| (k.to_owned(), v.to_owned());
    NodePart {
        name: node.name().to_owned(),
        formerly: String::new(),
        weight: Weight::ZERO,
        labels: node.labels().map(owned).collect(),
        attributes: node.attributes().map(owned).collect(),
    }
}

/// The policies of the new map, in the order of the format: first the named ones of the fleet, then
/// the unnamed ones, which are the lists of nodes that stead chose.
struct Policies {
    named: Vec<PolicyPart>,
    /// The numbers of the named policies.
    names: BTreeMap<String, PolicyId>,
    unnamed: NodeLists,
    /// The policy of each set that occurs in a slice.
    of_set: Table<SetId, Option<PolicyId>>,
}

impl Policies {
    fn new<'a>(
        composer: &Composer,
        nodes: &Nodes,
        pieces: impl Iterator<Item = &'a Piece>,
        pinned: impl Iterator<Item = &'a Vec<NodeId>>,
    ) -> Result<Policies> {
        let mut policies = Policies {
            named: Vec::new(),
            names: BTreeMap::new(),
            unnamed: NodeLists::default(),
            of_set: Table::filled(composer.sets.count(), None),
        };
        for (policy, id) in composer.fleet.policies.iter().zip((0..).map(PolicyId)) {
            policies.named.push(PolicyPart {
                name: Some(policy.name.clone()),
                kind: policy.kind.clone(),
                weight: policy.weight,
                members: nodes.named(&policy.nodes)?,
            });
            policies.names.insert(policy.name.clone(), id);
        }
        let mut lists = SetLists::default();
        for list in pinned {
            lists.nodes.extend_from_slice(list);
            lists.end(None);
        }
        policies.enter_sets(composer, nodes, pieces, &mut lists)?;
        for equal in lists.sorted().chunk_by(|a, b| a.0 == b.0) {
            let Some((members, _)) = equal.first() else {
                continue;
            };
            let id = policies.number(policies.unnamed.len());
            policies.unnamed.push(members);
            for set in equal.iter().filter_map(|(_, set)| *set) {
                policies.of_set[set] = Some(id);
            }
        }
        Ok(policies)
    }

    /// The number of an unnamed policy, which all named ones precede.
    fn number(&self, unnamed: usize) -> PolicyId {
        PolicyId((self.named.len() + unnamed) as u32)
    }

    /// Records the policy of each set that is a named policy, and adds the node lists of the other
    /// sets to `lists`.
    fn enter_sets<'a>(
        &mut self,
        composer: &Composer,
        nodes: &Nodes,
        pieces: impl Iterator<Item = &'a Piece>,
        lists: &mut SetLists,
    ) -> Result<()> {
        let Composer { roster, sets, .. } = composer;
        // handles each set once, however many pieces have it
        let mut used = Table::filled(sets.count(), false);
        for piece in pieces {
            used[piece.set] = true;
        }
        // the sets of the old map come first, nearly in the order of their lists
        for set in roster.sets_before().chain(sets.ids()) {
            if !std::mem::replace(&mut used[set], false) {
                continue;
            }
            let primary = sets.primary(set).map(|primary| roster.holders()[primary]);
            if let Some(Holder::Policy(policy)) = primary {
                self.of_set[set] = Some(self.by_name(&policy.name)?);
            } else {
                nodes.append(set, sets, &mut lists.nodes)?;
                lists.end(Some(set));
            }
        }
        Ok(())
    }

    fn by_name(&self, name: &str) -> Result<PolicyId> {
        let known = self.names.get(name).copied();
        known.ok_or_else(|| internal(format!("no policy `{name}`")))
    }

    fn by_members(&self, members: Option<&[NodeId]>) -> Result<PolicyId> {
        members
            .and_then(|members| self.unnamed.find(members))
            .map(|place| self.number(place))
            .ok_or_else(|| internal("a policy was not listed".into()))
    }

    fn by_set(&self, set: SetId) -> Result<PolicyId> {
        self.of_set[set].ok_or_else(|| internal("a set was not listed".into()))
    }
}

/// Lists of nodes, each with the set that it stands for. All lists share one array.
#[derive(Default)]
struct SetLists {
    nodes: Vec<NodeId>,
    /// Where each list ends; the next one starts there.
    ends: Vec<(usize, Option<SetId>)>,
}

impl SetLists {
    /// Ends the list that was appended to `nodes`.
    fn end(&mut self, set: Option<SetId>) {
        self.ends.push((self.nodes.len(), set));
    }

    /// All lists, in ascending order. The sort takes little time for what is in order already.
    fn sorted(&self) -> Vec<(&[NodeId], Option<SetId>)> {
        let mut start = 0;
        let list = |(end, set): &(usize, Option<SetId>)| {
            let list = self.nodes.get(start..*end).unwrap_or_default();
            start = *end;
            (list, *set)
        };
        let mut lists: Vec<_> = self.ends.iter().map(list).collect();
        lists.sort();
        lists
    }
}
