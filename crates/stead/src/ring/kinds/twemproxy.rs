//! twemproxy, also called nutcracker (0.5.0, `src/hashkit/nc_ketama.c`, `nc_modula.c`,
//! `nc_conf.c`).
//!
//! * `distribution=ketama`, its default: 40 digests of MD5 for a server of mean weight, four
//!   points of 32 bits each. Digest k is that of `LABEL-k`, k from 0. The number of digests is
//!   computed in single precision but for one sum; 25 equal servers have 39 each, not 40. A key
//!   belongs to the first point at its hash or after it.
//! * `distribution=modula`: the hash modulo the sum of the weights. A server has as many
//!   remainders in a row as its weight says, and the servers come in the order of their labels:
//!   shorter labels first, labels of one length by their bytes. The order of the list does not
//!   count.
//!
//! A server's label is its name when it has one, else `HOST` at port 11211 and `HOST:PORT` at any
//! other port. A socket's label is its path and a colon. Of two points at one place twemproxy
//! leaves the order open (qsort); here the server whose label comes first in the order above has
//! the place, which is what glibc's sort gives. twemproxy refuses a list in which a label occurs
//! twice.
//!
//! The hash of keys is `fnv1a_64` unless the configuration names another. Those of the FNV family
//! and one_at_a_time read bytes through `char`, so keys outside of ASCII differ between x86 and
//! ARM: `char`. With one server twemproxy hashes nothing. The empty key, which Redis' protocol
//! allows, has the hash 0 there; here it has the hash of no bytes, so its server may differ.
//!
//! Missing: `distribution: random`, which is no rule; `hash_tag`; the hashes crc16, hsieh, murmur
//! and jenkins; and what `auto_eject_hosts` does while a server is out.

use std::collections::HashSet;

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Hash};
use crate::ring::choices::{Choice, Choices, Values};
use crate::ring::compile::{in_order, owners, Owner, RingPoint, Tie, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::hashkit::function;
use crate::ring::kind::Kind;
use crate::ring::md5_words::points_of;
use crate::ring::remainder::{remainders, PARTS};
use crate::ring::servers::{self, Line, Servers, WEIGHT_MAX};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "twemproxy",
    about: "twemproxy (nutcracker), the proxy of memcached and Redis",
    servers: "the entries under `servers:` of nutcracker.yml, one on each line: \
        [- ]HOST:PORT:WEIGHT [NAME] or /SOCKET:WEIGHT [NAME]",
    choices: &[
        Choice {
            name: "distribution",
            values: Values::OneOf(&["ketama", "modula"]),
            about: "distribution of the pool",
        },
        Choice {
            name: "hash",
            values: Values::OneOf(&[
                "fnv1a_64",
                "one_at_a_time",
                "md5",
                "crc32",
                "crc32a",
                "fnv1_64",
                "fnv1_32",
                "fnv1a_32",
            ]),
            about: "hash of the pool",
        },
        Choice {
            name: "char",
            values: Values::OneOf(&["signed", "unsigned"]),
            about: "what C's char is: signed on x86, unsigned on ARM",
        },
        Choice {
            name: "parts",
            values: Values::Number {
                least: 1,
                most: 100_000,
                default: PARTS,
            },
            about: "for modula: into how many parts a remainder's keys can be divided later",
        },
    ],
    draw,
    list: Some(list),
    // ketama with hash=md5 is libmemcached's weighted ring, which is tried there
    variants: &[
        &["distribution=modula"],
        &["hash=one_at_a_time"],
        &["hash=crc32a"],
        &["char=unsigned"],
    ],
};

/// `CONF_DEFAULT_KETAMA_PORT`, which is left out of labels.
const DEFAULT_PORT: u64 = 11211;
const PORT_MAX: u64 = 65_535;

/// A server of the list.
struct Server {
    /// What its points are hashed from.
    label: String,
    weight: u64,
    /// Its place in the list.
    number: u32,
}

fn draw(file: &Servers<'_>, choices: &Choices) -> Result<Ring> {
    let (members, mut list) = read(file)?;
    let too_many = |advice: &str| {
        let problem = format!("the ring has more than {POINTS_MAX} points; {advice}");
        servers::wrong(file.file, 1, problem)
    };
    list.sort_by(|a, b| (a.label.len(), &a.label).cmp(&(b.label.len(), &b.label)));
    let function = function(choices.text("hash"), choices.text("char"));
    let all: u64 = list.iter().map(|server| server.weight).sum();
    if choices.text("distribution") == "modula" {
        if u128::from(all) > POINTS_MAX {
            return Err(too_many("set smaller weights"));
        }
        let remainder = |server: &Server| vec![server.number; server.weight as usize];
        let server_of: Vec<u32> = list.iter().flat_map(remainder).collect();
        let parts = choices.number("parts");
        let (hash, cells, table) =
            remainders(function, Affixes::default(), &server_of, parts, 0)
                .ok_or_else(|| too_many("set fewer parts, or smaller weights"))?;
        return Ok(Ring {
            hash,
            cells,
            replicas: 1,
            members,
            table,
        });
    }
    if list.len() as u128 * 160 > POINTS_MAX {
        return Err(too_many("take servers out"));
    }
    let mut points: Vec<RingPoint> = Vec::new();
    for server in &list {
        for k in 0..digests(server.weight, all, list.len()) {
            points.extend(points_of(&format!("{}-{k}", server.label), server.number));
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
        hash: Hash::of(function, false, Affixes::default()),
        cells,
        replicas: 1,
        members,
        table,
    })
}

