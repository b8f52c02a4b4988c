//! Readers that keep locating while the map is replaced again and again: 64 threads of one process,
//! and 64 processes. Every answer is that of one published map, and never of an older one than that
//! reader has seen. Neither memory nor descriptors grow with the number of maps.
//!
//! The publisher notes the answers of each map in a file before it publishes the map. A reader
//! opens the map in one of four ways, asks for all keys, and compares. Some maps are larger than 1
//! MiB, so that they are mapped and not copied.
//!
//! The long form replaces the map 10,000 times:
//!
//!     cargo test --locked --release -p stead --test reloads -- --ignored --nocapture --skip reader

#![cfg(unix)]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use stead::guard::Guard;
use stead::{build, Allow, Fleet, Map, Store};

/// How many readers there are.
const READERS: usize = 64;
/// How many keys each of them asks for, of each map that it opens.
const KEYS: usize = 16;
/// What the publisher notes of a map: its digest and its answers.
const NOTE: usize = 32 + KEYS;
/// How many epochs of history are kept; with fewer, a publish takes less time.
const KEPT: usize = 2;
/// A reader opens the map so many times, and then rests, so that 64 of them leave some of the
/// processors to the publisher.
const AT_ONCE: usize = 4;
const REST: Duration = Duration::from_millis(20);
/// The publisher rests after each map, so that the readers see most of them.
const PAUSE: Duration = Duration::from_millis(5);
/// Each map of this many is a large one.
const LARGE: u64 = 64;
/// The epoch from which on nothing may grow: each reader has seen a large map.
fn settled(end: u64) -> u64 {
    (end / 10).max(LARGE + 8)
}

/// What a process may grow by from then on: the C library keeps some of what threads have freed. A
/// map that every reader kept would be more than 64 MiB for each of the large ones.
const GROWTH: i64 = 40 << 20;

/// Held by each test, since the memory that they measure is that of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The fleet of epoch `number`: other weights each time, so that most epochs give other answers.
fn fleet(number: u64) -> Fleet {
    // 400 notes of 3,000 bytes are more than 1 MiB
    let (more, note) = match number % LARGE {
        0 => (400, "x".repeat(3000)),
        _ => (0, String::new()),
    };
    let nodes: String = (0..5 + more)
        .map(|node| {
            let weight = if node < 5 {
                1 + (number * (node + 3)) % 7
            } else {
                0
            };
            let attributes = format!("attributes = {{ note = '{note}' }}");
            format!("[[node]]\nname = 'n{node:03}'\nweight = {weight}\n{attributes}\n")
        })
        .collect();
    let text = format!("name = 'm'\n{nodes}");
    Fleet::parse(&text, "fleet").unwrap()
}

fn key(number: usize) -> [u8; 8] {
    (number as u64).to_be_bytes()
}

/// What the publisher notes of a map, and what a reader finds.
fn note(map: &Map) -> [u8; NOTE] {
    let mut note = [0; NOTE];
    note[..32].copy_from_slice(&map.digest());
    for (number, place) in note[32..].iter_mut().enumerate() {
        *place = 1 + map.locate(&key(number)).0 as u8; // 0 is for an epoch that nobody noted
    }
    note
}

/// The files of a run.
struct Place {
    map: PathBuf,
    notes: PathBuf,
    stop: PathBuf,
    /// how many rounds the readers of this process have done
    rounds: AtomicUsize,
}

impl Place {
    fn of(directory: &Path) -> Place {
        Place {
            map: directory.join("m.map"),
            notes: directory.join("notes"),
            stop: directory.join("stop"),
            rounds: AtomicUsize::new(0),
        }
    }

    fn noted(&self, notes: &File, epoch: u64) -> Option<[u8; NOTE]> {
        let mut note = [0; NOTE];
        notes
            .read_exact_at(&mut note, epoch * NOTE as u64)
            .ok()
            .map(|()| note)
    }
}

/// Ends the readers, also where the publisher fails.
struct Ends<'a>(&'a Place);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let _ = File::create(&self.0.stop);
    }
}

/// What a reader saw.
#[derive(Default, Debug)]
struct Seen {
    opened: u64,
    maps: u64,
    newest: u64,
    /// errors, answers of no published map, and older maps than one before
    errors: u64,
    unknown: u64,
    older: u64,
}

impl Seen {
    fn wrong(&self) -> u64 {
        self.errors + self.unknown + self.older
    }
}

