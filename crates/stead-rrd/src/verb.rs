//! The verbs of rrdcached: what a client can request.

/// A verb. The order is the one of HELP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // rrdcached(1) describes each
pub enum Verb {
    Update,
    Flush,
    Flushall,
    Pending,
    Forget,
    Queue,
    Stats,
    Help,
    Ping,
    Batch,
    Fetch,
    Fetchbin,
    Info,
    First,
    Last,
    Create,
    List,
    Suspend,
    Resume,
    Suspendall,
    Resumeall,
    Quit,
}

use Verb::*;

/// Every verb, with its name and its arguments.
pub const VERBS: [(Verb, &str, &str); 22] = [
    (Update, "UPDATE", " <filename> <values> [<values> ...]"),
    (Flush, "FLUSH", " <filename>"),
    (Flushall, "FLUSHALL", ""),
    (Pending, "PENDING", " <filename>"),
    (Forget, "FORGET", " <filename>"),
    (Queue, "QUEUE", ""),
    (Stats, "STATS", ""),
    (Help, "HELP", " [<command>]"),
    (Ping, "PING", ""),
    (Batch, "BATCH", ""),
    (
        Fetch,
        "FETCH",
        " <file> <CF> [<start> [<end>] [<column>...]]",
    ),
    (
        Fetchbin,
        "FETCHBIN",
        " <file> <CF> [<start> [<end>] [<column>...]]",
    ),
    (Info, "INFO", " <filename>"),
    (First, "FIRST", " <filename> <rra index>"),
    (Last, "LAST", " <filename>"),
    (
        Create,
        "CREATE",
        " <filename> [-b start] [-s step] [-O] <DS definitions> <RRA definitions>",
    ),
    (List, "LIST", " [RECURSIVE] /[<path>]"),
    (Suspend, "SUSPEND", " <filename>"),
    (Resume, "RESUME", " <filename>"),
    (Suspendall, "SUSPENDALL", ""),
    (Resumeall, "RESUMEALL", ""),
    (Quit, "QUIT", ""),
];

impl Verb {
    /// Returns the verb of this name, in upper or lower case.
    pub fn named(name: &[u8]) -> Option<Verb> {
        VERBS
            .iter()
            .find(|(_, known, _)| known.as_bytes().eq_ignore_ascii_case(name))
            .map(|(verb, ..)| *verb)
    }

    /// Returns its name, in upper case.
    pub fn name(self) -> &'static str {
        VERBS[self as usize].1
    }

    /// Returns the line that explains its use.
    pub fn usage(self) -> String {
        format!("Usage: {}{}", self.name(), VERBS[self as usize].2)
    }

    /// Returns whether it may be used in a BATCH.
    pub fn in_batch(self) -> bool {
        matches!(
            self,
            Update | Flush | Forget | Create | Suspend | Resume | Suspendall | Resumeall | Quit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_in_any_case() {
        for (verb, name, _) in VERBS {
            assert_eq!(verb.name(), name);
            assert_eq!(Verb::named(name.to_lowercase().as_bytes()), Some(verb));
        }
        assert_eq!(Verb::named(b"pin"), None);
    }
}
