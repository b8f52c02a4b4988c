//! The kind `redis`: keys of every type, with the instant at which they expire.
//!
//! A key travels by DUMP and RESTORE, and RESTORE without REPLACE never takes the place of another
//! one. Its version is a digest of the value with the instant at which it expires. A key is removed
//! with WATCH: Redis refuses that when an application has changed the key since it was named there.

pub mod session;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::access::Secret;
use crate::carry::kind::{
    each_or_all, only, About, Added, Compared, Done, Fault, Holding, Item, Kind, Node, Version,
    OF_PROCESS,
};
use crate::carry::names::Names;
use crate::carry::pool::Pool;

use session::{Goal, Held, Session};

/// How many keys are read at once: few, because Redis serves nobody else meanwhile.
const BATCH: usize = 16;

/// The kind.
pub struct Redis {
    /// the address of a node: a URL, `HOST:PORT` or a path, with attributes in braces
    server: String,
    user: Option<String>,
    password: Option<Secret>,
    /// whether the servers are caches, which evict keys
    cache: bool,
    names: Names,
    pool: Pool<Session>,
}

impl Redis {
    /// Returns the kind, given the template of the addresses, who logs in, and what the names are.
    pub fn new(
        server: String,
        user: Option<String>,
        password: Option<Secret>,
        cache: bool,
        names: Names,
    ) -> Redis {
        Redis {
            server,
            user,
            password,
            cache,
            names,
            pool: Pool::default(),
        }
    }

    fn with<T>(&self, node: &Node, work: impl FnOnce(&mut Session) -> Done<T>) -> Done<T> {
        let open = || {
            let server = node.fill(&self.server)?;
            Session::open(&server, self.user.as_deref(), self.password.as_ref())
        };
        let done = self.pool.with(node, open, work);
        done.map_err(|fault| fault.at(node))
    }

    /// Reads all keys at once. If that fails, reads one key after the other, so that a key that
    /// cannot be read does not hold up the others.
    fn read(&self, node: &Node, items: &[&Item], goal: Goal) -> Vec<Done<Option<Held>>> {
        each_or_all(items.len(), |range| {
            let keys: Vec<&[u8]> = items[range].iter().map(|item| &item.name[..]).collect();
            self.with(node, |session| session.read(&keys, goal))
        })
    }
}

impl Kind for Redis {
    fn ready(&self, nodes: &[&Node]) -> Done {
        let mut seen = BTreeSet::new();
        for node in nodes {
            let id = self.with(node, |session| session.check(self.cache))?;
            if !seen.insert(id) {
                return Err(Fault::of_one_that_is_there(format_args!(
                    "node {}: another node has the same Redis and database; let `server` name an \
                     attribute that differs, such as {{port}}",
                    node.name
                )));
            }
        }
        Ok(())
    }

    fn about(&self) -> About {
        About::of("[redis]", &self.names.text())
    }

    fn keys(
        &self,
        node: &Node,
        _after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let mut cursor = 0;
        self.names.begin(node);
        loop {
            let (next, keys) = self.with(node, |session| session.page(cursor))?;
            for key in keys {
                let item = self.names.item(node, key);
                if stop.load(Ordering::Relaxed) || !item.is_none_or(&mut *each) {
                    return Ok(());
                }
            }
            match next {
                0 => return Ok(()),
                next => cursor = next,
            }
        }
    }

    fn overlooked(&self, nodes: &[&Node]) -> Done<Option<String>> {
        let mut found = None;
        for node in nodes {
            let (own, filled) =
                self.with(node, |session| Ok((session.database(), session.filled()?)))?;
            if filled.contains(&own) {
                return Ok(None);
            }
            let other = filled.first();
            found = found.or(other.map(|other| (*node, own, *other)));
        }
        Ok(found.map(|(node, own, other)| {
            format!(
                "no key is in the database {own} of any node, but node {} has keys in its database \
                 {other}; name the database in redis.server, as in redis://HOST:PORT/{other}",
                node.name
            )
        }))
    }

    /// A restart may lose what was not yet on the disk.
    fn holding(&self, node: &Node, doubts: bool) -> Done<Holding> {
        if self.cache {
            return Ok(Holding::new());
        }
        let (id, own, filled) = self.with(node, |session| {
            Ok((session.check(false)?, session.database(), session.filled()?))
        })?;
        let id = if doubts { id } else { String::new() };
        let part = filled.contains(&own).then(|| (OF_PROCESS.to_owned(), id));
        Ok(part.into_iter().collect())
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
        self.cache
    }

    fn at_once(&self, _item: &Item) -> usize {
        BATCH
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        only(self.version_all(node, &[item]))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        only(self.add_all(from, to, &[item]))
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        only(self.compare_all(first, second, &[item]))
    }

    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool> {
        only(self.remove_all(node, &[(item, version)]))
    }

    fn version_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<Version>>> {
        let read = self.read(node, items, Goal::Compare).into_iter();
        read.map(|held| Ok(held?.map(|held| held.version())))
            .collect()
    }

    fn add_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Added>> {
        let read = self.read(from, items, Goal::Copy).into_iter().zip(items);
        let each = read.map(|(held, item)| {
            let Some(held) = held? else {
                return Ok(Added::Gone);
            };
            let added = self.with(to, |session| session.add(&item.name, &held))?;
            Ok(match added {
                false => Added::Present,
                true => Added::Copied {
                    read: held.version(),
                    // a version means the same at every server
                    wrote: held.version(),
                    bytes: held.size(),
                },
            })
        });
        each.collect()
    }

    fn compare_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<Compared>> {
        let one = self.read(first, items, Goal::Compare);
        let other = self.read(second, items, Goal::Compare);
        let each = one.into_iter().zip(other).map(|(first, second)| {
            let (first, second) = (first?, second?);
            let equal = match (&first, &second) {
                (Some(first), Some(second)) => first.equals(second),
                (first, second) => first.is_none() == second.is_none(),
            };
            Ok(Compared {
                equal,
                first: first.map(|held| held.version()),
                second: second.map(|held| held.version()),
            })
        });
        each.collect()
    }

    fn remove_all(&self, node: &Node, items: &[(&Item, &Version)]) -> Vec<Done<bool>> {
        each_or_all(items.len(), |range| {
            let pairs = items[range].iter();
            let pairs: Vec<_> = pairs.map(|(item, v)| (&item.name[..], *v)).collect();
            self.with(node, |session| session.remove(&pairs))
        })
    }
}
