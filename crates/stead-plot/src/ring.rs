//! The ring: the hash space as a circle, with keys on it.
//!
//! The circle begins at the top and runs clockwise. An arc is a range of the hash space, in the
//! colour of the node that has it. On a ring with virtual nodes the point of a node is where its
//! arc ends: a key belongs to the next point of a node after it.

use std::f64::consts::TAU;

use stead::point::SPACE;
use stead::Map;

use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE};
use crate::figures::{count, length, percent};
use crate::groups::{Groups, Member};
use crate::labels::{fitted, in_words, of_groups};
use crate::letters;
use crate::options::Options;
use crate::runs::{joined, parts, primaries, Run};

/// The most arcs that are drawn one by one.
const MOST: usize = 720;
/// How many pieces of the circle stand for more arcs.
const PIECES: usize = 360;
/// The least length of two arcs, at the inner edge, with a line of the page's colour between them.
const PARTED: f64 = 4.0;
/// The most keys whose names are listed.
const LISTED: usize = 24;

/// A circle.
#[derive(Clone, Copy)]
struct Circle {
    x: f64,
    y: f64,
    outer: f64,
    inner: f64,
}

/// Draws the hash space as a circle, and keys where they hash to. Beside it stands what each node
/// has: its share, and its keys by their numbers.
pub fn ring(map: &Map, keys: &[&[u8]], options: &Options) -> String {
    let outermost = map.spread().next();
    let members: Vec<Member> = map
        .nodes()
        .map(|node| Member {
            name: node.name().to_owned(),
            domain: outermost
                .and_then(|label| node.label(label))
                .map(str::to_owned),
            arrival: 0,
        })
        .collect();
    let groups = Groups::of(&members, &[]);
    let runs = primaries(map);
    let grouped = joined(runs.iter().map(|run| Run {
        who: groups.of[run.who],
        ..*run
    }));
    let title = format!("{}: the hash space as a ring", map.name());
    let what = format!(
        "{}, {}; clockwise from the top. {}",
        count(members.len(), "node"),
        count(runs.len(), "arc"),
        if keys.is_empty() {
            ""
        } else {
            "A number marks where a key hashes to."
        }
    );
    let mut canvas = Canvas::new(options, title, &[what.trim_end().to_owned()]);
    let room = canvas.width() - 2.0 * MARGIN;
    // the table stands beside the circle, or below it where there is no room beside
    let beside = room >= 600.0;
    let wide = if beside { room * 0.52 } else { room };
    let outer = wide.min(500.0) / 2.0 - 34.0;
    let circle = Circle {
        x: MARGIN + outer + 34.0,
        y: canvas.y + outer + 18.0,
        outer,
        inner: outer * 0.79,
    };
    let bottom = circle.y + outer + 30.0;
    if grouped.len() > MOST {
        pieces(&mut canvas, circle, &grouped, &groups);
    } else {
        arcs(&mut canvas, circle, &grouped, &groups);
    }
    quarters(&mut canvas, circle);
    let points: Vec<f64> = keys
        .iter()
        .map(|key| map.point(key).0 as f64 / SPACE as f64)
        .collect();
    marks(&mut canvas, circle, &points);
    let owner = |key: &&[u8]| groups.of.get(map.locate(key).index()).copied().unwrap_or(0);
    let owners: Vec<usize> = keys.iter().map(owner).collect();
    let x = match beside {
        true => circle.x + outer + 64.0,
        false => MARGIN,
    };
    if !beside {
        canvas.y = bottom + 10.0;
    }
    let said = table(&mut canvas, x, &grouped, &groups, &owners);
    list(&mut canvas, x, keys, map);
    canvas.y = canvas.y.max(bottom) - 10.0;
    canvas.finish(&said)
}

/// Returns the point of a circle at a part of its way round.
fn on(circle: Circle, radius: f64, part: f64) -> (f64, f64) {
    let angle = TAU * part;
    (
        circle.x + radius * angle.sin(),
        circle.y - radius * angle.cos(),
    )
}

