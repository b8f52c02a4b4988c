//! The command line. Help and version go to standard output; a mistake becomes an error of one
//! line.

use std::ffi::OsString;

use clap::builder::Styles;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches, Parser};
use stead::error::usage_line;

use crate::exit::{Failure, Result, HELP, USAGE};
use crate::output::Out;
use crate::suggest::nearest;
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
    max_term_width = 80
)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

const START: &str = "\
Examples: a first map, a key, one more node, and what a failure would cost
  stead init -o fleet.toml
  stead apply fleet.toml members.map
  stead locate members.map frank
  stead fleet add-node fleet.toml db4
  stead plan fleet.toml members.map    # what would move?
  stead apply fleet.toml members.map
  stead what-if members.map --down db4";

/// The verbs by what one wants to do, in the order of use. A test makes sure that every verb is in
/// one group.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Make and change",
        &["init", "fleet", "plan", "apply", "carry", "ring"],
    ),
    ("Ask", &["locate", "path"]),
    (
        "Look and judge",
        &["show", "who", "what-if", "load", "diff", "check"],
    ),
    ("Simulate and compare", &["simulate", "survey"]),
    ("Draw", &["plot", "report"]),
    ("Go back", &["history", "rollback"]),
];

/// Returns the command line as clap describes it.
pub fn command() -> Command {
    let command = Line::command();
    let groups = groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {header}Options:{header:#}\n{{options}}{{after-help}}",
        header = Styles::styled().get_header()
    ))
}

/// Returns the verbs under the headings of their groups, each with the first line of its help.
fn groups(command: &Command) -> String {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let names = command.get_subcommands().map(Command::get_name);
    let width = names.map(str::len).max().unwrap_or(0);
    let mut text = String::new();
    for (group, verbs) in GROUPS {
        text += &format!("{header}{group}:{header:#}\n");
        for verb in verbs
            .iter()
            .filter_map(|verb| command.find_subcommand(verb))
        {
            let name = verb.get_name();
            let space = " ".repeat(width - name.len());
            let about = verb.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            text += &format!("  {literal}{name}{literal:#}{space}  {about}\n");
        }
        text.push('\n');
    }
    text
}

/// Returns the arguments of this process, with `help VERB ...` as `VERB ... --help`.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|word| word == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    arguments
}

/// Parses the arguments of this process. Returns `None` after it has printed the help or the
/// version.
pub fn parse(out: &mut Out) -> Result<Option<Verb>> {
    let line = command()
        .try_get_matches_from(arguments())
        .and_then(|matches| Line::from_arg_matches(&matches));
    let error = match line {
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
        _ => Err(Failure::new(
            USAGE,
            told(&arguments(), usage_line(&error.render().to_string())),
        )),
    }
}

/// What one may have meant by a word that is no command.
const MEANT: [(&str, &str); 9] = [
    ("lookup", "stead locate MAP KEY"),
    ("get", "stead locate MAP KEY"),
    ("find", "stead locate MAP KEY"),
    ("where", "stead locate MAP KEY"),
    ("add-node", "stead fleet add-node FLEET NODE"),
    ("remove-node", "stead fleet remove-node FLEET NODE"),
    ("drain", "stead fleet drain FLEET NODE"),
    ("undo", "stead rollback MAP EPOCH"),
    ("version", "stead --version"),
];

/// Says what to write instead of a word that is no command.
fn meant(arguments: &[OsString], line: &str) -> Option<String> {
    let (_, rest) = line.split_once("unrecognized subcommand '")?;
    let (word, _) = rest.split_once('\'')?;
    if arguments.get(1).is_some_and(|verb| verb == "plot") && !line.contains("tip:") {
        return Some(format!(
            "{word}: give a kind of picture first, such as `stead plot bands MAP -o FILE`; see \
             stead plot --help"
        ));
    }
    let (_, usage) = MEANT.iter().find(|(known, _)| *known == word)?;
    Some(format!(
        "there is no command {word}; did you mean `{usage}`? see --help"
    ))
}

