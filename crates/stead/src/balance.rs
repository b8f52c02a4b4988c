//! Balance: what each holder and each domain wants, can have, and has; and why the first two
//! differ.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::map::{Map, Node};
use crate::plan::holdings;
use crate::point::SPACE;
use crate::rebalance::{
    targets, wanted, Bound, ByHolder, Domain, DomainId, Domains, HolderId, Table, Targets,
};
use crate::weight::Weight;

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

/// How well a map fits the weights that stand in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Balance {
    /// Every node, by name.
    pub nodes: Vec<HolderReport>,
    /// Every named policy with a weight, by name.
    pub policies: Vec<HolderReport>,
    /// Every fault domain, parts after their whole; none at one replica.
    pub domains: Vec<DomainReport>,
    /// The largest difference between a holder's points and its target, in points. While a gradual
    /// change is under way: of the points that it will have at its end.
    pub max_share_error: u128,
}

impl Balance {
    /// Targets, by the weights and labels in the map, beside what each holder has.
    ///
    /// Errors: `Impossible` when fewer nodes than replicas have a weight.
    pub fn of(map: &Map) -> Result<Balance> {
        let Some(Shares {
            domains,
            wanted,
            targets,
        }) = Shares::of(map)
        else {
            let problem = format!(
                "map `{}` has fewer nodes with a weight above 0 than replicas, \
                so there are no shares",
                map.name()
            );
            return Err(Error::Impossible { problem });
        };
        let cells = map.cells();
        let now = holdings(map, map.base_slices());
        let then = match map.target_slices() {
            Some(slices) => holdings(map, slices),
            None => holdings(map, map.base_slices()),
        };
        let weighted: Vec<_> = map
            .policies()
            .filter_map(|p| Some((p, p.weight()?)))
            .collect();
        let of_policies = |has: &[u128]| -> Vec<u128> {
            weighted
                .iter()
                .map(|(policy, _)| has.get(policy.id.index()).copied().unwrap_or(0))
                .collect()
        };
        // node by node, then policy by policy; a policy is its own primary
        let list =
            |nodes: &[u128], policies: &[u128]| [nodes.to_vec(), of_policies(policies)].concat();
        let (points, primaries, later) = (
            list(&now.nodes, &now.policies),
            list(&now.primaries, &now.policies),
            list(&then.nodes, &then.policies),
        );
        let names = map
            .nodes()
            .map(|n| (n.name(), n.weight()))
            .chain(weighted.iter().filter_map(|(p, w)| Some((p.name()?, *w))));
        let mut max_share_error = 0;
        let mut holders = Vec::with_capacity(points.len());
        for (i, (name, weight)) in names.enumerate() {
            let holder = HolderId(i as u32);
            let at = |list: &[u128]| list.get(i).copied().unwrap_or(0);
            // in points; with coarse cells a target of so many cells is as many times 2^64 / G,
            // rounded down
            let target = in_points(targets.cells[holder], map);
            // a cell is at most ceil(2^64 / G) points, so rounding alone explains less than one
            // point a cell
            let error = at(&later).abs_diff(target);
            let explained = if cells.count() == SPACE {
                0
            } else {
                cells.count()
            };
            max_share_error = max_share_error.max(if error <= explained { 0 } else { error });
            let bound = targets.bounds[holder];
            holders.push(HolderReport {
                name: name.to_owned(),
                weight: weight.to_string(),
                wanted_points: in_points(wanted[holder], map).to_string(),
                target_points: target.to_string(),
                points: at(&points).to_string(),
                primary_points: at(&primaries).to_string(),
                reason: why(
                    wanted[holder],
                    targets.cells[holder],
                    bound,
                    name,
                    &domains,
                    map,
                ),
            });
        }
        let mut of_domain = Table::filled(domains.list().len(), (0, 0, 0));
        for (i, node) in (0..map.nodes().len()).map(|i| (i, HolderId(i as u32))) {
            for domain in domains.of(node) {
                let (wants, target, has) = &mut of_domain[*domain];
                *wants += wanted[node];
                *target += targets.cells[node];
                *has += points.get(i).copied().unwrap_or(0);
            }
        }
        let spread: Vec<&str> = map.spread().collect();
        let domain =
            |((id, domain), (wants, target, has)): ((DomainId, &Domain), (u128, u128, u128))| {
                DomainReport {
                    level: domain
                        .path
                        .len()
                        .checked_sub(1)
                        .and_then(|level| spread.get(level))
                        .copied()
                        .unwrap_or("")
                        .to_owned(),
                    path: domain.path.clone(),
                    cap: domain.cap,
                    nodes: domain.nodes,
                    wanted_points: in_points(wants, map).to_string(),
                    target_points: in_points(target, map).to_string(),
                    points: has.to_string(),
                    // a node may want a cell more than its share, of those that are over: no cap is
                    // to blame for that
                    reason: (wants > target + u128::from(domain.nodes)
                        && u128::from(domain.cap) * cells.count() == target)
                        .then(|| {
                            full(
                                &domain_name(&domains, id, map),
                                domain.cap,
                                wants,
                                target,
                                map,
                            )
                        }),
                }
            };
        let domains = domains
            .list()
            .iter()
            .zip(of_domain.into_values())
            .map(domain)
            .collect();
        let policies = holders.split_off(map.nodes().len());
        Ok(Balance {
            nodes: holders,
            policies,
            domains,
            max_share_error,
        })
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
        let weights: Vec<Weight> = map
            .nodes()
            .map(|node| node.weight())
            .chain(weighted)
            .collect();
        let domains = domains(map);
        let wanted = wanted(&weights, map.replicas(), map.cells().count());
        let targets = targets(&weights, &domains, map.cells().count())?;
        Some(Shares {
            domains,
            wanted,
            targets,
        })
    }
}

