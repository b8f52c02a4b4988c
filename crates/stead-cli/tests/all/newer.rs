//! A map of a newer stead with a feature that no lookup needs, and a map with a tolerance: what the
//! program does with them, and what it says.

use crate::program::Dir;
use sha2::{Digest as _, Sha256};
use stead::format::encode;
use stead::{Map, Point};

/// Returns the map with the feature 40 and a section 20 of 4 bytes, by docs/map-format.md.
fn newer(map: &[u8]) -> Vec<u8> {
    let u32_at = |at: usize| u32::from_le_bytes(map[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(map[at..at + 8].try_into().unwrap());
    let count = u32_at(172);
    let table = 176 + 24 * count as usize;
    let mut out = map[..table].to_vec();
    for at in (0..count as usize).map(|i| 176 + 24 * i + 8) {
        out[at..at + 8].copy_from_slice(&(u64_at(at) + 24).to_le_bytes());
    }
    let offset = (map.len() + 24).next_multiple_of(8);
    for word in [20u64 | 4 << 32, offset as u64, 1] {
        out.extend(word.to_le_bytes());
    }
    out.extend(&map[table..]);
    out.resize(offset, 0);
    out.extend([1, 2, 3, 4]);
    let length = out.len() as u64;
    out[12..16].copy_from_slice(&(table as u32 + 24).to_le_bytes());
    out[16..24].copy_from_slice(&length.to_le_bytes());
    out[24..32].copy_from_slice(&(u64_at(24) | 1 << 40).to_le_bytes());
    out[172..176].copy_from_slice(&(count + 1).to_le_bytes());
    out[96..128].fill(0);
    let digest = Sha256::digest(&out);
    out[96..128].copy_from_slice(&digest);
    out
}

fn text(dir: &Dir, arguments: &[&str]) -> String {
    dir.run(arguments).ok().text().to_owned()
}

#[test]
fn a_map_of_a_newer_stead_is_looked_up_and_neither_judged_nor_changed() {
    let dir = Dir::new();
    dir.apply(&["a", "b", "c"]);
    dir.write("newer.map", newer(&dir.read("m.map")));
    let before = dir.everything();
    for rest in [&["frank", "justin"][..], &["--prefer", "3", "frank"]] {
        let [old, new] =
            ["m.map", "newer.map"].map(|map| text(&dir, &[&["locate", map], rest].concat()));
        assert_eq!(old, new);
    }
    for verb in [
        &["check", "newer.map"][..],
        &["check", "newer.map", "--json"],
        &["plan", "fleet.toml", "newer.map"],
        &["apply", "fleet.toml", "newer.map"],
        &["apply", "fleet.toml", "newer.map", "--max-move", "5%"],
        &["rollback", "newer.map", "1"],
        &["diff", "newer.map", "m.map"],
        &["diff", "m.map", "newer.map"],
        &["show", "newer.map"],
        &["show", "newer.map", "--fleet"],
    ] {
        let needs = "newer.map: the map needs feature 40, which this stead does not know; use a \
                     newer stead";
        let words: &[&str] = match verb[0] {
            "diff" => &["newer.map", "needs feature 40", "use a newer stead"],
            _ => &[needs],
        };
        let ran = dir.run(verb).fails(65, words);
        assert!(ran.out.is_empty(), "{verb:?}: {ran:?}");
    }
    assert_eq!(dir.everything(), before);
}

#[test]
fn a_tolerance_is_shown_and_judged() {
    let dir = Dir::new();
    let nodes = "node = [{name = 'a'}, {name = 'b'}]\n";
    dir.write("exact.toml", format!("name = 'm'\n{nodes}"));
    dir.write(
        "fleet.toml",
        format!("name = 'm'\ntolerance = '1.50%'\n{nodes}"),
    );
    text(&dir, &["apply", "exact.toml", "m.map"]);
    let planned = text(&dir, &["plan", "fleet.toml", "m.map"]);
    assert!(planned.contains("tolerance none -> 1.5%"), "{planned}");
    text(&dir, &["apply", "fleet.toml", "m.map"]);
    let shown = text(&dir, &["show", "m.map"]);
    assert!(
        shown.contains("\nshares  within 1.5% of their targets\n"),
        "{shown}"
    );
    assert_eq!(
        dir.run(&["show", "m.map", "--json"]).json()["tolerance"],
        "1.5%"
    );
    let stated = dir.run(&["show", "m.map", "--fleet"]);
    let stated = stated.text();
    assert!(stated.contains("\ntolerance = \"1.5%\"\n"), "{stated}");
    // the words of check, whatever the lines
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&text(&dir, &["check", "m.map"]));
    let exact = "ok balance every share is within 1.5% of its target, at most 0.0000% off";
    assert!(said.contains(exact), "{said}");
    // a border that lies 1% of a share away from the middle, and then 2%
    let moved = |name: &str, part: u64| {
        let map = Map::from_bytes(dir.read("m.map")).unwrap();
        let mut parts = map.to_parts();
        parts.base[1].0 = Point((1 << 63) + (1 << 63) / 100 * part);
        dir.write(name, encode(&parts));
    };
    moved("within.map", 1);
    let said = words(&text(&dir, &["check", "within.map"]));
    assert!(
        said.contains("of its target, at most 1.0000% off"),
        "{said}"
    );
    let json = dir.run(&["check", "within.map", "--json"]).json();
    assert_eq!(
        (&json["tolerance"], &json["max_share_error_millionths"]),
        (&"1.5%".into(), &10_000.into())
    );
    assert_eq!(json["ok"], true);
    moved("beyond.map", 2);
    let ran = dir.run(&["check", "beyond.map"]).fails(1, &[]);
    let said = words(ran.text());
    let broken = "BROKEN balance 2 shares off target by more than 1.5%, by at most";
    assert!(said.contains(broken), "{said}");
    let listed = "more than the tolerance of its target allows";
    assert!(said.contains(listed), "{said}");
}
