//! The map file of this host: whether it is whole, and still the one that was read last.
//!
//! A header can be right in a file that is damaged further on. So the whole file is read and
//! verified, and read again whenever its inode, its size or one of its times differs. The same
//! holds for the map where the data was, while a carry is open.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{accessat, Access, AtFlags, CWD};
use stead::carry::Carry;
use stead::format::Digest;
use stead::store::{Accept, Arrival};
use stead::{Map, Status, Store};

use crate::origin;

/// What tells that a file is another one, or has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp([i64; 7]);

impl Stamp {
    /// Returns the stamp of a file; `None` when there is none.
    fn of(path: &Path) -> Option<Stamp> {
        let meta = fs::metadata(path).ok()?;
        Some(Stamp([
            meta.dev() as i64,
            meta.ino() as i64,
            meta.size() as i64,
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ]))
    }
}

/// What a look at the file has found.
#[derive(Debug)]
pub enum Look {
    /// The file is the one that was found whole, or damaged, the last time.
    Unchanged,
    /// There is a whole map.
    Whole(Box<Map>),
    /// There is no file.
    Missing,
    /// The file is no whole map; this says why.
    Damaged(String),
    /// The file cannot be read; this says why.
    Unreadable(String),
}

/// The map file of this host.
#[derive(Debug)]
pub struct Here {
    store: Store,
    /// the file that was read last
    stamp: Option<Stamp>,
    /// the epoch that was whole last
    held: Option<(u64, Digest)>,
    /// the carry that is open in that epoch
    carry: Option<Carry>,
    /// the file of the map where its data was, as it was read last
    origin: Option<Stamp>,
    /// whether that file was not the map
    lacks: bool,
}

impl Here {
    /// Returns the file of a store, which nobody has looked at yet.
    pub fn new(store: Store) -> Here {
        Here {
            store,
            stamp: None,
            held: None,
            carry: None,
            origin: None,
            lacks: false,
        }
    }

    /// Returns the store of the map.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the epoch and the digest of the map that was whole last.
    pub fn held(&self) -> Option<(u64, Digest)> {
        self.held
    }

    /// Whether the file is not the one that was read last, or that of the map where the data of its
    /// carry was is not.
    pub fn has_changed(&self) -> bool {
        self.has_another_map() || self.origin_stamp() != self.origin
    }

    /// Whether the file is not the one that was read last.
    pub fn has_another_map(&self) -> bool {
        Stamp::of(self.store.path()) != self.stamp
    }

    /// Whether the map has a carry open and the history lacks the map where its data was. That one
    /// is read if its file is not the one that was read last, or was not whole then.
    pub fn lacks_origin(&mut self) -> bool {
        let Some(carry) = &self.carry else {
            return false;
        };
        let stamp = self.origin_stamp();
        if self.lacks || stamp.is_none() || stamp != self.origin {
            self.lacks = !origin::is_here(&self.store, carry);
            self.origin = stamp;
        }
        self.lacks
    }

    fn origin_stamp(&self) -> Option<Stamp> {
        let carry = self.carry.as_ref()?;
        Stamp::of(&origin::file(&self.store, carry))
    }

    /// Looks at the file, and reads it if it is not the one that was read last.
    pub fn look(&mut self) -> Look {
        // taken before the file is read: what changes meanwhile is read the next time
        let stamp = Stamp::of(self.store.path());
        if stamp.is_some() && stamp == self.stamp {
            return Look::Unchanged;
        }
        self.stamp = stamp;
        match self.store.current() {
            Ok(Some(map)) => {
                self.held = Some((map.epoch(), map.digest()));
                (self.carry, self.origin, self.lacks) = (map.carry(), None, false);
                Look::Whole(Box::new(map))
            }
            Ok(None) => Look::Missing,
            Err(error) => {
                if !matches!(error.status(), Status::Format | Status::Digest) {
                    // a file that cannot be read now may be readable the next time
                    self.stamp = None;
                }
                match error.status() {
                    Status::Io | Status::Permission => Look::Unreadable(error.to_string()),
                    _ => Look::Damaged(error.to_string()),
                }
            }
        }
    }

