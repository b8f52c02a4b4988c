//! uhashring of Python (2.5), in both its ways. `hash=md5` is `HashRing()`: 160 points for each unit of weight, point i of a node is MD5 of `NAME-i` as
//! a number of 128 bits. `hash=ketama` is `HashRing(hash_fn="ketama")`: a node has (40 * nodes * weight) div (sum of weights) digests of
//! `NAME-i`, each gives four points of 32 bits, little-endian. In both a key belongs to the first point **after** its own hash (bisect, not
//! bisect_left as elsewhere), and a later node takes a point that an earlier one has.
//!
//! Keys are hashed as UTF-8. With 128 bits a map has 64 of each point; see docs/rings.md.

use super::choices::{Choice, Choices, Value};
use super::compile::{in_order, owners, Owner, RingPoint, Tie, POINTS_MAX};
use super::draw::{Member, Ring};
use super::{Kind, Servers};
use crate::cell::Cells;
use crate::error::Result;
use crate::hash::{md5, Affixes, Function, Hash};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "uhashring",
    about: "Python's uhashring: HashRing(), and HashRing(hash_fn=\"ketama\")",
    servers: "NAME [WEIGHT] on each line, in the order in which Python's dict or list has them; weights are whole numbers",
    choices: &[
        Choice { name: "hash", value: Value::OneOf(&["md5", "ketama"]), about: "which of the two" },
        Choice { name: "vnodes", value: Value::Number { least: 0, most: 100_000, default: 0 }, about: "its option vnodes; 0: 160, and 40 for ketama" },
        Choice { name: "replicas", value: Value::Number { least: 1, most: 4, default: 4 }, about: "its option replicas: points of a digest, for ketama" },
    ],
    draw,
    list: Some(list),
    variants: &[&["hash=ketama"]],
};

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let ketama = choices.text("hash") == "ketama";
    let vnodes = u128::from(match choices.number("vnodes") {
        0 if ketama => 40,
        0 => 160,
        n => n,
    });
    let lines = servers.lines()?;
    let mut members: Vec<Member> = Vec::new();
    let mut weights: Vec<u128> = Vec::new();
    for line in &lines {
        let (name, weight) = match line.words()[..] {
            [name] => (name, 1),
            [name, weight] => (name, line.number_of(weight, "weight", 1_000_000)?),
            _ => return Err(line.wrong("a server is written NAME or NAME WEIGHT")),
        };
        let millionths = Weight::from_millionths(weight * 1_000_000).unwrap_or(Weight::MAX);
        members.push(Member::new(line.name(name)?, millionths));
        weights.push(u128::from(weight));
    }
    let (nodes, all) = (weights.len() as u128, weights.iter().sum::<u128>().max(1));
    let mut points: Vec<RingPoint> = Vec::new();
    for (((member, weight), line), server) in members.iter().zip(&weights).zip(&lines).zip(0u32..) {
        let count = if ketama { vnodes * nodes * weight / all } else { vnodes * weight };
        if points.len() as u128 + 4 * count > POINTS_MAX {
            return Err(line.wrong(format!("the ring has more than {POINTS_MAX} points; set fewer vnodes, or smaller weights")));
        }
        for i in 0..count {
            let digest = md5(format!("{}-{i}", member.name).as_bytes());
            if ketama {
                let words = digest.chunks_exact(4).take(choices.number("replicas") as usize);
                points.extend(words.map(|word| (word.iter().rev().fold(0, |n, byte| n << 8 | u128::from(*byte)), server)));
            } else {
                points.push((u128::from_be_bytes(digest) >> 64, server));
            }
        }
    }
    let points = in_order(points, Tie::Last);
    let (hash, cells) = match ketama {
        true => (Hash::of(Function::Md5Le32, false, Affixes::default()), Cells::from_stored(1 << 32)),
        false => (Hash::Md5, Cells::FINEST),
    };
    let table = owners(&points, Owner::After, cells.count());
    Ok(Ring { hash, cells, replicas: 1, members, table })
}

fn list(members: &[Member]) -> String {
    members.iter().map(|member| format!("{} {}\n", member.name, member.weight)).collect()
}
