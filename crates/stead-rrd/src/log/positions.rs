//! The small file beside the segments. It has the identity of the log, and how far each backend has
//! confirmed.
//!
//! ```text
//! stead-rrd log 1
//! id 5f1e0c4be0a1d2f3
//! durable 812          records up to this one were on the disk when this was written
//! backend 790 b1.example
//! sum 0c1e5ad2e9b0f3a4 XXH3-64 of the lines before
//! ```
//!
//! A new version is written beside it and renamed over it, so there is always a complete one.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use twox_hash::XxHash3_64;

use super::disk::Disk;
use crate::dirs::{failed, read};

const FIRST: &str = "stead-rrd log 1";
/// The name of the file in the log's directory.
pub(super) const NAME: &str = "positions";
/// The name under which a new version is written.
pub(super) const NEW: &str = "positions.tmp";

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Positions {
    pub id: u64,
    pub durable: u64,
    pub backends: BTreeMap<String, u64>,
}

/// Why the file was not written, and whether the log may continue.
pub(super) enum Trouble {
    /// The previous file is still in place.
    Later(io::Error),
    /// A sync or a rename failed: it is not known what is on disk.
    Final(io::Error),
}

impl Trouble {
    pub fn error(self) -> io::Error {
        match self {
            Trouble::Later(error) | Trouble::Final(error) => error,
        }
    }

    /// Returns the kind of the error, and its text.
    pub fn parts(&self) -> (io::ErrorKind, String) {
        let (Trouble::Later(error) | Trouble::Final(error)) = self;
        (error.kind(), error.to_string())
    }
}

impl Positions {
    /// Loads the file of this directory. Returns `None` if it does not exist.
    pub fn load(dir: &Path) -> io::Result<Option<Positions>> {
        let path = dir.join(NAME);
        let Some(bytes) = read(&path)? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        Positions::parse(&text).map(Some).map_err(|problem| {
            let todo = "restore it, or move the log away and copy every backend's files \
                from a replica";
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{}: {problem}; {todo}", path.display()),
            )
        })
    }

    fn parse(text: &str) -> Result<Positions, String> {
        let (body, sum) = text
            .rsplit_once("sum ")
            .ok_or("offset 0: no line `sum`, so the end is missing")?;
        if format!("{:016x}\n", XxHash3_64::oneshot(body.as_bytes())) != sum {
            return Err("the checksum in its last line is not that of the lines before".to_owned());
        }
        let mut lines = body.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some(FIRST) {
            return Err(format!("line 1: not `{FIRST}`: made by another version"));
        }
        let mut found = Positions::default();
        for (index, line) in lines {
            let good = match line.split_once(' ') {
                Some(("id", id)) => u64::from_str_radix(id, 16).map(|id| found.id = id).is_ok(),
                Some(("durable", number)) => number.parse().map(|n| found.durable = n).is_ok(),
                Some(("backend", rest)) => rest
                    .split_once(' ')
                    .and_then(|(number, name)| {
                        found
                            .backends
                            .insert(name.to_owned(), number.parse().ok()?)
                            .is_none()
                            .then_some(())
                    })
                    .is_some(),
                _ => false,
            };
            if !good {
                return Err(format!("line {}: `{line}` is not understood", index + 1));
            }
        }
        Ok(found)
    }

    fn text(&self) -> String {
        let mut text = format!("{FIRST}\nid {:016x}\ndurable {}\n", self.id, self.durable);
        for (name, number) in &self.backends {
            text += &format!("backend {number} {name}\n");
        }
        let sum = XxHash3_64::oneshot(text.as_bytes());
        text + &format!("sum {sum:016x}\n")
    }

    /// Replaces the file durably.
    pub fn store(&self, dir: &Path, disk: &dyn Disk) -> Result<(), Trouble> {
        let (new, path) = (dir.join(NEW), dir.join(NAME));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| file.write_all(self.text().as_bytes()).map(|()| file));
        let file = written.map_err(|error| Trouble::Later(failed("write", &new, error)))?;
        disk.sync(&file)
            .map_err(|error| Trouble::Final(failed("sync", &new, error)))?;
        fs::rename(&new, &path).map_err(|error| Trouble::Final(failed("rename", &new, error)))?;
        disk.sync_dir(dir)
            .map_err(|error| Trouble::Final(failed("sync the directory", dir, error)))
    }

    /// Returns the record up to which all backends have confirmed, or `None` if there is no
    /// backend.
    pub fn floor(&self) -> Option<u64> {
        self.backends.values().min().copied()
    }
}
