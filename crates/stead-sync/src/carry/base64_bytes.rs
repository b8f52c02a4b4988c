//! Bytes that are written in JSON: [`Bytes`].

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes, which JSON has as base64.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'a> Deserialize<'a> for Bytes {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(Bytes).map_err(D::Error::custom)
    }
}
