//! The file of a map, which is looked at again and again. It is replaced by renaming, perhaps over
//! NFS, which sends no notifications.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the file is looked at.
pub const LOOK: Duration = Duration::from_secs(1);

/// Says from where to put back a map that is gone. This state directory has the newest one that the
/// router knows, which is of this epoch; `is_target` says whether files still move to its places.
pub fn put_back_from(state: &Path, is_target: bool, epoch: u64) -> String {
    let path = state.join(match is_target {
        true => "target.map",
        false => "settled.map",
    });
    format!(
        "; put it back from another host that has it, or from {}, which is epoch {epoch}, the \
        newest that this router knows",
        path.display()
    )
}

/// The file of a map, and how it was when it was looked at last.
pub struct MapFile {
    path: PathBuf,
    seen: Option<(u64, u64, u64, i64, i64)>,
}

impl MapFile {
    /// Returns the file at `path`, which nobody has looked at yet.
    pub fn new(path: &Path) -> MapFile {
        MapFile {
            path: path.to_owned(),
            seen: None,
        }
    }

    /// Returns whether the file is another one than at the last look. After an error, it is.
    pub fn has_changed(&mut self) -> io::Result<bool> {
        let meta = fs::metadata(&self.path).inspect_err(|_| self.seen = None)?;
        let found = (
            meta.dev(),
            meta.ino(),
            meta.size(),
            meta.mtime(),
            meta.mtime_nsec(),
        );
        Ok(self.seen.replace(found) != Some(found))
    }

    /// Lets the next look find a change.
    pub fn forget(&mut self) {
        self.seen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changes_when_it_is_replaced_or_was_away() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("m");
        let mut file = MapFile::new(&path);
        assert_eq!(
            file.has_changed().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        fs::write(&path, "1").unwrap();
        assert_eq!([(); 2].map(|()| file.has_changed().unwrap()), [true, false]);
        fs::write(place.path().join("new"), "2").unwrap();
        fs::rename(place.path().join("new"), &path).unwrap();
        assert_eq!([(); 2].map(|()| file.has_changed().unwrap()), [true, false]);
        file.forget();
        assert!(file.has_changed().unwrap());
        let away = place.path().join("away");
        fs::rename(&path, &away).unwrap();
        assert!(file.has_changed().is_err());
        fs::rename(&away, &path).unwrap();
        assert!(file.has_changed().unwrap());
    }
}
