//! A carry: brings the data from where the old map places it to where the new one does, while hosts
//! read and write it.
//!
//! ```text
//! kind pattern stamp pool | walk whole_file | files memcached redis sql
//! ```

pub mod files;
pub mod kind;
pub mod memcached;
mod pattern;
pub mod pool;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub mod sql;
mod stamp;
mod walk;
mod whole_file;
