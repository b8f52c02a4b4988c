//! Good fleets: every row of docs/fleet.md, in TOML and in JSON, and how it is read.

use stead::cell::Cells;
use stead::fleet::{Fleet, PinTo, Pinned};
use stead::hash::{Hash, KeyRule};
use stead::point::SPACE;
use stead::report::Report;
use stead::tolerance::Tolerance;
use stead::{build, Point};

/// The example of docs/fleet.md, with every key that exists.
const TOML: &str = r#"
name     = "members"
replicas = 1
spread   = ["zone", "rack"]
hash     = "siphash"
secret   = "000102030405060708090a0b0c0d0e0F"
max_slices = 8_000
tolerance = "0.50%"

[[node]]
name   = "n11"
weight = 0                        # holds only what policies and pins give it

[[node]]
name   = "db1"
weight = 1.50
labels = { zone = "a", rack = "a1" }
attributes = { address = "10.0.0.1:3306", "" = "x" }
formerly = "10.0.0.1:11211"

[[policy]]
name  = "cray"
kind  = "chain"
nodes = ["n11", "db1"]
weight = "2"

[[policy]]
name  = "alone"
nodes = ["n11"]

[[pin]]
range = ["6.00000%", "6.00001%"]
nodes = ["n11"]
short = true

[[pin]]
key = "justin"
policy = "cray"
short = false
"#;

const JSON: &str = r#"{
  "pin": [
    {"policy": "cray", "key": "just\u0069n"},
    {"nodes": ["n11"], "range": ["6.00000%", "6.00001%"], "short": true}
  ],
  "policy": [
    {"name": "cray", "kind": "chain", "nodes": ["n11", "db1"], "weight": 2.0},
    {"name": "alone", "nodes": ["n11"]}
  ],
  "node": [
    {"name": "db1", "weight": "1.5", "labels": {"rack": "a1", "zone": "a"},
     "attributes": {"address": "10.0.0.1:3306"}, "formerly": "10.0.0.1:11211"},
    {"name": "n11", "weight": 0.000000}
  ],
  "max_slices": 8000, "tolerance": "0.5%", "secret": "000102030405060708090a0b0c0d0e0f", "hash": "siphash", "spread": ["zone", "rack"], "replicas": 1,
  "name": "members"
}"#;

