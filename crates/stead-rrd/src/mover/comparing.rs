//! Compares the copies of one file.
//!
//! The first look disturbs nobody. Updates that come meanwhile can make the copies seem different,
//! so a second look follows then, while the file's writes are held. What differs even so is judged
//! and put into the repair queue.

use std::time::Duration;

use super::carrying::{Held, Mover};
use super::judging::{described, judge, to_replace, Content, Verdict};
use super::looking::all_equal;
use super::straying::Stray;
use crate::image::Digest;
use crate::layout::{BackendId, Copies};
use crate::repairs::Need;

/// How long rrdtool may take to make a file, under another name.
const MAKING: Duration = Duration::from_secs(2);

/// What was found of a file.
#[derive(Default)]
pub(super) struct Compared {
    /// What differs, in one line.
    pub(super) differs: Option<String>,
    /// Whether it is only where the map does not place it.
    pub(super) misplaced: bool,
    /// Why it, or a copy of it, could not be compared.
    pub(super) skipped: Option<String>,
    /// The backend of a copy that is not up. The others were compared if there are at least two.
    pub(super) away: Option<BackendId>,
    /// The copies where the map does not place them.
    pub(super) strays: Vec<Stray>,
    /// The size of the copies that were read.
    pub(super) bytes: u64,
}

impl Mover {
    /// Compares the copies of a file that was found at these backends.
    pub(super) async fn compare(&self, name: &[u8], at: &Copies) -> Compared {
        let mut compared = Compared::default();
        if let Err(reason) = self.try_compare(name, at, &mut compared).await {
            compared.skipped = Some(reason);
        }
        compared
    }

    async fn try_compare(
        &self,
        name: &[u8],
        at: &Copies,
        compared: &mut Compared,
    ) -> Result<(), String> {
        let all = self.router.shared().layout().now(name);
        let (copies, away) = self.up_and_away(&all);
        compared.away = away.first().copied();
        if !away.is_empty() && copies.len() < 2 {
            return Err(self.not_up(&away));
        }
        if !away.is_empty() {
            let (away, others) = (self.not_up(&away), self.names(&copies).join(" and "));
            compared.skipped = Some(format!("{away}; the copies on {others} were compared"));
        }
        let first = self.seen(name, &copies, false).await;
        let sizes =
            |seen: &[Option<Digest>]| seen.iter().flatten().map(|copy| copy.bytes).sum::<u64>();
        let equal = first.as_ref().is_ok_and(|seen| all_equal(seen));
        let exists = first
            .as_ref()
            .is_ok_and(|seen| seen.iter().any(Option::is_some));
        compared.bytes = first.as_ref().map_or(0, |seen| sizes(seen));
        let strays = self.strays(name, at).await;
        if exists || first.is_err() {
            compared.strays = self.judged(name, strays.clone()).await;
        }
        if equal && (exists || strays.is_empty()) {
            return Ok(());
        }
        let file = String::from_utf8_lossy(name);
        tracing::debug!(
            file = &*file,
            "{file} is looked at again while its writes are held"
        );
        let mut held = Held::new(&self.router, name).await?;
        if self.router.shared().layout().now(name) != all {
            return Err("it has moved meanwhile".to_owned());
        }
        let mut seen = self.steady(name, &copies).await?;
        if seen.iter().any(Option::is_none) && seen.iter().any(Option::is_some) {
            // perhaps the other name of a file that rrdtool is making
            drop(held);
            tokio::time::sleep(MAKING).await;
            held = Held::new(&self.router, name).await?;
            seen = self.steady(name, &copies).await?;
        }
        compared.bytes += sizes(&seen);
        if seen.iter().all(Option::is_none) {
            drop(held);
            if !away.is_empty() {
                return Err(self.not_up(&away)); // the copy there may be the only one
            }
            let strays = self.strays(name, at).await;
            if !strays.is_empty() {
                compared.differs = Some(format!(
                    "only {} has it, where the map does not place it, so that nobody can read it: \
                    copy it to {}, or remove it",
                    self.names(&strays).join(", "),
                    self.names(&copies).join(", ")
                ));
                (compared.strays, compared.misplaced) = (Vec::new(), true);
            }
            return Ok(());
        }
        if all_equal(&seen) {
            return Ok(());
        }
        let contents = self.contents(name, &copies, &seen).await?;
        let repairs = &self.router.shared().repairs;
        let doubted: Vec<bool> = copies.iter().map(|id| repairs.doubts(name, *id)).collect();
        let verdict = judge(&contents, &doubted);
        compared.differs = Some(described(&contents, &self.names(&copies), &verdict));
        // the repair holds the writes, too
        drop(held);
        for index in to_replace(&contents, &verdict) {
            let need = match &contents[index] {
                Content::Missing => Need::Missing,
                _ => Need::Doubtful,
            };
            repairs.add(name, copies[index], need);
        }
        if let Verdict::Join(_) = verdict {
            // what is merged is judged again with this copy, and none of them is trusted more
            for id in away {
                repairs.add(name, id, Need::Doubtful);
            }
        }
        Ok(())
    }

    fn not_up(&self, away: &[BackendId]) -> String {
        let is = if away.len() == 1 { "is" } else { "are" };
        format!("{} {is} not up", self.names(away).join(" and "))
    }

    fn names(&self, copies: &[BackendId]) -> Vec<String> {
        let name = |id: &BackendId| self.router.backends.get(*id).name().to_owned();
        copies.iter().map(name).collect()
    }
}
