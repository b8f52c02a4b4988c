//! The hub in etcd, as a [`Hub`] and as a [`Shared`]: heads, maps, reports.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use stead::store::{Accept, Arrival};
use stead::Map;

use super::calls::{delete, exists, found, number, put, range, unchanged, Calls, Pair};
use super::keys::Keys;
use super::record::{digest, Record};
use super::stream::Stream;
use super::turn;
use crate::access::Access;
use crate::exit::{Failure, Result, DATA};
use crate::hub::{Head, Host, Hub, Shared, Turn, MOST_BYTES};
use crate::instance::another;
use crate::report::Report;

/// How long a host counts as alive after its last heartbeat, in seconds.
const ALIVE: u64 = 30;

/// A hub in etcd.
pub struct Etcd {
    calls: Calls,
    keys: Keys,
    /// the last head that was read, and its revision
    newest: RefCell<Option<(u64, Record)>>,
    /// the revision of the cluster when the head was read last
    read_at: Cell<u64>,
    /// the revision of the head as the last heartbeat found it
    beaten: Cell<Option<u64>>,
    stream: Option<Stream>,
    lease: Cell<Option<u64>>,
}

impl Etcd {
    /// Returns the hub, without any request.
    pub fn new(endpoints: &[String], prefix: &str, access: &Access) -> Result<Etcd> {
        Ok(Etcd {
            calls: Calls::new(endpoints, access)?,
            keys: Keys::new(prefix),
            newest: RefCell::new(None),
            read_at: Cell::new(0),
            beaten: Cell::new(None),
            stream: None,
            lease: Cell::new(None),
        })
    }

    /// Removes the parts of maps that neither the head nor a push under way names.
    pub fn collect(&self) -> Result<usize> {
        turn::collect(&self.calls, &self.keys)
    }

    fn record(&self, version: u64) -> Option<Record> {
        let newest = self.newest.borrow();
        let found = newest.as_ref().filter(|(at, _)| *at == version);
        found.map(|(_, record)| record.clone())
    }

    /// Makes sure that this instance is the one that counts as alive by this name.
    fn claim(&self, report: &Report) -> Result {
        let key = self.keys.alive(&report.host);
        let lease = match self.lease.get() {
            Some(lease) if self.calls.renew(lease)? => lease,
            _ => self.calls.lease(ALIVE)?,
        };
        let ours = put(&key, report.instance.as_bytes(), Some(lease));
        let (taken, _) = self
            .calls
            .transaction(&[unchanged(&key, 0)], std::slice::from_ref(&ours))?;
        if !taken {
            let there = self.calls.range(&key, false, true)?;
            if let Some(pair) = there.pairs.first() {
                if pair.value != report.instance.as_bytes() {
                    // an empty lease ends by itself
                    return Err(another(report));
                }
                self.calls.transaction(&[exists(&key)], &[ours])?;
            }
        }
        self.lease.set(Some(lease));
        Ok(())
    }
}

impl Hub for Etcd {
    fn head(&self) -> Result<Option<Head>> {
        let found = self.calls.range(&self.keys.head(), false, true)?;
        self.read_at.set(found.revision);
        let Some(pair) = found.pairs.first() else {
            self.newest.replace(None);
            self.beaten.set(Some(0));
            return Ok(None);
        };
        self.beaten.set(Some(pair.changed));
        let record = Record::parse(&self.calls.at(&self.keys.head()), &pair.value)?;
        let head = record.head(pair.changed);
        self.newest.replace(Some((pair.changed, record)));
        Ok(head)
    }

    fn map(&self, head: &Head, epoch: u64) -> Result<Option<Map>> {
        let Some(record) = self.record(head.version) else {
            return Ok(None);
        };
        let Some(kept) = record.kept.iter().find(|kept| kept.epoch == epoch) else {
            return Ok(None);
        };
        let Some(named) = digest(&kept.digest) else {
            return Ok(None);
        };
        if kept.length > MOST_BYTES || kept.parts as u64 > kept.length {
            return Err(Failure::new(
                DATA,
                format_args!(
                    "{}: the head says that epoch {epoch} has {} bytes in {} parts, which is no map; push it again",
                    self.calls.at(&self.keys.head()),
                    kept.length,
                    kept.parts
                ),
            ));
        }
        let mut bytes = Vec::new();
        for number in 0..kept.parts {
            let key = self.keys.part(&named, number);
            let found = self.calls.range(&key, false, true)?;
            match found.pairs.into_iter().next() {
                // a map that is too long is refused below
                Some(_) if bytes.len() as u64 > kept.length => break,
                Some(pair) => bytes.extend(pair.value),
                None => {
                    // a later push may have collected it
                    return match self.head()? {
                        Some(now) if now.version != head.version => Ok(None),
                        _ => Err(Failure::new(
                            DATA,
                            format_args!(
                                "{}: this part of epoch {epoch} is missing; push the map again",
                                self.calls.at(&key)
                            ),
                        )),
                    };
                }
            }
        }
        let what = format!(
            "{}: epoch {epoch} in etcd",
            self.calls.at(&self.keys.map(&named))
        );
        let map = Map::from_bytes(bytes)
            .map_err(|error| Failure::new(DATA, format_args!("{what}: {error}")))?;
        match map.digest() == named && map.epoch() == epoch {
            true => Ok(Some(map)),
            false => Err(Failure::new(
                DATA,
                format_args!("{what} is another map than the head says; push the map again"),
            )),
        }
    }

