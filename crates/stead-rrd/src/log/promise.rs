//! What the router requires of its log.
//!
//! To the log, a record is just bytes. The router puts into it the writes of one request, or of a
//! part of one BATCH, with the names of the backends that must get them. Records are numbered from
//! 1, without gaps, in the order of the calls of [`append`](Log::append), and become durable in
//! that order. Each backend has a position: the number up to which it has all its records on its
//! disk. A log forgets the records that every followed backend has confirmed, and keeps all others.
//! When these would exceed the log's bound, it refuses new ones.

use std::io;
use std::sync::Arc;

use clap::ValueEnum;
use tokio::sync::watch;

/// A record and its number.
pub type Record = (u64, Vec<u8>);

/// What a record must survive before anybody may rely on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// A power cut: it is synced to disk.
    #[default]
    Power,
    /// The crash of the router, even by kill -9: it is written to its file. A power cut loses what
    /// was written since the last sync.
    Crash,
}

/// How far the log has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// The newest record that is written; so are all before it. Those that `append` wrote itself
    /// are not announced.
    pub written: u64,
    /// The newest durable record; all before it are durable, too.
    pub newest: u64,
    /// Why no more records will become durable.
    pub broken: Option<Arc<str>>,
    /// Why nobody should wait for the records that are not durable now. They may become durable
    /// later.
    pub unsure: Option<Arc<str>>,
}

/// The size of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The bytes on disk.
    pub bytes: u64,
    /// An upper bound on these bytes; 0 means none.
    pub bound: u64,
    /// The oldest record that it keeps.
    pub oldest: u64,
    /// Why the log will refuse records as soon as its present room is used up.
    pub short: Option<String>,
    /// Whether it has refused a record for that reason, and has had no room since.
    pub refuses: bool,
    /// Why it could not store what the backends have confirmed when it last tried.
    pub unsaved: Option<(io::ErrorKind, String)>,
}

/// A durable log with a position for each backend. All methods may be called from any thread.
pub trait Log: Send + Sync + 'static {
    /// Takes a record and returns its number, without waiting until the record is durable.
    /// [`reached`](Log::reached) and [`frontier`](Log::frontier) tell when it is.
    ///
    /// A record that only has to survive a crash of the router is mostly written when this returns.
    ///
    /// The error is `StorageFull` if there is no room; then nothing was taken. After a failed sync
    /// every later call fails: it is no longer known what is on disk, and a second try could
    /// wrongly report success.
    fn append(&self, record: &[u8], durability: Durability) -> io::Result<u64>;

    /// Reports how far the log has come, whenever that changes. A record survives a power cut once
    /// `newest` has reached its number.
    fn frontier(&self) -> watch::Receiver<Frontier>;

    /// Returns the size of the log.
    fn extent(&self) -> Extent;

    /// Sets the backends to keep records for, by their names. A new one starts at the end of the
    /// log, since no earlier record is for it. The log no longer waits for a backend that is left
    /// out.
    fn follow(&self, backends: &[&str]) -> io::Result<()>;

    /// Records that the backend has on its disk every record for it up to `through`. A smaller
    /// number than before changes nothing.
    ///
    /// The position need not be durable at once: losing it only means that records are sent again,
    /// which backends tolerate.
    fn confirm(&self, backend: &str, through: u64) -> io::Result<()>;

    /// Returns the number up to which the backend has confirmed; 0 at first.
    fn confirmed(&self, backend: &str) -> u64;

    /// Returns the number of the newest durable record; 0 if there is none.
    fn newest(&self) -> u64;

    /// Returns the number of the newest record that survives this.
    fn reached(&self, durability: Durability) -> u64;

    /// Returns the written records with a number above `after`, in order, up to the newest one at
    /// the time of the call or some later one.
    ///
    /// The iterator may be held for long and read slowly: it keeps neither a lock nor the whole log
    /// in memory. The first item is an error if records after `after` have been forgotten, which
    /// can happen when `after` is below the backend's position.
    fn read(&self, after: u64) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_>;

    /// Returns the written records that the backend has not confirmed, in order.
    fn unconfirmed(
        &self,
        backend: &str,
    ) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_> {
        self.read(self.confirmed(backend))
    }
}

/// Waits until the record survives a power cut. An error means that it may not.
pub async fn durable(log: &dyn Log, number: u64) -> io::Result<()> {
    survives(log, number, Durability::Power).await
}

/// Waits until the record survives this. An error means that it may not.
pub async fn survives(log: &dyn Log, number: u64, durability: Durability) -> io::Result<()> {
    let mut frontier = log.frontier();
    if log.reached(durability) >= number {
        return Ok(()); // `append` has written it
    }
    let has = |come: &Frontier| match durability {
        Durability::Power => come.newest >= number,
        Durability::Crash => come.written >= number,
    };
    let come = frontier
        .wait_for(|come| has(come) || come.broken.is_some())
        .await
        .map_err(|_| io::ErrorKind::BrokenPipe)?;
    match &come.broken {
        Some(text) if !has(&come) => Err(io::Error::other(text.to_string())),
        _ => Ok(()),
    }
}
