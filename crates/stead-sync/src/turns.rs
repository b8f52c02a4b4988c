//! Which epoch a push may bring next: the hosts of a hub never skip a state of a carry.
//!
//! ```text
//! before   old   both_old_first   both_new_first   new   closed
//!    0      1          2                3           4       5      a carry that goes on
//!    0      1          2                                           one that is being reversed
//!    0 (closed: with the content of the old map)
//! ```
//!
//! Hosts are safe while they are at most one state apart: one more, and some read where others do
//! not write yet. Somebody who takes steps by hand can be several states ahead of the hub. So a
//! push brings the newest epoch that is at most one state from the hub's, and it goes on to a
//! further state only when every registered host has confirmed the hub's epoch.
//!
//! A hub that was restored from a backup has an older epoch than its hosts. A host that has an
//! epoch between the hub's and the map here has been through the hub's. Where all hosts are there,
//! the newest epoch that all of them have takes the place of the hub's.

use stead::carry::{Carry, State};
use stead::format::hex;
use stead::store::Link;
use stead::{Map, Store};

use crate::confirm::lacking;
use crate::exit::{Failure, Result, CONFLICT};
use crate::hub::{Head, Host, Hub};

/// What a push may bring to a hub now.
#[derive(Debug)]
pub struct Next {
    /// The epoch on the way to the map here; `None`: the map here itself.
    pub on_the_way: Option<Map>,
    /// The hub's map, if all hosts must have confirmed it before.
    pub after: Option<Map>,
    /// The epochs after the hub's, up to the map here. Who has one of them is ahead of the hub.
    ahead: Vec<Link>,
}

impl Next {
    /// The map here, whatever the hosts have.
    pub const NEWEST: Next = Next {
        on_the_way: None,
        after: None,
        ahead: Vec::new(),
    };

    /// Returns what may come after the head, which is an ancestor of the map. Where all hosts are
    /// ahead of the head, it is what may come after the newest epoch that all of them have.
    ///
    /// Errors: `CONFLICT` when the history lacks epochs in between, and a carry is open in what is
    /// there.
    pub fn after(
        hub: &dyn Hub,
        head: &Head,
        hosts: &[Host],
        map: &Map,
        store: &Store,
    ) -> Result<Next> {
        let (first, carry, later) = match had_by_all(hosts, head, map, store) {
            Some((carry, later)) => (None, carry, later),
            None => match line(hub, head, map, store)? {
                Some((first, mut later)) => {
                    later.push((Link::of(map), map.carry()));
                    let carry = first.carry();
                    (Some(first), carry, later)
                }
                None => return Ok(Next::NEWEST),
            },
        };
        let (mut at, mut before) = (0, carry);
        let mut best = (0, Link::of(map));
        for (link, now) in &later {
            if carry.is_some() && now.is_some_and(|now| !is_same(carry, now)) {
                // the next carry begins when this one is closed at the hosts
                break;
            }
            at += place(*now) - place(before) + turn(before, *now);
            before = *now;
            if (-1..=1).contains(&at) {
                best = (at, *link);
            }
        }
        let (moved, link) = best;
        let on_the_way = match link == Link::of(map) {
            true => None,
            false => Some(store.open_epoch(link.epoch)?),
        };
        if on_the_way.as_ref().is_some_and(|map| Link::of(map) != link) {
            return Err(unknown(link.epoch, head));
        }
        let then = on_the_way.as_ref().unwrap_or(map).carry();
        // to go back needs no word of the hosts: they had that state a moment ago
        let turns_round = moved <= 0
            && carry.is_some_and(|carry| !carry.reverse && then.is_none_or(|then| then.reverse));
        let asks = moved != 0 && carry.is_some() && !turns_round;
        Ok(Next {
            on_the_way,
            after: first.filter(|_| asks),
            ahead: later.into_iter().map(|(link, _)| link).collect(),
        })
    }

    /// Returns the hosts that have not confirmed what they must have confirmed before.
    pub fn lacking<'a>(&self, hosts: &'a [Host], head: &Head) -> Vec<&'a Host> {
        let Some(after) = &self.after else {
            return Vec::new();
        };
        let mut lacking = lacking(hosts, Some(head), after.epoch());
        lacking.retain(|host| !self.is_ahead(host));
        lacking
    }

    /// Whether a host has an epoch on the way to the map here that the hub does not have: the hub
    /// was restored from a backup, or somebody has copied a map.
    pub fn is_ahead(&self, host: &Host) -> bool {
        self.ahead.iter().any(|link| has(host, link))
    }
}

