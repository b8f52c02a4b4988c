//! Pictures of all kinds, from 1 node to 1,000: their bytes are those of the golden files, they are
//! well-formed, and no text is cut off or outside.
//!
//! After a change that is meant, `STEAD_BLESS=1 cargo test -p stead-plot` writes the golden files
//! again. Look at each of them before you commit it.
#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use stead::load::{Reads, Tally};
use stead::plan::all_copies;
use stead::ways::of_plan;
use stead::{build, Fleet, Keys, Map, Plan};
use stead_plot::{
    bands, distribution, domains, load, modulo, modulo_keys, moves, moves_counted, ring, shares,
    Bucket, Buckets, Counted, Options, Row, Theme,
};

/// A fleet of nodes in three zones of four racks.
fn fleet(nodes: usize, replicas: usize) -> Fleet {
    let mut text = format!("name = 'photos'\nreplicas = {replicas}\n");
    if replicas > 1 {
        text += "spread = ['zone', 'rack']\n";
    }
    for i in 0..nodes {
        let zone = ["a", "b", "c"][i % 3];
        text += &format!(
            "[[node]]\nname = 'n{i}'\nweight = {}\nlabels = {{ zone = '{zone}', rack = 'r{}' }}\n",
            1 + i % 2,
            i / 3 % 4
        );
    }
    Fleet::parse(&text, "fleet.toml").unwrap()
}

/// Two epochs; the second one has a fifth more nodes.
fn epochs(nodes: usize, replicas: usize) -> [Map; 2] {
    let first = build(&fleet(nodes - nodes / 6, replicas), None).unwrap();
    let second = build(&fleet(nodes, replicas), Some(&first)).unwrap();
    [first, second]
}

/// What moves of a file that has a byte for each 2^16 points.
fn bytes(old: &Map, new: &Map) -> Counted {
    let ways = of_plan(&Plan::between(old, new).unwrap(), old).into_iter();
    Counted {
        unit: "bytes".to_owned(),
        line: "The change moves some of all bytes.".to_owned(),
        all: all_copies(old, new) >> 16,
        ways: ways.map(|(way, points)| (way, points >> 16)).collect(),
    }
}

const KEYS: [&[u8]; 4] = [b"frank", b"bob", b"anna", b"<a & b>"];

/// Draws every kind, with its name.
fn all(nodes: usize, replicas: usize, options: &Options) -> Vec<(String, String)> {
    let [first, second] = epochs(nodes, replicas);
    let rows = [&first, &second].map(Row::of_epoch);
    let mut tally = Tally::of(&second);
    let keys: Vec<String> = (0..2000).map(|i| format!("key {i}")).collect();
    let counts: Vec<u64> = (0..2000).map(|i| 10_000 / (i + 1)).collect();
    let read: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    tally.add_keys(Keys::each(&read), Some(&counts)).unwrap();
    let names = second.nodes().map(|node| {
        let number = second.locate(node.name().as_bytes()).0;
        Bucket {
            label: node.name().to_owned(),
            names: 1000 + u64::from(number) % 7,
            ideal: 1003.0,
        }
    });
    let buckets = Buckets {
        title: "names".to_owned(),
        what: "node".to_owned(),
        note: String::new(),
        buckets: names.collect(),
    };
    let drawn = [
        ("bands", bands(&rows, options)),
        ("ring", ring(&second, &KEYS, options)),
        ("shares", shares(&second, Some(&first), options)),
        ("distribution", distribution(&buckets, options)),
        ("moves", moves(&first, &second, options).unwrap()),
        (
            "moves-bytes",
            moves_counted(&first, &second, &bytes(&first, &second), options),
        ),
        ("domains", domains(&second, options)),
        ("load", load(&tally, Reads::Primary, "accesses", options)),
    ];
    let named = |(name, svg): (&str, String)| (format!("{name}-{nodes}"), svg);
    drawn.into_iter().map(named).collect()
}

fn number(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).unwrap()
}

