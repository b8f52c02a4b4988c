//! The one order of all writes. A write goes into the log. When it is durable, it goes into the
//! queues of all its backends that are up, in the order of the log. So all copies of a file get the
//! same writes in the same order.
//!
//! Writes to a file can be held: they become durable, and wait here until the file is at its place.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use smallvec::SmallVec;
use tokio::sync::oneshot;

use super::backends::Backends;
use crate::backend::{Lines, Work};
use crate::layout::BackendId;
use crate::lock::lock;
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

struct Logged {
    ticket: Arc<Ticket>,
    parts: Parts,
    /// the version of the layout by which `parts` were made
    version: u64,
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

    /// Takes writes in the order of the calls, without waiting until they are durable. The answer
    /// comes when one backend has answered each line, or when only the log has it.
    pub fn submit(&self, writes: Writes) -> Submitted {
        let mut record = Vec::with_capacity(writes.bytes() + 16 * writes.len());
        let mut parts = Parts::new();
        let version = {
            let layout = self.shared.layout();
            let backends = self.backends.read();
            for line in 0..writes.len() {
                let name = writes.name(line);
                let now = layout.now(name);
                // a place that the file may move to gets the write from the log, if the file has
                // moved there by then
                let ever = layout.target().map(|_| layout.ever(name));
                let names = ever
                    .as_ref()
                    .unwrap_or(&now)
                    .iter()
                    .map(|id| backends[*id as usize].name());
                record::push(&mut record, names, writes.line(line));
                now.into_iter().for_each(|id| add(&mut parts, id, line));
            }
            layout.version()
        };
        if writes.len() == 1 {
            parts.iter_mut().for_each(|(_, lines)| *lines = Lines::All);
        }
        let mut order = lock(&self.order);
        let appended = self.shared.log.append(&record);
        let (ticket, answer) = Ticket::new(*appended.as_ref().unwrap_or(&0), writes);
        let ticket = Arc::new(ticket);
        match appended {
            Ok(_) => order.waiting.push_back(Logged {
                ticket: Arc::clone(&ticket),
                parts,
                version,
            }),
            Err(error) => {
                drop(order);
                ticket.fail(&not_logged(error));
            }
        }
        Submitted { ticket, answer }
    }

    /// Offers writes to the backends when they have become durable. Never returns.
    pub(super) async fn dispatch(self: Arc<Self>) {
        let mut frontier = self.shared.log.frontier();
        loop {
            let come = frontier.borrow_and_update().clone();
            self.offer_through(come.newest);
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

    fn offer_through(&self, newest: u64) {
        let mut order = lock(&self.order);
        let backends = self.backends.read();
        while order
            .waiting
            .front()
            .is_some_and(|logged| logged.ticket.number <= newest)
        {
            let Some(Logged {
                ticket,
                mut parts,
                version,
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
                            .for_each(|id| add(&mut parts, id, line)),
                    }
                }
            }
            drop(layout);
            ticket.expect(parts.len());
            for (id, lines) in parts {
                backends[id as usize].offer(
                    Work {
                        ticket: Arc::clone(&ticket),
                        lines,
                    },
                    false,
                );
            }
            ticket.given();
        }
        order.through = newest;
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

fn add(parts: &mut Parts, id: BackendId, line: usize) {
    let part = match parts.iter_mut().position(|(other, _)| *other == id) {
        Some(at) => &mut parts[at].1,
        None => {
            parts.push((id, Lines::These(Vec::new())));
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
