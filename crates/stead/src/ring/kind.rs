//! A kind of ring: everything that `stead ring` knows about another program's rule of placement.

use super::choices::{Choice, Choices};
use super::draw::{Member, Ring};
use super::servers::Servers;
use crate::error::Result;

/// Another program's rule of placement.
pub struct Kind {
    /// Its name: `stead ring NAME`.
    pub name: &'static str,
    /// One line: whose rule it is.
    pub about: &'static str,
    /// One line: what the list of servers looks like.
    pub servers: &'static str,
    /// The choices of `--set`, each with its default.
    pub choices: &'static [Choice],
    /// Draws the ring of a list of servers with checked choices.
    pub(crate) draw: fn(&Servers<'_>, &Choices) -> Result<Ring>,
    /// Writes a list of servers from names and weights, in the original's syntax. `None` if a list
    /// needs more than names and weights.
    pub(crate) list: Option<fn(&[Member]) -> String>,
    /// The sets of choices, as `NAME=VALUE` words, that are tried when nobody knows how a ring was
    /// drawn. The defaults are always tried.
    pub(crate) variants: &'static [&'static [&'static str]],
}

impl Kind {
    /// Draws the ring of a list of servers. `set` has choices as `NAME=VALUE`.
    ///
    /// Errors: `Fleet` with file and line if the list is wrong, `Invalid` if a choice is wrong,
    /// `Impossible` if nothing can be drawn.
    pub fn draw(&self, servers: &Servers<'_>, set: &[impl AsRef<str>]) -> Result<Ring> {
        let choices = Choices::of(self.name, self.choices, set)?;
        let ring = (self.draw)(servers, &choices)?;
        ring.checked(servers.file)
    }

    /// Draws the ring of a list that a test has as text. `file` is its name in messages.
    #[cfg(test)]
    pub(super) fn draw_text(
        &self,
        file: &str,
        list: &str,
        set: &[impl AsRef<str>],
    ) -> Result<Ring> {
        let bytes = list.as_bytes();
        self.draw(&Servers { bytes, file }, set)
    }

    /// The rings that this kind draws for servers of these names and weights, each with its
    /// choices: candidates for the ring that production uses. Rings that cannot be drawn are left
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
