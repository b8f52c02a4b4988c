//! What a standby makes of its log and of itself when a primary says who it is; what a primary
//! sends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::exchange::Hello;
use super::exchange::Serves;
use super::history::History;
use super::hub::{Facts, Pair, Told};
use super::saved::Saved;
use super::standby::Standby;
use super::waiting::Waiting;
use crate::connection::Address;
use crate::lock::lock;
use crate::log::{durable, Durability, Durable, Log, Size};
use crate::role::{Lost, Role};
use crate::state::{Mirror, StateDir};
use crate::status::Source;
use crate::term::Term;

const SIZE: Size = Size {
    segment: 4096,
    bound: 1 << 20,
    sync_every: Duration::from_millis(100),
};

fn serves(base: &str) -> Serves {
    Serves {
        fleet: "rrd".to_owned(),
        base: base.to_owned(),
    }
}

fn term(number: u64) -> Term {
    Term {
        number,
        owner: 100 + number,
    }
}

/// Returns a standby in sync in term 1, with ten records.
async fn standby(place: &Path) -> Arc<Standby> {
    let state = Arc::new(StateDir::open(&place.join("state")).unwrap());
    let log = Durable::open(&place.join("state/log"), SIZE).unwrap();
    log.follow(&["a"]).unwrap();
    for number in 1..=10 {
        log.append(format!("record {number}").as_bytes(), Durability::Power)
            .unwrap();
    }
    durable(&log, 10).await.unwrap();
    drop(log);
    let saved = Saved {
        term: term(1),
        in_sync: true,
        history: History(vec![(term(1), 1)]),
        ..Saved::new(Role::Standby)
    };
    let peer = Address::parse("unix:/none").unwrap();
    Standby::open(state, SIZE, saved, peer, serves("/rrd")).unwrap()
}

/// Returns what its primary says that has answered all ten records.
fn hello(standby: &Standby) -> Hello {
    Hello {
        role: Role::Primary,
        term: term(1),
        lost: Lost::Wait,
        oldest: 1,
        newest: 12,
        published: 10,
        history: History(vec![(term(1), 1)]),
        met: true,
        alone: false,
        digest: standby.state.digest().unwrap(),
        serves: serves("/rrd"),
    }
}

fn records(standby: &Standby) -> Vec<u64> {
    let log = lock(&standby.log).clone().unwrap();
    let after = log.extent().oldest - 1;
    let numbers = log.read(after).map(|record| record.unwrap().0).collect();
    numbers
}

#[tokio::test]
async fn a_standby_that_has_everything_stays_in_sync_and_any_other_does_not() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    let good = hello(&standby);
    let in_sync = |hello: &Hello| {
        {
            let mut saved = lock(&standby.saved);
            saved.in_sync = true;
            saved.store(standby.state.dir()).unwrap();
        }
        let (_, ready) = standby.prepare(hello).unwrap();
        assert_eq!((ready.next, ready.discarded), (11, 0));
        let on_disk = Saved::load(standby.state.dir()).unwrap().unwrap();
        assert_eq!(on_disk, *lock(&standby.saved));
        on_disk.in_sync
    };
    assert!(in_sync(&good));
    let others = [
        // it may have answered a record that is not here
        Hello {
            published: 11,
            ..good.clone()
        },
        // it answers without this standby
        Hello {
            alone: true,
            ..good.clone()
        },
        Hello {
            digest: good.digest + 1,
            ..good.clone()
        },
    ];
    for other in others {
        assert!(!in_sync(&other), "{other:?}");
    }
    assert!(in_sync(&good));
}

