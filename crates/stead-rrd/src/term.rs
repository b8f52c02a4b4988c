//! The term: which router of a pair is the primary, and since which promotion.
//!
//! Each promotion begins a new term. Whoever knows a term obeys no older one: the other router, and
//! the agents beside the servers.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A term. Later terms are greater. Two routers that are forced to begin a term of the same number
/// have different terms, and everybody finds the same one of them greater.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Term {
    /// Its number; 0 before the first.
    pub number: u64,
    /// The random number of the router that began it.
    pub owner: u64,
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "term {}", self.number)
    }
}

/// Returns a random number for a router.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The term in which this router is the primary, as its agents are told.
#[derive(Debug)]
pub struct Claim {
    term: Term,
    higher: watch::Sender<Option<Term>>,
}

impl Claim {
    /// Returns the claim of the primary of this term.
    pub fn new(term: Term) -> Claim {
        Claim {
            term,
            higher: watch::Sender::new(None),
        }
    }

    /// Returns the term.
    pub fn term(&self) -> Term {
        self.term
    }

    /// Records a term that somebody else knows. Returns whether it is higher than this one.
    pub fn hear(&self, other: Term) -> bool {
        let is_higher = other > self.term;
        if is_higher {
            self.higher.send_replace(Some(other));
        }
        is_higher
    }

    /// Reports a higher term.
    pub fn higher(&self) -> watch::Receiver<Option<Term>> {
        self.higher.subscribe()
    }
}
