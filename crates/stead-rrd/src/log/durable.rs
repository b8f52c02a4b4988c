//! The log on disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use tokio::sync::watch;

use super::books::{Core, Size};
use super::disk::{Disk, Real};
use super::opening::{self, Opened};
use super::promise::{Durability, Extent, Frontier, Log, Record};
use super::{frame, keeper, reader, writer};

/// A durable log in a directory. Dropping it writes the queued records and blocks until they are on
/// disk.
pub struct Durable {
    pub(super) core: Arc<Core>,
    notice: Option<String>,
    writer: Option<JoinHandle<()>>,
    keeper: Option<JoinHandle<()>>,
    _lock: File,
}

impl Durable {
    /// Opens the log in this directory, or starts a new one there. It reads and verifies the whole
    /// log, which takes about a second per GiB.
    ///
    /// The error is `WouldBlock` if another router has the log open, and `InvalidData`, with the
    /// file and the offset, if the log is damaged.
    pub fn open(dir: &Path, size: Size) -> io::Result<Durable> {
        Durable::open_on(dir, size, Arc::new(Real))
    }
    /// Returns one line for the operator if opening the log cut off a write that a crash had torn.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    pub(super) fn open_on(dir: &Path, size: Size, disk: Arc<dyn Disk>) -> io::Result<Durable> {
        let Opened {
            lock,
            books,
            notice,
        } = opening::open(dir, size, &*disk)?;
        let frontier = watch::Sender::new(Frontier {
            written: books.written,
            newest: books.newest,
            broken: None,
            unsure: None,
        });
        let core = Arc::new(Core {
            dir: dir.to_owned(),
            id: books.positions.id,
            size,
            disk,
            books: Mutex::new(books),
            work: Condvar::new(),
            chores: Condvar::new(),
            ready: Condvar::new(),
            frontier,
            pen: Mutex::new(()),
        });
        let thread = |name: &str, run: fn(&Core)| {
            let core = core.clone();
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || run(&core))
        };
        let mut log = Durable {
            notice,
            writer: None,
            keeper: None,
            _lock: lock,
            core: core.clone(),
        };
        log.writer = Some(thread("log writer", writer::run)?);
        log.keeper = Some(thread("log keeper", keeper::run)?);
        Ok(log)
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        self.core.books().closing = true;
        for bell in [&self.core.work, &self.core.chores, &self.core.ready] {
            bell.notify_all();
        }
        for thread in [self.writer.take(), self.keeper.take()]
            .into_iter()
            .flatten()
        {
            let _ = thread.join();
        }
        // tells the next run where the log ended; without it, that run treats the end as after a
        // crash
        if self.core.books().broken.is_none() {
            let _ = keeper::save(&self.core);
        }
    }
}

impl Log for Durable {
    /// Blocks only while the next segment is being made or trimmed away, which happens when the
    /// disk cannot keep up.
    fn append(&self, record: &[u8], durability: Durability) -> io::Result<u64> {
        let size = frame::size(record.len()) as u64;
        let most = self.core.size.segment - frame::HEADER as u64;
        if size > most {
            let text = format!(
                "a record of {} bytes does not fit into a segment of the log; at most {}",
                record.len(),
                most - frame::HEAD as u64
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let (mut books, from) = self.core.room(size)?;
        if durability == Durability::Crash && from.is_none() {
            match books.write(self.core.id, record) {
                Some(Ok(number)) => {
                    let wakes = books.wrote();
                    drop(books);
                    if wakes {
                        self.core.work.notify_one(); // for the sync that has to come
                    }
                    return Ok(number);
                }
                Some(Err(error)) => {
                    drop(books);
                    self.core.give_up(&error);
                    return Err(error);
                }
                None => {}
            }
        }
        // the writer takes everything that is queued, and looks again before it sleeps, so only the
        // first record in the queue has to wake it
        let first = books.queue.is_empty();
        let number = books.push(self.core.id, record, from)?;
        if durability == Durability::Power {
            books.awaited = number;
        }
        drop(books); // otherwise the writer would wake up only to wait for this lock
        if first {
            self.core.work.notify_one();
        }
        Ok(number)
    }

    fn frontier(&self) -> watch::Receiver<Frontier> {
        self.core.frontier.subscribe()
    }

    fn extent(&self) -> Extent {
        self.core.look_at_place();
        let books = self.core.books();
        let oldest = books
            .segments
            .front()
            .map_or(books.next, |segment| segment.base);
        let short = if books.spare.is_some() {
            None
        } else {
            self.core.no_room(&books)
        };
        Extent {
            bytes: books.total,
            bound: self.core.size.bound,
            oldest,
            short: short.map(|error| error.to_string()),
            refuses: books.refuses,
            unsaved: books.not_saved.clone(),
        }
    }

    /// The change is on disk when this returns. From then on, the records of a new backend are
    /// kept.
    fn follow(&self, backends: &[&str]) -> io::Result<()> {
        if let Some(name) = backends
            .iter()
            .find(|name| name.chars().any(char::is_control))
        {
            let text = format!(
                "the backend {name:?} has a control character in its name; the log cannot note it"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut books = self.core.books();
        books.check_broken()?;
        let newest = books.newest;
        let old = std::mem::take(&mut books.positions.backends);
        let position = |name: &&str| {
            (
                (*name).to_owned(),
                old.get(*name).copied().unwrap_or(newest),
            )
        };
        let new: BTreeMap<String, u64> = backends.iter().map(position).collect();
        let same = new.keys().eq(old.keys());
        books.positions.backends = new;
        drop(books);
        if same {
            return Ok(()); // a router must be able to start again when its disk is full
        }
        keeper::save(&self.core)
    }

    /// A record that is not durable yet is not confirmed: `through` is limited to the newest
    /// durable one.
    fn confirm(&self, backend: &str, through: u64) -> io::Result<()> {
        let mut books = self.core.books();
        books.check_broken()?;
        let through = through.min(books.newest);
        if let Some(position) = books
            .positions
            .backends
            .get_mut(backend)
            .filter(|position| **position < through)
        {
            *position = through;
            books.unsaved = true;
            self.core.chores.notify_all();
        }
        Ok(())
    }

    fn confirmed(&self, backend: &str) -> u64 {
        self.core
            .books()
            .positions
            .backends
            .get(backend)
            .copied()
            .unwrap_or(0)
    }

    fn newest(&self) -> u64 {
        self.core.books().newest
    }

    fn reached(&self, durability: Durability) -> u64 {
        let books = self.core.books();
        match durability {
            Durability::Power => books.newest,
            Durability::Crash => books.written,
        }
    }

    fn read(&self, after: u64) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_> {
        Box::new(reader::Records::new(&self.core, after))
    }
}
