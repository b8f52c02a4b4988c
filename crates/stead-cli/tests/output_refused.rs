//! When nobody takes what the program writes: full devices, closed pipes, full disks, size limits.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{is_root, Place};

/// A fleet whose map has more than 100 KiB.
fn large(nodes: usize) -> String {
    common::fleet(nodes)
}

#[test]
fn a_full_device_is_told_by_every_verb_that_prints() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    place.write("names", "frank\nbob\n");
    let verbs = [
        "plan fleet.toml m.map", "plan fleet.toml --json", "apply next.toml m.map", "locate m.map frank", "locate m.map --count frank",
        "locate m.map --explain frank", "locate m.map --json frank", "locate m.map < names", "show m.map", "show m.map --json --slices",
        "diff m.map.history/1 m.map", "diff m.map.history/1 m.map --json --moves", "diff m.map.history/1 m.map --keys k1 k2 k3 k4 k5 k6 k7 k8 k9",
        "check m.map", "check m.map --json", "path frank", "survey names", "survey names --json", "history m.map", "history m.map --json",
        "rollback m.map 1 --dry-run", "--help", "--version", "locate --help",
    ];
    let before = place.contents();
    for verb in verbs {
        println!("{verb}");
        assert!(place.shell(&format!("\"$STEAD\" {verb} | grep -q .")).good().is_empty(), "it prints something");
        place.shell(&format!("\"$STEAD\" {verb} > /dev/full")).bad(74, &["cannot write standard output", "No space left on device"]);
    }
    assert!(place.contents() == before);
}

#[test]
fn a_change_that_cannot_be_reported_is_made_and_said_to_be() {
    let place = Place::with_map();
    place.shell("\"$STEAD\" apply next.toml m.map > /dev/full").bad(74, &["epoch 2 is in place, but", "No space left"]);
    place.shell("\"$STEAD\" rollback m.map 1 > /dev/full").bad(74, &["epoch 3 is in place, but", "No space left"]);
    assert!(place.good(&["check", "m.map"]).starts_with("m: epoch 3\n"));
}

#[test]
fn a_reader_who_has_gone_ends_it_without_a_word() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    let keys: String = (0..100_000).map(|i| format!("key {i}\n")).collect();
    place.write("names", &keys);
    for verb in ["locate m.map", "locate m.map --json", "locate m.map --explain", "diff m.map.history/1 m.map --keys --json", "path", "locate m.map -0"] {
        let script = format!("{{ \"$STEAD\" {verb} < names; echo $? > code; }} | head -c 1 > first");
        assert_eq!(place.shell(&script).good(), "", "{verb}: no word on standard error");
        if verb.ends_with("-0") {
            continue; // one record of a megabyte: written after head has gone, or into the pipe before; either is right
        }
        assert_eq!(fs::read_to_string(place.file("code")).unwrap(), "141\n", "{verb}");
        assert_eq!(fs::read(place.file("first")).unwrap().len(), 1);
    }
}

#[test]
fn a_file_size_limit_fails_the_write_and_leaves_the_old_map() {
    let place = Place::new();
    place.write("fleet.toml", large(2000));
    place.write("next.toml", large(2001));
    place.good(&["apply", "fleet.toml", "m.map"]);
    let before = place.contents();
    // 8 blocks of 512 bytes, or of 1024: the map has hundreds of them
    place.shell("ulimit -f 8; exec \"$STEAD\" apply next.toml m.map").bad(74, &["cannot write m.map.history/", "File too large"]);
    place.shell("ulimit -f 8; exec \"$STEAD\" apply fleet.toml m.map").good(); // nothing to do, nothing written
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    assert!(place.contents() == before, "the directory is as it was");
    // the control: without the limit it works
    assert!(place.good(&["apply", "next.toml", "m.map"]).starts_with("m: epoch 1 -> 2,"));
}

#[test]
fn an_output_file_that_reaches_its_limit_is_an_error() {
    let place = Place::with_map();
    let keys: String = (0..100_000).map(|i| format!("key {i}\n")).collect();
    place.write("names", &keys);
    place.shell("ulimit -f 8; exec \"$STEAD\" locate m.map < names > out").bad(74, &["cannot write standard output", "File too large"]);
}

/// A small file system, gone when dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn new(at: PathBuf, size: &str) -> Result<Tmpfs, String> {
        if !is_root() {
            return Err("not root".to_owned());
        }
        fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "stead-test"]).arg(&at).output();
        match mounted {
            Ok(done) if done.status.success() => Ok(Tmpfs(at)),
            Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_the_old_map() {
    let place = Place::new();
    let disk = match Tmpfs::new(place.file("disk"), "1m") {
        Ok(disk) => disk,
        Err(why) => return println!("skipped: cannot mount a small file system here: {why}"),
    };
    let mut refused = 0;
    place.write("fleet.toml", large(2000));
    place.good(&["apply", "fleet.toml", "disk/m.map"]);
    // each epoch takes a quarter of the disk, until one finds no room: in the history first, or at the map's place
    for nodes in 2001..2008 {
        place.write("next.toml", large(nodes));
        let before = place.contents();
        let answer = place.run(&["apply", "next.toml", "disk/m.map"]);
        if answer.code != 0 {
            answer.bad(74, &["disk/", "No space left on device"]);
            assert!(place.contents() == before, "the map and its history are as they were");
            refused += 1;
        }
        assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
        place.good(&["check", "disk/m.map"]);
    }
    assert!(refused > 0, "the disk was never full");
    // with room again it goes on
    fs::remove_file(place.file("disk/m.map.history/1")).unwrap();
    place.write("next.toml", large(1000));
    assert!(place.good(&["apply", "next.toml", "disk/m.map"]).contains(" -> "));
    drop(disk);
}
