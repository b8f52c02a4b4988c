//! The kind `redis`: keys of every type, with the instant at which they expire.
//!
//! A key travels by DUMP and RESTORE, and RESTORE without REPLACE never takes the place of another
//! one. Its version is a digest of the value with the instant at which it expires. A key is removed
//! with WATCH: Redis refuses that when an application has changed the key since it was read.

pub mod session;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::access::Secret;
use crate::carry::kind::{Added, Compared, Done, Fault, Item, Kind, Node, Version};
use crate::carry::pool::Pool;

use session::{Held, Session};

/// The kind.
pub struct Redis {
    /// the address of a node: a URL, `HOST:PORT` or a path, with attributes in braces
    server: String,
    user: Option<String>,
    password: Option<Secret>,
    /// whether the servers are caches, which evict keys
    cache: bool,
    pool: Pool<Session>,
}

impl Redis {
    /// Returns the kind, given the template of the addresses, and who logs in.
    pub fn new(
        server: String,
        user: Option<String>,
        password: Option<Secret>,
        cache: bool,
    ) -> Redis {
        Redis {
            server,
            user,
            password,
            cache,
            pool: Pool::default(),
        }
    }

    fn with<T>(&self, node: &Node, work: impl FnOnce(&mut Session) -> Done<T>) -> Done<T> {
        let open = || {
            let server = node.fill(&self.server)?;
            Session::open(&server, self.user.as_deref(), self.password.as_ref())
        };
        self.pool.with(node, open, work)
    }

    fn read(&self, node: &Node, item: &Item) -> Done<Option<Held>> {
        self.with(node, |session| session.read(&item.key))
    }
}

impl Kind for Redis {
    fn ready(&self, nodes: &[&Node]) -> Done {
        let mut seen = BTreeSet::new();
        for node in nodes {
            let id = self.with(node, Session::check)?;
            if !seen.insert(id) {
                return Err(Fault::final_one(format_args!(
                    "node {}: another node has the same Redis and database; let `server` name an \
                     attribute that differs, such as {{port}}",
                    node.name
                )));
            }
        }
        Ok(())
    }

    fn keys(
        &self,
        node: &Node,
        _after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let mut cursor = 0;
        loop {
            let (next, keys) = self.with(node, |session| session.page(cursor))?;
            for key in keys {
                if stop.load(Ordering::Relaxed) || !each(Item::of_key(key)) {
                    return Ok(());
                }
            }
            match next {
                0 => return Ok(()),
                next => cursor = next,
            }
        }
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn may_forget(&self, _item: &Item) -> bool {
        self.cache
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        Ok(self.read(node, item)?.map(|held| held.version()))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        let Some(held) = self.read(from, item)? else {
            return Ok(Added::Gone);
        };
        let added = self.with(to, |session| session.add(&item.key, &held))?;
        Ok(match added {
            false => Added::Present,
            true => Added::Copied {
                read: held.version(),
                // a version means the same at every server
                wrote: held.version(),
                bytes: held.size(),
            },
        })
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        let (first, second) = (self.read(first, item)?, self.read(second, item)?);
        let equal = match (&first, &second) {
            (Some(first), Some(second)) => first.equals(second),
            (first, second) => first.is_none() == second.is_none(),
        };
        Ok(Compared {
            equal,
            first: first.map(|held| held.version()),
            second: second.map(|held| held.version()),
        })
    }

    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool> {
        self.with(node, |session| session.remove(&item.key, version))
    }
}
