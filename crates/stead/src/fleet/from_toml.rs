//! Lowers TOML 1.0 to trees.
//!
//! The parser also reads TOML 1.1, and has its own limits of depth. So a scan of the bytes comes
//! first. It refuses syntax that TOML 1.0 does not have, so that every other TOML reader can read
//! the fleet too, and text that is nested deeper than `DEEPEST`. When both the scan and the parser
//! find a mistake, the one that is earlier in the text is reported.
//!
//! The parser gets a large text in blocks. The rules see the entries of a block before the parser
//! gets the next one.

use std::collections::HashMap;
use std::ops::Range;

use toml_edit::{Document, InlineTable, Item, Key, Table, TomlError, Value as Toml};

use super::need;
use super::toml_blocks::{Block, Outline};
use super::tree::{shown, KeyedTree, Mistake, Stopped, Take, Tree, TreeValue, DEEPEST};
use crate::memory::{self, Room};

/// What a scan of a text finds out.
struct Scanned<'a> {
    /// the text, or what is before a mistake behind which nothing is read
    text: &'a str,
    /// the first thing that TOML 1.0 does not have, or that mistake
    wrong: Option<Mistake>,
    /// the parts of a large text
    blocks: Vec<Block<'a>>,
    /// the tokens of the blocks
    tokens: usize,
}

/// Reads a document. Returns whether all of it was taken, and holds memory for what is made of it.
pub(super) fn read(text: &str, take: &mut Take) -> Result<(bool, Room), Stopped> {
    let scanning = memory::room(need::of_toml_scan(text.len()))?;
    let Scanned {
        text,
        wrong,
        blocks,
        tokens,
    } = scan(text)?;
    let at_once = blocks.iter().map(|block| block.tokens).max();
    let at_once = at_once.unwrap_or(tokens);
    drop(scanning);
    let room = memory::room(need::of_toml(text.len(), tokens, at_once))?;
    let Some(wrong) = wrong else {
        return Ok((parts(text, &blocks, take)?, room));
    };
    // the rules see nothing of such a text
    let read = parts(text, &blocks, &mut |_| true);
    Err(read
        .err()
        .map_or(wrong.clone(), |mistake| mistake.or_earlier(Some(wrong)))
        .into())
}

fn parts(text: &str, blocks: &[Block], take: &mut Take) -> Result<bool, Mistake> {
    match blocks {
        [] => in_blocks(&[Block::whole(text)], take),
        blocks => in_blocks(blocks, take),
    }
}

