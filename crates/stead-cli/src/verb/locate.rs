//! `stead locate MAP [KEY...]`: the nodes on which keys live.

use std::borrow::Cow;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use stead::carry::State;
use stead::map::Node;
use stead::path::Fold;
use stead::policy::{NodeId, PolicyId};
use stead::store::KEEP;
use stead::{Map, Pair, Point, Status, Store};

use crate::carrying::note_early;
use crate::epochs::note_older;
use crate::exit::{Failure, Result, DATA, USAGE};
use crate::explain::Explanation;
use crate::following::{Following, Source};
use crate::input::{self, KeyJson};
use crate::output::Out;
use crate::verb::attribute::Printed;
use crate::verb::count::Count;

/// Show on which nodes keys live
///
/// Prints a line for each key: KEY<TAB>node1,node2,... with the primary node first. The keys are
/// the arguments, or else the lines of standard input without their \n or \r\n. Keys are bytes:
/// every encoding works, and none is guessed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  stead locate members.map frank             # prints frank<TAB>n1
  stead locate members.map --count < names   # counts the keys of each node
  stead locate members.map --explain frank   # says why frank lives there
  stead locate members.map --follow          # a pipe that is kept open
  stead locate members.map frank --attribute mount

Exit codes:
  0   done
  64  wrong usage, or no node has the attribute
  65  the map is damaged or not a map, a record of the input is wrong, or a node
      lacks the attribute; what comes before it is printed
  66  the map is missing
  74  reading or writing failed
  77  permission denied")]
pub struct Locate {
    /// The map file
    map: PathBuf,
    /// The keys; write -- before a key that starts with a dash [default: the lines of standard
    /// input]
    #[arg(value_name = "KEY")]
    keys: Vec<OsString>,
    /// End keys and output records with NUL instead of a newline; a record is then
    /// node1,node2<TAB>KEY
    #[arg(short = '0')]
    zero: bool,
    /// Print only totals: node<TAB>number of keys of which it is the primary
    #[arg(long, conflicts_with_all = ["explain", "prefer"])]
    count: bool,
    /// Count with N threads [default: one for each processor, at most 16]
    #[arg(long, value_name = "N", requires = "count", value_parser = input::threads)]
    threads: Option<NonZeroUsize>,
    /// Also print why: the digest, point, slice, policy and labels
    #[arg(long, conflicts_with = "prefer")]
    explain: bool,
    /// List up to N distinct nodes, best first: the nodes of the key, then those that take over
    /// when they are down
    #[arg(long, value_name = "N", value_parser = input::from_1)]
    prefer: Option<NonZeroUsize>,
    /// Print this attribute of each node, such as where it is mounted, in place of its name; in
    /// JSON, beside its name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["explain", "count"])]
    attribute: Option<String>,
    /// Print where to read and to write while a carry is open: KEY<TAB>nodes to read<TAB>nodes to
    /// write, in order
    #[arg(long, conflicts_with_all = ["explain", "prefer", "count"])]
    carry: bool,
    /// Read points instead of keys: 16 hex digits each
    #[arg(long, conflicts_with_all = ["explain", "prefer", "fold"])]
    points: bool,
    /// Read keys as hex digits, two for each byte, so that every byte can be written
    #[arg(long, conflicts_with_all = ["points", "explain"])]
    hex: bool,
    /// Answer from the newest map, for a pipe that is kept open: whenever keys have come, look
    /// whether MAP is another map now
    #[arg(long, conflicts_with_all = ["keys", "count"])]
    follow: bool,
    #[command(flatten)]
    fold: FoldArg,
    /// Print a JSON object per line (with --count, one object)
    #[arg(long)]
    json: bool,
}

/// The option that `locate`, `diff` and `path` share.
#[derive(Args)]
pub struct FoldArg {
    /// Fold upper-case letters before hashing: `ascii` turns A-Z into a-z, `none` (the default)
    /// changes nothing
    #[arg(
        long,
        value_name = "HOW",
        default_value = "none",
        hide_default_value = true
    )]
    pub fold: Fold,
}

