//! An audit: finds the items at nodes where the map does not place them, and brings them to where
//! they belong, the *homes* of their keys.
//!
//! ```text
//! no home has it            it is added at all homes, and removed where it was
//! homes have the same       homes that lack it get it, too; it is removed
//! homes have a newer value  homes that lack it get that one; it is removed
//! homes have an older one   it takes the place of that; it is removed
//! nobody knows, or homes have several values    it is left
//! a server may forget it    it is removed
//! a home had it at first    it is left: it was deleted there meanwhile
//! ```
//!
//! After that, copies that are missing at some homes are brought there, if that was asked for
//! (`missing.rs`).
//!
//! Hosts read and write the homes meanwhile. Something is added only where nothing is. An older
//! value is exchanged for the newer one in one step, and only if it is still that version. What was
//! at the wrong place is removed last, when the homes have their value durably, and only if it is
//! still the version that was looked at. So the process may be killed at any moment, and an audit
//! that is begun again goes on.
//!
//! Of two files, one counts as newer if its content was written later by its own time *and* its
//! inode was changed later; and as older if its content was written earlier. A backup that was put
//! back keeps the times of contents, and has late times of inodes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use stead::carry::Carry;
use stead::store::KEEP;
use stead::{Map, Store};

use super::audited::{Fate, Found, Seen, Stray, What};
use super::found::refuse_overlooked;
use super::journal::Journal;
use super::kind::{Done, Fault, Item, Node, Version};
use super::pass::{End, Pass, Task};
use super::protocol::{Outcome, Protocol};
use super::refusals::too_many_failed;
use super::route::Routes;
use super::settings::Settings;
use super::tally::{Show, Tally};
use super::throttle::Throttle;
use crate::exit::{Failure, Result, CONFLICT, NOT_YET, NO_INPUT, REFUSED};
use crate::hub::Hub;
use crate::patience::{wait, Patience};

