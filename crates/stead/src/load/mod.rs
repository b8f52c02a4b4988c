//! Load: which node answers how many accesses of a log.
//!
//! Exact shares of the points do not make equal load: one key of a log may have more accesses than
//! a node deserves. A [`Tally`] reads the keys of a log, in bounded memory, and [`Loads`] says
//! what each node has of it, and why the fullest node has so much.
//!
//! ```
//! use stead::load::{Loads, Reads, Tally};
//! use stead::{build, Fleet, Keys};
//!
//! # fn main() -> stead::Result<()> {
//! let fleet = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b'}]", "fleet.toml")?;
//! let map = build(&fleet, None)?;
//! let mut tally = Tally::of(&map);
//! tally.add_keys(Keys::each(&[b"frank", b"justin", b"frank"]), None)?;
//! let loads = Loads::of(&tally, Reads::Primary);
//! assert_eq!(tally.accesses(), 3);
//! assert_eq!(tally.hottest(1)[0].key, Some(&b"frank"[..]));
//! assert!(loads.fullest().is_some_and(|node| node.over_mean >= Some(4.0 / 3.0)));
//! # Ok(())
//! # }
//! ```
//!
//! Floats appear here, in figures for people. What a proposal writes is a fleet, and from a fleet
//! to a map no float is used.

mod distinct;
mod heavy;
mod loads;
mod mixed;
mod pieces;
mod propose;
mod solve;
mod tally;

pub use loads::{DomainLoad, Loads, NodeLoad, Reads, Why};
pub use pieces::Piece;
pub use propose::Proposal;
pub use tally::{Hot, Tally};
