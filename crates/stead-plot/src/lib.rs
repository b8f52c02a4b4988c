//! Pictures of what [`stead`] does, as SVG.
//!
//! Each function takes a map, or what was measured on it, and returns a picture: one `<svg>`
//! element that stands alone in a file or in a page of HTML. `stead plot` and `stead report` draw
//! with this crate.
//!
//! ```
//! use stead::{build, Fleet};
//! use stead_plot::{bands, Options, Row};
//!
//! # fn main() -> stead::Result<()> {
//! let two = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b'}]", "fleet.toml")?;
//! let three = Fleet::parse("name = 'members'\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c'}]", "fleet.toml")?;
//! let before = build(&two, None)?;
//! let after = build(&three, Some(&before))?;
//! let rows = [
//!     Row { label: "epoch 1".to_owned(), map: &before },
//!     Row { label: "epoch 2".to_owned(), map: &after },
//! ];
//! let svg = bands(&rows, &Options::default());
//! assert!(svg.starts_with("<svg ") && svg.contains("moves 33.3 %"));
//! # Ok(())
//! # }
//! ```
//!
//! The same arguments give the same bytes: numbers are printed with fixed digits, and nothing
//! depends on a clock, a locale, the fonts of the machine or the order of a hash table.
//!
//! # Modules
//!
//! Bars separate groups of modules. A module uses only modules of the groups to the left of its
//! own.
//!
//! ```text
//! kind options letters figures runs read | colours names | canvas groups | axes labels legend measure | bars | bands ring shares distribution moves domains load modulo
//! ```

#![forbid(unsafe_code)]

mod axes;
mod bands;
mod bars;
mod canvas;
mod colours;
mod distribution;
mod domains;
mod figures;
mod groups;
mod kind;
mod labels;
mod legend;
mod letters;
mod load;
mod measure;
mod modulo;
mod moves;
mod names;
mod options;
mod read;
mod ring;
mod runs;
mod shares;

pub use bands::{bands, panels, Band, Panel, Row};
pub use distribution::{distribution, Bucket, Buckets, Spread};
pub use domains::domains;
pub use figures::{brief, grouped, grouped_large, percent};
pub use groups::nodes_of;
pub use kind::Kind;
pub use load::load;
pub use measure::Counted;
pub use modulo::{modulo, modulo_keys};
pub use moves::{moves, moves_counted};
pub use options::{Options, Theme};
pub use ring::ring;
pub use runs::Run;
pub use shares::{shares, MANY_CELLS};