/// For how long hosts that have not confirmed the map are waited for, beyond the grace.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the map and the hub are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Goes through all nodes of the map, and of the map of an earlier epoch if one is given. With
/// `hub`, it brings what it finds to where it belongs, and with `fills` also copies that are
/// missing. Returns what was found, and an error if the audit stopped early.
pub fn audit(
    settings: &Settings,
    epoch: Option<u64>,
    hub: Option<&dyn Hub>,
    fills: bool,
) -> Result<(Found, Result)> {
    let map = Map::open_uncached(&settings.map)?;
    if let Some(carry) = map.carry() {
        return Err(open(settings, &map, &carry));
    }
    let store = Store::new(&settings.map, KEEP);
    let old = match epoch {
        Some(epoch) => store.open_epoch(epoch)?,
        None => Map::from_bytes(map.bytes().to_vec())?,
    };
    let (number, digest) = (map.epoch(), map.digest());
    let kind = settings.kind(&map.map_id())?;
    let routes = Routes::new(Arc::new(old), Arc::new(map), &settings.lost);
    let routes = routes.map_err(|failure| Failure {
        line: format!("{}: {}", settings.file.display(), failure.line),
        ..failure
    })?;
    let nodes: Vec<&Node> = routes.present().iter().map(|n| &routes.nodes[*n]).collect();
    let stop = AtomicBool::new(false);
    let protocol = Protocol {
        kind: &*kind,
        tries: settings.limits.tries,
        stop: &stop,
        #[cfg(test)]
        without_step_3: false,
    };
    let unready = |Fault { line, .. }| Failure::new(NO_INPUT, line);
    protocol.retry(|| kind.ready(&nodes)).map_err(unready)?;
    refuse_overlooked(kind.overlooked(&nodes))?;
    let throttle = Throttle::new(
        settings.limits.items_per_second,
        settings.limits.bytes_per_second,
    );
    let go = |task: Task, tally: &Tally, is_current: &mut dyn FnMut() -> bool| {
        let pass = Pass {
            task,
            kind: &*kind,
            routes: &routes,
            journal: None,
            limits: settings.limits,
            throttle: &throttle,
            stop: &stop,
            tally,
            tell: None,
            #[cfg(test)]
            without_step_3: false,
        };
        pass.run(&mut Show::new(task.told(), None, 0), is_current)
    };
    let report = |tally: &Tally, brings: bool, end: &Result| {
        let mut found = Found::of(number, &tally.audited, &nodes, brings);
        found.notes = kind.notes();
        found.problem = end.as_ref().err().map(|failure| failure.line.clone());
        found
    };
    let tally = Tally::default();
    let end = go(Task::Audit { brings: false }, &tally, &mut || true).map(drop);
    let seen = Instant::now();
    let (Some(hub), true) = (hub, end.is_ok()) else {
        return Ok((report(&tally, false, &end), end));
    };
    let sum = tally.audited.sum();
    let fills = fills && sum.lacking > 0;
    if sum.misplaced == 0 && !fills {
        return Ok((report(&tally, true, &end), end));
    }
    let begun = refuse_blind(&tally, settings, fills)
        .and_then(|()| confirmed(settings, hub, number, digest));
    if let Err(failure) = begun {
        let end = Err(failure);
        return Ok((report(&tally, false, &end), end));
    }
    // a run of a carry, or another audit
    let _lock = locked(settings)?;
    let clear = |last: bool| {
        nodes.iter().try_for_each(|node| {
            let cleared = protocol.retry(|| kind.clear(node, last));
            cleared.map_err(|fault| Failure::new(NO_INPUT, fault.at(node).line))
        })
    };
    clear(false)?;
    let tally = Tally::of_audit(tally.audited.followed());
    let mut looked = Instant::now();
    let mut is_current = || {
        if looked.elapsed() < LOOK {
            return true;
        }
        looked = Instant::now();
        let here = Store::peek(&settings.map);
        let is_here = here.is_ok_and(|here| here.digest == digest);
        let head = hub.head().ok().flatten();
        is_here && head.is_none_or(|head| head.epoch <= number)
    };
    let mut end = go(Task::Audit { brings: true }, &tally, &mut is_current);
    if fills && matches!(end, Ok(End::Done | End::Failed)) {
        thread::sleep(settings.grace().saturating_sub(seen.elapsed()));
        end = go(Task::Fill, &tally, &mut is_current);
    }
    let end = end.and_then(|end| match end {
        End::Stopped => Err(Failure::new(
            CONFLICT,
            "the map is another one now, so the audit has stopped; run it again when no carry is \
             open",
        )),
        _ => clear(true),
    });
    let mut found = report(&tally, true, &end);
    if sum.lacking > 0 && !fills {
        found.notes.push(format!(
            "before this, {} copies were missing at nodes that should have them; run the audit \
             again to see which still are, and with --bring --fill to copy them there",
            sum.lacking
        ));
    }
    Ok((found, end))
}

fn open(settings: &Settings, map: &Map, carry: &Carry) -> Failure {
    Failure::new(
        REFUSED,
        format_args!(
            "{}: a carry is open in epoch {} (state {}), so items are at old and new places; end it \
             with `stead-sync carry run`, and then run the audit",
            settings.map.display(),
            map.epoch(),
            carry.state.word()
        ),
    )
}

/// Holds the lock of an audit, and checks that no run of a carry is at work. The lock is a file
/// beside the journal.
fn locked(settings: &Settings) -> Result<Lock> {
    let journal = settings.journal();
    if Journal::is_open(&journal)? {
        return Err(Failure::new(
            CONFLICT,
            format_args!(
                "{}: a run of a carry is at work by this journal; wait for it, or end it",
                journal.display()
            ),
        ));
    }
    let mut path = journal.into_os_string();
    path.push(".audit");
    let journal = Journal::open(path.as_ref(), "audit")?;
    Ok(Lock(path.into(), journal))
}

/// The lock, with the path of its file.
struct Lock(
    PathBuf,
    #[expect(dead_code, reason = "it is locked")] Journal,
);

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = Journal::remove(&self.0);
    }
}

