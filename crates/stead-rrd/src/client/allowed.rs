//! Which requests a listener accepts.

use crate::reply::Reply;
use crate::verb::Verb;
use crate::words::Split;

/// How many bytes of an unknown command are repeated in the answer.
const SHOWN_BYTES: usize = 1000;

/// The requests that a listener accepts.
#[derive(Clone, Debug, Default)]
pub struct Allowed(Option<Vec<Verb>>);

impl Allowed {
    /// Reads a list such as `UPDATE,FLUSH`. The error names the word that is not a command.
    pub fn parse(text: &str) -> Result<Allowed, String> {
        let verb = |word: &str| {
            Verb::named(word.trim().as_bytes())
                .ok_or_else(|| format!("{word:?} is not a command of rrdcached; see HELP"))
        };
        text.split(',')
            .map(verb)
            .collect::<Result<_, _>>()
            .map(|verbs| Allowed(Some(verbs)))
    }

    /// Returns the verb of a line if this client may use it. The error is the answer to send.
    pub(super) fn permit(&self, line: &Split<'_>) -> Result<Verb, Reply> {
        if line.word.contains(&0) || line.rest.contains(&0) {
            return Err(Reply::error("a request with a NUL byte"));
        }
        if *line.word == *b"." || line.word.eq_ignore_ascii_case(b"WROTE") {
            // WROTE is a word of rrdcached's journal
            return Err(not_here(&line.word));
        }
        let verb = line.verb.ok_or_else(|| {
            let word = &line.word[..line.word.len().min(SHOWN_BYTES)];
            Reply::error([b"Unknown command: ", word].concat())
        })?;
        if self.has(verb) {
            Ok(verb)
        } else {
            Err(Reply::error("Permission denied."))
        }
    }

    fn has(&self, verb: Verb) -> bool {
        // any client may end its connection
        verb == Verb::Quit || self.0.as_ref().is_none_or(|verbs| verbs.contains(&verb))
    }
}

/// Returns the answer to a word that is not allowed at this place.
pub(super) fn not_here(word: &[u8]) -> Reply {
    Reply::error([b"Can't use '", word, b"' here."].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::VERBS;

    #[test]
    fn a_listener_takes_what_it_is_allowed() {
        let allowed = Allowed::parse("update, FLUSH").unwrap();
        assert!(allowed.has(Verb::Update) && allowed.has(Verb::Flush) && allowed.has(Verb::Quit));
        assert!(!allowed.has(Verb::Create) && !allowed.has(Verb::Ping));
        assert!(VERBS.iter().all(|(verb, ..)| Allowed::default().has(*verb)));
        assert!(Allowed::parse("update,wrote")
            .unwrap_err()
            .contains("wrote"));
    }
}
