//! The sockets that clients connect to.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::client::{serve, Allowed};
use crate::connection::Address;
use crate::pair::refuse_clients;
use crate::policy::Policy;
use crate::router::Router;
use crate::socket::Socket;

/// Descriptors that no client gets: for the log, the control socket, metrics and programs that ask
/// for these, and for files of moves.
const RESERVED: u64 = 64;

/// Descriptors that no client gets, for each backend: its connections, and those that are being
/// opened.
const RESERVED_EACH: u64 = 16;

/// The answer to the first request of a client for whom there is no room.
const FULL: &[u8] = b"-1 too many connections; try again later\n";

/// The pause between two messages about clients for whom there is no room.
const SAID: Duration = Duration::from_secs(10);

/// How many clients there may be.
#[derive(Clone, Debug)]
pub struct Room {
    /// The most clients of each listener.
    pub each: u64,
    /// How many listeners share the descriptors.
    pub listeners: u64,
}

impl Room {
    /// Returns the most clients of one listener. The limit of descriptors may change while the
    /// router runs.
    fn of_one(&self, backends: u64) -> u64 {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let free = limit.map_or(self.each, |limit| {
            // under a very low limit, half of the descriptors
            let reserved = (RESERVED + RESERVED_EACH * backends).min(limit / 2);
            (limit - reserved) / self.listeners.max(1)
        });
        free.clamp(1, self.each.max(1))
    }
}

/// A socket that accepts clients.
pub struct Listener {
    socket: Arc<Socket>,
    allowed: Arc<Allowed>,
    policy: Policy,
}

impl Listener {
    /// Listens on `address`. A unix socket on which nobody answers is taken over. An address that
    /// is not loopback is refused unless `public` is set.
    pub async fn bind(
        address: &Address,
        allowed: Allowed,
        policy: Policy,
        public: bool,
    ) -> io::Result<Listener> {
        let socket = Socket::bind(address, public).await?;
        Ok(Listener {
            socket: Arc::new(socket),
            allowed: Arc::new(allowed),
            policy,
        })
    }

    /// Returns the address, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> io::Result<String> {
        self.socket.address()
    }

    /// Answers every request with this error. Never returns.
    pub fn refuse(&self, why: String) -> impl Future<Output = ()> + Send + 'static {
        refuse_clients(Arc::clone(&self.socket), why)
    }

    /// Accepts clients until `ending` is true. Then the connected clients get the answers that they
    /// wait for and are disconnected.
    pub async fn run(self, router: Arc<Router>, ending: watch::Receiver<bool>, room: Room) {
        let mut end = ending.clone();
        let connected = Arc::new(());
        let mut said: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                _ = end.wait_for(|ending| *ending) => return,
            };
            match accepted {
                Ok(stream) => {
                    // each client has a clone
                    let clients = Arc::strong_count(&connected) as u64 - 1;
                    let most = room.of_one(router.backends.all().len() as u64);
                    if clients >= most {
                        router.shared().tally.refused();
                        let _ = stream.try_write(FULL); // it may have left already
                        if said.is_none_or(|said| said.elapsed() > SAID) {
                            said = Some(Instant::now());
                            tracing::error!(
                                clients,
                                "{clients} clients of one listener, and no \
                                room for more: see --clients and LimitNOFILE"
                            );
                        }
                        continue;
                    }
                    let (one, router) = (Arc::clone(&connected), Arc::clone(&router));
                    let (allowed, ending) = (Arc::clone(&self.allowed), ending.clone());
                    let policy = self.policy;
                    tokio::spawn(async move {
                        serve(stream, router, allowed, policy, ending).await;
                        drop(one);
                    });
                }
                Err(error) => {
                    // probably no descriptor is left: some client has to leave first
                    router.shared().tally.refused();
                    tracing::error!(error = %error, "cannot take a client: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_share_what_the_backends_leave() {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let Some(limit) = limit else {
            println!("there is no limit of descriptors here");
            return;
        };
        let room = |each, listeners| Room { each, listeners };
        assert_eq!(room(3, 2).of_one(1), 3);
        assert_eq!(room(u64::MAX, 1).of_one(0), limit - RESERVED);
        assert_eq!(
            room(u64::MAX, 2).of_one(1),
            (limit - RESERVED - RESERVED_EACH) / 2
        );
        // half of a very low limit
        assert_eq!(room(u64::MAX, 1).of_one(limit), limit - limit / 2);
        // at least one client gets in, so that somebody can find out
        assert_eq!(room(0, 1).of_one(1), 1);
    }
}
