//! `stead-rrd`: round-robin databases spread over many rrdcached servers, which clients use as if
//! it were one.
//!
//! ```text
//! client --line--> request --path--> key --map--> backends
//!                     \--> journal (durable before the client hears of it)
//! ```
//!
//! A module uses only modules to its left:
//!
//! ```text
//! path request reply batch tally | fetch values writes record journal | log unflushed connection socket files create | layout shared | backend | router | listener
//!     | status page | state epochs | mover | control | report metrics | operate say | line | main
//! ```

#![forbid(unsafe_code)]

pub mod backend;
pub mod batch;
pub mod client;
pub mod clock;
pub mod connection;
pub mod control;
pub mod create;
pub mod dirs;
pub mod epochs;
pub mod fetch;
pub mod files;
pub mod health;
pub mod layout;
pub mod line;
pub mod listener;
pub mod lock;
pub mod log;
pub mod metrics;
pub mod mover;
pub mod operate;
pub mod page;
pub mod path;
pub mod record;
pub mod refusals;
pub mod reply;
pub mod report;
pub mod request;
pub mod router;
#[cfg(test)]
mod sample;
pub mod say;
pub mod shared;
pub mod socket;
pub mod state;
pub mod status;
pub mod tally;
pub mod ticket;
pub mod unflushed;
pub mod values;
pub mod verb;
pub mod words;
pub mod writes;
