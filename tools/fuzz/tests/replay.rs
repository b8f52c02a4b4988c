//! Replays the committed inputs, and tries changed ones: the short form of `make fuzz`.

use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use stead_fuzz::{sweep, Target, TARGETS};

/// How many changed inputs are tried for each target.
const CHANGED: usize = 200;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn inputs(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut inputs: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

fn seeds(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let own = [
        format!("fuzz/corpus/{}", target.name),
        format!("fuzz/failed/{}", target.name),
    ];
    let all = own
        .iter()
        .map(String::as_str)
        .chain(target.seeds.iter().copied());
    let mut found: Vec<_> = all
        .flat_map(|directory| inputs(&root().join(directory)))
        .collect();
    found.retain(|(_, bytes)| bytes.len() <= 4 * target.longest);
    found
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }
}

fn changed(seeds: &[(PathBuf, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].1.clone();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.insert(at, random.below(256) as u8),
            1 => bytes.truncate(at),
            2 => {
                let other = &seeds[random.below(seeds.len())].1;
                let from = random.below(other.len());
                let to = (from + random.below(64)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = match random.below(2) {
                        0 => *byte ^ 1 << random.below(8),
                        _ => random.below(256) as u8,
                    };
                }
            }
        }
    }
    bytes
}

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seeds = seeds(target);
    assert!(
        !seeds.is_empty(),
        "there are no seeds in fuzz/corpus/{name}"
    );
    for (path, bytes) in &seeds {
        let done = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
        assert!(done.is_ok(), "{name} fails for {}", path.display());
    }
    let mut random = Random(1);
    for number in 0..CHANGED {
        let bytes = changed(&seeds, &mut random);
        let done = catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes)));
        if done.is_err() {
            let place = std::env::temp_dir().join(format!("{name}-{number}"));
            fs::write(&place, &bytes).unwrap();
            panic!("{name} fails for {}", place.display());
        }
    }
}

macro_rules! targets {
    ($($name:ident)+) => {
        $(#[test] fn $name() { replay(stringify!($name)); })+

        #[test]
        fn every_target_is_replayed() {
            let replayed = [$(stringify!($name)),+];
            let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(all[1..], replayed);
        }
    };
}

targets! {
    paths rrd_lines rrd_replies rrd_files rrd_templates rrd_log rrd_agent rings arrow c_calls maps map_changes parts part_changes outages fleets
    changes saved_plans history_logs journals carry_settings carry_frames hub_records
}

#[test]
fn no_changed_byte_passes_for_a_map() {
    let (mut tries, mut accepted) = (0, 0);
    sweep(true, |row| {
        assert_eq!(row.failed, 0, "{}", row.name);
        (tries, accepted) = (tries + row.tries, accepted + row.accepted);
    });
    assert!(tries > 40_000 && accepted > 1000, "{tries} {accepted}");
}

#[test]
fn the_control_fails_for_its_word_only() {
    let control = TARGETS
        .iter()
        .find(|target| target.name == "control")
        .unwrap();
    (control.run)(b"stead?");
    (control.run)(b"");
    assert!(catch_unwind(|| (control.run)(b"stead!")).is_err());
}
