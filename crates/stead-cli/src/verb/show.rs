//! `stead show MAP`: what a map contains.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::cell::Cells;
use stead::format::hex;
use stead::hash::KeyRule;
use stead::map::{Node, Policy};
use stead::report::{Amount, DomainReport, HolderReport, Report};
use stead::slice::Slice;
use stead::store::KEEP;
use stead::verdict::Holder;
use stead::{Map, Store};

use crate::caps::{self, Said};
use crate::carrying::{self, CarryJson};
use crate::change::understood;
use crate::exit::{note, Result};
use crate::input::{shown, KeyJson};
use crate::output::{Out, HEADING};
use crate::primaries;
use crate::text::{any_pinned, bar_of, by_name, count, hash, percent, primary, step_of, Table};

/// Show what a map contains
///
/// Prints its identity, how much a gradual change has still to move, its nodes, fault domains,
/// policies and pins, and with --slices every slice. Secrets are never shown.
#[derive(Args)]
#[command(after_help = "\
Example: every slice of a map, for a program
  stead show members.map --json --slices
Example: the fleet file that was lost
  stead show members.map --fleet > fleet.toml

Exit codes:
  0   done
  64  wrong usage
  65  the map is damaged or not a map
  66  the map is missing
  74  reading or writing failed
  77  permission denied")]
pub struct Show {
    /// The map file
    map: PathBuf,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
    /// Also list every slice, with the pins applied
    #[arg(long)]
    slices: bool,
    /// Also draw the key space: who is the primary where
    #[arg(long, conflicts_with = "json")]
    band: bool,
    /// Print the fleet of the map instead: a fleet file that changes nothing when it is applied. It
    /// has no [guard], which a map does not keep
    #[arg(long, conflicts_with_all = ["json", "slices", "band"])]
    fleet: bool,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    epoch: u64,
    replicas: u32,
    spread: Vec<&'a str>,
    hash: &'a str,
    /// the number of cells of an adopted ring whose hash has fewer than 2^64 values
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    modulo: bool,
    key: String,
    digest: String,
    parent: String,
    map_id: String,
    algorithm: u32,
    max_slices: Option<u32>,
    tolerance: Option<String>,
    slices: Slices<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slice_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_come: Option<Amount>,
    /// the carry that is open
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<CarryJson>,
    violations: usize,
    pending_violations: usize,
    pin_violations: usize,
    short_pins: usize,
    max_share_error_points: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_share_error_millionths: Option<u128>,
    nodes: Vec<ShownNode<'a>>,
    policies: Vec<ShownPolicy<'a>>,
    domains: Vec<DomainReport<'a>>,
    pins: Vec<ShownPin<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    firsts: Vec<ShownFirst<'a>>,
}

#[derive(Serialize)]
struct ShownFirst<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyJson<'a>>,
    first: String,
    last: String,
    node: &'a str,
}

/// The number of base slices, or with --slices the list of final slices.
#[derive(Serialize)]
#[serde(untagged)]
enum Slices<'a> {
    Count(usize),
    List(Vec<ShownSlice<'a>>),
}

#[derive(Serialize)]
struct ShownSlice<'a> {
    first: String,
    last: String,
    nodes: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a str>,
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

/// A named policy. One without a weight has no share, and of the holder's fields only its name.
#[derive(Serialize)]
struct ShownPolicy<'a> {
    #[serde(flatten)]
    holder: Option<HolderReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    kind: &'a str,
    nodes: Vec<&'a str>,
}

#[derive(Serialize)]
struct ShownPin<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyJson<'a>>,
    #[serde(flatten)]
    slice: ShownSlice<'a>,
    /// whether the fleet allows this pin fewer copies than R, or more copies in a domain than its
    /// cap
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    short: bool,
}

impl Show {
    pub fn run(self, out: &mut Out) -> Result {
        let map = Map::open_uncached(&self.map)?;
        understood(&map, &self.map)?;
        if self.fleet {
            out.bytes(map.fleet().to_toml().as_bytes())?;
            out.flush()?;
            note(format_args!(
                "{}: a map does not keep the guards of its fleet file; if yours has [guard], write \
                 that again: carry, move, and the first_map = false that `stead ring` writes",
                self.map.display()
            ));
            return Ok(());
        }
        // not compared with another map, like the report of a first map
        let report = Report::of(None, &map, false)?;
        if self.json {
            return out.json(&shown_map(&map, report, self.slices));
        }
        heading(&map, out)?;
        if let Some(amount) = &report.to_come {
            let part = percent(amount.points.parse().unwrap_or(0), map.replicas());
            let progress = Store::new(&self.map, KEEP).progress(&map);
            let done = progress.map_or(String::new(), |progress| {
                format!("{} {}, ", bar_of(&progress), step_of(&progress))
            });
            out.line(format_args!("change  {done}{part} still to come"))?;
        }
        Said::write(&caps::broken(&report, &map), out)?;
        Said::write(&caps::drained(&map), out)?;
        out.line("")?;
        holders(&map, &report).write(out)?;
        caps::write(&report, out)?;
        lists(&map, out)?;
        if self.band {
            out.line("")?;
            primaries::write(&map, out)?;
        }
        if self.slices {
            out.line("")?;
            let heading = ["first", "last", "share", "nodes", "policy"];
            // the next slice begins where one ends
            let mut table = Table::new(&heading, &[2]).fitted(&[1, 2]);
            map.slices()
                .for_each(|slice| table.row(slice_row(&map, &slice)));
            table.write(out)?;
        }
        Ok(())
    }
}

