//! Looks at the copies of one file: at their digests, which is cheap, and at all of their content.

use std::time::Duration;

use tokio::task::JoinSet;

use super::agreeing::{agreed, files_of};
use super::carrying::Mover;
use super::judging::Content;
use crate::files::MOST_BYTES;
use crate::health::Health;
use crate::image::{is_foreign, Digest, Image};
use crate::layout::{BackendId, Copies};

/// The pause between two looks at copies that differ. While rrdcached writes a file, it says that
/// nothing waits for the file, although a part of the file is still old. So two copies differ only
/// if two looks find the same.
const STEADY: Duration = Duration::from_millis(100);

/// How often copies are looked at that keep changing.
const LOOKS: u32 = 20;

/// Returns whether all copies are RRDs and equal, or none exists.
pub(super) fn all_equal(seen: &[Option<Digest>]) -> bool {
    let good = |copy: &Digest| copy.shape.is_some();
    seen.iter()
        .all(|copy| *copy == seen[0] && copy.as_ref().is_none_or(good))
}

impl Mover {
    /// Returns which of these copies are at backends that are up, and which are not.
    pub(super) fn up_and_away(&self, copies: &[BackendId]) -> (Copies, Copies) {
        let is_up = |id: &BackendId| self.router.backends.get(*id).health() == Health::Up;
        copies.iter().copied().partition(is_up)
    }

    /// Returns the digest of each copy on disk after a FLUSH, or `None` for a copy that does not
    /// exist. With `held`, the writes of the file are held.
    pub(super) async fn seen(
        &self,
        name: &[u8],
        copies: &[BackendId],
        held: bool,
    ) -> Result<Vec<Option<Digest>>, String> {
        let mut tasks = JoinSet::new();
        for (at, id) in copies.iter().enumerate() {
            let (backend, name) = (self.router.backends.get(*id), name.to_vec());
            tasks.spawn(async move {
                let look = agreed(&backend, &name, held).await;
                (
                    at,
                    look.map_err(|error| format!("{}: {error}", backend.name())),
                )
            });
        }
        let mut seen = vec![None; copies.len()];
        while let Some(done) = tasks.join_next().await {
            let (at, digest) = done.map_err(|error| error.to_string())?;
            seen[at] = digest?;
        }
        Ok(seen)
    }

    /// Returns the digests of the copies of a file whose writes are held. If they differ, two looks
    /// have found the same.
    pub(super) async fn steady(
        &self,
        name: &[u8],
        copies: &[BackendId],
    ) -> Result<Vec<Option<Digest>>, String> {
        let mut before = self.seen(name, copies, true).await?;
        for _ in 0..LOOKS {
            if all_equal(&before) {
                return Ok(before);
            }
            tokio::time::sleep(STEADY).await;
            let now = self.seen(name, copies, true).await?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
        Err("it keeps changing although its writes are held: does something else write it?".into())
    }

    /// Returns the content of the copies of a file whose writes are held, and whose digests are
    /// known.
    pub(super) async fn contents(
        &self,
        name: &[u8],
        copies: &[BackendId],
        seen: &[Option<Digest>],
    ) -> Result<Vec<Content>, String> {
        let mut contents = Vec::with_capacity(copies.len());
        for (id, digest) in copies.iter().zip(seen) {
            let Some(digest) = digest else {
                contents.push(Content::Missing);
                continue;
            };
            let backend = self.router.backends.get(*id);
            let read = files_of(&backend)?.read(name, MOST_BYTES).await;
            let (bytes, mode) = match read {
                Ok(read) => read,
                Err(_) if digest.shape.is_none() => {
                    contents.push(Content::Damaged);
                    continue;
                }
                Err(error) => return Err(format!("{}: {error}", backend.name())),
            };
            if is_foreign(&bytes) {
                contents.push(Content::Foreign);
                continue;
            }
            if Digest::of(&bytes) != *digest {
                return Err(format!("{}: somebody changes the file", backend.name()));
            }
            contents.push(match Image::read(&bytes) {
                Some(image) => Content::Read { bytes, mode, image },
                None => Content::Damaged,
            });
        }
        Ok(contents)
    }
}