/// Reads until there is a file that says stop.
fn read(place: &Place, way: usize) -> Seen {
    let notes = File::open(&place.notes).unwrap();
    let mut seen = Seen::default();
    let mut last = [0; 32];
    loop {
        let is_last = place.stop.exists();
        for _ in 0..AT_ONCE {
            let map = match way % 4 {
                0 | 1 => Map::open(&place.map),
                2 => Map::open_copy(&place.map),
                _ => Map::open_uncached(&place.map).map(Arc::new),
            };
            seen.opened += 1;
            let Ok(map) = map else {
                seen.errors += 1;
                continue;
            };
            seen.unknown += u64::from(place.noted(&notes, map.epoch()) != Some(note(&map)));
            seen.older += u64::from(map.epoch() < seen.newest);
            seen.maps += u64::from(map.digest() != last);
            seen.newest = seen.newest.max(map.epoch());
            last = map.digest();
        }
        place.rounds.fetch_add(1, Ordering::Release);
        if is_last {
            return seen;
        }
        thread::sleep(REST);
    }
}

/// Publishes epoch after epoch, up to `end`.
fn publish(place: &Place, base: Option<Map>, end: u64) -> Map {
    let mut options = File::options();
    let notes = options
        .create(true)
        .append(true)
        .open(&place.notes)
        .unwrap();
    let lifted = Guard::ALL.into_iter().fold(Allow::NONE, Allow::and);
    let store = Store::new(&place.map, KEPT).allowing(lifted);
    let mut newest = base;
    while newest.as_ref().is_none_or(|map| map.epoch() < end) {
        let epoch = newest.as_ref().map_or(1, |map| map.epoch() + 1);
        let next = build(&fleet(epoch), newest.as_ref()).unwrap();
        notes.write_at_epoch(epoch, &note(&next));
        store.publish(newest.as_ref(), &next).unwrap();
        newest = Some(next);
        thread::sleep(PAUSE);
    }
    newest.unwrap()
}

trait WriteAtEpoch {
    fn write_at_epoch(&self, epoch: u64, note: &[u8]);
}

impl WriteAtEpoch for File {
    /// Appends a note; the file has that of epoch 0, which does not exist, as well.
    fn write_at_epoch(&self, epoch: u64, note: &[u8]) {
        let at = self.metadata().unwrap().len();
        let mut file = self;
        if at == 0 {
            file.write_all(&[0; NOTE]).unwrap();
        }
        assert_eq!(self.metadata().unwrap().len(), epoch * NOTE as u64);
        file.write_all(note).unwrap();
    }
}

/// The memory and the open descriptors of a process.
fn held(process: &str) -> (i64, i64) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib: i64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    (kib << 10, files as i64)
}

/// The least that this process held in some looks at it, at different moments: readers hold a file
/// only while they open it.
fn least_held() -> (i64, i64) {
    let looks: Vec<_> = (0..20)
        .map(|_| {
            thread::sleep(Duration::from_millis(3));
            held("self")
        })
        .collect();
    let memory = looks.iter().map(|look| look.0).min().unwrap();
    (memory, looks.iter().map(|look| look.1).min().unwrap())
}

/// A directory in memory where there is one, since every publish waits for the disk.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Checks what the readers of a run saw, and prints it.
fn judge(name: &str, seen: &[Seen], end: u64, before: (i64, i64), after: (i64, i64)) {
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let (opened, maps) = (sum(|seen| seen.opened), sum(|seen| seen.maps));
    println!(
        "{name}: {} readers, {end} maps, {opened} opens, {maps} changes seen, {} errors, {} of no \
         map, {} older; memory {:+} KiB, descriptors {:+}",
        seen.len(),
        sum(|seen| seen.errors),
        sum(|seen| seen.unknown),
        sum(|seen| seen.older),
        (after.0 - before.0) >> 10,
        after.1 - before.1,
    );
    assert_eq!(seen.len(), READERS);
    assert!(seen.iter().all(|seen| seen.wrong() == 0), "{seen:?}");
    assert!(seen.iter().all(|seen| seen.newest == end), "{seen:?}");
    assert!(maps > READERS as u64 * 2, "the readers saw many maps");
    assert!(after.0 - before.0 < GROWTH, "memory grows");
    assert!(after.1 <= before.1 + 2, "descriptors grow");
}

fn threads(end: u64) {
    let _alone = alone();
    let directory = directory();
    let place = Place::of(directory.path());
    let first = publish(&place, None, 1);
    let (seen, before, after) = thread::scope(|scope| {
        let place = &place;
        let readers: Vec<_> = (0..READERS)
            .map(|way| scope.spawn(move || read(place, way)))
            .collect();
        let ends = Ends(place);
        let map = publish(place, Some(first), settled(end));
        let before = least_held();
        publish(place, Some(map), end);
        let after = least_held();
        drop(ends);
        let seen: Vec<Seen> = readers.into_iter().map(|one| one.join().unwrap()).collect();
        (seen, before, after)
    });
    judge("threads", &seen, end, before, after);
}

