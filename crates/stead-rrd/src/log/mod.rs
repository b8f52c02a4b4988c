//! The durable log: what was acknowledged to a client is in it until every backend has confirmed
//! it, whatever is switched off.
//!
//! ```text
//! DIR/lock                      held while the log is open, never removed
//! DIR/positions                 the log's identity, and up to where each backend has confirmed
//! DIR/00000000000000000001.log  a segment, named by the number of its first record
//! DIR/spare-3.tmp               the segment after the current one, ready and empty
//! ```
//!
//! [`append`](Journal::append) puts the record into a buffer; one thread, the writer, takes all
//! that is waiting, writes it and syncs once: so 64 clients share a sync. Another, the keeper,
//! makes the next segment ready, stores positions and trims.
//!
//! What a crash leaves: the last segment may end in records of which nobody was told; they are cut
//! off, and [`Log::notice`] says so. Damage anywhere else is an error that names file and offset. A
//! sync that failed is never tried again, since the kernel may have thrown the pages away and would
//! call the second try a success (as PostgreSQL found in 2018): the log then takes nothing more.

mod disk;
mod frame;
mod keeper;
mod positions;
mod reader;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::hash_map::RandomState;
use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::watch;

use self::disk::Disk;
use self::positions::{failed, Positions};
use self::segment::Segment;
use crate::journal::{Extent, Journal, Progress, Record};

/// How large a log may become, and in which steps it grows and shrinks.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The size of a segment in bytes: at least 4096 and a multiple of 8. A record has to fit into
    /// one.
    pub segment: u64,
    /// The bytes that all segments may have together; at least two segments.
    pub bound: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment: 16 << 20,
            bound: 1 << 30,
        }
    }
}

/// A durable log in a directory. Dropping it writes what is waiting and blocks until that is on the
/// disk.
pub struct Log {
    shared: Arc<Shared>,
    notice: Option<String>,
    writer: Option<JoinHandle<()>>,
    keeper: Option<JoinHandle<()>>,
    _lock: File,
}

/// What the log's threads and its callers have in common.
struct Shared {
    dir: PathBuf,
    id: u64,
    options: Options,
    disk: Arc<dyn Disk>,
    inside: Mutex<Inside>,
    /// Rings when the writer has something to do, the keeper has, and when the keeper did it.
    work: Condvar,
    chores: Condvar,
    ready: Condvar,
    /// What [`Journal::progress`] tells.
    progress: watch::Sender<Progress>,
    /// Held while the positions are stored and segments trimmed.
    pen: Mutex<()>,
}

struct Inside {
    /// The number of the next record, and where in the last segment it goes.
    next: u64,
    tail: u64,
    newest: u64,
    /// Oldest first; never empty.
    segments: VecDeque<Arc<Segment>>,
    total: u64,
    spare: Option<(PathBuf, File)>,
    spares: u64,
    /// Why there is no spare segment although there should be room.
    no_spare: Option<(io::ErrorKind, String)>,
    positions: Positions,
    /// Whether the positions differ from the stored ones, and why they could not be stored.
    unsaved: bool,
    not_saved: Option<String>,
    /// What waits for the writer.
    queue: Vec<Chunk>,
    broken: Option<String>,
    closing: bool,
}

/// Records that follow each other in one segment.
struct Chunk {
    segment: Arc<Segment>,
    offset: u64,
    bytes: Vec<u8>,
    /// The spare file that becomes the segment with this chunk.
    from: Option<PathBuf>,
}

impl Log {
    /// Opens the log in this directory, or begins one there. Reads all of it and proves it, which
    /// takes about a second a GiB.
    ///
    /// `WouldBlock` when another router has it open; `InvalidData` when it is damaged, with the
    /// file and the offset.
    pub fn open(dir: &Path, options: Options) -> io::Result<Log> {
        Log::open_on(dir, options, Arc::new(disk::Real))
    }

