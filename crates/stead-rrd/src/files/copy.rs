//! Files beside one rrdcached or another, and the copy from here to there.

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

/// How long an agent may take for an answer. It is silent only while it works on one file: some
/// gigabytes, on a slow disk.
const LIMIT: Duration = Duration::from_secs(120);
/// How often both sides hear from a copy that has to wait for its turn; far below the time for
/// which an agent waits.
const ALIVE: Duration = Duration::from_secs(10);

/// The RRD files of one rrdcached: a directory, or an agent beside them. Cheap to clone; clones
/// share their connections.
///
/// A name is a path relative to the directory: parts with one slash between them, none of them
/// `..`. Every error says where it happened, and with which file.
#[derive(Clone, Debug)]
pub struct Files(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Directory(Tree),
    Agent(Arc<Remote>),
}

/// A file that is at its new place, on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its size.
    pub bytes: u64,
    /// Its XXH3-128, the same in what was read, in what stands at the destination, and in the
    /// source after that.
    pub sum: u128,
}

impl Files {
    /// Reads `/directory`, `unix:/path` or `host:port`; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Files, String> {
        if text.starts_with('/') {
            return Ok(Files::directory(text));
        }
        let address = Address::parse(text).map_err(|_| {
            format!(
                "{text:?} is no place of files: \
            write /directory, or unix:/path or host:port of its agent"
            )
        });
        address.map(Files::agent)
    }

    /// The files below a directory that this machine sees.
    pub fn directory(base: impl Into<PathBuf>) -> Files {
        Files(Kind::Directory(Tree { base: base.into() }))
    }

    /// The files beside an agent.
    pub fn agent(address: Address) -> Files {
        Files::agent_within(address, LIMIT)
    }

    /// The files beside an agent, of which each answer may take so long.
    pub fn agent_within(address: Address, limit: Duration) -> Files {
        Files(Kind::Agent(Arc::new(Remote::new(address, limit))))
    }

    /// Gives the name and the size of every RRD to `each`, in no order, while they are found: every
    /// regular file that begins as an RRD does. Links are not followed. Temporary files that a
    /// killed copy left are removed.
    ///
    /// While rrdtool makes a file, it has another name for a moment, which is given, too, and is no
    /// error: it is gone afterwards.
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

    /// The bytes and the XXH3-128 of a file; `None` when there is no such file.
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

    /// Removes an RRD, and the directories that became empty, but never the base; false when there
    /// is no such file.
    ///
    /// If the connection is lost between the removal and the answer, it is asked again, and the
    /// answer is false.
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

    /// Copies an RRD to the same name, with its mode bits, instead of the file that is there. When
    /// this returns, it is on disk there, and has been read back and compared; before, and after
    /// any error but one, what was there is there. The one: what comes after the renaming fails,
    /// and then the whole new file is there, and may not outlive a power cut.
    ///
    /// A file that changes meanwhile is an error of the kind `ResourceBusy`, a destination without
    /// room one of `StorageFull`, a source that is missing one of `NotFound`. If this future is
    /// dropped, nothing stays at the destination.
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
                io::Error::new(io::ErrorKind::InvalidData, "arrived other than it was read"),
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

    async fn open(&self, name: &[u8]) -> io::Result<(Origin<'_>, u32)> {
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

    async fn create(&self, name: &[u8], mode: u32) -> io::Result<Target<'_>> {
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

    /// The result, whose error says where it happened.
    fn said<T>(&self, result: io::Result<T>) -> io::Result<T> {
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

enum Origin<'a> {
    /// Here, unless it is at work.
    Directory(Option<Reading>),
    Agent(RemoteReading<'a>),
}

impl Origin<'_> {
    async fn more(&mut self, want: usize) -> io::Result<Vec<u8>> {
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

enum Target<'a> {
    /// Here, unless it is at work.
    Directory(Option<Writing>),
    Agent(RemoteWriting<'a>),
}

impl Target<'_> {
    async fn write(&mut self, bytes: Vec<u8>) -> io::Result<()> {
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

    async fn verify(&mut self) -> io::Result<Sum> {
        match self {
            Target::Directory(place) => work(place, Writing::verify).await,
            Target::Agent(writing) => writing.verify().await,
        }
    }

    async fn commit(self) -> io::Result<()> {
        match self {
            Target::Directory(place) => {
                let writing = place.ok_or_else(fault)?;
                blocking(move || writing.commit()).await
            }
            Target::Agent(writing) => writing.commit().await,
        }
    }
}

/// The name, when it can be one.
fn checked(name: &[u8]) -> io::Result<Vec<u8>> {
    parts(name)?;
    Ok(name.to_vec())
}

/// Does what blocks on a thread that may; what is in `place` is there again afterwards.
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

/// Does what blocks on a thread that may.
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
