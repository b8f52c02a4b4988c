//! stead answers "where does this key live?" and gives the same answer in every language. It also
//! changes the answer safely: shares are exact, as little as possible moves, and a plan lists every
//! move before anything is done.
//!
//! ```text
//! key --hash--> point --slices--> policy --> nodes
//! ```
//!
//! A **fleet** is a text that lists the nodes you have and the placement you want. A **map** is
//! built from a fleet: a sorted table of slices of the hash space, immutable and versioned. Build
//! the first map of a fleet, and ask it for a key:
//!
//! ```
//! use stead::{build, Fleet};
//!
//! # fn main() -> stead::Result<()> {
//! let fleet = Fleet::parse(
//!     r#"
//!     name = "members"
//!     [[node]]
//!     name = "db1"
//!     [[node]]
//!     name = "db2"
//!     weight = 1.5
//!     "#,
//!     "fleet.toml", // the name in messages, such as fleet.toml:7: ...
//! )?;
//! let map = build(&fleet, None)?;
//! let node = map.locate(b"frank");
//! assert_eq!(map.node(node).name(), "db1");
//! # Ok(())
//! # }
//! ```
//!
//! # Growing
//!
//! The next map is built from the new fleet *and* the map before it, so that as little as possible
//! moves. A [`Plan`] lists the differences between the two maps before anything is done:
//!
//! ```
//! use stead::{build, Fleet, Plan};
//!
//! # fn main() -> stead::Result<()> {
//! let two = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b'}]", "fleet.toml")?;
//! let three = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c'}]", "fleet.toml")?;
//! let before = build(&two, None)?;
//! let after = build(&three, Some(&before))?;
//!
//! let plan = Plan::between(&before, &after)?;
//! // a third of the space moves, and not a point more
//! assert_eq!(plan.amounts.moved, plan.amounts.lower_bound);
//! for step in &plan.moves {
//!     let (from, to) = (step.from.map(|n| before.node(n).name()), step.to.map(|n| after.node(n).name()));
//!     assert!(to == Some("c"), "{from:?} gives {} to {}, to c", step.first, step.last);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! A [`Store`] is a map file and its history. A new epoch is published whole or not at all; of two
//! concurrent writers one succeeds and the other gets an error. Readers open the file. With
//! [`Map::open`] a process opens each file only once.
//!
//! ```
//! use stead::{build, Fleet, Map, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("stead-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let path = directory.join("members.map");
//! let fleet = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b'}]", "fleet.toml")?;
//! let store = Store::new(&path, stead::store::KEEP);
//! let newest = store.current()?; // None: there is no map yet
//! store.publish(newest.as_ref(), &build(&fleet, newest.as_ref())?)?;
//!
//! let map = Map::open(&path)?;
//! assert_eq!((map.name(), map.epoch()), ("members", 1));
//! // the nodes to ask, in this order, when nodes are down: the same list for every client
//! let names: Vec<&str> = map.prefer(b"frank", 2).into_iter().map(|node| map.node(node).name()).collect();
//! assert_eq!(names, ["a", "b"]);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```
//!
//! # While data moves
//!
//! A new map moves no data. If data is carried to its new places while it is used, programs open a
//! [`Pair`] instead of a map: [`Pair::reads`] and [`Pair::writes`] name nodes of the old and the
//! new map, in the order of the state of the carry. Their numbers are those of the pair, so ask
//! [`Pair::node`] for their names and attributes. Without a carry both lists are the nodes of the
//! map.
//!
//! # Modules
//!
//! Bars separate groups of modules. A module uses only modules of the groups to the left of its
//! own; a test checks this (tools/layers).
//!
//! ```text
//! refusal | point weight tolerance name error mmap lock | cell policy memory | hash | kernel | slice fleet | format | map | held | plan rebalance verdict | guard ring carry | pair report path load outage | baseline follow | stats simulate | store
//! ```
//!
//! These pages are normative: docs/placement.md, docs/map-format.md, docs/fleet.md and
//! docs/paths.md. No clock, locale or hash-map order influences a placement or a byte of a map, and
//! no float does, with one exception: some kinds of [`ring`] repeat the floating-point steps of the
//! original program when they draw its map.

#![deny(missing_docs, unsafe_code)]
// where there are no files of Unix, maps are read from bytes, and parts of the rest have no user
#![cfg_attr(not(unix), allow(unused, unreachable_code))]

pub mod baseline;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod carry;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod cell;
pub mod error;
pub mod fleet;
#[cfg(unix)]
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod follow;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod format;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod guard;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod hash;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
mod held;
// Only x86-64 and 64-bit ARM have kernels for long keys, so elsewhere some of the code that these
// share is unused.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(dead_code, unreachable_code, unused_imports, unused_variables)
)]
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod kernel;
pub mod load;
#[cfg(unix)]
mod lock;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod map;
pub mod memory;
#[cfg(unix)]
mod mmap;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod name;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod outage;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod pair;
pub mod path;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod plan;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod point;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod policy;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod rebalance;
mod refusal;
pub mod report;
#[deny(clippy::indexing_slicing)]
pub mod ring;
pub mod simulate;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod slice;
pub mod stats;
#[cfg(unix)]
pub mod store;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod tolerance;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod verdict;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod weight;

pub use error::{Error, Result, Status};
pub use fleet::Fleet;
#[cfg(unix)]
pub use follow::Follower;
pub use guard::Allow;
pub use kernel::{Keys, Span};
pub use map::Map;
pub use pair::Pair;
pub use plan::Plan;
pub use point::{Point, Share};
pub use policy::NodeId;
pub use rebalance::{build, build_max_move};
#[cfg(unix)]
pub use store::Store;

/// The program of docs/quick-start.md is compiled with the examples of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/quick-start.md")]
struct QuickStart;
