//! The estimates of memory, held against the memory that the calls really use.
//!
//! An allocator counts the bytes that are allocated at once. The estimate of a call is the least
//! limit under which it succeeds: each refusal names the bytes that would have been allowed. For
//! every call the estimate must not be below the peak, and for calls that use much it must not be
//! far above it.
//!
//! The widest fleets take minutes without optimisation:
//!
//!     cargo test --locked --release -p stead --test memory -- --ignored --nocapture

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;

use stead::memory::{limit, set_limit, USUAL_LIMIT};
use stead::point::SPACE;
use stead::report::Report;
use stead::{build, build_max_move, Error, Fleet, Map, Plan, Result, Share};

/// The bytes that are allocated now, and the most that were at once.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// The last block, if it may be one that `memory::room` only asks for: it counts when something
/// else is allocated before it is given back.
static ASKED: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn settle() {
    PEAK.fetch_max(NOW.load(Relaxed), Relaxed);
    ASKED.store(0, Relaxed);
}

// SAFETY: every method returns what the same method of `System` returns for the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        settle();
        // SAFETY: the caller promises what `System` demands.
        let block = unsafe { System.alloc(layout) };
        NOW.fetch_add(layout.size(), Relaxed);
        if layout.align() == 1 && layout.size() >= 64 << 10 {
            ASKED.store(block as usize, Relaxed);
        } else {
            settle();
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_add(size, Relaxed); // both blocks may be there at once
        settle();
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if ASKED.swap(0, Relaxed) != block as usize {
            settle();
        }
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The limit and the counts are those of the process, so the tests of this file take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Returns the most bytes that a call had allocated at once, beyond those that were there before.
fn peak_of<T>(call: &dyn Fn() -> Result<T>) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let made = black_box(call().expect("the call succeeds"));
    settle();
    drop(made);
    PEAK.load(Relaxed) - before
}

/// Returns the least limit under which a call succeeds.
fn estimate_of<T>(call: &dyn Fn() -> Result<T>) -> u64 {
    set_limit(1);
    loop {
        match call() {
            Err(Error::MemoryLimit { bytes, limit: at }) => {
                assert_eq!(at, limit());
                assert!(bytes > at);
                set_limit(bytes);
            }
            Err(error) => panic!("{error}"),
            Ok(_) => break,
        }
    }
    set_limit(u64::MAX)
}

/// Nobody asks for less than this: a call that may need less has no estimate.
const SMALL: u64 = 64 << 10;

/// How many times the peak an estimate may be, where the peak is 1 MiB or more. First maps of many
/// copies in few domains come closest, since they have few pieces.
const NEAR: f64 = 24.0;

/// The worst ratios of estimates to peaks, by the kind of call.
#[derive(Default)]
struct Table(std::collections::BTreeMap<&'static str, (f64, f64, u64, String)>);

impl Table {
    /// Checks a call, and notes how far its estimate is from its peak.
    fn check<T>(&mut self, kind: &'static str, of: &str, call: &dyn Fn() -> Result<T>) {
        self.check_with(0, kind, of, call);
    }

    /// Checks a call that needs `given` bytes before it asks: those that its caller copied.
    fn check_with<T>(
        &mut self,
        given: usize,
        kind: &'static str,
        of: &str,
        call: &dyn Fn() -> Result<T>,
    ) {
        let estimate = estimate_of(call) + given as u64;
        let peak = peak_of(call) as u64;
        let ratio = estimate as f64 / peak.max(1) as f64;
        if std::env::var_os("STEAD_SHOW").is_some() {
            println!("{kind:<16} {of:<60} peak {peak:>12} estimate {estimate:>12} {ratio:>7.2}");
        }
        assert!(
            estimate + SMALL >= peak || std::env::var_os("STEAD_SHOW").is_some(),
            "{kind} of {of}: {estimate} estimated, {peak} used"
        );
        let row = self
            .0
            .entry(kind)
            .or_insert((f64::MAX, 0.0, 0, String::new()));
        if peak >= SMALL {
            row.0 = row.0.min(ratio);
        }
        if peak >= 1 << 20 && ratio > row.1 {
            row.1 = ratio;
            row.3 = of.to_owned();
        }
        row.2 = row.2.max(estimate);
    }

    fn print(&self) {
        for (kind, (least, most, estimate, of)) in &self.0 {
            println!(
                "{kind:<16} estimate / peak {least:>6.2} to {most:>6.2} ({of}); largest estimate \
                 {estimate}"
            );
        }
    }
}

/// SplitMix64, so that a failure can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n.max(1) as u64) as usize
    }
}

