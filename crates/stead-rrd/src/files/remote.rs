//! The client of an agent. It keeps connections for later requests.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::below::Sum;
use super::entries::Entries;
use super::fence::{bytes_of, term_from};
use super::paging::Page;
use super::tree::Listed;
use super::wire::{broken, digest_from, error_of, kind, place_from, sum_from, within, Wire, CHUNK};
use crate::connection::{Address, Stream};
use crate::dirs::Place;
use crate::image::Digest;
use crate::lock::lock;
use crate::term::Claim;

/// How many unused connections are kept; more are closed.
const KEPT: usize = 16;

/// An agent as its client sees it.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) address: Address,
    limit: Duration,
    /// the term of this router, if there are two
    claim: Option<Arc<Claim>>,
    idle: Mutex<Vec<Wire>>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

/// Why there is no answer.
enum NoAnswer {
    /// The agent sent this error; the connection can be used again.
    Said(io::Error),
    /// The connection failed.
    Lost(io::Error),
}

impl From<NoAnswer> for io::Error {
    fn from(failure: NoAnswer) -> io::Error {
        match failure {
            NoAnswer::Said(error) | NoAnswer::Lost(error) => error,
        }
    }
}

impl Remote {
    pub(crate) fn new(address: Address, limit: Duration) -> Remote {
        Remote {
            address,
            limit,
            claim: None,
            idle: Mutex::default(),
        }
    }

    /// Returns the same agent, which is told the term of this router before anything else.
    pub(crate) fn claiming(&self, claim: Arc<Claim>) -> Remote {
        Remote {
            claim: Some(claim),
            ..Remote::new(self.address.clone(), self.limit)
        }
    }

    /// Asks the agent whether it knows a higher term, which is an error. Returns false if this
    /// router has no term.
    pub(crate) async fn claim(&self) -> io::Result<bool> {
        let Some(claim) = &self.claim else {
            return Ok(false);
        };
        let term = bytes_of(claim.term());
        let (wire, (_, body)) = self.begin(kind::TERM, &[&term]).await?;
        self.keep(wire);
        heard(claim, &body).map(|()| true)
    }

    /// Calls `each` with the name and the size of every RRD.
    pub(crate) async fn list(&self, mut each: impl FnMut(Vec<u8>, u64)) -> io::Result<Listed> {
        // `begin` tries again when a kept connection was closed meanwhile; nothing was listed
        // before that
        let (mut wire, mut frame) = self.begin(kind::LIST, &[]).await?;
        loop {
            match frame {
                (kind::ENTRIES, body) => Entries(body)
                    .read(&mut each)
                    .ok_or_else(|| broken("an answer that is not a list"))?,
                (_, body) => {
                    let numbers = || {
                        let (files, rest) = body.split_first_chunk()?;
                        let (left_out, example) = rest.split_first_chunk()?;
                        let left_out = u64::from_le_bytes(*left_out);
                        Some(Listed {
                            files: u64::from_le_bytes(*files),
                            left_out,
                            example: (!example.is_empty()).then(|| example.to_vec()),
                        })
                    };
                    let whole = |listed: &Listed| listed.example.is_some() == (listed.left_out > 0);
                    let listed = numbers().filter(whole);
                    let listed =
                        listed.ok_or_else(|| broken("an answer that is not the end of a list"))?;
                    self.keep(wire);
                    return Ok(listed);
                }
            }
            frame = answer(&mut wire).await?;
        }
    }

