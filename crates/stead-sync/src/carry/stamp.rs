//! The version of a file: what the file system says about it, without its content.
//!
//! A file that is written gets another time of change, and one that is put in its place another
//! inode number. The time of change has steps of some milliseconds. So a version is only taken when
//! it is older than that, see [`Stamp::settled`].

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::kind::{Dates, Moment, Version};

/// Two changes within one step of the clock look like one. Linux steps every 10 ms at most.
const STEP: Duration = Duration::from_millis(25);

/// How often a file that is written all the time is looked at.
const LOOKS: usize = 40;

/// What a file system says about a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    mode: u32,
    owner: (u32, u32),
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Takes the stamp from what the system says.
    pub fn of(meta: &Metadata) -> Stamp {
        Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            written: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Takes the stamp of what is at a path; `None` when there is nothing, or a directory.
    pub fn at(path: &Path) -> io::Result<Option<Stamp>> {
        match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => Ok(None),
            Ok(meta) => Ok(Some(Stamp::of(&meta))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the stamp of what is at a path once it was not changed for a moment, so that each
    /// later change gives another stamp.
    ///
    /// Errors: those of the system; a file that changes all the time.
    pub fn settled(path: &Path) -> io::Result<Option<Stamp>> {
        let mut before: Option<Stamp> = None;
        for _ in 0..LOOKS {
            let Some(stamp) = Stamp::at(path)? else {
                return Ok(None);
            };
            if before == Some(stamp) || stamp.age().is_some_and(|age| age >= STEP) {
                return Ok(Some(stamp));
            }
            before = Some(stamp);
            sleep(STEP);
        }
        Err(io::Error::new(
            io::ErrorKind::WouldBlock,
            "it is written all the time",
        ))
    }

    /// Returns how long ago the file was changed; `None` when its clock is ahead of the one here.
    fn age(&self) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let seconds = u64::try_from(self.changed.0).ok()?;
        let nanos = u32::try_from(self.changed.1).ok()?;
        now.checked_sub(Duration::new(seconds, nanos))
    }

    /// Whether this is the same file with the same content, wherever it was renamed to.
    pub fn is_renamed(&self, other: &Stamp) -> bool {
        // renaming changes the time of change on most file systems
        let same = |stamp: &Stamp| Stamp {
            changed: (0, 0),
            ..*stamp
        };
        same(self) == same(other)
    }

    /// Returns the time of the last change.
    pub fn changed(&self) -> Moment {
        self.changed
    }

    /// Returns the times.
    pub fn dates(&self) -> Dates {
        Dates {
            content: self.written,
            change: self.changed,
        }
    }

    /// Returns the stamp as a version.
    pub fn version(&self) -> Version {
        Version(format!("{self:?}").into_bytes())
    }
}

/// Whether an error says that there is nothing at a path.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_change_gives_another_stamp() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        let take = || Stamp::settled(&file).unwrap().map(|stamp| stamp.version());
        assert_eq!(take(), None);
        let mut seen = vec![];
        for change in 0..60 {
            match change % 3 {
                // in place, with the same length
                0 => fs::write(&file, [change; 4]).unwrap(),
                // by rename, so that inode numbers are used again
                1 => {
                    let other = directory.path().join("g");
                    fs::write(&other, [change; 4]).unwrap();
                    fs::rename(&other, &file).unwrap();
                }
                _ => {
                    fs::remove_file(&file).unwrap();
                    fs::write(&file, [change; 4]).unwrap();
                }
            }
            let now = take();
            assert!(!seen.contains(&now), "{change}: {now:?}");
            seen.push(now);
        }
    }

    #[test]
    fn a_renamed_file_is_the_same_and_a_written_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("1"), directory.path().join("2"));
        fs::write(&one, "abc").unwrap();
        let before = Stamp::settled(&one).unwrap().unwrap();
        fs::rename(&one, &other).unwrap();
        assert!(Stamp::at(&other).unwrap().unwrap().is_renamed(&before));
        fs::write(&other, "abd").unwrap();
        assert!(!Stamp::at(&other).unwrap().unwrap().is_renamed(&before));
    }
}
