//! Moves: what goes from which node to which between two epochs, as streams from the left to the
//! right.

use std::collections::BTreeMap;

use stead::plan::{all_copies, Amounts};
use stead::policy::NodeId;
use stead::ways::{of_plan, Way};
use stead::{Map, Plan, Result};

use crate::canvas::{Anchor, Box, Canvas, MARGIN, SIZE, SMALL};
use crate::colours::{series, STYLES};
use crate::figures::length;
use crate::groups::{natural, nodes_of, Groups, Member};
use crate::labels::{fitted, in_words, of_groups, Fitted, Label};
use crate::letters;
use crate::measure::{Counted, Measure};
use crate::options::Options;
use crate::read::{Between, Read};

/// The most bars on a side.
const MOST: usize = 16;
/// The height of all bars of a side together.
const HIGH: f64 = 340.0;
/// The least part of all copies that fills the height; less would read `< 0.01 %` beside a bar as
/// high as that of a half.
const THIN: f64 = 0.0001;
/// The most of the width that the labels of a side take, with their numbers. Two of them leave more
/// than a quarter for the streams, and the report page's pictures have room for `…a00-01 +37`.
const SIDE: f64 = 0.36;
/// The least distance of two bars.
const GAP: f64 = 6.0;
/// The height of a line of text, which is the least distance of two labels.
const LINE: f64 = 18.0;

/// One side of the picture: the names of its bars, and which bar each node has. The node `None`
/// stands for new copies that no node has on the left side, and for dropped copies on the right
/// side.
struct Side {
    labels: Vec<Label>,
    of: BTreeMap<Option<NodeId>, usize>,
    /// how much each bar gives or gets
    amounts: Vec<u128>,
    /// the same as parts of all copies
    parts: Vec<f64>,
    /// the colour of each bar; a bar of copies that come from nowhere, or go nowhere, has none
    colours: Vec<Option<usize>>,
}

/// A bar that is placed. Its label is beside its middle.
#[derive(Clone, Copy)]
struct Placed {
    y: f64,
    height: f64,
}

impl Placed {
    /// Returns where the label stands.
    fn text(&self) -> f64 {
        self.y + self.height / 2.0 + SIZE * 0.36
    }
}

/// Draws what goes from which node to which. If more than 16 nodes give or get something, they are
/// taken together by their outermost fault domain or by name. Returns `Identity` for maps of
/// different clusters.
pub fn moves(old: &Map, new: &Map, options: &Options) -> Result<String> {
    let plan = Plan::between(old, new)?;
    let ways = of_plan(&plan, old);
    // as `stead plan`: of the copies of the map that has more of them
    let measure = Measure::Part(all_copies(old, new) as f64);
    let dropped = ways.iter().filter(|(way, _)| way.to.is_none());
    let dropped: u128 = dropped.map(|(_, points)| *points).sum();
    let copies = old.replicas() < new.replicas();
    let line = in_sentences(&plan.amounts, dropped, copies, |points| {
        measure.whole(points)
    });
    Ok(picture([old, new], &ways, &measure, line, options))
}

/// Draws what goes from which node to which of the rows or bytes of keys.
pub fn moves_counted(old: &Map, new: &Map, counted: &Counted, options: &Options) -> String {
    let measure = Measure::Number(counted);
    let line = counted.line.clone();
    picture([old, new], &counted.ways, &measure, line, options)
}

