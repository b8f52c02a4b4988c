//! `stead ring` and `stead check --observed`: a ring becomes a map and a fleet, with which the
//! other verbs work.

use crate::program::{fields, points, sixty_buckets, Dir};

const SERVERS: &str = "# of the RRD site\ndb1 2\ndb2\ndb3\n";

fn drawn() -> Dir {
    let dir = Dir::new();
    dir.write("servers.txt", SERVERS);
    dir.run(&[
        "ring",
        "karger",
        "servers.txt",
        "-o",
        "rrd.map",
        "--fleet",
        "rrd.toml",
    ])
    .ok();
    dir
}

fn text(dir: &Dir, name: &str) -> String {
    String::from_utf8(dir.read(name)).unwrap()
}

/// Returns the map's answers for 1000 keys, as lines of a key, a tab and a node.
fn seen(dir: &Dir) -> String {
    let keys: String = (0..1000).map(|i| format!("host{i}/load\n")).collect();
    dir.feed(&["locate", "rrd.map"], keys.as_bytes())
        .ok()
        .text()
        .to_owned()
}

#[test]
fn a_ring_is_adopted_and_grows_by_the_bound() {
    let dir = drawn();
    let before = seen(&dir);
    let shown = dir.run(&["show", "rrd.map", "--json"]).json();
    assert_eq!(
        (
            shown["name"].as_str(),
            shown["epoch"].as_u64(),
            shown["hash"].as_str()
        ),
        (Some("rrd"), Some(1), Some("sha1"))
    );
    let balanced = dir.run(&["plan", "rrd.toml", "rrd.map", "--json"]).json();
    assert!(points(&balanced["moved"]["points"]) > 0);
    assert_eq!(balanced["moved"], balanced["lower_bound"]);
    // renaming a node moves nothing: only the ring's imbalance moves
    let fleet =
        text(&dir, "rrd.toml").replace("name = \"db1\"", "name = \"store-1\"\nformerly = \"db1\"");
    dir.write("named.toml", &fleet);
    let named = dir
        .run(&["apply", "named.toml", "rrd.map", "--json"])
        .json();
    assert_eq!(named["moved"], balanced["moved"]);
    dir.write(
        "four.toml",
        fleet.replace("formerly = \"db1\"\n", "") + "\n[[node]]\nname = \"db4\"\n",
    );
    let grown = dir.run(&["apply", "four.toml", "rrd.map", "--json"]).json();
    assert_eq!(grown["moved"], grown["lower_bound"]);
    assert_eq!(points(&grown["moved"]["points"]), (1u128 << 64) / 5);
    assert_ne!(seen(&dir), before);
}

