//! From keys to points: fills registers with blocks of messages, hashes them and takes the points.
//!
//! Keys of one block are hashed in groups, in their order. Longer ones are set aside, and hashed
//! block after block, each in a lane of its own.

use super::isa::{Isa, Message, Rounds, State, LANES_MAX};
use super::keys::Span;
use crate::point::Point;

/// The longest key that is one block: 64 bytes less one byte 0x80 and eight of length.
pub(super) const LONGEST: usize = 55;
/// The longest key that is hashed in a lane. While a longer one is hashed, the other lanes would
/// have nothing to do.
pub(super) const LONGEST_IN_LANES: usize = 4096;
/// The bytes of a block.
const BLOCK: usize = 64;
/// The most keys that are hashed at once.
const GROUP_MAX: usize = 2 * LANES_MAX;

/// Computes the points of keys: the first 8 bytes of their digests, big-endian. Keys that are
/// longer than a block get no point: their positions are written to the start of `long`, and their
/// number is returned.
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
    let mut count = 0;
    let size = I::LANES * GROUPS;
    let furthest = (bytes.len() as i64).wrapping_sub(BLOCK as i64);
    let groups = spans.chunks(size).zip(points.chunks_mut(size));
    for (number, (spans, points)) in groups.enumerate() {
        let copy;
        // bits that tell of all keys at once: a length, a length that is too much for a block, and
        // a start behind which there are fewer than 64 bytes
        let (mut lengths, mut over, mut behind) = (0, 0, 0);
        let (mut bytes, mut spans) = (bytes, spans);
        if spans.len() == size {
            for span in &spans[..size] {
                lengths |= span.length;
                over |= span.length + (BLOCK - 1 - LONGEST);
                behind |= furthest.wrapping_sub(span.start as i64);
            }
        }
        if over >= BLOCK || behind < 0 || spans.len() < size {
            lengths = 0;
            for (i, span) in spans.iter().enumerate() {
                if span.length > LONGEST {
                    long[count] = (number * size + i) as u16;
                    count += 1;
                } else {
                    lengths |= span.length;
                }
            }
            if behind < 0 || spans.len() < size {
                copy = spaced(bytes, spans);
                (bytes, spans) = (copy.0.as_flattened(), &copy.1[..]);
            }
        }
        one_block::<I, R, GROUPS>(isa, bytes, spans, lengths, points);
    }
    count
}

/// Copies the keys of the last groups, of which some have fewer than 64 bytes behind their start.
#[inline(never)]
fn spaced(bytes: &[u8], spans: &[Span]) -> ([[u8; BLOCK]; GROUP_MAX], [Span; GROUP_MAX]) {
    let mut slots = [[0; BLOCK]; GROUP_MAX];
    let mut spaced = [Span::default(); GROUP_MAX];
    for (i, span) in spans.iter().enumerate() {
        spaced[i] = Span {
            start: i * BLOCK,
            length: span.length,
        };
        if span.length <= LONGEST {
            slots[i][..span.length].copy_from_slice(&bytes[span.start..][..span.length]);
        }
    }
    (slots, spaced)
}

