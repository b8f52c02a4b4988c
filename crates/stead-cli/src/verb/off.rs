//! `stead check MAP --off NODE`: may a node be switched off?

use std::path::Path;

use serde::Serialize;
use stead::verdict::Answers;
use stead::{Map, Store};

use crate::carrying::{in_words, CarryJson};
use crate::exit::{Failure, Result, USAGE, VIOLATED};
use crate::input::shown;
use crate::output::Out;
use crate::text::joined;

/// The largest number of pins that are listed.
const PINS: usize = 3;

/// What a node still answers for.
pub struct Off<'a> {
    map: &'a Map,
    name: &'a str,
    answers: Answers,
    /// the state of the carry that is open
    carry: Option<String>,
    moved: Option<Moved>,
}

/// The change that took the last keys from the node.
struct Moved {
    epoch: u64,
    /// whether it began a carry
    carried: bool,
}

impl Moved {
    /// Returns the change, if the history still has the epoch before it.
    fn of(store: &Store, map: &Map, name: &str) -> Option<Moved> {
        let (mut epoch, mut carried) = (map.epoch(), map.carry().is_some());
        loop {
            let before = store.open_epoch(epoch.checked_sub(1)?).ok()?;
            let node = before.node_named(name)?;
            let answers = Answers::of_all(&before).into_iter().nth(node.id.index())?;
            if !answers.is_nothing() {
                return Some(Moved { epoch, carried });
            }
            (epoch, carried) = (before.epoch(), before.carry().is_some());
        }
    }
}

#[derive(Serialize)]
struct OffJson<'a> {
    name: &'a str,
    epoch: u64,
    node: &'a str,
    may_be_switched_off: bool,
    slices: usize,
    points: String,
    pins: usize,
    policies: &'a [String],
    target_slices: usize,
    /// the carry that is open
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<CarryJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_by_epoch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    carried: Option<bool>,
}

impl<'a> Off<'a> {
    /// Returns what a node of the newest map of a store answers for.
    pub fn of(store: &Store, map: &'a Map, name: &str) -> Result<Off<'a>> {
        let Some(node) = map.node_named(name) else {
            if let Some(carry) = map.carry() {
                let problem = format!(
                    "epoch {} of {} has no node {name:?}, but a carry is open ({}): it may still \
                     have data that is not carried; ask again when it is closed",
                    map.epoch(),
                    map.name(),
                    in_words(&carry)
                );
                return Err(Failure::new(VIOLATED, problem));
            }
            // a name that was misspelt must not get leave
            let what = match name.contains(',') {
                true => "ask for one node at a time",
                false => "check the name",
            };
            let problem = format!(
                "epoch {} of {} has no node {name:?}, so no key is answered with it; {what}",
                map.epoch(),
                map.name()
            );
            return Err(Failure::new(USAGE, problem));
        };
        let mut all = Answers::of_all(map).into_iter();
        let answers = all.nth(node.id.index()).unwrap_or_default();
        let name = node.name();
        Ok(Off {
            moved: (answers.is_nothing().then(|| Moved::of(store, map, name))).flatten(),
            map,
            name,
            answers,
            carry: map.carry().map(|carry| in_words(&carry)),
        })
    }

    /// Writes the answer. Fails when the node is still needed.
    pub fn report(&self, file: &Path, json: bool, out: &mut Out) -> Result {
        let Off {
            map,
            name,
            answers,
            carry,
            moved,
        } = self;
        // the map where the data was may still send keys to the node
        let may = answers.is_nothing() && carry.is_none();
        if json {
            out.json(&OffJson {
                name: map.name(),
                epoch: map.epoch(),
                node: name,
                may_be_switched_off: may,
                slices: answers.slices,
                points: answers.points.to_string(),
                pins: answers.pins,
                policies: &answers.policies,
                target_slices: answers.target_slices,
                carry: CarryJson::of(map),
                moved_by_epoch: moved.as_ref().map(|moved| moved.epoch),
                carried: moved.as_ref().map(|moved| moved.carried),
            })?;
        } else if may {
            out.line(format_args!(
                "{name} answers for nothing: it may be switched off when every reader has"
            ))?;
            let epoch = map.epoch();
            match moved {
                Some(Moved {
                    epoch: begun,
                    carried: true,
                }) => {
                    out.line(format_args!("epoch {epoch} or a later one"))?;
                    out.line(format_args!(
                        "the carry of its last keys began in epoch {begun}, and is closed"
                    ))?;
                }
                _ => out.line(format_args!(
                    "epoch {epoch} or a later one, and its data is copied"
                ))?,
            }
            if let Some(Moved {
                epoch,
                carried: false,
            }) = moved
            {
                out.line(format_args!(
                    "epoch {epoch} took its last keys, without a carry"
                ))?;
            }
        } else if let Some(carry) = carry {
            out.line(format_args!("a carry is open: {carry}"))?;
            out.line(format_args!(
                "{name} may still have data that is not carried; ask again when it is closed"
            ))?;
        } else {
            out.line(format_args!("{name} still answers for {answers}"))?;
            self.pins(out)?;
        }
        match may {
            true => Ok(()),
            false => Err(Failure::new(
                VIOLATED,
                format_args!("{}: {name} may not be switched off", file.display()),
            )),
        }
    }

    /// Lists the first pins that name the node.
    fn pins(&self, out: &mut Out) -> Result {
        let names = |pin: &stead::map::Pin| {
            let mut nodes = self.map.policy(pin.slice.policy).members();
            nodes.any(|node| self.map.node(node).name() == self.name)
        };
        for pin in self.map.pins().filter(names).take(PINS) {
            let what = match pin.key {
                Some(key) => format!("key {}", shown(key)),
                None => format!("range {}..{}", pin.slice.first, pin.slice.last),
            };
            let nodes = joined(self.map, pin.slice.policy);
            out.line(format_args!("  pin, {what}: {nodes}"))?;
        }
        match self.answers.pins.saturating_sub(PINS) {
            0 => Ok(()),
            more => out.line(format_args!("  and {more} more")),
        }
    }
}
