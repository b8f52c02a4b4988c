//! `stead report MAP`: a page about a map, or about a change, that a browser shows.

use std::fs::{self, File, FileType};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use stead::load::{Loads, Reads};
use stead::path::Fold;
use stead::report::{Ask, Report as Facts};
use stead::store::KEEP;
use stead::{Error, Map, Plan, Store};

use super::load;
use super::locate::FoldArg;
use crate::carrying;
use crate::change::{understood, Change};
use crate::epochs::{damaged_epoch, epochs, note_outdated};
use crate::exit::{Failure, Result, USAGE};
use crate::output::Out;
use crate::page;
use crate::planned::{open, pair, saved};
use crate::rewrite;
use crate::summed::Summed;

/// Write a page that shows a map, or a change, in a browser
///
/// The page is one HTML file that needs no network: figures, pictures, tables that can be sorted,
/// the history, what the loss of a domain costs, and a box that locates keys. Given two maps, or a
/// map and a saved plan, it shows what moves where, with what must be known first. No secret of a
/// map is in it.
#[derive(Args)]
#[command(after_help = "\
Examples: a map; a map with the load of a log; a plan before it is applied
  stead report members.map -o members.html
  stead report members.map --load access.log -o members.html
  stead plan fleet.toml members.map -o next.plan
  stead report members.map next.plan -o change.html

  What the plan moves of the bytes of sizes.tsv, lines of name<TAB>bytes
  stead report members.map next.plan --sum sizes.tsv --unit bytes -o change.html

Exit codes:
  0   done
  64  wrong usage, or the file of -o is there and is no report
  65  a map is damaged or of another cluster, a plan was made on another epoch,
      or a line of the log is wrong
  66  a file is missing
  74  reading or writing failed
  77  permission denied")]
pub struct Report {
    /// The map file; of a change, the map before it
    map: PathBuf,
    /// Show a change: the map after it, or a plan that `stead plan -o` saved
    #[arg(value_name = "NEW")]
    new: Option<PathBuf>,
    /// Write the page to this file; - is standard output. An older report is replaced
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Also show how the accesses of a log load the nodes: lines of KEY, or of KEY<TAB>COUNT
    #[arg(long, value_name = "LOG", conflicts_with = "new", group = "counts")]
    load: Option<PathBuf>,
    /// Of a change: also show what moves of these lines of KEY, or of KEY<TAB>COUNT: the rows or
    /// bytes of the key
    #[arg(long, value_name = "FILE", requires = "new", group = "counts")]
    sum: Option<PathBuf>,
    /// With --load or --sum: what the counts are, such as `bytes`: the word in the page [default
    /// of --load: accesses]
    #[arg(long, value_name = "WORD", value_parser = load::unit, requires = "counts")]
    unit: Option<String>,
    #[command(flatten)]
    fold: FoldArg,
}

impl Report {
    pub fn run(self, out: &mut Out) -> Result {
        must_be_ours(&self.output)?;
        let unit = self.unit.as_deref();
        if self.load.is_none() && self.sum.is_none() && self.fold.fold != Fold::None {
            let problem = "--fold works on keys only; add --load or --sum; see --help";
            return Err(Failure::new(USAGE, problem));
        }
        let page = match &self.new {
            Some(new) => of_change(&self.map, new, self.sum.as_deref(), self.fold.fold, unit)?,
            None => {
                let unit = unit.unwrap_or("accesses");
                of_map(&self.map, self.load.as_deref(), &self.fold, unit)?
            }
        };
        if is_standard_output(&self.output) {
            return out.bytes(page.as_bytes());
        }
        rewrite::create_or_replace(&self.output, &page)
    }
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Fails if there is a file of this name that is no report: it may be the map. A pipe has nothing
/// to lose, and is not read: whoever reads its other end would not get the page.
fn must_be_ours(path: &Path) -> Result {
    let is_pipe = |kind: FileType| kind.is_fifo() || kind.is_char_device();
    if is_standard_output(path) || fs::metadata(path).is_ok_and(|found| is_pipe(found.file_type()))
    {
        return Ok(());
    }
    let mut start = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("open", path, error).into()),
        Ok(file) => {
            let read = file.take(100).read_to_end(&mut start);
            read.map_err(|error| Error::io("read", path, error))?;
        }
    }
    match page::is_report(&start) {
        true => Ok(()),
        false => Err(Failure::new(
            USAGE,
            format_args!(
                "{}: is there and is no report; name another file, or remove it",
                path.display()
            ),
        )),
    }
}