    /// One line for the operator when a write that a crash had torn was cut off.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    fn open_on(dir: &Path, options: Options, disk: Arc<dyn Disk>) -> io::Result<Log> {
        if options.segment < 4096 || options.segment % 8 != 0 || options.bound / 2 < options.segment
        {
            let problem = "is not possible: a segment has at least 4096 bytes, a multiple of 8, \
                and at least two have to fit";
            let text = format!(
                "{}: a log of {} bytes in segments of {} {problem}",
                dir.display(),
                options.bound,
                options.segment
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let made = DirBuilder::new().mode(0o700).create(dir);
        match made {
            Ok(()) => {
                let parent = dir
                    .parent()
                    .filter(|p| !p.as_os_str().is_empty())
                    .unwrap_or(Path::new("."));
                disk.sync_dir(parent)
                    .map_err(|e| failed("sync the directory", parent, e))?;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("create", dir, error)),
        }
        let lock = lock(&dir.join("lock"))?;
        let mut bases = tidy(dir)?;
        let positions = match Positions::load(dir)? {
            Some(positions) => positions,
            None if bases.is_empty() => {
                let fresh = Positions {
                    id: RandomState::new().build_hasher().finish(),
                    ..Positions::default()
                };
                fresh
                    .store(dir, &*disk)
                    .map_err(positions::Trouble::error)?;
                fresh
            }
            None => {
                return Err(missing(
                    dir,
                    "the file `positions` is missing beside segments",
                ))
            }
        };
        let (id, floor) = (positions.id, positions.floor().unwrap_or(0));
        // a crash may have undone some of the removals of a trim, and not the ones of later
        // segments
        let needed = bases
            .partition_point(|base| *base <= floor + 1)
            .saturating_sub(1);
        for base in bases.drain(..needed) {
            let path = Segment::path_of(dir, base);
            fs::remove_file(&path).map_err(|e| failed("remove", &path, e))?;
        }
        let mut inside = Inside {
            next: 1,
            tail: frame::HEADER as u64,
            newest: 0,
            segments: VecDeque::new(),
            total: 0,
            spare: None,
            spares: 1,
            no_spare: None,
            positions,
            unsaved: false,
            not_saved: None,
            queue: Vec::new(),
            broken: None,
            closing: false,
        };
        let mut notice = None;
        for (index, base) in bases.iter().enumerate() {
            let path = Segment::path_of(dir, *base);
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .open(&path)
                .map_err(|e| failed("open", &path, e))?;
            let bytes = fs::read(&path).map_err(|e| failed("read", &path, e))?;
            let segment = Segment::new(*base, bytes.len() as u64, path, file);
            let scan = segment.scan(&bytes, id, bases.get(index + 1).copied())?;
            // what a killed router wrote and did not sync can be read, and yet is not on the disk
            let unsure = scan.torn || scan.end == 0 || scan.next - 1 > inside.positions.durable;
            if index + 1 == bases.len() && unsure {
                notice = segment.settle(&bytes, &scan, id, &*disk)?;
                disk.sync_dir(dir)
                    .map_err(|e| failed("sync the directory", dir, e))?;
            }
            (inside.next, inside.tail) = (scan.next, scan.end.max(frame::HEADER as u64));
            inside.total += segment.size;
            inside.segments.push_back(Arc::new(segment));
        }
        inside.newest = inside.next - 1;
        inside.check(dir)?;
        if inside.segments.is_empty() {
            let (from, path) = (dir.join("spare-0.tmp"), Segment::path_of(dir, 1));
            let file = segment::prepare(&from, options.segment, &*disk)?;
            file.write_all_at(&frame::header(id, 1, options.segment), 0)
                .map_err(|e| failed("write", &from, e))?;
            disk.sync(&file).map_err(|e| failed("sync", &from, e))?;
            fs::rename(&from, &path).map_err(|e| failed("rename", &from, e))?;
            disk.sync_dir(dir)
                .map_err(|e| failed("sync the directory", dir, e))?;
            inside.total = options.segment;
            inside
                .segments
                .push_back(Arc::new(Segment::new(1, options.segment, path, file)));
        }
        let progress = watch::Sender::new(Progress {
            newest: inside.newest,
            broken: None,
        });
        let shared = Arc::new(Shared {
            dir: dir.to_owned(),
            id,
            options,
            disk,
            inside: Mutex::new(inside),
            work: Condvar::new(),
            chores: Condvar::new(),
            ready: Condvar::new(),
            progress,
            pen: Mutex::new(()),
        });
        let thread = |name: &str, run: fn(&Shared)| {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || run(&shared))
        };
        let mut log = Log {
            notice,
            writer: None,
            keeper: None,
            _lock: lock,
            shared: shared.clone(),
        };
        log.writer = Some(thread("log writer", writer::run)?);
        log.keeper = Some(thread("log keeper", keeper::run)?);
        Ok(log)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.inside().closing = true;
        for bell in [&self.shared.work, &self.shared.chores, &self.shared.ready] {
            bell.notify_all();
        }
        for thread in [self.writer.take(), self.keeper.take()]
            .into_iter()
            .flatten()
        {
            let _ = thread.join();
        }
        // so that the next one to open it knows where it ended; without this it is as after a crash
        if self.shared.inside().broken.is_none() {
            let _ = self.shared.save();
        }
    }
}