/// A key and its nodes, in JSON.
#[derive(Serialize)]
struct Located<'a> {
    key: KeyJson<'a>,
    point: String,
    nodes: Vec<&'a str>,
    /// the attribute of each node
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<&'a str>>,
    #[serde(flatten)]
    explanation: Option<Explanation<'a>>,
}

/// A key, and where it is read and written, in JSON.
#[derive(Serialize)]
struct Carried<'a> {
    key: KeyJson<'a>,
    point: String,
    /// null when no carry is open
    state: Option<&'static str>,
    moved: bool,
    reads: Vec<&'a str>,
    writes: Vec<&'a str>,
    /// the attribute of each node
    #[serde(skip_serializing_if = "Option::is_none")]
    read_values: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_values: Option<Vec<&'a str>>,
}

/// How a record of the input becomes a key and a point.
#[derive(Clone, Copy)]
struct Placing {
    fold: Fold,
    /// whether the records are points
    points: bool,
    /// whether the records are keys in hex digits
    hex: bool,
}

impl Placing {
    /// Returns the point of record `number` of the input.
    fn point(self, map: &Map, number: u64, key: &[u8]) -> Result<Point> {
        if !self.points {
            return Ok(map.point(&self.key(number, key)?));
        }
        let point = std::str::from_utf8(key).ok().and_then(Point::from_hex);
        point.ok_or_else(|| {
            Failure::new(
                DATA,
                format!(
                    "record {number}: {} is not a point; write 16 hex digits",
                    input::shown(key)
                ),
            )
        })
    }

    /// Returns the key of record `number` of the input, folded.
    fn key(self, number: u64, record: &[u8]) -> Result<Cow<'_, [u8]>> {
        if !self.hex {
            return Ok(self.fold.apply(record));
        }
        let bytes = unhex(record).ok_or_else(|| {
            Failure::new(
                DATA,
                format!(
                    "record {number}: {} is not hex digits; write two for each byte",
                    input::shown(record)
                ),
            )
        })?;
        Ok(Cow::Owned(self.fold.apply(&bytes).into_owned()))
    }
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

impl Locate {
    fn placing(&self) -> Placing {
        Placing {
            fold: self.fold.fold,
            points: self.points,
            hex: self.hex,
        }
    }

    fn printed(&self) -> Printed {
        Printed {
            map: self.map.clone(),
            attribute: self.attribute.clone(),
        }
    }