    /// Returns the RRDs that come after this name.
    pub(crate) async fn page(&self, after: &[u8], most: u32) -> io::Result<Page> {
        let (mut wire, mut frame) = self
            .begin(kind::PAGE, &[&most.to_le_bytes(), after])
            .await?;
        let mut page = Page::default();
        loop {
            match frame {
                (kind::ENTRIES, body) => Entries(body)
                    .read(&mut |name, _| page.names.push(name))
                    .ok_or_else(|| broken("an answer that is not a list"))?,
                (_, body) => {
                    let mut end = || {
                        let (left_out, rest) = body.split_first_chunk()?;
                        let (length, rest) = rest.split_first_chunk()?;
                        let (example, rest) =
                            rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                        page.left_out = u64::from_le_bytes(*left_out);
                        page.example = (!example.is_empty()).then(|| example.to_vec());
                        page.next = match rest {
                            [] => None,
                            [1, next @ ..] => Some(next.to_vec()),
                            _ => return None,
                        };
                        (page.example.is_some() == (page.left_out > 0)).then_some(())
                    };
                    end().ok_or_else(|| broken("an answer that is not the end of a page"))?;
                    self.keep(wire);
                    return Ok(page);
                }
            }
            frame = answer(&mut wire).await?;
        }
    }

    pub(crate) async fn place(&self) -> io::Result<Place> {
        let (wire, (_, body)) = self.begin(kind::PLACE, &[]).await?;
        let place = place_from(&body)?;
        self.keep(wire);
        Ok(place)
    }

    pub(crate) async fn digest(&self, name: &[u8]) -> io::Result<Option<Digest>> {
        let (wire, (_, body)) = self.begin(kind::DIGEST, &[name]).await?;
        let digest = match &body[..] {
            [] => None,
            body => Some(digest_from(body)?),
        };
        self.keep(wire);
        Ok(digest)
    }

    pub(crate) async fn sum(&self, name: &[u8]) -> io::Result<Option<Sum>> {
        let (wire, (_, body)) = self.begin(kind::SUM, &[name]).await?;
        let sum = if body.is_empty() {
            None
        } else {
            Some(sum_from(&body)?)
        };
        self.keep(wire);
        Ok(sum)
    }

    pub(crate) async fn remove(&self, name: &[u8]) -> io::Result<bool> {
        let (wire, (_, body)) = self.begin(kind::REMOVE, &[name]).await?;
        let removed = match body[..] {
            [number @ (0 | 1)] => number == 1,
            _ => return Err(broken("an answer that is neither yes nor no")),
        };
        self.keep(wire);
        Ok(removed)
    }

    /// Opens an RRD for reading. Returns it with its mode bits, or `None` if it does not exist.
    pub(crate) async fn open(&self, name: &[u8]) -> io::Result<Option<(RemoteReading<'_>, u32)>> {
        let (wire, (_, body)) = self.begin(kind::GET, &[name]).await?;
        if body.is_empty() {
            self.keep(wire);
            return Ok(None);
        }
        let mode = body[..]
            .try_into()
            .map_err(|_| broken("an answer that is not the mode of a file"))?;
        Ok(Some((
            RemoteReading {
                remote: self,
                wire: Some(wire),
            },
            u32::from_le_bytes(mode),
        )))
    }

    /// Begins to write a file.
    pub(crate) async fn create(&self, name: &[u8], mode: u32) -> io::Result<RemoteWriting<'_>> {
        let (wire, _) = self.begin(kind::PUT, &[&mode.to_le_bytes(), name]).await?;
        Ok(RemoteWriting { remote: self, wire })
    }

    /// Sends the first frame of a request and returns the answer. The request must be one that may
    /// safely be sent twice.
    async fn begin(&self, kind: u8, body: &[&[u8]]) -> io::Result<(Wire, (u8, Vec<u8>))> {
        loop {
            let kept = lock(&self.idle).pop();
            let old = kept.is_some();
            let mut wire = match kept {
                Some(wire) => wire,
                None => self.connect().await?,
            };
            match ask(&mut wire, kind, body).await {
                Ok(answer) => return Ok((wire, answer)),
                Err(NoAnswer::Said(error)) => {
                    self.keep(wire);
                    return Err(error);
                }
                // since this connection was last used, the agent was restarted or has closed it as
                // silent
                Err(NoAnswer::Lost(error)) if old && error.kind() != io::ErrorKind::TimedOut => {}
                Err(NoAnswer::Lost(error)) => return Err(error),
            }
        }
    }

    async fn connect(&self) -> io::Result<Wire> {
        let stream = within(self.limit, Stream::connect(&self.address))
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("cannot connect: {error}")))?;
        let mut wire = Wire::open(stream, self.limit).await?;
        if let Some(claim) = &self.claim {
            let term = bytes_of(claim.term());
            let answer = ask(&mut wire, kind::TERM, &[&term]).await;
            let (_, body) = answer.map_err(|error| match error {
                NoAnswer::Said(error) if error.kind() == io::ErrorKind::InvalidData => {
                    broken("this agent knows no terms, which two routers need: upgrade it")
                }
                error => error.into(),
            })?;
            heard(claim, &body)?;
        }
        Ok(wire)
    }

    fn keep(&self, wire: Wire) {
        let mut idle = lock(&self.idle);
        if idle.len() < KEPT {
            idle.push(wire);
        }
    }
}

