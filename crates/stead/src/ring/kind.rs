//! A kind of ring: what `stead ring` knows about another program's rule of placement.

use super::choices::{Choice, Choices};
use super::draw::{Member, Ring};
use super::servers::Servers;
use crate::error::Result;

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

impl Kind {
    /// Draws the ring of a list of servers. `set`: choices, each as `NAME=VALUE`.
    ///
    /// Errors: `Fleet` with file and line where the list is wrong; `Invalid` where a choice is;
    /// `Impossible` where there is nothing to draw.
    pub fn draw(&self, servers: &Servers<'_>, set: &[impl AsRef<str>]) -> Result<Ring> {
        let choices = Choices::of(self.name, self.choices, set)?;
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
