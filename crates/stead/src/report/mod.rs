//! The report of a plan or a map, in the form that programs read; `plan`, `apply` and `diff` share
//! it, and the language bindings return it as JSON. The facts come from the verdict, the plan and
//! the two maps. Only the words in `warnings` and `reason` are for people.
//!
//! Points are 16 hex digits. Counts of points and weights are decimal strings. Fractions are
//! numbers: they are the only floating-point numbers here, and nothing is decided by them.
//!
//! [`Report`] is the whole. Its parts have a module each: `edits` (what changed in the fleet),
//! `turnover` (what happens to the copies), `fresh` (new copies that answer first), `pinned` (what
//! to the keys of pins), `holders` (shares), `losses` (fault domains, and what losing one costs),
//! `capacity` (how much of the disks can be used), `moves`, `alike` (labels that look alike),
//! `slips` (of the hand, in attributes and weights), and `warnings`, which gathers what a person
//! has to know first, in the words of `texts`. `need` says how much memory all of it may take.

mod alike;
mod amount;
mod capacity;
mod document;
mod edits;
mod fresh;
mod holders;
mod losses;
mod moves;
mod need;
mod pinned;
mod slips;
mod texts;
mod turnover;
mod warnings;

pub use amount::{part, part_to, size, Amount};
pub use capacity::{Capacity, Group, More};
pub use document::{Ask, Lost, Report};
pub use edits::{Detail, Edit};
pub use holders::{DomainReport, HolderReport, Left};
pub use losses::{DomainName, Loss};
pub use moves::{Flow, MoveReport};
pub use pinned::PinnedKeys;
pub use turnover::Turnover;
pub use warnings::Warning;
