//! The page of `report`: one HTML file with tables, pictures and a box that locates keys. It loads
//! nothing from anywhere, and its policy lets it run no script but its own.
//!
//! The texts are those of the other verbs: `checks`, `epochs`, `caps`, `change` and `loss` say what
//! `check`, `history`, `plan` and `what-if` print. Whatever a map says passes through `html`, the
//! one place that escapes. The style and the scripts are files of their own in `page/template`.
//!
//! ```text
//! html | places | sheet tiles template | lookup nodes domains epochs_kept flows lists pictures | of_map of_change
//! ```

mod domains;
mod epochs_kept;
mod flows;
mod html;
mod lists;
mod lookup;
mod nodes;
mod of_change;
mod of_map;
mod pictures;
mod places;
mod sheet;
mod template;
mod tiles;

pub use of_change::of_change;
pub use of_map::{of_map, Facts};
pub use places::origin;
pub use template::is_report;
