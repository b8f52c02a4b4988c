//! Which epochs a fleet takes back: those of an author whose fleet file is older than the map.
//!
//! The fleet of an epoch is in its map, so nothing needs to be written into the fleet file. A fact
//! that differs from the newest map and equals an older epoch is *set back*, and the epoch after
//! that one is the one that is taken back. A fact that no older epoch had is new.
//!
//! A fleet that keeps anything that an epoch brought was written by somebody who knew that epoch.
//! So an epoch is taken back only as a whole: taking out one of five nodes that came together is an
//! ordinary change.
//!
//! A node that the new fleet renames keeps the name that it has in the newest map here: a fleet
//! that states both names was written by somebody who knew the node, so the new name takes nothing
//! back. A fleet that has the old name again and does not say so was written before the renaming.

use std::collections::HashSet;

use super::allow::Guard;
use super::facts::{Fact, Facts};
use super::finding::Finding;
use crate::error::Result;
use crate::map::Map;

/// How many facts a finding names.
const NAMED: usize = 4;

/// A fact, in the newest map and in the new one.
struct Difference<'a> {
    fact: Fact<'a>,
    now: Option<String>,
    then: Option<String>,
}

impl<'a> Difference<'a> {
    /// The name of a node that only the new map has.
    fn comes(&self) -> Option<&'a str> {
        match self.fact {
            Fact::Node(name) if self.now.is_none() => Some(name),
            _ => None,
        }
    }

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
///
/// Errors: `Identity` when the maps belong to different clusters.
pub fn taken_back(old: &Map, new: &Map, older: impl Iterator<Item = Map>) -> Result<Vec<Finding>> {
    let (now, then) = (Facts::of(old), Facts::after(old, new)?);
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
                    text: said(after.map, &back),
                });
            }
        }
        later = Some(before);
    }
    Ok(found)
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

/// Puts into words what of the epoch `after` is taken back.
fn said<'a>(after: &'a Map, back: &[Difference<'a>]) -> String {
    let epoch = after.epoch();
    let coming: HashSet<&str> = back.iter().filter_map(Difference::comes).collect();
    // the former name of a node that has it again
    let former = |difference: &Difference| match difference.fact {
        Fact::Node(name) if difference.then.is_none() => {
            let before = after.node_named(name)?.formerly();
            before.filter(|before| coming.contains(before))
        }
        _ => None,
    };
    let renamed: HashSet<&str> = back.iter().filter_map(former).collect();
    let is_told = |difference: &&Difference| {
        difference
            .comes()
            .is_none_or(|name| !renamed.contains(name))
    };
    let named = back.iter().filter(is_told);
    let named = named.map(|difference| match former(difference) {
        Some(before) => format!("{}, renamed there from {before}", difference.fact),
        None => phrase(difference),
    });
    let named: Vec<String> = named.collect();
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
