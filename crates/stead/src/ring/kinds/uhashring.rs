//! Python's uhashring (2.5), in both its forms. `hash=md5` is `HashRing()`: 160 points for each
//! unit of weight, where point i of a node is MD5 of `NAME-i` as a number of 128 bits.
//! `hash=ketama` is `HashRing(hash_fn="ketama")`: a node has (40 * nodes * weight) div (sum of
//! weights) digests of `NAME-i`, each with four points of 32 bits, little-endian. In both a key
//! belongs to the first point **after** its own hash (bisect, where other rings use bisect_left),
//! and a later node takes a point that an earlier one has.
//!
//! Keys are hashed as UTF-8. Of a point of 128 bits a map keeps 64; docs/rings.md says what follows
//! from that.

use crate::cell::Cells;
use crate::error::Result;
use crate::hash::{Affixes, Function, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{in_order, owners, Owner, RingPoint, Tie, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::md5_words::points_of;
use crate::ring::servers::{names_and_weights, Servers, Whole};

pub(super) const KIND: Kind = Kind {
    name: "uhashring",
    about: "Python's uhashring: HashRing(), and HashRing(hash_fn=\"ketama\")",
    servers: "NAME [WEIGHT] on each line, in the order in which Python's dict or list has them; \
        weights are whole numbers",
    choices: &[
        Choice {
            name: "hash",
            values: Values::OneOf(&["md5", "ketama"]),
            about: "which of the two",
        },
        Choice {
            name: "vnodes",
            values: Values::Number {
                least: 0,
                most: 100_000,
                default: 0,
            },
            about: "its option vnodes; 0: 160, and 40 for ketama",
        },
        Choice {
            name: "replicas",
            values: Values::Number {
                least: 1,
                most: 4,
                default: 4,
            },
            about: "its option replicas: points of a digest, for ketama",
        },
    ],
    draw,
    list: Some(names_and_weights),
    variants: &[&["hash=ketama"]],
};

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let ketama = choices.text("hash") == "ketama";
    let vnodes = u128::from(match choices.number("vnodes") {
        0 if ketama => 40,
        0 => 160,
        n => n,
    });
    let replicas = choices.number("replicas") as usize;
    let listed = servers.whole_weights()?;
    let members: Vec<Member> = listed.iter().map(Whole::member).collect::<Result<_>>()?;
    let nodes = listed.len() as u128;
    let all = listed
        .iter()
        .map(|one| u128::from(one.weight))
        .sum::<u128>();
    let mut points: Vec<RingPoint> = Vec::new();
    for (one, server) in listed.iter().zip(0u32..) {
        let weight = u128::from(one.weight);
        let count = if ketama {
            vnodes * nodes * weight / all.max(1)
        } else {
            vnodes * weight
        };
        if points.len() as u128 + 4 * count > POINTS_MAX {
            return Err(one.line.wrong(format!(
                "the ring has more than {POINTS_MAX} points; set fewer vnodes, or smaller weights"
            )));
        }
        for i in 0..count {
            let label = format!("{}-{i}", one.name);
            match ketama {
                true => points.extend(points_of(&label, server).take(replicas)),
                false => points.push((u128::from(Function::Md5.value(label.as_bytes())), server)),
            }
        }
    }
    let points = in_order(points, Tie::Last);
    let (hash, cells) = match ketama {
        true => (
            Hash::of(Function::Md5Le32, false, Affixes::default()),
            Cells::of_bits(Function::Md5Le32.bits()),
        ),
        false => (Hash::Md5, Cells::FINEST),
    };
    let table = owners(&points, Owner::After, cells.count());
    Ok(Ring {
        hash,
        cells,
        replicas: 1,
        members,
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("nodes", list, set)
    }

    #[test]
    fn a_key_belongs_to_the_first_point_after_it() {
        let nodes = [
            ("redis1", 1u32),
            ("redis2", 3),
            ("redis3", 0),
            ("redis4", 2),
        ];
        let list: String = nodes
            .iter()
            .map(|(name, weight)| format!("{name} {weight}\n"))
            .collect();
        let words = |text: &str| {
            Md5::digest(text)
                .chunks_exact(4)
                .map(|w| u32::from_le_bytes(w.try_into().unwrap()).into())
                .collect::<Vec<u128>>()
        };
        let number = |text: &str| vec![u128::from_be_bytes(Md5::digest(text).into())];
        for (set, counts, take) in [
            (&["vnodes=20"][..], [20, 60, 0, 40], None),
            // 40 * 4 nodes * weight / 6, rounded down
            (&["hash=ketama"], [26, 80, 0, 53], Some(4)),
            (
                &["hash=ketama", "replicas=3", "vnodes=10"],
                [6, 20, 0, 13],
                Some(3),
            ),
        ] {
            let ring = drawn(&list, set).unwrap();
            let numbers =
                |text: &str| take.map_or_else(|| number(text), |take| words(text)[..take].to_vec());
            let mut points: Vec<(u128, u32)> = Vec::new();
            for ((node, (name, _)), count) in (0..).zip(nodes).zip(counts) {
                points.extend(
                    (0..count)
                        .flat_map(|i| numbers(&format!("{name}-{i}")))
                        .map(|point| (point, node)),
                );
            }
            // labels are keys whose hash is a point
            for key in (0..1000)
                .map(|i| format!("clé {i}"))
                .chain((0..20).map(|i| format!("redis2-{i}")))
            {
                let own = numbers(&key)[0];
                let owner = points
                    .iter()
                    .filter(|point| point.0 > own)
                    .min()
                    .or(points.iter().min())
                    .unwrap()
                    .1;
                assert_eq!(ring.locate(key.as_bytes()), Some(owner), "{key}, {set:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, set, problem) in [
            (
                "a\nb 0.5\n",
                &[][..],
                "nodes:2: the weight `0.5` is not a whole number up to 1000000",
            ),
            (
                "a 1 2",
                &[],
                "nodes:1: a server is written NAME or NAME WEIGHT",
            ),
            ("a 0\nb 0", &[], "nodes: no server has a point on the ring"),
            (
                "a 0\nb 0",
                &["hash=ketama"],
                "nodes: no server has a point on the ring",
            ),
            (
                "a 1000000",
                &[],
                "nodes:1: the ring has more than 16777216 points",
            ),
            (
                "a",
                &["replicas=5"],
                "replicas=5: `5` is not a whole number from 1 to 4",
            ),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