    pub fn run(mut self, out: &mut Out) -> Result {
        if self.explain && self.zero && !self.json {
            return Err(Failure::new(
                USAGE,
                "-0 cannot separate the lines of --explain; add --json; see --help",
            ));
        }
        if self.carry {
            return self.both(out);
        }
        let map = self.opened()?;
        self.tell_older(&map);
        let printed = self.printed();
        printed.check(map.nodes())?;
        self.tell(&map);
        if self.count {
            return self.count(&map, out);
        }
        if self.json || self.explain {
            return self.at_length(map, out);
        }
        if self.prefer.is_some() || self.points || self.hex {
            return self.one_by_one(map, out);
        }
        let (fold, zero) = (self.fold.fold, self.zero);
        let keys = std::mem::take(&mut self.keys);
        let mut nodes = Nodes::of_map(&map, &printed);
        let mut following = Following::new(&self.map, map, self.follow);
        let (mut policies, mut folded, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        input::batches(keys, zero, out, |out, batch| {
            if following.look() {
                self.tell(following.source());
                nodes = Nodes::of_map(following.source(), &printed);
            }
            policies.resize(batch.len(), PolicyId(0));
            let keys = batch.folded(fold, &mut folded);
            let map = following.source();
            map.policies_of_keys(keys, NonZeroUsize::MIN, &mut policies);
            let answered = batch
                .keys()
                .iter()
                .zip(&policies)
                .try_for_each(|(key, policy)| {
                    record(&mut answers, key, nodes.of(*policy)?, zero);
                    Ok(())
                });
            // those before a failure, too
            out.bytes(&answers)?;
            answers.clear();
            answered
        })
    }

    /// Says that the map is not the newest of its history. A pipe that follows soon has the newest.
    fn tell_older(&self, map: &Map) {
        if !self.follow {
            note_older(&Store::new(&self.map, KEEP), map);
        }
    }

    /// Says that a carry is open, where the answers are those of the new map alone.
    fn tell(&self, map: &Map) {
        // --explain says so itself
        if !self.explain {
            let more = "--carry prints where to read and where to write";
            note_early(map, &self.map, more);
        }
    }

    /// Opens the map. A file among the keys may be the map.
    fn opened(&self) -> Result<Arc<Map>> {
        let opened = match self.follow {
            true => Source::open(&self.map),
            false => Map::open_uncached(&self.map).map(Arc::new),
        };
        opened.map_err(|error| {
            let is_missing = error.status() == Status::NotFound;
            let failure = Failure::from(error);
            match is_missing && self.keys.iter().any(|key| Path::new(key).is_file()) {
                true => failure.and("the map comes first, then the keys"),
                false => failure,
            }
        })
    }

    /// Answers records that are no plain keys, or that want more than a plain answer.
    fn one_by_one(self, map: Arc<Map>, out: &mut Out) -> Result {
        let (placing, zero, prefer) = (self.placing(), self.zero, self.prefer);
        let printed = self.printed();
        let mut nodes = Nodes::of_map(&map, &printed);
        let mut answer = Vec::new();
        self.followed(map, out, |out, map, number, key| {
            if let Some(n) = prefer {
                let nodes = map.prefer(&placing.key(number, key)?, n.get());
                let nodes = printed.joined(nodes.into_iter().map(|node| map.node(node)))?;
                record(&mut answer, key, nodes.as_bytes(), zero);
            } else {
                let policy = map.policy_of(placing.point(map, number, key)?);
                if !Arc::ptr_eq(map, &nodes.map) {
                    nodes = Nodes::of_map(map, &printed);
                }
                record(&mut answer, key, nodes.of(policy)?, zero);
            }
            out.bytes(&answer)?;
            answer.clear();
            Ok(())
        })
    }

    fn at_length(self, map: Arc<Map>, out: &mut Out) -> Result {
        let (placing, json, explain, prefer) =
            (self.placing(), self.json, self.explain, self.prefer);
        let points = self.points;
        let printed = self.printed();
        self.followed(map, out, |out, map, number, key| {
            let point = placing.point(map, number, key)?;
            let folded = if points {
                Cow::Borrowed(key)
            } else {
                placing.key(number, key)?
            };
            let nodes: Vec<NodeId> = match prefer {
                Some(n) => map.prefer(&folded, n.get()),
                None => map.policy(map.policy_of(point)).members().collect(),
            };
            let nodes = || nodes.iter().map(|node| map.node(*node));
            let explanation = explain.then(|| Explanation::of(map, &folded));
            if json {
                return out.json_line(&Located {
                    key: KeyJson::of(key),
                    point: point.to_string(),
                    nodes: nodes().map(|node| node.name()).collect(),
                    values: printed.values(nodes())?,
                    explanation,
                });
            }
            let mut answer = Vec::new();
            record(&mut answer, key, printed.joined(nodes())?.as_bytes(), false);
            out.bytes(&answer)?;
            explanation.map_or(Ok(()), |explanation| explanation.write(point, out))
        })
    }

    /// Answers with the nodes to read from and to write to.
    fn both(self, out: &mut Out) -> Result {
        let pair: Pair = Source::open(&self.map)?;
        self.tell_older(pair.new_map());
        let printed = self.printed();
        printed.check(numbered(&pair, (0..pair.node_count() as u32).map(NodeId)))?;
        let (placing, zero, json) = (self.placing(), self.zero, self.json);
        let mut answer = Vec::new();
        self.followed(pair, out, |out, pair, number, key| {
            let point = placing.point(pair.new_map(), number, key)?;
            let reads = || numbered(pair, pair.reads_point(point));
            let writes = || numbered(pair, pair.writes_point(point));
            if json {
                return out.json_line(&Carried {
                    key: KeyJson::of(key),
                    point: point.to_string(),
                    state: pair.state().map(State::word),
                    moved: pair.moved_point(point),
                    reads: reads().map(|node| node.name()).collect(),
                    writes: writes().map(|node| node.name()).collect(),
                    read_values: printed.values(reads())?,
                    write_values: printed.values(writes())?,
                });
            }
            let both = format!(
                "{}\t{}",
                printed.joined(reads())?,
                printed.joined(writes())?
            );
            record(&mut answer, key, both.as_bytes(), zero);
            out.bytes(&answer)?;
            answer.clear();
            Ok(())
        })
    }

    /// Calls `each` with what answers, and every key and its number, counted from 1.
    fn followed<S: Source>(
        mut self,
        source: S,
        out: &mut Out,
        mut each: impl FnMut(&mut Out, &S, u64, &[u8]) -> Result,
    ) -> Result {
        let keys = std::mem::take(&mut self.keys);
        let mut following = Following::new(&self.map, source, self.follow);
        let mut number = 0;
        input::batches(keys, self.zero, out, |out, batch| {
            if following.look() && !self.carry {
                self.tell(following.source().map());
            }
            batch.keys().iter().try_for_each(|key| {
                number += 1;
                each(out, following.source(), number, key)
            })
        })
    }

    fn count(self, map: &Map, out: &mut Out) -> Result {
        let placing = self.placing();
        let mut count = Count::new(map);
        if self.points || self.hex {
            // one by one, since the message about a bad record has its number
            input::keys(self.keys, self.zero, out, |_, number, key| {
                let point = placing.point(map, number, key)?;
                count.add(map.locate_point(point));
                Ok(())
            })?;
        } else {
            let parts = input::tally(
                self.keys,
                self.zero,
                self.threads,
                || Count::new(map),
                |part, batch| part.add_keys(batch, placing.fold),
            )?;
            parts.iter().for_each(|part| count.merge(part));
        }
        count.write(self.json, self.zero, out)
    }
}

/// What is printed for the nodes of each policy, joined when it is first needed.
struct Nodes<'a> {
    map: Arc<Map>,
    printed: &'a Printed,
    of_policy: Vec<Option<String>>,
}

