//! Reading records in blocks: what a read has brought, without a copy for each record.
//!
//! A [`Reader`] fills a [`Block`] with whole records. The block yields them in batches, as places
//! in its buffer, which is the quickest form for the kernels of stead:
//!
//! ```text
//! frank\njustin\nbo     b\nfrankie\n..       what two reads bring
//! '-- block 1 --''- rest -> block 2
//! ```
//!
//! Files are read, too, and not mapped: a read of a block that stays in the cache costs little, and
//! a file that becomes shorter meanwhile is an error. A mapped file would raise SIGBUS then.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};

use stead::path::Fold;
use stead::{Keys, Span};

use crate::exit::{Failure, Result, IO};
use crate::lines;
use crate::progress::{self, Answers};

/// The bytes of a block: larger than a pipe, and small enough for the second cache. A record that
/// is longer makes its block larger.
const BLOCK: usize = 256 << 10;

/// Bytes behind the block that are never filled. The kernels load 64 bytes at a time, and take the
/// slow way where these would reach beyond the buffer.
const PADDING: usize = 64;

/// The most records of a batch: four blocks of the kernels.
const BATCH: usize = 4096;

/// Whole records, one after the other.
pub struct Block {
    /// as long as the block is large, and the padding
    buffer: Vec<u8>,
    filled: usize,
    /// the byte that ends a record
    end: u8,
    spans: Vec<Span>,
}

impl Block {
    /// Returns an empty block.
    pub fn new() -> Block {
        Block {
            buffer: vec![0; BLOCK + PADDING],
            filled: 0,
            end: 0,
            spans: Vec::new(),
        }
    }

    /// Calls `each` with every record, many at a time.
    pub fn batches(&mut self, mut each: impl FnMut(Batch<'_>) -> Result) -> Result {
        let spans = &mut self.spans;
        let mut from = 0;
        while from < self.filled {
            let (Some(records), Some(all)) =
                (self.buffer.get(from..self.filled), self.buffer.get(from..))
            else {
                break;
            };
            spans.clear();
            let mut used = lines::split(records, self.end, BATCH, spans);
            if spans.is_empty() {
                // only the last record of the input may have no end, and keeps all its bytes
                let length = records.len();
                spans.push(Span { start: 0, length });
                used = length;
            }
            each(Batch {
                bytes: all,
                used,
                spans,
            })?;
            from += used;
        }
        Ok(())
    }
}

/// Some records of a block, or of the arguments.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// the records, and perhaps more bytes behind them
    bytes: &'a [u8],
    used: usize,
    spans: &'a [Span],
}

/// So many records that are alike are no accident.
const SEVERAL: usize = 10;

impl<'a> Batch<'a> {
    /// Takes records that lie in a buffer.
    pub fn new(bytes: &'a [u8], spans: &'a [Span]) -> Batch<'a> {
        let used = bytes.len();
        Batch { bytes, used, spans }
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether each of these records, of several, is something, this byte and a number.
    pub fn all_end_in_a_number(&self, before: u8) -> bool {
        let ends = |record: &[u8]| {
            let digits = record.iter().rev().take_while(|byte| byte.is_ascii_digit());
            let rest = record.len() - digits.count();
            rest < record.len() && rest > 1 && record.get(rest - 1) == Some(&before)
        };
        self.len() >= SEVERAL && self.keys().iter().all(ends)
    }

    /// The bytes of all records, with their ends.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    /// The places of the records in these bytes.
    pub fn spans(&self) -> &'a [Span] {
        self.spans
    }

    /// The same bytes with other places, of which none may reach further than the records do.
    pub fn at<'b>(&self, spans: &'b [Span]) -> Batch<'b>
    where
        'a: 'b,
    {
        Batch { spans, ..*self }
    }

    /// The records as keys.
    pub fn keys(&self) -> Keys<'a> {
        keys(self.bytes, self.spans)
    }

    /// The records as keys, folded. `room` holds the folded bytes, if folding changes any.
    pub fn folded<'b>(&'b self, fold: Fold, room: &'b mut Vec<u8>) -> Keys<'b> {
        match fold.apply(self.bytes()) {
            Cow::Borrowed(_) => self.keys(),
            Cow::Owned(bytes) => {
                *room = bytes;
                keys(room, self.spans)
            }
        }
    }
}

/// The keys in a buffer, each of which must lie inside it.
fn keys<'a>(bytes: &'a [u8], spans: &'a [Span]) -> Keys<'a> {
    Keys::spans(bytes, spans).expect("a record lies inside its block")
}

/// A source of records.
pub struct Reader {
    source: Box<dyn Read + Send>,
    /// the same file without the progress; to ask for its size at the end
    file: File,
    name: String,
    end: u8,
    /// whether a read may wait for somebody who writes
    waits: bool,
    /// for a regular file: its size, and how many bytes are before the next read
    size: Option<(u64, u64)>,
    /// the beginning of the next record
    rest: Vec<u8>,
    ended: bool,
}

