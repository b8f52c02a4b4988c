//! libketama, the original ketama (RJ/ketama, `libketama/ketama.c`), and programs that copy its
//! rule: 40 digests of MD5 for a server of mean memory, with four points of 32 bits each. A key
//! belongs to the first point at the first word of its own MD5 or after it.
//!
//! A server of memory m gets floor(m / sum of memory * 40 * servers) digests. The quotient is
//! rounded to single precision, the products are in double precision, and the whole is rounded to
//! single precision again before the floor: 61 equal servers get 39 digests each, not 40. Digest k
//! is that of `ADDRESS-k`, where the address is `ip:port` as the list writes it.
//!
//! The list is read as `read_server_line` reads it. That function takes the last character of the
//! memory for the end of the line and drops it. So a last line without an end loses a digit, and so
//! does a memory with a blank behind it. The first character that is not a digit ends the number.
//!
//! The owner of two points at one place is undefined there, since qsort may leave them in any order
//! (glibc's merge sort keeps the order of the list). Here the server that is listed first has the
//! place. Keys end at their first NUL there.

use crate::cell::Cells;
use crate::error::Result;
use crate::hash::{Affixes, Function, Hash};
use crate::ring::choices::Choices;
use crate::ring::compile::{in_order, owners, Owner, RingPoint, Tie, POINTS_MAX};
use crate::ring::draw::{Member, Ring};
use crate::ring::kind::Kind;
use crate::ring::md5_words::points_of;
use crate::ring::servers::{self, Servers};
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "libketama",
    about: "the original ketama in C, and its bindings",
    servers: "ADDRESS:PORT MEMORY on each line, as ketama_roll reads it; # at the start of a line \
        begins a comment",
    choices: &[],
    draw,
    list: Some(list),
    variants: &[],
};

/// The largest `Weight`, which is more than the megabytes of any memory.
const MEMORY_MAX: u64 = 1_000_000;

fn draw(servers: &Servers<'_>, _: &Choices) -> Result<Ring> {
    let mut members: Vec<Member> = Vec::new();
    let mut memories: Vec<u64> = Vec::new();
    for (line, number) in servers.text()?.split_inclusive('\n').zip(1..) {
        if line.len() < 2 || line.starts_with('#') {
            continue;
        }
        let wrong = |problem: String| servers::wrong(servers.file, number, problem);
        let mut words = line.split(['\t', ' ']).filter(|word| !word.is_empty());
        let (Some(address), Some(memory)) = (words.next(), words.next()) else {
            return Err(wrong(
                "a server is written ADDRESS:PORT MEMORY, with a tab or a blank between them"
                    .to_owned(),
            ));
        };
        let mut kept = memory.chars();
        let dropped = kept.next_back();
        let digits: String = kept.take_while(char::is_ascii_digit).collect();
        let megabytes = digits
            .parse()
            .ok()
            .filter(|memory| (1..=MEMORY_MAX).contains(memory))
            .ok_or_else(|| {
                let last = match dropped {
                    Some('\n') | None => "",
                    Some(_) => {
                        " (ketama drops the last character of the memory: end the line right \
                    after it)"
                    }
                };
                wrong(format!(
                    "the memory `{}` is not a whole number from 1 to {MEMORY_MAX}{last}",
                    memory.trim_end()
                ))
            })?;
        servers::check_name(servers.file, number, address)?;
        members.push(Member::new(
            address.to_owned(),
            Weight::from_millionths(megabytes * 1_000_000).unwrap_or(Weight::MAX),
        ));
        memories.push(megabytes);
    }
    if members.is_empty() {
        return Err(servers::wrong(
            servers.file,
            1,
            "there are no servers in it",
        ));
    }
    if members.len() as u128 * 160 > POINTS_MAX {
        return Err(servers::wrong(
            servers.file,
            1,
            format!(
                "a ring of {} servers has more than {POINTS_MAX} points",
                members.len()
            ),
        ));
    }
    let all: u64 = memories.iter().sum();
    let mut points: Vec<RingPoint> = Vec::new();
    for ((member, memory), server) in members.iter().zip(&memories).zip(0u32..) {
        for k in 0..digests(*memory, all, members.len()) {
            points.extend(points_of(&format!("{}-{k}", member.name), server));
        }
    }
    let cells = Cells::of_bits(Function::Md5Le32.bits());
    let table = owners(
        &in_order(points, Tie::First),
        Owner::AtOrAfter,
        cells.count(),
    );
    Ok(Ring {
        hash: Hash::of(Function::Md5Le32, false, Affixes::default()),
        cells,
        replicas: 1,
        members,
        table,
    })
}

/// The number of digests of a server, with the steps and roundings of the C program.
fn digests(memory: u64, all: u64, servers: usize) -> u32 {
    let part = memory as f32 / all as f32;
    let product = f64::from(part) * 40.0 * f64::from(servers as f32);
    (product as f32).floor() as u32
}

