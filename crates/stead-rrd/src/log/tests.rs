//! Tests of the log against a model, and on disks that fail. Power cuts are in `power_cuts`.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::disk::{Disk, Real};
use super::{Durability, Durable, Log, Size};

mod power_cuts;

const SMALL: Size = Size {
    segment: 4096,
    bound: 5 * 4096,
    sync_every: Duration::from_millis(100),
};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn put(log: &Durable, record: &[u8]) -> io::Result<u64> {
    put_as(log, record, Durability::Power)
}

fn put_as(log: &Durable, record: &[u8], durability: Durability) -> io::Result<u64> {
    let number = log.append(record, durability)?;
    wait(super::survives(log, number, durability)).map(|()| number)
}

/// Waits until the record is durable.
fn durable(log: &Durable, number: u64) -> io::Result<()> {
    wait(super::durable(log, number))
}

/// Returns a record that contains its number; the lengths start at 0.
fn text(number: u64) -> Vec<u8> {
    number
        .to_string()
        .repeat((number % 37) as usize)
        .into_bytes()
}

fn numbers(log: &Durable, after: u64) -> Vec<u64> {
    log.read(after).map(|record| record.unwrap().0).collect()
}

/// The names in a directory, with their inodes.
fn listing(dir: &Path) -> HashMap<String, u64> {
    let entries = fs::read_dir(dir).unwrap().filter_map(Result::ok);
    entries
        .filter_map(|e| Some((e.file_name().into_string().ok()?, e.metadata().ok()?.ino())))
        .collect()
}

/// Returns the path of the newest segment.
fn last_segment(dir: &Path) -> std::path::PathBuf {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "log"))
        .collect();
    names.sort();
    names.pop().unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<usize>),
    Confirm(usize, u64),
    Follow(Vec<usize>),
    Reopen,
}

const NAMES: [&str; 3] = ["a", "b", "c with blanks"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => prop::collection::vec(0..1500_usize, 1..12).prop_map(Step::Append),
        4 => (0..3_usize, 0..12_u64).prop_map(|(who, back)| Step::Confirm(who, back)),
        1 => prop::sample::subsequence(vec![0, 1, 2], 1..=3).prop_map(Step::Follow),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_keeps_what_somebody_has_not_confirmed(steps in steps()) {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Durable::open(dir.path(), SMALL).unwrap();
        let mut records: Vec<Vec<u8>> = Vec::new(); // the model: all records, number 1 first
        let mut positions: BTreeMap<usize, u64> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Append(lengths) => {
                    let mut waiting = Vec::new();
                    for length in lengths {
                        let record = vec![length as u8; length];
                        match log.append(&record, Durability::Power) {
                            Ok(number) => {
                                records.push(record);
                                prop_assert_eq!(number, records.len() as u64);
                                waiting.push(number);
                            }
                            // it may be full only if the records that must stay need the room: 4
                            // segments, each more than half used
                            Err(error) => {
                                prop_assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{}", error);
                                let floor = positions.values().min().copied().unwrap_or(0) as usize;
                                let kept: usize = records.iter().skip(floor).map(|r| r.len() + 40).sum();
                                prop_assert!(kept > 2 * 4096, "full with {} bytes", kept);
                                break;
                            }
                        }
                    }
                    for number in waiting {
                        durable(&log, number).unwrap();
                    }
                }
                Step::Confirm(who, back) => {
                    let through = (records.len() as u64).saturating_sub(back);
                    log.confirm(NAMES[who], through).unwrap();
                    positions.entry(who).and_modify(|p| *p = through.max(*p));
                }
                Step::Follow(who) => {
                    log.follow(&who.iter().map(|w| NAMES[*w]).collect::<Vec<_>>()).unwrap();
                    positions = who.iter().map(|w| (*w, positions.get(w).copied().unwrap_or(records.len() as u64))).collect();
                }
                Step::Reopen => {
                    drop(log);
                    log = Durable::open(dir.path(), SMALL).unwrap();
                    prop_assert_eq!(log.notice(), None);
                }
            }
            prop_assert_eq!(log.newest(), records.len() as u64);
            for (who, name) in NAMES.iter().enumerate() {
                let position = positions.get(&who).copied().unwrap_or(0);
                prop_assert_eq!(log.confirmed(name), position);
                if positions.contains_key(&who) {
                    let found: Vec<_> = log.unconfirmed(name).map(|r| r.unwrap()).collect();
                    let wanted: Vec<_> = (position + 1..).zip(records.iter().skip(position as usize).cloned()).collect();
                    prop_assert_eq!(found, wanted);
                }
            }
            let bytes: u64 = fs::read_dir(dir.path()).unwrap().filter_map(|e| e.ok()?.metadata().ok()).map(|m| m.len()).sum();
            // the positions come on top, for a moment twice
            prop_assert!(bytes <= SMALL.bound + 8192, "{} bytes on the disk", bytes);
        }
    }
}

