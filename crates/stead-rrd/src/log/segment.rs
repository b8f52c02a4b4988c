//! A file of the log: how it is made, and how it is examined when the log is opened.
//!
//! A segment has its full size from the start, as zeros that are on disk. So a full disk is noticed
//! before a record is taken, and a sync writes only data and no metadata. No file is reused; any
//! bytes other than zero after the last record are a torn write.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::disk::Disk;
use super::frame::{self, HEAD, HEADER};
use crate::dirs::failed;
use crate::lock::lock;

/// The least distance between two offsets from which a reader can start.
const MARK: u64 = 64 << 10;

/// A segment. Its file stays readable after it was trimmed, as long as somebody holds this.
pub(super) struct Segment {
    /// The number of its first record.
    pub base: u64,
    pub size: u64,
    pub path: PathBuf,
    pub file: File,
    /// The numbers and offsets of some records, ascending, so that a reader need not start at the
    /// beginning.
    marks: Mutex<Vec<(u64, u64)>>,
}

/// The result of examining a segment.
pub(super) struct Scan {
    /// The number after the last good record, and the offset where that record would begin.
    pub next: u64,
    pub end: u64,
    /// Whether a torn write follows.
    pub torn: bool,
}

impl Segment {
    pub fn new(base: u64, size: u64, path: PathBuf, file: File) -> Segment {
        Segment {
            base,
            size,
            path,
            file,
            marks: Mutex::new(vec![(base, HEADER as u64)]),
        }
    }

    pub fn path_of(dir: &Path, base: u64) -> PathBuf {
        dir.join(format!("{base:020}.log"))
    }

    /// Checks that the file still has its name. Otherwise somebody has removed or replaced the
    /// directory: what is written and synced would be found by nobody.
    pub fn is_in_place(&self) -> io::Result<()> {
        let held = self.file.metadata();
        let held = held.map_err(|e| failed("look at", &self.path, e))?;
        let named = match fs::metadata(&self.path) {
            Ok(named) => Some(named),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => None,
            Err(error) => return Err(failed("look at", &self.path, error)),
        };
        let same = |named: fs::Metadata| (named.dev(), named.ino()) == (held.dev(), held.ino());
        if named.is_some_and(same) {
            return Ok(());
        }
        let text = format!(
            "{} is gone or another file: somebody has removed or replaced the state directory",
            self.path.display()
        );
        Err(io::Error::new(NotFound, text))
    }

    /// Remembers where a record begins.
    pub fn mark(&self, number: u64, offset: u64) {
        let mut marks = lock(&self.marks);
        if marks.last().is_none_or(|(_, last)| offset >= last + MARK) {
            marks.push((number, offset));
        }
    }

    /// Returns the number and the offset of a record at or before this one.
    pub fn near(&self, number: u64) -> (u64, u64) {
        let marks = lock(&self.marks);
        let behind = marks.partition_point(|(n, _)| *n <= number);
        marks
            .get(behind.saturating_sub(1))
            .copied()
            .unwrap_or((self.base, HEADER as u64))
    }

    /// Verifies every record. `next` is the first number of the following segment, if there is one;
    /// then all records before it must be here.
    ///
    /// In the last segment the first bad record is taken for a torn write, which was never
    /// acknowledged, unless a good record after it proves that the bad one was durable.
    pub fn scan(&self, bytes: &[u8], id: u64, next: Option<u64>) -> io::Result<Scan> {
        let mut scan = Scan {
            next: self.base,
            end: 0,
            torn: false,
        };
        // a segment gets its size before it gets its name
        let size = frame::header_size(bytes, id).unwrap_or(HEADER as u64);
        if (bytes.len() as u64) < size {
            return Err(damaged(
                &self.path,
                bytes.len() as u64,
                self.base,
                &format!("the file has {} bytes of {size}", bytes.len()),
            ));
        }
        if bytes.get(..HEADER) == Some(&frame::header(id, self.base, self.size)) {
            scan.end = HEADER as u64;
            while let Some(frame) = parse_at(bytes, scan.end, id).filter(|f| f.number == scan.next)
            {
                self.mark(scan.next, scan.end);
                scan.next += 1;
                scan.end += frame::size(frame.data.len()) as u64;
            }
        }
        if next == Some(scan.next) {
            return Ok(scan);
        }
        let rest = bytes.get(scan.end as usize..).unwrap_or(&[]);
        if let Some(next) = next {
            return Err(damaged(
                &self.path,
                scan.end,
                scan.next,
                &format!("the next segment begins with {next}"),
            ));
        }
        // Records lie at multiples of 8, and checking the number first is cheap. No number is 0, so
        // none begins in the zeros at the end.
        let numbers = scan.next..=scan.next + (rest.len() / HEAD) as u64;
        let used = frame::used(rest);
        let proof = (0..used)
            .step_by(8)
            .filter_map(|at| rest.get(at..))
            .find_map(|at| {
                frame::u64_at(at, 8).filter(|n| numbers.contains(n))?;
                frame::parse(at, id).filter(|f| f.durable >= scan.next)
            });
        if let Some(proof) = proof {
            let why = format!(
                "record {} behind it says that {} was on the disk",
                proof.number, proof.durable
            );
            return Err(damaged(&self.path, scan.end, scan.next, &why));
        }
        scan.torn = used > 0;
        Ok(scan)
    }

    /// Writes the part that the scan of `bytes` found good, and zeros over a torn write, and syncs
    /// it. Returns a notice of the torn write. An empty segment gets its header again.
    ///
    /// Everything is written again and not only synced: after a failed sync the kernel may treat
    /// pages as clean that the disk never got.
    pub fn settle(
        &self,
        bytes: &[u8],
        scan: &Scan,
        id: u64,
        disk: &dyn Disk,
    ) -> io::Result<Option<String>> {
        let mut clean = match scan.end {
            0 => frame::header(id, self.base, self.size),
            end => bytes.get(..end as usize).unwrap_or(bytes).to_vec(),
        };
        clean.resize(bytes.len(), 0);
        self.file
            .write_all_at(&clean, 0)
            .map_err(|e| failed("write", &self.path, e))?;
        disk.sync(&self.file)
            .map_err(|e| failed("sync", &self.path, e))?;
        let what = "cut off a write that was unfinished when the router or the machine stopped; \
            no client was told that it was durable";
        Ok(scan
            .torn
            .then(|| format!("{}: offset {}: {what}", self.path.display(), scan.end)))
    }
}

fn parse_at(bytes: &[u8], offset: u64, id: u64) -> Option<frame::Frame<'_>> {
    frame::parse(bytes.get(usize::try_from(offset).ok()?..)?, id)
}

/// Returns the error for a record that should be good and is not.
pub(super) fn damaged(path: &Path, offset: u64, number: u64, why: &str) -> io::Error {
    let todo =
        "restore the file, or move the log away and copy every backend's files from a replica";
    let text = format!(
        "{}: offset {offset}: record {number} is damaged or missing ({why}); {todo}",
        path.display()
    );
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Makes a file of zeros that are on disk. If that fails, removes the file again. The error does
/// not name the file.
pub(super) fn prepare(path: &Path, size: u64, disk: &dyn Disk) -> io::Result<File> {
    let zeros = vec![0; 64 << 10];
    let made = (|| {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let mut left = size;
        while left > 0 {
            let part = zeros
                .get(..left.min(zeros.len() as u64) as usize)
                .unwrap_or(&zeros);
            file.write_all(part)?;
            left -= part.len() as u64;
        }
        disk.sync(&file)?; // delayed allocation: the space is certain only after a sync
        Ok(file)
    })();
    made.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}
