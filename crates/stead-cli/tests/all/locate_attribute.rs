//! `stead locate --attribute`: what a script does with a node, such as its mount point, in place of
//! the name of the node.

use serde_json::json;

use crate::common::Place;

/// A directory with a map of these nodes, each with attributes as in TOML.
fn with_map(top: &str, nodes: &[(&str, &str)]) -> Place {
    let place = Place::new();
    apply(&place, top, nodes, &[]);
    place
}

fn apply(place: &Place, top: &str, nodes: &[(&str, &str)], options: &[&str]) {
    let node = |(name, attributes): &(&str, &str)| {
        format!("[[node]]\nname = '{name}'\nattributes = {{ {attributes} }}\n")
    };
    let nodes: String = nodes.iter().map(node).collect();
    place.write("f.toml", format!("name = 'm'\n{top}\n{nodes}"));
    place.good(&[&["apply", "f.toml", "m.map"], options].concat());
}

/// Three equal nodes, as in keys.rs: frank is on n1, b on n2, and erin on n3.
fn mounted() -> Place {
    with_map(
        "",
        &[
            ("n1", "mount = '/mnt/nas1'"),
            ("n2", "mount = '/mnt/b, c'"),
            ("n3", "address = '10.0.0.3'"),
        ],
    )
}

#[test]
fn locate_prints_an_attribute_in_place_of_the_name_of_the_node() {
    let place = mounted();
    let asked = ["locate", "m.map", "--attribute", "mount"];
    let located = |more: &[&str]| place.good(&[&asked[..], more].concat());
    assert_eq!(located(&["frank", "b"]), "frank\t/mnt/nas1\nb\t/mnt/b, c\n");
    let piped = |more: &[&str], input: &[u8]| {
        let ran = place.run_with(&[&asked[..], more].concat(), input);
        ran.good()
    };
    assert_eq!(piped(&[], b"frank\r\nb"), located(&["frank", "b"]));
    assert_eq!(piped(&["--follow"], b"frank\n"), "frank\t/mnt/nas1\n");
    assert_eq!(piped(&["-0"], b"frank\0"), "/mnt/nas1\tfrank\0");
    assert_eq!(located(&["--hex", "6672616e6b"]), "6672616e6b\t/mnt/nas1\n");
    assert_eq!(
        located(&["--points", "26253c50741faa9c"]),
        "26253c50741faa9c\t/mnt/nas1\n"
    );
    // JSON has the name, too
    assert_eq!(
        place.json(&[&asked[..], &["--json", "frank"]].concat()),
        json!({"key": "frank", "point": "26253c50741faa9c", "nodes": ["n1"], "values": ["/mnt/nas1"]})
    );
    // these print something else about nodes
    for other in ["--count", "--explain"] {
        let ran = place.run(&[&asked[..], &[other, "frank"]].concat());
        ran.bad(64, &["--attribute", other, "cannot be used"]);
    }
}

#[test]
fn locate_says_before_it_answers_that_no_node_has_the_attribute() {
    let place = mounted();
    let ask = |name: &str| place.run(&["locate", "m.map", "--attribute", name, "frank"]);
    ask("muont").bad(
        64,
        &["m.map: no node has an attribute muont; did you mean mount?"],
    );
    ask("dsn").bad(64, &["attribute dsn; known are address, mount\n"]);
    let carried = ["locate", "m.map", "--attribute", "dsn", "--carry", "frank"];
    place.run(&carried).bad(64, &["known are address, mount\n"]);
    let bare = Place::with_map();
    bare.run(&["locate", "m.map", "--attribute", "dsn", "frank"])
        .bad(
            64,
            &["no node has an attribute dsn; set it with `stead fleet set-attribute FLEET NODE dsn=VALUE`"],
        );
}

#[test]
fn locate_ends_at_a_node_without_the_attribute_and_keeps_the_answers_before() {
    let place = mounted();
    let keys: Vec<String> = (0..).map(|n| format!("k{n}")).take(50).collect();
    let on = |node: &str| {
        let is_there = |key: &&String| place.good(&["locate", "m.map", key]).ends_with(node);
        keys.iter().find(|key| is_there(&&**key)).unwrap().as_str()
    };
    let last = on("n3\n");
    let said = "m.map: node n3 has no attribute mount; set it with `stead fleet set-attribute \
                FLEET n3 mount=VALUE`, and apply the fleet\n";
    for more in [&[][..], &["--prefer", "1"], &["--carry"], &["--json"]] {
        let asked = ["locate", "m.map", "--attribute", "mount"];
        let keys = ["frank", last, "frank"];
        let ran = place.run(&[&asked[..], more, &keys].concat());
        ran.failed(65, &[said]);
        let before = place.good(&[&asked[..], more, &["frank"]].concat());
        assert_eq!(String::from_utf8(ran.out).unwrap(), before, "{more:?}");
    }
}

#[test]
fn locate_puts_attributes_of_several_nodes_between_commas_and_refuses_a_comma_in_one() {
    let nodes = [
        ("n1", "mount = '/1', hosts = 'a,b'"),
        ("n2", "mount = '/2', hosts = 'c,d'"),
    ];
    let place = with_map("replicas = 2", &nodes);
    let ask = |more: &[&str]| place.run(&[&["locate", "m.map", "frank"], more].concat());
    let names = ask(&[]).good();
    let mounts = names.replace('n', "/").replace("fra/k", "frank");
    assert_eq!(ask(&["--attribute", "mount"]).good(), mounts);
    assert_eq!(
        ask(&["--attribute", "mount", "--prefer", "2"]).good(),
        mounts
    );
    ask(&["--attribute", "hosts"]).bad(65, &["the attribute hosts of node n", ",", "--json"]);
    let hosts = ask(&["--attribute", "hosts", "--json"]).good();
    assert!(
        hosts.contains(r#""a,b""#) && hosts.contains(r#""c,d""#),
        "{hosts}"
    );
    // one that stands alone is clear
    ask(&["--attribute", "hosts", "--prefer", "1"]).good();
}

#[test]
fn locate_prints_attributes_of_both_maps_of_a_carry() {
    let place = with_map("", &[("a", "at = '/a'"), ("b", "at = '/b'")]);
    apply(&place, "", &[("b", "at = '/b'")], &["--carry"]);
    place.good(&["carry", "m.map", "next", "--confirmed", "2"]);
    let carried = |more: &[&str]| {
        let keys: Vec<String> = (0..20).map(|n| format!("k{n}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        place.good(&[&["locate", "m.map", "--carry"], more, &keys].concat())
    };
    let names = carried(&[]);
    assert!(names.contains("\ta\ta,b\n"), "{names}");
    let both = names.replace('a', "/a").replace('b', "/b");
    assert_eq!(carried(&["--attribute", "at"]), both);
    let object = carried(&["--attribute", "at", "--json"]);
    let values =
        r#""reads":["a"],"writes":["a","b"],"read_values":["/a"],"write_values":["/a","/b"]"#;
    assert!(object.contains(values), "{object}");
}
