//! A follower: threads that share one see new epochs within its limit and never an older one, and
//! the last good map stays when the file is no longer the right one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use stead::carry::{State, Step};
use stead::store::{Back, KEEP};
use stead::{build, Fleet, Follower, Map, Status, Store};
use tempfile::TempDir;

/// Longer than any test runs.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn fleet(name: &str, nodes: u64) -> Fleet {
    let nodes: String = (0..nodes)
        .map(|n| format!("[[node]]\nname = 'n{n}'\n"))
        .collect();
    Fleet::parse(&format!("name = '{name}'\n{nodes}"), "fleet").unwrap()
}

/// A store whose map has as many nodes as its epoch.
fn place(epoch: u64) -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path().join("m.map"), KEEP);
    grow(&store, epoch);
    (directory, store)
}

fn grow(store: &Store, epoch: u64) {
    let now = store.current().unwrap().map_or(0, |map| map.epoch());
    for nodes in now + 1..=epoch {
        store.apply(&fleet("m", nodes), None).unwrap();
    }
}

/// Replaces a file by renaming another one over it, as maps are published.
fn put(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(&new, path).unwrap();
}

fn kept(store: &Store, epoch: u64) -> PathBuf {
    let mut path = store.path().as_os_str().to_owned();
    path.push(format!(".history/{epoch}"));
    path.into()
}

/// Checks that the last good epoch stays, that the problem is told, and that the follower goes on
/// with epoch 4 once the file is right again.
fn stays(store: &Store, follower: &Follower, status: Status, said: &str) {
    for _ in 0..2 {
        assert_eq!(follower.get().new_map().epoch(), 3);
        let problem = follower.problem().expect("a problem");
        assert_eq!(problem.status(), status, "{problem}");
        assert!(problem.to_string().contains(said), "{problem}");
        assert!(problem.to_string().contains("m.map"), "{problem}");
        let error = follower.look().unwrap_err();
        assert_eq!(error.to_string(), problem.to_string());
    }
    let third = fs::read(kept(store, 3)).unwrap();
    put(store.path(), &third);
    assert_eq!(follower.look().unwrap().new_map().epoch(), 3);
    assert!(follower.problem().is_none());
    grow(store, 4);
    assert_eq!(follower.get().new_map().epoch(), 4);
    assert!(follower.problem().is_none());
}

fn at_once(store: &Store) -> Follower {
    let follower = Follower::open(store.path()).unwrap();
    follower.within(Duration::ZERO)
}

#[test]
fn a_map_of_another_cluster_is_not_taken() {
    let (_directory, store) = place(3);
    let follower = at_once(&store);
    let other = build(&fleet("other", 2), None).unwrap();
    put(store.path(), other.bytes());
    stays(&store, &follower, Status::Identity, "the map `other` (id ");
}

#[test]
fn a_map_that_was_begun_anew_under_the_same_name_is_not_taken() {
    let (_directory, store) = place(3);
    let follower = at_once(&store);
    let other = build(&fleet("m", 7), None).unwrap();
    put(store.path(), other.bytes());
    stays(&store, &follower, Status::Identity, ", another map; put");
}

#[test]
fn an_older_epoch_is_not_taken_but_a_rollback_is() {
    let (_directory, store) = place(3);
    let follower = at_once(&store);
    put(store.path(), &fs::read(kept(&store, 2)).unwrap());
    stays(&store, &follower, Status::Identity, "uses epoch 3 already");
    store.rollback(2, Some(Back::Exact)).unwrap();
    let pair = follower.get();
    assert_eq!((pair.new_map().epoch(), pair.node_count()), (5, 2));
    assert!(follower.problem().is_none());
}

#[test]
fn a_torn_file_is_not_taken() {
    let (_directory, store) = place(3);
    let follower = at_once(&store);
    let whole = fs::read(store.path()).unwrap();
    put(store.path(), &whole[..whole.len() - 1]);
    stays(&store, &follower, Status::Format, "m.map");
}

#[test]
fn a_file_that_was_overwritten_in_place_is_not_taken() {
    let (_directory, store) = place(3);
    let follower = at_once(&store);
    let next = build(&fleet("m", 4), store.current().unwrap().as_ref()).unwrap();
    fs::write(store.path(), next.bytes()).unwrap();
    stays(&store, &follower, Status::Changed, "overwritten in place");
}

#[test]
fn a_removed_file_leaves_the_last_map() {
    let (_directory, store) = place(3);
    let follower = at_once(&store);
    fs::remove_file(store.path()).unwrap();
    stays(&store, &follower, Status::NotFound, "m.map");
}

