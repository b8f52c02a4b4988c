//! The command line. Help and version go to standard output; a mistake becomes an error of one
//! line.

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, Parser};

use crate::exit::{Failure, Result, HELP, USAGE};
use crate::output::Out;
use crate::verb::Verb;

/// Where does this key live? Place keys on nodes, and change the placement safely
///
/// A fleet file lists the nodes and their weights. stead makes a map from it, and programs in every
/// language read the same answer from the map: on which nodes a key lives. When the fleet changes,
/// stead makes the next epoch of the map. It moves as little as possible, and shows beforehand what
/// will move.
#[derive(Parser)]
#[command(
    name = "stead",
    version,
    after_help = format!("{START}\n\n{HELP}"),
    subcommand_required = true,
    arg_required_else_help = false,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

const START: &str = "\
Examples: a first map, a key, and then one more node in fleet.toml
  stead apply fleet.toml members.map
  stead locate members.map frank
  stead plan fleet.toml members.map    # after adding the node: what would move?
  stead apply fleet.toml members.map";

/// Returns the command line as clap describes it.
pub fn command() -> Command {
    Line::command()
}

/// Parses the arguments of this process. Returns `None` after it has printed the help or the
/// version.
pub fn parse(out: &mut Out) -> Result<Option<Verb>> {
    let error = match Line::try_parse() {
        Ok(line) => return Ok(Some(line.verb)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            let text = if out.colour() {
                text.ansi().to_string()
            } else {
                text.to_string()
            };
            out.bytes(text.as_bytes())?;
            Ok(None)
        }
        _ => Err(Failure::new(USAGE, one_line(&error.render().to_string()))),
    }
}

/// Joins clap's paragraphs into one line: `what is wrong; tip: ..; usage: ..`.
fn one_line(text: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        for part in paragraph.split("\n  tip:") {
            let words: Vec<&str> = part.split_whitespace().collect();
            let part = words.join(" ");
            if part.is_empty() || part.starts_with("For more information") {
                continue;
            }
            let part = part
                .strip_prefix("error: ")
                .map_or(part.clone(), str::to_owned);
            parts.push(part.replacen("Usage: ", "usage: ", 1));
        }
    }
    parts.push("see --help".to_owned());
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn a_mistake_is_one_line() {
        for bad in [
            &["stead"][..],
            &["stead", "plam"],
            &["stead", "apply", "f"],
            &["stead", "show", "m", "--jsn"],
        ] {
            let Err(error) = Line::try_parse_from(bad) else {
                panic!("{bad:?} is taken")
            };
            let line = one_line(&error.render().to_string());
            assert!(
                !line.contains('\n')
                    && line.ends_with("; see --help")
                    && !line.starts_with("error"),
                "{line}"
            );
        }
    }
}
