//! The library's pages, made from include/stead.h: `libstead.3` with the rules for all calls, and a
//! page for each function and type.

use std::path::Path;
use std::{fs, io};

use clap_mangen::roff::{bold, roman, Roff};

use crate::header::{Declaration, Header};
use crate::page::{new_page, see_also, verbatim, WIDTH};

const HEADER: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../include/stead.h"
));

/// The beginning of the sentence about statuses, which ends a comment.
const STATUSES: &str = "Returns STEAD_OK";

/// Writes `libstead.3` and a page for each function and type.
pub(crate) fn pages(directory: &Path) -> io::Result<()> {
    let header = Header::of(HEADER)
        .map_err(|error| io::Error::other(format!("include/stead.h: {error}")))?;
    let write = |name: &str, page: Roff| fs::write(directory.join(name), page.render());
    write("libstead.3", overview(&header))?;
    for one in &header.declarations {
        let page = if one.is_function() {
            function(&header, one)
        } else {
            of_type(one)
        };
        write(&format!("{}.3", one.name), page)?;
    }
    Ok(())
}

/// The front comment, and what there is.
fn overview(header: &Header) -> Roff {
    // the first line of the comment is `stead: where does this key live?`
    let (title, front) = header
        .front
        .split_first()
        .map_or(("", [].as_slice()), |(first, rest)| (*first, rest));
    let title = title.split_once(": ").map_or(title, |(_, words)| words);
    let mut roff = new_page("libstead", "3", title);
    roff.control("SH", ["SYNOPSIS"]);
    verbatim(
        &mut roff,
        [
            "#include <stead.h>",
            "",
            "cc ... $(pkg-config --cflags --libs stead)",
        ],
    );
    roff.control("SH", ["DESCRIPTION"]);
    prose(&mut roff, front, |_| None);
    for (section, functions) in [("FUNCTIONS", true), ("TYPES AND CONSTANTS", false)] {
        roff.control("SH", [section]);
        for one in header.only(functions) {
            roff.control("TP", []);
            roff.text([bold(one.name), roman("(3)")]);
            roff.text([roman(summary(&one.comment))]);
        }
    }
    see_also(&mut roff, ["stead(1)", "stead-fleet(5)", "stead-map(5)"]);
    roff
}

fn function(header: &Header, one: &Declaration) -> Roff {
    let mut roff = new_page(one.name, "3", &summary(&one.comment));
    roff.control("SH", ["SYNOPSIS"]);
    let prototype = prototype(&one.lines.join(" "));
    let include = ["#include <stead.h>", ""];
    verbatim(
        &mut roff,
        include
            .into_iter()
            .chain(prototype.iter().map(String::as_str)),
    );
    let statuses = one
        .comment
        .iter()
        .position(|line| line.starts_with(STATUSES));
    let (comment, returns) = one.comment.split_at(statuses.unwrap_or(one.comment.len()));
    // a function that cannot fail is described by what it returns
    let about_result = returns.is_empty() && comment[0].starts_with("Returns");
    let section = if about_result {
        "RETURN VALUE"
    } else {
        "DESCRIPTION"
    };
    roff.control("SH", [section]);
    prose(&mut roff, comment, |line| parameters(one, line));
    if !returns.is_empty() {
        roff.control("SH", ["RETURN VALUE"]);
        prose(&mut roff, returns, |_| None);
        roff.control("SH", ["ERRORS"]);
        let names = returns.join(" ") + " STEAD_INTERNAL";
        for (meaning, status) in header.members_of("stead_status") {
            let name = status.split(' ').next().unwrap_or_default();
            if name != "STEAD_OK" && words(&names).any(|word| word == name) {
                roff.control("TP", []);
                roff.text([bold(name)]);
                roff.text([roman(meaning.join(" "))]);
            }
        }
    }
    related(&mut roff, one);
    roff
}

fn of_type(one: &Declaration) -> Roff {
    let mut roff = new_page(one.name, "3", &summary(&one.comment));
    roff.control("SH", ["SYNOPSIS"]);
    let members: Vec<String> = one
        .members
        .iter()
        .map(|(_, text)| format!("    {text}"))
        .collect();
    let (first, last) = one.lines.split_at(1);
    let inside = members.iter().map(String::as_str);
    let lines = ["#include <stead.h>", ""]
        .into_iter()
        .chain(first.iter().copied());
    verbatim(&mut roff, lines.chain(inside).chain(last.iter().copied()));
    roff.control("SH", ["DESCRIPTION"]);
    prose(&mut roff, &one.comment, |_| None);
    for (comment, text) in &one.members {
        roff.control("TP", []);
        roff.text([bold(text.trim_end_matches([',', ';']))]);
        roff.text([roman(comment.join(" "))]);
    }
    related(&mut roff, one);
    roff
}

