//! `stead simulate [SCENARIO]`: takes stead and its peers through the same history of fleets and
//! compares them.

use std::path::{Path, PathBuf};

use clap::Args;
use stead::report::Amount;
use stead::simulate::{
    built_in, run, Figures, Scenario, Simulated, Sizes, SystemReport, BUILT_INS,
};
use stead::{Error, Status};

use crate::exit::{Failure, Result, FLEET, NO_INPUT};
use crate::input::whole;
use crate::output::Out;
use crate::progress;
use crate::text::{count, percent, Table};

/// Compare stead with other placement methods over a series of changes
///
/// Takes each system through the same changes of a fleet. Prints how much it moved, compared with
/// the lower bound that the new shares set; how far its shares are from the ideal; how many rules
/// it broke; the size of its table; and the time. docs/simulate.md explains the comparison, and how
/// far it is fair.
#[derive(Args)]
#[command(after_help = "\
Examples:
  stead simulate figure-7                      # from 4 nodes to 16
  stead simulate figure-6 --write > mine.json  # start your own scenario
  stead simulate mine.json --steps

Exit codes:
  0   done
  64  wrong usage
  66  the scenario is missing
  74  reading or writing failed
  77  permission denied
  78  the scenario is wrong, or one of its fleets cannot be met")]
