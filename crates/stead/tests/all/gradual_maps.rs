//! Maps with a gradual change under way: how they are read, which are refused, and that no file
//! makes the reader panic.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use stead::format::{encode, Parts};
use stead::policy::{NodeId, PolicyId};
use stead::slice::Slice;
use stead::weight::Weight;
use stead::{Map, Point, Status};

fn maps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/maps")
}

fn map(name: &str) -> Map {
    Map::open_uncached(maps().join(format!("{name}.map"))).unwrap()
}

/// The error of a map after a change of its parts.
fn refused(name: &str, change: impl FnOnce(&mut Parts)) -> String {
    let mut parts = map(name).to_parts();
    change(&mut parts);
    let error = Map::from_bytes(encode(&parts)).unwrap_err();
    assert_eq!(error.status(), Status::Format, "{error}");
    error.to_string()
}

#[test]
fn target_and_leaving_nodes_are_read() {
    for (name, count, leaving) in [
        ("gradual", 5, &["n1"][..]),
        ("gradual-copies", 7, &[]),
        ("gradual-left", 8, &["b1"]),
        ("gradual-end", 0, &[]),
        ("replicas", 0, &[]),
    ] {
        let map = map(name);
        assert_eq!(
            (map.target_count(), map.target_slices().is_some()),
            (count, count > 0),
            "{name}"
        );
        assert_eq!(
            map.nodes()
                .filter(|n| n.leaving())
                .map(|n| n.name())
                .collect::<Vec<_>>(),
            leaving,
            "{name}"
        );
        let targets: Option<Vec<_>> = map.target_slices().map(Iterator::collect);
        if let Some(targets) = targets {
            assert_eq!(targets.len(), count);
            assert_eq!(targets.iter().map(|s| s.points()).sum::<u128>(), 1 << 64);
            assert_ne!(targets, map.base_slices().collect::<Vec<_>>());
        }
    }
    // the change ends with the slices that were its target
    let holders = |map: &Map, slices: Vec<Slice>| {
        let names = |s: &Slice| {
            map.policy(s.policy)
                .members()
                .map(|n| map.node(n).name().to_owned())
                .collect::<Vec<_>>()
        };
        slices
            .iter()
            .map(|s| (s.first, s.last, names(s)))
            .collect::<Vec<_>>()
    };
    let (under_way, end) = (map("gradual"), map("gradual-end"));
    assert_eq!(
        holders(&under_way, under_way.target_slices().unwrap().collect()),
        holders(&end, end.base_slices().collect())
    );
}

#[test]
fn every_rule_of_the_target_says_what_is_wrong() {
    let target = |change: fn(&mut Vec<(Point, PolicyId)>)| {
        refused("gradual", |parts| {
            change(&mut parts.target.as_mut().unwrap().slices)
        })
    };
    let leaving = |nodes: &[u32], change: fn(&mut Parts)| {
        refused("gradual", |parts| {
            parts.target.as_mut().unwrap().leaving = nodes.iter().copied().map(NodeId).collect();
            change(parts);
        })
    };
    let same = |_: &mut Parts| {};
    for (found, wanted) in [
        (
            target(Vec::clear),
            "there must be target slices, with as many policies as points",
        ),
        (
            target(|t| *t = t.split_off(1)),
            "the first slice must start at point 0",
        ),
        (
            target(|t| t.swap(1, 2)),
            "slices must be ordered by their first points",
        ),
        (
            target(|t| t[1].1 = t[0].1),
            "neighbouring slices have the same policy",
        ),
        (
            target(|t| t[1].0 .0 += 1),
            "the slice does not start at a cell bound",
        ),
        (target(|t| t[1].1 = PolicyId(8)), "there is no policy 8"),
        (
            target(|t| t[1].1 = PolicyId(0)),
            "a target slice is held by a named policy without a weight",
        ),
        (target(|t| t.truncate(4)), "an unnamed policy holds nothing"),
        (
            refused("gradual", |p| {
                p.target.as_mut().unwrap().slices = p.base.clone()
            }),
            "the target slices are the base slices",
        ),
        (leaving(&[6], same), "there is no node 6"),
        (leaving(&[u32::MAX], same), "there is no node 4294967295"),
        (
            leaving(&[1, 1], same),
            "leaving nodes must be ordered, none twice",
        ),
        (leaving(&[0], same), "a leaving node must have weight 0"),
        (leaving(&[1, 5], same), "a leaving node holds no base slice"),
        (
            leaving(&[1], |p| {
                p.target.as_mut().unwrap().slices[2].1 = PolicyId(3)
            }),
            "a leaving node holds a target slice",
        ),
        (
            leaving(&[1], |p| p.pins[0].policy = PolicyId(3)),
            "a pin or a named policy names a leaving node",
        ),
        (
            leaving(&[1], |p| p.policies[0].members.push(NodeId(1))),
            "a pin or a named policy names a leaving node",
        ),
        (
            leaving(&[1], |p| p.nodes[1].weight = Weight::ONE),
            "a leaving node must have weight 0",
        ),
    ] {
        assert!(found.contains(wanted), "{found:?} does not say {wanted:?}");
    }
    // the controls: an unchanged map, and a map in which no node is leaving
    let unchanged = map("gradual");
    assert!(encode(&unchanged.to_parts()) == unchanged.bytes());
    let mut parts = unchanged.to_parts();
    parts.target.as_mut().unwrap().leaving.clear();
    assert!(Map::from_bytes(encode(&parts)).is_ok());
}

