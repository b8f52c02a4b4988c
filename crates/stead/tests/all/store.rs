//! The store, which publishes a new epoch whole or not at all, and the cache of open maps.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use stead::guard::Guard;
use stead::plan::Amounts;
use stead::store::{save, Back};
use stead::{build, Allow, Fleet, Map, Status, Store};
use tempfile::TempDir;

fn fleet(nodes: usize) -> Fleet {
    let list: String = (0..nodes)
        .map(|i| format!("[[node]]\nname = \"n{i:04}\"\n"))
        .collect();
    Fleet::parse(&format!("name = \"test\"\n{list}"), "test.toml").unwrap()
}

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("members.map");
    (directory, path)
}

/// Builds a fleet with this number of nodes on the present map, and publishes it.
fn apply(path: &Path, nodes: usize) -> Map {
    let store = Store::new(path, 3);
    let before = store.current().unwrap();
    let next = build(&fleet(nodes), before.as_ref()).unwrap();
    store.publish(before.as_ref(), &next).unwrap();
    next
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn epochs_follow_each_other_and_a_bounded_number_is_kept() {
    let (directory, path) = place();
    assert!(Store::new(&path, 3).current().unwrap().is_none());
    let maps: Vec<Map> = (1..=5).map(|n| apply(&path, n)).collect();
    for pair in maps.windows(2) {
        assert_eq!(pair[1].epoch(), pair[0].epoch() + 1);
        assert_eq!(pair[1].parent(), pair[0].digest());
        assert_eq!(pair[1].map_id(), maps[0].map_id());
    }
    let store = Store::new(&path, 3);
    assert_eq!(store.history().unwrap(), [3, 4, 5]);
    assert_eq!(store.open_epoch(4).unwrap().bytes(), maps[3].bytes());
    assert!(store
        .open_epoch(2)
        .unwrap_err()
        .to_string()
        .contains("epoch 2 is not in the history"));
    assert_eq!(Store::peek(&path).unwrap().epoch, 5);
    assert_eq!(Store::peek(&path).unwrap().digest, maps[4].digest());
    assert_eq!(
        names(directory.path()),
        ["members.map", "members.map.history", "members.map.lock"]
    );
    assert_eq!(
        names(&directory.path().join("members.map.history")),
        ["3", "4", "5", "log"]
    );
}

#[test]
fn publishing_on_an_older_epoch_is_a_conflict_and_changes_nothing() {
    let (_directory, path) = place();
    let first = apply(&path, 1);
    let mine = build(&fleet(2), Some(&first)).unwrap();
    let theirs = apply(&path, 3);
    let store = Store::new(&path, 3);
    let error = store.publish(Some(&first), &mine).unwrap_err();
    assert_eq!(error.status(), Status::Conflict);
    assert!(
        error.to_string().contains("epoch 2 is there now"),
        "{error}"
    );
    assert_eq!(store.current().unwrap().unwrap().bytes(), theirs.bytes());
    // the same for a first map, and for a map that was removed
    assert_eq!(
        store
            .publish(None, &build(&fleet(2), None).unwrap())
            .unwrap_err()
            .status(),
        Status::Conflict
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(
        store.publish(Some(&theirs), &mine).unwrap_err().status(),
        Status::Conflict
    );
    // no retry helps where the map is missing and its history is there
    let error = store
        .publish(None, &build(&fleet(2), None).unwrap())
        .unwrap_err();
    assert!(
        error.to_string().contains("copy the newest back"),
        "{error}"
    );
    assert_eq!(error.status(), Status::Identity);
}

#[test]
fn a_map_follows_only_the_one_that_it_was_built_on() {
    let (_directory, path) = place();
    let first = apply(&path, 1);
    let second = build(&fleet(2), Some(&first)).unwrap();
    let third = build(&fleet(3), Some(&second)).unwrap();
    let alien = build(
        &Fleet::parse("name = 'other'\nnode = [{name = 'a'}]", "f").unwrap(),
        None,
    )
    .unwrap();
    let store = Store::new(&path, 3);
    let digest: String = second.digest()[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let on_second = format!("but on the map with the digest {digest}; give that one, or build");
    for (map, built) in [
        (&first, "but on no map; build"),
        (&third, &on_second),
        (&alien, "but on no map; build"),
    ] {
        let error = store.publish(Some(&first), map).unwrap_err();
        assert_eq!(error.status(), Status::Invalid);
        let text = error.to_string();
        assert!(
            text.contains("was not built on the previous map (epoch 1 with"),
            "{text}"
        );
        assert!(text.contains(built), "{text}");
    }
    assert_eq!(store.current().unwrap().unwrap().bytes(), first.bytes());
    store.publish(Some(&first), &second).unwrap();
    store.publish(Some(&second), &third).unwrap();
}

#[test]
fn publishing_without_the_previous_map_says_what_to_give() {
    let (_directory, path) = place();
    let store = Store::new(&path, 3);
    let first = apply(&path, 1);
    let [x, y] = [2, 3].map(|nodes| build(&fleet(nodes), Some(&first)).unwrap());
    let said = |base: Option<&Map>, new: &Map| {
        let error = store.publish(base, new).unwrap_err();
        (error.status(), error.to_string())
    };
    let (status, text) = said(None, &x);
    assert_eq!(status, Status::Invalid);
    assert!(
        text.ends_with(
            "epoch 2 was built on epoch 1, which is there; give that map as the previous map"
        ),
        "{text}"
    );
    let (status, text) = said(None, &build(&fleet(2), None).unwrap());
    assert_eq!(status, Status::Conflict);
    assert!(text.contains("or the previous map was not given"), "{text}");
    let (status, text) = said(None, &first);
    assert_eq!(status, Status::Conflict);
    assert!(text.contains("this very map is there already"), "{text}");
    // two maps of one epoch are told apart by their digests
    store.publish(Some(&first), &x).unwrap();
    let z = build(&fleet(4), Some(&y)).unwrap();
    let (status, text) = said(Some(&y), &z);
    assert_eq!(status, Status::Conflict);
    let start = |map: &Map| -> String {
        map.digest()
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    let expected = format!(
        "this was planned on epoch 2 with the digest {}, and epoch 2 with the digest {} is there now",
        start(&y),
        start(&x)
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn apply_builds_and_publishes_only_what_differs() {
    let (_directory, path) = place();
    let store = Store::new(&path, 3);
    assert_eq!(store.apply(&fleet(3), None).unwrap().epoch(), 1);
    let again = store.apply(&fleet(3), None).unwrap();
    assert_eq!((again.epoch(), store.history().unwrap()), (1, vec![1]));
    let step = stead::fleet::part("5%").unwrap();
    let mut epochs = Vec::new();
    for _ in 0..10 {
        epochs.push(store.apply(&fleet(4), Some(step)).unwrap().epoch());
    }
    // 25 % in five steps of 5 %, the last point in a sixth, and then there is nothing to do
    assert_eq!(epochs, [2, 3, 4, 5, 6, 7, 7, 7, 7, 7]);
    let link = path.with_extension("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let error = Store::new(&link, 3).apply(&fleet(4), None).unwrap_err();
    assert_eq!(error.status(), Status::Invalid);
}

#[test]
fn a_rollback_is_the_next_epoch_with_the_old_content() {
    let (_directory, path) = place();
    let store = Store::new(&path, 32);
    assert_eq!(
        store.rollback(1, Some(Back::Exact)).unwrap_err().status(),
        Status::NotFound
    );
    let maps: Vec<Map> = (1..=3)
        .map(|n| store.apply(&fleet(n), None).unwrap())
        .collect();
    let back = store.rollback(2, Some(Back::Exact)).unwrap();
    assert_eq!((back.epoch(), back.parent()), (4, maps[2].digest()));
    assert!(back.same(&maps[1]));
    assert_eq!(store.current().unwrap().unwrap().bytes(), back.bytes());
    assert_eq!(store.history().unwrap(), [1, 2, 3, 4]);
    // the same again is not needed
    assert_eq!(store.rollback(2, Some(Back::Exact)).unwrap().epoch(), 4);
    let error = store.rollback(9, Some(Back::Exact)).unwrap_err();
    assert_eq!(error.status(), Status::Invalid);
    assert!(
        error
            .to_string()
            .ends_with("epoch 9 is not in the history, which has the epochs 1 to 4"),
        "{error}"
    );
}

#[test]
fn a_map_without_its_history_has_one_epoch() {
    let (directory, path) = place();
    apply(&path, 1);
    let second = apply(&path, 2);
    let copy = directory.path().join("copy.map");
    fs::copy(&path, &copy).unwrap();
    let store = Store::new(&copy, 3);
    assert_eq!(store.history().unwrap(), [2]);
    assert_eq!(store.open_epoch(2).unwrap().bytes(), second.bytes());
    assert_eq!(store.open_epoch(1).unwrap_err().status(), Status::Invalid);
    let nothing = Store::new(directory.path().join("no.map"), 3);
    assert_eq!(nothing.history().unwrap_err().status(), Status::NotFound);
    assert_eq!(
        nothing.open_epoch(1).unwrap_err().status(),
        Status::NotFound
    );
}

#[test]
fn only_files_left_by_a_killed_process_are_removed() {
    let (directory, path) = place();
    apply(&path, 1);
    let history = directory.path().join("members.map.history");
    // temporary files of this store, and files that only look similar; also the state right after a
    // crash that followed the rename of MAP: there is no copy of epoch 1
    fs::remove_file(history.join("1")).unwrap();
    let left = ".members.map.2.4711.0123456789abcdef.tmp";
    let others = ".other.map.2.4711.0123456789abcdef.tmp";
    fs::write(directory.path().join(left), b"half").unwrap();
    fs::write(history.join(left), b"half").unwrap();
    fs::write(directory.path().join(".members.map.notes.tmp"), b"keep").unwrap();
    fs::write(directory.path().join(others), b"keep").unwrap();
    assert_eq!(Store::new(&path, 3).history().unwrap(), [1]);
    apply(&path, 2);
    assert_eq!(
        names(directory.path()),
        [
            ".members.map.notes.tmp",
            others,
            "members.map",
            "members.map.history",
            "members.map.lock"
        ]
    );
    assert_eq!(names(&history), ["1", "2", "log"]);
    assert_eq!(Store::new(&path, 3).open_epoch(2).unwrap().epoch(), 2);
    // a damaged map does not hide its history
    fs::write(&path, b"damaged").unwrap();
    assert_eq!(Store::new(&path, 3).history().unwrap(), [1, 2]);
}

#[test]
fn a_map_with_a_secret_is_readable_by_its_owner_alone() {
    let (directory, path) = place();
    let text =
        "name = 'test'\nhash = 'siphash'\nsecret = '000102030405060708090a0b0c0d0e0f'\nnode \
        = [{name = 'a'}]";
    let map = build(&Fleet::parse(text, "f").unwrap(), None).unwrap();
    Store::new(&path, 3).publish(None, &map).unwrap();
    for file in ["members.map", "members.map.history/1"] {
        assert_eq!(
            fs::metadata(directory.path().join(file))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600,
            "{file}"
        );
    }
    // an operator may let a group read the map; the next epoch keeps that mode
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let next = build(
        &Fleet::parse(&text.replace("'a'", "'b'"), "f").unwrap(),
        Some(&map),
    )
    .unwrap();
    Store::new(&path, 3).publish(Some(&map), &next).unwrap();
    for file in ["members.map", "members.map.history/2"] {
        assert_eq!(
            fs::metadata(directory.path().join(file))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o640,
            "{file}"
        );
    }
}

#[test]
fn the_error_names_a_missing_directory_and_not_its_lock() {
    let (directory, _) = place();
    let error = Store::new(directory.path().join("none/m.map"), 3)
        .publish(None, &build(&fleet(1), None).unwrap())
        .unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    assert!(error.to_string().contains("/none: "), "{error}");
}

#[test]
fn a_symbolic_link_is_refused_rather_than_replaced() {
    let (directory, path) = place();
    apply(&path, 1);
    let link = directory.path().join("link.map");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let map = Map::open_uncached(&link).unwrap(); // reading through the link is fine
    let error = Store::new(&link, 3)
        .publish(Some(&map), &build(&fleet(2), Some(&map)).unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert!(
        Store::new(&link, 3).refuse_symlink().is_err()
            && Store::new(&path, 3).refuse_symlink().is_ok()
    );
}

#[test]
fn the_history_is_read_through_a_symbolic_link() {
    let (directory, path) = place();
    let first = apply(&path, 1);
    apply(&path, 2);
    // in another directory, and with another name
    let away = directory.path().join("away");
    fs::create_dir(&away).unwrap();
    let link = away.join("link.map");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let store = Store::new(&link, 3);
    assert_eq!(store.history().unwrap(), [1, 2]);
    assert_eq!(store.open_epoch(1).unwrap().bytes(), first.bytes());
    assert_eq!(store.log().len(), 2);
    let error = store.open_epoch(7).unwrap_err().to_string();
    assert!(
        error.ends_with("link.map: epoch 7 is not in the history, which has the epochs 1, 2"),
        "{error}"
    );
    // a history beside the link is its own
    fs::create_dir(away.join("link.map.history")).unwrap();
    assert_eq!(store.history().unwrap(), [2]);
}

#[test]
fn a_history_that_is_no_directory_of_ours_is_refused_and_nothing_is_written_there() {
    let (directory, path) = place();
    let map = apply(&path, 1);
    let (history, away) = (
        path.with_extension("map.history"),
        directory.path().join("away"),
    );
    fs::rename(&history, &away).unwrap();
    std::os::unix::fs::symlink(&away, &history).unwrap();
    let before = names(&away);
    let publish = || {
        let new = build(&fleet(2), Some(&map)).unwrap();
        Store::new(&path, 1).publish(Some(&map), &new)
    };
    let error = publish().unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert_eq!(names(&away), before);
    fs::remove_file(&history).unwrap();
    fs::write(&history, "").unwrap();
    let error = publish().unwrap_err().to_string();
    assert!(error.contains("this is none"), "{error}");
    fs::remove_file(&history).unwrap();
    fs::rename(&away, &history).unwrap();
    // only root can give it to somebody else
    if std::os::unix::fs::chown(&history, Some(65_534), None).is_ok() {
        let error = publish().unwrap_err().to_string();
        assert!(error.contains("belongs to user 65534"), "{error}");
        std::os::unix::fs::chown(&history, Some(0), None).unwrap();
    }
    publish().unwrap();
    assert_eq!(Map::open_uncached(&path).unwrap().epoch(), 2);
}

#[test]
fn opening_again_gives_the_same_map_until_a_new_one_is_published() {
    let (_directory, path) = place();
    apply(&path, 1);
    let first = Map::open(&path).unwrap();
    assert!(Arc::ptr_eq(&first, &Map::open(&path).unwrap()));
    apply(&path, 2);
    let second = Map::open(&path).unwrap();
    assert_eq!((first.epoch(), second.epoch()), (1, 2));
    // the file is touched and has the same contents: the map is the same
    let now = fs::File::open(&path).unwrap();
    now.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1))
        .unwrap();
    assert_eq!(Map::open(&path).unwrap().digest(), second.digest());
}

/// File systems give the inode of a closed file to the next one. The new file then looks as if the
/// old one had been overwritten in place.
#[test]
fn threads_that_open_while_maps_are_published_see_maps_and_no_errors() {
    let (directory, path) = place();
    let maps: Vec<Vec<u8>> = (400..406)
        .map(|nodes| build(&fleet(nodes), None).unwrap().bytes().to_vec())
        .collect();
    fs::write(&path, &maps[0]).unwrap();
    let published = AtomicBool::new(false);
    let answers: Vec<Status> = std::thread::scope(|scope| {
        let open = || {
            let mut errors = Vec::new();
            while !published.load(Ordering::Relaxed) {
                errors.extend(Map::open(&path).err().map(|error| error.status()));
            }
            errors
        };
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        for bytes in maps.iter().cycle().take(400) {
            let new = directory.path().join("new");
            fs::write(&new, bytes).unwrap();
            fs::rename(&new, &path).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        published.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .flat_map(|reader| reader.join().unwrap())
            .collect()
    });
    assert_eq!(answers, []);
}

#[test]
fn a_file_overwritten_in_place_is_an_error_and_the_old_map_stays() {
    let (directory, path) = place();
    apply(&path, 1);
    let map = Map::open(&path).unwrap();
    let other = directory.path().join("other.map");
    let bytes = apply(&other, 2).bytes().to_vec();
    fs::write(&path, &bytes).unwrap(); // a valid map, but it overwrites the old one in place
    assert_eq!(Map::open(&path).err().unwrap().status(), Status::Changed);
    assert_eq!(map.epoch(), 1);
    assert_eq!(map.node(map.locate(b"frank")).name(), "n0000");
    fs::write(&path, b"").unwrap();
    assert_eq!(Map::open(&path).err().unwrap().status(), Status::Changed);
    // a map that is published correctly is accepted
    fs::rename(&other, &path).unwrap();
    assert_eq!(Map::open(&path).unwrap().bytes(), bytes);
}

#[test]
fn a_file_that_stays_damaged_is_opened_as_soon_as_it_changes() {
    let (_directory, path) = place();
    apply(&path, 1);
    let whole = Map::open(&path).unwrap().bytes().to_vec();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let wait = || std::thread::sleep(std::time::Duration::from_millis(2100));
    for known in [true, false] {
        // what this process has never opened as a map is remembered, too
        let path = if known {
            path.clone()
        } else {
            path.with_extension("other")
        };
        let status = if known {
            Status::Changed
        } else {
            Status::Digest
        };
        fs::write(&path, &damaged).unwrap();
        let said = || {
            Map::open(&path)
                .err()
                .map(|error| (error.status(), error.to_string()))
        };
        let first = said();
        assert_eq!(first.as_ref().unwrap().0, status);
        wait();
        assert_eq!([said(), said()], [first.clone(), first]);
        fs::write(&path, &whole).unwrap();
        assert_eq!(Map::open(&path).unwrap().bytes(), whole);
    }
}

#[test]
fn the_cache_keeps_sixteen_paths() {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..20)
        .map(|i| directory.path().join(format!("{i}.map")))
        .collect();
    let maps: Vec<Arc<Map>> = paths
        .iter()
        .map(|path| {
            apply(path, 1);
            Map::open_copy(path).unwrap()
        })
        .collect();
    assert!(Arc::ptr_eq(&maps[19], &Map::open_copy(&paths[19]).unwrap()));
    assert!(!Arc::ptr_eq(&maps[0], &Map::open_copy(&paths[0]).unwrap()));
}

#[test]
fn a_mapped_file_answers_as_its_copy() {
    let (_directory, path) = place();
    // long attributes make a file above 1 MiB with few slices
    let node = |i: usize| {
        format!(
            "[[node]]\nname = \"n{i:04}\"\nattributes = {{ note = \"{}\" }}\n",
            "x".repeat(2000)
        )
    };
    let text = format!(
        "name = \"test\"\n{}",
        (0..600).map(node).collect::<String>()
    );
    let map = build(&Fleet::parse(&text, "f").unwrap(), None).unwrap();
    Store::new(&path, 3).publish(None, &map).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 1 << 20);
    let (mapped, copied) = (
        Map::open_uncached(&path).unwrap(),
        Map::open_uncached(&path).unwrap(),
    );
    assert_eq!(mapped.bytes(), copied.bytes());
    // a caller who asks the cache for a copy gets one, even after another caller accepted a mapping
    let shared = Map::open(&path).unwrap();
    let copy = Map::open_copy(&path).unwrap();
    assert!(!Arc::ptr_eq(&shared, &copy) && Arc::ptr_eq(&copy, &Map::open_copy(&path).unwrap()));
    assert!(Arc::ptr_eq(&copy, &Map::open(&path).unwrap()));
    for i in 0..2000u32 {
        let key = i.to_string();
        assert_eq!(mapped.locate(key.as_bytes()), copied.locate(key.as_bytes()));
    }
}

#[test]
fn putting_an_old_map_back_does_not_lose_the_newer_epochs() {
    let (directory, path) = place();
    (1..=3).for_each(|n| drop(apply(&path, n)));
    let history = directory.path().join("members.map.history");
    for put_back in ["1", "2"] {
        fs::copy(history.join(put_back), &path).unwrap();
        let store = Store::new(&path, 3);
        let base = store.current().unwrap().unwrap();
        let error = store
            .publish(Some(&base), &build(&fleet(9), Some(&base)).unwrap())
            .unwrap_err();
        assert_eq!(error.status(), Status::Identity);
        assert!(
            error
                .to_string()
                .contains("has epoch 3: an old map was put back"),
            "{error}"
        );
        assert_eq!(names(&history), ["1", "2", "3", "log"]);
    }
}

#[test]
fn another_map_in_its_place_does_not_lose_a_maps_history() {
    let (directory, path) = place();
    (1..=3).for_each(|n| drop(apply(&path, n)));
    let other = directory.path().join("other.map");
    (1..=4).for_each(|n| drop(apply(&other, n + 5)));
    fs::copy(&other, &path).unwrap();
    let store = Store::new(&path, 3);
    let base = store.current().unwrap().unwrap();
    let error = store
        .publish(Some(&base), &build(&fleet(2), Some(&base)).unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("another map"), "{error}");
    assert_eq!(
        names(&directory.path().join("members.map.history")),
        ["1", "2", "3", "log"]
    );
}

#[test]
fn the_temporary_file_of_another_map_is_left_alone() {
    let (directory, path) = place();
    // a temporary file of a map `members.map.8`
    let theirs = ".members.map.8.9.4711.0123456789abcdef.tmp";
    let theirs = directory.path().join(theirs);
    fs::write(&theirs, b"being written").unwrap();
    apply(&path, 1);
    assert!(theirs.exists());
}

#[test]
fn a_saved_map_replaces_what_was_there_whole_and_leaves_nothing_beside_it() {
    let (_dir, path) = place();
    let map = build(&fleet(3), None).unwrap();
    let left = ".members.map.2.4711.0123456789abcdef.tmp"; // left by a process that was killed
    for _ in 0..2 {
        fs::write(path.parent().unwrap().join(left), b"half").unwrap();
        save(&map, &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), map.bytes());
        assert_eq!(names(path.parent().unwrap()), ["members.map"]);
    }
    let missing = path.parent().unwrap().join("none/m.map");
    let error = save(&map, &missing).unwrap_err();
    assert_eq!(error.status(), Status::NotFound, "{error}");
    let link = path.parent().unwrap().join("link.map");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(save(&map, &link).unwrap_err().status(), Status::Invalid);
}

/// Two maps of different lengths, and a check that a file holds one of them whole.
struct Two([Map; 2]);

impl Two {
    fn new() -> Two {
        Two([1, 400].map(|nodes| build(&fleet(nodes), None).unwrap()))
    }

    #[track_caller]
    fn assert_whole(&self, path: &Path) {
        let found = Map::open_uncached(path).unwrap_or_else(|torn| panic!("{torn}"));
        assert!(self.0.iter().any(|map| map.bytes() == found.bytes()));
    }
}

/// Each saver also removes files that it takes for abandoned. It must not remove one that another
/// saver is writing.
#[test]
fn concurrent_saves_to_one_path_never_tear_the_map() {
    const SAVERS: usize = 16;
    let (directory, path) = place();
    let two = Two::new();
    save(&two.0[0], &path).unwrap();
    let left = AtomicUsize::new(SAVERS);
    std::thread::scope(|scope| {
        for saver in 0..SAVERS {
            let (two, left, path) = (&two, &left, &path);
            scope.spawn(move || {
                let failed = (0..60).find_map(|i| save(&two.0[(saver + i) % 2], path).err());
                left.fetch_sub(1, Ordering::SeqCst);
                assert!(failed.is_none(), "{failed:?}");
            });
        }
        while left.load(Ordering::SeqCst) > 0 {
            two.assert_whole(&path);
        }
    });
    two.assert_whole(&path);
    assert_eq!(names(directory.path()), ["members.map"]);
}

#[test]
fn a_failed_first_publish_leaves_nothing_behind() {
    let (directory, path) = place();
    let map = build(&fleet(1), None).unwrap();
    let grown = build(&fleet(2), Some(&map)).unwrap();
    // the map that it should follow is not there
    let error = Store::new(&path, 3)
        .publish(Some(&map), &grown)
        .unwrap_err();
    assert_eq!(error.status(), Status::Conflict);
    assert_eq!(names(directory.path()), [""; 0]);
    // a directory is not a place for a map
    let error = Store::new(directory.path(), 3)
        .publish(None, &map)
        .unwrap_err();
    assert_eq!(error.status(), Status::Invalid);
    assert!(
        error
            .to_string()
            .ends_with(": this is a directory; name the map file"),
        "{error}"
    );
    assert_eq!(names(directory.path()), [""; 0]);
    let beside = directory.path().with_extension("lock");
    assert!(!beside.exists());
    // the lock of a map that is there stays
    apply(&path, 1);
    Store::new(&path, 3).publish(None, &grown).unwrap_err();
    assert_eq!(
        names(directory.path()),
        ["members.map", "members.map.history", "members.map.lock"]
    );
}

/// Five nodes in the order of these weights; a node of weight 0 is left out.
fn weighted(weights: [u32; 5], head: &str) -> Fleet {
    let node = |(name, weight): (usize, u32)| match weight {
        0 => String::new(),
        weight => format!("[[node]]\nname = 'n{name}'\nweight = {weight}\n"),
    };
    let nodes: String = (0..).zip(weights).map(node).collect();
    Fleet::parse(&format!("name = 'm'\n{head}{nodes}"), "f.toml").unwrap()
}

#[test]
fn an_older_epoch_comes_back_exactly_or_with_the_least_movement_and_one_must_be_said() {
    let dir = TempDir::new().unwrap();
    let store = Store::new(dir.path().join("m.map"), 32);
    for weights in [
        [1, 1, 1, 0, 0],
        [1, 2, 1, 1, 0],
        [3, 1, 0, 2, 1],
        [1, 1, 0, 1, 3],
    ] {
        store
            .apply(&weighted(weights, "replicas = 2\n"), None)
            .unwrap();
    }
    let newest = store.current().unwrap().unwrap();
    let old = store.open_epoch(1).unwrap();
    let moved = |new: &Map| Amounts::between(&newest, new).unwrap().moved.0;
    // neither was said: nothing is written, and the message has both figures
    let error = store.rollback(1, None).unwrap_err();
    assert_eq!(error.status(), Status::Invalid);
    let exact = store.back_to(&newest, 1, Some(Back::Exact)).unwrap();
    let least = store
        .back_to(&newest, 1, Some(Back::Least { max_move: None }))
        .unwrap();
    assert!(
        moved(&least) < moved(&exact),
        "{} {}",
        moved(&least),
        moved(&exact)
    );
    for (new, word) in [
        (&exact, "exact (its slices again) moves"),
        (&least, "least movement) moves"),
    ] {
        // to the nearest
        let hundredths = (moved(new) * 10_000 + (1 << 64)) / (2 << 64);
        let text = format!("{word} {}.{:02} %", hundredths / 100, hundredths % 100);
        assert!(
            error.to_string().contains(&text),
            "{error} does not say {text}"
        );
    }
    assert_eq!(store.current().unwrap().unwrap().epoch(), 4);
    // the fleet is the old one either way
    let toml = |map: &Map| map.fleet().to_toml();
    assert!(toml(&exact) == toml(&old) && toml(&least) == toml(&old));
    let slices = |map: &Map| {
        map.base_slices()
            .map(|slice| slice.first)
            .collect::<Vec<_>>()
    };
    assert_eq!(slices(&exact), slices(&old));
    // the least movement may be spread over several epochs
    let part = stead::fleet::part("5%").unwrap();
    let way = Some(Back::Least {
        max_move: Some(part),
    });
    let first = store.rollback(1, way).unwrap();
    assert_eq!(first.epoch(), 5);
    assert!(first.target_slices().is_some() && moved(&first) <= part.0 * 2);
    // the epoch just before needs no word, and comes back exactly
    let back = store.rollback(4, None).unwrap();
    assert!(back.same(&newest));
}

#[test]
fn going_back_with_the_least_movement_gives_renamed_nodes_their_names_back() {
    let dir = TempDir::new().unwrap();
    let store = Store::new(dir.path().join("m.map"), 32);
    let fleet = |nodes: &str| Fleet::parse(&format!("name = 'm'\nnode = [{nodes}]"), "f").unwrap();
    for nodes in [
        "{name = 'a'}, {name = 'b'}",
        "{name = 'a'}, {name = 'b'}, {name = 'c'}",
        "{name = 'x', formerly = 'a'}, {name = 'b'}, {name = 'c'}",
    ] {
        store.apply(&fleet(nodes), None).unwrap();
    }
    let newest = store.current().unwrap().unwrap();
    let back = store
        .rollback(1, Some(Back::named("least").unwrap()))
        .unwrap();
    let amounts = Amounts::between(&newest, &back).unwrap();
    // only what the third node gives back
    assert_eq!(amounts.moved, amounts.lower_bound);
    assert!(
        amounts.moved.0.abs_diff((1 << 64) / 3) < 3,
        "{:?}",
        amounts.moved
    );
    assert_eq!(Back::named("most").unwrap_err().status(), Status::Invalid);
}

#[test]
fn the_log_tells_who_when_why_and_what() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("m.map");
    let store = Store::new(&path, 2);
    let told = store.clone().with_note("a note with \"quotes\"").unwrap();
    store.apply(&weighted([1, 1, 0, 0, 0], ""), None).unwrap();
    told.apply(&weighted([1, 1, 1, 0, 0], ""), None).unwrap();
    store.apply(&weighted([1, 1, 1, 0, 0], ""), None).unwrap(); // nothing to do: no entry
    store.rollback(1, None).unwrap();
    let log = store.log();
    let seen: Vec<_> = log
        .iter()
        .map(|entry| (entry.epoch, entry.change.as_str(), entry.note.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            (1, "first map, 2 nodes", None),
            (2, "+n2", Some("a note with \"quotes\"")),
            (3, "back to epoch 1: -n2", None),
        ]
    );
    let newest = store.current().unwrap().unwrap();
    let digest: String = newest.digest().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(log[2].digest, digest);
    assert!(log
        .iter()
        .all(|entry| !entry.who.is_empty() && entry.time.ends_with('Z')));
    // epoch 1 is no longer kept, and the log still tells of it
    assert_eq!(store.history().unwrap(), [2, 3]);
    // a log that is missing, damaged or not writable costs the story alone
    let file = dir.path().join("m.map.history/log");
    fs::write(&file, b"\xff\xfe{\"epoch\": 3").unwrap();
    assert_eq!(store.log(), []);
    store.apply(&weighted([1, 1, 0, 2, 0], ""), None).unwrap();
    assert_eq!(store.log().len(), 1);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    store
        .clone()
        .allowing(back())
        .apply(&weighted([1, 1, 0, 0, 2], ""), None)
        .unwrap();
    assert_eq!(
        (store.log(), store.history().unwrap()),
        (vec![], vec![4, 5])
    );
}

#[test]
fn a_gradual_change_tells_its_step_and_about_how_many_there_are() {
    let dir = TempDir::new().unwrap();
    let store = Store::new(dir.path().join("m.map"), 32);
    let part = stead::fleet::part("10%").unwrap();
    let first = store.apply(&weighted([1, 1, 0, 0, 0], ""), None).unwrap();
    assert_eq!(store.progress(&first), None);
    // a third of the space moves: four steps of a tenth
    let wish = weighted([1, 1, 1, 0, 0], "");
    for step in 1..=4 {
        let map = store.apply(&wish, Some(part)).unwrap();
        let progress = store.progress(&map).unwrap();
        assert_eq!(
            (progress.step, progress.steps),
            (Some(step), Some(4)),
            "{progress:?}"
        );
        assert_eq!(progress.slices_to_come == 0, step == 4);
    }
    // a change in one step is no gradual change
    let next = store
        .clone()
        .allowing(back())
        .apply(&weighted([1, 1, 0, 0, 0], ""), None)
        .unwrap();
    assert_eq!(store.progress(&next), None);
    // without a history nobody knows the step
    let next = store
        .clone()
        .allowing(back())
        .apply(&wish, Some(part))
        .unwrap();
    fs::remove_dir_all(dir.path().join("m.map.history")).unwrap();
    let progress = store.progress(&next).unwrap();
    assert_eq!((progress.step, progress.steps), (None, None));
    assert!(progress.to_come.0 > 0);
}

/// What a test needs that goes back to an old fleet.
fn back() -> Allow {
    Allow::NONE.and(Guard::TakeBack)
}
