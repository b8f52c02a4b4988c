//! What `stead plot` draws: reads the maps, names and logs, and hands them to stead-plot.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use stead::load::Reads;
use stead::path::Fold;
use stead::plan::Amounts;
use stead::point::SPACE;
use stead::report::Amount;
use stead::ring::{Kind, Servers};
use stead::simulate::{run_traced, SystemReport};
use stead::stats;
use stead::store::KEEP;
use stead::verdict::Verdict;
use stead::{Error, Map, Plan, Store};
use stead_plot::{percent, Band, Bucket, Buckets, Options, Panel, Row, Run};

use super::count::Count;
use super::load::{tally, ReadsArg};
use super::locate::FoldArg;
use super::{ring, simulate};
use crate::carrying;
use crate::change::understood;
use crate::epochs::note_outdated;
use crate::exit::{note as say, Failure, Result, FLEET, NO_INPUT, USAGE};
use crate::input;
use crate::planned;
use crate::progress;
use crate::suggest::hint;
use crate::summed::Summed;
use crate::text::count;

/// Returns a failure that says what is wrong with the arguments.
pub fn usage(problem: &str) -> Failure {
    Failure::new(USAGE, format!("{problem}; see --help"))
}

/// Opens a map, or the new map of a saved plan.
fn open(path: &Path) -> Result<Map> {
    let map = planned::open(path)?;
    understood(&map, path)?;
    note_carry(&map, path);
    Ok(map)
}

/// Says that a carry is open in a map that is drawn: the picture shows only the new places.
fn note_carry(map: &Map, path: &Path) {
    if let Some(carry) = map.carry() {
        let [hosts, _] = carrying::meaning(&carry);
        say(format_args!(
            "{}: a carry is open ({}): {hosts}; the picture shows the new places",
            path.display(),
            carrying::in_words(&carry)
        ));
    }
}

/// Draws each map as a row. Epochs of one map are named by their numbers, others by their files.
pub fn bands(paths: &[PathBuf], options: &Options) -> Result<String> {
    let maps: Vec<Map> = paths.iter().map(|path| open(path)).collect::<Result<_>>()?;
    let one = maps.iter().all(|map| map.map_id() == maps[0].map_id());
    let row = |(map, path): (&'_ Map, &PathBuf)| match one {
        true => format!("epoch {}", map.epoch()),
        false => {
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            stem.to_string_lossy().into_owned()
        }
    };
    let labels = maps.iter().zip(paths).map(row);
    let rows: Vec<Row> = maps
        .iter()
        .zip(labels)
        .map(|(map, label)| Row { label, map })
        .collect();
    Ok(stead_plot::bands(&rows, options))
}

/// Draws the last epochs of a map. Those of one carry have the same places, so they share a row.
pub fn history(paths: &[PathBuf], last: NonZeroUsize, options: &Options) -> Result<String> {
    let [path] = paths else {
        return Err(usage("--history draws the epochs of one map: name one"));
    };
    // a saved plan has no history
    let newest = Rc::new(Map::open_uncached(path)?);
    understood(&newest, path)?;
    note_carry(&newest, path);
    let store = Store::new(path, KEEP);
    note_outdated(&store, &newest);
    let mut older: Vec<u64> = store.history()?;
    older.retain(|epoch| *epoch < newest.epoch());
    older.sort_unstable();
    let opened = older.into_iter().rev();
    let opened = opened.map(|epoch| store.open_epoch(epoch).map_err(Failure::from));
    let rows = carrying::rows(&newest, opened, last.get())?;
    let rows = rows.iter().map(|(map, last)| Row::of_epochs(map, *last));
    Ok(stead_plot::bands(&rows.collect::<Vec<Row>>(), options))
}

/// Draws what some systems do in a scenario.
pub fn scenario(
    path: &Path,
    systems: &[String],
    partitions: Option<u64>,
    options: &Options,
) -> Result<String> {
    let (scenario, mut sizes) = simulate::read(path)?;
    if let Some(partitions) = partitions {
        sizes.partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
    }
    let bar = progress::working(scenario.steps.len() + 1, "simulating");
    let ran = run_traced(&scenario, sizes, |done, _| bar.set_position(done as u64));
    bar.finish_and_clear();
    let (simulated, trace) = ran.map_err(|error| match error {
        Error::Invalid { problem } => Failure::new(FLEET, problem),
        _ => error.into(),
    })?;
    let stead = [String::from("stead")];
    let wanted = if systems.is_empty() { &stead } else { systems };
    let mut panels = Vec::new();
    for name in wanted {
        let found = simulated.systems.iter().zip(&trace.systems);
        let Some((report, placed)) = found.into_iter().find(|(report, _)| report.system == name)
        else {
            let known = simulated.systems.iter().map(|report| report.system);
            let hint = match name.contains(',') {
                true => "; give --system once for each".to_owned(),
                false => hint(name, known),
            };
            let problem = format!("there is no system {name}{hint}");
            return Err(Failure::new(USAGE, problem));
        };
        let band = |step: usize| {
            let runs = placed.get(step).into_iter().flatten();
            Band {
                label: count(simulated.steps[step].nodes, "node"),
                note: note(report, step),
                runs: runs
                    .map(|(first, end, who)| Run {
                        first: *first,
                        end: *end,
                        who: *who,
                    })
                    .collect(),
            }
        };
        panels.push(Panel {
            title: title(report),
            bands: (0..simulated.steps.len()).map(band).collect(),
            follows: true,
        });
    }
    let bound = part(&simulated.lower_bound);
    let line = format!(
        "All steps together must move {bound}. Imbalance is the fullest node's share over the \
         emptiest's, each as a multiple of its ideal. The line above a row marks what has moved."
    );
    let title = format!("{}: who has which keys, step by step", simulated.name);
    Ok(stead_plot::panels(
        &title,
        &[line],
        &panels,
        &trace.names,
        options,
    ))
}

