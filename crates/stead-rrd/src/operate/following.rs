//! Work that a router does while the caller watches: its progress, until its end or Ctrl-C.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::{print, print_json, unavailable, unexpected};
use super::verdict::verdict;
use crate::control::{Answer, Asked, Command};
use crate::exit::{Failure, INTERRUPTED, UNAVAILABLE};
use crate::page::{many, printable};
use crate::status::Progress;

/// How long a router may take to answer from memory.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The time between two lines of progress where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// Lets the router do this work, and shows the progress until its end. With `json`, prints only the
/// result. Returns the exit code.
pub(super) async fn work(directory: &Path, request: &Command, json: bool) -> Result<u8, Failure> {
    let mut asked = Asked::of(directory, request).await.map_err(unavailable)?;
    let interrupted = tokio::signal::ctrl_c();
    let mut shown = Shown::new();
    tokio::select! {
        ended = follow(&mut asked, &mut shown, json) => return ended,
        _ = interrupted => {}
    }
    let stopped = tokio::time::timeout(PATIENCE, asked.stop()).await;
    let why = match stopped {
        Ok(Ok(())) => {
            return Err(Failure(INTERRUPTED, shown.stopped()));
        }
        Ok(Err(why)) => printable(&why),
        Err(_) => "the router does not answer".to_owned(),
    };
    Err(Failure(UNAVAILABLE, format!("the work may go on: {why}")))
}

async fn follow(asked: &mut Asked, shown: &mut Shown, json: bool) -> Result<u8, Failure> {
    loop {
        match asked.next().await.map_err(unavailable)? {
            Answer::Progress(progress) => {
                if !json {
                    shown.now(&progress)?;
                }
                shown.last = Some(progress);
            }
            Answer::End(progress) => {
                shown.bar.finish_and_clear();
                let (text, code) = verdict(&progress);
                match json {
                    true => print_json(&progress)?,
                    false => print(&text)?,
                }
                return Ok(code);
            }
            other => return Err(unexpected(&other)),
        }
    }
}

/// Shows the progress: a bar on a terminal, or a line from time to time where there is none.
struct Shown {
    bar: ProgressBar,
    /// when the last line was printed
    line: Option<Instant>,
    last: Option<Progress>,
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
        Shown {
            bar,
            line: None,
            last: None,
        }
    }

    /// Says how far the work was when it was told to stop.
    fn stopped(&self) -> String {
        let done = self.last.as_ref().map_or(String::new(), |last| {
            format!(" after {} ({})", many(last.done, "file"), last.title())
        });
        format!(
            "stopped{done}; the router finishes the files in hand. Run the same command again to \
             continue"
        )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stopped_says_how_far_it_was() {
        let mut shown = Shown::new();
        assert!(shown.stopped().starts_with("stopped; the router finishes"));
        shown.last = Some(Progress {
            to_epoch: 8,
            files: 294,
            done: 294,
            ..Progress::default()
        });
        let line = shown.stopped();
        assert!(
            line.starts_with("stopped after 294 files (move to epoch 8); the router"),
            "{line}"
        );
    }
}
