//! A run: every system follows the history step by step and is measured after each step.

use std::time::Instant;

use super::figures::{
    amount, figures, ratio, Figures, Simulated, StepFigures, StepReport, SystemReport, Total,
};
use super::ideal::{Names, Wanted};
use super::peers::systems;
use super::placement::Placement;
use super::scenario::Scenario;
use super::system::{LeftOut, Sizes, System};
use super::trace::{placed_first, Trace};
use crate::error::{Error, Result};

/// Runs a scenario for stead and its peers. After each step, calls `progress` with the number of
/// fleets that are done and the number of all fleets.
///
/// Errors: [`Error::Invalid`] when a size is not allowed, those of [`Scenario::fleets`], and those
/// of [`crate::rebalance::build`].
pub fn run(
    scenario: &Scenario,
    sizes: Sizes,
    progress: impl FnMut(usize, usize),
) -> Result<Simulated> {
    let (systems, left_out) = systems(scenario.replicas, sizes.check()?);
    let ignore = &mut |_: usize, _: &Placement| {};
    let (simulated, _) = follow(
        scenario,
        scenario.fleets(),
        systems,
        left_out,
        progress,
        ignore,
    )?;
    Ok(simulated)
}

/// Runs a scenario like [`run`], and also returns where each system places what after each step.
pub fn run_traced(
    scenario: &Scenario,
    sizes: Sizes,
    progress: impl FnMut(usize, usize),
) -> Result<(Simulated, Trace)> {
    let (systems, left_out) = systems(scenario.replicas, sizes.check()?);
    let mut placed = vec![Vec::new(); systems.len()];
    let mut keep = |system: usize, placement: &Placement| {
        if let Some(steps) = placed.get_mut(system) {
            steps.push(placed_first(placement));
        }
    };
    let fleets = scenario.fleets();
    let (simulated, names) = follow(scenario, fleets, systems, left_out, progress, &mut keep)?;
    let trace = Trace {
        names: names.in_order(),
        systems: placed,
    };
    Ok((simulated, trace))
}

/// Runs these fleets, which are those of the scenario, for these systems.
fn follow(
    scenario: &Scenario,
    fleets: impl Iterator<Item = Result<crate::fleet::Fleet>>,
    systems: Vec<Box<dyn System>>,
    left_out: Vec<LeftOut>,
    mut progress: impl FnMut(usize, usize),
    watch: &mut dyn FnMut(usize, &Placement),
) -> Result<(Simulated, Names)> {
    let mut tracks: Vec<Track> = systems.into_iter().map(Track::of).collect();
    let (mut names, mut before, mut steps) = (
        Names::default(),
        None,
        Vec::with_capacity(scenario.steps.len() + 1),
    );
    for (number, fleet) in fleets.enumerate() {
        let fleet = fleet?;
        let wanted = Wanted::of(&fleet, &mut names);
        let bound = before
            .as_ref()
            .map_or(0, |before| lower_bound(before, &wanted));
        for (system, track) in tracks.iter_mut().enumerate() {
            let start = Instant::now();
            track
                .system
                .step(&fleet, &wanted)
                .map_err(|error| scenario.placed(error, number))?;
            let seconds = start.elapsed().as_secs_f64();
            track.measure(number, &wanted, bound, seconds, &mut names);
            if let Some(placement) = &track.placement {
                watch(system, placement);
            }
        }
        let step = number.checked_sub(1).and_then(|i| scenario.steps.get(i));
        steps.push(StepReport {
            step: number,
            nodes: fleet.nodes.len(),
            added: step.map_or(0, |step| step.add.len()),
            removed: step.map_or(0, |step| step.remove.len()),
            reweighted: step.map_or(0, |step| step.reweight.len()),
            lower_bound: amount(bound, scenario.replicas),
        });
        before = Some(wanted);
        progress(number + 1, scenario.steps.len() + 1);
    }
    let bound = tracks.first().map_or(0, |track| track.bound);
    let simulated = Simulated {
        name: scenario.name.clone(),
        replicas: scenario.replicas,
        spread: scenario.spread.clone(),
        steps,
        lower_bound: amount(bound, scenario.replicas),
        systems: tracks
            .into_iter()
            .map(Track::report)
            .collect::<Result<_>>()?,
        left_out,
    };
    Ok((simulated, names))
}

/// The sum of the gains of all holders, by their ideal shares.
fn lower_bound(before: &Wanted, after: &Wanted) -> u128 {
    let was: std::collections::HashMap<_, _> = before
        .holders
        .iter()
        .map(|h| h.node)
        .zip(&before.ideal)
        .collect();
    let gain = |(holder, now): (&super::ideal::Holder, &u128)| {
        now.saturating_sub(was.get(&holder.node).map_or(0, |was| **was))
    };
    after.holders.iter().zip(&after.ideal).map(gain).sum()
}

