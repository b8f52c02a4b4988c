//! A client's BATCH: its lines up to the dot, and one answer.
//!
//! Writes go into the log in parts. Any other line waits until the parts before it are answered.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::allowed::not_here;
use super::input::Gone;
use super::session::{Session, FAULT, MUCH_BYTES};
use crate::batch::{Errors, GO_AHEAD};
use crate::policy::Policy;
use crate::refusals::is_missing;
use crate::reply::Reply;
use crate::request::{Question, Request};
use crate::router::{Router, Submitted};
use crate::verb::Verb;
use crate::words::Split;
use crate::writes::Writes;

/// The most lines and bytes of a BATCH that go into the log as one record.
const PART: (usize, usize) = (250, 64 << 10);

/// How many parts of one BATCH may wait for their answers.
const PARTS: usize = 8;

/// The line number of a write that the router added; its failure is not reported to the client.
const NOBODYS: u64 = 0;

/// A BATCH that is being read.
struct Batch {
    policy: Policy,
    /// the number of the line that was read last, from 1
    number: u64,
    errors: Errors,
    part: Part,
    /// parts that wait for their answers
    waiting: VecDeque<Waiting>,
}

/// Lines of a BATCH that go into the log together.
#[derive(Default)]
struct Part {
    /// the client's line of each write
    numbers: Vec<u64>,
    writes: Writes,
}

/// A part that waits for its answers.
struct Waiting {
    numbers: Vec<u64>,
    since: Instant,
    submitted: Submitted,
}

impl Session {
    /// Reads the lines up to the dot, and sends one answer.
    pub(super) async fn batch(&mut self, since: Instant) -> Result<(), Gone> {
        self.answer_all().await;
        self.say(&Reply::ok(GO_AHEAD));
        self.flush().await?;
        let mut batch = Batch::new(self.policy);
        loop {
            let Some(line) = self.input.line() else {
                self.input.tidy();
                self.check_length().await?;
                self.read().await?;
                continue;
            };
            let split = Split::of(&self.input.bytes[line]);
            if *split.word == *b"." {
                break;
            }
            batch.number += 1;
            let request = self.allowed.permit(&split).and_then(|verb| {
                if !verb.in_batch() {
                    return Err(not_here(&split.word));
                }
                Request::understand(verb, split.rest, self.router.base())
            });
            match request {
                Err(reply) => batch.refuse(&self.router, split.verb, Duration::ZERO, reply),
                Ok(Request::Write(write)) => {
                    let planned = self.router.plan(&mut batch.part.writes, &write);
                    batch.part.count(planned.own, batch.number);
                }
                Ok(Request::Question(Question::Quit)) => {
                    batch.submit(&self.router).await;
                    return Err(Gone);
                }
                Ok(Request::Question(question)) => {
                    batch.ask(&self.router, split.verb, question).await;
                }
            }
            if batch.part.is_full() {
                batch.submit(&self.router).await;
                batch.settle(PARTS, &self.router).await;
            }
            if batch.errors.are_many() {
                batch.submit(&self.router).await;
                batch.settle(0, &self.router).await;
                batch.errors.close(batch.number + 1);
            }
        }
        batch.submit(&self.router).await;
        batch.settle(0, &self.router).await;
        self.count(Some(Verb::Batch), since, false);
        for piece in batch.errors.answer() {
            self.out.extend_from_slice(&piece);
            if self.out.len() > MUCH_BYTES {
                self.flush().await?;
            }
        }
        Ok(())
    }
}

impl Part {
    /// Records which lines the added writes belong to: first `own` writes of the router, then those
    /// of the client's line `number`.
    fn count(&mut self, own: usize, number: u64) {
        self.numbers.resize(self.numbers.len() + own, NOBODYS);
        self.numbers.resize(self.writes.len(), number);
    }

    fn is_full(&self) -> bool {
        self.writes.len() >= PART.0 || self.writes.bytes() >= PART.1
    }
}

impl Batch {
    fn new(policy: Policy) -> Batch {
        Batch {
            policy,
            number: 0,
            errors: Errors::default(),
            part: Part::default(),
            waiting: VecDeque::new(),
        }
    }