impl Journal for Log {
    /// Waits only where the next segment is just being made or trimmed away: that is when the disk
    /// cannot keep up.
    fn append(&self, record: &[u8]) -> io::Result<u64> {
        let size = frame::size(record.len()) as u64;
        let most = self.shared.options.segment - frame::HEADER as u64;
        if size > most {
            let text = format!(
                "a record of {} bytes does not fit into a segment of the log; at most {}",
                record.len(),
                most - frame::HEAD as u64
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut inside = self.shared.inside();
        inside.check_broken()?;
        let mut from = None;
        while inside
            .segments
            .back()
            .is_none_or(|current| inside.tail + size > current.size)
        {
            if let Some((path, file)) = inside.spare.take() {
                let base = inside.next;
                let segment = Segment::new(
                    base,
                    self.shared.options.segment,
                    Segment::path_of(&self.shared.dir, base),
                    file,
                );
                inside.segments.push_back(Arc::new(segment));
                inside.tail = frame::HEADER as u64;
                from = Some(path);
                self.shared.chores.notify_all();
            } else if let Some(error) = self.shared.no_room(&inside) {
                return Err(error);
            } else {
                self.shared.chores.notify_all();
                inside = self
                    .shared
                    .ready
                    .wait(inside)
                    .unwrap_or_else(PoisonError::into_inner);
                inside.check_broken()?;
            }
        }
        // the writer takes all that is queued, and looks again before it sleeps: only the first in
        // the queue has to wake it
        let first = inside.queue.is_empty();
        let (number, offset, durable) = (inside.next, inside.tail, inside.newest);
        let Inside {
            segments, queue, ..
        } = &mut *inside;
        let Some(current) = segments.back() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if from.is_some()
            || queue
                .last()
                .is_none_or(|chunk| !Arc::ptr_eq(&chunk.segment, current))
        {
            let mut bytes = Vec::new();
            if from.is_some() {
                bytes = frame::header(self.shared.id, current.base, current.size);
            }
            let offset = offset - bytes.len() as u64;
            queue.push(Chunk {
                segment: current.clone(),
                offset,
                bytes,
                from,
            });
        }
        if let Some(chunk) = queue.last_mut() {
            frame::push(&mut chunk.bytes, self.shared.id, number, durable, record);
        }
        current.mark(number, offset);
        inside.next += 1;
        inside.tail += size;
        drop(inside); // else the writer would wake up and wait for it
        if first {
            self.shared.work.notify_one();
        }
        Ok(number)
    }

    fn progress(&self) -> watch::Receiver<Progress> {
        self.shared.progress.subscribe()
    }

    fn extent(&self) -> Extent {
        let inside = self.shared.inside();
        let oldest = inside
            .segments
            .front()
            .map_or(inside.next, |segment| segment.base);
        let short = if inside.spare.is_some() {
            None
        } else {
            self.shared.no_room(&inside)
        };
        Extent {
            bytes: inside.total,
            bound: self.shared.options.bound,
            oldest,
            short: short.map(|error| error.to_string()),
        }
    }

    /// On the disk when it returns: a new backend's records are kept from now on.
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
        let mut inside = self.shared.inside();
        inside.check_broken()?;
        let newest = inside.newest;
        let old = std::mem::take(&mut inside.positions.backends);
        let position = |name: &&str| {
            (
                (*name).to_owned(),
                old.get(*name).copied().unwrap_or(newest),
            )
        };
        inside.positions.backends = backends.iter().map(position).collect();
        drop(inside);
        self.shared.save()
    }

    /// A number that is not durable yet counts as the newest that is.
    fn confirm(&self, backend: &str, through: u64) -> io::Result<()> {
        let mut inside = self.shared.inside();
        inside.check_broken()?;
        let through = through.min(inside.newest);
        if let Some(position) = inside
            .positions
            .backends
            .get_mut(backend)
            .filter(|position| **position < through)
        {
            *position = through;
            inside.unsaved = true;
            self.shared.chores.notify_all();
        }
        Ok(())
    }

    fn confirmed(&self, backend: &str) -> u64 {
        self.shared
            .inside()
            .positions
            .backends
            .get(backend)
            .copied()
            .unwrap_or(0)
    }

    fn newest(&self) -> u64 {
        self.shared.newest()
    }

    fn read(&self, after: u64) -> Box<dyn Iterator<Item = io::Result<Record>> + Send + '_> {
        Box::new(reader::Records::new(&self.shared, after))
    }
}

impl Shared {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> u64 {
        self.inside().newest
    }

