//! Peeking: epoch and digest from the header alone, to learn whether a newer map is there.

use super::layout::{array_at, at, u64_at, MAGIC};
use super::Digest;
use crate::error::{Error, Result};

/// So many bytes of a file are enough to peek.
pub(crate) const PEEK: usize = at::SECTIONS;

/// What the header says. Nothing of it is verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peeked {
    /// The epoch.
    pub epoch: u64,
    /// The digest.
    pub digest: Digest,
}

/// Reads epoch and digest from the first bytes of a file.
pub(crate) fn peek(header: &[u8]) -> Result<Peeked> {
    if header.len() < PEEK || !header.starts_with(&MAGIC) {
        let problem = "this is not a stead map: it does not start with a map's header".into();
        return Err(Error::Format {
            file: None,
            offset: 0,
            problem,
        });
    }
    Ok(Peeked {
        epoch: u64_at(header, at::EPOCH),
        digest: array_at(header, at::DIGEST),
    })
}
