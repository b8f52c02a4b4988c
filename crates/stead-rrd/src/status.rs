//! What the router knows of itself.
//!
//! [`Status`] is the one source: `stead-rrd status` prints it, as a page or as JSON, and the
//! metrics are the same numbers.

use std::future::Future;

use serde::{Deserialize, Serialize};
use stead::Map;

use crate::health::Health;
use crate::tally::Clients;

/// Whoever can say how it is: the router.
pub trait Source: Send + Sync + 'static {
    /// How it is now.
    fn status(&self) -> impl Future<Output = Status> + Send;
}

/// The state of a router. Times are seconds since 1970, sizes bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The version of the program.
    pub version: String,
    /// When this was written.
    pub now: u64,
    /// When the router started.
    pub started: u64,
    /// The name of the fleet.
    pub fleet: String,
    /// The epoch of the map that files lie by.
    pub epoch: u64,
    /// The epoch that files have to be moved to.
    pub next_epoch: Option<u64>,
    /// How much has lost copies for now.
    pub exposed: Exposed,
    /// Every rrdcached, in the order of the map.
    pub backends: Vec<BackendStatus>,
    /// `None`: the router runs without a log.
    pub log: Option<LogStatus>,
    /// Clients and their requests.
    pub clients: Clients,
    /// The move or repair that is under way, or the last one.
    pub moving: Option<Progress>,
}

/// Parts of all places where files can lie, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exposed {
    /// None of the copies is up: reads fail.
    pub unreachable: f64,
    /// One copy is up where there should be more.
    pub single: f64,
}

impl Exposed {
    /// By a map, and which of its nodes are up, by their index.
    pub fn of(map: &Map, up: impl Fn(usize) -> bool) -> Exposed {
        // copies that are up and copies in all, by policy: there are fewer policies than slices
        let copies: Vec<(usize, usize)> = map
            .policies()
            .map(|policy| policy.distinct())
            .map(|nodes| {
                (
                    nodes.iter().filter(|node| up(node.index())).count(),
                    nodes.len(),
                )
            })
            .collect();
        let (mut unreachable, mut single, mut all) = (0u128, 0u128, 0u128);
        for slice in map.slices() {
            all += slice.points();
            match copies.get(slice.policy.index()) {
                Some((0, _)) => unreachable += slice.points(),
                Some((1, 2..)) => single += slice.points(),
                _ => {}
            }
        }
        let part = |points: u128| points as f64 / all.max(1) as f64;
        Exposed {
            unreachable: part(unreachable),
            single: part(single),
        }
    }
}

/// One rrdcached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackendStatus {
    /// Its name in the map.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// The labels of its node, as the map has them.
    pub labels: Vec<(String, String)>,
    /// What it can do now.
    pub state: Health,
    /// Since when.
    pub since: u64,
    /// Why it is not up, in its own words.
    pub reason: Option<String>,
    /// Lines that wait in memory to be sent.
    pub queued_lines: u64,
    /// Their bytes.
    pub queued_bytes: u64,
    /// When it is not up: the durable records that it may lack, of which some are for others.
    pub behind: u64,
    /// Files with writes that no FLUSH has confirmed.
    pub unflushed_files: u64,
    /// The record up to which it has everything on its disk.
    pub confirmed: u64,
    /// Writes that it has answered.
    pub answered: u64,
    /// Those of them that it refused.
    pub errors: u64,
    /// How often the connection was made again.
    pub reconnects: u64,
    /// Files that it should have and lacks; they are copied from another backend.
    pub lacking: u64,
    /// It keeps a journal of its own (`-j`), by which it can lose updates when it crashes.
    #[serde(default)]
    pub journal: bool,
}

/// The durable log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogStatus {
    /// Bytes on the disk.
    pub bytes: u64,
    /// The most that they may become.
    pub bound: u64,
    /// The oldest record that is kept; above `newest` when there is none.
    pub oldest: u64,
    /// The newest record that survives a crash.
    pub newest: u64,
    /// Why it will refuse records soon, or does so already.
    pub short: Option<String>,
    /// Why it takes no more until the router is started again.
    pub failed: Option<String>,
}

/// What a move or a repair has done so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The backend that is repaired; `None` for a move.
    pub repair: Option<String>,
    /// The epoch whose places files leave.
    pub from_epoch: u64,
    /// The epoch whose places they come to.
    pub to_epoch: u64,
    /// Files that have to be carried, as far as is known.
    pub files: u64,
    /// Those that have been carried, by this run or one before it.
    pub done: u64,
    /// Those that could not be; they stay where they are.
    pub failed: u64,
    /// The first reasons, one line each.
    pub reasons: Vec<String>,
    /// Bytes carried by this run.
    pub bytes: u64,
    /// When this run started.
    pub started: u64,
    /// Bytes a second, of late.
    pub rate: u64,
    /// There is no more to come.
    pub ended: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    #[test]
    fn what_is_written_as_json_is_read_again() {
        let mut status = sample();
        status.moving = Some(Progress {
            repair: Some("b1".to_owned()),
            files: 3,
            ..Progress::default()
        });
        let text = serde_json::to_string(&status).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
        assert!(
            text.contains(r#""state":"up""#) && text.contains(r#""repair":"b1""#),
            "{text}"
        );
    }

    #[test]
    fn exposed_are_the_shares_whose_copies_are_not_up() {
        let nodes: String = ["a1", "a2", "b1", "b2"]
            .map(|name| {
                format!(
                    "[[node]]\nname = \"{name}\"\nlabels = {{ zone = \"{}\" }}\n",
                    &name[..1]
                )
            })
            .concat();
        let fleet = stead::Fleet::parse(
            &format!("name = \"rrd\"\nreplicas = 2\nspread = [\"zone\"]\n{nodes}"),
            "fleet.toml",
        )
        .unwrap();
        let map = stead::build(&fleet, None).unwrap();
        let near = |exposed: Exposed, unreachable: f64, single: f64| {
            (exposed.unreachable - unreachable).abs() < 1e-3
                && (exposed.single - single).abs() < 1e-3
        };
        let of = |up: [bool; 4]| Exposed::of(&map, |node| up[node]);
        assert_eq!(of([true; 4]), Exposed::default());
        assert!(near(of([false; 4]), 1.0, 0.0), "{:?}", of([false; 4]));
        // each file has a copy in either zone, and half of them the one that is gone
        assert!(
            near(of([false, true, true, true]), 0.0, 0.5),
            "{:?}",
            of([false, true, true, true])
        );
        assert!(
            near(of([false, false, true, true]), 0.0, 1.0),
            "{:?}",
            of([false, false, true, true])
        );
        let some = of([false, true, false, true]);
        assert!(
            some.unreachable > 0.1 && (some.unreachable + some.single / 2.0 - 0.5).abs() < 1e-3,
            "{some:?}"
        );
    }
}