impl<'a> Nodes<'a> {
    fn of_map(map: &Arc<Map>, printed: &'a Printed) -> Nodes<'a> {
        Nodes {
            map: Arc::clone(map),
            printed,
            of_policy: vec![None; map.policies().len()],
        }
    }

    fn of(&mut self, policy: PolicyId) -> Result<&[u8]> {
        let Some(known) = self.of_policy.get_mut(policy.index()) else {
            return Ok(&[]);
        };
        let joined = match known.take() {
            Some(joined) => joined,
            None => {
                let members = self.map.policy(policy).members();
                self.printed
                    .joined(members.map(|node| self.map.node(node)))?
            }
        };
        Ok(known.insert(joined).as_bytes())
    }
}

/// Returns nodes of a pair by their numbers.
fn numbered(pair: &Pair, nodes: impl Iterator<Item = NodeId>) -> impl Iterator<Item = Node<'_>> {
    nodes.filter_map(|node| pair.node(node).ok())
}

/// Appends the record of a key: `KEY<TAB>nodes` and a newline. With `zero` it is `nodes<TAB>KEY`
/// and a NUL; the nodes come first because the key may then contain tabs and newlines.
fn record(answers: &mut Vec<u8>, key: &[u8], nodes: &[u8], zero: bool) {
    let parts: [&[u8]; 4] = if zero {
        [nodes, b"\t", key, b"\0"]
    } else {
        [key, b"\t", nodes, b"\n"]
    };
    for part in parts {
        answers.extend_from_slice(part);
    }
}
