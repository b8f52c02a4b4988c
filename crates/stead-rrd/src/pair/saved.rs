//! What a router of a pair keeps on disk about itself, in `DIR/pair`.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::history::History;
use crate::dirs::{put, read};
use crate::role::{Lost, Role};
use crate::term::{random, Term};

const NAME: &str = "pair";

/// The version of the file.
const VERSION: u32 = 1;

/// What a router of a pair knows about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// The version of this file.
    pub(super) version: u32,
    /// The random number of this router.
    pub(super) me: u64,
    /// What it is.
    pub role: Role,
    /// The highest term that it has heard of; of a primary, its own.
    pub term: Term,
    /// What the primary may do without the standby, as both routers know.
    pub(super) lost: Lost,
    /// Of a primary: whether it has ever had a standby, or was promoted.
    pub(super) met: bool,
    /// Of a primary: the record after which it has gone on alone.
    pub(super) alone: Option<u64>,
    /// Of a primary: whether its term has not been used by an earlier run.
    pub(super) unused: bool,
    /// Of a standby: whether it has everything that the primary may have answered.
    pub(super) in_sync: bool,
    /// The terms of the log.
    pub(super) history: History,
    /// How many records it has discarded that another primary did not have, when it was last
    /// joined to one.
    pub(super) discarded: u64,
}

impl Saved {
    /// Returns what is known at the very first start.
    pub fn new(role: Role) -> Saved {
        Saved {
            version: VERSION,
            me: random(),
            role,
            term: Term::default(),
            lost: Lost::Wait,
            met: false,
            alone: None,
            unused: false,
            in_sync: false,
            history: History::default(),
            discarded: 0,
        }
    }

    /// Loads the file of this directory. Returns `None` if it does not exist.
    pub fn load(dir: &Path) -> io::Result<Option<Saved>> {
        let path = dir.join(NAME);
        let Some(bytes) = read(&path)? else {
            return Ok(None);
        };
        let saved: Saved = serde_json::from_slice(&bytes).map_err(|error| {
            let text = format!(
                "{}: {error}; restore it, or let this router begin as an empty standby: move the \
                whole directory away",
                path.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
        if saved.version != VERSION {
            let text = format!(
                "{}: made by another version of stead-rrd; use that one",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(Some(saved))
    }

    /// Stores the file. It is durable when the call returns.
    pub fn store(&self, dir: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        put(dir, NAME, &text)
    }

    /// Begins a term of this router after the record `newest`.
    pub(super) fn begin_term(&mut self, newest: u64) {
        self.term = Term {
            number: self.term.number + 1,
            owner: self.me,
        };
        self.history.begin(self.term, newest);
    }

    /// Makes this router the primary of a new term, alone until a standby has joined it.
    pub(super) fn promote(&mut self, newest: u64) {
        self.begin_term(newest);
        self.role = Role::Primary;
        (self.met, self.unused) = (true, true);
        self.alone = Some(newest);
        self.in_sync = false;
    }

    /// Makes this router a standby, because it has heard of this term.
    pub(super) fn step_down(&mut self, higher: Term) {
        self.role = Role::Standby;
        self.term = self.term.max(higher);
        self.alone = None;
        self.in_sync = false;
        if !self.met {
            self.history = History::default(); // it has never answered anybody
        }
    }
}

/// Returns why a promotion could not be stored, and what to do.
pub(super) fn not_stored(error: &io::Error) -> String {
    let todo = match error.kind() {
        io::ErrorKind::StorageFull => "make room on that disk",
        _ => "see to that disk",
    };
    format!("{error}; {todo}, and promote it again")
}
