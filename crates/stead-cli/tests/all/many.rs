//! Long inputs: the records are found wherever the blocks of the input end, and the memory stays
//! bounded.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, Write};
use std::process::{Child, Stdio};

use crate::common::{answer, Answer, Place};
use serde_json::Value;
use stead::kernel::Kernel;
use stead::stats::{Survey, Surveyed};
use stead::Map;

/// What the program reads at a time: `BLOCK` in src/records.rs. The inputs below have their line
/// ends around its multiples.
const BLOCK: usize = 256 << 10;

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        // the constants of Knuth's MMIX
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Names with a newline or a carriage return and a newline, some of them empty, some with NUL
    /// and bytes that are no UTF-8.
    fn names(&mut self, bytes: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(bytes + 100);
        while text.len() < bytes {
            let length = match self.below(20) {
                0 => 0,
                1 => self.below(100),
                _ => 4 + self.below(12),
            };
            for _ in 0..length {
                text.push(b"abcXYZ_019\0\r\xff\x80"[self.below(14)]);
            }
            text.extend_from_slice([&b"\n"[..], b"\r\n"][usize::from(self.below(3) == 0)]);
        }
        text
    }
}

/// The inputs by what is special about them.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut random = Random(18);
    let mut inputs: Vec<(String, Vec<u8>)> = Vec::new();
    for text in [
        "", "\n", "\r\n", "\r", "a", "a\r", "a\n", "\n\n\n", "a\nb\r", "\0",
    ] {
        inputs.push((format!("{text:?}"), text.into()));
    }
    for size in [1000, BLOCK / 2, BLOCK, 3 * BLOCK, 8 * BLOCK] {
        let mut text = random.names(size);
        inputs.push((format!("names of {size} bytes"), text.clone()));
        text.extend_from_slice(b"no newline\r");
        inputs.push((format!("{size} bytes, and no newline at the end"), text));
    }
    // the end of a line falls on, before and after the end of a block; with and without \r
    for shift in [
        BLOCK - 2,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        2 * BLOCK - 1,
        2 * BLOCK,
    ] {
        for end in ["\n", "\r\n", "\r\r\n"] {
            let mut text = b"short\n".repeat(shift / 6);
            text.resize(shift, b'x');
            text.extend_from_slice(end.as_bytes());
            inputs.push((format!("{end:?} at {shift}"), text.clone()));
            text.extend_from_slice(b"more\nlast");
            inputs.push((format!("{end:?} at {shift}, and more"), text));
        }
    }
    // lines that are longer than a block, among short ones
    for length in [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 9 * BLOCK / 2] {
        for after in ["", "\n", "\r\nshort\nnext\n"] {
            let mut text = b"before\n".to_vec();
            text.resize(text.len() + length, b'y');
            text.extend_from_slice(after.as_bytes());
            inputs.push((format!("a line of {length}, then {after:?}"), text));
        }
    }
    inputs.push(("only empty lines".to_owned(), b"\n".repeat(2 * BLOCK + 7)));
    inputs
}

/// The records, found byte by byte as docs/cli.md describes them.
fn records(input: &[u8], zero: bool) -> Vec<&[u8]> {
    let end = if zero { 0 } else { b'\n' };
    let mut parts: Vec<&[u8]> = input.split(|byte| *byte == end).collect();
    let last = parts.pop().filter(|last| !last.is_empty());
    let whole = parts.into_iter().map(|part| match part {
        [line @ .., b'\r'] if !zero => line,
        part => part,
    });
    whole.chain(last).collect()
}

/// What `--count` prints, by `Map::locate` for each key.
fn counted(map: &Map, keys: &[&[u8]]) -> BTreeMap<String, u64> {
    let mut count: BTreeMap<String, u64> = map
        .nodes()
        .map(|node| (node.name().to_owned(), 0))
        .collect();
    for key in keys {
        let node = map.node(map.locate(key)).name();
        *count.get_mut(node).unwrap() += 1;
    }
    count
}

fn totals(text: &str) -> BTreeMap<String, u64> {
    text.split_terminator(['\n', '\0'])
        .map(|line| line.split_once('\t').unwrap())
        .map(|(node, keys)| (node.to_owned(), keys.parse().unwrap()))
        .collect()
}

/// Runs the program with a file as its standard input.
fn with_file(place: &Place, arguments: &[&str], file: &str) -> Answer {
    let input = File::open(place.file(file)).unwrap();
    answer(place.command(arguments).stdin(input).output().unwrap())
}

