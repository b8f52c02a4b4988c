//! The requests that a router takes on its control socket, and its answers.

use serde::{Deserialize, Serialize};

use crate::status::{Progress, Status};

/// The socket's name in the state directory.
pub const NAME: &str = "control";

/// What a caller sends while it gets the progress, to stop the work.
pub(super) const STOP: &str = "stop\n";

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Report the status.
    Status,
    /// Move files, at most this many bytes a second.
    Move(Option<u64>),
    /// Compare the copies of every file that a backend should have, and make them equal.
    Repair(String),
    /// Copy to a backend every file that it should have, whatever its own files contain.
    Replace(String),
    /// Compare the copies of every file.
    Check {
        /// The most bytes to read in a second.
        rate: Option<u64>,
        /// Whether to begin again instead of continuing.
        restart: bool,
    },
    /// Make a standby the primary, or a primary go on without its standby; `true`: by force.
    Promote(bool),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveOptions {
    rate: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckOptions {
    rate: Option<u64>,
    #[serde(default)]
    restart: bool,
}

impl Command {
    /// Parses a line. The error says what is wrong with it.
    pub fn parse(line: &str) -> Result<Command, String> {
        let (word, rest) = line
            .trim_end()
            .split_once(' ')
            .unwrap_or((line.trim_end(), ""));
        match (word, rest) {
            ("status", "") => Ok(Command::Status),
            ("move", "") => Ok(Command::Move(None)),
            ("move", options) => {
                let options: MoveOptions = serde_json::from_str(options)
                    .map_err(|error| format!("move: {error}; write move {{\"rate\":BYTES}}"))?;
                match options.rate {
                    Some(0) => Err("move: with a rate of 0 nothing would ever move".to_owned()),
                    rate => Ok(Command::Move(rate)),
                }
            }
            ("repair", "") => Err("repair: which backend? write repair NAME".to_owned()),
            ("repair", node) => Ok(Command::Repair(node.to_owned())),
            ("replace", "") => Err("replace: on which backend? write replace NAME".to_owned()),
            ("replace", node) => Ok(Command::Replace(node.to_owned())),
            ("check", options) => {
                let options = if options.is_empty() { "{}" } else { options };
                let CheckOptions { rate, restart } = serde_json::from_str(options)
                    .map_err(|error| format!("check: {error}; write check {{\"rate\":BYTES}}"))?;
                match rate {
                    Some(0) => Err("check: with a rate of 0 it would never end".to_owned()),
                    rate => Ok(Command::Check { rate, restart }),
                }
            }
            ("promote", "") => Ok(Command::Promote(false)),
            ("promote", "force") => Ok(Command::Promote(true)),
            _ => Err(format!(
                "{line:?} is not a request: ask for status, move, repair, replace, check or promote"
            )),
        }
    }

    /// Returns the line for this request, with its end.
    pub(super) fn line(&self) -> String {
        match self {
            Command::Status => "status\n".to_owned(),
            Command::Move(None) => "move\n".to_owned(),
            Command::Move(Some(rate)) => format!("move {{\"rate\":{rate}}}\n"),
            Command::Repair(node) => format!("repair {node}\n"),
            Command::Replace(node) => format!("replace {node}\n"),
            Command::Check { rate, restart } => {
                let rate = rate.map_or("null".to_owned(), |rate| rate.to_string());
                format!("check {{\"rate\":{rate},\"restart\":{restart}}}\n")
            }
            Command::Promote(false) => "promote\n".to_owned(),
            Command::Promote(true) => "promote force\n".to_owned(),
        }
    }
}

/// One line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(clippy::large_enum_variant)] // only one exists at a time
pub enum Answer {
    /// The status of the router.
    Status(Status),
    /// The progress of the work; more answers follow.
    Progress(Progress),
    /// The end of the work.
    End(Progress),
    /// The work stops after the files in hand, because the caller said so.
    Stopped,
    /// This router is the primary from now on.
    Promoted(String),
    /// The error that is sent in place of any other answer.
    Error(String),
}
