//! The RRD files of each rrdcached, and how they are carried from one to another.
//!
//! The protocol of rrdcached cannot transfer a file. So there is a second way to the files of each
//! rrdcached: a directory that this machine sees, or an agent (`stead-rrd files`) on the machine
//! that has the files. [`Files`] is either of them, and both offer the same operations.
//!
//! ```text
//! tree (a directory) \
//!     \--- paging     copy (Files: list, sum, copy, remove) -- whole (page, digest, read, put)
//! wire -- remote ----/   |
//!    \--- agent         rate
//! ```

mod agent;
mod below;
mod copy;
mod entries;
mod fence;
mod paging;
mod rate;
mod remote;
mod tree;
mod whole;
mod wire;
mod writing;

pub use agent::Agent;
pub use below::MOST_BYTES;
pub use copy::{Copied, Files};
pub use paging::{in_order, Page};
pub use rate::Rate;
pub use tree::Listed;
pub use wire::HELLO;