/// Refuses to move so many items that the file of the carry, or the map, is likely to be wrong.
fn refuse_blind(tally: &Tally, settings: &Settings, fills: bool) -> Result {
    let sum = tally.audited.sum();
    let percent = settings.limits.overlooked;
    let of_nodes = tally.audited.of_nodes();
    let lack = of_nodes.iter().filter_map(|(node, of)| {
        let all = of.items.saturating_sub(of.misplaced) + of.lacking;
        let is_too_much = fills && of.lacking * 100 > all * percent;
        is_too_much.then(|| format!("node {node} lacks {} of {all}", of.lacking))
    });
    let lack: Vec<String> = lack.collect();
    if !lack.is_empty() {
        let told = lack.get(..3).unwrap_or(&lack).join(", ");
        let more = match lack.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} nodes more"),
        };
        return Err(Failure::new(
            REFUSED,
            format_args!(
                "{told}{more}, and more than {percent} % are refused: nothing was changed; if the \
                 disks are there, raise limits.overlooked (percent)"
            ),
        ));
    }
    if sum.misplaced * 100 <= sum.items * percent {
        return Ok(());
    }
    Err(Failure::new(
        REFUSED,
        format_args!(
            "{} of {} items are where the map does not place them, more than {percent} %: nothing \
             was changed; if the pattern, the hash of the map and the map itself are right, raise \
             limits.overlooked (percent)",
            sum.misplaced, sum.items
        ),
    ))
}

/// Checks that the map is the hub's newest, and that all hosts have confirmed it for the grace: a
/// host with an older map writes to other places.
fn confirmed(settings: &Settings, hub: &dyn Hub, epoch: u64, digest: [u8; 32]) -> Result {
    let head = hub.head()?;
    if head.is_none_or(|head| head.digest != digest) {
        return Err(Failure::new(
            CONFLICT,
            format_args!(
                "{}: epoch {epoch} here is not the newest map of the hub {}; push or pull first",
                settings.map.display(),
                settings.url
            ),
        ));
    }
    let patience = Patience {
        epoch,
        grace: settings.grace(),
        timeout: Some(settings.grace() + PATIENCE),
        by_carrier: true,
    };
    let confirmed = wait(hub, &settings.url, patience).map_err(|failure| match failure.code {
        // the audit itself has not failed in part
        NOT_YET => Failure {
            code: CONFLICT,
            line: format!("{}; nothing was changed", failure.line),
        },
        _ => failure,
    });
    confirmed.map(drop)
}

/// An item that is being looked at.
struct Look<'a> {
    item: &'a Item,
    /// its version where it is
    here: Version,
    /// its versions at the homes
    there: Vec<Option<Version>>,
    /// what those homes have that have it
    whats: Vec<Option<What>>,
    /// what they have, all together
    what: What,
    /// why nothing more is done with it
    end: Option<(Fate, String)>,
}

impl Look<'_> {
    fn is_open(&self) -> bool {
        self.end.is_none() && self.what != What::Forgettable
    }

    fn first(&self) -> Option<usize> {
        self.there.iter().position(Option::is_some)
    }

    fn leave(&mut self, why: &str) {
        self.end.get_or_insert((Fate::Left, why.to_owned()));
    }

    fn fail(&mut self, fault: Fault) {
        self.end.get_or_insert((Fate::Failed, fault.line));
    }
}

/// Returns the places of those that something is true of.
fn places_of(looks: &[Look], is_meant: impl Fn(&Look) -> bool) -> Vec<usize> {
    (0..looks.len()).filter(|n| is_meant(&looks[*n])).collect()
}

const CHANGES: &str = "it is being written or deleted; run the audit again";
const DELETED: &str =
    "its right place had it a moment ago, so it was deleted there; remove it here";
const UNKNOWN: &str = "nobody knows which value is the newer one; look at both, and remove one";

