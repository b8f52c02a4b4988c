//! From keys to points: fills registers with blocks of messages, hashes them and takes the points.
//!
//! Keys of one block are hashed in groups, in their order. Longer ones are set aside, and hashed
//! block after block, each in a lane of its own.

use super::isa::{End, Isa, Rows, LANES_MAX};
use super::keys::Span;
use crate::point::Point;

/// The 16 words of a block, each for GROUPS registers of keys.
pub(super) type Message<I, const GROUPS: usize> = [[<I as Isa>::V; GROUPS]; 16];

/// A hash whose blocks have 64 bytes, and whose messages end with 0x80, zeros and their length in
/// bits.
pub(super) trait Rounds<I: Isa> {
    /// The state before the first block. A hash of four words ignores the fifth.
    const START: [u32; 5];
    /// Whether the words of messages and digests, and the length, are big-endian.
    const BIG_ENDIAN: bool;

    /// Adds a block to the state. The words from LIVE to 13 are 0; a hash may use that.
    fn block<const GROUPS: usize, const LIVE: usize>(
        isa: I,
        state: &mut [[I::V; GROUPS]; 5],
        message: &Message<I, GROUPS>,
    );
}

/// The longest key that is one block: 64 bytes less one byte 0x80 and eight of length.
pub(super) const LONGEST: usize = 55;
/// The longest key that is hashed in a lane. While a longer one is hashed, the other lanes would
/// have nothing to do.
pub(super) const LONGEST_IN_LANES: usize = 4096;
/// The bytes of a block.
const BLOCK: usize = 64;

/// Computes the points of keys: the first 8 bytes of their digests, big-endian. Returns the
/// positions of the keys that are longer than a block, which have no point yet, by writing them to
/// the start of `long`, and their number.
///
/// `spans` must lie inside `bytes`; there must be as many points and places in `long`.
#[inline(always)]
pub(super) fn short<I: Isa, R: Rounds<I>, const GROUPS: usize>(
    isa: I,
    bytes: &[u8],
    spans: &[Span],
    points: &mut [Point],
    long: &mut [u16],
) -> usize {
    let tail = Tail::of(bytes);
    let mut count = 0;
    let mut at = 0;
    let size = I::LANES * GROUPS;
    while at < spans.len() {
        let group = &spans[at..spans.len().min(at + size)];
        let mut longest = 0;
        for (i, span) in group.iter().enumerate() {
            let is_long = span.length > LONGEST;
            long[count] = (at + i) as u16;
            count += usize::from(is_long);
            longest = longest.max(if is_long { 0 } else { span.length });
        }
        let points = &mut points[at..];
        // in a block of few words the compiler drops the additions of zeros
        match longest {
            0..=15 => one_block::<I, R, GROUPS, 4>(isa, &tail, group, points),
            16..=31 => one_block::<I, R, GROUPS, 8>(isa, &tail, group, points),
            _ => one_block::<I, R, GROUPS, 14>(isa, &tail, group, points),
        }
        at += size;
    }
    count
}

/// Hashes up to GROUPS * LANES keys of fewer than 4 * LIVE bytes. What it makes of longer ones is
/// wrong.
#[inline(always)]
fn one_block<I: Isa, R: Rounds<I>, const GROUPS: usize, const LIVE: usize>(
    isa: I,
    bytes: &Tail<'_>,
    spans: &[Span],
    points: &mut [Point],
) {
    let zero = isa.splat(0);
    let mut message = [[zero; GROUPS]; 16];
    for group in 0..GROUPS {
        let spans = spans.get(group * I::LANES..).unwrap_or(&[]);
        let mut bits = [0; LANES_MAX];
        for (bits, span) in bits.iter_mut().zip(spans) {
            *bits = (span.length as u32) << 3;
        }
        let mut row = 0;
        while 4 * row < LIVE {
            let mut rows = Rows {
                bytes: [&[0; 16]; LANES_MAX],
                ends: [End::BEHIND; LANES_MAX],
            };
            for lane in 0..I::LANES {
                if let Some(span) = spans.get(lane) {
                    rows.bytes[lane] = bytes.row(span.start + 16 * row);
                    rows.ends[lane] = End::of(span.length, row);
                }
            }
            put::<I, R, GROUPS>(isa, &mut message, group, row, isa.words(&rows));
            row += 1;
        }
        message[14][group] = zero;
        message[15][group] = zero;
        message[if R::BIG_ENDIAN { 15 } else { 14 }][group] = isa.read(&bits);
    }
    let mut state = start::<I, R, GROUPS>(isa);
    R::block::<GROUPS, LIVE>(isa, &mut state, &message);
    let parts = points.chunks_mut(I::LANES).zip(spans.chunks(I::LANES));
    for (group, (points, spans)) in parts.enumerate() {
        take::<I, R>(isa, state[0][group], state[1][group], points, spans.len());
    }
}

