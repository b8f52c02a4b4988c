//! Lowers TOML 1.0 to the tree.
//!
//! The parser also reads TOML 1.1, and has its own limits of depth. So a scan of the bytes comes
//! first. It refuses syntax that TOML 1.0 does not have, so that every other TOML reader can read
//! the fleet too, and text that is nested deeper than `DEEPEST`. When both the scan and the parser
//! find a mistake, the one that is earlier in the text is reported.

use std::ops::Range;

use toml_edit::{Document, InlineTable, Item, Key, Table, TomlError, Value as Toml};

use super::tree::{shown, KeyedTree, Mistake, Tree, TreeValue, DEEPEST};

/// Reads a document.
pub(super) fn tree(text: &str) -> Result<Tree, Mistake> {
    let newer = match scan(text) {
        Scan::TooDeep(at) => {
            let problem = format!(
                "arrays, tables and dotted keys are nested more than {DEEPEST} \
                deep; a fleet needs 4"
            );
            return Err(Mistake::new(at, problem));
        }
        Scan::Passed(mistake) => mistake,
    };
    match Document::parse(text) {
        Err(error) => Err(mistake(text, &error).or_earlier(newer)),
        Ok(document) => match newer {
            Some(newer) => Err(newer),
            None => Ok(Tree {
                at: 0,
                value: TreeValue::Table(entries(text, document.as_table(), 0)),
            }),
        },
    }
}

/// Turns the parser's message into one line that also says what to do.
fn mistake(text: &str, error: &TomlError) -> Mistake {
    let span = error.span().unwrap_or(text.len()..text.len());
    let written = || shown(text.get(span.clone()).unwrap_or_default());
    let problem = match error.message() {
        "duplicate key" => format!("key `{}` is given twice; keep one", written()),
        // the text is not shown: it may be a secret without its quotes
        "integer number overflowed" | "floating-point number overflowed" => {
            "the number is too large; weights go up to 1000000, other numbers stay below 2^32, and \
             texts need quotes"
                .to_owned()
        }
        // the message names what TOML expects and never quotes the text
        message => format!(
            "not valid TOML: {}; correct it here",
            shown_message(message)
        ),
    };
    Mistake::new(span.start, problem)
}

fn shown_message(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The result of the scan before the parser.
enum Scan {
    /// The text is nested deeper than the parser should follow.
    TooDeep(usize),
    /// The text is shallow enough, but may have something that TOML 1.0 does not have.
    Passed(Option<Mistake>),
}

/// Walks over strings, comments and brackets. Text that is not TOML at all is left to the parser.
///
/// The depth of a place is the number of brackets around it plus the dots of the dotted keys that
/// lead there. The dot of a number counts as well; a number has at most one.
fn scan(text: &str) -> Scan {
    let bytes = text.as_bytes();
    let mut found = None;
    let mut note = |at, what: &str| {
        found.get_or_insert_with(|| {
            Mistake::new(
                at,
                format!("{what} is not allowed in TOML 1.0; write it in the older way"),
            )
        });
    };
    // the open brackets, each with the depth outside it
    let mut open: Vec<(u8, usize)> = Vec::new();
    // the depth inside the innermost bracket, and the dots since it or since the last comma or line
    // end
    let (mut base, mut dots) = (0, 0);
    let mut last = (b'\n', 0); // the last byte that is not white space, and its offset
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let here = at;
        at += 1;
        match byte {
            b'#' => {
                at = find(bytes, at, |b| b == b'\n');
                continue;
            }
            b'"' | b'\'' => {
                let escapes = byte == b'"';
                at = string_end(bytes, here, |at| {
                    if escapes && matches!(bytes.get(at), Some(b'e' | b'x')) {
                        note(at - 1, "the escape \\e or \\x");
                    }
                });
            }
            b'[' | b'{' => {
                open.push((byte, base));
                base += dots + 1;
                dots = 0;
            }
            b']' | b'}' => {
                if byte == b'}'
                    && last.0 == b','
                    && open.last().is_some_and(|(bracket, _)| *bracket == b'{')
                {
                    note(last.1, "a comma after the last value of an inline table");
                }
                base = open.pop().map_or(0, |(_, outside)| outside);
                dots = 0;
            }
            b'.' => dots += 1,
            b',' => dots = 0,
            b'\n' => {
                dots = 0;
                if open.last().is_some_and(|(bracket, _)| *bracket == b'{') {
                    note(here, "a line end inside an inline table");
                }
            }
            _ => {}
        }
        if base + dots > DEEPEST {
            return Scan::TooDeep(here);
        }
        if !byte.is_ascii_whitespace() {
            last = (byte, here);
        }
    }
    Scan::Passed(found)
}

