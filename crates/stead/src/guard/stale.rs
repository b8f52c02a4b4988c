//! Which epochs a fleet takes back: those of an author whose fleet file is older than the map.
//!
//! The fleet of an epoch is in its map, so nothing needs to be written into the fleet file. A fact
//! that differs from the newest map and equals an older epoch is *set back*, and the epoch after
//! that one is the one that is taken back. A fact that no older epoch had is new.
//!
//! A fleet that keeps anything that an epoch brought was written by somebody who knew that epoch.
//! So an epoch is taken back only as a whole: taking out one of five nodes that came together is an
//! ordinary change.

use super::allow::Guard;
use super::facts::{Fact, Facts};
use super::finding::Finding;
use crate::map::Map;

/// How many facts a finding names.
const NAMED: usize = 4;

/// A fact, in the newest map and in the new one.
struct Difference<'a> {
    fact: Fact<'a>,
    now: Option<String>,
    then: Option<String>,
}

impl Difference<'_> {
    /// Whether the two maps differ here. The weight, labels and attributes of a node that comes or
    /// goes do not count beside the node itself.
    fn counts(&self) -> bool {
        let is_part = matches!(
            self.fact,
            Fact::Weight(_) | Fact::Labels(_) | Fact::Attributes(_)
        );
        let comes_or_goes = self.now.is_none() || self.then.is_none();
        self.now != self.then && !(is_part && comes_or_goes)
    }
}

/// Returns a finding for each epoch that a change from `old` to `new` takes back. `older` gives the
/// epochs before `old`, newest first; it is read only as far as needed.
///
/// Cost: one pass over the nodes, policies and pins of the two maps, and, when anything differs, a
/// few reads in each of the older maps.
pub fn taken_back(old: &Map, new: &Map, older: impl Iterator<Item = Map>) -> Vec<Finding> {
    let (now, then) = (Facts::of(old), Facts::of(new));
    let mut open: Vec<Difference> = now
        .all(&then)
        .into_iter()
        .map(|fact| Difference {
            now: now.state(&fact),
            then: then.state(&fact),
            fact,
        })
        .filter(Difference::counts)
        .collect();
    let mut found = Vec::new();
    let mut later: Option<Map> = None;
    let mut older = older;
    while !open.is_empty() {
        let Some(before) = older.next() else { break };
        let earlier = Facts::of(&before);
        let (back, rest): (Vec<_>, Vec<_>) = open
            .into_iter()
            .partition(|difference| is_back(difference, &earlier, &then));
        open = rest;
        if !back.is_empty() {
            let after = Facts::of(later.as_ref().unwrap_or(old));
            if !is_known(&earlier, &after, &now, &then) {
                found.push(Finding {
                    guard: Guard::TakeBack,
                    text: said(after.map.epoch(), &back),
                });
            }
        }
        later = Some(before);
    }
    found
}

/// Whether the new fleet states what an earlier one stated. A node that comes back counts only if
/// nothing about it is new.
fn is_back(difference: &Difference, earlier: &Facts, then: &Facts) -> bool {
    let same = |fact: &Fact| earlier.state(fact) == then.state(fact);
    match difference.fact {
        Fact::Node(name) if difference.then.is_some() => {
            earlier.state(&difference.fact).is_some()
                && same(&Fact::Weight(name))
                && same(&Fact::Labels(name))
                && same(&Fact::Attributes(name))
        }
        _ => earlier.state(&difference.fact) == difference.then,
    }
}

/// Whether the new fleet keeps anything that an epoch brought and that the newest map still has.
fn is_known(before: &Facts, after: &Facts, now: &Facts, then: &Facts) -> bool {
    before.all(after).iter().any(|fact| {
        let brought = after.state(fact);
        brought != before.state(fact) && brought == now.state(fact) && brought == then.state(fact)
    })
}

fn said(epoch: u64, back: &[Difference]) -> String {
    let named: Vec<String> = back.iter().map(phrase).collect();
    let shown = named.get(..NAMED).unwrap_or(&named).join("; ");
    match named.len().saturating_sub(NAMED) {
        0 => format!("takes back epoch {epoch}: {shown}"),
        more => format!("takes back epoch {epoch}: {shown}; and {more} more"),
    }
}

fn phrase(difference: &Difference) -> String {
    let fact = &difference.fact;
    match (fact, &difference.now, &difference.then) {
        (_, Some(_), None) => format!("{fact}, added there"),
        (_, None, _) => format!("{fact}, removed there"),
        (
            Fact::Replicas | Fact::Spread | Fact::MaxSlices | Fact::Tolerance | Fact::Weight(_),
            Some(now),
            Some(then),
        ) => format!("{fact}, {} -> {}", or_none(now), or_none(then)),
        _ => format!("{fact}, changed there"),
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() {
        "none"
    } else {
        text
    }
}
