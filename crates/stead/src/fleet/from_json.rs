//! Lowers JSON to trees: RFC 8259 and nothing looser.
//!
//! Two parsers read the text. serde_json checks the grammar, because it accepts JSON and nothing
//! else; but it keeps neither the offsets of values nor the digits of numbers. jsonc-parser keeps
//! both but accepts more than JSON, so it only reads texts that passed serde_json. (From version
//! 0.28 on it can be strict itself, but needs a newer compiler than our MSRV.)
//!
//! jsonc-parser takes no surrogate pairs, with which `json.dumps` of Python writes every character
//! above U+FFFF. So it gets a text in which each pair is the character itself.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use jsonc_parser::ast::{Object, Value as Json};
use jsonc_parser::common::Ranged;
use jsonc_parser::{parse_to_ast, CollectOptions, CommentCollectionStrategy, ParseOptions};
use serde::de::IgnoredAny;

use super::need;
use super::tree::{shown, KeyedTree, Mistake, Stopped, Take, Tree, TreeValue, DEEPEST, LISTS};
use crate::memory::{self, Room};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
};

const COLLECT: CollectOptions = CollectOptions {
    comments: CommentCollectionStrategy::Off,
    tokens: false,
};

/// The most values of a list of the fleet: a pin more than there may be.
const MOST_TABLES: usize = 1_000_001;

/// How many values of a list are taken at once.
const PART: usize = 256;

/// The most values of another array of the fleet: its labels.
const MOST_OTHERS: usize = 1_000;

/// The most values of any other array or object: the nodes of a policy.
const MOST: usize = 65_536;

/// Reads one object. Returns whether all of it was taken, and holds memory for what is made of it.
///
/// The parser gets the values of a list in parts, so that what it builds is never large.
pub(super) fn read(text: &str, take: &mut Take) -> Result<(bool, Room), Stopped> {
    let room = memory::room(need::of_json(text.len(), scan(text)?))?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        let at = offset(text, error.line(), error.column());
        Mistake::new(at, format!("not valid JSON: {}", words(&error)))
    })?;
    Ok((members(text, take)?, room))
}

