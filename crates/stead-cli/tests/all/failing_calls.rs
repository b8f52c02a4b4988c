//! Each system call of publishing a map fails in turn. The exit code then says whether the new map
//! is in place, and no temporary file is left.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use crate::program::{fleet, Dir, Ran, STEAD};
use stead::Map;

/// The system calls that fail, each with its error. If `getrandom` is missing (ENOSYS), std uses
/// another source; if it is broken (EIO), std panics.
const FAULTS: [(&str, &str); 10] = [
    ("close", "EIO"),
    ("fsync", "EIO"),
    ("/^rename", "EIO"), // strace's pattern: of the three that there are, some machines lack one
    ("openat", "EMFILE"),
    ("getdents64", "EIO"),
    ("statx", "EIO"),
    ("flock", "ENOLCK"),
    ("write", "ENOSPC"),
    ("getrandom", "ENOSYS"),
    ("getrandom", "EIO"),
];

/// The permissions of the map, as an operator has set them.
const MODE: u32 = 0o640;

/// Checks that the new map is in place after the exit codes 0 and 76, and the unchanged old map
/// after all others.
fn keeps_the_contract(code: Option<i32>, old: &[u8], new: &[u8], found: &[u8]) -> bool {
    match code {
        Some(0 | 76) => found == new,
        _ => found == old,
    }
}

/// Returns a directory with a map of two epochs, and a fleet for the third.
fn place() -> Dir {
    let dir = Dir::new();
    dir.apply(&["a"]);
    dir.apply(&["a", "b"]);
    dir.write("next.toml", fleet(&["a", "b", "c"]));
    fs::set_permissions(dir.path("m.map"), fs::Permissions::from_mode(MODE)).unwrap();
    fs::create_dir(dir.path("kept")).unwrap();
    for file in ["m.map", "m.map.history/1", "m.map.history/2"] {
        fs::copy(
            dir.path(file),
            dir.path("kept").join(&file[file.len() - 1..]),
        )
        .unwrap();
    }
    dir
}

/// Restores epoch 2 of the map.
fn put_back(dir: &Dir) {
    fs::remove_dir_all(dir.path("m.map.history")).unwrap();
    fs::create_dir(dir.path("m.map.history")).unwrap();
    for (from, to) in [
        ("p", "m.map"),
        ("1", "m.map.history/1"),
        ("2", "m.map.history/2"),
    ] {
        fs::copy(dir.path("kept").join(from), dir.path(to)).unwrap();
    }
}

/// Runs stead under strace, and returns how it ended and the lines of the log that name the call.
fn traced(dir: &Dir, call: &str, inject: &str, arguments: &[&str]) -> (Ran, Vec<String>) {
    let mut command = Command::new("strace");
    command
        .current_dir(dir.path(""))
        .args(["-f", "-o", "log", "-e", &format!("trace={call}")])
        .args((!inject.is_empty()).then_some(format!("--inject={call}:{inject}")))
        .arg(STEAD)
        .args(arguments);
    let ran = Ran::of(command.output().unwrap());
    let log = String::from_utf8_lossy(&dir.read("log")).into_owned();
    let name = call.trim_start_matches("/^");
    let named = log.lines().filter(|line| line.contains(name));
    (ran, named.map(str::to_owned).collect())
}

fn sweep(arguments: &[&str]) {
    let dir = place();
    let old = dir.read("m.map");
    dir.run(arguments).ok();
    let new = dir.read("m.map");
    assert!(
        !keeps_the_contract(Some(70), &old, &new, &new),
        "the control"
    );
    let (mut took_effect, mut failed) = (0, 0);
    for (call, error) in FAULTS {
        put_back(&dir);
        let (ran, calls) = traced(&dir, call, "", arguments);
        ran.ok();
        assert!(!calls.is_empty(), "{call} is not called");
        for number in 1..=calls.len() {
            put_back(&dir);
            let inject = format!("error={error}:when={number}");
            let (ran, calls) = traced(&dir, call, &inject, arguments);
            let what = format!("{call} {inject}: {:?} {}", ran.code, ran.err);
            took_effect += usize::from(calls.iter().any(|line| line.contains("(INJECTED)")));
            let found = dir.read("m.map");
            assert!(keeps_the_contract(ran.code, &old, &new, &found), "{what}");
            let mode = fs::metadata(dir.path("m.map")).unwrap().mode() & 0o777;
            assert_eq!(mode, MODE, "{what}: others may read the map than before");
            let left = dir.everything();
            assert!(
                !left.iter().any(|(name, _)| name.ends_with(".tmp")),
                "{what}: {left:?}"
            );
            let third = left.iter().any(|(name, _)| name == "m.map.history/3");
            assert!(
                !third || found == new,
                "{what}: an epoch that never came is kept"
            );
            failed += usize::from(ran.code != Some(0));
            // work continues: the next epoch is published, and the history has every epoch
            dir.apply(&["a", "d"]);
            let newest = Map::from_bytes(dir.read("m.map")).unwrap().epoch();
            let kept = |epoch: u64| dir.path(&format!("m.map.history/{epoch}")).exists();
            assert!(
                (1..=newest).all(kept),
                "{what}: an epoch up to {newest} is missing"
            );
        }
    }
    println!("{arguments:?}: {took_effect} calls failed, {failed} runs for it");
    assert!(
        took_effect > 50 && failed > 20,
        "too few faults took effect"
    );
}

fn strace() -> bool {
    let there = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|ran| ran.status.success());
    if !there {
        println!("skipped: strace is missing or may not trace here");
    }
    there
}

#[test]
fn apply_says_whether_the_map_changed_whatever_call_fails() {
    if strace() {
        sweep(&["apply", "next.toml", "m.map"]);
    }
}

#[test]
fn rollback_says_whether_the_map_changed_whatever_call_fails() {
    if strace() {
        sweep(&["rollback", "m.map", "1"]);
    }
}

/// strace's `retval` reports success for a call that was never made.
#[test]
fn a_write_that_lies_is_a_failing_disk_and_not_a_damaged_map() {
    if !strace() {
        return;
    }
    let dir = place();
    let old = dir.read("m.map");
    let (_, calls) = traced(&dir, "write", "", &["apply", "next.toml", "m.map"]);
    let to_file = calls.iter().position(|line| line.contains("\\211STD"));
    let number = to_file.expect("the map is written") + 1;
    put_back(&dir);
    let wrote = calls[number - 1].rsplit("= ").next().unwrap().to_owned();
    let lie = format!("retval={wrote}:when={number}");
    let (ran, _) = traced(&dir, "write", &lie, &["apply", "next.toml", "m.map"]);
    ran.fails(
        74,
        &[
            "cannot verify",
            "what was read back is not what was written",
        ],
    );
    assert_eq!(dir.read("m.map"), old);
    dir.assert_clean();
}
