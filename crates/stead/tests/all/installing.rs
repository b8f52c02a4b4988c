//! Installing maps that were published elsewhere: ancestors, forks, steps back, damaged files.

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::{Path, PathBuf};

use stead::store::{Accept, Arrival, Entry, Standing};
use stead::{build, carry, Fleet, Map, Pair, Status, Store};
use tempfile::TempDir;

const NO: Accept = Accept {
    back: false,
    fork: false,
};
const FORK: Accept = Accept {
    back: true,
    fork: true,
};

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("members.map");
    (directory, path)
}

fn next(nodes: &[&str], old: Option<&Map>) -> Map {
    let nodes: Vec<String> = nodes.iter().map(|n| format!("{{name = '{n}'}}")).collect();
    let text = format!("name = 'm'\nnode = [{}]", nodes.join(", "));
    build(&Fleet::parse(&text, "fleet").unwrap(), old).unwrap()
}

/// Five epochs, one more node each time.
fn line() -> Vec<Map> {
    let names = ["a", "b", "c", "d", "e"];
    let mut maps: Vec<Map> = Vec::new();
    for n in 1..=names.len() {
        maps.push(next(&names[..n], maps.last()));
    }
    maps
}

fn install(path: &Path, map: &Map, older: &[Map], accept: Accept) -> stead::Result<Standing> {
    let log = &[];
    Store::new(path, 3).install(Arrival { map, older, log }, accept)
}

fn history(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.history", path.display()))
}

/// Returns the digest of a map, as the log has it.
fn digest(map: &Map) -> String {
    map.digest().iter().map(|b| format!("{b:02x}")).collect()
}

fn kept(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(history(path))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_map_arrives_with_the_ancestors_that_fit() {
    let (_directory, path) = place();
    let mut maps = line();
    let newest = maps.pop().unwrap();
    assert_eq!(install(&path, &newest, &maps, NO).unwrap(), Standing::First);
    assert_eq!(fs::read(&path).unwrap(), newest.bytes());
    assert_eq!(kept(&path), ["3", "4", "5", "log"]);
    let store = Store::new(&path, 3);
    assert_eq!(store.open_epoch(4).unwrap().bytes(), maps[3].bytes());
    // a map that is no ancestor is not kept
    let (_directory, path) = place();
    let other = next(&["x", "y", "z", "w"], Some(&maps[2]));
    install(&path, &newest, &[other], NO).unwrap();
    assert_eq!(kept(&path), ["5", "log"]);
}

#[test]
fn a_host_that_missed_epochs_needs_the_maps_or_the_log_in_between() {
    let (_directory, path) = place();
    let maps = line();
    install(&path, &maps[0], &[], NO).unwrap();
    let refused = install(&path, &maps[4], &[], NO).unwrap_err();
    assert_eq!(refused.status(), Status::Guarded);
    assert!(refused.to_string().contains("nothing tells"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), maps[0].bytes());
    let older = line();
    assert_eq!(
        install(&path, &maps[4], &older[..4], NO).unwrap(),
        Standing::Newer
    );
    // the log is believed where the maps are no longer kept
    let (_directory, path) = place();
    install(&path, &maps[0], &[], NO).unwrap();
    let entry = |map: &Map| Entry {
        epoch: map.epoch(),
        digest: digest(map),
        parent: map.parent().iter().map(|b| format!("{b:02x}")).collect(),
        time: "2026-11-22T21:09:00Z".into(),
        who: "anna@db1".into(),
        note: None,
        change: "+b".into(),
        moved_points: "0".into(),
        replicas: 1,
    };
    let log: Vec<Entry> = maps.iter().map(entry).collect();
    let arrival = Arrival {
        map: &maps[4],
        older: &[],
        log: &log,
    };
    let store = Store::new(&path, 3);
    assert_eq!(store.standing(arrival).unwrap(), Standing::Newer);
    store.install(arrival, NO).unwrap();
    // the story of the epochs came along, once
    assert_eq!(store.log().len(), 5);
    store.install(arrival, NO).unwrap();
    assert_eq!(store.log().len(), 5);
    assert_eq!(store.log()[4].who, "anna@db1");
}

#[test]
fn a_fork_and_a_step_back_need_their_words() {
    let (_directory, path) = place();
    let maps = line();
    for map in &maps {
        install(&path, map, &[], NO).unwrap();
    }
    let fork = next(&["x", "y"], Some(&maps[3]));
    let back = &maps[3];
    let only = |back, fork| Accept { back, fork };
    for (map, accept, word) in [
        (&fork, only(true, false), "fork"),
        (back, only(false, true), "back"),
    ] {
        let refused = install(&path, map, &[], accept).unwrap_err().to_string();
        assert!(refused.ends_with(&format!("allow {word}")), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), maps[4].bytes());
        assert_eq!(kept(&path), ["3", "4", "5", "log"]);
    }
    assert_eq!(
        install(&path, back, &[], only(true, false)).unwrap(),
        Standing::Older
    );
    assert_eq!(fs::read(&path).unwrap(), back.bytes());
    let aside = format!("5.{}", &digest(&maps[4])[..8]);
    assert_eq!(kept(&path), ["3", "4", aside.as_str(), "log"]);
    // epoch 5 again, another one: epoch 4 is its parent
    assert_eq!(install(&path, &fork, &[], NO).unwrap(), Standing::Newer);
    assert_eq!(
        install(&path, &maps[4], &[], only(false, true)).unwrap(),
        Standing::Fork
    );
    let other = format!("5.{}", &digest(&fork)[..8]);
    let mut expected = vec!["3", "4", "5", &aside, &other, "log"];
    expected.sort_unstable();
    assert_eq!(kept(&path), expected);
    assert_eq!(
        Store::new(&path, 3).open_epoch(5).unwrap().bytes(),
        maps[4].bytes()
    );
}

