//! Every byte of three small maps with each of 255 other values, every length, and every bit of a
//! map of 64 KiB. As they are, all must be refused. With the right digest, whatever is accepted
//! must answer every question.
//!
//! ```text
//! cargo run --release -p stead-fuzz --example bytes [-- --short]
//! ```
//!
//! `--short` takes a sample. The last line is `N passed, N failed, 0 skipped`.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use stead::{build, Fleet, Map};
use stead_fuzz::{digest_right, TARGETS};

/// Small maps with everything that a map can have: pins, policies, firsts, a target, a carry.
const SMALL: [&str; 3] = ["carry-both-new", "gradual-copies", "pins"];

#[derive(Default)]
struct Row {
    tries: u64,
    accepted: u64,
    failed: u64,
}

impl Row {
    /// Tries bytes as they are and with the right digest.
    fn both(&mut self, bytes: &mut [u8], ask: bool) {
        self.tries += 2;
        self.failed += u64::from(Map::from_bytes(bytes.to_vec()).is_ok());
        digest_right(bytes);
        let whole = bytes.to_vec();
        if Map::from_bytes(whole).is_ok() {
            self.accepted += 1;
            let maps = TARGETS.iter().filter(|target| ask && target.name == "maps");
            let done = catch_unwind(AssertUnwindSafe(|| maps.for_each(|maps| (maps.run)(bytes))));
            self.failed += u64::from(done.is_err());
        }
    }

    fn print(&self, name: &str, since: Instant) {
        println!(
            "{name:<34} {:>9} tries {:>8} accepted with their digest {:>3} failed {:>6.1} s",
            self.tries,
            self.accepted,
            self.failed,
            since.elapsed().as_secs_f64()
        );
    }
}

fn main() -> ExitCode {
    let is_short = env::args().any(|word| word == "--short");
    let (mut tries, mut failed) = (0, 0);
    let mut count = |row: &Row| {
        tries += row.tries;
        failed += row.failed;
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/maps/");
    for name in SMALL {
        let since = Instant::now();
        let map = fs::read(format!("{root}{name}.map")).expect("a map of the tests");
        assert!(
            Map::from_bytes(map.clone()).is_ok(),
            "control: the map itself is accepted"
        );
        let (mut bytes, mut lengths) = (Row::default(), Row::default());
        for at in 0..map.len() {
            let values = if is_short {
                vec![1, 0x80, 0xff]
            } else {
                (1..=255).collect()
            };
            for change in values {
                let mut changed = map.clone();
                changed[at] ^= change;
                bytes.both(&mut changed, true);
            }
            lengths.both(&mut map[..at].to_vec(), true);
        }
        bytes.print(&format!("{name}: bytes x values"), since);
        lengths.print(&format!("{name}: lengths"), since);
        count(&bytes);
        count(&lengths);
    }
    let since = Instant::now();
    let large = large();
    let mut bits = Row::default();
    let step = if is_short { 509 } else { 1 };
    for bit in (0..large.len() * 8).step_by(step) {
        let mut changed = large.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // a question to so large a map takes a hundred times as long as reading it
        bits.both(&mut changed, bit % 4096 == 0);
    }
    bits.print(&format!("a map of {} bytes: bits", large.len()), since);
    count(&bits);
    println!("{} passed, {failed} failed, 0 skipped", tries - failed);
    ExitCode::from(u8::from(failed > 0))
}

/// A map of about 64 KiB.
fn large() -> Vec<u8> {
    let nodes: String = (0..60)
        .map(|n| format!("[[node]]\nname = 'n{n}'\nlabels = {{zone = '{}'}}\n", n % 4))
        .collect();
    let mut map: Option<Map> = None;
    for replicas in [3, 2, 3] {
        let text = format!("name = 'large'\nreplicas = {replicas}\nspread = ['zone']\n{nodes}");
        let fleet = Fleet::parse(&text, "fleet.toml").expect("a fleet");
        map = Some(build(&fleet, map.as_ref()).expect("a map"));
    }
    map.map(|map| map.bytes().to_vec()).unwrap_or_default()
}