/// Takes the highest term that an agent knows.
fn heard(claim: &Claim, body: &[u8]) -> io::Result<()> {
    let other = term_from(body)?;
    match claim.hear(other) {
        false => Ok(()),
        true => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("another router is the primary since {other}"),
        )),
    }
}

/// A file of the agent that is being read. If this is dropped before the end, the connection is
/// closed.
pub(crate) struct RemoteReading<'a> {
    remote: &'a Remote,
    /// `None` after the end of the file.
    wire: Option<Wire>,
}

impl RemoteReading<'_> {
    /// Reads the next `want` bytes, and fewer only at the end. A request for 0 bytes shows the
    /// agent that the client is alive.
    pub(crate) async fn more(&mut self, want: usize) -> io::Result<Vec<u8>> {
        debug_assert!(want <= CHUNK);
        let Some(wire) = &mut self.wire else {
            return Ok(Vec::new());
        };
        let (_, bytes) = ask(wire, kind::MORE, &[&(want as u32).to_le_bytes()]).await?;
        if bytes.len() > want {
            return Err(broken("more bytes than were asked for"));
        }
        if bytes.len() < want {
            self.wire
                .take()
                .into_iter()
                .for_each(|wire| self.remote.keep(wire));
        }
        Ok(bytes)
    }
}

/// A file of the agent that is being written. If this is dropped before it is committed, the agent
/// removes what it has of the file.
pub(crate) struct RemoteWriting<'a> {
    remote: &'a Remote,
    wire: Wire,
}

impl RemoteWriting<'_> {
    /// Appends bytes. An error in writing them, such as a full disk, is returned by
    /// [`verify`](Self::verify).
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wire.send(kind::DATA, &[bytes]).await
    }

    /// Lets the agent sync the file to disk and read it back.
    pub(crate) async fn verify(&mut self) -> io::Result<Sum> {
        sum_from(&ask(&mut self.wire, kind::VERIFY, &[]).await?.1)
    }

    /// Lets the agent put the file in its place.
    pub(crate) async fn commit(mut self) -> io::Result<()> {
        ask(&mut self.wire, kind::COMMIT, &[]).await?;
        self.remote.keep(self.wire);
        Ok(())
    }
}

async fn ask(wire: &mut Wire, kind: u8, body: &[&[u8]]) -> Result<(u8, Vec<u8>), NoAnswer> {
    wire.send(kind, body).await.map_err(NoAnswer::Lost)?;
    answer(wire).await
}

async fn answer(wire: &mut Wire) -> Result<(u8, Vec<u8>), NoAnswer> {
    match wire.receive().await {
        Ok(Some((kind::ERROR, body))) => Err(NoAnswer::Said(error_of(&body))),
        Ok(Some(frame @ (kind::DONE | kind::ENTRIES, _))) => Ok(frame),
        Ok(Some(_)) => Err(NoAnswer::Lost(broken("an answer of an unknown kind"))),
        Ok(None) => Err(NoAnswer::Lost(io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(NoAnswer::Lost(error)),
    }
}
