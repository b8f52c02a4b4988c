//! Fleets of three replicas over zones: what the outputs say about copies, primaries, domains and
//! caps.

use crate::program::{fields, points, Dir};
use serde_json::Value;

const SPACE: u128 = 1 << 64;

/// Returns a fleet of three replicas over zones. Each node is given as `ZONE NUMBER WEIGHT`.
fn zoned(nodes: &[&str]) -> String {
    let node = |node: &&str| {
        let [zone, number, weight] = node.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{node}")
        };
        format!(
            "[[node]]\nname = \"{zone}{number}\"\nweight = {weight}\nlabels = \
            {{ zone = \"{zone}\" }}\n"
        )
    };
    "name = \"members\"\nreplicas = 3\nspread = [\"zone\"]\n".to_owned()
        + &nodes.iter().map(node).collect::<String>()
}

/// A fleet in which zone a wants half of all copies and can have a third.
const UNEVEN: [&str; 6] = ["a 1 4", "a 2 2", "b 1 2", "b 2 1", "c 1 2", "c 2 1"];

fn list<'a>(value: &'a Value, field: &str) -> &'a Vec<Value> {
    value[field].as_array().unwrap()
}

#[test]
fn the_report_tells_what_is_wanted_and_why_it_cannot_be() {
    let dir = Dir::new();
    dir.write("f.toml", zoned(&UNEVEN));
    let report = dir.run(&["plan", "f.toml", "--json"]).json();
    assert_eq!(
        (
            &report["replicas"],
            &report["violations"],
            &report["pending_violations"]
        ),
        (&3.into(), &0.into(), &0.into())
    );
    assert!(report.get("to_come").is_none());
    let domains = list(&report, "domains");
    let plain = [
        "cap",
        "level",
        "loss",
        "nodes",
        "over_wanted",
        "path",
        "points",
        "target_points",
        "wanted_points",
    ];
    let with_reason = [
        "cap",
        "level",
        "loss",
        "nodes",
        "over_wanted",
        "path",
        "points",
        "reason",
        "target_points",
        "wanted_points",
    ];
    assert_eq!(
        (domains.len(), fields(&domains[0]), fields(&domains[1])),
        (3, with_reason.to_vec(), plain.to_vec())
    );
    for (domain, (name, wanted)) in domains.iter().zip([
        ("a", SPACE * 3 / 2),
        ("b", SPACE * 3 / 4),
        ("c", SPACE * 3 / 4),
    ]) {
        assert_eq!(
            (&domain["level"], &domain["path"]),
            (&"zone".into(), &vec![name].into())
        );
        assert_eq!((&domain["cap"], &domain["nodes"]), (&1.into(), &2.into()));
        assert_eq!(
            [points(&domain["points"]), points(&domain["target_points"])],
            [SPACE; 2]
        );
        assert_eq!(points(&domain["wanted_points"]), wanted);
    }
    assert_eq!(
        domains[0]["reason"],
        "zone a can hold at most one of 3 copies: 33.3 % instead of 50.0 %"
    );
    for node in list(&report, "nodes") {
        let (has, primary) = (points(&node["points"]), points(&node["primary_points"]));
        assert_eq!(node["points"], node["target_points"]);
        assert!((has / 3..=has.div_ceil(3)).contains(&primary), "{node}");
        let capped = node["name"].as_str().unwrap().starts_with('a');
        assert_eq!(points(&node["wanted_points"]) > has, capped, "{node}");
        assert_eq!(
            node.get("reason").map(|r| r.as_str().unwrap()),
            capped.then_some("zone a can hold at most one of 3 copies")
        );
    }
}

#[test]
fn people_read_of_primaries_domains_and_each_reason_once() {
    let dir = Dir::new();
    dir.write("f.toml", zoned(&UNEVEN));
    let planned = dir.run(&["plan", "f.toml"]).ok();
    let text = planned.text();
    assert!(
        text.starts_with("members: first map, epoch 1, 6 nodes, 3 replicas, "),
        "{text}"
    );
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let has_line = |words: &[&str]| {
        let starts = |line: &&Vec<&str>| line.starts_with(words);
        assert!(lines.iter().any(|line| starts(&line)), "{words:?}: {text}");
    };
    has_line(&["level", "domain", "nodes", "wanted", "share", "losing"]);
    has_line(&[
        "zone", "a", "2", "50.00", "%", "33.33", "%", "1", "of", "3", "copies,",
    ]);
    has_line(&["node", "weight", "wanted", "share"]);
    has_line(&["a1", "4", "33.33", "%", "22.22", "%"]);
    assert_eq!(text.matches("can hold at most one").count(), 1, "{text}");
    let reason = "zone a can hold at most one of 3 copies: 33.3 % instead of 50.0 %\n";
    assert!(text.contains(reason), "{text}");
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let shown = dir.run(&["show", "m.map"]).ok();
    assert!(shown.text().ends_with(reason), "{shown:?}");
    let heading = "\nnode  weight        share      primary                points";
    assert!(shown.text().contains(heading), "{shown:?}");
    let json = dir.run(&["show", "m.map", "--json"]).json();
    assert_eq!(
        json["domains"],
        dir.run(&["plan", "f.toml", "--json"]).json()["domains"]
    );
    assert_eq!(
        json["nodes"][0]["reason"],
        "zone a can hold at most one of 3 copies"
    );
}

