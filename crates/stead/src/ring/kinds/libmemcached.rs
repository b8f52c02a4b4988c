//! libmemcached (1.0.18 and 1.1.4, `hosts.cc`, `hash.cc`), on which php-memcached and pylibmc are
//! built. The settings of a client, and their order, select one of its rules:
//!
//! * `mode=weighted`: `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`, PHP's `OPT_LIBKETAMA_COMPATIBLE`. 40
//!   digests of MD5 for a server of mean weight, four points each. The number of digests is
//!   computed in single precision, step by step: 25 equal servers get 39 each, not 40. Keys are
//!   hashed with MD5.
//! * `mode=consistent`: `MEMCACHED_BEHAVIOR_KETAMA`, PHP's `DISTRIBUTION_CONSISTENT`. 100 points a
//!   server, each the hash of one label by the hash of keys, which is one_at_a_time unless the
//!   program sets another. But if any server has a weight above 1, the points are those of
//!   `weighted`, and the hash of keys stays. (If the distribution was set after the servers were
//!   added, the points do not change: leave the weights out of the list then.)
//! * `mode=spy`: `DISTRIBUTION_CONSISTENT_KETAMA_SPY` after `KETAMA_WEIGHTED`, and
//!   `mode=spy-consistent`: without that. They are the two above with the labels of spymemcached.
//! * `mode=modula`: hash modulo servers, the rule of a client that sets nothing.
//!
//! A label is `HOST-k`, k from 0, when the port is 11211, else `HOST:PORT-k`; for spy always
//! `/HOST:PORT-k`. A socket is a host with port 0. Of two points at one place the server that is
//! listed first has the place. A weight of 0 counts as 1. A key belongs to the first point at its
//! hash or after it.
//!
//! The hashes of libhashkit, except MD5 and CRC, read bytes through `char`, so x86 and ARM hash
//! keys outside of ASCII differently: `char`.

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{in_order, owners, Owner, RingPoint, Tie, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::hashkit::function;
use crate::ring::kind::Kind;
use crate::ring::md5_words::points_of;
use crate::ring::remainder::{remainders, PARTS};
use crate::ring::servers::{self, Servers, WEIGHT_MAX};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "libmemcached",
    about: "the C library of memcached, and with it php-memcached and pylibmc",
    servers: "HOST[:PORT][:WEIGHT], separated by commas or lines; or --SERVER=HOST:PORT/?WEIGHT; \
        or PHP's ['HOST', PORT, WEIGHT]",
    choices: &[
        Choice {
            name: "mode",
            values: Values::OneOf(&["weighted", "consistent", "spy", "spy-consistent", "modula"]),
            about: "which distribution",
        },
        Choice {
            name: "hash",
            values: Values::OneOf(&[
                "of-mode",
                "one_at_a_time",
                "md5",
                "crc",
                "fnv1_64",
                "fnv1a_64",
                "fnv1_32",
                "fnv1a_32",
            ]),
            about: "the hash of keys; of-mode: md5 for weighted and spy, else one_at_a_time",
        },
        Choice {
            name: "char",
            values: Values::OneOf(&["signed", "unsigned"]),
            about: "what C's char \
            is: signed on x86, unsigned on ARM",
        },
        Choice {
            name: "namespace",
            values: Values::Text,
            about: "the prefix of keys, when \
            HASH_WITH_NAMESPACE is set",
        },
        Choice {
            name: "parts",
            values: Values::Number {
                least: 1,
                most: 100_000,
                default: PARTS,
            },
            about: "for modula: into how many parts a server's keys can be divided later",
        },
    ],
    draw,
    list: Some(names_with_ports),
    variants: &[
        &["mode=consistent"],
        &["mode=consistent", "hash=md5"],
        &["mode=consistent", "hash=fnv1a_64"],
        &["mode=modula"],
        &["mode=modula", "hash=md5"],
        &["mode=modula", "hash=crc"],
        &["mode=spy"],
        &["mode=spy-consistent"],
        &["mode=weighted", "hash=one_at_a_time"],
        &["mode=consistent", "char=unsigned"],
        &["mode=modula", "char=unsigned"],
    ],
};

/// `MEMCACHED_DEFAULT_PORT`, which is left out of labels.
const DEFAULT_PORT: u64 = 11211;
/// `MEMCACHED_POINTS_PER_SERVER`.
const LABELS: u32 = 100;
const PORT_MAX: u64 = 65_535;

/// A server of the list.
struct Server {
    host: String,
    port: u64,
    weight: u64,
    line: usize,
}