fn list(members: &[Member]) -> String {
    members
        .iter()
        .map(|member| format!("{}\t{}\n", member.name, member.weight))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    fn drawn(list: &str) -> Result<Ring> {
        KIND.draw_text("servers", list, &[""; 0])
    }

    /// The golden keys of the family: key:0 to key:5, the empty key, été, user/42.
    const KEYS: [&str; 9] = [
        "key:0", "key:1", "key:2", "key:3", "key:4", "key:5", "", "été", "user/42",
    ];

    #[test]
    fn the_vector_of_ketamas_own_tests() {
        let ring = drawn("127.0.0.1:11211\t600\n127.0.0.1:11212\t400\n").unwrap();
        // python_ketama/tests.py: point 3454255383 owns 3446378249, the hash of `test`
        assert_eq!(ring.hash.cell(b"test", ring.cells), 3_446_378_249);
        assert_eq!(
            ring.members[ring.locate(b"test").unwrap() as usize].name,
            "127.0.0.1:11211"
        );
        let next = ring
            .table
            .iter()
            .map(|run| run.0)
            .find(|first| *first > 3_446_378_249)
            .unwrap();
        assert!(next > 3_454_255_383);
    }

    #[test]
    fn weighted_servers_on_another_port_answer_as_libmemcached_does() {
        let memory = [600, 300, 200, 350, 1000, 800, 950, 100];
        let list: String = memory
            .iter()
            .enumerate()
            .map(|(i, m)| format!("10.0.1.{}:11212 {m}\n", i + 1))
            .collect();
        let ring = drawn(&list).unwrap();
        assert_eq!(
            KEYS.map(|key| 1 + ring.locate(key.as_bytes()).unwrap()),
            [1, 4, 2, 3, 1, 5, 6, 5, 7]
        );
    }

    #[test]
    fn keys_go_where_a_walk_over_the_points_ends() {
        for (servers, memory) in [(1u32, 1u64), (3, 64), (25, 7), (61, 100)] {
            let memories: Vec<u64> = (0..servers)
                .map(|i| memory + u64::from(i % 3) * 17)
                .collect();
            let list: String = memories
                .iter()
                .enumerate()
                .map(|(i, m)| format!("cache{i}:11211\t{m}\n"))
                .collect();
            let ring = drawn(&list).unwrap();
            let all: u64 = memories.iter().sum();
            let word = |text: &str, at: usize| {
                u32::from_le_bytes(Md5::digest(text)[4 * at..][..4].try_into().unwrap())
            };
            let mut points: Vec<(u32, u32)> = Vec::new();
            for (i, m) in (0..).zip(&memories) {
                let count =
                    (f64::from(*m as f32 / all as f32) * 40.0 * f64::from(servers)) as f32 as u32;
                points.extend((0..count).flat_map(|k| {
                    (0..4).map(move |at| (word(&format!("cache{i}:11211-{k}"), at), i))
                }));
            }
            for i in 0..2000 {
                let key = format!("key {i}");
                let own = word(&key, 0);
                let at_or_after = points.iter().filter(|point| point.0 >= own).min();
                let expected = at_or_after.or(points.iter().min()).unwrap().1;
                assert_eq!(
                    ring.locate(key.as_bytes()),
                    Some(expected),
                    "{key} of {servers}"
                );
            }
        }
    }

    #[test]
    fn equal_servers_lose_a_digest_where_single_precision_does() {
        // the numbers from 1 to 1000 of equal servers that lose a digest
        let short: Vec<usize> = (1..=1000)
            .filter(|n| digests(1, *n as u64, *n) != 40)
            .collect();
        assert_eq!(
            (short.len(), &short[..5]),
            (11, &[61, 122, 237, 244, 474][..])
        );
        assert!(short.iter().all(|n| digests(1, *n as u64, *n) == 39));
    }

    #[test]
    fn a_last_line_without_an_end_loses_a_digit() {
        let weights = |list: &str| {
            drawn(list)
                .unwrap()
                .members
                .iter()
                .map(|m| m.weight.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(weights("a:1\t600\nb:1\t600"), ["600", "60"]);
        assert_eq!(weights("a:1 600 \nb:1\t 600\r\n\n#c:1 5\n"), ["60", "600"]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for (list, problem) in [
            (
                "a:1\n",
                "servers:1: a server is written ADDRESS:PORT MEMORY",
            ),
            (
                "# a\na:1 6\nb:1 x\n",
                "servers:3: the memory `x` is not a whole number from 1 to \
                1000000",
            ),
            (
                "a:1 6",
                "servers:1: the memory `6` is not a whole number from 1 to 1000000 (ketama \
                drops the last character",
            ),
            ("a:1 0\n", "servers:1: the memory `0` is not"),
            (
                "a:1 99999999999999999999\n",
                "servers:1: the memory `99999999999999999999` is not",
            ),
            ("a,b:1 6\n", "servers:1: the name `a,b:1` has a comma"),
            (
                "a:1 6\na:1 7\n",
                "servers: server 1 and server 2 of the list are both named `a:1`",
            ),
            ("# nothing\n", "servers:1: there are no servers in it"),
        ] {
            let error = drawn(list).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
