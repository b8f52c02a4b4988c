//! `stead-rrd`: round-robin databases spread over many rrdcached servers, which clients use as if it were one.
//!
//! ```text
//! client --line--> request --path--> key --map--> backends
//!                     \--> journal (durable before the client hears of it)
//! ```
//!
//! A module uses only modules to its left:
//!
//! ```text
//! path request reply batch | writes record journal | log connection socket files | layout shared | backend | router | listener | main
//! ```

#![forbid(unsafe_code)]

pub mod backend;
pub mod batch;
pub mod connection;
pub mod files;
pub mod journal;
pub mod layout;
pub mod listener;
pub mod log;
pub mod path;
pub mod record;
pub mod reply;
pub mod request;
pub mod router;
pub mod shared;
pub mod socket;
pub mod writes;
