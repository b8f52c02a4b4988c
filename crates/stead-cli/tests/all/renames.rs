//! Nodes that are renamed, and whose former names the fleet drops: what compares epochs follows
//! them through the history.

use crate::program::Dir;

/// A map of four epochs: b becomes b2, the former name is dropped, and d comes.
fn renamed() -> Dir {
    let dir = Dir::new();
    for nodes in [
        &["a", "b", "c"][..],
        &["a", "b2\"\nformerly = \"b", "c"],
        &["a", "b2", "c"],
        &["a", "b2", "c", "d"],
    ] {
        let node = |name: &&str| format!("[[node]]\nname = \"{name}\"\n");
        let nodes: String = nodes.iter().map(node).collect();
        dir.write("f.toml", format!("name = \"m\"\n{nodes}"));
        dir.run(&["apply", "f.toml", "m.map"]).ok();
    }
    dir
}

#[test]
fn a_comparison_follows_a_node_through_the_epochs_in_between() {
    let dir = renamed();
    let diff = |arguments: &[&str]| {
        let all = [&["diff"], arguments].concat();
        dir.run(&all).ok().text().to_owned()
    };
    let text = diff(&["m.map.history/1", "m.map.history/3"]);
    assert!(text.contains("epoch 1 -> 3, moves nothing"), "{text}");
    assert!(text.contains("~ node b2 was b"), "{text}");
    let text = diff(&["m.map.history/1", "m.map"]);
    assert!(
        text.contains("moves 25.00 % (the least possible)"),
        "{text}"
    );
    // the way back
    let text = diff(&["m.map", "m.map.history/1"]);
    assert!(text.contains("epoch 4 -> 1, moves 25.00 %"), "{text}");
    // the control: copies of the two files alone know nothing
    for (from, to) in [("m.map.history/1", "one.map"), ("m.map", "four.map")] {
        dir.write(to, dir.read(from));
    }
    let text = diff(&["one.map", "four.map"]);
    assert!(text.contains("moves 50.00 %"), "{text}");
}

#[test]
fn keys_are_told_by_the_names_that_nodes_have_now() {
    let dir = renamed();
    let keys: String = (0..200).map(|i| format!("{i}\n")).collect();
    let said = dir.feed(
        &["diff", "m.map.history/1", "m.map", "--keys"],
        keys.as_bytes(),
    );
    let said = said.ok();
    let lines: Vec<&str> = said.text().lines().collect();
    assert!(lines.len() > 20);
    assert!(lines.iter().all(|line| line.ends_with("\td")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("\tb2\t")));
    assert!(!lines.iter().any(|line| line.contains("\tb\t")));
}

#[test]
fn a_rollback_over_a_forgotten_name_gives_the_old_one_back() {
    for (way, moves) in [("--exact", "25.00 %"), ("--least", "25.00 %")] {
        let dir = renamed();
        let told = format!("{way} (");
        dir.run(&["rollback", "m.map", "1"])
            .fails(64, &[&told, moves]);
        let said = dir.run(&["rollback", "m.map", "1", way]).ok();
        let head = said.text().lines().next().unwrap().to_owned();
        assert_eq!(
            head,
            format!("m: epoch 4 -> 5, moves {moves} (the least possible)")
        );
        // the slices of epochs 1 and 2 are back, or others with the same shares
        for before in ["m.map.history/1", "m.map.history/2"] {
            let text = dir.run(&["diff", before, "m.map"]).ok();
            let text = text.text();
            assert_eq!(text.contains("moves nothing"), way == "--exact", "{text}");
            assert!(
                !text.contains("+ node") && !text.contains("- node"),
                "{text}"
            );
        }
    }
}

