//! The files of one rrdcached, and how they are copied to another.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use twox_hash::XxHash3_128;

use super::below::{named, parts, Sum};
use super::entries;
use super::rate::Rate;
use super::remote::{Remote, RemoteReading, RemoteWriting};
use super::tree::{Listed, Reading, Tree};
use super::wire::CHUNK;
use super::writing::Writing;
use crate::connection::Address;
use crate::term::Claim;

/// How long an agent may take to answer. It is silent only while it works on one file, which may
/// have some gigabytes on a slow disk.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a waiting copy shows both sides that it is alive. It is far less than the time after
/// which an agent disconnects a silent client.
const ALIVE: Duration = Duration::from_secs(10);

/// The RRD files of one rrdcached, reached through a directory or an agent. Cloning is cheap, and
/// clones share their connections.
///
/// A name is a path relative to the directory: parts with one slash between them, none of them
/// `..`. Every error names the place and the file.
#[derive(Clone, Debug)]
pub struct Files(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Directory(Tree),
    Agent(Arc<Remote>),
}

/// A file that has been copied and is on disk at its new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its XXH3-128. It was the same when the source was read, in the file at the destination, and
    /// when the source was read again.
    pub sum: u128,
}

impl Files {
    /// Parses `/directory`, `unix:/path`, `host:port` or `tls:host:port`. The error says what is
    /// wrong.
    pub fn parse(text: &str) -> Result<Files, String> {
        if text.starts_with('/') {
            return Ok(Files::directory(text));
        }
        let address = Address::parse(text).map_err(|_| {
            format!(
                "{text:?} is not a place of files: write /directory, or unix:/path, host:port or \
                tls:host:port of its agent"
            )
        });
        address.map(Files::agent)
    }

    /// Returns the files below a directory that this machine sees.
    pub fn directory(base: impl Into<PathBuf>) -> Files {
        Files(Kind::Directory(Tree { base: base.into() }))
    }

    /// Returns the files of an agent.
    pub fn agent(address: Address) -> Files {
        Files::agent_within(address, LIMIT)
    }

    /// Returns the files of an agent, each of whose answers may take as long as `limit`.
    pub fn agent_within(address: Address, limit: Duration) -> Files {
        Files(Kind::Agent(Arc::new(Remote::new(address, limit))))
    }

    /// Returns the same files. If an agent has them, it is told the term of this router.
    pub fn claiming(self, claim: &Arc<Claim>) -> Files {
        Files(match self.0 {
            Kind::Agent(remote) => Kind::Agent(Arc::new(remote.claiming(Arc::clone(claim)))),
            directory => directory,
        })
    }

    /// Asks the agent whether it knows a higher term than that of this router, which is an error of
    /// the kind `PermissionDenied`. Returns false if there is no agent or no term.
    pub async fn claim(&self) -> io::Result<bool> {
        match &self.0 {
            Kind::Directory(_) => Ok(false),
            Kind::Agent(remote) => self.said(remote.claim().await),
        }
    }

    /// Calls `each` with the name and the size of every RRD while it finds them, in no particular
    /// order. An RRD is any regular file that begins as one. Links are not followed. Temporary
    /// files that a killed copy left behind are removed.
    ///
    /// While rrdtool makes a file, the file has another name for a moment. That name may be listed,
    /// too; it is gone afterwards, which is no error.
    pub async fn list(&self, mut each: impl FnMut(Vec<u8>, u64)) -> io::Result<Listed> {
        let listed = match &self.0 {
            Kind::Directory(tree) => {
                let (mut pieces, task) = entries::list(tree.clone(), true);
                while let Some(piece) = pieces.recv().await {
                    piece
                        .read(&mut each)
                        .ok_or_else(|| io::Error::other("a fault in the listing"))?;
                }
                task.await.unwrap_or_else(|_| Err(fault()))
            }
            Kind::Agent(remote) => remote.list(each).await,
        };
        self.said(listed)
    }

    /// Returns the size and the XXH3-128 of a file, or `None` if it does not exist.
    pub async fn sum(&self, name: &[u8]) -> io::Result<Option<(u64, u128)>> {
        let name = checked(name)?;
        self.said(match &self.0 {
            Kind::Directory(tree) => {
                let tree = tree.clone();
                blocking(move || tree.sum(&name)).await
            }
            Kind::Agent(remote) => remote.sum(&name).await,
        })
    }

    /// Removes an RRD and the directories that become empty, but never the base. Returns false if
    /// the file does not exist.
    ///
    /// If the connection is lost between the removal and the answer, the request is sent again and
    /// returns false.
    pub async fn remove(&self, name: &[u8]) -> io::Result<bool> {
        let name = checked(name)?;
        self.said(match &self.0 {
            Kind::Directory(tree) => {
                let tree = tree.clone();
                blocking(move || tree.remove(&name)).await
            }
            Kind::Agent(remote) => remote.remove(&name).await,
        })
    }

