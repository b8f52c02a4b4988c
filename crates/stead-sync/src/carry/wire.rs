//! What a carrier and its agents at other machines say to each other.
//!
//! ```text
//! 4 bytes   how many bytes follow, little-endian
//! 1 byte    J: JSON follows; P: 8 bytes for a place, little-endian, and a piece of a file
//! ```
//!
//! The carrier asks, and the agent answers with a `Result`. Around the pieces of a file, and of a
//! listing, stand more frames; `agent.rs` shows their order.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::base64_bytes::Bytes;
use super::files::options::FilesOptions;
use super::kind::{Ground, Item, Version};
use super::whole_file::Piece;

/// The largest frame: far above a piece of a file, and above a page of a listing.
const LARGEST: usize = 64 << 20;

/// An item, as it is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sent(Bytes, Bytes);

impl From<&Item> for Sent {
    fn from(item: &Item) -> Sent {
        Sent(Bytes(item.name.clone()), Bytes(item.key.clone()))
    }
}

impl From<Sent> for Item {
    fn from(Sent(name, key): Sent) -> Item {
        Item {
            name: name.0,
            key: key.0,
        }
    }
}

/// A version, as it is sent.
pub fn sent(version: &Version) -> Bytes {
    Bytes(version.0.clone())
}

/// The first words on a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the program: both ends must have the same.
    pub program: String,
    /// The options of the kind.
    pub options: FilesOptions,
    /// The name of the directory of temporary files.
    pub own: String,
    /// The name of the node.
    pub node: String,
    /// Its root, at the machine of the agent.
    pub root: String,
    /// What the root stood on when it was last ready.
    pub ground: Option<Ground>,
}

/// What a carrier asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "each is a method of `Root` with these arguments"
)]
pub enum Ask {
    Ready,
    Fence {
        token: String,
    },
    Clear {
        token: Option<String>,
    },
    Keys {
        after: Option<Bytes>,
    },
    Version {
        item: Sent,
    },
    Written {
        item: Sent,
    },
    Dates {
        item: Sent,
    },
    Look {
        item: Sent,
    },
    Room {
        item: Sent,
    },
    Give {
        item: Sent,
        above: bool,
    },
    Take {
        item: Sent,
        over: Option<Bytes>,
        token: String,
    },
    Remove {
        item: Sent,
        version: Bytes,
        token: String,
    },
    Tidy {
        item: Sent,
    },
    Holding,
    Sizes {
        items: Vec<Sent>,
    },
    Disk,
}

/// A frame.
pub enum Frame {
    /// JSON.
    Said(Vec<u8>),
    /// A piece of a file.
    Piece(Piece),
}

/// Sends something as JSON.
pub fn say<T: Serialize>(to: &mut impl Write, what: &T) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    to.write_all(&(text.len() as u32 + 1).to_le_bytes())?;
    to.write_all(b"J")?;
    to.write_all(&text)
}

/// Sends a piece of a file.
pub fn say_piece(to: &mut impl Write, (at, bytes): &Piece) -> io::Result<()> {
    to.write_all(&(bytes.len() as u32 + 9).to_le_bytes())?;
    to.write_all(b"P")?;
    to.write_all(&at.to_le_bytes())?;
    to.write_all(bytes)
}

/// Receives a frame.
///
/// Errors: those of the line, and a frame that is none: a program that writes something else to
/// standard output, such as a login script.
pub fn hear_frame(from: &mut impl Read) -> io::Result<Frame> {
    let mut size = [0; 4];
    from.read_exact(&mut size)?;
    let size = u32::from_le_bytes(size) as usize;
    let strange = || {
        io::Error::other(
            "the other end says something else than an agent; does a login script write to \
             standard output?",
        )
    };
    if !(1..=LARGEST).contains(&size) {
        return Err(strange());
    }
    let mut bytes = vec![0; size];
    from.read_exact(&mut bytes)?;
    match bytes[0] {
        b'J' => Ok(Frame::Said(bytes.split_off(1))),
        b'P' if size >= 9 => {
            let rest = bytes.split_off(9);
            let at: [u8; 8] = bytes[1..].try_into().map_err(|_| strange())?;
            Ok(Frame::Piece((u64::from_le_bytes(at), rest)))
        }
        _ => Err(strange()),
    }
}

/// Receives something that was sent as JSON.
pub fn hear<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    match hear_frame(from)? {
        Frame::Said(text) => Ok(serde_json::from_slice(&text)?),
        Frame::Piece(_) => Err(io::Error::other("a piece of a file that nobody asked for")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let mut line = Vec::new();
        let item = Item {
            name: b"a/\xff\n".to_vec(),
            key: vec![],
        };
        say(&mut line, &Sent::from(&item)).unwrap();
        say_piece(&mut line, &(7 << 40, b"bytes".to_vec())).unwrap();
        let mut from = &line[..];
        let heard: Sent = hear(&mut from).unwrap();
        assert_eq!(Item::from(heard), item);
        let Frame::Piece(piece) = hear_frame(&mut from).unwrap() else {
            panic!("no piece")
        };
        assert_eq!(piece, (7 << 40, b"bytes".to_vec()));
        assert!(hear_frame(&mut from).is_err(), "the end");
        for length in [0, 3, 4, 5, 19] {
            assert!(hear::<Sent>(&mut &line[..length]).is_err(), "{length}");
        }
        let error = hear::<Sent>(&mut &b"Welcome to Debian\n"[..]).unwrap_err();
        assert!(error.to_string().contains("login script"));
    }
}
