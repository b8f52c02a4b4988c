//! What an attacker pays who chooses keys so that all fall on one node, and what he gains.
//!
//! ```text
//! flood [NODES] [KEYS]      (make bench-flood; 16 nodes, 1,000,000 keys of one node)
//! ```
//!
//! The attacker knows the map of a cluster whose hash is public, draws random keys, and keeps those
//! of the first node. Then he sends them to three clusters: the one that he knows; one whose nodes
//! and slices are the same, but with `siphash` and a secret that he doesn't know; and the one he
//! knows after a node more. "Share" is what the first node gets of the attack. "Load" is the first
//! node's load, in multiples of its usual one, when the attack is as large as the usual traffic.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use stead::{build, Fleet, Map};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let nodes: u64 = arguments.next().unwrap_or(16);
    let wanted = arguments.next().unwrap_or(1_000_000) as usize;
    println!("{nodes} nodes of equal weight; {wanted} keys of the first are looked for\n");
    println!(
        "{:<38} {:>12} {:>12} {:>9} {:>8} {:>7}",
        "hash that the attacker computes", "keys tried", "found", "keys/s", "share", "load"
    );
    let secret = "secret = \"000102030405060708090a0b0c0d0e0f\"\n";
    for hash in ["md5", "sha1", "xxh3"] {
        let public = format!("hash = \"{hash}\"\n");
        let known = members(&public, nodes, None);
        let start = Instant::now();
        let (tried, keys) = of_first(&known, wanted);
        let seconds = start.elapsed().as_secs_f64();
        let grown = members(&public, nodes + 1, Some(&known));
        let keyed = members(&format!("hash = \"siphash\"\n{secret}"), nodes, None);
        println!(
            "{hash:<38} {tried:>12} {wanted:>12} {:>8.0}k",
            wanted as f64 / seconds / 1000.0
        );
        for (name, map) in [
            ("  sent to this cluster", &known),
            ("  ... after it got a node more", &grown),
            ("  ... if it had siphash and a secret", &keyed),
        ] {
            let share = share_of_first(map, &keys);
            let load = 1.0 + share * map.nodes().len() as f64;
            println!("{name:<38} {:>43.2} % {load:>5.2}", share * 100.0);
        }
    }
}

fn members(hash: &str, nodes: u64, previous: Option<&Map>) -> Map {
    let mut text = format!("{hash}name = \"flood\"\n");
    for node in 0..nodes {
        write!(text, "[[node]]\nname = \"n{node}\"\n").unwrap();
    }
    build(&Fleet::parse(&text, "flood.toml").unwrap(), previous).unwrap()
}

/// Draws keys until `wanted` of them are on the first node. Returns the number of keys drawn, too.
fn of_first(map: &Map, wanted: usize) -> (u64, Vec<[u8; 16]>) {
    let mut keys = Vec::with_capacity(wanted);
    let mut tried = 0;
    while keys.len() < wanted {
        let key = format!("{tried:016x}");
        let key: [u8; 16] = key.as_bytes().try_into().unwrap();
        if map.locate(&key).0 == 0 {
            keys.push(key);
        }
        tried += 1;
    }
    (tried, black_box(keys))
}

fn share_of_first(map: &Map, keys: &[[u8; 16]]) -> f64 {
    keys.iter().filter(|key| map.locate(*key).0 == 0).count() as f64 / keys.len() as f64
}
