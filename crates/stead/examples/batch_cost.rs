//! What placing a key costs in batches, by kernel, against the plain way: the md-5 crate and a
//! binary search, key by key. All cases run in turns; figures are CPU time, medians of rounds.
//!
//! Arguments: the number of rounds (51), and slices of the map (10000).

use std::hint::black_box;
use std::num::NonZeroUsize;

use md5::{Digest, Md5};
use sha1::Sha1;
use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PolicyPart};
use stead::hash::{Hash, KeyRule};
use stead::kernel::{points, Kernel};
use stead::policy::{NodeId, PolicyId};
use stead::weight::Weight;
use stead::{Keys, Map, Point, Span};

const KEYS: usize = 1 << 17;
const NODES: u32 = 100;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let rounds = arguments.next().unwrap_or(51);
    let slices = arguments.next().unwrap_or(10_000);
    println!("{KEYS} keys, {slices} slices, {rounds} rounds in turns; CPU time of a key");
    let short = Names::new(0);
    let long = Names::new(100);
    let even = map(Hash::Md5, slices, false);
    let uneven = map(Hash::Md5, slices, true);
    table(
        "placing under md5",
        &short,
        &even,
        &md5_cases(&short, &even),
        rounds,
    );
    table(
        "1 key in 100 longer than a block",
        &long,
        &even,
        &md5_cases(&long, &even),
        rounds,
    );
    table(
        "slices of very unequal widths",
        &short,
        &uneven,
        &md5_cases(&short, &uneven),
        rounds,
    );
    let sha1 = map(Hash::Sha1, slices, false);
    table(
        "placing under sha1",
        &short,
        &sha1,
        &sha1_cases(&short, &sha1),
        rounds,
    );
    let xxh3 = map(Hash::Xxh3, slices, false);
    table(
        "placing under xxh3",
        &short,
        &xxh3,
        &other_cases(&short, &xxh3),
        rounds,
    );
    lookups(&even, "points anywhere, even slices", false, rounds);
    lookups(&uneven, "points anywhere, unequal slices", false, rounds);
    lookups(
        &uneven,
        "points at the bounds of unequal slices",
        true,
        rounds,
    );
}

/// User names: 4 to 40 bytes, most about 10; one in `long` has 56 to 155.
struct Names {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Names {
    fn new(long: usize) -> Names {
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        let mut random = Random(1);
        for i in 0..KEYS {
            // the product of three draws has the shape of real names: many short, few long
            let draw = |random: &mut Random| (random.next() % 1000) as usize;
            let skew = draw(&mut random) * draw(&mut random) * draw(&mut random);
            let mut length = (4 + random.next() as usize % 9 + skew / 37_000_000).min(40);
            if long > 0 && i % long == 0 {
                length = 56 + draw(&mut random) / 10;
            }
            spans.push(Span {
                start: bytes.len(),
                length,
            });
            bytes.extend((0..length).map(|_| b'a' + (random.next() % 26) as u8));
        }
        Names { bytes, spans }
    }

