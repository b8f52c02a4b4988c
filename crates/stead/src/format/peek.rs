//! Peeking: reads epoch and digest from the header alone, to learn whether there is a newer map.

use std::mem::size_of;

use super::records::{Digest, Header, Stored, MAGIC};
use crate::error::{Error, Result};

/// The number of bytes at the start of a file that peeking needs.
pub(crate) const PEEK: usize = size_of::<Header>();

/// The epoch and digest in the header of a file. Neither is verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peeked {
    /// The epoch.
    pub epoch: u64,
    /// The digest.
    pub digest: Digest,
}

/// Reads epoch and digest from the first bytes of a file.
pub(crate) fn peek(bytes: &[u8]) -> Result<Peeked> {
    if bytes.len() < PEEK || !bytes.starts_with(&MAGIC) {
        let problem = "this is not a stead map: it does not start with a map's header".into();
        return Err(Error::Format {
            file: None,
            offset: 0,
            problem,
        });
    }
    let Header { epoch, digest, .. } = Header::read(bytes, 0);
    Ok(Peeked { epoch, digest })
}
