//! What the loss of nodes costs, for programs and for people; `what-if` and `who` share it.

use serde::Serialize;
use stead::outage::{Outage, Standing};
use stead::point::SPACE;
use stead::report::Amount;
use stead::Map;

use crate::exit::Result;
use crate::output::{Out, BAD, GOOD};
use crate::picture::{listed, part, Glyphs};
use crate::text::{by_name, count, Table};

/// The columns of a bar.
const BAR: usize = 20;
/// How many nodes are listed, unless all are wanted.
const LISTED: usize = 24;

/// A number of points, and the fraction of the space that it is.
#[derive(Serialize)]
pub struct Part {
    pub points: String,
    pub fraction: f64,
}

impl Part {
    pub fn of(points: u128) -> Part {
        Part {
            points: points.to_string(),
            fraction: points as f64 / SPACE as f64,
        }
    }
}

/// What is left when nodes are down.
#[derive(Serialize)]
pub struct Loss<'a> {
    /// the nodes that are down
    pub down: Vec<&'a str>,
    /// the copies that were on them
    pub lost: Amount,
    /// the points with 0, 1, 2 ... copies left
    pub left: Vec<Left>,
    /// how many points without a copy were asked for the node that readers turn to
    samples: u64,
    /// the nodes that are up
    pub nodes: Vec<Survivor<'a>>,
    #[serde(skip)]
    replicas: u32,
}

#[derive(Serialize)]
pub struct Left {
    pub copies: usize,
    #[serde(flatten)]
    pub part: Part,
}

/// A node that is up.
#[derive(Serialize)]
pub struct Survivor<'a> {
    pub name: &'a str,
    /// the points that it answers first now
    pub reads_before: Part,
    /// the points with a copy left that it answers first during the outage
    pub reads: Part,
    /// the fraction of all points that comes to it although it does not hold them: an estimate
    pub reads_without_copy: f64,
    /// three standard deviations of the estimate
    pub error: f64,
    /// the lost copies that are read from it
    pub rebuild: Amount,
}

impl Survivor<'_> {
    fn now(&self) -> f64 {
        self.reads.fraction + self.reads_without_copy
    }

    /// How many times its reads are what they were; `None` if it had none.
    fn times(&self) -> Option<f64> {
        let before = self.reads_before.fraction;
        (before > 0.0).then(|| self.now() / before)
    }
}