/// The domains of a map's nodes that can hold; at one replica no cap binds and there are none.
fn domains(map: &Map) -> Domains {
    let spread: Vec<&str> = if map.replicas() > 1 {
        map.spread().collect()
    } else {
        Vec::new()
    };
    let of_node = |node: Node<'_>| {
        let value = |label: &&str| node.label(label).unwrap_or("").to_owned();
        (node.weight() > Weight::ZERO).then(|| spread.iter().map(value).collect::<Vec<String>>())
    };
    let paths: Vec<Option<Vec<String>>> = map.nodes().map(of_node).collect();
    let mut paths: Vec<Option<Vec<&str>>> = paths
        .iter()
        .map(|path| {
            path.as_ref()
                .map(|path| path.iter().map(String::as_str).collect())
        })
        .collect();
    paths.extend(
        map.policies()
            .filter_map(|policy| policy.weight())
            .map(|weight| (weight > Weight::ZERO).then(Vec::new)),
    );
    Domains::new(&paths, map.replicas())
}

/// Cells as points, rounded down.
fn in_points(cells: u128, map: &Map) -> u128 {
    let count = map.cells().count();
    if count == SPACE {
        cells
    } else {
        // below 2^72 cells of 2^64 points: whole copies of the space apart, so that nothing
        // overflows
        cells / count * SPACE + cells % count * SPACE / count
    }
}

/// `zone a`, `rack a/1`.
fn domain_name(domains: &Domains, id: DomainId, map: &Map) -> String {
    let path = &domains.list()[id].path;
    let level = path
        .len()
        .checked_sub(1)
        .and_then(|level| map.spread().nth(level))
        .unwrap_or("domain");
    format!("{level} {}", path.join("/"))
}

/// `zone a can hold at most one of 3 copies: 33.3 % instead of 41.2 %`.
fn full(name: &str, cap: u32, wanted: u128, target: u128, map: &Map) -> String {
    let all = f64::from(map.replicas()) * map.cells().count() as f64;
    let percent = |cells: u128| 100.0 * cells as f64 / all;
    let cap = if cap == 1 {
        "one".to_owned()
    } else {
        cap.to_string()
    };
    let (possible, wished) = (percent(target), percent(wanted));
    format!(
        "{name} can hold at most {cap} of {} copies: {possible:.1} % instead of {wished:.1} %",
        map.replicas()
    )
}

/// Why a holder cannot have what it wants; `None` when it has it, give or take a cell, or more.
fn why(
    wanted: u128,
    target: u128,
    bound: Option<Bound>,
    name: &str,
    domains: &Domains,
    map: &Map,
) -> Option<String> {
    if wanted <= target + 1 {
        return None;
    }
    match bound? {
        Bound::Node(_) => Some(full(&format!("node {name}"), 1, wanted, target, map)),
        Bound::Domain(id) => {
            let domain = &domains.list()[id];
            let cap = if domain.cap == 1 {
                "one".to_owned()
            } else {
                domain.cap.to_string()
            };
            Some(format!(
                "{} can hold at most {cap} of {} copies",
                domain_name(domains, id, map),
                map.replicas()
            ))
        }
        Bound::Whole => None,
    }
}
