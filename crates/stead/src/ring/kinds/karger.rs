//! Consistent hashing with virtual nodes, as the article "Distributed RRD by consistent hashing"
//! describes it, after Karger and others 1997.
//!
//! A server of weight w has v * w points, rounded down. Point i is the hash of the number i in
//! decimal, directly followed by the server's name. The hash is the first 8 bytes of SHA-1, or with
//! `bits=8` its first 8 bits, as in the article's own example. A key belongs to the first point at
//! its own hash or after it, clockwise. Its other copies belong to the next servers clockwise that
//! are not listed yet.
//!
//! The article does not say what happens to two points at one place, which `bits=8` makes common:
//! here the server that is listed first has the place.

use crate::cell::Cells;
use crate::error::Result;
use crate::hash::{Function, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{in_order, walks, Owner, RingPoint, Tie, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::servers::{names_and_weights, wrong, Servers};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "karger",
    about: "virtual nodes on a ring of SHA-1, as the RRD article has it",
    servers: "NAME [WEIGHT] on each line",
    choices: &[
        Choice {
            name: "vnodes",
            values: Values::Number {
                least: 1,
                most: 100_000,
                default: 100,
            },
            about: "points of a server of weight 1",
        },
        Choice {
            name: "replicas",
            values: Values::Number {
                least: 1,
                most: 255,
                default: 1,
            },
            about: "servers that hold a key",
        },
        Choice {
            name: "bits",
            values: Values::Number {
                least: 1,
                most: 64,
                default: 64,
            },
            about: "how many bits of SHA-1 are used; the article uses 8",
        },
    ],
    draw,
    list: Some(names_and_weights),
    variants: &[&["bits=8"]],
};

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let (vnodes, bits) = (choices.number("vnodes"), choices.number("bits"));
    let mut members = Vec::new();
    let mut points: Vec<RingPoint> = Vec::new();
    for (line, server) in servers.lines()?.iter().zip(0u32..) {
        let words = line.words();
        let (name, weight) = match words[..] {
            [name] => (name, Weight::ONE),
            [name, weight] => (name, line.weight(weight)?),
            _ => return Err(line.wrong("a server is written NAME or NAME WEIGHT")),
        };
        members.push(Member::new(line.name(name)?, weight));
        let count = u128::from(vnodes) * u128::from(weight.millionths())
            / u128::from(Weight::ONE.millionths());
        if points.len() as u128 + count > POINTS_MAX {
            return Err(line.wrong(format!(
                "the ring has more than {POINTS_MAX} points; set fewer vnodes, or smaller weights"
            )));
        }
        points.extend((0..count).map(|i| {
            (
                u128::from(Function::Sha1.value(format!("{i}{name}").as_bytes()) >> (64 - bits)),
                server,
            )
        }));
    }
    let cells = Cells::of_bits(bits as u32);
    let points = in_order(points, Tie::First);
    let replicas = choices.number("replicas") as usize;
    // every point has its own list of servers
    if points.len() as u128 * replicas.min(members.len()) as u128 > POINTS_MAX {
        return Err(wrong(
            servers.file,
            1,
            format!(
                "points times replicas are more than \
            {POINTS_MAX}; set fewer vnodes, or fewer replicas"
            ),
        ));
    }
    let table = walks(&points, Owner::AtOrAfter, cells.count(), replicas);
    Ok(Ring {
        hash: Hash::Sha1,
        cells,
        replicas: replicas as u32,
        members,
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha1::{Digest, Sha1};

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("servers", list, set)
    }

    /// The servers of a key, computed as the article words it.
    fn walked(
        servers: &[(&str, u64)],
        vnodes: u64,
        replicas: usize,
        bits: u32,
        key: &str,
    ) -> Vec<String> {
        let hash = |text: String| {
            u64::from_be_bytes(Sha1::digest(text)[..8].try_into().unwrap()) >> (64 - bits)
        };
        let mut points: Vec<(u64, usize)> = Vec::new();
        for (s, (name, weight)) in servers.iter().enumerate() {
            points.extend((0..vnodes * weight).map(|i| (hash(format!("{i}{name}")), s)));
        }
        points.sort();
        let own = hash(key.to_owned());
        let start = points.iter().position(|point| point.0 >= own).unwrap_or(0);
        let mut found: Vec<String> = Vec::new();
        for at in 0..points.len() {
            let point = points[(start + at) % points.len()];
            // a point at the place of one that is listed before has no effect
            let hidden = points
                .iter()
                .any(|other| other.0 == point.0 && other.1 < point.1);
            let name = servers[point.1].0.to_owned();
            if !hidden && !found.contains(&name) {
                found.push(name);
            }
        }
        found.truncate(replicas);
        found
    }

    #[test]
    fn keys_go_where_the_article_says() {
        let servers = [
            ("rrd1.example.com", 1),
            ("rrd2.example.com", 2),
            ("rrd3.example.com", 1),
            ("rrd4.example.com", 3),
        ];
        let list: String = servers
            .iter()
            .map(|(name, weight)| format!("{name} {weight}\n"))
            .collect();
        for (bits, vnodes) in [(64, 20), (8, 20), (8, 200), (1, 3)] {
            let ring = drawn(
                &list,
                &[
                    &format!("vnodes={vnodes}"),
                    "replicas=3",
                    &format!("bits={bits}"),
                ],
            )
            .unwrap();
            let map = ring.map("rrd").unwrap();
            for i in 0..1000 {
                let key = format!("host{i:02}.example.com:load");
                let found: Vec<String> = map
                    .locate_all(key.as_bytes())
                    .map(|id| map.node(id).name().to_owned())
                    .collect();
                assert_eq!(
                    found,
                    walked(&servers, vnodes, 3, bits, &key),
                    "{key}, {bits} bits"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, set, problem) in [
            (
                "a\nb x\n",
                &[][..],
                "servers:2: the weight `x` is not a plain decimal number",
            ),
            (
                "a b c",
                &[],
                "servers:1: a server is written NAME or NAME WEIGHT",
            ),
            (
                "a\na",
                &[],
                "servers: server 1 and server 2 of the list are both named `a`",
            ),
            ("a 0", &[], "servers: no server has a point on the ring"),
            (
                "a 1000000",
                &["vnodes=100000"],
                "servers:1: the ring has more than 16777216 points",
            ),
            (
                "a 80\nb 80",
                &["vnodes=100000", "replicas=2"],
                "servers:1: points times replicas are more than 16777216",
            ),
            (
                "a",
                &["vnodes=0"],
                "vnodes=0: `0` is not a whole number from 1 to 100000",
            ),
            (
                "a",
                &["bit=8"],
                "the ring karger has no choice `bit`; it has vnodes, replicas, bits",
            ),
            ("a", &["bits"], "`bits` is not NAME=VALUE"),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
