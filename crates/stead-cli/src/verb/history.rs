//! `stead history MAP`: the epochs of a map that are kept.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::plan::Amounts;
use stead::point::SPACE;
use stead::report::Amount;
use stead::store::{changes, Entry, KEEP};
use stead::{Error, Map, Status, Store};

use crate::carrying::{in_words, CarryJson};
use crate::exit::{Failure, Result};
use crate::input::hex;
use crate::output::{Out, HEADING};
use crate::picture::columns;

/// List the epochs of a map that are kept
///
/// The newest 32 are kept. Prints, for each epoch, when and by whom it was published, how much it
/// moved compared with the epoch before, what changed, and its note. Who and when come from the log
/// beside the map and can be missing; they tell a story and prove nothing.
#[derive(Args)]
#[command(after_help = "\
Example: which epochs can come back?
  stead history members.map

Exit codes:
  0   done
  64  wrong usage
  65  the map or an epoch of the history is damaged; the others are listed
  66  the map is missing
  74  reading or writing failed
  77  permission denied")]
pub struct History {
    /// The map file
    map: PathBuf,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Epochs<'a> {
    name: &'a str,
    map_id: String,
    epoch: u64,
    /// the carry that is open
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<CarryJson>,
    epochs: Vec<Epoch>,
}

/// An epoch of the history. A damaged epoch has an error and no figures.
#[derive(Serialize)]
struct Epoch {
    epoch: u64,
    current: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<usize>,
    /// when, by whom and why it was published, where the log says so
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// what changed in the fleet, in a few words
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
    /// R of this epoch; 0 if the epoch is damaged
    #[serde(skip)]
    replicas: u32,
    /// null when neither the epoch before nor the log is kept
    moved: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl History {
    pub fn run(self, out: &mut Out) -> Result {
        let store = Store::new(&self.map, KEEP);
        let current = Map::open_uncached(&self.map)?;
        let (epochs, failure) = epochs(&store, &current)?;
        if self.json {
            out.json(&Epochs {
                name: current.name(),
                map_id: hex(&current.map_id()),
                epoch: current.epoch(),
                carry: CarryJson::of(&current),
                epochs,
            })?;
        } else {
            out.line(out.paint(
                HEADING,
                format_args!(
                    "{}: epoch {} is current (*)",
                    current.name(),
                    current.epoch()
                ),
            ))?;
            if let Some(carry) = current.carry() {
                out.line(format_args!("a carry is open: {}", in_words(&carry)))?;
            }
            write(&epochs, out)?;
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Writes the epochs as a table, each with its note in a line below. No line is wider than the
/// terminal, or than 80 columns where there is none, unless a name is long.
fn write(epochs: &[Epoch], out: &mut Out) -> Result {
    let who = |epoch: &Epoch| epoch.who.clone().unwrap_or("-".to_owned());
    let width =
        |texts: &mut dyn Iterator<Item = usize>, least: usize| texts.fold(least, usize::max);
    let of_epoch = width(&mut epochs.iter().map(|e| e.epoch.to_string().len() + 2), 5);
    let of_who = width(&mut epochs.iter().map(|e| who(e).chars().count()), 3);
    let row = |epoch: &str, time: &str, who: &str, moved: &str| {
        format!("{epoch:>of_epoch$}  {time:<16}  {who:<of_who$}  {moved:>8}  ")
    };
    let heading = row("epoch", "time (UTC)", "who", "moved") + "change";
    out.line(out.paint(HEADING, heading))?;
    for epoch in epochs {
        let mark = if epoch.current { "* " } else { "" };
        let time = epoch.time.as_ref().map_or("-".to_owned(), |time| {
            time.replace('T', " ").chars().take(16).collect()
        });
        let moved = match &epoch.moved {
            Some(moved) => share(moved.points.parse().unwrap_or(0), epoch.replicas),
            None => "-".to_owned(),
        };
        let start = row(
            &format!("{mark}{}", epoch.epoch),
            &time,
            &who(epoch),
            &moved,
        );
        // an error is written whole: it says what to do
        let rest = match (&epoch.error, &epoch.change) {
            (Some(error), _) => error.clone(),
            (None, Some(change)) => cut(change, columns().saturating_sub(start.chars().count())),
            (None, None) => "-".to_owned(),
        };
        out.line(format_args!("{start}{rest}"))?;
        if let Some(note) = &epoch.note {
            let indent = " ".repeat(of_epoch + 2);
            for line in wrapped(&visible(note), columns().saturating_sub(of_epoch + 2)) {
                out.line(format_args!("{indent}{line}"))?;
            }
        }
    }
    Ok(())
}

/// Formats points as a part of all copies with two decimals: `33.33 %`.
fn share(points: u128, replicas: u32) -> String {
    let all = u128::from(replicas.max(1)) * SPACE;
    match (points * 10_000 + all / 2) / all {
        0 if points > 0 => "< 0.01 %".to_owned(),
        hundredths => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

/// Cuts a text that is longer than `most` characters, at least after 20.
fn cut(text: &str, most: usize) -> String {
    let (text, most) = (visible(text), most.max(20));
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most - 3).chain("...".chars()).collect()
}

/// Replaces what a terminal would obey: anybody who may write to the log chose these characters.
fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(shown).collect()
}

/// Breaks a text at spaces into lines of at most `most` characters, where its words allow it.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the epochs, oldest first, and the first failure among them.
fn epochs(store: &Store, current: &Map) -> Result<(Vec<Epoch>, Option<Failure>)> {
    let numbers = match store.history() {
        Ok(numbers) => numbers,
        // the map was shipped without its history
        Err(error) if error.status() == Status::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    // of several entries for one epoch the last one counts; a digest belongs to one map alone
    let log: HashMap<String, Entry> = store
        .log()
        .into_iter()
        .map(|entry| (entry.digest.clone(), entry))
        .collect();
    let mut list = Vec::with_capacity(numbers.len() + 1);
    let (mut before, mut failure): (Option<Map>, Option<Failure>) = (None, None);
    for number in numbers {
        let is_current = number == current.epoch();
        let entry = store
            .open_epoch(number)
            .and_then(|map| Ok((epoch(before.as_ref(), &map, is_current, &log)?, map)));
        before = match entry {
            // not the file at MAP, which counts and is listed below
            Ok((_, map)) if is_current && map.digest() != current.digest() => before,
            Ok((entry, map)) => {
                list.push(entry);
                Some(map)
            }
            Err(error) => {
                list.push(damaged(number, &error));
                failure = failure.or(Some(error.into()));
                None
            }
        };
    }
    let listed = |list: &[Epoch]| {
        list.iter()
            .any(|entry| entry.epoch == current.epoch() && entry.error.is_none())
    };
    if !listed(&list) {
        list.push(epoch(before.as_ref(), current, true, &log)?);
    }
    Ok((list, failure))
}

fn epoch(
    before: Option<&Map>,
    map: &Map,
    current: bool,
    log: &HashMap<String, Entry>,
) -> stead::Result<Epoch> {
    let before = before.filter(|before| before.epoch() + 1 == map.epoch());
    let told = log.get(&hex(&map.digest()));
    let (points, change) = match before {
        _ if map.epoch() == 1 => (Some(0), Some(changes(None, map)?)),
        Some(before) => (
            Some(Amounts::between(before, map)?.moved.0),
            Some(changes(Some(before), map)?),
        ),
        // the log still knows what the maps no longer tell
        None => (told.and_then(|told| told.moved_points.parse().ok()), None),
    };
    Ok(Epoch {
        time: told.map(|told| told.time.clone()),
        who: told.map(|told| visible(&told.who)),
        note: told.and_then(|told| told.note.clone()),
        change: told.map(|told| told.change.clone()).or(change),
        epoch: map.epoch(),
        current,
        digest: Some(hex(&map.digest())),
        parent: Some(hex(&map.parent())),
        slices: Some(map.base_count()),
        replicas: map.replicas(),
        moved: points.map(|points| Amount::of(points, map)),
        error: None,
    })
}

fn damaged(epoch: u64, error: &Error) -> Epoch {
    let error = Some(error.to_string());
    Epoch {
        epoch,
        current: false,
        digest: None,
        parent: None,
        slices: None,
        time: None,
        who: None,
        note: None,
        change: None,
        replicas: 0,
        moved: None,
        error,
    }
}
