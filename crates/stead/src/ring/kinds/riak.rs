//! Riak Core's ring (`chash.erl`, `chashbin.erl`, `riak_core_apl.erl`), from the table of the
//! owners of its partitions.
//!
//! There are N partitions, a power of two. The number of a key is SHA-1 as 160 bits, and inc =
//! 2^160 div N. A key whose number is h belongs to partition (h div inc + 1) mod N: the one whose
//! index is the **next** multiple of inc after h, so that the last part of the ring belongs to
//! index 0. Its n_val copies are on the owners of that partition and those after it.
//!
//! `walk=consecutive` is Riak's own rule: the next n_val partitions, whatever their owners, so a
//! node that owns two of them is listed twice, and the key has one copy less than n_val.
//! `walk=distinct` continues to nodes that are not listed yet, as the article on Random Slicing
//! draws Riak Core's ring.
//!
//! As N is a power of two, the bounds are multiples of 2^64 / N in the first 64 bits, and a map
//! loses nothing by keeping only those. For another size Riak itself makes a ring that has more
//! partitions than were asked for; such rings are refused.

use std::collections::HashMap;

use crate::cell::Cells;
use crate::error::Result;
use crate::hash::{Affixes, Function, Hash};
use crate::name::check_node_name;
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{RingPoint, Table, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::servers::{wrong, Servers};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "riak",
    about: "Riak Core's partitions under SHA-1, with its preference lists",
    servers: "INDEX NODE for each partition, or the list that riak_core_ring:all_owners/1 prints; \
        an index has 160 bits, or goes from 0 to N-1",
    choices: &[
        Choice {
            name: "n_val",
            values: Values::Number {
                least: 1,
                most: 255,
                default: 3,
            },
            about: "copies of a key",
        },
        Choice {
            name: "walk",
            values: Values::OneOf(&["consecutive", "distinct"]),
            about: "the next partitions, as Riak has it, or those of the next nodes",
        },
        Choice {
            name: "keys",
            values: Values::OneOf(&["riak", "typed", "plain"]),
            about: "BUCKET/KEY or TYPE/BUCKET/KEY as Riak hashes them, or SHA-1 of the key as it \
                is",
        },
        Choice {
            name: "cells",
            values: Values::OneOf(&["points", "partitions"]),
            about: "partitions: no change ever splits a partition",
        },
    ],
    draw,
    list: None,
    variants: &[],
};

/// A number of 160 bits: the upper 128 and the lower 32.
type Index = (u128, u32);

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let mut members: Vec<Member> = Vec::new();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut claims: Vec<(Index, u32, usize)> = Vec::new();
    for line in servers.lines()? {
        // Erlang's notation for a list of pairs is read too: its punctuation counts as blanks
        let blank = |c: char| c.is_whitespace() || "[]{},'\"".contains(c);
        let text = line.text.strip_suffix("].").unwrap_or(line.text);
        let words: Vec<&str> = text.split(blank).filter(|word| !word.is_empty()).collect();
        for pair in words.chunks(2) {
            let [index, name] = pair[..] else {
                return Err(line.wrong("a partition is written INDEX NODE"));
            };
            let Some(index) = decimal(index) else {
                return Err(line.wrong(format!(
                    "the index `{index}` is not a whole number below 2^160"
                )));
            };
            let next = members.len() as u32;
            let node = *numbers.entry(name).or_insert(next);
            if node == next {
                check_node_name(name)
                    .map_err(|why| line.wrong(format!("the name `{name}` {why}")))?;
                members.push(Member::new(name.to_owned(), Weight::ONE));
            }
            claims.push((index, node, line.number));
        }
    }
    let owners = owners(servers.file, claims)?;
    let count = owners.len();
    let copies = choices.number("n_val") as usize;
    let cells = if choices.text("cells") == "points" {
        Cells::FINEST
    } else {
        Cells::from_stored(count as u64)
    };
    let width = cells.count() / count as u128;
    // run p is the part of the ring before the boundary of partition p + 1, which owns that part
    let mut around = owners.clone();
    around.rotate_left(1.min(count));
    let table: Table = if choices.text("walk") == "distinct" {
        let points: Vec<RingPoint> = (0..).map(|p| p * width).zip(around).collect();
        crate::ring::compile::walks(
            &points,
            crate::ring::compile::Owner::AtOrBefore,
            cells.count(),
            copies,
        )
    } else {
        let list = |p: usize| {
            around
                .iter()
                .cycle()
                .skip(p)
                .take(copies.min(count))
                .copied()
                .collect()
        };
        (0..count).map(|p| (p as u128 * width, list(p))).collect()
    };
    let function = match choices.text("keys") {
        "typed" => Function::RiakTyped,
        "plain" => Function::Sha1,
        _ => Function::Riak,
    };
    Ok(Ring {
        hash: Hash::of(function, false, Affixes::default()),
        cells,
        replicas: copies as u32,
        members,
        table,
    })
}

