//! Standard output, checked: every write can fail, and a failure ends the program with one line.
//!
//! `println!` panics when the reader of a pipe has gone; std's stdout also writes line by line and
//! swallows errors of a closed descriptor. So the descriptor is duplicated and buffered here, and
//! `main` ends with [`Out::flush`].

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use crate::exit::{Failure, Result, PIPE};

/// So much is collected before it is written: as much as a pipe takes at once.
const BUFFER: usize = 64 << 10;

/// Headings.
pub const HEADING: Style = Style::new().bold();
/// What is well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is not.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Standard output.
pub struct Out {
    writer: BufWriter<File>,
    colour: bool,
}

impl Out {
    /// Standard output; with colours when it is a terminal and the user does not object.
    pub fn new() -> Result<Out> {
        let stdout = io::stdout();
        let file = stdout
            .as_fd()
            .try_clone_to_owned()
            .map_err(|e| failure(&e))?;
        let objects = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        Ok(Out {
            writer: BufWriter::with_capacity(BUFFER, File::from(file)),
            colour: stdout.is_terminal() && !objects,
        })
    }

    /// Whether colours are wanted.
    pub fn colour(&self) -> bool {
        self.colour
    }

    /// The text in a style, where colours are wanted.
    pub fn paint(&self, style: Style, text: impl Display) -> String {
        if self.colour {
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }

    /// Writes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result {
        self.writer.write_all(bytes).map_err(|e| failure(&e))
    }

    /// Writes a line of text.
    pub fn line(&mut self, text: impl Display) -> Result {
        writeln!(self.writer, "{text}").map_err(|e| failure(&e))
    }

    /// Writes a value as JSON on lines of its own, for people to read as well.
    pub fn json(&mut self, value: &impl Serialize) -> Result {
        serde_json::to_writer_pretty(&mut self.writer, value).map_err(|e| failure(&e.into()))?;
        self.bytes(b"\n")
    }

    /// Writes a value as JSON on one line.
    pub fn json_line(&mut self, value: &impl Serialize) -> Result {
        serde_json::to_writer(&mut self.writer, value).map_err(|e| failure(&e.into()))?;
        self.bytes(b"\n")
    }

    /// Hands everything so far to the system.
    pub fn flush(&mut self) -> Result {
        self.writer.flush().map_err(|e| failure(&e))
    }
}

fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::silent(PIPE),
        _ => Failure::io("cannot write standard output", error),
    }
}
