//! Ctrl-C while a carry runs. The carry may be ended at any moment and goes on later, but whoever
//! pressed the keys does not know that yet.

use std::path::Path;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, signal_name};

use crate::exit::{Failure, Result};
use crate::watch::say;

/// From now on, SIGINT and SIGTERM say how to go on with the carry of a file before they end the
/// program.
pub fn say_how_to_go_on(file: &Path) -> Result {
    let mut signals =
        Signals::new([SIGINT, SIGTERM]).map_err(|error| Failure::io("a signal handler", &error))?;
    let file = file.display().to_string();
    let told = move || {
        for signal in signals.forever() {
            let name = signal_name(signal).unwrap_or("a signal");
            say(&format!(
                "stopped by {name}; nothing is lost: `stead-sync carry run {file}` goes on where \
                 it was"
            ));
            // ends the program as the signal does without a handler
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(told)
        .map_err(|error| Failure::io("a thread for signals", &error))?;
    Ok(())
}
