//! What a carry can be asked before it goes on, without changing anything.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use stead::carry::{Carry, State};
use stead::format::hex;
use stead::store::KEEP;
use stead::{Map, Store};

use super::about;
use super::ahead::{Ahead, Counted, Tell, What};
use super::found::{empty_nodes, judge_counted, noted, refuse_overlooked, refuse_tied};
use super::ground::{refuse_moved, refuse_unknown, unlike_others};
use super::journal::Journal;
use super::kind::{Done, Fault, Item, Kind, Node};
use super::outcome::{Report, Work};
use super::pass::{Pass, Task};
use super::protocol::Outcome;
use super::refusals::unready;
use super::route::Routes;
use super::settings::Settings;
use super::story::Story;
use super::tally::{Show, Tally};
use super::throttle::Throttle;
use crate::exit::{Failure, Result, IO, NO_INPUT, REFUSED, USAGE};

/// Names a carry in its journal.
pub fn name_of(map: &Map, carry: &Carry) -> String {
    format!("{} {}", hex(&map.map_id()), hex(&carry.from_digest))
}

/// The failure of a map without an open carry.
pub fn none_open(file: &Path, map: &Map) -> Failure {
    Failure::new(
        USAGE,
        format_args!(
            "{}: no carry is open in epoch {}; `stead apply --carry` begins one with the next \
             change, and `stead rollback` goes back if the last one was applied without --carry",
            file.display(),
            map.epoch()
        ),
    )
}

/// Returns the ways of a carry.
///
/// Errors: a wrong `lost`. In the state `new` the new places are the data, so a node that was lost
/// since then may be named.
pub fn checked_routes(
    store: &Store,
    old: Map,
    new: Map,
    carry: &Carry,
    settings: &Settings,
) -> Result<Routes> {
    let epoch = new.epoch();
    let last = store.last_move(&old)?;
    let routes = Routes::new(Arc::new(old), Arc::new(new), &settings.lost);
    let mut routes = routes.map_err(|failure| Failure {
        line: format!("{}: {}", settings.file.display(), failure.line),
        ..failure
    })?;
    routes.uncarried = last.filter(|last| !last.is_carried);
    if !carry.reverse && carry.state != State::New {
        routes.refuse_lost_targets(epoch)?;
    }
    Ok(routes)
}

/// Returns the kind of a carry, whose nodes are ready, and its ways.
fn opened(settings: &Settings, map: Map, carry: &Carry) -> Result<(Box<dyn Kind>, Routes)> {
    let kind = settings.kind(&map.map_id())?;
    let story = story(settings, &name_of(&map, carry))?;
    let store = Store::new(&settings.map, KEEP);
    let old = store.open_epoch(carry.from_epoch)?;
    let routes = checked_routes(&store, old, map, carry, settings)?;
    // `run` says the way out
    let told = |fault: Fault| Failure::new(NO_INPUT, fault.line);
    refuse_unready(&*kind, &routes, &story, &[], told)?;
    Ok((kind, routes))
}

/// Looks for what only the new places have, and counts it, before a carry is turned round.
pub fn look_for_only_new(settings: &Settings, carry: &Carry, tally: &Tally) -> Result {
    let map = Map::open_uncached(&settings.map)?;
    // a new place may be lost: that may be why the carry goes back
    let carry = Carry {
        reverse: true,
        ..*carry
    };
    let (kind, routes) = opened(settings, map, &carry)?;
    let task = Task::Look { reverse: true };
    survey(task, &*kind, &routes, settings, tally, None)
}

