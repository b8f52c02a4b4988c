//! Two routers meet, and each says who it is. Of two primaries, the one of the older term yields.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::sync::Semaphore;

use super::exchange::{bye, introduce, Hello, STRANGERS};
use super::frame::broken;
use super::hub::Pair;
use crate::lock::lock;
use crate::log::Log;
use crate::role::Role;
use crate::socket::Socket;

/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(200);

impl Pair {
    /// Returns who this router is.
    pub(super) fn hello(&self, digest: u64) -> Hello {
        let saved = lock(&self.saved);
        let link = self.link();
        Hello {
            role: Role::Primary,
            term: saved.term,
            lost: self.wanted,
            oldest: self.log.extent().oldest,
            newest: link.appended,
            published: self.published_by(&link),
            history: saved.history.clone(),
            met: saved.met,
            alone: link.alone,
            digest,
            serves: self.serves.clone(),
        }
    }

    /// Steps down if the other router is the primary of a later term, or obeys one. An error says
    /// why it does not take the log.
    pub(super) fn compare(&self, ours: &Hello, other: &Hello) -> io::Result<()> {
        self.serves.agree(&other.serves)?;
        let is_primary = other.role == Role::Primary;
        if is_primary && !(ours.met && other.met) && (ours.newest > 0 || !other.met) {
            return Err(broken(
                "the other router is a primary, too: start the one that is to be the standby with \
                an empty --state and --role standby",
            ));
        }
        // a standby of this term obeys this router, or refuses it by itself; a router that is new
        // yields to any primary
        let is_later = match is_primary {
            true => other.term > ours.term || !ours.met,
            false => other.term.number > ours.term.number,
        };
        if is_later {
            self.step_down(other.term);
        }
        match is_primary {
            true => Err(broken(
                "the other router is the primary of an older term; it becomes a standby now",
            )),
            false => Ok(()),
        }
    }

    /// Listens for another primary. The one of the older term stops.
    pub(super) async fn listen(self: Arc<Self>, socket: Socket) {
        let room = Arc::new(Semaphore::new(STRANGERS));
        loop {
            let Ok(stream) = socket.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
                continue; // strangers, who have a few seconds to say who they are
            };
            let pair = Arc::clone(&self);
            tokio::spawn(async move {
                let _permit = permit;
                let (from, mut to) = tokio::io::split(stream);
                let hello = pair.hello(0);
                let other = introduce(&mut BufReader::new(from), &mut to, &hello).await;
                match other.and_then(|other| pair.compare(&hello, &other)) {
                    Ok(()) => {}
                    Err(error) => {
                        tracing::debug!(%error, "a connection to --pair is refused: {error}");
                        bye(&mut to, &error.to_string()).await;
                    }
                }
            });
        }
    }
}
