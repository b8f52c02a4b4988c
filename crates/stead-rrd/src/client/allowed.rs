//! Which requests a listener accepts.

use crate::reply::Reply;
use crate::verb::{Verb, VERBS};
use crate::words::Split;

/// How many bytes of an unknown command are repeated in the answer.
const SHOWN_BYTES: usize = 1000;

/// The word in a list for all commands that are allowed where no list is given.
const DEFAULT: &str = "DEFAULT";

/// The commands that are allowed only where a list names them. With one such line a client stops
/// all servers from writing anything to their disks, for all clients, until somebody ends that.
const NAMED_ONLY: [Verb; 2] = [Verb::Suspendall, Verb::Resumeall];

/// The requests that a listener accepts.
#[derive(Clone, Debug)]
pub struct Allowed(Vec<Verb>);

impl Default for Allowed {
    fn default() -> Allowed {
        let all = VERBS.iter().map(|(verb, ..)| *verb);
        Allowed(all.filter(|verb| !NAMED_ONLY.contains(verb)).collect())
    }
}

impl Allowed {
    /// Reads a list such as `UPDATE,FLUSH` or `DEFAULT,SUSPENDALL`. The error names the word that
    /// is not a command.
    pub fn parse(text: &str) -> Result<Allowed, String> {
        let mut allowed = Vec::new();
        for word in text.split(',').map(str::trim) {
            if word.eq_ignore_ascii_case(DEFAULT) {
                allowed.extend(Allowed::default().0);
                continue;
            }
            let verb = Verb::named(word.as_bytes()).ok_or_else(|| {
                format!("{word:?} is neither a command of rrdcached (see HELP) nor {DEFAULT}")
            })?;
            allowed.push(verb);
        }
        Ok(Allowed(allowed))
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
            return Ok(verb);
        }
        if NAMED_ONLY.contains(&verb) {
            let name = verb.name();
            return Err(Reply::error(format!(
                "Permission denied: {name} concerns every client; to allow it here, start the \
                router with --allow {DEFAULT},{name} after this --listen"
            )));
        }
        Err(Reply::error("Permission denied."))
    }

    fn has(&self, verb: Verb) -> bool {
        // any client may end its connection
        verb == Verb::Quit || self.0.contains(&verb)
    }
}

/// Returns the answer to a word that is not allowed at this place.
pub(super) fn not_here(word: &[u8]) -> Reply {
    Reply::error([b"Can't use '", word, b"' here."].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_takes_what_it_is_allowed() {
        let allowed = Allowed::parse("update, FLUSH").unwrap();
        assert!(allowed.has(Verb::Update) && allowed.has(Verb::Flush) && allowed.has(Verb::Quit));
        assert!(!allowed.has(Verb::Create) && !allowed.has(Verb::Ping));
        assert!(Allowed::parse("update,wrote")
            .unwrap_err()
            .contains("wrote"));
    }

    #[test]
    fn what_concerns_every_client_has_to_be_named() {
        let named = Allowed::parse("default, suspendall").unwrap();
        for (verb, ..) in VERBS {
            let usual = !NAMED_ONLY.contains(&verb);
            assert_eq!(Allowed::default().has(verb), usual);
            assert_eq!(named.has(verb), usual || verb == Verb::Suspendall);
        }
        let refused = named.permit(&Split::of(b"resumeall\n")).unwrap_err();
        let text = String::from_utf8(refused.text).unwrap();
        assert!(text.contains("--allow DEFAULT,RESUMEALL"), "{text}");
        assert!(Allowed::default().has(Verb::Suspend));
    }
}
