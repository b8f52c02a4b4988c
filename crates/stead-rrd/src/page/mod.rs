//! The page that a person reads when something is wrong: of a [`Status`], in words and in units for
//! people.
//!
//! [`Status::problems`] decides what is wrong and says what to do. Nothing that a backend or a file
//! has written steers the terminal.

mod drawing;
mod problems;
#[cfg(test)]
mod tests;
mod wording;

pub use wording::printable;
