//! Whether the directory of a history may be used: whoever owns it decides what is in it, and
//! publishing creates and removes files there.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::whole::directory_of;
use crate::error::{Error, Result};
use crate::refusal::us;

/// Returns `Invalid` when the history of a map is a symbolic link or no directory, or belongs to
/// somebody who could not replace the map itself. A history that is not there yet is fine.
pub(super) fn check_history(history: &Path, map: &Path) -> Result<()> {
    let meta = match fs::symlink_metadata(history) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io("stat", history, e)),
    };
    let refuse = |what: &str| {
        Err(Error::Invalid {
            problem: format!(
                "{}: {what}; move it away, or give it to the owner of the map",
                history.display()
            ),
        })
    };
    if meta.is_symlink() {
        return refuse("the history of a map is a directory, and this is a symbolic link");
    }
    if !meta.is_dir() {
        return refuse("the history of a map is a directory, and this is none");
    }
    let directory = directory_of(map);
    let around = fs::metadata(&directory).map_err(|e| Error::io("stat", &directory, e))?;
    let owner = fs::symlink_metadata(map).map(|map| map.uid());
    match is_trusted(&meta, &around, owner.ok(), us()) {
        true => Ok(()),
        false => refuse(&format!(
            "the history belongs to user {}, who does not own the map or its directory",
            meta.uid()
        )),
    }
}

/// Whether the owner of a history is root, this process, the owner of the map, or may write the
/// directory `around` both, as its owner or as a member of its group.
fn is_trusted(history: &Metadata, around: &Metadata, map: Option<u32>, us: Option<u32>) -> bool {
    let trusted = [Some(0), us, map, Some(around.uid())];
    let by_group = around.mode() & 0o020 != 0 && history.gid() == around.gid();
    trusted.contains(&Some(history.uid())) || by_group
}
