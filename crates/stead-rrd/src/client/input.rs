//! What a client sent, line by line.

use std::io;
use std::ops::Range;

use tokio::io::AsyncReadExt;

use crate::connection::Stream;

/// What is read at once.
pub(super) const READ_BYTES: usize = 16 << 10;

/// The client has gone, or has to.
pub(super) struct Gone;

/// What a client sent and we did not look at yet.
#[derive(Default)]
pub(super) struct Input {
    pub(super) bytes: Vec<u8>,
    /// before, all was looked at
    start: usize,
    /// from `start` to here there is no line end
    searched: usize,
}

impl Input {
    /// The next whole line, by its place in `bytes`, with its end.
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

    /// Makes room for more, and gives back what an idle client does not need.
    pub(super) fn tidy(&mut self) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }

    /// More from the client.
    pub(super) async fn read(&mut self, stream: &mut Stream) -> Result<(), Gone> {
        while self.bytes.is_empty() {
            // no buffer while it is idle; a new one is said to be readable once although it is not,
            // which would leave 4 KiB to each
            stream.readable().await.map_err(|_| Gone)?;
            self.bytes.reserve(READ_BYTES);
            match stream.try_read_buf(&mut self.bytes) {
                Ok(0) => return Err(Gone),
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