#[test]
fn another_map_is_refused_whatever_is_accepted() {
    let (_directory, path) = place();
    install(&path, &line()[0], &[], NO).unwrap();
    let accept = Accept {
        back: true,
        fork: true,
    };
    let other = next(&["x"], None);
    let refused = install(&path, &other, &[], accept).unwrap_err();
    assert_eq!(refused.status(), Status::Identity);
    assert_eq!(fs::read(&path).unwrap(), line()[0].bytes());
}

#[test]
fn a_missing_or_damaged_file_comes_back_by_what_the_history_has() {
    let (_directory, path) = place();
    let maps = line();
    for map in &maps[..3] {
        install(&path, map, &[], NO).unwrap();
    }
    fs::write(&path, b"not a map").unwrap();
    assert_eq!(install(&path, &maps[2], &[], NO).unwrap(), Standing::Same);
    assert_eq!(fs::read(&path).unwrap(), maps[2].bytes());
    fs::remove_file(&path).unwrap();
    assert_eq!(install(&path, &maps[3], &[], NO).unwrap(), Standing::Newer);
    // an old file put back by hand, in the midst of newer ones
    let mut bytes = maps[3].bytes().to_vec();
    bytes[200] ^= 1;
    fs::write(&path, bytes).unwrap();
    let refused = install(&path, &maps[1], &[], NO).unwrap_err();
    assert_eq!(refused.status(), Status::Guarded);
    // without a history nobody knows which map it was
    fs::remove_dir_all(format!("{}.history", path.display())).unwrap();
    assert_eq!(
        install(&path, &maps[4], &[], NO).unwrap_err().status(),
        Status::Digest
    );
}

#[test]
fn a_failed_first_installation_leaves_nothing() {
    let (directory, path) = place();
    let maps = line();
    fs::create_dir(directory.path().join("members.map.lock")).unwrap();
    install(&path, &maps[0], &[], NO).unwrap_err();
    fs::remove_dir(directory.path().join("members.map.lock")).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    // and a directory that is not there is named
    let missing = directory.path().join("no/members.map");
    let error = install(&missing, &maps[0], &[], NO).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
}

