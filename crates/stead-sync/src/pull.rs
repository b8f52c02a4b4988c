//! A pull: fetches the newest map and its ancestors from a hub, and installs them.

use stead::carry::State;
use stead::format::hex;
use stead::store::{Accept, Arrival, Standing};
use stead::{Map, Store};

use crate::exit::{Failure, Result, CONFLICT, REFUSED};
use crate::hub::{Head, Hub};
use crate::origin;
use crate::turns::told;

/// How often a pull begins anew because the head has changed meanwhile.
const TRIES: usize = 5;

/// What a pull has installed.
#[derive(Debug)]
pub struct Pulled {
    /// How the map stood to the one that was there.
    pub standing: Standing,
    /// What the hub said about it.
    pub head: Head,
    /// How many ancestors came with it.
    pub older: usize,
}

/// Fetches the newest map of a hub, whose history keeps `keep` epochs here, and installs it. `None`
/// when nothing was pushed yet.
///
/// After a failure the map that was there is untouched.
pub fn pull(hub: &dyn Hub, store: &Store, keep: usize, accept: Accept) -> Result<Option<Pulled>> {
    for _ in 0..TRIES {
        let Some(head) = hub.head()? else {
            return Ok(None);
        };
        if let Some(pulled) = pull_head(hub, &head, store, keep, accept)? {
            return Ok(Some(pulled));
        }
    }
    Err(Failure::new(
        CONFLICT,
        "the hub's map changes faster than it can be fetched; pull again",
    ))
}

/// Fetches and installs the map of a head; `None` when the head has changed meanwhile.
pub fn pull_head(
    hub: &dyn Hub,
    head: &Head,
    store: &Store,
    keep: usize,
    accept: Accept,
) -> Result<Option<Pulled>> {
    let Some(map) = hub.map(head, head.epoch)? else {
        return Ok(None);
    };
    let origin = origin(hub, head, store, &map)?;
    let older = missing(hub, head, store, keep, &map, origin)?;
    let arrival = Arrival {
        map: &map,
        older: &older,
        log: &head.log,
    };
    let standing = store.install(arrival, accept)?;
    Ok(Some(Pulled {
        standing,
        head: head.clone(),
        older: older.len(),
    }))
}

/// Brings what the history lacks of the map that is here, if a carry is open and the map where its
/// data was is not there. Returns how many epochs came. The map itself does not change.
///
/// The hub may have another map than this host: the digest in the map here says which one is
/// needed. Errors: `DATA` when the hub does not have it either, or has no map at all.
pub fn complete(hub: &dyn Hub, head: Option<&Head>, store: &Store, keep: usize) -> Result<usize> {
    let Some(map) = store.current()? else {
        return Ok(0);
    };
    if origin::lacking(store, &map).is_none() {
        return Ok(0);
    }
    // where the hub lacks it, nothing else is fetched either: a watch asks again and again
    let mut older = Vec::new();
    let mut log = &[][..];
    if let Some(head) = head {
        if let Some(found) = origin(hub, head, store, &map)? {
            older = missing(hub, head, store, keep, &map, Some(found))?;
        }
        let digest = hex(&map.digest());
        if head.line().any(|entry| entry.digest == digest) {
            log = &head.log;
        }
    }
    let arrival = Arrival {
        map: &map,
        older: &older,
        log,
    };
    store.install(arrival, Accept::default())?;
    Ok(older.len())
}

/// Fetches the map where the data of the carry in `map` was, if the history here lacks it and the
/// hub has it.
fn origin(hub: &dyn Hub, head: &Head, store: &Store, map: &Map) -> Result<Option<Map>> {
    match origin::lacking(store, map) {
        Some(carry) => origin::fetch(hub, head, &carry),
        None => Ok(None),
    }
}

/// Fetches the ancestors that the history here lacks, newest first, as far as the hub has them. It
/// stops at the first one that is here: what is before it was fetched when it was. Where `origin`
/// is missing here, the history has gaps, and it goes on to that map.
fn missing(
    hub: &dyn Hub,
    head: &Head,
    store: &Store,
    keep: usize,
    map: &Map,
    mut origin: Option<Map>,
) -> Result<Vec<Map>> {
    let keep = keep.max(map.epochs_needed());
    let stop = origin.as_ref().map_or(u64::MAX, Map::epoch);
    let (mut at, mut parent) = (map.epoch(), map.parent());
    let mut older = Vec::new();
    while at > 1 && older.len() + 1 < keep {
        at -= 1;
        let here = store.open_epoch(at).ok();
        if let Some(here) = here.filter(|here| here.digest() == parent) {
            if at <= stop {
                break;
            }
            parent = here.parent();
            continue;
        }
        let there = match origin.take_if(|origin| origin.digest() == parent) {
            None => hub.map(head, at)?.filter(|map| map.digest() == parent),
            found => found,
        };
        let Some(map) = there else {
            break;
        };
        parent = map.parent();
        older.push(map);
    }
    // a hub that does not have all epochs in between may have this one
    older.extend(origin);
    Ok(older)
}

