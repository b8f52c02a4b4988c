//! Fault domains: how much of the data is in each of them.

use stead::Map;

use crate::canvas::Canvas;
use crate::options::Options;

/// Draws the fault domains of a map and the nodes in them, coloured by what they have.
pub fn domains(map: &Map, options: &Options) -> String {
    Canvas::new(options, format!("{}: fault domains", map.name()), &[]).finish("")
}
