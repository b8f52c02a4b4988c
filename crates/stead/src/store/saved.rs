//! A saved plan: a change that is reviewed in one place and made in another, exactly as it was.
//! Normative: docs/plan-format.md.
//!
//! ```text
//!   0  magic   8   89 53 54 50 0D 0A 1A 0A
//!   8  version 4   1
//!  12  flags   4   bit 0: there is a limit; bit 1: the fleet says whether changes are carried;
//!                 bit 2, only beside bit 1: they are
//!  16  limit   8   how many points of each copy one publish may move
//!  24  length  8   the bytes of the map
//!  32  map         the new map, whole
//!   .  digest 32   SHA-256 of everything before
//! ```
//!
//! The file has the new map rather than the fleet. So another version of stead cannot make another
//! map of it, and the bytes that were reviewed are the bytes that are published. The map names its
//! own parent and its own history, which is how a plan for another map, or for another epoch, is
//! found out.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::epochs::Store;
use super::whole::replace;
use crate::error::{Error, Result, Status};
use crate::format::records::is_saved_plan;
use crate::map::{Map, Permits};
use crate::plan::Amounts;
use crate::point::Share;

const MAGIC: [u8; 8] = [0x89, b'S', b'T', b'P', 0x0D, 0x0A, 0x1A, 0x0A];
const VERSION: u32 = 1;
/// Flag, bit 0: the fleet limits what one publish may move.
const LIMITED: u32 = 1;
/// Flag, bit 1: the fleet says whether changes are carried.
const SAYS_CARRY: u32 = 2;
/// Flag, bit 2: it says that they are.
const CARRY: u32 = 4;
const KNOWN: u32 = LIMITED | SAYS_CARRY | CARRY;
const HEADER: usize = 32;
const DIGEST: usize = 32;
/// No more bytes are read, whatever length a plan says: a map has at most half of them.
const MOST_BYTES: u64 = 1 << 31;

/// A change that was planned, and is to be made exactly like that: the map that it publishes.
#[derive(Debug)]
pub struct SavedPlan {
    /// The map to publish. When nothing was to change, it is the map that was there.
    pub new: Map,
}

/// What a saved plan finds at the map file.
#[derive(Debug)]
pub enum Planned {
    /// The map is as it was when the plan was made: this map, or none for a first map. The plan's
    /// map can be published on it.
    On(Option<Box<Map>>),
    /// The plan was carried out already: its map is the newest epoch, or was followed by others
    /// that did not take it back. This is the newest map.
    Done(Box<Map>),
}

impl SavedPlan {
    /// Whether bytes begin as a saved plan does, or as one that a text conversion damaged. The
    /// first 8 bytes of a file suffice.
    pub fn is_one(bytes: &[u8]) -> bool {
        is_saved_plan(bytes)
    }

    /// Writes a plan to a file, whole or not at all. The plan has the map's secret, if there is
    /// one; then only the file's owner may read it.
    ///
    /// An older plan is replaced. Returns `Invalid` when the file is there and is no saved plan.
    pub fn write(new: &Map, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        refuse_other(path)?;
        let limit = new
            .move_limit()
            .and_then(|limit| u64::try_from(limit.0).ok());
        let carry = match new.permits().carry {
            None => 0,
            Some(false) => SAYS_CARRY,
            Some(true) => SAYS_CARRY | CARRY,
        };
        let flags = carry | if limit.is_some() { LIMITED } else { 0 };
        let map = new.bytes();
        let mut bytes = Vec::with_capacity(HEADER + map.len() + DIGEST);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(limit.unwrap_or(0).to_le_bytes());
        bytes.extend((map.len() as u64).to_le_bytes());
        bytes.extend(map);
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(digest.as_slice());
        replace(path, new.epoch(), &bytes, new.hash().is_secret())
    }

