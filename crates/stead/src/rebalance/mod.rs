//! Rebalancing: from the slices of today and the weights of tomorrow to new slices, exactly
//! balanced, with the least movement.
//!
//! A slice is held by a set of R holders, one of which is its primary. The steps, each in its file,
//! all in one fixed order, all in whole cells; `step` calls them, and docs/rebalance.md tells them
//! in words:
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
//! A first map comes from `chunks` instead of steps 2 to 6. `gradual` goes a part of the way.
//!
//! In steps 3 to 5 a holder that shrinks never gains a cell and one that grows never loses one, so
//! the cells that move are exactly the sum of the gains. Where they settle everything, as always at
//! one replica, no way to the same targets moves less; else step 6 makes it the least. `coalesce`
//! spends movement on fewer slices where the fleet wants that.
//!
//! Why these steps: finding the fewest slices is strongly NP-hard (research: debt clearing with
//! minimum edges), so they are a heuristic, judged by the slice counts of docs/rebalance.md. Their
//! version stands in each map; a change of any step is a new version.

mod build;
mod chain;
mod chunks;
mod coalesce;
mod compose;
mod copies;
mod domains;
mod fill;
mod fit;
mod flow;
mod gradual;
mod holder;
mod holders;
mod piece;
mod primaries;
mod release;
mod role;
mod sets;
mod shift;
mod step;
mod target;

pub use build::{build, build_step, ALGORITHM};
pub use domains::{Domain, DomainId, Domains};
pub use holder::{ByHolder, HolderId};
pub use target::{targets, wanted, Bound, Targets};

#[cfg(test)]
pub(crate) mod planted;
