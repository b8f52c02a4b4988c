//! The status of the router.
//!
//! [`Status`] is the one source of this information: `stead-rrd status` prints it as a page or as
//! JSON, and the metrics have the same numbers.

use std::future::Future;
use std::io::ErrorKind;

use serde::{Deserialize, Serialize};
use stead::Map;

use crate::clock::now;
use crate::health::Health;
use crate::passes::Pass;
use crate::role::{Lost, Role};
use crate::tally::Clients;

/// A source of the status: the router.
pub trait Source: Send + Sync + 'static {
    /// Returns the status of now.
    fn status(&self) -> impl Future<Output = Status> + Send;
}

/// The state of a router. Times are seconds since 1970, sizes bytes.
///
/// A field that is added later has a default: while routers are upgraded, `stead-rrd status` of the
/// new version asks routers of the old one.
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
    /// The epoch of the map that places the files now.
    pub epoch: u64,
    /// The epoch that files have to be moved to.
    pub next_epoch: Option<u64>,
    /// The epoch at --map that waits until they have been moved.
    #[serde(default)]
    pub waiting_epoch: Option<u64>,
    /// Why the map at --map is not taken up, if it is not. Of a standby: why it could not be.
    #[serde(default)]
    pub map_refused: Option<String>,
    /// The state of the carry that is open in the newest of these maps, by the rules of `stead
    /// carry`: stead-rrd needs none.
    #[serde(default)]
    pub carry: Option<String>,
    /// How many files the router knows, with their columns and types.
    #[serde(default)]
    pub known_files: u64,
    /// Which parts of the files have lost copies for now.
    pub exposed: Exposed,
    /// Every rrdcached, in the order of the map.
    pub backends: Vec<BackendStatus>,
    /// `None`: the router runs without a log.
    pub log: Option<LogStatus>,
    /// Why something cannot be recorded in the directory of --state, if that is so.
    #[serde(default)]
    pub state_error: Option<StateError>,
    /// Clients and their requests.
    pub clients: Clients,
    /// The running move or repair, or the last one.
    pub moving: Option<Progress>,
    /// Whether a move was started and not stopped: the router tries it again by itself until it is
    /// done.
    #[serde(default)]
    pub move_goes_on: bool,
    /// The checks of all copies.
    #[serde(default)]
    pub check: CheckStatus,
    /// `None`: the router has no other one beside it.
    #[serde(default)]
    pub pair: Option<PairStatus>,
}

impl Status {
    /// Whether the router serves clients, and has been connected to every backend or knows why not.
    pub fn is_serving(&self) -> bool {
        let is_known =
            |backend: &BackendStatus| backend.state != Health::Down || backend.reason.is_some();
        self.pair.as_ref().is_none_or(|pair| pair.serving) && self.backends.iter().all(is_known)
    }

    /// Returns the status of a router that serves nobody.
    pub fn empty(started: u64) -> Status {
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: now(),
            started,
            fleet: String::new(),
            epoch: 0,
            next_epoch: None,
            waiting_epoch: None,
            map_refused: None,
            carry: None,
            known_files: 0,
            exposed: Exposed::default(),
            backends: Vec::new(),
            log: None,
            state_error: None,
            clients: Clients::default(),
            moving: None,
            move_goes_on: false,
            check: CheckStatus::default(),
            pair: None,
        }
    }
}

/// The other router of a pair, and what this one is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairStatus {
    /// What this router is.
    pub role: Role,
    /// The number of its term.
    pub term: u64,
    /// Where the other router listens for this one.
    pub peer: String,
    /// What the primary does without the standby.
    pub lost: Lost,
    /// Whether the standby knows that.
    pub agreed: bool,
    /// Whether the log flows from the primary to the standby.
    pub connected: bool,
    /// Since when it does, or does not.
    pub since: u64,
    /// Why it does not.
    pub reason: Option<String>,
    /// Whether it did for moments only since then.
    #[serde(default)]
    pub brief: bool,
    /// Of a primary: whether it makes the connection again, because it could not store a change of
    /// the state itself.
    #[serde(default)]
    pub renewed: bool,
    /// Whether this router serves clients.
    pub serving: bool,
    /// Why a primary that has just started does not serve yet.
    #[serde(default)]
    pub waits: Option<String>,
    /// The record after which a primary has gone on alone.
    pub alone: Option<u64>,
    /// Whether the standby has everything that was answered.
    pub in_sync: bool,
    /// How many records the standby lacks.
    pub behind: u64,
    /// How many records this router has discarded so far that a later primary did not have.
    pub discarded: u64,
}

