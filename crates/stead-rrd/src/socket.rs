//! A socket that accepts clients: those of rrdcached's protocol, or those of the agent's.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use tokio::net::{TcpListener, UnixListener};

use crate::connection::{Address, Stream};
use crate::tls::Secured;

/// A socket that accepts clients.
pub enum Socket {
    /// At a path.
    Unix(UnixListener),
    /// At a port.
    Tcp(TcpListener),
    /// At a port, over TLS.
    Tls(TcpListener),
}

impl Socket {
    /// Listens on `address`. A unix socket on which nobody answers is taken over. An address that
    /// is not loopback is refused unless `public` is set, or its clients must show a certificate.
    pub async fn bind(address: &Address, public: bool) -> io::Result<Socket> {
        match address {
            Address::Unix(path) => {
                take_over(path).await?;
                UnixListener::bind(path).map(Socket::Unix)
            }
            Address::Tcp(text) => {
                let found: Vec<_> = tokio::net::lookup_host(text.as_str()).await?.collect();
                if !public && !found.iter().all(|address| address.ip().is_loopback()) {
                    let reason =
                        "not a loopback address, and the protocol has no passwords; use TLS \
                        (tls:host:port), or add --public if the network is safe";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
                }
                TcpListener::bind(&found[..]).await.map(Socket::Tcp)
            }
            Address::Tls(text) => TcpListener::bind(text.as_str()).await.map(Socket::Tls),
        }
    }

    /// Returns the address, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> io::Result<String> {
        match self {
            Socket::Unix(socket) => Ok(format!(
                "unix:{}",
                socket
                    .local_addr()?
                    .as_pathname()
                    .unwrap_or(Path::new("?"))
                    .display()
            )),
            Socket::Tcp(socket) => Ok(socket.local_addr()?.to_string()),
            Socket::Tls(socket) => Ok(format!("tls:{}", socket.local_addr()?)),
        }
    }

    /// Waits for the next client. Over TLS, the client's certificate is checked when the stream is
    /// first used.
    pub async fn accept(&self) -> io::Result<Stream> {
        match self {
            Socket::Unix(socket) => socket
                .accept()
                .await
                .map(|(stream, _)| Stream::Unix(stream)),
            Socket::Tcp(socket) => {
                let (stream, _) = socket.accept().await?;
                let _ = stream.set_nodelay(true); // after an error it is only slower
                Ok(Stream::Tcp(stream))
            }
            Socket::Tls(socket) => {
                let (stream, _) = socket.accept().await?;
                let _ = stream.set_nodelay(true);
                Ok(Stream::Tls(Box::new(Secured::accept(stream)?)))
            }
        }
    }
}

/// Removes a socket that a dead process left behind.
async fn take_over(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            match tokio::net::UnixStream::connect(path).await {
                Ok(_) => Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    "another process listens there",
                )),
                Err(_) => std::fs::remove_file(path),
            }
        }
        _ => Ok(()), // bind reports the error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_public_address_needs_to_be_asked_for() {
        let public = Address::parse("0.0.0.0:0").unwrap();
        let refused = Socket::bind(&public, false).await.err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        let loopback = Address::parse("127.0.0.1:0").unwrap();
        let socket = Socket::bind(&loopback, false).await.unwrap();
        assert!(!socket.address().unwrap().ends_with(":0"));
    }

    #[tokio::test]
    async fn a_socket_that_was_left_behind_is_taken_over_and_one_in_use_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let address = Address::Unix(directory.path().join("s"));
        let first = Socket::bind(&address, false).await.unwrap();
        assert_eq!(
            Socket::bind(&address, false).await.err().unwrap().kind(),
            io::ErrorKind::AddrInUse
        );
        drop(first);
        Socket::bind(&address, false).await.unwrap();
        std::fs::write(directory.path().join("f"), "a file of somebody's").unwrap();
        assert!(
            Socket::bind(&Address::Unix(directory.path().join("f")), false)
                .await
                .is_err()
        );
        assert!(directory.path().join("f").exists());
    }
}
