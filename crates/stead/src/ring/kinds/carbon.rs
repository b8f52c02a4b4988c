//! Graphite's relays: carbon's `ConsistentHashRing` (`hashing.py`, `routers.py`, `util.py`), and
//! carbon-c-relay's (`consistent-hash.c`) with `collisions=none`.
//!
//! A destination has 100 points on 65,536 positions. Point i is the position of a text. With
//! `carbon_ch` the text is Python's repr of server and instance, `('10.0.0.1', 'a'):i` (without the
//! port; no instance is `None`), and its position is the first two bytes of MD5. With `fnv1a_ch`
//! the text is `i-INSTANCE`, and its position is FNV-1a folded to 16 bits. A metric belongs to the
//! first point at its own position or after it. Its copies belong to the next destinations, or with
//! `diverse_replicas` to the next destinations on servers that have no copy yet.
//!
//! A point whose position is taken moves to the next free one (`collisions=bump`; carbon does so
//! since 2013). So the **order of the list** counts, and points can pass 65535, where no metric is;
//! walks for copies still find them there. carbon-c-relay moves no point: of the points at one
//! position the first by host and instance stays (`fnv1a_ch`: by host and port). It builds the text
//! without Python's quoting, and for `fnv1a_ch` without an instance it takes `i-HOST:PORT` where
//! carbon has `i-None`.
//!
//! carbon's walk stops before the entry ahead of its start. With 100 points each, it has found
//! every destination long before that. With one destination and several copies carbon sends it each
//! metric twice; here it is listed once. `mmh3_ch`, and the `fast-hashing` router, are missing.

use std::collections::{HashMap, HashSet};

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Function, Hash};
use crate::policy::NODES_MAX;
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{in_order, walks_apart, Owner, RingPoint, Tie};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::servers::{Line, Servers};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "carbon",
    about: "Graphite's consistent-hashing relays: carbon, and carbon-c-relay",
    servers: "the DESTINATIONS of carbon.conf, HOST:PORT[:INSTANCE], ... in their order; for \
        carbon-c-relay HOST:PORT[=INSTANCE] ...",
    choices: &[
        Choice { name: "hash", values: Values::OneOf(&["carbon_ch", "fnv1a_ch"]), about: "its ROUTER_HASH_TYPE" },
        Choice {
            name: "collisions",
            values: Values::OneOf(&["bump", "none"]),
            about: "what becomes of a point whose place is taken: carbon's rule, or \
                carbon-c-relay's",
        },
        Choice { name: "replication_factor", values: Values::Number { least: 1, most: 255, default: 1 }, about: "its REPLICATION_FACTOR" },
        Choice { name: "diverse_replicas", values: Values::OneOf(&["true", "false"]), about: "its DIVERSE_REPLICAS: copies on different servers; carbon-c-relay has no such thing" },
    ],
    draw,
    list: Some(list),
    variants: &[&["hash=fnv1a_ch"], &["collisions=none"], &["hash=fnv1a_ch", "collisions=none"]],
};

/// The number of points of a destination, hardwired in carbon and in carbon-c-relay.
const REPLICAS: u32 = 100;
/// The number of positions that a metric may have.
const POSITIONS: u64 = 1 << 16;
/// The length at which carbon-c-relay cuts off the text of a point: `char buf[256]`.
const RELAY_TEXT: usize = 255;

struct Destination<'a> {
    server: &'a str,
    port: u64,
    instance: Option<&'a str>,
}

