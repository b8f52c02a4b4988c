//! Compose: pieces become the nodes, policies and slices of a map.

use std::collections::BTreeMap;

use super::holder::HolderId;
use super::holders::Holders;
use super::piece::Piece;
use super::sets::{SetId, Sets};
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::fleet::{Fleet, PinTo, Pinned};
use crate::format::{NodePart, PinPart, PolicyPart, TargetPart};
use crate::hash::{Hash, KeyRule};
use crate::map::Map;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId, NODES_MAX};
use crate::weight::Weight;

/// What a map is made of beside its header.
pub(super) struct Composed {
    pub nodes: Vec<NodePart>,
    pub policies: Vec<PolicyPart>,
    pub base: Vec<(Point, PolicyId)>,
    pub pins: Vec<PinPart>,
    pub target: Option<TargetPart>,
}

/// The base pieces, and the target pieces of a gradual change, as parts of a map.
pub(super) struct Composer<'a> {
    pub fleet: &'a Fleet,
    pub previous: Option<&'a Map>,
    pub holders: &'a Holders<'a>,
    pub sets: &'a Sets,
    pub hash: &'a Hash,
    pub key_rule: KeyRule,
    pub cells: Cells,
}

impl Composer<'_> {
    pub(super) fn compose(&self, base: &[Piece], target: Option<&[Piece]>) -> Result<Composed> {
        let nodes = Nodes::new(self, base)?;
        let ids: BTreeMap<&str, NodeId> = nodes
            .parts
            .iter()
            .map(|node| node.name.as_str())
            .zip((0..).map(NodeId))
            .collect();
        let pins = self.fleet.lay_pins(self.hash, self.key_rule, self.cells)?;
        let pinned: Vec<Option<Vec<NodeId>>> = self
            .fleet
            .pins
            .iter()
            .map(|pin| match &pin.to {
                PinTo::Policy(_) => Ok(None),
                PinTo::Nodes(names) => members(names, &ids).map(Some),
            })
            .collect::<Result<_>>()?;
        let policies = Policies::new(
            self,
            &nodes,
            &ids,
            base.iter().chain(target.unwrap_or(&[])),
            pinned.iter().flatten(),
        )?;
        let mut laid = Vec::with_capacity(pins.len());
        for pin in pins {
            let (Some(wish), Some(nodes)) = (self.fleet.pins.get(pin.pin), pinned.get(pin.pin))
            else {
                continue;
            };
            let policy = match (&wish.to, nodes) {
                (PinTo::Policy(name), _) => policies.by_name(name)?,
                (PinTo::Nodes(_), Some(nodes)) => policies.by_members(nodes)?,
                _ => continue,
            };
            let key = match &wish.what {
                Pinned::Key(key) => Some(key.clone()),
                Pinned::Range { .. } => None,
            };
            laid.push(PinPart {
                first: pin.first,
                last: pin.last,
                policy,
                key,
                short: wish.short,
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
            policies: policies.list,
            base,
            pins: laid,
            target,
        })
    }

    fn slices(&self, pieces: &[Piece], policies: &Policies) -> Result<Vec<(Point, PolicyId)>> {
        let mut cell = 0;
        let slice = |piece: &Piece| {
            let first = Point(self.cells.bound(cell) as u64); // below G, so the bound is below 2^64
            cell += piece.cells;
            Ok((first, policies.by_set(piece.set)?))
        };
        pieces.iter().map(slice).collect()
    }
}

/// The nodes of the new map: the fleet's, and those that leave and still hold points.
struct Nodes {
    parts: Vec<NodePart>,
    leaving: Vec<NodeId>,
    /// holder -> its number
    ids: Vec<Option<NodeId>>,
}

impl Nodes {
    fn new(composer: &Composer, base: &[Piece]) -> Result<Nodes> {
        let Composer {
            fleet,
            previous,
            holders,
            sets,
            ..
        } = composer;
        let owned = |pairs: &BTreeMap<String, String>| {
            pairs.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
        };
        let of_fleet = fleet.nodes.iter().map(|node| NodePart {
            name: node.name.clone(),
            formerly: node.formerly.clone().unwrap_or_default(),
            weight: node.weight,
            labels: owned(&node.labels),
            attributes: owned(&node.attributes),
        });
        let mut all: Vec<(NodePart, HolderId)> = of_fleet.zip((0..).map(HolderId)).collect();
        let mut holds = vec![false; holders.count];
        for holder in base.iter().flat_map(|piece| sets.holders(piece.set)) {
            if let Some(holds) = holds.get_mut(holder.index()) {
                *holds = true;
            }
        }
        let copied = |pairs: &mut dyn Iterator<Item = (&str, &str)>| {
            pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
        };
        for holder in (holders.staying()..holders.count).map(|i| HolderId(i as u32)) {
            if !holds.get(holder.index()).copied().unwrap_or(false) {
                continue;
            }
            let Some(node) = previous.and_then(|map| Some(map.node(holders.leaving_node(holder)?)))
            else {
                let problem = "a weighted policy that the fleet dropped still holds points, which \
                    cannot be given up step by step; keep it with weight 0, and replicas = 1, \
                    until it holds none, or apply without --max-move";
                return Err(Error::Impossible {
                    problem: problem.to_owned(),
                });
            };
            let (labels, attributes) = (copied(&mut node.labels()), copied(&mut node.attributes()));
            let part = NodePart {
                name: node.name().to_owned(),
                formerly: String::new(),
                weight: Weight::ZERO,
                labels,
                attributes,
            };
            all.push((part, holder));
        }
        if all.len() > NODES_MAX {
            let leaving = all.len() - fleet.nodes.len();
            let problem = format!(
                "{} nodes and {leaving} that still hold points are more than {NODES_MAX}; let more \
                 move in this step, or leave out --max-move",
                fleet.nodes.len()
            );
            return Err(Error::Impossible { problem });
        }
        all.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let mut nodes = Nodes {
            parts: Vec::with_capacity(all.len()),
            leaving: Vec::new(),
            ids: vec![None; holders.count],
        };
        for ((part, holder), id) in all.into_iter().zip((0..).map(NodeId)) {
            if holder.index() >= holders.staying() {
                nodes.leaving.push(id);
            }
            if let Some(place) = nodes.ids.get_mut(holder.index()) {
                *place = Some(id);
            }
            nodes.parts.push(part);
        }
        Ok(nodes)
    }