    /// The segment that has this record or would get it, and the number with which the one behind
    /// it begins.
    fn locate(&self, number: u64) -> io::Result<(Arc<Segment>, u64)> {
        let inside = self.inside();
        let behind = inside
            .segments
            .partition_point(|segment| segment.base <= number);
        let until = inside
            .segments
            .get(behind)
            .map_or(u64::MAX, |segment| segment.base);
        if let Some(segment) = behind
            .checked_sub(1)
            .and_then(|index| inside.segments.get(index))
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

    /// The log takes nothing more from now on, because of this error.
    fn give_up(&self, error: &io::Error) {
        let mut inside = self.inside();
        let text = format!("{error}; the log takes nothing more: repair the disk and start again");
        let text = inside.broken.get_or_insert(text).clone();
        drop(inside);
        self.progress
            .send_modify(|progress| progress.broken = Some(text.into()));
        for bell in [&self.work, &self.chores, &self.ready] {
            bell.notify_all();
        }
    }

    /// Why no segment can be had, if it is not only a matter of waiting for the keeper.
    fn no_room(&self, inside: &Inside) -> Option<io::Error> {
        if inside.total + self.options.segment <= self.options.bound {
            return inside
                .no_spare
                .as_ref()
                .map(|(kind, text)| io::Error::new(*kind, format!("the log cannot grow: {text}")));
        }
        if inside.trimmable() && inside.not_saved.is_none() {
            return None;
        }
        let slowest = inside
            .positions
            .backends
            .iter()
            .min_by_key(|(_, position)| **position);
        let why = match (&inside.not_saved, slowest) {
            (Some(why), _) => format!("what was confirmed cannot be forgotten ({why})"),
            (None, Some((name, position))) => format!(
                "{name} has confirmed only up to {position}; \
                bring it back, or take it out of the map"
            ),
            (None, None) => "no backend is followed".to_owned(),
        };
        let text = format!(
            "{}: the log is full ({} bytes, records up to {}): {why}",
            self.dir.display(),
            inside.total,
            inside.next - 1
        );
        Some(io::Error::new(io::ErrorKind::StorageFull, text))
    }
}

impl Inside {
    fn check_broken(&self) -> io::Result<()> {
        self.broken
            .as_ref()
            .map_or(Ok(()), |text| Err(io::Error::other(text.clone())))
    }

    /// Whether every backend has confirmed the whole oldest segment, and it is not the last.
    fn trimmable(&self) -> bool {
        let floor = self.positions.floor().unwrap_or(0);
        self.segments
            .get(1)
            .is_some_and(|second| second.base <= floor + 1)
    }

    /// Whether segments and positions belong together.
    fn check(&self, dir: &Path) -> io::Result<()> {
        let floor = self.positions.floor();
        if let Some((first, floor)) = self
            .segments
            .front()
            .map(|s| s.base)
            .zip(floor)
            .filter(|(first, floor)| *first > floor + 1)
        {
            return Err(missing(
                dir,
                &format!("records {} to {} are missing", floor + 1, first - 1),
            ));
        }
        let claimed = self
            .positions
            .backends
            .values()
            .copied()
            .max()
            .unwrap_or(0)
            .max(self.positions.durable);
        if claimed <= self.newest {
            return Ok(());
        }
        match self.segments.back() {
            Some(last) => Err(segment::damaged(
                &last.path,
                self.tail,
                self.newest + 1,
                &format!("`positions` says that {claimed} was on the disk"),
            )),
            None => Err(missing(
                dir,
                &format!(
                    "there is no segment, and `positions` says that {claimed} was on the disk"
                ),
            )),
        }
    }
}

/// Removes what was being made when the log was left, and lists the segments by their first
/// numbers, ascending.
fn tidy(dir: &Path) -> io::Result<Vec<u64>> {
    let mut bases = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| failed("list", dir, e))? {
        let name = entry.map_err(|e| failed("list", dir, e))?.file_name();
        let name = name.to_string_lossy();
        if let Some(base) = name.strip_suffix(".log").and_then(|base| base.parse().ok()) {
            bases.push(base);
        } else if name == positions::NEW || name.starts_with("spare-") && name.ends_with(".tmp") {
            let path = dir.join(&*name);
            fs::remove_file(&path).map_err(|e| failed("remove", &path, e))?;
        }
    }
    bases.sort_unstable();
    Ok(bases)
}

/// Takes the lock; the end of the process lets go of it. The file stays: removing it would let two
/// hold "the" lock.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path);
    let file = file.map_err(|e| failed("open", path, e))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let text = format!(
                "{}: another stead-rrd has this open; each needs a directory of its own",
                path.display()
            );
            Err(io::Error::new(io::ErrorKind::WouldBlock, text))
        }
        Err(error) => Err(failed("lock", path, error.into())),
    }
}

fn missing(dir: &Path, problem: &str) -> io::Error {
    let todo =
        "restore the directory, or move it away and copy every backend's files from a replica";
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{}: {problem}; {todo}", dir.display()),
    )
}
