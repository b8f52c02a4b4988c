//! The router: which backends a request goes to, and one answer from theirs.
//!
//! A write goes into the log, and after that to the queues of all its backends that are up, in the order of the log, so that all
//! copies of a file see the same writes in the same order. The client hears what the first of them says. When none is up the log
//! has it, which is enough to acknowledge an update.
//!
//! A read goes to the first backend that is up to date, and to the next when that one fails or has no such file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stead::Map;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::backend::{Backend, Failures, State, Work, Write};
use crate::connection::Address;
use crate::journal::Journal;
use crate::path::{escaped, join, Base};
use crate::record;
use crate::reply::Reply;
use crate::request::{field, words, Verb};

/// The attribute of a node that says where its rrdcached listens.
pub const ATTRIBUTE: &str = "rrdcached";

/// What the router is told besides the map.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that clients believe all files to be in.
    pub base: Base,
    /// How long a write may wait for the FLUSH that confirms it.
    pub flush_after: Duration,
    /// CREATE may replace a file that is there, as rrdcached does when -O is not said.
    pub overwrite: bool,
}

/// Routes requests by one map.
pub struct Router<J> {
    map: Map,
    options: Options,
    backends: Vec<Arc<Backend<J>>>,
    journal: Arc<J>,
    order: Mutex<VecDeque<Logged>>,
    dispatched: Arc<AtomicU64>,
}

/// Written to the log and not yet offered: the record's number, and the work for each of its backends. They queue in the log's order.
type Logged = (u64, Vec<(usize, Work)>);

/// A write that was understood: its file, its line, and how success is said.
pub struct Planned {
    verb: Verb,
    write: Write,
    success: Vec<u8>,
}

impl<J: Journal> Router<J> {
    /// A router whose backends are down until [`start`](Router::start); the error says which node lacks what.
    pub fn new(map: Map, journal: Arc<J>, options: Options) -> Result<Arc<Router<J>>, String> {
        let dispatched = Arc::new(AtomicU64::new(journal.newest()));
        let mut backends = Vec::new();
        for node in map.nodes() {
            let written = node.attributes().find(|(key, _)| *key == ATTRIBUTE).map(|(_, value)| value);
            let written = written.ok_or_else(|| {
                let name = node.name();
                format!("node {name} has no attribute {ATTRIBUTE:?}; give it one in the fleet: attributes = {{ {ATTRIBUTE} = \"host:port\" }}")
            })?;
            let address = Address::parse(written).map_err(|error| format!("node {}, attribute {ATTRIBUTE:?}: {error}", node.name()))?;
            let (journal, dispatched) = (Arc::clone(&journal), Arc::clone(&dispatched));
            let backend = Backend::new((node.name(), address), journal, dispatched, options.flush_after, options.base.clone());
            backends.push(Arc::new(backend));
        }
        let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
        journal.follow(&names).map_err(|error| format!("the log: {error}"))?;
        Ok(Arc::new(Router { map, options, backends, journal, order: Mutex::default(), dispatched }))
    }

    /// Starts the tasks of the backends.
    pub fn start(&self) {
        for backend in &self.backends {
            tokio::spawn(Arc::clone(backend).run());
            tokio::spawn(Arc::clone(backend).confirm());
        }
    }

    /// The backends, in the order of the map's nodes.
    pub fn backends(&self) -> &[Arc<Backend<J>>] {
        &self.backends
    }

    /// The base that clients see.
    pub fn base(&self) -> &Base {
        &self.options.base
    }

    /// The backends of a file, primary first.
    fn places(&self, name: &[u8]) -> Vec<usize> {
        let mut places = Vec::new();
        for node in self.map.locate_all(name) {
            if !places.contains(&node.index()) {
                places.push(node.index());
            }
        }
        places
    }

