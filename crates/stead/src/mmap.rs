//! A read-only mapping of a whole file: one of the few places with unsafe code.

use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a file, shared with every other process that maps it.
#[derive(Debug)]
pub(crate) struct Mapping(memmap2::Mmap);

impl Mapping {
    /// Maps the file. Bytes that another process truncates away end this process with SIGBUS when
    /// they are read: published maps are never changed in place, and `copy` is there for those who
    /// cannot rely on it.
    #[allow(unsafe_code)]
    pub(crate) fn of(file: &File) -> io::Result<Mapping> {
        // SAFETY: the mapping is read-only and private to this struct; what is undefined is only
        // that another process changes the bytes under it. Every read of them copies plain numbers
        // out and is bounds-checked (format/layout.rs), so changed bytes give a wrong number, never
        // an access outside; string bytes are checked as UTF-8 at each use.
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
