//! The bytes that a client sent, line by line.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::pin::Pin;
use std::task::{ready, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::connection::Stream;
use crate::tls::{Seldom, HELLO};

/// How many bytes are read at once.
const READ_BYTES: usize = 64 << 10;

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

    /// Reads more bytes from the client. No buffer is kept while nothing comes.
    pub(super) async fn read(&mut self, stream: &mut Stream) -> Result<(), Gone> {
        let first = self.bytes.is_empty();
        // a read that does not fill its buffer tells tokio that nothing is left
        let read = poll_fn(|cx| {
            let mut space = [const { MaybeUninit::uninit() }; READ_BYTES];
            let mut read = ReadBuf::uninit(&mut space);
            ready!(Pin::new(&mut *stream).poll_read(cx, &mut read))?;
            self.bytes.extend_from_slice(read.filled());
            Poll::Ready(io::Result::Ok(read.filled().len()))
        });
        if !read.await.is_ok_and(|count| count > 0) {
            return Err(Gone);
        }
        if first && self.bytes.starts_with(&HELLO) && !matches!(stream, Stream::Tls(_)) {
            speaks_tls(stream);
            return Err(Gone);
        }
        Ok(())
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
