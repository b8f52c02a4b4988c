//! Clients: where they connect, what they may ask for, and their answers in the order of their requests.
//!
//! A client may send the next request before the last is answered. Writes are taken as they come, so that many share one sync of the
//! log; anything else waits until what the same client asked before is answered, so that it sees its own writes.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::batch::{Errors, GO_AHEAD};
use crate::connection::{Address, Stream};
use crate::journal::Journal;
use crate::reply::Reply;
use crate::request::{Request, Verb, VERBS};
use crate::router::{Planned, Router};
use crate::socket::Socket;

/// The longest request: some hundred times what rrdtool sends for its longest CREATE.
const LINE_BYTES: u64 = 1 << 20;
/// Requests of one client that wait for their answers; beyond, it is not read from.
const WAITING: usize = 256;
/// Lines and bytes of a BATCH that go into the log as one record.
const PART: (usize, usize) = (1000, 256 << 10);
/// Parts of one BATCH that wait for their answers.
const PARTS: usize = 8;

/// Which requests a listener takes.
#[derive(Clone, Debug, Default)]
pub struct Allowed(Option<Vec<Verb>>);

impl Allowed {
    /// Reads `UPDATE,FLUSH`; the error says which word is none.
    pub fn parse(text: &str) -> Result<Allowed, String> {
        let verb = |word: &str| Verb::named(word.trim().as_bytes()).ok_or_else(|| format!("{word:?} is no command of rrdcached; see HELP"));
        text.split(',').map(verb).collect::<Result<_, _>>().map(|verbs| Allowed(Some(verbs)))
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
    /// Listens. A unix socket that nobody answers on is taken over; an address that is not loopback is refused unless `public`.
    pub async fn bind(address: &Address, allowed: Allowed, public: bool) -> io::Result<Listener> {
        let socket = Socket::bind(address, public).await?;
        Ok(Listener { socket, allowed: Arc::new(allowed) })
    }

    /// The address, with the port that the system chose when 0 was asked for.
    pub fn address(&self) -> io::Result<String> {
        self.socket.address()
    }

    /// Takes clients; never ends.
    pub async fn run<J: Journal>(self, router: Arc<Router<J>>) {
        loop {
            match self.socket.accept().await {
                Ok(stream) => {
                    tokio::spawn(serve(stream, Arc::clone(&router), Arc::clone(&self.allowed)));
                }
                Err(error) => {
                    // no descriptor is left, most likely: some client has to go first
                    eprintln!("stead-rrd: cannot take a client: {error}");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// What goes to a client, in order.
enum Out {
    Now(Reply),
    /// The one reply of these.
    Later(JoinHandle<Vec<Reply>>),
    /// Tells that all before it is sent.
    Told(oneshot::Sender<()>),
}

/// One client, until it goes.
async fn serve<J: Journal>(stream: Stream, router: Arc<Router<J>>, allowed: Arc<Allowed>) {
    let (read, write) = tokio::io::split(stream);
    let (out, outgoing) = mpsc::channel(WAITING);
    let writer = tokio::spawn(send(write, outgoing));
    let mut client = Client { from: BufReader::new(read), out, router, allowed };
    // the reasons why a client goes are its own
    let _ = client.run().await;
    drop(client);
    let _ = writer.await;
}

async fn send(mut to: WriteHalf<Stream>, mut outgoing: mpsc::Receiver<Out>) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let next = match outgoing.try_recv() {
            Ok(next) => next,
            Err(_) => {
                flush(&mut to, &mut bytes).await?;
                let Some(next) = outgoing.recv().await else { return to.shutdown().await };
                next
            }
        };
        match next {
            Out::Now(reply) => bytes.extend(reply.bytes()),
            Out::Later(task) => {
                if !task.is_finished() {
                    flush(&mut to, &mut bytes).await?;
                }
                let reply = task.await.ok().and_then(|replies| replies.into_iter().next());
                bytes.extend(reply.unwrap_or_else(|| Reply::error("a fault in the router")).bytes());
            }
            Out::Told(tell) => {
                flush(&mut to, &mut bytes).await?;
                let _ = tell.send(());
            }
        }
        if bytes.len() > PART.1 {
            flush(&mut to, &mut bytes).await?;
        }
    }
}

async fn flush(to: &mut WriteHalf<Stream>, bytes: &mut Vec<u8>) -> io::Result<()> {
    if !bytes.is_empty() {
        to.write_all(bytes).await?;
        bytes.clear();
    }
    Ok(())
}

struct Client<J> {
    from: BufReader<ReadHalf<Stream>>,
    out: mpsc::Sender<Out>,
    router: Arc<Router<J>>,
    allowed: Arc<Allowed>,
}

/// The client has gone, or has to.
struct Gone;

impl<J: Journal> Client<J> {
    async fn run(&mut self) -> Result<(), Gone> {
        let mut line = Vec::new();
        loop {
            self.line(&mut line).await?;
            let request = Request::parse(&line);
            match self.permitted(&request) {
                Err(reply) => self.say(reply).await?,
                Ok(verb @ (Verb::Update | Verb::Create | Verb::Forget)) => match self.router.plan(verb, request.rest) {
                    Ok(planned) => {
                        let task = self.router.submit(vec![planned]);
                        self.out.send(Out::Later(task)).await.map_err(|_| Gone)?;
                    }
                    Err(reply) => self.say(reply).await?,
                },
                Ok(Verb::Batch) => self.batch().await?,
                Ok(Verb::Quit) => return Ok(()),
                Ok(Verb::Ping) => self.say(Reply::ok("PONG")).await?,
                Ok(Verb::Help) => self.say(help(request.rest)).await?,
                Ok(verb) => {
                    self.all_sent().await?;
                    let reply = match verb {
                        Verb::Flush | Verb::Suspend | Verb::Resume => self.router.all_copies(verb, request.rest).await,
                        _ if verb.has_path() => self.router.read(verb, request.rest).await,
                        _ => self.router.everywhere(verb, request.rest).await,
                    };
                    self.say(reply).await?;
                }
            }
        }
    }

    /// The verb, when this client may use it; the error is the answer.
    fn permitted(&self, request: &Request<'_>) -> Result<Verb, Reply> {
        if request.word == b"." {
            return Err(Reply::error("Can't use '.' here."));
        }
        let verb = request.verb.ok_or_else(|| Reply::error([b"Unknown command: ", &request.word[..]].concat()))?;
        if self.allowed.has(verb) {
            Ok(verb)
        } else {
            Err(Reply::error("Permission denied."))
        }
    }

    /// The lines up to the dot, and one answer.
    async fn batch(&mut self) -> Result<(), Gone> {
        self.say(Reply::ok(GO_AHEAD)).await?;
        let (mut line, mut number) = (Vec::new(), 0u64);
        let mut errors = Errors::default();
        let mut part = Part::default();
        let mut waiting = std::collections::VecDeque::new();
        loop {
            self.line(&mut line).await?;
            let request = Request::parse(&line);
            if request.word == b"." {
                break;
            }
            number += 1;
            let verb = match self.permitted(&request) {
                Ok(verb) if !verb.in_batch() => Err([b"Can't use '", &request.word[..], b"' here."].concat()),
                Ok(verb) => Ok(verb),
                Err(reply) => Err(reply.text),
            };
            match verb {
                Err(text) => errors.add(number, text),
                Ok(Verb::Quit) => {
                    part.submit(&self.router, &mut waiting);
                    return Err(Gone);
                }
                Ok(verb @ (Verb::Update | Verb::Create | Verb::Forget)) => match self.router.plan(verb, request.rest) {
                    Ok(planned) => part.add(number, line.len(), planned),
                    Err(reply) => errors.add(number, reply.text),
                },
                Ok(verb) => {
                    // what stands before it has to be there first
                    part.submit(&self.router, &mut waiting);
                    settle(&mut waiting, 0, &mut errors).await;
                    let reply = self.router.all_copies(verb, request.rest).await;
                    if reply.is_error() {
                        errors.add(number, reply.text);
                    }
                }
            }
            if part.numbers.len() >= PART.0 || part.bytes >= PART.1 {
                part.submit(&self.router, &mut waiting);
                settle(&mut waiting, PARTS, &mut errors).await;
            }
        }
        part.submit(&self.router, &mut waiting);
        settle(&mut waiting, 0, &mut errors).await;
        self.say(errors.reply()).await
    }

    /// The next line.
    async fn line(&mut self, line: &mut Vec<u8>) -> Result<(), Gone> {
        line.clear();
        (&mut self.from).take(LINE_BYTES).read_until(b'\n', line).await.map_err(|_| Gone)?;
        if line.last() == Some(&b'\n') {
            return Ok(());
        }
        if line.len() as u64 == LINE_BYTES {
            self.say(Reply::error("a request of more than 1 MiB")).await?;
        }
        Err(Gone)
    }

    async fn say(&self, reply: Reply) -> Result<(), Gone> {
        self.out.send(Out::Now(reply)).await.map_err(|_| Gone)
    }

    /// Waits until everything that was asked before is answered.
    async fn all_sent(&self) -> Result<(), Gone> {
        let (tell, told) = oneshot::channel();
        self.out.send(Out::Told(tell)).await.map_err(|_| Gone)?;
        told.await.map_err(|_| Gone)
    }
}

/// Lines of a BATCH that go into the log together.
#[derive(Default)]
struct Part {
    numbers: Vec<u64>,
    planned: Vec<Planned>,
    bytes: usize,
}

type Waiting = std::collections::VecDeque<(Vec<u64>, JoinHandle<Vec<Reply>>)>;

impl Part {
    fn add(&mut self, number: u64, bytes: usize, planned: Planned) {
        self.numbers.push(number);
        self.planned.push(planned);
        self.bytes += bytes;
    }

    fn submit<J: Journal>(&mut self, router: &Arc<Router<J>>, waiting: &mut Waiting) {
        let part = std::mem::take(self);
        if !part.numbers.is_empty() {
            waiting.push_back((part.numbers, router.submit(part.planned)));
        }
    }
}

/// Waits until at most `most` parts are without their answers.
async fn settle(waiting: &mut Waiting, most: usize, errors: &mut Errors) {
    while waiting.len() > most {
        let Some((numbers, task)) = waiting.pop_front() else { return };
        match task.await {
            Ok(replies) => {
                let failed = numbers.into_iter().zip(replies).filter(|(_, reply)| reply.is_error());
                failed.for_each(|(number, reply)| errors.add(number, reply.text));
            }
            Err(_) => numbers.into_iter().for_each(|number| errors.add(number, b"a fault in the router".to_vec())),
        }
    }
}

fn help(rest: &[u8]) -> Reply {
    let (word, _) = crate::request::field(rest);
    match Verb::named(&word) {
        Some(verb) => Reply::list(format!("Help for {}", verb.name()), [verb.usage()]),
        None => Reply::list("Command overview", VERBS.map(|(_, name, rest)| format!("{name}{rest}"))),
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
        assert!(Allowed::parse("update,wrote").unwrap_err().contains("wrote"));
    }
}
