//! A carry: brings the data from where the old map places it to where the new one does, while hosts
//! read and write it.
//!
//! ```text
//! kind pattern stamp | walk whole_file | files
//! ```

pub mod files;
pub mod kind;
mod pattern;
mod stamp;
mod walk;
mod whole_file;
