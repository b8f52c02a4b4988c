//! Lines of a ticket that are for one backend.

use std::sync::Arc;
use std::time::Instant;

use crate::ticket::Ticket;
use crate::verb::Verb;

/// The lines of one ticket that are for this backend.
pub struct Work {
    /// The ticket. It is told the answer, or that there is none.
    pub ticket: Arc<Ticket>,
    /// Which lines of the ticket.
    pub lines: Lines,
    /// When it was offered.
    pub since: Instant,
}

/// Some lines of a ticket.
pub enum Lines {
    /// All of them.
    All,
    /// The lines with these numbers, ascending.
    These(Vec<u32>),
}

impl Work {
    pub(super) fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        let (all, these) = match &self.lines {
            Lines::All => (0..self.ticket.writes.len(), &[][..]),
            Lines::These(these) => (0..0, &these[..]),
        };
        all.chain(these.iter().map(|line| *line as usize))
    }

    pub(super) fn count(&self) -> usize {
        match &self.lines {
            Lines::All => self.ticket.writes.len(),
            Lines::These(these) => these.len(),
        }
    }

    /// Returns whether this could destroy what another router has written.
    pub(super) fn is_risky(&self) -> bool {
        let writes = &self.ticket.writes;
        !writes.are_updates() && self.lines().any(|line| is_risky(writes.verb(line)))
    }

    /// Returns roughly how much memory this work keeps. Each backend that has a ticket counts it.
    pub(super) fn size(&self) -> usize {
        self.ticket.writes.bytes() + 100 * self.count()
    }
}

/// Returns whether a late line of this verb could destroy what another router has written.
pub(super) fn is_risky(verb: Verb) -> bool {
    matches!(verb, Verb::Create | Verb::Forget)
}
