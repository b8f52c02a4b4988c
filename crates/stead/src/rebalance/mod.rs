//! Rebalancing: computes the slices of the next map from the slices of the map before it and the
//! weights of the new fleet. The result is exactly balanced, and as little as possible moves.
//!
//! A slice is held by a set of R holders, one of which is its primary; a holder is a node, or at
//! one replica also a policy that has a weight. A *piece* is a slice during a rebalance: its length
//! in cells and its set. The other words are those of docs/placement.md.
//!
//! A rebalance takes the steps below, each in its own file. Every step counts in whole cells and
//! loops in one fixed order, so that all machines compute the same result. docs/rebalance.md
//! explains the steps in more words.
//!
//! 1. [`targets`] computes how many cells each holder gets under the caps of [`Domains`], as
//!    integers that add up exactly.
//! 2. `fit` repairs the sets that R, the caps or the labels no longer allow, and changes as few of
//!    their copies as possible.
//! 3. `shift` lets a holder that must grow take cells from the slices beside its own. This adds no
//!    slice and often removes one.
//! 4. `release` lets the holders that must shrink give up the rest: first the `blocks` of whole
//!    slices that fit, then one cut for each holder, beside a block or beside another holder's cut
//!    where possible.
//! 5. `fill` gives the released cells to the holders that must still grow.
//! 6. `copies` (several replicas only) settles what steps 3 to 5 left over, by exchanges along the
//!    shortest paths of `flow`.
//! 7. `primaries` (several replicas only) gives each holder its share of primaries, by shortest
//!    paths over exchanges of the primary within a set.
//!
//! How the files work together: `build` runs step 1, which gives an `Aim`, and passes it to
//! `limit`. Where the fleet has a tolerance, `tolerated` first replaces the targets of the aim by
//! numbers in the bands around them. `limit` calls `exact`, which runs steps 2 to 7 and checks that
//! the result meets the aim. `exact` repeats steps 3 to 5 while they make progress. Where step 2
//! changed sets, it also runs `copies` before step 3, for exchanges that move nothing more. When
//! the fleet sets `max_slices` and `exact` made more slices, `limit` lets `trade` remove the
//! cheapest ones, which costs movement. Where that does not reach the limit, `coalesce` joins
//! slices first, and `exact` and `trade` run again. `trade` moves `borders`, along a `route`, at a
//! `price`. For a first map, `first_layout` replaces steps 2 to 6. `gradual` takes only a part of a
//! change, and `compose` turns pieces into the parts of a map.
//!
//! In steps 3 to 5, a holder that must shrink never gains a cell, and a holder that must grow never
//! loses one. The number of cells moved is therefore exactly the sum of all gains. Where these
//! steps reach every target, as they always do at one replica, no way to the same targets moves
//! less. Otherwise step 6 makes the movement minimal.
//!
//! Finding the fewest slices is strongly NP-hard (research: debt clearing with minimum edges).
//! Steps 3 to 5 are therefore a heuristic, which docs/rebalance.md judges by its slice counts. Each
//! map records the version of the algorithm; changing any step requires a new version.
//!
//! # The files
//!
//! A file uses only files in groups to the left of its own:
//!
//! ```text
//! table | holder | sets domains | crowd | room | piece targets joiners pool | chain aim blocks | demand tolerated | fit shift release coalesce first_layout graph price | fill distances borders | flow route | copies primaries trade | exact | limit | gradual roster need | compose | build
//! ```
//!
//! # Wrong ids
//!
//! Holders, roles, domains, sets and pieces are identified by ids. All values that belong to them
//! are kept in a [`Table`] (or in `table::Lists`), which only ids of the right kind can index. A
//! wrong id panics. libstead turns the panic into the status for an internal fault, the command
//! prints one line and exits with an error code, and Python raises an exception. Returning `Err`
//! instead would report the fault just as clearly, but nearly every line of the steps would have to
//! propagate it, and readers could not tell it from the errors that can really happen.
//!
//! No fleet and no map can cause this panic: this module creates every id, and only for a table of
//! that length. The node and policy numbers of an old map are looked up only in `roster`, where a
//! wrong number is an `Error::Internal`.

mod aim;
mod blocks;
mod borders;
mod build;
mod chain;
mod coalesce;
mod compose;
mod copies;
mod crowd;
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
mod joiners;
mod limit;
mod need;
mod piece;
mod pool;
mod price;
mod primaries;
mod release;
mod room;
mod roster;
mod route;
mod sets;
mod shift;
mod table;
mod targets;
mod tolerated;
mod trade;

pub use build::{build, build_max_move, ALGORITHM};
pub use domains::{Domain, DomainId, Domains, Inside};
pub use holder::{ByHolder, HolderId};
pub use table::{Id, Table};
pub use targets::{targets, wanted, Bound, Targets};

#[cfg(test)]
pub(crate) mod planted;