/// How a fleet looks, apart from its size.
#[derive(Clone, Copy, Debug)]
struct Shape {
    nodes: usize,
    copies: usize,
    labels: usize,
    /// 0: each label halves the domains of the one before it; 1: labels that do not follow each
    /// other; 2: each node is alone
    tree: usize,
    policies: usize,
    /// the nodes of each named policy
    members: usize,
    pins: usize,
    firsts: usize,
    text: usize,
}

const PLAIN: Shape = Shape {
    nodes: 10,
    copies: 1,
    labels: 0,
    tree: 1,
    policies: 0,
    members: 1,
    pins: 0,
    firsts: 0,
    text: 0,
};

/// The text of a fleet. `step` gives a tenth of the nodes another weight.
fn text(of: Shape, step: bool) -> String {
    let names: Vec<String> = (0..of.labels).map(|label| format!("'l{label}'")).collect();
    let mut text = format!("name = 'm'\nreplicas = {}\n", of.copies);
    text += &format!("spread = [{}]\n", names.join(", "));
    for node in 0..of.nodes {
        let weight = match (step && node % 10 == 3, node % 20 == 3) {
            (true, true) => 0,
            (true, false) => 4,
            (false, _) => 1 + node * 7919 % 3,
        };
        let value = |label: usize| match of.tree {
            0 => node >> 10usize.saturating_sub(label),
            1 => node % (label + 2),
            _ => node,
        };
        let values = (0..of.labels).map(|label| format!("l{label} = 'v{}'", value(label)));
        let values: Vec<String> = values.collect();
        text += &format!("[[node]]\nname = 'n{node}'\nweight = {weight}\n");
        text += &format!("labels = {{{}}}\n", values.join(", "));
        if of.text > 0 {
            text += &format!("attributes.note = '{}'\n", "x".repeat(of.text));
        }
    }
    let list = |from: usize, count: usize| -> String {
        let nodes = (0..count).map(|i| format!("'n{}'", (from + i) % of.nodes));
        nodes.collect::<Vec<_>>().join(",")
    };
    for policy in 0..of.policies {
        let nodes = list(policy + usize::from(step), of.members);
        text += &format!("[[policy]]\nname = 'p{policy}'\nnodes = [{nodes}]\n");
    }
    for pin in 0..of.pins {
        let to = match pin % (of.policies + 1) {
            0 => format!("nodes = [{}]", list(pin, of.copies)),
            policy => format!("policy = 'p{}'", policy - 1),
        };
        text += &format!("[[pin]]\nkey = 'k{}'\n{to}\n", pin + usize::from(step));
    }
    for first in 0..of.firsts {
        text += &format!(
            "[[first]]\nkey = 'f{first}'\nnode = 'n{}'\n",
            first % of.nodes
        );
    }
    text
}

/// The same fleet as JSON, as dense as it can be written.
fn json(of: Shape) -> String {
    let fleet = Fleet::parse(&text(of, false), "fleet.toml").expect("a fleet");
    let texts = |texts: &std::collections::BTreeMap<String, String>| {
        let pairs = texts
            .iter()
            .map(|(key, value)| format!("\"{key}\":\"{value}\""));
        pairs.collect::<Vec<_>>().join(",")
    };
    let nodes = fleet.nodes.iter().map(|node| {
        let (labels, attributes) = (texts(&node.labels), texts(&node.attributes));
        let name = &node.name;
        format!("{{\"name\":\"{name}\",\"labels\":{{{labels}}},\"attributes\":{{{attributes}}}}}")
    });
    let nodes = nodes.collect::<Vec<_>>().join(",");
    let spread: Vec<String> = fleet.spread.iter().map(|l| format!("\"{l}\"")).collect();
    let pins =
        (0..of.pins).map(|pin| format!("{{\"key\":\"{pin}\",\"nodes\":[\"n0\"],\"short\":true}}"));
    let pins = pins.collect::<Vec<_>>().join(",");
    let (copies, spread) = (of.copies, spread.join(","));
    format!("{{\"name\":\"m\",\"replicas\":{copies},\"spread\":[{spread}],\"node\":[{nodes}],\"pin\":[{pins}]}}")
}

