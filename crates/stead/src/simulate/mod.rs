//! Simulation: stead and its peers, which are other ways to place keys, follow the same history of
//! fleets. What each of them moves, and how evenly it places, is measured in the same way.
//! docs/simulate.md says what the figures mean and what rule each peer follows.
//!
//! ```text
//! JSON    --reading--\
//! builtin --draft------> Scenario --history--> Fleet, Fleet, ... --ideal--> Wanted
//!     Wanted --system--> Placement --run--> Simulated, in figures
//! ```
//!
//! ```
//! use stead::simulate::{built_in, run, Sizes};
//!
//! # fn main() -> stead::Result<()> {
//! let scenario = built_in("figure-7").expect("a built-in one").scenario();
//! let simulated = run(&scenario, Sizes { partitions: 16, ring_points: 160 }, |_, _| {})?;
//! let stead = &simulated.systems[0];
//! assert_eq!((stead.system, stead.total.moved_over_bound), ("stead", Some(1.0)));
//! # Ok(())
//! # }
//! ```
//!
//! Points and shares are exact integers. Floats appear only in the figures that are shown. No
//! placement of stead depends on this module.

mod builtin;
mod claim;
mod contiguous;
mod draft;
mod figures;
mod gaps;
mod history;
mod ideal;
mod own;
mod peers;
mod placement;
mod reading;
mod run;
mod scenario;
mod system;
mod trace;
mod vnodes;

pub use builtin::{built_in, BuiltIn, BUILT_INS};
pub use figures::{Figures, Simulated, StepFigures, StepReport, SystemReport, Total};
pub use history::History;
pub use run::{run, run_traced};
pub use scenario::{Scenario, ScenarioNode, Step};
pub use system::{LeftOut, Sizes};
pub use trace::{Placed, Trace};