fn parse(text: &str, file: &str) -> Fleet {
    Fleet::parse(text, file).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The fleet without its line numbers and the name of its file.
fn bare(mut fleet: Fleet) -> Fleet {
    fleet.file.clear();
    fleet.max_slices_line = 0;
    fleet.nodes.iter_mut().for_each(|node| node.line = 0);
    fleet.policies.iter_mut().for_each(|policy| policy.line = 0);
    fleet.pins.iter_mut().for_each(|pin| pin.line = 0);
    fleet
}

/// A fleet of one node `a`, in TOML, with the lines `top` above the node and the lines `node` in
/// it.
fn small(top: &str, node: &str) -> String {
    format!("name = 'm'\n{top}\n[[node]]\nname = 'a'\n{node}\n")
}

#[test]
fn every_key_is_read() {
    let fleet = parse(
        &TOML.replace(", \"\" = \"x\"", ", \"é b\" = \"\""),
        "dir/members.toml",
    );
    assert_eq!(
        (fleet.name.as_str(), fleet.replicas, fleet.max_slices),
        ("members", 1, Some(8000))
    );
    assert_eq!(fleet.tolerance, Tolerance::from_millionths(5_000));
    assert_eq!(fleet.file, "dir/members.toml");
    assert_eq!(fleet.spread, ["zone", "rack"]);
    let secret = fleet.hash.as_ref().and_then(|hash| hash.secret()).unwrap();
    assert_eq!(secret.0, std::array::from_fn(|i| i as u8));

    let [db1, n11] = fleet.nodes.as_slice() else {
        panic!()
    };
    assert_eq!(
        (db1.name.as_str(), db1.weight.to_string().as_str(), db1.line),
        ("db1", "1.5", 14)
    );
    assert_eq!(
        db1.labels
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect::<Vec<_>>(),
        ["rack=a1", "zone=a"]
    );
    assert_eq!(db1.attributes["address"], "10.0.0.1:3306");
    assert_eq!(db1.attributes["é b"], "");
    assert_eq!(db1.formerly.as_deref(), Some("10.0.0.1:11211"));
    assert_eq!(
        (n11.name.as_str(), n11.weight.millionths(), n11.line),
        ("n11", 0, 10)
    );
    assert_eq!(
        (n11.labels.len(), n11.attributes.len(), &n11.formerly),
        (0, 0, &None)
    );

    let [alone, cray] = fleet.policies.as_slice() else {
        panic!()
    };
    assert_eq!(
        (
            alone.name.as_str(),
            alone.kind.as_str(),
            alone.weight,
            alone.line
        ),
        ("alone", "", None, 27)
    );
    assert_eq!(
        (cray.name.as_str(), cray.kind.as_str(), cray.line),
        ("cray", "chain", 21)
    );
    assert_eq!(cray.weight.unwrap().to_string(), "2");
    assert_eq!(
        cray.nodes,
        ["n11", "db1"],
        "the order of a policy's nodes is the fleet's"
    );

    let [justin, range] = fleet.pins.as_slice() else {
        panic!()
    };
    assert_eq!(
        (&justin.what, &justin.to),
        (
            &Pinned::Key(b"justin".to_vec()),
            &PinTo::Policy("cray".to_owned())
        )
    );
    assert_eq!((justin.line, justin.short, range.short), (36, false, true));
    let what = Pinned::Range {
        first: Point(1106804644422573096),
        end: 1106806489096980467,
    };
    assert_eq!(
        (&range.what, &range.to, range.line),
        (&what, &PinTo::Nodes(vec!["n11".to_owned()]), 31)
    );
}

#[test]
fn toml_and_json_of_one_shape_are_one_fleet() {
    let toml = parse(&TOML.replace(", \"\" = \"x\"", ""), "f.toml");
    let json = parse(JSON, "f.json");
    assert_eq!(json.nodes[1].line, 13);
    assert_ne!(toml, json);
    assert_eq!(bare(toml.clone()), bare(json));
    for inline in [
        // the same fleet in other spellings of TOML
        TOML.replace(", \"\" = \"x\"", "").replace(
            "labels = { zone = \"a\", rack = \"a1\" }",
            "labels.zone = \
                'a'\nlabels.\"rack\" = '''a1'''",
        ),
        TOML.replace(
            "attributes = { address = \"10.0.0.1:3306\", \"\" = \"x\" }\nformerly \
             = \"10.0.0.1:11211\"",
            "formerly = \"10.0.0.1:11211\"\n[node.attributes]\naddress = \"10.0.0.1:3306\"",
        ),
        TOML.replace(", \"\" = \"x\"", "").replace('\n', "\r\n"),
    ] {
        assert_eq!(bare(parse(&inline, "")), bare(toml.clone()), "{inline}");
    }
}

#[test]
fn a_fleet_may_be_as_short_as_a_name_and_a_node() {
    for (text, file) in [
        ("name = 'm'\nnode = [{ name = 'a' }]", "f"),
        (r#"{"name": "m", "node": [{"name": "a"}]}"#, "f.json"),
    ] {
        let fleet = parse(text, file);
        assert_eq!(
            (fleet.replicas, fleet.hash.as_ref(), fleet.max_slices),
            (1, None, None)
        );
        assert_eq!(
            (
                fleet.nodes[0].weight.to_string().as_str(),
                fleet.nodes.len()
            ),
            ("1", 1)
        );
        assert!(fleet.policies.is_empty() && fleet.pins.is_empty());
        assert!(fleet
            .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::FINEST)
            .unwrap()
            .is_empty());
    }
}

#[test]
fn every_hash_has_its_name() {
    for (top, hash) in [
        ("", None),
        ("hash = 'md5'", Some(Hash::Md5)),
        ("hash = 'sha1'", Some(Hash::Sha1)),
        ("hash = 'xxh3'", Some(Hash::Xxh3)),
    ] {
        assert_eq!(parse(&small(top, ""), "f").hash, hash);
    }
}

#[test]
fn weights_are_read_as_they_are_written() {
    for (written, millionths) in [
        ("1.5", 1_500_000),
        ("0.25", 250_000),
        ("1_000", 1_000_000_000),
        ("3", 3_000_000),
        ("3.0", 3_000_000),
        ("1.50000000", 1_500_000),
        ("1_0.0_1", 10_010_000),
        ("0.000001", 1),
        ("1000000", 1_000_000_000_000),
        ("1000000.0", 1_000_000_000_000),
        ("'0.1'", 100_000),
        ("'007'", 7_000_000),
        ("0.123456000000000000000000000000000000", 123_456),
    ] {
        let fleet = parse(&small("", &format!("weight = {written}")), "f");
        assert_eq!(fleet.nodes[0].weight.millionths(), millionths, "{written}");
    }
}

#[test]
fn the_longest_of_everything_is_allowed() {
    let (name, text) = ("é".repeat(127) + "x", "y".repeat(4095));
    let fleet = parse(
        &format!(
            "name = '{name}'\nreplicas = 1\nmax_slices = 4_294_967_295\n[[node]]\nname = '{name}'\nformerly = '{text}'\n\
             labels.{text} = '{text}'\nattributes.{text} = '{text}'\n[[policy]]\nname = '{name}'\nkind = '{name}'\n\
             nodes = ['{name}']\n"
        )
        .replace(&format!("formerly = '{text}'"), &format!("formerly = '{}'", &text[..255])),
        "f",
    );
    assert_eq!(fleet.name.len(), 255);
    assert_eq!(fleet.max_slices, Some(u32::MAX));
    assert_eq!(fleet.nodes[0].labels[&text], text);
    assert_eq!(fleet.policies[0].kind, name);
}

#[test]
fn ranges_reach_from_the_first_point_to_the_end() {
    for (range, first, end) in [
        ("'0%', '100%'", 0, SPACE),
        ("'00.0%', '0.000000000000000006%'", 0, 1),
        ("'99.999999999999999995%', '100.000%'", u64::MAX, SPACE),
    ] {
        let fleet = parse(
            &(small("", "") + &format!("[[pin]]\nrange = [{range}]\nnodes = ['a']")),
            "f",
        );
        assert_eq!(
            fleet.pins[0].what,
            Pinned::Range {
                first: Point(first),
                end
            },
            "{range}"
        );
        assert_eq!(
            fleet
                .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::FINEST)
                .unwrap()[0]
                .last,
            Point((end - 1) as u64)
        );
    }
}