    /// Reads a plan and checks it, digest and map included.
    ///
    /// Errors: `Format` when the file is no saved plan, is damaged or is cut short; `Version` when
    /// it needs a newer stead; `NotFound`, `Permission` and `Io` when it cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<SavedPlan> {
        let path = path.as_ref();
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(|e| Error::io("open", path, e))?;
        let mut bytes = Vec::new();
        let read = |most: u64, bytes: &mut Vec<u8>| {
            let read = (&file).take(most).read_to_end(bytes);
            read.map_err(|e| Error::io("read", path, e))
        };
        read(HEADER as u64, &mut bytes)?;
        let wrong = |problem: String| Error::SavedPlan {
            file: path.to_owned(),
            problem,
        };
        let mut rest = bytes.as_slice();
        if take(&mut rest) != Some(MAGIC) {
            return Err(wrong("this is not a saved plan".to_owned()));
        }
        let header = (
            take(&mut rest),
            take(&mut rest),
            take(&mut rest),
            take(&mut rest),
        );
        let (Some(version), Some(flags), Some(limit), Some(length)) = header else {
            return Err(wrong(cut(bytes.len())));
        };
        let (version, flags) = (u32::from_le_bytes(version), u32::from_le_bytes(flags));
        let (limit, length) = (u64::from_le_bytes(limit), u64::from_le_bytes(length));
        if version > VERSION || flags & !KNOWN != 0 {
            return Err(Error::Version {
                file: Some(path.to_owned()),
                needs: format!(
                    "the saved plan has format {version} with flags {flags:#x}, but this stead \
                     only reads format {VERSION} with flags up to {KNOWN:#x}"
                ),
            });
        }
        if version != VERSION || flags & (SAYS_CARRY | CARRY) == CARRY {
            return Err(wrong(format!(
                "there is no saved plan of format {version} with flags {flags:#x}"
            )));
        }
        let wanted = length.saturating_add(DIGEST as u64);
        // one byte more shows whether the file goes on after the plan
        read(wanted.min(MOST_BYTES) + 1, &mut bytes)?;
        let rest = bytes.get(HEADER..).unwrap_or_default();
        let found = rest.len() as u64;
        if found < wanted {
            return Err(wrong(cut(bytes.len())));
        }
        let digest = rest.len().saturating_sub(DIGEST);
        let (map, digest) = rest.split_at(digest);
        let hashed = bytes.len().saturating_sub(DIGEST);
        let is_whole = bytes
            .get(..hashed)
            .is_some_and(|bytes| Sha256::digest(bytes).as_slice() == digest);
        if found != wanted || !is_whole {
            return Err(wrong(
                "the digest does not match the bytes: the plan is damaged".to_owned(),
            ));
        }
        let map = Map::from_bytes(map.to_vec()).map_err(|error| match error.status() {
            Status::Version => error.in_file(path),
            _ => wrong(format!("the map in the plan is wrong: {error}")),
        })?;
        let limit = (flags & LIMITED != 0).then_some(Share(u128::from(limit)));
        let carry = (flags & SAYS_CARRY != 0).then_some(flags & CARRY != 0);
        Ok(SavedPlan {
            new: map.with_permits(Permits {
                move_limit: limit,
                carry,
            }),
        })
    }
}

fn cut(length: usize) -> String {
    format!("the plan is cut short: it ends after {length} bytes")
}

/// Takes the first bytes off a slice; `None` when it has fewer.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

/// Refuses to replace a file that is no saved plan: it may be the fleet or the map.
fn refuse_other(path: &Path) -> Result<()> {
    let refuse = |what: &str| {
        Err(Error::Invalid {
            problem: format!(
                "{}: {what} is there already; name another file for the plan",
                path.display()
            ),
        })
    };
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io("stat", path, e)),
        Ok(meta) if meta.is_dir() => return refuse("a directory"),
        Ok(meta) if !meta.is_file() => return refuse("something that is no regular file"),
        Ok(_) => {}
    }
    let mut start = Vec::new();
    let file = fs::File::open(path).map_err(|e| Error::io("open", path, e))?;
    file.take(MAGIC.len() as u64)
        .read_to_end(&mut start)
        .map_err(|e| Error::io("read", path, e))?;
    if start.is_empty() || SavedPlan::is_one(&start) {
        return Ok(());
    }
    refuse("a file that is no saved plan")
}

