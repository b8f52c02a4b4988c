//! The protocol between an agent and its client.
//!
//! Each side begins with the line [`HELLO`]. Then the client sends requests and the agent answers,
//! one request at a time:
//!
//! ```text
//! frame     bytes of the body (u32)  kind (u8)  body           all numbers little-endian
//!
//! list      -                        -> entries ... done (files u64, left out u64, the name of one of these)
//! page      names u32, after         -> entries ... done (left out u64, length u32 and the name of one of these;
//!                                      then nothing: the end, or 1 and where the next begins)
//! sum       name                     -> done (nothing, or bytes u64 and XXH3-128)
//! digest    name                     -> done (nothing, or a digest)
//! get       name                     -> done (nothing, or mode u32); then more
//! more      bytes u32                -> done (that many bytes; fewer only at the end of the file, which ends the get)
//! put       mode u32, name           -> done; then data and verify
//! data      bytes                    no answer: an error is the answer to verify
//! verify                             -> done (bytes u64 and XXH3-128 as they are on disk); then commit
//! commit                             -> done
//! remove    name                     -> done (1, or 0: no such file)
//! place     -                        -> done (device u64, inode u64 of the directory)
//! term      term of the router       -> done (the highest term that the agent knows)
//!
//! any of these                       -> error (kind u8, text)
//!
//! digest    readable u8 (0 or 1), bytes u64, shape u128, last time i64 s and i64 us, content u128
//! ```
//!
//! A `get` or `put` that is not finished is given up when another request comes or the connection
//! ends.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::below::{Sum, NAME_BYTES};
use crate::connection::Stream;
use crate::dirs::Place;
use crate::image::Digest;
use crate::tls::ALERT;

/// The first line of both sides; the number is the version.
pub const HELLO: &[u8] = b"stead-rrd files 4\n";
/// How many bytes of a file are sent in one frame.
pub(crate) const CHUNK: usize = 128 << 10;
/// The most bytes of a body: a chunk, or a piece of a listing with a long name at its end.
const BODY: usize = CHUNK + NAME_BYTES + 64;

/// The kinds of frames.
pub(crate) mod kind {
    pub(crate) const LIST: u8 = b'l';
    pub(crate) const PAGE: u8 = b'n';
    pub(crate) const SUM: u8 = b's';
    pub(crate) const DIGEST: u8 = b'i';
    pub(crate) const GET: u8 = b'g';
    pub(crate) const MORE: u8 = b'm';
    pub(crate) const PUT: u8 = b'p';
    pub(crate) const DATA: u8 = b'd';
    pub(crate) const VERIFY: u8 = b'v';
    pub(crate) const COMMIT: u8 = b'c';
    pub(crate) const REMOVE: u8 = b'r';
    pub(crate) const TERM: u8 = b't';
    pub(crate) const PLACE: u8 = b'w';
    pub(crate) const ENTRIES: u8 = b'e';
    pub(crate) const DONE: u8 = b'+';
    pub(crate) const ERROR: u8 = b'!';
}

/// The kinds of errors, by their number in the protocol. Any other kind is sent as 0.
const ERRORS: [io::ErrorKind; 10] = [
    io::ErrorKind::Other,
    io::ErrorKind::NotFound,
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::StorageFull,
    io::ErrorKind::InvalidInput,
    io::ErrorKind::InvalidData,
    io::ErrorKind::NotADirectory,
    io::ErrorKind::IsADirectory,
    io::ErrorKind::ReadOnlyFilesystem,
    io::ErrorKind::ResourceBusy,
];

/// The content of a frame: its kind and its body.
pub(crate) type Message = (u8, Vec<u8>);

/// A connection, on either side.
pub(crate) struct Wire {
    stream: BufReader<Stream>,
    /// How long a frame may take to arrive or to be sent.
    limit: Duration,
}

impl Wire {
    /// Exchanges the hello lines.
    pub(crate) async fn open(stream: Stream, limit: Duration) -> io::Result<Wire> {
        let mut wire = Wire {
            stream: BufReader::new(stream),
            limit,
        };
        within(limit, wire.stream.get_mut().send(HELLO)).await?;
        let mut line = Vec::new();
        // another program may send anything, without end
        within(
            limit,
            (&mut wire.stream).take(256).read_until(b'\n', &mut line),
        )
        .await?;
        match &line[..] {
            HELLO => Ok(wire),
            [] => Err(io::ErrorKind::UnexpectedEof.into()),
            [ALERT, ..] => Err(broken(
                "it speaks TLS; write tls: before its address in the fleet",
            )),
            line => {
                let (wanted, said) = (HELLO.escape_ascii(), line.escape_ascii());
                Err(broken(&format!(
                    "that is not `stead-rrd files` of this version: it says \"{said}\" instead \
                    of \"{wanted}\""
                )))
            }
        }
    }

