//! A carry: brings the data from where the old map places it to where the new one does, while hosts
//! read and write it.
//!
//! ```text
//! kind        what a kind of data can do: files, memcached, redis, sql, or any command
//! protocol    one item: copied, compared, removed
//! several     kinds of data together
//! route       which way each item goes
//! pass        all items: in batches, by several workers, with the journal
//! found       what a pass has found, and what a carry does not go on with
//! machine     from state to state
//! survey      what a carry can be asked before it goes on
//! audit       what is where no map places it, after a carry or without one
//! ```
//!
//! docs/carry.md is the user's manual; docs/carry-reference.md says what each pass does.

pub mod about;
mod again;
pub mod ahead;
mod aside;
mod attributes;
pub mod audit;
pub mod audited;
pub mod base64_bytes;
mod beside;
mod counting;
#[cfg(test)]
mod fake;
pub mod files;
mod found;
mod framed;
mod ground;
pub mod journal;
pub mod kind;
mod known_hosts;
pub mod machine;
pub mod memcached;
mod mending;
mod missing;
#[cfg(test)]
mod model;
pub mod name_pattern;
pub mod names;
pub mod outcome;
mod owner;
pub mod pass;
mod pattern;
pub mod pool;
pub mod protocol;
#[cfg(test)]
mod race;
#[cfg(feature = "redis")]
pub mod redis;
mod refusals;
mod remembered;
mod replaced;
pub mod route;
pub mod servers;
pub mod settings;
pub mod several;
pub mod shell;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub mod sql;
mod stamp;
pub mod standing;
mod stop;
pub mod story;
pub mod survey;
pub mod tally;
mod template;
pub mod throttle;
mod walk;
pub mod whole_file;
pub mod wire;
mod word;
