//! Moves: what goes from which node to which between two epochs, as streams from the left to the
//! right.

use std::collections::BTreeMap;

use stead::plan::all_copies;
use stead::policy::NodeId;
use stead::{Map, Plan, Result};

use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE};
use crate::colours::{series, STYLES};
use crate::figures::{length, percent};
use crate::groups::{natural, nodes_of, Groups, Member};
use crate::letters;
use crate::options::Options;

/// The most bars on a side.
const MOST: usize = 16;
/// The height of all bars of a side together.
const HIGH: f64 = 340.0;
/// The least part of all copies that fills the height; less would read `< 0.01 %` beside a bar as
/// high as that of a half.
const THIN: f64 = 0.0001;
/// The height of a line of text, which is the least distance of two labels.
const LINE: f64 = 18.0;

/// One side of the picture: the names of its bars, and which bar each node has. The node `None`
/// stands for new copies on the left side, and for dropped copies on the right side.
struct Side {
    labels: Vec<String>,
    of: BTreeMap<Option<NodeId>, usize>,
    /// the colour of each bar; a bar of copies that come from nowhere, or go nowhere, has none
    colours: Vec<Option<usize>>,
}

/// A bar that is placed.
#[derive(Clone, Copy)]
struct Placed {
    y: f64,
    height: f64,
    text: f64,
}

/// Draws what goes from which node to which. If more than 16 nodes give or get something, they are
/// taken together by their outermost fault domain or by name. Returns `Identity` for maps of
/// different clusters.
pub fn moves(old: &Map, new: &Map, options: &Options) -> Result<String> {
    let plan = Plan::between(old, new)?;
    let mut flows: BTreeMap<(Option<NodeId>, Option<NodeId>), u128> = BTreeMap::new();
    for step in &plan.moves {
        *flows.entry((step.from, step.to)).or_default() += step.points();
    }
    let from = side(old, flows.keys().map(|(from, _)| *from), "new copies");
    let mut to = side(new, flows.keys().map(|(_, to)| *to), "dropped");
    let own = coloured(old, new, &options.nodes).and_then(|nodes| of_nodes(&to, new, &nodes));
    match own {
        Some(own) => to.colours = own,
        // in a page, a colour stands for a node or for a group of the bands, and a bar for neither
        None if !options.nodes.is_empty() => to.colours.fill(None),
        None => {}
    }
    // as `stead plan`: of the copies of the map that has more of them
    let all = all_copies(old, new) as f64;
    let mut streams: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for ((giver, taker), points) in &flows {
        *streams.entry((from.of[giver], to.of[taker])).or_default() += *points as f64 / all;
    }
    let part = |share: stead::Share| percent(share.0 as f64 / all);
    let (amounts, title) = (&plan.amounts, title(old, new));
    let by_hand = match amounts.by_hand.0 {
        0 => String::new(),
        _ => format!(" Pins and policies move {} more.", part(amounts.by_hand)),
    };
    let line = match streams.is_empty() {
        true => "Nothing moves.".to_owned(),
        false if amounts.moved.0 == 0 && amounts.by_hand.0 > 0 => format!(
            "Pins and policies move {} of all copies, and nothing else moves.",
            part(amounts.by_hand)
        ),
        false => format!(
            "The change moves {} of all copies; the least possible is {}.{by_hand}",
            part(amounts.moved),
            part(amounts.lower_bound)
        ),
    };
    let is_thin = streams.values().sum::<f64>() < THIN;
    let coloured = to.colours.iter().any(Option::is_some);
    let legend = match (streams.is_empty(), is_thin, coloured) {
        (true, ..) => "",
        (_, true, _) => " So little is a thin line here.",
        (_, _, true) => {
            " A stream is as thick as what it moves, and has the colour of the bar where it ends."
        }
        (_, _, false) => " A stream is as thick as what it moves.",
    };
    let mut canvas = Canvas::new(options, title, &[format!("{line}{legend}")]);
    if streams.is_empty() {
        canvas.y -= 20.0;
        return Ok(canvas.finish(&line));
    }
    draw(&mut canvas, &from, &to, &streams);
    let stream = |((giver, taker), part): (&(usize, usize), &f64)| {
        format!(
            "{} to {} {}",
            from.labels[*giver],
            to.labels[*taker],
            percent(*part)
        )
    };
    let said: Vec<String> = streams.iter().map(stream).collect();
    Ok(canvas.finish(&format!("{line} {}.", said.join(", "))))
}

fn title(old: &Map, new: &Map) -> String {
    format!(
        "{}: what moves from epoch {} to {}",
        new.name(),
        old.epoch(),
        new.epoch()
    )
}

