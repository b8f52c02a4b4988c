//! The two calls that make things durable, apart so that tests can let them fail, lie, or tell what
//! a power cut would leave.

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) trait Disk: Send + Sync + 'static {
    /// The file's bytes and its length survive a power cut once this returns.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// The names in the directory do.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// The disk itself.
pub(crate) struct Real;

impl Disk for Real {
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        crate::dirs::sync(dir)
    }
}
