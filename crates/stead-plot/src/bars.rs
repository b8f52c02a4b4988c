//! Bars: a row for each of a few nodes, and one falling line for many.

use crate::axes::Scale;
use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE};
use crate::figures::{count, length};
use crate::labels::{fitted, in_words, Label};
use crate::letters;
use crate::names::apart;

/// The most bars that are rows of their own.
pub(crate) const ROWS: usize = 40;

/// A bar.
#[derive(Clone, Default)]
pub(crate) struct Bar {
    pub label: String,
    /// lengths, one after the other, each with the class of its colour
    pub parts: Vec<(f64, String)>,
    /// where the line across the bar is
    pub mark: Option<f64>,
    /// the length of the pale bar below, such as that of the map before
    pub ghost: Option<f64>,
    /// what is said at the end
    pub note: String,
    /// what is shown while the pointer is over it
    pub said: String,
}

impl Bar {
    fn sum(&self) -> f64 {
        self.parts.iter().map(|(long, _)| long).sum()
    }

    fn longest(&self) -> f64 {
        self.sum()
            .max(self.mark.unwrap_or(0.0))
            .max(self.ghost.unwrap_or(0.0))
    }
}

/// Draws a row for each bar. Long labels are shortened so that they can be told apart, and a line
/// below says what all of them lost.
pub(crate) fn rows(canvas: &mut Canvas, bars: &[Bar]) {
    let widest = |text: fn(&Bar) -> &str| {
        let widths = bars.iter().map(|bar| letters::width(text(bar), SIZE));
        widths.fold(0.0, f64::max)
    };
    let whole = canvas.width() - 2.0 * MARGIN;
    // on a narrow picture the figures at the end matter more than the names, and both leave some
    // room for the bars
    let right = widest(|bar| &bar.note).min(0.55 * whole);
    let names = bars.iter().map(|bar| Label::Node(bar.label.clone()));
    let most = (whole / 3.0).min(0.8 * whole - right);
    let names = fitted(&names.collect::<Vec<_>>(), &[], most);
    let widths = names.texts.iter().map(|name| letters::width(name, SIZE));
    let x = MARGIN + widths.fold(0.0, f64::max) + 10.0;
    let room = canvas.width() - MARGIN - right - 12.0 - x;
    let most = bars.iter().map(Bar::longest).fold(0.0, f64::max);
    let long = |value: f64| if most > 0.0 { room * value / most } else { 0.0 };
    let ghosts = bars.iter().any(|bar| bar.ghost.is_some());
    let (step, high) = if bars.len() > 24 {
        (20.0, 14.0)
    } else {
        (28.0, 20.0)
    };
    let mark = bars.first().and_then(|bar| bar.mark);
    let level = bars.len() > 1 && bars.iter().all(|bar| bar.mark == mark);
    let start = canvas.y;
    for (bar, label) in bars.iter().zip(&names.texts) {
        let y = canvas.y;
        let text = y + high / 2.0 + SIZE * 0.36;
        canvas.text(x - 10.0, text, Anchor::End, "sp-t", label);
        let thick = if ghosts { high * 0.62 } else { high };
        let mut at = x;
        for (value, class) in &bar.parts {
            let of = Box {
                x: at,
                y,
                width: long(*value),
                height: thick,
            };
            canvas.rect(of, class, &bar.said);
            at += of.width;
        }
        if let Some(ghost) = bar.ghost {
            let of = Box {
                x,
                y: y + thick + 1.0,
                width: long(ghost),
                height: high - thick - 1.0,
            };
            canvas.rect(of, "sp-before", "");
        }
        if let Some(mark) = bar.mark.filter(|_| !level) {
            let at = x + long(mark);
            canvas.stroke((at, y - 3.0), (at, y + high + 3.0), "sp-line", 2.0);
        }
        canvas.text(
            x + room + 12.0,
            text,
            Anchor::Start,
            "sp-q",
            &letters::cut(&bar.note, SIZE, right),
        );
        canvas.y += step;
    }
    if let Some(mark) = mark.filter(|_| level) {
        let at = x + long(mark);
        let end = canvas.y - step + high + 4.0;
        canvas.stroke((at, start - 4.0), (at, end), "sp-line", 2.0);
    }
    canvas.y += 4.0;
    let shortened = in_words(&names, &names);
    if !shortened.is_empty() {
        canvas.y += 12.0;
        canvas.paragraph(MARGIN, shortened.trim_start());
        canvas.y += 18.0;
    }
}