#[test]
fn while_a_carry_is_open_the_map_where_the_data_was_arrives_and_stays() {
    let first = next(&["a", "b"], None);
    let second = next(&["a", "b", "c"], Some(&first));
    let third = next(&["a", "b", "c", "d"], Some(&second));
    let begun = carry::begin(Some(&second), &third).unwrap().unwrap();
    let mut line = vec![first, second, begun];
    for _ in 0..2 {
        line.push(carry::next(line.last().unwrap()).unwrap());
    }
    let newest = line.pop().unwrap();
    assert_eq!((newest.epoch(), newest.epochs_needed()), (5, 4));
    let (_directory, path) = place();
    let store = Store::new(&path, 1);
    let arrival = Arrival {
        map: &newest,
        older: &line,
        log: &[],
    };
    store.install(arrival, NO).unwrap();
    assert_eq!(kept(&path), ["2", "5", "log"]);
    assert_eq!(
        Pair::open(&path).unwrap().state(),
        Some(carry::State::BothNewFirst)
    );
    // one epoch later the newest alone arrives, and the map where the data was is still there
    let last = carry::next(&newest).unwrap();
    let arrival = Arrival {
        map: &last,
        older: &[],
        log: &[],
    };
    store.install(arrival, NO).unwrap();
    assert_eq!(kept(&path), ["2", "6", "log"]);
    Pair::open(&path).unwrap();
    // also when the map that arrives was made beside the one here
    let turned = carry::reverse(&newest).unwrap();
    let arrival = Arrival {
        map: &turned,
        older: &line[3..],
        log: &[],
    };
    assert_eq!(store.install(arrival, FORK).unwrap(), Standing::Fork);
    Pair::open(&path).unwrap();
}

#[test]
fn the_map_where_the_data_was_comes_without_the_epochs_in_between() {
    let first = next(&["a", "b"], None);
    let second = next(&["a", "b", "c"], Some(&first));
    let begun = carry::begin(Some(&first), &second).unwrap().unwrap();
    let both = carry::next(&begun).unwrap();
    let newest = carry::next(&both).unwrap();
    let (_directory, path) = place();
    install(&path, &newest, std::slice::from_ref(&first), NO).unwrap();
    assert_eq!(kept(&path), ["1", "4", "log"]);
    Pair::open(&path).unwrap();
    // one that is damaged behind a whole header is written again
    let origin = format!("{}.history/1", path.display());
    let mut bytes = first.bytes().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&origin, bytes).unwrap();
    Map::open_uncached(&origin).unwrap_err();
    let refused = install(&path, &newest, &[], NO).unwrap_err().to_string();
    assert!(
        refused.contains("that of the history cannot be used"),
        "{refused}"
    );
    let same = install(&path, &newest, &[both, begun, first], NO).unwrap();
    assert_eq!(same, Standing::Same);
    Map::open_uncached(&origin).unwrap();
    Pair::open(&path).unwrap();
}

#[test]
fn a_carry_without_the_map_where_the_data_was_is_refused() {
    let first = next(&["a", "b"], None);
    let second = next(&["a", "b", "c"], Some(&first));
    let begun = carry::begin(Some(&first), &second).unwrap().unwrap();
    let (directory, path) = place();
    let error = install(&path, &begun, &[], NO).unwrap_err();
    assert_eq!(error.status(), Status::Identity);
    let problem =
        "and epoch 1, where the data was, neither came with it nor is in the history here";
    assert!(error.to_string().contains(problem), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    // a map of that number that was made beside it does not help
    let third = next(&["a", "b", "c", "d"], Some(&second));
    let begun = carry::begin(Some(&second), &third).unwrap().unwrap();
    let beside = next(&["a", "x"], Some(&first));
    install(&path, &beside, &[], NO).unwrap();
    let refused = install(&path, &begun, &[], FORK).unwrap_err();
    assert_eq!(refused.status(), Status::Identity);
    let problem =
        "and epoch 2, where the data was, neither came with it nor is in the history here";
    assert!(refused.to_string().contains(problem), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), beside.bytes());
    install(&path, &begun, &[second], FORK).unwrap();
    Pair::open(&path).unwrap();
}

#[test]
fn the_epochs_of_a_carry_do_not_stand_for_the_map_where_the_data_was() {
    let first = next(&["a", "b"], None);
    let second = next(&["a", "b", "c"], Some(&first));
    let begun = carry::begin(Some(&first), &second).unwrap().unwrap();
    let both = carry::next(&begun).unwrap();
    let newest = carry::next(&both).unwrap();
    let (directory, path) = place();
    let older = [both, begun];
    let refused = install(&path, &newest, &older, NO).unwrap_err();
    assert_eq!(refused.status(), Status::Identity);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    // with a gap in between it is taken all the same
    let [both, _] = older;
    install(&path, &newest, &[both, first], NO).unwrap();
    assert_eq!(kept(&path), ["1", "3", "4", "log"]);
    Pair::open(&path).unwrap();
}

