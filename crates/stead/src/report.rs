//! The report of a plan or of a map, in the shape that programs read: the same for `plan`, `apply` and `diff`.
//!
//! Points are 16 hex digits, counts of points and weights are decimal strings, fractions are numbers. Fractions are the only
//! floating-point numbers, and nothing is decided by them.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::map::Map;
use crate::plan::{holdings, Amounts, Plan};
use crate::point::SPACE;
use crate::rebalance::{targets, Domains};
use crate::weight::Weight;

/// A number of points, and which part of R * 2^64 that is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Amount {
    /// Points, as a decimal string.
    pub points: String,
    /// points / (R * 2^64).
    pub fraction: f64,
}

/// A node or a weighted policy, with what it wants and what it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HolderReport {
    /// Its name.
    pub name: String,
    /// Its weight, as an exact decimal.
    pub weight: String,
    /// The points that its weight gives it.
    pub target_points: String,
    /// The points that it has, over the base slices.
    pub points: String,
    /// Of these the ones of which it is the primary.
    pub primary_points: String,
}

/// A move, with node names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MoveReport {
    /// First point.
    pub first: String,
    /// Last point.
    pub last: String,
    /// The node that loses a copy.
    pub from: Option<String>,
    /// The node that gets one.
    pub to: Option<String>,
    /// `rebalance`, `pin` or `policy`.
    pub cause: &'static str,
}

/// What `plan`, `apply` and `diff` say.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The name of the cluster.
    pub name: String,
    /// The epoch of the new map.
    pub epoch: u64,
    /// R of the new map.
    pub replicas: u32,
    /// Base slices of the new map.
    pub slices: usize,
    /// What rebalancing moves.
    pub moved: Amount,
    /// The least that any way to the new shares moves.
    pub lower_bound: Amount,
    /// What pins and policies changed by hand move.
    pub by_hand: Amount,
    /// How many policies of base slices break a rule of the fleet.
    pub violations: usize,
    /// The largest difference between a holder's points and its target.
    pub max_share_error_points: String,
    /// Every node, by name.
    pub nodes: Vec<HolderReport>,
    /// Every named policy with a weight, by name.
    pub policies: Vec<HolderReport>,
    /// The moves, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<MoveReport>>,
}

/// How well a map fits the weights that stand in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Balance {
    /// Every node, by name.
    pub nodes: Vec<HolderReport>,
    /// Every named policy with a weight, by name.
    pub policies: Vec<HolderReport>,
    /// The largest difference between a holder's points and its target, in points.
    pub max_share_error: u128,
}

impl Balance {
    /// Targets, by the weights in the map, beside what each holder has.
    ///
    /// Errors: `NotYet` for maps of more than one replica, whose targets depend on domains.
    pub fn of(map: &Map) -> Result<Balance> {
        if map.replicas() > 1 {
            return Err(Error::NotYet { place: None, feature: "targets of more than one replica".into() });
        }
        let weighted: Vec<_> = map.policies().filter_map(|p| Some((p, p.weight()?))).collect();
        let weights: Vec<Weight> = map.nodes().map(|n| n.weight()).chain(weighted.iter().map(|(_, w)| *w)).collect();
        let cells = map.cells();
        let paths: Vec<Option<Vec<&str>>> = weights.iter().map(|w| (*w > Weight::ZERO).then(Vec::new)).collect();
        let Some(targets) = targets(&weights, &Domains::new(&paths, 1), cells.count()) else {
            return Err(Error::Impossible { problem: format!("no node of map `{}` has a weight above 0", map.name()) });
        };
        let (node_points, policy_points) = holdings(map);
        let points = node_points.into_iter().chain(
            weighted.iter().map(|(policy, _)| policy_points.get(policy.id.index()).copied().unwrap_or(0)),
        );
        let names = map.nodes().map(|n| n.name()).chain(weighted.iter().filter_map(|(p, _)| p.name()));
        let mut max_share_error = 0;
        let mut holders = Vec::with_capacity(weights.len());
        for (((name, weight), target), points) in names.zip(&weights).zip(targets.cells.0).zip(points) {
            // in points; with coarse cells a target of so many cells is as many times 2^64 / G, rounded down
            let target = if cells.count() == SPACE { target } else { target * SPACE / cells.count() };
            // a cell is at most ceil(2^64 / G) points, so rounding alone explains less than one point a cell
            let error = points.abs_diff(target);
            let explained = if cells.count() == SPACE { 0 } else { cells.count() };
            max_share_error = max_share_error.max(if error <= explained { 0 } else { error });
            holders.push(HolderReport {
                name: name.to_owned(),
                weight: weight.to_string(),
                target_points: target.to_string(),
                points: points.to_string(),
                primary_points: points.to_string(),
            });
        }
        let policies = holders.split_off(map.nodes().len());
        Ok(Balance { nodes: holders, policies, max_share_error })
    }
}

impl Report {
    /// The report of a change; `old` is `None` for a first map, which moves nothing.
    pub fn of(old: Option<&Map>, new: &Map, with_moves: bool) -> Result<Report> {
        let old = old.unwrap_or(new);
        let plan = Amounts::between(old, new)?;
        let Balance { nodes, policies, max_share_error } = Balance::of(new)?;
        let amount = |points: u128| Amount {
            points: points.to_string(),
            fraction: points as f64 / (f64::from(new.replicas()) * SPACE as f64),
        };
        Ok(Report {
            name: new.name().to_owned(),
            epoch: new.epoch(),
            replicas: new.replicas(),
            slices: new.base_count(),
            moved: amount(plan.moved.0),
            lower_bound: amount(plan.lower_bound.0),
            by_hand: amount(plan.by_hand.0),
            violations: violations(new),
            max_share_error_points: max_share_error.to_string(),
            nodes,
            policies,
            moves: with_moves.then(|| Plan::between(old, new).map(|plan| move_reports(old, new, &plan))).transpose()?,
        })
    }
}

/// How many base slices are held by a policy that stead chose and that has not R nodes.
pub fn violations(map: &Map) -> usize {
    let broken = |slice: &crate::slice::Slice| {
        let policy = map.policy(slice.policy);
        policy.name().is_none() && policy.members().len() != map.replicas() as usize
    };
    map.base_slices().filter(broken).count()
}

fn move_reports(old: &Map, new: &Map, plan: &Plan) -> Vec<MoveReport> {
    plan.moves
        .iter()
        .map(|m| MoveReport {
            first: m.first.to_string(),
            last: m.last.to_string(),
            from: m.from.map(|node| old.node(node).name().to_owned()),
            to: m.to.map(|node| new.node(node).name().to_owned()),
            cause: m.cause.name(),
        })
        .collect()
}
