//! What a pass has done so far: counts, and the line that shows its progress.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::audited::Audited;
use super::kind::{told_place, Item, Tie};
use super::protocol::Outcome;
use super::remembered::Since;
use crate::exit::say;

/// How often a terminal shows progress, and how often a log does.
const OFTEN: Duration = Duration::from_millis(500);
const SELDOM: Duration = Duration::from_secs(30);

/// How many items of one end are named.
const NAMED: usize = 1_000;

/// How many ties of one sort are counted.
const TIES: usize = 10_000;

/// The counts of a pass.
#[derive(Default)]
pub struct Tally {
    /// The items that were listed.
    pub listed: AtomicU64,
    /// Those that the pass had to do with.
    pub items: AtomicU64,
    /// Those of them that a server may forget, where items are counted.
    pub forgettable: AtomicU64,
    outcomes: Mutex<Counts>,
    /// What is where no map places it, for an audit.
    pub audited: Audited,
    /// What goes from one node to another.
    pub ways: Mutex<BTreeMap<(usize, usize), OnTheWay>>,
    /// What is only removed at a node, and copied from another one, or from none.
    pub drops: Mutex<BTreeMap<usize, OnTheWay>>,
    /// The nodes at which items were listed.
    pub found_at: Mutex<BTreeSet<usize>>,
    /// The items that only their new place has.
    only_new: AtomicU64,
    /// those whose new value may be the newer one, and is to be replaced
    replaced: AtomicU64,
    /// some of them
    stray: Named,
    mended: Named,
    /// those that only the new place had
    cleared: Named,
    /// those that the new place lacked
    restored: Named,
    /// those that no map places where they are
    misplaced: Named,
    /// those that the new place lacks
    lacking: Named,
    /// those that have another value at the new place
    differing: Named,
    /// those whose old value may be the newer one: node and name of each
    doubtful: Mutex<BTreeSet<(String, Vec<u8>)>>,
    /// those that were set aside, and whose old copies were removed in the end
    parted: Named,
    /// those that were removed although the new place has another value, of which nobody knows
    /// which is the newer one: how many, and some of them
    overruled: AtomicU64,
    overruled_named: Named,
    /// those of them, and of those that the new place lacks, whose old copies nobody has written
    /// since the check: how many
    calm: [AtomicU64; 2],
    /// those whose old copies were written since the check: how many, and some of them
    rewritten: AtomicU64,
    rewritten_named: Named,
    /// what ties items to others: of which node and what they are, and each of them
    ties: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

/// The first items that ended in some way, each with the name of its node.
#[derive(Default)]
struct Named(Mutex<Vec<String>>);

impl Named {
    fn add(&self, node: &str, item: &Item) {
        let mut named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() < NAMED {
            named.push(told_place(item, node));
        }
    }

    fn all(&self) -> Vec<String> {
        let named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        named.clone()
    }

    fn first(&self) -> String {
        let named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        named.first().cloned().unwrap_or_default()
    }
}

/// What goes from one node to another.
#[derive(Clone, Copy, Default)]
pub struct OnTheWay {
    /// How many items.
    pub items: u64,
    /// How many bytes of the disk there they take, as far as that is known.
    pub bytes: Option<u64>,
}

impl OnTheWay {
    fn add(&mut self, size: Option<u64>) {
        self.items += 1;
        if let Some(size) = size {
            self.bytes = Some(self.bytes.unwrap_or(0).saturating_add(size));
        }
    }
}

/// How many items ended in each way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Items that the pass had to do with.
    pub items: u64,
    /// Items that were copied.
    pub copied: u64,
    /// Their bytes, where the kind knows them.
    pub bytes: u64,
    /// Items that were there already, or equal.
    pub present: u64,
    /// Items that an application deleted meanwhile.
    pub gone: u64,
    /// Items that differed and were mended.
    pub mended: u64,
    /// Items that only the new place had, and that were removed there.
    pub only_new: u64,
    /// Items that the new place lacked, and that were copied again.
    pub restored: u64,
    /// Items that stay different.
    pub different: u64,
    /// Items that the new place lacks.
    pub absent: u64,
    /// Old copies that were removed.
    pub removed: u64,
    /// Items that are at a node where neither map places their keys.
    pub misplaced: u64,
    /// Items that failed.
    pub failed: u64,
}

