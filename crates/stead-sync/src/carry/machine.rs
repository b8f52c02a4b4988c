//! Takes a carry from state to state: pushes each one, waits for the hosts, does its work.
//!
//! ```text
//!                  push, wait for all hosts, then in this state           then
//! old              count what there is to do                              next
//! both_old_first   copy, verify and mend                                  next
//! both_new_first   verify again                                           next
//! new              remove the old copies; before that, if a new place     close
//!                  was emptied, look for what only old places have
//! reversed:
//! both_old_first   look for what only the new places have                 next
//! old              remove what was copied to the new places               close
//! closed           push; remove the journal
//! ```
//!
//! The map file says which state it is, and the journal what of its work is done. So the process
//! may end anywhere, and the next one goes on. While it works, it is a registered host itself:
//! another carrier waits for it before each step, and it stops as soon as the map is another one.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use stead::carry::{Carry, State, Step};
use stead::format::hex;
use stead::store::{Accept, KEEP};
use stead::{Map, Store};

use super::beside::{self, refuse_beside};
use super::found::{empty_nodes, judge_counted, noted, refuse_overlooked, refuse_tied};
use super::ground::{refuse_moved, refuse_unknown, unlike_others};
use super::journal::Journal;
use super::kind::{Done, Kind, Node};
use super::known_hosts;
use super::outcome::{Report, Work};
use super::pass::{End, Pass, Task};
use super::protocol::Protocol;
use super::refusals::{only_new_before_reverse, unready};
use super::replaced::{refuse_emptied_sources, replaced};
use super::route::Routes;
use super::settings::Settings;
use super::stop::Stop;
use super::story::Story;
use super::survey::{checked_routes, look_for_only_new, name_of, none_open};
use super::tally::{Show, Tally};
use super::throttle::Throttle;
use crate::exit::{say, Failure, Result, CONFLICT, NO_INPUT, REFUSED, USAGE};
use crate::hub::{Hub, Shared};
use crate::open::shared;
use crate::patience::{hosts_have, wait, Patience};
use crate::pull::pull;
use crate::push::{push, push_in_turn, Allowed};
use crate::report::Report as HostReport;
use crate::watch::seconds;

/// How often a run looks whether the map here or at the hub is another one: during a pass, and
/// while it waits for a node. In the tests of races each operator is one thread, which a second
/// look beside its pass would make two on a busy machine.
const LOOK: Duration = Duration::from_secs(if cfg!(test) { 3600 } else { 1 });

/// How many epochs a hub keeps: those of a carry and the one where the data was, and more.
const KEEP_HUB: usize = 16;

/// A carry that is taken on.
pub struct Machine<'a> {
    settings: &'a Settings,
    hub: &'a dyn Hub,
    shared: &'a dyn Shared,
    store: Store,
    pub(super) kind: Box<dyn Kind>,
    /// makes the kind anew: it keeps connections and roots of nodes, which may have moved
    pub(super) kinds: Box<Kinds<'a>>,
    /// the nodes that the kind knows
    nodes: Vec<Node>,
    throttle: Throttle,
    /// the state before whose next step to stop
    until: Option<State>,
    report: Report,
    /// the nodes whose roots were moved on purpose
    moved: Vec<String>,
    /// whether this run has taken a step
    has_stepped: bool,
    /// the epoch and the digest of the map that this run works by
    current: (u64, [u8; 32]),
    /// when it was last looked whether that is still the map, and whether it is not
    looked: Cell<Instant>,
    is_over: Cell<bool>,
    /// sentences about what the passes over the items found; the report has them as its notes
    told: Vec<String>,
    /// what this process reports as, and how it waits for the other hosts
    pub(super) host: String,
    pub(super) wait: Box<Wait<'a>>,
}

/// Makes the kind of data that a carry is about.
pub(super) type Kinds<'a> = dyn Fn() -> Result<Box<dyn Kind>> + 'a;

