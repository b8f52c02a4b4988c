//! The report as a whole: what it holds, and how it is made of a map or of two.

use std::collections::HashSet;

use serde::Serialize;

use super::amount::Amount;
use super::capacity::{capacity, Capacity};
use super::edits::{edits, Edit};
use super::fresh::new_first;
use super::holders::{compare, DomainReport, HolderReport, Left, Words};
use super::losses::{
    base_losses, gone_domains, homes, losses, most_copies, new_domains, DomainName, Loss,
};
use super::moves::{flows, named, Flow, MoveReport};
use super::need::need;
use super::pinned::PinnedKeys;
use super::turnover::Turnover;
use super::warnings::{warnings, Facts, Warning};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::map::Map;
use crate::memory;
use crate::plan::{
    dropped, moves_without, reordered_by_hand, same_nodes, still_to_move, Amounts, Move, Plan,
};
use crate::policy::NodeId;
use crate::rebalance::build;
use crate::verdict::Verdict;

/// How many violations and warnings the verdict of a report lists. The list is for people.
const LISTED: usize = 20;

/// What a report has to contain beyond the usual. `true` and `false` say only whether it lists the
/// moves.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ask<'n> {
    /// Whether it lists the moves, and what each pair of nodes copies in sum.
    pub moves: bool,
    /// The names of nodes of the old map that are dead: no move copies from them.
    pub lost: &'n [String],
}

impl From<bool> for Ask<'_> {
    fn from(moves: bool) -> Self {
        Ask { moves, lost: &[] }
    }
}

/// Dead nodes, and what is lost with them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Lost<'a> {
    /// Their names, in order.
    pub nodes: Vec<&'a str>,
    /// The points of which every copy was on one of them, and the part of all points that they are.
    pub without_copy: Amount,
}

impl<'a> Lost<'a> {
    fn of(old: &'a Map, dead: &HashSet<NodeId>) -> Lost<'a> {
        let is_lost: Vec<bool> = old
            .policies()
            .map(|policy| policy.members().all(|node| dead.contains(&node)))
            .collect();
        let slices = old.slices();
        let lost = slices.filter(|slice| is_lost.get(slice.policy.index()) == Some(&true));
        let points = lost.map(|slice| slice.points()).sum();
        let mut numbers: Vec<NodeId> = dead.iter().copied().collect();
        numbers.sort_unstable();
        Lost {
            nodes: numbers
                .into_iter()
                .map(|node| old.node(node).name())
                .collect(),
            without_copy: Amount::of_copies(points, 1),
        }
    }
}

/// The output of `plan`, `apply` and `diff`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report<'a> {
    /// The name of the cluster.
    pub name: &'a str,
    /// The epoch of the new map.
    pub epoch: u64,
    /// The epoch of the old map; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_epoch: Option<u64>,
    /// What a person has to know first, the gravest first.
    pub warnings: Vec<Warning>,
    /// The nodes that were said to be dead, and what has no copy left; `None` if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost<'a>>,
    /// What changed in the fleet; `None` without an old map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Edit>>,
    /// The replicas R of the new map.
    pub replicas: u32,
    /// The replicas R of the old map; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_replicas: Option<u32>,
    /// The number of base slices of the new map.
    pub slices: usize,
    /// The number of base slices of the old map; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_slices: Option<usize>,
    /// The size of the new map in bytes.
    pub bytes: usize,
    /// The size of the old map in bytes; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_bytes: Option<usize>,
    /// What happens to the copies; `None` without an old map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<Turnover>,
    /// The points for which a new copy answers first, as a part of all points; `None` unless there
    /// are more copies than before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_first: Option<Amount>,
    /// How many of the keys that either map pins get other nodes; `None` without an old map, and
    /// where neither map pins a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_keys: Option<PinnedKeys>,
    /// The amount that rebalancing moves.
    pub moved: Amount,
    /// The least amount that any way to the new shares moves.
    pub lower_bound: Amount,
    /// The least amount that any way to the new shares moves under the caps. Known only for a
    /// change to a fleet that is made at once, not gradually.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimum: Option<Amount>,
    /// The amount that pins and changed policies move.
    pub by_hand: Amount,
    /// Points whose primary changes although the old primary still holds a copy.
    pub reordered: Amount,
    /// The amount that a gradual change has yet to move; `None` when no gradual change is under
    /// way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_come: Option<Amount>,
    /// The number of base slices that break a rule of the fleet.
    pub violations: usize,
    /// The number of base slices that break a rule until a gradual change reaches them.
    pub pending_violations: usize,
    /// The number of pins that have fewer than R nodes, break a cap or list a node twice.
    pub pin_violations: usize,
    /// The number of such pins that the fleet allows.
    pub short_pins: usize,
    /// The largest difference between the points of a holder and its target.
    pub max_share_error_points: String,
    /// The largest such difference in millionths of the target, rounded up; `None` if the map has
    /// no tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_share_error_millionths: Option<u128>,
    /// How far shares may be from their targets, as a percentage; `None` if they must be exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
    /// How much of the capacity can be used, if weights are proportional to it.
    pub capacity: Capacity<'a>,
    /// The fault domains that the old map does not have; `None` without an old map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_domains: Option<Vec<DomainName<'a>>>,
    /// The fault domains of the old map in which no node can hold points any more; `None` without
    /// an old map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_domains: Option<Vec<DomainName<'a>>>,
    /// Every node, in the order of names.
    pub nodes: Vec<HolderReport<'a>>,
    /// Every named policy with a weight, in the order of names.
    pub policies: Vec<HolderReport<'a>>,
    /// Every fault domain with nodes that can hold points, each followed by the domains inside it.
    /// Empty when R is 1.
    pub domains: Vec<DomainReport<'a>>,
    /// The nodes, and the policies with a weight, that the old map has and the new one does not;
    /// `None` without an old map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Vec<Left<'a>>>,
    /// What each pair of nodes copies in sum, the largest first, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<Flow<'a>>>,
    /// The moves, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<MoveReport<'a>>>,
    /// The verdict on the new map, which the fields above come from.
    #[serde(skip)]
    pub verdict: Verdict<'a>,
}

