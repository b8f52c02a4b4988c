//! A progress bar on standard error while a long input is read or a simulation runs. It is shown
//! only on a terminal, and removed at the end.

use std::fs::File;
use std::io::{self, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// Returns a reader of the file that shows progress: a bar if the size is known, else a counter.
///
/// It shows nothing if standard error is not a terminal, if standard output is one (the answers
/// would overwrite the bar), or if the file is a terminal.
pub fn reading(file: File, what: &'static str) -> Box<dyn Read> {
    if !io::stderr().is_terminal() || io::stdout().is_terminal() || file.is_terminal() {
        return Box::new(file);
    }
    let size = file
        .metadata()
        .ok()
        .filter(|meta| meta.is_file())
        .map(|meta| meta.len());
    let template = match size {
        Some(_) => "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        None => "{msg} {bytes} {bytes_per_sec}",
    };
    let bar = size
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
