//! A picture of the key space: which node is the primary where.
//!
//! ```text
//! primaries: who answers first along the key space, 0 % to 100 %
//!   0 %  AAAAAAAABBBBBBCCCCCC
//!  50 %  CCAAAAABBBBBBB......
//!   A db1  B db2  C db3  . 4 others
//! ```
//!
//! The letters say everything; the colours only help.

use std::collections::HashMap;

use clap::builder::styling::{AnsiColor, Color, Style};
use stead::policy::NodeId;
use stead::Map;

use crate::band::cells;
use crate::exit::Result;
use crate::output::{Out, HEADING};
use crate::picture::columns;

/// How many lines the picture has.
const LINES: usize = 4;
/// The most columns of a line, however wide the terminal is.
const WIDEST: usize = 128;
/// The letters of the nodes that are drawn each by itself.
const LETTERS: [char; 12] = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L'];
/// What stands for all other nodes.
const OTHER: char = '.';

/// The colours, which begin again after six letters. Letters from the seventh on are not reversed.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Blue,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Red,
    AnsiColor::Cyan,
];

/// Draws the picture, with a legend of the twelve nodes that are the primary of the most points.
pub fn write(map: &Map, out: &mut Out) -> Result {
    let mut points: HashMap<NodeId, u128> = HashMap::new();
    let mut runs = Vec::new();
    for slice in map.slices() {
        if let Some(node) = map.policy(slice.policy).members().next() {
            *points.entry(node).or_default() += slice.points();
            runs.push((slice.first, slice.last, node.index()));
        }
    }
    let mut largest: Vec<(NodeId, u128)> = points.into_iter().collect();
    largest.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let others = largest.len().saturating_sub(LETTERS.len());
    largest.truncate(LETTERS.len());
    largest.sort_unstable();
    let number = |who: usize| largest.iter().position(|(node, _)| node.index() == who);

    out.line(out.paint(HEADING, "who is the primary along the key space"))?;
    let width = columns().clamp(40, WIDEST) - "100 %  ".len();
    let drawn: Vec<Option<usize>> = cells(runs, LINES * width)
        .into_iter()
        .map(|who| who.and_then(number))
        .collect();
    for (i, line) in drawn.chunks(width).enumerate() {
        let mut text = format!("{:>3} %  ", 100 * i / LINES);
        for run in line.chunk_by(|a, b| a == b) {
            text += &letters(run.first().copied().flatten(), run.len(), out);
        }
        out.line(text)?;
    }
    let mut legend: Vec<(String, usize)> = Vec::new();
    for (i, (node, _)) in largest.iter().enumerate() {
        let name = map.node(*node).name();
        let text = format!("{} {name}", letters(Some(i), 1, out));
        legend.push((text, 2 + name.chars().count()));
    }
    if others > 0 {
        let text = match others {
            1 => format!("{OTHER} 1 other"),
            _ => format!("{OTHER} {others} others"),
        };
        let width = text.len();
        legend.push((text, width));
    }
    write_legend(&legend, width, out)
}

/// Writes entries, each with its width, in as many lines as they need.
fn write_legend(entries: &[(String, usize)], width: usize, out: &mut Out) -> Result {
    let gap = "       ";
    let (mut line, mut used) = (String::new(), 0);
    for (text, columns) in entries {
        if used > 0 && used + 2 + columns > width {
            out.line(format_args!("{gap}{line}"))?;
            (line, used) = (String::new(), 0);
        }
        if used > 0 {
            line += "  ";
            used += 2;
        }
        line += text;
        used += columns;
    }
    out.line(format_args!("{gap}{line}"))
}

/// Returns a run of the letter of a node, in its colour.
fn letters(number: Option<usize>, count: usize, out: &Out) -> String {
    let letter = number.and_then(|i| LETTERS.get(i).copied().zip(Some(i)));
    let Some((letter, i)) = letter else {
        return OTHER.to_string().repeat(count);
    };
    let text = letter.to_string().repeat(count);
    let Some(colour) = COLOURS.get(i % COLOURS.len()) else {
        return text;
    };
    let style = Style::new().fg_color(Some(Color::Ansi(*colour)));
    out.paint(
        if i < COLOURS.len() {
            style.invert()
        } else {
            style
        },
        text,
    )
}
