//! Rings: the placement rules of other programs, drawn as maps. docs/rings.md says what each does,
//! and how to add one.
//!
//! A kind of ring is one file here and one line of [`KINDS`]. It reads the list of servers as the
//! original's users write it, computes the original's points, and hands them to `compile`, which
//! makes the table of cells that they all share. The map that comes of it has the original's key
//! hash and cells for ever; only its slices evolve.
//!
//! Floats are in the rules of some originals, single precision included. They are in the files of
//! those rules and nowhere else: sums, products, quotients and roundings of IEEE 754, which every
//! processor computes alike.

mod cache_memcached_fast;
mod carbon;
mod choices;
mod compile;
mod draw;
mod explicit;
mod karger;
mod ketama;
mod libketama;
mod libmemcached;
mod redis_slots;
mod remainder;
mod riak;
mod servers;
mod swift;
mod uhashring;
mod wallaroo;

use crate::error::{Error, Result};

pub use choices::{Choice, Choices, Value};
pub use draw::{Member, Ring, Weights};

/// A rule of placement of another program.
pub struct Kind {
    /// Its name: `stead ring NAME`.
    pub name: &'static str,
    /// One line: whose rule it is.
    pub about: &'static str,
    /// One line: what the list of servers looks like.
    pub servers: &'static str,
    /// What may be chosen, each with its default.
    pub choices: &'static [Choice],
    /// Draws it.
    pub(crate) draw: fn(&Servers<'_>, &Choices) -> Result<Ring>,
    /// Writes a list of servers from names and weights, in the original's syntax; `None` where a
    /// list is more than that.
    pub(crate) list: Option<fn(&[Member]) -> String>,
    /// The choices worth a try when nobody knows how a ring was drawn, each as `NAME=VALUE` words;
    /// the defaults are tried always.
    pub(crate) variants: &'static [&'static [&'static str]],
}

/// All kinds, as `stead ring --list` shows them.
pub const KINDS: &[Kind] = &[
    karger::KIND,
    riak::KIND,
    wallaroo::KIND,
    explicit::KIND,
    libketama::KIND,
    libmemcached::KIND,
    cache_memcached_fast::KIND,
    uhashring::KIND,
    redis_slots::KIND,
    carbon::KIND,
    swift::KIND,
];

/// A list of servers: a file's bytes, and its name for messages.
pub struct Servers<'a> {
    /// What is in it.
    pub bytes: &'a [u8],
    /// Its name, as the user gave it.
    pub file: &'a str,
}

impl Kind {
    /// The kind of a name. Errors: `Invalid`, which lists the names.
    pub fn named(name: &str) -> Result<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            Error::Invalid {
                problem: format!(
                    "there is no ring `{name}`; stead knows {}",
                    names.join(", ")
                ),
            }
        })
    }

    /// Draws the ring of a list of servers. `set`: choices, each as `NAME=VALUE`.
    ///
    /// Errors: `Fleet` with file and line where the list is wrong; `Invalid` where a choice is;
    /// `Impossible` where there is nothing to draw.
    pub fn draw(&self, servers: &Servers<'_>, set: &[impl AsRef<str>]) -> Result<Ring> {
        let choices = Choices::of(self, set)?;
        let ring = (self.draw)(servers, &choices)?;
        ring.checked(servers.file)
    }

    /// The rings that this kind draws for servers of these names and weights, each with the choices
    /// that it was drawn with: what production may be using. Those that cannot be drawn are left
    /// out.
    pub fn guesses(&self, members: &[Member]) -> Vec<(Vec<&'static str>, Ring)> {
        let Some(list) = self.list else {
            return Vec::new();
        };
        let text = list(members);
        let servers = Servers {
            bytes: text.as_bytes(),
            file: "servers",
        };
        let all = std::iter::once(&[][..]).chain(self.variants.iter().copied());
        all.filter_map(|set| Some((set.to_vec(), self.draw(&servers, set).ok()?)))
            .collect()
    }
}
