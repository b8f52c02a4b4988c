//! Features that a program need not know: a map of a newer stead is looked up, but no next map is
//! computed from it, and it is not judged. And the tolerance, which is such a feature.

use sha2::{Digest as _, Sha256};
use stead::report::Report;
use stead::tolerance::Tolerance;
use stead::{build, build_max_move, Fleet, Map, Plan, Share, Status};

const FEATURES: usize = 24;
const SECTION_COUNT: usize = 172;

fn fleet(top: &str) -> Fleet {
    let nodes = "node = [{name = 'a'}, {name = 'b'}, {name = 'c', weight = 2}]";
    let pin = "pin = [{key = 'k', nodes = ['a']}]";
    Fleet::parse(&format!("name = 'm'\n{top}\n{nodes}\n{pin}"), "fleet").unwrap()
}

fn map(top: &str) -> Map {
    build(&fleet(top), None).unwrap()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Returns the map with more features, and with more sections at its end, each with its number, its
/// record size and its bytes. Written by docs/map-format.md alone.
fn with(map: &Map, features: u64, sections: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let old = map.bytes();
    let count = u32_at(old, SECTION_COUNT) as usize;
    let (table, more) = (176 + 24 * count, 24 * sections.len());
    let mut body = old[table..].to_vec();
    let mut out = old[..table].to_vec();
    for i in 0..count {
        let at = 176 + 24 * i + 8;
        let offset = u64_at(old, at) + more as u64;
        out[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    }
    for (number, size, content) in sections {
        body.resize(body.len().next_multiple_of(8), 0);
        let offset = (table + more + body.len()) as u64;
        out.extend(number.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend(offset.to_le_bytes());
        out.extend((content.len() as u64 / u64::from(*size)).to_le_bytes());
        body.extend(*content);
    }
    out.extend(body);
    let length = out.len() as u64;
    out[12..16].copy_from_slice(&((table + more) as u32).to_le_bytes());
    out[16..24].copy_from_slice(&length.to_le_bytes());
    out[FEATURES..32].copy_from_slice(&(u64_at(old, FEATURES) | features).to_le_bytes());
    out[SECTION_COUNT..176].copy_from_slice(&((count + sections.len()) as u32).to_le_bytes());
    sealed(out)
}

/// Returns the bytes with the right digest.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[96..128].fill(0);
    let digest = Sha256::digest(&bytes);
    bytes[96..128].copy_from_slice(&digest);
    bytes
}

const LATER: &[(u32, u32, &[u8])] = &[(20, 4, &[1, 2, 3, 4, 5, 6, 7, 8]), (25, 1, &[9])];

#[test]
fn a_map_of_a_newer_stead_is_looked_up_like_its_older_self() {
    for top in ["", "tolerance = '1%'"] {
        let old = map(top);
        let newer = Map::from_bytes(with(&old, 1 << 40, LATER)).unwrap();
        for key in 0..500 {
            let key = format!("key {key}");
            assert_eq!(newer.locate(key.as_bytes()), old.locate(key.as_bytes()));
            let lists = [&newer, &old].map(|map| map.prefer(key.as_bytes(), 3));
            assert_eq!(lists[0], lists[1]);
        }
        assert!(newer.slices().eq(old.slices()));
        assert_eq!(newer.tolerance(), old.tolerance());
        assert_eq!(newer.features(), old.features() | 1 << 40);
        assert!(old.understood().is_ok() && !newer.same(&old));
        // what a client has to copy does not depend on such features either
        let plan = Plan::between(&old, &newer).unwrap();
        assert!(plan.moves.is_empty());
    }
}

#[test]
fn no_next_map_is_computed_from_a_map_of_a_newer_stead_and_it_is_not_judged() {
    let old = map("");
    let newer = Map::from_bytes(with(&old, 1 << 40 | 1 << 63, LATER)).unwrap();
    let part = Share(1 << 60);
    let errors = [
        newer.understood().err(),
        build(&fleet(""), Some(&newer)).err(),
        build_max_move(&fleet(""), Some(&newer), part).err(),
        Report::of(None, &newer, false).err(),
        Report::of(Some(&newer), &old, false).err(),
        Report::of(Some(&old), &newer, true).err(),
        newer.again_after(&newer).err(),
    ];
    for error in errors {
        let error = error.unwrap();
        assert_eq!(error.status(), Status::Version);
        assert_eq!(
            error.to_string(),
            "the map needs feature 40, which this stead does not know; use a newer stead"
        );
    }
    let plan = Plan::between(&old, &newer).unwrap();
    assert!(Report::of_plan(&plan, &old, &newer, false).is_err());
}

#[test]
fn a_feature_that_every_reader_must_know_is_refused_by_all() {
    for features in [1 << 20, 1 << 20 | 1 << 40] {
        let error = Map::from_bytes(with(&map(""), features, &[])).unwrap_err();
        assert_eq!(error.status(), Status::Version);
        assert!(error.to_string().contains("needs feature 20"), "{error}");
    }
}

#[test]
fn later_sections_keep_the_rules_of_the_section_table() {
    let old = map("");
    let one: &[u8] = &[1];
    for sections in [
        &[(19, 1, one)][..], // known, but its feature is not set
        &[(17, 32, &[0; 32])],
        &[(20, 1, one), (20, 1, one)],
        &[(21, 1, one), (20, 1, one)],
    ] {
        let error = Map::from_bytes(with(&old, 1 << 40, sections)).unwrap_err();
        assert_eq!(error.status(), Status::Format, "{sections:?}");
        assert!(error.to_string().contains("a higher number"), "{error}");
    }
    // a later section needs a feature of its own
    for features in [0, 1 << 32] {
        let error = Map::from_bytes(with(&old, features, LATER)).unwrap_err();
        assert!(error.to_string().contains("header length"), "{error}");
    }
    let good = with(&old, 1 << 40, LATER);
    assert!(Map::from_bytes(good.clone()).is_ok());
    let entry = 176 + 24 * (u32_at(&good, SECTION_COUNT) as usize - 1);
    for (at, value) in [
        (entry + 8, 1),
        (entry + 16, 2),
        (entry + 16, u64::MAX),
        (16, 1),
    ] {
        let mut bad = good.clone();
        bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
        assert!(Map::from_bytes(sealed(bad)).is_err(), "{at} {value}");
    }
    // the digest covers what this stead does not read
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    assert_eq!(Map::from_bytes(bad).unwrap_err().status(), Status::Digest);
}

#[test]
fn a_newer_version_of_the_algorithm_is_read_and_a_build_writes_its_own() {
    let old = map("");
    let with_algorithm = |version: u32| {
        let mut bytes = old.bytes().to_vec();
        bytes[56..60].copy_from_slice(&version.to_le_bytes());
        Map::from_bytes(sealed(bytes))
    };
    assert!(with_algorithm(0).is_err());
    for version in [7, u32::MAX] {
        let newer = with_algorithm(version).unwrap();
        assert_eq!(newer.algorithm(), version);
        let next = build(&fleet(""), Some(&newer)).unwrap();
        assert_eq!(next.algorithm(), stead::rebalance::ALGORITHM);
        assert!(next.base_slices().eq(old.base_slices()));
    }
}

#[test]
fn a_map_keeps_the_tolerance_of_its_fleet() {
    let exact = map("");
    assert_eq!((exact.tolerance(), exact.features()), (None, 0));
    let tolerant = map("tolerance = '0.5%'");
    let half = Tolerance::from_millionths(5_000);
    assert_eq!((tolerant.tolerance(), tolerant.features()), (half, 1 << 32));
    assert_eq!(tolerant.fleet().tolerance, half);
    assert_eq!(tolerant.to_parts().tolerance, half);
    // the bytes of section 19, by the page
    let stored: &[(u32, u32, &[u8])] = &[(19, 8, &[0x88, 0x13, 0, 0, 0, 0, 0, 0])];
    assert_eq!(tolerant.bytes(), with(&exact, 1 << 32, stored));
    for content in [
        &[0; 8][..],
        &[0xa1, 0x86, 1, 0, 0, 0, 0, 0], // 100,001
        &[0x88, 0x13, 0, 0, 1, 0, 0, 0],
        &[],
        &[0x88, 0x13, 0, 0, 0, 0, 0, 0, 0x88, 0x13, 0, 0, 0, 0, 0, 0],
    ] {
        let error = Map::from_bytes(with(&exact, 1 << 32, &[(19, 8, content)])).unwrap_err();
        assert!(error.to_string().contains("one tolerance"), "{error}");
    }
    // a change of the tolerance alone is a change, and taking it back is one too
    let next = build(&fleet("tolerance = '1%'"), Some(&tolerant)).unwrap();
    assert!(!next.same(&tolerant));
    let report = Report::of(Some(&tolerant), &next, false).unwrap();
    let edits: Vec<String> = report
        .changes
        .iter()
        .flatten()
        .map(|e| e.to_string())
        .collect();
    assert_eq!(edits, ["~ tolerance 0.5% -> 1%"]);
    let back = build(&fleet(""), Some(&next)).unwrap();
    assert_eq!(back.tolerance(), None);
    assert!(build(&fleet("tolerance = '1%'"), Some(&next))
        .unwrap()
        .same(&next));
}
