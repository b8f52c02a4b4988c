//! The one order of all writes. A write goes into the log. When it is there, as safe as its client
//! demands, it goes into the queues of all its backends that are up, in the order of the log. So
//! all copies of a file get the same writes in the same order.
//!
//! Writes to a file can be held: the log has them, and they wait here until the file is at its
//! place.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use smallvec::SmallVec;
use tokio::sync::oneshot;

use super::backends::Backends;
use crate::backend::{Lines, Work};
use crate::known::Found;
use crate::layout::BackendId;
use crate::lock::lock;
use crate::log::Durability;
use crate::record;
use crate::shared::Shared;
use crate::ticket::{Failures, Ticket};
use crate::writes::Writes;

/// Puts all writes in one order.
pub struct Sequence {
    shared: Arc<Shared>,
    backends: Arc<Backends>,
    order: Mutex<Order>,
}

/// Writes that were submitted.
pub struct Submitted {
    /// The ticket of the writes.
    pub ticket: Arc<Ticket>,
    /// Receives the answer.
    pub answer: oneshot::Receiver<Failures>,
}

/// Records that were written to the log and not yet offered.
#[derive(Default)]
struct Order {
    /// the number of the last record that was handled
    through: u64,
    waiting: VecDeque<Logged>,
    /// for each file: lines of tickets, in the order of the log
    held: HashMap<Vec<u8>, Vec<(Arc<Ticket>, usize)>>,
}

/// Writes as they go into the log and to the backends.
struct Entry {
    record: Vec<u8>,
    parts: Parts,
    found: Found,
}

struct Logged {
    ticket: Arc<Ticket>,
    parts: Parts,
    /// the version of the layout by which `parts` were made
    version: u64,
    durability: Durability,
}

/// The lines for each backend.
type Parts = SmallVec<[(BackendId, Lines); 4]>;

impl Sequence {
    /// Returns a sequence that starts at the end of the log.
    pub(super) fn new(shared: Arc<Shared>, backends: Arc<Backends>) -> Sequence {
        let order = Order {
            through: shared.log.newest(),
            ..Order::default()
        };
        Sequence {
            shared,
            backends,
            order: Mutex::new(order),
        }
    }

    /// Takes writes in the order of the calls, without waiting until the log has them. The answer
    /// comes when one backend has answered each line, or when only the log has it.
    pub fn submit(&self, mut writes: Writes, durability: Durability) -> Submitted {
        let entry = self.entry(&mut writes);
        self.enter(&mut lock(&self.order), writes, entry, durability, false)
    }

    /// Takes writes like [`submit`](Sequence::submit), but the answer comes when the log has them.
    /// Returns the writes if it is not known that their backends will take them.
    pub fn submit_early(
        &self,
        mut writes: Writes,
        durability: Durability,
    ) -> Result<Submitted, Writes> {
        let entry = self.entry(&mut writes);
        let mut order = lock(&self.order);
        // under the lock, so that what is known of the files follows the order of the log
        if writes.is_empty() || !self.shared.known.will_be_taken(&writes, &entry.found) {
            return Err(writes);
        }
        Ok(self.enter(&mut order, writes, entry, durability, true))
    }

    fn entry(&self, writes: &mut Writes) -> Entry {
        let mut record = Vec::with_capacity(writes.bytes() + 16 * writes.len());
        let mut parts = Parts::new();
        let layout = self.shared.layout();
        let found = self.shared.known.find(writes, &layout);
        let backends = self.backends.read();
        for line in 0..writes.len() {
            let now = found.places(line);
            // a place that the file may move to gets the write from the log, if the file has moved
            // there by then
            let ever = layout.target().map(|_| layout.ever(writes.name(line)));
            let names = ever
                .as_ref()
                .unwrap_or(now)
                .iter()
                .map(|id| backends[*id as usize].name());
            record::push(&mut record, names, writes.line(line));
            now.iter()
                .for_each(|id| add(&mut parts, *id, line, writes.len()));
        }
        drop((backends, layout));
        if writes.len() == 1 {
            parts.iter_mut().for_each(|(_, lines)| *lines = Lines::All);
        }
        Entry {
            record,
            parts,
            found,
        }
    }

    fn enter(
        &self,
        order: &mut Order,
        writes: Writes,
        entry: Entry,
        durability: Durability,
        early: bool,
    ) -> Submitted {
        let log = &self.shared.log;
        let appended = log.append(&entry.record, durability);
        let number = *appended.as_ref().unwrap_or(&0);
        let (ticket, answer) = Ticket::new(number, writes, early);
        let ticket = Arc::new(ticket);
        match appended {
            Ok(_) => {
                order.waiting.push_back(Logged {
                    ticket: Arc::clone(&ticket),
                    parts: entry.parts,
                    version: entry.found.version(),
                    durability,
                });
                if durability == Durability::Crash && log.reached(durability) >= number {
                    self.offer_through(order, log.newest(), number);
                }
            }
            Err(error) => ticket.fail(&not_logged(error)),
        }
        Submitted { ticket, answer }
    }

