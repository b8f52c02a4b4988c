//! The Rust part of the Python module `stead`, imported as `stead._stead`. The part that is simpler
//! in Python is in python/python/stead.
//!
//! ```text
//! key     str and bytes -> the bytes of a key         error   a failure -> its exception
//! fleet   text, dict -> a fleet                       map     Map        plan    Plan, Move
//! pair    Pair: two maps of a carry
//! tools   path, path_name, survey                                imported   objects that are written in Python
//! argument   an argument -> its value, or a TypeError that names it
//! batch   many keys -> their nodes or points          array   Array: nodes or rows, for Python and Arrow
//! names   the names of a map's nodes, for both        subscript   the index in sequence[...]
//! publishing   Map: opening, building, publishing             picture   plot of Map and Plan
//! located many keys -> their primary nodes, or all of their nodes
//! records Node, Slice, Move, reports                  same    which node of an old map is which of a new one
//! arrow   the capsules of Arrow's C Data Interface: the one file with unsafe code (stead-arrow reads them)
//! copied  keys of objects, in one buffer              validity   which rows of a column are null
//! ```
//!
//! A module uses only modules to its left; a test checks that (tools/layers):
//!
//! ```text
//! imported | copied error subscript validity | argument key records | arrow fleet tools | batch names | array | located | map | pair plan publishing same | picture
//! ```

#![deny(unsafe_code)]

mod argument;
mod array;
mod arrow;
mod batch;
mod copied;
mod error;
mod fleet;
mod imported;
mod key;
mod located;
mod map;
mod names;
mod pair;
mod picture;
mod plan;
mod publishing;
mod records;
mod same;
mod subscript;
mod tools;
mod validity;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: stead::memory::Reserving = stead::memory::Reserving::of_system();

/// The part of `stead` that is written in Rust.
#[pymodule]
mod _stead {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::array::_array;
    #[pymodule_export]
    use super::array::{Array, Numbered};
    #[pymodule_export]
    use super::map::Map;
    #[pymodule_export]
    use super::pair::Pair;
    #[pymodule_export]
    use super::plan::{Moves, Plan};
    #[pymodule_export]
    use super::same::{_check_map, _same_nodes};
    #[pymodule_export]
    use super::tools::{path, path_name, survey};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
