//! The page that a person reads when something is wrong: a [`Status`] in words, with units for
//! people.
//!
//! [`Status::problems`] decides what is wrong and says what to do. Text that a backend or a file
//! contains cannot send control characters to the terminal.

mod drawing;
mod problems;
#[cfg(test)]
mod tests;
mod wording;

pub use wording::{many, printable};
