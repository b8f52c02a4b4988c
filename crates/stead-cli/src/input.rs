//! The keys: the arguments, or else the records of standard input. Keys are bytes, with no
//! encoding.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use serde::Serialize;
use stead::Error;

use crate::exit::{Failure, Result};
use crate::output::Out;
use crate::progress;

/// The size of the read buffer, in bytes: larger than a pipe, so that a large file takes few system
/// calls.
const BUFFER: usize = 256 << 10;

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
    if !arguments.is_empty() {
        return (1..)
            .zip(arguments)
            .try_for_each(|(number, key)| each(out, number, &key.into_vec()));
    }
    let mut number = 0;
    let stdin = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|e| Failure::io("cannot read standard input", &e))?;
    records(
        File::from(stdin),
        "standard input",
        zero,
        |record, waits| {
            if waits {
                out.flush()?;
            }
            number += u64::from(record.is_some());
            record.map_or(Ok(()), |record| each(out, number, record))
        },
    )
}

/// Calls `each` with every line of a file. The path `-` means standard input.
pub fn lines(path: &Path, mut each: impl FnMut(&[u8])) -> Result {
    let (file, name) = if path == Path::new("-") {
        let stdin = io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| Failure::io("cannot read standard input", &e))?;
        (File::from(stdin), "standard input".to_owned())
    } else {
        (
            File::open(path).map_err(|e| Error::io("open", path, e))?,
            path.display().to_string(),
        )
    };
    records(file, &name, false, |record, _| {
        if let Some(record) = record {
            each(record);
        }
        Ok(())
    })
}

/// Calls `each` with `Some(record), false` for every record, and with `None, true` before a read
/// that may wait.
fn records(
    file: File,
    name: &str,
    zero: bool,
    mut each: impl FnMut(Option<&[u8]>, bool) -> Result,
) -> Result {
    let waits = !file.metadata().is_ok_and(|meta| meta.is_file());
    let mut reader: BufReader<Box<dyn Read>> =
        BufReader::with_capacity(BUFFER, progress::reading(file, "reading"));
    let end = if zero { 0 } else { b'\n' };
    let mut record = Vec::new();
    loop {
        if waits && !reader.buffer().contains(&end) {
            each(None, true)?;
        }
        record.clear();
        let read = reader
            .read_until(end, &mut record)
            .map_err(|e| Failure::io(&format!("cannot read {name}"), &e))?;
        if read == 0 {
            return Ok(());
        }
        each(Some(strip(&record, zero)), false)?;
    }
}

fn strip(record: &[u8], zero: bool) -> &[u8] {
    if zero {
        return record.strip_suffix(&[0]).unwrap_or(record);
    }
    match record.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => record,
    }
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

/// Formats bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats a key for people: quoted, with unprintable characters escaped.
pub fn shown(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("0x{}", hex(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_stripped_and_nothing_else() {
        for (record, line) in [
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a", "a"),
            ("a\r", "a\r"),
            ("a\r\r\n", "a\r"),
            ("\n", ""),
            (" a \n", " a "),
        ] {
            assert_eq!(
                strip(record.as_bytes(), false),
                line.as_bytes(),
                "{record:?}"
            );
        }
        for (record, line) in [("a\0", "a"), ("a\n\0", "a\n"), ("a", "a"), ("\0", "")] {
            assert_eq!(
                strip(record.as_bytes(), true),
                line.as_bytes(),
                "{record:?}"
            );
        }
    }
}
