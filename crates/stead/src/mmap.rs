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
        // SAFETY: the mapping is read-only and private to this struct. The only thing that Rust
        // leaves undefined is that another process changes the bytes. Every read copies plain
        // numbers out and is bounds-checked (format/layout.rs), so changed bytes give a wrong
        // number but never an access out of bounds. Strings are checked as UTF-8 at each use.
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
