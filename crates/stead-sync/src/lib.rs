//! `stead-sync` brings maps to every host, knows which host has which epoch, and carries data to
//! where a new map places it ([`carry`]).
//!
//! ```text
//! operator --push--> hub --pull, watch--> MAP and MAP.history of every host
//!                    hub <----report----- every host
//! ```
//!
//! A map travels whole and is verified where it arrives. The core installs it
//! ([`Store::install`](stead::Store::install)): only what descends from the present map takes its
//! place. So a hub can be wrong, old or gone, and the hosts keep the last good map.
//!
//! The project uses these words in one meaning each:
//!
//! | word | meaning |
//! |---|---|
//! | hub | where maps are pushed to and pulled from: keys of etcd, a shared directory, or files at a web server |
//! | head | what a hub says about its newest map |
//! | line | a map and its ancestors |
//! | host | a machine that reads the map; it is registered once it has reported, until it is forgotten |
//! | report | what a host says: which epoch it has, what it can read |
//! | confirmed | an epoch that a host has reported: it is in place, and the command of --exec has succeeded |
//! | instance | which machine it is that reports by a name |
//!
//! [`Hub`](hub::Hub) is what every kind of hub does, and [`Shared`](hub::Shared) what those do that
//! take maps and reports. [`lacking`](confirm::lacking) says which hosts have not confirmed an
//! epoch, and [`wait`](patience::wait) waits for them: whoever moves data needs these three.
//!
//! # Modules
//!
//! Bars separate groups of modules. A module uses only modules of the groups to the left of its
//! own; a test checks this (tools/layers).
//!
//! ```text
//! exit report paragraph token | alone place hub contact command metrics inotify | access instance confirm origin | here line turns | directory etcd web pull status | push open | watch | interrupted patience | carry | run
//! ```

#![forbid(unsafe_code)]

pub mod access;
pub mod alone;
pub mod carry;
pub mod command;
pub mod confirm;
pub mod contact;
pub mod directory;
pub mod etcd;
pub mod exit;
pub mod here;
pub mod hub;
pub mod inotify;
pub mod instance;
pub mod interrupted;
pub mod line;
pub mod metrics;
pub mod open;
pub mod origin;
pub mod paragraph;
pub mod patience;
pub mod place;
pub mod pull;
pub mod push;
pub mod report;
pub mod run;
pub mod status;
pub mod token;
pub mod turns;
pub mod watch;
pub mod web;

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use clap::Parser;
use stead::error::usage_line;

use exit::{Failure, INTERNAL, IO, USAGE};

/// Runs the program on the arguments of this process, and returns its exit code.
///
/// Sets the panic hook of the process, so that a panic prints one line.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|fault| {
        let text = fault.to_string().replace('\n', ": ");
        let line = format!("stead-sync: internal fault, please report it: {text}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }));
    let silent = || Failure {
        code: INTERNAL,
        line: String::new(),
    };
    let end = std::panic::catch_unwind(run_line).unwrap_or_else(|_| Err(silent()));
    end.map_or_else(Failure::end, |()| ExitCode::SUCCESS)
}

fn run_line() -> exit::Result {
    // A write beyond the file size limit raises SIGXFSZ, which kills the process. With a handler
    // the write returns an error instead.
    let ignored = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored)
        .map_err(|e| Failure::new(IO, format_args!("cannot set a signal handler: {e}")))?;
    match line::CommandLine::try_parse() {
        Ok(parsed) => run::run(parsed.task),
        Err(error) => {
            if error.use_stderr() {
                let line = usage_line(&error.render().to_string());
                let verb = std::env::args().nth(1);
                return Err(Failure::new(USAGE, told(verb.as_deref(), line)));
            }
            let _ = error.print();
            Ok(())
        }
    }
}

/// The options that say how to get into a hub.
const ACCESS: [&str; 5] = ["--ca", "--cert", "--key", "--user", "--password-file"];

/// Says where the epoch belongs that was given to `wait` as an argument.
fn told(verb: Option<&str>, line: String) -> String {
    let given = line
        .split_once("unexpected argument '")
        .and_then(|(_, rest)| rest.split_once('\''));
    match given {
        Some((epoch, _)) if verb == Some("wait") && epoch.parse::<u64>().is_ok() => {
            format!("to wait for epoch {epoch}, write --epoch {epoch}; see --help")
        }
        // the other verbs of a carry take these
        Some((option, _)) if verb == Some("carry") && ACCESS.contains(&option) => format!(
            "carry ahead looks at the nodes only and asks no hub, so leave {option} out; how it gets \
             into the nodes is in the file of the carry; see --help"
        ),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_on_the_command_line_says_what_to_write() {
        let said = |words: &[&str]| {
            let Err(error) = line::CommandLine::try_parse_from(words) else {
                panic!("{words:?} is taken")
            };
            told(
                words.get(1).copied(),
                usage_line(&error.render().to_string()),
            )
        };
        assert_eq!(
            said(&["stead-sync", "wait", "file:///m", "9"]),
            "to wait for epoch 9, write --epoch 9; see --help"
        );
        assert!(
            said(&["stead-sync", "carry", "ahead", "c.toml", "--ca", "ca.pem"]).starts_with(
                "carry ahead looks at the nodes only and asks no hub, so leave --ca out;"
            )
        );
        assert!(said(&["stead-sync", "wait", "file:///m", "x"]).contains("unexpected argument 'x'"));
        assert_eq!(
            said(&["stead-sync"]),
            "give a command, such as `stead-sync status URL`; `stead-sync --help` lists them"
        );
        assert_eq!(
            said(&["stead-sync", "carry"]),
            "give a command: run, status, reverse, ahead, audit, agent; see stead-sync carry --help"
        );
    }
}
