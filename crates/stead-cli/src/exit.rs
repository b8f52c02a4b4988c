//! How the program ends: an exit code from sysexits.h, and one line of words.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use stead::{Error, Status};

/// `check` found a rule broken.
pub const VIOLATED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// A map or an input record is wrong.
pub const DATA: u8 = 65;
/// A file is missing.
pub const NO_INPUT: u8 = 66;
/// A fault in stead itself.
pub const INTERNAL: u8 = 70;
/// The operating system refused to read or write.
pub const IO: u8 = 74;
/// Somebody else changed the map meanwhile.
pub const CONFLICT: u8 = 75;
/// The new epoch is in place, but its directory could not be synced or its report not be written.
pub const PUBLISHED: u8 = 76;
/// The operating system said: not allowed.
pub const PERMISSION: u8 = 77;
/// The fleet is wrong, or cannot be met.
pub const FLEET: u8 = 78;
/// Nobody reads our output any more: 128 + SIGPIPE, as the shell reports it.
pub const PIPE: u8 = 141;

/// The table for `--help`; docs/cli.md has the same.
pub const HELP: &str = "\
Exit codes:
  0   done (also: nothing to do)
  1   check found a rule broken
  64  the command line is wrong
  65  a map is damaged, not a map, too new or of another cluster; or an input record is wrong
  66  a file is missing
  70  a fault in stead itself
  74  reading or writing failed
  75  another process changed the map meanwhile; nothing was changed, run it again
  76  the new map is in place, but its report could not be written or its directory not be synced
  77  permission denied
  78  the fleet or the scenario is wrong, or cannot be met";

/// An end that is not success.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    /// `None` ends without a word.
    line: Option<String>,
}

/// The result of everything here that can fail.
pub type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    /// Ends with a code and a line.
    pub fn new(code: u8, line: impl Display) -> Failure {
        Failure {
            code,
            line: Some(line.to_string()),
        }
    }

    /// Ends with a code; what there is to say is said already.
    pub fn silent(code: u8) -> Failure {
        Failure { code, line: None }
    }

    /// The system refused to do something with a stream of ours.
    pub fn io(what: &str, error: &io::Error) -> Failure {
        let code = if error.kind() == io::ErrorKind::PermissionDenied {
            PERMISSION
        } else {
            IO
        };
        Failure::new(code, format!("{what}: {error}"))
    }

    /// The same end, with words before its line that say where it happened.
    pub fn at(mut self, place: &str) -> Failure {
        self.line = self.line.map(|line| format!("{place}: {line}"));
        self
    }

    /// The same end of a command that had published its epoch before: an own code, lest a script
    /// think that nothing changed. A closed pipe stays what it is.
    pub fn in_place(self, epoch: u64) -> Failure {
        match self.line {
            Some(line) => {
                Failure::new(PUBLISHED, format!("epoch {epoch} is in place, but: {line}"))
            }
            None => self,
        }
    }

    /// Says the line on standard error and gives the code. There is nobody to tell when that fails.
    pub fn end(self) -> ExitCode {
        if let Some(line) = &self.line {
            let _ = io::stderr().write_all(format!("stead: {}\n", one_line(line)).as_bytes());
        }
        ExitCode::from(self.code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            code: code(&error),
            line: Some(error.to_string()),
        }
    }
}

fn code(error: &Error) -> u8 {
    if let Error::Io { source, .. } = error {
        if source.kind() == io::ErrorKind::PermissionDenied {
            return PERMISSION;
        }
    }
    match error.status() {
        Status::Fleet | Status::Impossible => FLEET,
        Status::Format
        | Status::Digest
        | Status::Version
        | Status::Identity
        | Status::Name
        | Status::Changed => DATA,
        Status::NotFound => NO_INPUT,
        Status::Io => IO,
        Status::Uncertain => PUBLISHED,
        Status::Conflict => CONFLICT,
        Status::Invalid => USAGE,
        Status::Internal => INTERNAL,
    }
}

/// A file name may hold a newline; an error must not.
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
    use std::path::Path;

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