/// Lists the items that only the new places have, or that are newer there, and counts them.
pub fn ahead(settings: &Settings, tell: &Tell) -> Result<Counted> {
    let map = Map::open_uncached(&settings.map)?;
    let Some(carry) = map.carry() else {
        return Err(none_open(&settings.map, &map));
    };
    if carry.state == State::New {
        return Err(Failure::new(
            REFUSED,
            format_args!(
                "{}: the carry is in its last state, new, where hosts write the new places only, \
                 so what is written is only there: that is as it should be",
                settings.map.display()
            ),
        ));
    }
    let (kind, routes) = opened(settings, map, &carry)?;
    let counted = Mutex::new(Counted::default());
    let count = |ahead: Ahead| {
        let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = match ahead.what {
            What::OnlyNew => &mut counted.only_new,
            What::Newer => &mut counted.newer,
            What::Different => &mut counted.different,
        };
        *sum += 1;
        tell(ahead)
    };
    let tally = Tally::default();
    survey(Task::Ahead, &*kind, &routes, settings, &tally, Some(&count))?;
    Ok(counted.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Returns what the journal says of a carry, which may not have begun.
fn story(settings: &Settings, carry: &str) -> Result<Story> {
    let story = Journal::peek(&settings.journal())?;
    Ok(story
        .filter(|story| story.carry == carry)
        .unwrap_or_default())
}

fn refuse_unready(
    kind: &dyn Kind,
    routes: &Routes,
    story: &Story,
    moved: &[String],
    told: impl FnOnce(Fault) -> Failure,
) -> Result {
    let nodes: Vec<&Node> = routes.touched().iter().map(|n| &routes.nodes[*n]).collect();
    kind.ready(&nodes).map_err(told)?;
    refuse_moved(kind, &nodes, story, moved).map(drop)
}

/// Goes through all items without a journal, and changes nothing.
fn survey(
    task: Task,
    kind: &dyn Kind,
    routes: &Routes,
    settings: &Settings,
    tally: &Tally,
    tell: Option<&Tell>,
) -> Result {
    let pass = Pass {
        task,
        kind,
        routes,
        journal: None,
        limits: settings.limits,
        throttle: &Throttle::new(0, 0),
        stop: &AtomicBool::new(false),
        tally,
        tell,
        #[cfg(test)]
        without_step_3: false,
    };
    let mut show = Show::new(task.told(), None, 0);
    pass.run(&mut show, &mut || true).map(drop)
}

/// Counts what a carry has to do, without changing anything. `map` has a carry open, or is the one
/// to be carried from the epoch before. Returns the report, and whether a run would go on with what
/// was counted, or why it would refuse to. `moved` are the nodes whose roots were moved on purpose.
pub fn count(settings: &Settings, map_file: &Path, moved: &[String]) -> Result<(Report, Result)> {
    let map = Map::open_uncached(map_file)?;
    let Some(carry) = map.carry() else {
        return Err(none_open(map_file, &map));
    };
    let store = Store::new(map_file, KEEP);
    let old = store.open_epoch(carry.from_epoch)?;
    let mut report = Report::default();
    report.at(&map);
    let map_id = map.map_id();
    let name = name_of(&map, &carry);
    let routes = checked_routes(&store, old, map, &carry, settings)?;
    let kind = settings.kind(&map_id)?;
    let story = story(settings, &name)?;
    refuse_unknown(moved, &routes.nodes)?;
    refuse_unready(&*kind, &routes, &story, moved, |fault| {
        unready(fault, &carry)
    })?;
    let nodes: Vec<&Node> = routes.touched().iter().map(|n| &routes.nodes[*n]).collect();
    // where all nodes are lost, no table was looked at, and nothing is done
    if let Some(then) = story.about.filter(|_| !nodes.is_empty()) {
        about::begins_again(&then, &kind.about(), &carry)?;
    }
    refuse_overlooked(kind.overlooked(&nodes))?;
    let tally = Tally::default();
    let began = Instant::now();
    survey(Task::Count, &*kind, &routes, settings, &tally, None)?;
    report
        .work
        .push(Work::of(Task::Count, &tally, &routes, began.elapsed()));
    report.notes = left_to_do(&carry).map(str::to_owned).into_iter().collect();
    report.notes.extend(kind.notes());
    report.notes.extend(routes.told_lost());
    report.notes.extend(unlike_others(&*kind, &nodes));
    report.notes.extend(noted(Task::Count, &tally, true, ""));
    report.notes.extend(empty_nodes(&routes, &tally));
    let end = refuse_tied(&tally).and_then(|()| judge_counted(&*kind, &routes, &tally, settings));
    match &end {
        Ok(full) => report.notes.extend(full.iter().cloned()),
        Err(failure) => report.problem = Some(failure.line.clone()),
    }
    Ok((report, end.map(drop)))
}

/// Says what a run does from here on, where it does not copy what was counted.
fn left_to_do(carry: &Carry) -> Option<&'static str> {
    match (carry.reverse, carry.state) {
        (true, _) => Some(
            "the carry is being reversed: a run copies nothing from here on, and removes what was \
             copied to the new places",
        ),
        (false, State::New) => Some(
            "a run copies nothing in this state, and removes what was counted at the old places",
        ),
        (false, State::BothNewFirst) => Some(
            "what was counted is at its new places: a run compares it again, and removes the old \
             copies",
        ),
        (false, State::Old | State::BothOldFirst) => None,
    }
}

impl Pass<'_> {
    /// Lists those of these items that only the new place has, or that are newer there. Items that
    /// a server may forget are left out: nothing stops for them.
    pub(super) fn ahead(
        &self,
        from: &Node,
        to: &Node,
        items: &[&Item],
    ) -> Result<Vec<Done<Outcome>>> {
        let protocol = self.protocol();
        let found = protocol.judge_all(from, to, items);
        // a delete may be under way: it has reached the old place, and not yet the new one
        let gone = |n: &usize| matches!(found[*n], Ok(Outcome::Gone));
        let places: Vec<usize> = (0..items.len()).filter(gone).collect();
        let gone: Vec<&Item> = places.iter().map(|n| items[*n]).collect();
        let mut is_only_new = vec![Ok(false); items.len()];
        for (place, only) in places.iter().zip(protocol.only_second_all(from, to, &gone)) {
            is_only_new[*place] = only;
        }
        for ((item, found), only) in items.iter().zip(found).zip(is_only_new) {
            let what = match (found, only) {
                _ if self.kind.may_forget(item) => Ok(None),
                (Err(fault), _) | (_, Err(fault)) => Err(fault),
                (_, Ok(true)) => Ok(Some(What::OnlyNew)),
                (Ok(Outcome::Differs), _) => {
                    let newer = protocol.is_newer(to, from, item);
                    newer.map(|newer| match newer {
                        Some(true) => Some(What::Newer),
                        Some(false) => None,
                        None => Some(What::Different),
                    })
                }
                _ => Ok(None),
            };
            let what = what.map_err(|fault| {
                let (item, line) = (item.told(), fault.line);
                Failure::new(IO, format_args!("{item}: {line}; the list is not whole"))
            })?;
            if let (Some(what), Some(tell)) = (what, self.tell) {
                tell(Ahead::of(item, from, to, what))?;
            }
        }
        Ok(vec![Ok(Outcome::Present); items.len()])
    }
}
