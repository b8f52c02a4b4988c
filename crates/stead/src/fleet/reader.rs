//! Helpers for the rules: a reader that keeps the first mistake of the text, and takes each kind of
//! value from the tree or notes why it cannot.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::tree::{shown, KeyedTree, Lines, Tree, TreeValue};
use super::unknown::unknown_key;
use crate::error::{Error, Result};
use crate::name::{NAME_MAX, TEXT_MAX};
use crate::weight::Weight;

/// The text that a tree was read from.
pub(super) struct Source<'a> {
    /// The file's name, for messages.
    pub file: &'a str,
    /// The directory of a relative `secret_file`.
    pub directory: &'a Path,
    pub lines: &'a Lines<'a>,
    pub json: bool,
}

/// Reads trees and remembers the mistake that comes first in the text.
///
/// Its methods return `None` exactly when they noted a mistake.
pub(super) struct Reader<'a> {
    pub source: &'a Source<'a>,
    first: Option<(usize, String)>,
    /// where the last unknown key is
    unknown_at: Option<usize>,
}

/// A value, such as a text, and the byte where it starts.
#[derive(Clone)]
pub(super) struct At<T> {
    pub at: usize,
    pub it: T,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Reader<'a> {
        Reader {
            source,
            first: None,
            unknown_at: None,
        }
    }

    /// Returns the first mistake, or the value that was read if there was none.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T> {
        let file = self.source.file.to_owned();
        match self.first {
            Some((at, problem)) => Err(Error::Fleet {
                file,
                line: self.source.lines.line(at),
                problem,
            }),
            None => read.ok_or_else(|| Error::Internal {
                problem: "a fleet without mistakes was not read".to_owned(),
            }),
        }
    }

    /// Whether no mistake was noted.
    pub(super) fn clean(&self) -> bool {
        self.first.is_none()
    }

    /// Notes a mistake at a byte. Always returns `None`, which the caller can return.
    pub(super) fn wrong<T>(&mut self, at: usize, problem: impl FnOnce() -> String) -> Option<T> {
        if self.comes_first(at) {
            self.first = Some((at, problem()));
        }
        None
    }

    fn comes_first(&self, at: usize) -> bool {
        self.first.as_ref().is_none_or(|(first, _)| at < *first)
    }

    pub(super) fn line(&self, at: usize) -> usize {
        self.source.lines.line(at)
    }

    /// Returns what a value is, in the terms of the file's language, to follow the word "is".
    fn kind(&self, tree: &Tree) -> &'static str {
        match tree.value {
            TreeValue::Text(_) => "a string",
            TreeValue::Number(_) => "a number",
            TreeValue::Array(_) => "an array",
            TreeValue::Table(_) if self.source.json => "an object",
            TreeValue::Table(_) => "a table",
            TreeValue::Bool(_) => "true or false",
            TreeValue::Other(kind) => kind,
        }
    }

    /// Returns how the file's language writes one of `node`, `policy` or `pin`.
    pub(super) fn table_name(&self, what: &str) -> String {
        if self.source.json {
            format!("`{what}`")
        } else {
            format!("[[{what}]]")
        }
    }

    pub(super) fn unknown(&mut self, key: &str, at: usize, place: &str, known: &[&str]) {
        self.unknown_at = Some(at);
        let json = self.source.json;
        self.wrong::<()>(at, || unknown_key(key, place, known, json));
    }

    pub(super) fn unknown_in(&mut self, key: &str, at: usize, what: &str, known: &[&str]) {
        let place = self.table_name(what);
        self.unknown(key, at, &place, known);
    }

    pub(super) fn missing_in(&mut self, at: usize, key: &str, what: &str) {
        let place = self.table_name(what);
        self.lacks(at, || missing(key, &place));
    }

    /// Notes that the table that begins at `at` lacks a key, unless it has an unknown key: that may
    /// be the same one, misspelt.
    pub(super) fn lacks(&mut self, at: usize, problem: impl FnOnce() -> String) {
        if self.unknown_at.is_none_or(|unknown| unknown < at) {
            self.wrong::<()>(at, problem);
        }
    }

    /// Notes a mistake if the name was used before; `lines` has the line of each name.
    pub(super) fn unique(
        &mut self,
        what: &str,
        name: &At<String>,
        lines: &mut HashMap<String, usize>,
    ) {
        if let Some(line) = lines.get(&name.it).copied() {
            self.wrong::<()>(name.at, || {
                format!(
                    "{what} name `{}` is already used in line {line}; names must be unique",
                    shown(&name.it)
                )
            });
            return;
        }
        let line = self.line(name.at);
        lines.insert(name.it.clone(), line);
    }

    /// Returns the tables of `node`, `policy` or `pin`, of which there are `before` already.
    pub(super) fn tables(
        &mut self,
        what: &str,
        tree: Tree,
        before: usize,
        most: usize,
    ) -> Vec<At<Vec<KeyedTree>>> {
        let json = self.source.json;
        let how = move || {
            if json {
                "an array of objects, [{...}]".to_owned()
            } else {
                format!("it as [[{what}]]")
            }
        };
        let (at, kind) = (tree.at, self.kind(&tree));
        let TreeValue::Array(items) = tree.value else {
            self.wrong::<()>(at, || format!("{what} is {kind}; write {}", how()));
            return Vec::new();
        };
        let mut tables = Vec::with_capacity(items.len().min(most));
        for (i, item) in items.into_iter().enumerate() {
            let (at, kind) = (item.at, self.kind(&item));
            if before + i == most {
                self.wrong::<()>(at, || {
                    format!("there are more than {most} {what} entries, the maximum; remove some")
                });
                break;
            }
            match item.value {
                TreeValue::Table(entries) => tables.push(At { at, it: entries }),
                _ => {
                    self.wrong::<()>(at, || format!("{what} holds {kind}; write {}", how()));
                }
            }
        }
        tables
    }

    pub(super) fn array(&mut self, what: &str, tree: Tree, of: &str) -> Option<Vec<Tree>> {
        let kind = self.kind(&tree);
        match tree.value {
            TreeValue::Array(items) => Some(items),
            _ => self.wrong(tree.at, || {
                format!("{what} must be an array of {of}, but is {kind}; write it in brackets")
            }),
        }
    }

    pub(super) fn boolean(&mut self, what: &str, tree: &Tree) -> Option<bool> {
        let TreeValue::Bool(boolean) = tree.value else {
            let kind = self.kind(tree);
            return self.wrong(tree.at, || {
                format!("{what} must be true or false, but is {kind}; write true, or leave it out")
            });
        };
        Some(boolean)
    }

    /// Returns a string of any length and content. If the value is not a string, the message names
    /// its kind and never its content.
    pub(super) fn any_text(&mut self, what: &str, tree: Tree) -> Option<At<String>> {
        let (at, kind) = (tree.at, self.kind(&tree));
        match tree.value {
            TreeValue::Text(it) => Some(At { at, it }),
            _ => self.wrong(at, || {
                format!("{what} must be a string, but is {kind}; write it in quotes")
            }),
        }
    }

    /// Returns a string of `least` to `most` bytes without control characters.
    pub(super) fn text(
        &mut self,
        what: &str,
        tree: Tree,
        least: usize,
        most: usize,
    ) -> Option<At<String>> {
        let text = self.any_text(what, tree)?;
        self.check_text(what, &text.it, text.at, least, most)?;
        Some(text)
    }

    fn check_text(
        &mut self,
        what: &str,
        text: &str,
        at: usize,
        least: usize,
        most: usize,
    ) -> Option<()> {
        if text.len() < least {
            return self.wrong(at, || {
                format!("{what} is empty; write {least} to {most} bytes")
            });
        }
        if text.len() > most {
            return self.wrong(at, || {
                format!(
                    "{what} has {} bytes; at most {most} are allowed",
                    text.len()
                )
            });
        }
        if let Some(c) = text.chars().find(|c| c.is_control()) {
            let code = u32::from(c);
            return self.wrong(at, || {
                format!(
                    "{what} `{}` has the control character U+{code:04X}; remove it",
                    shown(text)
                )
            });
        }
        Some(())
    }

    /// Returns the name of a node or policy.
    pub(super) fn node_name(&mut self, what: &str, tree: Tree) -> Option<At<String>> {
        let name = self.text(what, tree, 1, NAME_MAX)?;
        if name.it.contains(',') {
            return self.wrong(name.at, || {
                format!(
                    "{what} `{}` has a comma; choose a name without one",
                    shown(&name.it)
                )
            });
        }
        Some(name)
    }

    /// Returns a table of strings. Names have at least 1 byte, values at least `least`.
    pub(super) fn texts(
        &mut self,
        what: &str,
        one: &str,
        tree: Tree,
        least: usize,
    ) -> BTreeMap<String, String> {
        let (at, kind) = (tree.at, self.kind(&tree));
        let place = if self.source.json {
            "an object"
        } else {
            "a table"
        };
        let mut texts = BTreeMap::new();
        let TreeValue::Table(entries) = tree.value else {
            self.wrong::<()>(at, || {
                format!(
                    "{what} must be {place} of strings, but is {kind}; write names and values \
                    in braces"
                )
            });
            return texts;
        };
        for KeyedTree { key, at, tree } in entries {
            self.check_text(&format!("{one} name"), &key, at, 1, TEXT_MAX);
            if let Some(value) =
                self.text(&format!("{one} `{}`", shown(&key)), tree, least, TEXT_MAX)
            {
                texts.insert(key, value.it);
            }
        }
        texts
    }

    pub(super) fn weight(&mut self, tree: &Tree) -> Option<Weight> {
        let (TreeValue::Number(text) | TreeValue::Text(text)) = &tree.value else {
            let kind = self.kind(tree);
            return self.wrong(tree.at, || {
                format!("weight must be a number, but is {kind}; write digits, like 1.5")
            });
        };
        match Weight::parse(text) {
            Ok(weight) => Some(weight),
            Err(why) => {
                let quote = if matches!(tree.value, TreeValue::Text(_)) {
                    "\""
                } else {
                    ""
                };
                self.wrong(tree.at, || {
                    format!("weight {quote}{}{quote} {why}", shown(text))
                })
            }
        }
    }

    /// Returns a whole number, written in plain decimal digits.
    pub(super) fn integer(
        &mut self,
        what: &str,
        tree: &Tree,
        least: u64,
        most: u64,
    ) -> Option<u64> {
        let TreeValue::Number(text) = &tree.value else {
            let kind = self.kind(tree);
            return self.wrong(tree.at, || {
                format!("{what} must be a whole number, but is {kind}; write {least} to {most}")
            });
        };
        let number = text
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse::<u64>().ok())
            .flatten();
        match number {
            Some(number) if (least..=most).contains(&number) => Some(number),
            _ => self.wrong(tree.at, || {
                format!(
                    "{what} {} is not a whole number from {least} to {most}; write it in plain \
                    digits",
                    shown(text)
                )
            }),
        }
    }
}

/// Says that a key is missing, and how a value of it looks.
pub(super) fn missing(key: &str, place: &str) -> String {
    let value = match (key, place) {
        ("name", "the fleet") => "\"members\"",
        ("name", "[[policy]]") => "\"pair\"",
        ("nodes", _) => "[\"db1\", \"db2\"]",
        _ => "\"db1\"",
    };
    format!("required key `{key}` is missing in {place}; add it, such as {value}")
}
