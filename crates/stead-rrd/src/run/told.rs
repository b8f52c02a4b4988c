//! The signals that the program reacts to, and what it reports to systemd.

use sd_notify::NotifyState;
use tokio::signal::unix::{signal, Signal, SignalKind};

use crate::exit::{Failure, IO};

/// The signals that the program reacts to.
pub(super) struct Told {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    /// caught so that a limit on file sizes is an error of the write and does not kill the program
    _large: Signal,
}

impl Told {
    pub(super) fn new() -> Result<Told, Failure> {
        let on = |kind| {
            signal(kind).map_err(|error| Failure(IO, format!("cannot handle signals: {error}")))
        };
        let large = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        Ok(Told {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hang_up: on(SignalKind::hangup())?,
            _large: on(large)?,
        })
    }

    /// Waits until the program is told to stop. Calls `again` whenever it is told to look at its
    /// files again.
    pub(super) async fn wait_or(&mut self, again: impl Fn()) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => again(),
            }
        }
    }
}

/// Reports a state of this process to systemd, if systemd has started it. An error means that
/// systemd does not listen any more, so it is ignored.
pub(super) fn tell_systemd(state: NotifyState<'_>) {
    let _ = sd_notify::notify(&[state]);
}
