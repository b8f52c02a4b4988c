//! Bad fleets: each gives a one-line error with file and line and exit code 78, and leaves the old
//! map as it is.

use crate::program::{fleet, Dir, Ran};

/// Plans and applies a bad fleet in a directory that has two epochs. Nothing there may change.
#[track_caller]
fn refused(text: impl AsRef<[u8]>, code: i32, parts: &[&str]) {
    let dir = Dir::new();
    dir.apply(&["a"]);
    dir.apply(&["a", "b"]);
    let before = dir.everything();
    dir.write("bad.toml", text);
    for verb in ["plan", "apply"] {
        dir.run(&[verb, "bad.toml", "m.map"]).fails(code, parts);
        dir.run(&[verb, "bad.toml", "m.map", "--json"])
            .fails(code, parts);
    }
    assert_eq!(dir.everything(), before);
    // no first map is made either
    dir.run(&["apply", "bad.toml", "new.map"]);
    if code == 78 {
        assert!(!dir.path("new.map").exists() && !dir.path("new.map.history").exists());
    }
    dir.assert_clean();
}

fn with_node(lines: &str) -> String {
    fleet(&["a"]) + "[[node]]\nname = \"b\"\n" + lines + "\n"
}

fn with(lines: &str) -> String {
    fleet(&["a", "b"]) + lines + "\n"
}

#[test]
fn the_table_of_mistakes() {
    let long = format!("weight = {}", "9".repeat(400));
    let range = |first: &str, end: &str| {
        format!("[[pin]]\nrange = [\"{first}\", \"{end}\"]\nnodes = [\"a\"]\n")
    };
    let key = "[[pin]]\nkey = \"frank\"\nnodes = [\"a\"]\n";
    for (text, line, part) in [
        (with_node("wieght = 2"), 6, "unknown key `wieght`"),
        (with("[[nodes]]\nname = \"c\""), 6, "unknown key `nodes`"),
        (
            "name = \"members\"\nfoo = 1\n[[node]]\nname = \"a\"\n".into(),
            2,
            "unknown key `foo`",
        ),
        (fleet(&["a", "a"]), 5, "`a`"),
        (with_node("weight = -1"), 6, "sign"),
        (with_node("weight = nan"), 6, "finite"),
        (with_node("weight = inf"), 6, "finite"),
        (with_node(&long), 6, "too large"),
        (with_node("weight = 1000000.000001"), 6, "1000000"),
        (with_node("weight = 1.0000001"), 6, "7 places"),
        (with_node("weight = 1e3"), 6, "exponent"),
        (with_node("weight = true"), 6, "weight"),
        (with_node("weight = 1\nweight = 2"), 7, "weight"),
        (with_node("labels = { zone = 1 }"), 6, "zone"),
        (with_node("formerly = \"a\""), 6, "formerly"),
        (
            with("[[policy]]\nname = \"p\"\nnodes = [\"a\", \"x\"]"),
            8,
            "`x`",
        ),
        (with("[[policy]]\nname = \"p\"\nnodes = []"), 8, "nodes"),
        (
            with("[[policy]]\nname = \"p\"\nnodes = [\"a\", \"a\"]"),
            8,
            "`a`",
        ),
        (with("[[pin]]\nkey = \"k\"\nnodes = [\"x\"]"), 8, "`x`"),
        (with("[[pin]]\nkey = \"k\"\npolicy = \"x\""), 8, "`x`"),
        (with("[[pin]]\nkey = \"k\""), 6, "policy"),
        (with(&range("2%", "1%")), 7, "must be at least one point"),
        (with(&range("0%", "101%")), 7, "101%"),
        (with(&(range("1%", "3%") + &range("2%", "4%"))), 9, "line 6"),
        (with(&(range("10%", "20%") + key)), 9, "line 6"),
        (with(&(key.to_owned() + key)), 9, "line 6"),
        (fleet(&["a\\u0007b"]), 3, "control character"),
        (fleet(&["a,b"]), 3, "comma"),
        (fleet(&[""]), 3, "empty"),
        (
            "name = \"mem\\u0001bers\"\n[[node]]\nname = \"a\"\n".into(),
            1,
            "control character",
        ),
        ("[[node]]\nname = \"a\"\n".into(), 1, "name"),
        ("name = \"members\"\n".into(), 1, "node"),
        ("name = \"members\n".into(), 1, ""),
        (String::new(), 1, "empty"),
        (
            with("hash = \"md6\"")
                .replace(
                    "[[node]]\nname = \"a\"",
                    "hash = \"md6\"\n[[node]]\nname = \"a\"",
                )
                .replace("\nhash = \"md6\"\n\n", "\n"),
            2,
            "md6",
        ),
        (
            "{\"name\": \"members\", \"node\": [\n{\"name\": \"a\", \"wieght\": 1}]}".into(),
            2,
            "unknown key `wieght`",
        ),
    ] {
        refused(text, 78, &[&format!("bad.toml:{line}: "), part]);
    }
    refused(
        b"name = \"members\"\n[[node]]\nname = \"\xff\"\n",
        78,
        &["bad.toml:3: ", "0xff is not UTF-8"],
    );
    refused(b"name = \"members\"\n\0", 78, &["bad.toml:2: "]);
}