/// Puts the nodes of one side into bars.
fn side(map: &Map, nodes: impl Iterator<Item = Option<NodeId>>, nowhere: &str) -> Side {
    let mut nodes: Vec<Option<NodeId>> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    let outermost = map.spread().next();
    let member = |node: &NodeId| Member {
        name: map.node(*node).name().to_owned(),
        domain: outermost
            .and_then(|label| map.node(*node).label(label))
            .map(|value| format!("{} {value}", outermost.unwrap_or(""))),
        arrival: 0,
    };
    let there: Vec<NodeId> = nodes.iter().flatten().copied().collect();
    let members: Vec<Member> = there.iter().map(member).collect();
    let groups = Groups::up_to(MOST, &members);
    let mut labels = groups.labels;
    let mut colours: Vec<Option<usize>> = (0..labels.len()).map(Some).collect();
    let mut of: BTreeMap<Option<NodeId>, usize> = BTreeMap::new();
    for (node, group) in there.into_iter().zip(groups.of) {
        of.insert(Some(node), group);
    }
    if nodes.contains(&None) {
        of.insert(None, labels.len());
        labels.push(nowhere.to_owned());
        colours.push(None);
    }
    Side {
        labels,
        of,
        colours,
    }
}

/// Returns the nodes that have colours of their own, in the order of the colours, as `bands` gives
/// them: those of the page, or those of both maps. `None` if they are too many to be told apart.
fn coloured(old: &Map, new: &Map, of_page: &[String]) -> Option<Vec<String>> {
    let mut nodes = match of_page {
        [] => nodes_of([old, new]),
        given => given.to_vec(),
    };
    nodes.sort_by(|a, b| natural(a, b));
    nodes.dedup();
    (nodes.len() <= STYLES).then_some(nodes)
}

/// Returns the colours of the bars, if each bar is a single node: those of these nodes.
fn of_nodes(side: &Side, map: &Map, nodes: &[String]) -> Option<Vec<Option<usize>>> {
    let there = || {
        let pair = |(node, bar): (&Option<NodeId>, &usize)| Some(((*node)?, *bar));
        side.of.iter().filter_map(pair)
    };
    if there().count() != side.colours.iter().flatten().count() {
        return None; // a bar is a group
    }
    let mut colours = side.colours.clone();
    for (node, bar) in there() {
        let node = map.node(node);
        let place = |name: &str| nodes.iter().position(|known| known == name);
        let known = place(node.name()).or_else(|| node.formerly().and_then(place));
        if let (Some(colour), Some(known)) = (colours.get_mut(bar), known) {
            *colour = Some(known);
        }
    }
    Some(colours)
}

/// Places the bars of a side below each other, so that no two labels lie over each other.
fn placed(parts: &[f64], top: f64) -> Vec<Placed> {
    let sum: f64 = parts.iter().sum();
    // bars of one pixel are as far from each other as their labels
    let (gap, all) = match sum < THIN {
        true => (LINE - 1.0, 0.0),
        false => (6.0, HIGH),
    };
    let high = all - gap * (parts.len().max(1) - 1) as f64;
    let mut y = top;
    let mut text = f64::NEG_INFINITY;
    let place = |part: &f64| {
        let height = (high * part / sum).max(1.0);
        text = (y + height / 2.0 + SIZE * 0.36).max(text + LINE);
        let placed = Placed { y, height, text };
        y += height + gap;
        placed
    };
    parts.iter().map(place).collect()
}

