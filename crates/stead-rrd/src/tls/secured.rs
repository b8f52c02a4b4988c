//! A stream over TLS. A client's handshake happens when the stream is first read or written, so
//! that nobody waits for it but the task of this client.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::{Accept, TlsStream};

use super::identity::{installed, Identity};
use super::seldom::Seldom;
use super::words::in_words;

/// How long the other side may take until both have shown their certificates.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The messages about clients without a certificate that is accepted.
static STRANGERS: Seldom = Seldom::new();

/// A stream over TLS.
pub struct Secured {
    state: State,
    peer: Option<SocketAddr>,
}

enum State {
    /// the client has not shown its certificate yet
    Shaking(Accept<TcpStream>, Pin<Box<Sleep>>, Arc<Identity>),
    Open(TlsStream<TcpStream>),
    Failed,
}

impl Secured {
    /// Takes a client.
    pub fn accept(stream: TcpStream) -> io::Result<Secured> {
        Ok(Secured::accept_as(&installed()?, stream))
    }

    pub(super) fn accept_as(identity: &Arc<Identity>, stream: TcpStream) -> Secured {
        let peer = stream.peer_addr().ok();
        let (accept, identity) = (identity.acceptor.accept(stream), Arc::clone(identity));
        let limit = Box::pin(tokio::time::sleep(HANDSHAKE));
        Secured {
            state: State::Shaking(accept, limit, identity),
            peer,
        }
    }

    /// Makes a connection secure that goes to `address`, a host and a port. The server's
    /// certificate must be for this host.
    pub async fn connect(address: &str, stream: TcpStream) -> io::Result<Secured> {
        Secured::connect_as(&*installed()?, address, stream).await
    }

    pub(super) async fn connect_as(
        identity: &Identity,
        address: &str,
        stream: TcpStream,
    ) -> io::Result<Secured> {
        let peer = stream.peer_addr().ok();
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            let text = format!("{host:?} is neither a host name nor an IP address");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        })?;
        let shaken = identity.connector.connect(name, stream);
        let stream = match tokio::time::timeout(HANDSHAKE, shaken).await {
            Ok(stream) => stream.map_err(in_words)?,
            Err(_) => return Err(silent()),
        };
        Ok(Secured {
            state: State::Open(stream.into()),
            peer,
        })
    }

    /// Returns whether both sides have shown a certificate that the other one accepts.
    pub fn is_accepted(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Returns the address of the other side.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Returns the stream when both sides have shown their certificates.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<&mut TlsStream<TcpStream>>> {
        if let State::Shaking(accept, limit, identity) = &mut self.state {
            let shaken = match Pin::new(accept).poll(cx) {
                Poll::Ready(shaken) => shaken,
                Poll::Pending => {
                    ready!(limit.as_mut().poll(cx));
                    Err(silent())
                }
            };
            let checked = shaken.and_then(|stream| {
                let chain = stream.get_ref().1.peer_certificates();
                identity.check_client(chain).map_err(io::Error::other)?;
                Ok(stream)
            });
            match checked {
                Ok(stream) => self.state = State::Open(stream.into()),
                Err(error) => {
                    self.state = State::Failed;
                    let error = in_words(error);
                    self.refused(&error);
                    return Poll::Ready(Err(error));
                }
            }
        }
        match &mut self.state {
            State::Open(stream) => Poll::Ready(Ok(stream)),
            _ => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn refused(&self, error: &io::Error) {
        let Some(more) = STRANGERS.now() else { return };
        let peer = self
            .peer
            .map_or("?".to_owned(), |peer| peer.ip().to_string());
        tracing::warn!(peer, %error, "a client at {peer} is refused: {error}{more}");
    }
}

fn silent() -> io::Error {
    let text = format!("it has shown no certificate for {} s", HANDSHAKE.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

impl AsyncRead for Secured {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = ready!(self.get_mut().poll_open(cx))?;
        // what was written and is not sent yet is sent while an answer is awaited
        if stream.get_ref().1.wants_write() {
            if let Poll::Ready(Err(error)) = Pin::new(&mut *stream).poll_flush(cx) {
                return Poll::Ready(Err(in_words(error)));
            }
        }
        Pin::new(stream).poll_read(cx, buffer).map_err(in_words)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let stream = ready!(self.get_mut().poll_open(cx))?;
        Pin::new(stream).poll_write(cx, bytes).map_err(in_words)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = ready!(self.get_mut().poll_open(cx))?;
        Pin::new(stream).poll_flush(cx).map_err(in_words)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().state {
            State::Open(stream) => Pin::new(stream).poll_shutdown(cx),
            _ => Poll::Ready(Ok(())), // there is nobody to say goodbye to
        }
    }
}
