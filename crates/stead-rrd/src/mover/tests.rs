//! Tests of what goes on by itself, and of what stops it.

use std::sync::Arc;
use std::time::Duration;

use super::telling::Tell;
use super::Mover;
use crate::epochs::{Adopted, Epochs};
use crate::lock::lock;
use crate::log::Memory;
use crate::router::Router;
use crate::shared::Options;
use crate::state::{Change, Intended, Mirror, StateDir};
use crate::status::Progress;

/// Returns a router with one backend, which is down, and its mover.
pub(crate) fn mover(place: &std::path::Path) -> (Arc<Router>, Arc<Mover>) {
    mover_of(place, "")
}

/// The same, where the node has these attributes, too.
fn mover_of(place: &std::path::Path, attributes: &str) -> (Arc<Router>, Arc<Mover>) {
    let attributes = format!("{{ rrdcached = 'unix:/none'{attributes} }}");
    let fleet = format!("name = 'rrd'\n[[node]]\nname = 'a'\nattributes = {attributes}\n");
    let fleet = stead::Fleet::parse(&fleet, "fleet.toml").unwrap();
    let map = stead::build(&fleet, None).unwrap();
    mover_by(map, Arc::new(StateDir::open(place).unwrap()))
}

/// The same, by this map and in this directory.
fn mover_by(map: stead::Map, state: Arc<StateDir>) -> (Arc<Router>, Arc<Mover>) {
    let options = Options::patient();
    let router = Arc::new(Router::new(map, Arc::new(Memory::default()), options).unwrap());
    let map = state.dir().join("no.map");
    let epochs = Arc::new(Epochs::new(Arc::clone(&router), Arc::clone(&state), &map));
    (Arc::clone(&router), Mover::new(router, state, epochs))
}

fn working(mover: &Mover, repair: Option<&str>) -> Arc<Tell> {
    let (tell, _) = Tell::new(Progress {
        repair: repair.map(str::to_owned),
        ..Progress::default()
    });
    let tell = Arc::new(tell);
    *lock(&mover.latest) = Some(Arc::clone(&tell));
    tell
}

#[tokio::test]
async fn a_stop_is_for_the_work_that_is_running() {
    let place = tempfile::tempdir().unwrap();
    let (_, mover) = mover(place.path());
    let intended = Some(Intended {
        epoch: 2,
        rate: Some(9),
    });
    mover.intend(intended.clone()).await.unwrap();
    // a move that waits goes on after the repair that was stopped
    let repair = working(&mover, Some("a"));
    mover.stop().await.unwrap();
    assert!(repair.sender.borrow().stopped);
    assert_eq!(mover.state.intended().unwrap(), intended);
    let moving = working(&mover, None);
    mover.stop().await.unwrap();
    assert!(moving.is_stopped());
    assert_eq!(mover.state.intended().unwrap(), None);
    assert_eq!(*lock(&mover.intended), None);
}

/// Waits until the check in the background says why it waits. It looks for addresses once a second.
async fn until_it_waits(mover: &Mover) {
    let looked = tokio::time::timeout(Duration::from_secs(10), async {
        while mover.check_status().waits.is_none() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    assert!(looked.await.is_ok(), "{:?}", mover.check_status());
}

/// A router that goes on with a move to a map with another address knows of it before the checks
/// begin.
#[tokio::test(start_paused = true)]
async fn an_address_that_has_changed_before_the_checks_begin_is_not_missed() {
    let place = tempfile::tempdir().unwrap();
    let (router, mover) = mover(place.path());
    mover.load_checks(Duration::from_secs(604_800)).unwrap();
    router.shared().repairs.readdressed(0);
    let checks = tokio::spawn(Arc::clone(&mover).keep_checked(1 << 20));
    // the first check waits for a minute
    until_it_waits(&mover).await;
    // this backend has no agent, so nothing was compared
    assert_eq!(uncompared(&router), [0]);
    checks.abort();
}

#[tokio::test]
async fn a_check_that_somebody_has_asked_for_compares_what_has_another_address() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let (router, mover) = mover_of(place.path(), &format!(", files = '{}'", files.display()));
    mover.load_checks(Duration::ZERO).unwrap();
    router.shared().repairs.readdressed(0);
    let mut check = mover.start_check(None, true).unwrap();
    check.wait_for(|check| check.ended).await.unwrap();
    assert!(uncompared(&router).is_empty());
}

/// What the check in the background waited for has ended: the status says so at once.
#[tokio::test(start_paused = true)]
async fn a_check_waits_for_a_move_no_longer_than_it_lasts() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let (router, mover) = mover_of(place.path(), &format!(", files = '{}'", files.display()));
    mover.load_checks(Duration::from_secs(604_800)).unwrap();
    let moving = working(&mover, None);
    router.shared().repairs.readdressed(0);
    router.store_repairs(&mover.state).unwrap();
    let checks = tokio::spawn(Arc::clone(&mover).keep_checked(1 << 20));
    let waits = || mover.check_status().waits;
    until_it_waits(&mover).await;
    assert_eq!(
        waits().as_deref(),
        Some("files are being moved or repaired")
    );
    moving.change(|progress| progress.ended = true);
    assert_eq!(waits().as_deref(), Some("backend a is not up"));
    checks.abort();
}

