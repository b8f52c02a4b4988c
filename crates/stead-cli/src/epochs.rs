//! The epochs of a map that are kept, with what each of them moved: `history` lists them, and the
//! page of `report` shows them.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;
use stead::format::hex;
use stead::plan::{dropped, Amounts};
use stead::point::SPACE;
use stead::report::{Amount, PinnedKeys};
use stead::store::{changes, Entry};
use stead::{Error, Map, Status, Store};

use crate::exit::{note, Failure, Result};
use crate::text;

/// How long a map may have a newer epoch in its history because that is being published.
const PUBLISHING: Duration = Duration::from_millis(100);

/// Says why no change can follow a map: its history has newer epochs, or is that of another map.
pub fn not_newest(store: &Store, map: &Map) -> Option<String> {
    let Err(Error::Identity { problem }) = store.check_history(map) else {
        return None;
    };
    // a map that was replaced since it was read has a newer history, too
    let is_there = |now: &Map| now.digest() == map.digest();
    let now = store.current().ok().flatten();
    let file = format!("{}: ", store.path().display());
    let problem = problem.strip_prefix(&file).unwrap_or(&problem).to_owned();
    now.is_some_and(|now| is_there(&now)).then_some(problem)
}

/// Says the same in one sentence without the names of files, for pages and for notes: `check` says
/// what to do.
pub fn outdated(store: &Store, map: &Map) -> Option<String> {
    not_newest(store, map)?;
    Some(
        match store.newest_kept().filter(|newest| *newest > map.epoch()) {
            Some(newest) => format!(
            "this map is epoch {}, and its history has epoch {newest}: an old map was put back, or \
             the newer one was not brought here",
            map.epoch()
        ),
            None => {
                "the history beside this map is that of another map: somebody put a map in the \
                 place of another"
                    .to_owned()
            }
        },
    )
}

/// Says the same where a lookup is answered by the map, for the cost of listing its history.
pub fn note_older(store: &Store, map: &Map) {
    let is_older = || {
        store
            .newest_kept()
            .is_some_and(|newest| newest > map.epoch())
    };
    // whoever publishes writes the new epoch into the history first
    if is_older() {
        sleep(PUBLISHING);
        note_outdated(store, map);
    }
}

/// Says on standard error that a map is outdated, if it is.
pub fn note_outdated(store: &Store, map: &Map) -> Option<String> {
    let found = outdated(store, map)?;
    let file = store.path().display();
    note(format_args!(
        "{file}: {found}; `stead check` says what to do"
    ));
    Some(found)
}

/// Says on standard error that a watch of stead-sync keeps a map. A change that is made in this map
/// must be pushed to the hub, too; otherwise the next epoch from the hub is refused.
pub fn note_watched(map: &Path) {
    let mut lock = map.as_os_str().to_owned();
    lock.push(".watch");
    // the process of the last watch, whose number may be that of another program by now
    let Ok(number) = fs::read_to_string(lock) else {
        return;
    };
    let number = number.trim();
    let runs = fs::read_to_string(format!("/proc/{number}/comm"));
    if !number.is_empty() && runs.is_ok_and(|name| name.trim() == "stead-sync") {
        let map = map.display();
        note(format_args!(
            "{map}: a watch of stead-sync (process {number}) keeps this map at that of a hub: push \
             the change to the hub, since the next one from there is refused otherwise"
        ));
    }
}

/// Says on standard error why the log of the history has no line about a map that was just
/// published, if it has none. The map itself is in place.
pub fn note_untold(store: &Store, map: &Map) {
    let digest = hex(&map.digest());
    if store.log().iter().any(|entry| entry.digest == digest) {
        return;
    }
    let mut file = store.path().as_os_str().to_owned();
    file.push(".history/log");
    let file = Path::new(&file);
    let why = match OpenOptions::new().append(true).open(file) {
        Err(error) => Error::io("write", file, error).to_string(),
        Ok(_) => format!("{}: its last line was not written", file.display()),
    };
    note(format_args!(
        "{why}; so `stead history` cannot say who made epoch {}, and why",
        map.epoch()
    ));
}

/// Says which epoch of the history is damaged, the newest first: nothing can go back to it.
pub fn damaged_epoch(store: &Store) -> Option<String> {
    // a map may be shipped without its history
    let numbers = store.history().unwrap_or_default();
    let errors = numbers
        .into_iter()
        .rev()
        .map(|number| store.open_epoch(number));
    // whoever may not read the history does not know
    let is_damage = |error: &Error| matches!(error.status(), Status::Format | Status::Digest);
    let error = errors.filter_map(stead::Result::err).find(is_damage)?;
    Some(format!(
        "an epoch of the history is damaged, and no rollback goes back to it; remove the file, or \
         restore it: {error}"
    ))
}

/// An epoch of the history. A damaged epoch has an error and no figures.
#[derive(Serialize)]
pub struct Epoch {
    pub epoch: u64,
    pub current: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<usize>,
    /// when, by whom and why it was published, where the log says so
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// what changed in the fleet, in a few words
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// the R that `moved` is a part of; 0 if the epoch is damaged
    #[serde(skip)]
    pub copies: u32,
    /// null when neither the epoch before nor the log is kept
    pub moved: Option<Amount>,
    /// what pins and changed policies moved, if they moved anything
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<ByHand>,
    /// the copies that no node has any more, if there are any
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Amount>,
    /// whether a carry brought the data, if any moved and the epoch before is kept
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried: Option<bool>,
    /// whether that is told: a site that never carries need not read it
    #[serde(skip)]
    pub lacks_carry: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What moved because somebody named its nodes, in JSON.
#[derive(Serialize)]
pub struct ByHand {
    #[serde(flatten)]
    amount: Amount,
    pinned_keys: usize,
}

impl Epoch {
    /// Formats what the epoch moved, as a part of all copies; `-` where nobody knows.
    pub fn moved_in_words(&self) -> String {
        match &self.moved {
            Some(moved) => share(moved.points.parse().unwrap_or(0), self.copies),
            None => "-".to_owned(),
        }
    }

