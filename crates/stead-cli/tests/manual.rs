//! docs/cli.md is true: the tests run its sessions and compare the output with the page.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Place, STEAD};

/// Runs a shell command of the manual. Returns standard output and standard error together, as a
/// terminal shows them.
fn run(place: &Place, command: &str) -> String {
    let programs = Path::new(STEAD).parent().unwrap().display();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .env("PATH", path)
        .current_dir(place.path())
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
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
            for command in block.iter().filter(|line| line.starts_with("$ ")) {
                commands += 1;
                today += command;
                today += &run(&place, command[2..].trim_end());
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

#[test]
fn every_session_of_the_manual_is_what_the_program_says_today() {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md")).unwrap();
    let (today, commands) = as_of_today(&page);
    assert!(commands > 20, "the sessions are not found");
    if today != page {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli.md");
        fs::write(&place, &today).unwrap();
        let line = 1 + page
            .lines()
            .zip(today.lines())
            .take_while(|(old, new)| old == new)
            .count();
        panic!(
            "docs/cli.md:{line} is not what the program says today; read the page in {} and, if \
            it is right, copy it there",
            place.display()
        );
    }
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
        part("Commands:\n", "\nOptions:"),
        part("Exit codes:\n", "\u{0}"),
    );
    let first_words = |text: &str| {
        text.lines()
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (first_words(&verbs).len(), first_words(&codes).len()),
        (12, 11)
    );
    for verb in first_words(&verbs) {
        assert!(page.contains(&format!("| `stead {verb} ")), "{verb}");
    }
    for code in first_words(&codes) {
        assert!(page.contains(&format!("\n| {code} | ")), "{code}");
    }
}
