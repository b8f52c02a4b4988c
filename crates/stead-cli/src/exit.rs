//! How the program ends: with an exit code from sysexits.h and, on an error, one line of text.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use stead::guard::Guard;
use stead::{Error, Status};

/// `check` found a broken rule, or a key that is elsewhere.
pub const VIOLATED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// A map or an input record is wrong.
pub const DATA: u8 = 65;
/// A file is missing.
pub const NO_INPUT: u8 = 66;
/// A guard refuses the change.
pub const REFUSED: u8 = 69;
/// A fault in stead itself.
pub const INTERNAL: u8 = 70;
/// The operating system refused to read or write.
pub const IO: u8 = 74;
/// Another process changed the map meanwhile.
pub const CONFLICT: u8 = 75;
/// The new epoch is in place, but its directory could not be synced or its report could not be
/// written.
pub const PUBLISHED: u8 = 76;
/// The operating system denied permission.
pub const PERMISSION: u8 = 77;
/// The fleet, the scenario or the list of servers is wrong, or cannot be met.
pub const FLEET: u8 = 78;
/// The reader of the output has gone: 128 + SIGPIPE, as the shell reports it.
pub const PIPE: u8 = 141;

/// The table of exit codes in `--help`. docs/cli.md has the same codes. No line is longer than 80
/// characters, so that none wraps on a terminal.
pub const HELP: &str = "\
Exit codes:
  0   done, or nothing to do
  1   check found a broken rule or a key elsewhere; load's proposal falls short
  64  the command line is wrong
  65  a map is damaged, too new or of another cluster, or the input is wrong
  66  a file is missing
  69  a guard refuses the change, or a carry is open; nothing was written
  70  a fault in stead itself: please report it
  74  reading or writing failed
  75  another process changed the map or the fleet first; run it again
  76  the new map is in place, but writing its report or syncing the disk failed
  77  permission denied
  78  the fleet, scenario or list of servers is wrong, or cannot be met
  141 the reader of the output has gone";

/// An error that ends the program: its exit code and its message.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    /// The message. `None` prints nothing.
    line: Option<String>,
}

/// The result of every function of the program that can fail.
pub type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    /// Returns a failure with an exit code and a message.
    pub fn new(code: u8, line: impl Display) -> Failure {
        Failure {
            code,
            line: Some(line.to_string()),
        }
    }

    /// Returns a failure with an exit code and no message, for errors that are reported already.
    pub fn silent(code: u8) -> Failure {
        Failure { code, line: None }
    }

    /// Returns the failure of an operation on a stream; `what` says which.
    pub fn io(what: &str, error: &io::Error) -> Failure {
        let code = if error.kind() == io::ErrorKind::PermissionDenied {
            PERMISSION
        } else {
            IO
        };
        Failure::new(code, format!("{what}: {error}"))
    }

    /// Returns the failure of a change, with its error's words. Where the change needs a carry,
    /// `carry` says how to begin one.
    pub fn refused(error: Error, carry: &str) -> Failure {
        let code = code(&error);
        let line = match error {
            // the same as the error's own words, with the options of the program
            Error::Guarded {
                file,
                problem,
                allow,
            } => {
                let file = file.display();
                // most who meet it have an old fleet file, and do not mean it
                let unknown = match allow.contains(Guard::TakeBack.word()) {
                    true => format!(
                        "if you did not know of that, take it into the fleet from `stead show \
                         {file} --fleet`; "
                    ),
                    false => String::new(),
                };
                let carried = match allow.contains(Guard::LeaveData.word()) {
                    true => format!("{carry}, or, "),
                    false => String::new(),
                };
                format!(
                    "{file}: {problem}; nothing was changed; {unknown}{carried}if you mean it, add \
                     --allow {allow}"
                )
            }
            error => error.to_string(),
        };
        Failure::new(code, line)
    }

    /// Returns the same failure, with `place` before its message.
    pub fn at(mut self, place: &str) -> Failure {
        self.line = self.line.map(|line| format!("{place}: {line}"));
        self
    }

    /// Returns the same failure, with `more` behind its message.
    pub fn and(mut self, more: &str) -> Failure {
        self.line = self.line.map(|line| format!("{line}; {more}"));
        self
    }

    /// Returns the same failure of a change of this map: it is named where the message is about the
    /// map and names no file.
    pub fn of_map(self, map: &Path) -> Failure {
        match self.code {
            REFUSED => self.at(&map.display().to_string()),
            _ => self,
        }
    }

    /// Returns the failure of a command that failed after it had published `epoch`. It has an exit
    /// code of its own, so that no script concludes that nothing changed. A closed pipe keeps its
    /// code.
    pub fn in_place(self, epoch: u64) -> Failure {
        match self.line {
            Some(line) => {
                Failure::new(PUBLISHED, format!("epoch {epoch} is in place, but: {line}"))
            }
            None => self,
        }
    }

    /// Writes the message to standard error and returns the exit code. An error of this write is
    /// ignored, since there is nowhere to report it.
    pub fn end(self) -> ExitCode {
        if let Some(line) = &self.line {
            let _ = io::stderr().write_all(format!("stead: {}\n", one_line(line)).as_bytes());
        }
        ExitCode::from(self.code)
    }
}

/// Says something on standard error beside a result. It is a note only, so it may be lost.
pub fn note(line: impl Display) {
    let _ = io::stderr().write_all(format!("stead: {}\n", one_line(&line.to_string())).as_bytes());
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::refused(error, "begin a carry with --carry")
    }
}

fn code(error: &Error) -> u8 {
    match error.status() {
        Status::Io if leads_through_a_file(error) => NO_INPUT,
        Status::Fleet | Status::Impossible => FLEET,
        Status::Guarded => REFUSED,
        Status::Format
        | Status::Digest
        | Status::Version
        | Status::Identity
        | Status::Name
        | Status::Changed => DATA,
        Status::NotFound => NO_INPUT,
        Status::Io | Status::Memory => IO,
        Status::Permission => PERMISSION,
        Status::Uncertain => PUBLISHED,
        Status::Conflict => CONFLICT,
        Status::Invalid => USAGE,
        Status::Internal => INTERNAL,
    }
}

fn leads_through_a_file(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::NotADirectory)
}

/// Escapes control characters: a file name may contain a newline, an error message must not.
fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect::<Vec<_>>()
            } else {
                vec![c]
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(one_line("a\nb\tc \u{1b}[1m é"), "a\\nb\\tc \\u{1b}[1m é");
    }

    #[test]
    fn refused_and_missing_files_have_their_own_codes() {
        let io = |kind: io::ErrorKind| code(&Error::io("open", Path::new("m"), kind.into()));
        assert_eq!(io(io::ErrorKind::NotFound), NO_INPUT);
        assert_eq!(io(io::ErrorKind::PermissionDenied), PERMISSION);
        assert_eq!(io(io::ErrorKind::StorageFull), IO);
    }
}