/// Two operators promote a standby at the same time, and a third one before it starts again.
#[tokio::test]
async fn every_command_that_promotes_a_standby_is_told_that_it_is_the_primary() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    standby.prepare(&hello(&standby)).unwrap();
    let told = tokio::join!(standby.promoted(false), standby.promoted(false));
    let told = [told.0, told.1, standby.promoted(false).await].map(Result::unwrap);
    let number = lock(&standby.saved).term.number;
    assert_eq!(number, 2, "one promotion");
    for text in told {
        assert!(
            text.contains("this router is the primary in term 2"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn what_a_later_primary_does_not_have_is_discarded_and_counted() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    let later = Hello {
        term: term(2),
        newest: 20,
        published: 20,
        history: History(vec![(term(1), 1), (term(2), 8)]),
        ..hello(&standby)
    };
    let (_, ready) = standby.prepare(&later).unwrap();
    assert_eq!((ready.next, ready.discarded), (8, 3));
    assert_eq!(records(&standby), (1..=7).collect::<Vec<_>>());
    let saved = Saved::load(standby.state.dir()).unwrap().unwrap();
    assert_eq!((saved.discarded, saved.in_sync), (3, false));
    assert_eq!((saved.term, saved.history), (later.term, later.history));
    // the old primary is not obeyed any more
    assert!(standby.prepare(&hello(&standby)).is_err());
    assert_eq!(records(&standby).len(), 7);
}

#[tokio::test]
async fn a_log_that_the_primary_cannot_complete_begins_anew() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    let far = Hello {
        oldest: 500,
        newest: 600,
        published: 600,
        ..hello(&standby)
    };
    let (log, ready) = standby.prepare(&far).unwrap();
    assert_eq!(ready.next, 500);
    assert_eq!(log.append(b"record", Durability::Power).unwrap(), 500);
    assert!(!lock(&standby.saved).in_sync);
}

#[tokio::test]
async fn no_log_is_given_up_for_a_primary_that_has_lost_its_own() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    let mut fresh = hello(&standby);
    fresh.term.owner += 1;
    fresh.history = History(vec![(fresh.term, 1)]);
    (fresh.newest, fresh.published) = (0, 0);
    let error = standby.prepare(&fresh).err().unwrap().to_string();
    assert!(error.contains("has lost its state"), "{error}");
    // a disk that has lost its end
    lock(&standby.primary).published = 10;
    let short = Hello {
        newest: 9,
        published: 9,
        ..hello(&standby)
    };
    let error = standby.prepare(&short).err().unwrap().to_string();
    assert!(error.contains("has lost records"), "{error}");
    assert_eq!(records(&standby), (1..=10).collect::<Vec<_>>());
    assert!(lock(&standby.saved).in_sync);
}

#[tokio::test]
async fn routers_that_serve_something_else_do_not_join() {
    let place = tempfile::tempdir().unwrap();
    let (pair, _) = primary(place.path(), Saved::new(Role::Primary));
    let ours = pair.hello(0);
    let other = |serves: Serves| {
        let other = Hello {
            role: Role::Standby,
            serves,
            ..ours.clone()
        };
        pair.compare(&ours, &other)
    };
    assert!(other(serves("/rrd")).is_ok());
    let error = other(serves("/var/rrd")).unwrap_err().to_string();
    assert!(
        error.contains("--base \"/var/rrd\", and this one") && error.contains("same --map"),
        "{error}"
    );
    let fleet = Serves {
        fleet: "other".to_owned(),
        ..serves("/rrd")
    };
    assert!(other(fleet)
        .unwrap_err()
        .to_string()
        .contains("fleet \"other\""));
}

/// Returns the primary of a pair, and its log.
fn primary(place: &Path, saved: Saved) -> (Arc<Pair>, Arc<Durable>) {
    let state = Arc::new(StateDir::open(&place.join("state")).unwrap());
    let log = Arc::new(Durable::open(&place.join("state/log"), SIZE).unwrap());
    let facts = Facts {
        state,
        log: Arc::clone(&log),
        peer: Address::parse("unix:/none").unwrap(),
        lost: saved.lost,
        serves: serves("/rrd"),
    };
    (Pair::new(facts, saved).unwrap(), log)
}

#[tokio::test]
async fn a_primary_that_waits_serves_nobody_even_when_it_may() {
    let place = tempfile::tempdir().unwrap();
    let saved = Saved {
        alone: Some(0),
        ..Saved::new(Role::Primary)
    };
    let (pair, _) = primary(place.path(), saved);
    assert!(pair.status().serving);
    assert!(!Waiting::new(pair).status().await.pair.unwrap().serving);
}

/// Returns a primary that may go on alone, as its standby knows, and that serves clients.
fn primary_that_may_go_on_alone(place: &Path) -> (Arc<Pair>, Arc<Durable>) {
    let saved = Saved {
        term: term(1),
        history: History(vec![(term(1), 1)]),
        lost: Lost::Alone,
        met: true,
        ..Saved::new(Role::Primary)
    };
    let (pair, log) = primary(place, saved);
    pair.synced();
    (pair, log)
}

/// Joins a standby that lacks the records from this one on.
fn join(pair: &Pair, next: u64) {
    let (begun, alone) = {
        let link = pair.link();
        (link.begun, link.alone)
    };
    let at = std::time::Instant::now();
    pair.join(&Told { at, begun, alone }, next).unwrap();
}

