//! `stead locate MAP [KEY...]`: the nodes on which keys live.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::path::Fold;
use stead::{Map, Point};

use crate::exit::{Failure, Result, DATA, USAGE};
use crate::explain::Explanation;
use crate::input::{self, KeyJson};
use crate::output::Out;
use crate::text::joined;

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

Exit codes:
  0   done
  64  wrong usage
  65  the map is damaged or not a map, or a record of the input is wrong
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
    /// Also print why: the digest, point, slice, policy and labels
    #[arg(long, conflicts_with = "prefer")]
    explain: bool,
    /// List up to N distinct nodes, best first: the nodes of the key, then those that take over
    /// when they are down
    #[arg(long, value_name = "N", value_parser = at_least_1)]
    prefer: Option<usize>,
    /// Read points instead of keys: 16 hex digits each
    #[arg(long, conflicts_with_all = ["explain", "prefer", "fold"])]
    points: bool,
    /// Read keys as hex digits, two for each byte, so that every byte can be written
    #[arg(long, conflicts_with_all = ["points", "explain"])]
    hex: bool,
    #[command(flatten)]
    fold: FoldArg,
    /// Print a JSON object per line (with --count, one object)
    #[arg(long)]
    json: bool,
}

/// Parses N of `--prefer`. 0 is refused, because a record without nodes would say nothing.
fn at_least_1(text: &str) -> std::result::Result<usize, &'static str> {
    text.parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or("write a whole number from 1")
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
    #[serde(flatten)]
    explanation: Option<Explanation<'a>>,
}

/// Totals, in JSON.
#[derive(Serialize)]
struct Totals<'a> {
    name: &'a str,
    epoch: u64,
    keys: u64,
    nodes: Vec<Total<'a>>,
}

#[derive(Serialize)]
struct Total<'a> {
    name: &'a str,
    keys: u64,
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

    pub fn run(self, out: &mut Out) -> Result {
        if self.explain && self.zero && !self.json {
            return Err(Failure::new(
                USAGE,
                "-0 cannot separate the lines of --explain; add --json; see --help",
            ));
        }
        let map = Map::open_uncached(&self.map)?;
        if self.count {
            return self.count(&map, out);
        }
        if self.json || self.explain {
            return self.at_length(&map, out);
        }
        let (placing, zero, prefer) = (self.placing(), self.zero, self.prefer);
        let mut names: Vec<Option<String>> = vec![None; map.policies().len()];
        input::keys(self.keys, zero, out, |out, number, key| match prefer {
            Some(n) => record(
                out,
                key,
                preferred(&map, &placing.key(number, key)?, n)
                    .join(",")
                    .as_bytes(),
                zero,
            ),
            None => {
                let policy = map.policy_of(placing.point(&map, number, key)?);
                let Some(known) = names.get_mut(policy.index()) else {
                    return Ok(());
                };
                let nodes = known.get_or_insert_with(|| joined(&map, policy));
                record(out, key, nodes.as_bytes(), zero)
            }
        })
    }

    fn at_length(self, map: &Map, out: &mut Out) -> Result {
        let (placing, json, explain, prefer) =
            (self.placing(), self.json, self.explain, self.prefer);
        input::keys(self.keys, self.zero, out, |out, number, key| {
            let point = placing.point(map, number, key)?;
            let folded = if self.points {
                Cow::Borrowed(key)
            } else {
                placing.key(number, key)?
            };
            let nodes = match prefer {
                Some(n) => preferred(map, &folded, n),
                None => map
                    .policy(map.policy_of(point))
                    .members()
                    .map(|node| map.node(node).name())
                    .collect(),
            };
            let explanation = explain.then(|| Explanation::of(map, &folded));
            if json {
                return out.json_line(&Located {
                    key: KeyJson::of(key),
                    point: point.to_string(),
                    nodes,
                    explanation,
                });
            }
            record(out, key, nodes.join(",").as_bytes(), false)?;
            explanation.map_or(Ok(()), |explanation| explanation.write(point, out))
        })
    }

    fn count(self, map: &Map, out: &mut Out) -> Result {
        let mut of_policy = vec![0u64; map.policies().len()];
        let placing = self.placing();
        input::keys(self.keys, self.zero, out, |_, number, key| {
            if let Some(count) =
                of_policy.get_mut(map.policy_of(placing.point(map, number, key)?).index())
            {
                *count += 1;
            }
            Ok(())
        })?;
        let mut of_node = vec![0u64; map.nodes().len()];
        for (policy, keys) in map.policies().zip(&of_policy) {
            if let Some(count) = policy
                .members()
                .next()
                .and_then(|primary| of_node.get_mut(primary.index()))
            {
                *count += keys;
            }
        }
        let nodes = map.nodes().zip(of_node).map(|(node, keys)| Total {
            name: node.name(),
            keys,
        });
        if self.json {
            return out.json(&Totals {
                name: map.name(),
                epoch: map.epoch(),
                keys: of_policy.iter().sum(),
                nodes: nodes.collect(),
            });
        }
        let end = if self.zero { '\0' } else { '\n' };
        nodes.into_iter().try_for_each(|total| {
            out.bytes(format!("{}\t{}{end}", total.name, total.keys).as_bytes())
        })
    }
}

fn preferred<'a>(map: &'a Map, key: &[u8], n: usize) -> Vec<&'a str> {
    map.prefer(key, n)
        .into_iter()
        .map(|node| map.node(node).name())
        .collect()
}

/// Writes the record of a key: `KEY<TAB>nodes` and a newline. With `zero` it is `nodes<TAB>KEY` and
/// a NUL; the nodes come first because the key may then contain tabs and newlines.
fn record(out: &mut Out, key: &[u8], nodes: &[u8], zero: bool) -> Result {
    let parts: [&[u8]; 4] = if zero {
        [nodes, b"\t", key, b"\0"]
    } else {
        [key, b"\t", nodes, b"\n"]
    };
    parts.iter().try_for_each(|part| out.bytes(part))
}
