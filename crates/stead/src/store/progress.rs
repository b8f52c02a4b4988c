//! How far a gradual change has come: which step the newest epoch was, and about how many there
//! are.

use super::epochs::Store;
use crate::map::Map;
use crate::plan::{still_to_move, Amounts};
use crate::point::Share;
use crate::slice::{overlay, Slice};

/// How far a gradual change has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The number of the last step, from 1; `None` when the epochs before it are not kept.
    pub step: Option<usize>,
    /// About how many steps there are, if all go on like the last one. Exact when nothing is left.
    pub steps: Option<usize>,
    /// The copies of points that its steps moved, as far back as their epochs are kept.
    pub moved: Share,
    /// The copies of points that have yet to move.
    pub to_come: Share,
    /// In how many slices the base slices still differ from the target slices.
    pub slices_to_come: usize,
}

impl Store {
    /// Returns how far the gradual change of a map has come, or `None` when the map is not a step
    /// of one. The map is the newest epoch or an older one, or one that was built on the newest
    /// epoch.
    ///
    /// Cost: reads the epochs of the history back to the first step, and compares each with the
    /// next.
    pub fn progress(&self, map: &Map) -> Option<Progress> {
        let is_complete = map.target_slices().is_none();
        let has_target = |map: Map| map.target_slices().is_some();
        let before = || self.before(map, map.epoch().saturating_sub(1));
        if is_complete && !before().is_some_and(has_target) {
            return None; // neither this epoch nor the one before is a step that others follow
        }
        let end = end(map);
        let (mut step, mut last, mut found_start) = (1, None, false);
        let mut moved = 0;
        let mut newer: Option<Map> = None;
        let mut at = map.epoch();
        while at > 1 {
            at -= 1;
            let Some(before) = self.before(map, at) else {
                break;
            };
            if let Some(carry) = before.carry() {
                // the epochs of a carry are no steps, and one that was reversed led back to where
                // it began
                newer = match carry.reverse {
                    true => {
                        at = carry.from_epoch;
                        self.before(map, at)
                    }
                    false => Some(before),
                };
                continue;
            }
            let amounts = Amounts::between(&before, newer.as_ref().unwrap_or(map)).ok();
            moved += amounts.map_or(0, |amounts| amounts.moved.0);
            last = last.or(amounts.map(|amounts| amounts.moved.0));
            let is_step = before.target_slices().is_some() && self::end(&before) == end;
            if !is_step {
                found_start = true;
                break;
            }
            step += 1;
            newer = Some(before);
        }
        if is_complete && step == 1 {
            return None;
        }
        let to_come = match is_complete {
            true => 0,
            false => still_to_move(map),
        };
        let step = found_start.then_some(step);
        let more = match (to_come, last) {
            (0, _) => Some(usize::from(!is_complete)),
            (_, None | Some(0)) => None,
            (to_come, Some(last)) => usize::try_from(to_come.div_ceil(last)).ok(),
        };
        Some(Progress {
            step,
            steps: step.zip(more).map(|(step, more)| step + more),
            moved: Share(moved),
            to_come: Share(to_come),
            slices_to_come: slices_to_come(map),
        })
    }

    /// Returns an epoch before a map, if it is kept and belongs to the same map.
    fn before(&self, map: &Map, epoch: u64) -> Option<Map> {
        let before = self.open_epoch(epoch).ok()?;
        (before.map_id() == map.map_id()).then_some(before)
    }
}

/// The slices at which a change ends, with names, which can be compared between maps.
fn end(map: &Map) -> Vec<(u64, Vec<&str>)> {
    let slices: Vec<Slice> = match map.target_slices() {
        Some(slices) => slices.collect(),
        None => map.base_slices().collect(),
    };
    let names = |slice: &Slice| {
        let policy = map.policy(slice.policy);
        match policy.name() {
            Some(name) => vec![name],
            None => policy.members().map(|node| map.node(node).name()).collect(),
        }
    };
    slices
        .iter()
        .map(|slice| (slice.first.0, names(slice)))
        .collect()
}

fn slices_to_come(map: &Map) -> usize {
    let Some(target) = map.target_slices() else {
        return 0;
    };
    overlay([map.base_slices().collect(), target.collect()])
        .filter(|(_, _, [now, then])| now != then)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fleet;

    #[test]
    fn whoever_changes_the_wish_begins_to_count_anew() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path().join("m.map"), 32);
        let step = |nodes: &str| {
            let part = crate::fleet::part("10%").unwrap();
            let fleet = Fleet::parse(&format!("name = 'm'\nnode = [{nodes}]"), "fleet").unwrap();
            store.apply(&fleet, Some(part)).unwrap()
        };
        step("{name = 'a'}, {name = 'b'}");
        let one = "{name = 'a'}, {name = 'b'}, {name = 'c'}";
        for number in 1..=2 {
            let progress = store.progress(&step(one)).unwrap();
            assert_eq!(progress.step, Some(number));
        }
        let before = store.current().unwrap().unwrap();
        let other = step("{name = 'a'}, {name = 'b'}, {name = 'c', weight = 4}");
        let progress = store.progress(&other).unwrap();
        assert_eq!(progress.step, Some(1));
        let moved = Amounts::between(&before, &other).unwrap().moved;
        assert_eq!(progress.moved, moved);
        // the epochs of the old wish are counted as before
        assert_eq!(store.progress(&before).unwrap().step, Some(2));
    }
}
