//! The router: which backends a request goes to, and one answer from theirs.
//!
//! A write goes into the log, and when it is durable to the queues of all its backends that are up,
//! in the order of the log, so that all copies of a file see the same writes in the same order. The
//! client hears what the first of them says. When none is up the log has it, which is enough to
//! acknowledge an update.
//!
//! A read goes to the first backend that is up to date, and to the next when that one fails or has
//! no such file.
//!
//! Writes to a file can be held: they are durable, and wait here until the file is where it shall
//! be.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use smallvec::SmallVec;
use stead::map::Node;
use stead::Map;
use tokio::sync::{oneshot, Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};

use crate::backend::{Access, Backend, Lines, Work};
use crate::connection::Address;
use crate::create::first_time;
use crate::fetch::{Wanted, LARGE_VALUES, MOST_VALUES, SHORT_SECONDS};
use crate::files::Files;
use crate::health::Health;
use crate::layout::{BackendId, Layout, Placement};
use crate::lock::lock;
use crate::log::Log;
use crate::path::{escaped, join, Base};
use crate::record;
use crate::reply::Reply;
use crate::request::{field, words, Verb};
use crate::shared::{Options, Shared};
use crate::values::{value_count, word_count, WORD_BYTES};
use crate::writes::{is_missing, Failures, Ticket, Writes};

/// The attribute of a node that says where its rrdcached listens.
pub const ADDRESS: &str = "rrdcached";
/// The attribute of a node that says how its files can be reached.
pub const FILES: &str = "files";

/// The longest line that goes to a backend: rrdcached reads 8,191 bytes, and writes 4,095 of an
/// update into its journal.
const LINE_BYTES: usize = 4000;
/// Large answers that are kept in memory at the same time, for however many clients.
const LARGE_ANSWERS: usize = 4;
/// Definitions in one CREATE: rrdcached has room for 128, and dies of more.
const DEFINITIONS: usize = 127;

/// Routes requests by the map, or by two while files move.
pub struct Router {
    shared: Arc<Shared>,
    /// by their numbers; a backend that is in no map any more keeps its number
    backends: RwLock<Vec<Arc<Backend>>>,
    tasks: Mutex<HashMap<BackendId, [JoinHandle<()>; 2]>>,
    order: Mutex<Order>,
    /// held by whoever creates files, and exclusively while it has to be sure that nobody does
    pub creating: tokio::sync::RwLock<()>,
    /// rings when a backend has come up
    pub came_up: Arc<Notify>,
    /// for those who fetch much
    large: Arc<Semaphore>,
}

/// What was written to the log and not yet offered.
#[derive(Default)]
struct Order {
    /// the last record that was looked at
    through: u64,
    waiting: VecDeque<Logged>,
    /// by file: lines of tickets, in the order of the log
    held: HashMap<Vec<u8>, Vec<(Arc<Ticket>, usize)>>,
}

struct Logged {
    ticket: Arc<Ticket>,
    parts: Parts,
    /// of the layout by which `parts` were made
    version: u64,
}

/// The lines for each backend.
type Parts = SmallVec<[(BackendId, Lines); 4]>;

/// How the success of a write is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    /// So many values of an UPDATE.
    Enqueued(usize),
    /// CREATE.
    Created,
    /// FORGET.
    Gone,
}

/// What was understood of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// How its success is said.
    pub success: Success,
    /// The first so many of its writes are our own: the client does not hear of their failures.
    pub own: usize,
}

impl Success {
    /// The reply.
    pub fn reply(self) -> Reply {
        match self {
            Success::Enqueued(count) => Reply::ok(format!("errors, enqueued {count} value(s).")),
            Success::Created => Reply::ok("RRD created OK"),
            Success::Gone => Reply::ok("Gone!"),
        }
    }
}

