//! The state that the log's threads and its callers share: the segments, the records that wait to
//! be written, and how far each backend has confirmed.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::disk::Disk;
use super::frame;
use super::positions::Positions;
use super::promise::Frontier;
use super::segment::Segment;
use crate::dirs::failed;
use crate::lock::lock;

/// The bounds of a log: its largest size, the steps in which it grows and shrinks, and how much a
/// power cut may take from it.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The size of a segment in bytes: at least 4096 and a multiple of 8. A record has to fit into
    /// one segment.
    pub segment: u64,
    /// An upper bound on the bytes of all segments together; at least two segments.
    pub bound: u64,
    /// How long a record that only has to survive a crash of the router may wait for its sync.
    pub sync_every: Duration,
}

impl Default for Size {
    fn default() -> Size {
        Size {
            segment: 16 << 20,
            bound: 1 << 30,
            sync_every: Duration::from_millis(100),
        }
    }
}

/// The state that the log's threads and its callers share.
pub(super) struct Core {
    pub dir: PathBuf,
    pub id: u64,
    pub size: Size,
    pub disk: Arc<dyn Disk>,
    pub books: Mutex<Books>,
    /// `work` is notified when the writer has something to do, `chores` when the keeper has, and
    /// `ready` when the keeper has done it.
    pub work: Condvar,
    pub chores: Condvar,
    pub ready: Condvar,
    /// The value that [`Log::frontier`] publishes.
    pub frontier: watch::Sender<Frontier>,
    /// Held while the positions are stored and segments trimmed.
    pub pen: Mutex<()>,
}

pub(super) struct Books {
    /// The number of the next record, and its offset in the last segment.
    pub next: u64,
    pub tail: u64,
    /// The newest record that is written, and the newest that is durable.
    pub written: u64,
    pub newest: u64,
    /// The newest record that has to be synced before somebody gets an answer.
    pub awaited: u64,
    /// The segment with bytes that are not synced, and since when.
    pub unsynced: Option<(Arc<Segment>, Instant)>,
    /// Whether the writer writes what it took out of the queue.
    pub writing: bool,
    /// The segments, oldest first; never empty.
    pub segments: VecDeque<Arc<Segment>>,
    pub total: u64,
    pub spare: Option<(PathBuf, File)>,
    pub spares: u64,
    /// Whether a record was refused because there was no room, and there has been none since.
    pub refuses: bool,
    /// Why there is no spare segment although the bound leaves room for one.
    pub no_spare: Option<(io::ErrorKind, String)>,
    /// Whether the messages of the router have said so.
    pub told_no_spare: bool,
    pub positions: Positions,
    /// Whether the positions differ from the stored ones, and why they could not be stored.
    pub unsaved: bool,
    pub not_saved: Option<(io::ErrorKind, String)>,
    /// The chunks that wait for the writer.
    pub queue: Vec<Chunk>,
    /// The memory in which a record is made that is written at once.
    pub scratch: Vec<u8>,
    pub broken: Option<String>,
    pub closing: bool,
}

/// Consecutive records in one segment.
pub(super) struct Chunk {
    pub segment: Arc<Segment>,
    pub offset: u64,
    pub bytes: Vec<u8>,
    /// The spare file that becomes the segment when this chunk is written.
    pub from: Option<PathBuf>,
}

