//! The report of a plan or of a map, in the shape that programs read: the same for `plan`, `apply` and `diff`.
//!
//! Points are 16 hex digits, counts of points and weights are decimal strings, fractions are numbers. Fractions are the only
//! floating-point numbers, and nothing is decided by them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::map::{Map, Node};
use crate::plan::{holdings, Amounts, Plan};
use crate::point::{Point, SPACE};
use crate::policy::NodeId;
use crate::rebalance::{targets, wanted, Bound, ByHolder, Domain, DomainId, Domains, HolderId, Targets};
use crate::slice::Slice;
use crate::weight::Weight;

/// A number of points, and which part of R * 2^64 that is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Amount {
    /// Points, as a decimal string.
    pub points: String,
    /// points / (R * 2^64).
    pub fraction: f64,
}

impl Amount {
    fn of(points: u128, map: &Map) -> Amount {
        Amount { points: points.to_string(), fraction: points as f64 / (f64::from(map.replicas()) * SPACE as f64) }
    }
}

/// A node or a weighted policy, with what it wants and what it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HolderReport {
    /// Its name.
    pub name: String,
    /// Its weight, as an exact decimal.
    pub weight: String,
    /// The points that its weight alone would give it.
    pub wanted_points: String,
    /// The points that it can have: its target, under the caps.
    pub target_points: String,
    /// The points that it has, over the base slices.
    pub points: String,
    /// Of these the ones of which it is the primary.
    pub primary_points: String,
    /// Why it cannot have what it wants, in words; nothing where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A fault domain, with what its nodes want and what it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DomainReport {
    /// The label of its level.
    pub level: String,
    /// The values of the labels, from the outside in.
    pub path: Vec<String>,
    /// How many copies of one point it may hold.
    pub cap: u32,
    /// How many nodes in it can hold.
    pub nodes: u32,
    /// The points that the weights alone would give it.
    pub wanted_points: String,
    /// The points that it can have.
    pub target_points: String,
    /// The points that it has.
    pub points: String,
    /// Why it cannot have what it wants, in words; nothing where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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

/// How well a map fits the weights that stand in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Balance {
    /// Every node, by name.
    pub nodes: Vec<HolderReport>,
    /// Every named policy with a weight, by name.
    pub policies: Vec<HolderReport>,
    /// Every fault domain, parts after their whole; none at one replica.
    pub domains: Vec<DomainReport>,
    /// The largest difference between a holder's points and its target, in points. While a gradual change is under way: of the points that
    /// it will have at its end.
    pub max_share_error: u128,
}

