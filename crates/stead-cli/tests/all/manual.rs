//! README.md and the pages of docs/ with sessions of the program are true: the tests run the
//! sessions and compare the output with the page.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Place, STEAD};

/// Runs a shell command of the manual. Returns standard output and standard error together, as a
/// terminal shows them.
fn run(place: &Place, command: &str) -> String {
    let programs = Path::new(STEAD).parent().unwrap().display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .env("PATH", path)
        // who and when, as the log of a history says
        .envs([("SUDO_USER", ""), ("LOGNAME", "anna"), ("HOSTNAME", "ops1")])
        .env("SOURCE_DATE_EPOCH", "1795381740") // 2026-11-22 21:09 UTC
        .current_dir(place.path())
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

/// The commands of a session. A command starts with `$ `, and goes on in the lines after it that
/// start with `>`.
fn commands_of<'a>(session: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut commands: Vec<Vec<&str>> = Vec::new();
    let mut in_command = false;
    for line in session {
        if line.starts_with("$ ") {
            commands.push(vec![line]);
            in_command = true;
        } else if in_command && line.starts_with('>') {
            commands.last_mut().unwrap().push(line);
        } else {
            in_command = false;
        }
    }
    commands
}

/// Returns the page with every output as it is today, and the number of its commands. A block of
/// TOML or JSON whose first line is `# NAME` is written to the file NAME.
fn as_of_today(page: &str) -> (String, usize) {
    let place = Place::new();
    let (mut today, mut commands, mut lines) = (String::new(), 0, page.split_inclusive('\n'));
    while let Some(line) = lines.next() {
        today += line;
        if !line.starts_with("```") || line.trim_end() == "```" {
            continue;
        }
        let block: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim_end() != "```")
            .collect();
        if line.trim_end() == "```console" {
            for command in commands_of(&block) {
                commands += 1;
                today += &command.concat();
                // the shell gets the lines without their prompts
                let words = command.iter().map(|line| line.get(2..).unwrap_or("\n"));
                today += &run(&place, words.collect::<String>().trim_end());
            }
        } else {
            if let Some(name) = block.first().and_then(|first| first.strip_prefix("# ")) {
                place.write(name.trim_end(), block.concat());
            }
            today += &block.concat();
        }
        today += "```\n";
    }
    (today, commands)
}

/// Asserts that a page has at least `least` commands, and that they print today what the page says.
fn assert_true(page: &str, least: usize) {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page);
    let said = fs::read_to_string(file).unwrap();
    let (today, commands) = as_of_today(&said);
    assert!(
        commands >= least,
        "{page}: {commands} commands were found, and there are at least {least}"
    );
    if today != said {
        let place =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(Path::new(page).file_name().unwrap());
        fs::write(&place, &today).unwrap();
        let line = 1 + said
            .lines()
            .zip(today.lines())
            .take_while(|(old, new)| old == new)
            .count();
        panic!(
            "{page}:{line} is not what the program says today; read the page in {} and, if it is \
             right, copy it there",
            place.display()
        );
    }
}

#[test]
fn every_session_of_the_manual_is_what_the_program_says_today() {
    assert_true("docs/cli.md", 50);
}

#[test]
fn every_session_of_the_tour_is_what_the_program_says_today() {
    assert_true("docs/tour.md", 20);
}

#[test]
fn every_session_of_the_day_to_day_page_is_what_the_program_says_today() {
    assert_true("docs/operations.md", 25);
}

#[test]
fn every_session_of_the_page_on_wrong_places_is_what_the_program_says_today() {
    assert_true("docs/wrong-places.md", 4);
}

#[test]
fn every_session_of_the_page_on_security_is_what_the_program_says_today() {
    assert_true("docs/security.md", 9);
}

#[test]
fn every_session_of_the_page_of_messages_is_what_the_program_says_today() {
    assert_true("docs/messages.md", 30);
}

#[test]
fn every_session_of_the_quick_start_is_what_the_program_says_today() {
    assert_true("docs/quick-start.md", 2);
}

#[test]
fn every_session_of_the_concepts_is_what_the_program_says_today() {
    assert_true("docs/concepts.md", 8);
}

#[test]
fn every_session_of_the_questions_is_what_the_program_says_today() {
    assert_true("docs/faq.md", 8);
}

#[test]
fn every_session_of_the_readme_is_what_the_program_says_today() {
    assert_true("README.md", 3);
}

#[test]
fn the_judge_sees_a_manual_that_lies() {
    let page = "```toml\n# f.toml\nname = \"m\"\n[[node]]\nname = \"a\"\n```\n```console\n$ stead \
        apply f.toml m.map | head -n 1\nm: lies\n```\n";
    let (today, commands) = as_of_today(page);
    assert_eq!(
        (today, commands),
        (
            page.replace("m: lies", "m: first map, epoch 1, 1 node, 1 slice"),
            1
        )
    );
}

#[test]
fn the_manual_has_every_verb_and_every_exit_code() {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md")).unwrap();
    let help = Place::new().good(&["--help"]);
    let part = |from: &str, to: &str| {
        help.split(from)
            .nth(1)
            .unwrap()
            .split(to)
            .next()
            .unwrap()
            .to_owned()
    };
    let (verbs, codes) = (
        part("Make and change:\n", "\nOptions:"),
        part("Exit codes:\n", "\u{0}"),
    );
    let first_words = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("  ")) // not a heading
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (first_words(&verbs).len(), first_words(&codes).len()),
        (20, 13)
    );
    for verb in first_words(&verbs) {
        assert!(page.contains(&format!("| `stead {verb} ")), "{verb}");
    }
    for code in first_words(&codes) {
        assert!(page.contains(&format!("\n| {code} | ")), "{code}");
    }
}
