//! The Rust worker of `make bench`: it times stead and the hash rings of crates.io on the same
//! keys. benches/peers/workers.py describes what it reads and answers.
//!
//! ```text
//! peers KEYS     (started by benches/peers/run.py)
//! ```

mod candidates;

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, Write};

use candidates::{Built, Keys};

fn main() {
    let path = std::env::args().nth(1).expect("usage: peers KEYS");
    let text: &'static str = fs::read_to_string(path).expect("a file of keys").leak();
    let keys = Keys::of(text);
    let mut built: HashMap<String, Built> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let line = line.expect("standard input is text");
        let answer = answer(&keys, &mut built, &line.split('\t').collect::<Vec<_>>());
        println!("{}", answer.unwrap_or_else(|why| format!("no\t{why}")));
        io::stdout().flush().expect("somebody reads the answers");
    }
}

fn answer(
    keys: &Keys,
    built: &mut HashMap<String, Built>,
    words: &[&str],
) -> Result<String, String> {
    let find = |built: &HashMap<String, Built>, name: &str| {
        built.contains_key(name).then_some(()).ok_or("not built")
    };
    match *words {
        ["build", name, states] => {
            built.remove(name);
            let start = spent();
            let made = candidates::build(name, states)?;
            let taken = spent() - start;
            built.insert(name.to_owned(), made);
            Ok(format!("ok\t{taken}"))
        }
        ["time", name, first, count] => {
            find(built, name)?;
            let part = keys.part(number(first)?, number(count)?)?;
            let start = spent();
            (built[name].pass)(&part);
            Ok(format!("ok\t{}", spent() - start))
        }
        ["place", name, count, file] => {
            find(built, name)?;
            let part = keys.part(0, number(count)?)?;
            let owner = &built[name].owner;
            let lines: String = part.texts.iter().map(|key| owner(key) + "\n").collect();
            fs::write(file, lines).map_err(|error| error.to_string())?;
            Ok("ok".to_owned())
        }
        ["copies", name, count, file] => {
            find(built, name)?;
            let part = keys.part(0, number(count)?)?;
            let copies = built[name].copies.as_ref().ok_or("no call for it")?;
            let lines: String = part
                .texts
                .iter()
                .map(|key| copies(key).join(" ") + "\n")
                .collect();
            fs::write(file, lines).map_err(|error| error.to_string())?;
            Ok("ok".to_owned())
        }
        ["version", name] => Ok(format!("ok\t{}", candidates::version(name)?)),
        _ => Err("an unknown command".to_owned()),
    }
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("not a number: {word}"))
}

/// Returns the nanoseconds of CPU time that this process has used.
fn spent() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists on Linux, and there is a place for the time.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