#[tokio::test]
async fn a_check_that_has_not_compared_all_leaves_a_trace_until_one_has() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("a.rrd"), b"RRD\x000003\0").unwrap();
    let (_, mover) = mover_of(place.path(), &format!(", files = '{}'", files.display()));
    mover.load_checks(Duration::ZERO).unwrap();
    let checked = || async {
        let mut check = mover.start_check(None, true).unwrap();
        check.wait_for(|check| check.ended).await.unwrap();
    };
    checked().await;
    // also by the next run of the router
    mover.load_checks(Duration::ZERO).unwrap();
    let left = mover.check_status().incomplete.unwrap();
    assert_eq!((left.skipped, left.unlisted), (1, 0));
    let reason = left.reason.unwrap_or_default();
    assert!(
        reason.starts_with("a.rrd: ") && reason.contains("not up"),
        "{reason}"
    );
    std::fs::remove_file(files.join("a.rrd")).unwrap();
    checked().await;
    assert_eq!(mover.check_status().incomplete, None);
}

/// Notes what the standby is told.
#[derive(Default)]
struct Told(std::sync::Mutex<Vec<Change>>);

impl Mirror for Told {
    fn change(&self, change: &Change) -> std::io::Result<()> {
        lock(&self.0).push(change.clone());
        Ok(())
    }

    fn done(&self, is_here: bool) {
        assert!(is_here);
    }

    fn checked(&self) {}
}

#[tokio::test]
async fn an_address_that_has_changed_is_not_forgotten_when_the_router_starts_again() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let files = format!(", files = '{}'", files.display());
    let told = Arc::new(Told::default());
    {
        let (router, mover) = mover_of(place.path(), &files);
        let layout = router.shared().layout();
        mover.state.settle_on(layout.settled().map()).unwrap();
        let attributes = format!("{{ rrdcached = 'unix:/new'{files} }}");
        let fleet = format!("name = 'rrd'\n[[node]]\nname = 'a'\nattributes = {attributes}\n");
        let fleet = stead::Fleet::parse(&fleet, "fleet.toml").unwrap();
        let map = stead::build(&fleet, Some(layout.settled().map())).unwrap();
        drop(layout);
        mover.state.mirror_to(told.clone());
        assert_eq!(mover.epochs.adopt(map), Ok(Adopted::Settled));
        // no task of the router has run: it is killed now
    }
    // a standby has the one before the other, too
    assert!(matches!(
        &lock(&told.0)[..],
        [Change::Repairs(text), Change::Settled(_)] if text == b"a\tuncompared\t\n"
    ));
    let again = || {
        let state = Arc::new(StateDir::open(place.path()).unwrap());
        let map = state.settled().unwrap().unwrap();
        let (router, mover) = mover_by(map, state);
        router.load_repairs(&mover.state).unwrap();
        (router, mover)
    };
    {
        let (router, mover) = again();
        assert_eq!(uncompared(&router), [0]);
        assert!(router.shared().repairs.unstored().is_none());
        // the check in the background begins at once
        assert!(router.shared().repairs.addresses() > 0);
        let mut check = mover.start_check(None, true).unwrap();
        check.wait_for(|check| check.ended).await.unwrap();
        router.store_repairs(&mover.state).unwrap();
    }
    let (router, _) = again();
    assert!(uncompared(&router).is_empty());
}

/// Starts a router that looks at the directory of the files, and ends it when that is on disk.
/// Returns which backends have to be compared.
async fn looked(place: &std::path::Path, files: &std::path::Path) -> Vec<u16> {
    let (router, mover) = mover_of(place, &format!(", files = '{}'", files.display()));
    router.load_repairs(&mover.state).unwrap();
    let backend = router.backends.get(0);
    backend.look_at_files(Duration::from_secs(60)).await;
    router.store_repairs(&mover.state).unwrap();
    uncompared(&router)
}

