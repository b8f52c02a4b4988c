//! The log in a process of its own that is killed, or whose disk is full: everything that it
//! acknowledged is there.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use stead_rrd::log::{survives, Durability, Durable, Log, Size};

const OPTIONS: Size = Size {
    segment: 1 << 16,
    bound: 1 << 20,
    sync_every: Duration::from_millis(20),
};

/// Lets one test run at a time. Between fork and exec, a process that a test starts has all open
/// files of this program, so it holds the locks of the other tests' logs.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns the bytes of the record that its writer calls `name`.
fn text(name: u64) -> Vec<u8> {
    format!("{name} ")
        .repeat(1 + (name % 200) as usize)
        .into_bytes()
}

fn append(log: &Durable, name: u64, durability: Durability) -> std::io::Result<u64> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let number = log.append(&text(name), durability)?;
    let survives = survives(log, number, durability);
    runtime.block_on(survives).map(|()| number)
}

/// Runs when a test below starts this program again. Prints each acknowledged record as `ack NUMBER
/// NAME`.
#[test]
#[ignore = "started by the other tests, as a process of its own"]
fn child() {
    let Some(dir) = std::env::var_os("STEAD_RRD_TEST_LOG") else {
        return;
    };
    let mode = std::env::var("STEAD_RRD_TEST_MODE").unwrap();
    let log = Durable::open(Path::new(&dir), OPTIONS).unwrap();
    if mode == "full" {
        fill(log, Path::new(&dir));
        return;
    }
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let log = &log;
            let durability = match mode.as_str() {
                "mixed" if writer % 4 != 0 => Durability::Crash,
                _ => Durability::Power,
            };
            scope.spawn(move || {
                for step in 0.. {
                    let name = step * 8 + writer;
                    let number = append(log, name, durability).unwrap();
                    println!("ack {number} {name}");
                    log.confirm("a", number.saturating_sub(300)).unwrap();
                }
            });
        }
    });
}

/// Appends until there is no room, prints the result, then reads everything back from a second
/// opening. If the limit on file sizes is set only after some records, the segments from before it
/// are whole.
fn fill(log: Durable, dir: &Path) {
    let limit = std::env::var("STEAD_RRD_TEST_LIMIT")
        .ok()
        .map(|limit| limit.parse().unwrap());
    let mut last = 0;
    let error = loop {
        if let Some(limit) = limit.filter(|_| last == 100) {
            let limit = rustix::process::Rlimit {
                current: Some(limit),
                maximum: None,
            };
            rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
        }
        match append(&log, last + 1, Durability::Power) {
            Ok(number) => last = number,
            Err(error) => break error,
        }
    };
    println!("end {last} {:?} {error}", error.kind());
    assert_eq!(
        log.read(0)
            .map(|r| r.unwrap())
            .filter(|(n, data)| *data == text(*n))
            .count() as u64,
        last
    );
    drop(log);
    // as an operator does who makes room
    let unlimited = rustix::process::Rlimit {
        current: None,
        maximum: None,
    };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, unlimited).unwrap();
    let log = Durable::open(dir, OPTIONS).unwrap();
    assert_eq!(
        log.read(0)
            .map(|r| r.unwrap())
            .filter(|(n, data)| *data == text(*n))
            .count() as u64,
        last
    );
    println!("kept {last}");
}

/// Kills the child when the test ends, even if it fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(dir: &Path, mode: &str) -> (Killed, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    command
        .env("STEAD_RRD_TEST_LOG", dir)
        .env("STEAD_RRD_TEST_MODE", mode)
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (Killed(child), lines)
}

/// Parses a whole line `ack NUMBER NAME`; the last line may be cut off.
fn ack(line: &str) -> Option<(u64, u64)> {
    let (number, name) = line
        .strip_suffix('\n')?
        .strip_prefix("ack ")?
        .split_once(' ')?;
    Some((number.parse().ok()?, name.parse().ok()?))
}

#[test]
fn fifty_kills_lose_nothing_that_was_acknowledged() {
    fifty_kills("run");
}