#[test]
fn shares_as_weights_move_next_to_nothing() {
    let dir = Dir::new();
    dir.write("servers.txt", SERVERS);
    let ran = dir
        .run(&[
            "ring",
            "karger",
            "servers.txt",
            "-o",
            "rrd.map",
            "--fleet",
            "rrd.toml",
            "--weights",
            "shares",
            "--json",
        ])
        .json();
    assert!(
        ran["to_balance"]["fraction"].as_f64().unwrap() < 1e-7,
        "{ran}"
    );
    let weights: f64 = ran["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["weight"].as_str().unwrap().parse::<f64>().unwrap())
        .sum();
    assert!((weights - 100.0).abs() < 1e-5, "{ran}");
    let planned = dir.run(&["plan", "rrd.toml", "rrd.map", "--json"]).json();
    assert!(
        planned["moved"]["fraction"].as_f64().unwrap() < 1e-7,
        "{planned}"
    );
}

#[test]
fn without_files_to_write_it_only_says_what_would_be() {
    let dir = Dir::new();
    dir.write("servers.txt", SERVERS);
    let before = dir.everything();
    let said = dir
        .run(&["ring", "karger", "servers.txt", "--name", "rrd", "--json"])
        .json();
    assert_eq!(
        fields(&said),
        [
            "bytes",
            "cells",
            "hash",
            "name",
            "nodes",
            "replicas",
            "ring",
            "slices",
            "to_balance"
        ]
    );
    assert_eq!(
        (said["cells"].as_str(), said["hash"].as_str()),
        (Some("0"), Some("sha1"))
    );
    dir.run(&["ring", "karger", "servers.txt", "--set", "bits=8"])
        .ok();
    assert_eq!(dir.everything(), before);
    dir.run(&[
        "ring",
        "karger",
        "servers.txt",
        "--set",
        "bits=8",
        "-o",
        "few.map",
        "--fleet",
        "few.toml",
    ])
    .ok();
    assert!(dir
        .run(&["show", "few.map"])
        .ok()
        .text()
        .contains("hash sha1 in 256 cells"));
    let shown = dir.run(&["show", "few.map", "--json"]).json();
    assert_eq!(
        (shown["cells"].as_str(), shown.get("modulo")),
        (Some("256"), None)
    );
    dir.write("users.txt", "0-6 db1\n7-11 db2\n");
    dir.run(&[
        "ring",
        "explicit",
        "users.txt",
        "--set",
        "hash=decimal",
        "--set",
        "modulo=12",
        "-o",
        "u.map",
        "--fleet",
        "u.toml",
    ])
    .ok();
    assert!(dir
        .run(&["show", "u.map"])
        .ok()
        .text()
        .contains("hash decimal modulo 12"));
    assert_eq!(dir.run(&["show", "u.map", "--json"]).json()["modulo"], true);
    assert_eq!(dir.run(&["locate", "u.map", "19"]).ok().text(), "19\tdb2\n");
    let list = dir.run(&["ring", "--list", "--json"]).json();
    assert!(list
        .as_array()
        .unwrap()
        .iter()
        .any(|ring| ring["ring"] == "karger" && ring["choices"][0]["name"] == "vnodes"));
    assert!(dir
        .run(&["ring", "--list"])
        .ok()
        .text()
        .contains("--set vnodes=1..100000 [100]"));
}

#[test]
fn nothing_is_overwritten_and_nothing_half_written() {
    let dir = drawn();
    let all = |dir: &Dir| {
        std::fs::read_dir(dir.path("."))
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let (before, files) = (dir.everything(), all(&dir));
    let line = ["ring", "karger", "servers.txt", "-o"];
    dir.run(&[&line[..], &["rrd.map", "--fleet", "new.toml"]].concat())
        .fails(64, &["rrd.map already exists"]);
    dir.run(&[&line[..], &["new.map", "--fleet", "rrd.toml"]].concat())
        .fails(64, &["rrd.toml already exists"]);
    dir.run(&[&line[..], &["new.map"]].concat())
        .fails(64, &["--fleet"]);
    dir.run(&[&line[..], &["nowhere/new.map", "--fleet", "new.toml"]].concat())
        .fails(66, &["nowhere"]);
    dir.run(&[&line[..], &["new.map", "--fleet", "nowhere/new.toml"]].concat())
        .fails(66, &["nowhere/new.toml"]);
    dir.run(&["ring", "karger", "none.txt"])
        .fails(66, &["none.txt"]);
    dir.run(&["ring", "kerger", "servers.txt"])
        .fails(64, &["there is no ring `kerger`", "karger"]);
    dir.run(&["ring", "karger", "servers.txt", "--set", "vnodes=x"])
        .fails(64, &["vnodes=x"]);
    dir.run(&["ring", "karger"]).fails(64, &["SERVERS"]);
    let run = dir.feed(&["ring", "karger", "-"], b"a\nb two\n");
    run.fails(78, &["standard input:2: the weight `two`"]);
    assert_eq!(dir.everything(), before);
    let after = all(&dir);
    assert!(
        after.difference(&files).all(|file| file == "new.map.lock"),
        "{after:?}"
    );
}

#[test]
fn the_order_of_the_servers_is_found_where_the_rule_depends_on_it() {
    let dir = Dir::new();
    let names = ["10.0.0.9:11211", "10.0.0.10:11211", "10.0.0.8:11211"];
    dir.write("as-added.txt", names.join("\n"));
    let draw = |kind: &[&str], servers: &str, name: &str| {
        let (map, fleet) = (format!("{name}.map"), format!("{name}.toml"));
        let words = [&["ring"], kind, &[servers, "-o", &map, "--fleet", &fleet]].concat();
        dir.run(&words).ok();
    };
    let modula = ["libmemcached", "--set", "mode=modula"];
    draw(&modula, "as-added.txt", "production");
    let keys: String = (0..1000).map(|n| format!("key{n}\n")).collect();
    let seen = dir.feed(&["locate", "production.map"], keys.as_bytes());
    dir.write("seen.tsv", seen.text());
    // drawn from a list in another order
    let mut sorted = names;
    sorted.sort_unstable();
    dir.write("sorted.txt", sorted.join("\n"));
    draw(&modula, "sorted.txt", "guess");
    let ran = dir.run(&["check", "guess.map", "--observed", "seen.tsv"]);
    let order = format!("this order: {}\n", names.join(", "));
    let words = format!("libmemcached --set mode=modula with the servers in {order}");
    assert!(ran.text().contains(&words), "{}", ran.text());
    let ran = dir.run(&["check", "guess.map", "--observed", "seen.tsv", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let best = &said["rings"][0];
    assert_eq!(best["agree"].as_u64(), Some(1000), "{said}");
    assert_eq!(best["order"], serde_json::json!(names));
    // drawn in a wrong order, where the order of the names is the right one
    let seen = dir.feed(&["locate", "guess.map"], keys.as_bytes());
    dir.write("seen.tsv", seen.text());
    let ran = dir.run(&["check", "production.map", "--observed", "seen.tsv"]);
    let order = format!("this order: {}\n", sorted.join(", "));
    let words = format!("libmemcached --set mode=modula with the servers in {order}");
    assert!(ran.text().contains(&words), "{}", ran.text());
    // a rule that does not depend on the order is found without one
    draw(&["libmemcached"], "as-added.txt", "ketama");
    let seen = dir.feed(&["locate", "ketama.map"], keys.as_bytes());
    dir.write("seen.tsv", seen.text());
    let ran = dir.run(&["check", "guess.map", "--observed", "seen.tsv", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(said["rings"][0]["agree"].as_u64(), Some(1000), "{said}");
    assert_eq!(said["rings"][0].get("order"), None, "{said}");
}

#[test]
fn missing_weights_and_a_prefix_that_is_not_hashed_are_named() {
    let dir = Dir::new();
    dir.write("weights.txt", "a:11211:1\nb:11211:2\nc:11211:1\n");
    dir.write("equal.txt", "a:11211\nb:11211\nc:11211\n");
    for name in ["weights", "equal"] {
        let (list, map) = (format!("{name}.txt"), format!("{name}.map"));
        let fleet = format!("{name}.toml");
        let words = ["ring", "libmemcached", &list, "-o", &map, "--fleet", &fleet];
        dir.run(&words).ok();
    }
    let keys: String = (0..1000).map(|n| format!("key{n}\n")).collect();
    let seen = dir.feed(&["locate", "weights.map"], keys.as_bytes());
    dir.write("seen.tsv", seen.text());
    let ran = dir.run(&["check", "equal.map", "--observed", "seen.tsv"]);
    let said = ran.text().replace('\n', " ");
    let hint = "most keys and not all: either the weights or the list of servers are not those of";
    assert!(said.contains(hint), "{said}");
    // every key is where another rule has it: nothing is missing
    let ran = dir.run(&["check", "weights.map", "--observed", "seen.tsv"]);
    assert!(!ran.text().contains("most keys"), "{}", ran.text());
    // the client adds the prefix behind the hash
    let prefixed: String = seen
        .text()
        .lines()
        .map(|line| format!("shop:{line}\n"))
        .collect();
    dir.write("prefixed.tsv", prefixed);
    let ran = dir.run(&["check", "weights.map", "--observed", "prefixed.tsv"]);
    let said = ran.text().replace('\n', " ");
    let hint = " all keys begin with \"shop:\"; without that, libmemcached agrees with 100.000 %: \
                list the keys without it, as production hashes them ";
    assert!(said.contains(hint), "{said}");
    let json = [
        "check",
        "weights.map",
        "--observed",
        "prefixed.tsv",
        "--json",
    ];
    let said: serde_json::Value = serde_json::from_slice(&dir.run(&json).out).unwrap();
    assert_eq!(said["without"]["prefix"], "\"shop:\"");
    assert_eq!(said["without"]["ring"], "libmemcached");
    // where no rule agrees without it either, it may still be the cause, with another one
    let odd: String = (0..600)
        .map(|n| {
            let server = ["a", "b", "c"][((n * 2_654_435_761_u64) >> 16) as usize % 3];
            format!("shop:{n}\t{server}:11211\n")
        })
        .collect();
    let odd = |prefix: &str| {
        let keys = odd.replace("shop:", prefix);
        let ran = dir.feed(
            &["check", "weights.map", "--observed", "-"],
            keys.as_bytes(),
        );
        ran.text().replace('\n', " ")
    };
    let hint =
        "all keys begin with \"shop:\": if the client puts that before each key and does not \
                hash it, list the keys without it";
    let said = odd("shop:v2.");
    assert!(said.contains(hint), "{said}");
    assert!(!odd("").contains("all keys begin"));
}

#[test]
fn of_two_servers_chance_alone_is_no_rule() {
    let dir = Dir::new();
    dir.write("two.txt", "a:11211\nb:11211\n");
    let words = [
        "ring",
        "libmemcached",
        "two.txt",
        "-o",
        "two.map",
        "--fleet",
        "two.toml",
    ];
    dir.run(&words).ok();
    let keys: String = (0..1000).map(|n| format!("key{n}\n")).collect();
    let seen = dir.feed(&["locate", "two.map"], keys.as_bytes());
    let prefixed: String = seen.text().lines().map(|l| format!("shop:{l}\n")).collect();
    let check = |keys: &str| {
        let words = ["check", "two.map", "--observed", "-"];
        let ran = dir.feed(&words, keys.as_bytes());
        ran.text().replace('\n', " ")
    };
    let said = check(&prefixed);
    let hint = "no rule that stead knows has put the keys there";
    assert!(said.contains(hint), "{said}");
    let hint = " all keys begin with \"shop:\"; without that, libmemcached agrees with 100.000 %";
    assert!(said.contains(hint), "{said}");
    // and what agrees with far more than half is named: keys of a change, a fifth of them
    let moved: String = seen
        .text()
        .lines()
        .enumerate()
        .map(|(n, line)| match n % 5 {
            0 => format!(
                "{}:11211\n",
                line.trim_end_matches(":11211").replace("\ta", "\tb")
            ),
            _ => format!("{line}\n"),
        })
        .collect();
    let said = check(&moved);
    assert!(said.contains("most keys and not all"), "{said}");
}

#[test]
fn a_rule_with_fewer_cells_than_nodes_is_said() {
    let dir = Dir::new();
    dir.write("list.txt", "0 nas1\n1 nas2\n2 nas3\n3 nas4\n");
    let words = ["ring", "explicit", "--set", "modulo=4", "list.txt"];
    let drawn = dir
        .run(&[&words[..], &["-o", "m.map", "--fleet", "m.toml"]].concat())
        .ok();
    let said = drawn.text().replace('\n', " ");
    assert!(
        said.contains("4 cells for 4 nodes: they are never divided")
            && said.contains("modulo=400 "),
        "{said}"
    );
    let hash = "no hash= was set, so this is md5: `stead check m.map --observed FILE` compares";
    assert!(said.contains(hash) && !said.contains("replicas"), "{said}");
    dir.write(
        "list.txt",
        "0 nas1,nas2\n1 nas2,nas3\n2 nas3,nas4\n3 nas4,nas1\n",
    );
    let drawn = dir
        .run(&[&words[..], &["--set", "hash=crc32"]].concat())
        .ok();
    let said = drawn.text().replace('\n', " ");
    assert!(said.contains("4 nodes, 2 replicas, 4 slices"), "{said}");
    assert!(!said.contains("no hash="), "{said}");
    dir.run(&["fleet", "add-node", "m.toml", "nas5"]).ok();
    let plan = dir.run(&["plan", "m.toml", "m.map", "--json"]).json();
    assert_eq!(plan["warnings"][0]["code"], "few-cells", "{plan}");
    let said = dir.run(&["apply", "m.toml", "m.map"]);
    assert!(
        said.text().contains("4 cells for 5 nodes"),
        "{}",
        said.text()
    );
}

#[test]
fn shares_of_whole_buckets_are_told_as_such() {
    let dir = sixty_buckets();
    let balance = || {
        let check = dir.run(&["check", "m.map", "--json"]).json();
        let checks = check["checks"].as_array().unwrap().clone();
        let found = checks.iter().find(|check| check["check"] == "balance");
        found.unwrap()["found"].as_str().unwrap().to_owned()
    };
    // 60 buckets for three nodes are 20 each, and for seven they are 8 or 9
    assert_eq!(balance(), "every share is its target, to the point");
    let names = ["n3", "n4", "n5", "n6"];
    for name in names {
        dir.run(&["fleet", "add-node", "f.toml", name]).ok();
    }
    let plan = dir.run(&["apply", "f.toml", "m.map"]).ok();
    let rows: Vec<Vec<&str>> = plan
        .text()
        .lines()
        .filter(|line| line.starts_with('n') && !line.starts_with("node"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 7, "{}", plan.text());
    for row in rows {
        let shares = [["14.29", "%", "13.33", "%"], ["14.29", "%", "15.00", "%"]];
        assert!(shares.iter().any(|share| row[2..6] == *share), "{row:?}");
    }
    assert_eq!(
        balance(),
        "every share is as near to its target as whole buckets of 1/60 of all keys allow (at most \
         9524 keys of a million off)"
    );
    dir.run(&["report", "m.map", "-o", "m.html"]).ok();
    let page = String::from_utf8(dir.read("m.html")).unwrap();
    assert!(!page.contains("exactly its target"));
    assert!(page.contains("as near to its target as whole buckets of 1/60 of all keys allow"));
    assert!(page.contains(">whole buckets<"));
    assert!(page.contains(", its target in whole buckets of 1/60 of all keys"));
}

#[test]
fn what_production_does_is_compared_and_its_ring_found() {
    let dir = drawn();
    let right = seen(&dir);
    dir.write("seen.tsv", &right);
    let said = dir
        .run(&["check", "rrd.map", "--observed", "seen.tsv", "--json"])
        .json();
    assert_eq!(
        fields(&said),
        ["elsewhere", "keys", "listed", "rings", "unknown_nodes"]
    );
    assert_eq!(
        (said["keys"].as_u64(), said["elsewhere"].as_u64()),
        (Some(1000), Some(0))
    );
    // keys of another ring of the same servers; check finds out which one
    dir.run(&[
        "ring",
        "uhashring",
        "servers.txt",
        "-o",
        "u.map",
        "--fleet",
        "u.toml",
    ])
    .ok();
    let ran = dir.run(&["check", "u.map", "--observed", "seen.tsv", "--json"]);
    assert_eq!(ran.code, Some(1));
    let said: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert!(said["elsewhere"].as_u64().unwrap() > 400, "{said}");
    let listed = said["listed"].as_array().unwrap();
    assert_eq!(Some(listed.len() as u64), said["elsewhere"].as_u64());
    let is_seen = |key: &str| {
        right
            .lines()
            .any(|line| line.split('\t').next() == Some(key))
    };
    assert!(listed
        .iter()
        .all(|one| is_seen(one["key"].as_str().unwrap())));
    let best = &said["rings"][0];
    assert_eq!(
        (
            best["ring"].as_str(),
            best["agree"].as_u64(),
            best["weights"].as_str()
        ),
        (Some("karger"), Some(1000), Some("map"))
    );
    // and keys of `crc32 % 3`, of servers in another order than that of their names
    let order = ["db3", "db1", "db2"];
    let crc32 = stead::hash::Function::of_name("crc32").unwrap();
    let modulo: String = (0..500)
        .map(|i| format!("k{i}"))
        .map(|key| {
            format!(
                "{key}\t{}\n",
                order[crc32.value(key.as_bytes()) as usize % 3]
            )
        })
        .collect();
    let ran = dir.feed(&["check", "u.map", "--observed", "-"], modulo.as_bytes());
    let said = String::from_utf8(ran.out).unwrap();
    let ring = "explicit --set modulo=3 --set hash=crc32";
    assert!(said.contains(&format!("100.000 %  {ring} ")), "{said}");
    assert!(
        said.contains("draw the remainder with a multiple"),
        "{said}"
    );
    let servers = "db3, db1, db2";
    assert!(
        said.contains(&format!("{ring} with the servers in this order: {servers}")),
        "{said}"
    );
    // written server by server, as scans are: the first keys are all of one server
    let mut sorted: Vec<(u64, String)> = (0..60_000)
        .map(|i| format!("k{i}"))
        .map(|key| (crc32.value(key.as_bytes()) % 3, key))
        .collect();
    sorted.sort();
    let names = ["db1", "db2", "db3"];
    let lines = sorted
        .iter()
        .map(|(at, key)| format!("{key}\t{}\n", names[*at as usize]));
    let list: String = lines.collect();
    let ran = dir.feed(
        &["check", "u.map", "--observed", "-", "--json"],
        list.as_bytes(),
    );
    let said: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let rings = said["rings"].as_array().unwrap();
    let all = |ring: &&serde_json::Value| ring["agree"] == ring["keys"];
    let whole: Vec<_> = rings.iter().filter(all).collect();
    assert_eq!(whole.len(), 1, "{rings:?}");
    assert_eq!(whole[0]["set"][1], "hash=crc32");
    let tried = whole[0]["keys"].as_u64().unwrap();
    assert!((5_000..=10_000).contains(&tried), "{tried}");
    // a rule that stead does not know: what agrees by chance is not listed
    let unknown: String = (0..600)
        .map(|i| format!("k{i}\t{}\n", order[((i * 2_654_435_761) >> 16) % 3]))
        .collect();
    let ran = dir.feed(&["check", "u.map", "--observed", "-"], unknown.as_bytes());
    let said = String::from_utf8(ran.out).unwrap();
    assert!(
        said.contains("\nno rule that stead knows has put the keys there: the nearest, ")
            && said
                .contains("\ndocs/adopt.md has the usual causes, and docs/rings.md the ways for a")
            && !said.contains("ring of these nodes")
            && !said.contains("multiple"),
        "{said}"
    );
    // one key that is elsewhere, a node that the map does not have, and former names
    dir.write(
        "fleet.toml",
        text(&dir, "rrd.toml").replace("name = \"db1\"", "name = \"s\"\nformerly = \"db1\""),
    );
    let first = right.lines().next().unwrap();
    let (key, node) = first.split_once('\t').unwrap();
    let other = if node == "db2" { "db3" } else { "db2" };
    let wrong = right.replacen(first, &format!("{key}\t{other}"), 1) + "k\tdb9\n";
    let ran = dir.feed(&["check", "rrd.map", "--observed", "-"], wrong.as_bytes());
    let text = ran.text().to_owned();
    assert!(
        text.contains("1001 keys, of which 2 ")
            && text.contains("no node \"db9\", where 1 key was observed"),
        "{text}"
    );
    ran.fails(1, &["-: 2 keys are elsewhere than the map says"]);
    // a column that has no names is no flood of lines
    let numbers: String = (0..500).map(|n| format!("key{n}\t{}\n", n / 2)).collect();
    let ran = dir.feed(&["check", "rrd.map", "--observed", "-"], numbers.as_bytes());
    let text = ran.text().to_owned();
    let more =
        "\nand 240 such names more: is the name of the node behind the last tab of each line?\n";
    assert_eq!(text.matches("the map has no node").count(), 10, "{text}");
    assert!(text.contains(more), "{text}");
    for (lines, parts) in [
        ("a\tdb1\nb db2\n", &["-:2: write a key, a tab"][..]),
        ("", &["contains no keys"]),
    ] {
        dir.feed(&["check", "rrd.map", "--observed", "-"], lines.as_bytes())
            .fails(65, parts);
    }
    dir.run(&["check", "rrd.map", "--observed", "none.tsv"])
        .fails(66, &["none.tsv"]);
}

#[test]
fn the_fleet_of_a_ring_makes_no_map_of_its_own() {
    let dir = drawn();
    let fleet = text(&dir, "rrd.toml");
    let line = 1 + fleet
        .lines()
        .position(|line| line == "first_map = false")
        .unwrap();
    let place = format!("rrd.toml:{line}: first_map = false: this fleet goes on from a map");
    dir.run(&["apply", "rrd.toml", "rdr.map"])
        .fails(78, &[&place]);
    dir.run(&["plan", "rrd.toml", "rdr.map"])
        .fails(78, &[&place]);
    dir.run(&["plan", "rrd.toml", "rdr.map", "-o", "first.plan"])
        .fails(78, &[&place]);
    assert!(!dir.path("rdr.map").exists() && !dir.path("first.plan").exists());
    dir.write(
        "json.json",
        "{\"name\": \"m\", \"node\": [{\"name\": \"a\"}],\n\"guard\": {\"first_map\": false}}",
    );
    dir.run(&["apply", "json.json", "m.map"])
        .fails(78, &["json.json:2: first_map = false"]);
    // with its map it goes on, and who wants another map removes the line
    dir.run(&["apply", "rrd.toml", "rrd.map"]).ok();
    dir.write("new.toml", fleet.replace("first_map = false", ""));
    dir.run(&["apply", "new.toml", "new.map"]).ok();
}

#[test]
fn a_copy_on_any_node_of_its_key_is_where_the_map_says() {
    let dir = Dir::new();
    let node = |name: &str| format!("[[node]]\nname = \"{name}\"\n");
    let nodes = ["a", "b", "c", "d"].map(node).concat();
    dir.write("f.toml", format!("name = \"f\"\nreplicas = 2\n{nodes}"));
    dir.run(&["apply", "f.toml", "f.map"]).ok();
    let keys: String = (0..50).map(|n| format!("k{n}\n")).collect();
    let holders = dir.feed(&["locate", "f.map"], keys.as_bytes()).ok();
    let seconds: String = holders
        .text()
        .lines()
        .map(|line| {
            let (key, nodes) = line.split_once('\t').unwrap();
            format!("{key}\t{}\n", nodes.split(['\t', ',']).nth(1).unwrap())
        })
        .collect();
    let ran = dir.feed(&["check", "f.map", "--observed", "-"], seconds.as_bytes());
    assert!(
        ran.text().contains("50 keys, of which 0 "),
        "{}",
        ran.text()
    );
    assert_eq!(ran.code, Some(0));
}