#[tokio::test]
async fn another_directory_than_that_of_the_last_run_is_noticed_and_not_forgotten() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    for _ in 0..2 {
        assert!(looked(place.path(), &files).await.is_empty());
    }
    std::fs::rename(&files, place.path().join("old")).unwrap();
    std::fs::create_dir(&files).unwrap();
    for _ in 0..2 {
        assert_eq!(looked(place.path(), &files).await, [0]);
    }
    // what nobody can read counts as another directory
    let repairs = place.path().join("repairs");
    std::fs::write(&repairs, "a\tdirectory\t?\nb\tdirectory\t1:2\n").unwrap();
    assert_eq!(looked(place.path(), &files).await, [0]);
    // of a backend that is in no map, nothing is kept
    let kept = std::fs::read_to_string(&repairs).unwrap();
    assert!(
        kept.starts_with("a\tdirectory\t") && !kept.contains("b\t"),
        "{kept}"
    );
}

/// Refuses this many changes, as if the standby were away, and takes all later ones.
struct Away(std::sync::Mutex<u32>);

impl Mirror for Away {
    fn change(&self, _: &Change) -> std::io::Result<()> {
        let mut left = lock(&self.0);
        match *left {
            0 => Ok(()),
            _ => {
                *left -= 1;
                Err(std::io::ErrorKind::NotConnected.into())
            }
        }
    }

    fn done(&self, _: bool) {}

    fn checked(&self) {}
}

/// While the standby is away, the router tries to take up the map each second. If each try took new
/// numbers for the backends, it would soon have none left.
#[tokio::test]
async fn a_map_that_is_not_taken_up_uses_no_numbers() {
    let place = tempfile::tempdir().unwrap();
    let (router, mover) = mover(place.path());
    let larger = || {
        let layout = router.shared().layout();
        let old = layout.settled().map();
        let node = |name: &str| {
            format!("[[node]]\nname = '{name}'\nattributes = {{ rrdcached = 'unix:/{name}' }}\n")
        };
        let nodes = ["a", "b", "c"].map(node).concat();
        let fleet = format!("name = 'rrd'\n{nodes}").replace("unix:/a", "unix:/none");
        let fleet = stead::Fleet::parse(&fleet, "fleet.toml").unwrap();
        stead::build(&fleet, Some(old)).unwrap()
    };
    mover.state.mirror_to(Arc::new(Away(3.into())));
    for _ in 0..3 {
        mover.epochs.adopt(larger()).unwrap_err();
    }
    assert_eq!(mover.epochs.adopt(larger()), Ok(Adopted::Target));
    assert_eq!(router.shared().layout().all(), [0, 1, 2]);
    assert_eq!(router.backends.get(2).name(), "c");
}

/// A file of it could not be compared: its rrdcached is down.
#[tokio::test]
async fn a_backend_with_another_address_stays_doubted_when_a_file_was_skipped() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let file = files.join("x.rrd");
    std::fs::write(&file, crate::image::sample_file(1000, [1.0; 4], 0)).unwrap();
    let (router, mover) = mover_of(place.path(), &format!(", files = '{}'", files.display()));
    router.shared().repairs.readdressed(0);
    for (skipped, doubted) in [(1, vec![0]), (0, vec![])] {
        let mut check = mover.start_check(None, true).unwrap();
        let ended = check.wait_for(|check| check.ended).await.unwrap().clone();
        assert_eq!((ended.failed, uncompared(&router)), (skipped, doubted));
        let _ = std::fs::remove_file(&file);
    }
}

#[tokio::test]
async fn the_check_in_the_background_waits_an_hour_for_one_of_three_copies() {
    for (replicas, goes_on) in [(2, false), (3, true)] {
        let place = tempfile::tempdir().unwrap();
        let node = |name| {
            format!("[[node]]\nname = '{name}'\nattributes = {{ rrdcached = 'unix:/{name}' }}\n")
        };
        let nodes = ["a", "b", "c", "d"].map(node).concat();
        let fleet = format!("name = 'rrd'\nreplicas = {replicas}\n{nodes}");
        let fleet = stead::Fleet::parse(&fleet, "fleet.toml").unwrap();
        let map = stead::build(&fleet, None).unwrap();
        let (_, mover) = mover_by(map, Arc::new(StateDir::open(place.path()).unwrap()));
        let goes_on_after = |seconds| mover.goes_without_after(1, Duration::from_secs(seconds));
        assert!(!goes_on_after(3599));
        assert_eq!(goes_on_after(3600), goes_on, "{replicas}");
    }
}