impl<'a> Report<'a> {
    /// The report of a map that was built from a fleet, with the optimum. If `max_slices` may have
    /// made more move, the map is built again without `max_slices` to find the optimum.
    ///
    /// `ask` is what the report has to contain; `true` and `false` say whether it lists the moves.
    ///
    /// Errors: `Identity` when the maps belong to different clusters; `Invalid` for a lost node
    /// that the old map does not have; `Memory` or `MemoryLimit` when there may not be enough
    /// memory.
    pub fn of_fleet<'n>(
        fleet: &Fleet,
        old: Option<&'a Map>,
        new: &'a Map,
        ask: impl Into<Ask<'n>>,
    ) -> Result<Report<'a>> {
        let mut report = Report::of(old, new, ask)?;
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
                let most = old.replicas().max(new.replicas());
                Some(Amount::of_copies(
                    Amounts::between(old, &free)?.moved.0,
                    most,
                ))
            }
            _ => Some(report.moved.clone()),
        };
        Ok(report)
    }

    /// The report of a change from `old` to `new`. `old` is `None` for a first map, which moves
    /// nothing. `ask` and errors: as in [`Report::of_fleet`].
    pub fn of<'n>(
        old: Option<&'a Map>,
        new: &'a Map,
        ask: impl Into<Ask<'n>>,
    ) -> Result<Report<'a>> {
        let ask = ask.into();
        understood(old, new)?;
        let room = memory::room(need(old, new, 0))?;
        let Some(old) = old else {
            known(None, ask.lost)?;
            return Ok(Report::made(None, new, ask.moves, &HashSet::new()));
        };
        let dead = known(Some(old), ask.lost)?;
        if !ask.moves {
            let before = Before::of(old, new, Amounts::between(old, new)?)?;
            return Ok(Report::made(Some(before), new, false, &dead));
        }
        let plan = Plan::between(old, new)?;
        let mut before = Before::of(old, new, plan.amounts)?;
        before.moves = Some(match dead.is_empty() {
            true => plan.moves,
            false => moves_without(old, new, &dead)?,
        });
        drop(room);
        let _room = memory::room(need(Some(old), new, before.listed()))?;
        Ok(Report::made(Some(before), new, true, &dead))
    }

    /// The report of a plan that is already computed.
    ///
    /// Errors: `Version` when this stead does not know all features of the maps; `Memory` or
    /// `MemoryLimit` when there may not be enough memory.
    pub fn of_plan(
        plan: &Plan,
        old: &'a Map,
        new: &'a Map,
        with_moves: bool,
    ) -> Result<Report<'a>> {
        understood(Some(old), new)?;
        let listed = if with_moves { plan.moves.len() } else { 0 };
        let _room = memory::room(need(Some(old), new, listed))?;
        let mut before = Before::of(old, new, plan.amounts)?;
        before.moves = with_moves.then(|| plan.moves.clone());
        Ok(Report::made(Some(before), new, with_moves, &HashSet::new()))
    }

    fn made(
        before: Option<Before<'a>>,
        new: &'a Map,
        with_moves: bool,
        dead: &HashSet<NodeId>,
    ) -> Report<'a> {
        let verdict = Verdict::of(new, LISTED);
        let words = Words {
            spread: new.spread().collect(),
            replicas: new.replicas(),
            cells: new.cells().count(),
            verdict: &verdict,
        };
        let homes = homes(new, &verdict);
        let losses = losses(new, &verdict, &homes);
        let mut nodes = words.holders(&verdict.nodes);
        let mut policies = words.holders(&verdict.policies);
        let domains = words.domains(&losses);
        let capacity = capacity(&verdict, &words.over(), &homes, &words.spread);
        let amounts = before
            .as_ref()
            .map_or(Amounts::NONE, |before| before.amounts);
        // as in `all_copies`: a part of the copies of the map that has more of them
        let most = before
            .as_ref()
            .map_or(0, |before| before.old.replicas())
            .max(new.replicas());
        let amount = |points: u128| Amount::of_copies(points, most);
        let old = before.as_ref().map(|before| before.old);
        let copies = before.as_ref().map(|before| {
            let Amounts {
                moved,
                reordered,
                by_hand,
                ..
            } = before.amounts;
            let counts = [
                moved.0,
                before.dropped,
                reordered.0,
                before.reordered_by_hand,
                by_hand.0,
            ];
            Turnover::of(counts, most)
        });
        let pinned_keys = before
            .as_ref()
            .and_then(|before| before.pinned_keys.clone());
        let was = old.map(|old| Verdict::of(old, 0));
        let left = before.as_ref().zip(was.as_ref()).map(|(before, was)| {
            compare(
                [&mut nodes, &mut policies],
                was,
                (new, &verdict),
                &before.same,
            )
        });
        let old_most_copies = old
            .zip(was.as_ref())
            .map(|(old, was)| most_copies(was, &base_losses_of(old, was)));
        let gone = before
            .as_ref()
            .map(|before| gone_domains(before.old, new, &before.same));
        let lost = old
            .filter(|_| !dead.is_empty())
            .map(|old| Lost::of(old, dead));
        let warnings = warnings(&Facts {
            old,
            new,
            words: &words,
            base_losses: &base_losses(new, &verdict, &homes),
            old_most_copies,
            gone: gone.as_deref().unwrap_or(&[]),
            dropped: before.as_ref().map_or(0, |before| before.dropped),
            lost_points: lost.as_ref().map_or(0, |lost| lost.without_copy.count()),
            dead,
        });
        let moves = before
            .as_ref()
            .and_then(|before| Some((before.old, before.moves.as_ref()?)));
        Report {
            name: new.name(),
            epoch: new.epoch(),
            old_epoch: old.map(Map::epoch),
            warnings,
            lost,
            changes: before
                .as_ref()
                .map(|before| edits(before.old, new, &before.same)),
            replicas: new.replicas(),
            old_replicas: old.map(Map::replicas),
            slices: new.base_count(),
            old_slices: old.map(Map::base_count),
            bytes: new.bytes().len(),
            old_bytes: old.map(|old| old.bytes().len()),
            copies,
            new_first: before
                .as_ref()
                .and_then(|before| new_first(before.old, new, &before.same)),
            pinned_keys,
            moved: amount(amounts.moved.0),
            lower_bound: amount(amounts.lower_bound.0),
            optimum: None,
            by_hand: amount(amounts.by_hand.0),
            reordered: amount(amounts.reordered.0),
            to_come: new
                .target_slices()
                .map(|_| Amount::of(still_to_move(new), new)),
            violations: verdict.violating_slices,
            pending_violations: verdict.pending_violations,
            pin_violations: verdict.violating_pins,
            short_pins: verdict.short_pins,
            max_share_error_points: verdict.max_share_error.to_string(),
            max_share_error_millionths: new.tolerance().map(|_| verdict.max_share_error_millionths),
            tolerance: new.tolerance().map(|tolerance| tolerance.to_string()),
            capacity,
            new_domains: old.map(|old| new_domains(old, new)),
            gone_domains: gone,
            nodes,
            policies,
            domains,
            left,
            flows: with_moves.then(|| {
                moves.map_or(Vec::new(), |(old, moves)| {
                    flows([old, new], moves, dead, most)
                })
            }),
            moves: with_moves
                .then(|| moves.map_or(Vec::new(), |(old, moves)| named(old, new, moves))),
            verdict,
        }
    }
}

