//! `stead load MAP [FILE]`: how the accesses of a log are spread over the nodes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use stead::load::{Loads, Reads, Tally};
use stead::point::SPACE;
use stead::{Map, Share, Span};

use crate::exit::{Failure, Result, DATA, FLEET};
use crate::input::{self, shown};
use crate::output::Out;
use crate::records::Batch;
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
        let loaded = Loaded::new(&tally, &loads);
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
            proposed.text(out)?;
        }
        if let Some(path) = &self.output {
            proposed.write(path)?;
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

/// Parses a percentage.
fn part(text: &str) -> std::result::Result<Share, String> {
    stead::fleet::part(text).map_err(|why| format!("it {why}"))
}

/// Says what a file is whose first bytes are not those of a text, and what to do.
fn packed(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const KINDS: [(&[u8], &str, &str); 5] = [
        (
            b"\x1f\x8b",
            "compressed by gzip",
            "pipe it: zcat FILE | stead load MAP -",
        ),
        (
            b"\x28\xb5\x2f\xfd",
            "compressed by zstd",
            "pipe it: zstdcat FILE | stead load MAP -",
        ),
        (
            b"\xfd7zXZ\0",
            "compressed by xz",
            "pipe it: xzcat FILE | stead load MAP -",
        ),
        (
            b"BZh91AY&SY",
            "compressed by bzip2",
            "pipe it: bzcat FILE | stead load MAP -",
        ),
        (
            b"PAR1",
            "a Parquet file",
            "write its keys as lines, as docs/python-engines.md reads them",
        ),
    ];
    let found = KINDS.iter().find(|(begin, ..)| bytes.starts_with(begin))?;
    Some((found.1, found.2))
}

/// Counts the lines of a log.
pub fn tally<'a>(map: &'a Map, path: &Path, fold: &FoldArg) -> Result<Tally<'a>> {
    let name: Cow<'_, str> = match path == Path::new("-") {
        true => "standard input".into(),
        false => path.display().to_string().into(),
    };
    let mut tally = Tally::of(map);
    let mut counted = Counted::default();
    let mut folded = Vec::new();
    input::line_batches(path, |batch| {
        let before = tally.lines();
        if let Some((what, program)) = packed(batch.bytes()).filter(|_| before == 0) {
            return Err(Failure::new(DATA, format!("{name}: is {what}; {program}")));
        }
        let counts = counted.of(batch).map_err(|bad| {
            let number = before + bad.line as u64 + 1;
            let problem = format!(
                "{name}:{number}: {} is not a count; write KEY, or KEY, a tab and a whole number",
                shown(bad.count)
            );
            Failure::new(DATA, problem)
        })?;
        let added = match counts {
            None => tally.add_keys(batch.folded(fold.fold, &mut folded), None),
            Some((spans, counts)) => {
                let batch = batch.at(spans);
                tally.add_keys(batch.folded(fold.fold, &mut folded), Some(counts))
            }
        };
        added.map_err(|error| Failure::new(DATA, format!("{name}: {error}")))
    })?;
    if tally.accesses() == 0 {
        let problem = format!(
            "{name}: contains no accesses; write lines of a key, or of a key, a tab and a count"
        );
        return Err(Failure::new(DATA, problem));
    }
    Ok(tally)
}

/// The counts of many lines.
#[derive(Default)]
struct Counted {
    /// where the keys are, without their counts
    spans: Vec<Span>,
    counts: Vec<u64>,
}

/// The places of keys, and their counts.
type Found<'a> = (&'a [Span], &'a [u64]);

/// A line whose count is no number.
struct Bad<'a> {
    /// the line in its batch, from 0
    line: usize,
    count: &'a [u8],
}

impl Counted {
    /// Finds the counts of lines; `None` if no line has a tab. A key may contain tabs, so the last
    /// one separates it from its count.
    fn of<'b>(&mut self, batch: Batch<'b>) -> std::result::Result<Option<Found<'_>>, Bad<'b>> {
        if !batch.bytes().contains(&b'\t') {
            return Ok(None);
        }
        self.spans.clear();
        self.counts.clear();
        for (line, span) in batch.spans().iter().enumerate() {
            let record = batch.bytes().get(span.start..span.start + span.length);
            let record = record.unwrap_or_default();
            let (length, count) = match record.iter().rposition(|byte| *byte == b'\t') {
                None => (record.len(), 1),
                Some(tab) => {
                    let count = record.get(tab + 1..).unwrap_or_default();
                    (tab, number(count).ok_or(Bad { line, count })?)
                }
            };
            let start = span.start;
            self.spans.push(Span { start, length });
            self.counts.push(count);
        }
        Ok(Some((&self.spans, &self.counts)))
    }
}

/// Parses a whole number that has nothing but digits.
fn number(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all)
}