#[test]
fn a_carry_whose_old_map_is_lost_is_not_taken_and_its_states_are_followed() {
    let (_directory, store) = place(3);
    let follower = at_once(&store);
    let hidden = store.path().with_extension("hidden");
    let begun = store.clone().carrying(true).apply(&fleet("m", 4), None);
    fs::rename(kept(&store, 3), &hidden).unwrap();
    for _ in 0..2 {
        let pair = follower.get();
        assert_eq!((pair.new_map().epoch(), pair.state()), (3, None));
        let problem = follower.problem().expect("a problem");
        assert_eq!(problem.status(), Status::NotFound, "{problem}");
        assert!(problem.to_string().contains("history"), "{problem}");
    }
    fs::rename(&hidden, kept(&store, 3)).unwrap();
    let pair = follower.get();
    assert!(follower.problem().is_none());
    assert_eq!(
        (pair.new_map().epoch(), pair.state()),
        (4, Some(State::Old))
    );
    store.carry(&begun.unwrap(), Step::Next).unwrap();
    assert_eq!(follower.get().state(), Some(State::BothOldFirst));
    assert_eq!(pair.state(), Some(State::Old), "a pair does not change");
}

#[test]
fn get_does_not_look_before_its_time_and_look_does() {
    let (_directory, store) = place(1);
    let follower = Follower::open(store.path()).unwrap().within(DAY);
    grow(&store, 2);
    assert_eq!(follower.get().new_map().epoch(), 1);
    assert_eq!(follower.look().unwrap().new_map().epoch(), 2);
    assert_eq!(follower.get().new_map().epoch(), 2);
    fs::remove_file(store.path()).unwrap();
    follower.get();
    assert!(follower.problem().is_none(), "nobody has looked");
    assert!(follower.look().is_err() && follower.problem().is_some());
    assert_eq!(follower.path(), store.path());
}

#[test]
fn a_follower_of_copies_follows_too() {
    let (_directory, store) = place(1);
    let follower = Follower::open_copy(store.path()).unwrap();
    let follower = follower.within(Duration::ZERO);
    grow(&store, 2);
    assert_eq!(follower.get().new_map().epoch(), 2);
    let missing = store.path().with_extension("none");
    let error = Follower::open(missing).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
}

/// Lets threads ask while epochs are published, and returns the epochs that they were given. Each
/// answer must be that of a published map, and no thread may see an older epoch than before.
fn asked_by_threads(follower: &Follower, store: &Store, end: u64, at_once: bool) -> usize {
    let published = AtomicU64::new(1);
    let done = AtomicBool::new(false);
    let read = || {
        let (mut last, mut epochs) = (0, 0);
        loop {
            let is_last = done.load(Ordering::Acquire);
            let least = published.load(Ordering::Acquire);
            let pair = follower.get();
            let epoch = pair.new_map().epoch();
            assert!(epoch >= last, "epoch {epoch} after epoch {last}");
            assert!(!at_once || epoch >= least, "epoch {epoch} after {least}");
            // all nodes of an epoch, and no others, are in its map
            assert_eq!(pair.node_count() as u64, epoch);
            let node = pair.reads(b"frank").next().unwrap();
            assert!(node.index() < pair.node_count() && pair.node(node).is_ok());
            epochs += usize::from(epoch != last);
            last = epoch;
            if is_last {
                return epochs;
            }
        }
    };
    thread::scope(|scope| {
        let readers: Vec<_> = (0..8).map(|_| scope.spawn(read)).collect();
        for epoch in 2..=end {
            grow(store, epoch);
            published.store(epoch, Ordering::Release);
        }
        done.store(true, Ordering::Release);
        readers.into_iter().map(|one| one.join().unwrap()).sum()
    })
}

#[test]
fn threads_see_each_epoch_as_soon_as_it_is_published_and_never_an_older_one() {
    let (_directory, store) = place(1);
    let follower = at_once(&store);
    let seen = asked_by_threads(&follower, &store, 40, true);
    assert!(seen > 8, "the threads saw {seen} epochs");
    assert_eq!(follower.get().new_map().epoch(), 40);
    assert!(follower.problem().is_none());
}

#[test]
fn threads_that_rely_on_the_last_look_never_see_an_older_epoch() {
    let (_directory, store) = place(1);
    let follower = Follower::open(store.path()).unwrap();
    let follower = follower.within(Duration::from_millis(1));
    asked_by_threads(&follower, &store, 40, false);
    assert_eq!(follower.look().unwrap().new_map().epoch(), 40);
}

#[test]
fn an_unchanged_file_gives_the_same_map() {
    fn shared<T: Send + Sync>(it: T) -> T {
        it
    }
    let (_directory, store) = place(2);
    let follower = shared(at_once(&store));
    let (one, two) = (follower.get(), follower.get());
    assert!(std::ptr::eq::<Map>(&**one.new_map(), &**two.new_map()));
}
