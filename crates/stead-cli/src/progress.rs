//! A progress bar on standard error while a long input is read or a simulation runs. It is shown
//! only on a terminal, and removed at the end.

use std::fs::File;
use std::io::{self, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// When the answers come, while a long input is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// With the input, so that they would overwrite a bar on the same terminal.
    Meanwhile,
    /// At the end, when the bar has gone.
    AtTheEnd,
}

/// Returns a reader of the file that shows progress: how much was read, and how much a second. If
/// it is known how many bytes are `left` to read, it also shows a bar and the time that is left.
///
/// It shows nothing if standard error is not a terminal, if the file is one, or if standard output
/// is one and the answers would overwrite the bar.
pub fn reading(
    file: File,
    left: Option<u64>,
    what: &'static str,
    answers: Answers,
) -> Box<dyn Read + Send> {
    let overwritten = answers == Answers::Meanwhile && io::stdout().is_terminal();
    if !io::stderr().is_terminal() || overwritten || file.is_terminal() {
        return Box::new(file);
    }
    let template = match left {
        Some(_) => "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
        None => "{msg} {bytes} {bytes_per_sec}",
    };
    let bar = left
        .map_or_else(ProgressBar::new_spinner, ProgressBar::new)
        .with_message(what)
        .with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    Box::new(bar.wrap_read(file))
}

/// Returns a bar for work of `steps` steps that prints nothing before its end. The bar is hidden if
/// standard error is not a terminal.
pub fn working(steps: usize, what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps as u64)
        .with_message(what)
        .with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    bar
}
