//! Rebalancing: from the slices of today and the weights of tomorrow to new slices, exactly
//! balanced, with the least movement.
//!
//! A slice is held by a set of R holders, one of which is its primary. The steps, each in its file,
//! all in one fixed order, all in whole cells; docs/rebalance.md tells them in words:
//!
//! 1. [`targets`]: how many cells each holder gets under the caps of [`Domains`], as integers that
//!    add up exactly.
//! 2. `fit`: sets that R, the caps or the labels no longer allow change as little as can be.
//! 3. `shift`: a holder that must grow grows over its neighbours' slices. Makes no slice, often
//!    removes one.
//! 4. `release`: holders that must shrink give up whole slices and, next to those or to each other,
//!    one cut each.
//! 5. `fill`: what was given up goes to those who still must grow.
//! 6. `copies`, at several replicas: what is left goes along the shortest paths of `flow`.
//! 7. `primaries`, at several replicas: the same paths, over exchanges within a set.
//!
//! `build` makes an `Aim` of step 1 and hands it to `limit`. That file calls `exact`, which is
//! steps 2 to 7 and the proof that they came out right. It calls `coalesce`, which spends movement
//! on fewer slices, where the fleet sets `max_slices` and there would be more. A first map comes
//! from `first_layout` instead of steps 2 to 6. `gradual` goes a part of the way, and `compose`
//! turns pieces into a map.
//!
//! In steps 3 to 5 a holder that shrinks never gains a cell and one that grows never loses one, so
//! the cells that move are exactly the sum of the gains. Where they settle everything, as always at
//! one replica, no way to the same targets moves less; else step 6 makes it the least.
//!
//! Why these steps: finding the fewest slices is strongly NP-hard (research: debt clearing with
//! minimum edges), so they are a heuristic, judged by the slice counts of docs/rebalance.md. Their
//! version stands in each map; a change of any step is a new version.
//!
//! # The files
//!
//! A file uses only files to its left.
//!
//! ```text
//! table | holder | sets domains | piece targets | chain aim | demand | fit shift release coalesce first_layout graph | fill distances | flow | copies primaries | exact | limit | gradual roster | compose | build
//! ```
//!
//! # Wrong ids
//!
//! Holders, roles, domains, sets and pieces are known by ids, and each value about one of them
//! stands in a [`Table`] that only its id indexes. A wrong id panics. libstead turns a panic into
//! the status of an internal fault, the command into one line and an exit code, Python into an
//! exception. An `Err` would be as loud, but nearly every line of the steps would have to pass it
//! on, and no reader could tell it from the errors that do happen.
//!
//! No fleet and no map can cause that panic: every id is given out in this module, for a table of
//! that length. The node and policy numbers of an old map are looked up in `roster` alone, where a
//! wrong one is an `Error::Internal`.

mod aim;
mod build;
mod chain;
mod coalesce;
mod compose;
mod copies;
mod demand;
mod distances;
mod domains;
mod exact;
mod fill;
mod first_layout;
mod fit;
mod flow;
mod gradual;
mod graph;
mod holder;
mod limit;
mod piece;
mod primaries;
mod release;
mod roster;
mod sets;
mod shift;
mod table;
mod targets;

pub use build::{build, build_step, ALGORITHM};
pub use domains::{Domain, DomainId, Domains, Inside};
pub use holder::{ByHolder, HolderId};
pub use table::{Id, Table};
pub use targets::{targets, wanted, Bound, Targets};

#[cfg(test)]
pub(crate) mod planted;
