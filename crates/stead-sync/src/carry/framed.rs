//! The lines of a journal as they are in its file: each has a checksum before it.

use std::path::Path;

use twox_hash::XxHash3_64;

use super::story::Story;
use crate::exit::{Failure, Result, DATA};

/// The bytes of a line around its words: 8 digits, a space and a newline.
const FRAME: usize = 10;

/// Reads a journal. Returns what it knows, and how many bytes are whole lines.
pub fn read(bytes: &[u8], path: &Path) -> Result<(Story, usize)> {
    let (mut story, mut good) = (Story::default(), 0);
    let mut bad = None;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        match (unframed(line), bad) {
            (Some(line), None) => {
                // its checksum is right, so no crash has cut it: another program wrote it
                story.take(line).ok_or_else(|| unknown(line, path))?;
                good += line.len() + FRAME;
            }
            // what a crash leaves was not synced
            (Some(line), Some(at)) if is_after_sync(line, at) => {
                return Err(Failure::new(
                    DATA,
                    format_args!(
                        "{}: the journal is damaged at byte {at}; remove it, and the carry does \
                         its present pass again",
                        path.display()
                    ),
                ))
            }
            (Some(_), Some(_)) => {}
            (None, _) => bad = bad.or(Some(good)),
        }
    }
    Ok((story, good))
}

/// Whether a line says that the byte at this place was synced.
fn is_after_sync(line: &str, at: usize) -> bool {
    let synced = line.strip_prefix("synced ").and_then(|n| n.parse().ok());
    synced.is_some_and(|synced: usize| synced > at)
}

fn unknown(line: &str, path: &Path) -> Failure {
    let word = line.split(' ').next().unwrap_or_default();
    Failure::new(
        DATA,
        format_args!(
            "{}: this stead-sync does not know lines with {:?} in a journal; use the newer one that \
             wrote it",
            path.display(),
            word
        ),
    )
}

/// Returns a line with its checksum and its end.
pub fn framed(line: &str) -> String {
    format!(
        "{:08x} {line}\n",
        XxHash3_64::oneshot(line.as_bytes()) as u32
    )
}

/// Returns a line without them; `None` if it is not whole.
pub fn unframed(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (sum, rest) = line.split_at_checked(8)?;
    let rest = rest.strip_prefix(' ')?;
    let is_whole =
        u32::from_str_radix(sum, 16).ok()? == XxHash3_64::oneshot(rest.as_bytes()) as u32;
    is_whole.then_some(rest)
}