#[test]
fn counts_are_those_of_one_locate_a_key_for_every_input_and_number_of_threads() {
    let place = Place::with_map();
    let map = Map::open_uncached(place.file("m.map")).unwrap();
    for (what, input) in inputs() {
        place.write("input", &input);
        for zero in [false, true] {
            let expected = counted(&map, &records(&input, zero));
            for threads in ["1", "2", "7"] {
                let mut arguments = vec!["locate", "m.map", "--count", "--threads", threads];
                arguments.extend(zero.then_some("-0"));
                let file = with_file(&place, &arguments, "input").good();
                assert_eq!(totals(&file), expected, "{what}, {arguments:?}");
                if threads == "2" {
                    let pipe = place.run_with(&arguments, &input).good();
                    assert_eq!(pipe, file, "{what}, {arguments:?}, through a pipe");
                }
            }
        }
    }
}

#[test]
fn answers_are_those_of_one_locate_a_key_for_every_input() {
    let place = Place::with_map();
    let map = Map::open_uncached(place.file("m.map")).unwrap();
    for (what, input) in inputs() {
        place.write("input", &input);
        let mut expected = Vec::new();
        for key in records(&input, false) {
            expected.extend_from_slice(key);
            let node = map.node(map.locate(key)).name();
            expected.extend_from_slice(format!("\t{node}\n").as_bytes());
        }
        let file = with_file(&place, &["locate", "m.map"], "input");
        assert!(file.out == expected, "{what}");
        let pipe = place.run_with(&["locate", "m.map"], &input);
        assert!(pipe.out == expected, "{what}, through a pipe");
    }
}

#[test]
fn folding_counts_the_folded_keys_and_prints_them_as_they_came() {
    let place = Place::with_map();
    let map = Map::open_uncached(place.file("m.map")).unwrap();
    let input = Random(5).names(3 * BLOCK);
    let keys = records(&input, false);
    let folded: Vec<Vec<u8>> = keys.iter().map(|key| key.to_ascii_lowercase()).collect();
    let folded: Vec<&[u8]> = folded.iter().map(Vec::as_slice).collect();
    assert_ne!(counted(&map, &folded), counted(&map, &keys));
    let count = ["locate", "m.map", "--count", "--fold", "ascii"];
    let found = place.run_with(&count, &input).good();
    assert_eq!(totals(&found), counted(&map, &folded));
    let mut expected = Vec::new();
    for (key, folded) in keys.iter().zip(&folded) {
        expected.extend_from_slice(key);
        let node = map.node(map.locate(folded)).name();
        expected.extend_from_slice(format!("\t{node}\n").as_bytes());
    }
    let found = place.run_with(&["locate", "m.map", "--fold", "ascii"], &input);
    assert!(found.out == expected);
}

#[test]
fn a_survey_is_that_of_its_names_one_by_one_for_every_input_and_number_of_threads() {
    let place = Place::new();
    for (what, input) in inputs() {
        place.write("input", &input);
        let mut survey = Survey::new();
        for name in records(&input, false) {
            survey.add(name);
        }
        let expected = Surveyed::new(survey.finish(), None);
        let expected = serde_json::to_string_pretty(&expected).unwrap() + "\n";
        for threads in ["1", "3"] {
            let arguments = ["survey", "input", "--json", "--threads", threads];
            assert_eq!(place.good(&arguments), expected, "{what}, {threads}");
        }
        let piped = place.run_with(&["survey", "-", "--json"], &input).good();
        assert_eq!(piped, expected, "{what}, through a pipe");
    }
}

#[test]
fn an_input_is_read_from_where_the_caller_left_it() {
    let place = Place::with_map();
    place.write("input", b"head\n".repeat(BLOCK / 5).as_slice());
    // the shell reads a line byte by byte
    let script = "{ read line; \"$STEAD\" locate m.map --count --json; } < input";
    let found: Value = serde_json::from_str(&place.shell(script).good()).unwrap();
    assert_eq!(found["keys"], BLOCK / 5 - 1);
}

#[test]
fn threads_are_a_number_from_1_to_256_and_only_for_counting() {
    let place = Place::with_map();
    for wrong in ["0", "257", "-1", "x", "", "18446744073709551616"] {
        let threads = format!("--threads={wrong}");
        let words = ["write a whole number from 1 to 256"];
        place
            .run(&["locate", "m.map", "--count", &threads])
            .bad(64, &words);
        place.run(&["survey", &threads, "-"]).bad(64, &words);
    }
    place
        .run(&["locate", "m.map", "--threads", "2", "frank"])
        .bad(64, &["--count"]);
    let all = ["locate", "m.map", "--count", "--threads", "256"];
    let found = place.run_with(&all, &Random(1).names(BLOCK)).good();
    assert_eq!(totals(&found).len(), 3);
}