pub struct Simulate {
    /// The name of a built-in scenario, or a JSON file
    #[arg(required_unless_present = "list")]
    scenario: Option<PathBuf>,
    /// List the built-in scenarios
    #[arg(long, conflicts_with = "scenario")]
    list: bool,
    /// Print the scenario as JSON, and simulate nothing
    #[arg(long)]
    write: bool,
    /// Also show the figures of each step
    #[arg(long)]
    steps: bool,
    /// Leave out the times, so that every run prints the same
    #[arg(long)]
    no_times: bool,
    /// The number of partitions of Riak's ring, a power of two [default: the smallest with 16 for
    /// each node of the largest fleet, and at least 64]
    #[arg(long, value_name = "N", value_parser = whole)]
    partitions: Option<u64>,
    /// The number of ring points of a node of average weight [default: 160]
    #[arg(long, value_name = "N", value_parser = whole)]
    ring_points: Option<u64>,
    /// Print JSON for programs, with every step; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

impl Simulate {
    pub fn run(self, out: &mut Out) -> Result {
        let Some(path) = &self.scenario else {
            return list(out);
        };
        let (scenario, sizes) = read(path)?;
        if self.write {
            return out.bytes(scenario.to_json().as_bytes());
        }
        let number = |given: Option<u64>, default: u32| {
            given.map_or(default, |n| u32::try_from(n).unwrap_or(u32::MAX))
        };
        let sizes = Sizes {
            partitions: number(self.partitions, sizes.partitions),
            ring_points: number(self.ring_points, sizes.ring_points),
        };
        let sizes = sizes.check()?;
        let bar = progress::working(scenario.steps.len() + 1, "simulating");
        let simulated = run(&scenario, sizes, |done, _| bar.set_position(done as u64));
        bar.finish_and_clear();
        let simulated = simulated.map_err(|error| match error {
            // a value that is out of range here comes from the scenario
            Error::Invalid { problem } => Failure::new(FLEET, problem),
            _ => error.into(),
        })?;
        let simulated = if self.no_times {
            simulated.without_times()
        } else {
            simulated
        };
        if self.json {
            return out.json(&simulated);
        }
        summary(&simulated, out)?;
        if self.steps {
            out.line("")?;
            steps(&simulated, out)?;
        }
        Ok(())
    }
}

fn list(out: &mut Out) -> Result {
    let mut table = Table::new(&["name", "scenario"], &[]);
    for built_in in &BUILT_INS {
        table.row([built_in.name.to_owned(), built_in.about.to_owned()]);
    }
    table.write(out)
}

/// Reads the scenario. Returns it with the default sizes of the peers.
pub fn read(path: &Path) -> Result<(Scenario, Sizes)> {
    if let Some(built_in) = path.to_str().and_then(built_in) {
        let scenario = built_in.scenario();
        let sizes = built_in.sizes(&scenario);
        return Ok((scenario, sizes));
    }
    let scenario = Scenario::read(path).map_err(|error| match error.status() {
        Status::NotFound => Failure::new(
            NO_INPUT,
            format!("{error}; name a JSON file, or a scenario of `stead simulate --list`"),
        ),
        _ if path.extension().is_some_and(|end| end == "toml") => {
            let what = "a scenario is JSON; `stead simulate one-by-one --write` prints one";
            Failure::from(error).and(what)
        }
        _ => error.into(),
    })?;
    let sizes = Sizes::of(scenario.largest());
    Ok((scenario, sizes))
}

fn summary(simulated: &Simulated, out: &mut Out) -> Result {
    let nodes = |step: Option<&stead::simulate::StepReport>| step.map_or(0, |step| step.nodes);
    out.line(format!(
        "{}: {}, {} -> {} nodes, {}; lower bound {}\n",
        simulated.name,
        count(simulated.steps.len().saturating_sub(1), "step"),
        nodes(simulated.steps.first()),
        nodes(simulated.steps.last()),
        count(simulated.replicas as usize, "replica"),
        share(&simulated.lower_bound, simulated.replicas),
    ))?;
    let times = simulated
        .systems
        .iter()
        .any(|system| system.total.median_seconds.is_some());
    let mut heading = vec![
        "system",
        "moved",
        "/ bound",
        "worst step",
        "share error",
        "imbalance",
    ];
    heading.extend((simulated.replicas > 1).then_some("violations"));
    heading.push("slices");
    heading.extend(times.then_some(["median", "slowest"]).into_iter().flatten());
    let mut table = Table::new(&heading, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for system in &simulated.systems {
        let total = &system.total;
        let mut row = vec![
            label(system),
            share(&total.moved, simulated.replicas),
            ratio(total.moved_over_bound, "-"),
            ratio(total.worst_moved_over_bound, "-"),
        ];
        row.extend(balance(&total.worst, simulated.replicas));
        row.push(format!("{} -> {}", total.slices_first, total.slices_last));
        row.extend(
            [total.median_seconds, total.worst_seconds]
                .into_iter()
                .flatten()
                .map(time),
        );
        table.row(row);
    }
    table.write(out)?;
    for left_out in &simulated.left_out {
        out.line(format!(
            "{} is left out: {}",
            left_out.system, left_out.reason
        ))?;
    }
    Ok(())
}

fn steps(simulated: &Simulated, out: &mut Out) -> Result {
    let times = simulated
        .systems
        .iter()
        .any(|system| system.total.median_seconds.is_some());
    let mut heading = vec![
        "step",
        "nodes",
        "bound",
        "system",
        "moved",
        "/ bound",
        "share error",
        "imbalance",
    ];
    heading.extend((simulated.replicas > 1).then_some("violations"));
    heading.push("slices");
    heading.extend(times.then_some("time"));
    let mut table = Table::new(&heading, &[0, 1, 2, 4, 5, 6, 7, 8, 9, 10]);
    for step in &simulated.steps {
        for system in &simulated.systems {
            let Some(figures) = system.steps.get(step.step) else {
                continue;
            };
            let mut row = vec![
                step.step.to_string(),
                step.nodes.to_string(),
                share(&step.lower_bound, simulated.replicas),
                system.system.to_owned(),
                share(&figures.moved, simulated.replicas),
                ratio(figures.moved_over_bound, "-"),
            ];
            row.extend(balance(&figures.figures, simulated.replicas));
            row.push(figures.slices.to_string());
            row.extend(figures.seconds.map(time));
            table.row(row);
        }
    }
    table.write(out)
}

/// Returns the columns share error, imbalance and, with more than one replica, violations.
fn balance(figures: &Figures, replicas: u32) -> Vec<String> {
    let error = match figures.share_error_points.as_str() {
        "0" => "0".to_owned(),
        _ => format!("{:.6} %", figures.share_error * 100.0),
    };
    let violating = match figures.violations {
        0 => "0".to_owned(),
        _ => share(&figures.violating, 1),
    };
    let violating = (replicas > 1).then_some(violating);
    [error, ratio(figures.imbalance, "infinite")]
        .into_iter()
        .chain(violating)
        .collect()
}

fn label(system: &SystemReport) -> String {
    match system.size.as_str() {
        "" => system.system.to_owned(),
        size => format!("{}, {size}", system.system),
    }
}

fn share(amount: &Amount, replicas: u32) -> String {
    percent(amount.points.parse().unwrap_or(0), replicas)
}

fn ratio(ratio: Option<f64>, none: &str) -> String {
    ratio.map_or_else(|| none.to_owned(), |ratio| format!("{ratio:.3}"))
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}
