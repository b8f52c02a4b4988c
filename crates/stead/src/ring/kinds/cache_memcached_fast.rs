//! Perl's Cache::Memcached::Fast (0.28, `src/dispatch_key.c`). With `ketama_points=0`, its default,
//! it is compatible with Cache::Memcached and python-memcached, so this kind draws their rule, too.
//!
//! * `ketama_points=N`: a ring of CRC-32, which is not ketama's. A server has (int)(N * weight +
//!   0.5) points: point i is the CRC-32 of host, a byte 0, the port's text, and point i - 1 as four
//!   bytes, little-endian; the point before the first one counts as 0. Of two points at one place
//!   the server that is listed first has the place. A key belongs to the first point at its CRC-32
//!   or after it.
//! * `ketama_points=0`: bits 16 to 30 of the CRC-32, modulo (unsigned)(sum of the weights + 0.5).
//!   The remainder selects a point of a continuum of 32 bits, on which every server has a run in
//!   proportion to its weight. Each server that is added shortens the runs before it, and cuts them
//!   to whole numbers, which is repeated here step by step. Whole weights give the buckets of
//!   Cache::Memcached. python-memcached up to 1.59 counts a hash of 0 as 1: `zero=1`.
//!
//! The port is the text after the last colon; a socket has none. The namespace is hashed only if
//! `hash_namespace` is set; then give it as `namespace`.

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Function, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{in_order, owners, Owner, RingPoint, Tie, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::remainder::remainders;
use crate::ring::servers::{self, Servers};

pub(super) const KIND: Kind = Kind {
    name: "cache-memcached-fast",
    about: "Perl's Cache::Memcached::Fast; with ketama_points=0 also Cache::Memcached and \
        python-memcached",
    servers: "'HOST:PORT', ['HOST:PORT', WEIGHT] or { address => 'HOST:PORT', weight => WEIGHT } \
        on each line; or HOST:PORT [WEIGHT]",
    choices: &[
        Choice {
            name: "ketama_points",
            values: Values::Number {
                least: 0,
                most: 100_000,
                default: 0,
            },
            about: "its option: points of a server of weight 1; 0 for buckets instead",
        },
        Choice {
            name: "namespace",
            values: Values::Text,
            about: "its option, when hash_namespace is \
            set too",
        },
        Choice {
            name: "zero",
            values: Values::OneOf(&["0", "1"]),
            about: "for buckets: what a hash of 0 counts as; python-memcached up to 1.59 makes it \
                1",
        },
    ],
    draw,
    list: Some(servers::names_and_weights),
    variants: &[
        &["ketama_points=150"],
        &["ketama_points=160"],
        &["ketama_points=100"],
        &["zero=1"],
    ],
};

/// A server: its address, and its weight as a `double` of C.
struct Server {
    address: String,
    weight: f64,
}

fn draw(file: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let mut list = Vec::new();
    let mut members = Vec::new();
    for line in file.lines()? {
        let Some((address, weight)) = parts(line.text) else {
            return Err(line.wrong(
                "a server is written 'HOST:PORT', ['HOST:PORT', WEIGHT] or \
                { address => 'HOST:PORT', weight => WEIGHT }",
            ));
        };
        let Some(address) = address else { continue };
        let exact = line.weight(weight)?;
        let number = weight.parse().ok().filter(|number| *number > 0.0);
        let weight = number.ok_or_else(|| {
            line.wrong(format!(
                "the weight `{weight}` is not above 0, which the module refuses"
            ))
        })?;
        members.push(Member::new(line.name(address)?, exact));
        list.push(Server {
            address: address.to_owned(),
            weight,
        });
    }
    if list.is_empty() {
        return Err(servers::wrong(file.file, 1, "there are no servers in it"));
    }
    let affixes = choices.namespace()?;
    match choices.number("ketama_points") {
        0 => {
            let server_of = buckets(&list).ok_or_else(|| Error::Impossible {
                problem: format!(
                    "{}: the sum of the weights must be from 0.5 to {POINTS_MAX}, or \
                    the module has no buckets",
                    file.file
                ),
            })?;
            let drawn = remainders(
                Function::Crc32Of15,
                affixes,
                &server_of,
                1,
                choices.number("zero"),
            );
            let (hash, cells, table) = drawn
                .ok_or_else(|| servers::wrong(file.file, 1, "the ring has too many buckets"))?;
            Ok(Ring {
                hash,
                cells,
                replicas: 1,
                members,
                table,
            })
        }
        ketama_points => ring(file, &list, members, ketama_points, affixes),
    }
}

/// Draws the ring of `ketama_points`.
fn ring(
    file: &Servers<'_>,
    list: &[Server],
    members: Vec<Member>,
    ketama_points: u64,
    affixes: Affixes,
) -> Result<Ring> {
    let mut points: Vec<RingPoint> = Vec::new();
    for (server, number) in list.iter().zip(0u32..) {
        let count = (ketama_points as f64 * server.weight + 0.5) as u64;
        if points.len() as u128 + u128::from(count) > POINTS_MAX {
            return Err(servers::wrong(
                file.file,
                1,
                format!(
                    "the ring has more than {POINTS_MAX} \
                points; set fewer ketama_points, or smaller weights"
                ),
            ));
        }
        let (host, port) = server
            .address
            .rsplit_once(':')
            .unwrap_or((&server.address, ""));
        let mut label = [host.as_bytes(), &[0], port.as_bytes()].concat();
        let start = label.len();
        let mut point = 0u32;
        for _ in 0..count {
            label.truncate(start);
            label.extend(point.to_le_bytes());
            point = Function::Crc32.value(&label) as u32;
            points.push((u128::from(point), number));
        }
    }
    let cells = Cells::of_bits(Function::Crc32.bits());
    let table = owners(
        &in_order(points, Tie::First),
        Owner::AtOrAfter,
        cells.count(),
    );
    Ok(Ring {
        hash: Hash::of(Function::Crc32, false, affixes),
        cells,
        replicas: 1,
        members,
        table,
    })
}

/// The server of each bucket, with the steps and roundings of the C program. `None` if there are no
/// buckets, or too many.
fn buckets(list: &[Server]) -> Option<Vec<u32>> {
    const END: u32 = u32::MAX;
    // the ends of the servers' runs on the continuum
    let mut ends: Vec<u32> = Vec::new();
    let mut all = 0f64;
    for server in list {
        all += server.weight;
        let scale = server.weight / all;
        for end in &mut ends {
            *end = (f64::from(*end) - f64::from(*end) * scale) as u32;
        }
        ends.push(END);
    }
    let count = (all + 0.5) as u64;
    if count == 0 || u128::from(count) > POINTS_MAX {
        return None;
    }
    // the hash has 15 bits, so a remainder by more than 2^15 is the hash
    let server = |bucket: u64| {
        let point = ((bucket as f64 / all * f64::from(END) + 0.5) as u32).wrapping_add(1);
        // runs that are cut to nothing share an end, which belongs to the first of them; past the
        // last end comes the first server
        let at_or_after = ends
            .iter()
            .enumerate()
            .filter(|(_, end)| **end >= point)
            .min_by_key(|(at, end)| (**end, *at));
        at_or_after.map_or(0, |(at, _)| at as u32)
    };
    Some((0..count).map(server).collect())
}

/// The address and the weight of a line; the address is `None` if the line has no server. Returns
/// `None` if the line cannot be part of a list.
fn parts(line: &str) -> Option<(Option<&str>, &str)> {
    let words: Vec<&str> = line
        .split([' ', '\t', ',', '\'', '"', '[', ']', '{', '}', '(', ')', ';'])
        .filter(|word| !matches!(*word, "" | "=>"))
        .collect();
    let after = |name: &str| {
        words
            .iter()
            .position(|word| *word == name)
            .and_then(|at| words.get(at + 1))
            .copied()
    };
    match words[..] {
        [] | ["servers"] => Some((None, "1")),
        [address] => Some((Some(address), "1")),
        [address, weight] if address != "address" => Some((Some(address), weight)),
        _ => Some((Some(after("address")?), after("weight").unwrap_or("1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("servers", list, set)
    }

    const FOUR: &str = "servers => [\n  '10.0.1.1:11211',\n  \
        { address => '10.0.1.2:11211', weight => 2.5 },\n  ['10.0.1.3:11211', 0.7],\n  \
        10.0.1.4:11211 1\n],";

    #[test]
    fn vectors_that_the_real_module_gave() {
        let ring = drawn(FOUR, &["ketama_points=150"]).unwrap();
        let keys = [
            "key:0", "key:1", "key:2", "key:3", "key:4", "key:5", "", "été", "user/42",
        ];
        assert_eq!(
            keys.map(|key| 1 + ring.locate(key.as_bytes()).unwrap()),
            [2, 2, 3, 3, 3, 4, 2, 4, 4]
        );
        // the first points: 3338937 and 4106505 of .2 and .4, 15046530 of .4
        let firsts: Vec<(u128, u32)> = ring
            .table
            .iter()
            .take(3)
            .map(|(first, nodes)| (*first, nodes[0] + 1))
            .collect();
        assert_eq!(firsts[..2], [(0, 2), (3_338_938, 4)]);
        assert!(firsts[2].0 > 15_046_530);
        assert_eq!(
            ring.members
                .iter()
                .map(|m| m.weight.to_string())
                .collect::<Vec<_>>(),
            ["1", "2.5", "0.7", "1"]
        );
    }

    #[test]
    fn keys_go_where_a_walk_over_the_points_ends() {
        let list = "a:1 3\nb:22\n/tmp/m.sock 0.5\nc:1 0.01\n";
        let ring = drawn(list, &["ketama_points=40"]).unwrap();
        let crc = |bytes: &[u8]| Function::Crc32.value(bytes) as u32;
        let mut points: Vec<(u32, u32)> = Vec::new();
        for (number, label, count) in [
            (0, &b"a\x001"[..], 120),
            (1, b"b\x0022", 40),
            (2, b"/tmp/m.sock\x00", 20),
        ] {
            let mut point = 0u32;
            for _ in 0..count {
                point = crc(&[label, &point.to_le_bytes()].concat());
                points.push((point, number));
            }
        }
        for i in 0..2000 {
            let key = format!("clé {i}");
            let own = crc(key.as_bytes());
            let expected = points
                .iter()
                .filter(|point| point.0 >= own)
                .min()
                .or(points.iter().min())
                .unwrap()
                .1;
            assert_eq!(ring.locate(key.as_bytes()), Some(expected), "{key}");
        }
        let with = drawn(list, &["ketama_points=40", "namespace=my:"]).unwrap();
        assert!((0..100)
            .all(|i| with.locate(format!("{i}").as_bytes())
                == ring.locate(format!("my:{i}").as_bytes())));
    }

    #[test]
    fn whole_weights_give_the_buckets_of_cache_memcached() {
        // one bucket for each unit of weight, in order
        let weights = [1u32, 3, 2, 7, 1];
        let list: String = weights
            .iter()
            .enumerate()
            .map(|(i, w)| format!("10.0.0.{i}:11211 {w}\n"))
            .collect();
        let buckets: Vec<u32> = (0..)
            .zip(weights)
            .flat_map(|(i, w)| vec![i; w as usize])
            .collect();
        for zero in [0, 1] {
            let ring = drawn(&list, &[&format!("zero={zero}")]).unwrap();
            assert_eq!(ring.cells.count(), 1 << 15);
            for cell in 0..1usize << 15 {
                let number = if cell == 0 { zero } else { cell };
                let run = ring
                    .table
                    .partition_point(|(first, _)| *first <= cell as u128)
                    - 1;
                assert_eq!(
                    ring.table[run].1,
                    [buckets[number % buckets.len()]],
                    "{cell}"
                );
            }
        }
    }

    #[test]
    fn uneven_weights_are_rounded_as_there() {
        // 5.2 in all: 5 buckets, at 0, 1/5.2, ... of a continuum that ends at 1, 3.5, 4.2 and 5.2
        // of 5.2
        let ring = drawn(FOUR, &[]).unwrap();
        let found: Vec<u32> = ring.table.iter().take(4).map(|run| run.1[0]).collect();
        assert_eq!(found, [0, 1, 2, 0]); // bucket 4 is at 4 / 5.2 and belongs to the third
        let starts: Vec<u128> = ring.table.iter().take(4).map(|run| run.0).collect();
        assert_eq!(starts, [0, 1, 4, 5]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, set, problem) in [
            (
                "a:1\nb:1 0\n",
                &[][..],
                "servers:2: the weight `0` is not above 0, which the module refuses",
            ),
            (
                "a:1 x\n",
                &[],
                "servers:1: the weight `x` is not a plain decimal number",
            ),
            (
                "{ weight => 2, noreply => 1 },\n",
                &[],
                "servers:1: a server is written",
            ),
            (
                "servers => [\n],\n",
                &[],
                "servers:1: there are no servers in it",
            ),
            (
                "a:1 0.2\nb:1 0.2\n",
                &[],
                "servers: the sum of the weights must be from 0.5 to 16777216",
            ),
            (
                "a:1 1000000\n",
                &["ketama_points=100"],
                "servers:1: the ring has more than 16777216 points",
            ),
            (
                "a:1 0.001\n",
                &["ketama_points=1"],
                "servers: no server has a point on the ring",
            ),
            (
                "a:1\na:1\n",
                &[],
                "servers: server 1 and server 2 of the list are both named `a:1`",
            ),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
