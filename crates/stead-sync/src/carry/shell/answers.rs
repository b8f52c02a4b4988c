//! The text in which a batch of keys goes to a command, and what the command says about them.
//!
//! ```text
//! to the command     frank              a key a line; a newline in a key is \n, a backslash is \\
//! from the command   75 frank           the code of a key; those that are not named have code 0
//! ```
//!
//! Where keys end with a zero byte, so do both texts, and nothing is escaped.

use std::collections::{HashMap, HashSet};

/// Writes a key with its end.
pub fn write_key(key: &[u8], end: u8, text: &mut Vec<u8>) {
    for byte in key {
        match byte {
            b'\\' if end != 0 => text.extend(b"\\\\"),
            b'\n' if end != 0 => text.extend(b"\\n"),
            byte => text.push(*byte),
        }
    }
    text.push(end);
}

/// Reads a key that was written without its end; `None` when it is none.
pub fn read_key(text: &[u8], end: u8) -> Option<Vec<u8>> {
    if end == 0 {
        return Some(text.to_vec());
    }
    let mut key = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        key.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                _ => return None,
            },
            byte => *byte,
        });
    }
    Some(key)
}

/// Reads what a command says about the keys of a batch. Returns the codes of those that it names.
///
/// Errors: what is wrong with the answer.
pub fn codes(answer: &[u8], keys: &[&[u8]], end: u8) -> Result<HashMap<Vec<u8>, i32>, String> {
    let told = |line: &[u8]| crate::carry::kind::told(line);
    let given: HashSet<&[u8]> = keys.iter().copied().collect();
    let mut codes = HashMap::new();
    for line in answer.split_inclusive(|byte| *byte == end) {
        let Some(line) = line.strip_suffix(&[end]) else {
            return Err(format!("its last answer {:?} has no end", told(line)));
        };
        let parsed = || {
            let (code, key) = line.split_at_checked(line.iter().position(|b| *b == b' ')?)?;
            let code: i32 = std::str::from_utf8(code).ok()?.parse().ok()?;
            Some((read_key(&key[1..], end)?, code))
        };
        match parsed() {
            Some((key, code)) if given.contains(&key[..]) => codes.insert(key, code),
            Some((key, _)) => {
                return Err(format!(
                    "it answers about {}, which it was not given",
                    told(&key)
                ))
            }
            None => return Err(format!("its answer {:?} is not `CODE KEY`", told(line))),
        };
    }
    Ok(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_comes_back_as_it_was() {
        for end in [0, b'\n'] {
            for key in [
                &b""[..],
                b"a b",
                b"a\nb\\n\\\\",
                b"\xff\r\t",
                b"\\",
                b"\n\n",
            ] {
                let mut text = Vec::new();
                write_key(key, end, &mut text);
                assert_eq!(text.pop(), Some(end));
                assert!(end == 0 || !text.contains(&b'\n'));
                assert_eq!(read_key(&text, end).as_deref(), Some(key));
            }
        }
        assert_eq!(read_key(b"a\\x", b'\n'), None);
        assert_eq!(read_key(b"a\\", b'\n'), None);
    }

    #[test]
    fn an_answer_names_keys_with_their_codes() {
        let keys = [&b"a b"[..], b"c\n", b"d"];
        let found = codes(b"75 a b\n0 c\\n\n", &keys, b'\n').unwrap();
        assert_eq!(found[&b"a b"[..]], 75);
        assert_eq!(found[&b"c\n"[..]], 0);
        assert_eq!(found.len(), 2);
        assert_eq!(codes(b"9 c\n\0", &keys, 0).unwrap()[&b"c\n"[..]], 9);
        assert!(codes(b"", &keys, b'\n').unwrap().is_empty());
        for (answer, part) in [
            (&b"1 x\n"[..], "was not given"),
            (b"1 d", "has no end"),
            (b"done\n", "is not `CODE KEY`"),
            (b"x d\n", "is not `CODE KEY`"),
            (b"1 c\\x\n", "is not `CODE KEY`"),
        ] {
            let line = codes(answer, &keys, b'\n').unwrap_err();
            assert!(line.contains(part), "{line}");
        }
    }
}