/// Returns the outline of a piece between two radii.
fn piece(circle: Circle, inner: f64, outer: f64, from: f64, to: f64) -> String {
    // an arc of SVG cannot be a whole circle, so a large one is drawn as two
    let middle = (from + to) / 2.0;
    let at = |radius: f64, part: f64| {
        let (x, y) = on(circle, radius, part);
        format!("{} {}", length(x), length(y))
    };
    let (o, i) = (length(outer), length(inner));
    format!(
        "M{}A{o} {o} 0 0 1 {}A{o} {o} 0 0 1 {}L{}A{i} {i} 0 0 0 {}A{i} {i} 0 0 0 {}z",
        at(outer, from),
        at(outer, middle),
        at(outer, to),
        at(inner, to),
        at(inner, middle),
        at(inner, from)
    )
}

fn part(point: u128) -> f64 {
    point as f64 / SPACE as f64
}

fn arcs(canvas: &mut Canvas, circle: Circle, runs: &[Run], groups: &Groups) {
    for run in runs {
        let (from, to) = (part(run.first), part(run.end));
        let label = &groups.labels[run.who];
        let said = format!("{label}: {}", percent(run.part()));
        canvas.group_path(
            &piece(circle, circle.inner, circle.outer, from, to),
            run.who,
            &said,
        );
    }
    if runs.len() > 180 || runs.len() == 1 {
        return;
    }
    let wide = |run: &Run| run.part() * TAU * circle.inner;
    for (run, next) in runs.iter().zip(runs.iter().cycle().skip(1)) {
        let end = part(run.end);
        // a line between two arcs takes a part of both, and would hide a thin one
        if wide(run).min(wide(next)) >= PARTED {
            canvas.stroke(
                on(circle, circle.inner, end),
                on(circle, circle.outer, end),
                "sp-gap",
                1.5,
            );
        }
        let label = &groups.labels[run.who];
        let middle = (part(run.first) + end) / 2.0;
        let wide = wide(run);
        if groups.single
            && letters::width(label, SIZE).max(SIZE) + 6.0 <= wide.min(circle.outer - circle.inner)
        {
            let (x, y) = on(circle, (circle.inner + circle.outer) / 2.0, middle);
            let of = Box {
                x: x - 60.0,
                y: y - 10.0,
                width: 120.0,
                height: 20.0,
            };
            canvas.name_in(of, run.who, label);
        }
    }
}

/// Draws more arcs than can be seen: each piece of the circle shows how much of it each group has,
/// from the inside out.
fn pieces(canvas: &mut Canvas, circle: Circle, runs: &[Run], groups: &Groups) {
    let cells = parts(runs, PIECES, groups.labels.len());
    for group in 0..groups.labels.len() {
        let mut d = String::new();
        for (number, cell) in cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell[group] > 0.0)
        {
            let below: f64 = cell.iter().take(group).sum();
            let thick = circle.outer - circle.inner;
            let (inner, outer) = (
                circle.inner + thick * below,
                circle.inner + thick * (below + cell[group]),
            );
            let at = |number: usize| number as f64 / PIECES as f64;
            d += &piece(circle, inner, outer, at(number), at(number + 1));
        }
        canvas.group_path(&d, group, &groups.labels[group]);
    }
}

fn quarters(canvas: &mut Canvas, circle: Circle) {
    for quarter in 0..4u32 {
        let at = f64::from(quarter) / 4.0;
        canvas.stroke(
            on(circle, circle.outer, at),
            on(circle, circle.outer + 5.0, at),
            "sp-axis",
            1.0,
        );
        let (x, y) = on(circle, circle.outer + 10.0, at);
        let (anchor, down) = match quarter {
            0 => (Anchor::Middle, 0.0),
            1 => (Anchor::Start, 4.0),
            2 => (Anchor::Middle, 9.0),
            _ => (Anchor::End, 4.0),
        };
        canvas.text(
            x,
            y + down,
            anchor,
            "sp-q sp-s",
            &format!("{} %", quarter * 25),
        );
    }
}

