//! Whether the streams of a picture take copies away or add some, whose nodes are only read.

use std::collections::BTreeMap;

/// The part of all streams below which those that take copies away cannot be seen.
const UNSEEN: f64 = 0.0001;

/// Between which bars a stream runs, and whether it adds copies, so that the node on the left gives
/// none up.
pub(crate) type Between = (usize, usize, bool);

/// Whether the nodes on the left give copies up, or are only read because copies are added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    No,
    Some,
    /// all but so little that no stream of it is seen
    Nearly,
    All,
}

impl Read {
    pub fn of(streams: &BTreeMap<Between, u128>) -> Read {
        let sum = |wanted: bool| {
            let those = streams.iter().filter(|((.., added), _)| *added == wanted);
            those.map(|(_, amount)| *amount as f64).sum::<f64>()
        };
        let has = |wanted: bool| streams.keys().any(|(.., added)| *added == wanted);
        match (has(true), has(false)) {
            (false, _) => Read::No,
            (true, false) => Read::All,
            (true, true) if sum(false) < UNSEEN * sum(true) => Read::Nearly,
            (true, true) => Read::Some,
        }
    }

    /// Says so in a sentence after others; empty where nothing is to be said.
    pub fn in_words(self) -> &'static str {
        match self {
            Read::No => "",
            Read::Some => " A pale stream adds copies: for it the node on the left is only read.",
            Read::Nearly => " Nearly all are added copies: the nodes on the left are only read.",
            Read::All => " The nodes on the left are only read: they keep their copies.",
        }
    }

    /// What the nodes on the left do.
    pub fn verb(self) -> &'static str {
        match self {
            Read::No => "gives",
            Read::Some => "gives or is read",
            Read::Nearly | Read::All => "is read",
        }
    }
}
