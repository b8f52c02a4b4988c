//! `stead who MAP NODE`: what a node holds, with whom, and what its loss costs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::map::{Node, Pin};
use stead::outage::{Outage, Profile};
use stead::report::{Amount, HolderReport, Report};
use stead::Map;

use crate::band::density;
use crate::carrying::note_early;
use crate::down;
use crate::exit::{Failure, Result, INTERNAL};
use crate::input::{self, KeyJson};
use crate::loss::{Loss, Part};
use crate::output::{Out, HEADING};
use crate::picture::{columns, part, Glyphs};
use crate::text::Table;

/// How many pins, policies and partners are listed, unless all are wanted.
const LISTED: usize = 8;
/// The columns of a bar.
const BAR: usize = 20;
/// The most columns of a band of the key space, however wide the terminal is.
const BAND: usize = 120;

/// Show one node: what it holds, with whom, and what its loss costs
///
/// Prints the weight, labels and shares of the node, its slices, the pins and policies that name
/// it, the nodes that hold copies of its keys, and what `stead what-if --down NODE` would say.
#[derive(Args)]
#[command(after_help = "\
Example: what is on a node, before it is taken down
  stead who members.map db7

Exit codes:
  0   done
  64  wrong usage, or a node that the map does not have
  65  the map is damaged or not a map
  66  the map is missing
  74  reading or writing failed
  77  permission denied")]
pub struct Who {
    /// The map file
    map: PathBuf,
    /// The name of the node
    node: String,
    /// List every pin, policy and partner
    #[arg(long)]
    all: bool,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    epoch: u64,
    replicas: u32,
    node: ShownNode<'a>,
    slices: usize,
    primary_slices: usize,
    largest: Option<Range>,
    pins: Vec<ShownPin<'a>>,
    policies: Vec<ShownPolicy<'a>>,
    partners: Vec<ShownPartner<'a>>,
    loss: Loss<'a>,
}

#[derive(Serialize)]
struct ShownNode<'a> {
    #[serde(flatten)]
    holder: HolderReport<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    formerly: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    leaving: bool,
    labels: BTreeMap<&'a str, &'a str>,
    attributes: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Range {
    first: String,
    last: String,
    #[serde(flatten)]
    part: Part,
}

#[derive(Serialize)]
struct ShownPin<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyJson<'a>>,
    first: String,
    last: String,
    /// the place of the node among the nodes of the pin: 0 for the primary
    place: usize,
    nodes: usize,
}

#[derive(Serialize)]
struct ShownPolicy<'a> {
    name: &'a str,
    place: usize,
    nodes: usize,
}

#[derive(Serialize)]
struct ShownPartner<'a> {
    name: &'a str,
    shared: Amount,
}

impl Who {
    pub fn run(self, out: &mut Out) -> Result {
        let map = Map::open_uncached(&self.map)?;
        note_early(&map, &self.map, "this counts what they are to have");
        let node = down::node(&map, &self.node, "this shows one node at a time")?;
        let profile = Profile::of(&map, node.id);
        let outage = Outage::of(&map, &[node.id]);
        let report = Report::of(None, &map, false)?;
        let holder = report.nodes.into_iter().find(|h| h.name == node.name());
        let holder = holder.ok_or_else(|| Failure::new(INTERNAL, "a node has no report"))?;
        let shown = shown_node(&map, node, holder, &profile, Loss::of(&map, &outage));
        if self.json {
            return out.json(&shown);
        }
        self.write(&map, node, &profile, &shown, out)
    }

    fn write(
        &self,
        map: &Map,
        node: Node,
        profile: &Profile,
        shown: &Shown,
        out: &mut Out,
    ) -> Result {
        heading(map, node, profile, shown, out)?;
        band(map, profile, out)?;
        let most = if self.all { usize::MAX } else { LISTED };
        pins(map, profile, shown, most, out)?;
        partners(shown, most, out)?;
        out.line("")?;
        out.line(out.paint(HEADING, format!("if {} fails", node.name())))?;
        shown.loss.write_left(out)?;
        out.line("")?;
        shown.loss.write_takers(out)
    }
}

fn shown_node<'a>(
    map: &'a Map,
    node: Node<'a>,
    holder: HolderReport<'a>,
    profile: &Profile,
    loss: Loss<'a>,
) -> Shown<'a> {
    let place = |policy| {
        let members = map.policy(policy).distinct();
        let place = members.iter().position(|member| *member == node.id);
        (place.unwrap_or(0), members.len())
    };
    let pin = |pin: Pin<'a>| {
        let (place, nodes) = place(pin.slice.policy);
        ShownPin {
            key: pin.key.map(KeyJson::of),
            first: pin.slice.first.to_string(),
            last: pin.slice.last.to_string(),
            place,
            nodes,
        }
    };
    Shown {
        name: map.name(),
        epoch: map.epoch(),
        replicas: map.replicas(),
        node: ShownNode {
            holder,
            formerly: node.formerly(),
            leaving: node.leaving(),
            labels: node.labels().collect(),
            attributes: node.attributes().collect(),
        },
        slices: profile.slices,
        primary_slices: profile.primary_slices,
        largest: profile.largest.map(|slice| Range {
            first: slice.first.to_string(),
            last: slice.last.to_string(),
            part: Part::of(slice.points()),
        }),
        pins: (profile.pins.iter())
            .filter_map(|number| map.pins().nth(*number))
            .map(pin)
            .collect(),
        policies: (profile.policies.iter())
            .map(|id| {
                let (place, nodes) = place(*id);
                ShownPolicy {
                    name: map.policy(*id).name().unwrap_or(""),
                    place,
                    nodes,
                }
            })
            .collect(),
        partners: (profile.partners.iter())
            .map(|partner| ShownPartner {
                name: map.node(partner.node).name(),
                shared: Amount::of(partner.points, map),
            })
            .collect(),
        loss,
    }
}

