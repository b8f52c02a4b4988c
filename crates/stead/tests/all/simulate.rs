//! Simulation: the published figures are reproduced, and violations would be detected.

use stead::simulate::{built_in, run, Simulated, SystemReport, BUILT_INS};

fn simulate(name: &str) -> Simulated {
    let built_in = built_in(name).unwrap();
    let scenario = built_in.scenario();
    let mut done = Vec::new();
    let simulated = run(&scenario, built_in.sizes(&scenario), |step, of| {
        done.push((step, of))
    })
    .unwrap();
    let steps = scenario.steps.len() + 1;
    assert_eq!(
        done,
        (1..=steps).map(|step| (step, steps)).collect::<Vec<_>>()
    );
    assert_eq!(simulated.steps.len(), steps);
    simulated
}

fn system<'a>(simulated: &'a Simulated, name: &str) -> &'a SystemReport {
    simulated
        .systems
        .iter()
        .find(|system| system.system == name)
        .unwrap()
}

fn slices(simulated: &Simulated, name: &str) -> Vec<usize> {
    system(simulated, name)
        .steps
        .iter()
        .map(|step| step.slices)
        .collect()
}

fn imbalance(simulated: &Simulated, name: &str) -> Vec<f64> {
    system(simulated, name)
        .steps
        .iter()
        .map(|step| step.figures.imbalance.unwrap())
        .collect()
}

fn per_cent(fractions: impl Iterator<Item = f64>) -> Vec<f64> {
    fractions
        .map(|fraction| (fraction * 100_000.0).round() / 1000.0)
        .collect()
}

fn moved(simulated: &Simulated, name: &str) -> Vec<f64> {
    per_cent(
        system(simulated, name)
            .steps
            .iter()
            .map(|step| step.moved.fraction),
    )
}

/// Checks that at every step the shares are ideal and nothing is moved beyond the bound, to the
/// point.
#[track_caller]
fn is_exact(simulated: &Simulated, name: &str) {
    let system = system(simulated, name);
    for (step, bound) in system.steps.iter().zip(&simulated.steps) {
        assert_eq!(
            step.figures.share_error_points, "0",
            "{name}, step {}",
            step.step
        );
        assert_eq!(step.moved, bound.lower_bound, "{name}, step {}", step.step);
        assert_eq!(step.figures.violations, 0, "{name}, step {}", step.step);
    }
}

#[test]
fn figure_5_the_contiguous_layout_moves_150_per_cent() {
    let simulated = simulate("figure-5");
    assert_eq!(moved(&simulated, "contiguous"), [0.0, 50.0, 50.0, 50.0]);
    assert_eq!(moved(&simulated, "stead"), [0.0, 50.0, 33.333, 25.0]);
    assert_eq!(system(&simulated, "contiguous").total.moved.fraction, 1.5);
    assert_eq!(slices(&simulated, "contiguous"), [1, 2, 3, 4]);
}

#[test]
fn figure_6_a_heavier_node_takes_a_twelfth_more() {
    let simulated = simulate("figure-6");
    assert_eq!(moved(&simulated, "stead"), [0.0, 50.0, 33.333, 25.0, 8.333]);
    assert_eq!(slices(&simulated, "stead"), [1, 2, 3, 5, 5]);
    assert_eq!(slices(&simulated, "cut-shift")[..4], [1, 2, 3, 5]);
    assert_eq!(slices(&simulated, "left-to-right")[3], 7);
    for name in ["stead", "cut-shift", "left-to-right"] {
        is_exact(&simulated, name);
    }
    // Riak knows no weights: nothing moves, and n3 has a quarter although its share is a third
    let riak = &system(&simulated, "riak").steps[4];
    assert_eq!(
        (riak.moved.points.as_str(), riak.figures.imbalance),
        ("0", Some(1.5))
    );
}

