//! `what-if`, `who`, `init`, `fleet` and `show --band`: the real program.

use std::collections::BTreeMap;
use std::os::unix::fs::{symlink, PermissionsExt};

use crate::program::{fields, points, Dir};
use stead::{Fleet, Map};

const ZONES: &str = "name = \"m\"\nreplicas = 3\nspread = [\"zone\"]\n\
    node = [\n\
    { name = \"a1\", labels = { zone = \"a\", rack = \"1\" } },\n\
    { name = \"a2\", labels = { zone = \"a\", rack = \"2\" } },\n\
    { name = \"b1\", labels = { zone = \"b\", rack = \"1\" } },\n\
    { name = \"b2\", labels = { zone = \"b\", rack = \"2\" } },\n\
    { name = \"c1\", labels = { zone = \"c\", rack = \"1\" } },\n\
    { name = \"c=x\", labels = { zone = \"c\", rack = \"2,3\" } },\n\
    ]\n\
    [[policy]]\nname = \"wide\"\nnodes = [\"a1\", \"b1\", \"c1\", \"a2\"]\n\
    [[pin]]\nkey = \"justin\"\npolicy = \"wide\"\n";

fn zones() -> Dir {
    let dir = Dir::new();
    dir.write("fleet.toml", ZONES);
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    dir
}

