//! The log of stead-rrd: bytes of a segment and of the positions are changed, and records get right
//! checksums again. What can be opened goes on from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use stead_rrd::log::{Durability, Durable, Log, Size};
use twox_hash::XxHash3_64;

use crate::files::{directory, place};
use crate::input::Input;

/// The files of a log with a few records, by their names.
type Files = Vec<(String, Vec<u8>)>;

/// Where the id of the log stands in the header of a segment, and where its records begin.
const ID: std::ops::Range<usize> = 8..16;
const RECORDS: usize = 40;

fn size() -> Size {
    Size {
        segment: 4096,
        bound: 5 * 4096,
        ..Size::default()
    }
}

fn sound() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let place = directory();
        let dir = place.path().join("log");
        let log = Durable::open(&dir, size()).expect("a new log");
        log.follow(&["a", "b"]).expect("two servers");
        for number in 0..60u32 {
            let record = vec![b'x'; 10 + number as usize * 3];
            log.append(&record, Durability::Crash).expect("room");
        }
        log.confirm("a", 1).expect("a position");
        drop(log);
        files(&dir)
    })
}

fn files(dir: &Path) -> Files {
    let mut files: Files = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            (name, fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// Changes of a log.
pub fn segments(data: &[u8]) {
    let mut input = Input(data);
    let mut files = sound().clone();
    while !input.is_over() {
        let file = input.below(files.len());
        let bytes = &mut files[file].1;
        match input.below(5) {
            0 => bytes.truncate(input.below(bytes.len() + 1)),
            1 => {
                let at = input.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = input.byte();
                }
            }
            2 => {
                // a number in the head of a record, sealed again
                let at = place_of(bytes, input.below(40));
                let (field, value) = (8 + 8 * input.below(3), input.word() >> input.below(64));
                if let Some(number) = bytes.get_mut(at + field..at + field + 8) {
                    number.copy_from_slice(&value.to_le_bytes());
                }
                seal(bytes, at);
            }
            3 => {
                let at = place_of(bytes, input.below(40));
                let more = input.bytes(8);
                if let Some(text) = bytes.get_mut(at + 32..at + 32 + more.len()) {
                    text.copy_from_slice(more);
                }
                seal(bytes, at);
            }
            _ => {
                files.remove(file);
                if files.is_empty() {
                    return;
                }
            }
        }
    }
    let dir: PathBuf = place().join("log");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).expect("the directory of the log");
    for (name, bytes) in &files {
        fs::write(dir.join(name), bytes).expect("a file of the log");
    }
    let log = match Durable::open(&dir, size()) {
        Ok(log) => log,
        Err(why) => {
            assert!(!why.to_string().contains('\n'), "{why}");
            return;
        }
    };
    let newest = log.newest();
    let mut last = None;
    for record in log.read(0) {
        let Ok((number, _)) = record else { break };
        assert!(
            last.is_none_or(|last| number == last + 1),
            "no number is left out"
        );
        assert!(number <= newest);
        last = Some(number);
    }
    if let Ok(number) = log.append(b"one more", Durability::Crash) {
        assert!(number > newest);
        drop(log);
        let again = Durable::open(&dir, size()).expect("what was opened can be opened again");
        let record = again.read(number - 1).next().expect("the last record");
        assert_eq!(record.expect("is whole"), (number, b"one more".to_vec()));
    }
}

/// The offset of a record, counted from the first one.
fn place_of(bytes: &[u8], number: usize) -> usize {
    let mut at = RECORDS;
    for _ in 0..number {
        let length = bytes
            .get(at + 24..at + 32)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
        match length.filter(|length| *length > 0 && *length < 4096) {
            Some(length) => at += 32 + (length as usize).next_multiple_of(8),
            None => break,
        }
    }
    at
}

/// Writes the right checksum of the record at this offset.
fn seal(bytes: &mut [u8], at: usize) {
    let word = |range: std::ops::Range<usize>| {
        let bytes = bytes.get(range)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let Some((id, length)) = word(ID).zip(word(at + 24..at + 32)) else {
        return;
    };
    let end = usize::try_from(length)
        .ok()
        .and_then(|length| (at + 32).checked_add(length));
    if let Some(rest) = end.and_then(|end| bytes.get(at + 8..end)) {
        let sum = XxHash3_64::oneshot_with_seed(id, rest).to_le_bytes();
        bytes[at..at + 8].copy_from_slice(&sum);
    }
}
