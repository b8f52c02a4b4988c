//! Explicit: a table lists the holders, for fleets that shard by ranges of a hash, by ranges of
//! numbers, or by `hash mod n` buckets.
//!
//! With `modulo=N` a key's bucket is its hash modulo N, and each line assigns a bucket or a range
//! of them (both ends included) to its nodes. Without it lines are lower bounds in the width of the
//! hash (a bound holds up to the next, and one is 0), or ranges that together cover everything.
//! `hash=decimal` takes the number that a key starts with: for `user_id % n`, and ranges of ids.

use std::collections::HashMap;

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Function, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::ranges::{table, Range};
use crate::ring::servers::{wrong, Line, Servers};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "explicit",
    about: "bounds or buckets from a table: sharding by ranges, or by hash mod n",
    servers:
        "BOUND NODE[,NODE...] or FIRST-LAST NODE[,NODE...] on each line, decimal or as 0x and \
        hex digits; with modulo, buckets in the place of bounds",
    choices: &[
        Choice {
            name: "hash",
            values: Values::Text,
            about: "the hash of keys, by its name in \
            docs/placement.md; md5 when nothing is said",
        },
        Choice {
            name: "modulo",
            values: Values::Number {
                least: 0,
                most: u64::MAX,
                default: 0,
            },
            about: "how many buckets: a key's is its hash modulo this; 0: no buckets, but bounds \
                of the hash itself",
        },
    ],
    draw,
    list: None,
    variants: &[],
};

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let function = match choices.text("hash") {
        "" => Function::Md5,
        name => Function::of_name(name).ok_or_else(|| {
            let names: Vec<&str> = Function::all().map(Function::name).collect();
            Error::Invalid {
                problem: format!("hash={name}: stead knows {}", names.join(", ")),
            }
        })?,
    };
    let buckets = choices.number("modulo");
    let cells = match buckets {
        0 => Cells::of_bits(function.bits()),
        buckets => Cells::from_stored(buckets),
    };
    let what = if buckets > 0 { "bucket" } else { "bound" };
    let (mut members, mut numbers) = (Vec::new(), HashMap::new());
    let mut ranges: Vec<Range> = Vec::new();
    let mut bounds = 0;
    for line in servers.lines()? {
        let (text, nodes) = line
            .text
            .split_once(char::is_whitespace)
            .unwrap_or((line.text, ""));
        let (first, last) = match text.split_once('-') {
            Some((first, last)) if !first.is_empty() => (
                number(&line, first, what, cells)?,
                number(&line, last, what, cells)?,
            ),
            _ => (
                number(&line, text, what, cells)?,
                number(&line, text, what, cells)?,
            ),
        };
        if last < first {
            return Err(line.wrong(format!("the range {text} ends before it starts")));
        }
        bounds += usize::from(buckets == 0 && !text.contains('-'));
        let mut holders: Vec<u32> = Vec::new();
        let names = nodes.split(',').map(str::trim);
        for name in names.filter(|name| !name.is_empty()) {
            if name.contains(char::is_whitespace) {
                // nodes of two copies, or the name of one: nobody knows
                return Err(line.wrong(format!(
                    "`{name}` has a blank; write commas between nodes, and names without blanks"
                )));
            }
            let next = members.len() as u32;
            let node = *numbers.entry(name).or_insert(next);
            if node == next {
                members.push(Member::new(line.name(name)?, Weight::ONE));
            }
            if holders.contains(&node) {
                return Err(line.wrong(format!("`{name}` is there twice")));
            }
            holders.push(node);
        }
        if holders.is_empty() || holders.len() > usize::from(u8::MAX) {
            return Err(line.wrong(format!(
                "a {what} is followed by 1 to 255 nodes: NODE or NODE,NODE"
            )));
        }
        ranges.push(Range {
            first,
            last,
            holders,
            line: line.number,
        });
    }
    if bounds > 0 {
        if let Some(range) = ranges.iter().find(|_| bounds < ranges.len()) {
            return Err(wrong(
                servers.file,
                range.line,
                "lower bounds and ranges do not mix; write FIRST-LAST everywhere, or nowhere",
            ));
        }
        // a lower bound extends to the next one
        ranges.sort_by_key(|range| range.first);
        let counted = (0u128..).zip(&ranges).all(|(n, range)| range.first == n);
        if let Some(last) = ranges.last().filter(|_| counted && ranges.len() > 1) {
            let problem = format!(
                "the bounds are the numbers from 0 to {}: where a key's bucket is its hash modulo \
                 {}, set modulo={}",
                last.first,
                last.first + 1,
                last.first + 1
            );
            return Err(wrong(servers.file, last.line, problem));
        }
        let ends: Vec<u128> = ranges
            .iter()
            .skip(1)
            .map(|next| next.first)
            .chain([cells.count()])
            .collect();
        for (range, end) in ranges.iter_mut().zip(ends) {
            range.last = range.last.max(end.saturating_sub(1));
        }
    }
    let table = table(servers.file, ranges, cells, what)?;
    let replicas = table
        .iter()
        .map(|(_, holders)| holders.len())
        .max()
        .unwrap_or(1) as u32;
    Ok(Ring {
        hash: Hash::of(function, buckets > 0, Affixes::default()),
        cells,
        replicas,
        members,
        table,
    })
}

