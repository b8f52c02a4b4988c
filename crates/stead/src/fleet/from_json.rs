//! JSON to the tree: RFC 8259 and nothing looser.
//!
//! The parser reads JSON with comments and more; all that is switched off. What it still lets pass (control characters in
//! strings, white space that is not JSON's) and what it cannot see in time (the depth) a scan of the bytes finds. Of what
//! both find, the earlier is reported.
#![forbid(unsafe_code)]

use std::collections::HashSet;

use jsonc_parser::ast::{Object, Value as Json};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{parse_to_ast, CollectOptions, CommentCollectionStrategy, ParseOptions};

use super::tree::{shown, Entry, Mistake, Tree, Value, DEEPEST};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const COLLECT: CollectOptions = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };

/// Reads one object.
pub(super) fn tree(text: &str) -> Result<Tree, Mistake> {
    let passed = match scan(text) {
        Scan::TooDeep(at) => {
            return Err(Mistake::new(at, format!("arrays and objects are nested more than {DEEPEST} deep; a fleet needs 4")))
        }
        Scan::Passed(mistake) => mistake,
    };
    match parse_to_ast(text, &COLLECT, &STRICT) {
        Err(error) => {
            let mistake = Mistake::new(error.range().start, format!("not valid JSON: {}", words(error.kind())));
            Err(mistake.or_earlier(passed))
        }
        Ok(parsed) => match (passed, parsed.value) {
            (Some(mistake), _) => Err(mistake),
            (None, Some(Json::Object(object))) => Ok(Tree { at: object.range.start, value: Value::Table(entries(object)?) }),
            (None, other) => {
                let at = other.map_or(0, |value| value.range().start);
                Err(Mistake::new(at, "not a fleet in JSON; write one object, like {\"name\": \"members\", \"node\": [...]}"))
            }
        },
    }
}

/// What the scan before the parser found.
enum Scan {
    /// Deeper than the parser should follow.
    TooDeep(usize),
    /// Shallow enough; perhaps with something that the parser lets pass.
    Passed(Option<Mistake>),
}

fn scan(text: &str) -> Scan {
    let mut found = None;
    let mut note = |at, problem: &str| {
        found.get_or_insert_with(|| Mistake::new(at, format!("not valid JSON: {problem}")));
    };
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                0..0x20 => note(at, "a control character stands in a string as it is; write it as \\u and 4 hex digits"),
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > DEEPEST {
                    return Scan::TooDeep(at);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            0..0x20 | 0x7f.. => note(at, "a character stands here that JSON allows in strings only; remove it"),
            _ => {}
        }
    }
    Scan::Passed(found)
}

/// What is wrong and what to do, for each thing that the parser can say.
fn words(kind: &ParseErrorKind) -> String {
    use ParseErrorKind as E;
    let words = match kind {
        E::CommentsNotAllowed | E::UnterminatedCommentBlock => "JSON has no comments; remove it, or write the fleet in TOML",
        E::TrailingCommasNotAllowed => "a comma stands behind the last value; remove it",
        E::SingleQuotedStringsNotAllowed => "strings stand in double quotes; write \"...\"",
        E::ExpectedStringObjectProperty => "a name without quotes; write it in double quotes",
        E::ExpectedComma => "a comma is missing here; add it",
        E::ExpectedColonAfterObjectKey => "a colon is missing behind the name; write \"name\": value",
        E::ExpectedObjectValue => "a value is missing behind the colon; add it",
        E::MultipleRootJsonValues => "something stands behind the end of the object; remove it",
        E::HexadecimalNumbersNotAllowed => "a hexadecimal number; write it in decimal",
        E::UnaryPlusNumbersNotAllowed => "a number with a plus sign; leave the sign out",
        E::BareDecimalPointNumbersNotAllowed => "a number starts or ends with its point; write digits on both sides",
        E::NonFiniteNumbersNotAllowed => "a number that is infinite or none; write a plain decimal number",
        E::ExpectedDigit | E::ExpectedDigitFollowingNegativeSign | E::ExpectedPlusMinusOrDigitInNumberLiteral => {
            "a number without its digits; write a plain decimal number"
        }
        E::UnterminatedObject => "this object is never closed; add }",
        E::UnterminatedArray => "this array is never closed; add ]",
        E::UnexpectedWord | E::UnexpectedToken => "an unexpected word or character; is it a string that needs double quotes?",
        E::UnexpectedTokenInObject => "objects hold \"name\": value pairs; write one here, or close the object with }",
        E::String(_) => "a string with a wrong escape or without its end; check its quotes and backslashes",
        // the rest are single punctuation marks out of place; the words hold nothing of the text
        other => return format!("{}; check the brackets and commas here", other.to_string().to_lowercase()),
    };
    words.to_owned()
}

