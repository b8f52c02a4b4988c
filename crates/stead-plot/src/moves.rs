//! Moves: what goes from which node to which between two epochs.

use stead::{Map, Plan, Result};

use crate::canvas::Canvas;
use crate::options::Options;

/// Draws what goes from which node to which. Returns `Identity` for maps of different clusters.
pub fn moves(old: &Map, new: &Map, options: &Options) -> Result<String> {
    let plan = Plan::between(old, new)?;
    let canvas = Canvas::new(options, format!("{}: what moves", new.name()), &[]);
    Ok(canvas.finish(&format!("{} moves", plan.moves.len())))
}
