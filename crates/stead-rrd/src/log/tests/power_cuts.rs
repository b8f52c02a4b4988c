//! Power cuts: the log on a disk that loses whatever was not synced.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::super::disk::Disk;
use super::super::{Durability, Durable, Log, Size};
use super::{listing, numbers, put, put_as, text, SMALL};

/// A disk. A power cut leaves what was synced and, of the rest, some sectors.
struct Platter {
    honest: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// For each inode: the file, kept open so that no other file gets the inode, and its bytes at
    /// the last sync.
    files: HashMap<u64, (File, Vec<u8>)>,
    names: HashMap<String, u64>,
}

impl Disk for Platter {
    fn sync(&self, file: &File) -> io::Result<()> {
        if self.honest {
            let meta = file.metadata()?;
            let mut bytes = vec![0; meta.len() as usize];
            let mut state = self.state.lock().unwrap();
            // the caller's file may be open only for writing
            let own = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            own.read_exact_at(&mut bytes, 0)?;
            state.files.insert(meta.ino(), (own, bytes));
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if self.honest || state.names.is_empty() {
            state.names = listing(dir);
        }
        Ok(())
    }
}

impl Platter {
    /// Writes to `to` what the disk has after a power cut now. `luck` decides which unsynced
    /// sectors and names reached the disk.
    fn cut(&self, from: &Path, to: &Path, mut luck: u64) {
        let mut chance = || {
            luck = luck
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            luck >> 62 == 0
        };
        let state = self.state.lock().unwrap();
        let names = if chance() {
            listing(from)
        } else {
            state.names.clone()
        };
        for (name, inode) in names {
            let Some((file, synced)) = state.files.get(&inode) else {
                fs::write(to.join(name), b"").unwrap();
                continue;
            };
            let mut bytes = synced.clone();
            let mut now = vec![0; bytes.len()];
            let length = file.read_at(&mut now, 0).unwrap();
            for (old, new) in bytes.chunks_mut(512).zip(now[..length].chunks(512)) {
                if old.len() == new.len() && chance() {
                    old.copy_from_slice(new);
                }
            }
            fs::write(to.join(name), bytes).unwrap();
        }
    }
}

/// Appends from several threads, cuts the power at some moment, and opens what is left. Returns
/// `None` if an acknowledged record is lost.
fn power_cut(honest: bool, luck: u64, durability: Durability) -> Option<bool> {
    let (dir, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let disk = Arc::new(Platter {
        honest,
        state: Mutex::default(),
    });
    let options = Size {
        segment: 4096,
        bound: 1 << 20,
        ..SMALL
    };
    let log = Durable::open_on(dir.path(), options, disk.clone()).unwrap();
    log.follow(&["a"]).unwrap();
    let acknowledged = AtomicUsize::new(0);
    let enough = AtomicUsize::new(0);
    let (mut sure, mut synced) = (0, 0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while enough.load(Ordering::SeqCst) == 0 {
                    let Ok(number) = put_as(&log, &[luck as u8; 300], durability) else {
                        enough.store(1, Ordering::SeqCst);
                        return;
                    };
                    acknowledged.fetch_max(number as usize, Ordering::SeqCst);
                    if number % 20 == 0 {
                        log.confirm("a", number - 15).unwrap();
                    }
                }
            });
        }
        while acknowledged.load(Ordering::SeqCst) < 5 + (luck % 150) as usize
            && enough.load(Ordering::SeqCst) == 0
        {
            thread::yield_now();
        }
        sure = acknowledged.load(Ordering::SeqCst) as u64;
        synced = log.reached(Durability::Power);
        disk.cut(dir.path(), left.path(), luck);
        enough.store(1, Ordering::SeqCst);
    });
    let log = match Durable::open(left.path(), options) {
        Ok(log) => log,
        Err(error) => {
            assert!(!honest, "{error}");
            return None;
        }
    };
    let found = numbers(&log, log.confirmed("a"));
    assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert!(
        !honest || log.newest() >= synced,
        "{} < {synced}",
        log.newest()
    );
    (log.newest() >= sure && found.last().copied().unwrap_or(log.newest()) == log.newest())
        .then_some(log.notice().is_some())
}

#[test]
fn a_power_cut_loses_nothing_acknowledged_and_a_log_that_does_not_sync_does() {
    let cut = |n| power_cut(true, n * 0x9e37_79b9, Durability::Power);
    let mut kept: Vec<_> = (0..60).map(cut).collect();
    // how many cuts fall into a write depends on the machine: on a busy one there may be none in 60
    while !kept.contains(&Some(true)) && kept.len() < 3000 {
        kept.push(cut(kept.len() as u64));
    }
    assert!(kept.iter().all(Option::is_some), "{kept:?}");
    assert!(
        kept.contains(&Some(true)),
        "no write was torn: the fault did not happen"
    );
    let control = (0..10)
        .filter(|n| power_cut(false, n * 0x9e37_79b9, Durability::Power).is_none())
        .count();
    assert_eq!(
        control, 10,
        "a log that acknowledges before the sync must lose"
    );
}

#[test]
fn a_power_cut_takes_only_what_was_not_synced_from_those_who_asked_for_no_more() {
    // `power_cut` itself asserts that nothing synced is lost
    let cuts = (0..60).map(|n| power_cut(true, n * 0x9e37_79b9, Durability::Crash));
    let lost = cuts.filter(Option::is_none).count();
    assert!(lost > 0, "nothing was lost: the fault did not happen");
}

#[test]
fn what_nobody_waits_for_is_synced_in_time_and_when_the_log_is_closed() {
    let (dir, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = Durable::open(dir.path(), SMALL).unwrap();
    let number = put_as(&log, b"one", Durability::Crash).unwrap();
    let begun = Instant::now();
    while log.newest() < number {
        assert!(begun.elapsed() < 100 * SMALL.sync_every, "no sync");
        thread::sleep(Duration::from_millis(1));
    }
    drop(log);
    let patient = Size {
        sync_every: Duration::from_secs(3600),
        ..SMALL
    };
    let disk = Arc::new(Platter {
        honest: true,
        state: Mutex::default(),
    });
    let log = Durable::open_on(dir.path(), patient, disk.clone()).unwrap();
    put_as(&log, b"two", Durability::Crash).unwrap();
    assert_eq!(log.newest(), number);
    drop(log);
    disk.cut(dir.path(), left.path(), 0);
    let log = Durable::open(left.path(), SMALL).unwrap();
    assert_eq!(numbers(&log, 0), [number, number + 1]);
}

#[test]
fn what_a_killed_router_had_not_synced_is_on_the_disk_before_it_counts() {
    let (dir, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = Durable::open(dir.path(), SMALL).unwrap();
    log.follow(&["a"]).unwrap();
    let positions = fs::read(dir.path().join("positions")).unwrap();
    for number in 1..=5 {
        put(&log, &text(number)).unwrap();
    }
    drop(log);
    fs::write(dir.path().join("positions"), &positions).unwrap();
    // nothing has reached this disk yet: everything that the log found is in the kernel's memory
    let disk = Arc::new(Platter {
        honest: true,
        state: Mutex::default(),
    });
    let log = Durable::open_on(dir.path(), SMALL, disk.clone()).unwrap();
    assert_eq!(log.newest(), 5);
    disk.cut(dir.path(), left.path(), 0);
    fs::write(left.path().join("positions"), &positions).unwrap();
    assert_eq!(
        numbers(&Durable::open(left.path(), SMALL).unwrap(), 0),
        [1, 2, 3, 4, 5]
    );
}
