//! How the program ends: exit codes, most of them those of the program `stead`, and one line.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use stead::{Error, Status};

/// `status`: a host is behind or unknown. `wait`: the time is up. `carry`: some items failed, or a
/// carry is open.
pub const NOT_YET: u8 = 1;
/// The command line or the file of a carry is wrong.
pub const USAGE: u8 = 64;
/// A map is damaged, too new, or of another cluster.
pub const DATA: u8 = 65;
/// Something is missing: the map, the hub's map, the host, or any host that follows the hub. Or a
/// carry cannot use a node.
pub const NO_INPUT: u8 = 66;
/// The hub cannot be reached.
pub const NO_CONTACT: u8 = 68;
/// A guard refuses: a fork, a step back, a host that could not read the map, or a later epoch for a
/// hub without a map.
pub const REFUSED: u8 = 69;
/// A fault in stead-sync itself.
pub const INTERNAL: u8 = 70;
/// Reading or writing failed.
pub const IO: u8 = 74;
/// Another operator was first. Or a push waits for hosts, which must not skip a state of a carry.
pub const CONFLICT: u8 = 75;
/// The map is in place, but its directory could not be synced.
pub const UNCERTAIN: u8 = 76;
/// The hub or the system denied permission.
pub const PERMISSION: u8 = 77;
/// Nobody reads what the program prints: 128 + SIGPIPE, as the shell reports it.
pub const PIPE: u8 = 141;

/// The table of exit codes in `--help`. docs/messages.md has the same codes.
pub const HELP: &str = "\
Exit codes:
  0   done, or nothing to do
  1   status: a host is behind, silent or has a problem; wait: the time is up;
      carry: some items failed, or a carry is open
  64  the command line or the file of a carry is wrong
  65  a map is damaged, too new or of another cluster
  66  a map is missing, no host has this name, or no host follows the hub;
      carry: a node cannot be used, or its data is not what the file says
  68  the hub cannot be reached
  69  refused: a fork, a step back, a host that cannot read the map, or a later
      epoch than 1 for a hub without a map
  70  a fault in stead-sync itself: please report it
  74  reading or writing failed
  75  another operator was first, or another process watches this map file; or
      push: hosts must confirm a state of a carry before the next one
  76  the map is in place, but syncing the disk failed
  77  permission denied, by the hub or by the system
  141 the reader of the output has gone";

/// An error that ends a task: its exit code and its message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The message, in one line. Empty when it was said already.
    pub line: String,
}

/// The result of every function that can fail.
pub type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    /// Returns a failure with an exit code and a message.
    pub fn new(code: u8, line: impl Display) -> Failure {
        let line = one_line(&line.to_string());
        Failure { code, line }
    }

    /// Returns the failure of an operation of the system; `what` says which.
    pub fn io(what: impl Display, error: &io::Error) -> Failure {
        let code = match error.kind() {
            io::ErrorKind::PermissionDenied => PERMISSION,
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NO_INPUT,
            _ => IO,
        };
        Failure::new(code, format_args!("{what}: {error}"))
    }

    /// Returns whether the hub could not be reached, which may pass by itself.
    pub fn is_contact(&self) -> bool {
        self.code == NO_CONTACT
    }

    /// Writes the message to standard error and returns the exit code.
    pub fn end(self) -> ExitCode {
        if !self.line.is_empty() {
            let _ = io::stderr().write_all(format!("stead-sync: {}\n", self.line).as_bytes());
        }
        ExitCode::from(self.code)
    }
}

fn leads_through_a_file(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match error.status() {
            Status::Io if leads_through_a_file(&error) => NO_INPUT,
            Status::Guarded => REFUSED,
            Status::NotFound => NO_INPUT,
            Status::Io | Status::Memory => IO,
            Status::Permission => PERMISSION,
            Status::Uncertain => UNCERTAIN,
            Status::Conflict => CONFLICT,
            Status::Invalid => USAGE,
            Status::Internal => INTERNAL,
            _ => DATA,
        };
        match error {
            Error::Guarded {
                file,
                problem,
                allow,
            } => {
                let file = file.display();
                // the usual cause, where to go back is wrong
                let first = match allow == "back" {
                    true => format!(
                        "if the hub was restored from a backup, push the newer map there \
                         (`stead-sync push {file} URL`); "
                    ),
                    false => String::new(),
                };
                Failure::new(
                    code,
                    format_args!(
                        "{file}: {problem}; nothing was changed; {first}if you mean it, pull with \
                         --allow {allow}"
                    ),
                )
            }
            error => Failure::new(code, error),
        }
    }
}

/// Escapes control characters: a server's message or a path may contain a newline, ours must not.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// Writes a line to standard error, which systemd keeps with its time.
pub fn say(line: &str) {
    let line = Failure::new(0, line).line;
    if cfg!(test) {
        return eprintln!("{line}"); // which the tests keep to themselves unless one fails
    }
    let _ = std::io::stderr().write_all(format!("stead-sync: {line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(Failure::new(1, "a\nb\u{1b}[1m é").line, "a\\nb\\u{1b}[1m é");
    }
}