#[test]
fn figure_7_riak_is_unbalanced_and_stead_is_not() {
    let simulated = simulate("figure-7");
    let bounds = [0.0, 42.857, 30.0, 23.077, 18.75];
    assert_eq!(
        per_cent(simulated.steps.iter().map(|step| step.lower_bound.fraction)),
        bounds
    );
    assert_eq!(moved(&simulated, "stead"), bounds);
    assert_eq!(
        simulated
            .steps
            .iter()
            .map(|step| step.nodes)
            .collect::<Vec<_>>(),
        [4, 7, 10, 13, 16]
    );
    // the article says: balanced at 4 and 16 nodes, imbalance 1.5 at 7 and 2.0 at 10 and 13
    assert_eq!(imbalance(&simulated, "riak"), [1.0, 1.5, 2.0, 2.0, 1.0]);
    assert_eq!(slices(&simulated, "riak"), [16; 5]);
    assert!(imbalance(&simulated, "stead")
        .iter()
        .all(|imbalance| (imbalance - 1.0).abs() < 1e-15));
    assert_eq!(slices(&simulated, "stead"), [4, 8, 14, 20, 27]);
    assert_eq!(slices(&simulated, "cut-shift"), [4, 8, 15, 23, 32]);
    assert_eq!(slices(&simulated, "left-to-right"), [4, 10, 19, 31, 46]);
    for name in ["stead", "cut-shift", "left-to-right"] {
        is_exact(&simulated, name);
    }
    assert!(
        system(&simulated, "contiguous")
            .total
            .moved_over_bound
            .unwrap()
            > 1.5
    );
}

#[test]
fn one_by_one_to_100() {
    let simulated = simulate("one-by-one");
    let last = |name: &str| system(&simulated, name).total.slices_last;
    // The research has 4,574 and 4,240, on 2^128 points. These rules in plain Python, measured once
    // outside this repository, give 4,602 and 4,240 on 2^128 points, and 4,576 and 4,217 on 2^64.
    // The remainders fall differently, and each makes slivers of a few points, which count as
    // intervals too.
    assert_eq!(
        (
            last("stead"),
            last("cut-shift"),
            last("left-to-right"),
            last("contiguous")
        ),
        (2_505, 4_576, 4_217, 100)
    );
    for name in ["stead", "cut-shift", "left-to-right"] {
        is_exact(&simulated, name);
    }
}

#[test]
fn a_tight_fleet_of_one_replica_has_no_conflict() {
    let simulated = simulate("tight-1-1-1-12");
    for name in ["stead", "cut-shift", "left-to-right"] {
        is_exact(&simulated, name);
    }
}

#[test]
fn with_as_many_zones_as_replicas_stead_moves_exactly_the_lower_bound() {
    for name in ["zones", "tight-2-2-2-3", "tight-3-3-2-3"] {
        let simulated = simulate(name);
        is_exact(&simulated, "stead");
        // the rings know no zones, so they must have violations: the control of the measurement
        for peer in ["riak", "ring"] {
            assert!(
                system(&simulated, peer).total.worst.violations > 0,
                "{name}: {peer}"
            );
        }
        assert_eq!(simulated.left_out.len(), 3);
    }
}

#[test]
fn where_caps_conflict_with_the_bound_stead_is_still_balanced_and_breaks_none() {
    let names = BUILT_INS
        .iter()
        .map(|built_in| built_in.name)
        .filter(|name| name.starts_with("tight") || *name == "five-zones");
    for name in names {
        let simulated = simulate(name);
        let stead = system(&simulated, "stead");
        assert_eq!(
            (
                stead.total.worst.share_error_points.as_str(),
                stead.total.worst.violations
            ),
            ("0", 0),
            "{name}"
        );
        // Measured: at most 1.059 over all steps and 1.58 in one step (tight-3-2-3-3). This is the
        // least that these steps can move (docs/balance.md), but the figure of each step depends on
        // the layout before it.
        assert!(
            stead.total.moved_over_bound.unwrap() < 1.1,
            "{name}: {:?}",
            stead.total
        );
        assert!(
            stead.total.worst_moved_over_bound.unwrap() < 1.8,
            "{name}: {:?}",
            stead.total
        );
    }
}
