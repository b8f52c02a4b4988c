//! Pictures in lines of text: bars, and how far something has come. `band` draws the whole map.
//!
//! They are drawn with Unicode blocks on a terminal whose locale is UTF-8, and with plain ASCII
//! everywhere else, such as in a pipe.

use std::io::{self, IsTerminal};

/// The eighths of a block, from one to seven.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// The characters that pictures are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glyphs {
    /// Blocks and eighths of blocks.
    Unicode,
    /// `#`, `|` and the like.
    Ascii,
}

impl Glyphs {
    /// Returns what standard output can show: Unicode if it is a terminal, and if the first of
    /// LC_ALL, LC_CTYPE and LANG that is set names UTF-8.
    pub fn of_stdout() -> Glyphs {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty())
            .unwrap_or_default()
            .to_ascii_lowercase();
        match io::stdout().is_terminal() && (locale.contains("utf-8") || locale.contains("utf8")) {
            true => Glyphs::Unicode,
            false => Glyphs::Ascii,
        }
    }

    /// Draws a bar of exactly `width` columns, of which it fills a part from 0 to 1; what is more
    /// than 1 fills it, and what is not a number leaves it empty. A part above 0 is always seen.
    pub fn bar(self, part: f64, width: usize) -> String {
        let eighths = (part.clamp(0.0, 1.0) * 8.0 * width as f64).round() as usize;
        let eighths = match part > 0.0 {
            true => eighths.max(1),
            false => 0,
        };
        let (mut whole, rest) = (eighths / 8, eighths % 8);
        let mut bar = String::new();
        match self {
            Glyphs::Unicode => {
                bar.extend(std::iter::repeat_n('█', whole));
                if let Some(piece) = rest.checked_sub(1).and_then(|i| EIGHTHS.get(i)) {
                    bar.push(*piece);
                    whole += 1;
                }
            }
            Glyphs::Ascii => {
                whole += usize::from(rest >= 4 || (whole == 0 && rest > 0));
                bar.extend(std::iter::repeat_n('#', whole));
            }
        }
        bar.extend(std::iter::repeat_n(' ', width.saturating_sub(whole)));
        bar
    }

    /// Draws how far something has come, from 0 to 1, in exactly `width` columns: `[####....]`, or
    /// blocks with a shade for the rest. It is full only when all is done, and empty only when
    /// nothing is. Less than 3 columns give a picture of 3.
    pub fn progress(self, done: f64, width: usize) -> String {
        let (left, right, full, rest) = match self {
            Glyphs::Unicode => ("", "", '█', '░'),
            Glyphs::Ascii => ("[", "]", '#', '.'),
        };
        let inside = width.max(3) - left.len() - right.len();
        let some = (done.clamp(0.0, 1.0) * inside as f64).round() as usize;
        let some = match done {
            _ if done >= 1.0 => inside,
            _ if done > 0.0 => some.clamp(usize::from(inside > 1), inside.max(2) - 1),
            _ => 0,
        };
        let mut picture = left.to_owned();
        picture.extend(std::iter::repeat_n(full, some));
        picture.extend(std::iter::repeat_n(rest, inside - some));
        picture + right
    }

    /// Returns a character for a part from 0 to 1 of something: the darker, the more.
    pub fn shade(self, part: f64) -> char {
        let [none, some, half, most, all] = match self {
            Glyphs::Unicode => ['·', '░', '▒', '▓', '█'],
            Glyphs::Ascii => ['.', '-', '+', '*', '#'],
        };
        match part {
            part if part <= 0.0 => none,
            part if part <= 0.25 => some,
            part if part <= 0.5 => half,
            part if part <= 0.75 => most,
            _ => all,
        }
    }
}

/// Formats a part of 1 for people: `33.33 %`. A part that would read 0 and is not, is `< 0.01 %`.
pub fn part(part: f64) -> String {
    match part * 100.0 {
        small if small > 0.0 && small < 0.005 => "< 0.01 %".to_owned(),
        hundredths => format!("{hundredths:.2} %"),
    }
}

/// Returns a line of at most 80 columns: `start`, as many of the items as fit after it, and how
/// many more there are. At least one item is in it.
pub fn listed(start: &str, items: &[String]) -> String {
    const WIDTH: usize = 80 - " and 65536 more".len();
    let mut line = start.to_owned();
    for (i, item) in items.iter().enumerate() {
        let gap = if i == 0 { "" } else { ", " };
        if i > 0 && line.chars().count() + gap.len() + item.chars().count() > WIDTH {
            return format!("{line} and {} more", items.len() - i);
        }
        line.extend([gap, item]);
    }
    line
}

/// Returns the columns of the terminal; 80 if standard output is none.
pub fn columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map_or(80, |(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_full_only_when_all_is_done() {
        assert_eq!(Glyphs::Ascii.progress(0.5, 10), "[####....]");
        assert_eq!(Glyphs::Unicode.progress(0.5, 10), "█████░░░░░");
        assert_eq!(Glyphs::Ascii.progress(0.999, 10), "[#######.]");
        assert_eq!(Glyphs::Ascii.progress(0.001, 10), "[#.......]");
        assert_eq!(Glyphs::Ascii.progress(1.0, 10), "[########]");
        assert_eq!(Glyphs::Ascii.progress(0.0, 10), "[........]");
        assert_eq!(Glyphs::Ascii.progress(f64::NAN, 4), "[..]");
        for (glyphs, least) in [(Glyphs::Unicode, 3), (Glyphs::Ascii, 3)] {
            for width in 0..20 {
                for tenths in 0..=10 {
                    let picture = glyphs.progress(f64::from(tenths) / 10.0, width);
                    assert_eq!(picture.chars().count(), width.max(least), "{picture}");
                }
            }
        }
    }

    #[test]
    fn a_small_part_never_reads_as_none() {
        let parts = [0.0, 1e-9, 0.00004999, 0.00005, 1.0 / 3.0, 1.0];
        assert_eq!(
            parts.map(part),
            ["0.00 %", "< 0.01 %", "< 0.01 %", "0.01 %", "33.33 %", "100.00 %"]
        );
    }

    #[test]
    fn a_list_fits_on_a_line() {
        let names: Vec<String> = (0..70_000).map(|i| format!("n{i}")).collect();
        assert_eq!(listed("down: ", &names[..3]), "down: n0, n1, n2");
        let line = listed("down: ", &names);
        assert!(line.len() <= 80 && line.ends_with(" more"), "{line}");
        let long = ["x".repeat(100), "y".to_owned()];
        assert_eq!(listed("", &long), format!("{} and 1 more", long[0]));
        assert_eq!(listed("none", &[]), "none");
    }

    #[test]
    fn a_bar_has_its_width_and_fills_its_part() {
        assert_eq!(Glyphs::Ascii.bar(0.5, 4), "##  ");
        assert_eq!(Glyphs::Unicode.bar(0.5, 4), "██  ");
        assert_eq!(Glyphs::Unicode.bar(0.28125, 4), "█▏  ");
        assert_eq!(Glyphs::Ascii.bar(0.0, 3), "   ");
        assert_eq!(Glyphs::Unicode.bar(0.000001, 3), "▏  ");
        assert_eq!(Glyphs::Ascii.bar(0.000001, 3), "#  ");
        assert_eq!(Glyphs::Unicode.bar(7.0, 3), "███");
        assert_eq!(Glyphs::Ascii.bar(f64::NAN, 3), "   ");
        for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
            for tenths in 0..=10 {
                let bar = glyphs.bar(f64::from(tenths) / 10.0, 7);
                assert_eq!(bar.chars().count(), 7, "{bar:?}");
            }
        }
    }
}