fn draw(canvas: &mut Canvas, from: &Side, to: &Side, streams: &BTreeMap<(usize, usize), f64>) {
    let (mut given, mut taken) = (vec![0.0; from.labels.len()], vec![0.0; to.labels.len()]);
    for ((giver, taker), part) in streams {
        given[*giver] += part;
        taken[*taker] += part;
    }
    let third = (canvas.width() - 2.0 * MARGIN) / 3.0;
    // of a long label the name is shortened, and not the number
    let text = |label: &String, part: f64| {
        let part = format!("  {}", percent(part));
        let room = third - letters::width(&part, SIZE);
        // of a group, the number of its nodes can be missed first, and then the word `zone`
        let bare = label.split(" (").next().unwrap_or(label);
        let value = bare.split_once(' ').map_or(bare, |(_, value)| value);
        let fits = |label: &&str| letters::width(label, SIZE) <= room;
        let label = [label, bare].into_iter().find(fits).unwrap_or(value);
        letters::cut_middle(label, SIZE, room) + &part
    };
    let words = |labels: &[String], parts: &[f64]| -> Vec<String> {
        labels
            .iter()
            .zip(parts)
            .map(|(label, part)| text(label, *part))
            .collect()
    };
    let (left, right) = (words(&from.labels, &given), words(&to.labels, &taken));
    let widest = |texts: &[String]| {
        let widths = texts.iter().map(|text| letters::width(text, SIZE));
        widths.fold(0.0, f64::max).min(third)
    };
    let (start, end) = (
        MARGIN + widest(&left) + 10.0,
        canvas.width() - MARGIN - widest(&right) - 10.0,
    );
    canvas.text(start + 12.0, canvas.y, Anchor::End, "sp-q sp-s", "gives");
    canvas.text(end - 12.0, canvas.y, Anchor::Start, "sp-q sp-s", "gets");
    let top = canvas.y + 12.0;
    let (givers, takers) = (placed(&given, top), placed(&taken, top));
    let mut out: Vec<f64> = givers.iter().map(|bar| bar.y).collect();
    let mut into: Vec<f64> = takers.iter().map(|bar| bar.y).collect();
    for ((giver, taker), part) in streams {
        let (a, b) = (
            givers[*giver].height * part / given[*giver],
            takers[*taker].height * part / taken[*taker],
        );
        let d = stream(start + 12.0, out[*giver], a, end - 12.0, into[*taker], b);
        let said = format!(
            "{} to {}: {}",
            from.labels[*giver],
            to.labels[*taker],
            percent(*part)
        );
        let class = to.colours[*taker].map_or("sp-before".to_owned(), series);
        canvas.path(&d, &class, "fill-opacity=\"0.5\"", &said);
        out[*giver] += a;
        into[*taker] += b;
    }
    let said = |label: &String, part: f64| format!("{label}  {}", percent(part));
    for (number, (bar, words)) in givers.iter().zip(&left).enumerate() {
        canvas.rect(
            Box {
                x: start,
                y: bar.y,
                width: 12.0,
                height: bar.height,
            },
            "sp-ink",
            &said(&from.labels[number], given[number]),
        );
        canvas.text(start - 10.0, bar.text, Anchor::End, "sp-t", words);
    }
    for (number, (bar, words)) in takers.iter().zip(&right).enumerate() {
        let of = Box {
            x: end - 12.0,
            y: bar.y,
            width: 12.0,
            height: bar.height,
        };
        let said = said(&to.labels[number], taken[number]);
        match to.colours[number] {
            Some(colour) => canvas.group_rect(of, colour, &said),
            None => canvas.rect(of, "sp-before", &said),
        }
        canvas.text(end + 10.0, bar.text, Anchor::Start, "sp-t", words);
    }
    let bottom = |bars: &[Placed]| {
        bars.iter()
            .map(|bar| bar.text.max(bar.y + bar.height))
            .fold(0.0, f64::max)
    };
    canvas.y = bottom(&givers).max(bottom(&takers));
}

/// Returns the outline of a stream between two bars.
fn stream(x: f64, y: f64, high: f64, to_x: f64, to_y: f64, to_high: f64) -> String {
    let middle = length((x + to_x) / 2.0);
    let [x, to_x] = [x, to_x].map(length);
    let [y, y_end, to_y, to_y_end] = [y, y + high, to_y, to_y + to_high].map(length);
    format!(
        "M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}V{to_y_end}C{middle} {to_y_end} {middle} {y_end} {x} {y_end}z"
    )
}

#[cfg(test)]
mod tests {
    use stead::{build, Fleet};

    use super::*;
    use crate::bands::{bands, Row};

    fn epochs(nodes: usize, more: usize, name: &str) -> [Map; 2] {
        let fleet = |range: std::ops::Range<usize>| {
            let nodes: Vec<String> = range.map(|i| format!("{{name = '{name}{i}'}}")).collect();
            let text = format!("name = 'c'\nnode = [{}]", nodes.join(","));
            Fleet::parse(&text, "fleet.toml").unwrap()
        };
        let old = build(&fleet(0..nodes), None).unwrap();
        let new = build(&fleet(0..nodes + more), Some(&old)).unwrap();
        [old, new]
    }