#[test]
fn records_of_both_kinds_keep_their_order_and_are_synced_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let options = Size {
        segment: 1 << 13,
        bound: 1 << 22,
        sync_every: Duration::from_millis(5),
    };
    let log = Durable::open(dir.path(), options).unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let (log, durability) = (&log, [Durability::Crash, Durability::Power][writer % 2]);
            scope.spawn(move || {
                for n in 0..200 {
                    let number = put_as(log, &text(n), durability).unwrap();
                    assert!(log.reached(durability) >= number);
                }
            });
        }
    });
    assert_eq!(log.reached(Durability::Crash), 800);
    assert_eq!(numbers(&log, 0), (1..=800).collect::<Vec<_>>());
    durable(&log, 800).unwrap();
    drop(log);
    assert_eq!(Durable::open(dir.path(), options).unwrap().newest(), 800);
}

#[test]
fn what_is_not_synced_can_be_read_and_is_not_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let patient = Size {
        sync_every: Duration::from_secs(3600),
        ..SMALL
    };
    let log = Durable::open(dir.path(), patient).unwrap();
    log.follow(&["a"]).unwrap();
    let number = log.append(b"one", Durability::Crash).unwrap();
    assert_eq!(log.reached(Durability::Crash), number);
    assert_eq!((log.newest(), numbers(&log, 0)), (0, vec![number]));
    log.confirm("a", number).unwrap();
    assert_eq!(log.confirmed("a"), 0);
    // the sync for another one is for it, too
    put(&log, b"two").unwrap();
    log.confirm("a", number).unwrap();
    assert_eq!(log.confirmed("a"), number);
}

#[test]
fn a_torn_last_record_is_cut_off_at_whatever_byte() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["a"]).unwrap();
    for number in 1..=5 {
        put(&log, &text(number)).unwrap();
    }
    // as after a crash: with the positions from before the log was closed
    let positions = fs::read(dir.path().join("positions")).unwrap();
    let end = log.core.books().tail as usize;
    put(&log, &text(30)).unwrap();
    let whole = log.core.books().tail as usize;
    drop(log);
    let path = last_segment(dir.path());
    let bytes = fs::read(&path).unwrap();
    let mut torn = 0;
    let data = end + super::frame::HEAD + text(30).len();
    for cut in end..data {
        // the bytes from the cut on never arrived; then the bytes before it
        for (from, to) in [(cut, whole), (end, cut + 1)] {
            let mut damaged = bytes.clone();
            damaged[from..to].fill(0);
            if damaged[end..data] == bytes[end..data] {
                continue; // only zeros are missing
            }
            let nothing = damaged[end..].iter().all(|byte| *byte == 0);
            fs::write(&path, &damaged).unwrap();
            fs::write(dir.path().join("positions"), &positions).unwrap();
            let log = Durable::open(dir.path(), SMALL).unwrap();
            assert_eq!(log.notice().is_some(), !nothing, "{from}..{to}");
            torn += 1;
            assert_eq!(numbers(&log, 0), [1, 2, 3, 4, 5]);
            assert_eq!(put(&log, b"new").unwrap(), 6);
            assert_eq!(log.read(5).next().unwrap().unwrap(), (6, b"new".to_vec()));
        }
    }
    assert!(torn > data - end);
}