impl Balance {
    /// Targets, by the weights and labels in the map, beside what each holder has.
    ///
    /// Errors: `Impossible` when fewer nodes than replicas have a weight.
    pub fn of(map: &Map) -> Result<Balance> {
        let Some(Shares { domains, wanted, targets }) = Shares::of(map) else {
            let problem = format!("map `{}` has fewer nodes with a weight above 0 than replicas, so there are no shares", map.name());
            return Err(Error::Impossible { problem });
        };
        let cells = map.cells();
        let now = holdings(map, map.base_slices());
        let then = match map.target_slices() {
            Some(slices) => holdings(map, slices),
            None => holdings(map, map.base_slices()),
        };
        let weighted: Vec<_> = map.policies().filter_map(|p| Some((p, p.weight()?))).collect();
        let of_policies = |has: &[u128]| -> Vec<u128> {
            weighted.iter().map(|(policy, _)| has.get(policy.id.index()).copied().unwrap_or(0)).collect()
        };
        // node by node, then policy by policy; a policy is its own primary
        let list = |nodes: &[u128], policies: &[u128]| [nodes.to_vec(), of_policies(policies)].concat();
        let (points, primaries, later) =
            (list(&now.nodes, &now.policies), list(&now.primaries, &now.policies), list(&then.nodes, &then.policies));
        let names = map.nodes().map(|n| (n.name(), n.weight())).chain(weighted.iter().filter_map(|(p, w)| Some((p.name()?, *w))));
        let mut max_share_error = 0;
        let mut holders = Vec::with_capacity(points.len());
        for (i, (name, weight)) in names.enumerate() {
            let holder = HolderId(i as u32);
            let at = |list: &[u128]| list.get(i).copied().unwrap_or(0);
            // in points; with coarse cells a target of so many cells is as many times 2^64 / G, rounded down
            let target = in_points(targets.cells.of(holder), map);
            // a cell is at most ceil(2^64 / G) points, so rounding alone explains less than one point a cell
            let error = at(&later).abs_diff(target);
            let explained = if cells.count() == SPACE { 0 } else { cells.count() };
            max_share_error = max_share_error.max(if error <= explained { 0 } else { error });
            let bound = targets.bounds.get(i).copied().flatten();
            holders.push(HolderReport {
                name: name.to_owned(),
                weight: weight.to_string(),
                wanted_points: in_points(wanted.of(holder), map).to_string(),
                target_points: target.to_string(),
                points: at(&points).to_string(),
                primary_points: at(&primaries).to_string(),
                reason: why(wanted.of(holder), targets.cells.of(holder), bound, name, &domains, map),
            });
        }
        let mut of_domain = vec![(0, 0, 0); domains.list().len()];
        for (i, node) in (0..map.nodes().len()).map(|i| (i, HolderId(i as u32))) {
            for domain in domains.of(node) {
                if let Some((wants, target, has)) = of_domain.get_mut(*domain) {
                    *wants += wanted.of(node);
                    *target += targets.cells.of(node);
                    *has += points.get(i).copied().unwrap_or(0);
                }
            }
        }
        let spread: Vec<&str> = map.spread().collect();
        let domain = |(id, (domain, (wants, target, has))): (DomainId, (&Domain, (u128, u128, u128)))| DomainReport {
            level: domain.path.len().checked_sub(1).and_then(|level| spread.get(level)).copied().unwrap_or("").to_owned(),
            path: domain.path.clone(),
            cap: domain.cap,
            nodes: domain.nodes,
            wanted_points: in_points(wants, map).to_string(),
            target_points: in_points(target, map).to_string(),
            points: has.to_string(),
            reason: (wants > target && u128::from(domain.cap) * cells.count() == target)
                .then(|| full(&domain_name(&domains, id, map), domain.cap, wants, target, map)),
        };
        let domains = domains.list().iter().zip(of_domain).enumerate().map(domain).collect();
        let policies = holders.split_off(map.nodes().len());
        Ok(Balance { nodes: holders, policies, domains, max_share_error })
    }
}

/// What a map's weights and labels make of its holders.
struct Shares {
    domains: Domains,
    wanted: ByHolder,
    targets: Targets,
}

impl Shares {
    /// `None` when fewer nodes than replicas have a weight.
    fn of(map: &Map) -> Option<Shares> {
        let weighted = map.policies().filter_map(|policy| policy.weight());
        let weights: Vec<Weight> = map.nodes().map(|node| node.weight()).chain(weighted).collect();
        let domains = domains(map, weights.len());
        let wanted = wanted(&weights, map.replicas(), map.cells().count());
        let targets = targets(&weights, &domains, map.cells().count())?;
        Some(Shares { domains, wanted, targets })
    }
}

/// The domains of a map's nodes that can hold; at one replica no cap binds and there are none.
fn domains(map: &Map, holders: usize) -> Domains {
    let spread: Vec<&str> = if map.replicas() > 1 { map.spread().collect() } else { Vec::new() };
    let of_node = |node: Node<'_>| {
        let value = |label: &&str| node.label(label).unwrap_or("").to_owned();
        (node.weight() > Weight::ZERO).then(|| spread.iter().map(value).collect::<Vec<String>>())
    };
    let paths: Vec<Option<Vec<String>>> = map.nodes().map(of_node).collect();
    let mut paths: Vec<Option<Vec<&str>>> =
        paths.iter().map(|path| path.as_ref().map(|path| path.iter().map(String::as_str).collect())).collect();
    paths.extend(map.policies().filter_map(|policy| policy.weight()).map(|weight| (weight > Weight::ZERO).then(Vec::new)));
    debug_assert_eq!(paths.len(), holders);
    Domains::new(&paths, map.replicas())
}

