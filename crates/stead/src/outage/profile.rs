//! One node of a map: what it holds, who else holds it, and which pins and policies name it.

use std::collections::HashMap;

use crate::map::Map;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;

/// What a map says about one of its nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The node.
    pub node: NodeId,
    /// The number of points that it holds.
    pub points: u128,
    /// The number of points of which it is the primary.
    pub primary_points: u128,
    /// The number of final slices that it holds.
    pub slices: usize,
    /// The number of final slices of which it is the primary.
    pub primary_slices: usize,
    /// The largest final slice that it holds, the first of equals; `None` if it holds nothing.
    pub largest: Option<Slice>,
    /// The nodes that hold some of its points, too: first the one that shares the most, equals in
    /// the order of names.
    pub partners: Vec<Partner>,
    /// The named policies that list it, in the order of names.
    pub policies: Vec<PolicyId>,
    /// The numbers, in the order of [`Map::pins`], of the pins whose policy lists it.
    pub pins: Vec<usize>,
}

/// A node that shares points with another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partner {
    /// The node.
    pub node: NodeId,
    /// The number of points that both hold.
    pub points: u128,
}

impl Profile {
    /// Returns what a map says about a node. Cost: one pass over the slices, the policies and the
    /// pins.
    pub fn of(map: &Map, node: NodeId) -> Profile {
        let mut profile = Profile {
            node,
            points: 0,
            primary_points: 0,
            slices: 0,
            primary_slices: 0,
            largest: None,
            partners: Vec::new(),
            policies: Vec::new(),
            pins: Vec::new(),
        };
        // the nodes of each policy that lists the node
        let mut lists: HashMap<PolicyId, Vec<NodeId>> = HashMap::new();
        for policy in map.policies() {
            let members = policy.distinct();
            if members.contains(&node) {
                if policy.name().is_some() {
                    profile.policies.push(policy.id);
                }
                lists.insert(policy.id, members);
            }
        }
        let mut shared: HashMap<NodeId, u128> = HashMap::new();
        for slice in map.slices() {
            if let Some(members) = lists.get(&slice.policy) {
                profile.add(slice, members.first() == Some(&node));
                for other in members.iter().filter(|other| **other != node) {
                    *shared.entry(*other).or_default() += slice.points();
                }
            }
        }
        let partner = |(node, points)| Partner { node, points };
        profile.partners = shared.into_iter().map(partner).collect();
        profile
            .partners
            .sort_unstable_by(|a, b| b.points.cmp(&a.points).then(a.node.cmp(&b.node)));
        let pins = map.pins().enumerate();
        let named = pins.filter(|(_, pin)| lists.contains_key(&pin.slice.policy));
        profile.pins = named.map(|(number, _)| number).collect();
        profile
    }

    fn add(&mut self, slice: Slice, is_primary: bool) {
        self.slices += 1;
        self.points += slice.points();
        if is_primary {
            self.primary_slices += 1;
            self.primary_points += slice.points();
        }
        if self
            .largest
            .is_none_or(|so_far| so_far.points() < slice.points())
        {
            self.largest = Some(slice);
        }
    }
}
