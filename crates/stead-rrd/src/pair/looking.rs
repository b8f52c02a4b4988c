//! The standby looks at its --map. It serves by none, but it would after a promotion, and by then
//! it is late to learn that the file is damaged, of another fleet, or old.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stead::Map;
use tokio::time::Instant;

use super::standby::Standby;
use crate::adopting::{meaning, Meaning};
use crate::lock::lock;
use crate::mapfile::{put_back_from, MapFile, LOOK};

/// How often the map is compared with those of the primary although its file is the same.
const AGAIN: Duration = Duration::from_secs(10);

/// How long something must be wrong before it is logged: a new map does not reach both machines in
/// the same moment.
const LASTING: Duration = Duration::from_secs(10);

/// What was wrong at the last looks.
#[derive(Default)]
struct Looks {
    /// why, and since when
    wrong: Option<(String, Instant)>,
    /// the reason that was logged
    told: Option<String>,
}

/// What is to be logged.
#[derive(Debug, PartialEq, Eq)]
enum News {
    Wrong(String),
    Well,
}

impl Looks {
    /// Takes what a look has found, and returns what is news.
    fn found(&mut self, wrong: Option<&str>, now: Instant) -> Option<News> {
        let Some(why) = wrong else {
            self.wrong = None;
            return self.told.take().map(|_| News::Well);
        };
        let since = match &self.wrong {
            Some((before, since)) if before == why => *since,
            _ => now,
        };
        self.wrong = Some((why.to_owned(), since));
        let is_news = now - since >= LASTING && self.told.as_deref() != Some(why);
        is_news.then(|| {
            self.told = Some(why.to_owned());
            News::Wrong(why.to_owned())
        })
    }
}

impl Standby {
    /// Looks at the map at this path again and again. Never returns.
    pub async fn watch_map(self: Arc<Self>, path: PathBuf) {
        let mut file = MapFile::new(&path);
        let (mut looks, mut looked) = (Looks::default(), None::<Instant>);
        loop {
            let is_same = file.has_changed().is_ok_and(|has_changed| !has_changed);
            if !is_same || looked.is_none_or(|looked| looked.elapsed() >= AGAIN) {
                let (this, path) = (Arc::clone(&self), path.clone());
                let found = tokio::task::spawn_blocking(move || this.look_at(&path)).await;
                *lock(&self.looked) = found.unwrap_or_else(|error| Err(error.to_string()));
                looked = Some(Instant::now());
            }
            let wrong = lock(&self.looked).clone().err();
            let path = path.display();
            match looks.found(wrong.as_deref(), Instant::now()) {
                Some(News::Wrong(error)) => tracing::warn!(
                    error,
                    "{path}: this map could not be taken up if this router became the primary: \
                    {error}"
                ),
                Some(News::Well) => tracing::info!("{path}: this map can be taken up"),
                None => {}
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the epoch of the map at this path if it would wait until files have moved. An error
    /// says why this router could not take it up if it became the primary now.
    pub(super) fn look_at(&self, path: &Path) -> Result<Option<u64>, String> {
        let settled = self.state.settled().map_err(|error| error.to_string())?;
        let target = self.state.target_map().map_err(|error| error.to_string())?;
        let map = Map::open_uncached(path).map_err(|error| {
            let newest = target.as_ref().or(settled.as_ref());
            let newest = newest.filter(|_| error.status() == stead::Status::NotFound);
            let dir = self.state.dir();
            let todo = newest.map(|map| put_back_from(dir, target.is_some(), map.epoch()));
            format!("{error}{}", todo.unwrap_or_default())
        })?;
        let Some(settled) = settled else {
            return Ok(None); // the primary has not sent its state yet
        };
        let meaning = meaning(&settled, target.as_ref(), &map)?;
        Ok(Some(map.epoch()).filter(|_| meaning == Meaning::Waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_told_once_and_its_end_too() {
        let mut looks = Looks::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let wrong = |why: &str| Some(News::Wrong(why.to_owned()));
        assert_eq!(looks.found(Some("old"), at(0)), None);
        assert_eq!(looks.found(Some("old"), at(9)), None);
        // it was put right in time
        assert_eq!(looks.found(None, at(9)), None);
        assert_eq!(looks.found(Some("old"), at(10)), None);
        assert_eq!(looks.found(Some("old"), at(20)), wrong("old"));
        assert_eq!(looks.found(Some("old"), at(40)), None);
        assert_eq!(looks.found(Some("foreign"), at(41)), None);
        assert_eq!(looks.found(Some("foreign"), at(51)), wrong("foreign"));
        assert_eq!(looks.found(None, at(52)), Some(News::Well));
        assert_eq!(looks.found(None, at(53)), None);
    }
}
