//! What a run of a carry reports: what each pass did, what failed and why, as text and as JSON.

use std::time::Duration;

use serde::Serialize;
use stead::Map;

use super::kind::told;
use super::pass::Task;
use super::route::Routes;
use super::story::Story;
use super::tally::{told_bytes, told_time, Counts, OnTheWay, Tally};
use crate::exit::one_line;

/// How many failures a text shows; JSON has all.
const SHOWN: usize = 20;

/// What a run has done.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The epoch at the end.
    pub epoch: u64,
    /// The state at the end; null when the carry is closed.
    pub state: Option<&'static str>,
    /// `forward` or `reverse`.
    pub direction: Option<&'static str>,
    /// The passes of this run.
    pub work: Vec<Work>,
    /// What failed, as far as it has not succeeded since.
    pub failed: Vec<Failed>,
    /// What the kind noticed and left alone.
    pub notes: Vec<String>,
    /// Why the run ended before its end.
    pub problem: Option<String>,
}

/// What a pass has done.
#[derive(Clone, Debug, Serialize)]
pub struct Work {
    /// Which pass.
    pub pass: &'static str,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// How long it took.
    pub seconds: f64,
    /// What goes from one node to another, where that was counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
    /// What is only removed at a node, where that was counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<DropAt>,
    /// The items that were mended, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mended_items: Vec<String>,
    /// The items that only the new place had, and that were removed there, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_new_items: Vec<String>,
    /// The items that the new place lacked, and that were copied again, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restored_items: Vec<String>,
    /// The items that the place that keeps them lacks, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent_items: Vec<String>,
    /// The items whose old copies were removed although the place that keeps items had none, or an
    /// older one, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmatched_items: Vec<String>,
    /// The items that stay different, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub different_items: Vec<String>,
    /// The items that were removed with another value at the place that keeps them, at most 1,000
    /// of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overruled_items: Vec<String>,
    /// The items whose old copies were written since the check, and removed with another value or
    /// none at the new place, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewritten_items: Vec<String>,
    /// The items that are at a node where neither map places their keys, at most 1,000 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misplaced_items: Vec<String>,
    /// The place that keeps the items when others are compared with it.
    #[serde(skip)]
    pub keeper: &'static str,
}

/// How many items go from one node to another.
#[derive(Clone, Debug, Serialize)]
pub struct Way {
    /// The node that has them.
    pub from: String,
    /// The node that gets them.
    pub to: String,
    /// How many.
    pub items: u64,
    /// How many bytes of the disk there they take, where the kind knows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// How many copies are removed at a node, and are not what the new places are copied from.
#[derive(Clone, Debug, Serialize)]
pub struct DropAt {
    /// The node that has them.
    pub node: String,
    /// How many.
    pub items: u64,
    /// How many bytes of the disk there they take, where the kind knows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// An item that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// The node where it was listed.
    pub node: String,
    /// Its name, escaped.
    pub item: String,
    /// Why.
    pub why: String,
}

impl Failed {
    /// Whether another one failed for the same reason, which may name the item, or a directory
    /// above it.
    fn is_like(&self, other: &Failed) -> bool {
        self.why == other.why || self.bare() == other.bare()
    }

    /// The reason without the item, or without that part of its path that the reason names.
    fn bare(&self) -> String {
        let mut path = Some(&*self.item);
        while let Some(named) = path {
            let named_last = format!("/{named}:");
            if self.why.contains(&named_last) {
                return self.why.replacen(&named_last, ":", 1);
            }
            path = named.rsplit_once('/').map(|(above, _)| above);
        }
        self.why.replacen(&self.item, "", 1)
    }
}

impl Work {
    /// Returns what a pass has done.
    pub fn of(task: Task, tally: &Tally, routes: &Routes, took: Duration) -> Work {
        let ways = tally
            .ways
            .lock()
            .map(|ways| ways.clone())
            .unwrap_or_default();
        let name = |node: usize| routes.nodes[node].name.clone();
        let way = |((from, to), way): (_, OnTheWay)| Way {
            from: name(from),
            to: name(to),
            items: way.items,
            bytes: way.bytes,
        };
        let drops = tally.drops.lock().map(|drops| drops.clone());
        let drops = drops.unwrap_or_default();
        let drop_at = |(node, drop): (_, OnTheWay)| DropAt {
            node: name(node),
            items: drop.items,
            bytes: drop.bytes,
        };
        Work {
            pass: task.word(),
            counts: tally.counts(),
            seconds: took.as_secs_f64(),
            ways: ways.into_iter().map(way).collect(),
            drops: drops.into_iter().map(drop_at).collect(),
            mended_items: tally.mended(),
            only_new_items: tally.cleared(),
            restored_items: tally.restored(),
            absent_items: tally.lacking(),
            unmatched_items: tally.parted(),
            different_items: tally.differing(),
            overruled_items: tally.overruled_named(),
            rewritten_items: tally.rewritten().1,
            misplaced_items: tally.misplaced(),
            keeper: task.keeper(),
        }
    }

