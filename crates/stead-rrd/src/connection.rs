//! A connection to one rrdcached, and the address that it goes to.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::batch::{failures, GO_AHEAD};
use crate::path::escaped;
use crate::refusals::is_missing;
use crate::reply::Reply;
use crate::tls::Secured;
use crate::verb::Verb;
use crate::words::line_of;

/// An address where somebody listens: `unix:/path`, `host:port` or `tls:host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// A host name or IP address, and a port.
    Tcp(String),
    /// The same, over TLS.
    Tls(String),
}

impl Address {
    /// Parses an address. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Address, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.starts_with('/') {
                true => Ok(Address::Unix(path.into())),
                false => Err(format!(
                    "{text:?}: write unix: and a path that begins with a slash"
                )),
            };
        }
        let tls = text.strip_prefix("tls:");
        let place = tls.unwrap_or(text);
        match place.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(match tls {
                    Some(_) => Address::Tls(place.to_owned()),
                    None => Address::Tcp(place.to_owned()),
                })
            }
            _ => Err(format!(
                "{text:?} is not an address: write unix:/path, host:port or tls:host:port"
            )),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(address) => f.write_str(address),
            Address::Tls(address) => write!(f, "tls:{address}"),
        }
    }
}

/// A stream of any kind, to a backend or to a client.
pub enum Stream {
    /// Over a unix socket.
    Unix(UnixStream),
    /// Over TCP.
    Tcp(TcpStream),
    /// Over TLS.
    Tls(Box<Secured>),
}

impl Stream {
    /// Writes what can be written now. Writes nothing over TLS, where the other side must show its
    /// certificate first.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.try_write(bytes),
            Stream::Tcp(stream) => stream.try_write(bytes),
            Stream::Tls(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Sends all of the bytes. Over TLS, the flush sends what was encrypted and did not fit into
    /// the socket.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await?;
        self.flush().await
    }

    /// Returns the IP address of the other side, or the word for a unix socket.
    pub fn peer(&self) -> String {
        let peer = match self {
            Stream::Unix(_) => return "a unix socket".to_owned(),
            Stream::Tcp(stream) => stream.peer_addr().ok(),
            Stream::Tls(stream) => stream.peer(),
        };
        peer.map_or("?".to_owned(), |peer| peer.ip().to_string())
    }
}

impl Stream {
    /// Connects to `address`.
    pub async fn connect(address: &Address) -> io::Result<Stream> {
        match address {
            Address::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address.as_str()).await?;
                stream.set_nodelay(true)?; // a request is one packet that waits for its answer
                Ok(Stream::Tcp(stream))
            }
            Address::Tls(address) => {
                let stream = TcpStream::connect(address.as_str()).await?;
                stream.set_nodelay(true)?;
                let secured = Secured::connect(address, stream).await?;
                Ok(Stream::Tls(Box::new(secured)))
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// What has become of a file that rrdcached reports as flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// Everything that waited for the file is in the file.
    Written,
    /// Something still waits: the file is suspended.
    Waits,
    /// There is no such file, and what waited for it is lost.
    Gone,
}

/// An open connection, which carries one request or one BATCH at a time.
pub struct Connection {
    stream: BufReader<Stream>,
}

impl Connection {
    /// Connects to `address`.
    pub async fn open(address: &Address) -> io::Result<Connection> {
        Stream::connect(address).await.map(|stream| Connection {
            stream: BufReader::new(stream),
        })
    }

    /// Sends a line and reads its reply.
    pub async fn ask(&mut self, line: &[u8], binary: bool) -> io::Result<Reply> {
        self.stream.get_mut().send(&[line, b"\n"].concat()).await?;
        Reply::read(&mut self.stream, binary).await
    }

    /// Sends a line and reads its reply. Calls `begins` when the reply begins.
    pub async fn ask_until(
        &mut self,
        line: &[u8],
        binary: bool,
        begins: impl FnOnce(),
    ) -> io::Result<Reply> {
        self.stream.get_mut().send(&[line, b"\n"].concat()).await?;
        self.stream.fill_buf().await?;
        begins();
        Reply::read(&mut self.stream, binary).await
    }

    /// Sends a LIST and reads its reply, if it has at most `most` lines. After a longer one the
    /// connection cannot be used any more.
    pub async fn list_at_most(&mut self, line: &[u8], most: usize) -> io::Result<Option<Reply>> {
        self.stream.get_mut().send(&[line, b"\n"].concat()).await?;
        Reply::read_at_most(&mut self.stream, most).await
    }