#[test]
fn a_node_that_wants_more_than_every_point_is_told_so() {
    let dir = Dir::new();
    dir.write(
        "f.toml",
        "name = \"m\"\nreplicas = 2\n[[node]]\nname = \"big\"\nweight = \
        8\n[[node]]\nname = \"x\"\n[[node]]\nname = \"y\"\n",
    );
    let planned = dir.run(&["plan", "f.toml"]).ok();
    assert!(
        planned
            .text()
            .contains(" node big can hold at most one of 2 copies: 50.0 % instead of 80.0 %\n"),
        "{planned:?}"
    );
    assert!(
        !planned.text().contains("level"),
        "without spread there are no domains: {planned:?}"
    );
}

#[test]
fn every_key_lives_in_three_zones() {
    let dir = Dir::new();
    dir.write("f.toml", zoned(&UNEVEN));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let keys: String = (0..1000).map(|i| format!("user:{i}\n")).collect();
    let found = dir.feed(&["locate", "m.map"], keys.as_bytes()).ok();
    for line in found.text().lines() {
        let mut zones: Vec<char> = line
            .split_once('\t')
            .unwrap()
            .1
            .split(',')
            .map(|node| node.chars().next().unwrap())
            .collect();
        zones.sort_unstable();
        assert_eq!(zones, ['a', 'b', 'c'], "{line}");
    }
    assert!(dir
        .run(&["check", "m.map"])
        .ok()
        .text()
        .lines()
        .all(|line| ["members", "ok ", "   "]
            .iter()
            .any(|start| line.starts_with(start))));
}

#[test]
fn a_gradual_change_tells_what_is_still_to_come_and_who_is_leaving() {
    let dir = Dir::new();
    dir.write("f.toml", zoned(&UNEVEN));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let target = [&UNEVEN[..2], &["b 3 2"], &UNEVEN[3..]].concat();
    dir.write("g.toml", zoned(&target));
    let whole = dir.run(&["plan", "g.toml", "m.map", "--json"]).json();
    let step = dir
        .run(&["plan", "g.toml", "m.map", "--max-move", "5%", "--json"])
        .json();
    assert!(
        step["to_come"]["fraction"].as_f64().unwrap() > 0.1,
        "{step}"
    );
    assert_eq!(
        points(&step["moved"]["points"]) + points(&step["to_come"]["points"]),
        points(&whole["moved"]["points"])
    );
    let applied = dir
        .run(&["apply", "g.toml", "m.map", "--max-move", "5%"])
        .ok();
    let first = applied
        .text()
        .split("\n\n")
        .next()
        .unwrap()
        .replace("\n ", "");
    let told = ", moves 5.00 % (the least possible), step 1 of about 5, 17.22 % still to come";
    assert!(first.contains(told), "{first}");
    assert!(
        applied
            .text()
            .contains("\nb1 (leaving)  2 -> 0   0.00 %  17.22 %  "),
        "{applied:?}"
    );
    let shown = dir.run(&["show", "m.map"]).ok();
    assert!(
        shown.text().contains(
            "\nchange  [####..............] step 1 of about 5, 17.222222 % still to come\n"
        ),
        "{shown:?}"
    );
    assert!(
        shown.text().contains("\nb1 (leaving)       0  17.222222 %"),
        "{shown:?}"
    );
    let json = dir.run(&["show", "m.map", "--json"]).json();
    assert_eq!(
        (&json["to_come"], &json["nodes"][2]["leaving"]),
        (&step["to_come"], &true.into())
    );
    assert!(json["nodes"][0].get("leaving").is_none());
    let done = dir.run(&["apply", "g.toml", "m.map", "--json"]).json();
    assert!(
        done.get("to_come").is_none() && done["violations"] == 0,
        "{done}"
    );
    assert!(dir
        .run(&["show", "m.map", "--json"])
        .json()
        .get("to_come")
        .is_none());
}

#[test]
fn slices_that_are_not_there_yet_are_pending_and_no_violations() {
    let dir = Dir::new();
    // a slice has two copies until the gradual change adds the third
    dir.write(
        "f.toml",
        zoned(&UNEVEN).replace("replicas = 3", "replicas = 2"),
    );
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write("g.toml", zoned(&UNEVEN));
    let applied = dir
        .run(&["apply", "g.toml", "m.map", "--max-move", "5%", "--json"])
        .json();
    assert_eq!(applied["violations"], 0);
    let pending = applied["pending_violations"].as_u64().unwrap();
    assert!(pending > 1, "{applied}");
    let line = format!(
        "\n{pending} slices do not have exactly 3 nodes, or exceed the cap of a domain, until the \
        change that is under way reaches them\n"
    );
    for verb in [
        &["show", "m.map"][..],
        &["diff", "m.map.history/1", "m.map"],
    ] {
        let ran = dir.run(verb).ok();
        assert!(ran.text().contains(&line), "{ran:?}");
    }
    assert_eq!(
        dir.run(&["check", "m.map", "--json"]).json()["pending_violations"],
        pending
    );
}