/// Whether this is the epoch that a host has reported.
fn has(host: &Host, link: &Link) -> bool {
    host.report.epoch == link.epoch && host.report.digest == hex(&link.digest)
}

/// Names an epoch with its state: `epoch 3 (both_old_first)`.
pub fn told(map: &Map) -> String {
    let epoch = map.epoch();
    match map.carry() {
        Some(carry) if carry.reverse => format!("epoch {epoch} ({}, reversed)", carry.state.word()),
        Some(carry) => format!("epoch {epoch} ({})", carry.state.word()),
        None => format!("epoch {epoch}"),
    }
}

/// Returns the place of a state in the picture above; 0 without a carry.
fn place(carry: Option<Carry>) -> i32 {
    match carry.map(|carry| carry.state) {
        None => 0,
        Some(State::Old) => 1,
        Some(State::BothOldFirst) => 2,
        Some(State::BothNewFirst) => 3,
        Some(State::New) => 4,
    }
}

/// Returns what the end of a carry adds to the difference of two places: from `new` it goes on to
/// 5, and not back to 0.
fn turn(before: Option<Carry>, now: Option<Carry>) -> i32 {
    match (before, now) {
        (Some(carry), None) if !carry.reverse => 5,
        _ => 0,
    }
}

fn is_same(first: Option<Carry>, now: Carry) -> bool {
    first.is_some_and(|first| first.from_digest == now.from_digest)
}

/// An epoch, and the carry that is open in it. The maps themselves may need too much memory.
type Epoch = (Link, Option<Carry>);

/// Returns the carry of the newest epoch that all hosts have, and the epochs from there to the map
/// here, oldest first, if all hosts are ahead of the head and in the line of the map.
fn had_by_all(
    hosts: &[Host],
    head: &Head,
    map: &Map,
    store: &Store,
) -> Option<(Option<Carry>, Vec<Epoch>)> {
    let oldest = hosts.iter().map(|host| host.report.epoch).min()?;
    if oldest <= head.epoch {
        return None;
    }
    let mut line: Vec<Epoch> = vec![(Link::of(map), map.carry())];
    let mut parent = map.parent();
    for epoch in (oldest..map.epoch()).rev() {
        let kept = store.open_epoch(epoch).ok()?;
        if kept.digest() != parent {
            return None;
        }
        parent = kept.parent();
        line.push((Link::of(&kept), kept.carry()));
    }
    let is_in_line = |host: &Host| line.iter().any(|(link, _)| has(host, link));
    if !hosts.iter().all(is_in_line) {
        return None;
    }
    line.reverse();
    Some((line[0].1, line))
}

/// Returns the map of the head, and the epochs between it and the map here, oldest first. `None`
/// when some of them are kept no longer and no carry is known of.
fn line(hub: &dyn Hub, head: &Head, map: &Map, store: &Store) -> Result<Option<(Map, Vec<Epoch>)>> {
    let (mut at, mut parent) = (map.epoch(), map.parent());
    let mut later: Vec<Epoch> = Vec::new();
    while at > head.epoch + 1 {
        at -= 1;
        let kept = store.open_epoch(at).ok();
        let Some(kept) = kept.filter(|kept| kept.digest() == parent) else {
            let first = hub.map(head, head.epoch).ok().flatten();
            let mut known = later.iter().filter_map(|(_, carry)| *carry);
            if known.next().or(map.carry()).is_some()
                || first.is_some_and(|map| map.carry().is_some())
            {
                return Err(unknown(at, head));
            }
            return Ok(None);
        };
        parent = kept.parent();
        later.push((Link::of(&kept), kept.carry()));
    }
    later.reverse();
    let kept = store.open_epoch(head.epoch).ok();
    let first = match kept.filter(|kept| kept.digest() == head.digest) {
        Some(first) => Some(first),
        // damaged or gone at both: nothing is known of it
        None => hub.map(head, head.epoch).ok().flatten(),
    };
    match first {
        Some(first) => Ok(Some((first, later))),
        None if map.carry().is_some() => Err(unknown(head.epoch, head)),
        None => Ok(None),
    }
}

