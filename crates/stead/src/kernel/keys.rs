//! Many keys, without a copy of their bytes.

use std::ops::Range;

/// The number of keys that are taken at a time. Their points fill 8 KiB, which stay in the first
/// cache until they are looked up.
pub(crate) const BLOCK: usize = 1024;

/// Many keys, whose bytes stay where they are.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a>(Form<'a>);

/// Where keys lie.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'a> {
    Each(&'a [&'a [u8]]),
    /// every span lies inside the bytes
    Spans(&'a [u8], &'a [Span]),
}

/// A key in a buffer of many keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The position of its first byte.
    pub start: usize,
    /// The number of its bytes.
    pub length: usize,
}

impl<'a> Keys<'a> {
    /// Takes keys that lie anywhere in memory.
    pub fn each(keys: &'a [&'a [u8]]) -> Keys<'a> {
        Keys(Form::Each(keys))
    }

    /// Takes keys that lie in one buffer, such as the lines of a file or a column of strings. This
    /// is the quickest form. Spans may touch, overlap and leave gaps. Returns `None` if one is not
    /// inside the buffer.
    pub fn spans(bytes: &'a [u8], spans: &'a [Span]) -> Option<Keys<'a>> {
        // No buffer is longer than isize::MAX. So one of these four numbers has its first bit set
        // exactly where a span is not inside. The loop never leaves early, which makes it quicker.
        let numbers = spans.iter().fold(0, |numbers, &Span { start, length }| {
            let behind = bytes.len().wrapping_sub(start);
            numbers | start | behind | length | behind.wrapping_sub(length)
        });
        (numbers <= isize::MAX as usize).then_some(Keys(Form::Spans(bytes, spans)))
    }

    /// Returns how many keys there are.
    pub fn len(&self) -> usize {
        match self.0 {
            Form::Each(keys) => keys.len(),
            Form::Spans(_, spans) => spans.len(),
        }
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Yields the bytes of the keys, in their order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        (0..self.len()).map(move |i| self.get(i))
    }

    pub(super) fn form(self) -> Form<'a> {
        self.0
    }

    /// The key at a position; empty behind the last one.
    pub(super) fn get(self, i: usize) -> &'a [u8] {
        let key = match self.0 {
            Form::Each(keys) => keys.get(i).copied(),
            Form::Spans(bytes, spans) => spans
                .get(i)
                .and_then(|span| bytes.get(span.start..span.start + span.length)),
        };
        key.unwrap_or(&[])
    }

    /// Returns the keys at these positions, of which those behind the last key are left out.
    pub fn part(self, range: Range<usize>) -> Keys<'a> {
        let end = range.end.min(self.len());
        let range = range.start.min(end)..end;
        Keys(match self.0 {
            Form::Each(keys) => Form::Each(keys.get(range).unwrap_or(&[])),
            Form::Spans(bytes, spans) => Form::Spans(bytes, spans.get(range).unwrap_or(&[])),
        })
    }

    /// Yields parts of `size` keys, and a last one of the rest.
    pub(crate) fn parts(self, size: usize) -> impl Iterator<Item = Keys<'a>> {
        (0..self.len())
            .step_by(size)
            .map(move |start| self.part(start..start + size))
    }
}