fn picture(
    [old, new]: [&Map; 2],
    ways: &BTreeMap<Way, u128>,
    measure: &Measure,
    line: String,
    options: &Options,
) -> String {
    let giver = |way: &Way| way.from.or(way.source);
    let mut from = side(old, ways.keys().map(giver), "new copies");
    let mut to = side(new, ways.keys().map(|way| way.to), "dropped");
    let own = coloured(old, new, &options.nodes).and_then(|nodes| of_nodes(&to, new, &nodes));
    match own {
        Some(own) => to.colours = own,
        // in a page, a colour stands for a node or for a group of the bands, and a bar for neither
        None if !options.nodes.is_empty() => to.colours.fill(None),
        None => {}
    }
    let mut streams: BTreeMap<Between, u128> = BTreeMap::new();
    for (way, amount) in ways {
        let (left, right) = (from.of[&giver(way)], to.of[&way.to]);
        *streams
            .entry((left, right, way.from.is_none()))
            .or_default() += amount;
        from.amounts[left] += amount;
        to.amounts[right] += amount;
    }
    for side in [&mut from, &mut to] {
        side.parts = side.amounts.iter().map(|n| measure.part(*n)).collect();
    }
    let title = title(old, new);
    let line = match streams.is_empty() {
        true => "Nothing moves.".to_owned(),
        false => line,
    };
    let read = Read::of(&streams);
    let is_thin = from.parts.iter().sum::<f64>() < THIN;
    let coloured = to.colours.iter().any(Option::is_some);
    let legend = match (streams.is_empty(), is_thin, coloured) {
        (true, ..) => "",
        (_, true, _) => " So little is a thin line here.",
        (_, _, true) => {
            " A stream is as thick as what it moves, and has the colour of the bar where it ends."
        }
        (_, _, false) => " A stream is as thick as what it moves.",
    };
    let left = written(&from, &to, measure, options.wide());
    let right = written(&to, &from, measure, options.wide());
    let names = in_words(&left, &right);
    let read_said = read.in_words();
    let lines = [format!("{line}{legend}{read_said}{names}")];
    let mut canvas = Canvas::new(options, title, &lines);
    if streams.is_empty() {
        canvas.y -= 20.0;
        return canvas.finish(&line);
    }
    draw(
        &mut canvas,
        [&from, &to],
        [&left.texts, &right.texts],
        &streams,
        measure,
        read,
    );
    let said: Vec<String> = streams
        .iter()
        .map(|(between, amount)| said(*between, [&from, &to], "", &measure.whole(*amount)))
        .collect();
    canvas.finish(&format!("{line} {}.", said.join(", ")))
}

/// Says what a stream is: `n1 to n4 25.0 %`, with a mark between the names and the amount.
fn said(
    (giver, taker, added): Between,
    [from, to]: [&Side; 2],
    mark: &str,
    amount: &str,
) -> String {
    let (from, to) = (from.labels[giver].whole(), to.labels[taker].whole());
    let added = if added { " (added)" } else { "" };
    format!("{from} to {to}{added}{mark} {amount}")
}

fn title(old: &Map, new: &Map) -> String {
    format!(
        "{}: what moves from epoch {} to {}",
        new.name(),
        old.epoch(),
        new.epoch()
    )
}

