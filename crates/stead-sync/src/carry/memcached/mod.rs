//! The kind `memcached`: keys with their flags and the time that they have left.
//!
//! The version of a key is the server's own: the number for compare-and-swap, which grows with each
//! write. So a key is added with `ms ... ME` and removed with `md ... C`, and nothing that an
//! application writes meanwhile is touched. A cache forgets keys: one that is gone is no error.

pub mod meta;

use std::collections::BTreeSet;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::carry::kind::{About, Added, Compared, Done, Fault, Holding, Item, Kind, Node, Version};
use crate::carry::names::Names;
use crate::carry::pool::Pool;

use meta::{Connection, Stored};

/// The kind.
pub struct Memcached {
    /// the address of a node: `HOST:PORT` or a path, with attributes in braces
    server: String,
    names: Names,
    pool: Pool<Connection>,
}

impl Memcached {
    /// Returns the kind, given the template of the addresses, and what the names are.
    pub fn new(server: String, names: Names) -> Memcached {
        Memcached {
            server,
            names,
            pool: Pool::default(),
        }
    }

    fn open(&self, node: &Node) -> Done<Connection> {
        Connection::open(&node.fill(&self.server)?).map_err(|fault| fault.at(node))
    }

    fn with<T>(&self, node: &Node, work: impl FnOnce(&mut Connection) -> Done<T>) -> Done<T> {
        let done = self.pool.with(node, || self.open(node), work);
        done.map_err(|fault| fault.at(node))
    }

    fn get(&self, node: &Node, item: &Item) -> Done<Option<Stored>> {
        self.with(node, |connection| connection.get(&item.name))
    }
}

fn version(cas: u64) -> Version {
    Version(cas.to_le_bytes().to_vec())
}

impl Kind for Memcached {
    fn ready(&self, nodes: &[&Node]) -> Done {
        let mut seen = BTreeSet::new();
        for node in nodes {
            let server = node.fill(&self.server)?;
            if !seen.insert(server.clone()) {
                return Err(Fault::of_one_that_is_there(format_args!(
                    "{server} is the memcached of two nodes; let `server` name an attribute that \
                     differs, such as {{port}}"
                )));
            }
            self.with(node, Connection::check)?;
        }
        Ok(())
    }

    fn about(&self) -> About {
        About::of("[memcached]", &self.names.text())
    }

    fn holding(&self, _node: &Node, _doubts: bool) -> Done<Holding> {
        Ok(Holding::new())
    }

    fn keys(
        &self,
        node: &Node,
        _after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        // memcached sends the listing from the thread that frees what has expired, and breaks it
        // off when nobody reads it for long. So it is written to a file first
        let lost = |e: io::Error| Fault::final_one(format_args!("cannot write a listing: {e}"));
        self.names.begin(node);
        let mut file = tempfile::tempfile().map_err(lost)?;
        let mut written = Ok(());
        let mut out = BufWriter::new(&mut file);
        // a connection of its own: it cannot be used again when the listing is broken off
        let mut connection = self.open(node)?;
        connection
            .keys(|key| {
                let size = key.len() as u8; // a key has at most 250 bytes
                written = out.write_all(&[size]).and_then(|()| out.write_all(&key));
                written.is_ok() && !stop.load(Ordering::Relaxed)
            })
            .map_err(|fault| fault.at(node))?;
        written.and_then(|()| out.flush()).map_err(lost)?;
        drop(out);
        file.rewind().map_err(lost)?;
        let mut listing = BufReader::new(file);
        let mut size = [0];
        while !stop.load(Ordering::Relaxed) && listing.read(&mut size).map_err(lost)? == 1 {
            let mut key = vec![0; usize::from(size[0])];
            listing.read_exact(&mut key).map_err(lost)?;
            if !self.names.item(node, key).is_none_or(&mut *each) {
                break;
            }
        }
        Ok(())
    }

    fn left_alone(&self) -> u64 {
        self.names.left_alone()
    }

    fn notes(&self) -> Vec<String> {
        self.names.notes()
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn may_forget(&self, _item: &Item) -> bool {
        true
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        let cas = self.with(node, |connection| connection.cas(&item.name))?;
        Ok(cas.map(version))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        let Some(stored) = self.get(from, item)? else {
            return Ok(Added::Gone);
        };
        let added = self.with(to, |connection| connection.add(&item.name, &stored))?;
        Ok(match added {
            None => Added::Present,
            Some(cas) => Added::Copied {
                read: version(stored.cas),
                wrote: version(cas),
                bytes: stored.value.len() as u64,
            },
        })
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        let (first, second) = (self.get(first, item)?, self.get(second, item)?);
        // not the time that is left: a read that prolongs it does so at one place only
        let value = |stored: &Stored| (stored.flags, stored.value.clone());
        Ok(Compared {
            equal: first.as_ref().map(value) == second.as_ref().map(value),
            first: first.map(|stored| version(stored.cas)),
            second: second.map(|stored| version(stored.cas)),
        })
    }

    fn remove(&self, node: &Node, item: &Item, wanted: &Version) -> Done<bool> {
        let Ok(cas) = <[u8; 8]>::try_from(wanted.0.as_slice()) else {
            return Ok(false);
        };
        let cas = u64::from_le_bytes(cas);
        self.with(node, |connection| connection.remove(&item.name, cas))
    }
}
