//! The content of RRD files: how two copies of one file are compared, and how copies of which each
//! has values that another one lacks are joined.
//!
//! ```text
//! head      cookie "RRD\0", version, number, columns, archives, step          128 bytes
//! columns   name, type, parameters                                       120 bytes each
//! archives  function, rows, steps per row, parameters                    120 bytes each
//! live      last time in seconds and microseconds                              16 bytes
//! columns   last value as text, unknown seconds, sum                     112 bytes each
//! archives  for each column: value and unknown steps of the row to come   80 bytes each
//! archives  the newest row                                                 8 bytes each
//! rows      of each archive, a double for each column
//! ```
//!
//! The layout is that of rrdtool on a 64-bit machine of this byte order, versions 3 to 5. rrdtool
//! chooses by chance with which row an archive begins, so equal copies may differ in their bytes.

mod content;
mod digest;
mod joining;
mod parts;
#[cfg(test)]
mod samples;

pub use content::Image;
pub use digest::Digest;
pub use joining::joined;
pub use parts::is_foreign;
#[cfg(test)]
pub(crate) use samples::file as sample_file;