    /// The name of the file that a request is about, and the rest of its line; the error is the answer.
    pub fn file<'a>(&self, verb: Verb, rest: &'a [u8]) -> Result<(Vec<u8>, &'a [u8]), Reply> {
        let (path, rest) = field(rest);
        if path.is_empty() {
            return Err(Reply::error(verb.usage()));
        }
        match self.options.base.name(&path) {
            Ok(name) => Ok((name, rest)),
            Err(outside) => Err(Reply::error(outside.0)),
        }
    }

    /// Understands an UPDATE, CREATE or FORGET; the error is the answer.
    pub fn plan(&self, verb: Verb, rest: &[u8]) -> Result<Planned, Reply> {
        let (name, rest) = self.file(verb, rest)?;
        let mut line = [verb.name().as_bytes(), b" ", &escaped(&name)].concat();
        let count = words(rest).count();
        let success = match verb {
            Verb::Update if count == 0 => return Err(Reply::error("No values updated.")),
            Verb::Update => format!("errors, enqueued {count} value(s)."),
            Verb::Create => {
                if !self.options.overwrite && !words(rest).any(|word| word == b"-O") {
                    line.extend_from_slice(b" -O");
                }
                if !words(rest).any(|word| word == b"-b") {
                    // rrdcached would take its own time, and each copy another; ten seconds back, as it does
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
                    line.extend_from_slice(format!(" -b {}", now.saturating_sub(10)).as_bytes());
                }
                "RRD created OK".to_owned()
            }
            _ => "Gone!".to_owned(),
        };
        for word in words(rest) {
            line.push(b' ');
            line.extend_from_slice(word);
        }
        if verb != Verb::Update && !self.places(&name).iter().any(|place| self.backends[*place].state() == State::Up) {
            return Err(self.nobody(&name));
        }
        Ok(Planned { verb, write: Write { name, line }, success: success.into_bytes() })
    }

    /// Takes writes: at once, in the order of the calls. The task ends with one reply for each.
    pub fn submit(self: &Arc<Self>, planned: Vec<Planned>) -> JoinHandle<Vec<Reply>> {
        let mut record = Vec::new();
        // by backend: the writes for it, and by write: where its answers will come from
        let mut parts: BTreeMap<usize, Vec<Write>> = BTreeMap::new();
        let mut sources: Vec<Vec<(usize, usize)>> = Vec::new();
        for Planned { write, .. } in &planned {
            let places = self.places(&write.name);
            record::push(&mut record, places.iter().map(|place| self.backends[*place].name()), &write.line);
            sources.push(Vec::new());
            for place in places {
                let part = parts.entry(place).or_default();
                sources.last_mut().into_iter().for_each(|own| own.push((place, part.len())));
                part.push(write.clone());
            }
        }
        let mut answers = BTreeMap::new();
        let works = parts.into_iter().map(|(place, writes)| {
            let (answer, receiver) = oneshot::channel();
            answers.insert(place, Answer::Waiting(receiver));
            (place, Work { number: 0, writes, answer })
        });
        let works: Vec<_> = works.collect();

        let taken = {
            let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
            self.journal.append(&record).map(|(number, durable)| {
                let numbered = works.into_iter().map(|(place, work)| (place, Work { number, ..work })).collect();
                order.push_back((number, numbered));
                (number, durable)
            })
        };
        let router = Arc::clone(self);
        // a task of its own: what is in the log goes to the backends also when the client has gone
        tokio::spawn(async move {
            let durable = match taken {
                Ok((number, durable)) => durable.await.map(|()| number).inspect_err(|_| router.withdraw(number)),
                Err(error) => Err(error),
            };
            match durable {
                Ok(number) => router.dispatch(number),
                Err(error) => return planned.iter().map(|_| not_logged(&error)).collect(),
            }
            let mut replies = Vec::new();
            for (planned, sources) in planned.into_iter().zip(sources) {
                replies.push(router.answer(planned, &sources, &mut answers).await);
            }
            replies
        })
    }

    /// Offers everything up to this number, which is durable, to the backends.
    fn dispatch(&self, number: u64) {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        while order.front().is_some_and(|(first, _)| *first <= number) {
            let Some((number, works)) = order.pop_front() else { return };
            for (place, work) in works {
                self.backends[place].offer(work);
            }
            self.dispatched.store(number, Ordering::Release);
        }
    }

    /// The log could not make it durable: nobody gets it.
    fn withdraw(&self, number: u64) {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| *other != number);
    }

    /// What the first backend that could answer says of a write.
    async fn answer(&self, planned: Planned, sources: &[(usize, usize)], answers: &mut BTreeMap<usize, Answer>) -> Reply {
        for (place, at) in sources {
            let Some(answer) = answers.get_mut(place) else { continue };
            if let Answer::Waiting(receiver) = answer {
                *answer = Answer::Here(receiver.await.ok());
            }
            if let Answer::Here(Some(failures)) = answer {
                return match failures.get_mut(*at).and_then(Option::take) {
                    Some(text) => Reply::error(text),
                    None => Reply::ok(planned.success),
                };
            }
        }
        match planned.verb {
            Verb::Update => Reply::ok(planned.success), // the log has it
            _ => self.nobody(&planned.write.name),
        }
    }

    fn nobody(&self, name: &[u8]) -> Reply {
        let places = self.places(name);
        let names: Vec<&str> = places.iter().map(|place| self.backends[*place].name()).collect();
        let mut text = [self.base().directory(), b"/", name].concat();
        text.extend_from_slice(format!(": none of its servers is up ({}); try again later", names.join(", ")).as_bytes());
        Reply::error(text)
    }

    /// Asks the first backend of the file that is up to date, and the next when that fails.
    pub async fn read(&self, verb: Verb, rest: &[u8]) -> Reply {
        let (name, rest) = match self.file(verb, rest) {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        let line = line_of(verb, &name, rest);
        let mut refused = None;
        for place in self.places(&name) {
            match self.backends[place].ask(&line, verb == Verb::Fetchbin).await {
                Ok(reply) if reply.is_error() && is_missing(&reply.text) => refused = refused.or(Some(reply)),
                Ok(reply) => return reply,
                Err(_) => {}
            }
        }
        refused.unwrap_or_else(|| self.nobody(&name))
    }

    /// FLUSH, SUSPEND, RESUME: all backends of the file that are up; the answer of the first of them in the file's order.
    pub async fn all_copies(&self, verb: Verb, rest: &[u8]) -> Reply {
        let (name, rest) = match self.file(verb, rest) {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        let line = line_of(verb, &name, rest);
        let replies = self.ask_all(self.places(&name), line, verb != Verb::Flush).await;
        let mut refused = None;
        for reply in replies {
            if !reply.is_error() {
                return reply;
            }
            refused = refused.or(Some(reply));
        }
        refused.unwrap_or_else(|| self.nobody(&name))
    }

    /// Asks many at once; the replies in the order of `places`, without those that could not answer.
    async fn ask_all(&self, places: Vec<usize>, line: Vec<u8>, apart: bool) -> Vec<Reply> {
        let line: Arc<[u8]> = line.into();
        let mut tasks = JoinSet::new();
        for (at, place) in places.into_iter().enumerate() {
            let (backend, line) = (Arc::clone(&self.backends[place]), Arc::clone(&line));
            if backend.state() == State::Up {
                tasks.spawn(async move {
                    let asked = if apart { backend.ask_apart(&line).await } else { backend.ask(&line, false).await };
                    (at, asked)
                });
            }
        }
        let mut replies = BTreeMap::new();
        while let Some(done) = tasks.join_next().await {
            if let Ok((at, Ok(reply))) = done {
                replies.insert(at, reply);
            }
        }
        replies.into_values().collect()
    }

    async fn ask_every(&self, line: &[u8]) -> Vec<Reply> {
        self.ask_all((0..self.backends.len()).collect(), line.to_vec(), false).await
    }

    /// FLUSHALL, SUSPENDALL, RESUMEALL, LIST, STATS, QUEUE: every backend that is up, and one answer of all.
    pub async fn everywhere(&self, verb: Verb, rest: &[u8]) -> Reply {
        match verb {
            Verb::List => self.list(rest).await,
            Verb::Stats => summed(&self.ask_every(b"STATS").await),
            Verb::Queue => {
                let replies = self.ask_every(b"QUEUE").await;
                if replies.is_empty() { no_backend() } else { Reply::list("in queue.", replies.iter().flat_map(Reply::each)) }
            }
            _ => {
                let replies = self.ask_every(verb.name().as_bytes()).await;
                if let Some(error) = replies.iter().find(|reply| reply.is_error()) {
                    return error.clone();
                }
                counted(&replies).or_else(|| replies.first().cloned()).unwrap_or_else(no_backend)
            }
        }
    }

    /// The union of what the backends list.
    async fn list(&self, rest: &[u8]) -> Reply {
        let mut parts: VecDeque<&[u8]> = words(rest).collect();
        let recursive = parts.front().is_some_and(|word| word.eq_ignore_ascii_case(b"RECURSIVE"));
        let mut line = b"LIST ".to_vec();
        if recursive {
            parts.pop_front();
            line.extend_from_slice(b"RECURSIVE ");
        }
        let start = parts.front().map_or(rest.len(), |part| part.as_ptr() as usize - rest.as_ptr() as usize);
        let (path, _) = field(&rest[start..]);
        if path.first() != Some(&b'/') {
            return Reply::error(Verb::List.usage());
        }
        let Some(below) = join(&path) else {
            return Reply::error([self.base().directory(), &path, b": Permission denied"].concat());
        };
        line.push(b'/');
        line.extend_from_slice(&escaped(&below));
        let replies = self.ask_every(&line).await;
        let mut names: BTreeSet<&[u8]> = BTreeSet::new();
        for reply in replies.iter().filter(|reply| !reply.is_error()) {
            names.extend(reply.each());
        }
        match replies.iter().find(|reply| !reply.is_error()) {
            Some(_) => Reply::list("RRDs", names),
            None => replies.into_iter().next().unwrap_or_else(no_backend),
        }
    }
}

/// One backend's answer to the writes of a record.
enum Answer {
    Waiting(oneshot::Receiver<Failures>),
    /// `None`: it was not up, or was lost.
    Here(Option<Failures>),
}

fn line_of(verb: Verb, name: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut line = [verb.name().as_bytes(), b" ", &escaped(name)].concat();
    if !rest.is_empty() {
        line.push(b' ');
        line.extend_from_slice(rest);
    }
    line
}

fn not_logged(error: &io::Error) -> Reply {
    Reply::error(format!("the router's log took nothing: {error}").replace('\n', " "))
}

fn no_backend() -> Reply {
    Reply::error("no server is up; try again later")
}

fn is_missing(text: &[u8]) -> bool {
    text.ends_with(b"No such file or directory") || text.starts_with(b"No such file")
}

/// `12 rrds suspend` of many: the sum.
fn counted(replies: &[Reply]) -> Option<Reply> {
    let mut sum = 0u64;
    let mut unit = None;
    for reply in replies {
        let text = std::str::from_utf8(&reply.text).ok()?;
        let (number, rest) = text.split_once(' ')?;
        sum = sum.checked_add(number.parse().ok()?)?;
        unit = Some(rest);
    }
    Some(Reply::ok(format!("{sum} {}", unit?)))
}

/// Counters of many: their sums, in the order of the first; of `TreeDepth` the largest.
fn summed(replies: &[Reply]) -> Reply {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for line in replies.iter().flat_map(Reply::each) {
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(": ") else { continue };
        let Ok(value) = value.parse::<u64>() else { continue };
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) if name == "TreeDepth" => *sum = value.max(*sum),
            Some((_, sum)) => *sum = sum.saturating_add(value),
            None => sums.push((name.to_owned(), value)),
        }
    }
    if replies.is_empty() {
        return no_backend();
    }
    Reply::list("Statistics follow", sums.into_iter().map(|(name, sum)| format!("{name}: {sum}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_backends_are_added() {
        let replies = [Reply::list("Statistics follow", ["A: 1", "TreeDepth: 3"]), Reply::list("Statistics follow", ["A: 41", "TreeDepth: 2"])];
        assert_eq!(summed(&replies), Reply::list("Statistics follow", ["A: 42", "TreeDepth: 3"]));
        assert_eq!(counted(&[Reply::ok("2 rrds suspend"), Reply::ok("3 rrds suspend")]), Some(Reply::ok("5 rrds suspend")));
        assert_eq!(counted(&[Reply::ok("Started flush.")]), None);
        assert_eq!(counted(&[]), None);
    }

    #[test]
    fn a_missing_file_is_told_from_other_errors() {
        for text in ["No such file: /b/x.rrd", "RRD Error: opening '/b/x': No such file or directory", "No such file or directory"] {
            assert!(is_missing(text.as_bytes()), "{text}");
        }
        assert!(!is_missing(b"unknown consolidation function"));
    }
}
