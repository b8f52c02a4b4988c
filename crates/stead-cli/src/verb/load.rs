//! `stead load MAP [FILE]`: how the accesses of a log are spread over the nodes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use stead::load::{Loads, Reads, Tally};
use stead::point::SPACE;
use stead::{Map, Share};

use crate::counted;
use crate::exit::{Failure, Result, FLEET};
use crate::output::Out;
use crate::verb::fleet_file::FleetFile;
use crate::verb::loaded::Loaded;
use crate::verb::locate::FoldArg;
use crate::verb::proposed::{must_be_new, Proposed};

/// Show how the accesses of a log load the nodes
///
/// Reads a log of accesses: lines of KEY, or of KEY<TAB>COUNT for several accesses (or bytes, or
/// whatever is counted). Shows the load of each node and domain over what its weight deserves, the
/// hottest keys and slices, and the floor: a lower bound that no placement of this log can beat.
/// With --within it proposes the least change of the fleet that gets near the floor.
#[derive(Args)]
#[command(after_help = "\
Examples:
  stead load members.map access.log
  cut -d' ' -f7 access.log | stead load members.map --reads spread
  stead load members.map access.log --within 10% -o new.toml   # propose a fleet
  stead load members.map access.log --within 10% --fleet fleet.toml   # edit it

Exit codes:
  0   done
  1   no proposal gets within PERCENT of the floor; the best one is written
  64  wrong usage, or the file of -o already exists
  65  the map is damaged or not a map, or a line of the log is wrong
  66  a file is missing
  74  reading or writing failed
  75  somebody else changed the fleet meanwhile; nothing was written
  77  permission denied
  78  the fleet is wrong, or not that of the map")]
pub struct Load {
    /// The map file
    map: PathBuf,
    /// The log; - is standard input
    #[arg(default_value = "-", hide_default_value = true)]
    file: PathBuf,
    /// Which nodes answer: `primary` for the first node of a key, `spread` for all its nodes
    /// evenly
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "primary",
        hide_possible_values = true
    )]
    reads: ReadsArg,
    /// What the counts of the log are, such as `bytes`: the word in the tables
    #[arg(long, value_name = "WORD", default_value = "accesses", value_parser = unit)]
    unit: String,
    /// Propose a fleet whose fullest node is at most PERCENT above the floor
    #[arg(long, value_name = "PERCENT", value_parser = part)]
    within: Option<Share>,
    /// Write the proposed fleet to this new file; needs --within
    #[arg(short, long, value_name = "FLEET", requires = "within")]
    output: Option<PathBuf>,
    /// Add the proposal to FLEET, the file from which MAP was made; its comments and order stay.
    /// Needs --within
    #[arg(
        long,
        value_name = "FLEET",
        requires = "within",
        conflicts_with = "output"
    )]
    fleet: Option<PathBuf>,
    /// Show all nodes and domains, however many there are
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    fold: FoldArg,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

/// Which nodes answer.
#[derive(Clone, Copy, ValueEnum)]
pub enum ReadsArg {
    Primary,
    Spread,
}

impl From<ReadsArg> for Reads {
    fn from(reads: ReadsArg) -> Reads {
        match reads {
            ReadsArg::Primary => Reads::Primary,
            ReadsArg::Spread => Reads::Spread,
        }
    }
}

impl Load {
    pub fn run(self, out: &mut Out) -> Result {
        if let Some(path) = &self.output {
            must_be_new(path)?;
        }
        let map = Map::open_uncached(&self.map)?;
        let file = self
            .fleet
            .as_ref()
            .map(|path| fleet_of(path, &map, &self.map));
        let file = file.transpose()?;
        let tally = tally(&map, &self.file, &self.fold)?;
        let loads = Loads::of(&tally, self.reads.into());
        let loaded = Loaded::new(&tally, &loads, &self.unit);
        let proposed = self.within.map(|within| {
            let within = within.0 as f64 / SPACE as f64;
            Proposed::new(&tally, &loads, within)
        });
        match self.json {
            true => loaded.json(proposed.as_ref().map(Proposed::figures), out)?,
            false => loaded.text(self.all, out)?,
        }
        let Some(proposed) = proposed else {
            return Ok(());
        };
        if !self.json {
            proposed.text(&self.unit, out)?;
        }
        if let Some(path) = &self.output {
            proposed.write(path, &self.unit)?;
            if !self.json {
                out.line(format!(
                    "wrote {}; `stead plan` shows what applying it changes",
                    path.display()
                ))?;
            }
        }
        if let Some(file) = file {
            proposed.edit(file, self.json, out)?;
        }
        proposed.verdict()
    }
}

/// Reads a fleet file. It must be the one from which the map was made.
fn fleet_of(path: &Path, map: &Map, map_path: &Path) -> Result<FleetFile> {
    let file = FleetFile::read(path)?;
    match stead::build(&file.fleet, Some(map))?.same(map) {
        true => Ok(file),
        false => Err(Failure::new(
            FLEET,
            format_args!(
                "{}: is not the fleet of {}; apply it first, or name another one",
                path.display(),
                map_path.display()
            ),
        )),
    }
}

/// Checks the word of `--unit`. It becomes the heading of a column, and a part of a comment in the
/// proposed fleet.
pub fn unit(text: &str) -> std::result::Result<String, String> {
    match text.chars().count() {
        1..=20 if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => Err("it is no word of 1 to 20 characters".to_owned()),
    }
}

/// Parses a percentage.
fn part(text: &str) -> std::result::Result<Share, String> {
    stead::fleet::part(text).map_err(|why| format!("it {why}"))
}

/// Counts the lines of a log.
pub fn tally<'a>(map: &'a Map, path: &Path, fold: &FoldArg) -> Result<Tally<'a>> {
    let mut tally = Tally::of(map);
    counted::lines(path, fold.fold, |keys, counts| tally.add_keys(keys, counts))?;
    if tally.accesses() == 0 {
        return Err(counted::nothing(path, "accesses"));
    }
    Ok(tally)
}
