//! The verbs that talk to a running router: `status`, `move`, `repair`, `check`, `promote`.
//!
//! ```text
//! output, verdict - following - verbs
//! ```

mod following;
mod output;
mod verbs;
mod verdict;

pub use verbs::{check, move_files, promote, repair, status};
