//! Where a carry is: its state, what of its work is done, and which hosts it waits for.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use stead::Map;

use super::beside;
use super::journal::Journal;
use super::known_hosts;
use super::pass::Task;
use super::settings::Settings;
use super::tally::told_time;
use crate::confirm::{followers, lacking};
use crate::exit::Result;
use crate::hub::Hub;
use crate::metrics;
use crate::open::shared;
use crate::patience::hosts_have;

/// Where a carry is.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// The name of the map.
    pub name: String,
    /// The epoch here.
    pub epoch: u64,
    /// The hub's newest epoch.
    pub hub: Option<u64>,
    /// The state; null when no carry is open.
    pub state: Option<&'static str>,
    /// `forward` or `reverse`.
    pub direction: Option<&'static str>,
    /// The epoch of the map where the data was.
    pub from_epoch: Option<u64>,
    /// How many hosts are registered, carriers aside.
    pub hosts: usize,
    /// The hosts that have not confirmed the epoch here.
    pub waits_for: Vec<String>,
    /// The pass that is under way, or was when the last run ended.
    pub pass: Option<String>,
    /// How many items of it are done.
    pub done: u64,
    /// How many there are to do, where that was counted.
    pub total: Option<u64>,
    /// How many items of it the journal has under way. Of these, some may be done: `done` counts
    /// them when all that were begun together are.
    pub under_way: usize,
    /// How many seconds ago the journal was written; null where no pass is under way.
    pub noted_ago: Option<u64>,
    /// How many items of it failed.
    pub failed: usize,
    /// Whether `stead-sync carry run` is working on it now, on this machine.
    pub running: bool,
    /// The journal by which it works, if it is another one than that of this file of a carry: what
    /// is said of the pass is not known then. Also the journal of another user, which this one may
    /// not read, so that nobody can say here whether it works. Null otherwise.
    pub journal: Option<PathBuf>,
}

/// How many seconds ago a file was written; `None` where nobody can say.
fn age(file: &Path) -> Option<u64> {
    let written = fs::metadata(file).and_then(|meta| meta.modified()).ok()?;
    written.elapsed().ok().map(|age| age.as_secs())
}

impl Standing {
    /// Finds out where a carry is.
    pub fn of(settings: &Settings, hub: &dyn Hub) -> Result<Standing> {
        let map = Map::open_uncached(&settings.map)?;
        let head = hub.head()?;
        let hosts = shared(hub, &settings.url)?.hosts()?;
        let lacking = lacking(&hosts, head.as_ref(), map.epoch());
        let carry = map.carry();
        let story = match carry {
            Some(_) => Journal::peek(&settings.journal())?.unwrap_or_default(),
            None => Default::default(),
        };
        let pass = story.pass.filter(|(_, epoch)| *epoch == map.epoch());
        let pass = pass.map(|(pass, _)| pass);
        let is_verified = pass.as_deref() == Some(Task::Verify.word());
        let is_copied = pass.as_deref() == Some(Task::Copy.word());
        let flights = story.flights.values().filter(|_| is_copied);
        let own = beside::report(&known_hosts::carrier()?, settings);
        let other = beside::other_journal(&hosts, &own).filter(|_| carry.is_some());
        // of one that this user may not read, nobody can say here
        let (other, others_run) = match other.map(|other| (other, Journal::is_open(other))) {
            Some((other, Ok(true))) => (Some(other), true),
            Some((other, Err(_))) => (Some(other), false),
            Some((_, Ok(false))) | None => (None, false),
        };
        Ok(Standing {
            name: map.name().to_owned(),
            epoch: map.epoch(),
            hub: head.map(|head| head.epoch),
            state: carry.map(|carry| carry.state.word()),
            direction: carry.map(|carry| carry.direction()),
            from_epoch: carry.map(|carry| carry.from_epoch),
            hosts: followers(&hosts),
            waits_for: lacking
                .iter()
                .map(|host| host.report.host.clone())
                .collect(),
            noted_ago: pass.as_ref().and_then(|_| age(&settings.journal())),
            pass,
            done: story.done,
            under_way: flights.map(|(_, items)| items.len()).sum(),
            total: match is_verified {
                true => Task::Verify.total(story.total),
                false => story.total,
            },
            failed: story.failed.len(),
            running: carry.is_some() && (others_run || Journal::is_open(&settings.journal())?),
            journal: other.map(Path::to_owned),
        })
    }