/// Loses it, and reports whether the primary goes on alone.
fn lose(pair: &Pair) -> bool {
    pair.lost("reset".to_owned());
    pair.go_alone().unwrap();
    pair.link().alone
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_there_for_moments_only_counts_as_lost() {
    let place = tempfile::tempdir().unwrap();
    let (pair, _) = primary_that_may_go_on_alone(place.path());
    let wait = |seconds| tokio::time::sleep(Duration::from_secs(seconds));
    join(&pair, 1);
    wait(3600).await;
    let begin = tokio::time::Instant::now();
    while !lose(&pair) {
        assert!(begin.elapsed() < Duration::from_secs(6), "clients wait");
        wait(1).await;
        pair.go_alone().unwrap();
        if pair.link().alone {
            break;
        }
        join(&pair, 1);
        wait(1).await;
    }
    assert!(begin.elapsed() >= Duration::from_secs(3));
    // clients wait for it again when it has lasted, and not at each moment before
    for _ in 0..5 {
        join(&pair, 1);
        wait(1).await;
        assert_eq!(pair.is_synced(&mut None).unwrap(), None);
        assert!(pair.link().alone && lose(&pair));
    }
    join(&pair, 1);
    wait(10).await;
    lock(&pair.repeats).lasts(tokio::time::Instant::now());
    assert_eq!(pair.is_synced(&mut None).unwrap(), Some(0));
    assert!(!pair.link().alone && !lose(&pair));
    assert_eq!(Saved::load(pair.state.dir()).unwrap().unwrap().alone, None);
    // a connection that has lasted is no moment: the time begins anew
    wait(2).await;
    pair.go_alone().unwrap();
    assert!(!pair.link().alone);
    wait(1).await;
    pair.go_alone().unwrap();
    assert!(pair.link().alone);
}

#[tokio::test(start_paused = true)]
async fn a_primary_that_cannot_store_a_change_does_not_blame_the_standby() {
    let place = tempfile::tempdir().unwrap();
    let (pair, _) = primary_that_may_go_on_alone(place.path());
    let said = || {
        let status = pair.status();
        (status.renewed, status.brief)
    };
    for _ in 0..5 {
        join(&pair, 1);
        // it has the change, and this router not
        pair.link().begun += 1;
        pair.done(false);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!lose(&pair));
        assert_eq!(said(), (true, false));
    }
    join(&pair, 1);
    assert_eq!(said(), (true, false));
    pair.synced();
    assert_eq!(said(), (false, false));
    // now it is there for a moment only, and then it is away
    for _ in 0..2 {
        lose(&pair);
        assert_eq!(said(), (false, true));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_standby_of_a_moment_did_not_get_is_still_what_was_taken_alone() {
    let place = tempfile::tempdir().unwrap();
    let (pair, log) = primary_that_may_go_on_alone(place.path());
    let alone = || lock(&pair.saved).alone;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(lose(&pair));
    assert_eq!(alone(), Some(0));
    for number in 1..=5 {
        let record = format!("record {number}");
        pair.append(record.as_bytes(), Durability::Power).unwrap();
    }
    durable(&*log, 5).await.unwrap();
    pair.publish();
    assert_eq!(pair.published(), 5);
    // nobody has to wait for the standby any more, and then it is lost before it has got them
    join(&pair, 3);
    assert_eq!(pair.is_synced(&mut None).unwrap(), None);
    assert_eq!((pair.link().alone, alone()), (false, None));
    assert!(lose(&pair));
    assert_eq!(alone(), Some(2));
}

#[tokio::test]
async fn a_standby_that_was_told_otherwise_is_not_joined() {
    let place = tempfile::tempdir().unwrap();
    let (pair, _) = primary_that_may_go_on_alone(place.path());
    let told = |begun, alone| Told {
        at: std::time::Instant::now(),
        begun,
        alone,
    };
    assert!(pair.join(&told(0, true), 1).is_err());
    assert!(pair.join(&told(1, false), 1).is_err());
    assert!(!pair.link().joined);
    assert!(pair.join(&told(0, false), 1).unwrap());
    assert!(pair.link().joined);
}

#[tokio::test]
async fn a_record_that_is_being_added_is_not_sent_yet() {
    let place = tempfile::tempdir().unwrap();
    let (pair, log) = primary(place.path(), Saved::new(Role::Primary));
    pair.append(b"first", Durability::Crash).unwrap();
    // `Pair::append` has added this one to the log, and has not come back to note it
    log.append(b"second", Durability::Crash).unwrap();
    assert!(log.reached(Durability::Crash) >= 2);
    assert_eq!(pair.take(1).unwrap().0, 1);
    // if it were sent, its acknowledgement could come too early, and end the connection
    assert_eq!(pair.take(2).unwrap().0, 0);
}

/// What a standby would be refused for as the primary is told while it runs. It goes on.
#[tokio::test]
async fn a_standby_tells_of_a_map_that_it_could_not_take_up() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    let build = |name: &str, nodes: &[&str], before: Option<&stead::Map>| {
        let node = |node: &&str| format!("[[node]]\nname = \"{node}\"\n");
        let nodes: String = nodes.iter().map(node).collect();
        let fleet = stead::Fleet::parse(&format!("name = \"{name}\"\n{nodes}"), "t").unwrap();
        stead::build(&fleet, before).unwrap()
    };
    let first = build("rrd", &["a", "b"], None);
    let second = build("rrd", &["a", "b", "c"], Some(&first));
    let third = build("rrd", &["a", "b", "c", "d"], Some(&second));
    let path = place.path().join("rrd.map");
    let told = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        standby.look_at(&path)
    };
    // before the primary has sent its state, nothing can be compared
    assert_eq!(told(first.bytes()), Ok(None));
    standby.state.settle_on(&first).unwrap();
    standby.state.move_to(&second).unwrap();
    assert_eq!(told(second.bytes()), Ok(None));
    assert_eq!(told(third.bytes()), Ok(Some(3)));
    let old = told(first.bytes()).unwrap_err();
    assert!(old.contains("epoch 1 is not newer than 2"), "{old}");
    let foreign = told(build("other", &["a"], None).bytes()).unwrap_err();
    assert!(foreign.contains("other"), "{foreign}");
    let damaged = told(&first.bytes()[..100]).unwrap_err();
    assert!(damaged.contains("rrd.map"), "{damaged}");
    std::fs::remove_file(&path).unwrap();
    let away = standby.look_at(&path).unwrap_err();
    assert!(away.contains("rrd.map"), "{away}");

    std::fs::write(&path, first.bytes()).unwrap();
    let watching = tokio::spawn(Arc::clone(&standby).watch_map(path.clone()));
    let problems = async || standby.status().await.problems().join("\n");
    let told = "could not be taken up if this router became the primary: epoch 1 is not newer";
    while !problems().await.contains(told) {
        tokio::task::yield_now().await;
    }
    std::fs::write(&path, second.bytes()).unwrap();
    while problems().await.contains("could not be taken up") {
        tokio::task::yield_now().await;
    }
    // this one can be taken up when the files have moved
    assert_eq!(standby.status().await.waiting_epoch, None);
    std::fs::write(&path, third.bytes()).unwrap();
    while standby.status().await.waiting_epoch != Some(3) {
        tokio::task::yield_now().await;
    }
    std::fs::write(&path, second.bytes()).unwrap();
    while standby.status().await.waiting_epoch.is_some() {
        tokio::task::yield_now().await;
    }
    watching.abort();
}

