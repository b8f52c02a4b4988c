//! Installing a map that was published elsewhere, with its ancestors.
//!
//! [`Store::publish`] puts a map after the one that it was built on. A host that gets its maps from
//! elsewhere may have missed some, or may have another map altogether. So installing asks whether
//! the map that arrives descends from the present one, and keeps the ancestors that came with it:
//! whoever reads two epochs at once finds the older one in the history.

use std::collections::BTreeSet;
use std::fs;

use super::descent::{descent, Descent, Link};
use super::epochs::{short, Store};
use super::log::{self, Entry};
use super::whole::{directory_of, remove_leftovers, sync_directory, Access, Temporary};
use crate::error::{Error, Result, Status};
use crate::format::hex;
use crate::map::Map;

/// What arrives: a map and what is known of its past.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The map that becomes the newest epoch.
    pub map: &'a Map,
    /// Ancestors of it, in any order. Maps that are none are ignored. While a carry is open, the
    /// map where the data was is taken although epochs in between are missing.
    pub older: &'a [Map],
    /// The log of the history that it comes from.
    pub log: &'a [Entry],
}

/// How a map that arrives stands to the present one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// There is no map yet.
    First,
    /// It is the present map.
    Same,
    /// It descends from the present map.
    Newer,
    /// The present map descends from it.
    Older,
    /// Neither descends from the other.
    Fork,
    /// It has the higher number, but the epochs in between are known no more.
    Unknown,
}

/// Which arrivals are installed although they do not descend from the present map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accept {
    /// An ancestor of the present map.
    pub back: bool,
    /// A map that does not descend from the present one, or of which nobody knows.
    pub fork: bool,
}

/// The present map.
struct Present {
    map: Map,
    /// Whether it is at its path; otherwise that file is missing or damaged, and this is the newest
    /// epoch of the history.
    in_place: bool,
}

impl Store {
    /// Returns how a map that arrives stands to the present one. Nothing is written.
    ///
    /// When the file of the map is missing or damaged, the newest epoch of the history counts as
    /// the present map. Errors: `Identity` when the maps have other names or ids.
    pub fn standing(&self, arrival: Arrival) -> Result<Standing> {
        match self.present()? {
            Some(present) => self.standing_to(&present.map, arrival),
            None => Ok(Standing::First),
        }
    }

    /// Makes `arrival.map` the newest epoch, with the ancestors that came with it and that are not
    /// kept yet. Returns how it stood to the map that was there. An arrival that is the present map
    /// completes the history, and replaces a missing or damaged file.
    ///
    /// When this returns `Ok`, the map survives a power cut. The ancestors are in the history
    /// before the map is in place. Where `accept` lets the map leave the line of the present one,
    /// epochs of the history that are not ancestors of the new map are renamed to `EPOCH.DIGEST`.
    ///
    /// Errors: `Identity` when the maps have other names or ids, or when the map has a carry open
    /// and the map where the data was is missing; `Guarded` when `accept` does not permit it;
    /// `Conflict` when another process is publishing right now; `Uncertain` as in
    /// [`Store::publish`]. After any error but `Uncertain` the map has not changed.
    pub fn install(&self, arrival: Arrival, accept: Accept) -> Result<Standing> {
        self.refuse_symlink()?;
        let turn = self.turn()?;
        let installed = self.install_locked(arrival, accept);
        if matches!(installed, Ok(_) | Err(Error::Uncertain { .. })) {
            turn.end();
        }
        installed
    }

    fn install_locked(&self, arrival: Arrival, accept: Accept) -> Result<Standing> {
        let present = self.present()?;
        let standing = match &present {
            Some(present) => self.standing_to(&present.map, arrival)?,
            None => Standing::First,
        };
        self.permit(standing, present.as_ref(), arrival.map, accept)?;
        let new = arrival.map;
        let line = self.line(arrival);
        let origin = self.origin(arrival, &line)?;
        let (directory, history) = (directory_of(&self.map), self.history_dir());
        remove_leftovers(&directory, &self.map);
        remove_leftovers(&history, &self.map);
        let access = Access::of(&self.map, new)?;
        self.make_history(access)?;
        if let Some(present) = &present {
            if !self.has_copy(&present.map) {
                self.keep_copy(&present.map, access)?;
            }
        }
        if matches!(
            standing,
            Standing::Older | Standing::Fork | Standing::Unknown
        ) {
            self.set_aside(new, &line)?;
        }
        // oldest first: a reader that finds an epoch finds the epochs before it
        let came = line.iter().rev().filter_map(|(_, came)| *came);
        let came = came.filter(|map| self.keeps(new, map.epoch()));
        // an epoch that is damaged here may have a header that is not
        let is_here = |map: &Map| {
            let here = self.kept_link(map.epoch());
            here.is_some_and(|here| here.digest == map.digest())
        };
        for map in origin.into_iter().chain(came).filter(|map| !is_here(map)) {
            self.keep_copy(map, access)?;
        }
        let in_place = standing == Standing::Same && present.is_some_and(|now| now.in_place);
        // before the log: a disk without room for the map leaves no entry of it
        let draft = match in_place {
            true => None,
            false => Some(Temporary::write(&directory, &self.map, new, access)?),
        };
        // before the map is in place: whoever finds it and asks who made it gets an answer
        self.tell_arrival(arrival, access);
        let outdated = self.outdated(new);
        let mut synced = Ok(());
        if let Some(draft) = draft {
            draft.rename(&self.map)?;
            synced = sync_directory(&directory);
        }
        let kept = match self.has_copy(new) {
            true => Ok(()),
            // the map is in place; the next installation completes the history
            false => self.keep_copy(new, access),
        };
        self.certain(new, synced, kept)?;
        for path in outdated {
            let _ = fs::remove_file(path);
        }
        Ok(standing)
    }