/// Cells as points, rounded down.
fn in_points(cells: u128, map: &Map) -> u128 {
    let count = map.cells().count();
    if count == SPACE {
        cells
    } else {
        // below 2^72 cells of 2^64 points: whole copies of the space apart, so that nothing overflows
        cells / count * SPACE + cells % count * SPACE / count
    }
}

/// `zone a`, `rack a/1`.
fn domain_name(domains: &Domains, id: DomainId, map: &Map) -> String {
    let path = domains.list().get(id).map_or(&[][..], |domain| domain.path.as_slice());
    let level = path.len().checked_sub(1).and_then(|level| map.spread().nth(level)).unwrap_or("domain");
    format!("{level} {}", path.join("/"))
}

/// `zone a can hold at most one of 3 copies: 33.3 % instead of 41.2 %`.
fn full(name: &str, cap: u32, wanted: u128, target: u128, map: &Map) -> String {
    let all = f64::from(map.replicas()) * map.cells().count() as f64;
    let percent = |cells: u128| 100.0 * cells as f64 / all;
    let cap = if cap == 1 { "one".to_owned() } else { cap.to_string() };
    let (possible, wished) = (percent(target), percent(wanted));
    format!("{name} can hold at most {cap} of {} copies: {possible:.1} % instead of {wished:.1} %", map.replicas())
}

/// Why a holder cannot have what it wants; `None` when it has it, give or take a cell, or more.
fn why(wanted: u128, target: u128, bound: Option<Bound>, name: &str, domains: &Domains, map: &Map) -> Option<String> {
    if wanted <= target + 1 {
        return None;
    }
    match bound? {
        Bound::Node(_) => Some(full(&format!("node {name}"), 1, wanted, target, map)),
        Bound::Domain(id) => {
            let domain = domains.list().get(id)?;
            let cap = if domain.cap == 1 { "one".to_owned() } else { domain.cap.to_string() };
            Some(format!("{} can hold at most {cap} of {} copies", domain_name(domains, id, map), map.replicas()))
        }
        Bound::Whole => None,
    }
}

impl Report {
    /// The report of a change; `old` is `None` for a first map, which moves nothing.
    pub fn of(old: Option<&Map>, new: &Map, with_moves: bool) -> Result<Report> {
        let old = old.unwrap_or(new);
        let plan = Amounts::between(old, new)?;
        let Balance { nodes, policies, domains, max_share_error } = Balance::of(new)?;
        let (violations, pending_violations) = violations(new);
        let amount = |points: u128| Amount::of(points, new);
        Ok(Report {
            name: new.name().to_owned(),
            epoch: new.epoch(),
            replicas: new.replicas(),
            slices: new.base_count(),
            moved: amount(plan.moved.0),
            lower_bound: amount(plan.lower_bound.0),
            by_hand: amount(plan.by_hand.0),
            reordered: amount(plan.reordered.0),
            to_come: to_come(new),
            violations,
            pending_violations,
            max_share_error_points: max_share_error.to_string(),
            nodes,
            policies,
            domains,
            moves: with_moves.then(|| Plan::between(old, new).map(|plan| move_reports(old, new, &plan))).transpose()?,
        })
    }
}