#[test]
fn pictures_are_those_of_the_golden_files() {
    let options = Options::default();
    let mut drawn = all(12, 3, &options);
    drawn.extend(all(100, 1, &options));
    drawn.push((
        "modulo".to_owned(),
        modulo(number(3), number(10), 24, &options),
    ));
    let keys = modulo_keys(number(3), number(4), &KEYS, &options);
    drawn.push(("modulo-keys".to_owned(), keys));
    // a copy more, by itself and as nodes come
    for (name, before) in [("moves-copies", 12), ("moves-copies-nodes", 6)] {
        let old = build(&fleet(before, 2), None).unwrap();
        let new = build(&fleet(12, 3), Some(&old)).unwrap();
        drawn.push((name.to_owned(), moves(&old, &new, &options).unwrap()));
    }
    for theme in [Theme::Light, Theme::Dark] {
        let options = Options {
            theme,
            ..Options::default()
        };
        let [_, map] = epochs(3, 1);
        let svg = domains(&map, &options);
        drawn.push((format!("domains-{theme:?}").to_lowercase(), svg));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut stale = Vec::new();
    for (name, svg) in &drawn {
        let path = golden.join(format!("{name}.svg"));
        if std::env::var_os("STEAD_BLESS").is_some() {
            fs::write(&path, svg).unwrap();
        }
        if fs::read_to_string(&path).ok().as_ref() != Some(svg) {
            stale.push(name.as_str());
        }
    }
    assert!(stale.is_empty(), "these differ: {}", stale.join(", "));
    assert_eq!(fs::read_dir(golden).unwrap().count(), drawn.len());
}

/// Returns what is wrong with a picture.
fn faults(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let root = document.root_element();
    let side = |name: &str| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (side("width"), side("height"));
    let mut wrong = Vec::new();
    let child = |name: &str| root.children().find(|node| node.has_tag_name(name));
    for name in ["title", "desc"] {
        let text = child(name).and_then(|node| node.text()).unwrap_or("");
        if text.is_empty() {
            wrong.push(format!("no {name}"));
        }
    }
    let mut ids = BTreeSet::new();
    for node in document.descendants() {
        if node.attribute("id").is_some_and(|id| !ids.insert(id)) {
            wrong.push(format!("two ids {:?}", node.attribute("id")));
        }
        let classes = node.attribute("class").unwrap_or("").split(' ');
        for class in classes.filter(|class| !class.is_empty()) {
            let ours = class.starts_with("sp-") || class.starts_with("stead-");
            if !ours || (class != "stead-plot" && !svg.contains(&format!(".{class}{{"))) {
                wrong.push(format!("class {class} has no rule"));
            }
        }
        if !node.has_tag_name("text") {
            continue;
        }
        let place = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let text = node.text().unwrap_or("");
        let class = node.attribute("class").unwrap();
        let size = match () {
            () if class.contains("sp-h") => 18.0,
            () if class.contains("sp-s") => 11.0,
            () => 13.0,
        };
        // a mean width: half of the size is less than what most texts have
        let wide = text.chars().count() as f64 * size * 0.5;
        let x = match node.attribute("text-anchor") {
            None => place("x"),
            Some("middle") => place("x") - wide / 2.0,
            Some(_) => place("x") - wide,
        };
        if x < 0.0 || x + wide > width || place("y") > height || place("y") < size * 0.7 {
            wrong.push(format!("{text:?} is outside"));
        }
    }
    wrong
}

#[test]
fn pictures_are_sound_from_1_node_to_1000_on_every_width() {
    for width in [320, 960, 2000] {
        for (nodes, replicas) in [(1, 1), (3, 3), (16, 1), (100, 3), (1000, 1)] {
            let options = Options {
                width,
                ..Options::default()
            };
            for (name, svg) in all(nodes, replicas, &options) {
                let wrong = faults(&svg);
                assert!(wrong.is_empty(), "{name}, {width}: {wrong:?}");
                // 1,000 nodes in a page of HTML are to stay small
                assert!(svg.len() < 200_000, "{name}: {} bytes", svg.len());
            }
        }
        let options = Options {
            width,
            ..Options::default()
        };
        let wrong = faults(&modulo_keys(number(3), number(64), &KEYS, &options));
        assert!(wrong.is_empty(), "{width}: {wrong:?}");
    }
}

/// The control: what is wrong is found.
#[test]
fn faults_are_found() {
    let options = Options::default();
    let [_, map] = epochs(3, 1);
    let svg = shares(&map, None, &options);
    assert!(faults(&svg).is_empty());
    let spoilt = [
        svg.replacen("<text x=\"24\"", "<text x=\"900\"", 1),
        svg.replacen("sp-t sp-h", "title", 1),
        svg.replacen("id=\"stead-desc\"", "id=\"stead-title\"", 1),
    ];
    for spoilt in spoilt {
        assert_eq!(faults(&spoilt).len(), 1, "{:?}", faults(&spoilt));
    }
}

#[test]
fn odd_names_stay_text() {
    let fleet = Fleet::parse(
        "name = '<m>&\"'\nnode = [{name = '<script>'}, {name = 'b&b'}, {name = '\u{202e}日本'}]",
        "fleet.toml",
    );
    let map = build(&fleet.unwrap(), None).unwrap();
    let svg = ring(&map, &[b"\xff<", b"\x00\x1b"], &Options::default());
    assert!(faults(&svg).is_empty() && !svg.contains("<script>"));
    assert!(svg.contains("&lt;script&gt;"));
}

#[test]
fn maps_of_two_clusters_have_no_moves() {
    let one = build(&fleet(3, 1), None).unwrap();
    let other = Fleet::parse("name = 'other'\nnode = [{name = 'a'}]", "fleet.toml").unwrap();
    let other = build(&other, None).unwrap();
    let error = moves(&one, &other, &Options::default()).unwrap_err();
    assert_eq!(error.status(), stead::Status::Identity);
}

#[test]
fn rows_of_two_clusters_are_said_to_be_of_two_clusters() {
    let options = Options {
        width: 4000,
        ..Options::default()
    };
    let [one, next] = epochs(30, 1);
    let other = Fleet::parse("name = 'other'\nnode = [{name = 'n1'}]", "fleet.toml").unwrap();
    let other = build(&other, None).unwrap();
    let said = "The rows are maps of different clusters; nodes of the same name have the same \
                colour.</text>";
    let alike = bands(&[&one, &next].map(Row::of_epoch), &options);
    assert!(!alike.contains(said) && alike.contains("30 nodes in all"));
    assert!(alike.contains(">25 nodes that were there in epoch 1</text>"));
    assert!(alike.contains(">5 nodes that came in epoch 2</text>"));
    let mixed = bands(&[&other, &next].map(Row::of_epoch), &options);
    assert!(
        mixed.contains(said) && !mixed.contains("that came in"),
        "{mixed}"
    );
    assert!(mixed.contains("; 30 nodes by name."));
}

/// As in `stead plan`, a part is one of the copies of the map that has more of them.
#[test]
fn with_fewer_copies_the_parts_are_those_of_the_larger_number() {
    let equal = |nodes: usize, replicas: usize| {
        let mut text = format!("name = 'c'\nreplicas = {replicas}\n");
        for i in 0..nodes {
            text += &format!("[[node]]\nname = 'n{i}'\n");
        }
        Fleet::parse(&text, "fleet.toml").unwrap()
    };
    let old = build(&equal(4, 3), None).unwrap();
    let options = Options::default();
    // two of three copies are dropped, and nothing is copied
    let fewer = build(&equal(4, 1), Some(&old)).unwrap();
    let drawn = moves(&old, &fewer, &options).unwrap();
    assert!(
        drawn.contains("66.7 %") && !drawn.contains("200.0 %"),
        "{drawn}"
    );
    let rows = [&old, &fewer].map(Row::of_epoch);
    let drawn = bands(&rows, &options);
    assert!(drawn.contains(">drops 66.7 %</text>"), "{drawn}");
    assert!(
        drawn.contains("how much of all copies it moves or drops."),
        "{drawn}"
    );
    // two new nodes get a third of two copies: 2/3 of the space, of 3 copies
    let wider = build(&equal(6, 2), Some(&old)).unwrap();
    let drawn = moves(&old, &wider, &options).unwrap();
    assert!(drawn.contains("moves 22.2 %"), "{drawn}");
    let rows = [&old, &wider].map(Row::of_epoch);
    assert!(bands(&rows, &options).contains("moves 22.2 %"));
}