fn shown_map<'a>(map: &'a Map, report: Report<'a>, slices: bool) -> Shown<'a> {
    let mut weighted: BTreeMap<&str, HolderReport> =
        report.policies.into_iter().map(|h| (h.name, h)).collect();
    let policies = map
        .policies()
        .filter_map(|policy| Some((policy.name()?, policy)));
    Shown {
        name: map.name(),
        epoch: map.epoch(),
        replicas: map.replicas(),
        spread: map.spread().collect(),
        hash: map.hash().name(),
        cells: (map.cells() != Cells::FINEST).then(|| map.cells().count().to_string()),
        modulo: map.hash().is_modulo(),
        key: map.key_rule().to_string(),
        digest: hex(&map.digest()),
        parent: hex(&map.parent()),
        map_id: hex(&map.map_id()),
        algorithm: map.algorithm(),
        max_slices: map.max_slices(),
        tolerance: map.tolerance().map(|tolerance| tolerance.to_string()),
        slices: if slices {
            Slices::List(map.slices().map(|slice| shown_slice(map, &slice)).collect())
        } else {
            Slices::Count(map.base_count())
        },
        slice_count: slices.then(|| map.base_count()),
        to_come: report.to_come,
        carry: CarryJson::of(map),
        violations: report.violations,
        pending_violations: report.pending_violations,
        pin_violations: report.pin_violations,
        short_pins: report.short_pins,
        max_share_error_points: report.max_share_error_points,
        max_share_error_millionths: report.max_share_error_millionths,
        nodes: map
            .nodes()
            .zip(report.nodes)
            .map(|(node, holder)| shown_node(node, holder))
            .collect(),
        policies: policies
            .map(|(name, policy)| {
                let holder = weighted.remove(name);
                ShownPolicy {
                    name: holder.is_none().then_some(name),
                    holder,
                    kind: policy.kind(),
                    nodes: names(map, policy),
                }
            })
            .collect(),
        domains: report.domains,
        pins: map
            .pins()
            .map(|pin| ShownPin {
                key: pin.key.map(KeyJson::of),
                slice: shown_slice(map, &pin.slice),
                short: pin.short,
            })
            .collect(),
        firsts: map
            .firsts()
            .map(|first| ShownFirst {
                key: first.key.map(KeyJson::of),
                first: first.first.to_string(),
                last: first.last.to_string(),
                node: map.node(first.node).name(),
            })
            .collect(),
    }
}

fn shown_node<'a>(node: Node<'a>, holder: HolderReport<'a>) -> ShownNode<'a> {
    let (labels, attributes) = (node.labels().collect(), node.attributes().collect());
    ShownNode {
        holder,
        formerly: node.formerly(),
        leaving: node.leaving(),
        labels,
        attributes,
    }
}

fn shown_slice<'a>(map: &'a Map, slice: &Slice) -> ShownSlice<'a> {
    let policy = map.policy(slice.policy);
    ShownSlice {
        first: slice.first.to_string(),
        last: slice.last.to_string(),
        nodes: names(map, policy),
        policy: policy.name(),
    }
}

fn names<'a>(map: &'a Map, policy: Policy<'a>) -> Vec<&'a str> {
    policy.members().map(|node| map.node(node).name()).collect()
}

