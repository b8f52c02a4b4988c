//! Where clients connect.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::client::{serve, Allowed};
use crate::connection::Address;
use crate::router::Router;
use crate::socket::Socket;

/// A socket that takes clients.
pub struct Listener {
    socket: Socket,
    allowed: Arc<Allowed>,
}

impl Listener {
    /// Listens. A unix socket that nobody answers on is taken over; an address that is not loopback
    /// is refused unless `public`.
    pub async fn bind(address: &Address, allowed: Allowed, public: bool) -> io::Result<Listener> {
        let socket = Socket::bind(address, public).await?;
        Ok(Listener {
            socket,
            allowed: Arc::new(allowed),
        })
    }

    /// The address, with the port that the system chose when 0 was asked for.
    pub fn address(&self) -> io::Result<String> {
        self.socket.address()
    }

    /// Takes clients until `ending` is true; then those that are there get the answers that they
    /// wait for, and are let go.
    pub async fn run(self, router: Arc<Router>, ending: watch::Receiver<bool>) {
        let mut end = ending.clone();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                _ = end.wait_for(|ending| *ending) => return,
            };
            match accepted {
                Ok(stream) => {
                    tokio::spawn(serve(
                        stream,
                        Arc::clone(&router),
                        Arc::clone(&self.allowed),
                        ending.clone(),
                    ));
                }
                Err(error) => {
                    // no descriptor is left, most likely: some client has to go first
                    router.shared().tally.refused();
                    tracing::error!(error = %error, "cannot take a client: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}
