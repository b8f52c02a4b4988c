//! The library's page, `libstead.3`, made from include/stead.h; and for each function a page of one
//! line that refers to it.

use std::path::Path;
use std::{fs, io};

use clap_mangen::roff::{bold, roman, Roff};

use crate::header::{Declaration, Header};
use crate::page::{verbatim, MANUAL, NO_DATE, SOURCE};

const HEADER: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../include/stead.h"
));

/// Writes `libstead.3` and `FUNCTION.3`.
pub(crate) fn pages(directory: &Path) -> io::Result<()> {
    let header = Header::of(HEADER)
        .map_err(|error| io::Error::other(format!("include/stead.h: {error}")))?;
    fs::write(directory.join("libstead.3"), page(&header).render())?;
    for function in header.only(true) {
        fs::write(
            directory.join(format!("{}.3", function.name)),
            ".so man3/libstead.3\n",
        )?;
    }
    Ok(())
}

fn page(header: &Header) -> Roff {
    let mut roff = Roff::new();
    roff.control("TH", ["LIBSTEAD", "3", NO_DATE, SOURCE, MANUAL]);
    // the first line of the comment is `stead: where does this key live?`
    let (title, front) = header
        .front
        .split_first()
        .map_or(("", [].as_slice()), |(first, rest)| (*first, rest));
    let title = title.split_once(": ").map_or(title, |(_, words)| words);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("libstead - {title}"))]);
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
    prose(&mut roff, front, |_| false);
    for (section, functions) in [("FUNCTIONS", true), ("TYPES AND CONSTANTS", false)] {
        roff.control("SH", [section]);
        header
            .only(functions)
            .for_each(|one| declaration(&mut roff, one));
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold("stead"), roman("(1)")]);
    roff
}

fn declaration(roff: &mut Roff, one: &Declaration) {
    roff.control("SS", [one.name]);
    if one.members.is_empty() {
        verbatim(roff, one.lines.iter().copied());
        roff.control("PP", []);
    }
    prose(roff, &one.comment, |line| explains_parameters(one, line));
    for (comment, text) in &one.members {
        roff.control("TP", []);
        roff.text([bold(text.trim_end_matches([',', ';']))]);
        roff.text([roman(comment.join("\n"))]);
    }
}

/// Whether a line begins with parameters of the function and a colon, as `key, length: any bytes`
/// does.
fn explains_parameters(one: &Declaration, line: &str) -> bool {
    line.split_once(": ")
        .is_some_and(|(names, _)| names.split(", ").all(|name| one.has_parameter(name)))
}

/// Adds lines as paragraphs, and indented lines unchanged. A new paragraph begins only where `new`
/// says so, or after an empty line.
fn prose(roff: &mut Roff, lines: &[&str], new: impl Fn(&str) -> bool) {
    let mut lines = lines
        .iter()
        .copied()
        .skip_while(|line| line.is_empty())
        .peekable();
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
            verbatim(
                roff,
                block
                    .iter()
                    .map(|line| line.strip_prefix("    ").unwrap_or(line)),
            );
            roff.control("PP", []);
        } else if line.is_empty() {
            roff.control("PP", []);
        } else {
            if new(line) {
                roff.control("PP", []);
            }
            roff.text([roman(line)]);
        }
    }
}
