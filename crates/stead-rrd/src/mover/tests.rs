//! Tests of what goes on by itself, and of what stops it.

use std::sync::Arc;

use super::telling::Tell;
use super::Mover;
use crate::epochs::Epochs;
use crate::lock::lock;
use crate::log::Memory;
use crate::router::Router;
use crate::shared::Options;
use crate::state::{Intended, StateDir};
use crate::status::Progress;

/// Returns a router with one backend, which is down, and its mover.
pub(crate) fn mover(place: &std::path::Path) -> (Arc<Router>, Arc<Mover>) {
    let fleet = "name = 'rrd'\n[[node]]\nname = 'a'\nattributes = { rrdcached = 'unix:/none' }\n";
    let fleet = stead::Fleet::parse(fleet, "fleet.toml").unwrap();
    let options = Options::patient();
    let map = stead::build(&fleet, None).unwrap();
    let router = Arc::new(Router::new(map, Arc::new(Memory::default()), options).unwrap());
    let state = Arc::new(StateDir::open(place).unwrap());
    let map = place.join("no.map");
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
