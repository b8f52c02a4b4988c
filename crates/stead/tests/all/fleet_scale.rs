//! The largest fleets, and damaged ones: they are read in reasonable time and without a panic.

use std::time::Duration;

use stead::cell::Cells;
use stead::fleet::Fleet;
use stead::hash::{Hash, KeyRule};

/// Far above the processor time that any machine needs (under a second each, without optimisation),
/// and far below what a quadratic step would need.
const PATIENCE: Duration = Duration::from_secs(30);

/// The processor time of this thread, which excludes the work of all other programs.
fn worked() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is that of a live timespec.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = worked();
    let result = work();
    let took = worked() - start;
    println!("{what}: {took:?}");
    assert!(took < PATIENCE, "{what} took {took:?}");
    result
}

/// The text of a fleet with these numbers of nodes, policies and pins.
fn toml(nodes: usize, policies: usize, pins: usize) -> String {
    let mut text = "name = 'm'\n".to_owned();
    for i in 0..nodes {
        text += &format!(
            "[[node]]\nname = 'n{i}'\nweight = {i}.5\nlabels = {{ zone = 'z{}' }}\n\
             attributes.address = '10.0.0.1:{i}'\nformerly = 'o{i}'\n",
            i % 3
        );
    }
    for i in 0..policies {
        text += &format!(
            "[[policy]]\nname = 'p{i}'\nnodes = ['n{}', 'n{}']\n",
            i % nodes,
            (i + 1) % nodes
        );
    }
    for i in 0..pins {
        text += &format!("[[pin]]\nkey = 'k{i}'\nnodes = ['n{}']\n", i % nodes);
    }
    text
}

fn json(nodes: usize, policies: usize, pins: usize) -> String {
    let list =
        |n: usize, item: &dyn Fn(usize) -> String| (0..n).map(item).collect::<Vec<_>>().join(",\n");
    format!(
        "{{\"name\": \"m\",\n\"node\": [{}],\n\"policy\": [{}],\n\"pin\": [{}]}}",
        list(nodes, &|i| {
            format!(
                "{{\"name\": \"n{i}\", \"weight\": {i}.5, \"labels\": {{\"zone\": \"z{}\"}}, \
             \"attributes\": {{\"address\": \"10.0.0.1:{i}\"}}, \"formerly\": \"o{i}\"}}",
                i % 3
            )
        }),
        list(policies, &|i| format!(
            "{{\"name\": \"p{i}\", \"nodes\": [\"n{}\", \"n{}\"]}}",
            i % nodes,
            (i + 1) % nodes
        )),
        list(pins, &|i| format!(
            "{{\"key\": \"k{i}\", \"nodes\": [\"n{}\"]}}",
            i % nodes
        )),
    )
}

#[test]
fn the_most_nodes_and_policies_are_read_in_reasonable_time() {
    let (nodes, policies, pins) = (65_536, 65_536, 100_000);
    let a = timed("toml", || {
        Fleet::parse(&toml(nodes, policies, pins), "f").unwrap()
    });
    let b = timed("json", || {
        Fleet::parse(&json(nodes, policies, pins), "f").unwrap()
    });
    for fleet in [&a, &b] {
        assert_eq!(
            (fleet.nodes.len(), fleet.policies.len(), fleet.pins.len()),
            (nodes, policies, pins)
        );
        assert!(fleet
            .nodes
            .windows(2)
            .all(|pair| pair[0].name < pair[1].name));
        assert!(fleet
            .policies
            .windows(2)
            .all(|pair| pair[0].name < pair[1].name));
        let laid = timed("pins", || {
            fleet
                .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::FINEST)
                .unwrap()
        });
        assert_eq!(laid.len(), pins);
    }
    let line = |fleet: &Fleet, name: &str| {
        fleet
            .nodes
            .iter()
            .find(|node| node.name == name)
            .unwrap()
            .line
    };
    assert_eq!(
        (line(&a, "n65535"), line(&b, "n65535")),
        (2 + 65_535 * 6, 2 + 65_535)
    );
    for (a, b) in a.nodes.iter().zip(&b.nodes) {
        assert_eq!(
            (&a.name, a.weight, &a.labels, &a.attributes, &a.formerly),
            (&b.name, b.weight, &b.labels, &b.attributes, &b.formerly)
        );
    }
}