    fn refuse(&mut self, router: &Router, verb: Option<Verb>, took: Duration, reply: Reply) {
        router.shared().tally.observe(verb, took, true);
        self.errors.add(self.number, reply.text);
    }

    /// Handles a line that is not a write, after all lines before it.
    async fn ask(&mut self, router: &Router, verb: Option<Verb>, question: Question) {
        self.submit(router).await;
        self.settle(0, router).await;
        let asked = Instant::now();
        let reply = match question {
            Question::Create(file) => router.create(file, self.policy).await,
            Question::AllCopies(line) => router.all_copies(line).await,
            Question::Everywhere(verb) => router.everywhere(verb).await,
            _ => Reply::error(FAULT), // nothing else is allowed in a BATCH
        };
        match reply.is_error() {
            true => self.refuse(router, verb, asked.elapsed(), reply),
            false => router.shared().tally.observe(verb, asked.elapsed(), false),
        }
    }

    async fn submit(&mut self, router: &Router) {
        // the next part is usually as large as this one
        let next = self.part.writes.another();
        let writes = std::mem::replace(&mut self.part.writes, next);
        let submitted = match router.submit_early(writes, self.policy) {
            Ok(submitted) => submitted,
            Err(writes) => {
                let next = std::mem::replace(&mut self.part.writes, writes);
                self.judge(router).await;
                let writes = std::mem::replace(&mut self.part.writes, next);
                if writes.is_empty() {
                    return;
                }
                router.submit(writes, self.policy)
            }
        };
        let room = Vec::with_capacity(self.part.numbers.len());
        self.waiting.push_back(Waiting {
            numbers: std::mem::replace(&mut self.part.numbers, room),
            since: Instant::now(),
            submitted,
        });
    }

    /// Refuses the client's lines that rrdtool cannot write, and takes them out of the part.
    async fn judge(&mut self, router: &Router) {
        let asked = Instant::now();
        let numbers = &self.part.numbers;
        let refused = router.refused(&mut self.part.writes).await;
        let mut refused: Vec<(u64, Vec<u8>)> = refused
            .into_iter()
            .filter_map(|(at, text)| Some((*numbers.get(at)?, text)))
            .collect();
        if refused.is_empty() {
            return;
        }
        refused.dedup_by_key(|(number, _)| *number); // one line may be several writes
        let stays = |at: usize| refused.iter().all(|(number, _)| *number != numbers[at]);
        let writes = self.part.writes.retained(stays);
        self.part.numbers = (0..numbers.len())
            .filter(|at| stays(*at))
            .map(|at| numbers[at])
            .collect();
        self.part.writes = writes;
        router.shared().tally.observe_many(
            Some(Verb::Update),
            asked.elapsed(),
            refused.len() as u64,
            refused.len() as u64,
        );
        for (number, text) in refused {
            self.errors.add(number, text);
        }
    }

    /// Waits until at most `most` parts have no answer.
    async fn settle(&mut self, most: usize, router: &Router) {
        while self.waiting.len() > most {
            let Some(part) = self.waiting.pop_front() else {
                return;
            };
            self.take(part, router).await;
        }
    }

    /// Waits for the answers to a part and records its errors.
    async fn take(&mut self, part: Waiting, router: &Router) {
        let numbers = &part.numbers;
        // one line may be several writes
        let mut failed: Vec<(u64, Vec<u8>)> = match part.submitted.answer.await {
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
            if is_missing(&text) {
                let of_line = |at: &usize| numbers[*at] == number;
                let lines = (0..numbers.len()).filter(of_line);
                match router
                    .create_and_update(&part.submitted.ticket, lines, self.policy)
                    .await
                {
                    Some(Ok(())) => continue,
                    Some(Err(why)) => text = why,
                    None => {}
                }
            }
            refused += 1;
            self.errors.add(number, text);
        }
        // nearly all of them are updates; the few FORGETs are counted as updates, too
        router.shared().tally.observe_many(
            Some(Verb::Update),
            part.since.elapsed(),
            numbers.len() as u64,
            refused,
        );
    }
}
