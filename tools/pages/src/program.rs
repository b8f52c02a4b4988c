//! The programs' pages: `stead.1`, `stead-sync.1`, `stead-rrd.1` and one page for each of their
//! verbs; and the completions.
//!
//! clap_mangen writes everything but the text below the options of a help text, whose lines it
//! would join. That text has paragraphs of two kinds, which differ in their first words: examples,
//! and the table of exit codes.

use std::path::Path;
use std::{fs, io};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::roff::{bold, roman, Roff};
use clap_mangen::Man;

use crate::page::{verbatim, MANUAL, NO_DATE, SOURCE};

/// Writes `stead.1` and `stead-VERB.1`, and the same pages for the other programs.
pub(crate) fn pages(directory: &Path) -> io::Result<()> {
    program(directory, stead_cli::command(), "libstead(3)")?;
    program(directory, stead_sync::line::command(), "stead(1)")?;
    program(directory, stead_rrd::line::command(), "stead(1)")
}

fn program(directory: &Path, described: Command, see_also: &str) -> io::Result<()> {
    let mut program = described
        .subcommand_help_heading("VERBS")
        .subcommand_value_name("VERB");
    // gives each verb its full name, `stead locate`
    program.build();
    for verb in program.get_subcommands() {
        page(directory, verb, &format!("{}(1)", program.get_name()))?;
        // `stead fleet` has verbs of its own
        for part in verb.get_subcommands() {
            page(
                directory,
                part,
                &format!("{}-{}(1)", program.get_name(), verb.get_name()),
            )?;
        }
    }
    page(directory, &program, see_also)
}

/// Writes a completion for each shell, under the name that the shell looks for.
pub(crate) fn completions(directory: &Path) -> io::Result<()> {
    for mut program in [
        stead_cli::command(),
        stead_sync::line::command(),
        stead_rrd::line::command(),
    ] {
        let name = program.get_name().to_owned();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            clap_complete::generate_to(shell, &mut program, &name, directory)?;
        }
        fs::rename(directory.join(format!("{name}.bash")), directory.join(name))?;
    }
    Ok(())
}

fn page(directory: &Path, command: &Command, see_also: &str) -> io::Result<()> {
    let after = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let title = command
        .get_display_name()
        .unwrap_or(command.get_name())
        .to_owned();
    // the usage line of --help; clap_mangen's own lists every option and drops their values
    let usage = command
        .clone()
        .render_usage()
        .to_string()
        .trim_start_matches("Usage: ")
        .to_owned();
    let command = command
        .clone()
        .override_usage(usage)
        .after_help(None::<&str>);
    let man = Man::new(command)
        .title(title.to_uppercase())
        .date(NO_DATE)
        .source(SOURCE)
        .manual(MANUAL);
    let mut text = Vec::new();
    man.render(&mut text)?;
    text.extend(below(&after, see_also).to_roff().into_bytes());
    fs::write(directory.join(format!("{title}.1")), text)
}

/// Turns the text below the options of a help text into sections.
fn below(text: &str, see_also: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in text.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        if let Some(codes) = first.strip_prefix("Exit codes:") {
            roff.control("SH", ["EXIT STATUS"]);
            // the codes are a table of lines, or one line with semicolons
            let entries: Vec<&str> = if rest.is_empty() {
                codes.split("; ").collect()
            } else {
                rest.lines().collect()
            };
            for (code, meaning) in entries
                .iter()
                .filter_map(|entry| entry.trim().split_once(' '))
            {
                roff.control("TP", []);
                roff.text([bold(code)]);
                roff.text([roman(meaning.trim())]);
            }
        } else if !first.is_empty() {
            roff.control("SH", ["EXAMPLES"]);
            let first = first
                .trim_start_matches("Examples:")
                .trim_start_matches("Example:")
                .trim();
            if !first.is_empty() {
                roff.text([roman(sentence(first))]);
                roff.control("PP", []);
            }
            verbatim(
                &mut roff,
                rest.lines()
                    .map(|line| line.strip_prefix("  ").unwrap_or(line)),
            );
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    let (name, section) = see_also.split_once('(').unwrap_or((see_also, ""));
    roff.text([bold(name), roman(format!("({section}"))]);
    roff
}

/// The text with a capital at its start.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