#[test]
fn more_copies_than_can_be_kept_apart_in_reasonable_time_are_refused() {
    let parse = |nodes: usize, copies: usize, labels: usize| {
        let names = (0..labels).map(|label| format!("'l{label}',"));
        let values = (0..labels).map(|label| format!("l{label} = 'a',"));
        let (names, values): (String, String) = (names.collect(), values.collect());
        let values = values.trim_end_matches(',');
        let head = format!("name = 'm'\nspread = [{names}]\nreplicas = {copies}\n");
        let node = |i| format!("[[node]]\nname = 'n{i}'\nlabels = {{{values}}}\n");
        let list: String = (0..nodes).map(node).collect();
        let drained = "[[node]]\nname = 'drained'\nweight = 0\n";
        Fleet::parse(&(head + &list + drained), "f")
    };
    let sides = [
        (65_535, 0, 12),
        (65_535, 4, 3),
        (4_096, 16, 64),
        (4_096, 1, 128),
        (1_000, 3, 64),
    ];
    for (nodes, labels, copies) in sides {
        let fleet = parse(nodes, copies, labels).unwrap();
        assert_eq!(fleet.nodes.len(), nodes + 1);
        let message = parse(nodes, copies + 1, labels).unwrap_err().to_string();
        let start = format!(
            "f:3: replicas = {} is too many for {nodes} nodes and {labels} labels of spread: the \
             effort of a rebalance is ",
            copies + 1
        );
        let end = format!(
            " and may be at most 4194304; set replicas = {copies} or less, or name fewer labels or nodes"
        );
        assert!(
            message.starts_with(&start) && message.ends_with(&end),
            "{message}"
        );
    }
}

#[test]
fn one_more_than_the_most_is_refused_where_it_stands() {
    let message = |text: &str| Fleet::parse(text, "f").unwrap_err().to_string();
    let words = |n: usize, of: &str| {
        format!("there are more than {n} {of} entries, the maximum; remove some")
    };
    assert_eq!(
        message(&toml(65_537, 0, 0)),
        format!("f:{}: {}", 2 + 65_536 * 6, words(65_536, "node"))
    );
    assert_eq!(
        message(&toml(1, 65_537, 0).replace(", 'n0'", "")),
        format!("f:{}: {}", 8 + 65_536 * 3, words(65_536, "policy"))
    );
    // each has another key: a key that comes again ends the reading
    let pin = |n: usize| format!(",\n{{\"key\":\"{n:07}\",\"nodes\":[\"a\"]}}");
    let pins: String = (0..1_000_001).map(pin).collect();
    let text = |pins: &str| {
        format!(
            "{{\"name\": \"m\", \"node\": [{{\"name\": \"a\"}}], \"pin\": [{}]}}",
            &pins[1..]
        )
    };
    timed("a million pins", || {
        assert_eq!(
            message(&text(&pins)),
            format!("f:{}: {}", 2 + 1_000_000, words(1_000_000, "pin"))
        );
        let fleet = Fleet::parse(&text(&pins[..pins.len() / 1_000_001 * 1_000_000]), "f").unwrap();
        assert_eq!(fleet.pins.len(), 1_000_000);
        let laid = fleet
            .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::FINEST)
            .unwrap();
        assert_eq!(laid.len(), 1_000_000);
    });
    assert_eq!(
        message(&text(&pin(7).repeat(1_000_000))),
        "f:3: pin covers points of the pin in line 2; pins must not overlap"
    );
}