/// Waits for all hosts of a hub, and returns how many there are: [`wait`].
pub(super) type Wait<'a> = dyn Fn(&dyn Hub, &str, Patience) -> Result<usize> + 'a;

impl<'a> Machine<'a> {
    /// Returns a machine that has done nothing yet.
    ///
    /// Errors: a hub that is only read; options of the kind.
    pub fn new(
        settings: &'a Settings,
        hub: &'a dyn Hub,
        until: Option<State>,
    ) -> Result<Machine<'a>> {
        let limits = settings.limits;
        let store = Store::new(&settings.map, KEEP);
        store.refuse_symlink()?;
        let map = Map::open_uncached(&settings.map)?;
        let map_id = map.map_id();
        let kinds = move || settings.kind(&map_id);
        Ok(Machine {
            shared: shared(hub, &settings.url)?,
            kind: kinds()?,
            kinds: Box::new(kinds),
            nodes: Vec::new(),
            throttle: Throttle::new(limits.items_per_second, limits.bytes_per_second),
            report: Report::default(),
            host: known_hosts::carrier()?,
            wait: Box::new(wait),
            settings,
            hub,
            store,
            until,
            moved: Vec::new(),
            has_stepped: false,
            current: (map.epoch(), map.digest()),
            looked: Cell::new(Instant::now()),
            is_over: Cell::new(false),
            told: Vec::new(),
        })
    }

    /// Takes it for right that the roots of these nodes stand on something else than before.
    pub fn moved(self, moved: &[String]) -> Machine<'a> {
        Machine {
            moved: moved.to_vec(),
            ..self
        }
    }

    /// Goes through the states to the end, or to where it is to stop. The report says what was
    /// done, also after a failure.
    pub fn run(mut self) -> (Report, Result) {
        let end = self.go();
        if let Err(failure) = &end {
            self.report.problem = Some(failure.line.clone());
        }
        (self.report, end)
    }

    fn go(&mut self) -> Result {
        // another carrier on this machine must be gone before anything is done
        let mut journal: Option<Journal> = None;
        refuse_empty(self.hub, self.settings)?;
        loop {
            let map = Map::open_uncached(&self.settings.map)?;
            self.report.at(&map);
            self.current = (map.epoch(), map.digest());
            self.is_over.set(false);
            match self.turn(&map, &mut journal) {
                // a node that is away may be at another address
                Err(_) if self.is_over.get() => self.goes_on(&map)?,
                Ok(false) => {}
                end => return end.map(drop),
            }
        }
    }

    /// Installs the map that has taken the place of this one. The next turn works by it.
    fn goes_on(&self, map: &Map) -> Result {
        say("the map is another one now; I go on with that");
        self.follow(map)
    }

    /// Does what is to be done by one map, with the step to the next one. Returns whether this
    /// run has ended.
    fn turn(&mut self, map: &Map, journal: &mut Option<Journal>) -> Result<bool> {
        let Some(carry) = map.carry() else {
            return self.close(map, journal.take());
        };
        if let Some(until) = self.until.filter(|until| is_past(&carry, *until)) {
            return match journal {
                // somebody else has taken steps
                Some(_) => Ok(true),
                None => Err(Failure::new(
                    USAGE,
                    format_args!(
                        "the carry is in the state {} and past {}; nothing was done",
                        told(&carry),
                        until.word()
                    ),
                )),
            };
        }
        if journal.is_none() {
            let name = name_of(map, &carry);
            let opened = Journal::open(&self.settings.journal(), &name)?;
            opened.note_file(&self.settings.file.to_string_lossy())?;
            *journal = Some(opened);
            // before anything is pushed; what is no error is said where this run registers
            refuse_beside(self.shared, &self.settings.url, &self.host())?;
        }
        let Some(journal) = &*journal else {
            return Ok(false);
        };
        // a mistake is told before anybody is waited for
        let mut routes = self.routes(map, &carry)?;
        self.know(&routes.nodes)?;
        routes.doubt(&journal.doubted());
        if let Some(told) = routes.told_lost().filter(|told| !self.told.contains(told)) {
            say(&told);
            self.told.push(told);
        }
        let nodes: Vec<&Node> = routes.touched().iter().map(|n| &routes.nodes[*n]).collect();
        let is_first = carry.state == State::Old && !carry.reverse;
        if !self.store.is_untouched(map) {
            let ready = self.retry(|| self.kind.ready(&nodes));
            ready.map_err(|fault| unready(fault, &carry))?;
            refuse_unknown(&self.moved, &routes.nodes)?;
            let story = journal.story();
            let grounds = refuse_moved(&*self.kind, &nodes, &story, &self.moved)?;
            journal.note_grounds(&grounds)?;
            // where all nodes are lost, no table was looked at, and nothing is done
            let is_known = !nodes.is_empty();
            if is_known && journal.note_about(&self.kind.about(), &carry)? && !is_first {
                say("other data is to be carried than before, so its passes begin again");
            }
        }
        if is_first {
            let odd = unlike_others(&*self.kind, &nodes);
            if let Some(told) = odd.filter(|told| !self.told.contains(told)) {
                say(&told);
                self.told.push(told);
            }
            refuse_overlooked(self.retry(|| self.kind.overlooked(&nodes)))?;
        }
        if !self.push(map)? {
            return Ok(false);
        }
        self.confirm(map)?;
        self.wait(map, &carry, journal)?;
        match self.work(map, &carry, &routes, journal)? {
            End::Done => {}
            End::Again => return Ok(false),
            End::Stopped => return self.goes_on(map).map(|()| false),
            End::Failed => {
                return Err(Failure::new(
                    crate::exit::NOT_YET,
                    format_args!(
                        "some items failed, and the carry stays in the state \
                         {}: mend what the report says, and run the carry again",
                        carry.state.word()
                    ),
                ))
            }
        }
        if self.until == Some(carry.state) {
            return Ok(true);
        }
        let last = match carry.reverse {
            true => carry.state == State::Old,
            false => carry.state == State::New,
        };
        let step = match last {
            true => Step::Close,
            false => Step::Next,
        };
        let is_untouched = self.store.is_untouched(map);
        if last && is_untouched && !journal.story().holdings.is_empty() {
            // a node that cannot be used keeps the mark that counting left there
            nodes
                .iter()
                .for_each(|node| drop(self.kind.clear(node, true)));
        } else if last && !is_untouched {
            nodes.iter().try_for_each(|node| self.clear(node, true))?;
        }
        self.step(map, step)?;
        Ok(false)
    }

    /// Lets the kind forget what it keeps of nodes, if they are others than before or elsewhere.
    fn know(&mut self, nodes: &[Node]) -> Result {
        if self.nodes != nodes {
            if !self.nodes.is_empty() {
                self.told.extend(self.kind.notes());
                self.kind = (self.kinds)()?;
            }
            self.nodes = nodes.to_vec();
        }
        Ok(())
    }

    /// Takes a step from the map that the hosts have confirmed. Another process may have taken one
    /// just now: then this does nothing.
    fn step(&mut self, map: &Map, step: Step) -> Result {
        let store = match step {
            // whoever looks for wrong places later needs the file
            Step::Close => self.told_by(),
            _ => self.store.clone(),
        };
        match store.carry(map, step) {
            Ok(map) => {
                self.has_stepped = true;
                self.report.at(&map);
                match map.carry() {
                    Some(carry) => say(&format!(
                        "epoch {}: the carry is in the state {}",
                        map.epoch(),
                        told(&carry)
                    )),
                    None => say(&format!("epoch {}: the carry is closed", map.epoch())),
                }
                Ok(())
            }
            Err(error) if error.status() == stead::Status::Conflict => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the store that notes the file of this carry in the history; without the note if the
    /// log cannot have such a name.
    fn told_by(&self) -> Store {
        let mut note = format!("carried by {}", self.settings.file.display());
        for limit in self.settings.limits.raised() {
            note += &format!(", {limit}");
        }
        let noted = self.store.clone().with_note(&note);
        noted.unwrap_or(self.store.clone())
    }

    fn clear(&self, node: &Node, last: bool) -> Result {
        let cleared = self.retry(|| self.kind.clear(node, last));
        cleared.map_err(|fault| Failure::new(NO_INPUT, fault.at(node).line))
    }

    /// Tries something at a node again while it fails for a reason that may pass, and the map is
    /// the same.
    fn retry<T>(&self, what: impl FnMut() -> Done<T>) -> Done<T> {
        self.protocol().retry(what)
    }

    fn protocol(&self) -> Protocol<'_> {
        Protocol {
            kind: &*self.kind,
            tries: self.settings.limits.tries,
            stop: self,
            #[cfg(test)]
            without_step_3: false,
        }
    }

    /// Pushes the map. Returns whether it is the hub's newest; otherwise the one here is newer now.
    fn push(&self, map: &Map) -> Result<bool> {
        let Settings { url, map: file, .. } = self.settings;
        // a map that was stepped by hand may be several states ahead of the hub
        let wait = |map: &Map| {
            self.confirm(map)?;
            let patience = self.patience(map);
            (self.wait)(self.hub, url, patience).map(drop)
        };
        match push_in_turn(self.hub, self.shared, url, file, KEEP_HUB, wait) {
            Ok((pushed, _)) => Ok(pushed.digest() == map.digest()),
            Err(failure) if failure.code == CONFLICT => {
                // somebody else has taken a step, or this is a fork
                match self.follow(map) {
                    Ok(()) => Ok(false),
                    Err(_) => Err(failure),
                }
            }
            Err(failure) => Err(failure),
        }
    }

    /// Installs what the hub has, unless somebody has put another map than this one here.
    fn follow(&self, map: &Map) -> Result {
        let here = Store::peek(&self.settings.map);
        if here.is_ok_and(|here| here.digest != map.digest()) {
            return Ok(());
        }
        pull(self.hub, &self.store, KEEP, Accept::default()).map(|_| ())
    }

    /// Reports this process as a host that has the map.
    ///
    /// Errors: `CONFLICT` when another process of this machine carries by another journal.
    fn confirm(&self, map: &Map) -> Result {
        let beside = refuse_beside(self.shared, &self.settings.url, &self.host())?;
        beside.iter().for_each(|line| say(line));
        let mut report = self.host();
        report.epoch = map.epoch();
        report.installed = map.epoch();
        report.digest = hex(&map.digest());
        report.time = seconds();
        self.shared.report(&report, false)
    }

    fn host(&self) -> HostReport {
        beside::report(&self.host, self.settings)
    }

    /// Waits until all hosts have confirmed the map, also those that had confirmed an earlier state
    /// and that the hub has lost since.
    fn wait(&self, map: &Map, carry: &Carry, journal: &Journal) -> Result {
        let patience = self.patience(map);
        let url = &self.settings.url;
        let hosts = loop {
            let hosts = (self.wait)(self.hub, url, patience)?;
            match known_hosts::check(self.shared, url, journal, map.epoch()) {
                // the hub is away just now
                Err(failure) if failure.is_contact() => {}
                checked => break checked.map(|()| hosts)?,
            }
        };
        let hosts = match hosts {
            0 => "no host is registered, so nobody has".to_owned(),
            hosts => hosts_have(hosts),
        };
        say(&format!(
            "state {}: {hosts} confirmed epoch {}",
            told(carry),
            map.epoch()
        ));
        Ok(())
    }

    /// Says how the hosts are waited for that must confirm a map.
    fn patience(&self, map: &Map) -> Patience {
        Patience {
            epoch: map.epoch(),
            grace: self.settings.grace(),
            timeout: None,
            by_carrier: true,
        }
    }

    fn routes(&self, map: &Map, carry: &Carry) -> Result<Routes> {
        let old = self.store.open_epoch(carry.from_epoch)?;
        if old.digest() != carry.from_digest {
            return Err(Failure::new(
                crate::exit::DATA,
                format_args!(
                    "epoch {} in the history is not the map where the data was; pull it again",
                    carry.from_epoch
                ),
            ));
        }
        let new = Map::from_bytes(map.bytes().to_vec())?;
        checked_routes(&self.store, old, new, carry, self.settings)
    }

    /// Does what is to be done in a state.
    fn work(
        &mut self,
        map: &Map,
        carry: &Carry,
        routes: &Routes,
        journal: &Journal,
    ) -> Result<End> {
        let is_untouched = self.store.is_untouched(map);
        let tasks: &[Task] = match (carry.state, carry.reverse) {
            _ if is_untouched => &[],
            (State::Old, false) => &[Task::Count],
            (State::BothOldFirst, false) => &[Task::Copy, Task::Verify],
            (State::BothNewFirst, false) => &[Task::Check],
            // what is to be removed may be all that is left
            (State::New, _) if !routes.doubted.is_empty() => &[
                Task::Look { reverse: false },
                Task::Remove { reverse: false },
            ],
            (State::Old, true) if !journal.doubted().is_empty() => {
                &[Task::Look { reverse: true }, Task::Remove { reverse: true }]
            }
            (State::New, _) => &[Task::Remove { reverse: false }],
            (State::Old, true) => &[Task::Remove { reverse: true }],
            (State::BothOldFirst, true) => &[Task::Look { reverse: true }],
            (State::BothNewFirst, true) => &[],
        };
        if !carry.reverse && matches!(carry.state, State::Old | State::BothOldFirst) {
            self.refuse_emptied_sources(routes, journal)?;
        }
        for task in tasks {
            // while items are copied, places that were empty are filled
            let relies = !matches!(task, Task::Count | Task::Copy);
            if relies && self.replaced(routes, carry.reverse, journal)? {
                return Ok(End::Again);
            }
            if journal.is_passed(task.word(), map.epoch()) && !self.checks_anew(*task) {
                continue;
            }
            let end = self.pass(*task, map, routes, journal)?;
            if end != End::Done {
                return Ok(end);
            }
            journal.end_pass(task.word(), map.epoch())?;
        }
        // what was compared must be there when hosts begin to rely on it
        if !carry.reverse && carry.state == State::BothOldFirst {
            self.refuse_emptied_sources(routes, journal)?;
        }
        let reads = matches!(carry.state, State::BothOldFirst | State::BothNewFirst);
        match reads && self.replaced(routes, carry.reverse, journal)? {
            true => Ok(End::Again),
            false => Ok(End::Done),
        }
    }

    fn refuse_emptied_sources(&self, routes: &Routes, journal: &Journal) -> Result {
        let most = self.settings.limits.empty;
        refuse_emptied_sources(&self.protocol(), routes, journal, most)
    }

    /// Looks whether places that keep the data were emptied or replaced since the last look. Then
    /// all passes begin again.
    fn replaced(&mut self, routes: &Routes, reverse: bool, journal: &Journal) -> Result<bool> {
        let lost = replaced(&self.protocol(), routes, reverse, journal)?;
        if lost.nodes.is_empty() {
            return Ok(false);
        }
        let told = lost.told("after copies were there") + "; the passes of this state begin again";
        say(&told);
        self.told.push(told);
        Ok(true)
    }

    /// Whether a pass that changes nothing begins from its start. What an earlier run has found may
    /// have changed since: a program that follows one map only has written to its places only. And
    /// how many items differed then is not known.
    fn checks_anew(&self, task: Task) -> bool {
        matches!(task, Task::Check | Task::Look { .. }) && !self.has_stepped
    }

    fn pass(&mut self, task: Task, map: &Map, routes: &Routes, journal: &Journal) -> Result<End> {
        match task {
            // what an earlier run has counted is not known
            Task::Count => journal.begin_pass_anew(task.word(), map.epoch())?,
            _ if self.checks_anew(task) => journal.begin_pass_anew(task.word(), map.epoch())?,
            _ => journal.begin_pass(task.word(), map.epoch())?,
        }
        for node in routes.touched() {
            // what a process left there that was killed
            self.clear(&routes.nodes[node], false)?;
        }
        if task == Task::Check {
            journal.remembered.begin();
        }
        let (tally, stop) = (Tally::default(), AtomicBool::new(false));
        let story = journal.story();
        let mut show = Show::new(task.told(), task.total(story.total), story.done);
        let pass = Pass {
            task,
            kind: &*self.kind,
            routes,
            journal: Some(journal),
            limits: self.settings.limits,
            throttle: &self.throttle,
            stop: &stop,
            tally: &tally,
            tell: None,
            #[cfg(test)]
            without_step_3: false,
        };
        let began = Instant::now();
        let end = pass.run(&mut show, &mut || !self.stops());
        if task == Task::Count && matches!(end, Ok(End::Done)) {
            journal.count(tally.counts().items)?;
        }
        let work = Work::of(task, &tally, routes, began.elapsed());
        work.lines().iter().for_each(|line| say(line));
        self.report.work.push(work);
        self.report.failed(&journal.story(), task.keeper());
        let also = self.kind.differs_also();
        self.told.extend(noted(task, &tally, end.is_ok(), also));
        if task == Task::Count && matches!(end, Ok(End::Done)) {
            let empty = empty_nodes(routes, &tally);
            empty.iter().for_each(|line| say(line));
            self.told.extend(empty);
        }
        self.report.notes = self.kind.notes();
        self.report.notes.extend(self.told.iter().cloned());
        if matches!(end, Ok(End::Done)) {
            refuse_tied(&tally)?;
        }
        if task == Task::Count && matches!(end, Ok(End::Done)) {
            let full = judge_counted(&*self.kind, routes, &tally, self.settings)?;
            full.iter().for_each(|line| say(line));
            self.told.extend(full.iter().cloned());
            self.report.notes.extend(full);
        }
        end
    }

    /// Whether this map is still the newest here and at the hub. A hub that is away says nothing.
    fn is_newest(&self, (epoch, digest): (u64, [u8; 32])) -> bool {
        let here = Store::peek(&self.settings.map);
        if here.is_ok_and(|here| here.digest != digest) {
            return false;
        }
        let head = self.hub.head().ok().flatten();
        head.is_none_or(|head| head.epoch <= epoch)
    }

    /// Ends a carry: the hub has the last epoch, and nothing is left of the work. Returns whether
    /// it is the last one.
    fn close(&mut self, map: &Map, journal: Option<Journal>) -> Result<bool> {
        let path = self.settings.journal();
        if journal.is_none() && Journal::peek(&path)?.is_none() {
            return Err(none_open(&self.settings.map, map));
        }
        if !self.push(map)? {
            return Ok(false);
        }
        let story = match &journal {
            Some(journal) => journal.story(),
            None => Journal::peek(&path)?.unwrap_or_default(),
        };
        let left = self.left_by_hand(map, &story);
        left.iter().for_each(|line| say(line));
        self.report.notes.extend(left);
        self.shared.forget(&self.host)?;
        drop(journal);
        Journal::remove(&path)?;
        self.report.at(map);
        Ok(true)
    }

    /// Says that a carry was closed before this process, or one before it, had removed what nobody
    /// needs any more: by hand, or by a run on another machine, which has a journal of its own.
    fn left_by_hand(&self, map: &Map, story: &Story) -> Option<String> {
        let before = self.store.open_epoch(map.epoch().checked_sub(1)?).ok()?;
        before.carry()?;
        let is_done = story
            .passed
            .contains(&("remove".to_owned(), before.epoch()));
        (!is_done && !self.store.is_untouched(&before)).then(|| {
            format!(
                "epoch {} closed the carry, and this journal does not say that copies were removed \
                 where nobody needs them any more: if it was closed by hand, and not by a run on \
                 another machine, such copies are left, and what was not copied is not at its place",
                map.epoch()
            )
        })
    }
}