/// The number of digests of a server, with the steps and roundings of the C program: all of them to
/// single precision, but for the sum.
fn digests(weight: u64, all: u64, servers: usize) -> u32 {
    let part = weight as f32 / all as f32;
    let product = part * 160f32 / 4f32 * servers as f32;
    ((f64::from(product) + 1e-10) as f32).floor() as u32
}

/// The servers as nodes, and with their labels; both in the order of the list.
fn read(file: &Servers<'_>) -> Result<(Vec<Member>, Vec<Server>)> {
    let (mut members, mut list): (Vec<Member>, Vec<Server>) = (Vec::new(), Vec::new());
    let mut labels = HashSet::new();
    for (line, number) in file.text()?.lines().zip(1..) {
        let before = line.split_once('#').map_or("", |(before, _)| before);
        if before.ends_with(|last: char| !last.is_whitespace()) {
            return Err(servers::wrong(
                file.file,
                number,
                "a # begins a comment only behind a blank, and names with a # are not read here",
            ));
        }
    }
    for line in file.lines()? {
        let entry = line.text.strip_prefix("- ").unwrap_or(line.text).trim();
        if entry == "servers:" {
            continue;
        }
        let quoted = |quote| entry.strip_prefix(quote)?.strip_suffix(quote);
        let entry = quoted('"').or(quoted('\'')).unwrap_or(entry);
        let (member, label, weight) = server(&line, entry)?;
        if !labels.insert(label.clone()) {
            return Err(line.wrong(format!(
                "another server is hashed as `{label}` too, which twemproxy refuses"
            )));
        }
        members.push(member);
        list.push(Server {
            label,
            weight,
            number: list.len() as u32,
        });
    }
    match list.is_empty() {
        true => Err(servers::wrong(file.file, 1, "there are no servers in it")),
        false => Ok((members, list)),
    }
}

/// The node, the label and the weight of an entry. twemproxy takes it apart from its end.
fn server(line: &Line<'_>, entry: &str) -> Result<(Member, String, u64)> {
    let wrong = || -> Error {
        line.wrong(format!(
            "`{entry}` is not a server: HOST:PORT:WEIGHT [NAME] or /SOCKET:WEIGHT [NAME]"
        ))
    };
    let (place, name) = match entry.rsplit_once(' ') {
        Some((place, name)) => (place, Some(name)),
        None => (entry, None),
    };
    let (address, weight) = place.rsplit_once(':').ok_or_else(wrong)?;
    let weight = line.number_of(weight, "weight", WEIGHT_MAX)?;
    if weight == 0 {
        return Err(line.wrong("the weight is 0, which twemproxy refuses"));
    }
    let own = if address.starts_with('/') {
        if address.contains(':') {
            return Err(wrong());
        }
        format!("{address}:")
    } else {
        let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
        match line.number_of(port, "port", PORT_MAX)? {
            _ if host.is_empty() => return Err(wrong()),
            0 => return Err(line.wrong("the port is 0, which twemproxy refuses")),
            DEFAULT_PORT => host.to_owned(),
            _ => address.to_owned(),
        }
    };
    let mut member = Member::new(
        line.name(name.unwrap_or(address))?,
        Weight::from_millionths(weight * 1_000_000).unwrap_or(Weight::MAX),
    );
    if name.is_some() {
        let attribute = ("address".to_owned(), address.to_owned());
        member.attributes.extend([attribute]);
    }
    Ok((member, name.map_or(own, str::to_owned), weight))
}

