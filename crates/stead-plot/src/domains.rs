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
use crate::options::Options;

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
    let line = format!(
        "{} of each key in {}{}. The darker a node, the larger its share of all copies.",
        count(map.replicas() as usize, "copy").replace("copys", "copies"),
        count(shares.len(), "node"),
        if labels.is_empty() {
            String::new()
        } else {
            format!(", spread over {}", labels.join(", "))
        }
    );
    let mut canvas = Canvas::new(options, title, &[line]);
    let least = shares
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min)
        .min(1.0);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let scale = Shades { least, most };
    scale.legend(&mut canvas);
    let outermost: Vec<&Domain> = verdict
        .domains
        .iter()
        .filter(|domain| domain.level == 1)
        .collect();
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
        block(&mut canvas, &rows, &scale);
        canvas.y += 14.0;
    }
    canvas.y -= 14.0;
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

/// Draws the rows of a block. A row of many nodes goes on in further lines.
fn block(canvas: &mut Canvas, rows: &[Row], scale: &Shades) {
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
    let longest = rows.iter().map(|row| row.cells.len()).max().unwrap_or(1);
    let widest = rows.iter().flat_map(|row| &row.cells);
    let widest = widest
        .map(|cell| letters::width(&cell.name, SMALL))
        .fold(0.0, f64::max);
    let wanted = (widest + 10.0).clamp(64.0, 120.0);
    // named cells as long as they fit into one line, and small ones without names otherwise
    let named = longest as f64 * wanted <= room;
    let (wide, high) = match named {
        true => ((room / longest as f64).min(240.0), 34.0),
        false => ((room / longest as f64).clamp(14.0, 64.0), 18.0),
    };
    let columns = ((room / wide + 1e-9).floor() as usize).max(1);
    for row in rows {
        let name = letters::cut(&row.name, SIZE, left);
        canvas.text(
            x - 10.0,
            canvas.y + high / 2.0 + SIZE * 0.36,
            Anchor::End,
            "sp-t",
            &name,
        );
        if notes {
            let share: f64 = row.cells.iter().map(|cell| cell.share).sum();
            let end = x + wide * columns.min(longest) as f64 + 8.0;
            canvas.text(
                end,
                canvas.y + high / 2.0 + SIZE * 0.36,
                Anchor::Start,
                "sp-q",
                &percent(share),
            );
        }
        for (number, cell) in row.cells.iter().enumerate() {
            let (column, line) = (number % columns, number / columns);
            let of = Box {
                x: x + wide * column as f64,
                y: canvas.y + (high + 2.0) * line as f64,
                width: wide - 2.0,
                height: high - 2.0,
            };
            scale.cell(canvas, of, cell, named);
        }
        canvas.y += (high + 2.0) * row.cells.len().div_ceil(columns).max(1) as f64;
    }
}

/// Which shade a share has.
struct Shades {
    least: f64,
    most: f64,
}

impl Shades {
    /// Returns where a share stands between the smallest and the largest one. Shares that are as
    /// good as equal stand in the middle.
    fn part(&self, share: f64) -> f64 {
        match self.most - self.least > self.most * 0.01 {
            true => (share - self.least) / (self.most - self.least),
            false => 0.5,
        }
    }

    fn cell(&self, canvas: &mut Canvas, of: Box, cell: &Cell, named: bool) {
        let part = self.part(cell.share);
        let text = percent(cell.share);
        canvas.rect(of, &amount(part), &format!("{}: {text}", cell.name));
        if named {
            let half = Box {
                height: of.height / 2.0,
                ..of
            };
            let class = format!("{} sp-s", on_amount(part));
            let name = letters::cut(&cell.name, SMALL, of.width - 8.0);
            canvas.text_in(half, &class, &name);
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

    /// Draws the shades from the smallest to the largest share.
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
            let least = percent(self.least);
            canvas.text(MARGIN, y + 11.0, Anchor::Start, "sp-q", &least);
            let x = MARGIN + letters::width(&least, SIZE) + 8.0;
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