/// Refuses to leave the state `new` of a carry, or what came after it, for a map whose line lacks
/// that state: a carry removes the old copies in this state, and this host would read there. It
/// also refuses where the history here lacks epochs that are newer than the map that arrives.
///
/// The check is for who has allowed a step back or a fork. A head that comes a moment later is not
/// checked.
pub fn refuse_across(hub: &dyn Hub, store: &Store, url: &str, accept: Accept) -> Result {
    let Some(head) = hub.head()? else {
        return Ok(());
    };
    // a file that is missing or damaged is replaced: nothing tells what it was
    let Ok(Some(here)) = store.current() else {
        return Ok(());
    };
    let Some(map) = hub.map(&head, head.epoch)? else {
        return Ok(());
    };
    let (arrives, now) = (told(&map), told(&here));
    let is_newer = here.epoch() > map.epoch();
    let why = match is_across(hub, &head, store, here, &map)? {
        Some(false) => return Ok(()),
        Some(true) => "a carry in between removes copies from the old places, which",
        None => "the history here lacks epochs in between, so a carry may have removed copies that",
    };
    let file = store.path().display();
    let push = match is_newer {
        true => format!(
            "if the hub was restored from a backup, push the newer map there: `stead-sync push \
             {file} {url}`; "
        ),
        false => String::new(),
    };
    let allowed = [(accept.back, "back,"), (accept.fork, "fork,")];
    let allowed: String = allowed
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, word)| *word)
        .collect();
    Err(Failure::new(
        REFUSED,
        format_args!(
            "{file}: {arrives} arrives, and {now} is here; {why} this host would read again; \
             nothing was changed; {push}if you mean it, pull with --allow {allowed}carry"
        ),
    ))
}

