//! The log of a primary as its router sees it: what is added goes into the log and to the standby,
//! and only what both have can be read.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;

use tokio::sync::watch;

use super::hub::{Link, Pair};
use super::packing;
use crate::lock::lock;
use crate::log::{Durability, Extent, Frontier, Log, Record};
use crate::role::Lost;

/// The most bytes of records that wait in memory to be sent; beyond, they are read from the log.
const QUEUE_BYTES: usize = 64 << 20;

/// The most bytes of records that are sent at once.
const SEND_BYTES: usize = 1 << 20;

impl Pair {
    /// Returns records to send from this number on, as a body of a frame without its number. It is
    /// empty if there is nothing to send now.
    pub(super) fn take(&self, next: u64) -> io::Result<(u64, Vec<u8>)> {
        let mut body = Vec::new();
        let mut count = 0;
        let appended = {
            let mut link = self.link();
            while link.queue.front().is_some_and(|(number, _)| *number < next) {
                link.unqueue();
            }
            while link
                .queue
                .front()
                .is_some_and(|(number, _)| *number == next + count)
                && body.len() < SEND_BYTES
            {
                if let Some(record) = link.unqueue() {
                    packing::push(&mut body, &record);
                    count += 1;
                }
            }
            link.appended
        };
        if count == 0 && self.log.reached(Durability::Crash) >= next {
            for record in self.log.read(next - 1) {
                let (number, record) = record?;
                // the log may have a record that is still being added; the acknowledgement of that
                // one could come before `appended` covers it
                if number > appended {
                    break;
                }
                packing::push(&mut body, &record);
                count += 1;
                if body.len() >= SEND_BYTES {
                    break;
                }
            }
        }
        Ok((count, body))
    }

    /// Returns the positions of the backends.
    pub(super) fn positions(&self) -> BTreeMap<String, u64> {
        self.log.positions()
    }
}

impl Link {
    fn unqueue(&mut self) -> Option<Vec<u8>> {
        let (_, record) = self.queue.pop_front()?;
        self.queued_bytes -= record.len();
        Some(record)
    }
}

impl Log for Pair {
    fn append(&self, record: &[u8], durability: Durability) -> io::Result<u64> {
        let _taking = lock(&self.taking);
        {
            let link = self.link();
            if self.wanted == Lost::Refuse && !link.joined && !link.alone {
                return Err(io::Error::new(
                    io::ErrorKind::NotConnected,
                    self.refusal(&link),
                ));
            }
        }
        let number = self.log.append(record, durability)?;
        let mut link = self.link();
        link.appended = number;
        if durability == Durability::Crash {
            link.crash = number;
        }
        if link.joined {
            if link.queued_bytes + record.len() > QUEUE_BYTES {
                link.queue.clear();
                link.queued_bytes = 0;
            }
            link.queued_bytes += record.len();
            link.queue.push_back((number, record.to_vec()));
            drop(link);
            self.bell.notify_one();
        } else if self.wanted == Lost::Refuse && !link.alone {
            // the standby was lost a moment ago: whoever waits for this record is told, too
            drop(link);
            self.frontier.send_modify(|_| {});
        } else if durability == Durability::Crash && link.alone {
            drop(link);
            self.publish(); // the log does not announce what it has written at once
        }
        Ok(number)
    }

    fn frontier(&self) -> watch::Receiver<Frontier> {
        self.frontier.subscribe()
    }

    fn extent(&self) -> Extent {
        self.log.extent()
    }

    fn follow(&self, backends: &[&str]) -> io::Result<()> {
        self.log.follow(backends)?;
        // the standby hears of them before it gets any later record
        self.names_changed.store(true, Ordering::Release);
        self.bell.notify_one();
        Ok(())
    }

    fn confirm(&self, backend: &str, through: u64) -> io::Result<()> {
        self.log.confirm(backend, through)?;
        self.positions_changed.store(true, Ordering::Release);
        Ok(())
    }

    fn confirmed(&self, backend: &str) -> u64 {
        self.log.confirmed(backend)
    }

    fn newest(&self) -> u64 {
        self.reached(Durability::Power)
    }

    fn reached(&self, durability: Durability) -> u64 {
        let frontier = self.frontier.borrow();
        match durability {
            Durability::Power => frontier.newest,
            Durability::Crash => frontier.written,
        }
    }

    fn read(&self, after: u64) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_> {
        let published = |record: &io::Result<Record>| match record {
            Ok((number, _)) => *number <= self.published(),
            Err(_) => true,
        };
        Box::new(self.log.read(after).take_while(published))
    }
}