impl Server {
    /// The text that its labels begin with.
    fn label(&self, spy: bool) -> String {
        match (spy, self.port) {
            (true, port) => format!("/{}:{port}", self.host),
            (false, DEFAULT_PORT) => self.host.clone(),
            (false, port) => format!("{}:{port}", self.host),
        }
    }

    /// The name of its node.
    fn name(&self) -> String {
        match self.host.as_str() {
            host if host.starts_with('/') => host.to_owned(),
            host if host.contains(':') && !host.starts_with('[') => {
                format!("[{host}]:{}", self.port)
            }
            host => format!("{host}:{}", self.port),
        }
    }
}

/// Writes a list of HOST:PORT WEIGHT lines. A name without a port gets the default one, which
/// changes no label.
fn names_with_ports(members: &[Member]) -> String {
    let has_port = |name: &str| match name.rsplit_once(':') {
        Some((_, port)) => port.bytes().all(|byte| byte.is_ascii_digit()),
        None => name.starts_with('/'),
    };
    let line = |member: &Member| match has_port(&member.name) {
        true => format!("{} {}\n", member.name, member.weight),
        false => format!("{}:{DEFAULT_PORT} {}\n", member.name, member.weight),
    };
    members.iter().map(line).collect()
}

/// Whether a number behind a host without a port may be the port, which would be read as a weight.
/// Ports below 1024 belong to the system, and no weight is as large by chance.
fn may_be_a_port(text: &str) -> bool {
    text.parse()
        .is_ok_and(|number: u64| (1024..=PORT_MAX).contains(&number))
}

fn draw(file: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let list = read(file)?;
    let mut members = Vec::new();
    for server in &list {
        let name = server.name();
        servers::check_name(file.file, server.line, &name)?;
        members.push(Member::new(
            name,
            Weight::from_millionths(server.weight * 1_000_000).unwrap_or(Weight::MAX),
        ));
    }
    let mode = choices.text("mode");
    let spy = mode.starts_with("spy");
    let hash = match choices.text("hash") {
        "of-mode" if matches!(mode, "weighted" | "spy") => "md5",
        "of-mode" => "one_at_a_time",
        hash => hash,
    };
    let function = function(hash, choices.text("char"));
    let affixes = choices.namespace()?;
    if mode == "modula" {
        let server_of: Vec<u32> = (0u32..).take(list.len()).collect();
        let drawn = remainders(function, affixes, &server_of, choices.number("parts"), 0);
        let (hash, cells, table) = drawn.ok_or_else(|| too_many(file, "set fewer parts"))?;
        return Ok(Ring {
            hash,
            cells,
            replicas: 1,
            members,
            table,
        });
    }
    if list.len() as u128 * 160 > POINTS_MAX {
        return Err(too_many(file, "that is more than any libmemcached serves"));
    }
    let weighted =
        matches!(mode, "weighted" | "spy") || list.iter().any(|server| server.weight > 1);
    let all: u64 = list.iter().map(|server| server.weight).sum();
    let mut points: Vec<RingPoint> = Vec::new();
    for (server, number) in list.iter().zip(0u32..) {
        let label = server.label(spy);
        if weighted {
            let digests = digests(server.weight, all, list.len());
            points.extend((0..digests).flat_map(|k| points_of(&format!("{label}-{k}"), number)));
        } else {
            points.extend((0..LABELS).map(|k| {
                (
                    u128::from(function.value(format!("{label}-{k}").as_bytes())),
                    number,
                )
            }));
        }
    }
    // a hash of 15 bits has 2^15 cells, and points of 32 bits may lie behind the last one
    let cells = Cells::of_bits(function.bits());
    let table = owners(
        &in_order(points, Tie::First),
        Owner::AtOrAfter,
        cells.count(),
    );
    Ok(Ring {
        hash: Hash::of(function, false, affixes),
        cells,
        replicas: 1,
        members,
        table,
    })
}

fn too_many(file: &Servers<'_>, advice: &str) -> Error {
    servers::wrong(
        file.file,
        1,
        format!("the ring has more than {POINTS_MAX} points; {advice}"),
    )
}

/// The number of digests of a weighted server, with the steps and roundings of the C++ program, all
/// of them to single precision.
fn digests(weight: u64, all: u64, servers: usize) -> u32 {
    let part = weight as f32 / all as f32;
    (part * 160f32 / 4f32 * servers as f32 + 1e-10f32).floor() as u32
}

