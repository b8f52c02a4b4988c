//! Strays: copies of a file at backends where no map places it. One may be removed only if a right
//! copy has all that it has, so its content is compared.

use super::agreeing::files_of;
use super::carrying::{Held, Mover};
use super::judging::only_in;
use crate::health::Health;
use crate::layout::{BackendId, Copies};

/// A copy at a backend where no map places it, besides the right ones.
pub(super) struct Stray {
    /// The backend.
    pub(super) backend: String,
    /// What the right copies lack of it.
    pub(super) has: Only,
}

/// What only a stray has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Only {
    /// That many values, perhaps none.
    Values(usize),
    /// It is not known, for this reason.
    Unknown(String),
}

impl Stray {
    /// Returns whether it may be removed.
    pub(super) fn is_spare(&self) -> bool {
        self.has == Only::Values(0)
    }

    /// Says why it may not be removed.
    pub(super) fn described(&self) -> String {
        let what = match &self.has {
            Only::Values(0) => "with nothing that the right copies lack".to_owned(),
            Only::Values(1) => "with 1 value that the right copies lack".to_owned(),
            Only::Values(count) => format!("with {count} values that the right copies lack"),
            Only::Unknown(why) => format!("and it could not be compared: {why}"),
        };
        format!(
            "also on {}, where the map does not place it, {what}",
            self.backend
        )
    }
}

impl Mover {
    /// Returns the backends that have a copy although no map places it there.
    pub(super) async fn strays(&self, name: &[u8], at: &Copies) -> Vec<BackendId> {
        let ever = self.router.shared().layout().ever(name);
        let mut strays = Vec::new();
        for id in at.iter().filter(|id| !ever.contains(id)) {
            let Ok(files) = files_of(&self.router.backends.get(*id)) else {
                continue;
            };
            // while rrdtool makes a file, the file has another name for a moment
            if files.sum(name).await.is_ok_and(|sum| sum.is_some()) {
                strays.push(*id);
            }
        }
        strays
    }

    /// Compares these strays of a file with the right copies. Nobody may hold the writes of the
    /// file.
    pub(super) async fn judged(&self, name: &[u8], strays: Vec<BackendId>) -> Vec<Stray> {
        let mut judged = Vec::new();
        for id in strays {
            let backend = self.router.backends.get(id);
            let has = match self.only_there(name, id).await {
                Ok(count) => Only::Values(count),
                Err(_) if backend.health() != Health::Up => Only::Unknown("it is not up".into()),
                Err(why) => Only::Unknown(why),
            };
            judged.push(Stray {
                backend: backend.name().to_owned(),
                has,
            });
        }
        judged
    }

    /// Returns how many values this stray has that the right copies lack, of those that are up.
    async fn only_there(&self, name: &[u8], stray: BackendId) -> Result<usize, String> {
        let right = || self.up_and_away(&self.router.shared().layout().now(name)).0;
        let mut all = right();
        all.push(stray);
        // the first look disturbs nobody
        if let Some((own, right)) = self.seen(name, &all, false).await?.split_last() {
            if own.as_ref().is_some_and(|own| own.shape.is_some()) && right.contains(own) {
                return Ok(0);
            }
        }
        let held = Held::new(&self.router, name).await?;
        let mut all = right();
        all.push(stray);
        let seen = self.steady(name, &all).await?;
        let mut right = self.contents(name, &all, &seen).await?;
        drop(held);
        let own = right.pop();
        own.map_or(Ok(0), |own| only_in(&own, &right).map_err(str::to_owned))
    }
}
