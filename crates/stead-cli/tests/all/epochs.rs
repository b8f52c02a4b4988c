//! The story of a map: `history` with its log, `rollback` in its two ways, and how far a gradual
//! change has come.

use crate::program::Dir;
use serde_json::Value;
use stead::format::{encode, NodePart, PolicyPart, TargetPart};
use stead::policy::{NodeId, PolicyId};
use stead::weight::Weight;
use stead::{Map, Point};

/// A fleet of nodes with these weights; a node of weight 0 is left out.
fn weighted(weights: [u32; 5], head: &str) -> String {
    let node = |(name, weight): (usize, u32)| match weight {
        0 => String::new(),
        weight => format!("[[node]]\nname = \"n{name}\"\nweight = {weight}\n"),
    };
    let nodes: String = (0..).zip(weights).map(node).collect();
    format!("name = \"m\"\n{head}{nodes}")
}

/// Four epochs, of which the first is far from the last.
fn four() -> Dir {
    let dir = Dir::new();
    for (weights, head) in [
        ([1, 1, 1, 0, 0], "replicas = 2\n"),
        ([1, 2, 1, 1, 0], "replicas = 2\n"),
        ([3, 1, 0, 2, 1], "replicas = 2\n"),
        (
            [1, 1, 0, 1, 3],
            "replicas = 3\npin = [{ key = \"justin\", nodes = [\"n0\", \"n1\", \"n3\"] }]\n",
        ),
    ] {
        dir.write("f.toml", weighted(weights, head));
        dir.run(&["apply", "f.toml", "m.map"]).ok();
    }
    dir
}

#[test]
fn a_rollback_that_moves_data_says_which_nodes_keep_their_attributes() {
    let dir = Dir::new();
    let apply = |address: &str, more: &str| {
        let nodes =
            format!("{{name = 'a', attributes = {{address = '{address}'}}}}, {{name = 'b'}}");
        dir.write("f.toml", format!("name = 'm'\nnode = [{nodes}{more}]\n"));
        dir.run(&["apply", "f.toml", "m.map"]).ok();
    };
    apply("1", "");
    apply("1", ", {name = 'c'}");
    apply("2", ", {name = 'c'}");
    let told = "! node a keeps the attributes of now, such as an address: data has moved since";
    for options in [&["--dry-run"][..], &["--carry"]] {
        let all = [&["rollback", "m.map", "1", "--exact"], options].concat();
        let said = dir.run(&all).ok();
        assert!(said.text().contains(told), "{}", said.text());
    }
    dir.run(&["carry", "m.map", "reverse"]).ok();
    dir.run(&["carry", "m.map", "close", "--confirmed", "5"])
        .ok();
    // where no data has moved, the attributes are what goes back
    apply("4", ", {name = 'c'}");
    let said = dir.run(&["rollback", "m.map", "6", "--exact"]).ok();
    assert!(!said.text().contains("keeps"), "{}", said.text());
    let fleet = dir.run(&["show", "m.map", "--fleet"]).out;
    assert!(String::from_utf8_lossy(&fleet).contains("address = \"2\""));
}

#[test]
fn a_log_that_cannot_be_written_is_told_and_the_map_is_in_place() {
    let dir = four();
    std::fs::remove_file(dir.path("m.map.history/log")).unwrap();
    std::fs::create_dir(dir.path("m.map.history/log")).unwrap();
    let note = |epoch: u64| {
        format!(
            "stead: cannot write m.map.history/log: Is a directory (os error 21); so `stead \
             history` cannot say who made epoch {epoch}, and why\n"
        )
    };
    dir.write("f.toml", weighted([1, 1, 1, 1, 1], ""));
    let run = dir.run(&["apply", "f.toml", "m.map", "--allow", "drop-copies"]);
    assert_eq!((run.code, run.err), (Some(0), note(5)));
    let run = dir.run(&["rollback", "m.map", "4"]);
    assert_eq!((run.code, run.err), (Some(0), note(6)));
    dir.write("f.toml", weighted([1, 1, 1, 2, 3], "replicas = 3\n"));
    let run = dir.run(&["apply", "f.toml", "m.map", "--carry"]);
    assert_eq!((run.code, run.err), (Some(0), note(7)));
    let run = dir.run(&["carry", "m.map", "next", "--confirmed", "7"]);
    assert_eq!((run.code, run.err), (Some(0), note(8)));
}

