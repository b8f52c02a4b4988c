//! Every byte of three small maps with each of 255 other values, every length, and every bit of a
//! larger map. As they are, all must be refused. With the right digest, whatever is accepted must
//! answer.

use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

use stead::{build, Fleet, Map};

use crate::maps::{bytes, seal};

/// Small maps with everything that a map can have: pins, policies, firsts, a target, a carry.
const SMALL: [&str; 3] = ["carry-both-new", "gradual-copies", "pins"];

/// A part of the sweep.
pub struct Row {
    /// What was changed.
    pub name: String,
    /// How many bytes were read as a map.
    pub tries: u64,
    /// How many of them were accepted with the right digest.
    pub accepted: u64,
    /// How many were accepted without it, or panicked.
    pub failed: u64,
    /// How long it took.
    pub took: Duration,
}

impl Row {
    /// Runs a part, whose tries `work` makes.
    fn of(name: String, work: impl FnOnce(&mut Row)) -> Row {
        let since = Instant::now();
        let mut row = Row {
            name,
            tries: 0,
            accepted: 0,
            failed: 0,
            took: Duration::ZERO,
        };
        work(&mut row);
        row.took = since.elapsed();
        row
    }

    /// Tries bytes as they are and with the right digest. `ask`: and asks the map.
    fn both(&mut self, changed: &mut [u8], ask: bool) {
        self.tries += 2;
        self.failed += u64::from(Map::from_bytes(changed.to_vec()).is_ok());
        seal(changed);
        if Map::from_bytes(changed.to_vec()).is_ok() {
            self.accepted += 1;
            let asked = catch_unwind(AssertUnwindSafe(|| ask.then(|| bytes(changed))));
            self.failed += u64::from(asked.is_err());
        }
    }
}

/// Makes the sweep, or takes a sample of it. `each` gets its parts.
pub fn sweep(is_short: bool, mut each: impl FnMut(Row)) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/maps/");
    let values = match is_short {
        true => vec![1, 0x80, 0xff],
        false => (1..=255).collect(),
    };
    for name in SMALL {
        let map = fs::read(format!("{root}{name}.map")).expect("a map of the tests");
        assert!(
            Map::from_bytes(map.clone()).is_ok(),
            "control: the map itself is accepted"
        );
        each(Row::of(format!("{name}: bytes x values"), |row| {
            for at in 0..map.len() {
                for value in &values {
                    let mut changed = map.clone();
                    changed[at] ^= value;
                    row.both(&mut changed, true);
                }
            }
        }));
        each(Row::of(format!("{name}: lengths"), |row| {
            (0..map.len()).for_each(|end| row.both(&mut map[..end].to_vec(), true));
        }));
    }
    let large = large();
    each(Row::of(
        format!("a map of {} bytes: bits", large.len()),
        |row| {
            let step = if is_short { 509 } else { 1 };
            for bit in (0..large.len() * 8).step_by(step) {
                let mut changed = large.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                // to ask so large a map takes many times as long as to read it
                row.both(&mut changed, bit % 64 == 0);
            }
        },
    ));
}

/// A map of about 64 KiB.
fn large() -> Vec<u8> {
    let nodes: String = (0..12)
        .map(|n| format!("[[node]]\nname = 'n{n}'\nlabels = {{zone = '{}'}}\n", n % 4))
        .collect();
    let text = format!("name = 'large'\nreplicas = 3\nspread = ['zone']\n{nodes}");
    let fleet = Fleet::parse(&text, "fleet.toml").expect("a fleet");
    let map = build(&fleet, None).expect("a map");
    map.bytes().to_vec()
}
