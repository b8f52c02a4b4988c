//! Changes of the primary's state directory: the standby has each before the primary acts on it.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{mpsc, PoisonError};
use std::time::{Duration, Instant};

use super::hub::{Pair, Sent, UNSTORED};
use crate::state::{Change, Mirror};

/// How long a change of the state waits for the standby before it fails.
const CHANGE: Duration = Duration::from_secs(10);

impl Mirror for Pair {
    fn change(&self, change: &Change) -> io::Result<()> {
        let until = Instant::now() + CHANGE;
        loop {
            let mut link = self.link();
            if link.alone && !link.joined {
                link.begun += 1;
                return Ok(());
            }
            if link.joined && link.reset.is_none() {
                let (done, wait) = mpsc::channel();
                link.next_change += 1;
                let number = link.next_change;
                link.begun += 1;
                link.changes.push_back(Sent {
                    number,
                    change: change.clone(),
                    done,
                });
                drop(link);
                self.bell.notify_one();
                match wait.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(()) => return Ok(()),
                    Err(mpsc::RecvTimeoutError::Disconnected) => self.link().ended += 1,
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        let mut link = self.link();
                        link.ended += 1;
                        link.reset = Some("it does not store a change of the state");
                        self.bell.notify_one();
                        return Err(self.no_standby());
                    }
                }
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.no_standby());
            }
            let waited = self.changed.wait_timeout(link, left);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn done(&self, is_here: bool) {
        let mut link = self.link();
        link.ended += 1;
        if !is_here {
            link.reset = Some(UNSTORED);
            self.bell.notify_one();
        }
    }

    fn checked(&self) {
        self.checks_changed.store(true, Ordering::Release);
        self.bell.notify_one();
    }
}

impl Pair {
    fn no_standby(&self) -> io::Error {
        let text = format!(
            "the standby {} has not stored this change of the state, so it is not made; try again \
            when it is back",
            self.peer
        );
        io::Error::new(io::ErrorKind::NotConnected, text)
    }
}
