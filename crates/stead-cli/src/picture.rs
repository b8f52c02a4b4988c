//! Pictures in lines of text: bars.
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
