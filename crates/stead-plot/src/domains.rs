//! Fault domains: how much of the data is in each of them, as a heat map of their nodes.

use std::collections::BTreeMap;

use stead::point::SPACE;
use stead::verdict::{Domain, Verdict};
use stead::Map;

use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE, SMALL};
use crate::colours::{amount, on_amount, STEPS};
use crate::figures::{count, percent};
use crate::groups::natural;
use crate::letters;
use crate::names::{apart, ending};
use crate::options::Options;

/// The least width of a named cell when its name is a long one.
const WIDEST: f64 = 120.0;
/// The most lines of a row of named cells.
const LINES: usize = 4;
/// The same with more than `MANY` nodes, whose picture would be very long otherwise.
const FEWER: usize = 2;
/// See `FEWER`.
const MANY: usize = 100;

/// A node in the picture.
struct Cell {
    name: String,
    share: f64,
}

/// An innermost domain: a row of cells.
struct Row {
    name: String,
    cells: Vec<Cell>,
}

/// Draws the fault domains of a map: a block for each outermost domain, a row for each domain
/// inside it, and a cell for each node. The darker a cell, the larger the node's share of all
/// copies. A map without spread labels is one block.
pub fn domains(map: &Map, options: &Options) -> String {
    let verdict = Verdict::of(map, 0);
    let all = f64::from(map.replicas()) * SPACE as f64;
    let shares: Vec<f64> = verdict
        .nodes
        .iter()
        .map(|node| node.now.points as f64 / all)
        .collect();
    let labels: Vec<&str> = map.spread().collect();
    let mut blocks: BTreeMap<String, BTreeMap<String, Vec<Cell>>> = BTreeMap::new();
    for (node, share) in map.nodes().zip(&shares) {
        let value = |label: &&str| node.label(label).unwrap_or("").to_owned();
        let outer = labels.first().map_or(String::new(), value);
        let inner: Vec<String> = labels.iter().skip(1).map(value).collect();
        let cell = Cell {
            name: node.name().to_owned(),
            share: *share,
        };
        blocks
            .entry(outer)
            .or_default()
            .entry(inner.join("/"))
            .or_default()
            .push(cell);
    }
    let title = match labels.is_empty() {
        true => format!("{}: shares of {}", map.name(), count(shares.len(), "node")),
        false => format!("{}: fault domains", map.name()),
    };
    let spread = match labels.is_empty() {
        true => String::new(),
        false => format!(", spread over {}", labels.join(", ")),
    };
    let mut line = format!(
        "{} of each key in {}{spread}. The darker a node, the larger its share of all copies.",
        count(map.replicas() as usize, "copy").replace("copys", "copies"),
        count(shares.len(), "node"),
    );
    if labels.is_empty() {
        line += " The fleet names no \u{201c}spread\u{201d}, so no fault domains are known.";
    }
    let mut canvas = Canvas::new(options, title, &[line]);
    let least = shares
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min)
        .min(1.0);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let scale = Shades {
        least,
        most,
        nodes: shares.len(),
    };
    scale.legend(&mut canvas);
    let outermost: Vec<&Domain> = verdict
        .domains
        .iter()
        .filter(|domain| domain.level == 1)
        .collect();
    let names: Vec<&str> = verdict.nodes.iter().map(|node| node.name).collect();
    let is_wide = |name: &&str| letters::width(name, SMALL) + 10.0 > WIDEST;
    let ending = match names.iter().any(is_wide) {
        true => ending(&names),
        false => "",
    };
    let mut has_names = false;
    let mut said = Vec::new();
    let mut order: Vec<&String> = blocks.keys().collect();
    order.sort_by(|a, b| natural(a, b));
    for name in order {
        let rows = rows(&blocks[name]);
        let share: f64 = rows
            .iter()
            .flat_map(|row| &row.cells)
            .map(|cell| cell.share)
            .sum();
        if let Some(label) = labels.first() {
            let domain = outermost.iter().find(|domain| domain.name == *name);
            let heading = heading(label, name, share, domain.map(|domain| domain.cap), map);
            canvas.y += 8.0;
            let room = canvas.width() - 2.0 * MARGIN;
            let cut = letters::cut(&heading, SIZE, room);
            canvas.text(MARGIN, canvas.y, Anchor::Start, "sp-t", &cut);
            canvas.y += 9.0;
            said.push(heading);
        }
        has_names |= block(&mut canvas, &rows, &scale, ending);
        canvas.y += 14.0;
    }
    canvas.y -= 14.0;
    if has_names && !ending.is_empty() {
        canvas.y += 20.0;
        canvas.paragraph(MARGIN, &format!("Names are written without {ending}."));
    }
    canvas.finish(&format!("{}.", said.join(". ")))
}

fn heading(label: &str, name: &str, share: f64, cap: Option<usize>, map: &Map) -> String {
    let cap = cap
        .filter(|_| map.replicas() > 1)
        .map_or(String::new(), |cap| {
            format!(", at most {cap} of {} copies of a key", map.replicas())
        });
    let name = if name.is_empty() { "(none)" } else { name };
    format!("{label} {name}: {} of all copies{cap}", percent(share))
}

