//! Opens a log: reads and verifies what its directory holds, and cleans up after a crash.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::sync::Arc;

use super::books::{Books, Size};
use super::disk::Disk;
use super::frame;
use super::positions::{self, Positions};
use super::segment::{self, Segment};
use crate::dirs::{failed, hold};

/// A log as found in its directory.
pub(super) struct Opened {
    /// Held while the log is open.
    pub lock: File,
    pub books: Books,
    /// A line for the operator if a torn write was cut off.
    pub notice: Option<String>,
}

/// Opens the log in this directory, or starts a new one there.
pub(super) fn open(dir: &Path, size: Size, disk: &dyn Disk) -> io::Result<Opened> {
    open_from(dir, size, disk, 1)
}

/// Opens the log in this directory, or starts a new one there whose first record will have the
/// number `first`.
pub(super) fn open_from(dir: &Path, size: Size, disk: &dyn Disk, first: u64) -> io::Result<Opened> {
    check_size(dir, size)?;
    make(dir, disk)?;
    let lock = hold(&dir.join("lock"))?;
    let mut bases = tidy(dir)?;
    let is_fresh = bases.is_empty() && !dir.join(positions::NAME).exists();
    let positions = positions_of(dir, bases.is_empty(), first, disk)?;
    remove_confirmed(dir, &mut bases, positions.floor().unwrap_or(0))?;
    let mut books = Books::new(positions);
    let notice = read_segments(dir, &bases, &mut books, disk)?;
    if books.segments.is_empty() && is_fresh {
        begin(dir, size.segment, first, &mut books, disk)?;
    }
    check(&books, dir)?;
    if books.segments.is_empty() {
        begin(dir, size.segment, 1, &mut books, disk)?;
    }
    Ok(Opened {
        lock,
        books,
        notice,
    })
}

fn check_size(dir: &Path, size: Size) -> io::Result<()> {
    if size.segment >= 4096 && size.segment % 8 == 0 && size.bound / 2 >= size.segment {
        return Ok(());
    }
    let problem = "is not possible: a segment has at least 4096 bytes, a multiple of 8, \
        and at least two have to fit";
    let text = format!(
        "{}: a log of {} bytes in segments of {} {problem}",
        dir.display(),
        size.bound,
        size.segment
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// Makes the directory if it does not exist.
fn make(dir: &Path, disk: &dyn Disk) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {
            let parent = dir
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            sync_dir(parent, disk)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed("create", dir, error)),
    }
}

/// Removes unfinished files of the last run. Returns the numbers of the first records of the
/// segments, ascending.
fn tidy(dir: &Path) -> io::Result<Vec<u64>> {
    let mut bases = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| failed("list", dir, e))? {
        let name = entry.map_err(|e| failed("list", dir, e))?.file_name();
        let name = name.to_string_lossy();
        if let Some(base) = name.strip_suffix(".log").and_then(|base| base.parse().ok()) {
            bases.push(base);
        } else if name == positions::NEW || name.starts_with("spare-") && name.ends_with(".tmp") {
            remove(&dir.join(&*name))?;
        }
    }
    bases.sort_unstable();
    Ok(bases)
}

/// Returns the positions in the directory, or new ones if there is no log.
fn positions_of(dir: &Path, is_fresh: bool, first: u64, disk: &dyn Disk) -> io::Result<Positions> {
    match Positions::load(dir)? {
        Some(positions) => Ok(positions),
        None if is_fresh => {
            let fresh = Positions {
                id: RandomState::new().build_hasher().finish(),
                durable: first - 1,
                ..Positions::default()
            };
            fresh.store(dir, disk).map_err(positions::Trouble::error)?;
            Ok(fresh)
        }
        None => Err(missing(
            dir,
            "the file `positions` is missing beside segments",
        )),
    }
}

/// Removes the segments that every backend has confirmed. They can exist because a crash may undo
/// some removals of a trim and keep those of later segments.
fn remove_confirmed(dir: &Path, bases: &mut Vec<u64>, floor: u64) -> io::Result<()> {
    let needed = bases
        .partition_point(|base| *base <= floor + 1)
        .saturating_sub(1);
    bases
        .drain(..needed)
        .try_for_each(|base| remove(&Segment::path_of(dir, base)))
}