fn draw(servers: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let function = if choices.text("hash") == "fnv1a_ch" {
        Function::Fnv1aFold16
    } else {
        Function::Md5
    };
    let (fnv, relay) = (
        function == Function::Fnv1aFold16,
        choices.text("collisions") == "none",
    );
    let diverse = !relay && choices.text("diverse_replicas") == "true";
    let (mut members, mut destinations, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for line in servers.lines()? {
        let text = match line.text.split_once('=') {
            Some((name, list)) if name.trim() == "DESTINATIONS" => list,
            Some(_) if !relay => {
                return Err(line.wrong("only the DESTINATIONS of carbon.conf belong here"))
            }
            _ => line.text,
        };
        let one_ends = |c: char| c == ',' || (relay && c.is_whitespace());
        for text in text
            .split(one_ends)
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            let destination = parsed(&line, text, relay)?;
            // destinations with the same texts would have the same positions
            let port = if relay && fnv { destination.port } else { 0 };
            if !seen.insert((destination.server, destination.instance, port)) {
                return Err(line.wrong(format!(
                    "a destination before `{text}` has its host and instance"
                )));
            }
            members.push(Member::new(line.name(text)?, Weight::ONE));
            if members.len() > NODES_MAX {
                return Err(line.wrong(format!("there are more than {NODES_MAX} destinations")));
            }
            destinations.push(destination);
        }
    }
    let mut points: Vec<RingPoint> = Vec::with_capacity(destinations.len() * REPLICAS as usize);
    let mut places = Places::default();
    for (destination, server) in in_its_order(&destinations, relay, fnv) {
        for i in 0..REPLICAS {
            let text = destination.point(i, relay, fnv);
            if relay && text.len() > RELAY_TEXT {
                let problem = format!(
                    "{}: `{}` is too long for carbon-c-relay",
                    servers.file, destination.server
                );
                return Err(Error::Impossible { problem });
            }
            // 64 bits of MD5, or 16 of FNV
            let position = function.value(text.as_bytes()) >> (function.bits() - 16);
            points.push((
                u128::from(if relay {
                    position
                } else {
                    places.take(position)
                }),
                server,
            ));
        }
    }
    let points = in_order(points, Tie::First);
    let mut hosts: HashMap<&str, u32> = HashMap::new();
    let groups: Vec<u32> = (0..)
        .zip(&destinations)
        .map(|(i, to)| {
            if diverse {
                *hosts.entry(to.server).or_insert(i)
            } else {
                i
            }
        })
        .collect();
    let copies = choices.number("replication_factor") as usize;
    let cells = Cells::from_stored(POSITIONS);
    let table = walks_apart(&points, Owner::AtOrAfter, cells.count(), copies, |server| {
        groups.get(server as usize).copied()
    });
    Ok(Ring {
        hash: Hash::of(function, false, Affixes::default()),
        cells,
        replicas: copies as u32,
        members,
        table,
    })
}

/// Reads HOST:PORT[:INSTANCE] as carbon does, or HOST:PORT[=INSTANCE] as carbon-c-relay does. An
/// IPv6 host is in brackets.
fn parsed<'a>(line: &Line<'_>, text: &'a str, relay: bool) -> Result<Destination<'a>> {
    let wrong = || {
        line.wrong(format!(
            "a destination is written HOST:PORT or HOST:PORT{}INSTANCE, and this is `{text}`",
            if relay { '=' } else { ':' }
        ))
    };
    // Python 3 quotes characters outside of ASCII differently than Python 2
    if !text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(line.wrong(format!(
            "`{text}` has characters outside of ASCII, whose places \
            differ between versions of Python"
        )));
    }
    let (server, rest) = match text.strip_prefix('[') {
        Some(bracketed) => bracketed.rsplit_once("]:"),
        None => text.split_once(':'),
    }
    .ok_or_else(wrong)?;
    let ends = |c: char| c == ':' || (relay && c == '=');
    let (port, instance) = match rest.find(ends) {
        Some(at) => (rest.get(..at).unwrap_or(""), rest.get(at + 1..)),
        None => (rest, None),
    };
    if server.is_empty() || port.is_empty() {
        return Err(wrong());
    }
    Ok(Destination {
        server,
        port: line.number_of(port, "port", u64::from(u16::MAX))?,
        instance,
    })
}

/// The destinations in the order in which their points are inserted, each with its number.
/// carbon-c-relay sorts them.
fn in_its_order<'a, 'b>(
    destinations: &'b [Destination<'a>],
    relay: bool,
    fnv: bool,
) -> Vec<(&'b Destination<'a>, u32)> {
    let mut order: Vec<(&Destination<'_>, u32)> = destinations.iter().zip(0..).collect();
    if relay && fnv {
        order.sort_by_key(|(to, _)| (to.server, to.port));
    } else if relay {
        order.sort_by_key(|(to, _)| (to.server, to.instance.is_none(), to.instance));
    }
    order
}

impl Destination<'_> {
    /// The text of point i.
    fn point(&self, i: u32, relay: bool, fnv: bool) -> String {
        match (relay, fnv, self.instance) {
            (true, true, None) => format!("{i}-{}:{}", self.server, self.port),
            (_, true, instance) => format!("{i}-{}", instance.unwrap_or("None")),
            (true, false, None) => format!("('{}', None):{i}", self.server),
            (true, false, Some(instance)) => format!("('{}', '{instance}'):{i}", self.server),
            (false, false, instance) => format!(
                "({}, {}):{i}",
                repr(self.server),
                instance.map_or("None".to_owned(), repr)
            ),
        }
    }
}

