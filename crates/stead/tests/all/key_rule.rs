//! The key rule: how a fleet sets it, how a map stores it, and that every query to a map applies
//! it.

use std::collections::BTreeSet;
use std::path::Path;

use stead::error::Status;
use stead::format::encode;
use stead::hash::{Hash, KeyRule, Secret};
use stead::plan::Plan;
use stead::point::{Share, SPACE};
use stead::rebalance::build_max_move;
use stead::{build, Error, Fleet, Map};

/// A fleet of two copies over five nodes in two zones, with the lines `top` above its nodes.
fn fleet(top: &str) -> Fleet {
    let nodes: String = (0..5)
        .map(|i| {
            format!(
                "[[node]]\nname = 'n{i}'\nlabels = {{ zone = '{}' }}\n",
                ["a", "b"][i % 2]
            )
        })
        .collect();
    Fleet::parse(
        &format!("name = 'rrd'\nreplicas = 2\nspread = ['zone']\n{top}\n{nodes}"),
        "f",
    )
    .unwrap()
}

fn map(top: &str) -> Map {
    build(&fleet(top), None).unwrap()
}

fn refused(fleet: &Fleet, previous: Option<&Map>) -> (Status, String) {
    let error = build(fleet, previous).err().unwrap();
    (error.status(), error.to_string())
}

/// The field of the hash and the required features, at the offsets of docs/map-format.md.
fn stored(map: &Map) -> (u32, u64) {
    let bytes = map.bytes();
    (
        u32::from_le_bytes(bytes[128..132].try_into().unwrap()),
        u64::from_le_bytes(bytes[24..32].try_into().unwrap()),
    )
}

const SECRET: &str = "hash = 'siphash'\nsecret = '000102030405060708090a0b0c0d0e0f'";

#[test]
fn the_files_of_a_host_stay_together() {
    for hash in ["hash = 'md5'", "hash = 'sha1'", "hash = 'xxh3'", SECRET] {
        let (ruled, whole) = (map(&format!("key = 'first 1 segments'\n{hash}")), map(hash));
        let (mut places, mut scattered) = (BTreeSet::new(), 0);
        for host in 0..50 {
            let host = format!("host{host}.example.org");
            let files: Vec<String> = (0..20)
                .map(|i| format!("{host}/disk{}/{i}.rrd", i % 3))
                .chain([host.clone(), format!("/{host}/x")])
                .collect();
            for file in &files {
                let file = file.as_bytes();
                assert_eq!(ruled.point(file), whole.point(host.as_bytes()));
                assert_eq!(ruled.locate(file), whole.locate(host.as_bytes()));
                assert!(ruled.locate_all(file).eq(whole.locate_all(host.as_bytes())));
                assert_eq!(ruled.prefer(file, 5), whole.prefer(host.as_bytes(), 5));
            }
            places.insert(ruled.locate(host.as_bytes()));
            // the control: without the rule, the files of a host are scattered
            let found: BTreeSet<_> = files
                .iter()
                .map(|file| whole.locate(file.as_bytes()))
                .collect();
            scattered += usize::from(found.len() > 1);
        }
        assert_eq!((places.len(), scattered), (5, 50), "{hash}");
    }
}

#[test]
fn the_whole_key_is_hashed_by_default_and_such_maps_keep_their_bytes() {
    let (out, said) = (map(""), map("key = 'whole'"));
    assert_eq!(out.bytes(), said.bytes());
    assert_eq!((out.key_rule(), stored(&out)), (KeyRule::Whole, (1, 0)));
    assert_eq!(
        (fleet("").key_rule, fleet("key = 'whole'").key_rule),
        (None, Some(KeyRule::Whole))
    );
    let md5 = Hash::Md5;
    for key in [&b"/web1/cpu"[..], b"//", b"web1/cpu"] {
        assert_eq!(out.point(key), md5.point(key));
    }
}

#[test]
fn a_map_stores_its_rule_with_its_hash_so_that_an_older_stead_refuses_it() {
    // bits 16 to 23 of the field hold the rule; feature 1 means "the field hash is above 4"
    assert_eq!(stored(&map("key = 'first 1 segments'")), (0x1_0001, 2));
    assert_eq!(
        stored(&map("key = 'first 255 segments'\nhash = 'xxh3'")),
        (0xff_0003, 2)
    );
    let keyed = map(&format!("key = 'first 1 segment'\n{SECRET}"));
    assert_eq!(stored(&keyed), (0x1_0004, 2));
    assert_eq!(
        keyed.hash(),
        Hash::SipHash(Secret(std::array::from_fn(|i| i as u8)))
    );
    assert!(keyed.hash().is_secret());
    assert_eq!(encode(&keyed.to_parts()), keyed.bytes());
}

