//! Files that come into being by their first UPDATE, as a template says.
//!
//! Only where it has to be: a CREATE, even with -O, would give an empty file to a server that has lost its copy, and nobody would copy
//! the true one to it any more. So the servers of a file that is not known yet are asked first, and those that are not up do not
//! answer. When all who do say that there is no such file, it is made at all of its places; those that are away get the CREATE from
//! the log, before the update, and keep a file that they have.

use crate::create::first_time;
use crate::path::escaped;
use crate::reply::Reply;
use crate::request::{Request, Verb};
use crate::router::Router;
use crate::writes::{is_missing, Writes};

/// A file that may have to be made.
pub struct Birth {
    name: Vec<u8>,
    /// the CREATE
    line: Vec<u8>,
}

impl Router {
    /// What a request needs before it: a file that a template fits and that nobody has been seen to have.
    pub fn birth(&self, verb: Verb, rest: &[u8]) -> Option<Birth> {
        let templates = self.shared().options.create.as_ref()?;
        if verb != Verb::Update {
            return None;
        }
        let (name, values) = self.file(verb, rest).ok()?;
        if self.shared().known.has(&name) {
            return None;
        }
        // without a time that can be read the update will be refused
        let line = templates.line(&name, Some(first_time(values)?))?;
        Some(Birth { name, line })
    }

    /// Makes the file unless somebody has it; the error is the answer to the UPDATE.
    pub async fn bear(&self, birth: Birth) -> Result<(), Reply> {
        let _guard = self.creating.read().await;
        let Birth { name, line } = birth;
        let places = {
            let layout = self.shared().layout();
            let mut places = layout.now(&name);
            let now = places.len();
            places.extend(layout.ever(&name).into_iter().filter(|place| !places[..now].contains(place)).collect::<Vec<_>>());
            places
        };
        let asked = self.ask_all(&places, [b"LAST ", &escaped(&name)[..]].concat(), false).await;
        if asked.iter().all(|reply| reply.is_error() && is_missing(&reply.text)) {
            let mut writes = Writes::default();
            let (_, rest) = Request::parse(&line).path().unwrap_or_default();
            writes.push(Verb::Create, &name, rest, b"");
            let failures = self.submit(writes).await.unwrap_or_default();
            // with nobody there it is in the log, and so will be the update behind it
            let failure = failures.into_iter().next().filter(|(_, text)| !asked.is_empty() && !text.ends_with(b"File exists"));
            if let Some((_, text)) = failure {
                return Err(Reply::error([b"the file was not there, and the template failed: ", &text[..]].concat()));
            }
        }
        self.shared().known.add(name);
        Ok(())
    }
}