/// Reads the members of the object that a valid text is.
fn members(text: &str, take: &mut Take) -> Result<bool, Mistake> {
    let start = text.len() - text.trim_start().len();
    if text.as_bytes().get(start) != Some(&b'{') {
        return Err(Mistake::new(
            start,
            "not a fleet in JSON; write one object, like \
             {\"name\": \"members\", \"node\": [...]}",
        ));
    }
    let mut names = HashSet::new();
    for member in Values::inside(text, start) {
        let (key, at, value) = named(text, member)?;
        if !names.insert(key.clone()) {
            return Err(twice(at, &key));
        }
        let is_list = text.as_bytes().get(value.start) == Some(&b'[');
        let whole = if is_list {
            list(text, &key, at, value.start, take)?
        } else {
            let tree = parsed(text, value)?;
            take(KeyedTree { key, at, tree })
        };
        if !whole {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the values of a list, some at a time.
fn list(text: &str, key: &str, at: usize, start: usize, take: &mut Take) -> Result<bool, Mistake> {
    let mut part = |trees: Vec<Tree>| {
        let value = TreeValue::Array(trees);
        let tree = Tree { at: start, value };
        let key = key.to_owned();
        take(KeyedTree { key, at, tree })
    };
    let is_in_parts = LISTS.contains(&key);
    let mut trees = Vec::new();
    for value in Values::inside(text, start) {
        if !is_in_parts && trees.len() == MOST_OTHERS {
            let problem = format!(
                "{} is an array of more than {MOST_OTHERS} values; is this a fleet?",
                shown(key)
            );
            return Err(Mistake::new(value.start, problem));
        }
        trees.push(parsed(text, value)?);
        if is_in_parts && trees.len() == PART && !part(std::mem::take(&mut trees)) {
            return Ok(false);
        }
    }
    Ok(part(trees))
}

/// Returns the name of a member, where it is, and where the value is.
fn named(text: &str, member: Range<usize>) -> Result<(String, usize, Range<usize>), Mistake> {
    let at = member.start;
    let piece = text.get(member.clone()).unwrap_or_default();
    // the closing quote is the first one that no backslash escapes
    let mut escaped = false;
    let quote = piece.bytes().skip(1).position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    let end = at + quote.map_or(piece.len(), |place| place + 2);
    let TreeValue::Text(key) = parsed(text, at..end)?.value else {
        return Err(Mistake::new(
            at,
            "not valid JSON: a name is no string; quote it",
        ));
    };
    let rest = text.get(end..member.end).unwrap_or_default();
    let value = rest.trim_start().strip_prefix(':').unwrap_or_default();
    Ok((key, at, member.end - value.trim_start().len()..member.end))
}

/// Parses a value that is valid JSON.
fn parsed(text: &str, value: Range<usize>) -> Result<Tree, Mistake> {
    let start = value.start;
    let piece = Piece::of(text.get(value).unwrap_or_default(), start)?;
    // serde_json's check and `Piece::of` let nothing wrong pass
    let wrong = |at: usize| {
        Mistake::new(
            piece.at(at),
            "not valid JSON: a string has a wrong escape; check its backslashes",
        )
    };
    let parsed = parse_to_ast(&piece.text, &COLLECT, &STRICT);
    let value = parsed.map_err(|error| wrong(error.range().start))?.value;
    lower(value.ok_or_else(|| wrong(0))?, &piece)
}

/// A part of the text in which each surrogate pair is the character that it means.
struct Piece<'a> {
    text: Cow<'a, str>,
    /// where it starts in the whole text
    start: usize,
    /// where the characters end that were pairs
    ends: Vec<usize>,
}

/// How many bytes a surrogate pair, such as `\ud83d\ude00`, is longer than its character.
const LONGER: usize = 12 - 4;

impl Piece<'_> {
    /// Replaces the pairs of a valid text. Half of a pair is a mistake, which serde_json's check
    /// lets pass.
    fn of(text: &str, start: usize) -> Result<Piece<'_>, Mistake> {
        let (mut joined, mut ends) = (String::new(), Vec::new());
        // what is before `from` is in `joined`; only strings have backslashes
        let (mut from, mut at) = (0, 0);
        while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
            let escape = at + found;
            at = escape + 2; // behind a backslash that stands for itself, too
            let Some(unit) = unit(text, escape).filter(|unit| (0xd800..0xe000).contains(unit))
            else {
                continue;
            };
            let units = std::iter::once(unit).chain(self::unit(text, escape + 6));
            let Some(Ok(character)) = char::decode_utf16(units).next() else {
                let written = text.get(escape..escape + 6).unwrap_or_default();
                let problem = format!(
                    "not valid JSON: the escape {written} is half of a surrogate pair; write both \
                     halves, such as \\ud83d\\ude00, or the character itself"
                );
                return Err(Mistake::new(start + escape, problem));
            };
            if ends.is_empty() {
                joined.reserve(text.len()); // a text can be large, and the list doubles otherwise
            }
            joined.push_str(text.get(from..escape).unwrap_or_default());
            joined.push(character);
            ends.push(joined.len());
            at = escape + 12;
            from = at;
        }
        let text = match ends.is_empty() {
            true => Cow::Borrowed(text),
            false => {
                joined.push_str(text.get(from..).unwrap_or_default());
                Cow::Owned(joined)
            }
        };
        Ok(Piece { text, start, ends })
    }

    /// Returns where a byte stands in the whole text.
    fn at(&self, place: usize) -> usize {
        let pairs = self.ends.partition_point(|end| *end <= place);
        self.start + place + LONGER * pairs
    }
}

/// Returns the number of an escape such as `\ud83d` that starts at this byte.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

fn twice(at: usize, key: &str) -> Mistake {
    let problem = format!("key `{}` is given twice; keep one", shown(key));
    Mistake::new(at, problem)
}

/// The places of the values of an array or of the members of an object, in a text that is valid.
struct Values<'a> {
    text: &'a str,
    at: usize,
}

impl Values<'_> {
    /// Begins behind the bracket that is at this byte.
    fn inside(text: &str, bracket: usize) -> Values<'_> {
        Values {
            text,
            at: bracket + 1,
        }
    }
}