/// The limits of docs/fleet.md that are those of the parsers and not of the fleet.
#[test]
fn one_more_than_a_text_may_have_is_refused_and_no_fewer() {
    let of = |count: usize, item: &str| -> String {
        let items = (0..count).map(|n| item.replace('%', &n.to_string()));
        items.collect()
    };
    type Text<'a> = &'a dyn Fn(usize) -> String;
    let head = "name = 'm'\n[[node]]\nname = 'a'\n";
    let lists: [(usize, Text, &str); 9] = [
        // the node's name is one of its keys
        (
            9_999,
            &|n| format!("{head}[node.attributes]\n{}", of(n, "k% = ''\n")),
            "10000 keys",
        ),
        (
            9_999,
            &|n| format!("{head}{}", of(n, "attributes.k% = ''\n")),
            "10000 keys",
        ),
        (
            10_000,
            &|n| format!("{head}attributes = {{ {}k = '' }}", of(n - 1, "k% = '', ")),
            "10000 keys",
        ),
        (
            10_000,
            &|n| format!("name = 'm'\nnode = [{}]", of(n, "{ name = 'n%' }, ")),
            "10000 tables",
        ),
        (
            10_000,
            &|n| {
                format!(
                    "name = 'm'\nnode = [{}{{ name = 'n' }}]",
                    of(n - 1, "{ name = 'n%' }, ")
                )
            },
            "10000 tables",
        ),
        (
            10_000,
            &|n| {
                let pins = of(n, "{ key = 'k%', nodes = ['a'] }, # one more\n");
                format!("pin = [{}]\n{head}", pins)
            },
            "10000 tables",
        ),
        (
            65_536,
            &|n| {
                let nodes = of(n, "[[node]]\nname = 'n%'\n");
                format!(
                    "name = 'm'\n{nodes}[[pin]]\nkey = 'k'\nnodes = [{}]",
                    of(n, "'n%', ")
                )
            },
            "65536 strings",
        ),
        (
            65_536,
            &|n| {
                let nodes = of(n, "[[node]]\nname = 'n%'\n");
                let rest = of(n - 1, ",'n%'");
                let last = n - 1;
                format!("name = 'm'\n{nodes}[[pin]]\nkey = 'k'\nnodes = ['n{last}'{rest}]")
            },
            "65536 strings",
        ),
        (
            65_536,
            &|n| {
                let texts = of(n - 1, ",\"k%\":\"\"");
                format!(
                    "{{\"name\":\"m\",\"node\":[{{\"name\":\"a\",\"attributes\":{{\"k\":\"\"{texts}}}}}]}}"
                )
            },
            "65536 values",
        ),
    ];
    for (most, text, words) in lists {
        Fleet::parse(&text(most), "f").unwrap_or_else(|error| panic!("{words}: {error}"));
        let Err(error) = Fleet::parse(&text(most + 1), "f") else {
            panic!("not refused: {words}");
        };
        let error = error.to_string();
        assert!(
            error.contains(&format!("more than {words}")),
            "{words}: {error}"
        );
    }
}

#[test]
fn large_tables_of_one_sort_are_read_in_reasonable_time() {
    let of = |n: usize, item: &dyn Fn(usize) -> String| (0..n).map(item).collect::<String>();
    let most = |item: &dyn Fn(usize) -> String| of(9_990, item);
    let many = |item: &dyn Fn(usize) -> String| of(200_000, item);
    let node = "name = 'm'\n[[node]]\nname = 'a'\n";
    for text in [
        format!("{node}{}", most(&|i| format!("labels.l{i} = 'x'\n"))),
        format!(
            "{node}attributes = {{ a = 'x'{} }}",
            most(&|i| format!(", l{i} = 'x'"))
        ),
        format!(
            "{node}[[policy]]\nname = 'p'\nnodes = ['a']\n[node.labels]\n{}",
            most(&|i| format!("l{i} = 'x'\n"))
        )
        .replace("[[policy]]\nname = 'p'\nnodes = ['a']\n", ""),
        format!(
            "{{\"name\": \"m\", \"node\": [{{\"name\": \"a\", \"labels\": {{\"a\": \"b\"{}}}}}]}}",
            of(65_000, &|i| format!(",\"l{i}\": \"x\""))
        ),
    ] {
        timed("a large table", || {
            Fleet::parse(&text, "f").unwrap_or_else(|error| panic!("{error}"))
        });
    }
    for text in [
        format!("name = 'm'\n{}", many(&|i| format!("k{i} = 1\n"))),
        format!("name = 'm'\n{}", many(&|i| format!("[k{i}.x]\n"))),
        format!(
            "name = 'm'\n{}",
            "[[node]]\nname = 'a'\nformerly = 'b'\n".repeat(50_000)
        ),
        format!(
            "{node}[[policy]]\nname = 'p'\nnodes = [{}]",
            "'a',".repeat(200_000)
        ),
        format!("name = 'm'\nnode = [{}]", "{},".repeat(60_000)),
        "name = 'm'\n".repeat(100_000),
        "name = \n".repeat(100_000),
        "\"".repeat(200_000),
        "'''\n".repeat(100_001),
        format!("{{{}", "\"a\":1,\n".repeat(100_000)),
        format!("{{\"a\": [{}", "1,\n".repeat(100_000)),
        "{".to_owned() + &"\\".repeat(200_000),
    ] {
        timed("a large mistake", || Fleet::parse(&text, "f").unwrap_err());
    }
}

