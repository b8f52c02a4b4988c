//! Handles a client's requests, one after the other.
//!
//! A client may send the next request before the last one is answered. Writes are taken as they
//! come, so that many share one sync of the log. Any other request waits until the earlier requests
//! of the same client are answered, so that the client sees its own writes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::allowed::Allowed;
use super::input::{Gone, Input};
use super::session::{within, Pending, Session};
use crate::connection::Stream;
use crate::fetch::Wanted;
use crate::policy::Policy;
use crate::reply::Reply;
use crate::request::{FileLine, Question, Request};
use crate::router::Router;
use crate::verb::{Verb, VERBS};
use crate::words::Split;
use crate::writes::Writes;

/// How many requests of one client may wait for their answers; beyond, nothing is read from the
/// client.
const WAITING: usize = 256;

/// How long a client that leaves may take to hear that its connection ends.
const GOODBYE: Duration = Duration::from_secs(1);

/// Serves one client until it leaves.
pub(crate) async fn serve(
    stream: Stream,
    router: Arc<Router>,
    allowed: Arc<Allowed>,
    policy: Policy,
    ending: watch::Receiver<bool>,
) {
    let _connected = router.shared().tally.arrived();
    let mut client = Session {
        stream,
        input: Input::default(),
        out: Vec::new(),
        pending: VecDeque::new(),
        router,
        allowed,
        policy,
        ending,
    };
    // why a client leaves does not matter here
    let _ = client.run().await;
    // a client that has closed only its sending half still reads
    client.answer_all().await;
    let _ = client.flush().await;
    // over TLS, the other side may take a connection without an end for cut off
    if let Stream::Tls(stream) = &mut client.stream {
        if !stream.is_accepted() {
            client.router.shared().tally.refused();
        }
        let _ = tokio::time::timeout(GOODBYE, stream.shutdown()).await;
    }
}

impl Session {
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
            let limit = self.silence();
            match self.pending.front_mut() {
                None => tokio::select! {
                    biased;
                    _ = self.ending.wait_for(|ending| *ending) => return Err(Gone),
                    read = within(limit, self.input.read(&mut self.stream)) => read?,
                },
                Some(first) => {
                    let failures = tokio::select! {
                        failures = &mut first.submitted.answer => Some(failures),
                        read = self.input.read(&mut self.stream) => { read?; None }
                    };
                    if let Some((failures, pending)) =
                        failures.and_then(|failures| Some((failures, self.pending.pop_front()?)))
                    {
                        self.answer(&pending, failures.ok()).await;
                    }
                }
            }
        }
    }

    async fn request(&mut self, line: Range<usize>) -> Result<(), Gone> {
        let since = Instant::now();
        let split = Split::of(&self.input.bytes[line]);
        let verb = split.verb;
        let request = self
            .allowed
            .permit(&split)
            .and_then(|verb| Request::understand(verb, split.rest, self.router.base()));
        match request {
            Ok(Request::Write(write)) => {
                let mut writes = Writes::default();
                let (verb, planned) = (write.verb(), self.router.plan(&mut writes, &write));
                let submitted = match self.router.submit_early(writes, self.policy) {
                    Ok(submitted) => submitted,
                    Err(mut writes) => {
                        let refused = self.router.refused(&mut writes).await;
                        if let Some((_, text)) = refused.into_iter().next() {
                            return self.in_turn(Reply::error(text), Some(verb), since).await;
                        }
                        self.router.submit(writes, self.policy)
                    }
                };
                self.pending.push_back(Pending {
                    verb,
                    since,
                    planned,
                    submitted,
                });
                Ok(())
            }
            // boxed, because it has room for all that a read needs, and most clients only write
            Ok(Request::Question(question)) => Box::pin(self.question(verb, question, since)).await,
            Err(reply) => self.in_turn(reply, verb, since).await,
        }
    }

    async fn question(
        &mut self,
        verb: Option<Verb>,
        question: Question,
        since: Instant,
    ) -> Result<(), Gone> {
        match &question {
            Question::Ping => return self.in_turn(Reply::ok("PONG"), verb, since).await,
            Question::Help(about) => return self.in_turn(help(*about), verb, since).await,
            Question::Batch => return self.batch(since).await,
            _ => {}
        }
        // the answer must reflect what this client wrote before
        self.answer_all().await;
        self.flush().await?;
        let reply = match question {
            Question::Fetch(line, wanted) => return self.fetch(line, wanted, since).await,
            Question::Create(file) => self.router.create(file, self.policy).await,
            Question::OneCopy(line) => self.router.one_copy(line).await,
            Question::AllCopies(line) => self.router.all_copies(line).await,
            Question::List(listing) => self.router.list(listing).await,
            Question::Everywhere(verb) => self.router.everywhere(verb).await,
            Question::Ping | Question::Help(_) | Question::Batch | Question::Quit => {
                return Err(Gone)
            }
        };
        self.count(verb, since, reply.is_error());
        self.say(&reply);
        Ok(())
    }

    /// Handles a FETCH. If its answer may be large, the answer is not copied once more, and a
    /// client that does not read it is disconnected.
    async fn fetch(
        &mut self,
        line: FileLine,
        wanted: Option<Wanted>,
        since: Instant,
    ) -> Result<(), Gone> {
        let verb = line.verb;
        let (reply, permit) = self.router.fetch(line, wanted).await;
        self.count(Some(verb), since, reply.is_error());
        if permit.is_none() {
            self.say(&reply);
            return Ok(());
        }
        self.put(&reply.head()).await?;
        self.put(&reply.lines).await
    }
}

fn help(about: Option<Verb>) -> Reply {
    match about {
        Some(verb) => Reply::list(format!("Help for {}", verb.name()), [verb.usage()]),
        None => Reply::list(
            "Command overview",
            VERBS.map(|(_, name, rest)| format!("{name}{rest}")),
        ),
    }
}
