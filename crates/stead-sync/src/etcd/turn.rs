//! A push: parts first, then one transaction that turns the head; then the garbage is collected.

use std::collections::hash_map::RandomState;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

use stead::format::hex;
use stead::store::{now, who, Arrival, Entry};
use stead::Map;

use super::calls::{delete, exists, none_since, put, unchanged, Calls};
use super::keys::Keys;
use super::record::{digest, Kept, Push, Record, PART};
use crate::exit::{Failure, Result, CONFLICT};
use crate::hub::Turn;

/// How long the key of a push stays after its last renewal, in seconds. A push that is suspended
/// for longer fails.
const LEASE: u64 = 60;

/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(10);

/// How often the transaction is tried when nobody knows how it ended.
const TRIES: usize = 4;

/// A push under way.
pub struct Pushing<'a> {
    calls: &'a Calls,
    keys: &'a Keys,
    lease: u64,
    push: Push,
    key: String,
    renewed: Instant,
}

impl<'a> Pushing<'a> {
    /// Announces a push of these maps: from now on nobody collects their parts.
    pub fn begin(calls: &'a Calls, keys: &'a Keys, maps: &[&Map]) -> Result<Pushing<'a>> {
        let lease = calls.lease(LEASE)?;
        let id = format!("{:016x}", RandomState::new().build_hasher().finish());
        let push = Push {
            who: who(),
            time: now(),
            digests: maps.iter().map(|map| hex(&map.digest())).collect(),
            id,
        };
        let key = format!("{}{}", keys.pushes(), push.id);
        let text = serde_json::to_vec(&push).unwrap_or_default();
        calls.put(&key, &text, Some(lease))?;
        let renewed = Instant::now();
        Ok(Pushing {
            calls,
            keys,
            lease,
            push,
            key,
            renewed,
        })
    }

    /// Writes the parts of a map.
    pub fn write(&mut self, map: &Map) -> Result {
        for (number, part) in map.bytes().chunks(PART).enumerate() {
            let key = self.keys.part(&map.digest(), number);
            self.calls.put(&key, part, None)?;
            if self.renewed.elapsed() > RENEW {
                // when it was lost, the transaction fails
                self.calls.renew(self.lease)?;
                self.renewed = Instant::now();
            }
        }
        Ok(())
    }

    /// Turns the head, if it was changed last at the revision `base`. Returns the record that is
    /// then the head's, if it is ours.
    pub fn turn(
        &self,
        base: u64,
        map: &Map,
        kept: Vec<Kept>,
        log: Vec<Entry>,
    ) -> Result<Option<Record>> {
        let record = Record::of(map, kept, log, self.push.clone());
        let value = serde_json::to_vec(&record).unwrap_or_default();
        let compare = [unchanged(&self.keys.head(), base), exists(&self.key)];
        let then = [
            put(&self.keys.head(), &value, None),
            delete(&self.key, false),
        ];
        let mut failed = None;
        for _ in 0..TRIES {
            match self.calls.transaction(&compare, &then) {
                Ok((true, _)) => return Ok(Some(record)),
                // an earlier try may have succeeded without our hearing of it
                Ok((false, _)) => {
                    return match self.is_ours() {
                        Ok(true) => Ok(Some(record)),
                        Ok(false) if self.is_there()? => Ok(None),
                        Ok(false) => match self.head_changed(base)? {
                            true => Ok(None),
                            false => Err(Failure::new(
                                CONFLICT,
                                "the push took too long, and its place was given up; nothing was \
                                 changed, push again",
                            )),
                        },
                        Err(failure) => Err(failure),
                    };
                }
                Err(failure) if failure.is_contact() => failed = Some(failure),
                Err(failure) => return Err(failure),
            }
        }
        let why = failed.map_or(String::new(), |failure| failure.line);
        Err(Failure::new(
            crate::exit::NO_CONTACT,
            format_args!(
                "{why}; the map may have been pushed or not: push again when etcd is back"
            ),
        ))
    }

    fn is_ours(&self) -> Result<bool> {
        let found = self.calls.range(&self.keys.head(), false, true)?;
        let ours = found
            .pairs
            .first()
            .and_then(|pair| Record::parse("", &pair.value).ok());
        Ok(ours.is_some_and(|record| record.push.id == self.push.id))
    }

    fn is_there(&self) -> Result<bool> {
        Ok(!self.calls.range(&self.key, false, false)?.pairs.is_empty())
    }

    fn head_changed(&self, base: u64) -> Result<bool> {
        let found = self.calls.range(&self.keys.head(), false, false)?;
        Ok(found.pairs.first().map_or(0, |pair| pair.changed) != base)
    }

    /// Ends the push, turned or not. What it wrote in vain is collected.
    pub fn end(self) {
        // the lease ends by itself, and the next push collects
        let _ = self.calls.revoke(self.lease);
        let _ = collect(self.calls, self.keys);
    }
}

