//! A change from one map to another, which `plan`, `apply`, `diff` and `rollback` show in the same
//! way.

use std::path::Path;

use stead::plan::same_nodes;
use stead::policy::NodeId;
use stead::report::{MoveReport, Report};
use stead::store::Progress;
use stead::verdict::{Holder, Verdict};
use stead::{build, build_max_move, Error, Fleet, Map, Share};

use crate::caps;
use crate::exit::{Failure, Result, FLEET};
use crate::output::{Out, BAD};
use crate::text::{any_pinned, change, count, percent, primary, step_of, Table};

/// The options that choose how a change is shown.
#[derive(clap::Args)]
pub struct Show {
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
    /// Also list every move: its first and last point, from, to, and cause
    #[arg(long)]
    moves: bool,
}

impl Show {
    /// Returns whether the output is JSON.
    pub fn json(&self) -> bool {
        self.json
    }
}

/// The option that limits how much one step moves.
#[derive(clap::Args)]
pub struct Pace {
    /// Move at most this part of all copies now, such as 5%; the next apply of the same fleet
    /// continues the change [default: no limit]
    #[arg(long, value_name = "PERCENT", value_parser = part)]
    max_move: Option<Share>,
}

impl Pace {
    /// Returns how much one step may move, if it is limited.
    pub fn max_move(&self) -> Option<Share> {
        self.max_move
    }
}

/// Parses a percentage above 0.
fn part(text: &str) -> std::result::Result<Share, String> {
    match stead::fleet::part(text) {
        Ok(Share(0)) => Err("moves nothing; write more than 0%, like \"5%\"".to_owned()),
        Ok(part) => Ok(part),
        Err(why) => Err(why.to_owned()),
    }
}

/// A change: the map before it, if there is one, and the map after it.
pub struct Change {
    /// The map before; `None` before the first map.
    pub old: Option<Map>,
    /// The map after; the present map when nothing changes.
    pub new: Map,
    /// Whether `new` has to be published.
    pub needed: bool,
    /// How far the gradual change has come with this step, if it is one.
    pub progress: Option<Progress>,
    /// The fleet that asks for the change, if a fleet does.
    fleet: Option<Fleet>,
}

impl Change {
    /// Returns the change from the present map to the one that the fleet file asks for.
    pub fn of(fleet: &Path, old: Option<Map>, pace: &Pace) -> Result<Change> {
        let fleet = Fleet::read(fleet)?;
        let new = match pace.max_move {
            Some(part) => build_max_move(&fleet, old.as_ref(), part),
            None => build(&fleet, old.as_ref()),
        };
        let new = new.map_err(|error| match error {
            // a value that is out of range here comes from the fleet file
            Error::Invalid { problem } => Failure::new(FLEET, problem),
            _ => error.into(),
        })?;
        Ok(Change {
            fleet: Some(fleet),
            ..Change::to(old, new)
        })
    }

    /// Returns the comparison of two maps, whether they differ or not.
    pub fn between(old: Map, new: Map) -> Change {
        Change {
            old: Some(old),
            new,
            needed: true,
            progress: None,
            fleet: None,
        }
    }

    /// Returns the change from one map to another. It is not needed when only their epochs differ.
    pub fn to(old: Option<Map>, new: Map) -> Change {
        match old {
            Some(old) if old.same(&new) => Change {
                new: old,
                old: None,
                needed: false,
                progress: None,
                fleet: None,
            },
            old => Change {
                old,
                new,
                needed: true,
                progress: None,
                fleet: None,
            },
        }
    }

