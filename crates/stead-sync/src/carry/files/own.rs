//! The directory of temporary files in a root, `ROOT/.stead-carry.ID`.
//!
//! # Agents that nobody listens to any more
//!
//! A carrier that has lost its line does not know whether the agent at the other end still works.
//! It could put a copy in its place much later, when an application has deleted the item. So each
//! carrier writes a *token* into `ROOT/.stead-carry.ID/fence` before anything else, and a new one
//! after each lost line. An agent looks at it, under a lock, before it renames or removes: with
//! another token it does nothing.
//!
//! # Roots that were emptied
//!
//! The file `mark` has a text of its own in each root. A root that was emptied, or is on a new
//! disk, has none, or another one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{flock, FlockOperation};

use crate::carry::kind::{Done, Fault};
use crate::carry::stamp::is_absent;
use crate::token::token;

/// The file with the token of the carrier, among the temporary files.
const FENCE: &str = "fence";

/// The file that tells this root from one that takes its place.
const MARK: &str = "mark";

/// The directory.
pub struct Own {
    path: PathBuf,
    /// how the names of temporary files begin
    name: String,
    /// numbers them
    made: AtomicU64,
}

impl Own {
    /// Returns the directory at a path, where it need not be yet.
    pub fn new(path: PathBuf) -> Own {
        Own {
            path,
            name: token(),
            made: AtomicU64::new(0),
        }
    }

    fn make(&self) -> Done {
        self.made()
            .map_err(|error| fault("cannot make", &self.path, &error))
    }

    fn made(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns a path beside the items that nobody uses, in no other process or machine either. It
    /// makes the directory.
    pub fn beside(&self) -> Done<PathBuf> {
        self.make()?;
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Ok(self.path.join(format!("{}-{number}", self.name)))
    }

    /// Lets only agents with this token do anything from now on.
    pub fn fence(&self, token: &str) -> Done {
        self.make()?;
        let (mut file, path) = self.locked(FlockOperation::LockExclusive)?;
        let written = file
            .set_len(0)
            .and_then(|()| file.write_all(token.as_bytes()));
        written.map_err(|error| fault("cannot write", &path, &error))
    }

    fn locked(&self, how: FlockOperation) -> Done<(File, PathBuf)> {
        let path = self.path.join(FENCE);
        let mut options = OpenOptions::new();
        let file = match how {
            FlockOperation::LockExclusive => options.read(true).write(true).create(true),
            _ => options.read(true),
        };
        let file = file.truncate(false).open(&path);
        let file = file.and_then(|file| flock(&file, how).map(|()| file).map_err(Into::into));
        let file = file.map_err(|error| fault("cannot lock", &path, &error))?;
        Ok((file, path))
    }

    /// Returns a lock under which the token stays the one that is given.
    pub fn passed(&self, token: Option<&str>) -> Done<Option<File>> {
        let Some(token) = token else { return Ok(None) };
        let (mut file, path) = self.locked(FlockOperation::LockShared)?;
        let mut text = String::new();
        let read = file.read_to_string(&mut text);
        read.map_err(|error| fault("cannot read", &path, &error))?;
        match text == token {
            true => Ok(Some(file)),
            false => Err(Fault::passing("another line to this node was opened since")),
        }
    }

    /// Returns the mark of the root. One that has none gets one, unless nothing can be written to
    /// it: then the mark is empty, so that items can be copied from a disk that fails.
    pub fn mark(&self) -> Done<String> {
        let path = self.path.join(MARK);
        let failed = |error| fault("cannot mark", &path, &error);
        match fs::read_to_string(&path) {
            Err(error) if is_absent(&error) => {}
            mark => return mark.map_err(failed),
        }
        let mark = token();
        // the journal notes it durably, so it must not be gone after a power cut
        let durable = || {
            self.made()?;
            let mut file = File::create(&path)?;
            file.write_all(mark.as_bytes())?;
            file.sync_all()?;
            File::open(&self.path)?.sync_all()?;
            self.path
                .parent()
                .map_or(Ok(()), |root| File::open(root)?.sync_all())
        };
        match durable() {
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => Ok(String::new()),
            written => written.map(|()| mark).map_err(failed),
        }
    }

    /// Clears away what is left of other carriers. The mark stays until it is the `last` time. With
    /// a token, that stays for agents.
    pub fn clear(&self, token: Option<&str>, last: bool) -> Done {
        let cleared = |error: io::Error| fault("cannot clear", &self.path, &error);
        if let Some(token) = token {
            self.fence(token)?;
        }
        let list = match fs::read_dir(&self.path) {
            Err(error) if is_absent(&error) => return Ok(()),
            list => list.map_err(cleared)?,
        };
        let mut any = false;
        for entry in list {
            let path = entry.map_err(cleared)?.path();
            let is_fence = token.is_some() && path.ends_with(FENCE);
            match is_fence || !last && path.ends_with(MARK) {
                true => any = true,
                false => fs::remove_file(&path)
                    .or_else(absent_is_fine)
                    .map_err(cleared)?,
            }
        }
        match any {
            true => Ok(()),
            false => fs::remove_dir(&self.path)
                .or_else(absent_is_fine)
                .map_err(cleared),
        }
    }
}

/// Takes it for no error that something is not there.
pub fn absent_is_fine(error: io::Error) -> io::Result<()> {
    match is_absent(&error) {
        true => Ok(()),
        false => Err(error),
    }
}

/// Returns the fault of an operation on a path.
pub fn fault(what: &str, path: &Path, error: &io::Error) -> Fault {
    let passes = matches!(
        error.kind(),
        ErrorKind::Interrupted
            | ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::NotFound
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
    );
    Fault::new(format_args!("{what} {}: {error}", path.display()), passes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_carriers_of_one_root_never_use_the_same_path() {
        // as in two containers, where both may have the same process id
        let directory = tempfile::tempdir().unwrap();
        let own = || Own::new(directory.path().join("own"));
        let (one, other) = (own(), own());
        let paths = [&one, &other, &one, &other].map(|own| own.beside().unwrap());
        let different: std::collections::BTreeSet<_> = paths.iter().collect();
        assert_eq!(different.len(), 4, "{paths:?}");
    }
}
