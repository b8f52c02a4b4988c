//! Wraps long lines for a terminal, so that a note of several keys and nodes can be read. Where
//! standard output is no terminal, each line stays whole: programs and `grep` read it.

use std::io;

/// How far the second line of a paragraph and those after it are indented.
const INDENT: usize = 4;

/// Below these columns, lines are left to the terminal.
const NARROW: usize = 20;

/// Wraps the lines of a text that are wider than the terminal of standard output, if it is one.
pub fn for_terminal(text: &str) -> String {
    match terminal_size::terminal_size_of(io::stdout()) {
        Some((width, _)) => wrapped(text, usize::from(width.0)),
        None => text.to_owned(),
    }
}

/// Wraps each line that has more than this number of columns at blanks.
fn wrapped(text: &str, columns: usize) -> String {
    let is_narrow = columns < NARROW;
    text.split_inclusive('\n')
        .map(
            |line| match is_narrow || line.trim_end().chars().count() <= columns {
                true => line.to_owned(),
                false => paragraph(line.trim_end(), columns) + "\n",
            },
        )
        .collect()
}

fn paragraph(line: &str, columns: usize) -> String {
    let (mut told, mut width) = (String::new(), 0);
    for word in words(line, columns - INDENT) {
        let wide = word.chars().count();
        // the blank before the word counts, too
        if width > 0 && width + 1 + wide > columns {
            told += "\n";
            told += &" ".repeat(INDENT);
            width = INDENT;
        } else if width > 0 {
            told.push(' ');
            width += 1;
        }
        told += &word;
        width += wide;
    }
    told
}

/// Splits a line at its blanks. A command in backticks stays whole where it fits into a line, so
/// that it can be copied.
fn words(line: &str, columns: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in line.split(' ') {
        match words.last_mut() {
            Some(last) if is_open && (last.len() + 1 + word.len()) <= columns => {
                last.push(' ');
                *last += word;
            }
            _ => words.push(word.to_owned()),
        }
        is_open ^= word.matches('`').count() % 2 == 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_a_paragraph_with_an_indent() {
        let text = "copy: 7 items, 1 s\n  a -> d: 7 items\nnote: made equal to the old place: 1 \
                    item, such as x; that value is gone\n";
        let told =
            "copy: 7 items, 1 s\n  a -> d: 7 items\nnote: made equal to the old place: 1\n    \
                    item, such as x; that value is gone\n";
        assert_eq!(wrapped(text, 40), told);
        assert_eq!(wrapped(text, 200), text);
        // a terminal that nobody can read anyway, or one that does not say how wide it is
        for columns in [0, 3] {
            assert_eq!(wrapped(text, columns), text);
        }
        let widest = |columns| {
            let told = wrapped(text, columns);
            told.lines().map(|line| line.chars().count()).max()
        };
        for columns in NARROW..90 {
            assert!(widest(columns) <= Some(columns), "{columns}");
        }
    }

    #[test]
    fn a_command_and_a_long_name_stay_whole() {
        let line = "run `stead-sync carry run c.toml` again, or correct the file of the carry\n";
        let told =
            "run `stead-sync carry run c.toml`\n    again, or correct the file of\n    the carry\n";
        assert_eq!(wrapped(line, 34), told);
        let name = "x".repeat(50);
        let line = format!("failed: node a, {name}: no room\n");
        let told = format!("failed: node a,\n    {name}:\n    no room\n");
        assert_eq!(wrapped(&line, 40), told);
    }
}
