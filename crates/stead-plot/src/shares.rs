//! Shares: how much of the hash space each node has, against what its weight asks for.

use stead::Map;

use crate::canvas::Canvas;
use crate::options::Options;

/// Draws the share of each node, against the ideal one and, if there is a map before, against what
/// the node had there.
pub fn shares(map: &Map, before: Option<&Map>, options: &Options) -> String {
    let canvas = Canvas::new(options, format!("{}: shares", map.name()), &[]);
    canvas.finish(before.map_or("", |map| map.name()))
}