/// Checks that this stead knows all features of the maps: a report judges both.
fn understood(old: Option<&Map>, new: &Map) -> Result<()> {
    old.map_or(Ok(()), Map::understood)?;
    new.understood()
}

fn base_losses_of(map: &Map, verdict: &Verdict) -> Vec<Loss> {
    base_losses(map, verdict, &homes(map, verdict))
}

/// The old map, and what it differs by from the new one.
struct Before<'a> {
    old: &'a Map,
    same: Vec<Option<NodeId>>,
    amounts: Amounts,
    dropped: u128,
    reordered_by_hand: u128,
    pinned_keys: Option<PinnedKeys>,
    moves: Option<Vec<Move>>,
}

impl<'a> Before<'a> {
    fn of(old: &'a Map, new: &Map, amounts: Amounts) -> Result<Before<'a>> {
        Ok(Before {
            old,
            same: same_nodes(old, new)?,
            amounts,
            dropped: dropped(old, new),
            reordered_by_hand: reordered_by_hand(old, new)?,
            pinned_keys: PinnedKeys::between(old, new)?,
            moves: None,
        })
    }

    /// How many moves the report lists.
    fn listed(&self) -> usize {
        self.moves.as_ref().map_or(0, Vec::len)
    }
}

/// Returns the nodes with these names.
fn known(old: Option<&Map>, lost: &[String]) -> Result<HashSet<NodeId>> {
    let number = |name: &String| {
        let node = old.and_then(|old| old.node_named(name));
        node.map(|node| node.id).ok_or_else(|| Error::Invalid {
            problem: match old {
                Some(old) => format!(
                    "`{name}` is not a node of epoch {}; `stead show` lists its nodes",
                    old.epoch()
                ),
                None => format!("`{name}` cannot be lost, because there is no map yet"),
            },
        })
    };
    lost.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::SPACE;
    use crate::rebalance::planted::with_caps_too_high;

    /// A fleet with three copies over three zones, of which the first wants half of everything: it
    /// gets more than one copy of a point as soon as its cap allows.
    fn fleet() -> Fleet {
        let node = |(zone, weight): (&str, u32)| {
            format!(
                "[[node]]\nname = '{zone}'\nweight = {weight}\nlabels = {{zone = '{}'}}\n",
                &zone[..1]
            )
        };
        let nodes = [
            ("a1", 4),
            ("a2", 2),
            ("b1", 2),
            ("b2", 1),
            ("c1", 2),
            ("c2", 1),
        ]
        .map(node);
        let text = format!(
            "name = 'planted'\nreplicas = 3\nspread = ['zone']\n{}",
            nodes.concat()
        );
        Fleet::parse(&text, "fleet.toml").unwrap()
    }

    /// Returns what `plan` prints: violations, whether there is a share error, and violations of
    /// pins.
    fn planned(fleet: &Fleet) -> (usize, bool, usize) {
        let map = build(fleet, None).unwrap();
        let report = Report::of_fleet(fleet, None, &map, false).unwrap();
        let share_error = report.max_share_error_points != "0";
        (report.violations, share_error, report.pin_violations)
    }

    #[test]
    fn a_bug_in_the_caps_of_the_rebalancer_is_seen_by_the_plan() {
        assert_eq!(planned(&fleet()), (0, false, 0));
        let (violations, share_error, _) = with_caps_too_high(|| planned(&fleet()));
        assert!(violations > 0 && share_error, "{violations} {share_error}");
        assert_eq!(planned(&fleet()), (0, false, 0));
    }

    #[test]
    fn a_bug_in_the_caps_is_seen_in_a_step_too() {
        let before = build(&fleet(), None).unwrap();
        let mut grown = fleet();
        grown.nodes[1].weight = crate::weight::Weight::MAX;
        let violations = with_caps_too_high(|| {
            let after = build(&grown, Some(&before)).unwrap();
            let report = Report::of_fleet(&grown, Some(&before), &after, true).unwrap();
            report.violations
        });
        assert!(violations > 0);
    }

    /// A fleet of the zones that are named by the first letters of its nodes.
    fn zoned(replicas: u32, nodes: &[(&str, u32)]) -> Fleet {
        let node = |(name, weight): &(&str, u32)| {
            let zone = &name[..1];
            format!("{{name = '{name}', weight = {weight}, labels = {{zone = '{zone}'}}}}")
        };
        let nodes: Vec<String> = nodes.iter().map(node).collect();
        let text = format!(
            "name = 'm'\nreplicas = {replicas}\nspread = ['zone']\nnode = [{}]",
            nodes.join(", ")
        );
        Fleet::parse(&text, "fleet").unwrap()
    }

    /// The codes of the warnings of a change.
    fn codes(before: &Fleet, after: &Fleet) -> Vec<&'static str> {
        let old = build(before, None).unwrap();
        let new = build(after, Some(&old)).unwrap();
        let report = Report::of_fleet(after, Some(&old), &new, false).unwrap();
        report.warnings.iter().map(|warning| warning.code).collect()
    }

