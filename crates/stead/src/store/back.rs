//! Going back to an old epoch: to its slices, or to its fleet with the least movement.

use super::epochs::Store;
use crate::error::{Error, Result};
use crate::map::{Map, Node, Renamed};
use crate::plan::{all_copies, same_nodes, Amounts};
use crate::point::Share;
use crate::rebalance::{build, build_max_move};

/// How to go back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Back {
    /// To the slices of the old epoch: every key lives where it lived then. This is right while the
    /// data is still there.
    Exact,
    /// To the fleet of the old epoch, built on the newest epoch: every node gets its old share, and
    /// as little as possible moves.
    Least {
        /// How much one epoch may move, as in [`build_max_move`]; `None` means no limit.
        max_move: Option<Share>,
    },
}

impl Back {
    /// Returns the way of going back that a text names: `exact`, or `least` without a limit.
    ///
    /// Errors: `Invalid` for any other text.
    pub fn named(text: &str) -> Result<Back> {
        match text {
            "exact" => Ok(Back::Exact),
            "least" => Ok(Back::Least { max_move: None }),
            _ => Err(Error::Invalid {
                problem: format!("{text:?} is no way to go back; write \"exact\" or \"least\""),
            }),
        }
    }
}

impl Store {
    /// Returns the map that goes back to an old epoch, as the epoch after `newest`. Nothing is
    /// published.
    ///
    /// `None` means [`Back::Exact`] for the epoch just before the newest one, whose data may still
    /// be where it was. For older epochs one of the two must be said.
    ///
    /// The attributes of nodes, such as addresses, come back only if no data has moved since that
    /// epoch. Otherwise it is the data that is to go back, and a node that both maps have keeps the
    /// attributes that it has now: its server may be at another address since.
    ///
    /// Errors: those of [`Store::open_epoch`]; `Invalid` when it must be said how to go back, with
    /// the movement of both; `Carrying` when a carry is open; `Identity` when the epoch is of
    /// another map; those of [`build`](build()) when the old fleet cannot be met.
    pub fn back_to(&self, newest: &Map, epoch: u64, back: Option<Back>) -> Result<Map> {
        newest
            .no_carry()
            .map_err(|error| error.in_file(self.path()))?;
        let old = self.open_epoch(epoch)?;
        let renamed = self.renamed(&old, newest).unwrap_or_default();
        // also when it is not needed, so that an epoch of another map is refused
        let exact = old
            .again_after_renamed(newest, &renamed)
            .map_err(|error| match error {
                Error::Identity { problem } => Error::Identity {
                    problem: format!("{}: {problem}", self.path().display()),
                },
                error => error,
            })?;
        let moved = self.has_moved_since(&old, newest);
        let with_attributes = |back: Map| match moved {
            true => with_attributes_of_now(newest, back),
            false => Ok(back),
        };
        match back {
            Some(Back::Exact) => with_attributes(exact),
            Some(Back::Least { max_move }) => {
                with_attributes(least(&old, newest, &renamed, max_move)?)
            }
            None => {
                let exact = with_attributes(exact)?;
                if epoch.saturating_add(1) >= newest.epoch() || newest.same(&exact) {
                    return Ok(exact);
                }
                Err(self.unsaid(&old, newest, &renamed, &exact))
            }
        }
    }

    /// Whether a later epoch places data elsewhere than `old`. An epoch that the history lacks, or
    /// that is of another map, may have done so.
    fn has_moved_since(&self, old: &Map, newest: &Map) -> bool {
        let is_there = |map: &Map| {
            let amounts = Amounts::between(old, map);
            amounts.is_ok_and(|by| (by.moved, by.by_hand) == (Share(0), Share(0)))
        };
        let mut between = old.epoch().saturating_add(1)..newest.epoch();
        let stayed = |epoch| self.open_epoch(epoch).is_ok_and(|map| is_there(&map));
        !is_there(newest) || !between.all(stayed)
    }

    /// Returns the error for an older epoch when it was not said how to go back.
    fn unsaid(&self, old: &Map, newest: &Map, renamed: &[Renamed], exact: &Map) -> Error {
        let least = least(old, newest, renamed, None).and_then(|new| part_moved(newest, &new));
        let said = |amount: Result<String>| match amount {
            Ok(amount) => format!("moves {amount}"),
            Err(error) => format!("is impossible: {error}"),
        };
        Error::Invalid {
            problem: format!(
                "{}: epoch {} is {} epochs back; say how to go back: exact (its slices again) {}, \
                 and least (its fleet, with the least movement) {}{}",
                self.path().display(),
                old.epoch(),
                newest.epoch() - old.epoch(),
                said(part_moved(newest, exact)),
                said(least),
                match newest.replicas().saturating_sub(old.replicas()) {
                    0 => String::new(),
                    n => format!(
                        "; either drops {n} of {} copies of each key",
                        newest.replicas()
                    ),
                }
            ),
        }
    }
}

/// Returns the same map, in which each node has the attributes that it has in `newest`, if it is
/// there.
fn with_attributes_of_now(newest: &Map, back: Map) -> Result<Map> {
    let mut now = vec![None; back.nodes().len()];
    for (node, same) in newest.nodes().zip(same_nodes(newest, &back)?) {
        if let Some(place) = same.and_then(|same| now.get_mut(same.index())) {
            *place = Some(node);
        }
    }
    let differ = |(then, now): (Node, &Option<Node>)| {
        now.is_some_and(|now| !now.attributes().eq(then.attributes()))
    };
    if !back.nodes().zip(&now).any(differ) {
        return Ok(back);
    }
    let with = back.with_attributes(|node| now.get(node.index()).copied().flatten())?;
    Ok(with.with_permits(back.permits()))
}

/// Returns the map for the fleet of `old`, built on `newest`.
fn least(old: &Map, newest: &Map, renamed: &[Renamed], max_move: Option<Share>) -> Result<Map> {
    let mut fleet = old.fleet();
    fleet.file = format!("the fleet of epoch {}", old.epoch());
    // a node that was renamed since gets its old name back, without moving anything
    for Renamed { before, now } in renamed {
        if let Some(node) = fleet.nodes.iter_mut().find(|node| node.name == *before) {
            node.formerly = Some(now.clone());
        }
    }
    match max_move {
        Some(part) => build_max_move(&fleet, Some(newest), part),
        None => build(&fleet, Some(newest)),
    }
}

/// Formats what moves as a part of all copies, such as `14.58 %`, rounded as in a plan.
fn part_moved(old: &Map, new: &Map) -> Result<String> {
    let points = Amounts::between(old, new)?.moved.0;
    let all = all_copies(old, new);
    let hundredths = (points * 10_000 + all / 2) / all;
    Ok(match hundredths {
        0 if points > 0 => "less than 0.01 %".to_owned(),
        _ => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    })
}
