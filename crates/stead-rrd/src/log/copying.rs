//! What the log of a standby needs besides the promise: it begins with any record, follows the
//! positions of another log, and loses the records that the other log does not have.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::books::Size;
use super::disk::{Disk, Real};
use super::durable::Durable;
use super::frame::{self, HEADER};
use super::opening;
use super::segment::Segment;
use super::{keeper, positions};
use crate::dirs::{failed, sync_names};

impl Durable {
    /// Replaces the log in this directory, if there is one, by an empty one whose first record will
    /// have this number. A crash leaves the old log, none, or the new one.
    pub fn begin(dir: &Path, size: Size, first: u64) -> io::Result<()> {
        let new = dir.with_extension("new");
        for old in [&new, dir] {
            match fs::remove_dir_all(old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("remove", old, error))
                }
                _ => {}
            }
        }
        drop(opening::open_from(&new, size, &Real, first)?);
        fs::rename(&new, dir).map_err(|error| failed("rename", &new, error))?;
        let parent = dir.parent().unwrap_or(Path::new("."));
        sync_names(parent)
    }

    /// Removes the records after `through` from the log in this directory, which nobody has open.
    /// Returns how many there were. A crash leaves a log that lacks all, some or none of them.
    pub fn cut(dir: &Path, size: Size, through: u64) -> io::Result<u64> {
        let opening::Opened { lock, books, .. } = opening::open(dir, size, &Real)?;
        let gone = books.newest.saturating_sub(through);
        if gone == 0 {
            return Ok(0);
        }
        // first, because positions beyond the end would be taken for damage
        let mut left = books.positions.clone();
        left.durable = left.durable.min(through);
        for position in left.backends.values_mut() {
            *position = (*position).min(through);
        }
        left.store(dir, &Real).map_err(positions::Trouble::error)?;
        let sync = || {
            Real.sync_dir(dir)
                .map_err(|e| failed("sync the directory", dir, e))
        };
        for (index, segment) in books.segments.iter().enumerate().rev() {
            if segment.base > through && index > 0 {
                fs::remove_file(&segment.path).map_err(|e| failed("remove", &segment.path, e))?;
                sync()?;
                continue;
            }
            shorten(dir, segment, books.positions.id, through)?;
            sync()?;
            break;
        }
        drop(lock);
        Ok(gone)
    }

    /// Returns the backends that the log keeps records for, and up to where each has confirmed.
    pub fn positions(&self) -> BTreeMap<String, u64> {
        self.core.books().positions.backends.clone()
    }

    /// Takes over the positions of the log that this one is a copy of. When the backends are
    /// others than before, they are on disk when this returns.
    pub fn take_positions(&self, other: &BTreeMap<String, u64>) -> io::Result<()> {
        let mut books = self.core.books();
        books.check_broken()?;
        let newest = books.newest;
        let now: BTreeMap<String, u64> = other
            .iter()
            .map(|(name, position)| (name.clone(), (*position).min(newest)))
            .collect();
        let same = now.keys().eq(books.positions.backends.keys());
        books.unsaved |= now != books.positions.backends;
        books.positions.backends = now;
        self.core.chores.notify_all();
        drop(books);
        if same {
            return Ok(());
        }
        keeper::save(&self.core)
    }

    /// Returns the number of the newest record, durable or not.
    pub fn appended(&self) -> u64 {
        self.core.books().next - 1
    }
}

/// Writes the segment again without the records after `through`.
fn shorten(dir: &Path, segment: &Segment, id: u64, through: u64) -> io::Result<()> {
    let path = &segment.path;
    let mut bytes = fs::read(path).map_err(|e| failed("read", path, e))?;
    let mut end = HEADER;
    while let Some(found) = bytes
        .get(end..)
        .and_then(|rest| frame::parse(rest, id))
        .filter(|found| found.number <= through)
    {
        end += frame::size(found.data.len());
    }
    bytes[end..].fill(0);
    let new = dir.join("spare-cut.tmp");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
    written.map_err(|e| failed("write", &new, e))?;
    fs::rename(&new, path).map_err(|e| failed("rename", &new, e))
}

#[cfg(test)]
mod tests {
    use super::super::promise::{Durability, Log};
    use super::*;

    const SIZE: Size = Size {
        segment: 4096,
        bound: 1 << 20,
        sync_every: std::time::Duration::from_millis(100),
    };

    async fn filled(dir: &Path, records: std::ops::RangeInclusive<u64>) {
        let log = Durable::open(dir, SIZE).unwrap();
        for number in records {
            let taken = log
                .append(format!("record {number}").as_bytes(), Durability::Power)
                .unwrap();
            assert_eq!(taken, number);
            super::super::durable(&log, number).await.unwrap();
        }
    }