impl Iterator for Values<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.at..)?;
        let start = self.at + rest.len() - rest.trim_start().len();
        let (mut depth, mut in_string, mut escaped) = (0, false, false);
        for (at, byte) in self.text.bytes().enumerate().skip(start) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => {}
                b'[' | b'{' => depth += 1,
                b',' | b']' | b'}' if depth == 0 => {
                    let is_last = byte != b',';
                    self.at = if is_last { self.text.len() } else { at + 1 };
                    return (at > start || !is_last).then_some(start..at);
                }
                b']' | b'}' => depth -= 1,
                _ => {}
            }
        }
        None
    }
}

/// Refuses what a parser should not follow: too deep a nesting, and more values side by side than
/// any fleet has, which would take many times the memory of the text. Returns how many commas,
/// colons and open brackets there are: a text has at most one value, or name, more.
fn scan(text: &str) -> Result<usize, Mistake> {
    let (mut in_string, mut escaped) = (false, false);
    let mut values = 0;
    // the commas in each open bracket
    let mut open: Vec<usize> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        values += usize::from(!in_string && matches!(byte, b',' | b':' | b'[' | b'{'));
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                open.push(0);
                if open.len() > DEEPEST {
                    let problem = format!(
                        "arrays and objects are nested more than {DEEPEST} deep; a fleet needs 4"
                    );
                    return Err(Mistake::new(at, problem));
                }
            }
            b']' | b'}' if !in_string => {
                open.pop();
            }
            b',' if !in_string => {
                let most = if open.len() == 2 { MOST_TABLES } else { MOST };
                let Some(commas) = open.last_mut() else {
                    continue; // the parser reports it
                };
                *commas += 1;
                // there is one value more than commas
                if *commas >= most {
                    let problem =
                        format!("an array or object of more than {most} values; is this a fleet?");
                    return Err(Mistake::new(at, problem));
                }
            }
            _ => {}
        }
    }
    Ok(values)
}

/// Converts a line and a column in bytes, both from 1, to an offset. Column 0 is the end of the
/// line before.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    (start + column).saturating_sub(1).min(text.len())
}

/// Says what is wrong and what to do. The parser's message never quotes the text, which may contain
/// a secret.
fn words(error: &serde_json::Error) -> String {
    let all = error.to_string();
    let what = all.split(" at line ").next().unwrap_or_default();
    let advice = match what {
        "trailing comma" => "remove it",
        "key must be a string" => {
            "write names in double quotes, no comma before }; JSON has no comments"
        }
        "expected `:`" => "write \"name\": value",
        "trailing characters" => "a fleet is one object, remove what comes after it",
        "invalid number" => "write a plain decimal number",
        "invalid escape" => "check the backslashes of this string",
        _ if what.starts_with("EOF") => "something is not closed, add its quote, ] or }",
        _ if what.starts_with("control character") => "write it as \\u and 4 hex digits",
        _ => "check the commas, brackets and quotes here; JSON has no comments",
    };
    format!("{what}; {advice}")
}

/// Lowers an object. A name that occurs twice is a mistake, as in TOML.
fn entries(object: Object, piece: &Piece) -> Result<Vec<KeyedTree>, Mistake> {
    let mut seen = HashSet::with_capacity(object.properties.len());
    let mut entries = Vec::with_capacity(object.properties.len());
    for property in object.properties {
        let at = piece.at(property.name.range().start);
        let key = property.name.into_string();
        if !seen.insert(key.clone()) {
            return Err(twice(at, &key));
        }
        entries.push(KeyedTree {
            key,
            at,
            tree: lower(property.value, piece)?,
        });
    }
    Ok(entries)
}

/// Lowers a value of a piece.
fn lower(value: Json, piece: &Piece) -> Result<Tree, Mistake> {
    let at = piece.at(value.range().start);
    let value = match value {
        Json::StringLit(text) => TreeValue::Text(text.value.into_owned()),
        Json::NumberLit(number) => TreeValue::Number(number.value.to_owned()),
        Json::BooleanLit(boolean) => TreeValue::Bool(boolean.value),
        Json::NullKeyword(_) => TreeValue::Other("null"),
        Json::Array(array) => {
            let trees = array.elements.into_iter().map(|value| lower(value, piece));
            TreeValue::Array(trees.collect::<Result<_, _>>()?)
        }
        Json::Object(object) => TreeValue::Table(entries(object, piece)?),
    };
    Ok(Tree { at, value })
}

