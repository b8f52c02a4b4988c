//! Fill: what was released goes to the holders that must still grow.

use super::piece::{join, ByHolder, HolderId, Piece};
use super::release::Released;

/// A run of cells: a holder's, or a gap.
enum Run {
    Held(Piece),
    Gap(u128),
}

/// The pieces with all gaps given to those with a `deficit`; the deficits must add up to what was released.
///
/// First a gap's neighbours grow into it, which costs no slice. What is left is filled from left to right, one holder after the
/// other in their order: at most one slice a gap and one a holder, which is the fewest unless some sums happen to fit.
pub(super) fn fill(released: Vec<Released>, mut deficit: ByHolder) -> Vec<Piece> {
    let runs = grow_into_gaps(runs(released), &mut deficit);
    let mut open = (0..deficit.0.len() as u32).map(HolderId);
    let mut now = open.next();
    let mut out = Vec::with_capacity(runs.len() + deficit.0.len());
    for run in runs {
        match run {
            Run::Held(piece) => out.push(piece),
            Run::Gap(mut cells) => {
                while cells > 0 {
                    let Some(holder) = now else { break };
                    let taken = deficit.take(holder, cells);
                    cells -= taken;
                    out.push(Piece { cells: taken, holder });
                    if cells > 0 {
                        now = open.next();
                    }
                }
            }
        }
    }
    join(out)
}

/// What each piece keeps, with the gaps in between; gaps that touch are one.
fn runs(released: Vec<Released>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::with_capacity(released.len() + released.len() / 2);
    let gap = |runs: &mut Vec<Run>, cells: u128| match runs.last_mut() {
        _ if cells == 0 => {}
        Some(Run::Gap(before)) => *before += cells,
        _ => runs.push(Run::Gap(cells)),
    };
    for Released { piece, left, right } in released {
        gap(&mut runs, left);
        let cells = piece.cells - left - right;
        if cells > 0 {
            runs.push(Run::Held(Piece { cells, ..piece }));
        }
        gap(&mut runs, right);
    }
    runs
}

/// Lets the neighbours of each gap that must grow do so: the left one first, then the right one.
fn grow_into_gaps(runs: Vec<Run>, deficit: &mut ByHolder) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::with_capacity(runs.len());
    let mut runs = runs.into_iter().peekable();
    while let Some(run) = runs.next() {
        let Run::Gap(mut cells) = run else {
            out.push(run);
            continue;
        };
        if let Some(Run::Held(left)) = out.last_mut() {
            let taken = deficit.take(left.holder, cells);
            left.cells += taken;
            cells -= taken;
        }
        if let Some(Run::Held(right)) = runs.peek_mut() {
            let taken = deficit.take(right.holder, cells);
            right.cells += taken;
            cells -= taken;
        }
        if cells > 0 {
            out.push(Run::Gap(cells));
        }
    }
    out
}