    const THREE: [(&str, u32); 6] = [
        ("a1", 1),
        ("a2", 1),
        ("b1", 1),
        ("b2", 1),
        ("c1", 1),
        ("c2", 1),
    ];

    #[test]
    fn fewer_replicas_drop_copies_and_more_replicas_do_not() {
        let [one, three] = [1, 3].map(|replicas| zoned(replicas, &THREE));
        let old = build(&three, None).unwrap();
        let new = build(&one, Some(&old)).unwrap();
        let report = Report::of(Some(&old), &new, false).unwrap();
        let copies = report.copies.as_ref().unwrap();
        assert_eq!((copies.of_replicas, copies.dropped.count()), (3, 2 << 64));
        assert!((copies.dropped.fraction - 2.0 / 3.0).abs() < 1e-12);
        // what the nodes lose is what is dropped
        let change = report
            .nodes
            .iter()
            .map(|node| node.change_points.as_ref().unwrap());
        let change: i128 = change.map(|text| text.parse::<i128>().unwrap()).sum();
        assert_eq!(change, -(2 << 64));
        assert_eq!(codes(&three, &one), ["drop-copies"]);
        assert!(codes(&one, &three).is_empty());
        assert!(codes(&three, &three).is_empty());
    }

    #[test]
    fn a_zone_that_goes_is_warned_of_and_one_that_is_renamed_is_not() {
        let three = zoned(3, &THREE);
        assert_eq!(
            codes(&three, &zoned(3, &THREE[..4])),
            ["lose-domain", "one-domain"]
        );
        let mut renamed = three.clone();
        for node in renamed
            .nodes
            .iter_mut()
            .filter(|node| node.name.starts_with('c'))
        {
            node.labels.insert("zone".into(), "d".into());
        }
        assert!(codes(&three, &renamed).is_empty());
        // merged into another zone, it is gone
        for node in renamed
            .nodes
            .iter_mut()
            .filter(|node| node.name.starts_with('c'))
        {
            node.labels.insert("zone".into(), "a".into());
        }
        assert_eq!(codes(&three, &renamed), ["lose-domain", "one-domain"]);
        let mut flat = three.clone();
        flat.spread.clear();
        assert_eq!(codes(&three, &flat), ["spread"]);
    }