fn unknown(epoch: u64, head: &Head) -> Failure {
    Failure::new(
        CONFLICT,
        format_args!(
            "the hub has epoch {}, and the history here lacks epoch {epoch}, so nothing tells which \
             states of a carry the hosts would skip; the hub was not changed: push from where its \
             history is, or with --allow skip",
            head.epoch
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::{Path, PathBuf};

    use stead::carry::Step;
    use stead::store::{Accept, Arrival, KEEP};
    use stead::Fleet;

    use super::*;
    use crate::directory::Directory;
    use crate::exit::NOT_YET;
    use crate::hub::{Shared, Turn};
    use crate::push::{push, push_in_turn, Allowed, Pushed};
    use crate::report::Report;

    /// An operator, a hub in a directory, and the hosts that report there.
    struct Site {
        _directory: tempfile::TempDir,
        map: PathBuf,
        hub: Directory,
    }

    impl Site {
        /// Makes a site whose hub has epoch 1, which these hosts have confirmed.
        fn new(hosts: &[&str]) -> Site {
            let directory = tempfile::tempdir().unwrap();
            let place = |name: &str| {
                let place = directory.path().join(name);
                std::fs::create_dir(&place).unwrap();
                place.join("m.map")
            };
            let (map, hub) = (place("operator"), Directory::new(&place("hub")));
            let site = Site {
                _directory: directory,
                map,
                hub,
            };
            site.apply(&["a"], false);
            assert_eq!(site.push().unwrap(), (1, Pushed::Done(None)));
            site.confirm(hosts);
            site
        }

        fn store(&self) -> Store {
            Store::new(&self.map, KEEP)
        }

        fn apply(&self, nodes: &[&str], carry: bool) {
            let nodes: Vec<String> = nodes.iter().map(|n| format!("{{name = '{n}'}}")).collect();
            let text = format!("name = 'm'\nnode = [{}]", nodes.join(", "));
            let fleet = Fleet::parse(&text, "fleet").unwrap();
            let store = self.store().carrying(carry);
            store.apply(&fleet, None).unwrap();
        }

        /// Takes steps of the carry by hand.
        fn steps(&self, steps: &[Step]) {
            for step in steps {
                let map = self.store().current().unwrap().unwrap();
                self.store().carry(&map, *step).unwrap();
            }
        }

        fn push_to(&self, shared: &dyn Shared, allowed: Allowed) -> Result<(u64, Pushed)> {
            let url = "file:///hub";
            let pushed = push(&self.hub, shared, url, &self.map, allowed, KEEP);
            pushed.map(|(map, pushed)| (map.epoch(), pushed))
        }

        fn push(&self) -> Result<(u64, Pushed)> {
            self.push_to(&self.hub, Allowed::default())
        }

        /// Pushes, and returns the epochs of the hub and of the map here.
        fn on_the_way(&self) -> (u64, u64) {
            match self.push().unwrap() {
                (epoch, Pushed::OnTheWay(newest)) => (epoch, newest),
                other => panic!("{other:?}"),
            }
        }

        /// Lets hosts confirm what the hub has.
        fn confirm(&self, hosts: &[&str]) {
            let head = self.hub.head().unwrap().unwrap();
            for host in hosts {
                let report = Report {
                    epoch: head.epoch,
                    digest: hex(&head.digest),
                    ..Report::new(host, "i", None)
                };
                self.hub.report(&report, true).unwrap();
            }
        }

        fn head(&self) -> u64 {
            self.hub.head().unwrap().unwrap().epoch
        }

        fn refused(&self, part: &str) {
            let before = self.head();
            let failure = self.push().unwrap_err();
            assert_eq!(failure.code, CONFLICT);
            assert!(failure.line.contains(part), "{}", failure.line);
            // who calls it may have changed the map here
            let told = failure.line.contains("; the hub was not changed");
            assert!(
                told && !failure.line.contains("nothing was"),
                "{}",
                failure.line
            );
            assert_eq!(self.head(), before);
        }
    }

    const FORWARD: [Step; 4] = [Step::Next, Step::Next, Step::Next, Step::Close];

    #[test]
    fn states_that_were_stepped_by_hand_are_pushed_each_in_its_turn() {
        let site = Site::new(&["web1", "web2"]);
        site.apply(&["a", "b"], true);
        site.steps(&FORWARD);
        // to begin a carry needs no word of the hosts
        assert_eq!(site.on_the_way(), (2, 6));
        for epoch in 3..=6 {
            let lacks = format!("2 of 2 hosts lack epoch {}: web1 (epoch", epoch - 1);
            site.refused(&lacks);
            site.confirm(&["web1"]);
            site.refused(&format!("1 of 2 hosts lack epoch {}: web2", epoch - 1));
            site.confirm(&["web2"]);
            match epoch {
                6 => assert!(matches!(site.push(), Ok((6, Pushed::Done(Some(_)))))),
                _ => assert_eq!(site.on_the_way(), (epoch, 6)),
            }
            assert_eq!(site.head(), epoch);
        }
        assert!(matches!(site.push(), Ok((6, Pushed::Already(_)))));
    }

    #[test]
    fn a_single_step_waits_for_the_hosts_too() {
        let site = Site::new(&["web1"]);
        site.apply(&["a", "b"], true);
        assert!(matches!(site.push(), Ok((2, Pushed::Done(_)))));
        site.steps(&[Step::Next]);
        site.refused("1 of 1 host lacks epoch 2: web1 (epoch 1)");
        // the control: one who means it
        let skip = Allowed {
            skip: true,
            ..Allowed::default()
        };
        let pushed = site.push_to(&site.hub, skip);
        assert!(matches!(pushed, Ok((3, Pushed::Done(_)))));
    }

    #[test]
    fn changes_without_a_carry_are_pushed_at_once() {
        let site = Site::new(&["web1"]);
        site.apply(&["a", "b"], false);
        site.apply(&["a", "b", "c"], false);
        assert!(matches!(site.push(), Ok((3, Pushed::Done(_)))));
        site.apply(&["a", "b", "c", "d"], false);
        site.apply(&["a", "b", "c", "d", "e"], true);
        assert!(matches!(site.push(), Ok((5, Pushed::Done(_)))));
    }

    #[test]
    fn a_carry_that_goes_back_needs_no_word_of_the_hosts() {
        let site = Site::new(&["web1"]);
        site.apply(&["a", "b"], true);
        site.push().unwrap();
        site.confirm(&["web1"]);
        site.steps(&[Step::Next]);
        site.push().unwrap();
        // another state, and back to the one that the hub has
        site.steps(&[Step::Next, Step::Reverse]);
        assert!(matches!(site.push(), Ok((5, Pushed::Done(_)))));
        // from there each state has its turn
        site.steps(&[Step::Next, Step::Close]);
        site.refused("lacks epoch 5");
        site.confirm(&["web1"]);
        assert_eq!(site.on_the_way(), (6, 7));
        site.refused("lacks epoch 6");
        site.confirm(&["web1"]);
        assert!(matches!(site.push(), Ok((7, Pushed::Done(_)))));
        // of a carry that was reversed before anybody had it, nothing is left to tell
        site.apply(&["a", "c"], true);
        site.steps(&[Step::Next, Step::Reverse, Step::Close]);
        assert!(matches!(site.push(), Ok((11, Pushed::Done(_)))));
    }

    #[test]
    fn the_next_carry_waits_until_the_hub_has_the_end_of_this_one() {
        let site = Site::new(&["web1"]);
        site.apply(&["a", "b"], true);
        site.push().unwrap();
        site.steps(&[Step::Reverse, Step::Close]);
        site.apply(&["a", "c"], true);
        site.steps(&[Step::Next]);
        assert_eq!(site.on_the_way(), (4, 6));
        assert_eq!(site.on_the_way(), (5, 6));
        site.refused("lacks epoch 5");
    }

    #[test]
    fn what_is_not_in_the_history_is_not_skipped_unseen() {
        let site = Site::new(&[]);
        site.apply(&["a", "b"], true);
        site.steps(&FORWARD);
        let kept = |epoch: u64| {
            let history = format!("{}.history", site.map.display());
            Path::new(&history).join(epoch.to_string())
        };
        std::fs::remove_file(kept(3)).unwrap();
        site.refused("the history here lacks epoch 3");
        // the control: where no carry is known of, the log tells enough
        for epoch in [4, 5] {
            std::fs::remove_file(kept(epoch)).unwrap();
        }
        assert!(matches!(site.push(), Ok((6, Pushed::Done(_)))));
    }

    #[test]
    fn a_carrier_waits_between_the_states_and_brings_all_of_them() {
        let site = Site::new(&["web1"]);
        site.apply(&["a", "b"], true);
        site.steps(&FORWARD);
        let waited = RefCell::new(Vec::new());
        let wait = |map: &Map| {
            waited.borrow_mut().push((map.epoch(), site.head()));
            site.confirm(&["web1"]);
            Ok(())
        };
        let push = |wait: &dyn Fn(&Map) -> Result| {
            push_in_turn(&site.hub, &site.hub, "file:///hub", &site.map, KEEP, wait)
        };
        // a wait that fails ends it
        let failed = push(&|_: &Map| Err(Failure::new(NOT_YET, "no")));
        assert_eq!(failed.unwrap_err().line, "no");
        let (map, pushed) = push(&wait).unwrap();
        assert_eq!(map.epoch(), 6);
        assert!(matches!(pushed, Pushed::Done(Some(head)) if head.epoch == 5));
        assert_eq!(*waited.borrow(), [(2, 2), (3, 3), (4, 4), (5, 5)]);
    }

    /// Everything that a hub has, as a backup keeps it.
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy(&entry.path(), &target),
                false => drop(std::fs::copy(entry.path(), target).unwrap()),
            }
        }
    }

    impl Site {
        fn places(&self) -> [PathBuf; 2] {
            ["hub", "backup"].map(|name| self._directory.path().join(name))
        }

        fn back_up(&self) {
            let [hub, backup] = self.places();
            copy(&hub, &backup);
        }

        fn restore(&self) {
            let [hub, backup] = self.places();
            std::fs::remove_dir_all(&hub).unwrap();
            copy(&backup, &hub);
        }

        /// Lets hosts report an epoch of the history here.
        fn report(&self, hosts: &[&str], epoch: u64) {
            let map = self.store().open_epoch(epoch).unwrap();
            for host in hosts {
                let report = Report {
                    epoch,
                    digest: hex(&map.digest()),
                    ..Report::new(host, "i", None)
                };
                self.hub.report(&report, true).unwrap();
            }
        }

        /// Takes steps of a carry, which the hosts follow; the backup is of before the `saved`th.
        fn carry(&self, hosts: &[&str], steps: &[Step], saved: usize) {
            self.apply(&["a", "b"], true);
            self.push().unwrap();
            self.confirm(hosts);
            for (i, step) in steps.iter().enumerate() {
                if i == saved {
                    self.back_up();
                }
                self.steps(&[*step]);
                assert!(matches!(self.push(), Ok((_, Pushed::Done(_)))));
                self.confirm(hosts);
            }
        }
    }

    #[test]
    fn a_hub_that_was_restored_gets_at_once_what_all_hosts_have() {
        let hosts = ["web1", "web2"];
        // an open carry and a closed one; the backup is of each state
        for (steps, newest) in [(&FORWARD[..3], 5), (&FORWARD[..], 6)] {
            for saved in 0..steps.len() {
                let site = Site::new(&hosts);
                site.carry(&hosts, steps, saved);
                site.restore();
                assert_eq!(site.head(), saved as u64 + 2);
                site.report(&hosts, newest);
                match site.push() {
                    Ok((epoch, Pushed::Done(Some(_)))) => assert_eq!(epoch, newest),
                    other => panic!("{saved}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_hub_that_was_restored_to_before_the_carry_gets_no_state_of_it_again() {
        let site = Site::new(&["web1"]);
        site.back_up();
        site.carry(&["web1"], &FORWARD[..3], 9);
        site.restore();
        assert_eq!(site.head(), 1);
        site.report(&["web1"], 5);
        // a new host takes what is pushed
        assert!(matches!(site.push(), Ok((5, Pushed::Done(_)))));
        // the control: where no host is known, each state has its turn
        site.restore();
        site.hub.forget("web1").unwrap();
        assert_eq!(site.on_the_way(), (2, 5));
    }

    #[test]
    fn at_a_hub_that_was_restored_the_next_state_comes_after_what_all_hosts_have() {
        let hosts = ["web1", "web2"];
        let site = Site::new(&hosts);
        site.carry(&hosts, &FORWARD[..2], 0);
        site.restore();
        site.steps(&FORWARD[2..]);
        // web2 has not reported since
        site.report(&["web1"], 4);
        assert_eq!(site.on_the_way(), (3, 6));
        site.refused("1 of 2 hosts lack epoch 3: web2 (epoch 2)");
        site.report(&["web2"], 4);
        assert_eq!(site.on_the_way(), (5, 6));
        site.refused("2 of 2 hosts lack epoch 5: web1 (epoch 4), web2 (epoch 4)");
        // a hub without the map where the data was has it again
        site.confirm(&hosts);
        assert!(matches!(site.push(), Ok((6, Pushed::Done(_)))));
    }

    #[test]
    fn what_a_host_has_beside_the_line_confirms_nothing() {
        let site = Site::new(&["web1"]);
        site.carry(&["web1"], &FORWARD[..2], 0);
        site.restore();
        let mut report = site.hub.hosts().unwrap()[0].report.clone();
        (report.epoch, report.digest) = (4, hex(&[7; 32]));
        site.hub.report(&report, true).unwrap();
        site.refused("lacks epoch 2: web1 (epoch 4, which the hub does not have)");
        // newer than the map here: what is here is not to be pushed at all
        (report.epoch, report.digest) = (9, hex(&[7; 32]));
        site.hub.report(&report, true).unwrap();
        site.refused("push the newest map from where it was made");
    }

    #[test]
    fn a_carrier_does_not_wait_for_what_hosts_ahead_of_the_hub_never_report() {
        let site = Site::new(&["web1", "web2"]);
        site.carry(&["web1", "web2"], &FORWARD[..2], 0);
        site.restore();
        site.report(&["web1"], 4);
        // the carrier itself, as the backup knows it
        let mark = crate::instance::mark(&site.map);
        let mut itself = site.hub.hosts().unwrap()[0].report.clone();
        (itself.host, itself.instance) = ("carry.ops1".to_owned(), mark);
        (itself.epoch, itself.digest) = (1, hex(&[1; 32]));
        site.hub.report(&itself, false).unwrap();
        let wait = |map: &Map| panic!("waits for epoch {}", map.epoch());
        let pushed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while site.head() < 3 {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                site.report(&["web2"], 3);
            });
            push_in_turn(&site.hub, &site.hub, "file:///hub", &site.map, KEEP, wait)
        });
        assert!(matches!(pushed, Ok((map, Pushed::Done(_))) if map.epoch() == 4));
    }

    /// A hub where somebody else is always first.
    struct Late<'a>(&'a Site);

    impl Shared for Late<'_> {
        fn push(&self, _: Option<&Head>, _: Arrival, _: Accept, _: usize) -> Result<Turn> {
            self.0.push().map(|_| Turn::Lost)
        }

        fn hosts(&self) -> Result<Vec<Host>> {
            self.0.hub.hosts()
        }

        fn report(&self, report: &Report, alive: bool) -> Result {
            self.0.hub.report(report, alive)
        }

        fn beat(&self, report: &Report) -> Result<bool> {
            self.0.hub.beat(report)
        }

        fn leave(&self, report: &Report) -> Result {
            self.0.hub.leave(report)
        }

        fn forget(&self, host: &str) -> Result<bool> {
            self.0.hub.forget(host)
        }

        fn give_up(&self, host: &str, epoch: u64) -> Result {
            self.0.hub.give_up(host, epoch)
        }

        fn given_up(&self) -> Result<std::collections::BTreeMap<String, u64>> {
            self.0.hub.given_up()
        }
    }

    #[test]
    fn of_two_who_push_one_state_only_one_brings_it() {
        let site = Site::new(&["web1"]);
        site.apply(&["a", "b"], true);
        site.steps(&FORWARD);
        let late = site.push_to(&Late(&site), Allowed::default());
        assert_eq!(late.unwrap_err().code, CONFLICT);
        assert_eq!(site.head(), 2);
    }
}