/// How many base slices are not held by R nodes, or by more in a domain than its cap: those that are as they are to be, and those
/// that a gradual change has not reached yet. A named policy holds what it likes at one replica, and nothing at more.
pub fn violations(map: &Map) -> (usize, usize) {
    let caps = Caps::of(map);
    let broken: Vec<bool> = map
        .policies()
        .map(|policy| match policy.name() {
            Some(_) => map.replicas() > 1,
            None => policy.members().len() != map.replicas() as usize || caps.are_broken(policy.members()),
        })
        .collect();
    let is_broken = |slice: &Slice| broken.get(slice.policy.index()).copied().unwrap_or(false);
    let all = map.base_slices().filter(is_broken).count();
    match map.target_slices() {
        None => (all, 0),
        Some(target) => {
            let target: Vec<Slice> = target.collect();
            let there = |slice: &Slice| {
                let at = target.partition_point(|other| other.first <= slice.first);
                at.checked_sub(1).and_then(|at| target.get(at)).is_some_and(|other| other.policy == slice.policy)
            };
            let wrong = map.base_slices().filter(is_broken).filter(there).count();
            (wrong, all - wrong)
        }
    }
}

/// The caps of all domains, also of those in which no node can hold: theirs is 0.
struct Caps {
    /// For each node its domains, from the outside in.
    around: Vec<Vec<usize>>,
    /// Of each domain.
    caps: Vec<usize>,
}

impl Caps {
    fn of(map: &Map) -> Caps {
        let spread: Vec<&str> = map.spread().collect();
        let path = |node: Node<'_>| spread.iter().map_while(|label| node.label(label).map(str::to_owned)).collect();
        let paths: Vec<Vec<String>> = map.nodes().map(path).collect();
        // weighted policies are in no domain, so they change no cap
        let mut holding: Vec<Option<Vec<&str>>> = Vec::with_capacity(paths.len());
        for (node, path) in map.nodes().zip(&paths) {
            holding.push((node.weight() > Weight::ZERO).then(|| path.iter().map(String::as_str).collect()));
        }
        let domains = Domains::new(&holding, map.replicas());
        let mut caps: Vec<usize> = Vec::with_capacity(domains.list().len());
        let mut numbers: BTreeMap<&[String], usize> = BTreeMap::new();
        for domain in domains.list() {
            numbers.insert(&domain.path, caps.len());
            caps.push(domain.cap as usize);
        }
        let mut around: Vec<Vec<usize>> = Vec::with_capacity(paths.len());
        for path in &paths {
            let mut number = |depth: usize| {
                Some(*numbers.entry(path.get(..depth)?).or_insert_with(|| {
                    caps.push(0);
                    caps.len() - 1
                }))
            };
            around.push((1..=path.len()).filter_map(&mut number).collect());
        }
        Caps { around, caps }
    }

    fn are_broken(&self, nodes: impl Iterator<Item = NodeId>) -> bool {
        let mut domains: Vec<usize> = nodes.filter_map(|node| self.around.get(node.index())).flatten().copied().collect();
        domains.sort_unstable();
        domains.chunk_by(|a, b| a == b).any(|copies| {
            let cap = copies.first().and_then(|domain| self.caps.get(*domain));
            cap.is_some_and(|cap| copies.len() > *cap)
        })
    }
}

/// What a gradual change has still to move; nothing when none is under way.
pub fn to_come(map: &Map) -> Option<Amount> {
    let mut sum = 0;
    let mut target = map.target_slices()?.peekable();
    for slice in map.base_slices() {
        let mut first = slice.first;
        while let Some(other) = target.peek().copied() {
            let last = slice.last.min(other.last);
            let (now, then) = (map.policy(slice.policy), map.policy(other.policy));
            let copies = if now.id == then.id {
                0
            } else if now.name().is_some() || then.name().is_some() {
                1
            } else {
                then.members().filter(|node| now.members().all(|other| other != *node)).count()
            };
            sum += copies as u128 * Slice { first, last, policy: slice.policy }.points();
            if other.last <= slice.last {
                target.next();
            }
            match last.0.checked_add(1) {
                Some(next) if last < slice.last => first = Point(next),
                _ => break,
            }
        }
    }
    Some(Amount::of(sum, map))
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