#[test]
fn a_rollback_brings_the_target_back() {
    let (before, under_way, end) = (map("cells-1000"), map("gradual"), map("gradual-end"));
    let back = under_way.again_after(&end).unwrap();
    assert!(back.same(&under_way) && !back.same(&end));
    assert_eq!((back.epoch(), back.parent()), (4, end.digest()));
    assert_eq!(back.to_parts().target, under_way.to_parts().target);
    // a rollback to an epoch without a target removes the target
    let back = before.again_after(&under_way).unwrap();
    assert!(back.same(&before));
    assert_eq!(back.target_count(), 0);
}

#[test]
fn maps_that_differ_in_their_target_only_are_not_the_same() {
    let under_way = map("gradual");
    let with = |change: fn(&mut Parts)| {
        let mut parts = under_way.to_parts();
        change(&mut parts);
        Map::from_bytes(encode(&parts)).unwrap()
    };
    // one target bound is at cell 100 of 1000 instead of cell 125
    let moved = with(|p| p.target.as_mut().unwrap().slices[1].0 = Point(p.cells.bound(100) as u64));
    let stays = with(|p| p.target.as_mut().unwrap().leaving.clear());
    for other in [moved, stays] {
        assert!(!under_way.same(&other) && !other.same(&under_way));
    }
    assert!(under_way.same(&with(|p| p.epoch += 7)));
}

/// Sets every field of these files to hostile values, with a new digest. None may panic, and what
/// is accepted is canonical.
#[test]
fn a_changed_file_is_refused_or_is_canonical() {
    let (mut refused, mut accepted) = (0, 0);
    for name in ["gradual", "gradual-copies", "gradual-left", "pin-added"] {
        let good = fs::read(maps().join(format!("{name}.map"))).unwrap();
        let mut judge = |mut bytes: Vec<u8>| {
            bytes[96..128].fill(0);
            let digest = Sha256::digest(&bytes);
            bytes[96..128].copy_from_slice(&digest);
            match Map::from_bytes(bytes) {
                Err(error) => {
                    assert!(
                        matches!(error.status(), Status::Format | Status::Version),
                        "{error}"
                    );
                    refused += 1;
                }
                Ok(map) => {
                    // the parts have nothing of features that this stead does not know
                    assert!(
                        map.understood().is_err() || encode(&map.to_parts()) == map.bytes(),
                        "{name}: {:?}",
                        map.to_parts()
                    );
                    accepted += 1;
                }
            }
        };
        for at in (0..good.len() - 4).step_by(4) {
            let old = u32::from_le_bytes(good[at..at + 4].try_into().unwrap());
            for value in [
                0,
                1,
                2,
                3,
                old ^ 1,
                old.wrapping_add(8),
                old.wrapping_sub(1),
                0x7FFF_FFFF,
                0xFFFF_FFF8,
                u32::MAX,
            ] {
                let mut bytes = good.clone();
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
                judge(bytes);
            }
        }
        // the file is cut short, with a matching file length in its header
        for size in 176..good.len() {
            let mut bytes = good[..size].to_vec();
            bytes[16..24].copy_from_slice(&(size as u64).to_le_bytes());
            judge(bytes);
        }
    }
    println!("{refused} refused, {accepted} accepted");
    assert!(
        refused > 10_000 && accepted > 100,
        "{refused} refused, {accepted} accepted"
    );
}