    /// Returns the map that is there. A file that is missing or damaged is replaced by the newest
    /// epoch of the history that can be read.
    fn present(&self) -> Result<Option<Present>> {
        let problem = match self.current() {
            Ok(Some(map)) => {
                let in_place = true;
                return Ok(Some(Present { map, in_place }));
            }
            Ok(None) => None,
            Err(error) if matches!(error.status(), Status::Format | Status::Digest) => Some(error),
            Err(error) => return Err(error),
        };
        let mut kept = self.kept().unwrap_or_default();
        kept.sort_unstable();
        let newest = kept.iter().rev().find_map(|n| self.open_epoch(*n).ok());
        match (newest, problem) {
            (Some(map), _) => Ok(Some(Present {
                map,
                in_place: false,
            })),
            (None, None) => Ok(None),
            (None, Some(error)) => Err(error),
        }
    }

    /// Checks that a map can be installed here, whichever arrives.
    ///
    /// Errors: the file here is damaged or is no map, and its history has no map either.
    pub fn check_place(&self) -> Result<()> {
        self.refuse_symlink()?;
        self.present().map(drop)
    }

    fn standing_to(&self, present: &Map, arrival: Arrival) -> Result<Standing> {
        let new = arrival.map;
        if (present.name(), present.map_id()) != (new.name(), new.map_id()) {
            let called = |map: &Map| format!("{:?} (id {})", map.name(), hex(&map.map_id()[..4]));
            return Err(Error::Identity {
                problem: format!(
                    "{}: this is the map {}, and what arrives is {}, another map; name another \
                     file, or move this one and its history away",
                    self.map.display(),
                    called(present),
                    called(new)
                ),
            });
        }
        let kept = |epoch| self.kept_link(epoch);
        let of = |map: &Map| (map.epoch(), map.digest());
        if of(present) == of(new) {
            return Ok(Standing::Same);
        }
        if new.epoch() < present.epoch() {
            return Ok(
                match descent(Link::of(present), of(new), kept, &self.log()) {
                    Descent::Known => Standing::Older,
                    _ => Standing::Fork,
                },
            );
        }
        let older = |epoch| {
            let came = arrival.older.iter().find(|map| map.epoch() == epoch);
            came.map(Link::of).or_else(|| kept(epoch))
        };
        Ok(
            match descent(Link::of(new), of(present), older, arrival.log) {
                Descent::Known => Standing::Newer,
                Descent::Denied => Standing::Fork,
                Descent::Unknown => Standing::Unknown,
            },
        )
    }

    /// Refuses an arrival that does not descend from the present map and is not accepted.
    fn permit(
        &self,
        standing: Standing,
        present: Option<&Present>,
        new: &Map,
        accept: Accept,
    ) -> Result<()> {
        let now = present.map_or(0, |present| present.map.epoch());
        let guarded = |problem: String, allow: &str| {
            Err(Error::Guarded {
                file: self.map.clone(),
                problem,
                allow: allow.to_owned(),
            })
        };
        match standing {
            Standing::Older if !accept.back => guarded(
                format!("epoch {} arrives, and epoch {now} is here, which descends from it", new.epoch()),
                "back",
            ),
            Standing::Fork if !accept.fork => guarded(
                format!(
                    "epoch {} arrives ({}), which does not descend from epoch {now} here ({}): the \
                     two were made side by side",
                    new.epoch(),
                    short(&new.digest()),
                    short(&present.map_or([0; 32], |present| present.map.digest()))
                ),
                "fork",
            ),
            Standing::Unknown if !accept.fork => guarded(
                format!(
                    "epoch {} arrives, and nothing tells whether it descends from epoch {now} here: \
                     the epochs in between are not kept there",
                    new.epoch()
                ),
                "fork",
            ),
            _ => Ok(()),
        }
    }