/// Whether a carry has come to the state `new` here since the hub's line was left, while the map
/// that arrives is not in that state; `None` where the history does not tell.
fn is_across(
    hub: &dyn Hub,
    head: &Head,
    store: &Store,
    here: Map,
    map: &Map,
) -> Result<Option<bool>> {
    let removes = |at: &Map| {
        let carry = at.carry().filter(|c| c.state == State::New && !c.reverse);
        carry.is_some_and(|carry| {
            let then = map.carry().filter(|then| then.state == State::New);
            then.is_none_or(|then| then.from_digest != carry.from_digest)
        })
    };
    let is_in_line = |at: &Map| {
        if at.epoch() > map.epoch() {
            return Ok(false);
        }
        let digest = hex(&at.digest());
        if head.line().any(|entry| entry.digest == digest) {
            return Ok(true);
        }
        let there = hub.map(head, at.epoch())?;
        Result::Ok(there.is_some_and(|there| there.digest() == at.digest()))
    };
    let mut at = here;
    loop {
        if is_in_line(&at)? {
            return Ok(Some(false));
        }
        if removes(&at) {
            return Ok(Some(true));
        }
        let before = at.epoch() - 1;
        match store.open_epoch(before.max(1)) {
            Ok(kept) if before > 0 && kept.digest() == at.parent() => at = kept,
            _ if before > map.epoch() => return Ok(None),
            // the lines parted before the oldest epoch that the history here has
            _ => return Ok(Some(false)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use stead::carry::Step;
    use stead::store::KEEP;
    use stead::Fleet;

    use super::*;
    use crate::directory::Directory;

    const BACK: Accept = Accept {
        back: true,
        fork: false,
    };

    const FORK: Accept = Accept {
        back: false,
        fork: true,
    };

    /// Copies a map with its history.
    fn copy(from: &Path, to: &Path) -> PathBuf {
        let history = |map: &Path| PathBuf::from(format!("{}.history", map.display()));
        fs::create_dir_all(history(to)).unwrap();
        fs::copy(from, to).unwrap();
        for entry in fs::read_dir(history(from)).into_iter().flatten() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), history(to).join(entry.file_name())).unwrap();
        }
        to.to_owned()
    }

    /// A hub whose map has a carry open from epoch 2 and is two steps further, and a host with it.
    fn carried(directory: &Path) -> (Directory, Store, Store) {
        let hub = Store::new(directory.join("hub.map"), KEEP);
        let apply = |nodes: &str, carry| {
            let text = format!("name = 'm'\nnode = [{nodes}]");
            let fleet = Fleet::parse(&text, "fleet").unwrap();
            let store = Store::new(hub.path(), KEEP).carrying(carry);
            store.apply(&fleet, None).unwrap();
        };
        apply("{name = 'a'}", false);
        apply("{name = 'a'}, {name = 'b'}", false);
        apply("{name = 'a'}, {name = 'b'}, {name = 'c'}", true);
        for _ in 0..2 {
            let now = hub.current().unwrap().unwrap();
            hub.carry(&now, Step::Next).unwrap();
        }
        let host = copy(hub.path(), &directory.join("host.map"));
        (Directory::new(hub.path()), hub, Store::new(host, KEEP))
    }

    fn kept(store: &Store, epoch: &str) -> PathBuf {
        PathBuf::from(format!("{}.history/{epoch}", store.path().display()))
    }

    #[test]
    fn the_map_where_the_data_was_is_brought_back_however_it_was_lost() {
        type Harm = fn(&Store, &Store);
        let harms: [(&str, Harm, &[u64]); 5] = [
            (
                "all",
                |_, host| fs::remove_dir_all(kept(host, "")).unwrap(),
                &[1, 2, 3, 4, 5],
            ),
            (
                "this one",
                |_, host| fs::remove_file(kept(host, "2")).unwrap(),
                &[1, 2, 3, 4, 5],
            ),
            (
                "damaged behind its header",
                |_, host| {
                    let mut bytes = fs::read(kept(host, "2")).unwrap();
                    *bytes.last_mut().unwrap() ^= 1;
                    fs::write(kept(host, "2"), bytes).unwrap();
                },
                &[1, 2, 3, 4, 5],
            ),
            (
                "another map in its place",
                |_, host| {
                    fs::copy(kept(host, "1"), kept(host, "2")).unwrap();
                },
                &[1, 2, 3, 4, 5],
            ),
            (
                "all, and the hub lacks epochs in between",
                |hub, host| {
                    fs::remove_dir_all(kept(host, "")).unwrap();
                    fs::remove_file(kept(hub, "3")).unwrap();
                },
                &[2, 4, 5],
            ),
        ];
        for (harm, lose, epochs) in harms {
            let directory = tempfile::tempdir().unwrap();
            let (hub, at_hub, host) = carried(directory.path());
            let before = fs::read(host.path()).unwrap();
            let head = hub.head().unwrap();
            // the control: nothing is fetched where nothing is needed
            fs::remove_file(kept(&host, "1")).unwrap();
            assert_eq!(complete(&hub, head.as_ref(), &host, KEEP).unwrap(), 0);
            fs::copy(kept(&at_hub, "1"), kept(&host, "1")).unwrap();
            lose(&at_hub, &host);
            stead::Pair::open(host.path()).unwrap_err();
            let mended = complete(&hub, head.as_ref(), &host, KEEP).unwrap();
            assert!(mended > 0, "{harm}");
            assert_eq!(host.history().unwrap(), epochs, "{harm}");
            stead::Pair::open(host.path()).unwrap();
            assert_eq!(fs::read(host.path()).unwrap(), before);
            // a pull does the same
            let directory = tempfile::tempdir().unwrap();
            let (hub, at_hub, host) = carried(directory.path());
            lose(&at_hub, &host);
            let pulled = pull(&hub, &host, KEEP, Accept::default()).unwrap().unwrap();
            assert_eq!((pulled.standing, pulled.older), (Standing::Same, mended));
            stead::Pair::open(host.path()).unwrap();
            // also one that brings another epoch
            let directory = tempfile::tempdir().unwrap();
            let (hub, at_hub, host) = carried(directory.path());
            let now = at_hub.current().unwrap().unwrap();
            at_hub.carry(&now, Step::Next).unwrap();
            lose(&at_hub, &host);
            let pulled = pull(&hub, &host, KEEP, Accept::default()).unwrap().unwrap();
            assert_eq!(pulled.standing, Standing::Newer, "{harm}");
            stead::Pair::open(host.path()).unwrap();
        }
    }

    #[test]
    fn what_the_hub_has_not_got_either_is_told_with_what_helps() {
        let directory = tempfile::tempdir().unwrap();
        let (hub, at_hub, host) = carried(directory.path());
        let saved = directory.path().join("saved");
        fs::rename(kept(&at_hub, "2"), &saved).unwrap();
        fs::remove_dir_all(kept(&host, "")).unwrap();
        let head = hub.head().unwrap();
        let file = kept(&host, "2");
        for head in [head.as_ref(), None] {
            let failure = complete(&hub, head, &host, KEEP).unwrap_err();
            assert_eq!(failure.code, crate::exit::DATA);
            let help = format!(
                "copy MAP.history/2 of a machine that has it to {}",
                file.display()
            );
            assert!(failure.line.ends_with(&help), "{}", failure.line);
            assert!(!kept(&host, "").exists());
        }
        // the control: that helps
        fs::create_dir(kept(&host, "")).unwrap();
        fs::copy(&saved, &file).unwrap();
        stead::Pair::open(host.path()).unwrap();
        assert_eq!(complete(&hub, head.as_ref(), &host, KEEP).unwrap(), 0);
    }

    #[test]
    fn a_hub_with_an_older_map_brings_the_map_where_the_data_was_too() {
        let directory = tempfile::tempdir().unwrap();
        let (_, at_hub, host) = carried(directory.path());
        let restored = directory.path().join("restored.map");
        copy(&kept(&at_hub, "2"), &restored);
        let hub = Directory::new(&restored);
        let head = hub.head().unwrap();
        assert_eq!(head.as_ref().map(|head| head.epoch), Some(2));
        fs::remove_dir_all(kept(&host, "")).unwrap();
        let refused = pull(&hub, &host, KEEP, Accept::default()).unwrap_err();
        assert_eq!(refused.code, REFUSED);
        assert_eq!(complete(&hub, head.as_ref(), &host, KEEP).unwrap(), 1);
        stead::Pair::open(host.path()).unwrap();
    }

    #[test]
    fn a_step_back_or_a_fork_across_the_removal_of_a_carry_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let map = directory.path().join("m.map");
        let store = Store::new(&map, KEEP);
        let apply = |nodes: &str, carry| {
            let text = format!("name = 'm'\nnode = [{nodes}]");
            let fleet = Fleet::parse(&text, "fleet").unwrap();
            let store = Store::new(&map, KEEP).carrying(carry);
            store.apply(&fleet, None).unwrap();
        };
        let (one, two) = ("{name = 'a'}", "{name = 'a'}, {name = 'b'}");
        apply(one, false);
        // 2 old, 3 both_old_first, 4 both_new_first, 5 new, 6 closed, 7 another change
        let mut hubs = Vec::new();
        let mut save = |epoch: u64| {
            let saved = copy(&map, &directory.path().join(format!("{epoch}.map")));
            hubs.push((epoch, Directory::new(&saved), saved));
        };
        save(1);
        apply(two, true);
        save(2);
        for (step, epoch) in [Step::Next, Step::Next, Step::Next, Step::Close]
            .into_iter()
            .zip(3..)
        {
            let now = store.current().unwrap().unwrap();
            store.carry(&now, step).unwrap();
            save(epoch);
        }
        apply(
            "{name = 'a', attributes = {address = 'x'}}, {name = 'b'}",
            false,
        );
        save(7);
        let mut refused = Vec::new();
        for (to, hub, _) in &hubs {
            for (from, _, there) in &hubs {
                let host = Store::new(there, KEEP);
                if let Err(failure) = refuse_across(hub, &host, "file:///hub", BACK) {
                    assert_eq!(failure.code, REFUSED);
                    let file = there.display();
                    let push = format!("`stead-sync push {file} file:///hub`");
                    assert!(failure.line.contains(&push), "{}", failure.line);
                    assert!(failure.line.contains("back,carry"), "{}", failure.line);
                    refused.push((*from, *to));
                }
            }
        }
        let across = (1..5).flat_map(|to| (5..8).map(move |from| (from, to)));
        assert_eq!(refused, across.collect::<Vec<_>>());
        // where the history does not tell
        let host = Store::new(&hubs[3].2, KEEP);
        let history = format!("{}.history", hubs[3].2.display());
        fs::remove_file(Path::new(&history).join("3")).unwrap();
        let failure = refuse_across(&hubs[1].1, &host, "file:///hub", BACK).unwrap_err();
        assert!(failure.line.contains("lacks epochs"), "{}", failure.line);
        assert!(refuse_across(&hubs[2].1, &host, "file:///hub", BACK).is_ok());
        let fork = |of: u64, others: &str| {
            let saved = directory.path().join(format!("{of}.map"));
            let saved = copy(&saved, &directory.path().join(format!("fork-{of}.map")));
            for turn in 0..5 {
                let first = format!("{{name = 'a', attributes = {{turn = '{turn}'}}}}");
                let text = format!("name = 'm'\nnode = [{first}{others}]");
                let fleet = Fleet::parse(&text, "fleet").unwrap();
                Store::new(&saved, KEEP).apply(&fleet, None).unwrap();
            }
            Directory::new(&saved)
        };
        // the line here has left the first one before the carry, and the second one after it
        for (of, others, across) in [(1, "", vec![5, 6, 7]), (6, ", {name = 'b'}", vec![])] {
            let (hub, mut refused) = (fork(of, others), Vec::new());
            for (from, _, there) in &hubs {
                let host = Store::new(there, KEEP);
                if let Err(failure) = refuse_across(&hub, &host, "file:///hub", FORK) {
                    assert_eq!(failure.code, REFUSED);
                    assert!(
                        failure.line.contains("allow fork,carry"),
                        "{}",
                        failure.line
                    );
                    refused.push(*from);
                }
            }
            assert_eq!(refused, across, "a fork of epoch {of}");
        }
    }
}