/// Formats an amount as a part of all copies.
fn part(amount: &Amount) -> String {
    percent(amount.fraction)
}

fn title(report: &SystemReport) -> String {
    let size = match report.size.as_str() {
        "" => String::new(),
        size => format!(", {size}"),
    };
    let moved = part(&report.total.moved);
    format!("{}{size}: moves {moved} in all", report.system)
}

fn note(report: &SystemReport, step: usize) -> String {
    let Some(figures) = report.steps.get(step) else {
        return String::new();
    };
    let imbalance = match figures.figures.imbalance {
        Some(imbalance) => format!("imbalance {imbalance:.2}"),
        None => "a node has nothing".to_owned(),
    };
    match step {
        0 => imbalance,
        _ => {
            format!("moves {}, {imbalance}", part(&figures.moved))
        }
    }
}

/// Draws a map as a ring, with keys.
pub fn map_ring(path: &Path, keys: &[String], options: &Options) -> Result<String> {
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    Ok(stead_plot::ring(&open(path)?, &keys, options))
}

/// Draws the ring of another program from its list of servers.
pub fn servers(
    kind: &str,
    path: &Path,
    set: &[String],
    keys: &[String],
    options: &Options,
) -> Result<String> {
    let kind = Kind::named(kind)?;
    let (bytes, file) = ring::read(path)?;
    let servers = Servers {
        bytes: &bytes,
        file: &file,
    };
    let map = kind.draw(&servers, set)?.map(kind.name)?;
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    Ok(stead_plot::ring(&map, &keys, options))
}

/// Draws the shares of a map.
pub fn shares(path: &Path, before: Option<&Path>, options: &Options) -> Result<String> {
    let before = before.map(open).transpose()?;
    Ok(stead_plot::shares(&open(path)?, before.as_ref(), options))
}

/// Draws how many names of a list each bucket of a scheme of the survey has.
pub fn scheme(scheme: &str, names: &Path, options: &Options) -> Result<String> {
    let wanted = scheme.to_ascii_uppercase();
    let about = stats::schemes().find(|(name, _)| *name == wanted);
    let Some((name, about)) = about else {
        let known = stats::schemes().map(|(name, _)| name);
        let problem = format!("there is no scheme {scheme}{}", hint(scheme, known));
        return Err(Failure::new(USAGE, problem));
    };
    let parts = input::tally_lines(names, None, stats::Survey::new, |survey, names| {
        survey.add_keys(names.keys());
    })?;
    let mut survey = stats::Survey::new();
    parts.iter().for_each(|part| survey.merge(part));
    let counts = survey.buckets(name).unwrap_or_default();
    let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let ideal = all as f64 / counts.len().max(1) as f64;
    let letter = |number: usize| {
        let letters = "0123456789abcdefghijklmnopqrstuvwxyz_";
        letters.get(number..=number).unwrap_or("").to_owned()
    };
    let buckets = counts
        .into_iter()
        .enumerate()
        .map(|(number, names)| Bucket {
            label: if name == "D1" {
                letter(number)
            } else {
                number.to_string()
            },
            names: names.into(),
            ideal,
        });
    let of = Buckets {
        title: format!("{name}: names by {about}"),
        what: "bucket".to_owned(),
        note: String::new(),
        buckets: buckets.collect(),
    };
    Ok(stead_plot::distribution(&of, options))
}

/// Draws how many names of a list each node of a map has.
pub fn names(map: &Path, names: &Path, fold: Fold, options: &Options) -> Result<String> {
    let map = open(map)?;
    let parts = input::tally_lines(
        names,
        None,
        || Count::new(&map),
        |count, batch| count.add_keys(batch, fold),
    )?;
    let mut sum = Count::new(&map);
    parts.iter().for_each(|part| sum.merge(part));
    let verdict = Verdict::of(&map, 0);
    let all: u64 = sum.of_nodes().iter().sum();
    let holders = verdict.nodes.iter().zip(sum.of_nodes());
    let mut buckets: Vec<Bucket> = holders
        .map(|(holder, names)| Bucket {
            label: holder.name.to_owned(),
            names: *names,
            ideal: all as f64 * (holder.now.primary_points as f64 / SPACE as f64),
        })
        .collect();
    buckets.sort_by_key(|bucket| {
        let parts = crate::text::natural(&bucket.label);
        parts
            .into_iter()
            .map(|(text, number, digits)| (text.to_owned(), number, digits.to_owned()))
            .collect::<Vec<_>>()
    });
    let note = match map.replicas() {
        1 => String::new(),
        copies => format!("Only the first of the {copies} nodes of a name is counted."),
    };
    let of = Buckets {
        title: format!("{}: names by node", map.name()),
        what: "node".to_owned(),
        note,
        buckets,
    };
    Ok(stead_plot::distribution(&of, options))
}

