//! What two routers tell each other before anything else.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};

use super::frame::{broken, greet, kind, push, put, read, within};
use super::history::History;
use crate::role::{Lost, Role};
use crate::term::Term;

/// How long the other side may take to say who it is.
pub(super) const GREETING: Duration = Duration::from_secs(5);

/// How many connections at --pair may be open at once.
pub(super) const STRANGERS: usize = 16;

/// What a router serves. Two routers must serve the same, or clients find other files after a
/// promotion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serves {
    /// The name of the fleet in its map.
    pub fleet: String,
    /// The directory that clients believe all files to be in.
    pub base: String,
}

impl Serves {
    /// Returns an error if the other router serves something else. One that does not say what it
    /// serves is older, and believed.
    pub(super) fn agree(&self, other: &Serves) -> io::Result<()> {
        if other == self || *other == Serves::default() {
            return Ok(());
        }
        Err(broken(format!(
            "the other router serves the fleet {:?} with --base {:?}, and this one the fleet {:?} \
            with --base {:?}: give both the same --map and --base, and start the standby again",
            other.fleet, other.base, self.fleet, self.base
        )))
    }
}

/// Who a router is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub role: Role,
    pub term: Term,
    pub lost: Lost,
    /// The records that it has.
    pub oldest: u64,
    pub newest: u64,
    /// The newest record that may have been answered.
    pub published: u64,
    pub history: History,
    /// Of a primary: whether it has ever had a standby, or was promoted. Before that, it has no
    /// authority over another primary.
    pub met: bool,
    /// Of a primary: whether it answers without the standby.
    pub alone: bool,
    /// The checksum of its state.
    pub digest: u64,
    /// What it serves.
    #[serde(default)]
    pub serves: Serves,
}

/// What a standby says when it is ready for records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    /// The first record that it lacks.
    pub next: u64,
    /// How many records it has discarded.
    pub discarded: u64,
    pub digest: u64,
    /// Whether it takes what is known of the checks; one of an older version does not.
    #[serde(default)]
    pub takes_checks: bool,
}

/// Exchanges the first lines and the hellos.
pub(super) async fn introduce<R, W>(
    from: &mut BufReader<R>,
    to: &mut W,
    ours: &Hello,
) -> io::Result<Hello>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    within(GREETING, greet(from, to)).await?;
    say(to, kind::HELLO, ours).await?;
    hear(from, kind::HELLO, GREETING).await
}

/// Sends a frame of JSON.
pub(super) async fn say<W: AsyncWrite + Unpin>(
    to: &mut W,
    kind: u8,
    what: &impl Serialize,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    push(&mut buffer, kind, &[&serde_json::to_vec(what)?]);
    within(GREETING, put(to, &buffer)).await
}

/// Receives a frame of JSON of this kind.
pub(super) async fn hear<R, T>(from: &mut BufReader<R>, kind: u8, limit: Duration) -> io::Result<T>
where
    R: AsyncRead + Unpin,
    T: for<'a> Deserialize<'a>,
{
    let (found, body) = read(from, limit).await?;
    if found != kind {
        return Err(broken(format!("a frame of the unexpected kind {found}")));
    }
    serde_json::from_slice(&body).map_err(|error| broken(format!("a strange frame: {error}")))
}

/// Ends a connection with a reason.
pub(super) async fn bye<W: AsyncWrite + Unpin>(to: &mut W, why: &str) {
    let mut buffer = Vec::new();
    push(&mut buffer, kind::BYE, &[why.as_bytes()]);
    // it may have left already
    let _ = within(GREETING, put(to, &buffer)).await;
}