/// Most records of this log are acknowledged when they are written, before a sync.
#[test]
fn fifty_kills_lose_nothing_that_was_written() {
    fifty_kills("mixed");
}

fn fifty_kills(mode: &str) {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    Durable::open(&path, OPTIONS)
        .unwrap()
        .follow(&["a"])
        .unwrap();
    let (mut acknowledged, mut compared, mut torn, mut newest) = (0, 0, 0, 0);
    let mut luck = 1_u64;
    for kill in 0..50 {
        luck = luck
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let (mut child, mut lines) = start(&path, mode);
        let mut told = Vec::new();
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap() > 0 {
            told.extend(ack(&line));
            if told.len() as u64 == 1 + (luck >> 33) % 300 {
                child.0.kill().unwrap(); // its earlier output is read to the end
            }
            line.clear();
        }
        assert!(!child.0.wait().unwrap().success());
        acknowledged += told.len();
        let log =
            Durable::open(&path, OPTIONS).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        torn += usize::from(log.notice().is_some());
        let found: std::collections::HashMap<_, _> =
            log.unconfirmed("a").map(|record| record.unwrap()).collect();
        for (number, name) in told {
            assert!(number > newest, "kill {kill}: {number} was given twice");
            if number > log.confirmed("a") {
                assert_eq!(
                    found.get(&number),
                    Some(&text(name)),
                    "kill {kill}: record {number}"
                );
                compared += 1;
            }
        }
        newest = log.newest();
    }
    println!(
        "50 kills: {acknowledged} acknowledged, {compared} of them unconfirmed and compared, \
        0 lost; {torn} torn writes"
    );
    assert!(compared > 1000, "{compared}");
}

/// Runs the child in a shell after `setup`, and returns its output. Returns `None` if the setup is
/// not allowed here.
fn full(dir: &Path, setup: &str, limit: Option<u64>) -> Option<String> {
    let script = format!(
        "{setup} || exit 99; trap '' XFSZ; exec \"$0\" --exact child --ignored --nocapture"
    );
    let mut command = Command::new("unshare");
    if let Some(limit) = limit {
        command = Command::new("env");
        command.env("STEAD_RRD_TEST_LIMIT", limit.to_string());
    } else {
        command.arg("-m");
    }
    command
        .args(["sh", "-c", &script])
        .arg(std::env::current_exe().unwrap());
    command
        .env("STEAD_RRD_TEST_LOG", dir.join("log"))
        .env("STEAD_RRD_TEST_MODE", "full")
        .env("DIR", dir);
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if limit.is_none() && !output.status.success() && !text.contains("running 1 test") {
        return None;
    }
    assert!(output.status.success(), "{text}");
    Some(text)
}

const NO_ROOM: &str = "StorageFull the log cannot grow: cannot write ";

fn check(text: &str, problem: &str) {
    let end = text
        .lines()
        .find_map(|line| line.strip_prefix("end "))
        .unwrap_or_else(|| panic!("{text}"));
    let (count, rest) = end.split_once(' ').unwrap();
    assert!(count.parse::<u64>().unwrap() >= 100, "{end}");
    assert!(rest.starts_with(problem), "{end}");
    assert!(text.contains(&format!("kept {count}\n")), "{text}");
}

#[test]
fn a_limit_on_file_sizes_is_a_full_disk_and_loses_nothing() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    // a segment has one byte more
    check(&full(dir.path(), "true", Some(65535)).unwrap(), NO_ROOM);
    // a write that fails in the middle of a segment, which an ordinary full disk cannot cause
    let dir = tempfile::tempdir().unwrap();
    check(
        &full(dir.path(), "true", Some(4096)).unwrap(),
        "Other cannot write ",
    );
}

#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for kib in [150, 200, 260, 263, 270] {
        match full(
            dir.path(),
            &format!("mount -t tmpfs -o size={kib}k none \"$DIR\""),
            None,
        ) {
            Some(text) => check(&text, NO_ROOM),
            None => return println!("skipped: may not mount a tmpfs here"),
        }
    }
}