impl Pass<'_> {
    /// Looks at items of a node where the map does not place them, and brings them home.
    pub(super) fn audit(&self, node: &Node, items: &[&Item], homes: &[usize]) -> Result {
        let homes: Vec<&Node> = homes.iter().map(|home| &self.routes.nodes[*home]).collect();
        let brings = self.task == (Task::Audit { brings: true });
        let mut looks = self.looks(node, items, &homes);
        self.judge(node, &homes, &mut looks);
        for look in &mut looks {
            let audited = &self.tally.audited;
            match (look.what, brings) {
                (What::OnlyThere, false) | (What::Forgettable, _) => {}
                (_, false) => audited.see(Seen::Elsewhere, look.item, node),
                (What::OnlyThere, true) if audited.has_seen(Seen::Elsewhere, look.item, node) => {
                    look.leave(DELETED);
                }
                (_, true) => {}
            }
        }
        if brings {
            self.refuse_ties(node, items)?;
            self.bring(node, &homes, &mut looks);
        }
        self.tally
            .items
            .fetch_add(looks.len() as u64, Ordering::Relaxed);
        for look in looks {
            let mut stray = Stray::of(look.item, node, &homes, look.what);
            stray.done = match (&look.end, brings) {
                (None, false) => Fate::Left,
                (Some((fate, _)), _) => *fate,
                (None, true) => match look.what {
                    What::OnlyThere => Fate::Brought,
                    What::Newer => Fate::Replaced,
                    _ if look.what != What::Forgettable && look.there.contains(&None) => {
                        Fate::Brought
                    }
                    _ => Fate::Removed,
                },
            };
            let is_failed = stray.done == Fate::Failed;
            stray.why = look.end.map(|(_, why)| why).filter(|_| brings || is_failed);
            let fault = stray.why.clone().map(Fault::final_one);
            self.tally.audited.add(stray);
            if let (true, Some(fault)) = (is_failed, fault) {
                if self.tally.fail() > self.limits.failures {
                    return Err(too_many_failed(
                        self.limits.failures,
                        node,
                        look.item,
                        &fault,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Looks which homes have the items. Those that are gone meanwhile are left out.
    fn looks<'b>(&self, node: &Node, items: &[&'b Item], homes: &[&Node]) -> Vec<Look<'b>> {
        let protocol = self.protocol();
        let here = protocol.versions(node, items);
        let there: Vec<Vec<Done<Option<Version>>>> = homes
            .iter()
            .map(|home| protocol.versions(home, items))
            .collect();
        let mut looks = Vec::new();
        for (place, (item, here)) in items.iter().zip(here).enumerate() {
            let is_forgettable = self.kind.may_forget(item);
            let mut look = Look {
                item,
                here: Version(Vec::new()),
                there: Vec::new(),
                whats: vec![None; homes.len()],
                what: match is_forgettable {
                    true => What::Forgettable,
                    false => What::OnlyThere,
                },
                end: None,
            };
            match here {
                Ok(None) => continue,
                Ok(Some(version)) => look.here = version,
                Err(fault) => look.fail(fault.at(node)),
            }
            for (found, home) in there.iter().zip(homes) {
                match &found[place] {
                    Ok(version) => look.there.push(version.clone()),
                    Err(fault) => {
                        look.there.push(None);
                        look.fail(fault.clone().at(home));
                    }
                }
            }
            looks.push(look);
        }
        looks
    }

    /// Compares the items with the homes that have them.
    fn judge(&self, node: &Node, homes: &[&Node], looks: &mut [Look]) {
        let protocol = self.protocol();
        for (number, home) in homes.iter().enumerate() {
            let has = |look: &Look| look.is_open() && look.there[number].is_some();
            let places = places_of(looks, has);
            let items: Vec<&Item> = places.iter().map(|n| looks[*n].item).collect();
            for (place, judged) in places.iter().zip(protocol.judge_all(node, home, &items)) {
                let look = &mut looks[*place];
                let what = match judged {
                    Ok(Outcome::Present) => Ok(Some(What::Same)),
                    Ok(Outcome::Differs) => self.age(node, home, look.item).map(Some),
                    Ok(_) => Ok(None),
                    Err(fault) => Err(fault),
                };
                match what {
                    Ok(Some(what)) => look.whats[number] = Some(what),
                    Ok(None) => look.leave(CHANGES),
                    Err(fault) => look.fail(fault),
                }
            }
        }
        for look in looks.iter_mut().filter(|look| look.is_open()) {
            let whats: BTreeSet<What> = look.whats.iter().flatten().copied().collect();
            let is_one_of = |what: What| whats.contains(&what);
            look.what = match (is_one_of(What::Older), is_one_of(What::Newer)) {
                _ if whats.is_empty() => continue,
                _ if is_one_of(What::Different) => What::Different,
                (true, false) if whats.len() == 1 => What::Older,
                (true, _) => What::Different,
                (false, true) => What::Newer,
                (false, false) => What::Same,
            };
            match whats.len() {
                _ if look.what != What::Different => {}
                1 => look.leave(UNKNOWN),
                _ => look.leave("its places have several values; look at them, and remove it here"),
            }
        }
        // the homes among themselves: a write or a delete may have reached some of them
        for (first, home) in homes.iter().enumerate() {
            for (second, other) in homes.iter().enumerate() {
                let is_asked = |look: &Look| {
                    let lacks = look.there[second].is_none();
                    let is_first = look.first() == Some(first) && first != second;
                    look.is_open() && is_first && (lacks || look.what == What::Older)
                };
                let places = places_of(looks, is_asked);
                let items: Vec<&Item> = places.iter().map(|n| looks[*n].item).collect();
                for (place, judged) in places.iter().zip(protocol.judge_all(home, other, &items)) {
                    let look = &mut looks[*place];
                    match (judged, look.there[second].is_some()) {
                        (Ok(Outcome::Present), true) | (Ok(Outcome::Absent), false) => {}
                        (Ok(Outcome::Differs), true) => {
                            look.leave("its places have several values; look at them");
                        }
                        (Ok(_), _) => look.leave(CHANGES),
                        (Err(fault), _) => look.fail(fault),
                    }
                }
            }
        }
    }

    /// Says which of two different values is the newer one.
    fn age(&self, node: &Node, home: &Node, item: &Item) -> Done<What> {
        let protocol = self.protocol();
        let dates = |node| protocol.retry(|| self.kind.dates(node, item));
        let (Some(here), Some(there)) = (dates(node)?, dates(home)?) else {
            return Ok(What::Different);
        };
        Ok(match () {
            () if here.content < there.content => What::Older,
            () if here.content > there.content && here.change > there.change => What::Newer,
            () => What::Different,
        })
    }

    /// Checks that nothing ties the items to others, without which they cannot go.
    fn refuse_ties(&self, node: &Node, items: &[&Item]) -> Result {
        let ties = self.protocol().retry(|| self.kind.ties(node, items));
        let ties = ties.map_err(|fault| Failure::new(NO_INPUT, fault.at(node).line))?;
        match ties.first() {
            None => Ok(()),
            Some(tie) => Err(Failure::new(
                NO_INPUT,
                format_args!(
                    "{} at node {}, such as {}: these rows do not go apart, so nothing of them was \
                     brought; drop these foreign keys for the time of the audit, or move the rows \
                     by hand",
                    tie.what, node.name, tie.example
                ),
            )),
        }
    }

    /// Brings items home, and removes them where they were.
    fn bring(&self, node: &Node, homes: &[&Node], looks: &mut [Look]) {
        let protocol = self.protocol();
        for look in looks.iter_mut().filter(|look| look.what == What::Newer) {
            for (number, home) in homes.iter().enumerate() {
                let version = look.there[number].clone();
                let version = version.filter(|_| look.whats[number] == Some(What::Newer));
                let (Some(version), None) = (version, &look.end) else {
                    continue;
                };
                let replaced =
                    protocol.retry(|| self.kind.replace(node, home, look.item, &version));
                match replaced {
                    Ok(Some(true)) => {}
                    Ok(Some(false)) => look.leave(CHANGES),
                    Ok(None) => look.leave("it is newer; copy it to its place by hand"),
                    Err(fault) => look.fail(fault),
                }
            }
        }
        let (mut touched, mut bytes) = (BTreeSet::new(), 0);
        for (number, home) in homes.iter().enumerate() {
            // by the node with the value that counts
            let mut sources: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
            for (place, look) in looks.iter().enumerate() {
                if look.is_open() && look.there[number].is_none() {
                    let source = look.first().filter(|_| look.what == What::Older);
                    sources.entry(source).or_default().push(place);
                }
            }
            for (source, places) in sources {
                let source = source.map_or(node, |source| homes[source]);
                let items: Vec<&Item> = places.iter().map(|n| looks[*n].item).collect();
                touched.insert(number);
                for (place, copied) in places.iter().zip(protocol.copy_all(source, home, &items)) {
                    match copied {
                        Ok(Outcome::Copied(more)) => bytes += more,
                        Ok(Outcome::Present | Outcome::Gone) => looks[*place].leave(CHANGES),
                        Ok(_) => {}
                        Err(fault) => looks[*place].fail(fault),
                    }
                }
            }
            if looks.iter().any(|look| look.what == What::Newer) {
                touched.insert(number);
            }
        }
        for number in touched {
            let home = homes[number];
            if let Err(fault) = protocol.retry(|| self.kind.flush(home)) {
                let fault = fault.at(home);
                looks.iter_mut().for_each(|look| look.fail(fault.clone()));
            }
        }
        let open = places_of(looks, |look| look.end.is_none());
        let pairs: Vec<(&Item, &Version)> = open
            .iter()
            .map(|n| (looks[*n].item, &looks[*n].here))
            .collect();
        let removed = protocol.retry_all(&pairs, |pairs| self.kind.remove_all(node, pairs));
        for (place, removed) in open.into_iter().zip(removed) {
            let look = &mut looks[place];
            match removed.and_then(|is_gone| {
                if is_gone {
                    protocol.retry(|| self.kind.tidy(node, look.item))?;
                }
                Ok(is_gone)
            }) {
                Ok(true) => {}
                Ok(false) => look.leave(
                    "it was written again where it does not belong; find the program that does not \
                     follow the map",
                ),
                Err(fault) => look.fail(fault.at(node)),
            }
        }
        if let Err(fault) = protocol.retry(|| self.kind.flush(node)) {
            let fault = fault.at(node);
            looks.iter_mut().for_each(|look| look.fail(fault.clone()));
        }
        let ends = [node.number, homes[0].number];
        self.throttle
            .done(ends, looks.len() as u64, bytes, self.stop);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Memory;
    use super::super::route::routes;
    use super::super::settings::Limits;
    use super::*;

    #[test]
    fn what_was_deleted_at_its_place_since_the_first_look_does_not_come_back() {
        let routes = routes(1, &["a", "b"], &["a", "b"], &[]);
        let of_b = |item: &Item| routes.homes(&item.key) == [1];
        let all = (0..100).map(|n| Item::of_key(format!("key{n}")));
        let items: Vec<Item> = all.filter(of_b).take(3).collect();
        let (kind, _) = Memory::new(2);
        items.iter().for_each(|item| kind.put(0, item, 1));
        let [deleted, never, both] = &items[..] else {
            panic!("three items of b")
        };
        kind.put(1, deleted, 1);
        kind.put(1, both, 1);
        let go = |brings: bool, tally: &Tally| {
            let pass = Pass {
                task: Task::Audit { brings },
                kind: &kind,
                routes: &routes,
                journal: None,
                limits: Limits::default(),
                throttle: &Throttle::new(0, 0),
                stop: &AtomicBool::new(false),
                tally,
                tell: None,
                without_step_3: false,
            };
            let end = pass.run(&mut Show::new("", None, 0), &mut || true);
            assert!(matches!(end, Ok(End::Done)));
        };
        let first = Tally::default();
        go(false, &first);
        kind.delete(1, deleted);
        let second = Tally::of_audit(first.audited.followed());
        go(true, &second);
        let sum = second.audited.sum();
        assert_eq!((sum.misplaced, sum.brought, sum.removed), (3, 1, 1));
        assert_eq!(kind.names(0), std::slice::from_ref(&deleted.name));
        let mut there = vec![never.name.clone(), both.name.clone()];
        there.sort();
        assert_eq!(kind.names(1), there);
    }
}
