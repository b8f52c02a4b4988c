//! A bar on standard error while a long input is read or many steps are done; only on a terminal,
//! and gone when done.

use std::fs::File;
use std::io::{self, IsTerminal, Read};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// The file, with a bar by bytes when its size is known and a counter when not.
///
/// None where standard error is no terminal, where standard output is one too (answers would run
/// through the bar), or where the input is typed.
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

/// A bar for so many steps of work that answers only at its end; none where standard error is no
/// terminal.
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