    /// Returns the report. Callers make it before they publish anything, so that a comparison that
    /// fails is known first.
    pub fn report(&self, show: &Show) -> stead::Result<Report<'_>> {
        match &self.fleet {
            Some(fleet) => Report::of_fleet(fleet, self.old.as_ref(), &self.new, show.moves),
            None => Report::of(self.old.as_ref(), &self.new, show.moves),
        }
    }

    /// Writes the report to standard output, as text or as JSON.
    pub fn write(&self, report: &Report, show: &Show, out: &mut Out) -> Result {
        if show.json {
            return out.json(report);
        }
        out.line(self.headline(report))?;
        caps::write_broken(report, &self.new, out)?;
        caps::write_drained(&self.new, out)?;
        caps::write_peaks(report, self.old.as_ref(), &self.new, out)?;
        if report.max_share_error_points != "0" {
            out.line(out.paint(
                BAD,
                format!(
                    "a share is {} points off its target",
                    report.max_share_error_points
                ),
            ))?;
        }
        out.line("")?;
        self.holders(report)?.write(out)?;
        caps::write(report, out)?;
        if let Some(moves) = report.moves.as_ref().filter(|moves| !moves.is_empty()) {
            out.line("")?;
            move_table(moves, report.replicas).write(out)?;
        }
        Ok(())
    }

    fn headline(&self, report: &Report) -> String {
        let (name, epoch) = (&report.name, report.epoch);
        let slices = count(report.slices, "slice");
        let part = |points: &str| percent(points.parse().unwrap_or(0), report.replicas);
        let step = self
            .progress
            .as_ref()
            .map_or(String::new(), |progress| format!(", {}", step_of(progress)));
        let to_come = report.to_come.as_ref().map_or(step.clone(), |amount| {
            format!("{step}, {} still to come", part(&amount.points))
        });
        if !self.needed {
            return format!("{name}: nothing to do, epoch {epoch} stays{to_come}, {slices}");
        }
        let Some(old) = &self.old else {
            let copies = match report.replicas {
                1 => String::new(),
                replicas => format!(", {replicas} replicas"),
            };
            return format!(
                "{name}: first map, epoch {epoch}, {}{copies}, {slices}",
                count(report.nodes.len(), "node")
            );
        };
        let reordered = match report.reordered.points.as_str() {
            "0" => String::new(),
            points => format!(", reorders {}", part(points)),
        };
        let by_hand = match report.by_hand.points.as_str() {
            "0" => String::new(),
            "1" => ", by hand 1 point".to_owned(),
            // a pinned key is one point of 2^64, which six digits do not show
            points if points.len() < 8 => format!(", by hand {points} points"),
            points => format!(", by hand {}", part(points)),
        };
        // The optimum is shown only where it differs from the bound or from what moves. Where it
        // differs from what moves, max_slices costs the difference.
        let optimum = match &report.optimum {
            Some(optimum) if *optimum != report.lower_bound || *optimum != report.moved => {
                format!("optimum {}, ", part(&optimum.points))
            }
            _ => String::new(),
        };
        format!(
            "{name}: epoch {} -> {epoch}, moves {} ({optimum}lower bound \
             {}){to_come}{reordered}{by_hand}, {} -> {}",
            old.epoch(),
            part(&report.moved.points),
            part(&report.lower_bound.points),
            count(old.base_count(), "slice"),
            report.slices
        )
    }

    /// Returns the table of holders: a row for each node and each weighted policy, and for those
    /// that left.
    fn holders(&self, report: &Report) -> Result<Table> {
        let verdict = &report.verdict;
        let has_old = self.old.is_some();
        // with one replica every node is the primary of all its points
        let copies = report.replicas > 1;
        let pinned = any_pinned(verdict.nodes.iter().chain(&verdict.policies));
        let mut columns = vec![("node", false), ("weight", true), ("share", true)];
        columns.extend(copies.then_some(("primary", true)));
        columns.push(("points", true));
        columns.extend(pinned.then_some(("pinned", true)));
        columns.extend(has_old.then_some(("change", true)));
        let mut table = Table::of_columns(&columns);
        let old_verdict = self.old.as_ref().map(|old| Verdict::of(old, 0));
        let (old_nodes, old_policies): (&[_], &[_]) = old_verdict
            .as_ref()
            .map_or((&[], &[]), |old| (&old.nodes, &old.policies));
        let same = match &self.old {
            Some(old) => same_nodes(old, &self.new)?,
            None => Vec::new(),
        };
        // for each node of the new map, the same node of the old map
        let mut before = vec![None; verdict.nodes.len()];
        for (i, now) in same.iter().enumerate() {
            if let Some(place) = now.and_then(|now: NodeId| before.get_mut(now.index())) {
                *place = old_nodes.get(i);
            }
        }
        let row = |label: String, old: Option<&Holder>, new: Option<&Holder>| {
            let points = |holder: Option<&Holder>| holder.map_or(0, |h| h.now.points);
            let weight = new.map_or("-".to_owned(), |new| new.weight.to_string());
            let primary = copies.then(|| new.map_or_else(|| percent(0, 1), primary));
            let pinned = pinned.then(|| new.map_or(0, |new| new.pinned_points).to_string());
            let (old, new) = (points(old), points(new));
            let change = has_old.then(|| change(old, new, report.replicas));
            [label, weight, percent(new, report.replicas)]
                .into_iter()
                .chain(primary)
                .chain([new.to_string()])
                .chain(pinned)
                .chain(change)
        };
        for ((id, node), old) in (0..).map(NodeId).zip(&verdict.nodes).zip(before) {
            let label = match old.filter(|old| old.name != node.name) {
                Some(old) => format!("{} (was {})", node.name, old.name),
                None if self.new.node(id).leaving() => format!("{} (leaving)", node.name),
                None => node.name.to_owned(),
            };
            table.row(row(label, old, Some(node)));
        }
        for (_, old) in same.iter().zip(old_nodes).filter(|(now, _)| now.is_none()) {
            table.row(row(format!("{} (left)", old.name), Some(old), None));
        }
        // both lists are ordered by name
        let named = |list: &[Holder], name: &str| {
            list.binary_search_by(|holder| holder.name.cmp(name)).ok()
        };
        for policy in &verdict.policies {
            let old = named(old_policies, policy.name).and_then(|i| old_policies.get(i));
            table.row(row(format!("policy {}", policy.name), old, Some(policy)));
        }
        for old in old_policies
            .iter()
            .filter(|old| named(&verdict.policies, old.name).is_none())
        {
            table.row(row(format!("policy {} (left)", old.name), Some(old), None));
        }
        Ok(table)
    }
}

fn move_table(moves: &[MoveReport], replicas: u32) -> Table {
    let mut table = Table::new(&["first", "last", "share", "from", "to", "cause"], &[2]);
    for m in moves {
        let point = |text: &str| u64::from_str_radix(text, 16).map_or(0, u128::from);
        let share = percent(point(&m.last) + 1 - point(&m.first), replicas);
        let [from, to] = [m.from, m.to].map(|node| node.unwrap_or("-").to_owned());
        table.row([
            m.first.clone(),
            m.last.clone(),
            share,
            from,
            to,
            m.cause.to_owned(),
        ]);
    }
    table
}