/// Reads the number of a cell, decimal or hexadecimal.
fn number(line: &Line<'_>, text: &str, what: &str, cells: Cells) -> Result<u128> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let most = cells.count() - 1;
    let number = number.filter(|_| !text.contains('+'));
    match number {
        Some(number) if number <= most => Ok(number),
        Some(_) if what == "bucket" => Err(line.wrong(format!(
            "there is no bucket `{text}`: modulo={} makes the buckets 0 to {most}; modulo is the \
             number of buckets",
            most + 1
        ))),
        _ => Err(line.wrong(format!(
            "the {what} `{text}` is not a whole number from 0 to {most}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("table", list, set)
    }

    fn node(ring: &Ring, key: &str) -> String {
        ring.members[ring.locate(key.as_bytes()).unwrap() as usize]
            .name
            .clone()
    }

    #[test]
    fn buckets_are_the_whole_hash_modulo_their_number() {
        let ring = drawn("0-3 a\n6 c\n4-5 b,a # both\n", &["modulo=7"]).unwrap();
        assert_eq!(ring.table, [(0, vec![0]), (4, vec![2, 0]), (6, vec![1])]);
        let map = ring.map("buckets").unwrap();
        for i in 0..1000 {
            let key = format!("key{i}");
            let bucket = u128::from_be_bytes(Md5::digest(&key).into()) % 7;
            let wanted = ["a", "a", "a", "a", "b", "b", "c"][bucket as usize];
            assert_eq!(node(&ring, &key), wanted, "{key}");
            assert_eq!(map.node(map.locate(key.as_bytes())).name(), wanted);
        }
    }

    #[test]
    fn bounds_and_ranges_are_in_the_width_of_the_hash() {
        let bounds = drawn("0 a\n0x80000000 b\n3221225472 c\n", &["hash=crc32"]).unwrap();
        let ranges = drawn(
            "0x80000000-0xbfffffff b\n0-2147483647 a\n3221225472-4294967295 c\n",
            &["hash=crc32"],
        )
        .unwrap();
        assert_eq!((bounds.cells.count(), ranges.table.len()), (1 << 32, 3));
        for i in 0..1000 {
            let key = format!("key{i}");
            let wanted =
                ["a", "a", "b", "c"][(Function::Crc32.value(key.as_bytes()) >> 30) as usize];
            assert_eq!(
                (node(&bounds, &key).as_str(), node(&ranges, &key).as_str()),
                (wanted, wanted),
                "{key}"
            );
        }
        let whole = drawn("0 a\n18446744073709551615 b", &[]).unwrap();
        assert_eq!(whole.table, [(0, vec![0]), ((1 << 64) - 1, vec![1])]);
    }

    #[test]
    fn a_table_that_leaves_a_cell_out_or_gives_it_twice_is_refused() {
        for (list, set, problem) in [
            (
                "0 a\n2 b",
                &["modulo=3"][..],
                "table:2: bucket 1 has no holder",
            ),
            (
                "0 a\n1 b",
                &["modulo=5"],
                "table:2: buckets 2 to 4 have no holder",
            ),
            (
                "0-1 a\n1-2 b",
                &["modulo=3"],
                "table:2: bucket 1 has a holder already",
            ),
            (
                "0 a\n3 b",
                &["modulo=3"],
                "table:2: there is no bucket `3`: modulo=3 makes the buckets 0 to 2; modulo is the \
                 number of buckets",
            ),
            ("5 a", &[], "table:1: bounds 0 to 4 have no holder"),
            (
                "0 a\n5 b\n5 c",
                &[],
                "table:3: bound 5 has a holder already",
            ),
            (
                "0 a\n7-9 b",
                &[],
                "table:1: lower bounds and ranges do not mix",
            ),
            (
                "0 a\n1 b\n2 a",
                &[],
                "table:3: the bounds are the numbers from 0 to 2: where a key's bucket is its hash \
                 modulo 3, set modulo=3",
            ),
            ("9-7 a", &[], "table:1: the range 9-7 ends before it starts"),
            (
                "0 a\n-1 b",
                &[],
                "table:2: the bound `-1` is not a whole number",
            ),
            ("0", &[], "table:1: a bound is followed by 1 to 255 nodes"),
            ("0 a,a", &[], "table:1: `a` is there twice"),
            (
                "0 redis 0\n1 redis 1",
                &["modulo=2"],
                "table:1: `redis 0` has a blank; write commas between nodes",
            ),
            ("0 a", &["hash=md4"], "hash=md4: stead knows md5, sha1"),
            (
                "0 a",
                &["hash=siphash"],
                "hash=siphash: stead knows md5, sha1",
            ),
            (
                "0 a\n0x10000 b",
                &["hash=fnv1a-fold16"],
                "table:2: the bound `0x10000` is not a whole number from 0 to 65535",
            ),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