impl Router {
    /// A router whose backends are down until [`start`](Router::start); the error says which node
    /// lacks what. The log is told for whom to keep records by [`follow`](Router::follow), when all
    /// backends are known: whoever is left out once has lost its place.
    pub fn new(map: Map, log: Arc<dyn Log>, options: Options) -> Result<Arc<Router>, String> {
        let empty = Placement::new(
            Map::from_bytes(map.bytes().to_vec()).map_err(|error| error.to_string())?,
            Vec::new(),
        );
        let newest = log.newest();
        let router = Arc::new(Router {
            shared: Arc::new(Shared::new(options, log, Layout::new(empty))),
            backends: RwLock::default(),
            tasks: Mutex::default(),
            order: Mutex::new(Order {
                through: newest,
                ..Order::default()
            }),
            creating: tokio::sync::RwLock::new(()),
            came_up: Arc::new(Notify::new()),
            large: Arc::new(Semaphore::new(LARGE_ANSWERS)),
        });
        let side = router.side(map)?;
        router.shared.layout_mut().replace(side);
        Ok(router)
    }

    /// Starts the tasks.
    pub fn start(self: &Arc<Self>) {
        for place in self.shared.layout().all() {
            self.start_backend(place);
        }
        tokio::spawn(Arc::clone(self).dispatch());
    }

    /// Starts the tasks of a backend that has none.
    pub fn start_backend(&self, place: BackendId) {
        let backend = self.backend(place);
        lock(&self.tasks).entry(place).or_insert_with(|| {
            [
                tokio::spawn(Arc::clone(&backend).run()),
                tokio::spawn(backend.confirm()),
            ]
        });
    }

    /// Ends the tasks of backends that are in no map any more.
    pub fn retire(&self) {
        let all = self.shared.layout().all();
        lock(&self.tasks).retain(|place, tasks| {
            let stays = all.contains(place);
            if !stays {
                tasks.iter().for_each(JoinHandle::abort);
                self.backend(*place).down(&io::Error::new(
                    io::ErrorKind::NotConnected,
                    "it is in no map any more",
                ));
            }
            stays
        });
    }

    /// A map with the backends of its nodes: those that are known by name, told where they are now,
    /// and new ones.
    pub fn side(&self, map: Map) -> Result<Placement, String> {
        let sites = map.nodes().map(site).collect::<Result<Vec<_>, _>>()?;
        let known = self.shared.layout().all();
        let mut backends = self
            .backends
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut places = Vec::new();
        for (node, site) in map.nodes().zip(sites) {
            if let Some(backend) = backends
                .iter()
                .find(|backend| backend.name() == node.name() && known.contains(&backend.place()))
            {
                backend.move_to(site);
                places.push(backend.place());
                continue;
            }
            let place = BackendId::try_from(backends.len()).map_err(|_| {
                "too many backends since the start; start the router again".to_owned()
            })?;
            let (shared, came_up) = (Arc::clone(&self.shared), Arc::clone(&self.came_up));
            backends.push(Arc::new(Backend::new(
                node.name(),
                place,
                site,
                shared,
                came_up,
            )));
            places.push(place);
        }
        drop(backends);
        Ok(Placement::new(map, places))
    }

    /// Tells the log for whom it has to keep records.
    pub fn follow(&self) -> Result<(), String> {
        let all = self.shared.layout().all();
        self.follow_these(&all)
    }

    /// Tells it to keep them for these.
    pub fn follow_these(&self, places: &[BackendId]) -> Result<(), String> {
        let backends: Vec<_> = places.iter().map(|place| self.backend(*place)).collect();
        let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
        self.shared
            .log
            .follow(&names)
            .map_err(|error| format!("the log: {error}"))
    }

    /// What router and backends have in common.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// A backend by its number.
    pub fn backend(&self, place: BackendId) -> Arc<Backend> {
        Arc::clone(&self.backends.read().unwrap_or_else(PoisonError::into_inner)[place as usize])
    }