    /// Returns the ancestors of the map that arrives, newest first, as far as they follow each
    /// other: with the map where it came with it, and without where the history has it.
    fn line<'a>(&self, arrival: Arrival<'a>) -> Vec<(Link, Option<&'a Map>)> {
        let mut parent = arrival.map.parent();
        let mut line = Vec::new();
        for at in (1..arrival.map.epoch()).rev() {
            let is_next = |link: &Link| link.epoch == at && link.digest == parent;
            let came = arrival.older.iter().find(|map| is_next(&Link::of(map)));
            let link = came.map(Link::of).or_else(|| self.kept_link(at));
            let Some(link) = link.filter(is_next) else {
                break;
            };
            parent = link.parent;
            line.push((link, came));
        }
        line
    }

    /// Refuses a map with a carry open without the map where the data was: nobody could read by it.
    /// Returns that map where it came with the new one and is not in its line, since the epochs in
    /// between are not kept.
    fn origin<'a>(
        &self,
        arrival: Arrival<'a>,
        line: &[(Link, Option<&Map>)],
    ) -> Result<Option<&'a Map>> {
        let Some(carry) = arrival.map.carry() else {
            return Ok(None);
        };
        if line
            .iter()
            .any(|(link, _)| link.digest == carry.from_digest)
        {
            return Ok(None);
        }
        let is_origin = |map: &Map| map.digest() == carry.from_digest;
        let here = self.open_epoch(carry.from_epoch);
        let why = match here {
            Ok(map) if is_origin(&map) => return Ok(None),
            // a file that nobody can use says more than that there is none
            Err(error) if !matches!(error.status(), Status::Invalid | Status::NotFound) => {
                format!("did not come with it, and that of the history cannot be used: {error}")
            }
            _ => "neither came with it nor is in the history here".to_owned(),
        };
        let came = arrival.older.iter().find(|map| is_origin(map));
        let kept = self.history_dir().join(carry.from_epoch.to_string());
        came.map(Some).ok_or_else(|| Error::Identity {
            problem: format!(
                "{}: epoch {} has a carry open, and epoch {from}, where the data was, {why}; \
                 nothing was changed: copy MAP.history/{from} of a machine that has it to {}",
                self.map.display(),
                arrival.map.epoch(),
                kept.display(),
                from = carry.from_epoch
            ),
        })
    }

    fn kept_link(&self, epoch: u64) -> Option<Link> {
        self.open_epoch(epoch).ok().as_ref().map(Link::of)
    }

    /// Renames the epochs of the history that are not in the new line.
    fn set_aside(&self, new: &Map, line: &[(Link, Option<&Map>)]) -> Result<()> {
        let history = self.history_dir();
        let mut ours: BTreeSet<_> = line.iter().map(|(link, _)| link.digest).collect();
        ours.insert(new.digest());
        ours.extend(new.carry().map(|carry| carry.from_digest));
        for epoch in self.kept().unwrap_or_default() {
            let path = history.join(epoch.to_string());
            let digest = Store::peek(&path).map(|peeked| peeked.digest);
            let name = match digest {
                Ok(digest) if ours.contains(&digest) => continue,
                Ok(digest) => format!("{epoch}.{}", short(&digest)),
                Err(_) => format!("{epoch}.unread"),
            };
            fs::rename(&path, history.join(name)).map_err(|e| Error::io("rename", &path, e))?;
        }
        sync_directory(&history).map_err(|e| Error::io("sync", &history, e))
    }

    /// Whether the history has this very epoch.
    fn has_copy(&self, map: &Map) -> bool {
        let path = self.history_dir().join(map.epoch().to_string());
        Store::peek(&path).is_ok_and(|peeked| peeked.digest == map.digest())
    }

    /// Appends to the log what the log that came says about epochs that are new here. A map is
    /// installed without its story, too.
    fn tell_arrival(&self, arrival: Arrival, access: Access) {
        let file = self.history_dir().join(log::FILE);
        let here = self.log();
        let is_new = |entry: &&Entry| {
            entry.epoch <= arrival.map.epoch() && here.iter().all(|e| e.digest != entry.digest)
        };
        for entry in arrival.log.iter().filter(is_new) {
            let _ = log::append(&file, entry, access);
        }
        let digest = hex(&arrival.map.digest());
        if !here.iter().chain(arrival.log).any(|e| e.digest == digest) {
            let _ = self.tell(None, arrival.map, access);
        }
    }
}
