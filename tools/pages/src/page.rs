//! The parts that all manual pages have in common: the line at the top, and verbatim text.

use clap_mangen::roff::{roman, Roff};

/// The name and version in the last line of a page.
pub(crate) const SOURCE: &str = concat!("stead ", env!("CARGO_PKG_VERSION"));
/// The name of the manual, in the middle of the first line of a page.
pub(crate) const MANUAL: &str = "stead manual";
/// An empty argument in place of the date. It has its own quotes, since the crate quotes only
/// arguments with spaces.
pub(crate) const NO_DATE: &str = "\"\"";

/// Adds lines verbatim: examples and declarations.
pub(crate) fn verbatim<'a>(roff: &mut Roff, lines: impl IntoIterator<Item = &'a str>) {
    roff.control("RS", ["4"]);
    roff.control("EX", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("EE", []);
    roff.control("RE", []);
}