/// A system during a run, with its figures so far.
struct Track {
    system: Box<dyn System>,
    placement: Option<Placement>,
    moved: u128,
    bound: u128,
    replicas: u32,
    steps: Vec<StepFigures>,
}

impl Track {
    fn of(system: Box<dyn System>) -> Track {
        Track {
            system,
            placement: None,
            moved: 0,
            bound: 0,
            replicas: 1,
            steps: Vec::new(),
        }
    }

    fn measure(
        &mut self,
        step: usize,
        wanted: &Wanted,
        bound: u128,
        seconds: f64,
        names: &mut Names,
    ) {
        let placement = self.system.placement(names);
        let moved = self
            .placement
            .as_ref()
            .map_or(0, |before| before.moved(&placement));
        self.steps.push(StepFigures {
            step,
            moved: amount(moved, wanted.replicas),
            moved_over_bound: ratio(moved, bound),
            figures: figures(&placement, wanted, names.count()),
            slices: placement.entries,
            seconds: Some(seconds),
        });
        self.moved += moved;
        self.bound += bound;
        self.replicas = wanted.replicas;
        self.placement = Some(placement);
    }

    fn report(self) -> Result<SystemReport> {
        let (Some(first), Some(last)) = (self.steps.first(), self.steps.last()) else {
            return Err(Error::Internal {
                problem: "a simulation without a fleet".into(),
            });
        };
        let all = || self.steps.iter().map(|step| &step.figures);
        let largest = |of: fn(&Figures) -> u128| all().map(of).max().unwrap_or(0);
        let number = |text: &str| text.parse::<u128>().unwrap_or(0);
        let worst = Figures {
            share_error: all().map(|f| f.share_error).fold(0.0, f64::max),
            share_error_points: all()
                .map(|f| number(&f.share_error_points))
                .max()
                .unwrap_or(0)
                .to_string(),
            fullest: all().map(|f| f.fullest).fold(0.0, f64::max),
            imbalance: all()
                .map(|f| f.imbalance)
                .try_fold(0.0, |worst, imbalance| Some(imbalance?.max(worst))),
            violations: largest(|f| f.violations as u128) as usize,
            violating: amount(
                all()
                    .map(|f| number(&f.violating.points))
                    .max()
                    .unwrap_or(0),
                1,
            ),
        };
        let mut seconds: Vec<f64> = self.steps.iter().filter_map(|step| step.seconds).collect();
        if seconds.len() > 1 {
            seconds.remove(0);
        }
        seconds.sort_by(f64::total_cmp);
        let total = Total {
            moved: amount(self.moved, self.replicas),
            moved_over_bound: ratio(self.moved, self.bound),
            worst_moved_over_bound: self
                .steps
                .iter()
                .filter_map(|step| step.moved_over_bound)
                .max_by(f64::total_cmp),
            worst,
            slices_first: first.slices,
            slices_last: last.slices,
            median_seconds: seconds.get(seconds.len() / 2).copied(),
            worst_seconds: seconds.last().copied(),
        };
        Ok(SystemReport {
            system: self.system.name(),
            size: self.system.size(),
            total,
            steps: self.steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ideal::NodeNumber;
    use super::super::peers::peers;
    use super::*;
    use crate::fleet::Fleet;
    use crate::point::SPACE;

    /// A system with a deliberate fault: the function returns the nodes that it uses at each step.
    struct Rigged(
        fn(usize, &[NodeNumber]) -> Vec<NodeNumber>,
        usize,
        Vec<NodeNumber>,
    );

    impl System for Rigged {
        fn name(&self) -> &'static str {
            "rigged"
        }
        fn step(&mut self, _: &Fleet, wanted: &Wanted) -> Result<()> {
            let nodes: Vec<NodeNumber> = wanted.holders.iter().map(|holder| holder.node).collect();
            self.2 = (self.0)(self.1, &nodes);
            self.1 += 1;
            Ok(())
        }
        fn placement(&self, _: &mut Names) -> Placement {
            let mut placement = Placement::default();
            placement.push(0, self.2.iter().copied());
            placement
        }
    }

    /// Runs a scenario at three replicas. Its fleets are parsed with one replica and then changed.
    fn at_three(systems: Vec<Box<dyn System>>, nodes: &str, steps: &str) -> Simulated {
        let text = format!("{{\"name\": \"s\", \"nodes\": [{nodes}], \"steps\": [{steps}]}}");
        let single = Scenario::parse(&text, "s.json").unwrap();
        let spread = vec!["zone".to_owned()];
        let scenario = Scenario {
            replicas: 3,
            spread: spread.clone(),
            ..single.clone()
        };
        let fleets = single.fleets().map(|fleet| {
            fleet.map(|fleet| Fleet {
                replicas: 3,
                spread: spread.clone(),
                ..fleet
            })
        });
        let watch = &mut |_: usize, _: &Placement| {};
        let followed = follow(&scenario, fleets, systems, Vec::new(), |_, _| {}, watch);
        followed.unwrap().0
    }

    fn nodes(zones: &[usize]) -> String {
        let zones = zones.iter().zip(0..);
        let node = |(zone, i): (&usize, usize)| {
            format!("{{\"name\": \"n{i:02}\", \"labels\": {{\"zone\": \"{zone}\"}}}}")
        };
        zones.map(node).collect::<Vec<_>>().join(", ")
    }

    const ADD: &str = r#"{"add": [{"name": "z", "labels": {"zone": "0"}}]}"#;

    /// The control: every kind of fault is detected.
    #[test]
    fn the_faults_of_a_rigged_system_are_detected() {
        let rigged = |rule| -> Vec<Box<dyn System>> { vec![Box::new(Rigged(rule, 0, Vec::new()))] };
        let fine = at_three(rigged(|_, nodes| nodes.to_vec()), &nodes(&[0, 1, 2]), "{}");
        let total = &fine.systems[0].total;
        assert_eq!(
            (
                total.moved.points.as_str(),
                total.worst.share_error_points.as_str()
            ),
            ("0", "0")
        );
        assert_eq!(
            (
                total.worst.violations,
                total.worst.imbalance,
                total.worst.fullest
            ),
            (0, Some(1.0), 1.0)
        );

        // one node has all three copies of each point
        let total = &at_three(
            rigged(|_, nodes| vec![nodes[0]; 3]),
            &nodes(&[0, 1, 2]),
            "{}",
        )
        .systems[0]
            .total;
        assert_eq!(
            (total.worst.violations, total.worst.violating.fraction),
            (1, 1.0)
        );
        assert_eq!(
            (
                total.worst.share_error,
                total.worst.fullest,
                total.worst.imbalance
            ),
            (2.0, 3.0, None)
        );
        assert_eq!(total.worst.share_error_points, (2 * SPACE).to_string());

        // two copies are in one zone, and the step moves a third of all copies without need
        let swaps: fn(usize, &[NodeNumber]) -> Vec<NodeNumber> =
            |step, nodes| vec![nodes[0], nodes[1], nodes[2 + step]];
        let simulated = at_three(rigged(swaps), &nodes(&[0, 0, 1, 2]), "{}");
        let total = &simulated.systems[0].total;
        assert_eq!(
            (total.moved.points.clone(), total.moved_over_bound),
            (SPACE.to_string(), None)
        );
        assert_eq!(simulated.lower_bound.points, "0");
        assert_eq!(total.worst.violations, 1);
    }

    #[test]
    fn rings_take_part_at_several_replicas_and_know_no_zones() {
        let (systems, left_out) = peers(
            3,
            Sizes {
                partitions: 64,
                ring_points: 160,
            },
        );
        assert_eq!(
            left_out.iter().map(|l| l.system).collect::<Vec<_>>(),
            ["cut-shift", "left-to-right", "contiguous"]
        );
        let simulated = at_three(systems, &nodes(&[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]), ADD);
        assert_eq!(
            simulated
                .systems
                .iter()
                .map(|s| s.system)
                .collect::<Vec<_>>(),
            ["riak", "ring"]
        );
        for system in &simulated.systems {
            assert!(system.total.worst.violating.fraction > 0.3, "{system:?}");
            let loads = system.steps[1].moved.fraction;
            assert!(loads > 0.0 && loads < 0.2, "{system:?}");
        }
        // where no two nodes share a zone, the rings have no violations
        let (systems, _) = peers(
            3,
            Sizes {
                partitions: 64,
                ring_points: 160,
            },
        );
        let apart: Vec<usize> = (0..8).collect();
        for system in at_three(systems, &nodes(&apart), "").systems {
            assert_eq!(system.total.worst.violations, 0, "{system:?}");
        }
    }

    #[test]
    fn sizes_that_are_not_allowed_are_refused() {
        let check = |partitions, ring_points| {
            Sizes {
                partitions,
                ring_points,
            }
            .check()
            .map_err(|e| e.to_string())
        };
        assert!(check(64, 1).is_ok() && check(1 << 20, 1 << 20).is_ok());
        for (partitions, ring_points, words) in [
            (0, 1, "0 partitions"),
            (48, 1, "48 partitions: write a power of two"),
            (1 << 21, 1, "partitions"),
            (64, 0, "0 ring points"),
            (64, u32::MAX, "ring points: write 1 to"),
        ] {
            assert!(check(partitions, ring_points).unwrap_err().contains(words));
        }
        assert_eq!(
            (
                Sizes::of(1).partitions,
                Sizes::of(16).partitions,
                Sizes::of(17).partitions
            ),
            (64, 256, 512)
        );
        assert_eq!(Sizes::of(65_536).check().unwrap().partitions, 1 << 20);
    }
}
