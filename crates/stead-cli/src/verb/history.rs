//! `stead history MAP`: the epochs of a map that are kept.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::plan::Amounts;
use stead::report::Amount;
use stead::store::KEEP;
use stead::{Error, Map, Status, Store};

use crate::exit::{Failure, Result};
use crate::input::hex;
use crate::output::{Out, HEADING};
use crate::text::{percent, Table};

/// List the epochs of a map that are kept
///
/// The newest 32 are kept. Prints, for each epoch, its number of slices, how much it moved compared
/// with the epoch before, and its digest.
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
    /// R of this epoch; 0 if the epoch is damaged
    #[serde(skip)]
    replicas: u32,
    /// null when the epoch before is not kept
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
            let mut table = Table::new(&["epoch", "slices", "moved", "digest"], &[0, 1, 2]);
            for epoch in epochs {
                let moved = match &epoch.moved {
                    Some(moved) => percent(moved.points.parse().unwrap_or(0), epoch.replicas),
                    None => "-".to_owned(),
                };
                let mark = if epoch.current { "* " } else { "" };
                table.row([
                    format!("{mark}{}", epoch.epoch),
                    epoch.slices.map_or("-".to_owned(), |n| n.to_string()),
                    moved,
                    epoch.digest.or(epoch.error).unwrap_or_default(),
                ]);
            }
            table.write(out)?;
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Returns the epochs, oldest first, and the first failure among them.
fn epochs(store: &Store, current: &Map) -> Result<(Vec<Epoch>, Option<Failure>)> {
    let numbers = match store.history() {
        Ok(numbers) => numbers,
        // the map was shipped without its history
        Err(error) if error.status() == Status::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut list = Vec::with_capacity(numbers.len() + 1);
    let (mut before, mut failure): (Option<Map>, Option<Failure>) = (None, None);
    for number in numbers {
        let is_current = number == current.epoch();
        let entry = store
            .open_epoch(number)
            .and_then(|map| Ok((epoch(before.as_ref(), &map, is_current)?, map)));
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
        list.push(epoch(before.as_ref(), current, true)?);
    }
    Ok((list, failure))
}

fn epoch(before: Option<&Map>, map: &Map, current: bool) -> stead::Result<Epoch> {
    let points = match before {
        _ if map.epoch() == 1 => Some(0),
        Some(before) if before.epoch() + 1 == map.epoch() => {
            Some(Amounts::between(before, map)?.moved.0)
        }
        _ => None,
    };
    Ok(Epoch {
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
        replicas: 0,
        moved: None,
        error,
    }
}