/// A list of these servers. A name that is no address is given to a server at port 1.
fn list(members: &[Member]) -> String {
    let is_address = |name: &str| {
        let (host, port) = name.rsplit_once(':').unwrap_or((name, ""));
        name.starts_with('/') || !host.is_empty() && port.parse::<u16>().is_ok()
    };
    let line = |member: &Member| match is_address(&member.name) {
        true => format!("{}:{}\n", member.name, member.weight),
        false => format!("name:1:{} {}\n", member.weight, member.name),
    };
    members.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Char, Function};

    fn drawn(list: &str, set: &[&str]) -> Result<Ring> {
        KIND.draw_text("servers", list, set)
    }

    const LIST: &str = "servers:\n  - 127.0.0.1:11211:1\n  - 127.0.0.1:22122:3 beta\n  \
        # sockets\n  - \"10.0.0.1:11212:2\"\n  - /run/m.sock:1\n";
    /// How each server is hashed, its weight, and its place in the order of labels.
    const LABELS: [(&str, u32); 4] = [
        ("127.0.0.1", 1),
        ("beta", 3),
        ("10.0.0.1:11212", 2),
        ("/run/m.sock:", 1),
    ];
    const ORDER: [u32; 4] = [1, 0, 3, 2];

    #[test]
    fn keys_go_where_a_walk_over_the_points_ends() {
        let mut points: Vec<(u128, usize, u32)> = Vec::new();
        for (place, server) in ORDER.into_iter().enumerate() {
            let (label, weight) = LABELS[server as usize];
            for k in 0..40 * 4 * weight / 7 {
                let found = points_of(&format!("{label}-{k}"), server);
                points.extend(found.map(|(point, server)| (point, place, server)));
            }
        }
        let hashes = [
            ("fnv1a_64", Function::Fnv1aOf64(Char::Signed)),
            ("md5", Function::Md5Le32),
            ("crc32", Function::Crc32Of15),
            ("crc32a", Function::Crc32),
        ];
        for (name, function) in hashes {
            let ring = drawn(LIST, &[&format!("hash={name}")]).unwrap();
            for i in 0..2000 {
                let key = format!("clé {i}");
                let own = u128::from(function.value(key.as_bytes()));
                let at_or_after = points.iter().filter(|point| point.0 >= own).min();
                let expected = at_or_after.or(points.iter().min()).unwrap().2;
                assert_eq!(
                    ring.locate(key.as_bytes()),
                    Some(expected),
                    "{key} by {name}"
                );
            }
        }
        assert_eq!(drawn(LIST, &[]).unwrap().hash.name(), "fnv1a-64-signed");
    }

    #[test]
    fn modula_has_the_servers_in_the_order_of_their_labels() {
        let server_of = [1, 1, 1, 0, 3, 2, 2];
        for parts in [1, 100] {
            let set = ["distribution=modula", &format!("parts={parts}")];
            let ring = drawn(LIST, &set).unwrap();
            assert_eq!(ring.cells.count(), 7 * parts);
            for i in 0..2000 {
                let key = format!("key {i}");
                let hash = Function::Fnv1aOf64(Char::Signed).value(key.as_bytes());
                assert_eq!(
                    ring.locate(key.as_bytes()),
                    Some(server_of[(hash % 7) as usize])
                );
            }
        }
    }

    #[test]
    fn a_node_has_the_name_of_its_server_or_its_address() {
        let ring = drawn(LIST, &[]).unwrap();
        let names: Vec<&str> = ring.members.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(
            names,
            ["127.0.0.1:11211", "beta", "10.0.0.1:11212", "/run/m.sock"]
        );
        let address = |at: usize| ring.members[at].attributes.get("address").cloned();
        assert_eq!(
            (address(0), address(1)),
            (None, Some("127.0.0.1:22122".to_owned()))
        );
        // such lists are drawn alike, but for the address of a server that has a name
        assert_eq!(drawn(&list(&ring.members), &[]).unwrap().table, ring.table);
    }

    #[test]
    fn equal_servers_lose_a_digest_where_single_precision_does() {
        let short: Vec<usize> = (1..=100)
            .filter(|n| digests(1, *n as u64, *n) != 40)
            .collect();
        assert_eq!(short, [25, 47, 50, 55, 61, 71, 94, 100]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, set, problem) in [
            (
                "a:1\n",
                &[][..],
                "servers:1: `a:1` is not a server: HOST:PORT:WEIGHT [NAME]",
            ),
            ("a:1:1\nb\n", &[], "servers:2: `b` is not a server"),
            (":1:1\n", &[], "servers:1: `:1:1` is not a server"),
            ("/a:b:1\n", &[], "servers:1: `/a:b:1` is not a server"),
            (
                "a:1:1 b c\n",
                &[],
                "servers:1: the weight `1 b` is not a whole number",
            ),
            (
                "a:1:0\n",
                &[],
                "servers:1: the weight is 0, which twemproxy refuses",
            ),
            (
                "a:0:1\n",
                &[],
                "servers:1: the port is 0, which twemproxy refuses",
            ),
            (
                "a:99999:1\n",
                &[],
                "servers:1: the port `99999` is not a whole number up to 65535",
            ),
            (
                "a:11211:1\nb:1:1 a\n",
                &[],
                "servers:2: another server is hashed as `a` too",
            ),
            (
                "a:1:1 b#c\n",
                &[],
                "servers:1: a # begins a comment only behind a blank",
            ),
            ("a:1:1 b,c\n", &[], "servers:1: the name `b,c` has a comma"),
            (
                "a:11211:1\nb:1:1 a:11211\n",
                &[],
                "servers: server 1 and server 2",
            ),
            ("servers:\n", &[], "servers:1: there are no servers in it"),
            (
                "a:1:1000000\n",
                &["distribution=modula"],
                "servers:1: the ring has more than 16777216 points; set fewer parts",
            ),
        ] {
            let error = drawn(list, set).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