/// Returns the error about an option that the verb does not have and other verbs have: it names
/// them.
fn elsewhere(arguments: &[OsString], name: &str) -> Option<String> {
    let command = Line::command();
    let verb = command.find_subcommand(arguments.get(1)?)?.get_name();
    let has = |verb: &&Command| verb.get_arguments().any(|a| a.get_long() == Some(name));
    let verbs = command.get_subcommands().filter(has);
    let verbs: Vec<String> = verbs.map(|v| format!("`stead {}`", v.get_name())).collect();
    let (last, others) = verbs.split_last()?;
    let verbs = match others {
        [] => last.clone(),
        others => format!("{} and {last}", others.join(", ")),
    };
    Some(format!(
        "--{name} is no option of `stead {verb}`, but of {verbs}; see --help"
    ))
}

/// Says what to write for a word that is no command, and for what was given to a verb of `fleet` as
/// an option, although it is a word of its own there, or needs `--label` or `--attribute`.
fn told(arguments: &[OsString], line: String) -> String {
    if let Some(told) = meant(arguments, &line) {
        return told;
    }
    let verb = match arguments.get(1..3) {
        Some([first, verb]) if first == "fleet" => verb.to_str(),
        _ => None,
    };
    let given = line
        .split_once("unexpected argument '--")
        .and_then(|(_, rest)| rest.split_once('\''));
    let Some((name, _)) = given else {
        return line;
    };
    let Some(verb) = verb else {
        return elsewhere(arguments, name).unwrap_or(line);
    };
    let words = match (verb, name) {
        ("add-node", _) => {
            let command = command();
            let fleet = command.find_subcommand("fleet");
            let verb = fleet.and_then(|fleet| fleet.find_subcommand("add-node"));
            let options = verb.into_iter().flat_map(|verb| verb.get_opts());
            let options: Vec<&str> = options.filter_map(|option| option.get_long()).collect();
            if let Some(option) = nearest(name, &options) {
                return format!("there is no option --{name}; did you mean --{option}? see --help");
            }
            return format!(
                "there is no option --{name}; for a label write --label {name}=VALUE, for an \
                 attribute --attribute {name}=VALUE; see --help"
            );
        }
        ("set-label", "label") => "LABEL=VALUE".to_owned(),
        ("set-attribute", "attribute") => "NAME=VALUE".to_owned(),
        ("set-label" | "set-attribute", name) => format!("{name}=VALUE"),
        ("set-weight", "weight") => "WEIGHT".to_owned(),
        _ => return line,
    };
    format!("{verb} takes no --{name}: write `stead fleet {verb} FLEET NODE {words}`; see --help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_is_in_one_group_and_its_line_fits_on_a_terminal() {
        let command = command();
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            let groups = GROUPS.iter().filter(|(_, verbs)| verbs.contains(&name));
            assert_eq!(groups.count(), 1, "{name}");
        }
    }

    /// The help of a command and of all commands below it.
    fn helps(command: &mut Command, all: &mut Vec<String>) {
        for long in [true, false] {
            let help = match long {
                true => command.render_long_help(),
                false => command.render_help(),
            };
            all.push(help.to_string());
        }
        // clap would break a longer line, and go on at the left
        all.extend(command.get_after_help().map(ToString::to_string));
        all.extend(command.get_after_long_help().map(ToString::to_string));
        command
            .get_subcommands_mut()
            .for_each(|command| helps(command, all));
    }

    /// Returns what is said of a wrong command line.
    fn said(words: &[&str]) -> String {
        let Err(error) = Line::try_parse_from(words) else {
            panic!("{words:?} is taken")
        };
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        told(&arguments, usage_line(&error.render().to_string()))
    }

    #[test]
    fn no_help_is_wider_than_80_columns() {
        let mut command = command();
        command.build();
        let mut all = Vec::new();
        helps(&mut command, &mut all);
        assert!(all.len() > 60, "{}", all.len());
        let wide: Vec<&str> = all
            .iter()
            .flat_map(|help| help.lines())
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn a_word_that_is_no_command_is_answered_with_what_was_meant() {
        for (words, wanted) in [
            (
                &["stead", "lookup", "m", "k"][..],
                "`stead locate MAP KEY`?",
            ),
            (&["stead", "get"], "`stead locate MAP KEY`?"),
            (&["stead", "version"], "did you mean `stead --version`?"),
            (&["stead", "plam"], "similar subcommand exists: 'plan'"),
            (
                &["stead", "plot", "m.map"],
                "m.map: give a kind of picture first",
            ),
            (
                &["stead", "fleet"],
                "give a command: add-node, remove-node, set-weight, drain, set-label, \
                 set-attribute; see stead fleet --help",
            ),
            (&["stead", "plot"], "; see stead plot --help"),
        ] {
            let line = said(words);
            assert!(line.contains(wanted) && line.len() < 200, "{line}");
        }
        assert_eq!(
            said(&["stead"]),
            "give a command, such as `stead locate MAP KEY`; `stead --help` lists them"
        );
        // every command that is recommended is one
        for (_, usage) in MEANT {
            let verb = usage.split(' ').nth(1).unwrap();
            assert!(verb == "--version" || command().find_subcommand(verb).is_some());
        }
    }

    #[test]
    fn a_label_that_was_given_as_an_option_is_told() {
        let line = said(&["stead", "fleet", "add-node", "f", "db4", "--zone", "a"]);
        assert!(line.contains("write --label zone=VALUE"), "{line}");
        for (wrong, right) in [
            ("--labl", "label"),
            ("--wieght", "weight"),
            ("--attributes", "attribute"),
        ] {
            let line = said(&["stead", "fleet", "add-node", "f", "db4", wrong, "a=b"]);
            let told = format!("there is no option {wrong}; did you mean --{right}? see --help");
            assert_eq!(line, told);
        }
        let line = said(&["stead", "fleet", "add-node", "f", "db4", "--weight", "x"]);
        assert!(!line.contains("--label"), "{line}");
        let line = said(&["stead", "show", "m", "--zone"]);
        assert!(!line.contains("--label"), "{line}");
    }

    #[test]
    fn an_option_in_the_place_of_a_word_is_told() {
        for (words, wanted) in [
            (
                &["set-attribute", "f", "db4", "--attribute", "address=h"][..],
                "set-attribute takes no --attribute: write `stead fleet set-attribute FLEET NODE \
                 NAME=VALUE`; see --help",
            ),
            (
                &["set-label", "f", "db4", "--label", "zone=a"],
                "set-label takes no --label: write `stead fleet set-label FLEET NODE \
                 LABEL=VALUE`; see --help",
            ),
            (
                &["set-label", "f", "db4", "--zone=a"],
                "set-label takes no --zone: write `stead fleet set-label FLEET NODE zone=VALUE`; \
                 see --help",
            ),
            (
                &["set-attribute", "f", "db4", "--address", "h"],
                "set-attribute takes no --address: write `stead fleet set-attribute FLEET NODE \
                 address=VALUE`; see --help",
            ),
            (
                &["set-weight", "f", "db4", "--weight", "2"],
                "set-weight takes no --weight: write `stead fleet set-weight FLEET NODE WEIGHT`; \
                 see --help",
            ),
        ] {
            assert_eq!(said(&[&["stead", "fleet"], words].concat()), wanted);
        }
        let line = said(&["stead", "fleet", "add-node", "f", "db4", "zone=a"]);
        assert!(
            line.contains("for a label write --label zone=a, for an attribute --attribute zone=a"),
            "{line}"
        );
        // a key that begins with a dash is still told how to be one
        let line = said(&["stead", "locate", "m", "--frank"]);
        assert!(line.contains("use '-- --frank'"), "{line}");
    }

    #[test]
    fn a_mistake_is_one_line() {
        for bad in [
            &["stead", "plam"][..],
            &["stead", "apply", "f"],
            &["stead", "show", "m", "--jsn"],
        ] {
            let Err(error) = Line::try_parse_from(bad) else {
                panic!("{bad:?} is taken")
            };
            let line = usage_line(&error.render().to_string());
            assert!(
                !line.contains('\n')
                    && line.ends_with("; see --help")
                    && !line.starts_with("error"),
                "{line}"
            );
        }
    }
}