fn rows(of: &BTreeMap<String, Vec<Cell>>) -> Vec<Row> {
    let mut rows: Vec<Row> = of
        .iter()
        .map(|(name, cells)| {
            let mut cells: Vec<Cell> = cells
                .iter()
                .map(|cell| Cell {
                    name: cell.name.clone(),
                    ..*cell
                })
                .collect();
            cells.sort_by(|a, b| natural(&a.name, &b.name));
            Row {
                name: name.clone(),
                cells,
            }
        })
        .collect();
    rows.sort_by(|a, b| natural(&a.name, &b.name));
    rows
}

/// How the cells of some rows of a block are drawn.
#[derive(Clone, Copy)]
struct Grid {
    wide: f64,
    high: f64,
    /// how many cells a line has
    columns: usize,
    is_named: bool,
}

impl Grid {
    /// Returns the grid of named cells that are at least `wanted` wide.
    fn named(room: f64, wanted: f64, longest: usize) -> Grid {
        let fitting = ((room / wanted) as usize).max(1);
        // the lines of the longest row are about equally long
        let lines = longest.div_ceil(fitting).max(1);
        let columns = longest.div_ceil(lines).max(1);
        Grid {
            wide: (room / columns as f64).min(240.0),
            high: 34.0,
            columns,
            is_named: true,
        }
    }

    /// Returns the grid of small cells without names.
    fn small(room: f64, longest: usize) -> Grid {
        let wide = (room / longest.max(1) as f64).clamp(14.0, 64.0);
        Grid {
            wide,
            high: 18.0,
            columns: ((room / wide + 1e-9) as usize).clamp(1, longest.max(1)),
            is_named: false,
        }
    }
}

/// Draws the rows of a block. A row of many nodes goes on in further lines, and a row of very many
/// has no names in its cells; each row is judged alone. `ending` is left out at the end of every
/// name. Returns whether any name was written.
fn block(canvas: &mut Canvas, rows: &[Row], scale: &Shades, ending: &str) -> bool {
    let names = rows.iter().map(|row| letters::width(&row.name, SIZE));
    let third = (canvas.width() - 2.0 * MARGIN) / 3.0;
    let left = names.fold(0.0, f64::max).min(third);
    let notes = rows.len() > 1 || rows.iter().any(|row| !row.name.is_empty());
    let (before, after) = (
        if left > 0.0 { left + 10.0 } else { 0.0 },
        if notes { 62.0 } else { 0.0 },
    );
    let x = MARGIN + before;
    let room = canvas.width() - MARGIN - after - x;
    let bare = |cell: &'_ Cell| {
        let bare = cell.name.strip_suffix(ending);
        bare.unwrap_or(&cell.name).to_owned()
    };
    let widest = rows.iter().flat_map(|row| &row.cells);
    let widest = widest.map(|cell| letters::width(&bare(cell), SMALL));
    let wanted = (widest.fold(0.0, f64::max) + 10.0).clamp(64.0, WIDEST);
    let lines = if scale.nodes > MANY { FEWER } else { LINES };
    let most = lines * ((room / wanted) as usize).max(1);
    let (few, many): (Vec<usize>, Vec<usize>) = rows
        .iter()
        .map(|row| row.cells.len())
        .partition(|cells| *cells <= most);
    let longest = |rows: &[usize]| rows.iter().copied().max().unwrap_or(0);
    let named = Grid::named(room, wanted, longest(&few));
    let small = Grid::small(room, longest(&many));
    let ends = [(named, &few), (small, &many)].map(|(grid, rows)| match rows.is_empty() {
        true => 0.0,
        false => grid.wide * grid.columns as f64,
    });
    let end = x + ends[0].max(ends[1]) + 8.0;
    let cells = rows.iter().filter(|row| row.cells.len() <= most);
    let cells: Vec<String> = cells.flat_map(|row| &row.cells).map(bare).collect();
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    let mut short = apart(&cells, SMALL, named.wide - 10.0).into_iter();
    for row in rows {
        let grid = if row.cells.len() <= most {
            named
        } else {
            small
        };
        let Grid { wide, high, .. } = grid;
        let middle = canvas.y + high / 2.0 + SIZE * 0.36;
        let name = letters::cut(&row.name, SIZE, left);
        canvas.text(x - 10.0, middle, Anchor::End, "sp-t", &name);
        if notes {
            let share: f64 = row.cells.iter().map(|cell| cell.share).sum();
            canvas.text(end, middle, Anchor::Start, "sp-q", &percent(share));
        }
        for (number, cell) in row.cells.iter().enumerate() {
            let (column, line) = (number % grid.columns, number / grid.columns);
            let of = Box {
                x: x + wide * column as f64,
                y: canvas.y + (high + 2.0) * line as f64,
                width: wide - 2.0,
                height: high - 2.0,
            };
            let name = grid.is_named.then(|| short.next()).flatten();
            scale.cell(canvas, of, cell, name.as_deref());
        }
        canvas.y += (high + 2.0) * row.cells.len().div_ceil(grid.columns).max(1) as f64;
    }
    !few.is_empty()
}

