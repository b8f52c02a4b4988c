//! What every kind of hub does: it keeps the newest map, its ancestors, and the reports of hosts.

use std::collections::BTreeMap;
use std::time::Duration;

use stead::format::{hex, Digest};
use stead::store::{line, Accept, Arrival, Entry};
use stead::Map;

use crate::exit::Result;
use crate::report::Report;

/// The largest map that is fetched, in bytes. A map of a million slices has 29 MB.
pub const MOST_BYTES: u64 = 1 << 30;

/// What a hub says about its newest map, before the map is fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The number of the epoch.
    pub epoch: u64,
    /// The digest of the map.
    pub digest: Digest,
    /// The name and id of the map, where the hub knows them without the map.
    pub identity: Option<(String, String)>,
    /// Who pushed it and when, where the hub knows that.
    pub pushed: Option<(String, String)>,
    /// The log of its history, as far as the hub keeps it.
    pub log: Vec<Entry>,
    /// Which version of the head this is; only the hub that made it uses it.
    pub version: u64,
}

impl Head {
    /// Returns what the log says about this very epoch.
    pub fn entry(&self) -> Option<&Entry> {
        let digest = hex(&self.digest);
        self.log.iter().rfind(|entry| entry.digest == digest)
    }

    /// Returns what the log says about this epoch and its ancestors, newest first.
    pub fn line(&self) -> impl Iterator<Item = &Entry> {
        line(&self.log, &hex(&self.digest))
    }

    /// Says who made this epoch and what it changes: `epoch 6 (1a2b3c4d) by anna@ops1, pushed ...`.
    pub fn told(&self) -> String {
        let mut text = format!("epoch {} ({})", self.epoch, &hex(&self.digest)[..8]);
        if let Some(entry) = self.entry() {
            text += &format!(" of {} by {}: {}", entry.time, entry.who, entry.change);
        }
        if let Some((who, time)) = &self.pushed {
            text += &format!(", pushed by {who} at {time}");
        }
        text
    }
}

/// A place that maps are pulled from.
pub trait Hub {
    /// Returns what is newest; `None` when nothing was pushed yet.
    fn head(&self) -> Result<Option<Head>>;

    /// Fetches an epoch in the line of this head, and verifies it. `None` when the hub keeps it no
    /// longer.
    fn map(&self, head: &Head, epoch: u64) -> Result<Option<Map>>;

    /// Waits until there may be another head than this one, at most so long.
    fn wait(&mut self, head: Option<&Head>, most: Duration) -> Result;

    /// Returns the hub as one that can be written to, if it can.
    fn shared(&self) -> Option<&dyn Shared>;
}

/// How a push ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// The map is the hub's newest.
    Done,
    /// The hub has another head now than the one that was given.
    Lost,
}

/// A host as the hub knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// What it reported last.
    pub report: Report,
    /// Whether a watcher is there now.
    pub alive: bool,
    /// How many seconds ago the hub heard of it, where the hub knows that.
    pub age: Option<u64>,
}

/// A hub that takes maps and reports.
pub trait Shared {
    /// Makes a map the newest if the head is still `base`. `arrival.older` are the ancestors to
    /// store with it; the hub keeps the newest `keep` epochs.
    fn push(
        &self,
        base: Option<&Head>,
        arrival: Arrival,
        accept: Accept,
        keep: usize,
    ) -> Result<Turn>;

    /// Whether hosts may register. Where a directory has neither a map nor reports, its path may be
    /// mistyped, so no host makes anything there.
    fn is_begun(&self) -> Result<bool> {
        Ok(true)
    }

    /// Returns the registered hosts, by name.
    fn hosts(&self) -> Result<Vec<Host>>;

    /// Stores a report, which registers the host. With `alive` the host also counts as alive, until
    /// the reports and [`Shared::beat`] stay away.
    ///
    /// Errors: `CONFLICT` when another machine reports by this name.
    fn report(&self, report: &Report, alive: bool) -> Result;

    /// Says that the host is still alive. Returns whether its report is still there: otherwise it
    /// was forgotten.
    fn beat(&self, report: &Report) -> Result<bool>;

    /// Says that the watch of this report ends: from now on the host does not count as alive. Does
    /// nothing where another machine reports by its name.
    fn leave(&self, report: &Report) -> Result;

    /// Removes a host. Returns whether there was one.
    fn forget(&self, host: &str) -> Result<bool>;

    /// Notes that an operator has given up a host at an epoch, so that a carry knows that the hub
    /// has not lost it.
    fn give_up(&self, host: &str, epoch: u64) -> Result;

    /// Returns the hosts that were given up, each with the epoch.
    fn given_up(&self) -> Result<BTreeMap<String, u64>>;
}

/// Returns the first digits of a digest in hex digits, as messages show it.
pub fn short(digest: &str) -> &str {
    digest.get(..8).unwrap_or(digest)
}
