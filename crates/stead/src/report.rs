//! The report of a plan or of a map, in the shape that programs read: the same for `plan`, `apply`
//! and `diff`.
//!
//! Points are 16 hex digits, counts of points and weights are decimal strings, fractions are
//! numbers. Fractions are the only floating-point numbers, and nothing is decided by them.

use serde::Serialize;

use crate::balance::{Balance, DomainReport, HolderReport};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::map::Map;
use crate::plan::{still_to_move, Amounts, Plan};
use crate::point::SPACE;
use crate::rebalance::build;
use crate::violations::violations;

/// A number of points, and which part of R * 2^64 that is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Amount {
    /// Points, as a decimal string.
    pub points: String,
    /// points / (R * 2^64).
    pub fraction: f64,
}

impl Amount {
    /// So many points of a map.
    pub fn of(points: u128, map: &Map) -> Amount {
        Amount {
            points: points.to_string(),
            fraction: points as f64 / (f64::from(map.replicas()) * SPACE as f64),
        }
    }
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
    /// The least that any way to the new shares under the caps moves, where it is known: for a
    /// fleet that a map is changed to at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimum: Option<Amount>,
    /// What pins and policies changed by hand move.
    pub by_hand: Amount,
    /// Points whose primary changes although the one before still holds a copy.
    pub reordered: Amount,
    /// What a gradual change has still to move; nothing when none is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_come: Option<Amount>,
    /// How many base slices break a rule of the fleet.
    pub violations: usize,
    /// How many base slices that a gradual change has not reached yet do.
    pub pending_violations: usize,
    /// The largest difference between a holder's points and its target.
    pub max_share_error_points: String,
    /// Every node, by name.
    pub nodes: Vec<HolderReport>,
    /// Every named policy with a weight, by name.
    pub policies: Vec<HolderReport>,
    /// Every fault domain, parts after their whole; none at one replica.
    pub domains: Vec<DomainReport>,
    /// The moves, where they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<MoveReport>>,
}

impl Report {
    /// The report of a map that was built of a fleet, with the optimum. Where `max_slices` made
    /// more move, the map without it is built for that.
    pub fn of_fleet(
        fleet: &Fleet,
        old: Option<&Map>,
        new: &Map,
        with_moves: bool,
    ) -> Result<Report> {
        let mut report = Report::of(old, new, with_moves)?;
        let gradual =
            new.target_slices().is_some() || old.is_some_and(|old| old.target_slices().is_some());
        report.optimum = match (old, fleet.max_slices) {
            _ if gradual => None,
            (Some(old), Some(_)) if report.moved != report.lower_bound => {
                let free = build(
                    &Fleet {
                        max_slices: None,
                        ..fleet.clone()
                    },
                    Some(old),
                )?;
                Some(Amount::of(Amounts::between(old, &free)?.moved.0, new))
            }
            _ => Some(report.moved.clone()),
        };
        Ok(report)
    }

    /// The report of a change; `old` is `None` for a first map, which moves nothing.
    pub fn of(old: Option<&Map>, new: &Map, with_moves: bool) -> Result<Report> {
        let old = old.unwrap_or(new);
        let plan = Amounts::between(old, new)?;
        let Balance {
            nodes,
            policies,
            domains,
            max_share_error,
        } = Balance::of(new)?;
        let (violations, pending_violations) = violations(new);
        let amount = |points: u128| Amount::of(points, new);
        Ok(Report {
            name: new.name().to_owned(),
            epoch: new.epoch(),
            replicas: new.replicas(),
            slices: new.base_count(),
            moved: amount(plan.moved.0),
            lower_bound: amount(plan.lower_bound.0),
            optimum: None,
            by_hand: amount(plan.by_hand.0),
            reordered: amount(plan.reordered.0),
            to_come: to_come(new),
            violations,
            pending_violations,
            max_share_error_points: max_share_error.to_string(),
            nodes,
            policies,
            domains,
            moves: with_moves
                .then(|| Plan::between(old, new).map(|plan| move_reports(old, new, &plan)))
                .transpose()?,
        })
    }
}

/// What a gradual change has still to move; nothing when none is under way.
pub fn to_come(map: &Map) -> Option<Amount> {
    map.target_slices()
        .map(|_| Amount::of(still_to_move(map), map))
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
