//! Bands: the hash space as a row for each map, one below the other, so that one sees what a change
//! takes from whom.
//!
//! ```text
//! epoch 1  |   n0   |   n1   |
//! epoch 2  |  n0 |n2|n2|  n1 |   moves 33.3 %
//! ```
//!
//! Where the runs of a row are too thin to be told apart, each node's are drawn together as one
//! block. Then the picture no longer says where in the space a node's keys are, which nobody could
//! read from it, but how much each node has and what it got:
//!
//! ```text
//! epoch 1  |   n0   |   n1   |
//! epoch 2  |  n0  |  n1  | n2|   moves 33.3 %
//! ```

use std::collections::HashMap;

use stead::plan::{all_copies, dropped, Amounts};
use stead::point::SPACE;
use stead::Map;

use crate::axes;
use crate::canvas::{rectangle, Anchor, Box, Canvas, MARGIN, SIZE};
use crate::figures::{count, percent};
use crate::groups::{Groups, Member};
use crate::legend;
use crate::letters;
use crate::options::Options;
use crate::runs::{changed, joined, primaries, together, Run};

/// A map and the name of its row, such as `epoch 3`.
#[derive(Clone)]
pub struct Row<'a> {
    /// The name of the row.
    pub label: String,
    /// The map.
    pub map: &'a Map,
}

