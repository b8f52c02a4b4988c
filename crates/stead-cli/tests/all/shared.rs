//! Two users of one group publish in turns, and a refused user learns what to do.

use std::fs::{self, Permissions};
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::process::{Command, Output};

use crate::program::{fleet, Dir, STEAD};

/// Two users and the group that they share. No machine has these numbers.
const ALICE: u32 = 64_001;
const BOB: u32 = 64_002;
const OPS: u32 = 64_100;

/// A directory for the tests: the program, fleets of one to four nodes, and `maps`.
struct Place(Dir);

impl Place {
    /// Returns `None`, and prints why, where this process cannot start others as other users.
    fn new(mode: u32) -> Option<Place> {
        let setpriv = Command::new("setpriv").arg("--version").output();
        let dir = Dir::new();
        let root = fs::metadata(dir.path("")).unwrap().uid() == 0;
        if !root || setpriv.is_err() {
            println!("skipped: needs root and setpriv (Debian's util-linux)");
            return None;
        }
        fs::set_permissions(dir.path(""), Permissions::from_mode(0o755)).unwrap();
        // copied by another process: a file that this one has open for writing, or a child of
        // another test, cannot be run
        let mut copy = Command::new("cp");
        copy.args([STEAD, "stead"]).current_dir(dir.path(""));
        assert!(copy.status().unwrap().success());
        for count in 1..=4 {
            let nodes = &["a", "b", "c", "d"][..count];
            dir.write(&format!("{count}.toml"), fleet(nodes));
        }
        fs::create_dir(dir.path("maps")).unwrap();
        chown(dir.path("maps"), Some(0), Some(OPS)).unwrap();
        fs::set_permissions(dir.path("maps"), Permissions::from_mode(mode)).unwrap();
        Some(Place(dir))
    }

    /// Applies a fleet as a user with this umask.
    fn apply(&self, user: u32, umask: &str, nodes: usize, map: &str) -> Output {
        let line =
            format!("umask {umask} && exec ./stead apply {nodes}.toml {map} --allow take-back");
        Command::new("setpriv")
            .args([format!("--reuid={user}"), format!("--regid={user}")])
            .args([format!("--groups={OPS}"), "sh".into(), "-c".into(), line])
            .current_dir(self.0.path(""))
            .output()
            .unwrap()
    }

    fn good(&self, user: u32, umask: &str, nodes: usize, map: &str) {
        let output = self.apply(user, umask, nodes, map);
        assert!(output.status.success(), "{user} {nodes}: {output:?}");
    }

    /// Returns the message of an apply that is refused.
    fn refused(&self, user: u32, umask: &str, nodes: usize, map: &str) -> String {
        let output = self.apply(user, umask, nodes, map);
        assert_eq!(output.status.code(), Some(77), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Returns user, group and permissions of a file.
    fn of(&self, file: &str) -> (u32, u32, u32) {
        let meta = fs::metadata(self.0.path(file)).unwrap();
        (meta.uid(), meta.gid(), meta.mode() & 0o777)
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.path(directory)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn two_users_of_a_group_publish_in_turns() {
    let Some(place) = Place::new(0o2775) else {
        return;
    };
    for (user, nodes) in [(0, 1), (ALICE, 2), (BOB, 3), (ALICE, 4), (0, 3), (BOB, 2)] {
        place.good(user, "002", nodes, "maps/m.map");
    }
    assert_eq!(
        place.names("maps/m.map.history"),
        ["1", "2", "3", "4", "5", "6", "log"]
    );
    assert_eq!(place.of("maps/m.map.lock"), (0, OPS, 0o660));
    assert_eq!(place.of("maps/m.map.history"), (0, OPS, 0o775));
    assert_eq!(place.of("maps/m.map"), (BOB, OPS, 0o664));
    assert_eq!(place.of("maps/m.map.history/2"), (ALICE, OPS, 0o664));
    // everybody of the group writes the log
    assert_eq!(place.of("maps/m.map.history/log"), (0, OPS, 0o664));
}

#[test]
fn a_umask_that_shares_nothing_is_followed() {
    let Some(place) = Place::new(0o2775) else {
        return;
    };
    place.good(ALICE, "022", 1, "maps/m.map");
    assert_eq!(place.of("maps/m.map"), (ALICE, OPS, 0o644));
    assert_eq!(place.of("maps/m.map.history"), (ALICE, OPS, 0o755));
    assert_eq!(place.of("maps/m.map.lock"), (ALICE, OPS, 0o600));
    let message = place.refused(BOB, "022", 2, "maps/m.map");
    assert_eq!(
        message,
        format!(
            "stead: cannot lock maps/m.map.lock: Permission denied (os error 13); it belongs to \
             {ALICE}:{OPS} with mode 0600, and this is user {BOB}: ask {ALICE} for access\n"
        )
    );
    place.good(ALICE, "077", 1, "maps/own.map");
    assert_eq!(place.of("maps/own.map"), (ALICE, OPS, 0o600));
    let message = place.refused(BOB, "077", 2, "maps/own.map");
    assert!(
        message.contains("cannot open maps/own.map: ") && message.contains("with mode 0600"),
        "{message}"
    );
}

#[test]
fn a_secret_is_shared_only_by_the_mode_of_the_map() {
    let Some(place) = Place::new(0o2775) else {
        return;
    };
    for count in 1..=3 {
        let secret = "hash = 'siphash'\nsecret = '000102030405060708090a0b0c0d0e0f'\n";
        let nodes = fs::read_to_string(place.0.path(&format!("{count}.toml"))).unwrap();
        let name = nodes.find("[[node]]").unwrap_or(0);
        place.0.write(
            &format!("{count}.toml"),
            [&nodes[..name], secret, &nodes[name..]].concat(),
        );
    }
    place.good(ALICE, "002", 1, "maps/m.map");
    assert_eq!(place.of("maps/m.map"), (ALICE, OPS, 0o600));
    assert_eq!(place.of("maps/m.map.history").2, 0o700);
    place.refused(BOB, "002", 2, "maps/m.map");
    // told: the group may read the map and its history
    for (file, mode) in [("m.map", 0o660), ("m.map.history", 0o770)] {
        let path = place.0.path("maps").join(file);
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    place.good(BOB, "002", 2, "maps/m.map");
    place.good(ALICE, "002", 3, "maps/m.map");
    assert_eq!(place.of("maps/m.map"), (ALICE, OPS, 0o660));
    assert_eq!(place.of("maps/m.map.history/2"), (BOB, OPS, 0o660));
}

#[test]
fn a_refused_first_publish_leaves_nothing() {
    let Some(place) = Place::new(0o755) else {
        return;
    };
    let message = place.refused(ALICE, "022", 1, "maps/m.map");
    let expected = format!(
        "cannot lock maps/m.map.lock: Permission denied (os error 13); the directory maps belongs \
         to root:{OPS} with mode 0755, and this is user {ALICE}: ask root for access\n"
    );
    assert!(message.ends_with(&expected), "{message}");
    assert_eq!(place.names("maps"), [""; 0]);
}