    fn keys(&self) -> Keys<'_> {
        Keys::spans(&self.bytes, &self.spans).unwrap()
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// A map of slices of random widths. Widths of `uneven` ones lie between 2^20 and 2^60.
fn map(hash: Hash, slices: usize, uneven: bool) -> Map {
    let mut random = Random(2);
    let mut firsts: Vec<u64> = (1..slices)
        .map(|_| match uneven {
            false => random.next(),
            true => random.next() >> 40 << (random.next() % 40),
        })
        .collect();
    firsts.push(0);
    firsts.sort_unstable();
    firsts.dedup();
    let base = firsts.into_iter().zip((0..).map(|i| PolicyId(i % NODES)));
    let bytes = encode(&Parts {
        name: "bench".into(),
        epoch: 1,
        map_id: [0; 16],
        parent: [0; 32],
        algorithm: 1,
        replicas: 1,
        hash,
        key_rule: KeyRule::Whole,
        cells: Cells::FINEST,
        max_slices: None,
        tolerance: None,
        spread: Vec::new(),
        nodes: (0..NODES)
            .map(|i| NodePart {
                name: format!("node{i:03}"),
                formerly: String::new(),
                weight: Weight::ONE,
                labels: Vec::new(),
                attributes: Vec::new(),
            })
            .collect(),
        policies: (0..NODES)
            .map(|i| PolicyPart {
                name: None,
                kind: String::new(),
                weight: None,
                members: vec![NodeId(i)],
            })
            .collect(),
        base: base.map(|(first, policy)| (Point(first), policy)).collect(),
        pins: Vec::new(),
        firsts: Vec::new(),
        target: None,
        carry: None,
    });
    Map::from_bytes(bytes).unwrap()
}

type Case<'a> = (String, Box<dyn Fn(&mut [u32]) + 'a>);

/// The plain way to place keys: a crate's digest, and a binary search for its first 8 bytes.
fn plain<'a, D: Digest>(names: &'a Names, map: &'a Map, name: &str) -> Case<'a> {
    let firsts: Vec<u128> = map.slices().map(|s| u128::from(s.first.0)).collect();
    let nodes: Vec<u32> = map.slices().map(|s| s.policy.0).collect();
    let place = move |out: &mut [u32]| {
        for (key, out) in names.keys().iter().zip(out) {
            let digest = D::digest(key);
            let point = u64::from_be_bytes(digest[..8].try_into().unwrap());
            let slice = firsts.partition_point(|first| *first <= u128::from(point));
            *out = nodes[slice - 1];
        }
    };
    (format!("{name} crate and partition_point"), Box::new(place))
}

fn one_by_one<'a>(names: &'a Names, map: &'a Map) -> Case<'a> {
    let place = move |out: &mut [u32]| {
        for (key, out) in names.keys().iter().zip(out) {
            *out = map.locate(black_box(key)).0;
        }
    };
    ("Map::locate, key by key".into(), Box::new(place))
}

fn by_kernel<'a>(names: &'a Names, map: &'a Map, kernel: Kernel) -> Case<'a> {
    let place = move |out: &mut [u32]| {
        let mut found = [Point(0); 1024];
        let keys = names.keys();
        for (i, out) in (0..keys.len()).step_by(1024).zip(out.chunks_mut(1024)) {
            let (keys, found) = (keys.part(i..i + 1024), &mut found[..out.len()]);
            let (hash, rule, cells) = (map.hash(), map.key_rule(), map.cells());
            points(kernel, &hash, rule, cells, keys, found);
            map.locate_points(found, out, |node| node.0);
        }
    };
    (format!("spans, kernel {}", kernel.name()), Box::new(place))
}

fn whole<'a>(names: &'a Names, map: &'a Map) -> Vec<Case<'a>> {
    let spans = move |out: &mut [u32]| {
        map.locate_keys(names.keys(), NonZeroUsize::MIN, out, |node| node.0);
    };
    let slices: Vec<&[u8]> = names.keys().iter().collect();
    let each = move |out: &mut [u32]| {
        map.locate_keys(Keys::each(&slices), NonZeroUsize::MIN, out, |node| node.0);
    };
    let many = move |out: &mut [u32]| {
        for (node, out) in map.locate_many(names.keys().iter()).zip(out) {
            *out = node.0;
        }
    };
    vec![
        ("Map::locate_keys, spans".into(), Box::new(spans)),
        ("Map::locate_keys, slices anywhere".into(), Box::new(each)),
        ("Map::locate_many, an iterator".into(), Box::new(many)),
    ]
}

fn md5_cases<'a>(names: &'a Names, map: &'a Map) -> Vec<Case<'a>> {
    let mut cases = vec![plain::<Md5>(names, map, "md-5"), one_by_one(names, map)];
    cases.extend(Kernel::here().map(|kernel| by_kernel(names, map, kernel)));
    cases.extend(whole(names, map));
    cases
}

fn sha1_cases<'a>(names: &'a Names, map: &'a Map) -> Vec<Case<'a>> {
    let mut cases = vec![plain::<Sha1>(names, map, "sha1"), one_by_one(names, map)];
    cases.extend(Kernel::here().map(|kernel| by_kernel(names, map, kernel)));
    cases
}

fn other_cases<'a>(names: &'a Names, map: &'a Map) -> Vec<Case<'a>> {
    let mut cases = vec![one_by_one(names, map)];
    cases.extend(whole(names, map));
    cases
}

/// Prints the time of each case, and its ratio to the first.
fn table(title: &str, names: &Names, map: &Map, cases: &[Case<'_>], rounds: usize) {
    let wanted: Vec<u32> = names.keys().iter().map(|key| map.locate(key).0).collect();
    println!(
        "\n{title:<45} {:>8} {:>8} {:>7}",
        "median", "least", "ratio"
    );
    let mut out = vec![0u32; KEYS];
    let mut times = vec![Vec::new(); cases.len()];
    for round in 0..=rounds {
        for at in 0..cases.len() {
            let at = (at + round) % cases.len();
            let start = cpu_ns();
            cases[at].1(black_box(&mut out));
            let time = (cpu_ns() - start) as f64 / KEYS as f64;
            assert_eq!(out, wanted, "{}", cases[at].0);
            if round > 0 {
                times[at].push(time);
            }
        }
    }
    for (case, of) in cases.iter().zip(&times) {
        let ratio = median(of.iter().zip(&times[0]).map(|(a, b)| a / b).collect());
        let least = of.iter().copied().fold(f64::MAX, f64::min);
        println!(
            "{:<45} {:>5.1} ns {:>5.1} ns {ratio:>7.3}",
            case.0,
            median(of.clone()),
            least
        );
    }
}

/// Prints what looking up a point costs.
fn lookups(map: &Map, title: &str, at_bounds: bool, rounds: usize) {
    let mut random = Random(3);
    let slices: Vec<_> = map.slices().collect();
    let points: Vec<Point> = (0..KEYS)
        .map(|_| match at_bounds {
            false => Point(random.next()),
            true => slices[random.next() as usize % slices.len()].first,
        })
        .collect();
    let firsts: Vec<u128> = slices.iter().map(|s| u128::from(s.first.0)).collect();
    let nodes: Vec<u32> = slices.iter().map(|s| s.policy.0).collect();
    let plain = |out: &mut [u32]| {
        for (point, out) in points.iter().zip(out) {
            let slice = firsts.partition_point(|first| *first <= u128::from(point.0));
            *out = nodes[slice - 1];
        }
    };
    let single = |out: &mut [u32]| {
        for (point, out) in points.iter().zip(out) {
            *out = map.locate_point(*point).0;
        }
    };
    let batch = |out: &mut [u32]| map.locate_points(&points, out, |node| node.0);
    type Lookup<'a> = (&'a str, &'a dyn Fn(&mut [u32]));
    let cases: [Lookup<'_>; 3] = [
        ("partition_point over u128", &plain),
        ("Map::locate_point", &single),
        ("Map::locate_points", &batch),
    ];
    println!(
        "\n{title:<45} {:>8} {:>8} {:>7}",
        "median", "least", "ratio"
    );
    let mut wanted = vec![0; KEYS];
    plain(&mut wanted);
    let mut out = vec![0u32; KEYS];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for ((_, case), times) in cases.iter().zip(&mut times) {
            let start = cpu_ns();
            case(black_box(&mut out));
            times.push((cpu_ns() - start) as f64 / KEYS as f64);
            assert_eq!(out, wanted);
        }
    }
    for ((name, _), of) in cases.iter().zip(&times) {
        let ratio = median(of.iter().zip(&times[0]).map(|(a, b)| a / b).collect());
        let least = of.iter().copied().fold(f64::MAX, f64::min);
        println!(
            "{name:<45} {:>5.1} ns {least:>5.1} ns {ratio:>7.3}",
            median(of.clone())
        );
    }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// The CPU time of this thread: other programs do not count.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and the time is ours to write
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
