//! Makes the copies of one file equal, so that no copy lacks a value that another one had.
//!
//! Of three copies, one may be at a backend that is away. The others are made equal without it,
//! since no copy is ever outvoted: a value that only one of them knows goes into all, whatever the
//! others say. When the backend is back, its copy is judged against the others in the same way, so
//! what only it has is not lost, and what it lacks it gets.
//!
//! Only where copies know different values for the same time does one of them win: one that is
//! trusted before one that is not. So if none of those that are there is trusted, they stay in the
//! repair queue until all are there. The copy that is away may be the one to trust.

use super::agreeing::{arrived, files_of};
use super::carrying::{forget, Held, Mover};
use super::judging::{judge, to_replace, Content, Verdict};
use super::looking::all_equal;
use crate::health::Health;
use crate::image::{joined, Digest};
use crate::layout::BackendId;

/// A backend that a file was copied to, and how many bytes the file has.
pub(super) type Copied = (BackendId, u64);

impl Mover {
    /// Compares these copies of a file. Replaces those that differ by one that lacks nothing, or
    /// all by a file that has the values of all. The copy at `doubted` is not trusted, and neither
    /// are those in the repair queue, or at a backend that was not compared since its address
    /// changed: where copies know different values, theirs are not taken.
    ///
    /// Returns what was copied: nothing if the copies are equal.
    pub(super) async fn mend(
        &self,
        name: &[u8],
        copies: &[BackendId],
        doubted: Option<BackendId>,
    ) -> Result<Vec<Copied>, String> {
        let shared = self.router.shared();
        let held = Held::new(&self.router, name).await?;
        let now = shared.layout().now(name);
        if copies.iter().any(|id| !now.contains(id)) {
            return Err("it has moved meanwhile".to_owned());
        }
        let seen = self.steady(name, copies).await?;
        if all_equal(&seen) {
            return Ok(Vec::new());
        }
        let contents = self.contents(name, copies, &seen).await?;
        let doubts: Vec<bool> = copies
            .iter()
            .map(|id| doubted == Some(*id) || shared.repairs.doubts(name, *id))
            .collect();
        let verdict = judge(&contents, &doubts);
        let copied = match &verdict {
            Verdict::Equal => return Ok(Vec::new()),
            Verdict::Stuck(why) => return Err((*why).to_owned()),
            Verdict::Take(source) => {
                let targets = to_replace(&contents, &verdict);
                let targets: Vec<BackendId> = targets.into_iter().map(|at| copies[at]).collect();
                let bytes = self.carry(name, &[copies[*source]], &targets).await?;
                let each = bytes / targets.len().max(1) as u64;
                targets.into_iter().map(|target| (target, each)).collect()
            }
            Verdict::Join(order) => self.put_joined(name, copies, &contents, order).await?,
        };
        if self.stays_in_doubt(name, copies).is_none() {
            for place in copies {
                shared.repairs.made_equal(name, *place);
            }
        }
        shared.known.forget(name);
        drop(held);
        Ok(copied)
    }

    /// Makes the copies of a file equal because the one at this backend may lack values: all, or
    /// those that are up. An error says why the copy stays in the repair queue.
    pub(super) async fn mend_doubtful(
        &self,
        name: &[u8],
        id: BackendId,
    ) -> Result<Vec<Copied>, String> {
        let all = self.router.shared().layout().now(name);
        let (up, _) = self.up_and_away(&all);
        if up.len() < 2 || !up.contains(&id) {
            return self.mend(name, &all, None).await;
        }
        let copied = self.mend(name, &up, None).await?;
        self.stays_in_doubt(name, &up).map_or(Ok(copied), Err)
    }

    /// Returns why these copies of a file stay in doubt after they were made equal, or `None` if
    /// they do not. They do if each of them was in doubt, and the file has one more copy, which
    /// could not be compared.
    fn stays_in_doubt(&self, name: &[u8], copies: &[BackendId]) -> Option<String> {
        let shared = self.router.shared();
        if copies.iter().any(|id| !shared.repairs.doubts(name, *id)) {
            return None;
        }
        let all = shared.layout().now(name);
        let away = all.into_iter().find(|id| !copies.contains(id))?;
        let away = self.router.backends.get(away);
        Some(format!(
            "{} is not up; the other copies were compared, and are compared with it when it is",
            away.name()
        ))
    }

    /// Makes the copies of a file equal that this backend should have. The others must be up to be
    /// compared with it. Returns how many bytes were copied.
    pub(super) async fn mend_one(&self, name: &[u8], id: BackendId) -> Result<u64, String> {
        let now = self.router.shared().layout().now(name);
        if !now.contains(&id) {
            return Ok(0); // it has moved away meanwhile
        }
        let usable = |other: &BackendId| {
            let backend = self.router.backends.get(*other);
            *other == id || (backend.health() == Health::Up && backend.files().is_some())
        };
        let copies: Vec<BackendId> = now.into_iter().filter(usable).collect();
        if copies.len() < 2 {
            return Err("no other server of the file is up".to_owned());
        }
        let copied = self.mend(name, &copies, Some(id)).await?;
        Ok(copied.into_iter().map(|(_, bytes)| bytes).sum())
    }

    /// Joins the copies, in the order of preference, and puts the result in the place of all that
    /// differ from it.
    async fn put_joined(
        &self,
        name: &[u8],
        copies: &[BackendId],
        contents: &[Content],
        order: &[usize],
    ) -> Result<Vec<Copied>, String> {
        let readable: Vec<(&[u8], u32)> = order
            .iter()
            .filter_map(|at| match &contents[*at] {
                Content::Read { bytes, mode, .. } => Some((&bytes[..], *mode)),
                _ => None,
            })
            .collect();
        let all: Vec<&[u8]> = readable.iter().map(|(bytes, _)| *bytes).collect();
        let (Some(file), Some((_, mode))) = (joined(&all), readable.first()) else {
            return Err("the copies cannot be merged".to_owned());
        };
        let digest = Digest::of(&file);
        let mut copied = Vec::new();
        for (id, content) in copies.iter().zip(contents) {
            let mode = match content {
                Content::Read { bytes, .. } if Digest::of(bytes) == digest => continue,
                Content::Read { mode, .. } => *mode,
                _ => *mode,
            };
            let backend = self.router.backends.get(*id);
            forget(&backend, name).await?;
            let put = files_of(&backend)?.put(name, mode, &file).await;
            put.map_err(|error| format!("{}: {error}", backend.name()))?;
            arrived(&backend, name).await?;
            copied.push((*id, file.len() as u64));
        }
        Ok(copied)
    }
}