#[test]
fn another_primary_is_told_as_reordered() {
    let maps = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/maps");
    let dir = Dir::new();
    let pair = [
        format!("{maps}/replicas.map"),
        format!("{maps}/copies-turned.map"),
    ];
    let ran = dir.run(&["diff", &pair[0], &pair[1]]).ok();
    // three eighths of the points get another primary, and one eighth moves; the percentages are of
    // all copies, and each point has three
    let first = ran.text().lines().next().unwrap();
    assert_eq!(
        first,
        "copies: epoch 1 -> 2, moves 4.17 % (the least possible)"
    );
    let line = "\ncopies    copied 4.17 %, dropped 0.00 %, reordered 12.50 % (of all 3 copies)\n";
    assert!(ran.text().contains(line), "{ran:?}");
    let json = dir.run(&["diff", &pair[0], &pair[1], "--json"]).json();
    assert_eq!(json["reordered"]["fraction"], 0.125);
    let same = dir.run(&["diff", &pair[1], &pair[1]]).ok();
    assert!(
        same.text()
            .contains("\ncopies    nothing is copied, dropped, reordered or pinned\n"),
        "{same:?}"
    );
}

#[test]
fn people_are_told_how_many_slices_break_a_rule() {
    let dir = Dir::new();
    let lists = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/maps/lists.map");
    let line = "\n3 slices do not have exactly 1 node, or exceed the cap of a domain\n";
    for verb in [&["show", lists][..], &["diff", lists, lists]] {
        let ran = dir.run(verb).ok();
        assert!(ran.text().contains(line), "{ran:?}");
    }
    assert_eq!(dir.run(&["show", lists, "--json"]).json()["violations"], 3);
}

#[test]
fn the_history_divides_each_epoch_by_its_own_replicas() {
    let fleet = |replicas: u32| {
        format!("name = \"m\"\nreplicas = {replicas}\nnode = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n")
    };
    let dir = Dir::new();
    for replicas in [1, 2, 1] {
        dir.write("f.toml", fleet(replicas));
        let allow = "take-back,drop-copies";
        dir.run(&["apply", "f.toml", "m.map", "--allow", allow])
            .ok();
    }
    let ran = dir.run(&["history", "m.map"]).ok();
    let moved: Vec<&str> = ran
        .text()
        .lines()
        .skip(2)
        .map(|line| {
            line.trim_start_matches([' ', '*'])
                .split_whitespace()
                .nth(4)
                .unwrap()
        })
        .collect();
    let json = dir.run(&["history", "m.map", "--json"]).json();
    let fractions: Vec<f64> = json["epochs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|epoch| epoch["moved"]["fraction"].as_f64().unwrap())
        .collect();
    // first one of two copies is new, then none
    assert_eq!(moved, ["0.00", "50.00", "0.00"]);
    assert_eq!(fractions, [0.0, 0.5, 0.0]);
}

#[test]
fn a_plan_says_for_which_keys_a_new_copy_answers_first() {
    let dir = Dir::new();
    let node = |name: &str, place: &str| {
        format!("[[node]]\nname = \"{name}\"\nlabels = {{ place = \"{place}\" }}\n")
    };
    let stores: String = ["store1", "store2"].map(|name| node(name, "hall")).concat();
    let fleet = |replicas: u32, more: &str| {
        format!("name = \"m\"\nreplicas = {replicas}\nspread = [\"place\"]\n{stores}{more}")
    };
    dir.write("f.toml", fleet(1, ""));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    // a backup of all keys comes, and each node answers first for half of its copies
    let backup = node("backup", "cellar").replace("\nlabels", "\nweight = 2\nlabels");
    dir.write("f.toml", fleet(2, &backup));
    let text = dir.run(&["plan", "f.toml", "m.map"]).ok();
    let line = "\n          a new copy answers first for 50.00 % of the keys\n";
    assert!(text.text().contains(line), "{}", text.text());
    let json: Value = dir.run(&["plan", "f.toml", "m.map", "--json"]).ok().json();
    assert_eq!(json["new_first"]["fraction"], 0.5);
    assert_eq!(json["new_first"]["points"], (1_u64 << 63).to_string());
    // with as many copies as before there is nothing to say
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write("f.toml", fleet(2, &(backup + &node("store3", "hall"))));
    let text = dir.run(&["plan", "f.toml", "m.map"]).ok();
    assert!(!text.text().contains("answers first"));
    let json: Value = dir.run(&["plan", "f.toml", "m.map", "--json"]).ok().json();
    assert!(json.get("new_first").is_none());
}