/// Fractions of all places where files can lie, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exposed {
    /// No copy is up or catching up: reads fail.
    pub unreachable: f64,
    /// No copy is up, but one is catching up: it answers reads, which may lack the newest values.
    #[serde(default)]
    pub trailing: f64,
    /// One copy is up where there should be more.
    pub single: f64,
}

impl Exposed {
    /// Computes the fractions from a map. `health` is that of the node with this index.
    pub fn of(map: &Map, health: impl Fn(usize) -> Health) -> Exposed {
        // for each policy, the copies that are up, those that are catching up, and all copies:
        // there are fewer policies than slices
        let copies: Vec<(usize, usize, usize)> = map
            .policies()
            .map(|policy| policy.distinct())
            .map(|nodes| {
                let count = |wanted| {
                    let all = nodes.iter().map(|node| health(node.index()));
                    all.filter(|health| *health == wanted).count()
                };
                (count(Health::Up), count(Health::Behind), nodes.len())
            })
            .collect();
        let [mut unreachable, mut trailing, mut single, mut all] = [0u128; 4];
        for slice in map.slices() {
            all += slice.points();
            match copies.get(slice.policy.index()) {
                Some((0, 0, _)) => unreachable += slice.points(),
                Some((0, _, _)) => trailing += slice.points(),
                Some((1, _, 2..)) => single += slice.points(),
                _ => {}
            }
        }
        let part = |points: u128| points as f64 / all.max(1) as f64;
        Exposed {
            unreachable: part(unreachable),
            trailing: part(trailing),
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
    /// The state of the backend.
    pub state: Health,
    /// When it entered this state.
    pub since: u64,
    /// Why it is not up, in the words of the error.
    pub reason: Option<String>,
    /// Lines that wait in memory to be sent.
    pub queued_lines: u64,
    /// The size of these lines in bytes.
    pub queued_bytes: u64,
    /// For how many milliseconds the oldest line without an answer has waited.
    #[serde(default)]
    pub lag_ms: u64,
    /// While it is not up: the durable records that it may lack. Some of them are for other
    /// backends.
    pub behind: u64,
    /// Files with writes that no FLUSH has confirmed.
    pub unflushed_files: u64,
    /// The record up to which it has everything on its disk.
    pub confirmed: u64,
    /// Lines that it has answered.
    pub answered: u64,
    /// Lines that it has refused.
    pub errors: u64,
    /// How often the router connected again.
    pub reconnects: u64,
    /// Files that it should have and lacks; they are copied from another backend.
    pub lacking: u64,
    /// Files that are gone although it has taken updates for them, which the log keeps.
    #[serde(default)]
    pub gone: u64,
    /// One of these files.
    #[serde(default)]
    pub gone_example: Option<String>,
    /// Copies that may lack values; they are compared with the others.
    #[serde(default)]
    pub doubtful: u64,
    /// Whether all its copies may lack values: they were not compared since its address or its
    /// directory of files changed.
    #[serde(default)]
    pub uncompared: bool,
    /// Why a copy that lacks something cannot be repaired now.
    #[serde(default)]
    pub repair_error: Option<String>,
    /// Writes that it refused after another backend took them, or after clients were told that they
    /// are stored.
    #[serde(default)]
    pub late_errors: u64,
    /// Files that could not be flushed lately, because they are suspended or it refuses.
    #[serde(default)]
    pub stuck: u64,
    /// What clients have suspended there, as far as the router knows.
    #[serde(default)]
    pub suspended: Option<String>,
    /// Why its files cannot be reached through the attribute `files` of its node.
    #[serde(default)]
    pub files_error: Option<String>,
    /// Whether it keeps a journal of its own (`-j`), which can lose updates in a crash.
    #[serde(default)]
    pub journal: bool,
}

/// The durable log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogStatus {
    /// The bytes on disk.
    pub bytes: u64,
    /// An upper bound on these bytes.
    pub bound: u64,
    /// The oldest record that is kept. If there is none, this is above `newest`.
    pub oldest: u64,
    /// The newest record that survives a power cut.
    pub newest: u64,
    /// Why it will soon refuse records, or already does.
    pub short: Option<String>,
    /// Whether it has refused a record and has had no room since.
    #[serde(default)]
    pub refuses: bool,
    /// Why it takes no more records until the router is restarted.
    pub failed: Option<String>,
}

/// Why something cannot be recorded in the directory of --state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateError {
    /// Whether this is only about what the log has to store, which may be on a disk of its own.
    pub log: bool,
    /// Whether the disk is full.
    pub full: bool,
    /// What failed.
    pub reason: String,
}