#[test]
fn a_key_is_any_text_and_its_utf8_bytes_are_the_key() {
    for (written, key) in [
        ("''", ""),
        ("'é'", "é"),
        ("\"a\\u0000\\n\"", "a\0\n"),
        ("' x '", " x "),
    ] {
        let fleet = parse(
            &(small("", "") + &format!("[[pin]]\nkey = {written}\nnodes = ['a']")),
            "f",
        );
        assert_eq!(fleet.pins[0].what, Pinned::Key(key.as_bytes().to_vec()));
    }
}

/// Writes a JSON text as `json.dumps` of Python does: in ASCII, with a pair of escapes for each
/// character above U+FFFF.
fn in_ascii(json: &str) -> String {
    let escaped = |unit: &u16| match u8::try_from(*unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    let units: Vec<u16> = json.encode_utf16().collect();
    units.iter().map(escaped).collect()
}

#[test]
fn a_surrogate_pair_is_the_character_that_it_means() {
    let nodes = |count: usize| -> String {
        let node = |n: usize| {
            format!(
                ",\n{{\"name\": \"🐘{n}é\", \"labels\": {{\"zöne 🌍\": \"𝄞\"}}, \
                 \"attributes\": {{\"😀\": \"😀😀\\\\ud83d\"}}, \"weight\": 1}}"
            )
        };
        (0..count).map(node).collect()
    };
    // the second is read in parts
    for count in [3, 3_000] {
        let json = format!(
            "{{\"name\": \"m 😀\", \"spread\": [\"zöne 🌍\"], \"node\": [{{\"name\": \"😀\", \
             \"labels\": {{\"zöne 🌍\": \"x\"}}}}{}],\n\"policy\": [{{\"name\": \"😀\", \
             \"kind\": \"😀\", \"nodes\": [\"😀\"]}}],\n\"pin\": [{{\"key\": \"k😀\", \
             \"policy\": \"😀\"}}],\n\"first\": [{{\"key\": \"😀\", \"node\": \"😀\"}}]}}",
            nodes(count)
        );
        let ascii = in_ascii(&json);
        assert!(ascii.is_ascii() && ascii.contains("\"\\ud83d\\ude00\""));
        assert_eq!(ascii.len() > 64 << 10, count > 3);
        let fleet = parse(&json, "f.json");
        assert!(fleet.nodes.iter().any(|node| node.name == "😀"));
        for written in [
            ascii.clone(),
            ascii.replace("\\ud83d\\ude00", "\\uD83D\\uDE00"),
        ] {
            // with the lines of the mistakes
            assert!(parse(&written, "f.json") == fleet, "{}", &written[..200]);
        }
        // the lines behind a pair are those of the text, whatever comes before them
        let wrong = ascii.replace("\"k\\ud83d\\ude00\"", "\"\\ud83d\\ude00\",\n\"kay\": 1");
        let error = Fleet::parse(&wrong, "f.json").unwrap_err().to_string();
        let line = 4 + count;
        assert!(
            error.starts_with(&format!("f.json:{line}: unknown key `kay`")),
            "{error}"
        );
    }
}

#[test]
fn formerly_may_be_the_nodes_own_name_or_an_unused_one() {
    for formerly in ["a", "b"] {
        let fleet = parse(&small("", &format!("formerly = '{formerly}'")), "f");
        assert_eq!(fleet.nodes[0].formerly.as_deref(), Some(formerly));
    }
}

#[test]
fn a_policy_may_be_the_only_holder_and_share_its_name_with_a_node() {
    let fleet = parse(
        &(small("", "weight = 0") + "[[policy]]\nname = 'a'\nnodes = ['a']\nweight = 0.5"),
        "f",
    );
    assert_eq!(fleet.policies[0].name, fleet.nodes[0].name);
}

#[test]
fn the_order_of_the_parts_does_not_matter() {
    let nodes = ["z", "a", "é", "B", "ab"];
    let node = |name: &str| format!("[[node]]\nname = '{name}'\n");
    let policy = |name: &str| format!("[[policy]]\nname = 'p{name}'\nnodes = ['z', 'a']\n");
    let pin = |name: &str| format!("[[pin]]\nkey = '{name}'\nnodes = ['z', 'a']\n");
    let parts: Vec<String> = nodes
        .iter()
        .flat_map(|name| [node(name), policy(name), pin(name)])
        .collect();
    let forward = parse(&format!("name = 'm'\n{}", parts.concat()), "f");
    let backward = parse(
        &format!(
            "name = 'm'\n{}",
            parts.iter().rev().cloned().collect::<String>()
        ),
        "f",
    );
    assert_eq!(bare(forward.clone()), bare(backward));
    assert_eq!(
        forward
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .collect::<Vec<_>>(),
        ["B", "a", "ab", "z", "é"]
    );
}

#[test]
fn a_secret_is_never_shown() {
    let secret = "00112233445566778899aabbccddeeff";
    let fleet = parse(
        &small(&format!("hash = 'siphash'\nsecret = '{secret}'"), ""),
        "f",
    );
    let shown = format!("{fleet:?} {fleet:#?}");
    assert!(
        shown.contains("Secret(..)") && !shown.contains("0011") && !shown.contains("17, 34"),
        "{shown}"
    );
    for top in [
        format!("hash = 'siphash'\nsecret = '{secret}0'"),
        format!("hash = '{secret}'"),
        format!("hash = 'md5'\nsecret = '{secret}'"),
        format!("secret = '{secret}'"),
        format!("hash = 'siphash'\nsecret = '{secret}\nx = 1"),
        format!("hash = 'siphash'\nsecret = '{secret}' '{secret}'"),
        format!("hash = 'siphash'\nsecret = {secret}"),
        "hash = 'siphash'\nsecret = 00112233445566778899001122334455".to_owned(),
        "hash = 'siphash'\nsecret = 10112233445566778899001122334455".to_owned(),
        format!("hash = 'siphash'\nsecret = ['{secret}']"),
        format!("hash = 'siphash'\nsecret = '{secret}'\nsecret = '{secret}'"),
        format!("hash = 'siphash'\nsecret = '{secret}'\nsecret_file = '{secret}'"),
    ] {
        let error = Fleet::parse(&small(&top, ""), "f").unwrap_err();
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(!shown.contains("1122"), "{shown}");
        }
    }
    for json in [
        format!("'{secret}'"),
        secret.to_owned(),
        "10112233445566778899001122334455".to_owned(),
        format!("\"{secret}\\x\""),
    ] {
        let error = Fleet::parse(
            &format!("{{\"name\": \"m\", \"hash\": \"siphash\", \"secret\": {json}}}"),
            "f",
        )
        .unwrap_err();
        assert!(!error.to_string().contains("1122"), "{error}");
    }
}