impl Stop for Machine<'_> {
    /// Whether the map is another one now.
    fn stops(&self) -> bool {
        if !self.is_over.get() && self.looked.get().elapsed() >= LOOK {
            self.looked.set(Instant::now());
            self.is_over.set(!self.is_newest(self.current));
        }
        self.is_over.get()
    }
}

/// Refuses a hub that has no map: no host follows it, so none would be waited for.
pub fn refuse_empty(hub: &dyn Hub, settings: &Settings) -> Result {
    match hub.head()? {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            NO_INPUT,
            format_args!(
                "{}: this hub has no map, so no host follows it; correct url, or begin with \
                 `stead-sync push {} {} --allow first`",
                settings.url,
                settings.map.display(),
                settings.url
            ),
        )),
    }
}

/// Whether a carry has gone on from this state.
fn is_past(carry: &Carry, state: State) -> bool {
    let place = |state| match state {
        State::Old => 0,
        State::BothOldFirst => 1,
        State::BothNewFirst => 2,
        State::New => 3,
    };
    match carry.reverse {
        false => place(carry.state) > place(state),
        true => place(carry.state) < place(state),
    }
}

/// Names a state: `both_old_first`, or `old, being reversed`.
pub fn told(carry: &Carry) -> String {
    match carry.reverse {
        true => format!("{}, being reversed", carry.state.word()),
        false => carry.state.word().to_owned(),
    }
}

