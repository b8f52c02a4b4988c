//! A hub in etcd (v3), by its JSON gateway.
//!
//! ```text
//! PREFIX/head                  JSON: the newest epoch, which epochs are stored, their log
//! PREFIX/maps/DIGEST/00000     a part of a map, at most 1 MiB
//! PREFIX/pushes/ID             JSON: a push under way, under a lease; its parts are not collected
//! PREFIX/hosts/NAME            JSON: the report of a registered host
//! PREFIX/alive/NAME            the instance that reports by this name, under a lease
//! PREFIX/forgotten/NAME        the epoch at which a host was given up while a carry was open
//! ```
//!
//! Parts are written first. One transaction then turns the head, if the head is still the one that
//! the push began with and the push is still there. So a reader that has a head finds all parts of
//! its maps, until a later push collects them.
//!
//! A collector removes the parts of a digest only in a transaction that fails when the head changed
//! or a push began meanwhile. A push writes all its parts after its key. So no push loses a part.

mod calls;
mod cluster;
mod keys;
pub mod record;
mod stream;
mod turn;

pub use cluster::Etcd;