/// Two nodes are one server, and their addresses do not show it. It has no rrdcached, so a copy
/// that it were to lose could not even be forgotten there.
#[tokio::test]
async fn a_copy_of_a_server_with_two_names_is_not_removed_to_see_it() {
    let place = tempfile::tempdir().unwrap();
    let (files, link) = (place.path().join("files"), place.path().join("link"));
    std::fs::create_dir(&files).unwrap();
    std::os::unix::fs::symlink(&files, &link).unwrap();
    let apart = place.path().join("apart");
    std::fs::create_dir(&apart).unwrap();
    let node = |name: &str, files: &std::path::Path| {
        let files = files.display();
        format!(
            "[[node]]\nname = '{name}'\nattributes = {{ rrdcached = 'unix:/{name}', files = \
             '{files}' }}\n"
        )
    };
    let nodes = [("a", &files), ("b", &link), ("c", &apart)].map(|(name, at)| node(name, at));
    let fleet = format!("name = 'rrd'\n{}", nodes.concat());
    let fleet = stead::Fleet::parse(&fleet, "fleet.toml").unwrap();
    let map = stead::build(&fleet, None).unwrap();
    let state = Arc::new(StateDir::open(&place.path().join("state")).unwrap());
    let (router, mover) = mover_by(map, state);
    let at = |id: u16| {
        let names = (0..).map(|number| format!("{number}.rrd"));
        let mut here = names.filter(|name| router.shared().layout().now(name.as_bytes())[0] == id);
        here.next().unwrap()
    };
    let tell = working(&mover, None);
    for (name, old, one) in [
        (at(1), 0, Some("a and b are one server")),
        (at(0), 1, Some("b and a are one server")),
        // of another server, the copy is removed as soon as its rrdcached can be told
        (at(0), 2, None),
    ] {
        for dir in [&files, &apart] {
            let content = crate::image::sample_file(1000, [1.0; 4], 0);
            std::fs::write(dir.join(&name), content).unwrap();
        }
        let copy = vec![(name.clone().into_bytes(), old)];
        mover.remove_left_behind(copy, &tell).await;
        let lines = tell.told_behind(|id| router.backends.get(id).name().to_owned());
        let [line] = &lines[..] else {
            panic!("{lines:?}");
        };
        let is_as_said = match one {
            Some(said) => line.contains(said),
            None => !line.contains("one server"),
        };
        assert!(is_as_said && files.join(&name).exists(), "{line}");
    }
    // the router leaves nothing of its own
    for dir in [&files, &apart] {
        assert!(!dir.join(".stead-rrd-mark.rrd").exists());
    }
}

/// Returns the backends that were not compared since their address changed.
fn uncompared(router: &Router) -> Vec<u16> {
    router.shared().repairs.doubtful(b"any", 0..2).to_vec()
}

#[tokio::test]
async fn a_move_goes_on_when_nobody_listens_and_a_repair_does_not() {
    let place = tempfile::tempdir().unwrap();
    let (_, mover) = mover(place.path());
    assert!(!working(&mover, None).is_stopped());
    assert!(working(&mover, Some("a")).is_stopped());
}

#[tokio::test]
async fn without_a_target_no_move_goes_on() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("moving"), "1 -\n").unwrap();
    let (_, mover) = mover(place.path());
    mover.load_move().unwrap();
    assert_eq!(
        lock(&mover.intended).clone().map(|found| found.epoch),
        Some(1)
    );
    assert_eq!(mover.wanted(), None);
    std::fs::write(place.path().join("moving"), "one\n").unwrap();
    assert!(mover
        .load_move()
        .unwrap_err()
        .contains("run stead-rrd move again"));
}

#[tokio::test]
async fn a_map_that_is_gone_is_named_together_with_where_to_get_it() {
    let place = tempfile::tempdir().unwrap();
    let (_, mover) = mover(place.path());
    // the first look is made before anything is waited for
    let watch = Arc::clone(&mover.epochs).watch();
    let _ = tokio::time::timeout(Duration::ZERO, watch).await;
    let path = |name: &str| place.path().join(name).display().to_string();
    assert_eq!(
        mover.map_refused().unwrap(),
        format!(
            "{}: No such file or directory (os error 2); put it back from another host that has \
             it, or from {}, which is epoch 1, the newest that this router knows",
            path("no.map"),
            path("settled.map")
        )
    );
}