/// Checks everything that may be done with a fleet.
fn everything(table: &mut Table, of: Shape) {
    let name = format!("{of:?}").replace("Shape ", "");
    let (first, second) = (text(of, false), text(of, true));
    reading(table, &name, &first);
    reading(table, &name, &json(of));
    let fleet = |text: &str| Fleet::parse(text, "fleet.toml").expect("a fleet");
    let (first, second) = (fleet(&first), fleet(&second));
    table.check("build, first", &name, &|| build(&first, None));
    let old = build(&first, None).expect("a map");
    table.check("build, step", &name, &|| build(&second, Some(&old)));
    let new = build(&second, Some(&old)).expect("a map");
    if std::env::var_os("STEAD_SHOW").is_some() {
        let (old, new) = (
            [old.base_count(), old.policies().len()],
            [new.base_count(), new.policies().len()],
        );
        println!("SIZES {name} {old:?} {new:?}");
    }
    table.check("plan", &name, &|| Plan::between(&old, &new));
    table.check("report", &name, &|| Report::of(None, &new, false));
    table.check("report, change", &name, &|| {
        Report::of(Some(&old), &new, false)
    });
    table.check("report, moves", &name, &|| {
        Report::of(Some(&old), &new, true)
    });
    let copied = || Map::from_bytes(new.bytes().to_vec());
    table.check_with(new.bytes().len(), "open", &name, &copied);
    let part = Share(SPACE / 50);
    table.check("build, part", &name, &|| {
        build_max_move(&second, Some(&old), part)
    });
    table.check("fleet of a map", &name, &|| {
        let _room = new.prepare_fleet()?;
        Ok(new.fleet().to_toml())
    });
}

/// Kinds of calls that are refused long before they have used what they may need.
const REFUSED: [&str; 2] = ["refused, JSON", "refused, TOML"];

fn reading(table: &mut Table, name: &str, text: &str) {
    set_limit(u64::MAX);
    let is_read = Fleet::parse(text, "fleet").is_ok();
    let kind = match (text.starts_with('{'), is_read) {
        (true, true) => "fleet, JSON",
        (false, true) => "fleet, TOML",
        (true, false) => REFUSED[0],
        (false, false) => REFUSED[1],
    };
    table.check(kind, name, &|| match Fleet::parse(text, "fleet") {
        Err(error @ Error::MemoryLimit { .. }) => Err(error),
        read => Ok(read), // a text that breaks a rule takes memory, too
    });
}

