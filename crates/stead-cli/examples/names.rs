//! Writes made-up user names, one a line, for benchmarks: `names COUNT [FIRST]`.
//!
//! Names are as long as real ones: their lengths are spread log-normally from 4 to 40 bytes, with a
//! mean of 9.8. A name depends only on its number, so two runs write the same names.

use std::io::{self, Write};

/// Names are collected to this many bytes before they are written: as much as a pipe takes.
const BUFFER: usize = 64 << 10;
/// The longest name.
const LONGEST: usize = 40;

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(count)), first) = (numbers.next(), numbers.next()) else {
        eprintln!("usage: names COUNT [FIRST]");
        std::process::exit(2);
    };
    let first = first.and_then(Result::ok).unwrap_or(0);
    let lengths = lengths();
    let mut out = io::stdout().lock();
    let mut text = Vec::with_capacity(BUFFER + LONGEST + 1);
    for number in first..first + count {
        append(&mut text, &lengths, number);
        if text.len() >= BUFFER {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)
}

/// Appends a name and a newline.
fn append(text: &mut Vec<u8>, lengths: &[u8; 4096], number: u64) {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzaeionrstl_0123456789aeionrstlaeionrstl";
    let mut random = mixed(number);
    let mut name = [b'\n'; LONGEST + 1];
    let length = usize::from(lengths[random as usize % lengths.len()]);
    for part in name[..length].chunks_mut(8) {
        random = mixed(random);
        let mut bits = random;
        for letter in part {
            *letter = LETTERS[bits as usize % 64];
            bits >>= 6;
        }
    }
    text.extend_from_slice(&name[..=length]);
}

/// The lengths of names, of which each is as likely as the others.
fn lengths() -> [u8; 4096] {
    let mut random = 0;
    std::array::from_fn(|_| {
        let mut uniform = || {
            random = mixed(random);
            (random >> 11) as f64 / (1u64 << 53) as f64
        };
        // the sum of 12 is as good as normal, with a mean of 6 and a deviation of 1
        let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        // exp(2.22) = 9.2; the deviation makes the mean of the lengths 9.8
        (2.22 + 0.35 * normal)
            .exp()
            .round()
            .clamp(4.0, LONGEST as f64) as u8
    })
}

/// The generator SplitMix64, whose numbers pass for random.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