    /// Returns it as metrics of the carry of this map file.
    pub fn metrics(&self, file: &Path) -> String {
        let state = match self.state {
            None => 0,
            Some("old") => 1,
            Some("both_old_first") => 2,
            Some("both_new_first") => 3,
            Some(_) => 4,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let count = |list: usize| list as u64;
        metrics::text(
            "stead_carry",
            &self.name,
            file,
            &[
                ("epoch", "gauge", "The epoch of the map here.", self.epoch),
                (
                    "state",
                    "gauge",
                    "0: no carry is open; 1: old; 2: both_old_first; 3: both_new_first; 4: new.",
                    state,
                ),
                (
                    "reversed",
                    "gauge",
                    "Whether the carry is being reversed.",
                    u64::from(self.direction == Some("reverse")),
                ),
                (
                    "running",
                    "gauge",
                    "Whether a run works on it on this machine.",
                    u64::from(self.running),
                ),
                (
                    "lacking_hosts",
                    "gauge",
                    "Hosts that have not confirmed the epoch.",
                    count(self.waits_for.len()),
                ),
                (
                    "done_items",
                    "gauge",
                    "Items of the pass under way that are done.",
                    self.done,
                ),
                (
                    "total_items",
                    "gauge",
                    "Items of the pass under way, about; 0 where nobody has counted.",
                    self.total.unwrap_or(0),
                ),
                (
                    "failed_items",
                    "gauge",
                    "Items of the pass under way that failed.",
                    count(self.failed),
                ),
                (
                    "checked_timestamp_seconds",
                    "gauge",
                    "When this was found out.",
                    now.map_or(0, |since| since.as_secs()),
                ),
            ],
        )
    }

    /// Returns it as text.
    pub fn text(&self) -> String {
        let Some(state) = self.state else {
            return format!("{}: epoch {}, no carry is open\n", self.name, self.epoch);
        };
        let reversed = match self.direction {
            Some("reverse") => ", being reversed",
            _ => "",
        };
        let mut text = format!(
            "{}: epoch {}, carry {state}{reversed}",
            self.name, self.epoch
        );
        text += &match self.from_epoch {
            Some(epoch) => format!(", from epoch {epoch}\n"),
            None => "\n".to_owned(),
        };
        match (self.hub, self.waits_for.len()) {
            (Some(hub), _) if hub != self.epoch => {
                text += &format!("the hub has epoch {hub}\n");
            }
            (None, _) => text += "the hub has no map yet\n",
            (_, 0) if self.hosts == 0 => {
                text += "no host is registered, so nobody has confirmed it\n";
            }
            (_, 0) => text += "all hosts have confirmed it\n",
            (_, count) => {
                text += &format!("{} not confirmed it: ", hosts_have(count));
                text += &self.waits_for.join(", ");
                text.push('\n');
            }
        }
        if let (Some(pass), None) = (&self.pass, &self.journal) {
            // what a stopped run had done is listed again where a server lists in no order, and
            // what is only removed was not counted
            let done = self.done;
            text += &match self.total.filter(|total| *total > 0) {
                Some(total) if done > total => {
                    format!("pass {pass}: {done} items done, more than the {total} counted")
                }
                Some(total) => format!("pass {pass}: {done} of about {total} items done"),
                None => format!("pass {pass}: {done} items done"),
            };
            if self.failed > 0 {
                text += &format!(", {} failed", self.failed);
            }
            if self.under_way > 0 {
                text += &format!(", {} under way", self.under_way);
                text += &match self.noted_ago.filter(|_| !self.running) {
                    Some(ago) => format!(" when it stopped, {} ago", told_time(ago)),
                    None => String::new(),
                };
            }
            text.push('\n');
        }
        text += &match (self.running, &self.journal) {
            (true, Some(journal)) => format!(
                "a run is at work on this machine by the journal {}, and only that one knows how \
                 far it is\n",
                journal.display()
            ),
            (true, None) => "a run is at work\n".to_owned(),
            (false, Some(journal)) => format!(
                "a run may be at work on this machine by the journal {}, which this user may not \
                 read: ask its owner\n",
                journal.display()
            ),
            (false, None) => {
                "no run is at work on this machine; stead-sync carry run continues it\n".to_owned()
            }
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_killed_says_how_far_it_was_and_when() {
        let mut standing = Standing {
            name: "m".to_owned(),
            epoch: 3,
            hub: Some(3),
            state: Some("both_old_first"),
            direction: Some("forward"),
            from_epoch: Some(1),
            hosts: 1,
            waits_for: Vec::new(),
            pass: Some("copy".to_owned()),
            done: 512,
            total: Some(900),
            under_way: 256,
            noted_ago: Some(185),
            failed: 0,
            running: false,
            journal: None,
        };
        let text = standing.text();
        assert!(
            text.contains(
                "\npass copy: 512 of about 900 items done, 256 under way when it stopped, 3 min 5 \
                 s ago\nno run is at work"
            ),
            "{text}"
        );
        assert!(text.contains("\nall hosts have confirmed it\n"), "{text}");
        standing.hosts = 0;
        let text = standing.text();
        let nobody = "\nno host is registered, so nobody has confirmed it\n";
        assert!(
            text.contains(nobody) && !text.contains("all hosts"),
            "{text}"
        );
        // listed again after a stop, and of copies that are only removed nobody knows how many
        for (total, words) in [
            (
                Some(400),
                "512 items done, more than the 400 counted, 256 under way",
            ),
            (Some(0), "pass copy: 512 items done, 256 under way"),
            (None, "pass copy: 512 items done, 256 under way"),
        ] {
            standing.total = total;
            assert!(standing.text().contains(words), "{}", standing.text());
        }
        standing.running = true;
        let text = standing.text();
        assert!(
            text.contains("items done, 256 under way\na run is at work"),
            "{text}"
        );
        // what this journal knows of the pass is old
        standing.journal = Some("/ops/photos.map.carry".into());
        let text = standing.text();
        assert!(!text.contains("pass copy"), "{text}");
        assert!(
            text.ends_with(
                "a run is at work on this machine by the journal /ops/photos.map.carry, and only \
                 that one knows how far it is\n"
            ),
            "{text}"
        );
        standing.running = false;
        let text = standing.text();
        assert!(text.contains("a run may be at work on this machine by the journal /ops/"));
        assert!(!text.contains("continues it"), "{text}");
    }
}
