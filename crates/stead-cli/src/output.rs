//! Standard output with checked writes: a write that fails ends the program with one line.
//!
//! `println!` panics when the reader of a pipe has gone. std's stdout also writes line by line, and
//! ignores the error of a closed descriptor. So this module duplicates the descriptor and buffers
//! it, and `main` finishes with [`Out::flush`].

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use crate::exit::{Failure, Result, PIPE};

/// The size of the write buffer, in bytes: as much as a pipe takes at once.
const BUFFER: usize = 64 << 10;

/// The style of headings.
pub const HEADING: Style = Style::new().bold();
/// The style of a check that passed.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The style of a problem.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Standard output, buffered.
pub struct Out {
    writer: BufWriter<File>,
    colour: bool,
}

impl Out {
    /// Opens standard output. Colours are on if it is a terminal and neither `NO_COLOR` nor
    /// `TERM=dumb` turns them off.
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

    /// Returns whether colours are on.
    pub fn colour(&self) -> bool {
        self.colour
    }

    /// Returns the text in a style, or as it is if colours are off.
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

    /// Writes a value as indented JSON, which people can read as well.
    pub fn json(&mut self, value: &impl Serialize) -> Result {
        serde_json::to_writer_pretty(&mut self.writer, value).map_err(|e| failure(&e.into()))?;
        self.bytes(b"\n")
    }

    /// Writes a value as JSON on one line.
    pub fn json_line(&mut self, value: &impl Serialize) -> Result {
        serde_json::to_writer(&mut self.writer, value).map_err(|e| failure(&e.into()))?;
        self.bytes(b"\n")
    }

    /// Writes everything that is buffered.
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
