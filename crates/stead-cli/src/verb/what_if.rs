//! `stead what-if MAP --down NODE`: what is left when nodes fail.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::outage::Outage;
use stead::policy::NodeId;
use stead::Map;

use crate::carrying::note_early;
use crate::down;
use crate::exit::Result;
use crate::loss::Loss;
use crate::output::{Out, HEADING};
use crate::picture::{listed, part};
use crate::text::{count, wrapped};

/// Show what is left when nodes or whole domains fail
///
/// Shows how many copies every key has left, who answers the reads of the lost nodes, and from
/// which nodes the lost copies can be made again. Nothing is changed, and no node is asked: the
/// answers come from the map alone.
#[derive(Args)]
#[command(after_help = "\
Examples: a zone fails; a rack of a zone; a zone and, at the same time, a node
  stead what-if members.map --down zone=a
  stead what-if members.map --down zone=a,rack=1
  stead what-if members.map --down zone=a --down db7

Exit codes:
  0   done, whatever is left
  64  wrong usage, or a node or label that the map does not have
  65  the map is damaged or not a map
  66  the map is missing
  74  reading or writing failed
  77  permission denied")]
pub struct WhatIf {
    /// The map file
    map: PathBuf,
    /// What fails: a node, or the nodes with LABEL=VALUE, or with LABEL=VALUE,LABEL=VALUE those
    /// that have all of these; may be given more than once
    #[arg(long, value_name = "NODE|LABEL=VALUE", required = true)]
    down: Vec<String>,
    /// List every node that is up, in the order of names
    #[arg(long)]
    all: bool,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    epoch: u64,
    replicas: u32,
    #[serde(flatten)]
    loss: Loss<'a>,
}

impl WhatIf {
    pub fn run(self, out: &mut Out) -> Result {
        let map = Map::open_uncached(&self.map)?;
        note_early(&map, &self.map, "this counts what they are to have");
        let mut nodes: Vec<NodeId> = Vec::new();
        for word in &self.down {
            nodes.extend(down::nodes(&map, word)?);
        }
        let outage = Outage::of(&map, &nodes);
        let loss = Loss::of(&map, &outage);
        if self.json {
            return out.json(&Shown {
                name: map.name(),
                epoch: map.epoch(),
                replicas: map.replicas(),
                loss,
            });
        }
        let title = format!(
            "{}: epoch {}, {}; down: {}",
            map.name(),
            map.epoch(),
            count(map.replicas() as usize, "replica"),
            self.down.join(" and ")
        );
        for line in wrapped(&title, "", "  ") {
            out.line(out.paint(HEADING, line))?;
        }
        let start = format!(
            "{} of {} with {} of all copies: ",
            loss.down.len(),
            count(map.nodes().len(), "node"),
            part(loss.lost.fraction)
        );
        let names: Vec<String> = loss.down.iter().map(|name| (*name).to_owned()).collect();
        for line in wrapped(&listed(&start, &names), "", "  ") {
            out.line(line)?;
        }
        out.line("")?;
        loss.write_left(out)?;
        out.line("")?;
        loss.write_nodes(self.all, out)?;
        if loss.nodes.is_empty() {
            return Ok(());
        }
        out.line("")?;
        loss.write_legend(out)
    }
}
