//! The value of the head: which epoch is newest, which are stored, and their log.

use serde::{Deserialize, Serialize};
use stead::format::{hex, Digest};
use stead::store::Entry;
use stead::Map;

use crate::exit::{Failure, Result, DATA};
use crate::hub::Head;

/// The size of a part of a map: etcd takes 1.5 MiB a request.
pub const PART: usize = 1 << 20;

/// How many entries of the log the head keeps: what a host may miss and still know its way. They
/// have some 350 bytes each.
const LOG: usize = 256;

/// The version of the layout of the keys.
const FORMAT: u32 = 1;

/// The value of the head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    /// The name of the map.
    pub name: String,
    /// The id of the map, in hex digits.
    pub map_id: String,
    /// The stored epochs, newest first; the first is the newest epoch.
    pub kept: Vec<Kept>,
    /// The log of the epochs, oldest first.
    pub log: Vec<Entry>,
    /// Which push turned the head.
    pub push: Push,
}

/// A stored epoch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The number of the epoch.
    pub epoch: u64,
    /// The digest of its map, in hex digits.
    pub digest: String,
    /// The length of the map, in bytes.
    pub length: u64,
    /// How many parts it has.
    pub parts: usize,
}

/// A push.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Push {
    /// A random name.
    pub id: String,
    /// Who pushes.
    pub who: String,
    /// When the push began.
    pub time: String,
    /// The digests of the maps that it writes, in hex digits.
    pub digests: Vec<String>,
}

impl Kept {
    /// Returns the entry for a map.
    pub fn of(map: &Map) -> Kept {
        Kept {
            epoch: map.epoch(),
            digest: hex(&map.digest()),
            length: map.bytes().len() as u64,
            parts: map.bytes().len().div_ceil(PART),
        }
    }
}

impl Record {
    /// Returns the record of the newest map, which is the first of `kept`, with its log.
    pub fn of(map: &Map, kept: Vec<Kept>, log: Vec<Entry>, push: Push) -> Record {
        let skip = log.len().saturating_sub(LOG);
        Record {
            format: FORMAT,
            name: map.name().to_owned(),
            map_id: hex(&map.map_id()),
            kept,
            log: log.into_iter().skip(skip).collect(),
            push,
        }
    }

    /// Reads a value.
    pub fn parse(key: &str, value: &[u8]) -> Result<Record> {
        let broken = |why: &dyn std::fmt::Display| {
            Failure::new(
                DATA,
                format_args!("{key}: this is no head of a map: {why}; push the map again, or name the right prefix"),
            )
        };
        let record: Record = serde_json::from_slice(value).map_err(|error| broken(&error))?;
        if record.format > FORMAT {
            return Err(Failure::new(
                DATA,
                format_args!(
                    "{key}: the hub has format {}, and this stead-sync reads format {FORMAT}; use a newer stead-sync",
                    record.format
                ),
            ));
        }
        match record.kept.first().map(|kept| digest(&kept.digest)) {
            Some(Some(_)) => Ok(record),
            _ => Err(broken(&"it names no map")),
        }
    }

    /// Returns the head that this is. `version` is the revision at which it was written.
    pub fn head(&self, version: u64) -> Option<Head> {
        let newest = self.kept.first()?;
        Some(Head {
            epoch: newest.epoch,
            digest: digest(&newest.digest)?,
            identity: Some((self.name.clone(), self.map_id.clone())),
            pushed: Some((self.push.who.clone(), self.push.time.clone())),
            log: self.log.clone(),
            version,
        })
    }
}

/// Reads a digest from hex digits.
pub fn digest(text: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_head_is_told_so() {
        for value in [&b""[..], b"{}", b"\xff", br#"{"format":1}"#] {
            let line = Record::parse("/m/head", value).unwrap_err().line;
            assert!(line.starts_with("/m/head: this is no head"), "{line}");
        }
        let newer = br#"{"format":9,"name":"m","map_id":"","kept":[],"log":[],
            "push":{"id":"","who":"","time":"","digests":[]}}"#;
        assert!(Record::parse("h", newer)
            .unwrap_err()
            .line
            .contains("newer"));
    }

    #[test]
    fn a_digest_is_read_from_hex_digits() {
        let bytes: Digest = std::array::from_fn(|i| i as u8 * 7);
        assert_eq!(digest(&hex(&bytes)), Some(bytes));
        assert_eq!(digest("00"), None);
        assert_eq!(digest(&"é".repeat(32)), None);
    }
}
