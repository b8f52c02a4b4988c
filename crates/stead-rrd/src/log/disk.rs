//! The two calls that make data durable. They are behind a trait so that tests can make them fail
//! or lie, or find out what a power cut would leave.

use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) trait Disk: Send + Sync + 'static {
    /// Syncs a file: when this returns, its bytes and its length survive a power cut.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Syncs a directory: when this returns, the names in it survive a power cut.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// The real disk.
pub(crate) struct Real;

impl Disk for Real {
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        crate::dirs::sync(dir)
    }
}
