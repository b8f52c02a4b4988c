//! The sockets that clients connect to.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::client::{serve, Allowed};
use crate::connection::Address;
use crate::router::Router;
use crate::socket::Socket;

/// A socket that accepts clients.
pub struct Listener {
    socket: Socket,
    allowed: Arc<Allowed>,
}

impl Listener {
    /// Listens on `address`. A unix socket on which nobody answers is taken over. An address that
    /// is not loopback is refused unless `public` is set.
    pub async fn bind(address: &Address, allowed: Allowed, public: bool) -> io::Result<Listener> {
        let socket = Socket::bind(address, public).await?;
        Ok(Listener {
            socket,
            allowed: Arc::new(allowed),
        })
    }

    /// Returns the address, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> io::Result<String> {
        self.socket.address()
    }

    /// Accepts clients until `ending` is true. Then the connected clients get the answers that they
    /// wait for and are disconnected.
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
                    // probably no descriptor is left: some client has to leave first
                    router.shared().tally.refused();
                    tracing::error!(error = %error, "cannot take a client: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}