fn processes(end: u64) {
    let _alone = alone();
    let directory = directory();
    let place = Place::of(directory.path());
    let first = publish(&place, None, 1);
    let program = std::env::current_exe().unwrap();
    let children: Vec<_> = (0..READERS)
        .map(|way| {
            let mut command = Command::new(&program);
            command.args([
                "--exact",
                "reader",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ]);
            command.env("STEAD_READER", format!("{way}"));
            command.env("STEAD_PLACE", directory.path());
            command.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let of_all = || {
        let all = children.iter().map(|child| held(&child.id().to_string()));
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let ends = Ends(&place);
    let map = publish(&place, Some(first), settled(end));
    let before = of_all();
    publish(&place, Some(map), end);
    let after = of_all();
    drop(ends);
    let mut seen = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}");
        let line = said.lines().find_map(|line| line.split_once("saw "));
        let numbers = line.unwrap_or_else(|| panic!("{said}")).1.split(' ');
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        let [opened, maps, newest, errors, unknown, older] = numbers[..] else {
            panic!("{said}");
        };
        seen.push(Seen {
            opened,
            maps,
            newest,
            errors,
            unknown,
            older,
        });
    }
    // what the code itself takes when it is first run differs a little from process to process
    let each = |sum: (i64, i64)| (sum.0 / READERS as i64, sum.1 / READERS as i64);
    judge("processes", &seen, end, each(before), each(after));
}

#[test]
fn sixty_four_threads_see_published_maps_in_their_order() {
    threads(140);
}

#[test]
fn sixty_four_processes_see_published_maps_in_their_order() {
    processes(140);
}

#[test]
#[ignore = "publishes ten thousand maps, which takes minutes; make faults runs it"]
fn sixty_four_threads_see_ten_thousand_maps() {
    threads(10_000);
}

#[test]
#[ignore = "publishes ten thousand maps, which takes minutes; make faults runs it"]
fn sixty_four_processes_see_ten_thousand_maps() {
    processes(10_000);
}

/// A reader of `processes`, in a process of its own.
#[test]
#[ignore = "the tests with processes start it"]
fn reader() {
    let Some(way) = std::env::var("STEAD_READER").ok() else {
        return;
    };
    let directory = std::env::var_os("STEAD_PLACE").unwrap();
    let seen = read(&Place::of(Path::new(&directory)), way.parse().unwrap());
    println!(
        "saw {} {} {} {} {} {}",
        seen.opened, seen.maps, seen.newest, seen.errors, seen.unknown, seen.older
    );
}

/// The control: a reader notices a map that nobody published, one that is older than the one
/// before, and a file that is no map; and memory that grows with the maps is noticed.
#[test]
fn a_reader_notices_each_fault() {
    let _alone = alone();
    let directory = directory();
    let place = Place::of(directory.path());
    publish(&place, None, 3);
    let seen = |put: &dyn Fn()| {
        let _ = fs::remove_file(&place.stop);
        thread::scope(|scope| {
            let rounds = || place.rounds.load(Ordering::Acquire);
            let before = rounds();
            let reader = scope.spawn(|| read(&place, 0));
            let wait = |least: usize| {
                while rounds() < least {
                    assert!(!reader.is_finished(), "the reader has failed");
                    thread::sleep(REST);
                }
            };
            wait(before + 1);
            put();
            // the round that was under way, and a whole one
            wait(rounds() + 2);
            File::create(&place.stop).unwrap();
            reader.join().unwrap()
        })
    };
    let rename = |bytes: &[u8]| {
        let new = directory.path().join("new");
        fs::write(&new, bytes).unwrap();
        fs::rename(&new, &place.map).unwrap();
    };
    let third = fs::read(&place.map).unwrap();
    let good = seen(&|| ());
    assert!(good.wrong() == 0 && good.newest == 3, "{good:?}");
    let older = seen(&|| rename(&fs::read(directory.path().join("m.map.history/2")).unwrap()));
    assert!(older.older > 0 && older.unknown == 0, "{older:?}");
    rename(&third);
    let stranger = build(&fleet(77), None).unwrap();
    let unknown = seen(&|| rename(stranger.bytes()));
    assert!(unknown.unknown > 0, "{unknown:?}");
    rename(&third);
    let damaged = seen(&|| rename(&third[..third.len() - 1]));
    assert!(damaged.errors > 0, "{damaged:?}");
    // what 64 readers would keep of a single large map, if they kept it
    let (before, kept) = (held("self"), vec![1u8; READERS << 20]);
    let after = held("self");
    assert!(
        kept.len() > 1 && after.0 - before.0 >= GROWTH,
        "{before:?} {after:?}"
    );
}
