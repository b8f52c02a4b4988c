//! What a pass has found: the sentences for the report, and what a carry does not go on with.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::kind::{Done, Fault, Kind};
use super::pass::Task;
use super::refusals::uncarried;
use super::route::Routes;
use super::settings::Settings;
use super::tally::{told_bytes, Tally};
use crate::exit::{Failure, Result, NO_INPUT, REFUSED};

/// How many items are named that somebody should look at.
const EXAMPLES: usize = 3;

/// How many items a node is expected to have, at least, before it matters that it has none: chance
/// leaves it empty less than once in a hundred times.
const FEW: u64 = 5;

/// Refuses to carry nothing while something is there: after the last step, applications would look
/// for it at the new places.
pub fn refuse_overlooked(overlooked: Done<Option<String>>) -> Result {
    match overlooked {
        Ok(None) => Ok(()),
        Ok(Some(line)) | Err(Fault { line, .. }) => Err(Failure::new(NO_INPUT, line)),
    }
}

/// Refuses to carry where items are only at their new places: after a change without a carry, the
/// data may still be where it was before, and this carry takes that change's places for the old
/// ones.
fn refuse_uncarried(tally: &Tally, routes: &Routes, settings: &Settings) -> Result {
    let (count, first) = tally.strays();
    match routes.uncarried {
        Some(last) if count > settings.limits.only_new => Err(uncarried(
            &last,
            (count, tally.counts().items),
            &first,
            &settings.map.display().to_string(),
        )),
        _ => Ok(()),
    }
}

/// The first of the items that are named.
fn first(named: Vec<String>) -> String {
    named.into_iter().next().unwrap_or_default()
}

/// Refuses to carry with a file that overlooks much of what is there: paths that do not fit, and
/// items that are at nodes where neither map places their keys. Readers would not find them.
fn refuse_blind(tally: &Tally, kind: &dyn Kind, settings: &Settings) -> Result {
    let (misplaced, left) = (tally.counts().misplaced, kind.left_alone());
    let listed = tally.listed.load(Ordering::Relaxed);
    let percent = settings.limits.overlooked;
    let is_much = |part: u64, all: u64| part * 100 > all * percent;
    let line = if is_much(misplaced, listed) {
        format!(
            "{misplaced} of {listed} items are at nodes where neither map places their keys, such \
             as {}: they would not be carried, and readers would not find them; correct the \
             pattern or whatever else takes the key out of a name, or the hash of the map",
            first(tally.misplaced())
        )
    } else if is_much(left, left + listed) {
        format!(
            "{}: if they belong to keys, readers would not find them; correct the pattern",
            kind.notes().join("; ")
        )
    } else {
        return Ok(());
    };
    let line = line + "; if they do not matter, raise limits.overlooked (percent)";
    Err(Failure::new(NO_INPUT, line))
}

/// Refuses to carry items apart that are tied to each other.
pub fn refuse_tied(tally: &Tally) -> Result {
    match tally.ties() {
        None => Ok(()),
        Some(ties) => Err(Failure::new(
            NO_INPUT,
            format_args!(
                "{ties}; rows of different keys do not go together, so one could be deleted or \
                 changed with the other, or hold it; give such rows the key of the row to which \
                 they refer, or drop these foreign keys until the carry is closed; no old copy was \
                 removed"
            ),
        )),
    }
}