impl Core {
    pub fn books(&self) -> MutexGuard<'_, Books> {
        lock(&self.books)
    }

    /// Waits until the last segment has room for a record of this size. Returns the locked books,
    /// and the spare file if one has just become that segment.
    pub fn room(&self, size: u64) -> io::Result<(MutexGuard<'_, Books>, Option<PathBuf>)> {
        let mut books = self.books();
        books.check_broken()?;
        let mut from = None;
        while books
            .segments
            .back()
            .is_none_or(|current| books.tail + size > current.size)
        {
            if let Some((path, file)) = books.spare.take() {
                let (base, size) = (books.next, self.size.segment);
                let segment = Segment::new(base, size, Segment::path_of(&self.dir, base), file);
                books.segments.push_back(Arc::new(segment));
                books.tail = frame::HEADER as u64;
                from = Some(path);
                self.chores.notify_all();
            } else if let Some(error) = self.no_room(&books) {
                books.refuses = true;
                return Err(error);
            } else {
                self.chores.notify_all();
                books = self
                    .ready
                    .wait(books)
                    .unwrap_or_else(PoisonError::into_inner);
                books.check_broken()?;
            }
        }
        books.refuses = false;
        Ok((books, from))
    }

    /// Returns the segment that has this record or would get it, and the number of the first record
    /// of the segment after it.
    pub fn locate(&self, number: u64) -> io::Result<(Arc<Segment>, u64)> {
        let books = self.books();
        let behind = books
            .segments
            .partition_point(|segment| segment.base <= number);
        let until = books
            .segments
            .get(behind)
            .map_or(u64::MAX, |segment| segment.base);
        if let Some(segment) = behind
            .checked_sub(1)
            .and_then(|index| books.segments.get(index))
        {
            return Ok((segment.clone(), until));
        }
        let text = format!(
            "{}: record {number} was forgotten, as every backend had confirmed it; \
            the log begins with {until}",
            self.dir.display()
        );
        Err(io::Error::new(io::ErrorKind::NotFound, text))
    }

    /// Stops the log for good because of this error: it takes no more records.
    pub fn give_up(&self, error: &io::Error) {
        let todo = match error.kind() {
            io::ErrorKind::NotFound => {
                "put the directory back if you can. What the servers have in memory is safe only \
                when they have flushed it: wait as long as --flush-after says before you start \
                the router again or stop a server"
            }
            _ => "repair the disk and start the router again",
        };
        let mut books = self.books();
        let text = format!("{error}; the log takes nothing more: {todo}");
        let news = books.broken.is_none();
        let text = books.broken.get_or_insert(text).clone();
        drop(books);
        if news {
            tracing::error!(error = text, "the log has failed: {text}");
        }
        self.frontier
            .send_modify(|frontier| frontier.broken = Some(text.into()));
        for bell in [&self.work, &self.chores, &self.ready] {
            bell.notify_all();
        }
    }

    /// Gives up if the last segment is not in its place any more.
    pub fn look_at_place(&self) {
        let books = self.books();
        // a segment that the writer has yet to name has no place
        let last = books.segments.back().filter(|_| books.queue.is_empty());
        let Some(last) = last.filter(|_| !books.writing).cloned() else {
            return;
        };
        drop(books);
        // it may have been trimmed meanwhile, but then it is not the last one any more
        if let Err(error) = last.is_in_place() {
            let books = self.books();
            let is_last = books
                .segments
                .back()
                .is_some_and(|now| Arc::ptr_eq(now, &last));
            drop(books);
            if is_last {
                self.give_up(&error);
            }
        }
    }

    /// Returns why there is no room for another segment, unless it is only a matter of waiting for
    /// the keeper.
    pub fn no_room(&self, books: &Books) -> Option<io::Error> {
        if books.total + self.size.segment <= self.size.bound {
            return books
                .no_spare
                .as_ref()
                .map(|(kind, text)| io::Error::new(*kind, format!("the log cannot grow: {text}")));
        }
        if books.trimmable() && books.not_saved.is_none() {
            return None;
        }
        let slowest = books
            .positions
            .backends
            .iter()
            .min_by_key(|(_, position)| **position);
        let why = match (&books.not_saved, slowest) {
            (Some((_, why)), _) => format!("what was confirmed cannot be forgotten ({why})"),
            (None, Some((name, position))) => format!(
                "{name} has confirmed only up to {position}; \
                bring it back, or take it out of the map"
            ),
            (None, None) => "no backend is followed".to_owned(),
        };
        let text = format!(
            "{}: the log is full ({} bytes, records up to {}): {why}",
            self.dir.display(),
            books.total,
            books.next - 1
        );
        Some(io::Error::new(io::ErrorKind::StorageFull, text))
    }
}