fn read(file: &Servers<'_>) -> Result<Vec<Server>> {
    let mut list = Vec::new();
    for line in file.lines()? {
        let php = line.text.contains(['\'', '"']) && !line.text.starts_with("--");
        // a line of PHP without a server
        if matches!(
            line.text.trim_matches(['[', ']', '(', ')', ',', ';']),
            "" | "array"
        ) {
            continue;
        }
        let between: &[char] = if php { &[']', ')'] } else { &[','] };
        for entry in line.text.split(between) {
            let words: Vec<&str> = match php {
                true => entry
                    .split([' ', '\t', ',', '\'', '"', '[', '(', ';'])
                    .filter(|word| !matches!(*word, "" | "array"))
                    .collect(),
                false => entry.split_whitespace().collect(),
            };
            if words.is_empty() {
                continue;
            }
            let (host, port, weight) = parts(php, &words).ok_or_else(|| {
                line.wrong(format!(
                    "`{}` is not a server: HOST[:PORT][:WEIGHT], \
                    --SERVER=HOST:PORT/?WEIGHT or ['HOST', PORT, WEIGHT]",
                    entry.trim()
                ))
            })?;
            let number = |text: Option<&str>, what: &str, most| {
                text.map(|text| line.number_of(text, what, most))
                    .transpose()
            };
            let socket = host.starts_with('/');
            let beside = words.get(1).filter(|_| !php && !socket && port.is_none());
            if let Some(beside) = beside.filter(|number| may_be_a_port(number)) {
                return Err(line.wrong(format!(
                    "`{}` has no port: write `{host}:{beside}` if {beside} is the port, and \
                     `{host}:{DEFAULT_PORT}:{beside}` if it is the weight",
                    entry.trim()
                )));
            }
            let port = number(port, "port", PORT_MAX)?
                .filter(|port| *port > 0)
                .unwrap_or(DEFAULT_PORT);
            let weight = number(weight, "weight", WEIGHT_MAX)?.unwrap_or(1).max(1);
            list.push(Server {
                host: host.to_owned(),
                port: if socket { 0 } else { port },
                weight,
                line: line.number,
            });
        }
    }
    match list.is_empty() {
        true => Err(servers::wrong(file.file, 1, "there are no servers in it")),
        false => Ok(list),
    }
}

