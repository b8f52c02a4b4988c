//! What the program does when Ctrl-C, SIGTERM or SIGHUP ends it: a carry says how to go on, since
//! whoever pressed the keys does not know that yet, and a watch says at the hub that it ends.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, signal_name};

use crate::access::Access;
use crate::exit::say;
use crate::exit::{Failure, Result};
use crate::instance;
use crate::open::open;
use crate::watch::{seconds, Options};

/// How long a watch that ends waits for a hub that does not answer.
const GOODBYE: Duration = Duration::from_secs(2);

/// From now on, SIGINT, SIGTERM and SIGHUP say how to go on with the carry of a file before they
/// end the program.
pub fn say_how_to_go_on(file: &Path) -> Result {
    let file = file.display().to_string();
    before_the_end(move |name| {
        say(&format!(
            "stopped by {name}; nothing is lost: `stead-sync carry run {file}` goes on where it was"
        ));
    })
}

/// From now on, SIGINT, SIGTERM and SIGHUP tell the hub that the watch of these options ends,
/// before they end the program. Without this, the host would count as alive until its lease or its
/// report is too old, as it does when the watch is killed.
pub fn say_goodbye(options: &Options, access: &Access) -> Result {
    let (url, access) = (options.url.clone(), access.clone());
    let (host, mark) = (options.host.clone(), instance::mark(&options.map));
    before_the_end(move |_| {
        let (url, access) = (url.clone(), access.clone());
        let (host, mark) = (host.clone(), mark.clone());
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            // a hub that is away finds out by itself
            let _ = leave(&url, &access, &host, &mark);
            let _ = done.send(());
        });
        let _ = is_done.recv_timeout(GOODBYE);
    })
}

/// Tells a hub that the watch of this host and mark ends.
fn leave(url: &str, access: &Access, host: &str, mark: &str) -> Result {
    let hub = open(url, access, GOODBYE)?;
    let Some(shared) = hub.shared() else {
        return Ok(());
    };
    let reports = shared.hosts()?.into_iter().map(|host| host.report);
    let mut ours = reports.filter(|report| report.host == host && report.instance == mark);
    ours.next()
        .map_or(Ok(()), |report| shared.leave(&report.at(seconds())))
}

/// Returns which signals this process ignores: a bit for each, the lowest one for signal 1.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Does something when SIGINT, SIGTERM or SIGHUP comes, before that ends the program. It gets the
/// name of the signal. One that this process was started to ignore, as by nohup, stays ignored.
fn before_the_end(what: impl Fn(&str) + Send + 'static) -> Result {
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals =
        Signals::new(heard).map_err(|error| Failure::io("a signal handler", &error))?;
    let told = move || {
        for signal in signals.forever() {
            what(signal_name(signal).unwrap_or("a signal"));
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