/// Says how much a change moves and drops. `copies` says that there are more copies than before,
/// and `part` formats points as a part of all copies.
fn in_sentences(
    amounts: &Amounts,
    dropped: u128,
    copies: bool,
    part: impl Fn(u128) -> String,
) -> String {
    let (moved, by_hand) = (amounts.moved.0, amounts.by_hand.0);
    let verb = if copies { "copies" } else { "moves" };
    let dropped = match dropped {
        0 => String::new(),
        dropped => part(dropped),
    };
    match (moved, by_hand, dropped.as_str()) {
        (0, 0, dropped) if !dropped.is_empty() => {
            format!("The change drops {dropped} of all copies, and moves nothing.")
        }
        (0, 1.., "") => format!(
            "Pins and policies move {} of all copies, and nothing else moves.",
            part(by_hand)
        ),
        (0, 1.., dropped) => format!(
            "The change drops {dropped} of all copies. Pins and policies move {}, and nothing else \
             moves.",
            part(by_hand)
        ),
        (moved, by_hand, dropped) => {
            let mut line = format!(
                "The change {verb} {} of all copies; the least possible is {}.",
                part(moved),
                part(amounts.lower_bound.0)
            );
            if by_hand > 0 {
                line += &format!(" Pins and policies move {} more.", part(by_hand));
            }
            if !dropped.is_empty() {
                line += &format!(" The change drops {dropped}.");
            }
            line
        }
    }
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
    let mut labels = of_groups(&groups);
    let mut colours: Vec<Option<usize>> = (0..labels.len()).map(Some).collect();
    let mut of: BTreeMap<Option<NodeId>, usize> = BTreeMap::new();
    for (node, group) in there.into_iter().zip(groups.of) {
        of.insert(Some(node), group);
    }
    if nodes.contains(&None) {
        of.insert(None, labels.len());
        labels.push(Label::Other(nowhere.to_owned()));
        colours.push(None);
    }
    Side {
        amounts: vec![0; labels.len()],
        parts: Vec::new(),
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

/// Places the bars of a side below each other. Thin bars are so far apart that each has its label
/// beside it.
fn placed(parts: &[f64], top: f64) -> Vec<Placed> {
    let sum: f64 = parts.iter().sum();
    let gaps = GAP * (parts.len().max(1) - 1) as f64;
    let high = if sum < THIN { 0.0 } else { HIGH - gaps };
    let mut bars: Vec<Placed> = Vec::with_capacity(parts.len());
    for part in parts {
        let height = (high * part / sum).max(1.0);
        let y = bars.last().map_or(top, |last| {
            let apart = LINE - (last.height + height) / 2.0;
            last.y + last.height + apart.max(GAP)
        });
        bars.push(Placed { y, height });
    }
    bars
}

/// Writes the labels of a side, with their numbers, so that they fit into a picture of this width.
/// Of a long label the name is shortened, and not the number.
fn written(side: &Side, beside: &Side, measure: &Measure, width: f64) -> Fitted {
    let room = SIDE * (width - 2.0 * MARGIN);
    let amounts = measure.beside(&side.amounts, room).into_iter();
    let amounts: Vec<String> = amounts.map(|amount| format!("  {amount}")).collect();
    let widest = amounts.iter().map(|amount| letters::width(amount, SIZE));
    let room = room - widest.fold(0.0, f64::max);
    let mut fitted = fitted(&side.labels, &beside.labels, room);
    for (text, amount) in fitted.texts.iter_mut().zip(&amounts) {
        text.push_str(amount);
    }
    fitted
}

fn draw(
    canvas: &mut Canvas,
    [from, to]: [&Side; 2],
    [left, right]: [&[String]; 2],
    streams: &BTreeMap<Between, u128>,
    measure: &Measure,
    read: Read,
) {
    let (given, taken) = (&from.parts, &to.parts);
    let widest = |texts: &[String]| {
        let widths = texts.iter().map(|text| letters::width(text, SIZE));
        widths.fold(0.0, f64::max)
    };
    let (start, end) = (
        MARGIN + widest(left) + 10.0,
        canvas.width() - MARGIN - widest(right) - 10.0,
    );
    let [gives, gets] = [read.verb(), "gets"].map(|verb| match measure.unit() {
        "" => verb.to_owned(),
        unit => format!("{verb} ({unit})"),
    });
    // a word longer than the labels ends at the edge of the picture
    let above = |word: &str, wide: f64| letters::cut(word, SMALL, wide - MARGIN);
    let gives = above(&gives, start + 12.0);
    let gets = above(&gets, canvas.width() - end + 12.0);
    canvas.text(start + 12.0, canvas.y, Anchor::End, "sp-q sp-s", &gives);
    canvas.text(end - 12.0, canvas.y, Anchor::Start, "sp-q sp-s", &gets);
    let top = canvas.y + 12.0;
    let (givers, takers) = (placed(given, top), placed(taken, top));
    let mut out: Vec<f64> = givers.iter().map(|bar| bar.y).collect();
    let mut into: Vec<f64> = takers.iter().map(|bar| bar.y).collect();
    // the height of a stream at a bar; where nothing is counted, all are a line
    let high = |bar: &Placed, part: f64, of: f64| match of > 0.0 {
        true => bar.height * part / of,
        false => bar.height,
    };
    for (between, amount) in streams {
        let (giver, taker, is_added) = *between;
        let part = measure.part(*amount);
        let (a, b) = (
            high(&givers[giver], part, given[giver]),
            high(&takers[taker], part, taken[taker]),
        );
        let d = stream(start + 12.0, out[giver], a, end - 12.0, into[taker], b);
        let said = said(*between, [from, to], ":", &measure.whole(*amount));
        let class = to.colours[taker].map_or("sp-before".to_owned(), series);
        let opacity = match is_added && read == Read::Some {
            true => "fill-opacity=\"0.2\"",
            false => "fill-opacity=\"0.5\"",
        };
        canvas.path(&d, &class, opacity, &said);
        out[giver] += a;
        into[taker] += b;
    }
    let said =
        |label: &Label, amount: u128| format!("{}  {}", label.whole(), measure.whole(amount));
    for (number, (bar, words)) in givers.iter().zip(left).enumerate() {
        canvas.rect(
            Box {
                x: start,
                y: bar.y,
                width: 12.0,
                height: bar.height,
            },
            "sp-ink",
            &said(&from.labels[number], from.amounts[number]),
        );
        canvas.text(start - 10.0, bar.text(), Anchor::End, "sp-t", words);
    }
    for (number, (bar, words)) in takers.iter().zip(right).enumerate() {
        let of = Box {
            x: end - 12.0,
            y: bar.y,
            width: 12.0,
            height: bar.height,
        };
        let said = said(&to.labels[number], to.amounts[number]);
        match to.colours[number] {
            Some(colour) => canvas.group_rect(of, colour, &said),
            None => canvas.rect(of, "sp-before", &said),
        }
        canvas.text(end + 10.0, bar.text(), Anchor::Start, "sp-t", words);
    }
    let bottom = |bars: &[Placed]| {
        bars.iter()
            .map(|bar| bar.text().max(bar.y + bar.height))
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
    fn an_added_copy_has_a_stream_from_the_node_that_is_read() {
        let fleet = |replicas: usize, nodes: usize| {
            let nodes: Vec<String> = (0..nodes).map(|i| format!("{{name = 'n{i}'}}")).collect();
            let nodes = nodes.join(",");
            let text = format!("name = 'c'\nreplicas = {replicas}\nnode = [{nodes}]\n");
            Fleet::parse(&text, "fleet.toml").unwrap()
        };
        let drawn = |first: &Fleet, then: &Fleet| {
            let old = build(first, None).unwrap();
            let new = build(then, Some(&old)).unwrap();
            moves(&old, &new, &Options::default()).unwrap()
        };
        let svg = drawn(&fleet(1, 2), &fleet(2, 2));
        for said in [
            "<title>n0 to n1 (added): 25.0 %</title>",
            "<title>n1 to n0 (added): 25.0 %</title>",
            "The change copies 50.0 % of all copies; the least possible is 50.0 %.",
            "The nodes on the left are only read: they keep their copies.",
            ">is read</text>",
        ] {
            assert!(has(&svg, said), "{said}");
        }
        assert!(!svg.contains("fill-opacity=\"0.2\"") && !svg.contains("new copies"));
        // nodes that come at the same time take copies away, and the streams differ
        let svg = drawn(&fleet(2, 3), &fleet(3, 6));
        for said in [
            "A pale stream adds copies: for it the node on the left is only read.",
            ">gives or is read</text>",
        ] {
            assert!(has(&svg, said), "{said}");
        }
        let pale = svg.split("fill-opacity=\"0.2\"><title>").skip(1);
        let pale: Vec<bool> = pale
            .map(|rest| rest.split(": ").next().unwrap().ends_with(" (added)"))
            .collect();
        assert!(pale.len() > 1 && pale.iter().all(|added| *added));
        assert_eq!(svg.matches(" (added): ").count(), pale.len());
        // a pin that goes to another node is too little to be seen
        let pinned = |mut fleet: Fleet, node: &str| {
            let text = fleet.to_toml() + &format!("[[pin]]\nkey = 'k'\nnodes = ['{node}']\n");
            fleet = Fleet::parse(&(text + "short = true\n"), "fleet.toml").unwrap();
            fleet
        };
        let svg = drawn(&pinned(fleet(1, 2), "n0"), &pinned(fleet(2, 2), "n1"));
        assert!(has(
            &svg,
            "Nearly all are added copies: the nodes on the left are only read."
        ));
        assert!(has(&svg, ">is read</text>") && !svg.contains("fill-opacity=\"0.2\""));
    }

    /// Whether a picture says this, perhaps over several lines.
    fn has(svg: &str, said: &str) -> bool {
        let texts = svg.split("<text ").skip(1).filter_map(|text| {
            let text = text.split_once('>')?.1;
            Some(text.split("</text>").next()?.to_owned())
        });
        let texts: Vec<String> = texts.collect();
        texts.join(" ").contains(said) || svg.contains(said)
    }

    #[test]
    fn what_is_counted_is_written_in_full_where_there_is_room() {
        let [old, new] = epochs(2, 1, "n");
        let ways = of_plan(&Plan::between(&old, &new).unwrap(), &old);
        let mut counted = Counted {
            unit: "bytes".to_owned(),
            line: "The change moves 3 of 4 bytes.".to_owned(),
            all: 1 << 44,
            ways: ways
                .into_keys()
                .map(|way| (way, 1_234_567_890_123))
                .collect(),
        };
        let drawn = |counted: &Counted, width| {
            let options = Options {
                width,
                ..Options::default()
            };
            moves_counted(&old, &new, counted, &options)
        };
        let wide = drawn(&counted, 960);
        for said in [
            ">n0  1,234,567,890,123</text>",
            ">gives (bytes)</text>",
            ">gets (bytes)</text>",
            "<title>n0 to n2: 1,234,567,890,123 bytes</title>",
            "The change moves 3 of 4 bytes. A stream is as thick as what it moves",
        ] {
            assert!(has(&wide, said), "{said}\n{wide}");
        }
        let narrow = drawn(&counted, 400);
        assert!(narrow.contains(">n0  1.23 T</text>"), "{narrow}");
        assert!(narrow.contains("n0 to n2: 1,234,567,890,123 bytes"));
        // without a word the numbers are enough; and a file may have no byte that moves
        counted.unit = String::new();
        counted.ways.values_mut().for_each(|bytes| *bytes = 0);
        let nothing = drawn(&counted, 960);
        assert!(has(&nothing, ">gives</text>") && has(&nothing, ">n0  0</text>"));
        assert!(!nothing.contains("NaN") && has(&nothing, "a thin line here"));
    }

    #[test]
    fn what_is_dropped_is_said() {
        let fleet = |replicas: usize, pin: &str| {
            let nodes: Vec<String> = (0..6).map(|i| format!("{{name = 'n{i}'}}")).collect();
            let nodes = nodes.join(",");
            let text = format!("name = 'c'\nreplicas = {replicas}\nnode = [{nodes}]\n{pin}");
            Fleet::parse(&text, "fleet.toml").unwrap()
        };
        let drawn = |first: &Fleet, then: &Fleet| {
            let old = build(first, None).unwrap();
            let new = build(then, Some(&old)).unwrap();
            moves(&old, &new, &Options::default()).unwrap()
        };
        let svg = drawn(&fleet(3, ""), &fleet(1, ""));
        let said = "The change drops 66.7 % of all copies, and moves nothing.";
        assert!(svg.contains(said), "{svg}");
        let pin = |node: usize| format!("[[pin]]\nkey = 'k'\nnodes = ['n{node}']\n");
        let svg = drawn(&fleet(3, &pin(2)), &fleet(1, &pin(0)));
        let said =
            "The change drops 66.7 % of all copies. Pins and policies move &lt; 0.01 %, and \
                    nothing else moves.";
        assert!(svg.contains(said), "{svg}");
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

    /// Draws what moves as a picture of this width.
    fn at_width(old: &Map, new: &Map, width: u32) -> String {
        let options = Options {
            width,
            ..Options::default()
        };
        moves(old, new, &options).unwrap()
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
    fn groups_of_long_names_show_that_they_are_groups() {
        let text = |more: usize| {
            let old = (0..300).map(|i| format!("store-a{:02}-{}.example.net", i / 3, i % 3));
            let new = (0..more).map(|i| format!("photos-b{:02}-{}.example.com", i / 4, i % 4));
            let nodes: Vec<String> = old
                .chain(new)
                .map(|name| format!("{{name='{name}'}}"))
                .collect();
            format!("name = 'c'\nnode = [{}]", nodes.join(","))
        };
        let fleet = |more| Fleet::parse(&text(more), "fleet.toml").unwrap();
        let old = build(&fleet(0), None).unwrap();
        let new = build(&fleet(20), Some(&old)).unwrap();
        let drawn = |width| at_width(&old, &new, width);
        let wide = drawn(960);
        assert!(
            wide.contains(">store-a00-0 to store-a12-1 (38 nodes)  0.79 %<"),
            "{wide}"
        );
        assert!(wide.contains(">photos-b00-0 to photos-b00-2"), "{wide}");
        assert!(
            wide.contains(" without .example.net on the left, and"),
            "{wide}"
        );
        let narrow = drawn(480);
        assert!(narrow.contains("…a00-0 +37  0.79 %<"), "{narrow}");
        assert!(narrow.contains("…b00-0 +2  0.94 %<"), "{narrow}");
    }

    #[test]
    fn a_label_is_beside_its_own_bar_however_thin_that_is() {
        let parts = [0.9, 0.001, 0.002, 0.0001, 0.03, 0.0669];
        let bars = placed(&parts, 100.0);
        for pair in bars.windows(2) {
            assert!(pair[0].text() + LINE <= pair[1].text() + 1e-9);
            assert!(pair[0].y + pair[0].height + GAP <= pair[1].y + 1e-9);
        }
        for bar in bars {
            assert_eq!(bar.text() - SIZE * 0.36, bar.y + bar.height / 2.0);
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
        let drawn = |width| at_width(&old, &new, width);
        let wide = drawn(960);
        assert!(wide.contains(">zone eu-1 (9 nodes)  "), "{wide}");
        let narrow = drawn(390);
        assert!(narrow.contains(">zone eu-1  "), "{narrow}");
        let narrow = drawn(340);
        assert!(narrow.contains(">eu-1  "), "{narrow}");
    }
}