    /// Copies an RRD, with its mode bits, to the same name at the destination, replacing any file
    /// there. When this returns, the copy is on disk, and has been read back and compared. Until
    /// then, and after an error, the destination keeps what it had, with one exception: if a step
    /// after the renaming fails, the whole new file is there, but may not survive a power cut.
    ///
    /// If the file changes during the copy, the error has the kind `ResourceBusy`; if the
    /// destination has no space, `StorageFull`; if the source does not exist, `NotFound`. If this
    /// future is dropped, nothing remains at the destination.
    pub async fn copy(from: &Files, to: &Files, name: &[u8], rate: &Rate) -> io::Result<Copied> {
        let (mut source, mode) = from.said(from.open(name).await)?;
        let mut target = to.said(to.create(name, mode).await)?;
        let (mut bytes, mut hash) = (0, XxHash3_128::new());
        loop {
            let chunk = from.said(source.more(CHUNK).await)?;
            let last = chunk.len() < CHUNK;
            bytes += chunk.len() as u64;
            hash.write(&chunk);
            if let Some(turn) = rate.take(chunk.len() as u64) {
                while let Some(rest) = turn
                    .checked_duration_since(Instant::now())
                    .filter(|rest| !rest.is_zero())
                {
                    tokio::time::sleep(rest.min(ALIVE)).await;
                    from.said(source.alive().await)?;
                    to.said(target.alive().await)?;
                }
            }
            to.said(target.write(chunk).await)?;
            if last {
                break;
            }
        }
        let sum = hash.finish_128();
        if to.said(target.verify().await)? != (bytes, sum) {
            return to.said(Err(named(
                name,
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    "arrived different from what was read",
                ),
            )));
        }
        drop(source);
        if from.sum(name).await? != Some((bytes, sum)) {
            let text = "somebody changed the file while it was copied; copy it again";
            return from.said(Err(named(
                name,
                io::Error::new(io::ErrorKind::ResourceBusy, text),
            )));
        }
        to.said(target.commit().await)?;
        Ok(Copied { bytes, sum })
    }

    pub(super) async fn open(&self, name: &[u8]) -> io::Result<(Origin<'_>, u32)> {
        let name = checked(name)?;
        let none = named(
            &name,
            io::Error::new(io::ErrorKind::NotFound, "no such file"),
        );
        match &self.0 {
            Kind::Directory(tree) => {
                let tree = tree.clone();
                let reading = blocking(move || tree.open(&name)).await?.ok_or(none)?;
                let mode = reading.mode;
                Ok((Origin::Directory(Some(reading)), mode))
            }
            Kind::Agent(remote) => {
                let (reading, mode) = remote.open(&name).await?.ok_or(none)?;
                Ok((Origin::Agent(reading), mode))
            }
        }
    }

    pub(super) async fn create(&self, name: &[u8], mode: u32) -> io::Result<Target<'_>> {
        let name = checked(name)?;
        match &self.0 {
            Kind::Directory(tree) => {
                let tree = tree.clone();
                blocking(move || tree.create(&name, mode))
                    .await
                    .map(|writing| Target::Directory(Some(writing)))
            }
            Kind::Agent(remote) => remote.create(&name, mode).await.map(Target::Agent),
        }
    }

    /// Adds to an error where it happened.
    pub(super) fn said<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| io::Error::new(error.kind(), format!("{self}: {error}")))
    }
}

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Directory(tree) => write!(f, "{}", tree.base.display()),
            Kind::Agent(remote) => remote.address.fmt(f),
        }
    }
}

pub(super) enum Origin<'a> {
    /// `None` while a thread works with it.
    Directory(Option<Reading>),
    Agent(RemoteReading<'a>),
}

impl Origin<'_> {
    pub(super) async fn more(&mut self, want: usize) -> io::Result<Vec<u8>> {
        match self {
            Origin::Directory(place) => work(place, move |reading| reading.more(want)).await,
            Origin::Agent(reading) => reading.more(want).await,
        }
    }

    async fn alive(&mut self) -> io::Result<()> {
        match self {
            Origin::Directory(_) => Ok(()),
            Origin::Agent(reading) => reading.more(0).await.map(drop),
        }
    }
}

pub(super) enum Target<'a> {
    /// `None` while a thread works with it.
    Directory(Option<Writing>),
    Agent(RemoteWriting<'a>),
}

impl Target<'_> {
    pub(super) async fn write(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        match self {
            Target::Directory(place) => work(place, move |writing| writing.write(&bytes)).await,
            Target::Agent(writing) => writing.write(&bytes).await,
        }
    }

    async fn alive(&mut self) -> io::Result<()> {
        match self {
            Target::Directory(_) => Ok(()),
            Target::Agent(writing) => writing.write(&[]).await,
        }
    }

    pub(super) async fn verify(&mut self) -> io::Result<Sum> {
        match self {
            Target::Directory(place) => work(place, Writing::verify).await,
            Target::Agent(writing) => writing.verify().await,
        }
    }

    pub(super) async fn commit(self) -> io::Result<()> {
        match self {
            Target::Directory(place) => {
                let writing = place.ok_or_else(fault)?;
                blocking(move || writing.commit()).await
            }
            Target::Agent(writing) => writing.commit().await,
        }
    }
}

/// Returns the name if it is valid.
pub(super) fn checked(name: &[u8]) -> io::Result<Vec<u8>> {
    parts(name)?;
    Ok(name.to_vec())
}

/// Runs blocking work on a thread for such work. The content of `place` is lent to it and put back.
pub(crate) async fn work<S, T>(
    place: &mut Option<S>,
    work: impl FnOnce(&mut S) -> io::Result<T> + Send + 'static,
) -> io::Result<T>
where
    S: Send + 'static,
    T: Send + 'static,
{
    let mut state = place.take().ok_or_else(fault)?;
    let (state, result) = blocking(move || {
        let result = work(&mut state);
        Ok((state, result))
    })
    .await?;
    *place = Some(state);
    result
}

/// Runs blocking work on a thread for such work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(fault()))
}

fn fault() -> io::Error {
    io::Error::other("a fault in the work on a file")
}
