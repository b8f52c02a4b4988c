//! The protocol between the two routers.
//!
//! Both sides begin with a line that has the version. Then each sends frames:
//!
//! ```text
//! frame      bytes of the body (u32)  kind (u8)  body          all numbers little-endian
//!
//! both       hello      JSON: term, role, history and more
//! primary    records    number of the first (u64), then for each: length (u32), bytes
//!            positions  JSON: up to where each backend has confirmed
//!            change     number (u64), kind (u8), bytes: a change of the state directory
//!            ping       number (u64)
//!            synced     number (u64): whoever has the records up to it has all that was answered
//!            checks     JSON: the last checks; only for a standby that says that it takes them
//! standby    ready      JSON: the first record to send, and more
//!            ack        number (u64): the records up to it are on disk
//!            changed    number (u64): the change is on disk
//!            pong       number (u64) of the ping
//! both       bye        text: why the connection ends
//! ```

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// The version of the protocol.
const VERSION: u32 = 1;

/// How the first line begins.
const HELLO: &str = "stead-rrd pair ";

/// The most bytes of a body: a record has less than 16 MiB, a map may have more.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// The bytes of a frame before its body.
const HEAD: usize = 5;

/// The kinds of frames.
pub(super) mod kind {
    pub const HELLO: u8 = b'h';
    pub const RECORDS: u8 = b'r';
    pub const POSITIONS: u8 = b'p';
    pub const CHANGE: u8 = b'c';
    pub const PING: u8 = b'?';
    pub const SYNCED: u8 = b's';
    pub const CHECKS: u8 = b'k';
    pub const READY: u8 = b'y';
    pub const ACK: u8 = b'a';
    pub const CHANGED: u8 = b'd';
    pub const PONG: u8 = b'!';
    pub const BYE: u8 = b'x';
}

/// The first line that this version sends.
fn first_line() -> String {
    format!("{HELLO}{VERSION}\n")
}

/// Returns the error for bytes of the other side that do not follow the protocol.
pub(super) fn broken(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// Sends bytes. Over TLS, the flush sends what was encrypted and did not fit into the socket.
pub(super) async fn put<W: AsyncWrite + Unpin>(to: &mut W, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

/// Exchanges the first lines.
pub(super) async fn greet<R, W>(from: &mut BufReader<R>, to: &mut W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let ours = first_line();
    put(to, ours.as_bytes()).await?;
    let mut line = Vec::new();
    // another program may send anything, without end
    from.take(256).read_until(b'\n', &mut line).await?;
    if line == ours.as_bytes() {
        return Ok(());
    }
    if line.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "it closed the connection without a word; is it a --pair address?",
        ));
    }
    let said = String::from_utf8_lossy(&line).trim_end().to_owned();
    let text = match said.strip_prefix(HELLO) {
        Some(version) => format!(
            "it speaks version {version} of the protocol of pairs, and this router version {}: \
            upgrade the older one",
            ours.trim_end().trim_start_matches(HELLO)
        ),
        None => format!(
            "that is not the other router of a pair: it says {:?}; name the address of its --pair",
            said.chars().take(60).collect::<String>()
        ),
    };
    Err(broken(text))
}

/// Appends a frame to `buffer`.
pub(super) fn push(buffer: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    buffer.extend_from_slice(&(length as u32).to_le_bytes());
    buffer.push(kind);
    parts.iter().for_each(|part| buffer.extend_from_slice(part));
}

/// Reads the next frame. The time limit is for the silence before it and between its pieces.
pub(super) async fn read<R: AsyncRead + Unpin>(
    from: &mut BufReader<R>,
    limit: Duration,
) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; HEAD];
    within(limit, from.read_exact(&mut head)).await?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if length > MOST_BYTES {
        return Err(broken(format!(
            "a frame of {length} bytes; at most {MOST_BYTES}"
        )));
    }
    let mut body = Vec::with_capacity(length.min(1 << 20));
    while body.len() < length {
        let left = (length - body.len()) as u64;
        if within(limit, from.take(left).read_buf(&mut body)).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    match head[4] {
        kind::BYE => Err(broken(printable(&body))),
        kind => Ok((kind, body)),
    }
}

/// Returns text of the other side in a form that may be printed.
pub(super) fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(char::is_control, " ")
}

/// Fails if `work` takes longer than `limit`.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl std::future::Future<Output = io::Result<T>>,
) -> io::Result<T> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer for {} s", limit.as_secs_f64()),
        ))
    })
}

/// Returns the number at the start of a body, and the rest.
pub(super) fn number(body: &[u8]) -> io::Result<(u64, &[u8])> {
    let (number, rest) = body
        .split_first_chunk()
        .ok_or_else(|| broken("a frame without its number"))?;
    Ok((u64::from_le_bytes(*number), rest))
}