#[test]
fn no_call_uses_more_memory_than_was_estimated() {
    let _turn = TURN.lock().unwrap_or_else(|held| held.into_inner());
    let mut table = Table::default();
    for of in [
        PLAIN,
        Shape {
            nodes: 2000,
            ..PLAIN
        },
        Shape {
            nodes: 300,
            copies: 3,
            labels: 2,
            ..PLAIN
        },
        Shape {
            nodes: 100,
            copies: 20,
            labels: 8,
            tree: 0,
            ..PLAIN
        },
        Shape {
            nodes: 60,
            copies: 50,
            labels: 16,
            ..PLAIN
        },
        Shape {
            nodes: 300,
            copies: 120,
            labels: 1,
            tree: 2,
            ..PLAIN
        },
        Shape {
            nodes: 100,
            policies: 300,
            members: 90,
            pins: 2000,
            ..PLAIN
        },
        Shape {
            nodes: 50,
            policies: 2,
            members: 5,
            pins: 10_000,
            ..PLAIN
        },
        Shape {
            nodes: 50,
            copies: 3,
            firsts: 5_000,
            ..PLAIN
        },
        Shape {
            nodes: 200,
            text: 4000,
            ..PLAIN
        },
    ] {
        everything(&mut table, of);
    }
    for (name, head, each, tail) in [
        ("numbers", "{\"a\":[", "0,", "0]}"),
        ("arrays", "{\"a\":[", "[],", "0]}"),
        ("objects", "{\"a\":[", "{},", "0]}"),
        ("objects of one", "{\"a\":[", "{\"\":0},", "0]}"),
        ("texts", "{\"a\":[", "\"\",", "0]}"),
        ("nodes of JSON", "{\"node\":[", "{\"name\":\"a\"},", "{}]}"),
        ("numbers", "a=[", "0,", "0]"),
        ("arrays", "a=[", "[],", "0]"),
        ("tables", "a=[", "{},", "0]"),
        ("tables of one", "a=[", "{a=0},", "0]"),
        ("texts", "a=[", "'',", "0]"),
        ("nodes", "", "[[node]]\na=1\n", ""),
        ("headers", "", "[[a]]\n", ""),
        ("pins", "", "[[pin]]\nkey=''\nnodes=['a']\n", ""),
        ("comments", "", "#\n", ""),
        ("lines", "a=[", "\n", "]"),
        ("comments inside", "a=[", "#\n", "]"),
        ("blanks", "", "a = 1\n", ""),
        ("dots", "", "a.a.a.a.a=1\n", ""),
        ("a long text", "a='", "xxxxxxxx", "'"),
        ("a long text of JSON", "{\"a\":\"", "xxxxxxxx", "\"}"),
    ] {
        reading(
            &mut table,
            name,
            &format!("{head}{}{tail}", each.repeat(60_000)),
        );
    }
    let keys: String = (0..100_000).map(|i| format!("k{i}=1\n")).collect();
    reading(&mut table, "keys", &keys);
    let mut random = Random(1);
    for _ in 0..12 {
        let nodes = 1 + random.below(200);
        let by_hand = |random: &mut Random| match random.below(3) {
            0 => random.below(300),
            _ => 0,
        };
        let of = Shape {
            nodes: nodes + 10,
            copies: 1 + random.below(nodes.min(12)),
            labels: random.below(5),
            tree: random.below(3),
            policies: by_hand(&mut random),
            members: 1 + random.below(nodes),
            pins: by_hand(&mut random),
            firsts: by_hand(&mut random),
            text: random.below(2) * random.below(1000),
        };
        everything(&mut table, of);
    }
    table.print();
    for (kind, (_, most, _, of)) in &table.0 {
        let is_near = *most < NEAR || REFUSED.contains(kind);
        assert!(is_near, "{kind} of {of}: {most} times the peak");
    }
    set_limit(USUAL_LIMIT);
}

#[test]
#[ignore = "takes minutes without optimisation; make faults runs it"]
fn the_widest_fleets_are_below_the_usual_limit() {
    let _turn = TURN.lock().unwrap_or_else(|held| held.into_inner());
    let mut table = Table::default();
    // those of docs/rebalance.md, "Many copies and many labels"
    for (nodes, copies, labels, tree) in [
        (4_000, 16, 16, 1),
        (65_536, 3, 4, 0),
        (65_536, 12, 0, 0),
        (1_000, 64, 16, 1),
        (1_000, 64, 16, 0),
        (4_096, 64, 3, 0),
        (4_096, 128, 1, 0),
        (4_096, 255, 0, 0),
    ] {
        let of = Shape {
            nodes,
            copies,
            labels,
            tree,
            ..PLAIN
        };
        everything(&mut table, of);
    }
    // the most that docs/fleet.md allows, "Limits"
    let most = Shape {
        nodes: 65_536,
        policies: 65_536,
        pins: 300_000,
        ..PLAIN
    };
    everything(&mut table, most);
    let pins: Vec<String> = (0..1_000_000)
        .map(|pin| format!("{{\"key\":\"{pin}\",\"nodes\":[\"a\"]}}"))
        .collect();
    let pins = pins.join(",");
    let text = format!("{{\"name\":\"m\",\"node\":[{{\"name\":\"a\"}}],\"pin\":[{pins}]}}");
    reading(&mut table, "a million pins", &text);
    table.print();
    for (kind, (_, most, largest, of)) in &table.0 {
        assert!(*most < NEAR, "{kind} of {of}: {most} times the peak");
        assert!(*largest < USUAL_LIMIT, "{kind}: {largest}");
    }
    set_limit(USUAL_LIMIT);
}