type Words<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// Host, port and weight of the words of a server.
fn parts<'a>(php: bool, words: &[&'a str]) -> Option<Words<'a>> {
    let (address, beside) = match *words {
        [host] if php => return Some((host, None, None)),
        [host, port] if php => return Some((host, Some(port), None)),
        [host, port, weight] if php => return Some((host, Some(port), Some(weight))),
        [address] => (address, None),
        [address, weight] => (address, Some(weight)),
        _ => return None,
    };
    let (address, after) = match address
        .strip_prefix("--SERVER=")
        .or(address.strip_prefix("--SOCKET="))
    {
        Some(option) => {
            let (address, weight) = option
                .split_once("/?")
                .map_or((option, None), |(address, weight)| (address, Some(weight)));
            (address.trim_matches('"'), weight)
        }
        None => (address, None),
    };
    // a bracketed IPv6 address keeps its brackets, as in libmemcached
    let host_ends = if address.starts_with('[') {
        address.find(']')? + 1
    } else {
        address.find(':').unwrap_or(address.len())
    };
    let (host, rest) = address.split_at_checked(host_ends)?;
    let mut numbers = rest
        .strip_prefix(':')
        .into_iter()
        .flat_map(|numbers| numbers.split(':'));
    let (first, second, third) = (numbers.next(), numbers.next(), numbers.next());
    if host.is_empty() || third.is_some() || !(rest.is_empty() || rest.starts_with(':')) {
        return None;
    }
    // a socket has no port
    let (port, own) = if host.starts_with('/') {
        (None, first.or(second))
    } else {
        (first, second)
    };
    let weights = [own, after, beside];
    let mut given = weights.iter().flatten();
    match (given.next(), given.next()) {
        (weight, None) => Some((host, port, weight.copied())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("servers", list, set)
    }

    /// key:0 to key:5, nothing, été, user/42; and the servers 10.0.1.1 to 8 that own them, by the
    /// last number.
    const KEYS: [&str; 9] = [
        "key:0", "key:1", "key:2", "key:3", "key:4", "key:5", "", "été", "user/42",
    ];
    const WEIGHTS: [u32; 8] = [600, 300, 200, 350, 1000, 800, 950, 100];

    fn eight(port: u32, weights: Option<[u32; 8]>) -> String {
        (0..8)
            .map(|i| {
                format!(
                    "10.0.1.{}:{port}{}\n",
                    i + 1,
                    weights.map_or(String::new(), |w| format!(":{}", w[i]))
                )
            })
            .collect()
    }

    #[test]
    fn vectors_that_the_real_library_gave() {
        for (list, set, owners) in [
            (
                eight(11211, Some(WEIGHTS)),
                &[][..],
                [6, 8, 6, 4, 7, 6, 5, 7, 5],
            ),
            (
                eight(11212, Some(WEIGHTS)),
                &[],
                [1, 4, 2, 3, 1, 5, 6, 5, 7],
            ),
            (
                eight(11211, None),
                &["mode=consistent", "hash=md5"],
                [6, 8, 5, 4, 8, 8, 7, 6, 5],
            ),
            (
                eight(11211, None),
                &["mode=consistent", "char=unsigned"],
                [1, 8, 5, 6, 7, 5, 2, 7, 5],
            ),
        ] {
            let ring = drawn(&list, set).unwrap();
            assert_eq!(
                KEYS.map(|key| 1 + ring.locate(key.as_bytes()).unwrap()),
                owners,
                "{set:?}"
            );
        }
    }

    /// The owner by a walk over all points.
    fn walked(points: &[(u64, u32)], own: u64) -> u32 {
        points
            .iter()
            .filter(|point| point.0 >= own)
            .min()
            .or(points.iter().min())
            .unwrap()
            .1
    }

    #[test]
    fn keys_go_where_a_walk_over_the_points_ends() {
        let word = |text: &str, at: usize| {
            u64::from(u32::from_le_bytes(
                Md5::digest(text)[4 * at..][..4].try_into().unwrap(),
            ))
        };
        let four = |label: String, i: u32| {
            (0..4)
                .map(move |at| (word(&label, at), i))
                .collect::<Vec<_>>()
        };
        let names = ["cache1", "cache2", "cache3:11212", "cache4"];
        let spy = [
            "/cache1:11211",
            "/cache2:11211",
            "/cache3:11212",
            "/cache4:11211",
        ];
        let list = names.join(",");
        let heavy = "cache1:11211:2,cache2:11211:1,cache3:11212:1,cache4";
        let digests = [64, 32, 32, 32];
        for mode in ["consistent", "spy-consistent", "weighted", "spy"] {
            let labels = if mode.starts_with("spy") { spy } else { names };
            for hash in [
                "one_at_a_time",
                "md5",
                "crc",
                "fnv1_64",
                "fnv1a_64",
                "fnv1_32",
                "fnv1a_32",
            ] {
                let set = [format!("mode={mode}"), format!("hash={hash}")];
                let set: Vec<&str> = set.iter().map(String::as_str).collect();
                let number = |text: &str| function(hash, "signed").value(text.as_bytes());
                let plain: Vec<(u64, u32)> = match mode {
                    "weighted" | "spy" => (0..)
                        .zip(labels)
                        .flat_map(|(i, l)| (0..40).flat_map(move |k| four(format!("{l}-{k}"), i)))
                        .collect(),
                    _ => (0..)
                        .zip(labels)
                        .flat_map(|(i, l)| (0..100).map(move |k| (number(&format!("{l}-{k}")), i)))
                        .collect(),
                };
                let uneven = (0..)
                    .zip(labels)
                    .flat_map(|(i, l)| {
                        (0..digests[i as usize]).flat_map(move |k| four(format!("{l}-{k}"), i))
                    })
                    .collect();
                for (list, points) in [(&*list, plain), (heavy, uneven)] {
                    let ring = drawn(list, &set).unwrap();
                    for i in 0..500 {
                        let key = format!("clé {i}");
                        assert_eq!(
                            ring.locate(key.as_bytes()),
                            Some(walked(&points, number(&key))),
                            "{key}, {set:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_modulus_is_kept_and_can_be_divided() {
        for (hash, parts, cells) in [("of-mode", 100, 700), ("md5", 1, 7), ("crc", 100, 1 << 15)] {
            let ring = drawn(
                "a,b,c,d,e,f,g",
                &[
                    "mode=modula",
                    &format!("hash={hash}"),
                    &format!("parts={parts}"),
                ],
            )
            .unwrap();
            assert_eq!(ring.cells.count(), cells);
            for i in 0..2000 {
                let key = format!("clé {i}");
                let number = function(hash, "signed").value(key.as_bytes());
                assert_eq!(
                    ring.locate(key.as_bytes()),
                    Some((number % 7) as u32),
                    "{key}, {hash}"
                );
            }
        }
    }

    #[test]
    fn equal_servers_lose_a_digest_where_single_precision_does() {
        let short: Vec<usize> = (1..=1000)
            .filter(|n| digests(1, *n as u64, *n) != 40)
            .collect();
        assert_eq!(
            (short.len(), &short[..8]),
            (103, &[25, 47, 50, 55, 61, 71, 94, 100][..])
        );
    }

    #[test]
    fn a_namespace_is_hashed_with_the_key() {
        let (with, without) = (
            drawn("a,b,c", &["namespace=my:"]).unwrap(),
            drawn("a,b,c", &[]).unwrap(),
        );
        assert!((0..100).all(|i| with.locate(format!("{i}").as_bytes())
            == without.locate(format!("my:{i}").as_bytes())));
    }

    #[test]
    fn servers_can_be_written_in_all_of_its_ways() {
        let same = drawn("a:11211:2\nb:1:3\nc\n/tmp/m.sock:4", &[]).unwrap();
        let names: Vec<&str> = same
            .members
            .iter()
            .map(|member| member.name.as_str())
            .collect();
        assert_eq!(names, ["a:11211", "b:1", "c:11211", "/tmp/m.sock"]);
        for list in [
            "a:11211 2, b:1 3,c ,/tmp/m.sock 4 # all",
            "--SERVER=a/?2\n--SERVER=b:1/?3\n--SERVER=c\n--SOCKET=\"/tmp/m.sock\"/?4",
            "[\n['a', 11211, 2], ['b', 1, 3],\n  ['c', 11211],\n array(\"/tmp/m.sock\", 0, 4)\n];",
            "a:0:2\nb:1:3\nc:11211:0\n/tmp/m.sock:4",
        ] {
            let ring = drawn(list, &[]).unwrap();
            assert_eq!(
                (ring.members, ring.table),
                (same.members.clone(), same.table.clone()),
                "{list}"
            );
        }
        // what cannot be a port behind a blank, or stands beside one, is a weight
        for list in ["a 1023", "a:11211 1024", "a 65536", "/tmp/m.sock 4096"] {
            let weight = list.split(' ').nth(1).unwrap();
            let ring = drawn(list, &[]).unwrap();
            assert_eq!(ring.members[0].weight.to_string(), weight, "{list}");
        }
        // a map may have nodes without ports, and such weights
        let members = ["a", "b:1", "/tmp/m.sock", "[::1]"];
        let members = members.map(|name| {
            let weight = Weight::from_millionths(2048 * 1_000_000).unwrap();
            Member::new(name.to_owned(), weight)
        });
        assert_eq!(KIND.guesses(&members).len(), 1 + KIND.variants.len());
        let v6 = drawn("[::1]:11211\n['::1', 11212]", &[]).unwrap();
        assert_eq!(
            [&v6.members[0].name, &v6.members[1].name],
            ["[::1]:11211", "[::1]:11212"]
        );
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, set, problem) in [
            (
                "a:1\nb:x",
                &[][..],
                "servers:2: the port `x` is not a whole number up to 65535",
            ),
            (
                "a:1:-2",
                &[],
                "servers:1: the weight `-2` is not a whole number up to 1000000",
            ),
            ("a:1:2:3", &[], "servers:1: `a:1:2:3` is not a server"),
            ("a:1:2 3", &[], "servers:1: `a:1:2 3` is not a server"),
            ("[::1", &[], "servers:1: `[::1` is not a server"),
            (",", &[], "servers:1: there are no servers in it"),
            // a port behind a blank would be read as a weight
            (
                "10.0.0.1:11211\n10.0.0.2 27701",
                &[],
                "servers:2: `10.0.0.2 27701` has no port: write `10.0.0.2:27701` if 27701 is the \
                 port, and `10.0.0.2:11211:27701` if it is the weight",
            ),
            (
                "--SERVER=a 1024",
                &[],
                "servers:1: `--SERVER=a 1024` has no port: write `a:1024` if 1024 is the port",
            ),
            (
                "a,a:11211",
                &[],
                "servers: server 1 and server 2 of the list are both named `a:11211`",
            ),
            (
                "a",
                &["hash=murmur"],
                "hash=murmur: `murmur` is none of of-mode, one_at_a_time",
            ),
            (
                "a",
                &["mode=modula", "parts=0"],
                "parts=0: `0` is not a whole number from 1",
            ),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
        let many: String = (0..200).map(|i| format!("a{i}\n")).collect();
        assert!(drawn(&many, &["mode=modula", "parts=100000"])
            .unwrap_err()
            .to_string()
            .contains("set fewer parts"));
        let long = format!("namespace={}", "n".repeat(256));
        assert!(drawn("a", &[&long])
            .unwrap_err()
            .to_string()
            .contains("longer than 255 bytes"));
    }
}
