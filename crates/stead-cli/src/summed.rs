//! What moves of the lines of a file between two maps: keys, and the rows or bytes of each, which
//! `diff --sum`, `plot moves --sum` and the page of a change show.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use stead::path::Fold;
use stead::policy::NodeId;
use stead::ways::{Sources, Way};
use stead::{Map, Plan};
use stead_plot::{grouped, grouped_large, Counted};

use crate::change::{from, DROPPED};
use crate::counted;
use crate::exit::Result;
use crate::text::natural;

/// A number of lines or of copies, and the sum of their counts. No count reaches 2^64, and no file
/// has 2^64 lines: the sum fits.
#[derive(Clone, Copy, Default)]
pub struct Sum {
    pub lines: u64,
    pub count: u128,
}

impl Sum {
    fn add(&mut self, count: u64) {
        self.lines += 1;
        self.count += u128::from(count);
    }
}

/// What moves of the lines of a file.
pub struct Summed<'m> {
    pub old: &'m Map,
    pub new: &'m Map,
    /// what is counted, such as `bytes`, if the caller has said so
    pub unit: Option<String>,
    pub all: Sum,
    /// how many lines get another set of nodes
    pub moved: u64,
    /// what is copied to a node, and what no node has any more
    pub copied: Sum,
    pub dropped: Sum,
    /// every copy of both, the largest sum first
    pub flows: Vec<(Way, Sum)>,
    /// whether any line has a count
    pub counted: bool,
}

impl<'m> Summed<'m> {
    /// Adds up the lines of a file that move by the plan of these maps. `unit` says what their
    /// counts are.
    pub fn of(
        [old, new]: [&'m Map; 2],
        plan: &Plan,
        path: &Path,
        fold: Fold,
        unit: Option<&str>,
    ) -> Result<Summed<'m>> {
        let sources = Sources::of(old, &HashSet::new());
        let mut flows: HashMap<Way, Sum> = HashMap::new();
        let mut sums = Summed {
            old,
            new,
            unit: unit.map(str::to_owned),
            all: Sum::default(),
            moved: 0,
            copied: Sum::default(),
            dropped: Sum::default(),
            flows: Vec::new(),
            counted: false,
        };
        counted::lines(path, fold, |keys, counts| {
            sums.counted |= counts.is_some();
            let count_of = |key: usize| {
                let count = counts.and_then(|counts| counts.get(key));
                count.copied().unwrap_or(1)
            };
            (0..keys.len()).for_each(|key| sums.all.add(count_of(key)));
            let mut last = None;
            plan.affects_keys(keys, 0, |row| {
                let count = count_of(row.key);
                sums.moved += u64::from(last.replace(row.key) != Some(row.key));
                match row.to {
                    Some(_) => sums.copied.add(count),
                    None => sums.dropped.add(count),
                }
                let way = sources.way(row.point, row.from, row.to);
                flows.entry(way).or_default().add(count);
            });
            Ok(())
        })?;
        if sums.all.lines == 0 {
            return Err(counted::nothing(path, "lines"));
        }
        sums.flows = flows.into_iter().collect();
        sums.flows.sort_by_cached_key(|(way, sum)| {
            let size = Reverse((sum.count, sum.lines));
            let from = natural_key(&from(name(old, way.from), name(old, way.source)));
            let to = natural_key(name(new, way.to).unwrap_or(DROPPED));
            (size, from, to)
        });
        Ok(sums)
    }

    /// Names where a flow comes from and where it goes.
    pub fn names(&self, way: Way) -> [String; 2] {
        [
            from(name(self.old, way.from), name(self.old, way.source)),
            name(self.new, way.to).unwrap_or(DROPPED).to_owned(),
        ]
    }

    /// Says what is copied and what is dropped, as parts of all copies: `moves 278 of 1,000 lines,
    /// 13,970,700 of 50,050,000 (27.91 %)`.
    pub fn in_words(&self) -> String {
        let all = self.whole();
        let of = |sum: Sum| {
            let what = match self.replicas() {
                1 => "lines",
                _ => "copies",
            };
            let part = 100.0 * sum.count as f64 / (all.count as f64).max(1.0);
            let counts = match self.counted {
                false => String::new(),
                true => format!(
                    ", {} of {}{}",
                    grouped_large(sum.count),
                    grouped_large(all.count),
                    self.unit
                        .as_ref()
                        .map_or(String::new(), |unit| format!(" {unit}"))
                ),
            };
            let lines = grouped(sum.lines);
            format!(
                "{lines} of {} {what}{counts} ({part:.2} %)",
                grouped(all.lines)
            )
        };
        let verb = match self.old.replicas() < self.new.replicas() {
            true => "copies",
            false => "moves",
        };
        let mut text = format!("{verb} {}", of(self.copied));
        if self.dropped.lines > 0 {
            text += &format!(", drops {}", of(self.dropped));
        }
        text
    }

    /// Says the same as a sentence.
    pub fn sentence(&self) -> String {
        format!("The change {}.", self.in_words())
    }

    /// Returns what a picture shows.
    pub fn drawn(&self) -> Counted {
        let amount = |sum: Sum| match self.counted {
            true => sum.count,
            false => sum.lines.into(),
        };
        let ways = self.flows.iter().map(|(way, sum)| (*way, amount(*sum)));
        Counted {
            unit: self.word().to_owned(),
            line: self.sentence(),
            all: amount(self.whole()),
            ways: ways.collect::<BTreeMap<Way, u128>>(),
        }
    }

    /// Returns the word for what is added up: that of the caller, or `lines` where no line has a
    /// count; empty if nobody has said what the counts are.
    pub fn word(&self) -> &str {
        match (&self.unit, self.counted, self.replicas()) {
            (Some(unit), true, _) => unit,
            (None, true, _) => "",
            (_, false, 1) => "lines",
            (_, false, _) => "copies",
        }
    }

    /// Returns the larger R, of which a part of all copies is a part.
    pub fn replicas(&self) -> u32 {
        self.old.replicas().max(self.new.replicas())
    }

    /// All copies of all lines.
    pub fn whole(&self) -> Sum {
        let replicas = self.replicas();
        Sum {
            lines: self.all.lines.saturating_mul(u64::from(replicas)),
            count: self.all.count * u128::from(replicas),
        }
    }
}

fn name(map: &Map, node: Option<NodeId>) -> Option<&str> {
    node.map(|node| map.node(node).name())
}

/// The key by which names are sorted, which outlives the name.
fn natural_key(name: &str) -> Vec<(String, usize, String)> {
    let parts = natural(name).into_iter();
    parts
        .map(|(text, number, digits)| (text.to_owned(), number, digits.to_owned()))
        .collect()
}
