//! What the router asks of its durable log.
//!
//! A record is bytes to the log; the router puts the writes of one request, or of a part of one
//! BATCH, into it, with the names of the backends that shall get them. Records are numbered from 1,
//! without gaps, in the order of the calls of [`append`](Journal::append), and become durable in
//! that order. Each backend has a position: what it confirmed up to there, it has on its disk (or
//! it was for others). A log forgets records which every backend that it follows has confirmed, and
//! keeps all others; when that does not fit its bound it refuses new ones.
//!
//! The log itself is a module of its own; [`Memory`] is the one of `--no-log` and of unit tests.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// A record and its number.
pub type Record = (u64, Vec<u8>);

/// How far the log has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The newest record that is durable, and with it all before.
    pub newest: u64,
    /// Why none will become durable any more.
    pub broken: Option<Arc<str>>,
}

/// How much the log has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// On the disk, in bytes.
    pub bytes: u64,
    /// What it may grow to, in bytes; 0: not bounded.
    pub bound: u64,
    /// The oldest record that it keeps.
    pub oldest: u64,
    /// Why it will take no records as soon as what it has room for now is used up.
    pub short: Option<String>,
}

/// A durable log with a position for each backend. All methods may be called from any thread.
pub trait Journal: Send + Sync + 'static {
    /// Takes a record and numbers it, without waiting until it is durable:
    /// [`progress`](Journal::progress) tells when it is.
    ///
    /// `StorageFull` when there is no room: nothing was taken then. After a failed sync every later
    /// call fails: what the disk has is not known any more, and trying again could claim what is
    /// not so.
    fn append(&self, record: &[u8]) -> io::Result<u64>;

    /// Tells how far it has come, whenever that changes. A record survives a crash when `newest`
    /// has reached its number.
    fn progress(&self) -> watch::Receiver<Progress>;

    /// How much it has.
    fn extent(&self) -> Extent;

    /// The backends to keep records for, by their names. One that is new starts at the end of the
    /// log, since nothing in it is for it; one that is left out holds the log back no more.
    fn follow(&self, backends: &[&str]) -> io::Result<()>;

    /// The backend has on its disk all that is for it up to this number; a smaller number than
    /// before changes nothing.
    ///
    /// It need not be durable at once: a position that is lost costs a repetition, which backends
    /// take.
    fn confirm(&self, backend: &str, through: u64) -> io::Result<()>;

    /// Up to where the backend has confirmed; 0 at first.
    fn confirmed(&self, backend: &str) -> u64;

    /// The number of the newest record that is durable; 0 when there is none.
    fn newest(&self) -> u64;

    /// The durable records with a number above `after`, in order, up to the newest at the time of
    /// the call or some later one.
    ///
    /// May be held for long and read slowly: it keeps neither a lock nor the whole log in memory.
    /// When records after `after` have been forgotten, as can be where `after` is below the
    /// backend's position, the first item is an error.
    fn read(&self, after: u64) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_>;

    /// The durable records that the backend has not confirmed, in order.
    fn unconfirmed(
        &self,
        backend: &str,
    ) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_> {
        self.read(self.confirmed(backend))
    }
}

/// Ends when the record survives a crash; an error means that it may not.
pub async fn durable(journal: &dyn Journal, number: u64) -> io::Result<()> {
    let mut progress = journal.progress();
    let come = progress
        .wait_for(|come| come.newest >= number || come.broken.is_some())
        .await
        .map_err(|_| io::ErrorKind::BrokenPipe)?;
    match &come.broken {
        Some(text) if come.newest < number => Err(io::Error::other(text.to_string())),
        _ => Ok(()),
    }
}

/// A log in memory: for tests, and as the control that must lose updates.
#[derive(Default)]
pub struct Memory {
    inside: Mutex<Inside>,
    progress: watch::Sender<Progress>,
}

#[derive(Default)]
struct Inside {
    newest: u64,
    records: BTreeMap<u64, Vec<u8>>,
    bytes: u64,
    positions: HashMap<String, u64>,
}

impl Memory {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Memory {
    fn append(&self, record: &[u8]) -> io::Result<u64> {
        let mut inside = self.inside();
        inside.newest += 1;
        let number = inside.newest;
        inside.records.insert(number, record.to_vec());
        inside.bytes += record.len() as u64;
        self.progress.send_replace(Progress {
            newest: number,
            broken: None,
        });
        Ok(number)
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn extent(&self) -> Extent {
        let inside = self.inside();
        let oldest = inside
            .records
            .keys()
            .next()
            .copied()
            .unwrap_or(inside.newest + 1);
        Extent {
            bytes: inside.bytes,
            bound: 0,
            oldest,
            short: None,
        }
    }

    fn follow(&self, backends: &[&str]) -> io::Result<()> {
        let mut inside = self.inside();
        let newest = inside.newest;
        let position = |name: &&str| {
            (
                (*name).to_owned(),
                inside.positions.get(*name).copied().unwrap_or(newest),
            )
        };
        inside.positions = backends.iter().map(position).collect();
        inside.forget();
        Ok(())
    }

    fn confirm(&self, backend: &str, through: u64) -> io::Result<()> {
        let mut inside = self.inside();
        if let Some(position) = inside.positions.get_mut(backend) {
            *position = through.max(*position);
        }
        inside.forget();
        Ok(())
    }

    fn confirmed(&self, backend: &str) -> u64 {
        self.inside().positions.get(backend).copied().unwrap_or(0)
    }

    fn newest(&self) -> u64 {
        self.inside().newest
    }

    fn read(&self, after: u64) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_> {
        let records: Vec<_> = self
            .inside()
            .records
            .range(after + 1..)
            .map(|(n, r)| Ok((*n, r.clone())))
            .collect();
        Box::new(records.into_iter())
    }
}

impl Inside {
    fn forget(&mut self) {
        if let Some(all) = self.positions.values().min() {
            self.records = self.records.split_off(&(all + 1));
            self.bytes = self
                .records
                .values()
                .map(|record| record.len() as u64)
                .sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_kept_until_every_backend_has_confirmed_it() {
        let log = Memory::default();
        log.follow(&["a", "b"]).unwrap();
        for text in ["one", "two", "three"] {
            log.append(text.as_bytes()).unwrap();
        }
        assert_eq!(
            *log.progress().borrow(),
            Progress {
                newest: 3,
                broken: None
            }
        );
        log.confirm("a", 2).unwrap();
        let numbers = |backend| {
            log.unconfirmed(backend)
                .map(|r| r.unwrap().0)
                .collect::<Vec<_>>()
        };
        assert_eq!((numbers("a"), numbers("b")), (vec![3], vec![1, 2, 3]));
        log.confirm("b", 3).unwrap();
        assert_eq!(numbers("a"), [3]);
        assert_eq!(log.read(0).count(), 1);
        log.follow(&["b"]).unwrap();
        assert_eq!(log.read(0).count(), 0);
    }
}