/// Marks the keys: a dot on the inner side of the ring, and a number further in. Numbers that would
/// lie over each other are put on circles further in.
fn marks(canvas: &mut Canvas, circle: Circle, points: &[f64]) {
    let mut placed: Vec<(f64, f64)> = Vec::new();
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|a, b| points[*a].total_cmp(&points[*b]));
    for number in order {
        let (x, y) = on(circle, circle.inner - 7.0, points[number]);
        canvas.disc(x, y, 3.5, "sp-ink", &format!("key {}", number + 1));
        let free = |at: &(f64, f64)| {
            placed
                .iter()
                .all(|other| (at.0 - other.0).hypot(at.1 - other.1) > 16.0)
        };
        let rings = (0..6u32).map(|ring| {
            on(
                circle,
                circle.inner - 22.0 - 16.0 * f64::from(ring),
                points[number],
            )
        });
        if let Some((x, y)) = rings.into_iter().find(free) {
            canvas.text(
                x,
                y + SIZE * 0.36,
                Anchor::Middle,
                "sp-t",
                &(number + 1).to_string(),
            );
            placed.push((x, y));
        }
    }
}

/// Writes what each group has. Returns the same in words.
fn table(canvas: &mut Canvas, x: f64, runs: &[Run], groups: &Groups, owners: &[usize]) -> String {
    let mut held = vec![0.0; groups.labels.len()];
    runs.iter().for_each(|run| held[run.who] += run.part());
    let room = canvas.width() - MARGIN - x;
    let most = (room * 0.6 - 50.0).max(60.0);
    // a range of nodes must not read like its first node
    let names = fitted(&of_groups(groups), &[], most);
    let widths = names.texts.iter().map(|name| letters::width(name, SIZE));
    let wide = widths.fold(40.0, f64::max).min(most);
    let keys = |group: usize| {
        let mine = owners
            .iter()
            .enumerate()
            .filter(|(_, owner)| **owner == group);
        let mine: Vec<String> = mine.map(|(number, _)| (number + 1).to_string()).collect();
        mine.join(" ")
    };
    canvas.text(
        x + 20.0 + wide + 70.0,
        canvas.y,
        Anchor::End,
        "sp-q sp-s",
        "share",
    );
    if !owners.is_empty() {
        canvas.text(
            x + 20.0 + wide + 86.0,
            canvas.y,
            Anchor::Start,
            "sp-q sp-s",
            "keys",
        );
    }
    let mut said = Vec::new();
    for (group, label) in groups.labels.iter().enumerate() {
        canvas.y += 21.0;
        let y = canvas.y;
        canvas.group_rect(
            Box {
                x,
                y: y - 11.0,
                width: 13.0,
                height: 13.0,
            },
            group,
            "",
        );
        canvas.text(
            x + 20.0,
            y,
            Anchor::Start,
            "sp-t",
            &letters::cut(&names.texts[group], SIZE, wide),
        );
        canvas.text(
            x + 20.0 + wide + 70.0,
            y,
            Anchor::End,
            "sp-t",
            &percent(held[group]),
        );
        let (mine, left) = (keys(group), room - wide - 106.0);
        canvas.text(
            x + 20.0 + wide + 86.0,
            y,
            Anchor::Start,
            "sp-t",
            &letters::cut(&mine, SIZE, left),
        );
        let keys = if mine.is_empty() {
            String::new()
        } else {
            format!(" with keys {mine}")
        };
        said.push(format!("{label} {}{keys}", percent(held[group])));
    }
    canvas.y += 12.0;
    let below = format!("{}{}", groups.said, in_words(&names, &names));
    if !below.is_empty() {
        canvas.y += 8.0;
        canvas.paragraph(x, below.trim_start());
        canvas.y += 16.0;
    }
    said.join(", ") + "."
}

/// Lists the keys by their numbers.
fn list(canvas: &mut Canvas, x: f64, keys: &[&[u8]], map: &Map) {
    let room = canvas.width() - MARGIN - x;
    canvas.y += 10.0;
    for (number, key) in keys.iter().enumerate().take(LISTED) {
        canvas.y += 19.0;
        let name = map.node(map.locate(key)).name();
        let line = format!("{}  {}", number + 1, String::from_utf8_lossy(key));
        let after = format!(" → {name}");
        let line = letters::cut(&line, SIZE, (room - letters::width(&after, SIZE)).max(60.0));
        canvas.text(x, canvas.y, Anchor::Start, "sp-q", &(line + &after));
    }
    if keys.len() > LISTED {
        canvas.y += 19.0;
        let line = format!("and {} more", keys.len() - LISTED);
        canvas.text(x, canvas.y, Anchor::Start, "sp-q", &line);
    }
}