#[test]
fn damage_before_the_end_is_an_error_that_names_file_and_offset() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["a"]).unwrap();
    for number in 1..=190 {
        put(&log, &text(number)).unwrap();
    }
    let positions = fs::read(dir.path().join("positions")).unwrap();
    let last = log.core.books().segments.back().unwrap().clone();
    let (end, before) = (log.core.books().tail as usize, last.near(190).1 as usize);
    assert!(log.core.books().segments.len() > 2);
    let first = log.core.books().segments.front().unwrap().path.clone();
    drop(log);
    let mut refused = 0;
    // in the last segment, all but the last record: no later record could prove anything about that
    // one
    let last_record = end - super::frame::size(text(190).len());
    for (path, range) in [(first, 0..3000), (last.path.clone(), before..last_record)] {
        let good = fs::read(&path).unwrap();
        for at in range.step_by(7) {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            fs::write(dir.path().join("positions"), &positions).unwrap();
            match Durable::open(dir.path(), SMALL) {
                Err(error) => {
                    let text = error.to_string();
                    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{text}");
                    assert!(
                        text.contains(path.to_str().unwrap()) && text.contains("offset"),
                        "{text}"
                    );
                    refused += 1;
                }
                // a padding byte carries no information
                Ok(log) => assert_eq!(
                    numbers(&log, 0),
                    (1..=190).collect::<Vec<_>>(),
                    "byte {at} of {}",
                    path.display()
                ),
            }
        }
        fs::write(&path, &good).unwrap();
    }
    assert!(refused > 400, "{refused}");
    // files that are missing or too short
    let good = fs::read(&last.path).unwrap();
    fs::write(&last.path, &good[..2000]).unwrap();
    assert!(Durable::open(dir.path(), SMALL)
        .err()
        .unwrap()
        .to_string()
        .contains("2000 bytes of 4096"));
    fs::write(&last.path, &good).unwrap();
    Durable::open(dir.path(), SMALL).unwrap();
    fs::remove_file(&last.path).unwrap();
    assert!(Durable::open(dir.path(), SMALL)
        .err()
        .unwrap()
        .to_string()
        .contains("190 was on the disk"));
    fs::write(&last.path, &good).unwrap();
    fs::remove_file(dir.path().join("positions")).unwrap();
    assert!(Durable::open(dir.path(), SMALL)
        .err()
        .unwrap()
        .to_string()
        .contains("`positions` is missing"));
}

#[test]
fn damage_that_comes_while_the_log_is_open_is_an_error_to_the_reader() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    for number in 1..=9 {
        put(&log, &text(number)).unwrap();
    }
    let path = last_segment(dir.path());
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .write_all_at(b"?", 40 + 32 + 8 + 3)
        .unwrap();
    let read: Vec<_> = log.read(0).collect();
    assert_eq!(read.len(), 2);
    assert!(read[1]
        .as_ref()
        .err()
        .unwrap()
        .to_string()
        .contains(&format!("{}: offset 80: record 2", path.display())));
}

/// A disk that counts its syncs, and whose syncs fail from some number on.
struct Failing {
    good: usize,
    calls: AtomicUsize,
    /// Every sync waits while somebody holds this.
    gate: Mutex<()>,
}

impl Disk for Failing {
    fn sync(&self, file: &File) -> io::Result<()> {
        drop(self.gate.lock().unwrap());
        if self.calls.fetch_add(1, Ordering::SeqCst) >= self.good {
            return Err(io::Error::from_raw_os_error(5));
        }
        Real.sync(file)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        Real.sync_dir(dir)
    }
}