    /// The nodes of a set: the primary first, then the others by name.
    fn of(&self, set: SetId, sets: &Sets) -> Option<Vec<NodeId>> {
        let id = |holder: HolderId| self.ids.get(holder.index()).copied().flatten();
        let primary = sets.primary(set)?;
        let others: Option<Vec<NodeId>> = sets
            .holders(set)
            .filter(|holder| *holder != primary)
            .map(id)
            .collect();
        let (mut list, mut others) = (vec![id(primary)?], others?);
        others.sort_unstable(); // numbers follow names
        list.append(&mut others);
        Some(list)
    }
}

/// The policies of the new map, in the order of the format: the fleet's named ones, then the lists
/// of nodes that stead chose.
struct Policies {
    list: Vec<PolicyPart>,
    /// the numbers of the named ones
    names: BTreeMap<String, PolicyId>,
    /// set -> its policy
    of_set: Vec<Option<PolicyId>>,
}

impl Policies {
    fn new<'a>(
        composer: &Composer,
        nodes: &Nodes,
        ids: &BTreeMap<&str, NodeId>,
        pieces: impl Iterator<Item = &'a Piece>,
        pinned: impl Iterator<Item = &'a Vec<NodeId>>,
    ) -> Result<Policies> {
        let Composer {
            fleet,
            holders,
            sets,
            ..
        } = composer;
        let mut policies = Policies {
            list: Vec::new(),
            names: BTreeMap::new(),
            of_set: vec![None; sets.count()],
        };
        for policy in &fleet.policies {
            policies
                .names
                .insert(policy.name.clone(), PolicyId(policies.list.len() as u32));
            policies.list.push(PolicyPart {
                name: Some(policy.name.clone()),
                kind: policy.kind.clone(),
                weight: policy.weight,
                members: members(&policy.nodes, ids)?,
            });
        }
        // each set once, however many pieces have it
        let mut lists: Vec<(Vec<NodeId>, Option<SetId>)> =
            pinned.map(|list| (list.clone(), None)).collect();
        for set in pieces.map(|piece| piece.set) {
            let Some(known) = policies
                .of_set
                .get_mut(set.index())
                .filter(|known| known.is_none())
            else {
                continue;
            };
            if let Some(name) = sets
                .primary(set)
                .and_then(|primary| holders.policy(primary))
            {
                *known = policies.names.get(name).copied();
                continue;
            }
            *known = Some(PolicyId(0)); // until all lists are sorted
            let list = nodes.of(set, sets).ok_or_else(|| Error::Internal {
                problem: "a holder that left still has points".into(),
            })?;
            lists.push((list, Some(set)));
        }
        lists.sort_unstable();
        for (members, set) in lists {
            let listed = policies
                .list
                .last()
                .is_some_and(|last| last.name.is_none() && last.members == members);
            if !listed {
                policies.list.push(PolicyPart {
                    name: None,
                    kind: String::new(),
                    weight: None,
                    members,
                });
            }
            let id = PolicyId(policies.list.len() as u32 - 1);
            if let Some(known) = set.and_then(|set| policies.of_set.get_mut(set.index())) {
                *known = Some(id);
            }
        }
        Ok(policies)
    }

    fn by_name(&self, name: &str) -> Result<PolicyId> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| Error::Internal {
                problem: format!("no policy `{name}`"),
            })
    }

    fn by_members(&self, members: &[NodeId]) -> Result<PolicyId> {
        let unnamed = self.list.get(self.names.len()..).unwrap_or(&[]);
        let place = unnamed.binary_search_by(|policy| policy.members.as_slice().cmp(members));
        let place = place.map_err(|_| Error::Internal {
            problem: "a policy was not listed".into(),
        })?;
        Ok(PolicyId((self.names.len() + place) as u32))
    }

    fn by_set(&self, set: SetId) -> Result<PolicyId> {
        let known = self.of_set.get(set.index()).copied().flatten();
        known.ok_or_else(|| Error::Internal {
            problem: "a set was not listed".into(),
        })
    }
}

/// The numbers of the nodes of these names.
fn members(names: &[String], ids: &BTreeMap<&str, NodeId>) -> Result<Vec<NodeId>> {
    let id = |name: &String| {
        ids.get(name.as_str())
            .copied()
            .ok_or_else(|| Error::Internal {
                problem: format!("no node `{name}`"),
            })
    };
    names.iter().map(id).collect()
}