/// Finds the fenced block of docs/fleet.md that starts with this text. Returns the block and the
/// text after it.
fn example(first: &str) -> (&'static str, &'static str) {
    let manual = include_str!("../../../../docs/fleet.md");
    let start = manual.find(&format!("```toml\n{first}")).unwrap() + "```toml\n".len();
    manual[start..].split_once("```\n").unwrap()
}

#[test]
fn the_examples_of_the_manual_are_fleets() {
    let manual = include_str!("../../../../docs/fleet.md");
    let fleet = parse(example("name     = \"members\"").0, "f");
    assert_eq!(
        (fleet.nodes.len(), fleet.policies.len(), fleet.pins.len()),
        (2, 1, 1)
    );
    assert_eq!(
        (fleet.hash.clone(), fleet.max_slices),
        (Some(Hash::Md5), Some(8000))
    );
    let json = parse(
        "{\"name\": \"members\", \"node\": [{\"name\": \"db1\"}]}",
        "f",
    );
    assert!(
        manual.contains("`{\"name\": \"members\", \"node\": [{\"name\": \"db1\"}]}`")
            && json.name == "members"
    );
}

#[test]
fn the_shares_of_three_zones_are_those_of_the_manual() {
    let (text, rest) = example("name     = \"copies\"");
    let fleet = parse(text, "f");
    assert_eq!(
        (fleet.replicas, &fleet.spread[..], fleet.nodes.len()),
        (3, &["zone".to_owned(), "rack".to_owned()][..], 6)
    );
    let map = build(&fleet, None).unwrap();
    let report = Report::of(None, &map, false).unwrap();
    let percent = |points: &str| {
        format!(
            "{:.3}",
            points.parse::<f64>().unwrap() / (3.0 * SPACE as f64) * 100.0
        )
    };
    let row = |line: &'static str| line.split_whitespace().collect::<Vec<_>>();
    let rows: Vec<_> = rest
        .lines()
        .skip_while(|line| !line.starts_with("node "))
        .skip(1)
        .take(5)
        .map(row)
        .collect();
    for (row, node) in rows.iter().zip(&report.nodes) {
        let told = [
            node.name,
            &node.weight,
            &percent(&node.wanted_points),
            "%",
            &percent(&node.points),
            "%",
        ]
        .map(str::to_owned);
        assert_eq!(row[..6], told);
    }
    assert_eq!((rows.len(), report.nodes[5].points.as_str()), (5, "0"));
}