#[test]
fn a_sync_that_fails_is_never_tried_again() {
    let mut failed = 0;
    for good in 6..20 {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(Failing {
            good,
            calls: AtomicUsize::new(0),
            gate: Mutex::default(),
        });
        let log = Durable::open_on(dir.path(), SMALL, disk.clone()).unwrap();
        log.follow(&["a"]).unwrap();
        let mut acknowledged = 0;
        let error = loop {
            match put(&log, &[7; 1000]) {
                Ok(number) => acknowledged = number,
                Err(error) => break error,
            }
            let _ = log.confirm("a", acknowledged);
        };
        // if the keeper's sync of a spare fails, the log cannot grow, and says so
        assert!(error.to_string().contains("Input/output error"), "{error}");
        if error.to_string().contains("takes nothing more") {
            failed += 1;
            let calls = disk.calls.load(Ordering::SeqCst);
            assert!(
                log.append(b"x", Durability::Power).is_err()
                    && log.confirm("a", 1).is_err()
                    && log.follow(&["b"]).is_err()
            );
            // if the keeper's sync failed meanwhile, the newest record may be durable without
            // having been acknowledged
            assert!(
                [acknowledged, acknowledged + 1].contains(&log.newest()),
                "{} {acknowledged}",
                log.newest()
            );
            drop(log);
            // one more for a spare that was just being made
            assert!(disk.calls.load(Ordering::SeqCst) <= calls + 1);
        } else {
            drop(log);
        }
        let log = Durable::open(dir.path(), SMALL).unwrap();
        assert!(log.newest() >= acknowledged);
    }
    assert!(failed > 0);
}

/// Nothing is confirmed after the disk was full, and the positions are stored nevertheless.
#[test]
fn positions_that_could_not_be_stored_are_stored_later() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["a"]).unwrap();
    let number = put(&log, b"one").unwrap();
    // where the next file of positions is written first
    let new = dir.path().join("positions.tmp");
    fs::create_dir(&new).unwrap();
    log.confirm("a", number).unwrap();
    let until = |is_told: bool| {
        let late = Instant::now() + Duration::from_secs(60);
        while log.extent().unsaved.is_some() != is_told {
            assert!(Instant::now() < late);
            thread::sleep(Duration::from_millis(10));
        }
    };
    until(true);
    fs::remove_dir(&new).unwrap();
    until(false);
    let stored = fs::read_to_string(dir.path().join("positions")).unwrap();
    assert!(
        stored.contains(&format!("backend {number} a\n")),
        "{stored}"
    );
}

#[test]
fn a_log_whose_directory_is_gone_takes_nothing_more() {
    type Fault = fn(&Path);
    let faults: [Fault; 3] = [
        // the log may just be making a spare segment there
        |dir| {
            let is_filled = |error: io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
            while fs::remove_dir_all(dir).is_err_and(is_filled) {}
        },
        |dir| fs::rename(dir, dir.with_extension("away")).unwrap(),
        |dir| {
            // a new one in its place, as after a restore
            fs::rename(dir, dir.with_extension("away")).unwrap();
            drop(Durable::open(dir, SMALL).unwrap());
        },
    ];
    for fault in faults {
        for idle in [false, true] {
            let place = tempfile::tempdir().unwrap();
            let dir = place.path().join("log");
            let log = Durable::open(&dir, SMALL).unwrap();
            log.follow(&["a"]).unwrap();
            assert_eq!(put(&log, b"kept").unwrap(), 1);
            log.extent();
            assert_eq!(log.frontier().borrow().broken, None);
            fault(&dir);
            // a look at it is enough, also when nobody writes
            let told = match idle {
                true => {
                    log.extent();
                    let come = log.frontier().borrow().clone();
                    come.broken.unwrap().to_string()
                }
                false => put(&log, b"lost").unwrap_err().to_string(),
            };
            assert!(
                told.contains("removed or replaced the state directory"),
                "{told}"
            );
            assert!(told.contains("--flush-after"), "{told}");
            assert_eq!(log.newest(), 1);
            assert!(log.append(b"more", Durability::Crash).is_err());
        }
    }
}