impl Store {
    /// Finds out whether a saved plan can be carried out here: publish `plan.new` on the map of
    /// [`Planned::On`].
    ///
    /// Errors: `Identity` when the plan is for another map; `Conflict` when the map has changed
    /// since the plan was made, is missing, or is again as it was before the plan was carried out;
    /// those of [`Store::current`].
    pub fn planned(&self, plan: &SavedPlan) -> Result<Planned> {
        self.refuse_symlink()?;
        let new = &plan.new;
        let Some(now) = self.current()? else {
            if new.parent() == [0; 32] {
                return Ok(Planned::On(None));
            }
            return Err(self.changed(format!(
                "the plan is for the map that has epoch {}, and no map is there",
                new.epoch().saturating_sub(1)
            )));
        };
        if now.digest() == new.digest() {
            return Ok(Planned::Done(Box::new(now)));
        }
        if now.name() != new.name() || (new.epoch() > 1 && now.map_id() != new.map_id()) {
            return Err(Error::Identity {
                problem: format!(
                    "{}: the plan is for another map, of the cluster `{}`; give the map that it \
                     was made for",
                    self.path().display(),
                    new.name()
                ),
            });
        }
        if now.digest() == new.parent() {
            return Ok(Planned::On(Some(Box::new(now))));
        }
        let published = self.open_epoch(new.epoch()).ok();
        if published.is_some_and(|published| published.digest() == new.digest()) {
            if self.is_back(&now, new) {
                return Err(self.changed(format!(
                    "the plan was carried out as epoch {}, and taken back since: epoch {} is as it \
                     was before",
                    new.epoch(),
                    now.epoch()
                )));
            }
            return Ok(Planned::Done(Box::new(now)));
        }
        Err(self.changed(format!(
            "the plan was made on {}, and epoch {} is there now",
            match new.epoch() {
                1 => "no map".to_owned(),
                epoch => format!("epoch {}", epoch.saturating_sub(1)),
            },
            match now.epoch() {
                epoch if epoch + 1 == new.epoch() => format!("{epoch}, made by somebody else,"),
                epoch => epoch.to_string(),
            }
        )))
    }

    /// Whether the newest map is again what it was before a change: the same fleet, or all points
    /// at the same nodes. An epoch that is not kept any more cannot be compared.
    fn is_back(&self, now: &Map, change: &Map) -> bool {
        let before = change.epoch().checked_sub(1);
        let Some(before) = before.and_then(|epoch| self.open_epoch(epoch).ok()) else {
            return false;
        };
        if before.digest() != change.parent() {
            return false;
        }
        let wants = |map: &Map| map.fleet().to_toml();
        let moves = |old: &Map, new: &Map| {
            let amounts = Amounts::between(old, new);
            amounts.is_ok_and(|amounts| (amounts.moved, amounts.reordered) != (Share(0), Share(0)))
        };
        let is_wanted_again = wants(now) == wants(&before) && wants(now) != wants(change);
        is_wanted_again || (moves(&before, change) && !moves(&before, now))
    }

