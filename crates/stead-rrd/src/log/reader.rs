//! Reads records in order while others are added and old segments are trimmed. The iterator holds
//! only one segment at a time.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::books::Core;
use super::frame::{self, HEAD};
use super::promise::Record;
use super::segment::{damaged, Segment};

/// How many bytes are read at once.
const CHUNK: usize = 64 << 10;

pub(super) struct Records<'a> {
    log: &'a Core,
    /// The number of the next record to return, and of the newest one that is known to be written.
    next: u64,
    limit: u64,
    cursor: Option<Cursor>,
    ended: bool,
}

struct Cursor {
    segment: Arc<Segment>,
    /// The number of the first record of the next segment, as far as known.
    until: u64,
    /// The number of the record at `offset`.
    number: u64,
    offset: u64,
    /// The bytes of the file from `start` on.
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Records<'a> {
    pub fn new(log: &'a Core, after: u64) -> Records<'a> {
        Records {
            log,
            next: after.saturating_add(1),
            limit: 0,
            cursor: None,
            ended: false,
        }
    }

    /// Returns the record with the number `next`, which is written.
    fn record(&mut self) -> io::Result<Record> {
        if self
            .cursor
            .as_ref()
            .is_none_or(|cursor| self.next >= cursor.until)
        {
            let (segment, until) = self.log.locate(self.next)?;
            let (number, offset) = segment.near(self.next);
            self.cursor = Some(Cursor {
                segment,
                until,
                number,
                offset,
                start: 0,
                bytes: Vec::new(),
            });
        }
        let Some(cursor) = &mut self.cursor else {
            return Err(io::ErrorKind::NotFound.into());
        };
        loop {
            let (number, data) = cursor.record(self.log.id)?;
            if number == self.next {
                self.next += 1;
                return Ok((number, data));
            }
        }
    }
}

impl Cursor {
    fn record(&mut self, id: u64) -> io::Result<Record> {
        let left = self.segment.size.saturating_sub(self.offset);
        let length = frame::length(self.bytes(HEAD)?);
        let whole = length
            .filter(|length| *length <= left)
            .map(|length| frame::size(length as usize));
        let whole = whole.filter(|whole| *whole as u64 <= left);
        let Some(whole) = whole else {
            return Err(self.bad("its length is wrong"));
        };
        let number = self.number;
        let found = frame::parse(self.bytes(whole)?, id).filter(|frame| frame.number == number);
        let Some(data) = found.map(|frame| frame.data.to_vec()) else {
            return Err(self.bad("its checksum or number is wrong"));
        };
        self.number += 1;
        self.offset += whole as u64;
        Ok((number, data))
    }

    fn bad(&self, why: &str) -> io::Error {
        damaged(&self.segment.path, self.offset, self.number, why)
    }

    /// Returns this many bytes, starting at `offset`.
    fn bytes(&mut self, count: usize) -> io::Result<&[u8]> {
        // records are read in their order, so `offset` is never before `start`
        if self.offset + count as u64 > self.start + self.bytes.len() as u64 {
            let left = self.segment.size.saturating_sub(self.offset) as usize;
            if count > left {
                return Err(self.bad("the segment ends before it"));
            }
            self.bytes.resize(count.max(CHUNK).min(left), 0);
            self.start = self.offset;
            let read = self
                .segment
                .file
                .read_exact_at(&mut self.bytes, self.offset);
            if let Err(error) = read {
                self.bytes.clear();
                return Err(self.bad(&error.to_string()));
            }
        }
        let at = (self.offset - self.start) as usize;
        self.bytes
            .get(at..at + count)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Iterator for Records<'_> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.limit && !self.ended {
            self.limit = self.log.books().readable();
            if let Some(mut cursor) = self.cursor.take().filter(|_| self.next <= self.limit) {
                // the bytes that were read ahead may have been written since, and a later segment
                // may have been added
                cursor.bytes.clear();
                let now = self
                    .log
                    .locate(self.next)
                    .ok()
                    .filter(|(now, _)| Arc::ptr_eq(now, &cursor.segment));
                if let Some((_, until)) = now {
                    self.cursor = Some(Cursor { until, ..cursor });
                }
            }
            self.ended = self.next > self.limit;
        }
        if self.ended {
            return None;
        }
        let record = self.record();
        self.ended = record.is_err();
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::super::promise::{survives, Durability, Log};
    use super::super::{Durable, Size};
    use super::*;

    async fn read(size: Size, records: u64, length: usize) -> Vec<(u64, usize)> {
        let place = tempfile::tempdir().unwrap();
        let log = Durable::open(place.path(), size).unwrap();
        for number in 1..=records {
            let record = vec![number as u8; length];
            log.append(&record, Durability::Crash).unwrap();
        }
        survives(&log, records, Durability::Crash).await.unwrap();
        let found = log.read(0).map(|record| {
            let (number, data) = record.unwrap();
            assert!(data.iter().all(|byte| *byte == number as u8));
            (number, data.len())
        });
        found.collect()
    }

    #[tokio::test]
    async fn a_segment_is_read_in_chunks_and_to_its_last_byte() {
        let sync_every = std::time::Duration::from_millis(100);
        let large = Size {
            segment: 16 * CHUNK as u64,
            bound: 64 * CHUNK as u64,
            sync_every,
        };
        let records = 20 * CHUNK as u64 / 1000;
        let all: Vec<_> = (1..=records).map(|number| (number, 1000)).collect();
        assert_eq!(read(large, records, 1000).await, all);
        // one record fills a segment
        let small = Size {
            segment: 4096,
            bound: 1 << 20,
            sync_every,
        };
        let room = 4096 - frame::HEADER;
        let length = (1..room)
            .filter(|length| frame::size(*length) <= room)
            .max();
        let length = length.unwrap();
        assert_eq!(frame::size(length), room);
        let all: Vec<_> = (1..=5).map(|number| (number, length)).collect();
        assert_eq!(read(small, 5, length).await, all);
    }
}