fn of_map(path: &Path, log: Option<&Path>, fold: &FoldArg, unit: &str) -> Result<String> {
    let map = Rc::new(Map::open_uncached(path)?);
    understood(&map, path)?;
    let store = Store::new(path, KEEP);
    let (epochs, _) = epochs(&store, &map)?;
    let report = Facts::of(None, &map, false)?;
    let tally = log.map(|log| load::tally(&map, log, fold)).transpose()?;
    let loads = tally.as_ref().map(|tally| Loads::of(tally, Reads::Primary));
    let rows = carrying::rows(&map, older(&store, &map), DRAWN)?;
    let from = carried_from(&store, &map);
    Ok(page::of_map(&page::Facts {
        map: &map,
        file: &name(path),
        report: &report,
        progress: store.progress(&map),
        epochs: &epochs,
        outdated: note_outdated(&store, &map),
        damaged: damaged_epoch(&store),
        rows: &rows,
        from: from.as_ref(),
        load: tally
            .as_ref()
            .zip(loads.as_ref())
            .map(|(tally, loads)| (tally, loads, unit)),
    })?)
}

/// Opens the map where the data was when the open carry of a map began; `None` if no carry is open,
/// or if the history does not have that map.
fn carried_from(store: &Store, map: &Map) -> Option<Map> {
    let from = store.open_epoch(map.carry()?.from_epoch).ok()?;
    page::origin(map, [&from]).is_some().then_some(from)
}

/// How many rows of the history are drawn, with that of the map.
const DRAWN: usize = 5;

/// Opens the epochs just before a map, the newest first. The first that is missing or damaged ends
/// them; the table of the history says which is.
fn older<'a>(store: &'a Store, map: &'a Map) -> impl Iterator<Item = Result<Map>> + 'a {
    let numbers = (1..map.epoch()).rev();
    let opened = numbers.map_while(|epoch| store.open_epoch(epoch).ok());
    opened
        .take_while(|before| before.map_id() == map.map_id() && before.understood().is_ok())
        .map(Ok)
}

fn of_change(
    old: &Path,
    new: &Path,
    counts: Option<&Path>,
    fold: Fold,
    unit: Option<&str>,
) -> Result<String> {
    let files = [old, new];
    let is_planned = saved(new)?.is_some();
    let (older, newer) = pair(old, new)?;
    understood(&older, files[0])?;
    understood(&newer, files[1])?;
    // the maps of the files, which the pair may have given other former names
    let maps = [Map::open_uncached(old)?, open(new)?];
    let mut change = match is_planned {
        true => Change::planned(older, newer),
        false => Change::between(older, newer),
    };
    let place =
        |error| Failure::from(error).at(&format!("{}, {}", files[0].display(), files[1].display()));
    // what the maps themselves do not tell comes from the history beside the old one
    let store = Store::new(files[0], KEEP);
    change.progress = store.progress(&change.new);
    change
        .judge(&store)
        .map_err(|failure| failure.at(&files[1].display().to_string()))?;
    let report = change
        .report_of(Ask {
            moves: true,
            lost: &[],
        })
        .map_err(place)?;
    let (before, after) = (change.old.as_ref().unwrap_or(&change.new), &change.new);
    let sums = counts.map(|counts| {
        let plan = Plan::between(before, after).map_err(place)?;
        Summed::of([before, after], &plan, counts, fold, unit)
    });
    let sums = sums.transpose()?;
    let stores = files.map(|file| Store::new(file, KEEP));
    let mut outdated = Vec::new();
    // a plan has no history of its own
    let of_files = if is_planned { 1 } else { 2 };
    for (map, store) in maps.iter().zip(&stores).take(of_files) {
        outdated.extend(note_outdated(store, map));
    }
    let mut history = Vec::new();
    for map in &maps {
        let mut found = stores.iter().map(|store| carried_from(store, map));
        history.extend(found.find_map(|from| from));
    }
    let files = files.map(name);
    let page = page::of_change(
        &change,
        &report,
        [(&files[0], maps[0].digest()), (&files[1], maps[1].digest())],
        is_planned,
        &history,
        &outdated,
        sums.as_ref(),
    );
    Ok(page?)
}

/// Returns the name of a file without its directories, which are nobody's business.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
