//! Figures: what a run measures, in the form in which it is shown.

use serde::Serialize;

use super::ideal::Wanted;
use super::placement::Placement;
use super::system::LeftOut;
use crate::point::SPACE;
use crate::report::Amount;

/// The result of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Simulated {
    /// The name of the scenario.
    pub name: String,
    /// The number of replicas, R.
    pub replicas: u32,
    /// The labels over which copies are kept apart.
    pub spread: Vec<String>,
    /// The first fleet (step 0) and all steps.
    pub steps: Vec<StepReport>,
    /// The sum of the lower bounds of all steps.
    pub lower_bound: Amount,
    /// The figures of each system.
    pub systems: Vec<SystemReport>,
    /// The systems that do not take part.
    pub left_out: Vec<LeftOut>,
}

/// The figures of a step that are the same for all systems.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StepReport {
    /// The number of the step; 0 is the first fleet.
    pub step: usize,
    /// The number of nodes after the step.
    pub nodes: usize,
    /// The number of nodes that were added.
    pub added: usize,
    /// The number of nodes that were removed.
    pub removed: usize,
    /// The number of nodes that got another weight.
    pub reweighted: usize,
    /// The sum of the positive differences of the ideal shares; 0 for the first fleet.
    pub lower_bound: Amount,
}

/// The figures of one system.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SystemReport {
    /// The name of the system.
    pub system: &'static str,
    /// The size that it was given, in words.
    pub size: String,
    /// The figures of the whole history.
    pub total: Total,
    /// The figures of each step, including the first fleet.
    pub steps: Vec<StepFigures>,
}

/// Balance and violations: of one step, or the worst of all steps.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figures {
    /// The largest |share - ideal| / ideal of all nodes.
    pub share_error: f64,
    /// The largest |share - ideal| of all nodes, in points.
    pub share_error_points: String,
    /// The largest share / ideal of all nodes.
    pub fullest: f64,
    /// The largest share / ideal of all nodes divided by the smallest; `None` when a node has
    /// nothing. This is the imbalance factor of the article, which compares nodes with each other.
    pub imbalance: Option<f64>,
    /// The number of runs of points that do not have R nodes, name a node twice or one that wants
    /// nothing, or have more copies in a domain than its cap.
    pub violations: usize,
    /// The points in these runs; the fraction is of 2^64.
    pub violating: Amount,
}

/// The figures of one system in one step.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StepFigures {
    /// The number of the step; 0 is the first fleet.
    pub step: usize,
    /// The copies that came to a node that did not have them; 0 for the first fleet.
    pub moved: Amount,
    /// moved / lower bound; `None` when the lower bound is 0.
    pub moved_over_bound: Option<f64>,
    /// Balance and violations after the step.
    #[serde(flatten)]
    pub figures: Figures,
    /// The number of slices, partitions or ring points after the step.
    pub slices: usize,
    /// The time that the step took on this machine; `None` when times are not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// The figures of one system over the whole history.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Total {
    /// The sum of what the steps moved.
    pub moved: Amount,
    /// That sum / the sum of the lower bounds.
    pub moved_over_bound: Option<f64>,
    /// The largest moved / lower bound of all steps.
    pub worst_moved_over_bound: Option<f64>,
    /// The worst value of each figure at any time, including the first fleet.
    #[serde(flatten)]
    pub worst: Figures,
    /// The number of slices, partitions or ring points of the first fleet.
    pub slices_first: usize,
    /// The same number after the last step.
    pub slices_last: usize,
    /// The median time of a step. The first fleet is left out if there are other steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_seconds: Option<f64>,
    /// The longest time of a step, from the same steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_seconds: Option<f64>,
}

impl Simulated {
    /// Removes the times, which differ from run to run.
    #[must_use]
    pub fn without_times(mut self) -> Simulated {
        for system in &mut self.systems {
            (system.total.median_seconds, system.total.worst_seconds) = (None, None);
            system.steps.iter_mut().for_each(|step| step.seconds = None);
        }
        self
    }
}

pub(super) fn amount(points: u128, replicas: u32) -> Amount {
    Amount {
        points: points.to_string(),
        fraction: points as f64 / (f64::from(replicas) * SPACE as f64),
    }
}

pub(super) fn ratio(moved: u128, bound: u128) -> Option<f64> {
    (bound > 0).then(|| moved as f64 / bound as f64)
}

/// Computes balance and violations of a placement.
pub(super) fn figures(placement: &Placement, wanted: &Wanted, names: usize) -> Figures {
    let loads = placement.loads(names);
    let (mut share_error, mut points, mut fullest, mut emptiest) =
        (0f64, 0u128, 0f64, f64::INFINITY);
    for (holder, ideal) in wanted
        .holders
        .iter()
        .zip(&wanted.ideal)
        .filter(|(_, ideal)| **ideal > 0)
    {
        let load = loads.get(holder.node as usize).copied().unwrap_or(0);
        let (error, filled) = (load.abs_diff(*ideal), load as f64 / *ideal as f64);
        share_error = share_error.max(error as f64 / *ideal as f64);
        points = points.max(error);
        fullest = fullest.max(filled);
        emptiest = emptiest.min(filled);
    }
    let violations = placement.violations(wanted);
    Figures {
        share_error,
        share_error_points: points.to_string(),
        fullest,
        imbalance: (emptiest > 0.0).then(|| fullest / emptiest),
        violations: violations.runs,
        violating: amount(violations.points, 1),
    }
}
