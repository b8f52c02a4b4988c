//! Lines of a key, or of a key, a tab and a count: the accesses, rows or bytes of the key.

use std::borrow::Cow;
use std::path::Path;

use stead::path::Fold;
use stead::{Keys, Span};

use crate::exit::{note, Failure, Result, DATA};
use crate::input::{self, shown};
use crate::records::Batch;

/// Calls `each` with all lines of a file in their order, many at a time: their keys, and their
/// counts if any line has one. The path `-` means standard input.
pub fn lines(
    path: &Path,
    fold: Fold,
    mut each: impl FnMut(Keys<'_>, Option<&[u64]>) -> stead::Result<()>,
) -> Result {
    let name = name(path);
    let mut counted = Counted::default();
    let (mut folded, mut before) = (Vec::new(), 0);
    input::line_batches(path, |batch| {
        if let Some((what, program)) = packed(batch.bytes()).filter(|_| before == 0) {
            return Err(Failure::new(DATA, format!("{name}: is {what}; {program}")));
        }
        if before == 0 && batch.all_end_in_a_number(b' ') {
            note(format_args!(
                "{name}: every line ends with a space and a number, which count as part of the \
                 key; a tab separates a key from its count"
            ));
        }
        let lines = batch.len();
        let counts = counted.of(batch).map_err(|bad| {
            let number = before + bad.line + 1;
            let problem = format!(
                "{name}:{number}: {} is not a count; write KEY, or KEY, a tab and a whole number",
                shown(bad.count)
            );
            Failure::new(DATA, problem)
        })?;
        let added = match counts {
            None => each(batch.folded(fold, &mut folded), None),
            Some((spans, counts)) => {
                let batch = batch.at(spans);
                each(batch.folded(fold, &mut folded), Some(counts))
            }
        };
        before += lines;
        added.map_err(|error| Failure::new(DATA, format!("{name}: {error}")))
    })
}

/// The error about a file that has nothing to count.
pub fn nothing(path: &Path, what: &str) -> Failure {
    let problem = format!(
        "{}: contains no {what}; write lines of a key, or of a key, a tab and a count",
        name(path)
    );
    Failure::new(DATA, problem)
}

fn name(path: &Path) -> Cow<'_, str> {
    match path == Path::new("-") {
        true => "standard input".into(),
        false => path.display().to_string().into(),
    }
}

/// The counts of many lines.
#[derive(Default)]
struct Counted {
    /// where the keys are, without their counts
    spans: Vec<Span>,
    counts: Vec<u64>,
}

/// The places of keys, and their counts.
type Found<'a> = (&'a [Span], &'a [u64]);

/// A line whose count is no number.
struct Bad<'a> {
    /// the line in its batch, from 0
    line: usize,
    count: &'a [u8],
}

impl Counted {
    /// Finds the counts of lines; `None` if no line has a tab. A key may contain tabs, so the last
    /// one separates it from its count.
    fn of<'b>(&mut self, batch: Batch<'b>) -> std::result::Result<Option<Found<'_>>, Bad<'b>> {
        if !batch.bytes().contains(&b'\t') {
            return Ok(None);
        }
        self.spans.clear();
        self.counts.clear();
        for (line, span) in batch.spans().iter().enumerate() {
            let record = batch.bytes().get(span.start..span.start + span.length);
            let record = record.unwrap_or_default();
            let (length, count) = match record.iter().rposition(|byte| *byte == b'\t') {
                None => (record.len(), 1),
                Some(tab) => {
                    let count = record.get(tab + 1..).unwrap_or_default();
                    (tab, number(count).ok_or(Bad { line, count })?)
                }
            };
            let start = span.start;
            self.spans.push(Span { start, length });
            self.counts.push(count);
        }
        Ok(Some((&self.spans, &self.counts)))
    }
}

/// Parses a whole number that has nothing but digits.
fn number(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all)
}

/// Says what a file is whose first bytes are not those of a text, and what to do.
fn packed(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const KINDS: [(&[u8], &str, &str); 5] = [
        (
            b"\x1f\x8b",
            "compressed by gzip",
            "pipe what `zcat` makes of it, with - as the file",
        ),
        (
            b"\x28\xb5\x2f\xfd",
            "compressed by zstd",
            "pipe what `zstdcat` makes of it, with - as the file",
        ),
        (
            b"\xfd7zXZ\0",
            "compressed by xz",
            "pipe what `xzcat` makes of it, with - as the file",
        ),
        (
            b"BZh91AY&SY",
            "compressed by bzip2",
            "pipe what `bzcat` makes of it, with - as the file",
        ),
        (
            b"PAR1",
            "a Parquet file",
            "write its keys as lines, as docs/python-engines.md reads them",
        ),
    ];
    let found = KINDS.iter().find(|(begin, ..)| bytes.starts_with(begin))?;
    Some((found.1, found.2))
}
