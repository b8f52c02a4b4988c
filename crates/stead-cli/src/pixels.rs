//! Pixels: draws an SVG picture as PNG, in Rust alone. The text is in DejaVu Sans, which is part of
//! the program, so no font of the system is needed and every machine draws the same.

use resvg::{render, tiny_skia, usvg};

use crate::exit::{Failure, Result, INTERNAL, USAGE};

/// The most pixels of a picture, which are 256 MB of memory.
const MOST: u64 = 64 << 20;

/// Draws a picture as PNG, with `scale` pixels for each of its units.
pub fn png(svg: &str, scale: u32) -> Result<Vec<u8>> {
    let wrong = |what: &str| Failure::new(INTERNAL, format!("cannot draw the picture: {what}"));
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| wrong(&error.to_string()))?;
    let size = tree.size().to_int_size();
    let [width, height] = [size.width(), size.height()].map(|side| side.saturating_mul(scale));
    if u64::from(width) * u64::from(height) > MOST {
        let problem = format!("{width} x {height} pixels are too many; lower --scale or --width");
        return Err(Failure::new(USAGE, problem));
    }
    let mut pixels = tiny_skia::Pixmap::new(width, height).ok_or_else(|| wrong("it is empty"))?;
    let scaled = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    render(&tree, scaled, &mut pixels.as_mut());
    pixels
        .encode_png()
        .map_err(|error| wrong(&error.to_string()))
}