/// Nesting far deeper than any stack allows, on a thread with a small stack.
#[test]
fn deep_nesting_is_refused_on_a_small_stack() {
    let deep = |open: &str, n: usize| format!("name = 'm'\nx = {}", open.repeat(n));
    let texts = [
        deep("[", 100_000),
        deep("{a=", 100_000),
        format!("{} = 1", vec!["a"; 100_000].join(".")),
        format!("[{}]", vec!["a"; 100_000].join(".")),
        format!("x = {}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("x = {}1{}", "[{a.a.a=".repeat(12), "}]".repeat(12)),
        format!("{{\"a\": {}", "[".repeat(100_000)),
        format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
        format!("{{\"a\": {}1{}}}", "[".repeat(63), "]".repeat(63)),
        format!("x = {}1{}", "[".repeat(64), "]".repeat(64)),
        format!(
            "[{}]\n{} = 1",
            vec!["a"; 64].join("."),
            vec!["a"; 64].join(".")
        ),
    ];
    let worker = std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || {
            for text in texts {
                let message = Fleet::parse(&text, "f").unwrap_err().to_string();
                assert!(message.len() < 300, "{message}");
            }
        });
    worker.unwrap().join().unwrap();
}

/// SplitMix64, so that a failure can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }
}

#[test]
fn damaged_fleets_give_errors_and_never_panics() {
    let spice: &[u8] = b"\"'[]{}=.,#\\\n\r\t -+_0eEx:%/*u\0\x7f\xc2\xa0\xef\xbb\xbf\xf0\x9f\xed";
    let words = [
        "\"\"\"",
        "'''",
        "[[",
        "]]",
        "\\u",
        "\\ud800",
        "\\U0010FFFF",
        "1e9",
        "nan",
        "null",
        "true",
        "1979-05-27",
        "//",
        "é",
        "\u{2028}",
        "\u{feff}",
    ];
    let toml =
        toml(3, 2, 2) + "[[pin]]\nrange = [\"6.00000%\", \"6.00001%\"]\npolicy = \"p\\u0031\"\n";
    let json = json(3, 2, 2).replace("\"p1\"", "\"p\\u0031\"");
    let (mut random, mut refused, mut read) = (Random(1), 0, 0);
    for round in 0..20_000 {
        let mut bytes = if round % 2 == 0 {
            toml.clone()
        } else {
            json.clone()
        }
        .into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            let to = (at + random.below(12)).min(bytes.len());
            match random.below(6) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes[at] = spice[random.below(spice.len())],
                2 => bytes.insert(at, spice[random.below(spice.len())]),
                3 => drop(bytes.drain(at..to)),
                4 => drop(bytes.splice(at..to, words[random.below(words.len())].bytes())),
                _ => bytes.truncate(at.max(1)),
            }
            if bytes.is_empty() {
                bytes.push(b' ');
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match Fleet::parse(&text, "f") {
            Ok(fleet) => {
                read += 1;
                let _ = fleet.lay_pins(&Hash::Xxh3, KeyRule::Whole, Cells::from_stored(16_384));
            }
            Err(error) => {
                refused += 1;
                let message = error.to_string();
                let line = message
                    .split(':')
                    .nth(1)
                    .and_then(|line| line.parse::<usize>().ok());
                let lines = text.lines().count().max(1);
                assert!(
                    line.is_some_and(|line| (1..=lines).contains(&line)),
                    "{message}\n{lines} lines\n{text}"
                );
                assert!(!message.contains(['\n', '\r', '\0']), "{message:?}\n{text}");
                assert!(message.len() < 1000, "{message}");
            }
        }
    }
    println!("{read} read, {refused} refused");
    assert!(
        refused > 5_000 && read > 500,
        "{read} read, {refused} refused"
    );
}
