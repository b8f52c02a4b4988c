//! Rebalancing: from the slices of today and the weights of tomorrow to new slices, exactly balanced, with the least movement.
//!
//! One replica: a slice has one holder. The steps, each in its file, all in one fixed order, all in whole cells:
//!
//! 1. [`targets`]: how many cells each holder gets, as integers that add up exactly.
//! 2. `shift`: a holder that must grow grows over its neighbours' slices. Makes no slice, often removes one.
//! 3. `release`: holders that must shrink give up whole slices and, next to those or to each other, one cut each.
//! 4. `fill`: what was given up goes to those who still must grow.
//!
//! A holder that shrinks never gains a cell and one that grows never loses one, so the cells that move are exactly the sum of
//! the gains: no way to the same targets moves less. `coalesce` spends movement on fewer slices where the fleet wants that.
//!
//! Why these steps: finding the fewest slices is strongly NP-hard (research: debt clearing with minimum edges), so they are
//! a heuristic, judged by the slice counts of docs/rebalance.md. Their version stands in each map; a change of any
//! step is a new version.

mod build;
mod chain;
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
mod layout;
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
