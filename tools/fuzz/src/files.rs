//! Files beside a map: saved plans, and the log of its history.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use stead::store::{line, SavedPlan, Store};
use tempfile::TempDir;

use crate::maps::{answers, seal};

/// A directory in memory where there is one: it is written for each input.
pub fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory")
}

thread_local! {
    static PLACE: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// Returns the directory of this thread.
pub fn place() -> PathBuf {
    PLACE.with_borrow_mut(|place| place.get_or_insert_with(directory).path().to_owned())
}

/// A saved plan. Bytes that begin like a map are put into a plan first.
pub fn saved_plans(data: &[u8]) {
    let mut bytes = data.to_vec();
    if bytes.get(1..4) == Some(b"STD") {
        seal(&mut bytes);
        let mut plan = b"\x89STP\r\n\x1a\n\x01\0\0\0".to_vec();
        plan.extend([0; 12]);
        plan.extend((bytes.len() as u64).to_le_bytes());
        plan.extend(bytes);
        plan.extend([0; 32]);
        bytes = plan;
    }
    if let Some(end) = bytes.len().checked_sub(32) {
        let digest = Sha256::digest(&bytes[..end]);
        bytes[end..].copy_from_slice(digest.as_slice());
    }
    let path = place().join("saved");
    fs::write(&path, &bytes).expect("the plan is written");
    if let Ok(plan) = SavedPlan::read(&path) {
        assert!(SavedPlan::is_one(&bytes));
        answers(&plan.new);
        fs::remove_file(&path).expect("the plan is removed");
        SavedPlan::write(&plan.new, &path).expect("a plan that was read can be written");
        assert_eq!(fs::read(&path).expect("it is there"), bytes, "to the byte");
    }
}

/// The log of a history.
pub fn history_logs(data: &[u8]) {
    let map = place().join("history.map");
    let history = place().join("history.map.history");
    fs::create_dir_all(&history).expect("the history");
    fs::write(history.join("log"), data).expect("the log is written");
    let store = Store::new(&map, 10);
    let entries = store.log();
    assert!(entries.len() <= 1 + data.iter().filter(|byte| **byte == b'\n').count());
    for entry in &entries {
        let ancestors: Vec<_> = line(&entries, &entry.digest).collect();
        assert!(ancestors.windows(2).all(|two| two[1].epoch < two[0].epoch));
    }
    let _ = store.history();
}
