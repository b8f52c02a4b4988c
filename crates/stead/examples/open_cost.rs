//! What opening a map costs: for the first time, again, and in a hundred processes.
//!
//! ```text
//! open_cost      (make bench-open)
//! ```
//!
//! Opening is compared with the least that a check of the whole file can cost: reading it into
//! memory, and its SHA-256. Both take turns; the figures are medians of the rounds, and the ratio
//! is the median of the rounds' ratios. The memory is that of processes which have the map open and
//! have located keys: what each of them has for itself, and what all of them share. (With
//! `open_cost MAP N`, the program is one of them; `strace -c` then counts its system calls.)

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use sha2::{Digest, Sha256};
use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PolicyPart};
use stead::hash::{Hash, KeyRule};
use stead::map::mix;
use stead::policy::{NodeId, PolicyId};
use stead::weight::Weight;
use stead::{Map, Point};

const ROUNDS: usize = 101;
const PROCESSES: usize = 100;
const NODES: u32 = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [map, keys] = arguments.as_slice() {
        return hold(Path::new(map), keys.parse().expect("a number of keys"));
    }
    let place = std::env::temp_dir().join(format!("stead-open-cost-{}", std::process::id()));
    std::fs::create_dir(&place).expect("a directory for the maps");
    println!(
        "{:>9} {:>11} {:>13} {:>9} {:>8} {:>9} {:>12} {:>11}",
        "slices",
        "file bytes",
        "read+SHA ms",
        "open ms",
        "ratio",
        "again us",
        "own KiB each",
        "shared KiB"
    );
    for slices in [1_000, 100_000, 1_000_000] {
        let path = place.join(format!("{slices}.map"));
        std::fs::write(&path, random_map(slices)).expect("the map is written");
        let mut rounds: Vec<[f64; 3]> = Vec::new();
        for _ in 0..ROUNDS {
            let (least, _) = time(|| {
                let bytes = std::fs::read(&path).expect("it can be read");
                Sha256::digest(bytes)
            });
            // two paths to a file are two maps for the cache, so each round opens it anew
            let fresh = place.join(format!("{slices}-{}.map", rounds.len()));
            std::fs::hard_link(&path, &fresh).expect("a link");
            let (first, map) = time(|| Map::open(&fresh).expect("a good map"));
            let (again, _) = time(|| Map::open(&fresh).expect("a good map"));
            assert_eq!(map.slice_count(), slices);
            std::fs::remove_file(&fresh).expect("the link");
            rounds.push([least, first, again]);
        }
        let median = |pick: &dyn Fn(&[f64; 3]) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(pick).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (own, shared) = memory(&path);
        println!(
            "{slices:>9} {:>11} {:>13.3} {:>9.3} {:>8.2} {:>9.1} {own:>12} {shared:>11}",
            std::fs::metadata(&path).map_or(0, |meta| meta.len()),
            median(&|r| r[0]) * 1e3,
            median(&|r| r[1]) * 1e3,
            median(&|r| r[1] / r[0]),
            median(&|r| r[2]) * 1e6,
        );
    }
    std::fs::remove_dir_all(&place).expect("the directory");
}

/// Seconds, and the result.
fn time<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64(), done)
}

/// Opens the map, locates keys, and waits until its input ends.
fn hold(map: &Path, keys: usize) {
    let map = Map::open(map).expect("a good map");
    let sum: u64 = (0..keys)
        .map(|i| u64::from(map.locate(format!("user{i}").as_bytes()).0))
        .sum();
    println!("{sum}");
    std::io::stdout().flush().expect("somebody reads this");
    let _ = std::io::stdin().read(&mut [0]);
}

/// What `PROCESSES` processes use for the map: KiB of its own in each, and KiB that all share. The
/// same program with a map of ten slices is subtracted.
fn memory(map: &Path) -> (i64, i64) {
    let small = map.with_extension("small");
    std::fs::write(&small, random_map(10)).expect("the map is written");
    let ([own, shared], [own_less, shared_less]) = (held(map), held(&small));
    (own - own_less, shared - shared_less)
}

/// The private and the shared KiB of one of `PROCESSES` processes that hold the map.
fn held(map: &Path) -> [i64; 2] {
    let mut children: Vec<Child> = (0..PROCESSES)
        .map(|_| {
            Command::new(std::env::current_exe().expect("this program"))
                .args([map.as_os_str(), "100000".as_ref()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a process")
        })
        .collect();
    for child in &mut children {
        let said = child.stdout.as_mut().expect("a pipe");
        said.read_exact(&mut [0]).expect("the sum");
    }
    let rollup = format!("/proc/{}/smaps_rollup", children[PROCESSES / 2].id());
    let text = std::fs::read_to_string(rollup).expect("Linux");
    let of = |names: [&str; 2]| {
        text.lines()
            .filter(|line| names.iter().any(|name| line.starts_with(name)))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<i64>().ok())
            .sum()
    };
    let found = [
        of(["Private_Clean:", "Private_Dirty:"]),
        of(["Shared_Clean:", "Shared_Dirty:"]),
    ];
    for mut child in children {
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
    found
}

/// The bytes of a map whose slices start at random points.
fn random_map(slices: usize) -> Vec<u8> {
    let mut firsts: Vec<u64> = (1..slices as u64).map(|i| mix(Point(1), i).0).collect();
    firsts.push(0);
    firsts.sort_unstable();
    let nodes = NODES.min(slices as u32);
    encode(&Parts {
        name: "bench".into(),
        epoch: 1,
        map_id: [0; 16],
        parent: [0; 32],
        algorithm: 1,
        replicas: 1,
        hash: Hash::Md5,
        key_rule: KeyRule::Whole,
        cells: Cells::FINEST,
        max_slices: None,
        tolerance: None,
        spread: Vec::new(),
        nodes: (0..nodes)
            .map(|i| NodePart {
                name: format!("n{i:04}"),
                formerly: String::new(),
                weight: Weight::ONE,
                labels: Vec::new(),
                attributes: Vec::new(),
            })
            .collect(),
        policies: (0..nodes)
            .map(|i| PolicyPart {
                name: None,
                kind: String::new(),
                weight: None,
                members: vec![NodeId(i)],
            })
            .collect(),
        base: (0..)
            .zip(&firsts)
            .map(|(i, first)| (Point(*first), PolicyId(i % nodes)))
            .collect(),
        pins: Vec::new(),
        firsts: Vec::new(),
        target: None,
        carry: None,
    })
}
