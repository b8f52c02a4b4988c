//! A read-only mapping of a whole file: one of the few places with unsafe code.

use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a file, shared with every other process that maps it.
#[derive(Debug)]
pub(crate) struct Mapping(memmap2::Mmap);

impl Mapping {
    /// Maps the file. If another process truncates it, reading the lost bytes ends this process
    /// with SIGBUS. Published maps are never changed in place; callers who cannot rely on that can
    /// read the whole map into memory instead (`Map::open_copy`).
    #[allow(unsafe_code)]
    pub(crate) fn of(file: &File) -> io::Result<Mapping> {
        // SAFETY: nobody in this process writes to the mapping, which is read-only. It must not be
        // changed by another process either, and stead itself never changes a published file. If
        // somebody does it in spite of the manual, Rust promises nothing. What stead can do, it
        // does: it reads plain numbers out of the bytes, checks each against its bounds when it
        // uses it (`Stored::read`, `Layout::string`), and checks strings as UTF-8 at each use
        // (`Map::text`). So changed bytes give wrong answers rather than an access out of bounds.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        Ok(Mapping(map))
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