/// What a pass has found that nobody may have expected, each with an example. A pass that ended
/// before its end has not removed what the others lack. `also` is what the kind says in
/// [`Kind::differs_also`].
pub fn noted(task: Task, tally: &Tally, is_whole: bool, also: &str) -> Vec<String> {
    let counts = tally.counts();
    let mut notes = Vec::new();
    match task {
        Task::Copy | Task::Verify => {
            if counts.mended > 0 {
                notes.push(format!(
                    "made equal to the old place: {}, such as {}; a write was under way, a program \
                     died between its two writes, or one that does not follow the pair wrote to \
                     the new place only, and that value is gone{also}",
                    items(counts.mended),
                    first(tally.mended())
                ));
            }
            if counts.only_new > 0 {
                notes.push(format!(
                    "only at the new place and removed there: {}, such as {}; a delete was under \
                     way, a program died between its two deletes, one that does not follow the \
                     pair wrote to the new place only, or they are left of an earlier time",
                    items(counts.only_new),
                    first(tally.cleared())
                ));
            }
            if counts.restored > 0 {
                notes.push(format!(
                    "lacking at the new place and copied again: {}, such as {}; a program died \
                     between its two writes, one that does not follow the pair wrote to the old \
                     place only, or the new place has lost data",
                    items(counts.restored),
                    first(tally.restored())
                ));
            }
        }
        Task::Look { reverse: true } if counts.absent > 0 => notes.push(format!(
            "only at the new place, and removed there in the next state: {}, such as {}; \
             limits.only_new allows to remove that many",
            items(counts.absent),
            first(tally.lacking())
        )),
        Task::Check if counts.different > 0 => notes.push(format!(
            "with another value at the new place: {}, such as {}; the new place's value stays, and \
             the old one will be removed; two programs wrote one key at once, or one that does not \
             follow the map wrote to the old place only{also}",
            items(counts.different),
            first(tally.differing())
        )),
        Task::Remove { reverse } => {
            let (kept, wrote) = match reverse {
                false => ("new", "old place since the check"),
                true => ("old", "new place only"),
            };
            let (rewritten, named) = tally.rewritten();
            if rewritten > 0 {
                notes.push(format!(
                    "look at these: written at the old place since the check, and removed there \
                     with another value or none at the new place: {}, such as {}; programs that \
                     follow the map write there only until the state new is confirmed, so another \
                     program may write by an older rule; --json lists up to 1,000",
                    items(rewritten),
                    named[..named.len().min(EXAMPLES)].join(", ")
                ));
            }
            let [calm_other, calm_absent] = tally.calm();
            let or_stray = |calm: u64, all: u64| match all - calm.min(all) {
                0 => ", as is usual; their old copies have not changed since the check".to_owned(),
                _ if rewritten > 0 => ", but for those above".to_owned(),
                _ => format!(
                    ", or a program that does not follow the map has written them to the {wrote}"
                ),
            };
            if counts.absent > 0 && !is_whole {
                notes.push(format!(
                    "lacking at the {kept} place, and not removed: {}, such as {}",
                    items(counts.absent),
                    first(tally.lacking())
                ));
            } else if counts.absent > 0 {
                notes.push(format!(
                    "removed without a copy at the {kept} place: {}, such as {}; applications have \
                     deleted them there{}",
                    items(counts.absent),
                    first(tally.lacking()),
                    or_stray(calm_absent, counts.absent)
                ));
            }
            if !reverse && counts.different > 0 {
                notes.push(format!(
                    "written at the old place after the new one: {}, such as {}; a program that \
                     does not follow the map writes there, and limits.different allows to remove \
                     that many",
                    items(counts.different),
                    first(tally.differing())
                ));
            }
            let count = tally.overruled();
            if count > 0 {
                notes.push(format!(
                    "removed with another value at the {kept} place: {}, such as {}; \
                     applications have written them there{}",
                    items(count),
                    first(tally.overruled_named()),
                    or_stray(calm_other, count)
                ));
            }
        }
        _ => {}
    }
    if counts.misplaced > 0 && matches!(task, Task::Count | Task::Verify) {
        let old = match task {
            Task::Verify => {
                "; a node that was away may have them from an earlier time: then remove them"
            }
            _ => "",
        };
        notes.push(format!(
            "at nodes where neither map places their keys: {}, such as {}; they stay there, and \
             readers do not find them{old}",
            items(counts.misplaced),
            first(tally.misplaced())
        ));
    }
    notes
}

/// Refuses what was counted if it cannot be carried so. Returns what is to be said about it.
pub fn judge_counted(
    kind: &dyn Kind,
    routes: &Routes,
    tally: &Tally,
    settings: &Settings,
) -> Result<Vec<String>> {
    refuse_uncarried(tally, routes, settings)?;
    refuse_empty_nodes(routes, tally, settings)?;
    refuse_blind(tally, kind, settings)?;
    let full = full_disks(kind, routes, tally)?;
    refuse_full_disks(&full, settings)?;
    Ok(full)
}

/// Names the nodes that have keys and no items, where others have so many that this is no chance.
pub fn empty_nodes(routes: &Routes, tally: &Tally) -> Vec<String> {
    empty_of(routes, tally, tally.listed.load(Ordering::Relaxed))
}

/// Refuses more such nodes than `limits.empty`, unless the servers may forget what they have: what
/// is not there is not copied, and readers then look for it at the new places.
fn refuse_empty_nodes(routes: &Routes, tally: &Tally, settings: &Settings) -> Result {
    let listed = tally.listed.load(Ordering::Relaxed);
    let kept = listed.saturating_sub(tally.forgettable.load(Ordering::Relaxed));
    let empty = empty_of(routes, tally, kept);
    match empty.first() {
        Some(first) if empty.len() as u64 > settings.limits.empty => Err(Failure::new(
            NO_INPUT,
            format_args!(
                "{first}; nothing was changed; if so many nodes may be empty ({}), raise \
                 limits.empty",
                empty.len()
            ),
        )),
        _ => Ok(()),
    }
}

