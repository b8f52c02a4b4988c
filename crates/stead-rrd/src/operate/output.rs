//! What the program prints of a router's answers, and how it fails.

use std::io::{self, Write};

use serde::Serialize;

use crate::control::Answer;
use crate::exit::{Failure, INTERNAL, IO, PIPE, REFUSED, UNAVAILABLE};
use crate::page::printable;

/// Returns the failure to reach a router, or to hear from it.
pub(super) fn unavailable(line: String) -> Failure {
    Failure(UNAVAILABLE, line)
}

/// Returns the failure of a verb that got another answer than its own.
pub(super) fn unexpected(answer: &Answer) -> Failure {
    match answer {
        Answer::Error(line) => Failure(REFUSED, printable(line)),
        _ => Failure(
            INTERNAL,
            "the router gave an unexpected answer; use the stead-rrd that it was started with"
                .to_owned(),
        ),
    }
}

/// Prints on standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure(PIPE, String::new()),
            _ => Failure(IO, format!("cannot write to standard output: {error}")),
        })
}

/// Prints a value as one line of JSON.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let line =
        serde_json::to_string(value).map_err(|error| Failure(INTERNAL, error.to_string()))?;
    print(&(line + "\n"))
}
