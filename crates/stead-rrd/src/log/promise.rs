//! What the router asks of its log.
//!
//! A record is bytes to the log; the router puts the writes of one request, or of a part of one
//! BATCH, into it, with the names of the backends that shall get them. Records are numbered from 1,
//! without gaps, in the order of the calls of [`append`](Log::append), and become durable in that
//! order. Each backend has a position: it has on its disk all that is for it up to there. A log
//! forgets records which every backend that it follows has confirmed, and keeps all others; when
//! that does not fit its bound it refuses new ones.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;

/// A record and its number.
pub type Record = (u64, Vec<u8>);

/// How far the log has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
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
pub trait Log: Send + Sync + 'static {
    /// Takes a record and numbers it, without waiting until it is durable:
    /// [`frontier`](Log::frontier) tells when it is.
    ///
    /// `StorageFull` when there is no room: nothing was taken then. After a failed sync every later
    /// call fails: what the disk has is not known any more, and trying again could claim what is
    /// not so.
    fn append(&self, record: &[u8]) -> io::Result<u64>;

    /// Tells how far it has come, whenever that changes. A record survives a crash when `newest`
    /// has reached its number.
    fn frontier(&self) -> watch::Receiver<Frontier>;

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
pub async fn durable(log: &dyn Log, number: u64) -> io::Result<()> {
    let mut frontier = log.frontier();
    let come = frontier
        .wait_for(|come| come.newest >= number || come.broken.is_some())
        .await
        .map_err(|_| io::ErrorKind::BrokenPipe)?;
    match &come.broken {
        Some(text) if come.newest < number => Err(io::Error::other(text.to_string())),
        _ => Ok(()),
    }
}