impl<'a> Loss<'a> {
    /// Describes an outage of a map.
    pub fn of(map: &'a Map, outage: &Outage) -> Loss<'a> {
        let name = |id| map.node(id).name();
        let without = Part::of(outage.left.first().copied().unwrap_or(0)).fraction;
        let estimate = |standing: &Standing| {
            let samples = (outage.samples as f64).max(1.0);
            let part = standing.sampled as f64 / samples;
            // a node that no sample found may still get some
            let spread = (part * (1.0 - part)).max(1.0 / samples);
            match outage.samples {
                0 => (0.0, 0.0),
                _ => (part * without, 3.0 * (spread / samples).sqrt() * without),
            }
        };
        let up = map.nodes().zip(&outage.nodes).filter(|(_, it)| !it.down);
        Loss {
            down: outage.down.iter().map(|id| name(*id)).collect(),
            lost: Amount::of(outage.lost, map),
            left: (0..)
                .zip(&outage.left)
                .map(|(copies, points)| Left {
                    copies,
                    part: Part::of(*points),
                })
                .collect(),
            samples: outage.samples,
            nodes: up
                .map(|(node, standing)| {
                    let (reads_without_copy, error) = estimate(standing);
                    Survivor {
                        name: node.name(),
                        reads_before: Part::of(standing.reads_before),
                        reads: Part::of(standing.reads),
                        reads_without_copy,
                        error,
                        rebuild: Amount::of(standing.source, map),
                    }
                })
                .collect(),
            replicas: map.replicas(),
        }
    }

    /// The fraction of the space that has no copy left.
    fn without_copy(&self) -> f64 {
        self.left.first().map_or(0.0, |left| left.part.fraction)
    }

    /// Writes how many copies are left: a sentence, and a bar for each number of copies.
    pub fn write_left(&self, out: &mut Out) -> Result {
        let some = |left: &&Left| left.part.fraction > 0.0;
        let least = self.left.iter().find(some).map_or(0, |left| left.copies);
        out.line(match least {
            0 => out.paint(
                BAD,
                format!(
                    "{} of all keys have no copy left",
                    part(self.without_copy())
                ),
            ),
            1 if self.replicas > 1 => {
                let one = self.left.get(1).map_or(0.0, |left| left.part.fraction);
                let text = format!("every key has a copy left; {} have only one", part(one));
                out.paint(BAD, text)
            }
            1 => out.paint(GOOD, "every key has its copy"),
            least => out.paint(GOOD, format!("every key has at least {least} copies left")),
        })?;
        out.line("")?;
        let mut table = Table::new(&["copies left", "of all keys", ""], &[0, 1]);
        for left in &self.left {
            let fraction = left.part.fraction;
            let bar = Glyphs::of_stdout().bar(fraction, 2 * BAR);
            table.row([left.copies.to_string(), part(fraction), bar]);
        }
        table.write(out)
    }

    /// Writes what each node that is up does, at most 24 of them unless `all` are wanted: those
    /// whose reads grow most.
    pub fn write_nodes(&self, all: bool, out: &mut Out) -> Result {
        if self.nodes.is_empty() {
            return out.line("no node is up, so nothing answers and nothing can be rebuilt");
        }
        let mut nodes: Vec<&Survivor> = self.nodes.iter().collect();
        let more = match all {
            true => 0,
            false => nodes.len().saturating_sub(LISTED),
        };
        if more > 0 {
            let growth = |node: &&Survivor| node.now() - node.reads_before.fraction;
            nodes.sort_by(|a, b| growth(b).total_cmp(&growth(a)));
            nodes.truncate(LISTED);
        } else {
            by_name(&mut nodes, |node| node.name);
        }
        let most = self.nodes.iter().map(Survivor::now).fold(0.0, f64::max);
        let heading = ["node", "reads now", "then", "times", "", "rebuild"];
        let mut table = Table::new(&heading, &[1, 2, 3, 5]).fitted(&[]);
        for node in nodes {
            let times = node.times().map(|times| format!("{times:.2}"));
            table.row([
                node.name.to_owned(),
                part(node.reads_before.fraction),
                part(node.now()),
                times.unwrap_or_else(|| "-".to_owned()),
                Glyphs::of_stdout().bar(node.now() / most, BAR),
                part(node.rebuild.fraction),
            ]);
        }
        table.write(out)?;
        if more > 0 {
            out.line(format_args!(
                "and {}, whose reads grow less; --all lists them",
                count(more, "more node")
            ))?;
        }
        Ok(())
    }

    /// Writes what the columns of the nodes mean, and the error of the estimate.
    pub fn write_legend(&self, out: &mut Out) -> Result {
        out.line("reads    the part of all keys that a node answers first: readers ask the first")?;
        out.line("         node that is up (`stead locate --prefer`)")?;
        out.line("rebuild  what is read from it to make the lost copies again, of all copies")?;
        if self.samples > 0 {
            let error = self.nodes.iter().map(|node| node.error).fold(0.0, f64::max);
            out.line(format_args!(
                "`then` includes keys without a copy: an estimate, give or take {}",
                part(error)
            ))?;
        }
        Ok(())
    }

    /// Returns the nodes whose reads grow, those first that grow most, each with the part of all
    /// keys that it answers more than before.
    pub fn takers(&self) -> Vec<(&'a str, f64)> {
        let growth = |node: &Survivor| node.now() - node.reads_before.fraction;
        let nodes = self.nodes.iter().map(|node| (node.name, growth(node)));
        let mut takers: Vec<(&str, f64)> = nodes.filter(|(_, growth)| *growth > 0.0).collect();
        takers.sort_by(|a, b| b.1.total_cmp(&a.1));
        takers
    }

    /// Returns how many times its reads of before the node gets that is hit hardest; `None` if no
    /// node answers more than before.
    pub fn hardest(&self) -> Option<f64> {
        let times = self.nodes.iter().filter_map(Survivor::times);
        times.max_by(f64::total_cmp).filter(|times| *times > 1.0)
    }

    /// Writes the nodes whose reads grow most, in one line.
    pub fn write_takers(&self, out: &mut Out) -> Result {
        let taker = |(name, growth): &(&str, f64)| format!("{name} {}", part(*growth));
        let takers: Vec<String> = self.takers().iter().map(taker).collect();
        match takers.is_empty() {
            true => Ok(()),
            false => out.line(listed("its reads go to ", &takers)),
        }
    }
}