    /// The backends of the map, or of both.
    pub fn backends(&self) -> Vec<Arc<Backend>> {
        self.shared
            .layout()
            .all()
            .into_iter()
            .map(|place| self.backend(place))
            .collect()
    }

    /// The base that clients see.
    pub fn base(&self) -> &Base {
        &self.shared.options.base
    }

    /// The name of the file that a request is about, and the rest of its line; the error is the
    /// answer.
    pub fn file<'a>(&self, verb: Verb, rest: &'a [u8]) -> Result<(Vec<u8>, &'a [u8]), Reply> {
        let (path, rest) = field(rest);
        self.name(verb, &path).map(|name| (name.into_owned(), rest))
    }

    fn name<'a>(&self, verb: Verb, path: &'a [u8]) -> Result<std::borrow::Cow<'a, [u8]>, Reply> {
        if path.is_empty() {
            return Err(Reply::error(verb.usage()));
        }
        if path.len() > WORD_BYTES {
            return Err(Reply::error(format!(
                "a path of {} bytes; at most {WORD_BYTES}",
                path.len()
            )));
        }
        self.base()
            .name(path)
            .map_err(|outside| Reply::error(outside.0))
    }

    /// Understands an UPDATE, or a FORGET, and adds it to `writes`, an UPDATE that is too long for
    /// one line as several, a FORGET with a FLUSH before it; the error is the answer, and nothing
    /// was added.
    ///
    /// While nobody who could say that a file is missing is up, an UPDATE that a template fits has
    /// a CREATE before it.
    pub fn plan(&self, writes: &mut Writes, verb: Verb, rest: &[u8]) -> Result<Planned, Reply> {
        let (path, rest) = field(rest);
        let name = self.name(verb, &path)?;
        match verb {
            Verb::Update => {
                let count = value_count(rest)?;
                if count == 0 {
                    return Err(Reply::error("No values updated."));
                }
                let before = writes.len();
                if self.shared.options.create.is_some() && !self.somebody_is_up(&name) {
                    self.push_creation(writes, &name, rest);
                }
                let own = writes.len() - before;
                // its name twice: each blank may need a backslash
                let room = LINE_BYTES - 2 * name.len();
                let mut left = rest;
                while left.len() > room {
                    let end = left[..room]
                        .iter()
                        .rposition(|b| *b == b' ')
                        .unwrap_or(room)
                        + 1;
                    let (line, behind) = left.split_at(end);
                    if words(line).next().is_some() {
                        writes.push(verb, &name, line, b"");
                    }
                    left = behind;
                }
                if words(left).next().is_some() {
                    writes.push(verb, &name, left, b"");
                }
                Ok(Planned {
                    success: Success::Enqueued(count),
                    own,
                })
            }
            _ => {
                // a read flushes one copy only: what waits is written by all before it is
                // forgotten, so that all copies stay equal
                word_count(rest)?;
                writes.push(Verb::Flush, &name, b"", b"");
                writes.push(verb, &name, b"", b"");
                Ok(Planned {
                    success: Success::Gone,
                    own: 1,
                })
            }
        }
    }

    /// Adds the CREATE of a file that a template fits; false when none does. It says -O: a file
    /// that is there stays as it is.
    fn push_creation(&self, writes: &mut Writes, name: &[u8], values: &[u8]) -> bool {
        let rest = self
            .shared
            .options
            .create
            .as_ref()
            .and_then(|templates| templates.rest(name, first_time(values)));
        if let Some(rest) = &rest {
            writes.push(Verb::Create, name, rest, b"");
        }
        rest.is_some()
    }

    /// Makes the file that an UPDATE named and that nobody has, if a template fits, and updates it;
    /// `None` when none fits.
    pub async fn create_and_update(&self, rest: &[u8]) -> Option<Reply> {
        let (name, values) = self.file(Verb::Update, rest).ok()?;
        let mut writes = Writes::default();
        let _guard = self.creating.read().await;
        if !self.push_creation(&mut writes, &name, values) {
            return None;
        }
        let planned = self.plan(&mut writes, Verb::Update, rest).ok()?;
        let failures = self.submit(writes).await.ok()?;
        // another has made it meanwhile, or some copies were there
        let told = |(line, text): &(usize, Vec<u8>)| {
            *line > planned.own || !text.ends_with(b"File exists")
        };
        let failed = failures.into_iter().find(told);
        Some(failed.map_or_else(|| planned.success.reply(), |(_, text)| Reply::error(text)))
    }

    fn somebody_is_up(&self, name: &[u8]) -> bool {
        let places = self.shared.layout().now(name);
        places
            .iter()
            .any(|place| self.backend(*place).state() == Health::Up)
    }

    /// Makes a file. Nobody does so while the mover has to be sure that none comes into being.
    pub async fn create(&self, rest: &[u8]) -> Reply {
        let _guard = self.creating.read().await;
        let mut writes = Writes::default();
        if let Err(reply) = self.plan_create(&mut writes, rest) {
            return reply;
        }
        match self.submit(writes).await {
            Ok(failures) => failures
                .into_iter()
                .next()
                .map_or_else(|| Success::Created.reply(), |(_, text)| Reply::error(text)),
            Err(_) => Reply::error("a fault in the router"),
        }
    }

    fn plan_create(&self, writes: &mut Writes, rest: &[u8]) -> Result<(), Reply> {
        let (path, rest) = field(rest);
        let name = &*self.name(Verb::Create, &path)?;
        word_count(rest)?;
        if let Some(word) = words(rest).find(|word| matches!(word, [b'-', b'r' | b't', ..])) {
            let word = String::from_utf8_lossy(word);
            return Err(Reply::error(format!(
                "{word}: it names a file of one server, which the \
                others do not have; write the definitions out"
            )));
        }
        let definitions = words(rest)
            .filter(|word| word.starts_with(b"DS:") || word.starts_with(b"RRA:"))
            .count();
        if definitions > DEFINITIONS || rest.len() + 2 * name.len() > 2 * LINE_BYTES - 100 {
            return Err(Reply::error(format!(
                "{definitions} definitions in {} bytes; at most {DEFINITIONS}, in 5,900 bytes",
                rest.len()
            )));
        }
        let mut more = Vec::new();
        if !self.shared.options.overwrite && !words(rest).any(|word| word == b"-O") {
            more.extend_from_slice(b" -O");
        }
        if !words(rest).any(|word| word.starts_with(b"-b")) {
            // rrdcached would take its own time, and each copy another; ten seconds back, as it
            // does
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_secs());
            more.extend_from_slice(format!(" -b {}", now.saturating_sub(10)).as_bytes());
        }
        if !self.somebody_is_up(name) {
            return Err(self.nobody(name));
        }
        // what is told first stands first: rrdcached takes options only before the definitions
        writes.push(Verb::Create, name, &more, rest);
        Ok(())
    }

    /// Takes writes: at once, in the order of the calls. The answer comes when one backend of each
    /// line, or the log alone, has it.
    pub fn submit(&self, writes: Writes) -> oneshot::Receiver<Failures> {
        let mut record = Vec::with_capacity(writes.bytes() + 16 * writes.len());
        let mut parts = Parts::new();
        let version = {
            let layout = self.shared.layout();
            let backends = self.backends.read().unwrap_or_else(PoisonError::into_inner);
            for line in 0..writes.len() {
                let name = writes.name(line);
                let now = layout.now(name);
                // where it may move to gets it from the log if it has moved when that is read
                let ever = layout.target().map(|_| layout.ever(name));
                let names = ever
                    .as_ref()
                    .unwrap_or(&now)
                    .iter()
                    .map(|place| backends[*place as usize].name());
                record::push(&mut record, names, writes.line(line));
                now.into_iter()
                    .for_each(|place| add(&mut parts, place, line));
            }
            layout.version()
        };
        if writes.len() == 1 {
            parts.iter_mut().for_each(|(_, lines)| *lines = Lines::All);
        }
        let mut order = lock(&self.order);
        match self.shared.log.append(&record) {
            Ok(number) => {
                let (ticket, answer) = Ticket::new(number, writes);
                order.waiting.push_back(Logged {
                    ticket: Arc::new(ticket),
                    parts,
                    version,
                });
                answer
            }
            Err(error) => {
                drop(order);
                let (ticket, answer) = Ticket::new(0, writes);
                ticket.fail(&not_logged(error));
                answer
            }
        }
    }

    /// Offers to the backends what has become durable; never ends.
    async fn dispatch(self: Arc<Self>) {
        let mut progress = self.shared.log.frontier();
        loop {
            let come = progress.borrow_and_update().clone();
            self.offer_through(come.newest);
            if let Some(why) = come.broken {
                for logged in std::mem::take(&mut lock(&self.order).waiting) {
                    logged.ticket.fail(&not_logged(&why)); // nobody gets it
                }
            }
            // under the same lock as append: what comes later hears of it from there
            if progress.changed().await.is_err() {
                return;
            }
        }
    }

    fn offer_through(&self, newest: u64) {
        let mut order = lock(&self.order);
        let backends = self.backends.read().unwrap_or_else(PoisonError::into_inner);
        while order
            .waiting
            .front()
            .is_some_and(|logged| logged.ticket.number <= newest)
        {
            let Some(Logged {
                ticket,
                mut parts,
                version,
            }) = order.waiting.pop_front()
            else {
                break;
            };
            let layout = self.shared.layout();
            if version != layout.version() || !order.held.is_empty() {
                parts.clear();
                for line in 0..ticket.writes.len() {
                    let name = ticket.writes.name(line);
                    match order.held.get_mut(name) {
                        Some(held) => {
                            ticket.will_be_given();
                            held.push((Arc::clone(&ticket), line));
                        }
                        None => layout
                            .now(name)
                            .into_iter()
                            .for_each(|place| add(&mut parts, place, line)),
                    }
                }
            }
            drop(layout);
            ticket.expect(parts.len());
            for (place, lines) in parts {
                backends[place as usize].offer(
                    Work {
                        ticket: Arc::clone(&ticket),
                        lines,
                    },
                    false,
                );
            }
            ticket.given();
        }
        order.through = newest;
        order.note(&self.shared);
    }

    /// Holds the writes to this file from now on; false when they are held already.
    pub fn hold(&self, name: &[u8]) -> bool {
        let mut order = lock(&self.order);
        let free = !order.held.contains_key(name);
        if free {
            order.held.insert(name.to_vec(), Vec::new());
        }
        free
    }

    /// Lets them go on, to where the file is now.
    pub fn release(&self, name: &[u8]) {
        let mut order = lock(&self.order);
        let places = self.shared.layout().now(name);
        for (ticket, line) in order.held.remove(name).into_iter().flatten() {
            ticket.expect(places.len());
            for place in &places {
                self.backend(*place).offer(
                    Work {
                        ticket: Arc::clone(&ticket),
                        lines: Lines::These(vec![line as u32]),
                    },
                    true,
                );
            }
            ticket.given();
        }
        order.note(&self.shared);
    }

    fn nobody(&self, name: &[u8]) -> Reply {
        let places = self.shared.layout().now(name);
        let backends: Vec<_> = places.iter().map(|place| self.backend(*place)).collect();
        let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
        let mut text = [self.base().directory(), b"/", name].concat();
        text.extend_from_slice(
            format!(
                ": none of its servers is up ({}); try again later",
                names.join(", ")
            )
            .as_bytes(),
        );
        Reply::error(text)
    }

    /// What is asked of one copy and has a small answer.
    pub async fn read(&self, verb: Verb, written: &[u8]) -> Reply {
        let (name, rest) = match self.file(verb, written) {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        let mut line = match line_of(verb, &name, rest) {
            Ok(line) => line,
            Err(reply) => return reply,
        };
        if verb == Verb::First && rest.is_empty() && ends_with_a_blank(written) {
            line.push(b' '); // rrdcached takes an empty index for 0
        }
        self.first_of(&name, |backend| {
            let line = line.clone();
            async move { backend.ask(&line, false).await }
        })
        .await
    }

    /// FETCH and FETCHBIN: as [`read`](Router::read), but not more than fits. With a large answer
    /// comes a permit, to be kept as long as the answer is.
    pub async fn fetch(&self, verb: Verb, written: &[u8]) -> (Reply, Option<OwnedSemaphorePermit>) {
        let (name, rest) = match self.file(verb, written) {
            Ok(found) => found,
            Err(reply) => return (reply, None),
        };
        let line = match line_of(verb, &name, rest) {
            Ok(line) => line,
            Err(reply) => return (reply, None),
        };
        let permit = match self.permit(&name, rest).await {
            Ok(permit) => permit,
            Err(reply) => return (reply, None),
        };
        let large = permit.is_some();
        let reply = self.first_of(&name, |backend| {
            let line = line.clone();
            async move {
                let binary = verb == Verb::Fetchbin;
                if large {
                    backend.ask_large(&line, binary).await
                } else {
                    backend.ask(&line, binary).await
                }
            }
        });
        (reply.await, permit)
    }

    /// Whether a FETCH is too much, and a permit when its answer is a large one; the error is the
    /// answer.
    async fn permit(
        &self,
        name: &[u8],
        rest: &[u8],
    ) -> Result<Option<OwnedSemaphorePermit>, Reply> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs() as i64);
        let Some(wanted) =
            Wanted::parse(rest, now).filter(|wanted| wanted.seconds() > SHORT_SECONDS)
        else {
            return Ok(None);
        };
        let info = [b"INFO ", &escaped(name)[..]].concat();
        let info = self.first_of(name, |backend| {
            let info = info.clone();
            async move { backend.ask(&info, false).await }
        });
        match wanted.values(&info.await) {
            Some(values) if values > MOST_VALUES => {
                let (from, to) = wanted.times();
                Err(Reply::error(format!(
                    "{values} values from {from} to {to}; at most \
                    {MOST_VALUES} in one answer: ask for a shorter time"
                )))
            }
            Some(values) if values > LARGE_VALUES => {
                let permit = tokio::time::timeout(
                    self.shared.options.patience,
                    Arc::clone(&self.large).acquire_owned(),
                )
                .await;
                permit.ok().and_then(Result::ok).map(Some).ok_or_else(|| {
                    Reply::error(format!(
                        "{LARGE_ANSWERS} large answers are on their way to others; try again later"
                    ))
                })
            }
            _ => Ok(None),
        }
    }

    /// Asks the first backend of the file that is up to date, and the next when that fails or has
    /// no such file.
    async fn first_of<F>(&self, name: &[u8], ask: impl Fn(Arc<Backend>) -> F) -> Reply
    where
        F: std::future::Future<Output = io::Result<Reply>>,
    {
        let mut refused = None;
        let places = {
            let layout = self.shared.layout();
            let mut places = layout.now(name);
            // it may have moved a moment ago
            places.extend(
                layout
                    .ever(name)
                    .into_iter()
                    .filter(|place| !layout.now(name).contains(place)),
            );
            places
        };
        for place in places {
            match ask(self.backend(place)).await {
                Ok(reply) if reply.is_error() && is_missing(&reply.text) => {
                    refused = refused.or(Some(reply))
                }
                Ok(reply) => return reply,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Reply::error(error.to_string())
                }
                Err(_) => {}
            }
        }
        refused.unwrap_or_else(|| self.nobody(name))
    }

    /// FLUSH, SUSPEND, RESUME: all backends of the file that are up; the answer of the first of
    /// them in the file's order.
    pub async fn all_copies(&self, verb: Verb, rest: &[u8]) -> Reply {
        let (name, rest) = match self.file(verb, rest) {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        let line = match line_of(verb, &name, rest) {
            Ok(line) => line,
            Err(reply) => return reply,
        };
        let places = self.shared.layout().now(&name);
        let replies = self.ask_all(&places, line, verb != Verb::Flush).await;
        let mut refused = None;
        for reply in replies {
            if !reply.is_error() {
                return reply;
            }
            refused = refused.or(Some(reply));
        }
        refused.unwrap_or_else(|| self.nobody(&name))
    }

    /// Asks many at once; the replies in the order of `places`, without those that could not
    /// answer.
    async fn ask_all(&self, places: &[BackendId], line: Vec<u8>, apart: bool) -> Vec<Reply> {
        let line: Arc<[u8]> = line.into();
        let mut tasks = JoinSet::new();
        for (at, place) in places.iter().enumerate() {
            let (backend, line) = (self.backend(*place), Arc::clone(&line));
            if backend.state() == Health::Up {
                tasks.spawn(async move {
                    let asked = if apart {
                        backend.ask_apart(&line).await
                    } else {
                        backend.ask(&line, false).await
                    };
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
        let all = self.shared.layout().all();
        self.ask_all(&all, line.to_vec(), false).await
    }

    /// FLUSHALL, SUSPENDALL, RESUMEALL, LIST, STATS, QUEUE: every backend that is up, and one
    /// answer of all.
    pub async fn everywhere(&self, verb: Verb, rest: &[u8]) -> Reply {
        match verb {
            Verb::List => self.list(rest).await,
            Verb::Stats => summed(&self.ask_every(b"STATS").await),
            Verb::Queue => {
                let replies = self.ask_every(b"QUEUE").await;
                if replies.is_empty() {
                    no_backend()
                } else {
                    Reply::list("in queue.", replies.iter().flat_map(Reply::each))
                }
            }
            _ => {
                let replies = self.ask_every(verb.name().as_bytes()).await;
                if let Some(error) = replies.iter().find(|reply| reply.is_error()) {
                    return error.clone();
                }
                counted(&replies)
                    .or_else(|| replies.first().cloned())
                    .unwrap_or_else(no_backend)
            }
        }
    }

    /// The union of what the backends list.
    async fn list(&self, rest: &[u8]) -> Reply {
        let mut parts: VecDeque<&[u8]> = words(rest).collect();
        let recursive = parts.front().is_some_and(|word| *word == b"RECURSIVE");
        let mut line = b"LIST ".to_vec();
        if recursive {
            parts.pop_front();
            line.extend_from_slice(b"RECURSIVE ");
        }
        let (path, _) = field(parts.front().copied().unwrap_or_default());
        if path.first() != Some(&b'/') {
            return Reply::error(Verb::List.usage());
        }
        if path.len() > WORD_BYTES {
            return Reply::error(format!(
                "a path of {} bytes; at most {WORD_BYTES}",
                path.len()
            ));
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

impl Order {
    /// Tells up to where all was offered: nothing that is held was.
    fn note(&self, shared: &Shared) {
        let held = self
            .held
            .values()
            .filter_map(|held| held.first())
            .map(|(ticket, _)| ticket.number)
            .min();
        shared.offered.store(
            held.map_or(self.through, |held| self.through.min(held - 1)),
            Ordering::Release,
        );
    }
}

fn add(parts: &mut Parts, place: BackendId, line: usize) {
    let part = match parts.iter_mut().position(|(other, _)| *other == place) {
        Some(at) => &mut parts[at].1,
        None => {
            parts.push((place, Lines::These(Vec::new())));
            let last = parts.len() - 1;
            &mut parts[last].1
        }
    };
    if let Lines::These(lines) = part {
        lines.push(line as u32);
    }
}

/// Where a node is, by its attributes.
fn site(node: Node<'_>) -> Result<Access, String> {
    let attribute = |name: &str| {
        node.attributes()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let wrong = |attribute: &str, error: String| {
        format!("node {}, attribute {attribute:?}: {error}", node.name())
    };
    let address = attribute(ADDRESS).ok_or_else(|| {
        let name = node.name();
        format!(
            "node {name} has no attribute {ADDRESS:?}; give it one in the fleet: attributes = \
            {{ {ADDRESS} = \"host:port\" }}"
        )
    })?;
    let address = Address::parse(address).map_err(|error| wrong(ADDRESS, error))?;
    let files = attribute(FILES)
        .map(|text| Files::parse(text).map_err(|error| wrong(FILES, error)))
        .transpose()?;
    Ok(Access { address, files })
}

/// Whether a blank ends this that belongs to no word: there is no backslash before it that is not
/// itself behind one.
fn ends_with_a_blank(written: &[u8]) -> bool {
    written.strip_suffix(b" ").is_some_and(|before| {
        before
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count()
            % 2
            == 0
    })
}

fn line_of(verb: Verb, name: &[u8], rest: &[u8]) -> Result<Vec<u8>, Reply> {
    let mut line = [verb.name().as_bytes(), b" ", &escaped(name)].concat();
    if !rest.is_empty() {
        line.push(b' ');
        line.extend_from_slice(rest);
    }
    match words(rest)
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
        .max(line.len() / 4)
    {
        longest if longest > WORD_BYTES => Err(Reply::error(format!(
            "a request of {} bytes; at most {LINE_BYTES}, and {WORD_BYTES} a word",
            line.len()
        ))),
        _ => Ok(line),
    }
}

fn not_logged(error: impl fmt::Display) -> Vec<u8> {
    format!("the router's log took nothing: {error}")
        .replace('\n', " ")
        .into_bytes()
}

fn no_backend() -> Reply {
    Reply::error("no server is up; try again later")
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
        let Some((name, value)) = text.split_once(": ") else {
            continue;
        };
        let Ok(value) = value.parse::<u64>() else {
            continue;
        };
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) if name == "TreeDepth" => *sum = value.max(*sum),
            Some((_, sum)) => *sum = sum.saturating_add(value),
            None => sums.push((name.to_owned(), value)),
        }
    }
    if replies.is_empty() {
        return no_backend();
    }
    Reply::list(
        "Statistics follow",
        sums.into_iter().map(|(name, sum)| format!("{name}: {sum}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_backends_are_added() {
        let replies = [
            Reply::list("Statistics follow", ["A: 1", "TreeDepth: 3"]),
            Reply::list("Statistics follow", ["A: 41", "TreeDepth: 2"]),
        ];
        assert_eq!(
            summed(&replies),
            Reply::list("Statistics follow", ["A: 42", "TreeDepth: 3"])
        );
        assert_eq!(
            counted(&[Reply::ok("2 rrds suspend"), Reply::ok("3 rrds suspend")]),
            Some(Reply::ok("5 rrds suspend"))
        );
        assert_eq!(counted(&[Reply::ok("Started flush.")]), None);
        assert_eq!(counted(&[]), None);
    }

    #[test]
    fn a_blank_at_the_end_may_belong_to_the_name() {
        for (written, ends) in [
            ("a ", true),
            ("a\\ ", false),
            ("a\\\\ ", true),
            ("a", false),
            (" ", true),
            ("", false),
        ] {
            assert_eq!(ends_with_a_blank(written.as_bytes()), ends, "{written}");
        }
    }

    #[test]
    fn a_missing_file_is_told_from_other_errors() {
        for text in [
            "No such file: /b/x.rrd",
            "RRD Error: opening '/b/x': No such file or directory",
            "No such file or directory",
        ] {
            assert!(is_missing(text.as_bytes()), "{text}");
        }
        assert!(!is_missing(b"unknown consolidation function"));
    }
}