fn heading(map: &Map, out: &mut Out) -> Result {
    let over: Vec<String> = [(map.firsts().len(), "first"), (map.pins().len(), "pin")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number, what))
        .collect();
    let pinned = match over.is_empty() {
        true => String::new(),
        false => format!(" ({} with {})", map.slice_count(), over.join(" and ")),
    };
    let first = format!(
        "{}: epoch {}, {}, hash {}, {}, {}{pinned}",
        map.name(),
        map.epoch(),
        count(map.replicas() as usize, "replica"),
        hash(map),
        count(map.nodes().len(), "node"),
        count(map.base_count(), "slice")
    );
    out.line(out.paint(HEADING, first))?;
    let parent = if map.epoch() == 1 {
        "none, this is the first epoch".to_owned()
    } else {
        hex(&map.parent())
    };
    out.line(format_args!("digest  {}", hex(&map.digest())))?;
    out.line(format_args!("parent  {parent}"))?;
    out.line(format_args!("map id  {}", hex(&map.map_id())))?;
    let spread: Vec<&str> = map.spread().collect();
    if !spread.is_empty() {
        out.line(format_args!("spread  {}", spread.join(", ")))?;
    }
    if map.key_rule() != KeyRule::Whole {
        out.line(format_args!("key     {}", map.key_rule()))?;
    }
    map.max_slices().map_or(Ok(()), |most| {
        out.line(format_args!("limit   {most} slices"))
    })?;
    map.tolerance().map_or(Ok(()), |tolerance| {
        out.line(format_args!("shares  within {tolerance} of their targets"))
    })?;
    map.carry().map_or(Ok(()), |carry| {
        let [hosts, _] = carrying::meaning(&carry);
        out.line(format_args!("carry   {}", carrying::in_words(&carry)))?;
        out.line(format_args!("        {hosts}"))
    })
}

fn holders(map: &Map, report: &Report) -> Table {
    let (nodes, policies) = (&report.verdict.nodes, &report.verdict.policies);
    // with one replica every node is the primary of all its points
    let copies = map.replicas() > 1;
    let pinned = any_pinned(nodes.iter().chain(policies));
    let mut columns = vec![("node", false), ("weight", true), ("share", true)];
    columns.extend(copies.then_some(("primary", true)));
    let points = columns.len();
    columns.push(("points", true));
    columns.extend(pinned.then_some(("pinned", true)));
    columns.push(("labels", false));
    let mut table = Table::of_columns(&columns);
    let cells = |label: String, holder: &Holder, last: String| {
        let share = percent(holder.now.points, map.replicas());
        [label, holder.weight.to_string(), share]
            .into_iter()
            .chain(copies.then(|| primary(holder)))
            .chain([holder.now.points.to_string()])
            .chain(pinned.then(|| holder.pinned_points.to_string()))
            .chain([last])
    };
    let mut nodes: Vec<_> = map.nodes().zip(nodes).collect();
    by_name(&mut nodes, |(node, _)| node.name());
    for (node, holder) in nodes {
        let labels: Vec<String> = node
            .labels()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let name = if node.leaving() {
            format!("{} (leaving)", node.name())
        } else {
            node.name().to_owned()
        };
        table.row(cells(name, holder, labels.join(" ")));
    }
    for holder in policies {
        table.row(cells(
            format!("policy {}", holder.name),
            holder,
            String::new(),
        ));
    }
    table.fitted(&[points])
}

/// The most firsts that are listed: a proposal of `load` may have hundreds.
const FIRSTS: usize = 20;

/// Writes the tables of named policies, of pins and of firsts.
fn lists(map: &Map, out: &mut Out) -> Result {
    let mut policies = Table::new(&["policy", "kind", "nodes"], &[]).fitted(&[]);
    for policy in map.policies() {
        if let Some(name) = policy.name() {
            policies.row([
                name.to_owned(),
                policy.kind().to_owned(),
                names(map, policy).join(","),
            ]);
        }
    }
    let mut pins = Table::new(&["pin", "first", "last", "nodes", "policy"], &[]).fitted(&[2]);
    for pin in map.pins() {
        let [first, last, _, nodes, policy] = slice_row(map, &pin.slice);
        let what = pin
            .key
            .map_or("range".to_owned(), |key| format!("key {}", shown(key)));
        pins.row([
            if pin.short { what + " (short)" } else { what },
            first,
            last,
            nodes,
            policy,
        ]);
    }
    let mut firsts = Table::new(&["answers first", "first", "last", "node"], &[]).fitted(&[2]);
    for first in map.firsts().take(FIRSTS) {
        firsts.row([
            first
                .key
                .map_or("range".to_owned(), |key| format!("key {}", shown(key))),
            first.first.to_string(),
            first.last.to_string(),
            map.node(first.node).name().to_owned(),
        ]);
    }
    for (table, present) in [
        (policies, map.policies().any(|p| p.name().is_some())),
        (pins, map.pins().len() > 0),
        (firsts, map.firsts().len() > 0),
    ] {
        if present {
            out.line("")?;
            table.write(out)?;
        }
    }
    match map.firsts().len().saturating_sub(FIRSTS) {
        0 => Ok(()),
        left => out.line(format!("and {left} more; --json lists them all")),
    }
}

fn slice_row(map: &Map, slice: &Slice) -> [String; 5] {
    let policy = map.policy(slice.policy);
    let share = percent(slice.points(), 1);
    let name = policy.name().unwrap_or("").to_owned();
    [
        slice.first.to_string(),
        slice.last.to_string(),
        share,
        names(map, policy).join(","),
        name,
    ]
}
