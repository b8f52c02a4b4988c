//! What `stead load --within` prints and writes: a fleet whose fullest node is nearer to the floor.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use stead::load::{Loads, Proposal, Reads, Tally};
use stead::point::SPACE;
use stead::{Error, Fleet, Map};

use crate::exit::{Failure, Result, USAGE, VIOLATED};
use crate::input::shown;
use crate::output::{Out, BAD, GOOD};
use crate::text::{count, over, Table};
use crate::verb::fleet_file::FleetFile;

/// The number of cells below which keys of a log commonly share one.
const COARSE: u128 = 1 << 24;

/// What an entry of a log stands for. Where an adopted rule has few cells, such as the buckets of
/// `hash % n`, all keys of a cell live together, and count as one.
pub fn things(map: &Map) -> &'static str {
    match map.cells().count() < COARSE {
        true => "cell",
        false => "key",
    }
}

/// A proposal with what it was made from.
pub struct Proposed<'a> {
    tally: &'a Tally<'a>,
    loads: &'a Loads,
    proposal: Proposal,
}

/// The proposal, in JSON.
#[derive(Serialize)]
pub struct Figures {
    fullest_over_mean: f64,
    firsts: usize,
    pins: usize,
    reordered_fraction: f64,
    copied_fraction: f64,
}

impl<'a> Proposed<'a> {
    /// Computes the proposal that is within a part of the floor.
    pub fn new(tally: &'a Tally<'a>, loads: &'a Loads, within: f64) -> Proposed<'a> {
        Proposed {
            tally,
            loads,
            proposal: Proposal::of(tally, loads.reads, within),
        }
    }

    pub fn figures(&self) -> Figures {
        Figures {
            fullest_over_mean: self.proposal.fullest,
            firsts: self.proposal.firsts,
            pins: self.proposal.pins,
            reordered_fraction: self.proposal.reordered,
            copied_fraction: self.proposal.copied,
        }
    }

    /// Writes the figures for people.
    pub fn text(&self, unit: &str, out: &mut Out) -> Result {
        let proposal = &self.proposal;
        out.line("")?;
        let line = format!(
            "proposal: {} and {} take the fullest node from {:.2} to {:.2}",
            count(proposal.firsts, "first"),
            count(proposal.pins, "pin"),
            proposal.before,
            proposal.fullest
        );
        let style = if proposal.reaches() { GOOD } else { BAD };
        out.line(out.paint(style, line))?;
        out.line(format!(
            "(on the half of the log that was not fitted; the goal is {:.3}, fitted {:.3})",
            proposal.goal, proposal.fitted
        ))?;
        let mut table = Table::new(&["what it costs", unit, "points"], &[1, 2]);
        table.row([
            "another node answers first; nothing is copied".to_owned(),
            part(proposal.reordered),
            part(proposal.reordered_points.0 as f64 / SPACE as f64),
        ]);
        let (what, points) = match things(self.tally.map()) {
            "cell" => {
                let pinned = proposal.pins as f64 / self.tally.map().cells().count() as f64;
                let cells = count(proposal.pins, "cell");
                (
                    "cells that are copied to other nodes",
                    format!("{cells}, {}", part(pinned)),
                )
            }
            thing => (
                "keys that are copied to other nodes",
                count(proposal.pins, thing),
            ),
        };
        table.row([what.to_owned(), part(proposal.copied), points]);
        table.write(out)
    }

    /// Writes the fleet to a new file.
    pub fn write(&self, path: &Path, unit: &str) -> Result {
        let text = format!(
            "# proposed by `stead load`, from a log of {} {unit}, reads: {}\n{}",
            self.tally.accesses(),
            self.loads.reads.name(),
            self.proposal.fleet.to_toml()
        );
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .and_then(|mut file| {
                let written = file.write_all(text.as_bytes());
                let synced = written.and_then(|()| file.sync_all());
                synced.inspect_err(|_| drop(fs::remove_file(path)))
            });
        written.map_err(|error| Error::io("write", path, error).into())
    }

    /// Puts the firsts and the new pins into the file of the fleet.
    pub fn edit(&self, mut file: FleetFile, quiet: bool, out: &mut Out) -> Result {
        let (fleet, before) = (&self.proposal.fleet, self.tally.map().fleet());
        let new = fleet.pins.iter();
        let new = new.filter(|pin| before.pins.iter().all(|known| known.what != pin.what));
        let lists = Fleet {
            pins: new.cloned().collect(),
            ..fleet.clone()
        };
        let text = lists.to_toml();
        file.edited.replace_list("first", &text);
        file.edited.add_list("pin", &text);
        file.read_again()?;
        file.save()?;
        match quiet {
            true => Ok(()),
            false => out.line(format_args!(
                "changed {}; `stead plan` shows what applying it changes",
                file.name()
            )),
        }
    }

    /// Fails with exit code 1 if the proposal falls short of its goal, and says why.
    pub fn verdict(&self) -> Result {
        let proposal = &self.proposal;
        if proposal.reaches() {
            return Ok(());
        }
        let map = self.tally.map();
        let pairs = proposal.loads.iter().zip(&self.loads.nodes);
        let fullest = pairs
            .filter(|(_, node)| node.deserved > 0.0)
            .map(|(load, node)| (load / node.deserved, node.node))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let full = fullest.map_or(String::new(), |(load, node)| {
            format!("{} still has {}", map.node(node).name(), over(Some(load)))
        });
        let why = match proposal.fitted <= proposal.goal {
            true => "the halves of the log differ by chance, so read a longer log".to_owned(),
            false => {
                let hot = self.tally.hottest(1);
                let key = hot
                    .first()
                    .and_then(|hot| hot.key)
                    .map_or(String::new(), shown);
                match (self.loads.reads, map.replicas()) {
                    (Reads::Primary, 1) => format!(
                        "every key has one node; more replicas, or other weights, help more than pins \
                         (the hottest key is {key})"
                    ),
                    _ => "no order of the nodes and no pin of a hot key takes more off it; other \
                          weights may"
                        .to_owned(),
                }
            }
        };
        Err(Failure::new(
            VIOLATED,
            format!(
                "the proposal falls short: {:.3} is above {:.3}; {full}: {why}",
                proposal.fullest, proposal.goal
            ),
        ))
    }
}

/// Refuses a file that is there already.
pub fn must_be_new(path: &Path) -> Result {
    match path.symlink_metadata().is_ok() {
        true => Err(Failure::new(
            USAGE,
            format_args!("{} already exists; name a new file", path.display()),
        )),
        false => Ok(()),
    }
}

/// Formats a fraction.
fn part(fraction: f64) -> String {
    match fraction {
        f if f > 0.0 && f < 0.0001 => "< 0.01 %".to_owned(),
        f => format!("{:.2} %", 100.0 * f),
    }
}