#[test]
fn a_full_log_says_who_holds_it_and_goes_on_when_that_one_confirms() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["fast", "slow"]).unwrap();
    let mut last = 0;
    let error = loop {
        match put(&log, &[1; 500]) {
            Ok(number) => last = number,
            Err(error) => break error,
        }
        log.confirm("fast", last).unwrap();
    };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(
        error
            .to_string()
            .contains("slow has confirmed only up to 0"),
        "{error}"
    );
    assert_eq!(numbers(&log, 0), (1..=last).collect::<Vec<_>>());
    log.confirm("slow", last).unwrap();
    assert_eq!(put(&log, &[1; 500]).unwrap(), last + 1);
    let error = log.read(0).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("was forgotten"), "{error}");
}

#[test]
fn a_record_may_be_as_large_as_a_segment_and_no_larger() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    // a segment of 4096 bytes without its header and the head of the record: a multiple of 8
    let most = 4096 - 40 - 32;
    for (number, length) in [(1, most), (2, most - 1), (3, most)] {
        assert_eq!(put(&log, &vec![7; length]).unwrap(), number);
    }
    for length in [most + 1, most + 8, most + 80, 5000] {
        let error = put(&log, &vec![7; length]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let problem = format!("a record of {length} bytes does not fit into a segment");
        assert!(error.to_string().contains(&problem), "{error}");
        assert!(error.to_string().ends_with("at most 4024"), "{error}");
    }
    assert_eq!(numbers(&log, 0), [1, 2, 3]);
}

#[test]
fn the_size_of_a_segment_has_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let opened = |segment: u64, bound: u64| {
        let size = Size {
            segment,
            bound,
            ..SMALL
        };
        Durable::open(dir.path(), size).map(drop)
    };
    for (segment, bound) in [
        (4088, 1 << 20), // too small
        (4100, 1 << 20), // no multiple of 8
        (4096, 8191),    // only one fits
        (1 << 20, 1 << 20),
    ] {
        let error = opened(segment, bound).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let problem = format!("a log of {bound} bytes in segments of {segment} is not possible");
        assert!(error.to_string().contains(&problem), "{error}");
    }
    assert!(listing(dir.path()).is_empty(), "nothing was made");
    opened(4096, 8192).unwrap();
}

#[test]
fn two_routers_cannot_have_one_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    let error = Durable::open(dir.path(), SMALL).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    assert!(error.to_string().contains("another stead-rrd"), "{error}");
    drop(log);
    Durable::open(dir.path(), SMALL).unwrap();
}

#[test]
fn all_that_wait_share_a_sync() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(Failing {
        good: usize::MAX,
        calls: AtomicUsize::new(0),
        gate: Mutex::default(),
    });
    let log = Durable::open_on(
        dir.path(),
        Size {
            segment: 1 << 17,
            bound: 1 << 18,
            ..SMALL
        },
        disk.clone(),
    )
    .unwrap();
    let gate = disk.gate.lock().unwrap();
    let before = disk.calls.load(Ordering::SeqCst);
    let waiting: Vec<_> = (0..1000)
        .map(|n| log.append(&text(n), Durability::Power).unwrap())
        .collect();
    assert_eq!(log.newest(), 0, "acknowledged before the sync");
    drop(gate);
    waiting
        .into_iter()
        .for_each(|number| durable(&log, number).unwrap());
    let syncs = disk.calls.load(Ordering::SeqCst) - before;
    // one for what the writer took first, one for all the rest, and one for the spare
    assert!(syncs <= 3, "{syncs} syncs");
}

#[test]
fn a_reader_runs_while_records_are_added() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(
        dir.path(),
        Size {
            segment: 1 << 13,
            bound: 1 << 24,
            ..SMALL
        },
    )
    .unwrap();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..32)
            .map(|_| {
                scope.spawn(|| (0..50).for_each(|n| assert_ne!(put(&log, &text(n)).unwrap(), 0)))
            })
            .collect();
        let mut records = log.read(0);
        let mut seen = 0;
        loop {
            let done = writers.iter().all(|writer| writer.is_finished());
            for record in records {
                let (number, _) = record.unwrap();
                assert_eq!(number, seen + 1);
                seen = number;
            }
            if done {
                break;
            }
            records = log.read(seen);
        }
        assert_eq!(seen, 1600);
    });
}