    /// Sends a frame. Its body consists of these parts, one after the other.
    pub(crate) async fn send(&mut self, kind: u8, body: &[&[u8]]) -> io::Result<()> {
        let length: usize = body.iter().map(|part| part.len()).sum();
        let mut bytes = Vec::with_capacity(length + 5);
        bytes.extend_from_slice(&(length as u32).to_le_bytes());
        bytes.push(kind);
        body.iter().for_each(|part| bytes.extend_from_slice(part));
        within(self.limit, self.stream.get_mut().send(&bytes)).await
    }

    /// Sends an error as the answer.
    pub(crate) async fn send_error(&mut self, error: &io::Error) -> io::Result<()> {
        let number = ERRORS
            .iter()
            .position(|kind| *kind == error.kind())
            .unwrap_or(0) as u8;
        let text = error.to_string();
        let end = text.len().min(NAME_BYTES);
        self.send(
            kind::ERROR,
            &[&[number], text.as_bytes().get(..end).unwrap_or_default()],
        )
        .await
    }

    /// Receives the next frame. Returns `None` if the other side closed the connection between two
    /// frames.
    pub(crate) async fn receive(&mut self) -> io::Result<Option<Message>> {
        let stream = &mut self.stream;
        within(self.limit, async move {
            if stream.fill_buf().await?.is_empty() {
                return Ok(None);
            }
            let length = stream.read_u32_le().await? as usize;
            let kind = stream.read_u8().await?;
            if length > BODY {
                return Err(broken(&format!(
                    "a frame of {length} bytes; at most {BODY}"
                )));
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await?;
            Ok(Some((kind, body)))
        })
        .await
    }
}

/// Returns the error that an answer contains.
pub(crate) fn error_of(body: &[u8]) -> io::Error {
    let (number, text) = body
        .split_first()
        .unwrap_or((&0, b"an error without a text"));
    let kind = ERRORS
        .get(usize::from(*number))
        .copied()
        .unwrap_or(io::ErrorKind::Other);
    io::Error::new(
        kind,
        String::from_utf8_lossy(text).replace(char::is_control, " "),
    )
}

/// Encodes a size and a checksum for the wire.
pub(crate) fn sum_bytes((bytes, sum): Sum) -> [u8; 24] {
    let mut all = [0; 24];
    let (first, second) = all.split_at_mut(8);
    first.copy_from_slice(&bytes.to_le_bytes());
    second.copy_from_slice(&sum.to_le_bytes());
    all
}

/// Decodes a size and a checksum from the wire.
pub(crate) fn sum_from(body: &[u8]) -> io::Result<Sum> {
    let found = body.split_first_chunk().and_then(|(bytes, sum)| {
        Some((
            u64::from_le_bytes(*bytes),
            u128::from_le_bytes(sum.try_into().ok()?),
        ))
    });
    found.ok_or_else(|| broken("an answer that is not a checksum"))
}

/// Encodes which directory it is for the wire.
pub(crate) fn place_bytes((device, number): Place) -> [u8; 16] {
    (u128::from(number) << 64 | u128::from(device)).to_le_bytes()
}

/// Decodes which directory it is from the wire.
pub(crate) fn place_from(body: &[u8]) -> io::Result<Place> {
    let both = body.try_into().map(u128::from_le_bytes);
    let both = both.map_err(|_| broken("an answer that is not a directory"))?;
    Ok((both as u64, (both >> 64) as u64))
}

/// Encodes a digest for the wire.
pub(crate) fn digest_bytes(digest: &Digest) -> Vec<u8> {
    let (seconds, micros) = digest.last;
    let mut all = vec![u8::from(digest.shape.is_some())];
    all.extend_from_slice(&digest.bytes.to_le_bytes());
    all.extend_from_slice(&digest.shape.unwrap_or_default().to_le_bytes());
    all.extend_from_slice(&seconds.to_le_bytes());
    all.extend_from_slice(&micros.to_le_bytes());
    all.extend_from_slice(&digest.content.to_le_bytes());
    all
}

/// Decodes a digest from the wire.
pub(crate) fn digest_from(body: &[u8]) -> io::Result<Digest> {
    let found = || {
        let ([known], rest) = body.split_first_chunk()?;
        let (bytes, rest) = rest.split_first_chunk()?;
        let (shape, rest) = rest.split_first_chunk()?;
        let (seconds, rest) = rest.split_first_chunk()?;
        let (micros, rest) = rest.split_first_chunk()?;
        let shape = u128::from_le_bytes(*shape);
        Some(Digest {
            bytes: u64::from_le_bytes(*bytes),
            shape: match known {
                0 => None,
                1 => Some(shape),
                _ => return None,
            },
            last: (i64::from_le_bytes(*seconds), i64::from_le_bytes(*micros)),
            content: u128::from_le_bytes(rest.try_into().ok()?),
        })
    };
    found().ok_or_else(|| broken("an answer that is not a digest"))
}

/// Returns the error for bytes of the other side that do not follow this protocol.
pub(crate) fn broken(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Fails if `work` takes longer than `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer for {limit:?}"),
        )),
    }
}