#[cfg(test)]
mod tests {
    use super::super::tree::collected;
    use super::*;

    fn tree(text: &str) -> Result<Tree, Mistake> {
        let value = TreeValue::Table(collected(|take| Ok(read(text, take)?.0))?);
        Ok(Tree { at: 0, value })
    }

    #[test]
    fn what_no_fleet_has_is_refused_before_it_is_parsed() {
        for (text, at, words) in [
            (
                format!("{{\"spread\": [{}0]}}", "0,".repeat(1_000_002)),
                12 + 2 * 1_000_000 + 1,
                "more than 1000001 values",
            ),
            (
                format!("{{\"spread\": [{}0]}}", "0,".repeat(1_000)),
                12 + 2 * 1_000,
                "more than 1000 values",
            ),
            (
                format!("{{\"node\": [[{}0]]}}", "0,".repeat(65_537)),
                11 + 2 * 65_535 + 1,
                "more than 65536 values",
            ),
        ] {
            let mistake = tree(&text).err().unwrap();
            assert_eq!(mistake.at, at, "{words}");
            assert!(mistake.problem.contains(words), "{}", mistake.problem);
        }
    }

    #[test]
    fn a_list_comes_in_parts_and_nothing_after_a_mistake() {
        let nodes: Vec<String> = (0..1000)
            .map(|n| format!("{{\"n, ]\\\"\": {n}}}"))
            .collect();
        let text = format!(
            " {{\"a\" : 1,\n\"node\":[ {} ] , \"b\":[]}} ",
            nodes.join(" , ")
        );
        let (mut parts, mut tables) = (0, 0);
        let whole = read(&text, &mut |entry| {
            assert!(text[entry.at..].starts_with(&format!("\"{}\"", entry.key)));
            if let TreeValue::Array(trees) = entry.tree.value {
                parts += 1;
                tables += trees.len();
                assert!(trees.iter().all(|tree| text[tree.at..].starts_with('{')));
            }
            true
        });
        assert!(matches!(whole, Ok((true, _))));
        assert_eq!((parts, tables), (1000_usize.div_ceil(PART) + 1, 1000));
        let mut parts = 0;
        let whole = read(&text, &mut |_| {
            parts += 1;
            parts < 2
        });
        assert!(matches!(whole, Ok((false, _))));
        assert_eq!(parts, 2);
    }

    fn problem(text: &str) -> (usize, String) {
        match tree(text) {
            Ok(_) => panic!("{text} is taken for JSON"),
            Err(mistake) => (mistake.at, mistake.problem),
        }
    }

    #[test]
    fn numbers_keep_the_digits_that_were_written() {
        for number in ["1.50", "1e3", "-0", "123456789012345678901234567890.10"] {
            let Ok(Tree {
                value: TreeValue::Table(entries),
                ..
            }) = tree(&format!("{{\"a\": {number}}}"))
            else {
                panic!("{number}");
            };
            assert!(
                matches!(&entries[0].tree.value, TreeValue::Number(raw) if raw == number),
                "{number}"
            );
        }
    }

