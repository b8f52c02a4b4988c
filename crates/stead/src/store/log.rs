//! The log of a history: when each epoch was published, by whom, why, and what changed.
//!
//! The log is the file MAP.history/log, with one line of JSON for each epoch. It is never part of a
//! map, so it changes no byte of one. Publishing appends a line with one write after the map is in
//! place; installing a map that has its story already does so before. A log that is missing or
//! damaged, or that cannot be written, costs this story and nothing else. The log says what each
//! user's environment said: it tells a story and proves nothing.

use std::collections::HashMap;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::iter::successors;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::whole::Access;
use crate::error::{Error, Result};

/// The name of the log in the directory of the history.
pub(super) const FILE: &str = "log";

/// The most bytes that a note may have: a few sentences.
const NOTE: usize = 500;

/// What the log says about one epoch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The number of the epoch.
    pub epoch: u64,
    /// The digest of its map, in hex digits.
    pub digest: String,
    /// The digest of the epoch before; 64 zeros for the first epoch. A log also keeps what was made
    /// beside the map and given up, so this alone says which entries belong to a map: see
    /// [`line()`].
    pub parent: String,
    /// When it was published, such as `2026-11-22T21:09:00Z`.
    pub time: String,
    /// Who published it, such as `anna@db1`.
    pub who: String,
    /// Why, in the words of whoever published it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What changed, in a few words.
    pub change: String,
    /// The points that moved, as a decimal number.
    pub moved_points: String,
    /// The larger R of this epoch and of the one before. A share of `moved_points` is a part of
    /// R * 2^64.
    pub replicas: u32,
}

/// Returns the entry of a digest and those of its ancestors, newest first, as far as the log tells.
pub fn line<'a>(log: &'a [Entry], digest: &str) -> impl Iterator<Item = &'a Entry> {
    let known: HashMap<&str, &Entry> = log.iter().map(|e| (e.digest.as_str(), e)).collect();
    let older = move |entry: &&'a Entry| {
        let parent = known.get(entry.parent.as_str()).copied();
        // a log can be edited; epochs that go down end
        parent.filter(|parent| parent.epoch < entry.epoch)
    };
    let first = log.iter().find(|entry| entry.digest == digest);
    successors(first, older)
}

/// Checks a note: one line, without control characters, of at most 500 bytes.
pub(super) fn check_note(note: &str) -> Result<()> {
    let refuse = |problem: &str| {
        Err(Error::Invalid {
            problem: format!("the note {problem}"),
        })
    };
    if note.chars().any(char::is_control) {
        return refuse("has a control character; write one line of text");
    }
    if note.len() > NOTE {
        return refuse(&format!(
            "has {} bytes, and at most {NOTE} are allowed; shorten it",
            note.len()
        ));
    }
    Ok(())
}

/// Appends an entry with one write. If the last line was torn by a crash, the entry starts a new
/// line.
pub(super) fn append(file: &Path, entry: &Entry, access: Access) -> io::Result<()> {
    let is_new = !file.exists();
    let mut log = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(access.mode)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(file)?;
    if is_new {
        access.set(&log)?;
    }
    let mut line = Vec::new();
    if is_torn(&mut log)? {
        line.push(b'\n');
    }
    serde_json::to_writer(&mut line, entry)?;
    line.push(b'\n');
    log.write_all(&line)?;
    log.sync_data()
}