impl Reader {
    /// Reads a file of this name, with NUL as the end of a record or with a line end. `answers`
    /// says what the terminal shows meanwhile.
    pub fn new(mut file: File, name: &str, zero: bool, answers: Answers) -> Result<Reader> {
        let failure = |e| Failure::io(&format!("cannot read {name}"), &e);
        let meta = file.metadata().map_err(failure)?;
        let position = file.stream_position().ok().filter(|_| meta.is_file());
        let size = position.map(|position| (meta.len(), position));
        let left = size.map(|(size, position)| size.saturating_sub(position));
        let source = file.try_clone().map_err(failure)?;
        Ok(Reader {
            source: progress::reading(source, left, "reading", answers),
            file,
            name: name.to_owned(),
            end: if zero { 0 } else { b'\n' },
            waits: size.is_none(),
            size,
            rest: Vec::new(),
            ended: false,
        })
    }

    /// Whether a read may wait for somebody who writes.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// How many blocks the input has; `None` if nobody knows its size.
    pub fn blocks(&self) -> Option<u64> {
        let left = |(size, position): (u64, u64)| size.saturating_sub(position);
        self.size
            .map(|size| left(size).div_ceil(BLOCK as u64).max(1))
    }

    /// Fills the block with the next whole records. Returns `false` if there are none.
    ///
    /// With `eager` it returns as soon as there is a record; otherwise it waits until the block is
    /// full.
    pub fn fill(&mut self, block: &mut Block, eager: bool) -> Result<bool> {
        let done = self.fill_or_fail(block, eager);
        self.ended |= done.is_err();
        done
    }

    fn fill_or_fail(&mut self, block: &mut Block, eager: bool) -> Result<bool> {
        (block.filled, block.end) = (0, self.end);
        if self.ended {
            return Ok(false);
        }
        let rest = std::mem::take(&mut self.rest);
        if block.buffer.len() > BLOCK + PADDING && rest.len() < BLOCK {
            block.buffer = vec![0; BLOCK + PADDING]; // after a long record
        }
        while block.buffer.len() - PADDING < rest.len() {
            self.enlarge(block)?;
        }
        put(&mut block.buffer, 0, &rest);
        block.filled = rest.len();
        // the end of the last whole record
        let mut whole = None;
        loop {
            let size = block.buffer.len() - PADDING;
            if let Some(whole) = whole.filter(|_| eager || block.filled == size) {
                self.rest
                    .extend(block.buffer.get(whole..block.filled).unwrap_or_default());
                block.filled = whole;
                return Ok(true);
            }
            if block.filled == size {
                self.enlarge(block)?;
                continue;
            }
            let read = self.read(block.buffer.get_mut(block.filled..size).unwrap_or_default())?;
            if read == 0 {
                self.ended = true;
                self.must_be_whole()?;
                return Ok(block.filled > 0);
            }
            let new = block.filled..block.filled + read;
            let last = block
                .buffer
                .get(new.clone())
                .and_then(|new| new.iter().rposition(|byte| *byte == self.end));
            whole = last.map(|at| new.start + at + 1).or(whole);
            block.filled = new.end;
        }
    }

    /// Makes a block twice as large, because a record is longer than the block.
    fn enlarge(&self, block: &mut Block) -> Result {
        let size = 2 * (block.buffer.len() - PADDING);
        let more = size + PADDING - block.buffer.len();
        block.buffer.try_reserve_exact(more).map_err(|_| {
            let problem = format!(
                "cannot read {}: there is no memory for a record of {size} bytes",
                self.name
            );
            Failure::new(IO, problem)
        })?;
        block.buffer.resize(size + PADDING, 0);
        Ok(())
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        loop {
            match self.source.read(into) {
                Ok(read) => {
                    if let Some((_, position)) = &mut self.size {
                        *position += read as u64;
                    }
                    return Ok(read);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Failure::io(&format!("cannot read {}", self.name), &error))
                }
            }
        }
    }

    /// Fails if the file became shorter while it was read, so that a part was not. (A file of
    /// /sys has fewer bytes than its size from the beginning, and is whole.)
    fn must_be_whole(&self) -> Result {
        let Some((size, position)) = self.size else {
            return Ok(());
        };
        let now = self.file.metadata().map_or(size, |meta| meta.len());
        if position < size && now < size {
            let problem = format!(
                "cannot read {}: it became shorter meanwhile, {now} bytes instead of {size}",
                self.name
            );
            return Err(Failure::new(IO, problem));
        }
        Ok(())
    }
}

/// Copies bytes into a buffer that has room for them.
fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(room) = buffer.get_mut(at..at + bytes.len()) {
        room.copy_from_slice(bytes);
    }
}