    fn changed(&self, problem: String) -> Error {
        Error::Conflict {
            file: self.path().to_owned(),
            problem: format!("{problem}; nothing was changed, plan again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Back;
    use super::*;
    use crate::guard::{Allow, Guard};
    use crate::{build, Fleet};

    fn fleet(more: &str) -> Fleet {
        Fleet::parse(&format!("name = 'm'\nnode = [{{name = 'a'}}{more}]"), "f").unwrap()
    }

    /// Returns a directory and the path of a plan in it that is not there yet.
    fn place() -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan");
        (directory, path)
    }

    /// Reads bytes as a plan, and returns the status and the message of the error.
    fn refused(path: &Path, bytes: &[u8]) -> (Status, String) {
        fs::write(path, bytes).unwrap();
        let error = SavedPlan::read(path).unwrap_err();
        (error.status(), error.to_string())
    }

    #[test]
    fn a_plan_replaces_plans_and_nothing_else() {
        let (directory, path) = place();
        let map = build(&fleet(""), None).unwrap();
        let next = build(&fleet(", {name = 'b'}"), Some(&map)).unwrap();
        fs::write(&path, "").unwrap();
        for new in [&map, &next] {
            SavedPlan::write(new, &path).unwrap();
            let read = SavedPlan::read(&path).unwrap().new;
            assert_eq!(read.bytes(), new.bytes());
        }
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let text = directory.path().join("text");
        fs::write(&text, "name = 'm'").unwrap();
        for (there, what) in [
            (directory.path(), "a directory"),
            (&link, "something that is no regular file"),
            (&text, "a file that is no saved plan"),
        ] {
            let error = SavedPlan::write(&map, there).unwrap_err();
            assert_eq!(error.status(), Status::Invalid);
            let problem = format!("{}: {what} is there already;", there.display());
            assert!(error.to_string().contains(&problem), "{error}");
        }
        assert_eq!(fs::read(&text).unwrap(), b"name = 'm'");
        assert_eq!(SavedPlan::read(&path).unwrap().new.bytes(), next.bytes());
    }

    #[test]
    fn a_plan_that_is_changed_anywhere_or_cut_short_is_refused() {
        let (_directory, path) = place();
        SavedPlan::write(&build(&fleet(""), None).unwrap(), &path).unwrap();
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            let (status, text) = refused(&path, &bytes);
            let (wanted, problem) = match at {
                0..8 => (Status::Format, "this is not a saved plan"),
                8..16 => (Status::Version, "but this stead only reads format 1"),
                16..24 => (Status::Format, "the digest does not match the bytes"),
                // another length of the map: more than there is, or less
                24 if bytes[24] < whole[24] => (Status::Format, "the digest does not match"),
                24..32 => (Status::Format, "the plan is cut short"),
                _ => (Status::Format, "the digest does not match the bytes"),
            };
            assert_eq!(status, wanted, "byte {at}: {text}");
            assert!(text.contains(problem), "byte {at}: {text}");
        }
        for length in 0..whole.len() {
            let (status, text) = refused(&path, &whole[..length]);
            assert_eq!(status, Status::Format);
            let problem = match length {
                0..8 => "this is not a saved plan".to_owned(),
                _ => format!("the plan is cut short: it ends after {length} bytes"),
            };
            assert!(text.contains(&problem), "{text}");
        }
        let (status, text) = refused(&path, &[&whole[..], &[0]].concat());
        assert_eq!(status, Status::Format);
        assert!(text.contains("the digest does not match"), "{text}");
        let mut older = whole;
        older[8] = 0;
        let (status, text) = refused(&path, &older);
        assert_eq!(status, Status::Format);
        assert!(text.contains("no saved plan of format 0"), "{text}");
    }

    #[test]
    fn a_plan_is_for_one_epoch_of_one_map() {
        let (directory, _) = place();
        let store = Store::new(directory.path().join("m.map"), 3);
        let first = build(&fleet(""), None).unwrap();
        let [second, other] = [", {name = 'b'}", ", {name = 'c'}"]
            .map(|more| build(&fleet(more), Some(&first)).unwrap());
        let third = build(&fleet(", {name = 'b'}, {name = 'd'}"), Some(&second)).unwrap();
        let planned = |new: &Map| {
            let new = Map::from_bytes(new.bytes().to_vec()).unwrap();
            store.planned(&SavedPlan { new })
        };
        let said = |new: &Map| {
            let error = planned(new).unwrap_err();
            (error.status(), error.to_string())
        };
        let has = |(status, text): (Status, String), wanted: Status, part: &str| {
            assert_eq!(status, wanted, "{text}");
            assert!(text.contains(part), "{text}");
        };

        assert!(matches!(planned(&first), Ok(Planned::On(None))));
        let part = "is for the map that has epoch 1, and no map is there";
        has(said(&second), Status::Conflict, part);

        store.publish(None, &first).unwrap();
        assert!(matches!(planned(&first), Ok(Planned::Done(_))));
        match planned(&second) {
            Ok(Planned::On(Some(map))) => assert_eq!(map.bytes(), first.bytes()),
            other => panic!("{other:?}"),
        }
        let part = "the plan was made on epoch 2, and epoch 1 is there now";
        has(said(&third), Status::Conflict, part);
        let part = "the plan was made on no map, and epoch 1 is there now";
        let beside = build(&fleet(", {name = 'e'}"), None).unwrap();
        has(said(&beside), Status::Conflict, part);

        store.publish(Some(&first), &second).unwrap();
        let part = "the plan was made on epoch 1, and epoch 2 is there now";
        has(said(&other), Status::Conflict, part);
        store.publish(Some(&second), &third).unwrap();
        match planned(&second) {
            Ok(Planned::Done(map)) => assert_eq!(map.bytes(), third.bytes()),
            other => panic!("{other:?}"),
        }

        // another name, and the same name with another history
        let named = Fleet::parse("name = 'other'\nnode = [{name = 'a'}]", "f").unwrap();
        let part = "the plan is for another map, of the cluster `other`";
        has(said(&build(&named, None).unwrap()), Status::Identity, part);
        let next = build(&fleet(", {name = 'f'}"), Some(&beside)).unwrap();
        let next = build(&fleet(", {name = 'g'}"), Some(&next)).unwrap();
        let part = "the plan is for another map, of the cluster `m`";
        has(said(&next), Status::Identity, part);
    }

    #[test]
    fn a_plan_that_was_taken_back_is_no_success() {
        let directory = tempfile::tempdir().unwrap();
        for (at, back) in [Back::Exact, Back::Least { max_move: None }]
            .into_iter()
            .enumerate()
        {
            let store = Store::new(directory.path().join(format!("{at}.map")), 5);
            let first = build(&fleet(""), None).unwrap();
            let second = build(&fleet(", {name = 'b'}"), Some(&first)).unwrap();
            let third = build(&fleet(", {name = 'b'}, {name = 'd'}"), Some(&second)).unwrap();
            let plan = SavedPlan {
                new: Map::from_bytes(second.bytes().to_vec()).unwrap(),
            };
            store.publish(None, &first).unwrap();
            store.publish(Some(&first), &second).unwrap();
            store.publish(Some(&second), &third).unwrap();
            // followed by another change, it is still carried out
            assert!(matches!(store.planned(&plan), Ok(Planned::Done(_))));
            store.rollback(1, Some(back)).unwrap();
            let error = store.planned(&plan).unwrap_err();
            assert_eq!(error.status(), Status::Conflict);
            let part = "carried out as epoch 2, and taken back since: epoch 4 is as it was before";
            assert!(error.to_string().contains(part), "{error}");
            // an epoch that is not kept cannot be compared
            fs::remove_file(directory.path().join(format!("{at}.map.history/1"))).unwrap();
            assert!(matches!(store.planned(&plan), Ok(Planned::Done(_))));
        }
    }

    #[test]
    fn a_plan_for_a_newer_stead_says_so_and_a_wrong_map_in_it_is_told() {
        use crate::format::records::Header;
        let (_directory, path) = place();
        SavedPlan::write(&build(&fleet(""), None).unwrap(), &path).unwrap();
        let whole = fs::read(&path).unwrap();
        // the digest of the plan is right
        let with = |at: usize, value: u8| {
            let mut bytes = whole[..whole.len() - DIGEST].to_vec();
            bytes[HEADER + at] = value;
            let digest = Sha256::digest(&bytes);
            [&bytes, digest.as_slice()].concat()
        };
        let (status, text) = refused(&path, &with(std::mem::offset_of!(Header, version), 99));
        assert_eq!(status, Status::Version, "{text}");
        let start = format!("{}: the map has format 99, but this stead", path.display());
        assert!(text.starts_with(&start), "{text}");
        let (status, text) = refused(&path, &with(0, 0));
        assert_eq!(status, Status::Format, "{text}");
        assert!(text.contains("the map in the plan is wrong: "), "{text}");
    }

    #[test]
    fn a_plan_is_taken_back_by_the_same_fleet_or_by_the_same_places_alone() {
        let directory = tempfile::tempdir().unwrap();
        let store = |name: &str| {
            let store = Store::new(directory.path().join(name), 9);
            store.allowing(Allow::NONE.and(Guard::TakeBack))
        };
        let nodes = |list: &str| {
            let list = format!("name = 'm'\nnode = [{list}]");
            Fleet::parse(&list, "f").unwrap()
        };
        let plan_of = |map: Map| SavedPlan { new: map };
        let moved = |old: &Map, new: &Map| Amounts::between(old, new).unwrap().moved;
        let taken_back = |store: &Store, plan: &SavedPlan| {
            let error = store.planned(plan).unwrap_err().to_string();
            assert!(
                error.contains("carried out as epoch 2, and taken back since"),
                "{error}"
            );
        };
        let few = "{name = 'a'}, {name = 'b'}, {name = 'c'}";
        let more = format!("{few}, {{name = 'd'}}");

        // the places alone: a node has got an address
        let places = store("places");
        let first = places.apply(&nodes(few), None).unwrap();
        let plan = plan_of(places.apply(&nodes(&more), None).unwrap());
        places.rollback(1, Some(Back::Exact)).unwrap();
        let with = few.replace("'a'", "'a', attributes = {address = '1'}");
        let newest = places.apply(&nodes(&with), None).unwrap();
        assert_ne!(newest.fleet().to_toml(), first.fleet().to_toml());
        assert_eq!(moved(&first, &newest), Share(0));
        taken_back(&places, &plan);

        // the fleet alone: its nodes are at other places than before
        let wish = store("wish");
        let weighted = |weights: [u32; 5]| {
            let node = |(name, weight)| format!("{{name = 'n{name}', weight = {weight}}}");
            let there = (0..).zip(weights).filter(|(_, weight)| *weight > 0);
            let list: Vec<String> = there.map(node).collect();
            let text = format!("name = 'm'\nreplicas = 2\nnode = [{}]", list.join(", "));
            wish.apply(&Fleet::parse(&text, "f").unwrap(), None)
                .unwrap()
        };
        let first = weighted([1, 1, 1, 0, 0]);
        let plan = plan_of(weighted([1, 2, 1, 1, 0]));
        weighted([3, 1, 0, 2, 1]);
        weighted([1, 1, 0, 1, 3]);
        let newest = weighted([1, 1, 1, 0, 0]);
        assert_eq!(newest.fleet().to_toml(), first.fleet().to_toml());
        assert_ne!(moved(&first, &newest), Share(0));
        taken_back(&wish, &plan);

        // a step of a gradual change has the fleet of the steps around it
        let steps = store("steps");
        let part = Some(crate::fleet::part("5%").unwrap());
        steps.apply(&nodes(few), None).unwrap();
        steps.apply(&nodes(&more), part).unwrap();
        let plan = plan_of(steps.apply(&nodes(&more), part).unwrap());
        steps.apply(&nodes(&more), part).unwrap();
        assert!(matches!(steps.planned(&plan), Ok(Planned::Done(_))));
    }

    #[test]
    fn a_plan_keeps_what_its_fleet_permits() {
        let (_directory, path) = place();
        let limit = Some(crate::fleet::part("20%").unwrap());
        for move_limit in [None, limit] {
            for carry in [None, Some(false), Some(true)] {
                let permits = Permits { move_limit, carry };
                let map = build(&fleet(""), None).unwrap().with_permits(permits);
                SavedPlan::write(&map, &path).unwrap();
                assert_eq!(SavedPlan::read(&path).unwrap().new.permits(), permits);
            }
        }
        // that it is carried is said by nobody
        let mut bytes = fs::read(&path).unwrap();
        bytes[12] = CARRY as u8;
        let (status, text) = refused(&path, &bytes);
        assert_eq!(status, Status::Format);
        let problem = "there is no saved plan of format 1 with flags 0x4";
        assert!(text.contains(problem), "{text}");
    }
}
