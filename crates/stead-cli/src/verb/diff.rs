//! `stead diff OLD NEW`: what differs between two maps of one cluster, or which keys of a list
//! move.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::path::Fold;
use stead::plan::same_nodes;
use stead::policy::{NodeId, PolicyId};
use stead::Map;

use super::locate::FoldArg;
use crate::change::{Change, Show};
use crate::exit::{Failure, Result, USAGE};
use crate::input::{self, KeyJson};
use crate::output::Out;
use crate::text::joined;

/// Say what differs between two maps, or which keys move
///
/// The maps are two epochs of one map, for example one from MAP.history. Nodes are the same by
/// name, or by `formerly`. A map remembers one former name a node: over several epochs in which a
/// node was renamed, compare epoch by epoch.
#[derive(Args)]
#[command(after_help = "\
Example: which names of a list move?
  stead diff members.map.history/1 members.map --keys < names
  frank<TAB>n1<TAB>n4

Exit codes: 0 done, also when they differ; 64 keys without --keys; 65 a map is damaged, or they are of two clusters; \
66 no such file")]
pub struct Diff {
    /// The map before
    old: PathBuf,
    /// The map after
    new: PathBuf,
    /// Read keys, and print those whose set of nodes changes: KEY<TAB>from<TAB>to
    #[arg(long, conflicts_with = "moves")]
    keys: bool,
    /// With --keys: the keys; none = one a line from standard input
    #[arg(value_name = "KEY")]
    list: Vec<OsString>,
    /// With --keys: keys and records end in NUL, and a record is from<TAB>to<TAB>KEY
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
    /// Does it.
    pub fn run(self, out: &mut Out) -> Result {
        let (old, new) = (Map::open_copy(&self.old)?, Map::open_copy(&self.new)?);
        // these name no file of their own
        let place = |error| {
            Failure::from(error).at(&format!("{}, {}", self.old.display(), self.new.display()))
        };
        if self.keys {
            let same = same_nodes(&old, &new).map_err(place)?;
            return self.keys(&old, &new, &same, out);
        }
        if self.fold.fold != Fold::None {
            return Err(Failure::new(
                USAGE,
                "--fold is for keys; add --keys; see --help",
            ));
        }
        if !self.list.is_empty() {
            return Err(Failure::new(
                USAGE,
                "keys are given without --keys; write stead diff OLD \
                NEW --keys -- KEY...; see --help",
            ));
        }
        let change = Change::between(old, new);
        let report = change.report(&self.show).map_err(place)?;
        change.write(&report, &self.show, out)
    }

    fn keys(self, old: &Map, new: &Map, same: &[Option<NodeId>], out: &mut Out) -> Result {
        // for each pair of policies: both lists of names when the sets differ
        let mut known: HashMap<(PolicyId, PolicyId), Option<(String, String)>> = HashMap::new();
        let (json, zero, fold) = (self.show.json(), self.zero, self.fold.fold);
        input::keys(self.list, zero, out, |out, _, key| {
            // one cluster has one hash, so one point serves both maps
            let point = old.point(&fold.apply(key));
            let (before, after) = (old.policy_of(point), new.policy_of(point));
            let differ = known.entry((before, after)).or_insert_with(|| {
                set_differs(old, before, new, after, same)
                    .then(|| (joined(old, before), joined(new, after)))
            });
            let Some((from, to)) = differ else {
                return Ok(());
            };
            if json {
                return out.json_line(&MovedKey {
                    key: KeyJson::of(key),
                    from: from.split(',').collect(),
                    to: to.split(',').collect(),
                });
            }
            let parts: [&[u8]; 6] = match zero {
                false => [key, b"\t", from.as_bytes(), b"\t", to.as_bytes(), b"\n"],
                true => [from.as_bytes(), b"\t", to.as_bytes(), b"\t", key, b"\0"],
            };
            parts.iter().try_for_each(|part| out.bytes(part))
        })
    }
}

/// Whether two policies list different sets of nodes, renames considered.
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