/// Names the disks that have not the room for what is on its way to them.
fn full_disks(kind: &dyn Kind, routes: &Routes, tally: &Tally) -> Result<Vec<String>> {
    let ways = match tally.ways.lock() {
        Ok(ways) => ways.clone(),
        Err(_) => return Ok(Vec::new()),
    };
    let mut wanted: BTreeMap<usize, u64> = BTreeMap::new();
    for ((_, to), way) in ways {
        if let Some(bytes) = way.bytes {
            let sum = wanted.entry(to).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }
    // by the name of the disk: its room, what comes, and the nodes that have it
    let mut disks: BTreeMap<String, (u64, u64, Vec<&str>)> = BTreeMap::new();
    for (to, bytes) in wanted {
        let node = &routes.nodes[to];
        let disk = kind.disk(node);
        let Some(disk) = disk.map_err(|fault| Failure::new(NO_INPUT, fault.at(node).line))? else {
            continue;
        };
        let (free, sum, names) = disks.entry(disk.name).or_default();
        *free = disk.free;
        *sum = sum.saturating_add(bytes);
        names.push(&node.name);
    }
    let is_full = |(free, wanted, _): &(u64, u64, Vec<&str>)| wanted > free;
    let line = |(free, wanted, names): (u64, u64, Vec<&str>)| {
        let (names, disk) = match &names[..] {
            [one] => ((*one).to_owned(), "the disk of"),
            several => (several.join(", "), "the disk that is shared by"),
        };
        format!(
            "{disk} {names} has {} free, and about {} are to be copied there",
            told_bytes(free),
            told_bytes(wanted)
        )
    };
    Ok(disks.into_values().filter(is_full).map(line).collect())
}

/// Refuses more such disks than `limits.full`: while one is full, applications cannot write there
/// either.
fn refuse_full_disks(full: &[String], settings: &Settings) -> Result {
    match full.first() {
        Some(first) if full.len() as u64 > settings.limits.full => Err(Failure::new(
            REFUSED,
            format_args!(
                "{first}; nothing was copied; make room, or go back by `stead-sync carry reverse`; \
                 if it fits nevertheless, such as where a part of it is there already, set \
                 limits.full to the number of such disks ({})",
                full.len()
            ),
        )),
        _ => Ok(()),
    }
}

/// Names the nodes without items that have so many keys of a number of items that this is no
/// chance.
fn empty_of(routes: &Routes, tally: &Tally, items: u64) -> Vec<String> {
    let found = match tally.found_at.lock() {
        Ok(found) => found.clone(),
        Err(_) => return Vec::new(),
    };
    let line = |node: usize| {
        let percent = routes.percent(node);
        (!found.contains(&node) && percent * items >= FEW * 100).then(|| {
            format!(
                "{} has {percent} % of the keys and no items; is it mounted, and is it the right \
                 server? for files, name a marker in the file of the carry, and if the node has \
                 lost its data, name it in lost",
                routes.nodes[node].name
            )
        })
    };
    routes.ends().0.into_iter().filter_map(line).collect()
}

fn items(count: u64) -> String {
    format!("{count} item{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::kind::Item;
    use super::super::protocol::Outcome;
    use super::*;

    #[test]
    fn what_a_pass_has_found_is_named() {
        let tally = Tally::default();
        let remove = Task::Remove { reverse: false };
        assert_eq!(
            (
                noted(Task::Count, &tally, true, ""),
                noted(remove, &tally, true, "")
            ),
            (vec![], vec![])
        );
        for key in ["anna", "bob"] {
            tally.misplace("n1", &Item::of_key(key));
            tally.lack("n2", &Item::of_key(key));
        }
        let found = noted(Task::Count, &tally, true, "").concat();
        assert!(found.contains("keys: 2 items, such as anna at node n1;"));
        let found = noted(remove, &tally, true, "").concat();
        assert!(found.contains("place: 2 items, such as anna at node n2;"));
        let back = noted(Task::Remove { reverse: true }, &tally, true, "").concat();
        assert!(back.contains("at the old place: 2 items, such as anna at node n2;"));
        let back = noted(Task::Remove { reverse: true }, &tally, false, "").concat();
        assert!(back.contains("at the old place, and not removed: 2 items, such as anna"));
        assert!(noted(Task::Check, &tally, true, "").is_empty());
        let looked = noted(Task::Look { reverse: true }, &tally, true, "").concat();
        assert!(looked.contains("2 items, such as anna at node n2; limits.only_new"));
        tally.mend("n5", &Item::of_key("emil"), Outcome::Restored);
        let found = noted(Task::Verify, &tally, true, "");
        assert!(found[0].starts_with("lacking at the new place and copied again: 1 item,"));
        tally.mend("n5", &Item::of_key("gina"), Outcome::Cleared);
        let found = noted(Task::Verify, &tally, true, "");
        assert!(found[0].starts_with("only at the new place and removed there: 1 item, such as g"));
        tally.mend("n5", &Item::of_key("fred"), Outcome::Mended);
        let also = ", or each database computed a value by itself";
        let found = noted(Task::Verify, &tally, true, also);
        assert!(found[0].ends_with(&format!("and that value is gone{also}")));
        assert!(found[0].starts_with("made equal to the old place: 1 item, such as fred"));
        assert!(found.len() == 4 && found[2].contains("such as emil at node n5;"));
        assert!(found[3].ends_with("from an earlier time: then remove them"));
        tally.differ("n3", &Item::of_key("carl"));
        let found = noted(Task::Check, &tally, true, also).concat();
        assert!(found.ends_with(&format!("to the old place only{also}")));
        assert!(
            found.contains("another value at the new place: 1 item, such as carl at node n3;"),
            "{found}"
        );
        tally.overrule("n4", &Item::of_key("dora"));
        let found = noted(remove, &tally, true, "");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[1].contains("after the new one: 1 item, such as carl at node n3;"));
        assert!(found[2].contains("new place: 1 item, such as dora at node n4;"));
    }
}