#[test]
fn the_page_of_a_change_follows_a_node_and_names_the_files_as_they_are() {
    let dir = renamed();
    let digest = |map: &str| dir.run(&["show", map, "--json"]).json()["digest"].clone();
    let files = ["m.map.history/1", "m.map"];
    let page = dir.run(&["report", files[0], files[1], "-o", "-"]).ok();
    for file in files {
        assert!(
            page.text().contains(digest(file).as_str().unwrap()),
            "{file}"
        );
    }
    assert!(page.text().contains("25.00 %"));
    assert!(!page.text().contains("50.00 %"));
    let plot = ["plot", "moves", files[0], files[1], "-o", "moves.svg"];
    dir.run(&plot).ok();
    let svg = String::from_utf8(dir.read("moves.svg")).unwrap();
    assert!(svg.contains("25.0 %") && !svg.contains("50.0 %"), "{svg}");
}

#[test]
fn the_history_tells_what_was_dropped() {
    let dir = Dir::new();
    let fleet = |replicas: u32| {
        let nodes = ["a", "b", "c"].map(|name| format!("[[node]]\nname = \"{name}\"\n"));
        format!("name = \"m\"\nreplicas = {replicas}\n{}", nodes.concat())
    };
    for replicas in [3, 1] {
        dir.write("f.toml", fleet(replicas));
        dir.run(&["apply", "f.toml", "m.map", "--allow", "drop-copies"])
            .ok();
    }
    let text = dir.run(&["history", "m.map"]).ok();
    assert!(
        text.text().contains("R 3 -> 1 (drops 66.67 %)"),
        "{}",
        text.text()
    );
    let json = dir.run(&["history", "m.map", "--json"]).json();
    assert!(json["epochs"][0]["dropped"].is_null());
    let points = &json["epochs"][1]["dropped"]["points"];
    assert_eq!(*points, (2u128 << 64).to_string());
    // the page of the change begins with it
    let page = dir
        .run(&["report", "m.map.history/1", "m.map", "-o", "-"])
        .ok();
    let tiles = page.text().split("class=\"tiles\"").nth(1).unwrap();
    let [dropped, moves] = ["<dt>Dropped", "<dt>Moves"].map(|name| tiles.find(name).unwrap());
    assert!(dropped < moves);
}

#[test]
fn counts_in_the_place_of_keys_are_noted() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    let lines = |n: u32, between: char| -> String {
        (0..n).map(|i| format!("key{between}{i}\n")).collect()
    };
    let told = "every line ends with a tab and a number";
    let notes = |arguments: &[&str], input: &str| {
        let said = dir.feed(arguments, input.as_bytes());
        assert_eq!(said.code, Some(0), "{said:?}");
        said.err
    };
    for arguments in [
        &["locate", "m.map"][..],
        &["locate", "m.map", "--count"],
        &["diff", "m.map", "m.map", "--keys"],
    ] {
        assert!(
            notes(arguments, &lines(10, '\t')).contains(told),
            "{arguments:?}"
        );
        // the control: few lines, and another character
        assert!(notes(arguments, &lines(9, '\t')).is_empty());
        assert!(notes(arguments, &lines(10, ' ')).is_empty());
    }
    let sum = ["diff", "m.map", "m.map", "--sum", "-"];
    let told = "every line ends with a space and a number";
    assert!(notes(&sum, &lines(10, ' ')).contains(told));
    assert!(notes(&sum, &lines(10, '\t')).is_empty());
}

#[test]
fn files_in_the_wrong_order_are_named() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    dir.run(&["plan", "f.toml", "m.map", "-o", "next.plan"]);
    dir.write("g.toml", crate::program::fleet(&["a", "b", "c"]));
    dir.run(&["plan", "g.toml", "m.map", "-o", "next.plan"])
        .ok();
    for file in ["g.toml", "next.plan"] {
        let told = format!("the map comes last: `stead apply {file} m.map`");
        dir.run(&["apply", "m.map", file]).fails(64, &[&told]);
    }
    dir.run(&["apply", "m.map", "m.map"])
        .fails(64, &["this is a map; give a fleet file"]);
    let told = "the old map comes first: give m.map next.plan";
    dir.run(&["diff", "next.plan", "m.map"]).fails(64, &[told]);
}