/// Turns a carry round, and pushes that.
///
/// From `both_old_first` this leads to `old` at once, where hosts write the old places only. So
/// what only the new places have is looked for before, while hosts write both.
pub fn reverse(settings: &Settings, hub: &dyn Hub) -> Result<Map> {
    let to = shared(hub, &settings.url)?;
    let store = Store::new(&settings.map, KEEP);
    let before = Map::open_uncached(&settings.map)?;
    let map = match before.carry() {
        // a push that failed is made up for
        Some(carry) if carry.reverse => before,
        Some(carry) if carry.state == State::New => {
            return Err(Failure::new(
                REFUSED,
                format_args!(
                    "{}: it is too late: the carry is in its last state, new, where hosts write the new places \
                     only; finish it with `stead-sync carry run`, and carry the data back by another \
                     change",
                    settings.map.display()
                ),
            ))
        }
        Some(carry) if carry.state == State::BothOldFirst => {
            refuse_only_new(settings, &carry)?;
            store.carry(&before, Step::Reverse)?
        }
        _ => store.carry(&before, Step::Reverse)?,
    };
    let Settings { url, map: file, .. } = settings;
    push(hub, to, url, file, Allowed::default(), KEEP_HUB)?;
    Ok(map)
}

/// Refuses to go back where more items than the limit are only at their new places. Where these
/// cannot be looked at, going back may be the only way, and nothing can be removed there now.
fn refuse_only_new(settings: &Settings, carry: &Carry) -> Result {
    let tally = Tally::default();
    if let Err(Failure { line, .. }) = look_for_only_new(settings, carry, &tally) {
        say(&format!(
            "nobody knows whether items are only at their new places, since not all can be looked \
             at: {line}"
        ));
    }
    let (count, first) = tally.strays();
    match count > settings.limits.only_new {
        true => Err(only_new_before_reverse(count, &first)),
        false => Ok(()),
    }
}