/// Verifies every segment, and settles the end of the last one.
fn read_segments(
    dir: &Path,
    bases: &[u64],
    books: &mut Books,
    disk: &dyn Disk,
) -> io::Result<Option<String>> {
    let id = books.positions.id;
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
        // records that a killed router wrote and did not sync can be read, although they are not on
        // disk
        let unsure = scan.torn || scan.end == 0 || scan.next - 1 > books.positions.durable;
        if index + 1 == bases.len() && unsure {
            notice = segment.settle(&bytes, &scan, id, disk)?;
            sync_dir(dir, disk)?;
        }
        (books.next, books.tail) = (scan.next, scan.end.max(frame::HEADER as u64));
        books.total += segment.size;
        books.segments.push_back(Arc::new(segment));
    }
    (books.written, books.newest) = (books.next - 1, books.next - 1);
    Ok(notice)
}

/// Checks that segments and positions belong together.
fn check(books: &Books, dir: &Path) -> io::Result<()> {
    let floor = books.positions.floor();
    if let Some((first, floor)) = books
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
    let claimed = books
        .positions
        .backends
        .values()
        .copied()
        .max()
        .unwrap_or(0)
        .max(books.positions.durable);
    if claimed <= books.newest {
        return Ok(());
    }
    match books.segments.back() {
        Some(last) => Err(segment::damaged(
            &last.path,
            books.tail,
            books.newest + 1,
            &format!("`positions` says that record {claimed} was on the disk"),
        )),
        None => Err(missing(
            dir,
            &format!(
                "there is no segment, and `positions` says that record {claimed} was on the disk"
            ),
        )),
    }
}

/// Makes the first segment.
fn begin(dir: &Path, size: u64, first: u64, books: &mut Books, disk: &dyn Disk) -> io::Result<()> {
    let (from, path) = (dir.join("spare-0.tmp"), Segment::path_of(dir, first));
    let file = segment::prepare(&from, size, disk).map_err(|e| failed("create", &from, e))?;
    file.write_all_at(&frame::header(books.positions.id, first, size), 0)
        .map_err(|e| failed("write", &from, e))?;
    disk.sync(&file).map_err(|e| failed("sync", &from, e))?;
    fs::rename(&from, &path).map_err(|e| failed("rename", &from, e))?;
    sync_dir(dir, disk)?;
    (books.next, books.total) = (first, size);
    (books.written, books.newest) = (first - 1, first - 1);
    books
        .segments
        .push_back(Arc::new(Segment::new(first, size, path, file)));
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).map_err(|e| failed("remove", path, e))
}

fn sync_dir(dir: &Path, disk: &dyn Disk) -> io::Result<()> {
    disk.sync_dir(dir)
        .map_err(|e| failed("sync the directory", dir, e))
}