/// Reads blocks one after the other. Only a list of tables can have parts in several blocks.
fn in_blocks(blocks: &[Block], take: &mut Take) -> Result<bool, Mistake> {
    let mut known: HashMap<String, bool> = HashMap::new();
    for block in blocks {
        let document = Document::parse(&*block.text).map_err(|error| mistake(block, &error))?;
        let table = document.as_table();
        let mut go_on = true;
        for entry in entries(block, table, block.at(0)) {
            let is_list = table.get(&entry.key).is_some_and(Item::is_array_of_tables);
            let before = known.insert(entry.key.clone(), is_list);
            if before.is_some_and(|before| !before || !is_list) {
                let problem = format!(
                    "`{}` is there in two places; in a file of more than 64 KiB, write it in one",
                    shown(&entry.key)
                );
                return Err(Mistake::new(entry.at, problem));
            }
            go_on = take(entry);
        }
        if !go_on {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Turns the parser's message into one line that also says what to do.
fn mistake(block: &Block, error: &TomlError) -> Mistake {
    let text = &*block.text;
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
    Mistake::new(block.at(span.start), problem)
}

fn shown_message(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Walks over strings, comments and brackets. Text that is not TOML at all is left to the parser.
///
/// The depth of a place is the number of brackets around it plus the dots of the dotted keys that
/// lead there. The dot of a number counts as well; a number has at most one.
///
/// A text that is nested too deep, or contains too much, is an error.
fn scan(text: &str) -> Result<Scanned<'_>, Mistake> {
    let bytes = text.as_bytes();
    let mut outline = Outline::new(text);
    let mut wrong = None;
    let mut note = |at, what: &str| {
        wrong.get_or_insert_with(|| {
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
    let mut end = bytes.len();
    while let Some(&byte) = bytes.get(at) {
        let here = at;
        // to read on behind this would take memory for nothing: the text can be full of them
        if open.is_empty() && outline.begins_line() && is_long(bytes, here) {
            end = here;
            break;
        }
        at += 1;
        if byte != b'#' {
            outline.take(byte, here, open.len())?;
        }
        match byte {
            b'#' => {
                outline.comment();
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
            let problem = format!(
                "arrays, tables and dotted keys are nested more than {DEEPEST} \
                deep; a fleet needs 4"
            );
            return Err(Mistake::new(here, problem));
        }
        if !byte.is_ascii_whitespace() {
            last = (byte, here);
        }
    }
    if end < bytes.len() {
        outline.cut(end);
        wrong.get_or_insert_with(|| {
            let problem = "not valid TOML: a string of several lines is no key; correct it here";
            Mistake::new(end, problem.to_owned())
        });
    }
    outline.end();
    Ok(Scanned {
        text: text.get(..end).unwrap_or_default(),
        wrong,
        tokens: outline.tokens(),
        blocks: outline.blocks(),
    })
}

fn find(bytes: &[u8], from: usize, what: impl Fn(u8) -> bool) -> usize {
    bytes[from..]
        .iter()
        .position(|b| what(*b))
        .map_or(bytes.len(), |n| from + n)
}

/// Whether a string of several lines starts here.
fn is_long(bytes: &[u8], at: usize) -> bool {
    let quotes = bytes.get(at..at + 3);
    quotes == Some(b"\"\"\"".as_slice()) || quotes == Some(b"'''".as_slice())
}

/// Returns the byte after the string that starts at `start`. Calls `escape` with the byte after
/// each backslash of a basic string.
fn string_end(bytes: &[u8], start: usize, mut escape: impl FnMut(usize)) -> usize {
    let quote = bytes[start];
    let long = is_long(bytes, start);
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
fn entries(block: &Block, table: &Table, fallback: usize) -> Vec<KeyedTree> {
    let items = table
        .iter()
        .map(|(name, item)| (name, table.key(name), item));
    sorted(items.map(|(name, key, item)| {
        let at = start(block, key, fallback);
        KeyedTree {
            key: name.to_owned(),
            at,
            tree: lower_item(block, item, at),
        }
    }))
}

fn inline_entries(block: &Block, table: &InlineTable, fallback: usize) -> Vec<KeyedTree> {
    sorted(table.iter().map(|(name, value)| {
        let at = start(block, table.key(name), fallback);
        KeyedTree {
            key: name.to_owned(),
            at,
            tree: lower(block, value, at),
        }
    }))
}

fn sorted(entries: impl Iterator<Item = KeyedTree>) -> Vec<KeyedTree> {
    let mut entries: Vec<KeyedTree> = entries.collect();
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn start(block: &Block, key: Option<&Key>, fallback: usize) -> usize {
    key.and_then(Key::span)
        .map_or(fallback, |span| block.at(span.start))
}

fn lower_item(block: &Block, item: &Item, fallback: usize) -> Tree {
    let at = item.span().map_or(fallback, |span| block.at(span.start));
    let value = match item {
        Item::Value(value) => return lower(block, value, fallback),
        Item::Table(table) => TreeValue::Table(entries(block, table, at)),
        Item::ArrayOfTables(tables) => TreeValue::Array(
            tables
                .iter()
                .map(|table| {
                    let at = table.span().map_or(at, |span| block.at(span.start));
                    Tree {
                        at,
                        value: TreeValue::Table(entries(block, table, at)),
                    }
                })
                .collect(),
        ),
        Item::None => TreeValue::Other("nothing"),
    };
    Tree { at, value }
}

fn lower(block: &Block, value: &Toml, fallback: usize) -> Tree {
    let span = value.span();
    let at = span.clone().map_or(fallback, |span| block.at(span.start));
    let value = match value {
        Toml::String(string) => TreeValue::Text(string.value().clone()),
        Toml::Integer(_) | Toml::Float(_) => {
            TreeValue::Number(written(block, span).replace('_', ""))
        }
        Toml::Boolean(boolean) => TreeValue::Bool(*boolean.value()),
        Toml::Datetime(_) => TreeValue::Other("a date or time"),
        Toml::Array(array) => {
            TreeValue::Array(array.iter().map(|value| lower(block, value, at)).collect())
        }
        Toml::InlineTable(table) => TreeValue::Table(inline_entries(block, table, at)),
    };
    Tree { at, value }
}

fn written<'b>(block: &'b Block, span: Option<Range<usize>>) -> &'b str {
    span.and_then(|span| block.text.get(span))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::model::Fleet;
    use super::super::tree::collected;
    use super::*;

    fn tree(text: &str) -> Result<Tree, Mistake> {
        let value = TreeValue::Table(collected(|take| Ok(read(text, take)?.0))?);
        Ok(Tree { at: 0, value })
    }

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
    fn blocks_give_the_same_tree_as_the_whole() {
        fn shown(tree: &[KeyedTree], out: &mut String) {
            for KeyedTree { key, at, tree } in tree {
                *out += &format!("{key}@{at}:");
                value(tree, out);
            }
        }
        fn value(tree: &Tree, out: &mut String) {
            *out += &format!("{} ", tree.at);
            match &tree.value {
                TreeValue::Text(text) | TreeValue::Number(text) => *out += text,
                TreeValue::Array(items) => items.iter().for_each(|item| value(item, out)),
                TreeValue::Table(entries) => shown(entries, out),
                TreeValue::Bool(is) => *out += &is.to_string(),
                TreeValue::Other(what) => *out += what,
            }
        }
        let node = |n: usize| {
            format!(
                "[[ node ]] # {n}\nname = 'n{n}'\nweight = {n}.5\ntext = '''\n[[x]]\n'''\n\
                 [node.labels]\nzone = \"z\\\"[[y]]\"\nlist = [\n[1],\n# [[z]]\n2]\n"
            )
        };
        let nodes: String = (0..4000).map(node).collect();
        let comments = "# nothing [[n]]\n\n".repeat(3000);
        let pins: String = (0..20_000)
            .map(|n| format!("[[pin]]\nkey = 'k{n}'\n"))
            .collect();
        let head = "name = 'm'\n[guard]\nmove = '5%'\n";
        let whole = |text: &str| {
            let block = [Block::whole(text)];
            collected(|take| Ok(in_blocks(&block, take)?))
        };
        for text in [
            format!("{head}{comments}{nodes}{pins}"),
            format!("{comments}{head}{nodes}{comments}{pins}{comments}"),
            format!("{head}{comments}{comments}a = 1\n"),
            format!("name = 'm'\n{nodes}{pins}[guard]\nmove = 1\n"),
        ] {
            assert!(!scan(&text).ok().unwrap().blocks.is_empty());
            let TreeValue::Table(read) = tree(&text).ok().unwrap().value else {
                panic!()
            };
            let (mut one, mut other) = (String::new(), String::new());
            shown(&whole(&text).ok().unwrap(), &mut one);
            shown(&read, &mut other);
            assert!(one == other, "{}", &text[..40]);
        }
        // a mistake has its place, in whichever block it is
        for wrong in [
            "[[pin]]\nkey = \n",
            "[[pin]]\nkey = 1\nkey = 2\n",
            "[[pin]]\n[node]\n",
            "name = 1",
        ] {
            let text = format!("{head}{comments}{nodes}{wrong}{pins}");
            let expected = whole(&text).err().unwrap();
            let found = problem(&text);
            assert!(found.0.abs_diff(expected.at) < 2, "{wrong}: {}", found.1);
        }
        // only the whole text tells whose these are
        for (wrong, line, words) in [
            ("[node.more]\na = 1\n", "[node.more]", "[[node]]"),
            ("[guard.more]\na = 1\n", "guard.more]", "two places"),
        ] {
            let text = format!("{head}{nodes}{pins}{wrong}");
            let (at, problem) = problem(&text);
            assert!(text[at..].starts_with(line), "{at}: {problem}");
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn nothing_is_read_after_the_block_of_a_mistake() {
        let node = |n: usize| format!("[[node]]\nname = 'n{n}'\n");
        let text: String = (0..40_000).map(node).collect();
        let mut taken = 0;
        let read = read(&text, &mut |entry| {
            let TreeValue::Array(tables) = entry.tree.value else {
                panic!()
            };
            taken += tables.len();
            taken < 1000
        });
        assert!(matches!(read, Ok((false, _))));
        assert!((1000..3000).contains(&taken), "{taken}");
    }

    #[test]
    fn a_large_text_is_read_no_further_than_to_the_second_pin_of_a_key() {
        for list in ["pin", "first"] {
            let to = ["nodes = ['a']", "node = 'a'"][usize::from(list == "first")];
            let pins = format!("[[{list}]]\nkey = 'k'\n{to}\n").repeat(40_000);
            let text = format!("name = 'm'\n[[node]]\nname = 'a'\n{pins}[[node]]\nname = 1\n");
            let error = Fleet::parse(&text, "f").unwrap_err().to_string();
            let expected =
                format!("f:7: {list} covers points of the {list} in line 4; {list}s must");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn texts_that_no_fleet_has_are_refused_before_they_are_parsed() {
        for (text, words) in [
            (
                format!("spread = [{}]", "0,".repeat(2_000)),
                "more than 1000 values",
            ),
            (
                format!("a = [{}]", "[0,0],".repeat(2_000)),
                "more than 1000 values",
            ),
            (
                format!("pin = [{}]", "{ key = 'k' },".repeat(11_000)),
                "more than 10000 tables",
            ),
            (
                format!("nodes = [{}]", "'n',".repeat(66_000)),
                "more than 65536 strings",
            ),
            (
                (0..11_000).map(|n| format!("k{n} = 1\n")).collect(),
                "more than 10000 keys",
            ),
            (
                (0..100).map(|n| format!("[k{n}]\n")).collect(),
                "more than 16 tables",
            ),
            (
                format!("a = [{}]", "\n".repeat(1 << 20)),
                "lines in one table",
            ),
        ] {
            let (_, problem) = problem(&text);
            assert!(problem.contains(words), "{problem}");
        }
        // comments and empty lines are no content
        assert!(tree(&format!("a = 1\n{}b = 1", "#\n\n".repeat(2 << 20))).is_ok());
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
            ("a = 1\n  '''b''' = 1\nc = \n", 8, "is no key"),
            ("a = \n\"\"\"b\"\"\" = 1", 4, "not valid TOML"),
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
