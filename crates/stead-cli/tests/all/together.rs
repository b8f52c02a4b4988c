//! Several processes at once, and processes that are killed: each epoch has one winner, and the map
//! is the old or the new one, never half.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::program::{fleet, many, Dir, Ran};
use stead::Map;

const PROCESSES: usize = 8;
const ROUNDS: usize = 12;

#[test]
fn of_those_who_apply_at_once_one_wins_each_epoch() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    let (mut conflicts, mut wins) = (0, 0);
    for round in 0..ROUNDS {
        let before = Map::open_uncached(dir.path("m.map")).unwrap().epoch();
        // different fleets, so that every process has something to do; large enough to take a while
        let children: Vec<Child> = (0..PROCESSES)
            .map(|i| {
                let name = format!("f{i}.toml");
                dir.write(&name, many(200 + i) + &format!("weight = {}\n", round + 2));
                let mut command =
                    dir.command(&["apply", &name, "m.map", "--json", "--allow=take-back"]);
                command
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let mut winners: BTreeMap<u64, usize> = BTreeMap::new();
        for child in children {
            let ran = Ran::of(child.wait_with_output().unwrap());
            if ran.code == Some(0) {
                let epoch = ran.json()["epoch"].as_u64().unwrap();
                *winners.entry(epoch).or_default() += 1;
            } else {
                ran.fails(75, &["m.map: "]);
                conflicts += 1;
            }
        }
        let after = Map::open_uncached(dir.path("m.map")).unwrap().epoch();
        let expected: BTreeMap<u64, usize> = (before + 1..=after).map(|epoch| (epoch, 1)).collect();
        assert_eq!(winners, expected, "round {round}");
        assert!(after > before, "somebody wins");
        wins += winners.len();
    }
    println!("applied at once: {wins} wins, {conflicts} conflicts");
    assert!(conflicts > 0, "nobody met anybody: the test shows nothing");
    assert_eq!(wins + conflicts, PROCESSES * ROUNDS);
    assert_chain(&dir);
    dir.assert_clean();
}

/// Checks that every epoch of the history is the parent of the next, and that the last is the map.
#[track_caller]
fn assert_chain(dir: &Dir) {
    let map = Map::open_uncached(dir.path("m.map")).unwrap();
    let (mut below, mut links) = (map.parent(), 0);
    for epoch in (1..map.epoch()).rev() {
        let path = dir.path(&format!("m.map.history/{epoch}"));
        if !path.exists() {
            assert!(links >= 31, "epoch {epoch} is missing after {links}");
            break;
        }
        let kept = Map::open_uncached(&path).unwrap();
        assert_eq!(
            (kept.epoch(), kept.digest(), kept.map_id()),
            (epoch, below, map.map_id())
        );
        below = kept.parent();
        links += 1;
    }
    assert_eq!(
        dir.read("m.map"),
        dir.read(&format!("m.map.history/{}", map.epoch()))
    );
}

#[test]
fn a_first_map_is_made_once() {
    for round in 0..5 {
        let dir = Dir::new();
        let children: Vec<Child> = (0..PROCESSES)
            .map(|i| {
                let name = format!("f{i}.toml");
                dir.write(&name, many(50 + i));
                // one that starts late finds the map of another and may have fewer nodes than it
                dir.command(&["apply", &name, "m.map", "--json", "--allow=take-back"])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let mut first = 0;
        for child in children {
            let ran = Ran::of(child.wait_with_output().unwrap());
            match ran.code {
                Some(0) => first += usize::from(ran.json()["epoch"] == 1),
                _ => drop(ran.fails(75, &["m.map: "])),
            }
        }
        assert_eq!(first, 1, "round {round}");
        assert_chain(&dir);
    }
}

/// Returns pseudo-random numbers for the delays, the same in every run (SplitMix64's output step).
fn mixed(i: u64) -> u64 {
    stead::map::mix(stead::Point(4711), i).0
}

#[test]
fn killed_at_any_moment_the_map_is_old_or_new() {
    let dir = Dir::new();
    dir.write("f.toml", many(1500));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    // measure how long a whole run takes on this machine
    let started = Instant::now();
    dir.write("f.toml", many(1500) + "weight = 2\n");
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let whole = started.elapsed().as_micros() as u64;
    let (mut killed, mut too_late, mut old, mut new, mut tries) = (0, 0, 0, 0, 0);
    while killed < 30 && tries < 200 {
        tries += 1;
        dir.write("f.toml", many(1500) + &format!("weight = {}\n", tries + 2));
        let before = dir.read("m.map");
        let epoch = Map::from_bytes(before.clone()).unwrap().epoch();
        let mut child = dir
            .command(&["apply", "f.toml", "m.map"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(mixed(tries) % whole.max(1)));
        let _ = child.kill();
        if child.wait().unwrap().signal() == Some(9) {
            killed += 1;
        } else {
            too_late += 1;
        }
        let after = Map::open_uncached(dir.path("m.map")).expect("a whole map");
        if dir.read("m.map") == before {
            old += 1;
        } else {
            assert_eq!(
                (after.epoch(), after.parent()),
                (epoch + 1, Map::from_bytes(before).unwrap().digest())
            );
            new += 1;
        }
        dir.run(&["history", "m.map"]).ok();
    }
    println!(
        "{tries} tries in {whole} us each: {killed} killed, {too_late} too late; {old} old, \
        {new} new"
    );
    assert!(killed >= 30 && old > 0, "too few kills took effect");
    // work continues: the next apply removes what killed processes left
    dir.write("f.toml", fleet(&["x", "y"]));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.assert_clean();
    assert_chain(&dir);
}