    #[test]
    fn a_pin_with_all_nodes_in_one_zone_is_warned_of_and_changes_no_other_warning() {
        let pinned = |replicas, nodes: &str| {
            let mut text = zoned(replicas, &THREE).to_toml();
            text.push_str(&format!(
                "[[pin]]\nkey = 'k'\nshort = true\nnodes = [{nodes}]\n"
            ));
            Fleet::parse(&text, "fleet").unwrap()
        };
        let (one, two) = (zoned(1, &THREE), zoned(2, &THREE));
        assert_eq!(codes(&one, &pinned(1, "'a1', 'a2'")), ["pin-in-one-domain"]);
        assert!(codes(&one, &pinned(1, "'a1', 'a2', 'b1'")).is_empty());
        assert!(codes(&one, &pinned(1, "'a1'")).is_empty());
        assert_eq!(codes(&two, &pinned(2, "'a1', 'a2'")), ["pin-in-one-domain"]);
        // said when it becomes so, and not again
        assert!(codes(&pinned(1, "'a1', 'a2'"), &pinned(1, "'b1', 'b2'")).is_empty());
    }

    #[test]
    fn the_usable_capacity_is_what_fits_until_the_first_node_is_full() {
        let nodes = [
            ("a1", 4),
            ("a2", 4),
            ("b1", 2),
            ("b2", 2),
            ("c1", 1),
            ("c2", 1),
        ];
        let map = build(&zoned(3, &nodes), None).unwrap();
        let report = Report::of(None, &map, false).unwrap();
        // zone c weighs 2 of 14 and holds a third: 14/2/3 times its weight
        assert!((report.capacity.usable - 3.0 * 2.0 / 14.0).abs() < 1e-9);
        let first = report.capacity.fills_first.as_ref().unwrap();
        assert_eq!(
            (first.level, &first.paths[..], first.count),
            (Some("zone"), &[vec!["c"]][..], 1)
        );
        let more: Vec<_> = report
            .capacity
            .more
            .iter()
            .map(|m| (m.who.paths.concat(), m.times))
            .collect();
        assert_eq!(more, [(vec!["b"], 1.17), (vec!["c"], 2.33)]);
        assert!((report.nodes[4].over_wanted.unwrap() - 7.0 / 3.0).abs() < 1e-9);

        let map = build(&zoned(3, &THREE), None).unwrap();
        let capacity = Report::of(None, &map, false).unwrap().capacity;
        assert!((capacity.usable, capacity.fills_first, capacity.more.len()) == (1.0, None, 0));
    }