/// Runs the program as anna on the host ops1, at a fixed time.
fn as_anna(dir: &Dir, arguments: &[&str]) -> String {
    let mut command = dir.command(arguments);
    command
        .envs([
            ("SUDO_USER", ""),
            ("LOGNAME", "anna"),
            ("HOSTNAME", "ops1.example.org"),
        ])
        .env("SOURCE_DATE_EPOCH", "1795381740");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// From three copies to one, on new nodes: all of that one copy moves, a third of all copies.
#[test]
fn a_part_is_of_the_map_with_more_copies_in_every_output() {
    let dir = Dir::new();
    dir.write("f.toml", weighted([1, 1, 1, 0, 0], "replicas = 3\n"));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write("f.toml", weighted([0, 0, 0, 1, 1], ""));
    let plan = dir.run(&["plan", "f.toml", "m.map", "--json"]).json();
    assert_eq!(plan["moved"], plan["copies"]["copied"]);
    assert_eq!(plan["moved"]["fraction"], 1.0 / 3.0);
    assert_eq!(plan["lower_bound"], plan["moved"]);
    dir.run(&["apply", "f.toml", "m.map", "--allow", "drop-copies"])
        .ok();
    let history = dir.run(&["history", "m.map", "--json"]).json();
    let epochs = history["epochs"].as_array().unwrap();
    let newest = epochs.iter().find(|epoch| epoch["epoch"] == 2).unwrap();
    assert_eq!(newest["moved"], plan["moved"]);
    // the epoch before is gone, and the log still knows
    std::fs::remove_file(dir.path("m.map.history/1")).unwrap();
    let history = dir.run(&["history", "m.map", "--json"]).json();
    let epochs = history["epochs"].as_array().unwrap();
    let newest = epochs.iter().find(|epoch| epoch["epoch"] == 2).unwrap();
    assert_eq!(newest["moved"], plan["moved"]);
    let said = dir.run(&["history", "m.map"]).ok();
    assert!(said.text().contains("33.33 %"), "{}", said.text());
}

#[test]
fn check_finds_a_damaged_epoch_of_the_history() {
    let dir = Dir::new();
    dir.apply(&["a"]);
    dir.apply(&["a", "b"]);
    dir.apply(&["a", "b", "c"]);
    dir.run(&["check", "m.map"]).ok();
    let [first, second] = ["m.map.history/1", "m.map.history/2"].map(|file| dir.path(file));
    let kept = std::fs::read(&second).unwrap();
    for (bytes, problem) in [
        (b"garbage".to_vec(), "this is not a stead map"),
        (std::fs::read(&first).unwrap(), "is named 2 but has epoch 1"),
        (kept[..kept.len() - 1].to_vec(), "m.map.history/2"),
    ] {
        std::fs::write(&second, bytes).unwrap();
        let said = dir.run(&["check", "m.map"]);
        // the check says it once, in lines of its own
        let text = said.text().split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["an epoch of the history is damaged", problem] {
            assert!(text.contains(part), "{text}");
        }
        let said = said.fails(1, &["m.map: the check of its history failed"]);
        assert!(!said.err.contains("damaged"), "{said:?}");
        let json = dir.run(&["check", "m.map", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&json.out).unwrap();
        assert_eq!(json["ok"], false, "{json}");
    }
    // an epoch that is not kept is no damage, and neither is a history that was not shipped
    std::fs::remove_file(&second).unwrap();
    dir.run(&["check", "m.map"]).ok();
    std::fs::remove_dir_all(dir.path("m.map.history")).unwrap();
    dir.run(&["check", "m.map"]).ok();
}

#[test]
fn the_history_tells_when_who_what_and_why_within_80_columns() {
    let dir = Dir::new();
    dir.write("f.toml", weighted([1, 1, 1, 0, 0], ""));
    as_anna(&dir, &["apply", "f.toml", "m.map"]);
    dir.write(
        "f.toml",
        weighted([1, 2, 1, 1, 1], "spread = [\"zone\"]\n")
            .replace("[[node]]\n", "[[node]]\nlabels = { zone = \"a\" }\n"),
    );
    let note = "room for Black Friday, ticket 4711; the two new ones stand in the old rack of the mail servers";
    as_anna(&dir, &["apply", "f.toml", "m.map", "--note", note]);
    as_anna(
        &dir,
        &["rollback", "m.map", "1", "--note", "n3 was too slow"],
    );
    let text = as_anna(&dir, &["history", "m.map"]);
    let indent = " ".repeat(46);
    assert_eq!(
        text,
        format!(
            "m: epoch 3 is current (*)\n\
         epoch  time (UTC)        who           moved  change\n    \
             1  2026-11-22 21:09  anna@ops1    0.00 %  first map, 3 nodes\n    \
             2  2026-11-22 21:09  anna@ops1   33.33 %  +n3, +n4, n1 1 -> 2, labels of 3\n{indent}\
                nodes, spread none -> zone\n       \
                room for Black Friday, ticket 4711; the two new ones stand in the old\n       \
                rack of the mail servers\n  \
           * 3  2026-11-22 21:09  anna@ops1   33.33 %  back to epoch 1: -n3, -n4, n1 2 ->\n{indent}\
                1, labels of 3 nodes, spread zone\n{indent}\
                -> none\n       \
                n3 was too slow\n"
        )
    );
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    let json = dir.run(&["history", "m.map", "--json"]).json();
    let second = &json["epochs"][1];
    assert_eq!(
        [&second["time"], &second["who"], &second["note"]],
        ["2026-11-22T21:09:00Z", "anna@ops1", note]
    );
    let change = second["change"].as_str().unwrap();
    assert!(
        change.ends_with("labels of 3 nodes, spread none -> zone"),
        "{change}"
    );
    // without the log the epochs still list, with what the maps tell
    std::fs::write(dir.path("m.map.history/log"), "\u{0}torn").unwrap();
    let text = as_anna(&dir, &["history", "m.map"]);
    assert!(
        text.contains("\n  * 3  -                 -     33.33 %  -n3, -n4, n1 2 -> 1"),
        "{text}"
    );
    // a note with an escape sequence is refused, and one in the file is not obeyed
    dir.run(&["apply", "f.toml", "m.map", "--note", "\u{1b}[2J"])
        .fails(64, &["the note has a control character"]);
    let line = std::fs::read_to_string(dir.path("m.map.history/log")).unwrap();
    assert_eq!(line, "\u{0}torn");
}

#[test]
fn the_history_tells_how_a_carry_ended_within_80_columns() {
    let dir = Dir::new();
    dir.write("f.toml", weighted([1, 1, 1, 0, 0], ""));
    as_anna(&dir, &["apply", "f.toml", "m.map"]);
    let more = "[[node]]\nname = \"photos-7\"\n[[node]]\nname = \"photos-8\"\n";
    dir.write("f.toml", weighted([1, 1, 1, 0, 0], more));
    as_anna(&dir, &["apply", "f.toml", "m.map", "--carry"]);
    as_anna(&dir, &["carry", "m.map", "reverse"]);
    as_anna(&dir, &["carry", "m.map", "close", "--confirmed", "3"]);
    let text = as_anna(&dir, &["history", "m.map"]);
    let of_last = text.split("* 4").nth(1).unwrap();
    let words: Vec<&str> = of_last.split_whitespace().collect();
    assert!(
        words.ends_with(&["carry:", "closed", "(reversed)"]),
        "{text}"
    );
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn an_older_epoch_needs_a_word_and_both_figures_are_shown() {
    let dir = four();
    let before = dir.everything();
    let refused = dir.run(&["rollback", "m.map", "1"]).fails(
        64,
        &[
            "epoch 1 is 3 epochs back",
            "--exact (its slices again) moves ",
            "--least (its fleet",
            "; either drops 1 of 3 copies of each key",
        ],
    );
    assert_eq!(dir.everything(), before);
    // the dry run of either shows both, and they are what the two really move
    let moved = |way: &str| -> f64 {
        let json = dir
            .run(&["rollback", "m.map", "1", way, "--dry-run", "--json"])
            .json();
        // epoch 4 has three copies, and epoch 1 two
        let points: f64 = json["moved"]["points"].as_str().unwrap().parse().unwrap();
        points / (3.0 * 2f64.powi(64)) * 100.0
    };
    let (exact, least) = (moved("--exact"), moved("--least"));
    assert!(least < exact, "{least} {exact}");
    for way in ["--exact", "--least"] {
        let text = dir.run(&["rollback", "m.map", "1", way, "--dry-run"]).ok();
        for (option, part) in [("--exact", exact), ("--least", least)] {
            let line = format!("\n{option}  moves {part:>10.6} %  its ");
            assert!(text.text().contains(&line), "{line} {text:?}");
            let drops = "\neither drops 1 of 3 copies of each key\n";
            assert!(text.text().ends_with(drops), "{text:?}");
            let hundredths = (part * 100.0).round() / 100.0;
            assert!(
                refused.err.contains(&format!("moves {hundredths:.2} %")),
                "{refused:?}"
            );
        }
        for change in [
            "+ node n2 ",
            "- 2 nodes (n3, n4)",
            "~ replicas 3 -> 2",
            "- pin \"justin\"",
        ] {
            assert!(text.text().contains(change), "{change} {text:?}");
        }
    }
    assert_eq!(dir.everything(), before);
    // step by step, with the least movement
    dir.run(&["rollback", "m.map", "1", "--exact", "--max-move", "5%"])
        .fails(64, &["--max-move needs --least"]);
    let step = [
        "rollback",
        "m.map",
        "1",
        "--least",
        "--max-move",
        "20%",
        "--allow",
        "drop-copies",
    ];
    let text = dir.run(&step).ok();
    assert!(text.text().contains(", step 1 of about "), "{text:?}");
    let mut steps = 1;
    while dir
        .run(&["show", "m.map"])
        .ok()
        .text()
        .contains("\nchange  [")
    {
        dir.run(&step).ok();
        steps += 1;
        assert!(steps < 10);
    }
    assert!(steps > 1);
    let fleet = |map: &str| dir.run(&["show", map, "--fleet"]).text().to_owned();
    assert_eq!(fleet("m.map"), fleet("m.map.history/1"));
}

#[test]
fn check_says_the_step_and_how_many_slices_are_to_come() {
    let dir = Dir::new();
    dir.write("f.toml", weighted([1, 1, 1, 0, 0], ""));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write("f.toml", weighted([1, 1, 1, 1, 0], ""));
    let apply = ["apply", "f.toml", "m.map", "--max-move", "10%"];
    dir.run(&apply).ok();
    let planned = dir
        .run(&["plan", "f.toml", "m.map", "--max-move", "10%"])
        .ok();
    let first = planned.text().split("\n\n").next().unwrap();
    let first = first.replace("\n ", "");
    let told = ", step 2 of about 3, 5.00 % still to come";
    assert!(first.contains(told), "{first}");
    dir.run(&apply).ok();
    let text = dir.run(&["check", "m.map"]).ok();
    assert!(
        text.text().contains(
            "\nok      gradual     step 2 of about 3, 1 slice still to come; the rules are\n\
             \x20                   checked for its end\n"
        ),
        "{text:?}"
    );
    let json = dir.run(&["check", "m.map", "--json"]).json();
    assert_eq!(
        [
            &json["gradual"]["step"],
            &json["gradual"]["steps"],
            &json["gradual"]["slices_to_come"]
        ],
        [2, 3, 1]
    );
    let last = dir.run(&apply).ok();
    let first = last.text().lines().next().unwrap();
    assert!(first.ends_with(", step 3 of 3"), "{first}");
    let json = dir.run(&["check", "m.map", "--json"]).json();
    assert!(json.get("gradual").is_none(), "{json}");
}

#[test]
fn check_warns_of_a_domain_in_which_no_node_can_hold() {
    let dir = Dir::new();
    let node = |name: &str, weight: u32| {
        let zone = &name[..1];
        format!(
            "[[node]]\nname = \"{name}\"\nweight = {weight}\nlabels = {{ zone = \"{zone}\" }}\n"
        )
    };
    let nodes = [node("a1", 1), node("b1", 1), node("c1", 0), node("c2", 0)].concat();
    dir.write(
        "f.toml",
        format!("name = \"m\"\nreplicas = 2\nspread = [\"zone\"]\n{nodes}"),
    );
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let text = dir.run(&["check", "m.map"]).ok();
    assert!(
        text.text().ends_with(
            "warn    spread      zone c has no node with a weight above 0, so it holds no copies\n"
        ),
        "{text:?}"
    );
}

#[test]
fn check_repeats_what_the_plan_of_a_fleet_warned_of() {
    let dir = Dir::new();
    let node = |name: &str, zone: &str, dsn: &str| {
        format!(
            "[[node]]\nname = '{name}'\nlabels = {{ zone = '{zone}' }}\nattributes = {{ dsn = '{dsn}' }}\n"
        )
    };
    let nodes = [
        node("db1", "north", "h1"),
        node("db2", "north", "h1"),
        node("db3", "North", "h3"),
        node("db4", "south", "h4"),
    ]
    .concat();
    dir.write(
        "f.toml",
        format!("name = 'm'\nreplicas = 2\nspread = ['zone']\n{nodes}"),
    );
    let planned = dir.run(&["plan", "f.toml", "m.map"]).ok();
    assert!(
        planned
            .text()
            .contains("! db1, db2 have the same dsn, \"h1\": is it a slip?\n"),
        "{planned:?}"
    );
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let text = dir.run(&["check", "m.map"]).ok();
    let told = "\
warn    fleet       db1, db2 have the same dsn, \"h1\": is it a slip?
warn    fleet       zone \"north\" (2 nodes) and zone \"North\" (1 node) are two
                    domains and look alike: is one a slip?
";
    assert!(text.text().ends_with(told), "{text:?}");
    let json = dir.run(&["check", "m.map", "--json"]).json();
    let codes: Vec<&Value> = (json["warnings"].as_array().unwrap().iter())
        .map(|warning| &warning["code"])
        .collect();
    assert_eq!(codes, ["attribute-shared", "labels-alike"]);
    assert_eq!(json["ok"], true);
}

#[test]
fn names_that_look_alike_or_have_white_space_around_them_are_asked_about() {
    let dir = Dir::new();
    let all =
        "name = 'm'\nnode = [{name = 'db1'}, {name = 'DB1'}, {name = ' db2'}, {name = 'db3'}]\n";
    dir.write("f.toml", all);
    let first = dir.run(&["apply", "f.toml", "m.map"]).ok();
    let spaces = "the name of node \" db2\" begins or ends with white space: is it a slip?";
    let alike = "\"DB1\" and \"db1\" are two nodes and look alike: is one a slip?";
    for said in [spaces, alike] {
        assert!(first.text().contains(said), "{first:?}");
    }
    // the map is sound, and check says so again
    let check = dir.run(&["check", "m.map"]).ok();
    assert_eq!(
        check.text().matches("warn    fleet").count(),
        2,
        "{check:?}"
    );
    // what was there before is not said with each change, and what is new is
    dir.write(
        "f.toml",
        all.replace("{name = 'db3'}", "{name = 'db3'}, {name = 'db 3'}"),
    );
    let json = dir.run(&["plan", "f.toml", "m.map", "--json"]).json();
    let told = json["warnings"].as_array().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["code"], "names-alike");
}

#[test]
fn a_step_that_takes_a_node_above_its_shares_is_foretold() {
    // four nodes with a quarter of 1,000 cells each give all they have to the next one
    let file = "../../tests/maps/cells-1000.map";
    let map = Map::open_uncached(std::path::Path::new(file)).unwrap();
    let mut parts = map.to_parts();
    let names = ["a", "b", "c", "d"];
    parts.nodes = names
        .iter()
        .map(|name| NodePart {
            name: (*name).to_owned(),
            formerly: String::new(),
            weight: Weight::ONE,
            labels: Vec::new(),
            attributes: Vec::new(),
        })
        .collect();
    parts.policies = (0..4)
        .map(|node| PolicyPart {
            name: None,
            kind: String::new(),
            weight: None,
            members: vec![NodeId(node)],
        })
        .collect();
    let quarter = |i: u32| Point(parts.cells.bound(u128::from(i) * 250) as u64);
    parts.base = (0..4).map(|i| (quarter(i), PolicyId(i))).collect();
    let slices = (0..4).map(|i| (quarter(i), PolicyId((i + 1) % 4)));
    parts.target = Some(TargetPart {
        slices: slices.collect(),
        leaving: Vec::new(),
    });
    (parts.replicas, parts.max_slices) = (1, None);
    (parts.spread, parts.pins) = (Vec::new(), Vec::new());
    let dir = Dir::new();
    dir.write("m.map", encode(&parts));
    let toml = dir.run(&["show", "m.map", "--fleet"]);
    assert_eq!(toml.code, Some(0), "{toml:?}");
    dir.write("f.toml", toml.text());
    // two cells do not suffice to take one of each node
    let text = dir
        .run(&["plan", "f.toml", "m.map", "--max-move", "0.25%"])
        .ok();
    assert!(
        text.text().contains(
            "\nnode b holds 25.200000 % after this step: more than 25.000000 % before and \
             25.000000 % at the end\n"
        ),
        "{text:?}"
    );
    // four do
    let text = dir
        .run(&["plan", "f.toml", "m.map", "--max-move", "0.45%"])
        .ok();
    assert!(!text.text().contains("after this step"), "{text:?}");
}
