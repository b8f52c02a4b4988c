//! Reads a fleet from a file or a text: checks size and encoding, chooses between TOML and JSON,
//! and adds lines to the mistakes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::draft::Draft;
use super::from_json;
use super::from_toml;
use super::model::Fleet;
use super::reader::Source;
use super::tree::{Lines, Stopped};
use crate::error::{Error, Result};

/// The largest fleet file, in bytes.
const LARGEST: usize = 64 << 20;

/// A text up to this size is read to its end, so that the mistake that is reported is the first of
/// the whole text. A larger one is read until there is a mistake.
const READ_TO_THE_END: usize = 64 << 10;

impl Fleet {
    /// Reads a fleet file, TOML or JSON, as docs/fleet.md describes it. If the fleet names a
    /// `secret_file`, it is read as well.
    ///
    /// Fails with [`Error::Io`] when the file cannot be read, and with [`Error::Fleet`] and a line
    /// when it breaks a rule. Fails with `Memory` or `MemoryLimit` when there is not enough memory
    /// for the text and what is read from it.
    pub fn read(path: impl AsRef<Path>) -> Result<Fleet> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        // the path may be a pipe, so the size is only known after reading
        File::open(path)
            .map_err(|source| Error::io("open", path, source))?
            .take(LARGEST as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| Error::io("read", path, source))?;
        parse_bytes(
            &bytes,
            &path.display().to_string(),
            path.parent().unwrap_or(Path::new("")),
        )
    }

    /// Reads the text of a fleet. `file` is its name in messages; a relative `secret_file` is read
    /// from the directory of `file`.
    ///
    /// Fails as [`Fleet::read`] does.
    pub fn parse(text: &str, file: &str) -> Result<Fleet> {
        Fleet::parse_bytes(text.as_bytes(), file)
    }

    /// Reads the text of a fleet as [`Fleet::parse`] does, from bytes that should be UTF-8.
    pub fn parse_bytes(bytes: &[u8], file: &str) -> Result<Fleet> {
        parse_bytes(
            bytes,
            file,
            Path::new(file).parent().unwrap_or(Path::new("")),
        )
    }
}

fn parse_bytes(bytes: &[u8], file: &str, directory: &Path) -> Result<Fleet> {
    check_size(bytes.len(), file)?;
    if let Some(what) = is_made_by_stead(bytes) {
        return Err(Error::Fleet {
            file: file.to_owned(),
            line: 1,
            problem: format!("this is {what}; give a fleet file, such as fleet.toml"),
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let byte = bytes.get(good.len()).copied().unwrap_or_default();
        let problem = format!("byte 0x{byte:02x} is not UTF-8; save the file as UTF-8");
        Error::Fleet {
            file: file.to_owned(),
            line: 1 + good.iter().filter(|b| **b == b'\n').count(),
            problem,
        }
    })?;
    parse_in(text, file, directory)
}

/// What a file is that stead made, and that is easily given in the place of a fleet.
fn is_made_by_stead(bytes: &[u8]) -> Option<&'static str> {
    match bytes.get(..4)? {
        b"\x89STD" => Some("a map"),
        b"\x89STP" => Some("a saved plan"),
        _ => None,
    }
}

fn check_size(size: usize, file: &str) -> Result<()> {
    if size <= LARGEST {
        return Ok(());
    }
    Err(Error::Fleet {
        file: file.to_owned(),
        line: 1,
        problem: "the file has more than 64 MiB, the maximum for a fleet; is it a fleet?"
            .to_owned(),
    })
}