#[test]
fn a_map_keeps_its_rule() {
    let (first, left_out, grown) = (
        fleet("key = 'first 2 segments'"),
        fleet(""),
        "\n[[node]]\nname = 'n9'\nlabels = { zone = 'b' }",
    );
    let map = build(&first, None).unwrap();
    let two = KeyRule::parse("first 2 segments").unwrap();
    assert_eq!(map.key_rule(), two);
    let same = build(&left_out, Some(&map)).unwrap();
    assert!(same.same(&map));
    let grown = Fleet::parse(
        &format!(
            "name = 'rrd'\nreplicas = 2\nspread = \
        ['zone']\n[[node]]\nname = 'n0'\nlabels = {{ zone = 'a' }}{grown}"
        ),
        "f",
    )
    .unwrap();
    let step = build_max_move(&grown, Some(&map), Share(SPACE / 100)).unwrap();
    assert!(step.target_slices().is_some());
    for later in [
        &same,
        &step,
        &build(&grown, Some(&step)).unwrap(),
        &map.again_after(&step).unwrap(),
    ] {
        assert_eq!(later.key_rule(), two);
        assert_eq!(later.point(b"a/b/c"), Hash::Md5.point(b"a/b"));
        assert!(Plan::between(&map, later).is_ok());
    }
}

#[test]
fn another_rule_than_the_maps_is_refused() {
    let rules = ["", "key = 'first 1 segments'", "key = 'first 2 segments'"];
    for (i, of_map) in rules.iter().enumerate() {
        let map = map(of_map);
        for (j, asked) in ["key = 'whole'", rules[1], rules[2]]
            .into_iter()
            .enumerate()
        {
            if i == j {
                assert!(build(&fleet(asked), Some(&map)).unwrap().same(&map));
                continue;
            }
            let (status, message) = refused(&fleet(asked), Some(&map));
            let (fleet, map) = (asked.replace('\'', "\""), map.key_rule());
            assert_eq!(status, Status::Identity);
            assert_eq!(
                message,
                format!(
                    "f: the fleet says {fleet} and the map has \"{map}\"; a \
                map keeps its key rule, another would move nearly every key; leave `key` out of \
                the fleet"
                )
            );
        }
    }
    let error = Plan::between(&map(rules[1]), &map(rules[2])).err().unwrap();
    assert!(
        matches!(error, Error::Identity { .. })
            && error.to_string().contains("hash keys in different ways"),
        "{error}"
    );
    let other = SECRET.replace("0001", "1001");
    assert!(Plan::between(&map(SECRET), &map(SECRET)).is_ok());
    let error = Plan::between(&map(SECRET), &map(&other)).err().unwrap();
    assert!(
        error
            .to_string()
            .contains("under different secrets (docs/security.md"),
        "{error}"
    );
    // the map of a ring hashes the whole key, as the original program does
    let ring = Map::open_uncached(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/maps/hash-md5-affixes.map"),
    )
    .unwrap();
    let nodes = "[[node]]\nname = 'n0'\n[[node]]\nname = 'n1'\n[[node]]\nname = 'n2'\n";
    let asks = |key: &str| Fleet::parse(&format!("name = 'ring'\n{key}\n{nodes}"), "f").unwrap();
    assert!(build(&asks("key = 'whole'"), Some(&ring)).is_ok());
    assert_eq!(refused(&asks(rules[1]), Some(&ring)).0, Status::Identity);
}

#[test]
fn a_pin_by_key_holds_for_all_keys_with_its_first_segments() {
    let pin = |key: &str| format!("[[pin]]\nkey = '{key}'\nnodes = ['n3', 'n0']\n");
    let pinned = |rule: &str, pins: &str| {
        let nodes: String = (0..5)
            .map(|i| format!("[[node]]\nname = 'n{i}'\n"))
            .collect();
        Fleet::parse(&format!("name = 'rrd'\n{rule}\n{nodes}{pins}"), "f").unwrap()
    };
    let on = |map: &Map, key: &str| {
        map.locate_all(key.as_bytes())
            .map(|node| map.node(node).name().to_owned())
            .collect::<Vec<_>>()
    };
    let (rule, hosts) = (
        "key = 'first 1 segments'",
        ["web1", "web1/cpu.rrd", "/web1/x/y", "web1/"],
    );
    for key in hosts {
        let map = build(&pinned(rule, &pin(key)), None).unwrap();
        assert!(
            hosts.iter().all(|key| on(&map, key) == ["n3", "n0"]),
            "{key}"
        );
        assert_eq!(on(&map, "web2/cpu.rrd").len(), 1);
        // the map keeps the key as it was written
        assert_eq!(map.pins().next().unwrap().key, Some(key.as_bytes()));
        // opening the map applies the rule to this key: under another rule the pin would lie
        // elsewhere
        let mut parts = map.to_parts();
        parts.key_rule = KeyRule::parse("first 2 segments").unwrap();
        let moved = Map::from_bytes(encode(&parts));
        assert_eq!(moved.is_err(), key != "web1", "{key}");
    }
    let (status, message) = refused(
        &pinned(
            rule,
            &(pin("web1/cpu.rrd") + &pin("web2") + &pin("/web1/mem.rrd")),
        ),
        None,
    );
    assert_eq!(status, Status::Fleet);
    assert_eq!(
        message,
        "f:19: pin covers points of the pin in line 13 (of a key only the first 1 \
        segments are hashed); pins must not overlap"
    );
    assert!(build(
        &pinned(
            "",
            &(pin("web1/cpu.rrd") + &pin("web2") + &pin("/web1/mem.rrd"))
        ),
        None
    )
    .is_ok());
}
