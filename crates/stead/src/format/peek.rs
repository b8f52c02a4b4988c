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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_within_the_header_is_no_map() {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(PEEK, 0);
        assert!(peek(&bytes).is_ok());
        // what follows the header is not looked at
        bytes.push(1);
        assert!(peek(&bytes).is_ok());
        for length in [0, MAGIC.len(), PEEK - 1] {
            assert!(peek(&bytes[..length]).is_err(), "{length}");
        }
        bytes[0] ^= 1;
        assert!(peek(&bytes).is_err());
    }
}