/// Whether the file does not end with the end of a line.
fn is_torn(log: &mut File) -> io::Result<bool> {
    if log.metadata()?.len() == 0 {
        return Ok(false);
    }
    log.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    log.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Reads the entries, in the order of the file. Lines that are no entries are left out, and so is
/// everything when the file cannot be read.
pub(super) fn read(file: &Path) -> Vec<Entry> {
    let lines = fs::read(file).unwrap_or_default();
    lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

/// Returns who runs this process: `anna@db1`. With sudo this is the user who called it.
pub fn who() -> String {
    let user = ["SUDO_USER", "LOGNAME", "USER"].into_iter().find_map(given);
    let user = user.or_else(name_of_process);
    let host = given("HOSTNAME").or_else(|| {
        let name = fs::read_to_string("/proc/sys/kernel/hostname");
        name.or_else(|_| fs::read_to_string("/etc/hostname")).ok()
    });
    let host = host.unwrap_or_default();
    let host = host.trim().split('.').next().unwrap_or_default();
    let user = user.unwrap_or_else(|| "?".to_owned());
    match host {
        "" => user,
        host => format!("{user}@{host}"),
    }
}

/// The name of the user of this process, where the system says so: services have no LOGNAME.
fn name_of_process() -> Option<String> {
    let uid = fs::metadata("/proc/self").ok()?.uid().to_string();
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    name.or(Some(format!("uid {uid}")))
}

fn given(variable: &str) -> Option<String> {
    env::var(variable).ok().filter(|value| !value.is_empty())
}

/// Returns the time of now, or of SOURCE_DATE_EPOCH where the environment has it.
pub fn now() -> String {
    let given = given("SOURCE_DATE_EPOCH").and_then(|seconds| seconds.parse().ok());
    let clock = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    };
    in_words(given.unwrap_or_else(clock))
}

/// Formats seconds since 1970 as a date and a time of UTC.
fn in_words(seconds: u64) -> String {
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let february = if days_of(year) == 366 { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let day = days + 1;
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn days_of(year: u64) -> u64 {
    match year {
        year if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 366,
        _ => 365,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(epoch: u64) -> Entry {
        Entry {
            epoch,
            digest: "00".repeat(32),
            parent: "00".repeat(32),
            time: in_words(0),
            who: "anna@db1".into(),
            note: None,
            change: "+db2".into(),
            moved_points: "7".into(),
            replicas: 3,
        }
    }

    #[test]
    fn times_are_dates_of_the_calendar() {
        // as `date -u -d @SECONDS +%FT%TZ` prints them
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_381_740, "2026-11-22T21:09:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(in_words(seconds), text);
        }
    }

    #[test]
    fn a_process_without_variables_has_the_name_that_id_prints() {
        let id = |option: &str| {
            let said = std::process::Command::new("id").arg(option).output();
            String::from_utf8(said.unwrap().stdout).unwrap()
        };
        // nothing, if the system has no name for the user
        let wanted = match id("-un").trim() {
            "" => format!("uid {}", id("-u").trim()),
            name => name.to_owned(),
        };
        assert_eq!(name_of_process(), Some(wanted));
    }

    #[test]
    fn a_torn_line_costs_itself_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let map = directory.path().join("no.map");
        let access = Access::of_first(0o600);
        append(&file, &entry(1), access).unwrap();
        append(&file, &entry(2), access).unwrap();
        let whole = fs::read(&file).unwrap();
        // at each length: what is whole stays, and the next entry is never lost
        for length in 0..=whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            append(&file, &entry(3), access).unwrap();
            let epochs: Vec<u64> = read(&file).iter().map(|entry| entry.epoch).collect();
            // a line that lacks only its end is whole
            let kept = (whole[..length]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count())
                + usize::from(
                    length > 0 && (length + 1 == whole.len() || (length + 1) * 2 == whole.len()),
                );
            let expected: Vec<u64> = (1..=kept as u64).chain([3]).collect();
            assert_eq!(epochs, expected, "{length} of {} bytes", whole.len());
        }
        fs::write(&file, b"\xff\n{}\n").unwrap();
        assert_eq!(read(&file), []);
        assert_eq!(read(&map), []);
    }

    #[test]
    fn a_note_is_one_short_line() {
        assert!(check_note("a rack for Black Friday, ticket 4711").is_ok());
        assert!(check_note(&"x".repeat(NOTE)).is_ok());
        for (note, why) in [
            ("two\nlines".to_owned(), "control"),
            ("\x1b[2J".to_owned(), "control"),
            ("x".repeat(NOTE + 1), "501 bytes"),
        ] {
            let error = check_note(&note).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