/// An ordinary reconnect: the standby has heard why the connection was lost, and the primary comes
/// again.
#[tokio::test]
async fn a_standby_keeps_the_reason_until_the_primary_is_joined_again() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    let reason = || lock(&standby.primary).reason.clone();
    standby.left("the cable was pulled".to_owned());
    standby.replaced();
    assert_eq!(reason().as_deref(), Some("the cable was pulled"));
    // nobody has heard of the end of this one
    lock(&standby.primary).joined = true;
    lock(&standby.primary).reason = None;
    standby.replaced();
    assert_eq!(reason().as_deref(), Some("the primary has connected again"));
    assert!(!lock(&standby.primary).joined);
}

#[tokio::test]
async fn a_standby_that_cannot_store_positions_is_not_well() {
    let place = tempfile::tempdir().unwrap();
    let standby = standby(place.path()).await;
    let log = lock(&standby.log).clone().unwrap();
    let of_state = || async {
        let problems = standby.status().await.problems();
        let of_state = |problem: &String| problem.contains("positions.tmp");
        problems.into_iter().filter(of_state).collect::<Vec<_>>()
    };
    assert_eq!(of_state().await, Vec::<String>::new());
    let in_the_way = place.path().join("state/log/positions.tmp");
    std::fs::create_dir(&in_the_way).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (name.to_string(), 1)).collect();
    let error = log.take_positions(&names(&["a", "b"])).unwrap_err();
    assert_eq!(
        of_state().await,
        [format!(
            "the log cannot store what the servers have confirmed: {error}; until that is mended, \
             the log forgets nothing"
        )]
    );
    std::fs::remove_dir(&in_the_way).unwrap();
    log.take_positions(&names(&["a"])).unwrap();
    assert_eq!(of_state().await, Vec::<String>::new());
}
