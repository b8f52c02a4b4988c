//! Envoy's Maglev load balancer (1.27 and later,
//! `source/extensions/load_balancing_policies/maglev/maglev_lb.cc`), after Eisenbud et al.,
//! "Maglev: A Fast and Reliable Software Network Load Balancer", section 3.4.
//!
//! There is a table of M rows, M a prime. A host with the name n wants the rows offset, offset +
//! skip, offset + 2 * skip ... modulo M, where offset = XXH64(n) mod M and skip = XXH64 with seed
//! 1 of n, mod (M - 1), plus 1. The hosts take turns in the order of their names, byte by byte; at
//! its turn a host takes the first row of its sequence that is free, until no row is.
//!
//! Weights make hosts miss turns: in round r, counted from 1, a host of weight w whose target is t
//! misses its turn while r * w < t, and else t grows by the largest weight. Targets start at 0,
//! and weights are parts of their sum, all in double precision as there.
//!
//! A request of the hash h goes to the host of row h mod M. Before 1.27 the hosts took turns in
//! the order in which Envoy had them, which changed a few rows; that order is not drawn here.
//! docs/rings.md says what h is the hash of, and what is missing.

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Function, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::draw::Ring;
use crate::ring::envoy::{hosts, LIST};
use crate::ring::kind::Kind;
use crate::ring::servers::{names_and_weights, Servers};

pub(super) const KIND: Kind = Kind {
    name: "envoy-maglev",
    about: "Envoy's Maglev load balancer",
    servers: LIST,
    choices: &[Choice {
        name: "table_size",
        values: Values::Number {
            least: 2,
            most: 5_000_011, // the most that Envoy's configuration may say
            default: 65_537, // MaglevTable::DefaultTableSize
        },
        about: "its option table_size: rows of the table, a prime",
    }],
    draw,
    list: Some(names_and_weights),
    variants: &[],
};

/// A host while the table is filled.
struct Host {
    number: u32,
    weight: f64,
    target: f64,
    /// The row that it wants next.
    row: u64,
    skip: u64,
}

fn draw(file: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let size = choices.number("table_size");
    if !is_prime(size) {
        return Err(Error::Invalid {
            problem: format!("table_size={size}: it is not a prime, which Envoy asks for"),
        });
    }
    let (members, weights) = hosts(file)?;
    let mut order: Vec<(&str, f64, u32)> = members
        .iter()
        .zip(&weights)
        .zip(0u32..)
        .map(|((member, weight), number)| (member.name.as_str(), *weight, number))
        .collect();
    order.sort_by_key(|host| host.0);
    let hosts: Vec<Host> = order
        .into_iter()
        .map(|(name, weight, number)| Host {
            number,
            weight,
            target: 0.0,
            row: twox_hash::XxHash64::oneshot(0, name.as_bytes()) % size,
            skip: twox_hash::XxHash64::oneshot(1, name.as_bytes()) % (size - 1) + 1,
        })
        .collect();
    let rows = filled(hosts, size);
    let table = (0u128..)
        .zip(rows)
        .map(|(row, host)| (row, host.into_iter().collect()))
        .collect();
    Ok(Ring {
        hash: Hash::of(Function::Xxh64, true, Affixes::default()),
        cells: Cells::from_stored(size),
        replicas: 1,
        members,
        table,
    })
}

/// The host of each row. `hosts`: at least one, in the order of their turns.
fn filled(mut hosts: Vec<Host>, size: u64) -> Vec<Option<u32>> {
    let largest = hosts.iter().map(|host| host.weight).fold(0.0, f64::max);
    let mut rows: Vec<Option<u32>> = vec![None; size as usize];
    let mut free = size;
    for round in 1u32.. {
        for host in &mut hosts {
            if free == 0 {
                return rows;
            }
            if f64::from(round) * host.weight < host.target {
                continue;
            }
            host.target += largest;
            // a sequence has every row, so a free one is found
            for _ in 0..size {
                let row = rows.get_mut(host.row as usize);
                host.row = (host.row + host.skip) % size;
                if let Some(row @ None) = row {
                    *row = Some(host.number);
                    free -= 1;
                    break;
                }
            }
        }
    }
    rows
}

