//! What all manual pages have in common: the line at their top, and text that stands as it was
//! written.

use clap_mangen::roff::{roman, Roff};

/// The version that pages name in their last line.
pub(crate) const SOURCE: &str = concat!("stead ", env!("CARGO_PKG_VERSION"));
/// The book they belong to, in the middle of their first line.
pub(crate) const MANUAL: &str = "stead manual";
/// No date: an empty argument. The words of roff's arguments are not quoted by the crate unless
/// they have spaces.
pub(crate) const NO_DATE: &str = "\"\"";

/// Lines as they are: examples and declarations.
pub(crate) fn verbatim<'a>(roff: &mut Roff, lines: impl IntoIterator<Item = &'a str>) {
    roff.control("RS", ["4"]);
    roff.control("EX", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("EE", []);
    roff.control("RE", []);
}