fn parse_in(text: &str, file: &str, directory: &Path) -> Result<Fleet> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text)?;
    let wrong = |at: usize, problem: String| Error::Fleet {
        file: file.to_owned(),
        line: lines.line(at),
        problem,
    };
    if let Some(at) = text.bytes().position(|byte| byte == 0) {
        return Err(wrong(
            at,
            "a byte is zero, so this is not a text file; is it a fleet?".to_owned(),
        ));
    }
    let start = text.trim_start();
    if start.is_empty() {
        return Err(wrong(
            0,
            "the file is empty; write name = \"...\" and a [[node]]".to_owned(),
        ));
    }
    let json = file.ends_with(".json") || start.starts_with('{');
    let source = Source {
        file,
        directory,
        lines: &lines,
        json,
    };
    let begin = if json { text.len() - start.len() } else { 0 };
    let mut draft = Draft::new(&source, begin);
    let take = &mut |entry| draft.take(entry) || text.len() <= READ_TO_THE_END;
    let read = if json {
        from_json::read(text, take)
    } else {
        from_toml::read(text, take)
    };
    let (whole, _room) = read.map_err(|stopped| match stopped {
        Stopped::Mistake(mistake) => wrong(mistake.at, mistake.problem),
        Stopped::Memory(error) => error,
    })?;
    draft.finish(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, file: &str) -> String {
        Fleet::parse(text, file).unwrap_err().to_string()
    }

    #[test]
    fn json_is_known_by_its_name_or_by_its_first_character() {
        let json = "{\"name\": \"m\", \"node\": [{\"name\": \"a\"}]}";
        for text in [
            json.to_owned(),
            format!(" \r\n\t{json}\n"),
            format!("\u{feff}{json}"),
            format!("\u{feff}\n{json}"),
        ] {
            assert_eq!(Fleet::parse(&text, "f").unwrap().name, "m");
        }
        assert!(words("name = \"m\"", "f.json").starts_with("f.json:1: not valid JSON: "));
        assert!(words("name = ", "json").starts_with("json:1: not valid TOML: "));
        assert_eq!(
            Fleet::parse("name = \"m\"\nnode = [{ name = \"a\" }]", "f.JSON")
                .unwrap()
                .nodes
                .len(),
            1
        );
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once_and_line_ends_may_be_crlf() {
        let text = "\u{feff}name = \"m\"\r\n[[node]]\r\nname = \"a\"\r\nweight = x\r\n";
        assert!(words(text, "f").starts_with("f:4: "));
        assert_eq!(
            Fleet::parse(&text.replace('x', "2"), "f").unwrap().nodes[0].line,
            2
        );
    }

    #[test]
    fn what_is_missing_is_told_with_an_example() {
        let node = "name = 'm'\n[[node]]\nname = 'a'\n";
        for (text, expected) in [
            (
                "[[node]]\nname = 'a'\n".to_owned(),
                "in the fleet; add it, such as \"members\"",
            ),
            (
                "name = 'm'\n[[node]]\nweight = 1\n".to_owned(),
                "`name` is missing in [[node]]; add it, such as \"db1\"",
            ),
            (
                format!("{node}[[policy]]\nname = 'p'\n"),
                "`nodes` is missing in [[policy]]; add it, such as [\"db1\", \"db2\"]",
            ),
            (
                format!("{node}[[policy]]\nnodes = ['a']\n"),
                "`name` is missing in [[policy]]; add it, such as \"pair\"",
            ),
            (
                format!("{node}[[first]]\nkey = 'k'\n"),
                "`node` is missing in [[first]]; add it, such as \"db1\"",
            ),
            (
                format!("{node}[[first]]\nnode = 'a'\n"),
                "add one of them, such as the key \"justin\"",
            ),
            (
                format!("{node}[[pin]]\nnodes = ['a']\n"),
                "add one of them, such as the key \"justin\"",
            ),
            (
                format!("{node}[[pin]]\nkey = 'k'\n"),
                "add one of them, such as the nodes [\"db1\"]",
            ),
        ] {
            let words = words(&text, "f");
            assert!(words.ends_with(expected), "{words}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        for (text, file, expected) in [
            ("", "f", "f:1: the file is empty; "),
            (" \n\n", "f.json", "f.json:1: the file is empty; "),
            ("name = \"m\"\nx = \"\0\"", "f", "f:2: a byte is zero"),
            (
                "# only a comment",
                "f",
                "f:1: required key `name` is missing",
            ),
        ] {
            assert!(
                words(text, file).starts_with(expected),
                "{}",
                words(text, file)
            );
        }
        let large = " ".repeat(LARGEST + 1);
        assert!(words(&large, "f").starts_with("f:1: the file has more than 64 MiB"));
        assert!(words(&large[1..], "f").starts_with("f:1: the file is empty"));
    }
}
