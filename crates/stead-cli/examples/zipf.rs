//! Writes a made-up log of accesses in which a few keys are hot, one key a line: `zipf KEYS
//! ACCESSES [SEED]`. Two runs write the same log.

#[path = "../../stead/tests/all/zipf/mod.rs"]
mod zipf;

use std::io::{self, Write};

use zipf::Zipf;

/// Lines are collected to this many bytes before they are written: as much as a pipe takes.
const BUFFER: usize = 64 << 10;

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(keys)), Some(Ok(accesses)), seed) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        eprintln!("usage: zipf KEYS ACCESSES [SEED]");
        std::process::exit(2);
    };
    let log = Zipf::new(keys as usize, seed.and_then(Result::ok).unwrap_or(1));
    let lines: Vec<String> = (0..keys as usize)
        .map(|rank| Zipf::key(rank) + "\n")
        .collect();
    let mut out = io::stdout().lock();
    let mut text = Vec::with_capacity(2 * BUFFER);
    for access in 0..accesses {
        text.extend_from_slice(lines[log.rank(access)].as_bytes());
        if text.len() >= BUFFER {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)
}