/// Lowers an object; a name given twice is a mistake, as it is in TOML.
fn entries(object: Object) -> Result<Vec<Entry>, Mistake> {
    let mut seen = HashSet::with_capacity(object.properties.len());
    let mut entries = Vec::with_capacity(object.properties.len());
    for property in object.properties {
        let at = property.name.range().start;
        let key = property.name.into_string();
        if !seen.insert(key.clone()) {
            return Err(Mistake::new(at, format!("key `{}` is given twice; keep one", shown(&key))));
        }
        entries.push(Entry { key, at, tree: lower(property.value)? });
    }
    Ok(entries)
}

fn lower(value: Json) -> Result<Tree, Mistake> {
    let at = value.range().start;
    let value = match value {
        Json::StringLit(text) => Value::Text(text.value.into_owned()),
        Json::NumberLit(number) => Value::Number(number.value.to_owned()),
        Json::BooleanLit(_) => Value::Other("true or false"),
        Json::NullKeyword(_) => Value::Other("null"),
        Json::Array(array) => Value::Array(array.elements.into_iter().map(lower).collect::<Result<_, _>>()?),
        Json::Object(object) => Value::Table(entries(object)?),
    };
    Ok(Tree { at, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> (usize, String) {
        match tree(text) {
            Ok(_) => panic!("{text} is taken for JSON"),
            Err(mistake) => (mistake.at, mistake.problem),
        }
    }

    #[test]
    fn numbers_keep_the_digits_that_were_written() {
        for number in ["1.50", "1e3", "-0", "123456789012345678901234567890.10"] {
            let Ok(Tree { value: Value::Table(entries), .. }) = tree(&format!("{{\"a\": {number}}}")) else {
                panic!("{number}");
            };
            assert!(matches!(&entries[0].tree.value, Value::Number(raw) if raw == number), "{number}");
        }
    }

    #[test]
    fn what_is_looser_than_json_is_refused() {
        for (text, at, words) in [
            ("{\"a\": 1} // c", 9, "no comments"),
            ("/* c */ {}", 0, "no comments"),
            ("{\"a\": 1,}", 7, "behind the last value"),
            ("{\"a\": [1,]}", 8, "behind the last value"),
            ("{'a': 1}", 1, "double quotes"),
            ("{a: 1}", 1, "without quotes"),
            ("{1: 1}", 1, "without quotes"),
            ("{\"a\": 1 \"b\": 2}", 7, "comma is missing"),
            ("{\"a\": [1 2]}", 8, "comma is missing"),
            ("{\"a\": [1 [2]]}", 8, "comma is missing"),
            ("{\"a\" 1}", 5, "colon is missing"),
            ("{\"a\":}", 5, "close brace"),
            ("{\"a\":", 5, "value is missing"),
            ("{} {}", 3, "behind the end"),
            ("{\"a\": 0x10}", 6, "hexadecimal"),
            ("{\"a\": +1}", 6, "plus sign"),
            ("{\"a\": .5}", 6, "point"),
            ("{\"a\": 5.}", 6, "point"),
            ("{\"a\": 01}", 7, "comma is missing"),
            ("{\"a\": -}", 7, "without its digits"),
            ("{\"a\": 1e}", 8, "without its digits"),
            ("{\"a\": NaN}", 6, "word"),
            ("{\"a\": -Infinity}", 6, "infinite"),
            ("{\"a\": True}", 6, "word"),
            ("{\"a\": \"x}", 6, "without its end"),
            ("{\"a\": \"\\x41\"}", 7, "wrong escape"),
            ("{\"a\": \"\\ud800\"}", 7, "wrong escape"),
            ("{\"a\": \"\t\"}", 7, "control character"),
            ("{\"a\":\u{b}1}", 5, "in strings only"),
            ("{\"a\":\u{a0}1}", 5, "in strings only"),
            ("{", 0, "never closed"),
            ("{\"a\": [", 6, "never closed"),
            ("[1]", 0, "write one object"),
            ("3", 0, "write one object"),
            ("{\"a\": 1,, \"b\": 1}", 8, "pairs"),
            ("{\"a\": [1,,2]}", 9, "unexpected comma"),
            ("{\"a\": 1, \"b\": {\"c\": 1, \"\\u0063\": 2}}", 23, "`c` is given twice"),
        ] {
            let (found, problem) = problem(text);
            assert!(problem.contains(words), "{text}: {problem}");
            assert!(problem.contains(';') || problem.contains('?'), "{text}: {problem}");
            assert_eq!(found, at, "{text}: {problem}");
        }
    }

    #[test]
    fn of_two_mistakes_the_earlier_is_reported() {
        assert_eq!(problem("{\"a\": \"\t\", b: 1}").0, 7);
        assert_eq!(problem("{b: 1, \"a\": \"\t\"}").0, 1);
    }

    #[test]
    fn deep_nesting_ends_in_a_message_and_not_in_the_end_of_the_stack() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = |n: usize| format!("{{\"a\":{}1{}}}", open.repeat(n - 1), close.repeat(n - 1));
            assert!(tree(&deep(DEEPEST)).is_ok());
            for n in [DEEPEST + 1, 100_000] {
                assert!(problem(&deep(n)).1.contains("more than 64 deep"));
            }
            assert!(problem(&open.repeat(100_000)).1.contains("more than 64 deep"));
        }
    }
}