    #[test]
    fn losing_a_domain_costs_the_copies_that_it_holds() {
        let map = build(&zoned(3, &THREE[..4]), None).unwrap();
        let report = Report::of(None, &map, false).unwrap();
        let half = (SPACE / 2).to_string();
        for domain in &report.domains {
            let loss = &domain.loss;
            assert_eq!(
                (loss.copies, &loss.points, loss.last_points.as_str()),
                (2, &half, "0")
            );
        }
        // one zone holds every copy of everything
        let map = build(&zoned(2, &THREE[..2]), None).unwrap();
        let report = Report::of(None, &map, false).unwrap();
        let loss = &report.domains[0].loss;
        assert_eq!(
            (loss.copies, loss.last_points.clone()),
            (2, SPACE.to_string())
        );
    }

    #[test]
    fn a_pin_with_more_copies_does_not_hide_what_a_loss_costs() {
        let nodes: String = ["a1", "a2", "b1", "b2", "c1", "c2"]
            .map(|name| {
                format!(
                    "[[node]]\nname = '{name}'\nlabels = {{ z = '{}' }}\n",
                    &name[..1]
                )
            })
            .concat();
        let pin = |nodes: &str| format!("[[pin]]\nkey = 'k'\nnodes = [{nodes}]\n");
        let losses = |pins: &str| {
            let text = format!("name = 'm'\nreplicas = 2\nspread = ['z']\n{nodes}{pins}");
            let map = build(&Fleet::parse(&text, "f").unwrap(), None).unwrap();
            let report = Report::of(None, &map, false).unwrap();
            let domains = report.domains.iter();
            domains
                .map(|d| (d.loss.copies, d.loss.of))
                .collect::<Vec<_>>()
        };
        // the pin keeps a copy, as all others do, and is a small part of the keys
        assert_eq!(losses(&pin("'c1', 'b1', 'b2'")), [(1, 2); 3]);
        // what keeps no copy is the worst
        let all = losses(&pin("'b1', 'b2'").replace("nodes", "short = true\nnodes"));
        assert_eq!(all[1], (2, 2), "{all:?}");
    }

