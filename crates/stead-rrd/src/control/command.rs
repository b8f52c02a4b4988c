//! What a router is asked on its control socket, and what it answers.

use serde::{Deserialize, Serialize};

use crate::status::{Progress, Status};

/// The socket's name in the state directory.
pub const NAME: &str = "control";

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// How are you?
    Status,
    /// Move files, at most so many bytes a second.
    Move(Option<u64>),
    /// Give a backend what it lacks.
    Repair(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveOptions {
    rate: Option<u64>,
}

impl Command {
    /// Reads a line; the error says what is wrong with it.
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
            _ => Err(format!(
                "{line:?} is no request: ask for status, move or repair"
            )),
        }
    }

    /// The line that asks for it, with its end.
    pub(super) fn line(&self) -> String {
        match self {
            Command::Status => "status\n".to_owned(),
            Command::Move(None) => "move\n".to_owned(),
            Command::Move(Some(rate)) => format!("move {{\"rate\":{rate}}}\n"),
            Command::Repair(node) => format!("repair {node}\n"),
        }
    }
}

/// A line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(clippy::large_enum_variant)] // one at a time
pub enum Answer {
    /// How it is.
    Status(Status),
    /// How far the work is; more comes.
    Progress(Progress),
    /// How the work ended.
    End(Progress),
    /// Why there is no other answer.
    Error(String),
}