/// Which shade a share has.
struct Shades {
    least: f64,
    most: f64,
    /// how many nodes there are
    nodes: usize,
}

impl Shades {
    /// Returns which part of the largest share a share is: between the smallest and the largest
    /// one, a small difference would look like a large one. Shares that are as good as equal stand
    /// in the middle.
    fn part(&self, share: f64) -> f64 {
        match self.most - self.least > self.most * 0.01 {
            true => share / self.most,
            false => 0.5,
        }
    }

    fn cell(&self, canvas: &mut Canvas, of: Box, cell: &Cell, name: Option<&str>) {
        let part = self.part(cell.share);
        let text = percent(cell.share);
        canvas.rect(of, &amount(part), &format!("{}: {text}", cell.name));
        if let Some(name) = name {
            let half = Box {
                height: of.height / 2.0,
                ..of
            };
            let class = format!("{} sp-s", on_amount(part));
            canvas.text_in(half, &class, name);
            canvas.text_in(
                Box {
                    y: of.y + half.height - 1.0,
                    ..half
                },
                &class,
                &text,
            );
        }
    }

    /// Draws the shades from nothing to the largest share.
    fn legend(&self, canvas: &mut Canvas) {
        let y = canvas.y - 12.0;
        if self.most - self.least <= self.most * 0.01 {
            canvas.rect(
                Box {
                    x: MARGIN,
                    y,
                    width: 26.0,
                    height: 13.0,
                },
                &amount(0.5),
                "",
            );
            let text = format!("every node has {}", percent(self.most));
            canvas.text(MARGIN + 34.0, y + 11.0, Anchor::Start, "sp-q", &text);
        } else {
            let nothing = "0 %";
            canvas.text(MARGIN, y + 11.0, Anchor::Start, "sp-q", nothing);
            let x = MARGIN + letters::width(nothing, SIZE) + 8.0;
            for step in 0..STEPS {
                let part = (step as f64 + 0.5) / STEPS as f64;
                canvas.rect(
                    Box {
                        x: x + 26.0 * step as f64,
                        y,
                        width: 26.0,
                        height: 13.0,
                    },
                    &amount(part),
                    "",
                );
            }
            let end = x + 26.0 * STEPS as f64 + 8.0;
            canvas.text(end, y + 11.0, Anchor::Start, "sp-q", &percent(self.most));
        }
        canvas.y += 20.0;
    }
}

#[cfg(test)]
mod tests {
    use stead::{build, Fleet};

    use super::*;

    /// Draws nodes in racks of these sizes.
    fn drawn(head: &str, racks: &[usize], name: &str, width: u32) -> String {
        let mut text = format!("name = 'c'\n{head}\n");
        for (rack, size) in racks.iter().enumerate() {
            for i in 0..*size {
                let labels = format!("{{zone = 'z', rack = 'r{rack}'}}");
                text += &format!("[[node]]\nname = 'n{rack}-{i}{name}'\nlabels = {labels}\n");
            }
        }
        let map = build(&Fleet::parse(&text, "fleet.toml").unwrap(), None).unwrap();
        let options = Options {
            width,
            ..Options::default()
        };
        domains(&map, &options)
    }

    #[test]
    fn a_map_without_spread_has_names_and_says_why_there_are_no_domains() {
        let said = "names no \u{201c}spread\u{201d}, so no fault domains are known.";
        let svg = drawn("", &[12, 12], "", 1600);
        assert!(svg.contains(said) && svg.contains(">n1-11</text>"), "{svg}");
        let svg = drawn("spread = ['zone', 'rack']", &[12, 12], "", 960);
        assert!(!svg.contains("are known"), "{svg}");
    }

    #[test]
    fn shares_that_differ_little_have_shades_that_differ_little() {
        let step = |share: f64| {
            let shades = Shades {
                least: 0.0741,
                most: 0.0926,
                nodes: 12,
            };
            amount(shades.part(share))
        };
        assert_eq!([0.0, 0.0741, 0.0926].map(step), ["sp-r0", "sp-r5", "sp-r6"]);
    }

    #[test]
    fn one_large_rack_takes_no_names_away_from_the_others() {
        let head = "spread = ['zone', 'rack']";
        let svg = drawn(head, &[90, 5], "", 960);
        assert!(
            !svg.contains(">n0-0</text>") && svg.contains(">n1-4</text>"),
            "{svg}"
        );
        let svg = drawn(head, &[20, 5], "", 960);
        assert!(
            svg.contains(">n0-19</text>") && svg.contains(">n1-4</text>"),
            "{svg}"
        );
    }

    #[test]
    fn names_are_written_without_their_common_domain() {
        let name = ".storage.frankfurt.example.net";
        let svg = drawn("spread = ['zone', 'rack']", &[2, 3], name, 480);
        assert!(svg.contains(">n1-2</text>"), "{svg}");
        assert!(
            svg.contains(&format!("Names are written without {name}.")),
            "{svg}"
        );
    }
}