impl Books {
    /// Returns the books of a log without segments.
    pub fn new(positions: Positions) -> Books {
        Books {
            next: 1,
            tail: frame::HEADER as u64,
            written: 0,
            newest: 0,
            awaited: 0,
            unsynced: None,
            writing: false,
            segments: VecDeque::new(),
            total: 0,
            spare: None,
            spares: 1,
            refuses: false,
            no_spare: None,
            told_no_spare: false,
            positions,
            unsaved: false,
            not_saved: None,
            queue: Vec::new(),
            scratch: Vec::new(),
            broken: None,
            closing: false,
        }
    }

    /// Queues a record for the writer and returns its number. There must be room for the record.
    pub fn push(&mut self, id: u64, record: &[u8], from: Option<PathBuf>) -> io::Result<u64> {
        let (number, offset) = (self.next, self.tail);
        let Some(current) = self.segments.back() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let last = self.queue.last();
        if from.is_some() || last.is_none_or(|chunk| !Arc::ptr_eq(&chunk.segment, current)) {
            let bytes = match from {
                Some(_) => frame::header(id, current.base, current.size),
                None => Vec::new(),
            };
            self.queue.push(Chunk {
                segment: current.clone(),
                offset: offset - bytes.len() as u64,
                bytes,
                from,
            });
        }
        if let Some(chunk) = self.queue.last_mut() {
            frame::push(&mut chunk.bytes, id, number, self.newest, record);
        }
        current.mark(number, offset);
        self.next += 1;
        self.tail += frame::size(record.len()) as u64;
        Ok(number)
    }

    /// Writes a record at once if nothing waits before it, and returns its number. It is not
    /// synced. There must be room for the record in the last segment, which must have been written
    /// before.
    pub fn write(&mut self, id: u64, record: &[u8]) -> Option<io::Result<u64>> {
        if self.writing || !self.queue.is_empty() {
            return None;
        }
        let current = self.segments.back()?;
        let (number, offset) = (self.next, self.tail);
        self.scratch.clear();
        frame::push(&mut self.scratch, id, number, self.newest, record);
        if let Err(error) = current.file.write_all_at(&self.scratch, offset) {
            return Some(Err(failed("write", &current.path, error)));
        }
        current.mark(number, offset);
        self.next += 1;
        self.tail += self.scratch.len() as u64;
        self.written = number;
        Some(Ok(number))
    }

    /// Returns the newest record that may be read: nobody gets one whose client waits for a sync.
    pub fn readable(&self) -> u64 {
        match self.awaited > self.newest {
            true => self.newest,
            false => self.written,
        }
    }

    /// Records that the last segment has bytes that are not synced. Returns whether it had none
    /// before.
    pub fn wrote(&mut self) -> bool {
        let new = self.unsynced.is_none();
        if new {
            let last = self.segments.back().cloned();
            self.unsynced = last.map(|segment| (segment, Instant::now()));
        }
        new
    }

    pub fn check_broken(&self) -> io::Result<()> {
        self.broken
            .as_ref()
            .map_or(Ok(()), |text| Err(io::Error::other(text.clone())))
    }

    /// Returns whether every backend has confirmed the whole oldest segment, and it is not the last
    /// one.
    pub fn trimmable(&self) -> bool {
        let floor = self.positions.floor().unwrap_or(0);
        self.segments
            .get(1)
            .is_some_and(|second| second.base <= floor + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_a_record_whose_client_waits_for_a_sync() {
        let mut books = Books::new(Positions::default());
        (books.newest, books.written) = (5, 7);
        for (awaited, readable) in [(0, 7), (4, 7), (5, 7), (6, 5), (7, 5)] {
            books.awaited = awaited;
            assert_eq!(books.readable(), readable, "{awaited}");
        }
    }
}