impl StateError {
    /// Returns what cannot be recorded, if there is such: because of an error in the directory
    /// itself, or in that of the log.
    pub fn of(
        state: Option<(ErrorKind, String)>,
        log: Option<(ErrorKind, String)>,
    ) -> Option<Self> {
        let error = |log: bool| {
            move |(kind, reason)| StateError {
                log,
                full: kind == ErrorKind::StorageFull,
                reason,
            }
        };
        state.map(error(false)).or(log.map(error(true)))
    }
}

/// What a move, a repair or a check has done so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The backend that is being repaired; `None` for a move.
    pub repair: Option<String>,
    /// The epoch from whose places files move.
    pub from_epoch: u64,
    /// The epoch to whose places files move.
    pub to_epoch: u64,
    /// How many files have to be copied, as far as known.
    pub files: u64,
    /// How many files have been copied, by this run or an earlier one.
    pub done: u64,
    /// How many files could not be copied; they stay where they are.
    pub failed: u64,
    /// The first reasons, one line each.
    pub reasons: Vec<String>,
    /// How many bytes this run has copied.
    pub bytes: u64,
    /// When this run started.
    pub started: u64,
    /// Bytes a second, on average since this run started.
    pub rate: u64,
    /// Whether the work has ended.
    pub ended: bool,
    /// Whether somebody has told the work to stop.
    #[serde(default)]
    pub stopped: bool,
    /// A later epoch that has come during a move, and by which files have to move again.
    #[serde(default)]
    pub later_epoch: Option<u64>,
    /// What a check has found; `None` for a move or a repair.
    #[serde(default)]
    pub check: Option<Findings>,
}

/// What a check of all copies has found so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// How many files have copies that differ, or lack a copy.
    pub differing: u64,
    /// How many copies are where the map does not place them, besides the right ones.
    pub strays: u64,
    /// How many of these have values that the right ones lack, or could not be compared with them.
    #[serde(default)]
    pub needed: u64,
    /// When the pass began that this run continues; `None` if this run began it.
    pub continued: Option<u64>,
    /// The first findings, one line each.
    pub lines: Vec<String>,
    /// Whether the pass has come to its end.
    pub whole: bool,
}

/// The checks of all copies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckStatus {
    /// How many seconds after the beginning of a pass in the background the next one begins; 0:
    /// there is none.
    pub every: u64,
    /// The pass in the background that goes on.
    pub slow: Option<Pass>,
    /// Why it waits.
    pub waits: Option<String>,
    /// The last whole pass.
    pub last: Option<Pass>,
    /// The last pass that has ended, if it has not compared everything.
    #[serde(default)]
    pub incomplete: Option<Pass>,
    /// The backends that the pass in the background, or the last one, has left out because they
    /// were away. It is made again when they are back.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The check that somebody has asked for, while it runs.
    pub asked: Option<Progress>,
    /// How many files were compared since the router started.
    pub compared: u64,
    /// How many differences were found since the router started.
    pub differing: u64,
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
        let health = |up: bool| if up { Health::Up } else { Health::Down };
        let of = |up: [bool; 4]| Exposed::of(&map, |node| health(up[node]));
        assert_eq!(of([true; 4]), Exposed::default());
        assert!(near(of([false; 4]), 1.0, 0.0), "{:?}", of([false; 4]));
        // each file has a copy in either zone, and for half of the files it is the one that is down
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
        // copies that are catching up answer reads
        let of = |health: [Health; 4]| Exposed::of(&map, |node| health[node]);
        let [up, behind, down] = [Health::Up, Health::Behind, Health::Down];
        let all = of([behind; 4]);
        assert!(near(all, 0.0, 0.0) && all.trailing == 1.0, "{all:?}");
        let one = of([up, down, up, behind]);
        assert!(
            one.unreachable == 0.0 && (one.trailing - some.unreachable).abs() < 1e-3,
            "{one:?}"
        );
    }
}
