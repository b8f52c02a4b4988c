//! The bytes that a client sent, line by line.

use std::io;
use std::ops::Range;

use tokio::io::AsyncReadExt;

use crate::connection::Stream;
use crate::tls::{Seldom, HELLO};

/// How many bytes are read at once.
pub(super) const READ_BYTES: usize = 16 << 10;

/// The client has left, or must be disconnected.
pub(super) struct Gone;

/// Bytes that a client sent and that are not processed yet.
#[derive(Default)]
pub(super) struct Input {
    pub(super) bytes: Vec<u8>,
    /// everything before this was processed
    start: usize,
    /// there is no line end from `start` to here
    searched: usize,
}

impl Input {
    /// Returns the next whole line, with its end, as its place in `bytes`.
    pub(super) fn line(&mut self) -> Option<Range<usize>> {
        let end = self.bytes[self.searched..].iter().position(|b| *b == b'\n');
        match end {
            Some(at) => {
                let line = self.start..self.searched + at + 1;
                (self.start, self.searched) = (line.end, line.end);
                Some(line)
            }
            None => {
                self.searched = self.bytes.len();
                None
            }
        }
    }

    /// Makes room for more bytes, and frees the buffer of an idle client.
    pub(super) fn tidy(&mut self) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }

    /// Reads more bytes from the client.
    pub(super) async fn read(&mut self, stream: &mut Stream) -> Result<(), Gone> {
        while self.bytes.is_empty() {
            if let Stream::Tls(stream) = stream {
                return match stream.read_some(&mut self.bytes).await {
                    Ok(0) | Err(_) => Err(Gone),
                    Ok(_) => Ok(()),
                };
            }
            // Keep no buffer while the client is idle. A new socket is reported readable once
            // although it is not; without the check below, each client would keep 4 KiB.
            stream.readable().await.map_err(|_| Gone)?;
            self.bytes.reserve(READ_BYTES);
            match stream.try_read_buf(&mut self.bytes) {
                Ok(0) => return Err(Gone),
                Ok(_) if self.bytes.starts_with(&HELLO) => {
                    speaks_tls(stream);
                    return Err(Gone);
                }
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.bytes = Vec::new(),
                Err(_) => return Err(Gone),
            }
        }
        self.bytes.reserve(READ_BYTES);
        match stream.read_buf(&mut self.bytes).await {
            Ok(0) | Err(_) => Err(Gone),
            Ok(_) => Ok(()),
        }
    }
}

fn speaks_tls(stream: &Stream) {
    static SAID: Seldom = Seldom::new();
    if let Some(more) = SAID.now() {
        let peer = stream.peer();
        tracing::warn!(
            peer,
            "a client at {peer} speaks TLS to a listener without it; give it the address of a \
            --listen tls:{more}"
        );
    }
}