    fn wait(&mut self, head: Option<&Head>, most: Duration) -> Result {
        let seen = head.map_or(0, |head| head.version);
        if self.beaten.get().is_some_and(|now| now != seen) {
            // a heartbeat has found another head, of which the stream has not told
            self.stream = None;
            return Ok(());
        }
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => Stream::open(
                self.calls.again(),
                &self.keys.head(),
                self.read_at.get().max(seen),
            )?,
        };
        stream.wait(most)?;
        self.stream = Some(stream);
        Ok(())
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

impl Shared for Etcd {
    fn push(&self, base: Option<&Head>, arrival: Arrival, _: Accept, keep: usize) -> Result<Turn> {
        let version = base.map_or(0, |head| head.version);
        let before = self.record(version);
        if base.is_some() && before.is_none() {
            return Ok(Turn::Lost);
        }
        turn::push(
            &self.calls,
            &self.keys,
            version,
            before.as_ref(),
            arrival,
            keep,
        )
    }

    fn hosts(&self) -> Result<Vec<Host>> {
        let reports = self.calls.range(&self.keys.hosts(), true, true)?;
        let alives = self.calls.range(&self.keys.alives(), true, true)?;
        let mut hosts = Vec::new();
        for pair in reports.pairs {
            let report: Report = serde_json::from_slice(&pair.value).map_err(|error| {
                Failure::new(
                    DATA,
                    format_args!(
                        "{}: this is no report of a host: {error}; remove the key",
                        self.calls.at(&pair.key)
                    ),
                )
            })?;
            let key = self.keys.alive(&report.host);
            let alive = alives.pairs.iter().any(|pair| pair.key == key);
            // etcd has no times of its own
            hosts.push(Host {
                report,
                alive,
                age: None,
            });
        }
        Ok(hosts)
    }

    fn report(&self, report: &Report, alive: bool) -> Result {
        let mut watched = alive;
        if alive {
            self.claim(report)?;
        } else {
            // a pull beside a watch of the same machine is welcome, one of another machine is not
            let there = self
                .calls
                .range(&self.keys.alive(&report.host), false, true)?;
            if let Some(pair) = there.pairs.first() {
                if pair.value != report.instance.as_bytes() {
                    return Err(another(report));
                }
                watched = true;
            }
        }
        let report = Report {
            watched,
            ..report.clone()
        };
        let value = serde_json::to_vec(&report).unwrap_or_default();
        self.calls.put(&self.keys.host(&report.host), &value, None)
    }

    fn beat(&self, report: &Report) -> Result<bool> {
        let is_held = match self.lease.get() {
            Some(lease) => self.calls.renew(lease)?,
            None => false,
        };
        // one request: is there another head, and are the report and the lease's key still there?
        let alive = self.keys.alive(&report.host);
        let asked = [
            json!({"request_range": range(&self.keys.head(), false, false)}),
            json!({"request_range": range(&self.keys.host(&report.host), false, false)}),
            json!({"request_range": range(&alive, false, true)}),
        ];
        let (_, answer) = self.calls.transaction(&[], &asked)?;
        let revision = number(&answer["header"]["revision"]);
        let part = |at: usize| found(&answer["responses"][at]["response_range"], revision);
        self.beaten
            .set(Some(part(0)?.pairs.first().map_or(0, |pair| pair.changed)));
        let is_known = !part(1)?.pairs.is_empty();
        let ours = report.instance.as_bytes();
        if is_known
            && !(is_held
                && part(2)?
                    .pairs
                    .first()
                    .is_some_and(|pair| pair.value == ours))
        {
            self.claim(report)?;
        }
        Ok(is_known)
    }

    fn leave(&self, report: &Report) -> Result {
        let (host, alive) = (self.keys.host(&report.host), self.keys.alive(&report.host));
        let there = self.calls.range(&alive, false, true)?;
        let is_ours = |pair: &&Pair| pair.value == report.instance.as_bytes();
        let Some(pair) = there.pairs.first().filter(is_ours) else {
            return Ok(());
        };
        let report = Report {
            ended: true,
            ..report.clone()
        };
        let value = serde_json::to_vec(&report).unwrap_or_default();
        let compare = [unchanged(&alive, pair.changed), exists(&host)];
        let then = [delete(&alive, false), put(&host, &value, None)];
        self.calls.transaction(&compare, &then).map(drop)
    }

    fn forget(&self, host: &str) -> Result<bool> {
        let key = self.keys.host(host);
        let gone = [delete(&key, false), delete(&self.keys.alive(host), false)];
        let (was_there, _) = self.calls.transaction(&[exists(&key)], &gone)?;
        Ok(was_there)
    }

    fn give_up(&self, host: &str, epoch: u64) -> Result {
        let key = self.keys.forgotten(host);
        self.calls.put(&key, epoch.to_string().as_bytes(), None)
    }

    fn given_up(&self) -> Result<BTreeMap<String, u64>> {
        let start = self.keys.forgottens();
        let found = self.calls.range(&start, true, true)?;
        let read = |pair: &Pair| {
            let host = pair.key.strip_prefix(&start)?;
            let epoch = std::str::from_utf8(&pair.value).ok()?.parse().ok()?;
            Some((host.to_owned(), epoch))
        };
        Ok(found.pairs.iter().filter_map(read).collect())
    }
}
