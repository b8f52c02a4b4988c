//! What is fuzzed: for each surface that gets bytes of others, a function that takes any bytes and
//! panics when something does not hold.
//!
//! `make fuzz` gives them bytes that a fuzzing engine invents, guided by what they reach. The tests
//! of this crate give them the committed seeds, every input that ever failed, and bytes that are
//! changed at random. A function may refuse its bytes; it must not panic, hang, take memory out of
//! proportion, or accept what breaks a rule.
//!
//! ```text
//! input foreign producer | arguments | asked described mapless planned | maps | arrow calls changes files fleets paths rings sweep | agent log rrd sync
//! ```

#![deny(unsafe_code)]

mod agent;
mod arguments;
mod arrow;
mod asked;
mod calls;
mod changes;
mod described;
mod files;
mod fleets;
mod foreign;
mod input;
mod log;
mod mapless;
mod maps;
mod paths;
mod planned;
mod producer;
mod rings;
mod rrd;
mod sweep;
mod sync;

pub use sweep::{sweep, Row};

/// A surface.
pub struct Target {
    /// Its name, which is that of the directories of its inputs below fuzz/corpus and fuzz/failed.
    pub name: &'static str,
    /// Takes bytes. Panics when something does not hold.
    pub run: fn(&[u8]),
    /// Directories of this repository with more seeds.
    pub seeds: &'static [&'static str],
    /// The longest input in bytes that the engine tries.
    pub longest: usize,
}

/// All surfaces, the quick ones first.
pub const TARGETS: &[Target] = &[
    target("control", control, 64),
    target("paths", paths::paths, 600),
    target("rrd_lines", rrd::lines, 2000),
    target("rrd_replies", rrd::replies, 4000),
    target("rrd_files", rrd::files, 8000),
    target("rrd_templates", rrd::templates, 4000),
    target("rrd_log", log::segments, 2000),
    target("rrd_agent", agent::frames, 2000),
    target("rings", rings::lists, 2000),
    target("arrow", arrow::columns, 1500),
    target("c_calls", calls::sequences, 1000),
    Target {
        seeds: &["tests/maps"],
        ..target("maps", maps::bytes, 8000)
    },
    Target {
        seeds: &["tests/maps"],
        ..target("map_changes", maps::changed_bytes, 8000)
    },
    target("parts", maps::parts, 400),
    target("part_changes", maps::changed_parts, 400),
    target("outages", maps::outages, 400),
    target("fleets", fleets::texts, 4000),
    target("changes", changes::histories, 400),
    Target {
        seeds: &["tests/maps"],
        ..target("saved_plans", files::saved_plans, 8000)
    },
    target("history_logs", files::history_logs, 4000),
    target("journals", sync::journals, 4000),
    target("carry_settings", sync::settings, 4000),
    target("carry_frames", sync::frames, 4000),
    target("hub_records", sync::records, 4000),
];

const fn target(name: &'static str, run: fn(&[u8]), longest: usize) -> Target {
    Target {
        name,
        run,
        seeds: &[],
        longest,
    }
}

/// The control: it fails for one word of six bytes. An engine that is guided finds it within a
/// minute; blind trial would take years.
fn control(data: &[u8]) {
    let mut right = 0;
    for (byte, wanted) in data.iter().zip(b"stead!") {
        if byte != wanted {
            return;
        }
        right += 1;
    }
    assert!(right < 6, "the control has to fail for this word");
}
