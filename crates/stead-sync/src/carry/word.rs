//! Any bytes as one word of a journal.

/// Writes bytes without spaces, commas and control characters; `%` alone is the empty text.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'%' | b',' => text += &format!("%{byte:02x}"),
            b'!'..=b'~' => text.push(char::from(*byte)),
            _ => text += &format!("%{byte:02x}"),
        }
    }
    match text.is_empty() {
        true => "%".to_owned(),
        false => text,
    }
}

/// Reads what [`escaped`] has written; `None` when it is something else.
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    if text == "%" {
        return Some(Vec::new());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend(&rest.as_bytes()[..at]);
        bytes.push(u8::from_str_radix(rest.get(at + 1..at + 3)?, 16).ok()?);
        rest = &rest[at + 3..];
    }
    bytes.extend(rest.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_again_and_none_ends_a_word() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&all[..], b"", b"%", b"a b,c\n"] {
            let word = escaped(bytes);
            assert!(
                !word.is_empty() && !word.contains([' ', ',', '\n']),
                "{word}"
            );
            assert_eq!(unescaped(&word).as_deref(), Some(bytes));
        }
        assert_eq!(unescaped("%4"), None);
    }
}
