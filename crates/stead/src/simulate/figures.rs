//! Figures: what a run measures, and how it is shown.

use serde::Serialize;

use super::ideal::Wanted;
use super::placement::Placement;
use super::system::LeftOut;
use crate::point::SPACE;
use crate::report::Amount;

/// What a run found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Simulated {
    /// The scenario's name.
    pub name: String,
    /// R.
    pub replicas: u32,
    /// The labels over which copies are kept apart.
    pub spread: Vec<String>,
    /// The first fleet (step 0), and each step.
    pub steps: Vec<StepReport>,
    /// The sum of the steps' lower bounds.
    pub lower_bound: Amount,
    /// What each system did.
    pub systems: Vec<SystemReport>,
    /// Those that take no part.
    pub left_out: Vec<LeftOut>,
}

/// A step of the history, the same for all systems.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StepReport {
    /// Its number; 0 is the first fleet.
    pub step: usize,
    /// How many nodes there are after it.
    pub nodes: usize,
    /// How many came.
    pub added: usize,
    /// How many left.
    pub removed: usize,
    /// How many got another weight.
    pub reweighted: usize,
    /// The sum of the positive differences of the ideal shares; 0 for the first fleet.
    pub lower_bound: Amount,
}

/// What a system did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SystemReport {
    /// Its name.
    pub system: &'static str,
    /// The size that it was given, in words.
    pub size: String,
    /// The whole history in one line.
    pub total: Total,
    /// Each step, the first fleet included.
    pub steps: Vec<StepFigures>,
}

/// What one step, or its worst, shows of balance and rules.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figures {
    /// The largest |share - ideal| / ideal of a node.
    pub share_error: f64,
    /// The largest |share - ideal| of a node, in points.
    pub share_error_points: String,
    /// The fullest node: the largest share / ideal.
    pub fullest: f64,
    /// The fullest node against the emptiest, each measured by its ideal share; `None` when one has
    /// nothing. It is the article's imbalance factor, which compares nodes with nodes.
    pub imbalance: Option<f64>,
    /// Runs of points that have not R nodes, name a node twice, or have more copies in a domain
    /// than its cap.
    pub violations: usize,
    /// The points in them; the fraction is of 2^64.
    pub violating: Amount,
}

/// What a system did in one step.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StepFigures {
    /// The step's number; 0 is the first fleet.
    pub step: usize,
    /// Copies that came to a node which had them not; 0 for the first fleet.
    pub moved: Amount,
    /// moved / lower bound; `None` where the bound is 0.
    pub moved_over_bound: Option<f64>,
    /// Balance and rules after the step.
    #[serde(flatten)]
    pub figures: Figures,
    /// Slices, partitions or ring points after the step.
    pub slices: usize,
    /// What the step took on this machine; `None` when times are not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// What a system did over the whole history.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Total {
    /// The sum over the steps.
    pub moved: Amount,
    /// That sum / the sum of the lower bounds.
    pub moved_over_bound: Option<f64>,
    /// The largest moved / lower bound of a step.
    pub worst_moved_over_bound: Option<f64>,
    /// The worst of each figure at any time, the first fleet included.
    #[serde(flatten)]
    pub worst: Figures,
    /// Slices, partitions or ring points of the first fleet.
    pub slices_first: usize,
    /// And after the last step.
    pub slices_last: usize,
    /// The median of the steps' times, the first fleet left out where there is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_seconds: Option<f64>,
    /// The longest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_seconds: Option<f64>,
}

impl Simulated {
    /// The same without times, which no two runs share.
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

/// Balance and rules of a placement.
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
