//! The outcome of the writes of one log record. There is a ticket for each request, or for each
//! part of a BATCH.
//!
//! A ticket is offered to every backend of its lines. Each backend either answers once for its own
//! lines or is lost. The caller gets the answer as soon as every line is decided. The first backend
//! that takes or refuses a line decides it; "no such file" decides only if no backend answers
//! otherwise. So a slow backend delays nobody. But no caller gets an answer before the ticket was
//! offered to all its backends, so that the caller's next request comes after it in every queue.
//!
//! An early ticket is answered as soon as it was offered. Who tells it the last answer gets the
//! lines that no backend took.
//!
//! ```text
//! lines - outcome
//! ```

mod lines;
mod outcome;
#[cfg(test)]
mod tests;

pub use lines::{Failures, Refusal};
pub use outcome::{Ticket, Unheard};
