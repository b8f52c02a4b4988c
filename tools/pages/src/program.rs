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

use crate::page::{see_also, verbatim, MANUAL, NO_DATE, SOURCE};

/// Writes `stead.1` and `stead-VERB.1`, and the same pages for the other programs.
pub(crate) fn pages(directory: &Path) -> io::Result<()> {
    let formats = ["stead-fleet(5)", "stead-map(5)"];
    let others = ["stead-sync(1)", "stead-rrd(1)", "libstead(3)"];
    program(
        directory,
        stead_cli::command(),
        &[&others[..], &formats].concat(),
    )?;
    let others = ["stead(1)", "stead-rrd(1)", "stead-map(5)"];
    program(directory, stead_sync::line::command(), &others)?;
    let others = ["stead(1)", "stead-sync(1)", "stead-fleet(5)"];
    program(directory, stead_rrd::line::command(), &others)
}

fn program(directory: &Path, described: Command, others: &[&str]) -> io::Result<()> {
    let mut program = described
        .subcommand_help_heading("VERBS")
        .subcommand_value_name("VERB");
    // gives each verb its full name, `stead locate`
    program.build();
    let above = format!("{}(1)", program.get_name());
    for verb in program.get_subcommands() {
        page(directory, verb, &[&[above.as_str()], others].concat())?;
        // `stead fleet` has verbs of its own
        let verb_above = format!("{}-{}(1)", program.get_name(), verb.get_name());
        for part in verb.get_subcommands() {
            let all = [&[verb_above.as_str(), above.as_str()], others].concat();
            page(directory, part, &all)?;
        }
    }
    page(directory, &program, others)
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

fn page(directory: &Path, command: &Command, others: &[&str]) -> io::Result<()> {
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
    text.extend(below(&after, others).to_roff().into_bytes());
    fs::write(directory.join(format!("{title}.1")), text)
}

/// Turns the text below the options of a help text into sections.
fn below(text: &str, others: &[&str]) -> Roff {
    let mut roff = Roff::new();
    for paragraph in text.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        if let Some(codes) = first.strip_prefix("Exit codes:") {
            roff.control("SH", ["EXIT STATUS"]);
            // the codes are a table of lines, or one line with semicolons
            let entries = match rest.is_empty() {
                true => codes.split("; ").map(str::to_owned).collect(),
                false => entries(rest),
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
    if !text.contains("Exit codes:") {
        roff.control("SH", ["EXIT STATUS"]);
        let (name, section) = others[0].split_once('(').unwrap_or((others[0], "1)"));
        roff.text([
            roman("0 when all went well; "),
            bold(name),
            roman(format!("({section} lists the others.")),
        ]);
    }
    see_also(&mut roff, others.iter().copied());
    roff
}

/// Returns the entries of a table of exit codes. A line that does not begin with a code goes on
/// with the one before it.
fn entries(table: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in table.lines() {
        let is_new = line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        match entries
            .last_mut()
            .filter(|_| line.starts_with("      ") || !is_new)
        {
            Some(last) => *last += &format!(" {}", line.trim()),
            None => entries.push(line.trim().to_owned()),
        }
    }
    entries
}

/// The text with a capital at its start.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_of_a_page_is_a_number() {
        let mut pages = Vec::new();
        for mut program in [
            stead_cli::command(),
            stead_sync::line::command(),
            stead_rrd::line::command(),
        ] {
            program.build();
            let mut open = vec![program];
            while let Some(command) = open.pop() {
                open.extend(command.get_subcommands().cloned());
                pages.push(command);
            }
        }
        let (mut codes, mut joined) = (0, 0);
        for command in pages {
            let Some(after) = command.get_after_help() else {
                continue;
            };
            let page = below(&after.to_string(), &["stead(1)"]).to_roff();
            assert_eq!(page.matches("EXIT STATUS").count(), 1, "{page}");
            for entry in page.split(".TP\n").skip(1) {
                let (tag, meaning) = entry.split_once('\n').unwrap();
                let code = tag.trim_start_matches("\\fB").trim_end_matches("\\fR");
                assert!(
                    code.parse::<u8>().is_ok(),
                    "{}: {entry}",
                    command.get_name()
                );
                codes += 1;
                joined += usize::from(meaning.lines().next().unwrap().len() > 76);
            }
        }
        assert!(
            codes > 100 && joined > 10,
            "{codes} codes, {joined} long ones"
        );
    }
}
