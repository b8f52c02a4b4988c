//! What a map says about the failure of nodes, and about a single node: facts to judge a fleet by,
//! before anything fails.
//!
//! All counts are over the final slices, so pins are included. They are exact, but for one estimate
//! that says how large its error is ([`Outage::samples`]).

mod loss;
mod profile;

pub use loss::{Outage, Standing};
pub use profile::{Partner, Profile};