    /// Returns the CSS class of the shape whose title begins with this text.
    fn colour<'a>(svg: &'a str, said: &str) -> &'a str {
        let before = svg.split(&format!("\"><title>{said}")).next().unwrap();
        before.rsplit("class=\"").next().unwrap()
    }

    #[test]
    fn a_node_has_the_colour_that_it_has_in_the_bands() {
        let [old, new] = epochs(5, 2, "n");
        let options = Options::default();
        let moved = moves(&old, &new, &options).unwrap();
        let rows = bands(&[&old, &new].map(Row::of_epoch), &options);
        for name in ["n5", "n6"] {
            let class = colour(&rows, &format!("{name}: "));
            assert_eq!(class, format!("sp-{}", &name[1..]));
            assert_eq!(colour(&moved, &format!("{name}  ")), class);
        }
        // in a page with a picture of an older node, too
        let of_page = Options {
            nodes: ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "a"]
                .map(str::to_owned)
                .to_vec(),
            ..Options::default()
        };
        let moved = moves(&old, &new, &of_page).unwrap();
        assert_eq!(colour(&moved, "n5  "), "sp-6");
    }

    #[test]
    fn what_pins_alone_move_is_drawn_thin_and_said() {
        let text = |node: &str| {
            format!(
                "name = 'c'\nnode = [{{name = 'a'}}, {{name = 'b'}}]\n\
                 [[pin]]\nkey = 'k'\nnodes = ['{node}']\n"
            )
        };
        let fleet = |node| Fleet::parse(&text(node), "fleet.toml").unwrap();
        let old = build(&fleet("a"), None).unwrap();
        let new = build(&fleet("b"), Some(&old)).unwrap();
        let svg = moves(&old, &new, &Options::default()).unwrap();
        let said = "Pins and policies move &lt; 0.01 % of all copies, and nothing else moves.";
        assert!(svg.contains(said), "{svg}");
        assert!(svg.contains("a thin line here"), "{svg}");
        let high = svg.split("height=\"").skip(1);
        let high = high.filter_map(|text| text.split('"').next()?.parse::<f64>().ok());
        // the picture and its ground are high, and no bar is
        let bars: Vec<f64> = high.filter(|high| *high < 60.0).collect();
        assert!(
            bars.iter().filter(|high| **high == 1.0).count() >= 2,
            "{bars:?}"
        );
        let all = svg.split(" height=\"").nth(1).unwrap();
        let all: f64 = all.split('"').next().unwrap().parse().unwrap();
        assert!(all < 200.0, "{all}");
    }

    #[test]
    fn in_a_page_a_bar_has_the_colour_of_its_node_or_none() {
        // the streams and the bars of those that get something
        let colours = |nodes: usize, more: usize, of_page: bool| {
            let [old, new] = epochs(nodes, more, "n");
            let options = Options {
                width: 2000,
                nodes: if of_page {
                    nodes_of([&old, &new])
                } else {
                    Vec::new()
                },
                ..Options::default()
            };
            let svg = moves(&old, &new, &options).unwrap();
            let shapes = svg.split("<style>").next().unwrap().to_owned()
                + svg.split("</style>").nth(1).unwrap();
            let is_coloured = (0..8).any(|i| shapes.contains(&format!("class=\"sp-{i}\"")));
            assert_eq!(
                is_coloured,
                svg.contains("the colour of the bar where it ends")
            );
            is_coloured
        };
        // few nodes; more than have colours of their own; more than have bars of their own
        for (nodes, more, own) in [(5, 2, true), (30, 2, false), (6, 17, false)] {
            assert_eq!(colours(nodes, more, true), own, "{nodes} + {more}");
            // by itself, a picture has colours for its streams
            assert!(colours(nodes, more, false));
        }
    }

    #[test]
    fn a_long_name_loses_its_middle_and_not_the_number() {
        let [old, new] = epochs(3, 1, "a-node-with-a-very-long-name-");
        let options = Options {
            width: 390,
            ..Options::default()
        };
        let svg = moves(&old, &new, &options).unwrap();
        assert!(svg.contains("-3  25.0 %</text>"), "{svg}");
        for giver in 0..3 {
            assert!(svg.contains(&format!("{giver}  8.33 %</text>")));
        }
    }

    #[test]
    fn a_long_label_loses_the_number_of_its_nodes_first() {
        let text = |more: &str| {
            let node = |i: usize| {
                format!(
                    "[[node]]\nname = 'n{i:02}'\nlabels = {{zone = 'eu-{}'}}\n",
                    i % 3
                )
            };
            let nodes: String = (0..27).map(node).collect();
            format!("name = 'm'\nreplicas = 3\nspread = ['zone']\n{nodes}{more}")
        };
        let fleet = |more: &str| Fleet::parse(&text(more), "fleet").unwrap();
        let old = build(&fleet(""), None).unwrap();
        let more = "[[node]]\nname = 'n27'\nlabels = {zone = 'eu-9'}\n";
        let new = build(&fleet(more), Some(&old)).unwrap();
        let drawn = |width| {
            let options = Options {
                width,
                ..Options::default()
            };
            moves(&old, &new, &options).unwrap()
        };
        let wide = drawn(960);
        assert!(wide.contains(">zone eu-1 (9 nodes)  "), "{wide}");
        let narrow = drawn(390);
        assert!(narrow.contains(">eu-1  "), "{narrow}");
    }
}