fn missing(dir: &Path, problem: &str) -> io::Error {
    let todo =
        "restore the directory, or move it away and copy every backend's files from a replica";
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{}: {problem}; {todo}", dir.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::super::disk::Real;
    use super::super::promise::{Durability, Log};
    use super::super::Durable;
    use super::*;

    const SIZE: Size = Size {
        segment: 4096,
        bound: 1 << 20,
        sync_every: std::time::Duration::from_millis(100),
    };

    /// Fills three segments of a log, and returns the number of the first record of each.
    fn three_segments(dir: &Path) -> Vec<u64> {
        let log = Durable::open(dir, SIZE).unwrap();
        let bases = || {
            let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
            let base = |path: &Path| path.file_stem()?.to_str()?.parse().ok();
            let mut bases: Vec<u64> = names.filter_map(|path| base(&path)).collect();
            bases.sort_unstable();
            bases
        };
        while bases().len() < 3 {
            log.append(&[7; 1000], Durability::Crash).unwrap();
        }
        drop(log);
        bases()
    }

    fn store(dir: &Path, change: impl FnOnce(&mut Positions)) {
        let mut positions = Positions::load(dir).unwrap().unwrap();
        change(&mut positions);
        assert!(positions.store(dir, &Real).is_ok());
    }

    #[test]
    fn what_all_have_confirmed_and_a_crash_has_kept_is_removed() {
        for before_second in [0, 1] {
            let place = tempfile::tempdir().unwrap();
            let bases = three_segments(place.path());
            let confirmed = bases[1] - 1 - before_second;
            store(place.path(), |positions| {
                positions.backends.insert("a".to_owned(), confirmed);
            });
            let opened = open(place.path(), SIZE, &Real).unwrap();
            let first = opened.books.segments.front().unwrap().base;
            assert_eq!(first, bases[before_second as usize ^ 1]);
        }
    }

    /// A disk that notes which directories were synced.
    #[derive(Default)]
    struct Noting(std::sync::Mutex<Vec<std::path::PathBuf>>);

    impl Disk for Noting {
        fn sync(&self, file: &fs::File) -> io::Result<()> {
            Real.sync(file)
        }

        fn sync_dir(&self, dir: &Path) -> io::Result<()> {
            self.0.lock().unwrap().push(dir.to_owned());
            Real.sync_dir(dir)
        }
    }

    #[test]
    fn the_name_of_a_new_directory_is_on_the_disk() {
        let place = tempfile::tempdir().unwrap();
        let disk = Noting::default();
        make(&place.path().join("log"), &disk).unwrap();
        assert_eq!(disk.0.into_inner().unwrap(), [place.path()]);
    }

    #[test]
    fn a_write_that_was_cut_off_is_told_although_all_before_it_was_durable() {
        let place = tempfile::tempdir().unwrap();
        let log = Durable::open(place.path(), SIZE).unwrap();
        log.append(b"whole", Durability::Power).unwrap();
        drop(log);
        let first = Segment::path_of(place.path(), 1);
        let bytes = fs::read(&first).unwrap();
        let end = open(place.path(), SIZE, &Real).unwrap().books.tail as usize;
        let mut torn = bytes.clone();
        torn[end..end + 4].copy_from_slice(b"torn");
        fs::write(&first, &torn).unwrap();
        let opened = open(place.path(), SIZE, &Real).unwrap();
        let told = opened.notice.unwrap();
        assert!(told.contains("cut off a write"), "{told}");
        assert_eq!(fs::read(&first).unwrap(), bytes);
    }

    /// A segment may have got its name before its first bytes.
    #[test]
    fn a_segment_without_a_header_gets_one_before_records() {
        let place = tempfile::tempdir().unwrap();
        let last = *three_segments(place.path()).last().unwrap();
        let path = Segment::path_of(place.path(), last);
        fs::write(path, vec![0; SIZE.segment as usize]).unwrap();
        store(place.path(), |positions| positions.durable = last - 1);
        for more in 0..2 {
            let log = Durable::open(place.path(), SIZE).unwrap();
            assert_eq!(log.newest(), last - 1 + more);
            log.append(b"more", Durability::Power).unwrap();
        }
    }

    #[test]
    fn records_that_are_missing_are_named() {
        let place = tempfile::tempdir().unwrap();
        let bases = three_segments(place.path());
        store(place.path(), |positions| {
            positions.backends.insert("a".to_owned(), 1);
        });
        fs::remove_file(Segment::path_of(place.path(), bases[0])).unwrap();
        let error = open(place.path(), SIZE, &Real).err().unwrap().to_string();
        let told = format!("records 2 to {} are missing", bases[1] - 1);
        assert!(error.contains(&told), "{error}");
    }

    #[test]
    fn files_of_others_stay_and_a_log_needs_the_directory_above_it() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        drop(Durable::open(&dir, SIZE).unwrap());
        let others = ["notes.tmp", "spare-parts.txt"].map(|name| dir.join(name));
        let ours = [positions::NEW, "spare-99.tmp"].map(|name| dir.join(name));
        for file in others.iter().chain(&ours) {
            fs::write(file, "").unwrap();
        }
        drop(Durable::open(&dir, SIZE).unwrap());
        assert!(others.iter().all(|file| file.exists()));
        assert!(!ours.iter().any(|file| file.exists()));
        let nowhere = place.path().join("no").join("log");
        let error = Durable::open(&nowhere, SIZE).err().unwrap().to_string();
        assert!(error.contains("cannot create"), "{error}");
    }
}
