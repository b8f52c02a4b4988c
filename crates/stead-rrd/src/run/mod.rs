//! The verbs that run until they are told to stop: `serve` and `files`.
//!
//! Each of these files uses only files to the left of the bar before it:
//!
//! ```text
//! first told certificates listening | reporting | places | start | give_files refusing routing | serve
//! ```

mod certificates;
mod claiming;
mod first;
mod give_files;
mod listening;
mod places;
mod refusing;
mod reporting;
mod routing;
mod serve;
mod start;
mod told;

pub use give_files::give_files;
pub use serve::serve;
