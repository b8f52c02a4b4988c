//! Lowers JSON to the tree: RFC 8259 and nothing looser.
//!
//! Two parsers read the text. serde_json checks the grammar, because it accepts JSON and nothing
//! else; but it keeps neither the offsets of values nor the digits of numbers. jsonc-parser keeps
//! both but accepts more than JSON, so it only reads texts that passed serde_json. (From version
//! 0.28 on it can be strict itself, but needs a newer compiler than our MSRV.)

use std::collections::HashSet;

use jsonc_parser::ast::{Object, Value as Json};
use jsonc_parser::common::Ranged;
use jsonc_parser::{parse_to_ast, CollectOptions, CommentCollectionStrategy, ParseOptions};
use serde::de::IgnoredAny;

use super::need;
use super::tree::{shown, KeyedTree, Mistake, Stopped, Tree, TreeValue, DEEPEST};
use crate::memory;

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
};

const COLLECT: CollectOptions = CollectOptions {
    comments: CommentCollectionStrategy::Off,
    tokens: false,
};

/// The most values of an array or an object: a pin more than there may be.
const MOST: usize = 1_000_001;

/// Reads one object.
pub(super) fn tree(text: &str) -> Result<Tree, Stopped> {
    memory::room(need::of_json(text.len(), scan(text)?))?;
    Ok(read(text)?)
}

fn read(text: &str) -> Result<Tree, Mistake> {
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
        let at = offset(text, error.line(), error.column());
        Mistake::new(at, format!("not valid JSON: {}", words(&error)))
    })?;
    let parsed = parse_to_ast(text, &COLLECT, &STRICT).map_err(|error| {
        // half a surrogate pair is the only mistake that serde_json's check lets pass
        Mistake::new(
            error.range().start,
            "not valid JSON: a string has a wrong escape; check its backslashes",
        )
    })?;
    match parsed.value {
        Some(Json::Object(object)) => Ok(Tree {
            at: object.range.start,
            value: TreeValue::Table(entries(object)?),
        }),
        other => {
            let at = other.map_or(0, |value| value.range().start);
            Err(Mistake::new(
                at,
                "not a fleet in JSON; write one object, like \
                {\"name\": \"members\", \"node\": [...]}",
            ))
        }
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
                let Some(commas) = open.last_mut() else {
                    continue; // the parser reports it
                };
                *commas += 1;
                if *commas > MOST {
                    let problem =
                        format!("an array or object of more than {MOST} values; is this a fleet?");
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
fn entries(object: Object) -> Result<Vec<KeyedTree>, Mistake> {
    let mut seen = HashSet::with_capacity(object.properties.len());
    let mut entries = Vec::with_capacity(object.properties.len());
    for property in object.properties {
        let at = property.name.range().start;
        let key = property.name.into_string();
        if !seen.insert(key.clone()) {
            return Err(Mistake::new(
                at,
                format!("key `{}` is given twice; keep one", shown(&key)),
            ));
        }
        entries.push(KeyedTree {
            key,
            at,
            tree: lower(property.value)?,
        });
    }
    Ok(entries)
}

fn lower(value: Json) -> Result<Tree, Mistake> {
    let at = value.range().start;
    let value = match value {
        Json::StringLit(text) => TreeValue::Text(text.value.into_owned()),
        Json::NumberLit(number) => TreeValue::Number(number.value.to_owned()),
        Json::BooleanLit(boolean) => TreeValue::Bool(boolean.value),
        Json::NullKeyword(_) => TreeValue::Other("null"),
        Json::Array(array) => TreeValue::Array(
            array
                .elements
                .into_iter()
                .map(lower)
                .collect::<Result<_, _>>()?,
        ),
        Json::Object(object) => TreeValue::Table(entries(object)?),
    };
    Ok(Tree { at, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Result<Tree, Mistake> {
        super::tree(text).map_err(Stopped::mistake)
    }

    #[test]
    fn what_no_fleet_has_is_refused_before_it_is_parsed() {
        let text = format!("{{\"spread\": [{}0]}}", "0,".repeat(1_000_002));
        let mistake = tree(&text).err().unwrap();
        assert_eq!(mistake.at, 12 + 2 * 1_000_001 + 1);
        assert!(mistake.problem.contains("more than 1000001 values"));
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
            ("{\"a\": \"\\ud800\"}", "backslashes"),
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