/// Hashes LANES * GROUPS keys, behind the starts of which the buffer has at least 64 bytes. Where
/// `lengths` has no bit from 16 on, no key is longer than 15 bytes, and so on. What it makes of
/// keys longer than a block is wrong.
#[inline(always)]
fn one_block<I: Isa, R: Rounds<I>, const GROUPS: usize>(
    isa: I,
    bytes: &[u8],
    spans: &[Span],
    lengths: usize,
    points: &mut [Point],
) {
    let mut message = [[isa.splat(0); GROUPS]; 16];
    for (group, spans) in spans.chunks_exact(I::LANES).take(GROUPS).enumerate() {
        let words = &mut message;
        put::<I, R, GROUPS>(isa, words, group, 0, isa.words(bytes, spans, 0));
        if lengths >= 16 {
            put::<I, R, GROUPS>(isa, words, group, 1, isa.words(bytes, spans, 1));
        }
        if lengths >= 32 {
            put::<I, R, GROUPS>(isa, words, group, 2, isa.words(bytes, spans, 2));
            put::<I, R, GROUPS>(isa, words, group, 3, isa.words(bytes, spans, 3));
        }
        let mut bits = [0; LANES_MAX];
        for (bits, span) in bits.iter_mut().zip(spans) {
            *bits = (span.length as u32) << 3;
        }
        let (length, other) = if R::BIG_ENDIAN { (15, 14) } else { (14, 15) };
        words[length][group] = isa.read(&bits);
        words[other][group] = isa.splat(0);
    }
    let mut state = start::<I, R, GROUPS>(isa);
    isa.block::<R, GROUPS>(&mut state, &message);
    for (group, points) in points.chunks_mut(I::LANES).enumerate() {
        take::<I, R>(isa, state[0][group], state[1][group], points);
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
            let mut spans = [Span::default(); LANES_MAX];
            let mut active = [0u32; LANES_MAX];
            for (lane, span) in spans.iter_mut().enumerate() {
                span.start = lane * BLOCK;
                span.length = BLOCK;
            }
            for (lane, key) in keys.iter().enumerate() {
                if number < blocks_of(key) {
                    active[lane] = u32::MAX;
                    fill(&mut blocks[lane], key, number, R::BIG_ENDIAN);
                }
            }
            let bytes = blocks.as_flattened();
            let mut message = [[isa.splat(0); 1]; 16];
            for row in 0..4 {
                put::<I, R, 1>(isa, &mut message, 0, row, isa.words(bytes, &spans, row));
            }
            let before = state;
            isa.block::<R, 1>(&mut state, &message);
            let active = isa.read(&active);
            for (new, old) in state.iter_mut().zip(before) {
                new[0] = isa.choose(active, new[0], old[0]);
            }
        }
        take::<I, R>(
            isa,
            state[0][0],
            state[1][0],
            &mut points[at..at + keys.len()],
        );
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
fn start<I: Isa, R: Rounds<I>, const GROUPS: usize>(isa: I) -> State<I, GROUPS> {
    [
        [isa.splat(R::START[0]); GROUPS],
        [isa.splat(R::START[1]); GROUPS],
        [isa.splat(R::START[2]); GROUPS],
        [isa.splat(R::START[3]); GROUPS],
        [isa.splat(R::START[4]); GROUPS],
    ]
}

/// Stores the four words of a row where they belong in a block.
#[inline(always)]
fn put<I: Isa, R: Rounds<I>, const GROUPS: usize>(
    isa: I,
    words: &mut Message<I, GROUPS>,
    group: usize,
    row: usize,
    four: [I::V; 4],
) {
    let [a, b, c, d] = four;
    words[4 * row][group] = word::<I, R>(isa, a);
    words[4 * row + 1][group] = word::<I, R>(isa, b);
    words[4 * row + 2][group] = word::<I, R>(isa, c);
    words[4 * row + 3][group] = word::<I, R>(isa, d);
}

/// A word as the hash wants it.
#[inline(always)]
fn word<I: Isa, R: Rounds<I>>(isa: I, word: I::V) -> I::V {
    if R::BIG_ENDIAN {
        isa.swap_bytes(word)
    } else {
        word
    }
}

/// Writes the points of the first lanes: the first two words of their digests.
#[inline(always)]
fn take<I: Isa, R: Rounds<I>>(isa: I, first: I::V, second: I::V, points: &mut [Point]) {
    let (mut highs, mut lows) = ([0; LANES_MAX], [0; LANES_MAX]);
    isa.write(first, &mut highs);
    isa.write(second, &mut lows);
    for ((point, high), low) in points.iter_mut().zip(highs).zip(lows) {
        let (high, low) = (u64::from(high), u64::from(low));
        *point = Point(if R::BIG_ENDIAN {
            high << 32 | low
        } else {
            (low << 32 | high).swap_bytes()
        });
    }
}