impl<'a> Row<'a> {
    /// Returns the row of a map, with its epoch as the name.
    pub fn of_epoch(map: &'a Map) -> Row<'a> {
        Row {
            label: format!("epoch {}", map.epoch()),
            map,
        }
    }

    /// Returns the row of a map that stayed as it is until the epoch `last`.
    pub fn of_epochs(map: &'a Map, last: u64) -> Row<'a> {
        if last <= map.epoch() {
            return Row::of_epoch(map);
        }
        Row {
            label: format!("epochs {} to {last}", map.epoch()),
            map,
        }
    }
}

/// A row: who has which part of the hash space.
#[derive(Clone, Debug, Default)]
pub struct Band {
    /// The name of the row.
    pub label: String,
    /// What is said at the end of the row, such as `moves 33.3 %`.
    pub note: String,
    /// The runs, in order; together they cover the space.
    pub runs: Vec<Run>,
}

/// Rows that belong together, such as the history of one system.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The heading; empty for none.
    pub title: String,
    /// The rows.
    pub bands: Vec<Band>,
    /// Whether a row follows from the one above it, so that what has another owner is marked.
    pub follows: bool,
}

/// The height of a row.
const HIGH: f64 = 34.0;
/// Between a row and the mark of what has moved above it.
const MARK: f64 = 5.0;
/// The least mean width of the runs of a row, in pixels. Narrower ones are drawn together: a
/// pattern repeats after six or seven pixels, and below that one colour can hardly be told from
/// another one with stripes.
const LEAST: f64 = 8.0;
/// The least width of two runs with a line of the page's colour between them, which is one wide.
const PARTED: f64 = 4.0;

/// What is said about runs that are drawn together.
const TOGETHER: &str = "The slices are too thin to be told apart in their places, so those of one \
                        colour are drawn together.";

/// Where the rows of a picture are, and how their runs are drawn.
#[derive(Clone, Copy)]
struct Layout {
    /// where the rows begin
    x: f64,
    width: f64,
    /// the widths of the names before the rows, and of the notes after them
    left: f64,
    right: f64,
    /// whether the runs of a group are drawn as one block
    together: bool,
}

impl Layout {
    fn of(panels: &[Panel], groups: &Groups, options: &Options) -> Layout {
        let bands = || panels.iter().flat_map(|panel| &panel.bands);
        let widest = |text: fn(&Band) -> &str| {
            let widths = bands().map(|band| letters::width(text(band), SIZE));
            widths.fold(0.0, f64::max)
        };
        let third = (options.wide() - 2.0 * MARGIN) / 3.0;
        let left = widest(|band| &band.label).min(third);
        let right = widest(|band| &band.note).min(third);
        let gap = |wide: f64| if wide > 0.0 { wide + 10.0 } else { 0.0 };
        let x = MARGIN + gap(left);
        let width = options.wide() - MARGIN - gap(right) - x;
        // the rows of a picture are compared with each other, so all are drawn in one way
        let most = bands().map(|band| grouped(band, groups).len()).max();
        let together = width < LEAST * most.unwrap_or(0) as f64;
        Layout {
            x,
            width,
            left,
            right,
            together,
        }
    }
}

/// Draws maps as bands. If they are epochs of one map, the rows say how much each moves. With
/// several replicas a band shows who answers first.
pub fn bands(rows: &[Row], options: &Options) -> String {
    let mut members: Vec<Member> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut bands: Vec<Band> = Vec::new();
    let id = rows.first().map(|row| row.map.map_id());
    let one = rows.iter().all(|row| Some(row.map.map_id()) == id);
    for (number, row) in rows.iter().enumerate() {
        let map = row.map;
        let outermost = map.spread().next();
        let mut of: Vec<usize> = Vec::new();
        for node in map.nodes() {
            // a node that was renamed stays the same node
            let renamed = node.formerly().and_then(|name| {
                let still = map.node_named(name).is_some();
                numbers.get(name).copied().filter(|_| !still)
            });
            let known = numbers.get(node.name()).copied().or(renamed);
            let who = known.unwrap_or(members.len());
            if let (Some(_), Some(former)) = (renamed, node.formerly()) {
                // its old name is free for another node
                numbers.remove(former);
            }
            if let Some(member) = known.and_then(|known| members.get_mut(known)) {
                node.name().clone_into(&mut member.name);
            } else {
                members.push(Member {
                    name: node.name().to_owned(),
                    domain: outermost
                        .and_then(|label| node.label(label))
                        .map(str::to_owned),
                    arrival: number,
                });
            }
            numbers.insert(node.name().to_owned(), who);
            of.push(who);
        }
        let mut runs = primaries(map);
        for run in &mut runs {
            run.who = of.get(run.who).copied().unwrap_or(0);
        }
        let before = number
            .checked_sub(1)
            .and_then(|i| rows.get(i))
            .filter(|_| one);
        let label = row.label.clone();
        bands.push(Band {
            label,
            note: note(before, map),
            runs,
        });
    }
    // in another cluster a node does not come later
    let arrivals = rows.iter().filter(|_| one).map(|row| row.label.clone());
    let groups = Groups::of(&members, &arrivals.collect::<Vec<_>>());
    let panel = Panel {
        title: String::new(),
        bands,
        follows: one,
    };
    let panels = [panel];
    let layout = Layout::of(&panels, &groups, options);
    let (title, line) = words(rows, members.len(), one, layout.together);
    draw(title, &[line], &panels, &groups, layout, options)
}

/// Draws panels of bands. `names` has the name of everyone who has a run.
pub fn panels(
    title: &str,
    lines: &[String],
    panels: &[Panel],
    names: &[String],
    options: &Options,
) -> String {
    let arrival = |who: usize| {
        let has = |band: &&Band| band.runs.iter().any(|run| run.who == who);
        let first = |panel: &Panel| panel.bands.iter().position(|band| has(&band));
        panels.iter().filter_map(first).min().unwrap_or(0)
    };
    let members: Vec<Member> = names
        .iter()
        .enumerate()
        .map(|(who, name)| Member {
            name: name.clone(),
            domain: None,
            arrival: arrival(who),
        })
        .collect();
    let steps = panels.first().map_or(&[][..], |panel| &panel.bands);
    let labels: Vec<String> = steps.iter().map(|band| band.label.clone()).collect();
    let groups = Groups::of(&members, &labels);
    let layout = Layout::of(panels, &groups, options);
    let mut lines = lines.to_vec();
    if layout.together {
        lines.push(TOGETHER.to_owned());
    }
    draw(title.to_owned(), &lines, panels, &groups, layout, options)
}

/// Says what a map moves and drops compared with the row before, if they are epochs of one map.
fn note(before: Option<&Row>, map: &Map) -> String {
    let compared = before.and_then(|before| {
        let amounts = Amounts::between(before.map, map).ok()?;
        Some((amounts, before.map))
    });
    compared.map_or(String::new(), |(amounts, before)| {
        // as `stead plan`: of the copies of the map that has more of them
        let all = all_copies(before, map) as f64;
        let part = |points: u128| percent(points as f64 / all);
        match (amounts.moved.0 + amounts.by_hand.0, dropped(before, map)) {
            (moved, 0) => format!("moves {}", part(moved)),
            (0, dropped) => format!("drops {}", part(dropped)),
            // a narrow picture cuts the end, so the smaller one is there
            (moved, dropped) if moved < dropped => {
                format!("drops {}, moves {}", part(dropped), part(moved))
            }
            (moved, dropped) => format!("moves {}, drops {}", part(moved), part(dropped)),
        }
    })
}

fn words(rows: &[Row], nodes: usize, one: bool, together: bool) -> (String, String) {
    let title = match rows {
        [] => "No map".to_owned(),
        [one] => format!("{}: who has which keys", one.map.name()),
        [first, ..] if one => format!("{}: who has which keys, over time", first.map.name()),
        _ => "Who has which keys".to_owned(),
    };
    let copies = rows.iter().any(|row| row.map.replicas() > 1);
    let who = match (together, copies) {
        (false, true) => "The node that answers first, along the hash space",
        (false, false) => "The node that has a key, along the hash space",
        (true, true) => "The part of the keys that each node answers first",
        (true, false) => "The part of the keys that each node has",
    };
    let nodes = match one {
        true => format!("{} in all", count(nodes, "node")),
        false => format!("{} by name", count(nodes, "node")),
    };
    let mut line = format!("{who}; {nodes}.");
    if together {
        line += &format!(" {TOGETHER}");
    }
    line += match (one && rows.len() > 1, together) {
        (false, _) => "",
        (true, false) => " The line above a row marks what has another node than before.",
        (true, true) => " The line above a block marks what another node had before.",
    };
    if copies && one && rows.len() > 1 {
        line += " At the end of a row is how much of all copies it moves or drops.";
    }
    if !one {
        line += " The rows are maps of different clusters; nodes of the same name have the same \
                 colour.";
    }
    (title, line)
}

fn draw(
    title: String,
    lines: &[String],
    panels: &[Panel],
    groups: &Groups,
    layout: Layout,
    options: &Options,
) -> String {
    let mut canvas = Canvas::new(options, title, lines);
    let Layout {
        x,
        width,
        left,
        right,
        together,
    } = layout;
    let mut used = vec![false; groups.labels.len()];
    for panel in panels {
        if !panel.title.is_empty() {
            canvas.y += 10.0;
            let title = letters::cut(&panel.title, SIZE, canvas.width() - 2.0 * MARGIN);
            canvas.text(MARGIN, canvas.y, Anchor::Start, "sp-t", &title);
            canvas.y += 8.0;
        }
        let mut before: Option<&Band> = None;
        for band in &panel.bands {
            let of = Box {
                x,
                y: canvas.y + MARK + 2.0,
                width,
                height: HIGH,
            };
            let runs = drawn(band, groups, together);
            if let Some(before) = before.filter(|_| panel.follows) {
                let changed = changed(&before.runs, &band.runs);
                match together {
                    true => marks(&mut canvas, of, &at_the_ends(&runs, &changed, groups)),
                    false => marks(&mut canvas, of, &changed),
                }
            }
            let middle = of.y + HIGH / 2.0 + SIZE * 0.36;
            let label = letters::cut(&band.label, SIZE, left);
            canvas.text(x - 10.0, middle, Anchor::End, "sp-t", &label);
            let note = letters::cut(&band.note, SIZE, right);
            canvas.text(x + width + 10.0, middle, Anchor::Start, "sp-q", &note);
            runs.iter().for_each(|run| used[run.who] = true);
            row(&mut canvas, of, &runs, groups);
            canvas.y = of.y + HIGH + 4.0;
            before = Some(band);
        }
        let y = canvas.y;
        axes::space(
            &mut canvas,
            Box {
                x,
                y,
                width,
                height: 0.0,
            },
        );
        canvas.y += 34.0;
    }
    legend::draw(&mut canvas, groups, |group| used[group]);
    let said = said(panels, groups);
    canvas.y -= 8.0;
    canvas.finish(&said)
}

/// Returns the runs of a row by groups.
fn grouped(band: &Band, groups: &Groups) -> Vec<Run> {
    let run = |run: &Run| Run {
        who: groups.of[run.who],
        ..*run
    };
    joined(band.runs.iter().map(run))
}

/// Returns the runs of a row as they are drawn: by groups, in their places or together.
fn drawn(band: &Band, groups: &Groups, is_together: bool) -> Vec<Run> {
    let runs = grouped(band, groups);
    match is_together {
        true => together(&runs, groups.labels.len()),
        false => runs,
    }
}

/// Draws one row.
fn row(canvas: &mut Canvas, of: Box, runs: &[Run], groups: &Groups) {
    for run in runs {
        let part = Box {
            x: of.x + of.width * (run.first as f64 / SPACE as f64),
            width: of.width * run.part(),
            ..of
        };
        let label = &groups.labels[run.who];
        let said = format!("{label}: {}", percent(run.part()));
        canvas.group_rect(part, run.who, &said);
        canvas.name_in(part, run.who, label);
    }
    // a line between two runs takes a part of both, and would hide a thin one
    let is_wide = |run: &Run| of.width * run.part() >= PARTED;
    for pair in runs.windows(2).filter(|pair| pair.iter().all(is_wide)) {
        let x = of.x + of.width * (pair[1].first as f64 / SPACE as f64);
        canvas.stroke((x, of.y), (x, of.y + of.height), "sp-gap", 1.0);
    }
}

/// Returns what has changed in a row of blocks: as much at the end of each block as its group got.
fn at_the_ends(blocks: &[Run], changed: &[Run], groups: &Groups) -> Vec<Run> {
    let mut got = vec![0; groups.labels.len()];
    for run in changed {
        got[groups.of[run.who]] += run.end - run.first;
    }
    let end = |block: &Run| Run {
        first: block.end - got[block.who].min(block.end - block.first),
        ..*block
    };
    blocks.iter().map(end).collect()
}

/// Marks the parts that have changed above a row.
fn marks(canvas: &mut Canvas, of: Box, changed: &[Run]) {
    let mut d = String::new();
    let mut end = f64::NEG_INFINITY;
    // a cut that is a few points off is no change that anybody could see
    for run in changed.iter().filter(|run| run.part() > 1e-6) {
        let x = of.x + of.width * (run.first as f64 / SPACE as f64);
        let wide = of.width * run.part();
        // what is too thin to be seen is shown once for each half pixel
        let last = x + wide.max(0.5);
        if last - end >= 0.5 {
            d += &rectangle(x, of.y - MARK, wide.max(0.5), MARK - 2.0);
            end = last;
        }
    }
    if !d.is_empty() {
        canvas.path(&d, "sp-ink", "", "");
    }
}

/// Says in words what the bands show.
fn said(panels: &[Panel], groups: &Groups) -> String {
    let mut said = Vec::new();
    for panel in panels {
        for band in &panel.bands {
            let mut parts = vec![0.0; groups.labels.len()];
            band.runs
                .iter()
                .for_each(|run| parts[groups.of[run.who]] += run.part());
            let part = |(label, part): (&String, &f64)| format!("{label} {}", percent(*part));
            let held = groups
                .labels
                .iter()
                .zip(&parts)
                .filter(|(_, part)| **part > 0.0);
            let held: Vec<String> = held.map(part).collect();
            let note = if band.note.is_empty() {
                String::new()
            } else {
                format!(", {}", band.note)
            };
            said.push(
                format!("{} {}{note}: {}.", panel.title, band.label, held.join(", "))
                    .trim()
                    .to_owned(),
            );
        }
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of so many runs of two nodes by turns, in which a third one has some hundredths.
    fn band(count: u128, third: Option<(u128, u128)>) -> Band {
        let mut runs = Vec::new();
        for at in 0..count {
            let (first, end) = (SPACE * at / count, SPACE * (at + 1) / count);
            let is_in = third.is_some_and(|(a, b)| at * 100 >= a * count && at * 100 < b * count);
            let who = if is_in { 2 } else { (at % 2) as usize };
            runs.push(Run { first, end, who });
        }
        Band {
            runs,
            ..Band::default()
        }
    }

    fn drawn_of(bands: Vec<Band>, width: u32) -> String {
        let names = ["a", "b", "c"].map(str::to_owned);
        let panel = Panel {
            bands,
            follows: true,
            ..Panel::default()
        };
        let options = Options {
            width,
            ..Options::default()
        };
        panels("t", &[], &[panel], &names, &options)
    }

    #[test]
    fn a_narrow_row_has_no_label_that_touches_the_next() {
        let labels = |label: &str| {
            let row = Band {
                label: label.to_owned(),
                note: label.to_owned(),
                ..band(10, None)
            };
            let svg = drawn_of(vec![row], 400);
            ["0 %", "25 %", "50 %", "75 %", "100 %"].map(|part| svg.contains(&format!(">{part}<")))
        };
        assert_eq!(labels("x"), [true; 5]);
        assert_eq!(labels("epochs 2 to 6"), [true, false, true, false, true]);
    }

    /// The widths of the blocks of a row, by their height, in the order in which they are drawn.
    fn widths(svg: &str) -> Vec<f64> {
        let row = format!("height=\"{HIGH}\"");
        let of = |line: &str| {
            line.split("width=\"")
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        };
        let rows = svg.lines().filter(|line| line.contains(&row));
        rows.filter_map(of).collect()
    }

    #[test]
    fn a_node_that_was_renamed_has_its_present_name() {
        let next = |nodes: &str, before: Option<&Map>| {
            let text = format!("name = 'm'\nnode = [{nodes}]");
            stead::build(&stead::Fleet::parse(&text, "t").unwrap(), before).unwrap()
        };
        let first = next("{name = 'a'}, {name = 'b'}", None);
        let second = next("{name = 'z', formerly = 'a'}, {name = 'b'}", Some(&first));
        // the old name is free, and another node takes it
        let third = next("{name = 'z'}, {name = 'b'}, {name = 'a'}", Some(&second));
        let maps = [&first, &second, &third];
        let legend = |maps: &[&Map]| {
            let rows: Vec<Row> = maps.iter().copied().map(Row::of_epoch).collect();
            let svg = bands(&rows, &Options::default());
            let names = ["a", "b", "z"].map(|name| svg.contains(&format!(">{name}</text>")));
            let count = svg.split(" in all").next().unwrap();
            (names, count.rsplit("; ").next().unwrap().to_owned())
        };
        assert_eq!(
            legend(&maps[..2]),
            ([false, true, true], "2 nodes".to_owned())
        );
        assert_eq!(legend(&maps), ([true; 3], "3 nodes".to_owned()));
        assert_eq!(
            crate::nodes_of(maps[..2].iter().copied()),
            ["z", "b"].map(str::to_owned)
        );
        let mut nodes = crate::nodes_of(maps);
        nodes.sort();
        assert_eq!(nodes, ["a", "b", "z"].map(str::to_owned));
    }

    #[test]
    fn runs_that_are_too_thin_to_be_told_apart_are_drawn_together() {
        // a row is as wide as the picture without its margins: 912 pixels
        for (count, together) in [(114, false), (115, true), (10_000, true)] {
            let third = (count > 1000).then_some((20, 45));
            let svg = drawn_of(vec![band(count, third)], 960);
            assert_eq!(svg.contains(TOGETHER), together, "{count}");
            let widths = widths(&svg);
            if third.is_some() {
                let wanted = [0.375, 0.375, 0.25].map(|part| part * 912.0);
                let near = |(is, wanted): (&f64, f64)| (is - wanted).abs() < 0.02 * 912.0;
                assert!(widths.iter().zip(wanted).all(near), "{widths:?}");
                // each block says which node it is and how much it has
                let named = |name: &&str| svg.contains(&format!("<title>{name}: "));
                assert!(["a", "b", "c"].iter().all(named));
            }
            let drawn = [(114, 114), (115, 2), (10_000, 3)];
            assert!(
                drawn.contains(&(count, widths.len())),
                "{count}: {}",
                widths.len()
            );
        }
        // the rows of a picture are drawn in one way
        let svg = drawn_of(vec![band(2, None), band(10_000, None)], 960);
        assert_eq!(widths(&svg).len(), 4);
    }

    #[test]
    fn no_line_between_runs_hides_a_thin_run() {
        let lines = |count: u128, width: u32| {
            let svg = drawn_of(vec![band(count, None)], width);
            svg.matches("class=\"sp-gap\"").count()
        };
        // the rows are 912 and 272 pixels wide
        assert_eq!((lines(100, 960), lines(34, 320)), (99, 33));
        // a run of 3.65 pixels between others
        let at = |thousandths: u128| SPACE * thousandths / 1000;
        let runs = [(0, 500, 0), (500, 504, 1), (504, 1000, 0)];
        let run = |(first, end, who)| Run {
            first: at(first),
            end: at(end),
            who,
        };
        let thin = Band {
            runs: runs.map(run).to_vec(),
            ..Band::default()
        };
        assert!(!drawn_of(vec![thin], 960).contains("class=\"sp-gap\""));
    }

    #[test]
    fn what_has_changed_is_marked_however_many_runs_there_are() {
        for count in [100, 10_000] {
            let rows = vec![band(count, None), band(count, Some((20, 45)))];
            let svg = drawn_of(rows, Options::default().width);
            let before = svg.split("\" class=\"sp-ink\"").next().unwrap();
            let marked = before.rsplit("d=\"").next().unwrap();
            let wide = |part: &str| part.split('v').next().and_then(|wide| wide.parse().ok());
            let widths: Vec<f64> = marked
                .split('h')
                .skip(1)
                .step_by(2)
                .filter_map(wide)
                .collect();
            let all = f64::from(Options::default().width) - 2.0 * MARGIN;
            let part = widths.iter().sum::<f64>() / all;
            assert!((part - 0.25).abs() < 0.02, "{count}: {part} of {widths:?}");
        }
    }

    #[test]
    fn a_mark_above_a_block_is_at_its_end_and_as_long_as_what_it_got() {
        let blocks = |cuts: [u128; 3]| {
            let mut first = 0;
            let block = |(who, end): (usize, u128)| {
                let run = Run {
                    first,
                    end: SPACE * end / 100,
                    who,
                };
                first = run.end;
                run
            };
            cuts.into_iter().enumerate().map(block).collect::<Vec<_>>()
        };
        let member = |name: &str| Member {
            name: name.to_owned(),
            domain: None,
            arrival: 0,
        };
        let groups = Groups::of(&["a", "b", "c"].map(member), &[]);
        let got = [Run {
            first: SPACE * 5 / 100,
            end: SPACE * 15 / 100,
            who: 1,
        }];
        let marks = at_the_ends(&blocks([30, 60, 100]), &got, &groups);
        let shown = |run: &Run| (run.part() * 100.0).round();
        let shown: Vec<f64> = marks.iter().map(shown).collect();
        assert_eq!(shown, [0.0, 10.0, 0.0]);
        assert_eq!(marks[1].end, SPACE * 60 / 100);
    }
}