    /// Formats what changed, and what that dropped and moved by hand.
    pub fn change_in_words(&self) -> Option<String> {
        let change = self.change.as_ref()?;
        let points = |amount: &Amount| amount.points.parse().unwrap_or(0);
        let dropped = self.dropped.as_ref().map(|amount| {
            let dropped = share(points(amount), self.copies);
            format!("drops {dropped}")
        });
        let by_hand = self.by_hand.as_ref().map(|by_hand| {
            let moved = points(&by_hand.amount);
            let moved = text::by_hand(moved, by_hand.pinned_keys, self.copies);
            format!("by hand: {moved}")
        });
        let no_carry = self.lacks_carry.then(|| "no carry".to_owned());
        let more: Vec<String> = dropped.into_iter().chain(by_hand).chain(no_carry).collect();
        Some(match more.is_empty() {
            true => change.clone(),
            false => format!("{change} ({})", more.join("; ")),
        })
    }

    /// Formats when it was published, to the minute; `-` where nobody knows.
    pub fn time_in_words(&self) -> String {
        self.time.as_ref().map_or("-".to_owned(), |time| {
            time.replace('T', " ").chars().take(16).collect()
        })
    }
}

/// Formats points as a part of all copies with two decimals: `33.33 %`.
fn share(points: u128, replicas: u32) -> String {
    let all = u128::from(replicas.max(1)) * SPACE;
    match (points * 10_000 + all / 2) / all {
        0 if points > 0 => "< 0.01 %".to_owned(),
        hundredths => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

/// Replaces what a terminal would obey: anybody who may write to the log chose these characters.
pub fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(shown).collect()
}

/// Returns the epochs, oldest first, and the first failure among them.
pub fn epochs(store: &Store, current: &Map) -> Result<(Vec<Epoch>, Option<Failure>)> {
    let numbers = match store.history() {
        Ok(numbers) => numbers,
        // the map was shipped without its history
        Err(error) if error.status() == Status::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    // of several entries for one epoch the last one counts; a digest belongs to one map alone
    let log: HashMap<String, Entry> = store
        .log()
        .into_iter()
        .map(|entry| (entry.digest.clone(), entry))
        .collect();
    let mut list = Vec::with_capacity(numbers.len() + 1);
    let (mut before, mut failure): (Option<Map>, Option<Failure>) = (None, None);
    for number in numbers {
        let is_current = number == current.epoch();
        let entry = store
            .open_epoch(number)
            .and_then(|map| Ok((epoch(before.as_ref(), &map, is_current, &log)?, map)));
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
        list.push(epoch(before.as_ref(), current, true, &log)?);
    }
    // where some changes are carried, those that were not are to be seen
    let carries = list.iter().any(|entry| entry.carried == Some(true));
    for entry in &mut list {
        entry.lacks_carry = carries && entry.carried == Some(false);
    }
    Ok((list, failure))
}

fn epoch(
    before: Option<&Map>,
    map: &Map,
    current: bool,
    log: &HashMap<String, Entry>,
) -> stead::Result<Epoch> {
    let before = before.filter(|before| before.epoch() + 1 == map.epoch());
    let told = log.get(&hex(&map.digest()));
    let (mut by_hand, mut keys, mut lost) = (0, 0, 0);
    let (points, change) = match before {
        _ if map.epoch() == 1 => (Some(0), Some(changes(None, map)?)),
        Some(before) => {
            let amounts = Amounts::between(before, map)?;
            by_hand = amounts.by_hand.0;
            lost = dropped(before, map);
            keys = PinnedKeys::between(before, map)?.map_or(0, |keys| keys.moved);
            (Some(amounts.moved.0), Some(changes(Some(before), map)?))
        }
        // the log still knows what the maps no longer tell
        None => (told.and_then(|told| told.moved_points.parse().ok()), None),
    };
    // as in a plan: a part of the copies of the map that has more of them
    let other = match (before, told) {
        (None, Some(told)) => told.replicas,
        _ => before.map_or(0, Map::replicas),
    };
    let copies = other.max(map.replicas());
    // the epoch after the last state of a carry that was reversed moves what that had moved
    let carried = before
        .filter(|_| points > Some(0))
        .map(|before| map.carry().is_some() || before.carry().is_some());
    Ok(Epoch {
        time: told.map(|told| told.time.clone()),
        who: told.map(|told| visible(&told.who)),
        note: told.and_then(|told| told.note.clone()),
        change: told.map(|told| told.change.clone()).or(change),
        epoch: map.epoch(),
        current,
        digest: Some(hex(&map.digest())),
        parent: Some(hex(&map.parent())),
        slices: Some(map.base_count()),
        copies,
        moved: points.map(|points| Amount::of_copies(points, copies)),
        by_hand: (by_hand > 0 || keys > 0).then(|| ByHand {
            amount: Amount::of_copies(by_hand, copies),
            pinned_keys: keys,
        }),
        dropped: (lost > 0).then(|| Amount::of_copies(lost, copies)),
        carried,
        lacks_carry: false,
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
        time: None,
        who: None,
        note: None,
        change: None,
        copies: 0,
        moved: None,
        by_hand: None,
        dropped: None,
        carried: None,
        lacks_carry: false,
        error,
    }
}
