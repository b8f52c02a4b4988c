//! Wallaroo's partitions of random slicing (`lib/wallaroo/core/routing/hash_partitions.pony`): MD5
//! as a number of 128 bits, big-endian, and a sorted list of lower bounds. A key belongs to the
//! last bound that is not above its number.
//!
//! A map keeps 64 bits of each bound. A key whose first 8 bytes of MD5 equal those of a bound may
//! be placed on the other side of that bound. This concerns one of 2^64 / bounds keys.

use crate::cell::Cells;
use crate::error::Result;
use crate::hash::Hash;
use crate::ring::choices::Choices;
use crate::ring::compile::{in_order, owners, Owner, RingPoint, Tie};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::servers::Servers;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "wallaroo",
    about: "Wallaroo's partitions: lower bounds of 128 bits under MD5",
    servers: "BOUND NAME on each line; a bound is a number below 2^128, decimal or as 0x and hex \
        digits; one is 0",
    choices: &[],
    draw,
    list: None,
    variants: &[],
};

fn draw(servers: &Servers<'_>, _: &Choices) -> Result<Ring> {
    let mut members: Vec<Member> = Vec::new();
    let mut bounds: Vec<(u128, u32)> = Vec::new();
    for line in servers.lines()? {
        let [bound, name] = line.words()[..] else {
            return Err(line.wrong("a partition is written BOUND NAME"));
        };
        let number = match bound.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16),
            None => bound.parse(),
        };
        let Some(number) = number.ok().filter(|_| !bound.contains('+')) else {
            return Err(line.wrong(format!(
                "the bound `{bound}` is not a whole number below 2^128"
            )));
        };
        if bounds.iter().any(|(other, _)| *other == number) {
            return Err(line.wrong(format!("the bound {bound} is there twice")));
        }
        let server = match members.iter().position(|member| member.name == name) {
            Some(server) => server,
            None => {
                members.push(Member::new(line.name(name)?, Weight::ONE));
                members.len() - 1
            }
        };
        bounds.push((number, server as u32));
    }
    bounds.sort_unstable();
    if bounds.first().is_none_or(|(bound, _)| *bound > 0) {
        return Err(crate::ring::servers::wrong(
            servers.file,
            1,
            "no partition starts at 0, so keys below the first bound have no place",
        ));
    }
    // of bounds that are equal in 64 bits, the highest one stays
    let points: Vec<RingPoint> = in_order(
        bounds
            .into_iter()
            .map(|(bound, server)| (bound >> 64, server))
            .collect(),
        Tie::Last,
    );
    let table = owners(&points, Owner::AtOrBefore, Cells::FINEST.count());
    Ok(Ring {
        hash: Hash::Md5,
        cells: Cells::FINEST,
        replicas: 1,
        members,
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    #[test]
    fn a_key_belongs_to_the_last_bound_that_is_not_above_it() {
        let bounds: Vec<u128> = [0, 1, 5, 9]
            .into_iter()
            .map(|n| n << 124 | 12345)
            .map(|n| if n == 12345 { 0 } else { n })
            .collect();
        let list: String = bounds
            .iter()
            .enumerate()
            .rev()
            .map(|(i, bound)| format!("{bound:#x} worker{}\n", i % 3))
            .collect();
        let ring = KIND
            .draw(
                &Servers {
                    bytes: list.as_bytes(),
                    file: "partitions",
                },
                &[""; 0],
            )
            .unwrap();
        for i in 0..10_000 {
            let key = format!("key{i}");
            let number = u128::from_be_bytes(Md5::digest(&key).into());
            let bound = bounds.iter().rposition(|bound| *bound <= number).unwrap();
            let found = ring.locate(key.as_bytes()).unwrap() as usize;
            assert_eq!(
                ring.members[found].name,
                format!("worker{}", bound % 3),
                "{key}"
            );
        }
    }

    #[test]
    fn what_is_no_list_of_bounds_is_refused() {
        for (list, problem) in [
            ("5 a", "no partition starts at 0"),
            ("0 a\n0x0 b", "2: the bound 0x0 is there twice"),
            (
                "0 a\n-1 b",
                "2: the bound `-1` is not a whole number below 2^128",
            ),
            ("0 a\n0x100000000000000000000000000000000 b", "below 2^128"),
            ("0", "BOUND NAME"),
            ("# nothing\n", "no servers"),
        ] {
            let error = KIND
                .draw(
                    &Servers {
                        bytes: list.as_bytes(),
                        file: "partitions",
                    },
                    &[""; 0],
                )
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("partitions:") && error.contains(problem),
                "{error}"
            );
        }
    }
}