fn heading(map: &Map, node: Node, profile: &Profile, shown: &Shown, out: &mut Out) -> Result {
    let title = format!(
        "{}: a node of {}, epoch {}",
        node.name(),
        map.name(),
        map.epoch()
    );
    out.line(out.paint(HEADING, title))?;
    let amount = |points: &str| part(Amount::of(points.parse().unwrap_or(0), map).fraction);
    let holder = &shown.node.holder;
    out.line(format_args!("weight    {}", node.weight()))?;
    let pairs = |pairs: &BTreeMap<&str, &str>| {
        let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    for (what, texts) in [
        ("labels", &shown.node.labels),
        ("about", &shown.node.attributes),
    ] {
        if !texts.is_empty() {
            out.line(format_args!("{what:<8}  {}", pairs(texts)))?;
        }
    }
    if let Some(formerly) = node.formerly() {
        out.line(format_args!("formerly  {formerly}"))?;
    }
    if node.leaving() {
        out.line("leaving   a gradual change empties it")?;
    }
    let wanted = match holder.reason {
        Some(_) => format!(
            "; its weight alone would give it {}",
            amount(&holder.wanted_points)
        ),
        None => String::new(),
    };
    out.line(format_args!(
        "share     {} of all copies{wanted}",
        amount(&holder.points)
    ))?;
    let primary = part(Part::of(profile.primary_points).fraction);
    out.line(format_args!("primary   of {primary} of all keys"))?;
    out.line(format_args!(
        "slices    {} of {}; first in {}",
        shown.slices,
        map.slice_count(),
        shown.primary_slices
    ))?;
    match &shown.largest {
        Some(range) => out.line(format_args!(
            "largest   {} of all keys, from {}",
            part(range.part.fraction),
            range.first
        )),
        None => Ok(()),
    }
}

/// Writes where along the key space the node holds how much.
fn band(map: &Map, profile: &Profile, out: &mut Out) -> Result {
    if profile.slices == 0 {
        return Ok(());
    }
    let held = map.slices().filter(|slice| {
        let mut members = map.policy(slice.policy).members();
        members.any(|member| member == profile.node)
    });
    let glyphs = Glyphs::of_stdout();
    let width = columns().clamp(40, BAND) - "holds     ".len();
    let band = density(held.map(|slice| (slice.first, slice.last)), width);
    let band: String = band.iter().map(|part| glyphs.shade(*part)).collect();
    out.line(format_args!("holds     {band}"))?;
    let [none, quarter, half, most, all] = [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| glyphs.shade(p));
    out.line(format_args!(
        "          {none} none of the keys  {quarter} up to 25 %  {half} up to 50 %  {most} up to 75 %  \
         {all} more"
    ))
}

fn pins(map: &Map, profile: &Profile, shown: &Shown, most: usize, out: &mut Out) -> Result {
    let place = |place, nodes| match place {
        0 => format!("first of {nodes}"),
        place => format!("copy {} of {nodes}", place + 1),
    };
    let mut table = Table::new(&["named by", "", "as"], &[]).fitted(&[]);
    for policy in shown.policies.iter().take(most) {
        let place = place(policy.place, policy.nodes);
        table.row(["policy".to_owned(), policy.name.to_owned(), place]);
    }
    let texts = profile
        .pins
        .iter()
        .filter_map(|number| map.pins().nth(*number));
    for (pin, text) in shown.pins.iter().zip(texts).take(most) {
        let what = match text.key {
            Some(key) => format!("key {}", input::shown(key)),
            None => format!("{}..{}", pin.first, pin.last),
        };
        table.row(["pin".to_owned(), what, place(pin.place, pin.nodes)]);
    }
    if shown.policies.is_empty() && shown.pins.is_empty() {
        return Ok(());
    }
    out.line("")?;
    table.write(out)?;
    rest(shown.policies.len(), most, ["policy", "policies"], out)?;
    rest(shown.pins.len(), most, ["pin", "pins"], out)
}

fn partners(shown: &Shown, most: usize, out: &mut Out) -> Result {
    let largest = shown.partners.first().map_or(1.0, |p| p.shared.fraction);
    let mut table = Table::new(&["partner", "holds with it", ""], &[1]).fitted(&[]);
    for partner in shown.partners.iter().take(most) {
        let bar = Glyphs::of_stdout().bar(partner.shared.fraction / largest, BAR);
        table.row([partner.name.to_owned(), part(partner.shared.fraction), bar]);
    }
    if shown.partners.is_empty() {
        return Ok(());
    }
    out.line("")?;
    table.write(out)?;
    rest(shown.partners.len(), most, ["partner", "partners"], out)
}

/// Says how many things of a list were not written. They are named as one and as several.
fn rest(all: usize, most: usize, [one, several]: [&str; 2], out: &mut Out) -> Result {
    match all.saturating_sub(most) {
        0 => Ok(()),
        1 => out.line(format_args!("and 1 more {one}; --all lists it")),
        more => out.line(format_args!("and {more} more {several}; --all lists them")),
    }
}
