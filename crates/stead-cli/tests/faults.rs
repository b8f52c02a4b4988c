//! Many at once, and killed half way: an epoch is there whole, or not at all.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{answer, fleet, Place, STEAD};
use serde_json::Value;

#[test]
fn while_another_publishes_apply_ends_with_75_and_changes_nothing() {
    let place = Place::with_map();
    let held = |arguments: &[&str]| {
        Command::new("flock").args(["m.map.lock", STEAD]).args(arguments).current_dir(place.path()).output()
    };
    let before = place.contents();
    let Ok(output) = held(&["apply", "next.toml", "m.map"]) else { return println!("skipped: there is no program `flock` here") };
    answer(output).bad(75, &["m.map: ", "run it again"]);
    assert!(place.contents() == before);
    // readers and those with nothing to do are not held up
    for arguments in [&["locate", "m.map", "frank"][..], &["plan", "next.toml", "m.map"], &["apply", "fleet.toml", "m.map"]] {
        answer(held(arguments).unwrap()).good();
    }
    place.good(&["apply", "next.toml", "m.map"]);
}

/// Eight processes at once, each with a fleet of its own. Which win is up to the system; that the epochs are a chain is not.
#[test]
fn of_eight_applies_at_once_every_epoch_has_one_winner() {
    const ROUNDS: usize = 10;
    const AT_ONCE: usize = 8;
    let place = Place::with_map();
    let mut winners: BTreeMap<u64, String> = BTreeMap::new();
    let mut digests: BTreeMap<u64, Value> = BTreeMap::new();
    let mut losers = 0;
    for round in 0..ROUNDS {
        let own = |i: usize| format!("only-{round}-{i}");
        for i in 0..AT_ONCE {
            // large enough that they meet
            place.write(&format!("{i}.toml"), fleet(500) + &format!("[[node]]\nname = \"{}\"\n", own(i)));
        }
        let spawn = |i: usize| {
            let mut command = place.command(&["apply", &format!("{i}.toml"), "m.map", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..AT_ONCE).map(spawn).collect();
        for (i, child) in children.into_iter().enumerate() {
            let answer = answer(child.wait_with_output().unwrap());
            if answer.code == 0 {
                let report: Value = serde_json::from_str(&answer.good()).unwrap();
                let taken = winners.insert(report["epoch"].as_u64().unwrap(), own(i));
                assert_eq!(taken, None, "two winners of one epoch");
            } else {
                answer.bad(75, &["m.map: "]);
                losers += 1;
            }
        }
        let history = place.json(&["history", "m.map", "--json"]);
        for epoch in history["epochs"].as_array().unwrap() {
            let number = epoch["epoch"].as_u64().unwrap();
            if let Some(parent) = digests.get(&(number - 1)) {
                assert_eq!(&epoch["parent"], parent, "the parent of epoch {number}");
            }
            let known = digests.insert(number, epoch["digest"].clone());
            assert!(known.is_none_or(|known| known == epoch["digest"]), "epoch {number} has changed");
            // the epoch is what its winner wanted
            if let Some(winner) = winners.get(&number) {
                let shown = place.good(&["show", &format!("m.map.history/{number}")]);
                assert!(shown.contains(&format!("\n{winner} ")), "epoch {number}");
            }
        }
        assert_eq!(place.leftovers(), Vec::<std::path::PathBuf>::new());
        place.good(&["check", "m.map"]);
    }
    let newest = 1 + winners.len() as u64;
    assert_eq!(winners.keys().copied().collect::<Vec<_>>(), (2..=newest).collect::<Vec<_>>(), "no epoch without a winner");
    assert_eq!(digests.keys().copied().collect::<Vec<_>>(), (1..=newest).collect::<Vec<_>>(), "no epoch is missing in the history");
    assert_eq!(winners.len() + losers, ROUNDS * AT_ONCE);
    assert!(winners.len() >= ROUNDS, "in every round at least one wins");
    println!("{} winners, {losers} losers", winners.len());
}

/// How long an apply takes here: the kills are spread over so much.
fn measured(place: &Place) -> Duration {
    let mut took: Vec<Duration> = Vec::new();
    for i in 0..5 {
        let start = Instant::now();
        place.good(&["apply", if i % 2 == 0 { "b.toml" } else { "a.toml" }, "m.map"]);
        took.push(start.elapsed());
    }
    took.sort_unstable();
    took[2]
}

#[test]
fn an_apply_that_is_killed_leaves_the_old_epoch_or_the_new_one() {
    const KILLS: u32 = 40;
    let place = Place::new();
    place.write("a.toml", fleet(2000));
    place.write("b.toml", fleet(2001));
    place.good(&["apply", "a.toml", "m.map"]);
    let whole = measured(&place);
    let epoch = || place.json(&["show", "m.map", "--json"])["epoch"].as_u64().unwrap();
    let nodes = || place.json(&["show", "m.map", "--json"])["nodes"].as_array().unwrap().len();
    let (mut killed, mut old, mut new, mut half_written) = (0, 0, 0, 0);
    let mut jitter = 1u64;
    for i in 0..KILLS {
        let before = epoch();
        let (from, to) = if nodes() == 2000 { (2000, "b.toml") } else { (2001, "a.toml") };
        jitter = jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1); // Knuth's generator: any will do
        let share = (f64::from(i) + (jitter >> 40) as f64 / (1u64 << 24) as f64) / f64::from(KILLS);
        let mut child = place.command(&["apply", to, "m.map"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(share * 1.2));
        child.kill().unwrap();
        let was_killed = child.wait().unwrap().signal() == Some(9);
        killed += u32::from(was_killed);
        half_written += place.leftovers().len();

        place.good(&["check", "m.map"]);
        let now = epoch();
        assert!(now == before || now == before + 1, "epoch {before} became {now}");
        assert!(now == before + 1 || was_killed, "who was not killed is done");
        assert_eq!(nodes() != from, now != before, "the epoch is the old one or the new one, whole");
        if now == before { old += 1 } else { new += 1 }
        place.good(&["history", "m.map"]);

        // and the next one works, and clears what was left
        let next = place.good(&["apply", to, "m.map"]);
        assert!(next.starts_with(if now == before { "m: epoch" } else { "m: nothing to do" }), "{next}");
        assert_eq!(epoch(), before + 1);
        if now == before {
            assert_eq!(place.leftovers(), Vec::<std::path::PathBuf>::new());
        }
    }
    println!("killed {killed} of {KILLS}: {old} times the old epoch stayed, {new} times the new one was there; {half_written} files half written");
    assert!(killed > 0, "no process was killed");
    assert!(place.good(&["apply", "a.toml", "m.map"]).contains("m: "));
    assert!(fs::read_dir(place.file("m.map.history")).unwrap().count() <= 33, "32 epochs, and one half made");
}