fn is_prime(number: u64) -> bool {
    number > 1
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| number % divisor != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("hosts", list, set)
    }

    /// The host of every row, by its place in the list.
    fn rows(list: &str, size: u32) -> Vec<u32> {
        let ring = drawn(list, &[&format!("table_size={size}")]).unwrap();
        let host = |row| {
            let run = ring.table.partition_point(|(first, _)| *first <= row) - 1;
            ring.table[run].1[0]
        };
        (0..u128::from(size)).map(host).collect()
    }

    #[test]
    fn the_tables_of_envoys_own_tests() {
        // test/extensions/load_balancing_policies/maglev/maglev_lb_test.cc: Basic and
        // BasicStability, BasicWithHostName, Weighted, and the two of localities with one host in
        // each, whose weights are then those of the localities
        let ports = |ports: &[u32]| -> String {
            let line = |port| format!("127.0.0.1:{port}\n");
            ports.iter().map(line).collect()
        };
        let names = "90\n91\n92\n93\n94\n95";
        let two = "127.0.0.1:90 1\n127.0.0.1:91 ";
        assert_eq!(
            rows(&ports(&[90, 91, 92, 93, 94, 95]), 7),
            [2, 4, 0, 1, 5, 0, 3]
        );
        assert_eq!(
            rows(&ports(&[95, 90, 94, 91, 93, 92]), 7),
            [5, 2, 1, 3, 0, 1, 4]
        );
        assert_eq!(rows(names, 7), [2, 5, 0, 3, 4, 1, 0]);
        assert_eq!(
            rows(&format!("{two}2"), 17),
            [1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0, 1]
        );
        assert_eq!(
            rows(&format!("{two}1"), 17),
            [1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1]
        );
        assert_eq!(
            rows("127.0.0.1:90 8\n127.0.0.1:91 2", 17),
            [1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
        );
        assert_eq!(rows("127.0.0.1:90 7", 17), [0; 17]);
    }

    #[test]
    fn a_key_belongs_to_the_row_of_its_hash() {
        let ring = drawn("a\nb\nc\nd", &["table_size=101"]).unwrap();
        let owners = rows("a\nb\nc\nd", 101);
        for i in 0..1000 {
            let key = format!("cookie {i}");
            let row = twox_hash::XxHash64::oneshot(0, key.as_bytes()) % 101;
            assert_eq!(ring.locate(key.as_bytes()), Some(owners[row as usize]));
        }
        let held = drawn("a\nb 2\nc 4", &[]).unwrap().held();
        assert_eq!(held.iter().sum::<u128>(), 65_537);
        let seventh = 65_537 / 7;
        assert!(held
            .iter()
            .zip([1, 2, 4])
            .all(|(held, weight)| { held.abs_diff(weight * seventh) <= 4 }));
    }

    #[test]
    fn more_hosts_than_rows_leave_some_without_any() {
        assert_eq!(rows("a\nb\nc\nd\ne", 2).len(), 2);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, set, problem) in [
            (
                "a\n",
                &["table_size=8"][..],
                "table_size=8: it is not a prime",
            ),
            (
                "a\n",
                &["table_size=1"],
                "table_size=1: `1` is not a whole number from 2 to 5000011",
            ),
            (
                "a\nb 0\n",
                &[],
                "hosts:2: the weight is 0, which Envoy refuses",
            ),
            (
                "a 1.5\n",
                &[],
                "hosts:1: the weight `1.5` is not a whole number",
            ),
            (
                "a 1 2\n",
                &[],
                "hosts:1: a server is written NAME or NAME WEIGHT",
            ),
            (
                "a\na\n",
                &[],
                "hosts: server 1 and server 2 of the list are both named `a`",
            ),
            ("# none\n", &[], "hosts:1: there are no servers in it"),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
        let heavy: String = (0..4295).map(|i| format!("h{i} 1000000\n")).collect();
        let error = drawn(&heavy, &[]).unwrap_err().to_string();
        assert!(
            error.starts_with("hosts:1: the sum of the weights is above 4294967295"),
            "{error}"
        );
    }
}
