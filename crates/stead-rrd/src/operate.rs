//! The verbs that talk to a running router: `status`, `move`, `repair`, `check`,
//! `promote`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::control::{Answer, Asked, Command};
use crate::exit::{
    Failure, INTERNAL, INTERRUPTED, IO, NOT_WELL, PIPE, REFUSED, UNAVAILABLE, USAGE, WELL,
};
use crate::page::printable;
use crate::status::{Findings, Progress};

/// How long a router may take to report its status, which it does from memory.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two lines of progress where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// The options of `stead-rrd status`.
#[derive(Args)]
pub struct Ask {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Print everything as one line of JSON
    #[arg(long)]
    json: bool,
}

/// The options of `stead-rrd move`.
#[derive(Args)]
pub struct Move {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The most to copy in a second, in MiB; without it, as fast as the disks are
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    rate: Option<u64>,
}

/// The options of `stead-rrd repair`.
#[derive(Args)]
pub struct Repair {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The name of the backend in the map
    #[arg(value_name = "NODE")]
    node: String,
    /// Replace all of its files by those of other backends, without comparing them
    #[arg(long)]
    replace: bool,
}

/// The options of `stead-rrd check`.
#[derive(Args)]
pub struct Check {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The most to read in a second, in MiB, of all copies together; without it, as fast as the
    /// disks are
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    rate: Option<u64>,
    /// Begin again, even if a check was stopped before its end
    #[arg(long)]
    restart: bool,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

/// The options of `stead-rrd promote`.
#[derive(Args)]
pub struct Promote {
    /// The --state directory of the standby
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Promote it even if acknowledged updates may be lost, or there may be two primaries
    #[arg(long)]
    force: bool,
}

/// Prints the status of the router. The exit code says whether all is well.
pub async fn status(ask: &Ask) -> Result<u8, Failure> {
    let asked = async {
        let mut asked = Asked::of(&ask.directory, &Command::Status).await?;
        asked.next().await
    };
    let silent = |_| {
        format!(
            "{}: the router has not answered for {} s; it hangs, or the machine does",
            ask.directory.display(),
            PATIENCE.as_secs()
        )
    };
    let answer = tokio::time::timeout(PATIENCE, asked)
        .await
        .map_err(silent)
        .and_then(|answer| answer)
        .map_err(unavailable)?;
    match answer {
        Answer::Status(status) => {
            let well = if status.problems().is_empty() {
                WELL
            } else {
                NOT_WELL
            };
            let json = || serde_json::to_string(&status).map(|line| line + "\n");
            print(&if ask.json {
                json().map_err(|error| Failure(INTERNAL, error.to_string()))?
            } else {
                status.page()
            })?;
            Ok(well)
        }
        other => Err(unexpected(&other)),
    }
}

/// Lets the router move files, and shows the progress.
pub async fn move_files(told: &Move) -> Result<u8, Failure> {
    // at most 2^40 bytes a second: no overflow
    work(
        &told.directory,
        &Command::Move(told.rate.map(|mib| mib << 20)),
        false,
    )
    .await
}

/// Lets the router copy to a backend every file that it should have, and shows the progress.
pub async fn repair(told: &Repair) -> Result<u8, Failure> {
    if told.node.is_empty() || told.node.contains(char::is_control) {
        return Err(Failure(
            USAGE,
            format!("{:?} is not the name of a backend", told.node),
        ));
    }
    let node = told.node.clone();
    let request = match told.replace {
        true => Command::Replace(node),
        false => Command::Repair(node),
    };
    work(&told.directory, &request, false).await
}

/// Lets the router compare all copies, and shows what it finds. The exit code says whether all are
/// equal.
pub async fn check(told: &Check) -> Result<u8, Failure> {
    let request = Command::Check {
        rate: told.rate.map(|mib| mib << 20),
        restart: told.restart,
    };
    work(&told.directory, &request, told.json).await
}

/// Makes a standby the primary.
pub async fn promote(told: &Promote) -> Result<u8, Failure> {
    let request = Command::Promote(told.force);
    let mut asked = Asked::of(&told.directory, &request)
        .await
        .map_err(unavailable)?;
    match asked.next().await.map_err(unavailable)? {
        Answer::Promoted(text) => print(&format!("{}\n", printable(&text))).map(|()| WELL),
        other => Err(unexpected(&other)),
    }
}

async fn work(directory: &Path, request: &Command, json: bool) -> Result<u8, Failure> {
    let mut asked = Asked::of(directory, request).await.map_err(unavailable)?;
    let interrupted = tokio::signal::ctrl_c();
    tokio::select! {
        ended = follow(&mut asked, json) => return ended,
        _ = interrupted => {}
    }
    let stopped = tokio::time::timeout(PATIENCE, asked.stop()).await;
    let why = match stopped {
        Ok(Ok(())) => {
            let done = "stopped; the router finishes the files in hand. Run the same command \
                again to continue";
            return Err(Failure(INTERRUPTED, done.to_owned()));
        }
        Ok(Err(why)) => printable(&why),
        Err(_) => "the router does not answer".to_owned(),
    };
    Err(Failure(UNAVAILABLE, format!("the work may go on: {why}")))
}

async fn follow(asked: &mut Asked, json: bool) -> Result<u8, Failure> {
    let mut shown = Shown::new();
    loop {
        match asked.next().await.map_err(unavailable)? {
            Answer::Progress(_) if json => {}
            Answer::Progress(progress) => shown.now(&progress)?,
            Answer::End(progress) => {
                shown.bar.finish_and_clear();
                return match &progress.check {
                    Some(check) => checked(&progress, check, json),
                    None => ended(&progress),
                };
            }
            other => return Err(unexpected(&other)),
        }
    }
}

/// Prints the result and returns the exit code.
fn ended(progress: &Progress) -> Result<u8, Failure> {
    if progress.repair.is_none() && progress.from_epoch == progress.to_epoch {
        let epoch = progress.to_epoch;
        print(&format!(
            "no file has to move: all are where epoch {epoch} places them\n"
        ))?;
        return Ok(WELL);
    }
    let mut text = String::new();
    for reason in &progress.reasons {
        text += &format!("failed: {}\n", printable(reason));
    }
    let more = progress
        .failed
        .saturating_sub(progress.reasons.len() as u64);
    if more > 0 {
        text += &format!("failed: {more} more\n");
    }
    let (verdict, code) = match progress {
        _ if progress.repair.is_none()
            && !progress.stopped
            && (progress.failed > 0 || !progress.reasons.is_empty()) =>
        {
            (
                "not done; the router tries again by itself until it is, or until you run this \
                again and stop it with Ctrl-C",
                NOT_WELL,
            )
        }
        _ if progress.failed > 0 => (
            "ended with failures; run the same command again to retry these files",
            NOT_WELL,
        ),
        _ if progress.done < progress.files || !progress.reasons.is_empty() => (
            "stopped before the end; run the same command again to continue",
            NOT_WELL,
        ),
        _ => ("done", WELL),
    };
    print(&format!(
        "{text}{}: {}: {verdict}\n",
        progress.title(),
        progress.figures()
    ))?;
    Ok(code)
}

/// Prints what a check has found and returns the exit code.
fn checked(progress: &Progress, check: &Findings, json: bool) -> Result<u8, Failure> {
    let good = check.whole && check.differing == 0 && progress.failed == 0;
    let code = if good { WELL } else { NOT_WELL };
    if json {
        let line = serde_json::to_string(progress);
        let line = line.map_err(|error| Failure(INTERNAL, error.to_string()))?;
        print(&(line + "\n"))?;
        return Ok(code);
    }
    let mut text = String::new();
    for line in &check.lines {
        text += &format!("found: {}\n", printable(line));
    }
    let found = check.differing + check.strays;
    if found > check.lines.len() as u64 && !check.lines.is_empty() {
        text += "found: more; the router's messages name all\n";
    }
    for reason in &progress.reasons {
        text += &format!("not compared: {}\n", printable(reason));
    }
    let verdict = match check {
        Findings { whole: false, .. } => {
            "stopped before the end; run the same command again to continue"
        }
        Findings { differing: 1.., .. } => {
            "what differs is in the repair queue; stead-rrd status shows what is left of it"
        }
        _ if progress.failed > 0 => "no difference was found, but not all files were compared",
        _ => "all copies are equal",
    };
    print(&format!(
        "{text}{}: {}: {verdict}\n",
        progress.title(),
        progress.figures()
    ))?;
    Ok(code)
}

/// Shows the progress: a bar on a terminal, or a line from time to time where there is none.
struct Shown {
    bar: ProgressBar,
    /// when the last line was printed
    line: Option<Instant>,
}

impl Shown {
    fn new() -> Shown {
        let bar = ProgressBar::with_draw_target(
            Some(0),
            if io::stderr().is_terminal() {
                ProgressDrawTarget::stderr()
            } else {
                ProgressDrawTarget::hidden()
            },
        );
        if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {msg} {eta}") {
            bar.set_style(style);
        }
        Shown { bar, line: None }
    }