    #[test]
    fn what_is_looser_than_json_is_refused() {
        for (text, words) in [
            ("{\"a\": 1} // c", "trailing characters"),
            ("/* c */ {}", "expected value"),
            ("{\"a\": 1,}", "no comma before"),
            ("{\"a\": [1,]}", "check the commas"),
            ("{'a': 1}", "double quotes"),
            ("{a: 1}", "double quotes"),
            ("{1: 1}", "double quotes"),
            ("{\"a\": 1 \"b\": 2}", "expected `,`"),
            ("{\"a\": [1 2]}", "expected `,`"),
            ("{\"a\" 1}", "\"name\": value"),
            ("{\"a\":}", "expected value"),
            ("{\"a\":", "not closed"),
            ("{} {}", "remove what comes after"),
            ("{\"a\": 0x10}", "expected `,`"),
            ("{\"a\": +1}", "expected value"),
            ("{\"a\": .5}", "expected value"),
            ("{\"a\": 5.}", "plain decimal number"),
            ("{\"a\": 01}", "plain decimal number"),
            ("{\"a\": -}", "plain decimal number"),
            ("{\"a\": 1e}", "plain decimal number"),
            ("{\"a\": NaN}", "expected"),
            ("{\"a\": -Infinity}", "plain decimal number"),
            ("{\"a\": True}", "expected"),
            ("{\"a\": \"x}", "not closed"),
            ("{\"a\": \"\\x41\"}", "backslashes"),
            ("{\"a\": \"\\ud800\"}", "the escape \\ud800 is half"),
            ("{\"a\": \"\\ud800\\ud800\"}", "\\ud800 is half"),
            ("{\"a\": \"\\uDC00\\uD800\"}", "\\uDC00 is half"),
            ("{\"a\": \"\\ud800\\\\udc00\"}", "\\ud800 is half"),
            ("{\"\\ud800xdc00\": 1}", "\\ud800 is half"),
            ("{\"a\": \"\\ud800é\"}", "\\ud800 is half"),
            ("{\"a\": \"\t\"}", "4 hex digits"),
            ("{\"a\":\u{b}1}", "expected value"),
            ("{\"a\":\u{a0}1}", "expected value"),
            ("{", "not closed"),
            ("[1]", "write one object"),
            ("3", "write one object"),
            (
                "{\"a\": 1, \"b\": {\"c\": 1, \"\\u0063\": 2}}",
                "`c` is given twice",
            ),
        ] {
            let (_, problem) = problem(text);
            assert!(problem.contains(words), "{text}: {problem}");
            assert!(problem.contains(';'), "{text}: {problem}");
        }
    }

    #[test]
    fn a_mistake_is_placed_in_its_line() {
        assert_eq!(problem("{\"a\": 1,\n\"b\" 2}").0, 13);
        assert_eq!(problem("{\n\"a\": \"\t\"}").0, 7);
        // behind pairs, which are shorter where they are parsed
        let pairs = r#"{"a": ["\ud83d\ude00", "\ud83d\ude00\ud83d\ude00", "#;
        for (wrong, from) in [
            (r#"{"b": 1, "b": 2}]}"#, r#""b": 2}]}"#),
            (r#"{"b": 1, "c": "\ude00"}]}"#, r#"\ude00"}]}"#),
        ] {
            let text = format!("{pairs}{wrong}");
            let (at, words) = problem(&text);
            assert_eq!(text.get(at..), Some(from), "{words}");
        }
    }

    #[test]
    fn values_stand_where_they_are_written_also_behind_surrogate_pairs() {
        let text =
            r#"{"a": {"\ud83d\ude00": "\ud83c\udf0d\\\ud834\uDD1E", "b": [10, "\\ud83d", 20]}}"#;
        let Ok(Tree {
            value: TreeValue::Table(entries),
            ..
        }) = tree(text)
        else {
            panic!("{text} is JSON");
        };
        let TreeValue::Table(inside) = &entries[0].tree.value else {
            panic!("a is an object");
        };
        let [pair, b] = &inside[..] else {
            panic!("a has two members");
        };
        assert!(text[pair.at..].starts_with(r#""\ud83d\ude00": "#));
        assert!(text[pair.tree.at..].starts_with(r#""\ud83c"#));
        assert_eq!(pair.key, "😀");
        assert!(matches!(&pair.tree.value, TreeValue::Text(text) if text == "🌍\\𝄞"));
        assert!(text[b.at..].starts_with(r#""b""#));
        let TreeValue::Array(items) = &b.tree.value else {
            panic!("b is an array");
        };
        assert!(text[items[0].at..].starts_with("10"));
        assert!(matches!(&items[1].value, TreeValue::Text(text) if text == r"\ud83d"));
        assert!(text[items[2].at..].starts_with("20"));
    }

    #[test]
    fn deep_nesting_ends_in_a_message_and_not_in_the_end_of_the_stack() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep =
                |n: usize| format!("{{\"a\":{}1{}}}", open.repeat(n - 1), close.repeat(n - 1));
            assert!(tree(&deep(DEEPEST)).is_ok());
            for n in [DEEPEST + 1, 100_000] {
                assert!(problem(&deep(n)).1.contains("more than 64 deep"));
            }
            assert!(problem(&open.repeat(100_000))
                .1
                .contains("more than 64 deep"));
        }
    }
}