/// The most memory that a program ever had, in bytes, without what it shares.
fn peak(child: &Child) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib: usize = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kib << 10
}

/// Feeds the program, and returns the most memory that it had before it saw the end of the input.
fn memory(place: &Place, arguments: &[&str], mut input: impl FnMut(&mut dyn Write)) -> usize {
    let mut child = place
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    input(&mut stdin);
    let peak = peak(&child);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    peak
}

#[test]
fn memory_does_not_grow_with_the_input() {
    const MOST: usize = 40 << 20;
    let place = Place::with_map();
    let names = Random(3).names(8 << 20);
    for arguments in [
        &["locate", "m.map", "--count", "--threads", "4"][..],
        &["locate", "m.map"],
        &["survey", "-", "--threads", "4"],
    ] {
        let found = memory(&place, arguments, |stdin| {
            for _ in 0..16 {
                stdin.write_all(&names).unwrap(); // 128 MiB in all
            }
        });
        assert!(found < MOST, "{arguments:?}: {found} bytes");
    }
    // the control: one line of 128 MiB must be there as a whole
    let count = ["locate", "m.map", "--count"];
    let line = vec![b'x'; 8 << 20];
    let found = memory(&place, &count, |stdin| {
        for _ in 0..16 {
            stdin.write_all(&line).unwrap();
        }
    });
    assert!(found > MOST, "{found} bytes");
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_an_error() {
    let place = Place::with_map();
    let names = Random(2).names(32 << 20);
    for arguments in [
        &["locate", "m.map", "--count", "--threads", "2"][..],
        &["locate", "m.map"],
        &["survey", "-", "--threads", "1"],
    ] {
        let mut answers = (0..8).map(|_| {
            place.write("input", &names);
            let mut input = File::open(place.file("input")).unwrap();
            let child = place
                .command(arguments)
                .stdin(input.try_clone().unwrap())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // the position is the program's, too
            while input.stream_position().unwrap() == 0 {
                std::thread::yield_now();
            }
            let file = OpenOptions::new().write(true).open(place.file("input"));
            file.unwrap().set_len(4096).unwrap();
            answer(child.wait_with_output().unwrap())
        });
        // a try has no effect if the program has read the file before it becomes shorter
        let failed = answers.find(|answer| answer.code != 0);
        let failed = failed.expect("no file became shorter while it was read");
        failed.bad(74, &["standard input", "became shorter", "4096 bytes"]);
    }
}

#[test]
fn a_refused_thread_does_not_stop_the_others() {
    let place = Place::with_map();
    let names = Random(4).names(16 * BLOCK);
    place.write("input", &names);
    let plain = place
        .shell("\"$STEAD\" locate m.map --count < input")
        .good();
    // 64 threads of 8 MiB of stack do not fit into this much address space
    let script = "ulimit -v 200000; \"$STEAD\" locate m.map --count --threads 64 < input";
    assert_eq!(place.shell(script).good(), plain);
}

#[test]
fn every_kernel_counts_the_same_and_an_unknown_one_is_refused() {
    let place = Place::with_map();
    let map = Map::open_uncached(place.file("m.map")).unwrap();
    let names = Random(6).names(2 * BLOCK);
    place.write("input", &names);
    let expected = counted(&map, &records(&names, false));
    let with_kernel = |kernel: &str| {
        let mut command = place.command(&["locate", "m.map", "--count"]);
        command.stdin(File::open(place.file("input")).unwrap());
        answer(command.env("STEAD_KERNEL", kernel).output().unwrap())
    };
    let here: Vec<&str> = Kernel::here().map(Kernel::name).collect();
    assert!(here.starts_with(&["scalar", "portable"]), "{here:?}");
    for kernel in here.iter().chain([&""]) {
        assert_eq!(totals(&with_kernel(kernel).good()), expected, "{kernel}");
    }
    let elsewhere = Kernel::ALL
        .iter()
        .find(|kernel| !here.contains(&kernel.name()));
    for kernel in ["AVX2", "sse3", "scalar "]
        .into_iter()
        .chain(elsewhere.map(|k| k.name()))
    {
        with_kernel(kernel).bad(64, &["STEAD_KERNEL", kernel, &here.join(", ")]);
    }
    // the help is there all the same
    let mut help = place.command(&["--help"]);
    let help = answer(help.env("STEAD_KERNEL", "sse3").output().unwrap()).good();
    assert!(help.contains("Usage"));
}