    /// Asks INFO and LAST about several files, and only then reads the answers.
    pub async fn infos(&mut self, names: &[Vec<u8>]) -> io::Result<Vec<[Reply; 2]>> {
        let mut lines = Vec::new();
        for name in names {
            for verb in [Verb::Info, Verb::Last] {
                lines.extend_from_slice(&line_of(verb, name));
                lines.push(b'\n');
            }
        }
        self.stream.get_mut().send(&lines).await?;
        let mut replies = Vec::with_capacity(names.len());
        for _ in names {
            let info = Reply::read(&mut self.stream, false).await?;
            replies.push([info, Reply::read(&mut self.stream, false).await?]);
        }
        Ok(replies)
    }

    /// Sends `count` lines, each with its line end, as one BATCH; a single line is sent without
    /// BATCH. Returns which lines failed, counted from 0, and why.
    pub async fn batch(&mut self, lines: &[u8], count: usize) -> io::Result<Vec<(usize, Vec<u8>)>> {
        if count == 1 {
            // half as many replies
            self.stream.get_mut().send(lines).await?;
            let reply = Reply::read(&mut self.stream, false).await?;
            return Ok(if reply.is_error() {
                vec![(0, reply.text)]
            } else {
                Vec::new()
            });
        }
        self.stream
            .get_mut()
            .send(&[b"BATCH\n", lines, b".\n"].concat())
            .await?;
        let go_ahead = Reply::read(&mut self.stream, false).await?;
        if go_ahead.text != GO_AHEAD.as_bytes() {
            return Err(unexpected(&go_ahead));
        }
        let reply = Reply::read(&mut self.stream, false).await?;
        failures(&reply, count).ok_or_else(|| unexpected(&reply))
    }

    /// Flushes a file. The error inside `Ok` is the backend's answer.
    ///
    /// rrdcached reports a file that is gone as flushed, and drops what waited for it. So it is
    /// asked for something that only the file can tell.
    ///
    /// It also reports a suspended file as flushed although it has written nothing. In that case,
    /// the value that was first in the queue still waits after the FLUSH.
    pub async fn flush(&mut self, name: &[u8]) -> io::Result<Result<Flushed, Reply>> {
        let name = escaped(name);
        let mut before = None;
        loop {
            let reply = self.ask(&[b"FLUSH ", &name[..]].concat(), false).await?;
            if reply.is_error() {
                return Ok(Err(reply));
            }
            let lines = [b"PENDING ", &name[..], b"\nFIRST ", &name[..], b" 0\n"].concat();
            self.stream.get_mut().send(&lines).await?;
            let waiting = Reply::read(&mut self.stream, false).await?;
            let is_gone = Reply::read(&mut self.stream, false).await?;
            if is_gone.is_error() && is_missing(&is_gone.text) {
                return Ok(Ok(Flushed::Gone));
            }
            let first = waiting.each().next().map(<[u8]>::to_vec);
            match (first, before) {
                // nothing waits: everything was written
                (None, _) => return Ok(Ok(Flushed::Written)),
                // if another value is first after a second FLUSH, the earlier ones were written
                (Some(first), Some(before)) if first != before => return Ok(Ok(Flushed::Written)),
                (Some(_), Some(_)) => return Ok(Ok(Flushed::Waits)),
                (first, None) => before = first,
            }
        }
    }

    /// Returns the directory that the backend keeps its files in, as the backend writes it in
    /// answers. It is found by asking for a file that does not exist.
    pub async fn base(&mut self) -> io::Result<Vec<u8>> {
        const NAME: &str = ".stead-rrd.no-such-file";
        let reply = self.ask(format!("FLUSH {NAME}").as_bytes(), false).await?;
        let end = format!("/{NAME}.");
        let base = reply
            .text
            .strip_prefix(b"No such file: ")
            .and_then(|rest| rest.strip_suffix(end.as_bytes()));
        base.map(<[u8]>::to_vec).ok_or_else(|| unexpected(&reply))
    }

    /// Returns when the backend closes the connection, which is always an error.
    pub async fn closed(&mut self) -> io::Error {
        match self.stream.fill_buf().await {
            Ok([]) => io::ErrorKind::UnexpectedEof.into(),
            Ok(_) => io::Error::new(
                io::ErrorKind::InvalidData,
                "it sends text without being asked",
            ),
            Err(error) => error,
        }
    }
}

fn unexpected(reply: &Reply) -> io::Error {
    let text = String::from_utf8_lossy(&reply.text).into_owned();
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("an answer that rrdcached does not give: {text:?}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_socket_or_a_host_with_a_port() {
        for text in [
            "unix:/run/rrd.sock",
            "127.0.0.1:42217",
            "localhost:1",
            "[::1]:42217",
            "tls:localhost:1",
            "tls:[::1]:42217",
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "unix:",
            "unix:rrd.sock",
            "localhost",
            ":42217",
            "localhost:x",
            "localhost:70000",
            "/run/rrd.sock",
            "tls:",
            "tls:localhost",
            "tls::1",
            "tls:unix:/run/rrd.sock",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