    /// Puts the map that was whole last into its place again, from the history. Returns its epoch
    /// when the history has it.
    pub fn restore(&mut self) -> Option<u64> {
        let (epoch, digest) = self.held?;
        let kept = self.store.open_epoch(epoch).ok()?;
        let arrival = Arrival {
            map: &kept,
            older: &[],
            log: &[],
        };
        let is_it = kept.digest() == digest;
        (is_it && self.store.install(arrival, Accept::default()).is_ok()).then_some(epoch)
    }

    /// Returns why this process may not replace the map, if that can be known without trying.
    pub fn why_not_writable(&self) -> Option<String> {
        let path = self.store.path();
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            name
        };
        let directory = path.parent().filter(|p| *p != Path::new(""));
        let directory = directory.unwrap_or(Path::new("."));
        let into = Access::WRITE_OK | Access::EXEC_OK;
        for (file, access) in [
            (directory.as_os_str().to_owned(), into),
            (beside(".history"), into),
            (beside(".lock"), Access::WRITE_OK),
        ] {
            match accessat(CWD, &file, access, AtFlags::EACCESS) {
                // the installation makes what is missing
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => {
                    return Some(format!(
                        "{}: this watch may not write here ({}), so it cannot install the next \
                         map; let its user write there",
                        Path::new(&file).display(),
                        std::io::Error::from(errno)
                    ))
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead::{build, Fleet};

    fn publish(path: &Path) -> Here {
        let fleet = Fleet::parse("name = 'm'\nnode = [{name = 'a'}]", "fleet").unwrap();
        let map = build(&fleet, None).unwrap();
        let store = Store::new(path, 8);
        store.publish(None, &map).unwrap();
        Here::new(store)
    }

    #[test]
    fn a_map_whose_data_was_by_a_map_that_is_lost_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        let mut here = publish(&path);
        assert!(matches!(here.look(), Look::Whole(_)));
        // without a carry no other epoch is needed
        fs::remove_dir_all(dir.path().join("m.history")).unwrap();
        assert!(!here.has_changed() && !here.lacks_origin());
        let fleet = "name = 'm'\nnode = [{name = 'a'}, {name = 'b'}]";
        let store = Store::new(&path, 8).carrying(true);
        let fleet = Fleet::parse(fleet, "fleet").unwrap();
        store.apply(&fleet, None).unwrap();
        assert!(here.has_changed());
        assert!(matches!(here.look(), Look::Whole(_)));
        assert!(!here.lacks_origin() && !here.has_changed());
        let origin = dir.path().join("m.history/1");
        let whole = fs::read(&origin).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let bad: [Option<&[u8]>; 4] = [None, Some(&flipped), Some(b""), Some(b"no map")];
        for bytes in bad {
            fs::remove_file(&origin).unwrap();
            bytes
                .into_iter()
                .for_each(|bytes| fs::write(&origin, bytes).unwrap());
            assert!(here.has_changed() && here.lacks_origin());
            // said once, and not looked at again before it changes
            assert!(!here.has_changed() && here.lacks_origin());
            fs::write(&origin, &whole).unwrap();
            assert!(here.has_changed() && !here.lacks_origin());
            assert!(!here.has_changed() && !here.has_another_map());
        }
    }

    #[test]
    fn a_file_that_is_changed_in_any_way_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        let mut here = publish(&path);
        assert!(matches!(here.look(), Look::Whole(_)));
        assert!(matches!(here.look(), Look::Unchanged));
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[300] ^= 1;
        let mut damaged = 0;
        for bytes in [&whole[..whole.len() - 1], &flipped, b"", b"no map"] {
            // as an editor does it: a new file of the same name
            fs::write(dir.path().join("new"), bytes).unwrap();
            fs::rename(dir.path().join("new"), &path).unwrap();
            assert!(matches!(here.look(), Look::Damaged(_)));
            assert!(matches!(here.look(), Look::Unchanged));
            assert_eq!(here.restore(), Some(1));
            assert!(matches!(here.look(), Look::Whole(_)));
            assert_eq!(fs::read(&path).unwrap(), whole);
            damaged += 1;
        }
        assert_eq!(damaged, 4);
        fs::remove_file(&path).unwrap();
        assert!(matches!(here.look(), Look::Missing));
        assert_eq!(here.restore(), Some(1));
        // the control: what the history does not have cannot come from there
        fs::remove_file(&path).unwrap();
        fs::remove_dir_all(dir.path().join("m.history")).unwrap();
        assert_eq!(here.restore(), None);
    }
}
