//! The verdict on a map: computes caps, targets and primaries again from the map alone, and finds
//! everything that breaks them. It is the only judgement of a map: `plan`, `apply`, `diff`, `show`,
//! `check` and the language bindings all report it.
//!
//! It shares no code with the rebalancer, so that a mistake there is found here rather than
//! repeated. Normative: docs/placement.md, "Fault domains and caps", "Targets", "Primaries", "What
//! every map keeps". It uses integers only. All products stay below 2^128: 255 * 2^64 cells * 10^12
//! millionths < 2^112.
//!
//! ```
//! use stead::verdict::Verdict;
//! use stead::{build, Fleet};
//!
//! # fn main() -> stead::Result<()> {
//! let fleet = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b', weight = 3}]", "fleet.toml")?;
//! let map = build(&fleet, None)?;
//! let verdict = Verdict::of(&map, 20);
//! assert!(verdict.is_sound(), "{:?}", verdict.violations.listed);
//! assert_eq!(verdict.nodes[1].target, Some(3 << 62));
//! # Ok(())
//! # }
//! ```

mod answers;
mod caps;
mod judge;
mod policies;
mod shares;
mod violation;

pub use crate::held::Held;
pub use answers::Answers;
pub use judge::{Domain, Holder, Verdict};
pub use shares::Bound;
pub use violation::{Problem, Rule, Violation, Violations};