#[test]
fn a_map_of_which_nothing_tells_is_installed_with_the_word_fork() {
    let (_directory, path) = place();
    let maps = line();
    install(&path, &maps[0], &[], NO).unwrap();
    let standing = install(&path, &maps[4], &[], FORK).unwrap();
    assert_eq!(standing, Standing::Unknown);
    assert_eq!(fs::read(&path).unwrap(), maps[4].bytes());
    let aside = format!("1.{}", &digest(&maps[0])[..8]);
    assert_eq!(kept(&path), [&aside, "5", "log"]);
}

#[test]
fn the_present_map_is_kept_even_if_the_history_lacks_it() {
    let (_directory, path) = place();
    let maps = line();
    // copied here by hand, or a crash right after the map was in place
    fs::write(&path, maps[0].bytes()).unwrap();
    install(&path, &maps[1], &[], NO).unwrap();
    assert_eq!(kept(&path), ["1", "2", "log"]);
    // and so is one in whose place the history has another map
    let other = next(&["x"], Some(&maps[0]));
    fs::write(history(&path).join("2"), other.bytes()).unwrap();
    install(&path, &maps[2], &[], NO).unwrap();
    let two = Store::new(&path, 3).open_epoch(2).unwrap();
    assert_eq!(two.bytes(), maps[1].bytes());
}

#[test]
fn a_copy_that_the_history_has_is_not_written_again() {
    let (_directory, path) = place();
    let maps = line();
    let inode = |epoch: &str| fs::metadata(history(&path).join(epoch)).unwrap().ino();
    install(&path, &maps[0], &[], NO).unwrap();
    let first = inode("1");
    install(&path, &maps[0], &[], NO).unwrap();
    assert_eq!(inode("1"), first);
    install(&path, &maps[1], &maps[..1], NO).unwrap();
    assert_eq!(inode("1"), first);
}

#[test]
fn an_ancestor_that_is_no_longer_kept_is_removed_and_not_set_aside() {
    let (_directory, path) = place();
    let maps = line();
    for map in &maps {
        install(&path, map, &[], NO).unwrap();
    }
    let beside = next(&["x", "y"], Some(&maps[3]));
    let newest = next(&["x", "y", "z"], Some(&beside));
    let standing = install(&path, &newest, std::slice::from_ref(&beside), FORK).unwrap();
    assert_eq!(standing, Standing::Fork);
    // epoch 3 is an ancestor of both
    let aside = format!("5.{}", &digest(&maps[4])[..8]);
    assert_eq!(kept(&path), ["4", "5", &aside, "6", "log"]);
    assert_eq!(
        Store::new(&path, 3).open_epoch(5).unwrap().bytes(),
        beside.bytes()
    );
}

#[test]
fn maps_that_arrive_without_a_log_are_told_once_each() {
    let (_directory, path) = place();
    let store = Store::new(&path, 3);
    let maps = line();
    for map in maps[..3].iter().chain(&maps[2..3]) {
        install(&path, map, &[], NO).unwrap();
    }
    let told = |store: &Store| -> Vec<(u64, String)> {
        let log = store.log().into_iter();
        log.map(|entry| (entry.epoch, entry.digest)).collect()
    };
    let of = |map: &Map| (map.epoch(), digest(map));
    assert_eq!(told(&store), [of(&maps[0]), of(&maps[1]), of(&maps[2])]);
    // and one whose story came is told by that
    let (_directory, path) = place();
    let there = Store::new(&path, 3);
    install(&path, &maps[0], &[], NO).unwrap();
    let arrival = Arrival {
        map: &maps[0],
        older: &[],
        log: &store.log(),
    };
    let (_directory, path) = place();
    let store = Store::new(&path, 3);
    store.install(arrival, NO).unwrap();
    assert_eq!(told(&store), told(&there));
}

#[test]
fn a_place_is_checked_before_anything_arrives() {
    let (directory, path) = place();
    let check = |path: &Path| Store::new(path, 3).check_place();
    check(&path).unwrap();
    install(&path, &line()[0], &[], NO).unwrap();
    check(&path).unwrap();
    // the history has what is damaged
    fs::write(&path, "no map").unwrap();
    check(&path).unwrap();
    fs::remove_dir_all(history(&path)).unwrap();
    assert_eq!(check(&path).unwrap_err().status(), Status::Format);
    assert_eq!(fs::read(&path).unwrap(), b"no map");
    let link = directory.path().join("link.map");
    symlink(&path, &link).unwrap();
    assert_eq!(check(&link).unwrap_err().status(), Status::Invalid);
}