    #[test]
    fn the_moves_of_dead_nodes_come_from_those_that_have_the_copies() {
        let old = build(&zoned(2, &THREE), None).unwrap();
        let after = zoned(2, &THREE[1..]);
        let new = build(&after, Some(&old)).unwrap();
        let lost = ["a1".to_owned()];
        let ask = Ask {
            moves: true,
            lost: &lost,
        };
        let [alive, dead] = [Ask::from(true), ask]
            .map(|ask| Report::of_fleet(&after, Some(&old), &new, ask).unwrap());
        let runs = |report: &Report| -> Vec<(String, Option<String>)> {
            let moves = report.moves.as_ref().unwrap().iter();
            moves
                .map(|m| (m.first.clone(), m.to.map(str::to_owned)))
                .collect()
        };
        assert!(alive
            .moves
            .as_ref()
            .unwrap()
            .iter()
            .any(|m| m.from == Some("a1")));
        for m in dead.moves.as_ref().unwrap() {
            let from = m.from.unwrap();
            let first = crate::Point::from_hex(&m.first).unwrap();
            let had = old.locate_all_point(first);
            assert!(from != "a1" && had.into_iter().any(|node| old.node(node).name() == from));
        }
        // a run may be cut where another node takes over, and every copy is still made
        assert!(runs(&dead).len() >= runs(&alive).len());
        let sum = |report: &Report| -> u128 {
            report
                .flows
                .as_ref()
                .unwrap()
                .iter()
                .map(|flow| flow.amount.count())
                .sum()
        };
        assert_eq!(sum(&alive), sum(&dead));
        assert_eq!(dead.lost.as_ref().unwrap().without_copy.count(), 0);
        assert!(dead.warnings.is_empty());
        // with both holders of some points dead, these points are lost, and nothing else is
        let lost = ["a1".to_owned(), "b1".to_owned()];
        let report = Report::of(
            Some(&old),
            &new,
            Ask {
                moves: false,
                lost: &lost,
            },
        )
        .unwrap();
        let both = |slice: &crate::slice::Slice| {
            let nodes = old.policy(slice.policy).members();
            nodes
                .into_iter()
                .all(|node| ["a1", "b1"].contains(&old.node(node).name()))
        };
        let points: u128 = old.slices().filter(both).map(|slice| slice.points()).sum();
        assert!(points > 0);
        assert_eq!(report.lost.as_ref().unwrap().without_copy.count(), points);
        assert_eq!(report.warnings[0].code, "no-survivor");
        let ask = Ask {
            moves: false,
            lost: &["z".to_owned()],
        };
        assert!(matches!(
            Report::of(Some(&old), &new, ask),
            Err(Error::Invalid { .. })
        ));
    }
}