/// Computes the points of keys of any length up to [`LONGEST_IN_LANES`], a block of each at a time.
#[inline(always)]
pub(super) fn long<I: Isa, R: Rounds<I>>(isa: I, keys: &[&[u8]], points: &mut [Point]) {
    let mut at = 0;
    while at < keys.len() {
        let keys = &keys[at..keys.len().min(at + I::LANES)];
        let mut state = start::<I, R, 1>(isa);
        let mut most = 0;
        for key in keys {
            most = most.max(blocks_of(key));
        }
        for number in 0..most {
            let mut blocks = [[0u8; BLOCK]; LANES_MAX];
            let mut active = [0u32; LANES_MAX];
            for (lane, key) in keys.iter().enumerate() {
                if number < blocks_of(key) {
                    active[lane] = u32::MAX;
                    fill(&mut blocks[lane], key, number, R::BIG_ENDIAN);
                }
            }
            let mut message = [[isa.splat(0); 1]; 16];
            for row in 0..4 {
                let mut rows = Rows {
                    bytes: [&[0; 16]; LANES_MAX],
                    ends: [End::BEHIND; LANES_MAX],
                };
                for (lane, block) in blocks.iter().enumerate() {
                    if let Some(bytes) = block[16 * row..].first_chunk() {
                        rows.bytes[lane] = bytes;
                        rows.ends[lane] = End::of(BLOCK, 0);
                    }
                }
                put::<I, R, 1>(isa, &mut message, 0, row, isa.words(&rows));
            }
            let before = state;
            R::block::<1, 16>(isa, &mut state, &message);
            let active = isa.read(&active);
            for (new, old) in state.iter_mut().zip(before) {
                new[0] = isa.choose(active, new[0], old[0]);
            }
        }
        take::<I, R>(isa, state[0][0], state[1][0], &mut points[at..], keys.len());
        at += I::LANES;
    }
}

/// The number of blocks of a message: its bytes, one byte 0x80, and eight of length.
#[inline(always)]
fn blocks_of(key: &[u8]) -> usize {
    (key.len() + 8) / BLOCK + 1
}

/// Writes block `number` of a key's message.
#[inline(always)]
fn fill(block: &mut [u8; BLOCK], key: &[u8], number: usize, big_endian: bool) {
    let rest = key.get(number * BLOCK..).unwrap_or(&[]);
    if let Some((whole, _)) = rest.split_first_chunk::<BLOCK>() {
        *block = *whole;
        return;
    }
    block[..rest.len()].copy_from_slice(rest);
    if number == key.len() / BLOCK {
        block[rest.len()] = 0x80;
    }
    if number + 1 == blocks_of(key) {
        let bits = (key.len() as u64) << 3;
        let bits = if big_endian {
            bits.to_be_bytes()
        } else {
            bits.to_le_bytes()
        };
        block[BLOCK - 8..].copy_from_slice(&bits);
    }
}

#[inline(always)]
fn start<I: Isa, R: Rounds<I>, const GROUPS: usize>(isa: I) -> [[I::V; GROUPS]; 5] {
    [
        [isa.splat(R::START[0]); GROUPS],
        [isa.splat(R::START[1]); GROUPS],
        [isa.splat(R::START[2]); GROUPS],
        [isa.splat(R::START[3]); GROUPS],
        [isa.splat(R::START[4]); GROUPS],
    ]
}

/// Puts the four words of a row in their places.
#[inline(always)]
fn put<I: Isa, R: Rounds<I>, const GROUPS: usize>(
    isa: I,
    message: &mut Message<I, GROUPS>,
    group: usize,
    row: usize,
    words: [I::V; 4],
) {
    let mut i = 0;
    while i < 4 {
        message[4 * row + i][group] = if R::BIG_ENDIAN {
            isa.swap_bytes(words[i])
        } else {
            words[i]
        };
        i += 1;
    }
}

/// Writes the points of the first `count` lanes: the first two words of their digests.
#[inline(always)]
fn take<I: Isa, R: Rounds<I>>(
    isa: I,
    first: I::V,
    second: I::V,
    points: &mut [Point],
    count: usize,
) {
    let (mut highs, mut lows) = ([0; LANES_MAX], [0; LANES_MAX]);
    isa.write(first, &mut highs);
    isa.write(second, &mut lows);
    for lane in 0..I::LANES.min(count) {
        let (high, low) = (u64::from(highs[lane]), u64::from(lows[lane]));
        points[lane] = Point(if R::BIG_ENDIAN {
            high << 32 | low
        } else {
            (low << 32 | high).swap_bytes()
        });
    }
}

/// A buffer, and a copy of its end with zeros behind, so that 64 bytes can be read from the start
/// of any key.
struct Tail<'a> {
    bytes: &'a [u8],
    /// where in the buffer the copy starts
    from: usize,
    copy: [u8; 2 * BLOCK],
}

impl<'a> Tail<'a> {
    #[inline(always)]
    fn of(bytes: &'a [u8]) -> Tail<'a> {
        let from = bytes.len().saturating_sub(BLOCK);
        let mut copy = [0; 2 * BLOCK];
        copy[..bytes.len() - from].copy_from_slice(&bytes[from..]);
        Tail { bytes, from, copy }
    }

    /// The 16 bytes at `start`, which is at most 48 bytes behind the end of the buffer.
    #[inline(always)]
    fn row(&self, start: usize) -> &[u8; 16] {
        let whole = self.bytes.get(start..).and_then(|rest| rest.first_chunk());
        match whole {
            Some(row) => row,
            None => self.copy[start - self.from..]
                .first_chunk()
                .unwrap_or(&[0; 16]),
        }
    }
}