/// A text of printable ASCII as Python's repr quotes it.
fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::from(quote);
    for c in text.chars() {
        if c == '\\' || c == quote {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push(quote);
    quoted
}

/// The taken positions, each with the position from which to search on. Union-find keeps this fast
/// on a crowded ring.
#[derive(Default)]
struct Places(HashMap<u64, u64>);

impl Places {
    /// Takes the first free position at `position` or after it.
    fn take(&mut self, position: u64) -> u64 {
        let mut free = position;
        while let Some(next) = self.0.get(&free) {
            free = *next;
        }
        let mut at = position;
        while at != free {
            at = self.0.insert(at, free + 1).unwrap_or(free);
        }
        self.0.insert(free, free + 1);
        free
    }
}

fn list(members: &[Member]) -> String {
    members
        .iter()
        .map(|member| member.name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("destinations", list, set)
    }

    fn names(ring: &Ring, key: &str) -> Vec<String> {
        let map = ring.map("carbon").unwrap();
        map.locate_all(key.as_bytes())
            .map(|id| map.node(id).name().to_owned())
            .collect()
    }

    #[test]
    fn published_metrics_go_where_carbon_sends_them() {
        let list = "DESTINATIONS = 10.0.0.1:2004:a, 10.0.0.2:2004:b, 10.0.0.3:2004:c";
        let metrics = ["servers.web1.cpu.user", "servers.web2.load", "a.b.c", "x"];
        for (hash, wanted) in [("carbon_ch", "cbaa"), ("fnv1a_ch", "aaaa")] {
            let ring = drawn(list, &[&format!("hash={hash}")]).unwrap();
            let found: String = metrics
                .iter()
                .map(|metric| names(&ring, metric)[0].chars().last().unwrap())
                .collect();
            assert_eq!(found, wanted, "{hash}");
        }
    }

    /// The destinations of a position, by carbon's own steps: a sorted list of (position, number),
    /// and a walk that stops before the last entry.
    fn walked(
        texts: &[&str],
        servers: &[&str],
        copies: usize,
        diverse: bool,
        position: u64,
    ) -> Vec<usize> {
        let mut ring: Vec<(u64, usize)> = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            for i in 0..100 {
                let digest = Md5::digest(format!("{text}:{i}"));
                let mut at = u64::from(u16::from_be_bytes([digest[0], digest[1]]));
                while ring.iter().any(|entry| entry.0 == at) {
                    at += 1;
                }
                ring.push((at, n));
            }
        }
        ring.sort_unstable();
        let mut index = ring
            .iter()
            .position(|entry| entry.0 >= position)
            .unwrap_or(0);
        let last = (index + ring.len() - 1) % ring.len();
        let (mut found, mut used): (Vec<usize>, Vec<&str>) = (Vec::new(), Vec::new());
        while index != last && found.len() < copies {
            let n = ring[index].1;
            let is_passed = diverse && used.contains(&servers[n]);
            if !is_passed && !found.contains(&n) {
                found.push(n);
                used.push(servers[n]);
            }
            index = (index + 1) % ring.len();
        }
        found
    }

    #[test]
    fn every_position_has_the_destinations_that_carbons_walk_finds() {
        let list = "h1:2004:a, h1:2104:b, h2:2004:it's, [::1]:2004:\"q\"\\, h2:2104, h3:1:a:b,";
        let servers = ["h1", "h1", "h2", "::1", "h2", "h3"];
        let texts = [
            "('h1', 'a')",
            "('h1', 'b')",
            r#"('h2', "it's")"#,
            r#"('::1', '"q"\\')"#,
            "('h2', None)",
            "('h3', 'a:b')",
        ];
        for (copies, diverse) in [(1, false), (3, false), (3, true), (9, false), (9, true)] {
            let ring = drawn(
                list,
                &[
                    &format!("replication_factor={copies}"),
                    &format!("diverse_replicas={diverse}"),
                ],
            )
            .unwrap();
            for position in (0..65_536).step_by(397).chain([65_535]) {
                let at = ring.table.partition_point(|row| row.0 <= position) - 1;
                let found: Vec<usize> = ring.table[at].1.iter().map(|n| *n as usize).collect();
                assert_eq!(
                    found,
                    walked(&texts, &servers, copies, diverse, position as u64),
                    "{position}, {copies} {diverse}"
                );
            }
        }
    }

    #[test]
    fn the_order_of_the_list_decides_collisions_with_bump_alone() {
        let list: Vec<String> = (1..=14).map(|n| format!("10.0.0.{n}:2004:i{n}")).collect();
        let turned: Vec<String> = list.iter().rev().cloned().collect();
        let differing = |set: &[&str]| {
            let (one, other) = (
                drawn(&list.join(", "), set).unwrap(),
                drawn(&turned.join(", "), set).unwrap(),
            );
            let at = |ring: &Ring, position: u128| {
                let row = ring.table.partition_point(|row| row.0 <= position) - 1;
                ring.members[ring.table[row].1[0] as usize].name.clone()
            };
            (0..65_536)
                .filter(|position| at(&one, *position) != at(&other, *position))
                .count()
        };
        assert!(differing(&[]) > 0);
        assert_eq!(differing(&["collisions=none"]), 0);
    }

    #[test]
    fn places_behind_the_end_are_taken_when_the_ring_is_crowded() {
        let mut places = Places::default();
        assert_eq!(
            [65_535, 65_535, 3, 3, 4, 65_536].map(|at| places.take(at)),
            [65_535, 65_536, 3, 4, 5, 65_537]
        );
        // more points than positions
        let crowd: String = (0..700).map(|n| format!("h{n}:2004, ")).collect();
        let ring = drawn(&crowd, &["replication_factor=3"]).unwrap();
        assert!(ring.members.len() == 700 && ring.map("crowd").is_ok());
    }

    #[test]
    fn what_carbon_or_the_relay_would_not_read_is_refused() {
        for (list, set, problem) in [
            (
                "10.0.0.1",
                &[][..],
                "destinations:1: a destination is written HOST:PORT or \
                HOST:PORT:INSTANCE, and this is `10.0.0.1`",
            ),
            (
                "a:1,\nb:x",
                &[],
                "destinations:2: the port `x` is not a whole number up to 65535",
            ),
            (
                "a:1:i, a:2:i",
                &[],
                "destinations:1: a destination before `a:2:i` has its host and \
                instance",
            ),
            (
                "a:1, a:2",
                &["collisions=none"],
                "destinations:1: a destination before `a:2` has its \
                host and instance",
            ),
            (
                "a:1, a:1",
                &["collisions=none", "hash=fnv1a_ch"],
                "destinations:1: a destination \
                before `a:1`",
            ),
            (
                "é:1",
                &[],
                "destinations:1: `é:1` has characters outside of ASCII",
            ),
            (
                "DESTINATIONS = a:1\nREPLICATION_FACTOR = 2",
                &[],
                "destinations:2: only the \
                DESTINATIONS of carbon.conf",
            ),
            ("[::1:2004", &[], "destinations:1: a destination is written"),
            (
                "DESTINATIONS = ,",
                &[],
                "destinations: no server has a point on the ring",
            ),
            (
                "a:1",
                &["hash=mmh3_ch"],
                "hash=mmh3_ch: `mmh3_ch` is none of carbon_ch, fnv1a_ch",
            ),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
        // the same host twice is accepted where the port counts
        assert_eq!(
            drawn("a:1 a:2", &["collisions=none", "hash=fnv1a_ch"])
                .unwrap()
                .members
                .len(),
            2
        );
        assert_eq!(
            drawn("a:1=x\n b:1=y", &["collisions=none"])
                .unwrap()
                .members[1]
                .name,
            "b:1=y"
        );
    }
}
