//! What the journal of `stead-sync carry run`, beside a map, says about a step that somebody takes
//! by hand.
//!
//! Only words of its lines are looked for, behind their checksums: `begin MAP-ID FROM-DIGEST` names
//! the carry, `file PATH` its file, and `passed PASS EPOCH` says that a pass is done. A journal
//! that is not whole says less, so the step is refused rather than taken.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use stead::carry::{Carry, State};
use stead::format::hex;
use stead::store::KEEP;
use stead::{Error, Map, Store};

use crate::exit::{Failure, Result, REFUSED};

/// Returns where the journal of a map is, unless the file of the carry says another place.
pub fn path(map: &Path) -> PathBuf {
    let mut name = map.as_os_str().to_owned();
    name.push(".carry");
    name.into()
}

/// Fails if a run of `stead-sync carry` has begun the carry that is open in a map, and has not done
/// the work of the present state.
pub fn refuse_unfinished(map: &Map, file: &Path) -> Result {
    let store = Store::new(file, KEEP);
    let Some((carry, pass)) = map
        .carry()
        .and_then(|carry| Some((carry, work(map, &carry, &store)?)))
    else {
        return Ok(());
    };
    let journal = path(file);
    let Some(story) = Story::read(&journal)? else {
        return Ok(());
    };
    let name = format!("{} {}", hex(&map.map_id()), hex(&carry.from_digest));
    if story.carry != name || story.passed.contains(&format!("{pass} {}", map.epoch())) {
        return Ok(());
    }
    Err(Failure::new(
        REFUSED,
        format_args!(
            "{}: {} is the journal of `stead-sync carry run`, which has not done all work of the \
             state {} (the pass {pass}); nothing was changed; let the run go on, or, if your own \
             tools have done the work, remove the journal first",
            file.display(),
            journal.display(),
            carry.state.word()
        ),
    ))
}

/// Returns the file of the carry that a journal belongs to, if it says so.
pub fn file_of(journal: &Path) -> Option<String> {
    Story::read(journal).ok()??.file
}

/// Returns the pass without which the next step would lose data or leave copies behind, if a state
/// has one.
fn work(map: &Map, carry: &Carry, store: &Store) -> Option<&'static str> {
    match (carry.state, carry.reverse) {
        (State::BothOldFirst, false) => Some("verify"),
        (State::BothOldFirst, true) => Some("look"),
        (State::BothNewFirst, false) => Some("check"),
        (State::New, _) => Some("remove"),
        (State::Old, true) if !store.is_untouched(map) => Some("remove"),
        _ => None,
    }
}

/// What a journal says.
#[derive(Default)]
struct Story {
    /// the carry that it is about
    carry: String,
    /// the file of the carry
    file: Option<String>,
    /// the passes that are done, with the epochs that they were done in
    passed: BTreeSet<String>,
}

impl Story {
    /// Reads a journal; `None` when there is none.
    fn read(path: &Path) -> Result<Option<Story>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| Error::io("open", path, error))?,
        };
        let mut story = Story::default();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|error| Error::io("read", path, error))?;
            // eight digits and a space
            let line = String::from_utf8_lossy(line.get(9..).unwrap_or_default());
            match line.split_once(' ') {
                Some(("begin", carry)) => story.carry = carry.to_owned(),
                Some(("file", file)) => story.file = Some(unescaped(file)),
                Some(("passed", pass)) => _ = story.passed.insert(pass.to_owned()),
                None if line == "again" => story.passed.clear(),
                _ => {}
            }
        }
        Ok(Some(story))
    }
}

/// Returns a word of a journal as it was: `%` and two digits stand for another byte.
fn unescaped(word: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let [first, more @ ..] = rest {
        let digits = more.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        (rest, _) = match byte.filter(|_| *first == b'%') {
            Some(byte) => (&more[2..], bytes.push(byte)),
            None => (more, bytes.push(*first)),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