#[test]
fn down_takes_nodes_labels_and_nested_domains() {
    let dir = zones();
    let down = |words: &[&str]| -> Vec<String> {
        let mut arguments = vec!["what-if", "m.map", "--json"];
        words
            .iter()
            .for_each(|word| arguments.extend(["--down", word]));
        let json = dir.run(&arguments).json();
        let names = json["down"].as_array().unwrap();
        names
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(down(&["zone=a"]), ["a1", "a2"]);
    assert_eq!(down(&["zone=b,rack=2"]), ["b2"]);
    assert_eq!(down(&["rack=1", "a2", "a1"]), ["a1", "a2", "b1", "c1"]);
    assert_eq!(down(&["c=x"]), ["c=x"]);
    assert_eq!(down(&["rack=2,3"]), ["c=x"]);
    for (word, said) in [
        ("b3", "no node `b3`; did you mean b1?"),
        ("b", "no node `b`; did you mean zone=b?"),
        (
            "a1,a2",
            "no node `a1,a2`; give the option once for each node, or as LABEL=VALUE for all that \
             have it",
        ),
        ("a1,b3", "no node `a1,b3`; give the option once for each"),
        (
            "zone=a,zone=b",
            "all of zone=a,zone=b; give the option once for each value of a label",
        ),
        ("zone=d", "no node with zone=d; known are a, b, c"),
        ("zoen=a", "no label `zoen`; did you mean zone?"),
        (
            "zone=a,rack=2,3",
            "`3` in zone=a,rack=2,3 is not LABEL=VALUE",
        ),
        ("zone=c,rack=2", "no node with all of zone=c,rack=2"),
    ] {
        dir.run(&["what-if", "m.map", "--down", word])
            .fails(64, &[said]);
    }
    for (arguments, said) in [
        (&["who", "m.map", "a1,a2"][..], "one node at a time"),
        (&["check", "m.map", "--off", "a1,a2"], "one node at a time"),
        (
            &[
                "plot",
                "bands",
                "--scenario",
                "figure-7",
                "--system",
                "riak,stead",
                "-o",
                "x.svg",
            ],
            "give --system once for each",
        ),
    ] {
        dir.run(arguments).fails(64, &[said]);
    }
    let plain = Dir::new();
    plain.apply(&["n1", "n2"]);
    plain.run(&["what-if", "m.map", "--down", "zone=a"]).fails(
        64,
        &["map `members` has no labels, so zone=a names no node"],
    );
    dir.run(&["what-if", "gone.map", "--down", "a"])
        .fails(66, &["gone.map"]);
}

#[test]
fn what_if_counts_what_the_map_says() {
    let dir = zones();
    let map = Map::open(dir.path("m.map")).unwrap();
    let json = dir
        .run(&[
            "what-if", "m.map", "--down", "zone=a", "--down", "b1", "--json",
        ])
        .json();
    assert_eq!(
        fields(&json),
        ["down", "epoch", "left", "lost", "name", "nodes", "replicas", "samples"]
    );
    let mut left: BTreeMap<u64, u128> = BTreeMap::new();
    for slice in map.slices() {
        let up = map.locate_all_point(slice.first);
        let up = up.filter(|node| !["a1", "a2", "b1"].contains(&map.node(*node).name()));
        *left.entry(up.count() as u64).or_default() += slice.points();
    }
    for part in json["left"].as_array().unwrap() {
        let wanted = left
            .get(&part["copies"].as_u64().unwrap())
            .copied()
            .unwrap_or(0);
        assert_eq!(points(&part["points"]), wanted);
        assert_eq!(
            part["fraction"].as_f64(),
            Some(wanted as f64 / 2f64.powi(64))
        );
    }
    let nodes = json["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 3);
    assert_eq!(
        fields(&nodes[0]),
        [
            "error",
            "name",
            "reads",
            "reads_before",
            "reads_without_copy",
            "rebuild"
        ]
    );
    // somebody answers every read, and every lost copy with a copy left has its source
    let sum = |field: &str| -> u128 { nodes.iter().map(|n| points(&n[field]["points"])).sum() };
    assert_eq!(sum("reads") + left.get(&0).copied().unwrap_or(0), 1 << 64);
    let lost = points(&json["lost"]["points"]);
    assert!(sum("rebuild") <= lost && lost < 2 << 64, "{lost}");
    assert_eq!(json["samples"], 0, "zone c holds every key");

    // with one copy, every key of the lost node is an estimate
    let dir = Dir::new();
    dir.apply(&["n1", "n2", "n3", "n4"]);
    let json = dir
        .run(&["what-if", "m.map", "--down", "n1", "--json"])
        .json();
    assert_eq!(json["samples"], 65_536);
    let nodes = json["nodes"].as_array().unwrap();
    let estimate =
        |field: &str| -> Vec<f64> { nodes.iter().map(|n| n[field].as_f64().unwrap()).collect() };
    assert!((estimate("reads_without_copy").iter().sum::<f64>() - 0.25).abs() < 1e-9);
    for (part, error) in estimate("reads_without_copy").iter().zip(estimate("error")) {
        assert!(
            (part - 0.25 / 3.0).abs() < error && error < 0.002,
            "{part} {error}"
        );
    }
    let all = ["n1", "n2", "n3", "n4"]
        .map(|node| ["--down", node])
        .concat();
    let ran = dir.run(&[&["what-if", "m.map"], &all[..]].concat()).ok();
    assert!(
        ran.text()
            .contains("100.00 % of all keys have no copy left"),
        "{ran:?}"
    );
    assert!(ran.text().contains("no node is up"), "{ran:?}");
}

#[test]
fn nothing_that_a_person_reads_is_wider_than_a_terminal() {
    let dir = Dir::new();
    let nodes: String = (0..60)
        .map(|i| {
            format!(
                "[[node]]\nname = \"node-{i:02}-xxxxxxx\"\nlabels = {{ zone = \"z{}\" }}\n",
                i % 4
            )
        })
        .collect();
    dir.write(
        "fleet.toml",
        format!("name = \"m\"\nreplicas = 2\nspread = [\"zone\"]\n{nodes}"),
    );
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    for arguments in [
        &["what-if", "m.map", "--down", "zone=z1", "--down", "zone=z2"][..],
        &["what-if", "m.map", "--down", "zone=z1", "--all"],
        &["who", "m.map", "node-07-xxxxxxx"],
        &["who", "m.map", "node-07-xxxxxxx", "--all"],
        &["--help"],
    ] {
        let ran = dir.run(arguments).ok();
        let wide: Vec<&str> = ran
            .text()
            .lines()
            .filter(|l| l.chars().count() > 80)
            .collect();
        assert!(wide.is_empty(), "{arguments:?}: {wide:?}");
        assert!(ran.text().is_ascii(), "{arguments:?}");
    }
    let shown = |arguments: &[&str]| dir.run(arguments).ok().text().lines().count();
    let short = shown(&["what-if", "m.map", "--down", "zone=z1"]);
    let long = shown(&["what-if", "m.map", "--down", "zone=z1", "--all"]);
    assert_eq!(long - short, 45 - 24 - 1);
    let ran = dir.run(&["show", "m.map", "--band"]).ok();
    let band = ran.text().split("along the key space\n").nth(1).unwrap();
    let lines: Vec<&str> = band.lines().collect();
    assert!(lines[..4].iter().all(|line| line.len() == 80), "{band}");
    assert!(band.contains(". 48 others"), "{band}");
    dir.run(&["show", "m.map", "--band", "--json"])
        .fails(64, &["--band"]);
}

#[test]
fn who_tells_what_a_node_holds_and_with_whom() {
    let dir = zones();
    let json = dir.run(&["who", "m.map", "a2", "--json"]).json();
    assert_eq!(
        fields(&json),
        [
            "epoch",
            "largest",
            "loss",
            "name",
            "node",
            "partners",
            "pins",
            "policies",
            "primary_slices",
            "replicas",
            "slices"
        ]
    );
    assert_eq!(json["node"]["name"], "a2");
    assert_eq!(json["node"]["labels"]["rack"], "2");
    assert_eq!(
        json["policies"],
        serde_json::json!([{"name": "wide", "place": 3, "nodes": 4}])
    );
    assert_eq!(json["pins"][0]["key"], "justin");
    assert_eq!(json["pins"][0]["place"], 3);
    // a node shares each of its points with the nodes of the other zones, and the pin with a1
    let shared: u128 = json["partners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| points(&p["shared"]["points"]))
        .sum();
    assert_eq!(shared, 2 * points(&json["node"]["points"]) + 3);
    assert_eq!(json["partners"].as_array().unwrap().len(), 5);
    assert_eq!(json["loss"]["down"], serde_json::json!(["a2"]));
    let what_if = dir
        .run(&["what-if", "m.map", "--down", "a2", "--json"])
        .json();
    assert_eq!(json["loss"]["nodes"], what_if["nodes"]);
    let text = dir.run(&["who", "m.map", "a2"]).ok();
    for said in [
        "labels    rack=2 zone=a\n",
        "share     16.67 % of all copies\n",
        "pin       key \"justin\"  copy 4 of 4\n",
        "every key has at least 2 copies left\n",
        "its reads go to ",
    ] {
        assert!(text.text().contains(said), "{said}: {text:?}");
    }
    dir.run(&["who", "m.map", "a3"])
        .fails(64, &["no node `a3`; did you mean a1?"]);
}

#[test]
fn a_table_becomes_a_fleet_that_builds() {
    let dir = Dir::new();
    dir.write(
        "n.csv",
        "name,weight,zone,ip\ndb1,2,a,10.0.0.1\ndb2,,b,10.0.0.2\n",
    );
    let arguments = [
        "init",
        "--from",
        "n.csv",
        "--replicas",
        "2",
        "--spread",
        "zone",
    ];
    let more = ["--attribute", "ip", "--name", "shop", "-o", "f.toml"];
    let all = [&arguments[..], &more[..]].concat();
    let ran = dir.run(&all).ok();
    assert!(
        ran.text().ends_with("next: stead plan f.toml shop.map\n"),
        "{ran:?}"
    );
    let fleet = Fleet::read(dir.path("f.toml")).unwrap();
    assert_eq!(
        (fleet.name.as_str(), fleet.replicas, fleet.spread.len()),
        ("shop", 2, 1)
    );
    assert_eq!(fleet.nodes[0].attributes["ip"], "10.0.0.1");
    assert_eq!(fleet.nodes[0].labels["zone"], "a");
    dir.run(&["apply", "f.toml", "shop.map"]).ok();
    let before = dir.read("f.toml");
    dir.run(&all)
        .fails(64, &["f.toml already exists", "--force"]);
    assert_eq!(dir.read("f.toml"), before);
    dir.write("n.csv", "name\ndb9\n");
    dir.run(&["init", "--from", "n.csv", "-o", "f.toml", "--force"])
        .ok();
    assert_eq!(
        Fleet::read(dir.path("f.toml")).unwrap().nodes[0].name,
        "db9"
    );
    let text = dir
        .feed(&["init", "--from", "-"], b"[{\"name\": \"x\"}]")
        .ok();
    assert!(text.text().contains("name = \"cluster\""), "{text:?}");
    // nothing is written when the table is wrong
    dir.write("bad.csv", "name,weight\na,1\nb,-2\n");
    dir.run(&["init", "--from", "bad.csv", "-o", "new.toml"])
        .fails(78, &["bad.csv:3: weight"]);
    dir.run(&["init", "--from", "gone.csv"])
        .fails(66, &["gone.csv"]);
    dir.run(&["init", "-o", "new.toml"])
        .fails(64, &["no terminal", "--from"]);
    assert!(!dir.path("new.toml").exists());
    dir.assert_clean();
}

#[test]
fn an_edit_that_breaks_a_rule_leaves_the_fleet_as_it_was() {
    let dir = Dir::new();
    dir.write("f.toml", ZONES);
    for (arguments, code, said) in [
        (
            &["add-node", "f.toml", "a1"][..],
            64,
            "f.toml:5: node `a1` is there already",
        ),
        (&["add-node", "f.toml", "x"], 78, "has no label `zone`"),
        (
            &["add-node", "f.toml", " b1", "--label", "zone=a"],
            64,
            "it begins or ends with white space; write \"b1\"",
        ),
        (
            &["add-node", "f.toml", "x\u{a0}", "--label", "zone=a"],
            64,
            "white space",
        ),
        (
            &["add-node", "f.toml", "x,y", "--label", "zone=a"],
            78,
            "comma",
        ),
        (
            &["remove-node", "f.toml", "b1"],
            78,
            "f.toml:12: policy `wide` names node `b1`",
        ),
        (
            &["remove-node", "f.toml", "b3"],
            64,
            "no node `b3`; did you mean b1?",
        ),
        (
            &["drain", "f.toml", "a1,a2"],
            64,
            "no node `a1,a2`; names have no commas: write a space between two names",
        ),
        (&["set-weight", "f.toml", "b1", "-1"], 64, "sign"),
        (&["set-weight", "f.toml", "b1", "1.0000001"], 64, "places"),
        (
            &["set-label", "f.toml", "b1", "zone="],
            78,
            "has no label `zone`",
        ),
        (&["set-label", "f.toml", "b1", "zone"], 64, "NAME=VALUE"),
        (
            &["drain", "f.toml", "a1", "a2", "b1", "b2"],
            78,
            "replicas = 3 needs 3 nodes",
        ),
        (&["drain", "gone.toml", "a1"], 66, "gone.toml"),
    ] {
        // a weight such as -1 looks like an option, so it stands behind --
        let mut all = vec!["fleet"];
        all.extend(arguments.iter().flat_map(|word| match *word {
            "-1" => vec!["--", "-1"],
            word => vec![word],
        }));
        dir.run(&all).fails(code, &[said]);
        assert_eq!(dir.read("f.toml"), ZONES.as_bytes(), "{arguments:?}");
    }
    dir.write("f.json", "{\"name\": \"m\", \"node\": [{\"name\": \"a\"}]}");
    dir.run(&["fleet", "drain", "f.json", "a"])
        .fails(64, &["f.json: this fleet is JSON", "jq"]);
    dir.assert_clean();
}

#[test]
fn an_edit_keeps_comments_mode_and_links() {
    let dir = Dir::new();
    let text = format!("# ours\n{ZONES}# the end\n");
    dir.write("f.toml", &text);
    let private = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(dir.path("f.toml"), private).unwrap();
    symlink("f.toml", dir.path("link.toml")).unwrap();
    let fleet = |arguments: &[&str]| {
        dir.run(&[&["fleet"], arguments].concat())
            .ok()
            .text()
            .to_owned()
    };
    let printed = fleet(&["set-weight", "link.toml", "a2", "2", "--print"]);
    assert_eq!(dir.read("f.toml"), text.as_bytes());
    let said = fleet(&["set-weight", "link.toml", "a2", "2"]);
    assert_eq!(said, "link.toml: weight of a2: 1 -> 2; now 6 nodes\n");
    let wanted = text.replace(
        "rack = \"2\" } },\n{ name = \"b1",
        "rack = \"2\" }, weight = 2 },\n{ name = \"b1",
    );
    assert_eq!(String::from_utf8(dir.read("f.toml")).unwrap(), wanted);
    assert_eq!(printed, wanted);
    let meta = std::fs::symlink_metadata(dir.path("link.toml")).unwrap();
    assert!(meta.is_symlink());
    let mode = std::fs::metadata(dir.path("f.toml"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
    // attributes are set and removed as labels are
    let said = fleet(&["set-attribute", "f.toml", "a2", "at=10.0.0.9", "dc=x"]);
    assert!(
        said.contains("at of a2: none -> 10.0.0.9, dc of a2: none -> x; now "),
        "{said}"
    );
    let text = std::fs::read_to_string(dir.path("f.toml")).unwrap();
    assert!(text.contains("{ at = \"10.0.0.9\", dc = \"x\" }"), "{text}");
    let said = fleet(&["set-attribute", "f.toml", "a2", "at=", "dc=y"]);
    assert!(
        said.contains("at of a2: 10.0.0.9 -> none, dc of a2: x -> y"),
        "{said}"
    );
    fleet(&["set-attribute", "f.toml", "a2", "dc="]);
    let text = std::fs::read_to_string(dir.path("f.toml")).unwrap();
    assert!(!text.contains("dc ="), "{text}");
    // an edit that changes nothing does not touch the file
    let before = std::fs::metadata(dir.path("f.toml"))
        .unwrap()
        .modified()
        .unwrap();
    assert!(fleet(&["set-weight", "f.toml", "a2", "2.0"]).contains("nothing to do"));
    assert!(fleet(&["set-label", "f.toml", "a2", "zone=a"]).contains("nothing to do"));
    assert!(fleet(&["set-attribute", "f.toml", "a2", "rack="]).contains("nothing to do"));
    assert_eq!(
        std::fs::metadata(dir.path("f.toml"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
    let said = fleet(&["drain", "f.toml", "a2"]);
    assert!(
        said.contains("\nnote: f.toml:13: policy `wide` still names a2\n"),
        "{said}"
    );
    fleet(&[
        "add-node", "f.toml", "b9", "c9", "--label", "zone=b", "--weight", "1.50",
    ]);
    fleet(&["remove-node", "f.toml", "b9"]);
    let fleet = Fleet::read(dir.path("f.toml")).unwrap();
    let nodes: Vec<(&str, String)> = fleet
        .nodes
        .iter()
        .map(|n| (n.name.as_str(), n.weight.to_string()))
        .collect();
    assert_eq!(nodes[1], ("a2", "0".to_owned()));
    assert_eq!(nodes[5], ("c9", "1.5".to_owned()));
    let text = String::from_utf8(dir.read("f.toml")).unwrap();
    assert!(text.starts_with("# ours\n") && text.ends_with("# the end\n"));
    dir.assert_clean();
}

#[test]
fn tables_of_nodes_with_long_names_fit_on_a_terminal() {
    let dir = Dir::new();
    let nodes: String = (0..48)
        .map(|i| {
            let (zone, rack, power) = (i % 3, i % 12, i % 2);
            format!(
                "[[node]]\nname = \"host-{i:02}.rack{rack:02}.example.com\"\nweight = 12.5\n\
                 labels = {{ zone = \"z{zone}\", rack = \"r{rack}\", power = \"feed-{power}\" }}\n"
            )
        })
        .collect();
    dir.write(
        "fleet.toml",
        format!("name = \"m\"\nreplicas = 3\nspread = [\"zone\"]\n{nodes}"),
    );
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    for arguments in [
        &["show", "m.map"][..],
        &["show", "m.map", "--slices", "--band"],
        &["what-if", "m.map", "--down", "zone=z1", "--all"],
        &["who", "m.map", "host-07.rack07.example.com", "--all"],
        &["locate", "m.map", "--explain", "frank"],
        &["ring", "--list"],
    ] {
        let ran = dir.run(arguments).ok();
        let wide: Vec<&str> = (ran.text().lines())
            // the answer for programs is as long as its names
            .filter(|line| !line.starts_with("frank\t"))
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(wide.is_empty(), "{arguments:?}: {wide:#?}");
    }
    let shown = dir.run(&["show", "m.map"]).ok();
    assert!(
        shown
            .text()
            .contains("\nnot shown, for lack of room: points (--json has all)\n"),
        "{shown:?}"
    );
    // what fits is as it was
    let one = Dir::new();
    one.apply(&["n1", "n2"]);
    let shown = one.run(&["show", "m.map"]).ok();
    assert!(
        shown.text().contains("  points") && !shown.text().contains("no room"),
        "{shown:?}"
    );
}

#[test]
fn every_number_of_copies_has_a_row_and_the_shades_have_a_legend() {
    let dir = zones();
    let text = dir.run(&["what-if", "m.map", "--down", "a1"]).ok();
    let rows: Vec<&str> = (text.text().lines())
        .skip_while(|line| !line.starts_with("copies left"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap_or_default())
        .collect();
    // four for the key of the pin
    assert_eq!(rows[..4], ["0", "1", "2", "3"], "{text:?}");
    let who = dir.run(&["who", "m.map", "a1"]).ok();
    assert!(
        who.text()
            .contains(". none of the keys  - up to 25 %  + up to 50 %  * up to 75 %  # more\n"),
        "{who:?}"
    );
}

#[test]
fn a_terminal_is_told_that_keys_are_awaited() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let dir = zones();
    // the near end of a terminal is one, too, and nobody types at the far end
    let terminal = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/ptmx");
    let mut locate = dir
        .command(&["locate", "m.map"])
        .stdin(terminal.unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(locate.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    locate.kill().unwrap();
    locate.wait().unwrap();
    assert_eq!(
        line,
        "stead: reading keys from standard input, one a line; end with Ctrl-D\n"
    );
    // no terminal, no note
    assert_eq!(dir.feed(&["locate", "m.map"], b"frank\n").ok().err, "");
}

#[test]
fn a_table_or_a_key_in_the_place_of_a_fleet_or_a_map_is_told() {
    let dir = zones();
    dir.write("n.csv", "name,zone\ndb1,a\n");
    for verb in ["plan", "apply"] {
        dir.run(&[verb, "n.csv", "new.map"]).fails(
            78,
            &["; a table becomes a fleet with `stead init --from n.csv`"],
        );
    }
    dir.run(&["locate", "frank", "m.map"]).fails(
        66,
        &[
            "cannot open frank: ",
            "; the map comes first, then the keys",
        ],
    );
    let plain = dir.run(&["locate", "frank", "justin"]);
    assert!(!plain.err.contains("comes first"), "{plain:?}");
}