    fn now(&mut self, progress: &Progress) -> Result<(), Failure> {
        self.bar.set_prefix(progress.title());
        self.bar.set_message(progress.figures());
        self.bar.set_length(progress.files);
        self.bar.set_position(progress.done + progress.failed);
        if !io::stderr().is_terminal() && self.line.is_none_or(|line| line.elapsed() >= EVERY) {
            self.line = Some(Instant::now());
            print(&format!("{}: {}\n", progress.title(), progress.figures()))?;
        }
        Ok(())
    }
}

fn unavailable(line: String) -> Failure {
    Failure(UNAVAILABLE, line)
}

fn unexpected(answer: &Answer) -> Failure {
    match answer {
        Answer::Error(line) => Failure(REFUSED, printable(line)),
        _ => Failure(
            INTERNAL,
            "the router gave an unexpected answer; use the stead-rrd that it was started with"
                .to_owned(),
        ),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure(PIPE, String::new()),
            _ => Failure(IO, format!("cannot write to standard output: {error}")),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_move_is_success_only_when_all_files_are_there() {
        let progress = |done, failed| Progress {
            to_epoch: 1,
            files: 3,
            done,
            failed,
            ended: true,
            reasons: vec!["a.rrd: gone".to_owned(); (failed > 0).into()],
            ..Progress::default()
        };
        assert_eq!(ended(&progress(3, 0)), Ok(WELL));
        assert_eq!(ended(&Progress::default()), Ok(WELL));
        assert_eq!(ended(&progress(1, 2)), Ok(NOT_WELL));
        assert_eq!(ended(&progress(2, 0)), Ok(NOT_WELL));
        let stopped = Progress {
            stopped: true,
            reasons: vec!["stopped".to_owned()],
            ..progress(2, 0)
        };
        assert_eq!(ended(&stopped), Ok(NOT_WELL));
        assert_eq!(
            ended(&Progress {
                reasons: vec!["none of a1 is up".to_owned()],
                ..progress(3, 0)
            }),
            Ok(NOT_WELL)
        );
    }

    #[test]
    fn a_check_is_a_success_only_when_all_files_are_equal() {
        let said = |whole, differing, failed, json| {
            let check = Findings {
                whole,
                differing,
                lines: vec!["a.rrd: b1 lacks 1 value".to_owned(); differing as usize],
                ..Findings::default()
            };
            let progress = Progress {
                files: 3,
                done: 3 - failed,
                failed,
                ended: true,
                check: Some(check.clone()),
                ..Progress::default()
            };
            checked(&progress, &check, json)
        };
        for json in [false, true] {
            assert_eq!(said(true, 0, 0, json), Ok(WELL));
            assert_eq!(said(true, 1, 0, json), Ok(NOT_WELL));
            assert_eq!(said(true, 0, 1, json), Ok(NOT_WELL));
            assert_eq!(said(false, 0, 0, json), Ok(NOT_WELL));
        }
    }

    #[tokio::test]
    async fn without_a_router_the_words_say_so() {
        let directory = tempfile::tempdir().unwrap();
        let ask = Ask {
            directory: directory.path().to_owned(),
            json: false,
        };
        let Failure(code, line) = status(&ask).await.unwrap_err();
        assert!(
            code == UNAVAILABLE && line.contains("no router runs on this directory"),
            "{line}"
        );
        let told = Repair {
            directory: directory.path().to_owned(),
            node: "a\nstatus".to_owned(),
            replace: false,
        };
        assert_eq!(repair(&told).await.unwrap_err().0, 64);
    }
}
