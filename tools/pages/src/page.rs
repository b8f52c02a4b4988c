//! The parts that all manual pages have in common: the head, verbatim text, references.

use clap_mangen::roff::{bold, roman, Inline, Roff};

/// The name and version in the last line of a page.
pub(crate) const SOURCE: &str = concat!("stead ", env!("CARGO_PKG_VERSION"));
/// The name of the manual, in the middle of the first line of a page.
pub(crate) const MANUAL: &str = "stead manual";
/// An empty argument in place of the date. It has its own quotes, since the crate quotes only
/// arguments with spaces.
pub(crate) const NO_DATE: &str = "\"\"";
/// The longest verbatim line that fits on a terminal of 80 columns: man indents by 7, `verbatim` by
/// 4, and leaves 2 free at the right.
pub(crate) const WIDTH: usize = 67;

/// Begins a page: its first line, and its NAME.
pub(crate) fn new_page(name: &str, section: &str, summary: &str) -> Roff {
    let mut roff = Roff::new();
    let title = name.to_uppercase();
    roff.control("TH", [&title, section, NO_DATE, SOURCE, MANUAL]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {summary}"))]);
    roff
}

/// Adds lines verbatim: examples and declarations. Only a line that is too long for a terminal
/// continues on the next.
pub(crate) fn verbatim<'a>(roff: &mut Roff, lines: impl IntoIterator<Item = &'a str>) {
    roff.control("RS", ["4"]);
    roff.control("EX", []);
    for line in lines.into_iter().flat_map(fitted) {
        roff.text([roman(line)]);
    }
    roff.control("EE", []);
    roff.control("RE", []);
}

/// Breaks a long line between two words. What continues stands below the column of the line's last
/// gap, and is a comment where the line was one.
fn fitted(line: &str) -> Vec<String> {
    if line.chars().count() <= WIDTH {
        return vec![line.to_owned()];
    }
    // where a word begins after two spaces or more; further right would leave too little room
    let column = (2..line.len().min(45))
        .rfind(|at| line.as_bytes()[at - 2..*at] == *b"  " && !line[*at..].starts_with(' '));
    let column = column.unwrap_or(0);
    let (start, rest) = line.split_at(column);
    let mark = if rest.starts_with("# ") { "# " } else { "" };
    let next = format!("{}{mark}", " ".repeat(column));
    let (mut lines, mut now) = (Vec::new(), start.to_owned());
    for word in rest.split(' ') {
        if now.chars().count() + word.chars().count() > WIDTH {
            lines.push(
                std::mem::replace(&mut now, next.clone())
                    .trim_end()
                    .to_owned(),
            );
        }
        now += word;
        now.push(' ');
    }
    lines.push(now.trim_end().to_owned());
    lines
}

/// Ends a page with references such as `stead(1)`.
pub(crate) fn see_also<'a>(roff: &mut Roff, pages: impl IntoIterator<Item = &'a str>) {
    roff.control("SH", ["SEE ALSO"]);
    let mut text: Vec<Inline> = Vec::new();
    for page in pages {
        let (name, section) = page.split_once('(').unwrap_or((page, ""));
        if !text.is_empty() {
            text.push(roman(", "));
        }
        text.extend([bold(name), roman(format!("({section}"))]);
    }
    roff.text(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_continues_below_its_last_column() {
        assert_eq!(fitted("short  # line"), ["short  # line"]);
        let long = format!("key = 1   # {}", "word ".repeat(20).trim_end());
        let lines = fitted(&long);
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() <= WIDTH));
        assert!(lines[1].starts_with("          # word word"), "{lines:?}");
        let words = |lines: &[String]| lines.join(" ").matches("word").count();
        assert_eq!(words(&lines), 20);
    }
}