impl Tally {
    /// Makes the tally of an audit that goes on from an earlier one.
    pub fn of_audit(audited: Audited) -> Tally {
        Tally {
            audited,
            ..Tally::default()
        }
    }

    /// Counts an item.
    pub fn count(&self, outcome: Outcome) {
        let mut counts = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Outcome::Copied(bytes) => {
                counts.copied += 1;
                counts.bytes += bytes;
            }
            Outcome::Present => counts.present += 1,
            Outcome::Gone => counts.gone += 1,
            Outcome::Mended => counts.mended += 1,
            Outcome::Cleared => counts.only_new += 1,
            Outcome::Restored => counts.restored += 1,
            Outcome::Differs => counts.different += 1,
            Outcome::Absent => counts.absent += 1,
            Outcome::Removed | Outcome::RemovedOther(_) => counts.removed += 1,
        }
    }

    /// Counts an item that only its new place has. Returns how many there are.
    pub fn only_new(&self) -> u64 {
        self.only_new.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts an item that only its new place has, where items are counted.
    pub fn stray(&self, node: &str, item: &Item) {
        self.only_new();
        self.stray.add(node, item);
    }

    /// Returns how many items only their new places have, and the first of them.
    pub fn strays(&self) -> (u64, String) {
        (self.only_new.load(Ordering::Relaxed), self.stray.first())
    }

    /// Counts an item whose value at the new place may be the newer one, and is to be replaced.
    /// Returns how many there are.
    pub fn replace(&self) -> u64 {
        self.replaced.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts an item that was mended, cleared or restored.
    pub fn mend(&self, node: &str, item: &Item, how: Outcome) {
        self.count(how);
        let named = match how {
            Outcome::Restored => &self.restored,
            Outcome::Cleared => &self.cleared,
            _ => &self.mended,
        };
        named.add(node, item);
    }

    /// Returns the items that were mended, as far as they are named.
    pub fn mended(&self) -> Vec<String> {
        self.mended.all()
    }

    /// Returns the items that were removed where only the new place had them, as far as they are
    /// named.
    pub fn cleared(&self) -> Vec<String> {
        self.cleared.all()
    }

    /// Returns the items that were restored, as far as they are named.
    pub fn restored(&self) -> Vec<String> {
        self.restored.all()
    }

    /// Counts an item that failed. Returns how many have.
    pub fn fail(&self) -> u64 {
        let mut counts = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        counts.failed += 1;
        counts.failed
    }

    /// Counts an item that neither map places at the node where it is.
    pub fn misplace(&self, node: &str, item: &Item) {
        let mut counts = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        counts.misplaced += 1;
        self.misplaced.add(node, item);
    }

    /// Counts an item that the new place lacks.
    pub fn lack(&self, node: &str, item: &Item) {
        self.count(Outcome::Absent);
        self.lacking.add(node, item);
    }

    /// Notes an item whose old copy was removed although the place that keeps items had none, or
    /// an older one.
    pub fn part_with(&self, node: &str, item: &Item) {
        self.parted.add(node, item);
    }

    /// Returns those items, as far as they are named.
    pub fn parted(&self) -> Vec<String> {
        self.parted.all()
    }

    /// Counts an item that has another value at the new place.
    pub fn differ(&self, node: &str, item: &Item) {
        self.count(Outcome::Differs);
        self.differing.add(node, item);
    }

    /// Counts an item whose old value may be newer than that of the new place, once. Returns how
    /// many there are, as far as the limit goes that ends the pass.
    pub fn doubt(&self, node: &str, item: &Item) -> u64 {
        let mut doubtful = self.doubtful.lock().unwrap_or_else(PoisonError::into_inner);
        if doubtful.insert((node.to_owned(), item.name.clone())) {
            self.differ(node, item);
        }
        doubtful.len() as u64
    }

    /// Counts an item that was removed although the new place has another value.
    pub fn overrule(&self, node: &str, item: &Item) {
        self.overruled.fetch_add(1, Ordering::Relaxed);
        self.overruled_named.add(node, item);
    }

    /// Notes what is known since the check of an item that was overruled, or that the new place
    /// lacks.
    pub fn since_check(&self, node: &str, item: &Item, since: Since, is_absent: bool) {
        match since {
            Since::Unknown => {}
            Since::Same => {
                self.calm[usize::from(is_absent)].fetch_add(1, Ordering::Relaxed);
            }
            Since::Written => {
                self.rewritten.fetch_add(1, Ordering::Relaxed);
                self.rewritten_named.add(node, item);
            }
        }
    }

    /// Returns how many of the overruled items, and of those that the new place lacks, only the new
    /// place has changed since the check.
    pub fn calm(&self) -> [u64; 2] {
        [0, 1].map(|n: usize| self.calm[n].load(Ordering::Relaxed))
    }

    /// Returns how many old copies were written since the check, and some of them.
    pub fn rewritten(&self) -> (u64, Vec<String>) {
        (
            self.rewritten.load(Ordering::Relaxed),
            self.rewritten_named.all(),
        )
    }

    /// Returns how many items were removed although the new place has another value.
    pub fn overruled(&self) -> u64 {
        self.overruled.load(Ordering::Relaxed)
    }

    /// Returns them, as far as they are named.
    pub fn overruled_named(&self) -> Vec<String> {
        self.overruled_named.all()
    }

    /// Notes what ties an item of a node to another one. It may be found from both.
    pub fn tie(&self, node: &str, tie: Tie) {
        let mut ties = self.ties.lock().unwrap_or_else(PoisonError::into_inner);
        let own = ties
            .entry(format!("{} at node {node}", tie.what))
            .or_default();
        if own.len() < TIES {
            own.insert(tie.example);
        }
    }

    /// Says what ties items to others; `None` when nothing does.
    pub fn ties(&self) -> Option<String> {
        let ties = self.ties.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(what, all): (&String, &BTreeSet<String>)| {
            let more = if all.len() < TIES { "" } else { "at least " };
            let first = all.first().map_or("", String::as_str);
            format!("{what}: {more}{}, such as {first}", all.len())
        };
        let lines: Vec<String> = ties.iter().map(line).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    /// Returns the items that have another value at the new place, as far as they are named.
    pub fn differing(&self) -> Vec<String> {
        self.differing.all()
    }

    /// Returns the items that neither map places at the node where they are, as far as they are
    /// named.
    pub fn misplaced(&self) -> Vec<String> {
        self.misplaced.all()
    }

    /// Returns the items that the new place lacks, as far as they are named.
    pub fn lacking(&self) -> Vec<String> {
        self.lacking.all()
    }

    /// Counts an item of a way from one node to another, and what it takes of the disk there.
    pub fn count_way(&self, from: usize, to: usize, size: Option<u64>) {
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        ways.entry((from, to)).or_default().add(size);
    }

    /// Counts a copy that is only removed at a node, and what it takes of the disk there.
    pub fn count_drop(&self, node: usize, size: Option<u64>) {
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        drops.entry(node).or_default().add(size);
    }

    /// Returns the counts.
    pub fn counts(&self) -> Counts {
        let counts = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        Counts {
            items: self.items.load(Ordering::Relaxed),
            ..*counts
        }
    }
}

/// Shows the progress of a pass: on a terminal in one line that changes, else a line now and then.
pub struct Show {
    what: &'static str,
    total: Option<u64>,
    /// how many items were done before this process began
    before: u64,
    began: Instant,
    shown: Instant,
    terminal: bool,
}

impl Show {
    /// Begins to show a pass that has `total` items to do, where this is known.
    pub fn new(what: &'static str, total: Option<u64>, before: u64) -> Show {
        let now = Instant::now();
        Show {
            what,
            total: total.filter(|total| *total > 0),
            before,
            began: now,
            shown: now,
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Shows the progress, if it is time to.
    pub fn show(&mut self, tally: &Tally) {
        let every = if self.terminal { OFTEN } else { SELDOM };
        if self.shown.elapsed() < every {
            return;
        }
        self.shown = Instant::now();
        let line = self.line(tally, self.began.elapsed());
        match self.terminal {
            true => {
                let _ = std::io::stderr().write_all(format!("\r\x1b[K{line}").as_bytes());
            }
            false => say(&line),
        }
    }

    /// Clears the line of a terminal.
    pub fn end(&self) {
        if self.terminal {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }

    fn line(&self, tally: &Tally, elapsed: Duration) -> String {
        let counts = tally.counts();
        let done = counts.items;
        let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
        let mut line = format!("{}: ", self.what);
        match self.total {
            // beyond the items that were counted, nobody knows how many there are
            Some(total) if self.before + done > total => {
                let all = self.before + done;
                line += &format!("{all} items, more than the {total} counted, {rate:.0} a second");
            }
            Some(total) => {
                let all = self.before + done;
                let percent = 100 * all / total;
                line += &format!("{all} of about {total} items ({percent} %), {rate:.0} a second");
                let seconds = match rate > 0.0 {
                    true => told_time(((total - all) as f64 / rate) as u64),
                    false => "?".to_owned(),
                };
                if total > all {
                    line += &format!(", {seconds} left");
                }
            }
            None => line += &format!("{done} items, {rate:.0} a second"),
        }
        if counts.failed > 0 {
            line += &format!(", {} failed", counts.failed);
        }
        line
    }
}

/// Writes a number of bytes as people read it: `17 bytes`, `1.5 MB`.
pub fn told_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut number, mut unit) = (bytes as f64, "bytes");
    for greater in UNITS {
        // 999.95 kB would be written as 1000.0 kB
        if number < 999.95 {
            break;
        }
        (number, unit) = (number / 1000.0, greater);
    }
    match unit {
        "bytes" => format!("{bytes} bytes"),
        unit => format!("{number:.1} {unit}"),
    }
}

/// Writes a duration: `2 h 5 min`, `45 s`.
pub fn told_time(seconds: u64) -> String {
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long() {
        let tally = Tally::default();
        tally.items.store(50, Ordering::Relaxed);
        tally.fail();
        let show = Show::new("copying", Some(1000), 100);
        assert_eq!(
            show.line(&tally, Duration::from_secs(5)),
            "copying: 150 of about 1000 items (15 %), 10 a second, 1 min 25 s left, 1 failed"
        );
        let show = Show::new("copying", Some(150), 100);
        assert_eq!(
            show.line(&tally, Duration::from_secs(5)),
            "copying: 150 of about 150 items (100 %), 10 a second, 1 failed"
        );
        let show = Show::new("copying", Some(149), 100);
        assert_eq!(
            show.line(&tally, Duration::from_secs(5)),
            "copying: 150 items, more than the 149 counted, 10 a second, 1 failed"
        );
        let show = Show::new("copying", None, 0);
        assert!(show
            .line(&tally, Duration::from_secs(5))
            .starts_with("copying: 50 items"));
        assert_eq!(told_time(7300), "2 h 1 min");
        let told = [0, 999, 4096, 999_940, 999_999, 1_500_000, 2_000_000_000_000].map(told_bytes);
        let right = [
            "0 bytes",
            "999 bytes",
            "4.1 kB",
            "999.9 kB",
            "1.0 MB",
            "1.5 MB",
            "2.0 TB",
        ];
        assert_eq!(told, right);
    }
}