/// The owners of all partitions, in the order of the partitions. Each line of the list gives an
/// index, an owner, and the line's number.
fn owners(file: &str, mut claims: Vec<(Index, u32, usize)>) -> Result<Vec<u32>> {
    claims.sort_unstable();
    let count = claims.len();
    if !count.is_power_of_two() {
        return Err(wrong(
            file,
            1,
            format!(
                "there are {count} partitions; a ring of Riak has a \
            power of two: is the list whole?"
            ),
        ));
    }
    if count as u128 > POINTS_MAX {
        return Err(wrong(
            file,
            1,
            format!("{count} partitions are more than {POINTS_MAX}"),
        ));
    }
    // indexes go from 0 to N-1, or in steps of 2^160 / N; with one partition both are 0
    let short = claims
        .last()
        .is_some_and(|claim| claim.0 == (0, (count - 1) as u32));
    let shift = 160 - count.trailing_zeros();
    let wanted = |p: usize| match (short, shift.checked_sub(32)) {
        (false, Some(shift)) if p > 0 => ((p as u128) << shift, 0),
        _ => (0, p as u32),
    };
    for (p, (index, _, line)) in claims.iter().enumerate() {
        if claims.get(p + 1).is_some_and(|next| next.0 == *index) {
            let line = claims.get(p + 1).map_or(*line, |next| next.2.max(*line));
            return Err(wrong(file, line, "this partition is there twice"));
        }
        if *index != wanted(p) {
            let steps = "the indexes go from 0 to N-1, or from 0 in steps of 2^160 / N";
            return Err(wrong(
                file,
                *line,
                format!(
                    "this index is none of a ring of {count} \
                partitions, or one before it is missing: {steps}"
                ),
            ));
        }
    }
    Ok(claims.into_iter().map(|claim| claim.1).collect())
}