/// A line across a falling line: its height and its name.
pub(crate) type Level<'a> = (f64, &'a str);

/// Draws many values as one line that falls from the largest to the smallest, with levels across,
/// and names the nodes at both ends.
pub(crate) fn falling(
    canvas: &mut Canvas,
    values: &[(String, f64)],
    levels: &[Level],
    label: impl Fn(f64) -> String,
) {
    let mut sorted: Vec<&(String, f64)> = values.iter().collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return;
    };
    let highest = levels
        .iter()
        .map(|(value, _)| *value)
        .fold(first.1, f64::max);
    let x = MARGIN + 52.0;
    let of = Box {
        x,
        y: canvas.y,
        width: canvas.width() - MARGIN - x,
        height: 260.0,
    };
    let scale = Scale::of(of, highest);
    scale.draw(canvas, &label);
    let wide = of.width / sorted.len() as f64;
    let mut d = format!("M{} {}", length(x), length(of.y + of.height));
    for (place, (_, value)) in sorted.iter().enumerate() {
        let y = length(scale.y(*value));
        d += &format!(
            "L{} {y}H{}",
            length(x + wide * place as f64),
            length(x + wide * (place + 1) as f64)
        );
    }
    d += &format!("V{}z", length(of.y + of.height));
    canvas.path(
        &d,
        "sp-0",
        "",
        &format!("{} to {}", label(first.1), label(last.1)),
    );
    for (value, name) in levels {
        let y = scale.y(*value);
        canvas.stroke((x, y), (x + of.width, y), "sp-line", 1.5);
        canvas.text(x + of.width, y - 6.0, Anchor::End, "sp-t", name);
    }
    let below = of.y + of.height + 18.0;
    let half = of.width / 2.0 - 8.0;
    let [most, least] = [(first, "most"), (last, "least")].map(|((name, value), which)| {
        (
            name.as_str(),
            format!("{which}: "),
            format!(", {}", label(*value)),
        )
    });
    let widest = [&most, &least]
        .map(|(_, which, value)| letters::width(which, SIZE) + letters::width(value, SIZE));
    let room = half - widest[0].max(widest[1]);
    let names = apart(&[most.0, least.0], SIZE, room);
    let said = |name: usize, (_, which, value): &(&str, String, String)| {
        format!("{which}{}{value}", names[name])
    };
    let (most, least) = (said(0, &most), said(1, &least));
    canvas.text(x, below, Anchor::Start, "sp-t", &most);
    canvas.text(x + of.width, below, Anchor::End, "sp-t", &least);
    let said = format!(
        "{}, from the one with the most to the one with the least",
        count(sorted.len(), "node")
    );
    canvas.y = below + 20.0;
    canvas.paragraph(x, &said);
    canvas.y += 8.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn both_ends_of_the_line_keep_their_figures_and_tell_long_names_apart() {
        let name = |node: usize| format!("a-storage-server-in-the-hall-of-the-second-floor-{node}");
        let values: Vec<(String, f64)> = (0..50)
            .map(|node| (name(node), 50.0 - node as f64))
            .collect();
        let options = Options {
            width: 480,
            ..Options::default()
        };
        let mut canvas = Canvas::new(&options, "c".to_owned(), &[]);
        falling(&mut canvas, &values, &[], |value| format!("{value:.1}"));
        let svg = canvas.finish("");
        for (which, node, value) in [("most", "0", "50.0"), ("least", "49", "1.0")] {
            let said = svg.split(&format!(">{which}: ")).nth(1).unwrap();
            let said = said.split("</text>").next().unwrap();
            assert!(said.ends_with(&format!("{node}, {value}")), "{said}");
            assert!(said.contains('…'), "{said}");
        }
    }
}
