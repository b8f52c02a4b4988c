//! The lock `MAP.watch`, by which one process watches a map file. Two would run the command of
//! `--exec` twice, and report by turns.
//!
//! The kernel frees the lock when the process ends, however that happens. The file stays: another
//! process may be about to lock it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;

use crate::exit::{Failure, Result, CONFLICT};

/// The lock of a map file, which this process has as long as the value lives.
#[derive(Debug)]
pub struct Alone {
    _file: File,
}

impl Alone {
    /// Locks a map file, or returns `None` where no lock can be: a directory that is missing or may
    /// not be written is told when a map comes.
    ///
    /// Errors: `CONFLICT` when another process has the lock.
    pub fn at(map: &Path) -> Result<Option<Alone>> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let path = beside(map);
        // the watch of another user: a lock needs no right to write
        let Ok(mut file) = options.open(&path).or_else(|_| File::open(&path)) else {
            return Ok(None);
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // the number is for people: without it the lock holds, too
                let _ = file
                    .set_len(0)
                    .and_then(|()| writeln!(file, "{}", std::process::id()));
                Ok(Some(Alone { _file: file }))
            }
            Err(Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let number = file.read_to_string(&mut text).ok();
                let number: Option<u32> = number.and_then(|_| text.trim().parse().ok());
                let who = number.map_or("another process".to_owned(), |number| {
                    format!("another process ({number})")
                });
                Err(Failure::new(
                    CONFLICT,
                    format_args!(
                        "{}: {who} watches this file already; stop it first, or name another file",
                        map.display()
                    ),
                ))
            }
            Err(_) => Ok(None),
        }
    }
}

fn beside(map: &Path) -> PathBuf {
    let mut name = map.as_os_str().to_owned();
    name.push(".watch");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_watch_is_refused_with_the_number_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let map = dir.path().join("m.map");
        let first = Alone::at(&map).unwrap();
        assert!(first.is_some());
        let failure = Alone::at(&map).unwrap_err();
        assert_eq!(failure.code, CONFLICT);
        let said = format!(
            "{}: another process ({}) watches this file already; stop it first, or name another \
             file",
            map.display(),
            std::process::id()
        );
        assert_eq!(failure.line, said);
        // another map of the directory is free, and this one when the first watch is gone
        assert!(Alone::at(&dir.path().join("n.map")).unwrap().is_some());
        drop(first);
        assert!(Alone::at(&map).unwrap().is_some());
    }

    #[test]
    fn where_no_lock_can_be_the_watch_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Alone::at(&dir.path().join("none/m.map")).unwrap().is_none());
    }
}