#[test]
fn a_fleet_that_cannot_be_met_is_refused() {
    refused(
        "name = \"members\"\n[[node]]\nname = \"a\"\nweight = 0\n",
        78,
        &["bad.toml", "weight"],
    );
    refused(
        "max_slices = 1\n".to_owned() + &fleet(&["a", "b", "c"]),
        78,
        &["bad.toml", "max_slices"],
    );
    refused(
        "replicas = 3\n".to_owned() + &fleet(&["a", "b"]),
        78,
        &["bad.toml:1: ", "replicas = 3 needs 3 nodes", "add 1"],
    );
    refused(
        "spread = [\"zone\"]\n".to_owned() + &fleet(&["a", "b"]),
        78,
        &["bad.toml:3: ", "no label `zone`", "weight 0"],
    );
    let weighted = fleet(&["a", "b"]) + "[[policy]]\nname = \"p\"\nnodes = [\"a\"]\nweight = 2\n";
    refused(
        "replicas = 2\n".to_owned() + &weighted,
        78,
        &["bad.toml:10: ", "only with replicas = 1"],
    );
    let labels: Vec<String> = (0..256).map(|i| format!("\"l{i}\"")).collect();
    refused(
        format!("spread = [{}]\n", labels.join(", ")) + &fleet(&["a", "b"]),
        78,
        &["bad.toml:1: ", "more than 16 labels"],
    );
}

#[test]
fn the_fleet_of_another_cluster_is_refused() {
    refused(
        fleet(&["a", "b"]).replace("members", "others"),
        65,
        &["bad.toml", "`others`", "`members`"],
    );
    refused(
        "hash = \"sha1\"\n".to_owned() + &fleet(&["a", "b"]),
        65,
        &["bad.toml", "sha1", "md5"],
    );
}

#[test]
fn a_fleet_that_cannot_be_read_is_no_fleet() {
    let dir = Dir::new();
    dir.apply(&["a"]);
    let before = dir.everything();
    dir.run(&["apply", "missing.toml", "m.map"])
        .fails(66, &["cannot open missing.toml"]);
    std::fs::create_dir(dir.path("directory.toml")).unwrap();
    dir.run(&["apply", "directory.toml", "m.map"])
        .fails(74, &["cannot read directory.toml"]);
    // the arguments swapped: a map is not a fleet
    dir.run(&["apply", "m.map", "fleet.toml"])
        .fails(64, &["the map comes last: `stead apply fleet.toml m.map`"]);
    dir.run(&["plan", "m.map"]).fails(78, &["m.map:1: "]);
    // an error stays one line, whatever characters a file name contains
    dir.run(&["apply", "no\nsuch.toml", "m.map"])
        .fails(66, &["no\\nsuch.toml"]);
    assert_eq!(dir.everything(), before);
}

/// The limit of memory is a variable, because every verb obeys it.
#[test]
fn a_limit_of_memory_refuses_before_it_begins_and_a_bad_one_is_named() {
    let dir = Dir::new();
    dir.write("f.toml", fleet(&["db1", "db2"]));
    let run = |limit: &str| {
        let mut command = dir.command(&["plan", "f.toml"]);
        Ran::of(command.env("STEAD_MEMORY_LIMIT", limit).output().unwrap())
    };
    run("1000000").ok();
    run("1000").fails(
        74,
        &[
            "this may need up to ",
            " bytes of memory, and the limit is 1000; raise the limit",
        ],
    );
    for bad in ["0", "4G", "-1", "99999999999999999999"] {
        run(bad).fails(64, &["STEAD_MEMORY_LIMIT", "number of bytes"]);
    }
}
