//! `stead diff OLD NEW`: what differs between two maps of one cluster, which keys of a list move,
//! or what moves of their rows or bytes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use stead::path::Fold;
use stead::plan::same_nodes;
use stead::policy::{NodeId, PolicyId};
use stead::{Map, Plan, Point};

use super::load;
use super::locate::FoldArg;
use super::moved;
use crate::change::{Change, Show};
use crate::exit::{note, Failure, Result, USAGE};
use crate::input::{self, KeyJson};
use crate::output::Out;
use crate::planned;
use crate::summed::Summed;
use crate::text::joined;

/// Compare two maps, or list or add up the keys that move between them
///
/// Takes two epochs of one map, for example one from MAP.history, or a map and a plan that was
/// saved for it. A node is the same in both if its name is, or if `formerly` says so, in one of
/// them or in the epochs between them that the history keeps.
#[derive(Args)]
#[command(after_help = "\
Examples: the names that move between two epochs; those that a plan would move
  stead diff members.map.history/1 members.map --keys < names
  frank<TAB>n1<TAB>n4
  stead plan fleet.toml members.map -o next.plan
  stead diff members.map next.plan --keys < names

  How many bytes that are, where sizes.tsv has lines of name<TAB>bytes
  stead diff members.map next.plan --sum sizes.tsv

Exit codes:
  0   done, whether the maps differ or not
  64  wrong usage, such as keys without --keys
  65  a map is damaged, the maps are of two clusters, or a line is no KEY or
      KEY<TAB>COUNT
  66  a map is missing
  74  reading or writing failed
  77  permission denied")]
pub struct Diff {
    /// The old map file
    old: PathBuf,
    /// The new map file, or a plan that `stead plan -o` saved
    new: PathBuf,
    /// Read keys, and print those whose set of nodes changes: KEY<TAB>from<TAB>to
    #[arg(long, conflicts_with = "moves")]
    keys: bool,
    /// With --keys: the keys [default: the lines of standard input]
    #[arg(value_name = "KEY")]
    list: Vec<OsString>,
    /// Add up what moves, from which node to which, of lines of KEY or of KEY<TAB>COUNT: the rows
    /// or bytes of the key. - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "moves"])]
    sum: Option<PathBuf>,
    /// With --sum: what the counts of the file are, such as `bytes`: the word in the table
    #[arg(long, value_name = "WORD", value_parser = load::unit, requires = "sum")]
    unit: Option<String>,
    /// With --keys: end keys and output records with NUL instead of a newline; a record is then
    /// from<TAB>to<TAB>KEY
    #[arg(short = '0', requires = "keys")]
    zero: bool,
    #[command(flatten)]
    fold: FoldArg,
    #[command(flatten)]
    show: Show,
}

/// A key that moves, in JSON.
#[derive(Serialize)]
struct MovedKey<'a> {
    key: KeyJson<'a>,
    from: Vec<&'a str>,
    to: Vec<&'a str>,
}

impl Diff {
    pub fn run(self, out: &mut Out) -> Result {
        let (old, new) = planned::pair(&self.old, &self.new)?;
        // these errors do not name a file themselves
        let files = format!("{}, {}", self.old.display(), self.new.display());
        let place = |error| Failure::from(error).at(&files);
        if self.keys {
            let same = same_nodes(&old, &new).map_err(place)?;
            return self.keys(&old, &new, &same, out);
        }
        if let Some(file) = &self.sum {
            let plan = Plan::between(&old, &new).map_err(place)?;
            let (maps, unit) = ([&old, &new], self.unit.as_deref());
            let sums = Summed::of(maps, &plan, file, self.fold.fold, unit)?;
            return moved::write(&sums, &self.show, out);
        }
        if self.fold.fold != Fold::None {
            return Err(Failure::new(
                USAGE,
                "--fold works on keys only; add --keys or --sum; see --help",
            ));
        }
        if !self.list.is_empty() {
            return Err(Failure::new(
                USAGE,
                "keys are given without --keys; write `stead diff OLD \
                NEW --keys -- KEY...`; see --help",
            ));
        }
        let change = Change::between(old, new);
        let report = change.report(&self.show);
        let report = report.map_err(|failure| failure.at(&files))?;
        change.write(&report, &self.show, out)
    }

    fn keys(self, old: &Map, new: &Map, same: &[Option<NodeId>], out: &mut Out) -> Result {
        // for each pair of policies: both lists of names if the sets of nodes differ
        let mut known: HashMap<(PolicyId, PolicyId), Option<(String, String)>> = HashMap::new();
        let (json, zero, fold) = (self.show.json(), self.zero, self.fold.fold);
        if let [key] = self.list.as_slice() {
            if Path::new(key).is_file() {
                let file = Path::new(key).display();
                note(format_args!(
                    "{file} is taken for a key; < {file} reads its lines"
                ));
            }
        }
        let (mut folded, mut points, mut policies) = (Vec::new(), Vec::new(), [vec![], vec![]]);
        input::batches(self.list, zero, out, |out, batch| {
            points.resize(batch.len(), Point(0));
            // one cluster has one hash, so one point serves both maps
            old.points(batch.folded(fold, &mut folded), &mut points);
            for (map, policies) in [old, new].into_iter().zip(&mut policies) {
                policies.resize(batch.len(), PolicyId(0));
                map.policies_of_points(&points, policies);
            }
            let [before, after] = &policies;
            for (key, pair) in batch.keys().iter().zip(before.iter().zip(after)) {
                let (before, after) = (*pair.0, *pair.1);
                let differ = known.entry((before, after)).or_insert_with(|| {
                    set_differs(old, before, new, after, same)
                        .then(|| (named_now(old, before, new, same), joined(new, after)))
                });
                let Some((from, to)) = differ else {
                    continue;
                };
                if json {
                    out.json_line(&MovedKey {
                        key: KeyJson::of(key),
                        from: from.split(',').collect(),
                        to: to.split(',').collect(),
                    })?;
                    continue;
                }
                let parts: [&[u8]; 6] = match zero {
                    false => [key, b"\t", from.as_bytes(), b"\t", to.as_bytes(), b"\n"],
                    true => [from.as_bytes(), b"\t", to.as_bytes(), b"\t", key, b"\0"],
                };
                parts.iter().try_for_each(|part| out.bytes(part))?;
            }
            Ok(())
        })
    }
}

/// Returns the names that the nodes of an old policy have now, so that a node that stays has the
/// same name in both lists. A node that is gone is given by its last name.
fn named_now(old: &Map, policy: PolicyId, new: &Map, same: &[Option<NodeId>]) -> String {
    let name = |node: NodeId| match same.get(node.index()).copied().flatten() {
        Some(now) => new.node(now).name(),
        None => old.node(node).name(),
    };
    let names: Vec<&str> = old.policy(policy).members().map(name).collect();
    names.join(",")
}

/// Returns whether two policies list different sets of nodes. A renamed node is the same node.
fn set_differs(
    old: &Map,
    before: PolicyId,
    new: &Map,
    after: PolicyId,
    same: &[Option<NodeId>],
) -> bool {
    let mut was: Vec<Option<NodeId>> = old
        .policy(before)
        .members()
        .map(|node| same.get(node.index()).copied().flatten())
        .collect();
    let mut is: Vec<Option<NodeId>> = new.policy(after).members().map(Some).collect();
    for list in [&mut was, &mut is] {
        list.sort_unstable();
        list.dedup();
    }
    was != is
}