/// Draws what moves between two maps, to the map of a saved plan from the map that it was made on,
/// or to a map from the epochs before it; with a file of counts, what moves of its lines.
pub fn moves(paths: &[PathBuf], sum: Option<&Log>, options: &Options) -> Result<String> {
    let (old, new) = match paths {
        [old, new] => two(old, new)?,
        [path, ..] => {
            let new = open(path)?;
            if planned::saved(path)?.is_some() {
                let problem = format!(
                    "{plan}: is a saved plan, which does not have the map before it; name both: \
                     `stead plot moves MAP {plan}`",
                    plan = path.display()
                );
                return Err(Failure::new(USAGE, problem));
            }
            let store = Store::new(path, KEEP);
            note_outdated(&store, &new);
            let Some(old) = before(&store, &new)? else {
                let problem = format!(
                    "{}: has no epoch before it in its history; name an old and a new map",
                    path.display()
                );
                return Err(Failure::new(NO_INPUT, problem));
            };
            (old, new)
        }
        [] => return Err(usage("name a map")),
    };
    let place = |error| {
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        Failure::from(error).at(&names.join(", "))
    };
    let Some(Log { path, fold, unit }) = sum else {
        return stead_plot::moves(&old, &new, options).map_err(place);
    };
    let plan = Plan::between(&old, &new).map_err(place)?;
    let unit = Some(*unit).filter(|unit| !unit.is_empty());
    let sums = Summed::of([&old, &new], &plan, path, fold.fold, unit)?;
    Ok(stead_plot::moves_counted(
        &old,
        &new,
        &sums.drawn(),
        options,
    ))
}

/// Opens the newest epoch of the history from which something moves to this map, and says so if it
/// is not the one before: a carry moves copies with its first epoch, and has others after it. If
/// nothing moves from any, it is the one before.
fn before(store: &Store, new: &Map) -> Result<Option<Map>> {
    let mut epochs = store.history()?;
    epochs.retain(|epoch| *epoch < new.epoch());
    epochs.sort_unstable_by(|a, b| b.cmp(a));
    let Some((first, rest)) = epochs.split_first() else {
        return Ok(None);
    };
    let first = store.open_epoch(*first)?;
    let moves = |old: &Map| {
        let amounts = Amounts::between(old, new)?;
        Ok::<_, Failure>(amounts.moved.0 > 0 || amounts.by_hand.0 > 0)
    };
    if moves(&first)? {
        return Ok(Some(first));
    }
    let mut after = first.epoch();
    // the first that is missing or damaged ends the search
    for old in rest.iter().map_while(|epoch| store.open_epoch(*epoch).ok()) {
        if old.map_id() != new.map_id() {
            break;
        }
        if moves(&old)? {
            say(format_args!(
                "{}: the epochs after {after} move nothing: the picture shows what epoch {after} \
                 moved",
                store.path().display()
            ));
            return Ok(Some(old));
        }
        after = old.epoch();
    }
    Ok(Some(first))
}

/// Opens an old and a new map. Says so when they come in the other order: the picture does not
/// show it.
fn two(before: &Path, after: &Path) -> Result<(Map, Map)> {
    let (old, new) = planned::pair(before, after)?;
    note_carry(&new, after);
    if old.map_id() == new.map_id() && old.epoch() > new.epoch() {
        say(format_args!(
            "{} is epoch {}, and {} is the older epoch {}: the picture shows the way back; the old \
             map comes first",
            before.display(),
            old.epoch(),
            after.display(),
            new.epoch()
        ));
    }
    Ok((old, new))
}

/// Draws the fault domains of a map.
pub fn domains(path: &Path, options: &Options) -> Result<String> {
    Ok(stead_plot::domains(&open(path)?, options))
}

/// A file of keys with counts: a log whose load is drawn, or the rows or bytes of keys.
pub struct Log<'a> {
    pub path: &'a Path,
    pub fold: &'a FoldArg,
    /// what its counts are, such as `accesses`; empty if nobody has said
    pub unit: &'a str,
}

/// Draws the load of a log.
pub fn load(path: &Path, log: &Log, reads: ReadsArg, options: &Options) -> Result<String> {
    let map = open(path)?;
    let tally = tally(&map, log.path, log.fold)?;
    Ok(stead_plot::load(
        &tally,
        Reads::from(reads),
        log.unit,
        options,
    ))
}