fn find(bytes: &[u8], from: usize, what: impl Fn(u8) -> bool) -> usize {
    bytes[from..]
        .iter()
        .position(|b| what(*b))
        .map_or(bytes.len(), |n| from + n)
}

/// Returns the byte after the string that starts at `start`. Calls `escape` with the byte after
/// each backslash of a basic string.
fn string_end(bytes: &[u8], start: usize, mut escape: impl FnMut(usize)) -> usize {
    let quote = bytes[start];
    let long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => {
                escape(at + 1);
                at += 2;
                continue;
            }
            b'\n' if !long => return at, // never closed; the parser reports it
            _ if byte == quote && !long => return at + 1,
            _ if byte == quote && bytes[at..].starts_with(&[quote; 3]) => {
                // up to two quotes may come before the three that close the string
                let run = bytes[at..]
                    .iter()
                    .take(5)
                    .take_while(|b| **b == quote)
                    .count();
                return at + run;
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Lowers a table and restores the order of the text: the parser lists a table where its parent
/// first named it, even if its header comes later.
fn entries(text: &str, table: &Table, fallback: usize) -> Vec<KeyedTree> {
    let items = table
        .iter()
        .map(|(name, item)| (name, table.key(name), item));
    sorted(items.map(|(name, key, item)| {
        let at = start(key, fallback);
        KeyedTree {
            key: name.to_owned(),
            at,
            tree: lower_item(text, item, at),
        }
    }))
}

fn inline_entries(text: &str, table: &InlineTable, fallback: usize) -> Vec<KeyedTree> {
    sorted(table.iter().map(|(name, value)| {
        let at = start(table.key(name), fallback);
        KeyedTree {
            key: name.to_owned(),
            at,
            tree: lower(text, value, at),
        }
    }))
}

fn sorted(entries: impl Iterator<Item = KeyedTree>) -> Vec<KeyedTree> {
    let mut entries: Vec<KeyedTree> = entries.collect();
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn start(key: Option<&Key>, fallback: usize) -> usize {
    key.and_then(Key::span).map_or(fallback, |span| span.start)
}

fn lower_item(text: &str, item: &Item, fallback: usize) -> Tree {
    let at = item.span().map_or(fallback, |span| span.start);
    let value = match item {
        Item::Value(value) => return lower(text, value, fallback),
        Item::Table(table) => TreeValue::Table(entries(text, table, at)),
        Item::ArrayOfTables(tables) => TreeValue::Array(
            tables
                .iter()
                .map(|table| {
                    let at = table.span().map_or(at, |span| span.start);
                    Tree {
                        at,
                        value: TreeValue::Table(entries(text, table, at)),
                    }
                })
                .collect(),
        ),
        Item::None => TreeValue::Other("nothing"),
    };
    Tree { at, value }
}

fn lower(text: &str, value: &Toml, fallback: usize) -> Tree {
    let span = value.span();
    let at = span.clone().map_or(fallback, |span| span.start);
    let value = match value {
        Toml::String(string) => TreeValue::Text(string.value().clone()),
        Toml::Integer(_) | Toml::Float(_) => {
            TreeValue::Number(written(text, span).replace('_', ""))
        }
        Toml::Boolean(boolean) => TreeValue::Bool(*boolean.value()),
        Toml::Datetime(_) => TreeValue::Other("a date or time"),
        Toml::Array(array) => {
            TreeValue::Array(array.iter().map(|value| lower(text, value, at)).collect())
        }
        Toml::InlineTable(table) => TreeValue::Table(inline_entries(text, table, at)),
    };
    Tree { at, value }
}

fn written(text: &str, span: Option<Range<usize>>) -> &str {
    span.and_then(|span| text.get(span)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> (usize, String) {
        match tree(text) {
            Ok(_) => panic!("{text} is taken for TOML"),
            Err(mistake) => (mistake.at, mistake.problem),
        }
    }

    /// Collects `key@byte` for all keys, in the tree's order.
    fn keys(tree: &Tree, out: &mut Vec<String>) {
        match &tree.value {
            TreeValue::Table(entries) => {
                for entry in entries {
                    out.push(format!("{}@{}", entry.key, entry.at));
                    keys(&entry.tree, out);
                }
            }
            TreeValue::Array(items) => items.iter().for_each(|item| keys(item, out)),
            _ => {}
        }
    }

    #[test]
    fn numbers_keep_the_digits_that_were_written() {
        for number in [
            "1.50",
            "1e3",
            "-0",
            "+1",
            "0x10",
            "nan",
            "0.1000000000000000055511151231257827",
        ] {
            let Ok(Tree {
                value: TreeValue::Table(entries),
                ..
            }) = tree(&format!("a = {number} # x"))
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
    fn tables_stand_in_the_order_of_the_text_however_they_are_written() {
        let text = "a.b = 1\nc = { d = [{ e = 1 }] }\na.f = 1\n[[n]]\ng = 1\n[n.l]\nh = \
            1\n[[n]]\n[x.y]\n[x]\nz = 1\n";
        let mut found = Vec::new();
        let Ok(tree) = tree(text) else { panic!() };
        keys(&tree, &mut found);
        for key in &found {
            let (key, at) = key.split_once('@').unwrap();
            assert!(
                text[at.parse::<usize>().unwrap()..].starts_with(key),
                "{found:?}"
            );
        }
        let names: String = found.iter().map(|key| &key[..1]).collect();
        assert_eq!(names, "abfcdenglhxyz");
    }

    #[test]
    fn what_is_not_in_toml_1_0_is_refused() {
        for (text, at) in [
            ("a = {\nb = 1 }", 5),
            ("a = { b = 1, }", 11),
            ("a = { b = 1, # c\n}", 16),
            ("a = \"\\x41\"", 5),
            ("a = \"\"\"\\\\\\e\"\"\"", 9),
            ("\"\\e\" = 1", 1),
        ] {
            let (found, problem) = problem(text);
            assert_eq!(found, at, "{text}: {problem}");
            assert!(
                problem.contains("not allowed in TOML 1.0"),
                "{text}: {problem}"
            );
        }
        for text in [
            "a = { b = [\n1,\n], c = '\\x' }",
            "a = { b = \"\"\"\n\"\"\" }",
            "a = [1,]",
            "a = { } # {",
            "a = '''\n\\x {'''''\nb = \"\\\\x\"",
            "a = \"\"\"x\\\"\"\"\"\"\" # \"\n",
        ] {
            assert!(tree(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_toml_is_refused_in_one_line() {
        for (text, at, words) in [
            ("a = ", 4, "not valid TOML"),
            ("a = 1\na = 2\n", 6, "`a` is given twice"),
            ("[a]\n[a]\n", 5, "`a` is given twice"),
            ("a = { b = 1, b = 2 }", 13, "`b` is given twice"),
            ("a = \"x\nb = 1", 4, "string"),
            ("a = [1", 6, "not valid TOML"),
            ("a = 99999999999999999999", 4, "too large"),
            ("a = 1e999", 4, "too large"),
            ("a = .5", 4, "not valid TOML"),
            ("a = 5.", 4, "not valid TOML"),
            ("a = 1__0", 4, "not valid TOML"),
            ("a = 01", 4, "not valid TOML"),
            ("a = 'x' b = 1", 8, "not valid TOML"),
            ("a = \u{7}", 4, "not valid TOML"),
            ("\u{a0}a = 1", 0, "not valid TOML"),
        ] {
            let (found, problem) = problem(text);
            assert!(problem.contains(words), "{text}: {problem}");
            assert!(
                !problem.contains('\n') && problem.contains(';'),
                "{text}: {problem}"
            );
            assert!(found.abs_diff(at) <= 2, "{text}: {found}: {problem}");
        }
    }

    #[test]
    fn deep_nesting_ends_in_a_message_and_not_in_the_end_of_the_stack() {
        for (open, close) in [("[", "]"), ("{a=", "}"), ("{a.a=", "}"), ("[{a.a=", "}]")] {
            let deep = |n: usize| format!("a = {}1{}", open.repeat(n), close.repeat(n));
            assert!(tree(&deep(20)).is_ok(), "{open}");
            for text in [
                deep(65),
                deep(100_000),
                format!("a = {}", open.repeat(100_000)),
            ] {
                assert!(problem(&text).1.contains("more than 64 deep"), "{open}");
            }
        }
        for key in ["a.".repeat(100_000), "a . ".repeat(65)] {
            for text in [
                format!("{key}a = 1"),
                format!("[{key}a]"),
                format!("[[{key}a]]"),
                format!("x = {{ {key}a = 1 }}"),
            ] {
                assert!(problem(&text).1.contains("more than 64 deep"));
            }
        }
        // an array that is never closed is reported as such, however many dots follow it
        let text = format!("a = [\n{}", "[[node]]\nweight = 1.5\n".repeat(100));
        assert!(problem(&text).1.contains("not valid TOML"));
    }
}
