//! Finding the records of a block: where each one lies, without a copy.

use stead::Span;

/// The number of bytes that are looked at together.
const WIDTH: usize = 64;

/// Appends the places of the records at the beginning of `bytes`, until `spans` has `most` of them
/// or no record ends any more. Returns how many bytes they take, with their ends.
///
/// Each record ends with the byte `end`. If that is a newline, a carriage return before it belongs
/// to the end, too.
///
/// A search for the next end alone (`memchr`) takes 1.5 times as long for lines of 10 bytes, since
/// it begins anew after each of them.
pub fn split(bytes: &[u8], end: u8, most: usize, spans: &mut Vec<Span>) -> usize {
    let mut start = 0;
    let mut found = |at: usize| {
        if spans.len() >= most {
            return false;
        }
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let longer = end == b'\n' && at > start && before == Some(&b'\r');
        spans.push(Span {
            start,
            length: at - start - usize::from(longer),
        });
        start = at + 1;
        true
    };
    let chunks = bytes.chunks_exact(WIDTH);
    let rest = bytes.len() - chunks.remainder().len();
    for (number, chunk) in chunks.enumerate() {
        let mut ends = marks(chunk, end);
        while ends != 0 {
            if !found(number * WIDTH + ends.trailing_zeros() as usize) {
                return start;
            }
            ends &= ends - 1; // without the lowest bit
        }
    }
    for (at, byte) in bytes.iter().enumerate().skip(rest) {
        if *byte == end && !found(at) {
            break;
        }
    }
    start
}

/// A bit for each of the 64 bytes: whether it is `end`.
fn marks(bytes: &[u8], end: u8) -> u64 {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const LOW: u64 = 0x7f * EACH;
    // brings the lowest bits of the 8 bytes together in the top byte, that of the first byte lowest
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let ends = u64::from(end) * EACH;
    let words = bytes.chunks_exact(8).map(|word| {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        let other = word ^ ends; // 0 in each byte that is `end`
        let is_end = !(((other & LOW) + LOW) | other | LOW); // 0x80 there, and 0 elsewhere
        (is_end >> 7).wrapping_mul(GATHER) >> 56
    });
    (0..)
        .step_by(8)
        .zip(words)
        .fold(0, |marks, (shift, eight)| marks | eight << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random bytes of which many are ends, carriage returns and their neighbours.
    fn random(length: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut byte = || {
            // the constants of Knuth's MMIX
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match state >> 59 {
                0..=2 => b'\n',
                3..=5 => b'\r',
                6 => 0x0b,
                7 => 0x8a,
                8 => 0,
                9 => 0xff,
                _ => (state >> 40) as u8,
            }
        };
        (0..length).map(|_| byte()).collect()
    }

    /// The records of `bytes`, found byte by byte.
    fn plainly(bytes: &[u8], end: u8) -> (Vec<Vec<u8>>, usize) {
        let mut parts: Vec<&[u8]> = bytes.split(|byte| *byte == end).collect();
        let rest = parts.pop().unwrap_or_default().len();
        let line = |part: &[u8]| match part {
            [line @ .., b'\r'] if end == b'\n' => line.to_vec(),
            line => line.to_vec(),
        };
        (parts.into_iter().map(line).collect(), bytes.len() - rest)
    }

    #[test]
    fn the_records_are_those_of_a_search_byte_by_byte() {
        for length in (0..300).chain([1 << 16]) {
            let bytes = random(length, length as u64);
            for end in [b'\n', 0, 0xff] {
                let mut spans = Vec::new();
                let used = split(&bytes, end, usize::MAX, &mut spans);
                let found: Vec<Vec<u8>> = spans
                    .iter()
                    .map(|span| bytes[span.start..span.start + span.length].to_vec())
                    .collect();
                assert_eq!((found, used), plainly(&bytes, end), "{length} {end}");
            }
        }
    }

    #[test]
    fn the_next_call_goes_on_where_the_last_one_was_full() {
        let bytes = random(5000, 7);
        for most in [1, 2, 63, 64, 65, 1000] {
            let (mut found, mut from, mut spans) = (Vec::new(), 0, Vec::new());
            loop {
                spans.clear();
                let rest = &bytes[from..];
                from += split(rest, b'\n', most, &mut spans);
                assert!(spans.len() <= most);
                if spans.is_empty() {
                    break;
                }
                let record = |span: &Span| rest[span.start..span.start + span.length].to_vec();
                found.extend(spans.iter().map(record));
            }
            assert_eq!((found, from), plainly(&bytes, b'\n'), "{most}");
        }
    }
}