/// Returns the epochs that the hub stores after a push: the map, the ancestors that came with it,
/// and of those that are stored already, the ones that are its ancestors; at most `keep`.
pub fn kept_after(before: Option<&Record>, arrival: Arrival, keep: usize) -> Vec<Kept> {
    let mut kept = vec![Kept::of(arrival.map)];
    let (mut at, mut parent) = (arrival.map.epoch(), hex(&arrival.map.parent()));
    let came: Vec<Kept> = arrival.older.iter().map(Kept::of).collect();
    let stored = before.map_or(&[][..], |record| &record.kept);
    while at > 1 && kept.len() < keep {
        at -= 1;
        let is_next = |kept: &&Kept| kept.epoch == at && kept.digest == parent;
        let Some(next) = came.iter().find(is_next).or(stored.iter().find(is_next)) else {
            break;
        };
        kept.push(next.clone());
        let map = arrival
            .older
            .iter()
            .find(|map| hex(&map.digest()) == next.digest);
        parent = match map {
            Some(map) => hex(&map.parent()),
            // the stored epochs are a line already
            None => stored
                .iter()
                .find(|kept| kept.epoch + 1 == at)
                .map_or(String::new(), |kept| kept.digest.clone()),
        };
    }
    kept
}

/// Returns the log after a push: what came, behind what was there and is not in it.
pub fn log_after(before: Option<&Record>, arrival: Arrival) -> Vec<Entry> {
    let mut log: Vec<Entry> = before.map_or(Vec::new(), |record| record.log.clone());
    let came = arrival
        .log
        .iter()
        .filter(|entry| entry.epoch <= arrival.map.epoch());
    let came: Vec<&Entry> = came.collect();
    log.retain(|entry| came.iter().all(|came| came.digest != entry.digest));
    log.extend(came.into_iter().cloned());
    log
}

/// Removes the parts of maps that neither the head nor a push names.
pub fn collect(calls: &Calls, keys: &Keys) -> Result<usize> {
    let pushes = calls.range(&keys.pushes(), true, true)?;
    let head = calls.range(&keys.head(), false, true)?;
    let mut named = BTreeSet::new();
    for pair in &pushes.pairs {
        // a push that cannot be read may need anything
        let Ok(push) = serde_json::from_slice::<Push>(&pair.value) else {
            return Ok(0);
        };
        named.extend(push.digests);
    }
    let mut revision = 0;
    if let Some(pair) = head.pairs.first() {
        revision = pair.changed;
        let record = Record::parse(&calls.at(&keys.head()), &pair.value)?;
        named.extend(record.kept.into_iter().map(|kept| kept.digest));
    }
    let parts = calls.range(&keys.maps(), true, false)?;
    let found = parts
        .pairs
        .iter()
        .filter_map(|pair| keys.digest_in(&pair.key));
    let unnamed: BTreeSet<&str> = found.filter(|digest| !named.contains(*digest)).collect();
    let mut removed = 0;
    for text in unnamed {
        let Some(digest) = digest(text) else { continue };
        let compare = [
            unchanged(&keys.head(), revision),
            none_since(&keys.pushes(), pushes.revision),
        ];
        let (done, _) = calls.transaction(&compare, &[delete(&keys.map(&digest), true)])?;
        removed += usize::from(done);
    }
    Ok(removed)
}

/// Pushes a map and its ancestors, if the head was changed last at the revision `base`.
pub fn push(
    calls: &Calls,
    keys: &Keys,
    base: u64,
    before: Option<&Record>,
    arrival: Arrival,
    keep: usize,
) -> Result<Turn> {
    let kept = kept_after(before, arrival, keep);
    let stored = before.map_or(&[][..], |record| &record.kept);
    let is_new = |map: &&Map| {
        let of = Kept::of(map);
        kept.contains(&of) && !stored.contains(&of)
    };
    // the newest is written even if it is stored: then it is damaged there
    let mut maps = vec![arrival.map];
    maps.extend(arrival.older.iter().filter(is_new));
    let mut pushing = Pushing::begin(calls, keys, &maps)?;
    let mut turned = Ok(None);
    for map in maps {
        if let Err(failure) = pushing.write(map) {
            turned = Err(failure);
            break;
        }
    }
    if turned.is_ok() {
        turned = pushing.turn(base, arrival.map, kept, log_after(before, arrival));
    }
    pushing.end();
    Ok(match turned? {
        Some(_) => Turn::Done,
        None => Turn::Lost,
    })
}
