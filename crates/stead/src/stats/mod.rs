//! Statistics: how evenly placement methods spread a list of names, and how full a tree of
//! directories gets.
//!
//! Counts, and the sums for the variance, are exact integers. Floats appear only in the last step
//! of each computation, and no placement depends on them.

mod binomial;
mod projection;
mod survey;

pub use projection::{LevelProjection, Projection, Surveyed};
pub use survey::{paper, schemes, PaperFigures, SchemeReport, Survey, SurveyReport, PAPER_NAMES};
