//! Clients: where they connect, what they may ask for, and their answers in the order of their
//! requests.
//!
//! A client may send the next request before the last is answered. Writes are taken as they come,
//! so that many share one sync of the log; anything else waits until what the same client asked
//! before is answered, so that it sees its own writes.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{oneshot, watch};

use crate::batch::{Errors, GO_AHEAD};
use crate::connection::{Address, Stream};
use crate::reply::Reply;
use crate::request::{Request, Verb, VERBS};
use crate::router::{Planned, Router};
use crate::socket::Socket;
use crate::writes::{is_missing, Failures, Writes};

/// The longest request: eight times what rrdcached reads.
const LINE_BYTES: usize = 64 << 10;
/// What is read at once.
const READ_BYTES: usize = 16 << 10;
/// Answers that are more than this are written in pieces, each of which a client has to take in
/// time.
const MUCH_BYTES: usize = 1 << 20;
const PIECE_BYTES: usize = 64 << 10;
/// How much of a word that is no command comes back.
const SHOWN_BYTES: usize = 1000;
/// Requests of one client that wait for their answers; beyond, it is not read from.
const WAITING: usize = 256;
/// Lines and bytes of a BATCH that go into the log as one record.
const PART: (usize, usize) = (250, 64 << 10);
/// Parts of one BATCH that wait for their answers.
const PARTS: usize = 8;

/// Which requests a listener takes.
#[derive(Clone, Debug, Default)]
pub struct Allowed(Option<Vec<Verb>>);

impl Allowed {
    /// Reads `UPDATE,FLUSH`; the error says which word is none.
    pub fn parse(text: &str) -> Result<Allowed, String> {
        let verb = |word: &str| {
            Verb::named(word.trim().as_bytes())
                .ok_or_else(|| format!("{word:?} is no command of rrdcached; see HELP"))
        };
        text.split(',')
            .map(verb)
            .collect::<Result<_, _>>()
            .map(|verbs| Allowed(Some(verbs)))
    }

    fn has(&self, verb: Verb) -> bool {
        // whoever may talk at all may end it
        verb == Verb::Quit || self.0.as_ref().is_none_or(|verbs| verbs.contains(&verb))
    }
}

/// A socket that takes clients.
pub struct Listener {
    socket: Socket,
    allowed: Arc<Allowed>,
}

impl Listener {
    /// Listens. A unix socket that nobody answers on is taken over; an address that is not loopback
    /// is refused unless `public`.
    pub async fn bind(address: &Address, allowed: Allowed, public: bool) -> io::Result<Listener> {
        let socket = Socket::bind(address, public).await?;
        Ok(Listener {
            socket,
            allowed: Arc::new(allowed),
        })
    }

    /// The address, with the port that the system chose when 0 was asked for.
    pub fn address(&self) -> io::Result<String> {
        self.socket.address()
    }

