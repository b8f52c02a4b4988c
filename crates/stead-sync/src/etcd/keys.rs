//! The names of the keys.

use stead::format::hex;

/// The keys of one map.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: String,
}

impl Keys {
    /// Returns the keys that begin with `/prefix/name/`.
    pub fn new(prefix: &str) -> Keys {
        Keys {
            prefix: prefix.to_owned(),
        }
    }

    /// The head.
    pub fn head(&self) -> String {
        format!("{}head", self.prefix)
    }

    /// What all parts begin with.
    pub fn maps(&self) -> String {
        format!("{}maps/", self.prefix)
    }

    /// What all parts of a map begin with.
    pub fn map(&self, digest: &[u8; 32]) -> String {
        format!("{}{}/", self.maps(), hex(digest))
    }

    /// A part of a map.
    pub fn part(&self, digest: &[u8; 32], number: usize) -> String {
        format!("{}{number:05}", self.map(digest))
    }

    /// The digest in the key of a part, in hex digits.
    pub fn digest_in<'a>(&self, key: &'a str) -> Option<&'a str> {
        key.strip_prefix(&self.maps())?.split('/').next()
    }

    /// What the keys of pushes begin with.
    pub fn pushes(&self) -> String {
        format!("{}pushes/", self.prefix)
    }

    /// What the keys of hosts begin with.
    pub fn hosts(&self) -> String {
        format!("{}hosts/", self.prefix)
    }

    /// The report of a host.
    pub fn host(&self, name: &str) -> String {
        format!("{}{name}", self.hosts())
    }

    /// What the keys of hosts that were given up begin with.
    pub fn forgottens(&self) -> String {
        format!("{}forgotten/", self.prefix)
    }

    /// That a host was given up.
    pub fn forgotten(&self, name: &str) -> String {
        format!("{}{name}", self.forgottens())
    }

    /// What the keys of hosts that are alive begin with.
    pub fn alives(&self) -> String {
        format!("{}alive/", self.prefix)
    }

    /// That a host is alive.
    pub fn alive(&self, name: &str) -> String {
        format!("{}{name}", self.alives())
    }
}
