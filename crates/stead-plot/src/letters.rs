//! How wide a text is, so that labels are drawn only where they fit.
//!
//! A picture is drawn with the first font of its list that the reader has. The widths here are
//! those of DejaVu Sans, which is the widest of the list, so what fits by these widths fits in all.

/// The widths of the characters from space to `~` in DejaVu Sans, in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// The width that every other character is taken to have.
const OTHER: u16 = 1000;

/// Returns the width of a text in pixels, in a font of this size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| {
        let place = (c as usize).checked_sub(' ' as usize);
        place.and_then(|i| WIDTHS.get(i)).copied().unwrap_or(OTHER)
    };
    text.chars().map(|c| f64::from(of(c))).sum::<f64>() * size / 1000.0
}

/// Returns the text, or as much of its start as fits into `room` pixels with `…` behind it.
pub(crate) fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = width("…", size);
    for c in text.chars() {
        used += width(c.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        short.push(c);
    }
    short + "…"
}

/// Shortens a text in its middle, so that it fits into `room` pixels: names differ most at their
/// ends.
pub(crate) fn cut_middle(text: &str, size: f64, room: f64) -> String {
    cut_inside(text, size, room, 2)
}

/// Shortens a text so that it fits into `room` pixels. `quarters` says how many quarters
/// of the letters that are kept are at the start; the others are at the end.
pub(crate) fn cut_inside(text: &str, size: f64, room: f64, quarters: usize) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let kept = |count: usize| {
        let first = count * quarters.min(4) / 4;
        let start: String = letters.iter().take(first).collect();
        let end: String = letters
            .iter()
            .skip(letters.len() - (count - first))
            .collect();
        format!("{start}…{end}")
    };
    let shorter = (0..letters.len()).rev().map(kept);
    let fits = |text: &String| width(text, size) <= room;
    shorter.into_iter().find(fits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_so_that_it_fits() {
        assert_eq!(cut("frank", 10.0, 100.0), "frank");
        let short = cut("a-very-long-name-of-a-node", 10.0, 60.0);
        assert!(
            short.ends_with('…') && width(&short, 10.0) <= 60.0,
            "{short}"
        );
        let short = cut_middle("a-very-long-name-of-a-node-17", 10.0, 80.0);
        assert!(
            short.starts_with("a-v") && short.ends_with("-17") && width(&short, 10.0) <= 80.0,
            "{short}"
        );
        assert_eq!(cut_middle("frank", 10.0, 100.0), "frank");
        assert_eq!(cut_middle("frank", 10.0, 1.0), "");
        assert_eq!(width("ab", 10.0), 12.48);
        assert_eq!(width("é", 10.0), 10.0);
    }
}