/// Refers to the pages of everything of ours that a declaration or its comment names.
fn related(roff: &mut Roff, one: &Declaration) {
    let text = [one.lines.join(" "), one.comment.join(" ")].join(" ");
    let mut names: Vec<String> = words(&text)
        .filter(|word| word.starts_with("stead_") && *word != one.name)
        .chain(text.contains(STATUSES).then_some("stead_status"))
        .map(|name| format!("{name}(3)"))
        .collect();
    names.sort();
    names.dedup();
    let all = ["libstead(3)"].into_iter();
    see_also(roff, all.chain(names.iter().map(String::as_str)));
}

/// The first sentence of a comment, up to the first break in it, as the NAME line of a page has it.
fn summary(comment: &[&str]) -> String {
    let text = comment.join(" ");
    let end = [". ", "; ", ": ", ", so that "]
        .iter()
        .filter_map(|stop| text.find(stop))
        .min()
        .unwrap_or(text.len());
    let text = text[..end].trim_end_matches('.');
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// A function's declaration: in one line, or with a line for each parameter.
fn prototype(text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (head, rest) = text.split_once('(').unwrap_or((&text, ""));
    if text.len() <= WIDTH {
        return vec![text];
    }
    let mut lines = vec![format!("{head}(")];
    lines.extend(
        rest.split_inclusive(", ")
            .map(|parameter| format!("    {}", parameter.trim_end())),
    );
    lines
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The parameters that a line explains, and the rest of the line, as in `key, length: any bytes`.
fn parameters<'a>(one: &Declaration, line: &'a str) -> Option<(&'a str, &'a str)> {
    line.split_once(": ")
        .filter(|(names, _)| names.split(", ").all(|name| one.has_parameter(name)))
}

/// Adds lines as paragraphs, and indented lines unchanged. A new paragraph begins after an empty
/// line, and where `term` finds a term and its explanation.
fn prose<'a>(
    roff: &mut Roff,
    lines: &[&'a str],
    term: impl Fn(&'a str) -> Option<(&'a str, &'a str)>,
) {
    let mut lines = lines
        .iter()
        .copied()
        .skip_while(|line| line.is_empty())
        .peekable();
    let mut ended = false;
    while let Some(line) = lines.next() {
        if line.starts_with("    ") {
            let mut block = vec![line];
            // empty lines belong to the indented block if it continues after them
            while let Some(more) = lines.next_if(|line| line.is_empty() || line.starts_with("    "))
            {
                block.push(more);
            }
            if block.last() == Some(&"") {
                block.pop();
            }
            roff.control("PP", []);
            verbatim(
                roff,
                block
                    .iter()
                    .map(|line| line.strip_prefix("    ").unwrap_or(line)),
            );
            ended = true;
        } else if line.is_empty() {
            ended = true;
        } else if let Some((names, text)) = term(line) {
            roff.control("TP", []);
            roff.text([bold(names)]);
            roff.text([roman(text)]);
        } else {
            if std::mem::take(&mut ended) {
                roff.control("PP", []);
            }
            roff.text([roman(line)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_part_of_the_first_sentence() {
        for (comment, wanted) in [
            (
                vec!["Opens a map", "file. Cost: one stat."],
                "opens a map file",
            ),
            (
                vec!["Returns its name; NULL when", "map is NULL."],
                "returns its name",
            ),
            (
                vec!["Finds nodes, best first: its own."],
                "finds nodes, best first",
            ),
            (vec!["Sizes of buffers."], "sizes of buffers"),
        ] {
            assert_eq!(summary(&comment), wanted);
        }
    }

    #[test]
    fn a_long_prototype_has_a_line_for_each_parameter() {
        assert_eq!(prototype("void f(int   a);"), ["void f(int a);"]);
        let long = format!("int32_t f(const void *{}, size_t b);", "a".repeat(70));
        let lines = prototype(&long);
        assert_eq!((lines.len(), lines[0].as_str()), (3, "int32_t f("));
        assert_eq!(lines[2], "    size_t b);");
    }
}
