//! The router's own directory. It records by which maps the router serves. While files move from
//! the places of one map to those of another, it also records which files have moved.
//!
//! ```text
//! DIR/settled.map   places every file that has not moved
//! DIR/target.map    places the files that have moved; exists until the move is done
//! DIR/moved         the names of the files that have moved, one a line, in order of moving
//! DIR/moving        the move that goes on by itself: the epoch of its target, and its rate or -
//! DIR/repairs       the repair queue: backend, need and name of each copy, one a line; each
//!                   backend that was not compared since its address or its directory changed;
//!                   and the directory in which each backend's files were last seen
//! DIR/checks        how far the checks of all copies have come
//! DIR/log/          the durable log
//! DIR/pair          which of two routers this one is, and in which term
//! DIR/try.tmp       written and removed every few seconds, to know whether that is possible
//! DIR/lock          held while a router runs, never removed
//! DIR/control       the socket of `stead-rrd status` and `stead-rrd move`
//! ```
//!
//! Each map is put in its place by renaming, and it is durable before the router acts on it.
//!
//! ```text
//! change - directory - placing, unfinished, snapshot, trying
//! ```

mod change;
mod directory;
mod placing;
mod snapshot;
mod trying;
mod unfinished;

pub use change::{Change, Mirror};
pub use directory::StateDir;
pub use unfinished::{Intended, Repair};