    /// Offers writes to the backends when the log has them. Never returns.
    pub(super) async fn dispatch(self: Arc<Self>) {
        let mut frontier = self.shared.log.frontier();
        loop {
            let come = frontier.borrow_and_update().clone();
            self.offer_through(&mut lock(&self.order), come.newest, come.written);
            if let Some(why) = come.broken {
                for logged in std::mem::take(&mut lock(&self.order).waiting) {
                    logged.ticket.fail(&not_logged(&why)); // no backend gets it
                }
            }
            if let Some(why) = come.unsure {
                // the backends get it if it becomes durable after all
                for logged in &lock(&self.order).waiting {
                    logged.ticket.fail(&not_sure(&why));
                }
            }
            // append runs under the same lock, so later writes get this error from append
            if frontier.changed().await.is_err() {
                return;
            }
        }
    }

    /// Offers the records that the log has: up to `written` those that must survive a crash of the
    /// router, up to `newest` those that must survive a power cut.
    fn offer_through(&self, order: &mut Order, newest: u64, written: u64) {
        let backends = self.backends.read();
        let has = |logged: &Logged| {
            logged.ticket.number
                <= match logged.durability {
                    Durability::Power => newest,
                    Durability::Crash => written,
                }
        };
        while order.waiting.front().is_some_and(has) {
            let Some(Logged {
                ticket,
                mut parts,
                version,
                ..
            }) = order.waiting.pop_front()
            else {
                break;
            };
            let layout = self.shared.layout();
            if version != layout.version() || !order.held.is_empty() {
                parts.clear();
                for line in 0..ticket.writes.len() {
                    let name = ticket.writes.name(line);
                    match order.held.get_mut(name) {
                        Some(held) => {
                            ticket.will_be_given();
                            held.push((Arc::clone(&ticket), line));
                        }
                        None => layout
                            .now(name)
                            .into_iter()
                            .for_each(|id| add(&mut parts, id, line, 1)),
                    }
                }
            }
            drop(layout);
            ticket.expect(parts.len());
            order.through = ticket.number;
            let since = Instant::now();
            let mut crowded = None;
            for (id, lines) in parts {
                let ticket = Arc::clone(&ticket);
                let work = Work {
                    ticket,
                    lines,
                    since,
                };
                if let Some(full) = backends[id as usize].offer(work, false) {
                    crowded = Some(full && crowded.unwrap_or(true));
                }
            }
            if crowded == Some(true) {
                ticket.crowd();
            }
            ticket.given();
        }
        order.note(&self.shared);
    }

    /// Holds the writes to this file from now on. Returns false if they are held already.
    pub fn hold(&self, name: &[u8]) -> bool {
        let mut order = lock(&self.order);
        let free = !order.held.contains_key(name);
        if free {
            order.held.insert(name.to_vec(), Vec::new());
        }
        free
    }

    /// Releases the held writes to the places where the file is now.
    pub fn release(&self, name: &[u8]) {
        let mut order = lock(&self.order);
        let copies = self.shared.layout().now(name);
        for (ticket, line) in order.held.remove(name).into_iter().flatten() {
            ticket.expect(copies.len());
            for id in &copies {
                self.backends.get(*id).offer(
                    Work {
                        ticket: Arc::clone(&ticket),
                        lines: Lines::These(vec![line as u32]),
                        since: Instant::now(),
                    },
                    true,
                );
            }
            ticket.given();
        }
        order.note(&self.shared);
    }
}

impl Order {
    /// Publishes the record up to which everything was offered. Held records were not offered.
    fn note(&self, shared: &Shared) {
        let held = self
            .held
            .values()
            .filter_map(|held| held.first())
            .map(|(ticket, _)| ticket.number)
            .min();
        shared.offered.store(
            held.map_or(self.through, |held| self.through.min(held - 1)),
            Ordering::Release,
        );
    }
}

/// Adds a line to those of a backend. A new part has room for half of all `count` lines: with fewer
/// than four backends in use it grows once.
fn add(parts: &mut Parts, id: BackendId, line: usize, count: usize) {
    let part = match parts.iter_mut().position(|(other, _)| *other == id) {
        Some(at) => &mut parts[at].1,
        None => {
            parts.push((id, Lines::These(Vec::with_capacity(count.div_ceil(2)))));
            let last = parts.len() - 1;
            &mut parts[last].1
        }
    };
    if let Lines::These(lines) = part {
        lines.push(line as u32);
    }
}

fn not_sure(why: &str) -> Vec<u8> {
    format!("it is not sure whether this is stored: {why}").into_bytes()
}

fn not_logged(error: impl fmt::Display) -> Vec<u8> {
    format!("the router's log took nothing: {error}")
        .replace('\n', " ")
        .into_bytes()
}