    fn numbers(dir: &Path, after: u64) -> Vec<u64> {
        let log = Durable::open(dir, SIZE).unwrap();
        let numbers = log.read(after).map(|record| record.unwrap().0).collect();
        numbers
    }

    #[tokio::test]
    async fn a_log_begins_with_any_record() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        filled(&dir, 1..=3).await;
        Durable::begin(&dir, SIZE, 901).unwrap();
        filled(&dir, 901..=1100).await;
        assert_eq!(numbers(&dir, 900), (901..=1100).collect::<Vec<_>>());
        let log = Durable::open(&dir, SIZE).unwrap();
        let positions = BTreeMap::from([("a".to_owned(), 1000), ("b".to_owned(), 2000)]);
        log.take_positions(&positions).unwrap();
        // what is not there yet cannot be confirmed
        assert_eq!((log.confirmed("a"), log.confirmed("b")), (1000, 1100));
        let taken = BTreeMap::from([("a".to_owned(), 1000), ("b".to_owned(), 1100)]);
        assert_eq!(log.positions(), taken);
        assert!(log.extent().oldest > 901 && log.extent().oldest <= 1001);
    }

    #[tokio::test]
    async fn positions_that_were_taken_over_are_there_when_the_log_is_opened_again() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        filled(&dir, 1..=20).await;
        // first other backends, and then the same ones further on
        for position in [3, 12] {
            let log = Durable::open(&dir, SIZE).unwrap();
            let told = BTreeMap::from([("a".to_owned(), position)]);
            log.take_positions(&told).unwrap();
            drop(log);
            assert_eq!(Durable::open(&dir, SIZE).unwrap().positions(), told);
        }
    }

    #[test]
    fn a_log_does_not_begin_in_the_place_of_a_file() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        fs::write(&dir, "not mine").unwrap();
        let error = Durable::begin(&dir, SIZE, 1).unwrap_err().to_string();
        assert!(error.contains("cannot remove"), "{error}");
        assert_eq!(fs::read_to_string(&dir).unwrap(), "not mine");
        assert!(!place.path().join("log.new").exists());
    }

    #[test]
    fn a_log_that_lost_its_only_segment_does_not_begin_again() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        Durable::begin(&dir, SIZE, 901).unwrap();
        let segments = fs::read_dir(&dir).unwrap().map(|one| one.unwrap().path());
        for segment in segments.filter(|path| path.extension().is_some_and(|e| e == "log")) {
            fs::remove_file(segment).unwrap();
        }
        let error = Durable::open(&dir, SIZE).err().unwrap().to_string();
        let problem = "there is no segment, and `positions` says that record 900 was on the disk";
        assert!(error.contains(problem), "{error}");
    }

    #[tokio::test]
    async fn a_cut_removes_exactly_the_end_wherever_it_lies() {
        let place = tempfile::tempdir().unwrap();
        filled(place.path(), 1..=300).await;
        let files = fs::read_dir(place.path()).unwrap();
        let base = |file: &Path| file.file_stem()?.to_str()?.parse().ok();
        let bases = files.filter_map(|file| base(&file.unwrap().path()));
        let bases: Vec<u64> = bases.collect();
        assert!(bases.len() > 1);
        let others = [0, 2, 63, 64, 65, 150, 299, 300, 400];
        for through in others.into_iter().chain(bases) {
            let place = tempfile::tempdir().unwrap();
            let dir = place.path().join("log");
            filled(&dir, 1..=300).await;
            let kept = through.min(300);
            assert_eq!(Durable::cut(&dir, SIZE, through).unwrap(), 300 - kept);
            assert_eq!(numbers(&dir, 0), (1..=kept).collect::<Vec<_>>());
            filled(&dir, kept + 1..=kept + 100).await;
            assert_eq!(numbers(&dir, 0), (1..=kept + 100).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_log_that_begins_late_can_be_cut_to_its_beginning() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        Durable::begin(&dir, SIZE, 901).unwrap();
        filled(&dir, 901..=910).await;
        assert_eq!(Durable::cut(&dir, SIZE, 900).unwrap(), 10);
        filled(&dir, 901..=905).await;
        assert_eq!(numbers(&dir, 900), (901..=905).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_cut_takes_back_what_was_confirmed_beyond_it() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("log");
        let log = Durable::open(&dir, SIZE).unwrap();
        log.follow(&["a", "b"]).unwrap();
        drop(log);
        filled(&dir, 1..=20).await;
        let log = Durable::open(&dir, SIZE).unwrap();
        log.confirm("a", 15).unwrap();
        log.confirm("b", 5).unwrap();
        drop(log);
        assert_eq!(Durable::cut(&dir, SIZE, 10).unwrap(), 10);
        let log = Durable::open(&dir, SIZE).unwrap();
        assert_eq!((log.confirmed("a"), log.confirmed("b")), (10, 5));
    }
}
