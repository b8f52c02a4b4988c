//! A saved plan in the place of a map: the map that it will make.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use stead::store::{SavedPlan, KEEP};
use stead::{Map, Store};

use crate::exit::{Failure, Result, DATA, USAGE};

/// Opens a map, or the new map of a saved plan.
pub fn open(path: &Path) -> Result<Map> {
    match saved(path)? {
        Some(map) => Ok(map),
        None => Ok(Map::open_uncached(path)?),
    }
}

/// Opens an old and a new map. The new one may be that of a saved plan, which was made on the old.
pub fn pair(before: &Path, after: &Path) -> Result<(Map, Map)> {
    if saved(before).is_ok_and(|plan| plan.is_some()) {
        return Err(Failure::new(
            USAGE,
            format_args!(
                "{before} is a saved plan, and the old map comes first: give {after} {before}",
                before = before.display(),
                after = after.display()
            ),
        ));
    }
    let old = Map::open_uncached(before)?;
    let Some(new) = saved(after)? else {
        let new = Map::open_uncached(after)?;
        return with_names(old, new, [before, after]);
    };
    made_on(&new, &old, [before, after])?;
    Ok((old, new))
}

/// Gives the later one of two epochs the former names of its nodes that only the epochs in between
/// know. Where the two files have no history of their own, they are compared as they are.
fn with_names(old: Map, new: Map, paths: [&Path; 2]) -> Result<(Map, Map)> {
    let is_back = new.epoch() < old.epoch();
    let (earlier, later) = if is_back { (&new, &old) } else { (&old, &new) };
    if earlier.map_id() != later.map_id() {
        return Ok((old, new));
    }
    let stores = paths.map(|path| Store::new(map_of(path), KEEP));
    let renamed = stores.iter().find_map(|store| {
        // the history must be that of these maps
        let kept = store.open_epoch(earlier.epoch()).ok()?;
        let is_ours = kept.digest() == earlier.digest();
        store.renamed(earlier, later).ok().filter(|_| is_ours)
    });
    let renamed = renamed.unwrap_or_default();
    if renamed.is_empty() {
        return Ok((old, new));
    }
    let told = later.formerly_named(&renamed)?;
    Ok(match is_back {
        true => (told, new),
        false => (old, told),
    })
}

/// The map to whose history a file belongs: `m.map` for `m.map.history/3`, or the file itself.
fn map_of(path: &Path) -> PathBuf {
    let directory = path.parent().and_then(Path::to_str);
    let map = directory.and_then(|directory| directory.strip_suffix(".history"));
    map.map_or_else(|| path.to_owned(), PathBuf::from)
}

/// Checks that a plan was made on this map: from another epoch it would look like another change.
pub fn made_on(plan: &Map, old: &Map, [map, file]: [&Path; 2]) -> Result {
    let is_other = plan.name() != old.name() || plan.map_id() != old.map_id();
    // another cluster is told of later
    if is_other || plan.parent() == old.digest() {
        return Ok(());
    }
    let before = plan.epoch().saturating_sub(1);
    if plan.digest() == old.digest() {
        return Err(Failure::new(
            DATA,
            format_args!(
                "{}: {map} is the map of this plan already, so nothing is left to show; if the \
                 plan was carried out, name the epoch before, {map}.history/{before}",
                file.display(),
                map = map.display()
            ),
        ));
    }
    Err(Failure::new(
        DATA,
        format_args!(
            "{}: the plan was made on epoch {before}, and {map} is epoch {}: name that epoch, such \
             as {map}.history/{before}, or plan again",
            file.display(),
            old.epoch(),
            map = map.display()
        ),
    ))
}

/// Returns the map of a saved plan; `None` if the file is none.
pub fn saved(path: &Path) -> Result<Option<Map>> {
    let mut start = [0; 8];
    // a pipe would be waited for
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    match read {
        Ok(()) if SavedPlan::is_one(&start) => Ok(Some(SavedPlan::read(path)?.new)),
        _ => Ok(None), // what is wrong with the file is known when it is opened as a map
    }
}
