//! stead answers "where does this key live?" and gives the same answer in every language. It also
//! changes the answer safely: shares are exact, as little as possible moves, and a plan lists every
//! move before anything is done.
//!
//! ```text
//! key --hash--> point --slices--> policy --> nodes
//! ```
//!
//! A **fleet** is a text that lists the nodes you have and the placement you want. A **map** is
//! built from a fleet: a sorted table of slices of the hash space, immutable and versioned. It lies
//! in a file, which `stead apply` publishes and programs open.
//!
//! # Asking
//!
//! A program that runs for long opens the file once, as a [`Follower`], and takes the [`Pair`] of
//! the file at the start of each request. [`Pair::reads`] and [`Pair::writes`] name the nodes of a
//! key:
//!
//! ```
//! use stead::Follower;
//!
//! # fn main() -> stead::Result<()> {
//! # let directory = std::env::temp_dir().join(format!("stead-ask-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory).unwrap();
//! # let path = directory.join("members.map");
//! # let text = "name = 'members'\nnode = [{name = 'db1', attributes = {address = '10.0.0.1'}}]";
//! # stead::Store::new(&path, stead::store::KEEP).apply(&stead::Fleet::parse(text, "f")?, None)?;
//! # let members_map = &path;
//! let members = Follower::open(members_map)?; // once; threads share it
//!
//! let pair = members.get(); // for each request
//! for node in pair.writes(b"frank") {
//!     println!("{} {:?}", pair.name(node), pair.attribute(node, "address"));
//! }
//! # assert_eq!(pair.attribute(pair.named("db1").unwrap(), "address"), Some("10.0.0.1"));
//! # std::fs::remove_dir_all(&directory).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! A pair is the map and, while data is carried to its new places, the map where the data was:
//! during a carry both lists have the nodes of both maps, in the order of its state. Without a
//! carry they are the nodes of the map. The numbers of nodes are those of the pair. A cache, which
//! carries nothing, can ask the [`Map`] alone: [`Map::locate`] gives one node, and [`Map::prefer`]
//! those that take over when nodes are down. [`Map::open`] and [`Pair::open`] cost one `stat` as
//! long as the file has not changed.
//!
//! # Building
//!
//! The first map is built from a fleet alone:
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
//! # Where to look
//!
//! - Programs that ask: [`Follower`], [`Pair`] and [`Map`]; a [`Node`](map::Node) has the name and
//!   the attributes, such as an address. [`path`](mod@path) has the directories of a key.
//! - Programs that change maps: [`Fleet`], [`build`](build()), [`Plan`], [`Store`] and [`Allow`];
//!   [`carry`] has the steps of a carry, and [`ring`] draws the rings of other programs.
//! - Programs that judge: [`verdict`], [`report`], [`load`], [`outage`] and [`stats`].
//! - Errors: [`Error`] has a message of one line, and [`Status`] a number that is the same in every
//!   language. [`memory`] limits what a call may need.
//!
//! The pages that this documentation names as `docs/NAME.md` are in the source tree, in the
//! directory `docs` beside `crates`; `make book` makes a book of them. Those that say so are
//! normative, above all placement.md, map-format.md, fleet.md and paths.md. No clock, locale or
//! hash-map order influences a placement or a byte of a map, and no float does, with one exception:
//! some kinds of [`ring`] repeat the floating-point steps of the original program when they draw
//! its map.
//!
//! # For those who work on the crate
//!
//! The other modules are layers below these, and [`simulate`] and [`baseline`] compare stead with
//! other methods. Bars separate groups of modules. A module uses only modules of the groups to the
//! left of its own; a test checks this (tools/layers).
//!
//! ```text
//! refusal | point weight tolerance name error mmap lock | cell policy memory | hash | kernel | slice fleet | format | map | held | plan rebalance verdict | guard ring carry ways | pair report path load outage | baseline follow | stats simulate | store
//! ```

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
pub mod ways;
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