#[test]
fn a_reader_at_the_end_goes_on_into_segments_that_came_later() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    for number in 1..=2 {
        put(&log, &text(number)).unwrap();
    }
    let mut records = log.read(0).map(|record| record.unwrap().0);
    assert_eq!(records.by_ref().take(2).collect::<Vec<_>>(), [1, 2]);
    // seven of them fill a segment
    for _ in 3..=22 {
        put(&log, &[1; 500]).unwrap();
    }
    assert_eq!(records.collect::<Vec<_>>(), (3..=22).collect::<Vec<_>>());
}

/// A router must be able to start again when its disk is full.
#[test]
fn following_the_same_backends_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["a", "b"]).unwrap();
    let stored = || fs::read(dir.path().join("positions")).unwrap();
    let before = stored();
    // whoever writes it anew fails
    fs::create_dir(dir.path().join("positions.tmp")).unwrap();
    log.follow(&["b", "a"]).unwrap();
    assert!(log.follow(&["a"]).is_err());
    assert_eq!(stored(), before);
}

#[test]
fn what_is_not_written_yet_cannot_be_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["a"]).unwrap();
    put(&log, b"one").unwrap();
    log.confirm("a", 1000).unwrap();
    assert_eq!(log.confirmed("a"), 1);
    put(&log, b"two").unwrap();
    assert_eq!(numbers(&log, log.confirmed("a")), [2]);
}

#[test]
fn whoever_looks_at_the_frontier_can_ask_the_log() {
    let place = tempfile::tempdir().unwrap();
    let log = Arc::new(Durable::open(place.path(), SMALL).unwrap());
    let (ended, end) = std::sync::mpsc::channel();
    let asked = Arc::clone(&log);
    thread::spawn(move || {
        let frontier = asked.frontier();
        let held = frontier.borrow();
        let number = asked.append(b"a record", Durability::Power).unwrap();
        // the writer waits for this thread before it tells how far it has come
        while asked.reached(Durability::Crash) < number {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        let newest = asked.newest();
        drop(held);
        ended.send(newest).unwrap();
    });
    let newest = end.recv_timeout(Duration::from_secs(60));
    if newest.is_err() {
        std::mem::forget(log); // its writer never ends
    }
    newest.expect("no thread waits for another one that waits for it");
}

/// A standby that has no room is told positions several times a second.
#[test]
fn a_log_that_is_told_much_grows_as_soon_as_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let size = Size {
        bound: 1 << 20,
        ..SMALL
    };
    let log = Durable::open(dir.path(), size).unwrap();
    log.follow(&["a"]).unwrap();
    // a directory with the name of the next part is in its way, like a disk without room
    let names = (0..20).map(|n| dir.path().join(format!("spare-{n}.tmp")));
    let in_the_way: Vec<_> = names.filter(|name| fs::create_dir(name).is_ok()).collect();
    let error = loop {
        if let Err(error) = put(&log, &[7; 1000]) {
            break error.to_string();
        }
    };
    assert!(error.contains("the log cannot grow"), "{error}");
    in_the_way
        .iter()
        .for_each(|name| drop(fs::remove_dir(name)));
    let positions = BTreeMap::from([("a".to_owned(), 0)]);
    let grown = (0..50).any(|_| {
        thread::sleep(Duration::from_millis(100));
        log.take_positions(&positions).unwrap();
        put(&log, &[7; 1000]).is_ok()
    });
    assert!(grown, "{}", put(&log, &[7; 1000]).unwrap_err());
}

#[test]
fn a_segment_goes_when_its_last_record_is_confirmed() {
    let dir = tempfile::tempdir().unwrap();
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["a"]).unwrap();
    let first = last_segment(dir.path());
    while last_segment(dir.path()) == first {
        put(&log, &[7; 1000]).unwrap();
    }
    let second = last_segment(dir.path());
    let base: u64 = second
        .file_stem()
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    log.confirm("a", base - 2).unwrap();
    log.confirm("a", base - 1).unwrap();
    // by a thread of the log
    let is_gone = |_| {
        thread::sleep(Duration::from_millis(10));
        log.extent().oldest == base
    };
    assert!((0..1000).any(is_gone));
}
