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

use stead::carry::{Carry, State};
use stead::store::Link;
use stead::{Map, Store};

use crate::confirm::{lacking, told_lacking};
use crate::exit::{Failure, Result, CONFLICT};
use crate::hub::{Head, Host, Hub};

/// What a push may bring to a hub now.
#[derive(Debug)]
pub struct Next {
    /// The epoch on the way to the map here; `None`: the map here itself.
    pub on_the_way: Option<Map>,
    /// The hub's map, if all hosts must have confirmed it before.
    pub after: Option<Map>,
}

impl Next {
    /// The map here, whatever the hosts have.
    pub const NEWEST: Next = Next {
        on_the_way: None,
        after: None,
    };

    /// Returns what may come after the head, which is an ancestor of the map.
    ///
    /// Errors: `CONFLICT` when the history lacks epochs in between, and a carry is open in what is
    /// there.
    pub fn after(hub: &dyn Hub, head: &Head, map: &Map, store: &Store) -> Result<Next> {
        let Some((first, later)) = line(hub, head, map, store)? else {
            return Ok(Next::NEWEST);
        };
        let (mut at, mut before) = (0, first.carry());
        let mut best = (0, Link::of(map));
        for (link, now) in later.into_iter().chain([(Link::of(map), map.carry())]) {
            if first.carry().is_some() && now.is_some_and(|now| !is_same(first.carry(), now)) {
                // the next carry begins when this one is closed at the hosts
                break;
            }
            at += place(now) - place(before) + turn(before, now);
            before = now;
            if (-1..=1).contains(&at) {
                best = (at, link);
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
            && first
                .carry()
                .is_some_and(|carry| !carry.reverse && then.is_none_or(|then| then.reverse));
        let asks = moved != 0 && first.carry().is_some() && !turns_round;
        Ok(Next {
            on_the_way,
            after: asks.then_some(first),
        })
    }

    /// Says which hosts have not confirmed what they must have confirmed before, if there are any.
    pub fn lacking(&self, hosts: &[Host], head: &Head) -> Option<String> {
        let after = self.after.as_ref()?;
        let lacking = lacking(hosts, Some(head), after.epoch());
        (!lacking.is_empty()).then(|| told_lacking(&lacking, hosts, Some(head), after.epoch()))
    }
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
             states of a carry the hosts would skip; nothing was changed: push from where its \
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
    use crate::hub::{hex, Shared, Turn};
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