    /// Takes clients until `ending` is true; then those that are there get the answers that they
    /// wait for, and are let go.
    pub async fn run(self, router: Arc<Router>, ending: watch::Receiver<bool>) {
        let mut end = ending.clone();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                _ = end.wait_for(|ending| *ending) => return,
            };
            match accepted {
                Ok(stream) => {
                    tokio::spawn(serve(
                        stream,
                        Arc::clone(&router),
                        Arc::clone(&self.allowed),
                        ending.clone(),
                    ));
                }
                Err(error) => {
                    // no descriptor is left, most likely: some client has to go first
                    router.shared().tally.refused();
                    tracing::error!(error = %error, "cannot take a client: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// One client, until it goes.
async fn serve(
    stream: Stream,
    router: Arc<Router>,
    allowed: Arc<Allowed>,
    ending: watch::Receiver<bool>,
) {
    let _connected = router.shared().tally.arrived();
    let mut client = Client {
        stream,
        input: Input::default(),
        out: Vec::new(),
        pending: VecDeque::new(),
        router,
        allowed,
        ending,
    };
    // the reasons why a client goes are its own
    let _ = client.run().await;
    // who has only closed its sending half still reads
    client.answer_all().await;
    let _ = client.flush().await;
}

/// What a client sent and we did not look at yet.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    /// before, all was looked at
    start: usize,
    /// from `start` to here there is no line end
    searched: usize,
}

impl Input {
    /// The next whole line, by its place in `bytes`, with its end.
    fn line(&mut self) -> Option<Range<usize>> {
        let end = self.bytes[self.searched..].iter().position(|b| *b == b'\n');
        match end {
            Some(at) => {
                let line = self.start..self.searched + at + 1;
                (self.start, self.searched) = (line.end, line.end);
                Some(line)
            }
            None => {
                self.searched = self.bytes.len();
                None
            }
        }
    }

    /// Makes room for more, and gives back what an idle client does not need.
    fn tidy(&mut self) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }
}

/// A write that waits for its answer.
struct Pending {
    verb: Verb,
    /// when it was read
    since: Instant,
    planned: Planned,
    answer: oneshot::Receiver<Failures>,
    /// all behind the verb, if a template may have to make the file
    rest: Option<Vec<u8>>,
}

impl Pending {
    async fn reply(
        &self,
        router: &Router,
        failures: Result<Failures, oneshot::error::RecvError>,
    ) -> Reply {
        let Ok(failures) = failures else {
            return Reply::error(FAULT);
        };
        let Some((_, text)) = failures.into_iter().find(|(at, _)| *at >= self.planned.own) else {
            return self.planned.success.reply();
        };
        if let Some(rest) = self.rest.as_ref().filter(|_| is_missing(&text)) {
            if let Some(reply) = router.create_and_update(rest).await {
                return reply;
            }
        }
        Reply::error(text)
    }
}

/// The answer when a task has died; none should.
const FAULT: &str = "a fault in the router";

struct Client {
    stream: Stream,
    input: Input,
    out: Vec<u8>,
    pending: VecDeque<Pending>,
    router: Arc<Router>,
    allowed: Arc<Allowed>,
    ending: watch::Receiver<bool>,
}

/// The client has gone, or has to.
struct Gone;

impl Client {
    async fn run(&mut self) -> Result<(), Gone> {
        loop {
            while self.pending.len() < WAITING {
                let Some(line) = self.input.line() else { break };
                self.request(line).await?;
            }
            self.answer_finished().await;
            self.flush().await?;
            if self.pending.len() >= WAITING {
                self.answer_next().await;
                continue;
            }
            self.input.tidy();
            self.check_length().await?;
            match self.pending.front_mut() {
                None => tokio::select! {
                    biased;
                    _ = self.ending.wait_for(|ending| *ending) => return Err(Gone),
                    read = read(&mut self.stream, &mut self.input) => read?,
                },
                Some(first) => {
                    let failures = tokio::select! {
                        failures = &mut first.answer => Some(failures),
                        read = read(&mut self.stream, &mut self.input) => { read?; None }
                    };
                    if let Some((failures, pending)) =
                        failures.and_then(|failures| Some((failures, self.pending.pop_front()?)))
                    {
                        self.answer(&pending, failures).await;
                    }
                }
            }
        }
    }

    async fn request(&mut self, line: Range<usize>) -> Result<(), Gone> {
        let since = Instant::now();
        let request = Request::parse(&self.input.bytes[line]);
        let verb = match permitted(&self.allowed, &request) {
            Ok(verb) => verb,
            Err(reply) => return self.in_turn(reply, request.verb, since).await,
        };
        match verb {
            Verb::Update | Verb::Forget => {
                let mut writes = Writes::default();
                match self.router.plan(&mut writes, verb, request.rest) {
                    Ok(planned) => {
                        let rest = (verb == Verb::Update
                            && self.router.shared().options.create.is_some())
                        .then(|| request.rest.to_vec());
                        self.pending.push_back(Pending {
                            verb,
                            since,
                            planned,
                            answer: self.router.submit(writes),
                            rest,
                        });
                    }
                    Err(reply) => return self.in_turn(reply, Some(verb), since).await,
                }
            }
            Verb::Ping => return self.in_turn(Reply::ok("PONG"), Some(verb), since).await,
            Verb::Help => {
                let reply = help(request.rest);
                return self.in_turn(reply, Some(verb), since).await;
            }
            Verb::Batch => return self.batch(since).await,
            Verb::Quit => {
                self.answer_all().await;
                self.flush().await?;
                return Err(Gone);
            }
            _ => {
                let rest = request.rest.to_vec();
                // it shall see what this client wrote before
                self.answer_all().await;
                self.flush().await?;
                if matches!(verb, Verb::Fetch | Verb::Fetchbin) {
                    return self.fetch(verb, &rest, since).await;
                }
                let reply = match verb {
                    Verb::Create => self.router.create(&rest).await,
                    Verb::Flush | Verb::Suspend | Verb::Resume => {
                        self.router.all_copies(verb, &rest).await
                    }
                    _ if verb.has_path() => self.router.read(verb, &rest).await,
                    _ => self.router.everywhere(verb, &rest).await,
                };
                self.count(Some(verb), since, reply.is_error());
                self.say(&reply);
            }
        }
        Ok(())
    }

    /// A FETCH, whose answer may be large: then it is not copied once more, and whoever does not
    /// read it is not waited for.
    async fn fetch(&mut self, verb: Verb, rest: &[u8], since: Instant) -> Result<(), Gone> {
        let (reply, permit) = self.router.fetch(verb, rest).await;
        self.count(Some(verb), since, reply.is_error());
        if permit.is_none() {
            self.say(&reply);
            return Ok(());
        }
        self.put(&reply.head()).await?;
        self.put(&reply.lines).await
    }

    /// Writes much; a client that takes none of it for long has to go, as its answer keeps memory.
    async fn put(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        let patience = self.router.shared().options.patience;
        for piece in bytes.chunks(PIECE_BYTES) {
            tokio::time::timeout(patience, self.stream.write_all(piece))
                .await
                .map_err(|_| Gone)?
                .map_err(|_| Gone)?;
        }
        Ok(())
    }

    /// The lines up to the dot, and one answer.
    async fn batch(&mut self, since: Instant) -> Result<(), Gone> {
        self.answer_all().await;
        self.say(&Reply::ok(GO_AHEAD));
        self.flush().await?;
        let mut number = 0u64;
        let mut errors = Errors::default();
        let mut part = Part::default();
        let mut waiting = Waiting::new();
        let router = Arc::clone(&self.router);
        let tally = &*router.shared().tally;
        loop {
            let Some(line) = self.input.line() else {
                self.input.tidy();
                self.check_length().await?;
                read(&mut self.stream, &mut self.input).await?;
                continue;
            };
            let request = Request::parse(&self.input.bytes[line]);
            if *request.word == *b"." {
                break;
            }
            number += 1;
            let verb = match permitted(&self.allowed, &request) {
                Ok(verb) if !verb.in_batch() => {
                    Err([b"Can't use '", &request.word[..], b"' here."].concat())
                }
                Ok(verb) => Ok(verb),
                Err(reply) => Err(reply.text),
            };
            match verb {
                Err(text) => {
                    tally.observe(request.verb, Duration::ZERO, true);
                    errors.add(number, text);
                }
                Ok(Verb::Quit) => {
                    part.submit(&self.router, &mut waiting);
                    return Err(Gone);
                }
                Ok(verb @ (Verb::Update | Verb::Forget)) => {
                    match self.router.plan(&mut part.writes, verb, request.rest) {
                        Ok(planned) => {
                            part.numbers
                                .resize(part.numbers.len() + planned.own, NOBODYS);
                            if verb == Verb::Update && self.router.shared().options.create.is_some()
                            {
                                part.rests.push((number, request.rest.to_vec()));
                            }
                        }
                        Err(reply) => {
                            tally.observe(Some(verb), Duration::ZERO, true);
                            errors.add(number, reply.text);
                        }
                    }
                    part.numbers.resize(part.writes.len(), number);
                }
                Ok(verb) => {
                    let rest = request.rest.to_vec();
                    // what stands before it has to be there first
                    part.submit(&self.router, &mut waiting);
                    settle(&mut waiting, 0, &mut errors, &self.router).await;
                    let asked = Instant::now();
                    let reply = match verb {
                        Verb::Create => self.router.create(&rest).await,
                        Verb::Suspendall | Verb::Resumeall => {
                            self.router.everywhere(verb, &rest).await
                        }
                        _ => self.router.all_copies(verb, &rest).await,
                    };
                    tally.observe(Some(verb), asked.elapsed(), reply.is_error());
                    if reply.is_error() {
                        errors.add(number, reply.text);
                    }
                }
            }
            if part.writes.len() >= PART.0 || part.writes.bytes() >= PART.1 {
                part.submit(&self.router, &mut waiting);
                settle(&mut waiting, PARTS, &mut errors, &self.router).await;
            }
        }
        part.submit(&self.router, &mut waiting);
        settle(&mut waiting, 0, &mut errors, &self.router).await;
        tally.observe(Some(Verb::Batch), since.elapsed(), false);
        self.say(&errors.reply());
        Ok(())
    }

    /// A line that does not end.
    async fn check_length(&mut self) -> Result<(), Gone> {
        if self.input.bytes.len() < LINE_BYTES {
            return Ok(());
        }
        self.answer_all().await;
        self.say(&Reply::error("a request of more than 64 KiB"));
        self.flush().await?;
        Err(Gone)
    }

    /// An answer that is known at once, in its turn.
    async fn in_turn(
        &mut self,
        reply: Reply,
        verb: Option<Verb>,
        since: Instant,
    ) -> Result<(), Gone> {
        self.answer_all().await;
        self.count(verb, since, reply.is_error());
        self.say(&reply);
        Ok(())
    }

    fn say(&mut self, reply: &Reply) {
        reply.write(&mut self.out);
    }

    /// Says how a write went.
    async fn answer(
        &mut self,
        pending: &Pending,
        failures: Result<Failures, oneshot::error::RecvError>,
    ) {
        let reply = pending.reply(&self.router, failures).await;
        self.count(Some(pending.verb), pending.since, reply.is_error());
        self.say(&reply);
    }

    fn count(&self, verb: Option<Verb>, since: Instant, failed: bool) {
        self.router
            .shared()
            .tally
            .observe(verb, since.elapsed(), failed);
    }

    /// Writes down the answers that have come, in order.
    async fn answer_finished(&mut self) {
        while let Some(first) = self.pending.front_mut() {
            let failures = match first.answer.try_recv() {
                Ok(failures) => Ok(failures),
                Err(oneshot::error::TryRecvError::Empty) => return,
                Err(oneshot::error::TryRecvError::Closed) => Ok(vec![(0, FAULT.into())]),
            };
            if let Some(pending) = self.pending.pop_front() {
                self.answer(&pending, failures).await;
            }
        }
    }

    async fn answer_next(&mut self) {
        if let Some(mut pending) = self.pending.pop_front() {
            let failures = (&mut pending.answer).await;
            self.answer(&pending, failures).await;
        }
    }

    async fn answer_all(&mut self) {
        while !self.pending.is_empty() {
            self.answer_next().await;
        }
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        if self.out.is_empty() {
            return Ok(());
        }
        if self.out.len() > MUCH_BYTES {
            let out = std::mem::take(&mut self.out);
            return self.put(&out).await;
        }
        self.stream.write_all(&self.out).await.map_err(|_| Gone)?;
        self.out.clear();
        self.out.shrink_to(READ_BYTES);
        Ok(())
    }
}

/// More from the client.
async fn read(stream: &mut Stream, input: &mut Input) -> Result<(), Gone> {
    while input.bytes.is_empty() {
        // no buffer while it is idle; a new one is said to be readable once although it is not,
        // which would leave 4 KiB to each
        stream.readable().await.map_err(|_| Gone)?;
        input.bytes.reserve(READ_BYTES);
        match stream.try_read_buf(&mut input.bytes) {
            Ok(0) => return Err(Gone),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => input.bytes = Vec::new(),
            Err(_) => return Err(Gone),
        }
    }
    input.bytes.reserve(READ_BYTES);
    match stream.read_buf(&mut input.bytes).await {
        Ok(0) | Err(_) => Err(Gone),
        Ok(_) => Ok(()),
    }
}

/// The verb, when this client may use it; the error is the answer.
fn permitted(allowed: &Allowed, request: &Request<'_>) -> Result<Verb, Reply> {
    if request.word.contains(&0) || request.rest.contains(&0) {
        return Err(Reply::error("a request with a NUL byte"));
    }
    if *request.word == *b"." || request.word.eq_ignore_ascii_case(b"WROTE") {
        // the second is a word of its journal
        return Err(Reply::error(
            [b"Can't use '", &request.word[..], b"' here."].concat(),
        ));
    }
    let verb = request.verb.ok_or_else(|| {
        let word = &request.word[..request.word.len().min(SHOWN_BYTES)];
        Reply::error([b"Unknown command: ", word].concat())
    })?;
    if allowed.has(verb) {
        Ok(verb)
    } else {
        Err(Reply::error("Permission denied."))
    }
}

/// Lines of a BATCH that go into the log together.
#[derive(Default)]
struct Part {
    /// for each write the client's line
    numbers: Vec<u64>,
    writes: Writes,
    /// the client's lines and all behind the verb, if a template may have to make a file
    rests: Vec<(u64, Vec<u8>)>,
}

/// The number of a write of our own, whose failure is no client's.
const NOBODYS: u64 = 0;

/// A part that waits for its answers.
struct Submitted {
    numbers: Vec<u64>,
    rests: Vec<(u64, Vec<u8>)>,
    since: Instant,
    answer: oneshot::Receiver<Failures>,
}

type Waiting = VecDeque<Submitted>;

impl Part {
    fn submit(&mut self, router: &Router, waiting: &mut Waiting) {
        if !self.writes.is_empty() {
            // the next part is as large as this one, as a rule
            let next = Part {
                numbers: Vec::with_capacity(self.numbers.len()),
                writes: self.writes.another(),
                rests: Vec::new(),
            };
            let Part {
                numbers,
                writes,
                rests,
            } = std::mem::replace(self, next);
            waiting.push_back(Submitted {
                numbers,
                rests,
                since: Instant::now(),
                answer: router.submit(writes),
            });
        }
    }
}

/// Waits until at most `most` parts are without their answers.
async fn settle(waiting: &mut Waiting, most: usize, errors: &mut Errors, router: &Router) {
    while waiting.len() > most {
        let Some(Submitted {
            numbers,
            rests,
            since,
            answer,
        }) = waiting.pop_front()
        else {
            return;
        };
        // one line may be several writes
        let mut failed: Vec<(u64, Vec<u8>)> = match answer.await {
            Ok(failures) => failures
                .into_iter()
                .filter_map(|(at, text)| Some((*numbers.get(at)?, text)))
                .collect(),
            Err(_) => numbers
                .iter()
                .map(|number| (*number, FAULT.into()))
                .collect(),
        };
        failed.retain(|(number, _)| *number != NOBODYS);
        failed.dedup_by_key(|(number, _)| *number);
        let mut refused = 0;
        for (number, mut text) in failed {
            let rest = rests
                .iter()
                .find(|(other, _)| *other == number)
                .filter(|_| is_missing(&text));
            if let Some((_, rest)) = rest {
                match router.create_and_update(rest).await {
                    Some(reply) if !reply.is_error() => continue,
                    Some(reply) => text = reply.text,
                    None => {}
                }
            }
            refused += 1;
            errors.add(number, text);
        }
        // nearly all of them; the few FORGETs among them count as updates
        router.shared().tally.observe_many(
            Some(Verb::Update),
            since.elapsed(),
            numbers.len() as u64,
            refused,
        );
    }
}

fn help(rest: &[u8]) -> Reply {
    let (word, _) = crate::request::field(rest);
    match Verb::named(&word) {
        Some(verb) => Reply::list(format!("Help for {}", verb.name()), [verb.usage()]),
        None => Reply::list(
            "Command overview",
            VERBS.map(|(_, name, rest)| format!("{name}{rest}")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