/// A decimal number below 2^160.
fn decimal(text: &str) -> Option<Index> {
    let digit = |c: u8| c.is_ascii_digit().then(|| u64::from(c - b'0'));
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold((0, 0), |(high, low): Index, c| {
        let low = u64::from(low) * 10 + digit(c)?;
        let high = high.checked_mul(10)?.checked_add(u128::from(low >> 32))?;
        Some((high, low as u32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha1::{Digest, Sha1};

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("owners", list, set)
    }

    fn names(ring: &Ring, key: &str) -> Vec<String> {
        let map = ring.map("riak").unwrap();
        map.locate_all(key.as_bytes())
            .map(|id| map.node(id).name().to_owned())
            .collect()
    }

    /// A list of this many partitions: each has its own node, but for neighbours that share one.
    fn table(count: usize) -> String {
        (0..count)
            .map(|p| {
                format!(
                    "{p} {}\n",
                    if p % 8 == 7 {
                        "riak@10.0.0.1".to_owned()
                    } else {
                        format!("riak@10.0.0.{}", p % 8 + 1)
                    }
                )
            })
            .collect()
    }

    #[test]
    fn published_keys_are_where_riak_has_them() {
        // hash, partition
        let one_each = |count: usize| {
            (0..count)
                .map(|p| format!("{p} node{p}\n"))
                .collect::<String>()
        };
        assert_eq!(
            names(&drawn(&one_each(64), &["n_val=2"]).unwrap(), "foo/bar"),
            ["node19", "node20"]
        );
        assert_eq!(
            names(&drawn(&one_each(8), &["n_val=1"]).unwrap(), "foo/bar"),
            ["node3"]
        );
        assert_eq!(
            names(&drawn(&one_each(64), &[]).unwrap(), "artist/REM"),
            ["node30", "node31", "node32"]
        );
        assert_eq!(
            names(
                &drawn(&one_each(64), &["keys=typed", "n_val=1"]).unwrap(),
                "maps/foo/bar"
            ),
            ["node27"]
        );
    }

    #[test]
    fn the_last_part_of_the_ring_belongs_to_index_0_and_no_bound_is_off_by_one() {
        let ring = drawn(&table(8), &["walk=distinct"]).unwrap();
        assert_eq!(ring.table.first().unwrap(), &(0, vec![1, 2, 3]));
        assert_eq!(ring.table.last().unwrap(), &(6 << 61, vec![0, 1, 2])); // 7 and 0 have one owner
        let ring = drawn(&table(8), &[]).unwrap();
        // partitions 7, 0 and 1: 0 and 7 have one owner
        assert_eq!(ring.table[6], (6 << 61, vec![0, 0, 1]));
        assert!(ring.map("riak").is_ok());
    }

    #[test]
    fn keys_go_where_a_walk_over_160_bits_finds_them() {
        for (count, n_val, distinct) in [
            (1, 3, false),
            (2, 3, false),
            (16, 3, true),
            (16, 9, true),
            (64, 4, false),
        ] {
            let list = table(count);
            let owners: Vec<&str> = list
                .lines()
                .map(|line| line.split_once(' ').unwrap().1)
                .collect();
            for cells in ["cells=points", "cells=partitions"] {
                let walk = if distinct {
                    "walk=distinct"
                } else {
                    "walk=consecutive"
                };
                let ring = drawn(
                    &list,
                    &[&format!("n_val={n_val}"), walk, "keys=plain", cells],
                )
                .unwrap();
                let map = ring.map("riak").unwrap();
                for i in 0..500 {
                    let key = format!("key{i}");
                    let digest = Sha1::digest(&key);
                    // h div (2^160 / N), by the upper 32 bits, which is exact for these N
                    let part = (u128::from(u32::from_be_bytes(digest[..4].try_into().unwrap()))
                        * count as u128)
                        >> 32;
                    let mut found: Vec<&str> = Vec::new();
                    for step in 0..count {
                        let owner = owners[(part as usize + 1 + step) % count];
                        if !distinct || !found.contains(&owner) {
                            found.push(owner);
                        }
                    }
                    found.truncate(n_val);
                    let names: Vec<String> = map
                        .locate_all(key.as_bytes())
                        .map(|id| map.node(id).name().to_owned())
                        .collect();
                    assert_eq!(names, found, "{key} of {count} {distinct}");
                }
            }
        }
    }

    #[test]
    fn indexes_may_be_riaks_own_in_riaks_own_words() {
        let inc = "22835963083295358096932575511191922182123945984"; // 2^160 / 64
        assert_eq!(decimal(inc), Some((1 << (154 - 32), 0)));
        assert_eq!(
            decimal("1461501637330902918203684832716283019655932542975"),
            Some((u128::MAX, u32::MAX))
        );
        for bad in [
            "",
            "1461501637330902918203684832716283019655932542976",
            "-1",
            "1e3",
            "99999999999999999999999999999999999999999999999999",
        ] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
        let erlang = "[{0,'riak@10.0.0.1'},\n \
            {730750818665451459101842416358141509827966271488,\n  'riak@10.0.0.2'}].\n";
        let plain = "0 riak@10.0.0.1\n1 riak@10.0.0.2\n";
        assert_eq!(
            drawn(&erlang.replace(",\n  '", ",'"), &[]).unwrap().table,
            drawn(plain, &[]).unwrap().table
        );
    }

    #[test]
    fn what_is_no_ring_of_riak_is_refused() {
        for (list, set, problem) in [
            (
                "0 a\n1 b\n2 c\n",
                &[][..],
                "owners:1: there are 3 partitions; a ring of Riak has a power of two",
            ),
            ("0 a\n0 b\n", &[], "owners:2: this partition is there twice"),
            (
                "0 a\n5 b\n",
                &[],
                "owners:2: this index is none of a ring of 2 partitions",
            ),
            (
                "0 a\nx b\n",
                &[],
                "owners:2: the index `x` is not a whole number below 2^160",
            ),
            (
                "0 a\n1\n",
                &[],
                "owners:2: a partition is written INDEX NODE",
            ),
            (
                "0 a\n1 b\n",
                &["n_val=0"],
                "n_val=0: `0` is not a whole number from 1 to 255",
            ),
            ("\n", &[], "owners:1: there are no servers in it"),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
