//! The keys: the arguments, or else the records of standard input. Keys are bytes, with no
//! encoding.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use serde::Serialize;
use stead::format::hex;
use stead::{Error, Span};

use crate::exit::{note, Failure, Result};
use crate::output::Out;
use crate::progress::Answers;
use crate::records::{Batch, Block, Reader};

/// The most threads that count unless the caller wants more. One thread at a time reads, which
/// takes a tenth of the time or less, so more threads would wait for each other.
const THREADS: usize = 16;

/// Calls `each` with every key and its number, counted from 1. The keys are the arguments, or the
/// records of standard input if there are no arguments.
///
/// With `zero` a record ends with NUL, and nothing else is stripped from it. Otherwise a record is
/// a line without its `\n` or `\r\n`; the last line may have none. The output is flushed before
/// each wait for more input, so that a program that asks for one key at a time gets its answers.
pub fn keys(
    arguments: Vec<OsString>,
    zero: bool,
    out: &mut Out,
    mut each: impl FnMut(&mut Out, u64, &[u8]) -> Result,
) -> Result {
    let mut number = 0;
    batches(arguments, zero, out, |out, batch| {
        batch.keys().iter().try_for_each(|key| {
            number += 1;
            each(out, number, key)
        })
    })
}

/// Calls `each` with all keys in their order, many at a time; otherwise like [`keys`].
pub fn batches(
    arguments: Vec<OsString>,
    zero: bool,
    out: &mut Out,
    mut each: impl FnMut(&mut Out, Batch<'_>) -> Result,
) -> Result {
    if !arguments.is_empty() {
        let (bytes, spans) = joined(arguments);
        return each(out, Batch::new(&bytes, &spans));
    }
    let mut reader = standard_input(zero, Answers::Meanwhile)?;
    let (mut block, mut is_first) = (Block::new(), true);
    loop {
        if reader.waits() {
            out.flush()?;
        }
        if !reader.fill(&mut block, true)? {
            return Ok(());
        }
        block.batches(|batch| {
            if std::mem::take(&mut is_first) {
                note_counts(batch);
            }
            each(out, batch)
        })?;
    }
}

/// Says so if what should be keys are keys with counts, as `stead load` takes them.
fn note_counts(batch: Batch<'_>) {
    if batch.all_end_in_a_number(b'\t') {
        note(
            "every line ends with a tab and a number, which count as part of the key here; \
             `cut -f1` leaves them out",
        );
    }
}

/// Calls `each` with every line of a file. The path `-` means standard input.
pub fn lines(path: &Path, mut each: impl FnMut(&[u8])) -> Result {
    line_batches(path, |batch| {
        batch.keys().iter().for_each(&mut each);
        Ok(())
    })
}

/// Calls `each` with all lines of a file in their order, many at a time. The path `-` means
/// standard input.
pub fn line_batches(path: &Path, mut each: impl FnMut(Batch<'_>) -> Result) -> Result {
    let mut reader = file(path, Answers::AtTheEnd)?;
    let mut block = Block::new();
    while reader.fill(&mut block, false)? {
        block.batches(&mut each)?;
    }
    Ok(())
}

/// Adds up something about all keys, in several threads, and returns what each thread has.
///
/// A thread begins with `new`, and takes many keys at a time with `add`. The keys are those of
/// [`keys`], in no order.
pub fn tally<T: Send>(
    arguments: Vec<OsString>,
    zero: bool,
    threads: Option<NonZeroUsize>,
    new: impl Fn() -> T + Sync,
    add: impl Fn(&mut T, Batch<'_>) + Sync,
) -> Result<Vec<T>> {
    if !arguments.is_empty() {
        let (bytes, spans) = joined(arguments);
        let mut one = new();
        add(&mut one, Batch::new(&bytes, &spans));
        return Ok(vec![one]);
    }
    tally_of(
        standard_input(zero, Answers::AtTheEnd)?,
        threads,
        &new,
        &add,
    )
}

/// Adds up something about all lines of a file, like [`tally`]. The path `-` means standard input.
pub fn tally_lines<T: Send>(
    path: &Path,
    threads: Option<NonZeroUsize>,
    new: impl Fn() -> T + Sync,
    add: impl Fn(&mut T, Batch<'_>) + Sync,
) -> Result<Vec<T>> {
    tally_of(file(path, Answers::AtTheEnd)?, threads, &new, &add)
}

/// The threads take turns to read a block of records, and work on their blocks side by side.
fn tally_of<T: Send>(
    reader: Reader,
    threads: Option<NonZeroUsize>,
    new: &(impl Fn() -> T + Sync),
    add: &(impl Fn(&mut T, Batch<'_>) + Sync),
) -> Result<Vec<T>> {
    let threads = threads.map_or_else(
        || thread::available_parallelism().map_or(1, |n| n.get().min(THREADS)),
        NonZeroUsize::get,
    );
    let threads = reader.blocks().map_or(threads, |blocks| {
        threads.min(usize::try_from(blocks).unwrap_or(usize::MAX))
    });
    let (reader, is_first) = (Mutex::new(reader), AtomicBool::new(true));
    let work = || -> Result<Option<T>> {
        let (mut block, mut sum) = (Block::new(), None);
        while lock(&reader).fill(&mut block, false)? {
            let sum = sum.get_or_insert_with(new);
            block.batches(|batch| {
                if is_first.swap(false, Relaxed) {
                    note_counts(batch);
                }
                add(sum, batch);
                Ok(())
            })?;
        }
        Ok(sum)
    };
    let ended: Vec<Result<Option<T>>> = thread::scope(|scope| {
        // the system may refuse a thread: then those that there are do the work
        let others: Vec<_> = (1..threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let own = work();
        let others = others.into_iter().map(|other| {
            other
                .join()
                .unwrap_or_else(|fault| std::panic::resume_unwind(fault))
        });
        std::iter::once(own).chain(others).collect()
    });
    let sums = ended.into_iter().filter_map(Result::transpose);
    sums.collect()
}

/// Locks the reader. If a thread panicked while it read, the program ends with that panic.
fn lock(reader: &Mutex<Reader>) -> MutexGuard<'_, Reader> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The arguments in one buffer.
fn joined(arguments: Vec<OsString>) -> (Vec<u8>, Vec<Span>) {
    let (mut bytes, mut spans) = (Vec::new(), Vec::new());
    for key in arguments {
        let (start, length) = (bytes.len(), key.len());
        bytes.append(&mut key.into_vec());
        spans.push(Span { start, length });
    }
    (bytes, spans)
}

/// Opens a file, or standard input for `-`.
fn file(path: &Path, answers: Answers) -> Result<Reader> {
    if path == Path::new("-") {
        return standard_input(false, answers);
    }
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    Reader::new(file, &path.display().to_string(), false, answers)
}

fn standard_input(zero: bool, answers: Answers) -> Result<Reader> {
    // whoever has forgotten the keys would wait for ever
    if io::stdin().is_terminal() {
        note("reading keys from standard input, one a line; end with Ctrl-D");
    }
    let stdin = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|e| Failure::io("cannot read standard input", &e))?;
    Reader::new(File::from(stdin), "standard input", zero, answers)
}

/// A key in JSON, which has no byte strings: a string if the key is UTF-8, else `{"hex": ".."}`.
#[derive(Serialize)]
#[serde(untagged)]
pub enum KeyJson<'a> {
    /// A key that is UTF-8.
    Text(&'a str),
    /// A key that is not UTF-8.
    Hex {
        /// The bytes of the key as hex digits.
        hex: String,
    },
}

impl<'a> KeyJson<'a> {
    /// Returns the JSON form of a key.
    pub fn of(key: &'a [u8]) -> KeyJson<'a> {
        match std::str::from_utf8(key) {
            Ok(text) => KeyJson::Text(text),
            Err(_) => KeyJson::Hex { hex: hex(key) },
        }
    }
}

/// Parses a number of the command line, with an error message of our own.
pub fn whole(text: &str) -> std::result::Result<u64, &'static str> {
    text.parse().map_err(|_| "write a whole number")
}

/// Parses a number of which 0 makes no sense.
pub fn from_1(text: &str) -> std::result::Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "write a whole number from 1")
}

/// Parses a number of threads.
pub fn threads(text: &str) -> std::result::Result<NonZeroUsize, &'static str> {
    const MOST: usize = 256; // each takes a third of a megabyte
    from_1(text)
        .ok()
        .filter(|threads| threads.get() <= MOST)
        .ok_or("write a whole number from 1 to 256")
}

/// Formats a key for people: quoted, with unprintable characters escaped.
pub fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("0x{}", hex(key)),
    }
}