    /// Says it: in one line, and one for each way that was counted.
    pub fn lines(&self) -> Vec<String> {
        let bytes = |bytes: Option<u64>| {
            let told = bytes.map(|bytes| format!(", {} of disk", told_bytes(bytes)));
            told.unwrap_or_default()
        };
        let way = |way: &Way| {
            let bytes = bytes(way.bytes);
            format!("  {} -> {}: {} items{bytes}", way.from, way.to, way.items)
        };
        let drop_at = |drop: &DropAt| {
            let bytes = bytes(drop.bytes);
            let copies = match drop.items {
                1 => "1 copy is".to_owned(),
                items => format!("{items} copies are"),
            };
            format!("  {}: {copies} only removed{bytes}", drop.node)
        };
        let mut lines = vec![self.line()];
        lines.extend(self.ways.iter().map(way));
        lines.extend(self.drops.iter().map(drop_at));
        lines
    }

    fn line(&self) -> String {
        let counts = &self.counts;
        let lacking = &*format!("lacking at the {} place", self.keeper);
        let parts = [
            (counts.copied, "copied"),
            (counts.present, "there already"),
            (counts.mended, "mended"),
            (counts.only_new, "only at the new place and removed there"),
            (counts.restored, "lacking at the new place and copied again"),
            (counts.different, "differ"),
            (counts.gone, "deleted meanwhile"),
            (counts.absent, lacking),
            (counts.removed, "removed"),
            (counts.misplaced, "at nodes where no map places them"),
            (counts.failed, "failed"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let told: Vec<String> = parts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let told = match told.is_empty() {
            true => String::new(),
            false => format!(": {}", told.join(", ")),
        };
        let bytes = match counts.bytes {
            0 => String::new(),
            bytes => format!(", {bytes} bytes"),
        };
        let time = told_time(self.seconds as u64);
        format!("{}: {} items{told}{bytes}, {time}", self.pass, counts.items)
    }
}

impl Report {
    /// Notes where the carry is.
    pub fn at(&mut self, map: &Map) {
        let carry = map.carry();
        self.epoch = map.epoch();
        self.state = carry.map(|carry| carry.state.word());
        self.direction = carry.map(|carry| carry.direction());
    }

    /// Notes what has failed.
    pub fn failed(&mut self, story: &Story, keeper: &str) {
        let failed = story.failed.iter().map(|((node, item), why)| Failed {
            node: node.clone(),
            item: item.told(),
            why: why.clone(),
        });
        let aside = story.aside.iter().map(|(node, item)| Failed {
            node: node.clone(),
            item: told(&item.name),
            why: format!("the {keeper} place lacks it"),
        });
        let newer = story.newer.iter().map(|(node, item)| Failed {
            node: node.clone(),
            item: told(&item.name),
            why: "it was written at the old place after the new one".to_owned(),
        });
        self.failed = failed.chain(aside).chain(newer).collect();
    }

    /// Returns the report as text.
    pub fn text(&self) -> String {
        let lines = self.work.iter().flat_map(Work::lines);
        let work: String = lines.map(|line| line + "\n").collect();
        work + &self.rest() + &self.end()
    }

    /// Returns what was not said while the carry ran. One that was closed has said so.
    pub fn untold(&self) -> String {
        match self.state {
            Some(_) => self.rest() + &self.end(),
            None => self.rest(),
        }
    }

    /// What failed, and what was left alone.
    fn rest(&self) -> String {
        let mut text = String::new();
        // items that failed for one reason are told together
        let mut reasons: Vec<(&Failed, usize)> = Vec::new();
        for failed in &self.failed {
            match reasons.iter_mut().find(|(first, _)| first.is_like(failed)) {
                Some((_, more)) => *more += 1,
                None => reasons.push((failed, 0)),
            }
        }
        for (failed, more) in reasons.iter().take(SHOWN) {
            let Failed { node, item, why } = failed;
            text += &format!("failed: node {node}, {item}: {}\n", one_line(why));
            if *more > 0 {
                text += &format!("... and {more} more for this reason; --json lists all\n");
            }
        }
        if let Some(rest) = reasons.get(SHOWN..).filter(|rest| !rest.is_empty()) {
            let count: usize = rest.iter().map(|(_, more)| more + 1).sum();
            text += &format!("... and {count} more; --json lists all\n");
        }
        for note in &self.notes {
            text += &format!("note: {}\n", one_line(note));
        }
        text
    }

    /// Where the carry is. That no carry is open is told by the problem.
    fn end(&self) -> String {
        let Report { epoch, .. } = self;
        match (self.state, self.direction) {
            (Some(state), Some("reverse")) => {
                format!("epoch {epoch}: the carry is in the state {state}, being reversed\n")
            }
            (Some(state), _) => format!("epoch {epoch}: the carry is in the state {state}\n"),
            (None, _) if self.problem.is_some() => String::new(),
            (None, _) => format!("epoch {epoch}: the carry is closed\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let work = Work {
            pass: "count",
            counts: Counts {
                items: 7,
                ..Counts::default()
            },
            seconds: 1.0,
            ways: vec![Way {
                from: "a".to_owned(),
                to: "d".to_owned(),
                items: 7,
                bytes: Some(28_672),
            }],
            drops: vec![],
            restored_items: vec![],
            absent_items: vec![],
            unmatched_items: vec![],
            different_items: vec![],
            overruled_items: vec![],
            rewritten_items: vec![],
            misplaced_items: vec![],
            keeper: "new",
            mended_items: Vec::new(),
            only_new_items: Vec::new(),
        };
        Report {
            epoch: 8,
            work: vec![work],
            notes: vec!["a path was left alone".to_owned()],
            ..Report::default()
        }
    }

    #[test]
    fn what_was_told_while_it_ran_is_not_told_again() {
        let mut report = report();
        let note = "note: a path was left alone\n";
        assert_eq!(
            report.text(),
            format!("count: 7 items, 1 s\n  a -> d: 7 items, 28.7 kB of disk\n{note}epoch 8: the carry is closed\n")
        );
        assert_eq!(report.untold(), note);
        report.state = Some("new");
        let state = "epoch 8: the carry is in the state new\n";
        assert_eq!(report.untold(), format!("{note}{state}"));
    }

    #[test]
    fn items_that_failed_for_one_reason_are_told_together() {
        let mut report = report();
        let failed = |node: &str, item: &str, why: &str| Failed {
            node: node.to_owned(),
            item: item.to_owned(),
            why: why.to_owned(),
        };
        report.failed = (0..30)
            .map(|n| failed("a", &format!("k{n}"), "no room"))
            .collect();
        report
            .failed
            .push(failed("b", "x", "x: it is written all the time"));
        report
            .failed
            .push(failed("b", "y", "y: it is written all the time"));
        // a directory above the item
        for item in ["00/12/k", "00/12/l", "00/13/k", "01/k"] {
            let above = item.rsplit_once('/').unwrap().0;
            let why = format!("cannot make /srv/c/{above}: not permitted");
            report.failed.push(failed("c", item, &why));
        }
        report.failed.push(failed("b", "z", "another"));
        let text = report.untold();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..7],
            [
                "failed: node a, k0: no room",
                "... and 29 more for this reason; --json lists all",
                "failed: node b, x: x: it is written all the time",
                "... and 1 more for this reason; --json lists all",
                "failed: node c, 00/12/k: cannot make /srv/c/00/12: not permitted",
                "... and 3 more for this reason; --json lists all",
                "failed: node b, z: another",
            ]
        );
    }

    #[test]
    fn a_path_cannot_break_a_line() {
        let mut report = report();
        report.failed = vec![Failed {
            node: "a".to_owned(),
            item: "x\\n".to_owned(),
            why: "cannot read /srv/x\n\u{1b}[2J: no room".to_owned(),
        }];
        let text = report.untold();
        let line = text.lines().next().unwrap();
        let told = "failed: node a, x\\n: cannot read /srv/x\\n\\u{1b}[2J: no room";
        assert_eq!(line, told);
    }

    #[test]
    fn a_run_that_found_no_carry_has_closed_none() {
        let mut report = report();
        report.problem = Some("no carry is open".to_owned());
        assert!(!report.text().contains("closed"));
    }
}
