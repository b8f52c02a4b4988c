//! A push: compares the map here with the hub's head, and makes it the head if it descends from it.

use std::path::Path;
use std::time::Duration;

use stead::format::hex;
use stead::store::{changes, descent, now, who, Accept, Arrival, Descent, Entry, Link, KEEP};
use stead::{Map, Store};

use crate::confirm::{followers, told_lacking};
use crate::exit::say;
use crate::exit::{Failure, Result, CONFLICT, DATA, REFUSED};
use crate::hub::{Head, Host, Hub, Shared, Turn};
use crate::instance;
use crate::turns::Next;

/// How often a push tries again while others push what it descends from.
const TRIES: usize = 8;

/// How often a carrier looks again at hosts that are ahead of the hub.
const LOOK: Duration = Duration::from_millis(500);

/// How a push ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// The map is the hub's newest now; before it was this head.
    Done(Option<Head>),
    /// The hub had this very map already.
    Already(Head),
    /// An epoch on the way is the hub's newest now: the map here has this later epoch, and hosts
    /// must not skip the states of a carry in between.
    OnTheWay(u64),
}

/// What a push may do that is refused otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allowed {
    /// Take the place of a head that is no ancestor of the map.
    pub fork: bool,
    /// Begin at a hub without a map with a later epoch than 1.
    pub first: bool,
    /// Let hosts skip states of a carry.
    pub skip: bool,
}

/// How a single attempt ended.
enum Attempt {
    Pushed(Pushed),
    /// Hosts have not confirmed the hub's map, after which the next state comes.
    Lacking(Lacking),
}

/// What a push waits for.
struct Lacking {
    /// The hosts, with what they have.
    told: String,
    /// Whether one of them has a newer epoch than the map here, which nothing makes older.
    is_newer: bool,
}

/// What an attempt has found.
struct Found {
    /// The map that the hub has now, or that hosts lack.
    map: Map,
    attempt: Attempt,
    /// Whether hosts have a newer epoch in the line of the map here than the hub has now.
    is_behind: bool,
}

/// Who pushes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Operator,
    /// A carrier. What it reported itself before, nobody waits for.
    Carrier,
}

/// Pushes the map at `path` to the hub, whose URL is for messages. The hub keeps the newest `keep`
/// epochs, and while a carry is open the map where the data was. Returns the map that the hub has
/// now: where the map here is several states of a carry ahead, the next one ([`Next`]).
///
/// Errors: `CONFLICT` when the hub has another map that is not an ancestor, or when hosts have not
/// confirmed the state of a carry before the next one; `REFUSED` when a registered host cannot read
/// the map, or when the hub has no map and the epoch is a later one; `DATA` when the hub is that of
/// another map.
pub fn push(
    hub: &dyn Hub,
    shared: &dyn Shared,
    url: &str,
    path: &Path,
    allowed: Allowed,
    keep: usize,
) -> Result<(Map, Pushed)> {
    let found = attempt(hub, shared, url, path, allowed, keep, By::Operator)?;
    let epoch = found.map.epoch();
    let lacking = match found.attempt {
        Attempt::Pushed(pushed) => return Ok((found.map, pushed)),
        Attempt::Lacking(lacking) => lacking,
    };
    let told = lacking.told;
    Err(Failure::new(
        CONFLICT,
        match lacking.is_newer {
            true => format!(
                "{told}; the hub was not changed; it was restored from a backup, or a map was \
                 copied, so push the newest map from where it was made or from a host that has it; \
                 if that map is wrong, pull on that host with --allow back"
            ),
            false => format!(
                "{told}, which the hub has; the hub was not changed: the hosts would skip a state \
                 of the carry, so push again when all have confirmed it (`stead-sync wait {url} \
                 --epoch {epoch} --grace SECONDS`), or forget a host that is gone for good"
            ),
        },
    ))
}

/// Pushes the map at `path` as [`push`] does, and each state of a carry before it in its turn.
/// `wait` gets each map that all hosts must confirm before the next one comes.
pub fn push_in_turn(
    hub: &dyn Hub,
    shared: &dyn Shared,
    url: &str,
    path: &Path,
    keep: usize,
    mut wait: impl FnMut(&Map) -> Result,
) -> Result<(Map, Pushed)> {
    let mut said = String::new();
    loop {
        let allowed = Allowed::default();
        let found = attempt(hub, shared, url, path, allowed, keep, By::Carrier)?;
        match found.attempt {
            Attempt::Pushed(pushed) if !matches!(pushed, Pushed::OnTheWay(_)) => {
                return Ok((found.map, pushed))
            }
            _ if !found.is_behind => wait(&found.map)?,
            // the hub was restored from a backup: the hosts that are ahead of it never report what
            // it has, so `wait` would not end
            Attempt::Lacking(lacking) => {
                if lacking.told != said {
                    said = lacking.told;
                    say(&said);
                }
                std::thread::sleep(LOOK);
            }
            Attempt::Pushed(_) => {}
        }
    }
}

/// Pushes once.
fn attempt(
    hub: &dyn Hub,
    shared: &dyn Shared,
    url: &str,
    path: &Path,
    allowed: Allowed,
    keep: usize,
    by: By,
) -> Result<Found> {
    let fork = allowed.fork;
    let store = Store::new(path, KEEP);
    let map = Map::open_uncached(path)?;
    let mut hosts = shared.hosts()?;
    if by == By::Carrier {
        let mark = instance::mark(path);
        hosts.retain(|host| !host.report.is_carrier() || host.report.instance != mark);
    }
    let found = |map: Map, attempt, next: &Next| {
        let newer = |host: &&Host| host.report.epoch > map.epoch() && next.is_ahead(host);
        let is_behind = hosts.iter().find(newer).is_some();
        Found {
            map,
            attempt,
            is_behind,
        }
    };
    for host in &hosts {
        if let Some(why) = host.report.cannot_read(&map) {
            return Err(Failure::new(
                REFUSED,
                format_args!("{why}; the hub was not changed; update stead on that host first"),
            ));
        }
    }
    let keep = keep.max(map.epochs_needed());
    let mut last = None;
    for _ in 0..TRIES {
        let head = hub.head()?;
        let mut next = Next::NEWEST;
        if let Some(head) = &head {
            let is_same = (head.epoch, head.digest) == (map.epoch(), map.digest());
            // a map that is damaged at the hub is written again
            if is_same && matches!(hub.map(head, head.epoch), Ok(Some(_))) {
                let already = Attempt::Pushed(Pushed::Already(head.clone()));
                return Ok(found(map, already, &next));
            }
            check_identity(hub, head, &map, "the hub was not changed")?;
            let line = check_line(head, &map, &store);
            if !is_same && line.is_ok() && !allowed.skip {
                next = Next::after(hub, head, &hosts, &map, &store)?;
            }
            if !fork {
                line?;
            }
            let lacking = next.lacking(&hosts, head);
            if let Some(after) = next.after.take_if(|_| !lacking.is_empty()) {
                let is_newer = |host: &&Host| host.report.epoch > map.epoch();
                let lacking = Lacking {
                    told: told_lacking(&lacking, &hosts, Some(head), after.epoch()),
                    is_newer: lacking.iter().any(is_newer),
                };
                return Ok(found(after, Attempt::Lacking(lacking), &next));
            }
        }
        if head.is_none() && map.epoch() > 1 && !allowed.first {
            let epoch = map.epoch();
            return Err(Failure::new(
                REFUSED,
                match waiting(&hosts) {
                    Some(waiting) => format!(
                        "{url}: this hub has no map, {waiting} for the first one, and epoch \
                         {epoch} would be that; the hub was not changed: push with --allow first, \
                         if this is the map of these hosts"
                    ),
                    None => format!(
                        "{url}: this hub has no map, no host follows it{}, and epoch {epoch} would \
                         be its first map; the hub was not changed: correct the URL, or push with \
                         --allow first",
                        match shared.is_begun()? {
                            true => "",
                            false => " (a watch registers at a directory when the first map is there)",
                        }
                    ),
                },
            ));
        }
        let pushed = next.on_the_way.as_ref().unwrap_or(&map);
        let older = older(head.as_ref(), pushed, &store, keep);
        check_origin(head.as_ref(), pushed, &older)?;
        let log = story(pushed, &older, &store)?;
        let arrival = Arrival {
            map: pushed,
            older: &older,
            log: &log,
        };
        let accept = Accept { back: fork, fork };
        if shared.push(head.as_ref(), arrival, accept, keep)? == Turn::Lost {
            last = hub.head()?;
            continue;
        }
        let (pushed, how) = match next.on_the_way.take() {
            None => (map, Pushed::Done(head)),
            Some(pushed) => (pushed, Pushed::OnTheWay(map.epoch())),
        };
        return Ok(found(pushed, Attempt::Pushed(how), &next));
    }
    let told = last.map_or("another map".to_owned(), |head| head.told());
    Err(Failure::new(
        CONFLICT,
        format_args!("others push all the time, last {told}; the hub was not changed: push again"),
    ))
}

/// Says how many hosts wait for the first map of a hub, if any do: `1 host waits`.
pub fn waiting(hosts: &[Host]) -> Option<String> {
    match followers(hosts) {
        0 => None,
        1 => Some("1 host waits".to_owned()),
        hosts => Some(format!("{hosts} hosts wait")),
    }
}

/// Refuses a map of another cluster than the hub's. `unchanged` is what the message may say.
pub fn check_identity(hub: &dyn Hub, head: &Head, map: &Map, unchanged: &str) -> Result {
    let of = |map: &Map| (map.name().to_owned(), hex(&map.map_id()));
    let ours = of(map);
    let theirs = match &head.identity {
        Some(theirs) => Some(theirs.clone()),
        // a map that is damaged at the hub says nothing
        None => hub.map(head, head.epoch).ok().flatten().as_ref().map(of),
    };
    match theirs {
        Some(theirs) if theirs != ours => Err(Failure::new(
            DATA,
            format_args!(
                "the hub has the map {:?} (id {}), and this is {:?} (id {}), another one; \
                 {unchanged}: name another URL, or another file",
                theirs.0,
                theirs.1.get(..8).unwrap_or_default(),
                ours.0,
                &ours.1[..8]
            ),
        )),
        _ => Ok(()),
    }
}

/// Refuses a map that no push would bring to the hub: one of another cluster, or one that was made
/// beside the hub's. A map that is only older than the hub's is not refused.
pub fn refuse_other(hub: &dyn Hub, path: &Path) -> Result {
    let Some(head) = hub.head()? else {
        return Ok(());
    };
    let map = Map::open_uncached(path)?;
    check_identity(hub, &head, &map, "the hub was not changed")?;
    let digest = hex(&map.digest());
    let has_it = head.line().any(|entry| entry.digest == digest);
    match has_it {
        true => Ok(()),
        false => check_line(&head, &map, &Store::new(path, KEEP)),
    }
}

/// Refuses a map that does not descend from the head.
fn check_line(head: &Head, map: &Map, store: &Store) -> Result {
    let kept = |epoch| store.open_epoch(epoch).ok().as_ref().map(Link::of);
    let theirs = (head.epoch, head.digest);
    let known = descent(Link::of(map), theirs, kept, &store.log());
    let digest = hex(&map.digest());
    let told = head.told();
    let is_theirs = head.line().any(|entry| entry.digest == digest);
    let line = match known {
        Descent::Known => return Ok(()),
        Descent::Denied if map.epoch() < head.epoch && is_theirs => format!(
            "the hub has {told}, which descends from epoch {} here; the hub was not \
             changed: pull it",
            map.epoch()
        ),
        Descent::Denied => format!(
            "another operator was first: the hub has {told}, and epoch {} here ({}) was made \
             beside it; the hub was not changed: pull with --unregistered --allow fork, which sets \
             the one here aside, then plan again",
            map.epoch(),
            &digest[..8]
        ),
        Descent::Unknown => format!(
            "the hub has {told}, and the history here does not tell whether epoch {} descends from \
             it; the hub was not changed: push from where its history is, or with --allow fork",
            map.epoch()
        ),
    };
    Err(Failure::new(CONFLICT, line))
}

/// Refuses a map with a carry open when the hub would lack the map where the data was. It is gone
/// here, for example, when a pull has set it aside since the map was read.
fn check_origin(head: Option<&Head>, map: &Map, older: &[Map]) -> Result {
    let Some(carry) = map.carry() else {
        return Ok(());
    };
    let digest = hex(&carry.from_digest);
    let comes = older.iter().any(|map| map.digest() == carry.from_digest);
    let mut there = head.into_iter().flat_map(Head::line);
    match comes || there.any(|entry| entry.digest == digest) {
        true => Ok(()),
        false => Err(Failure::new(
            CONFLICT,
            format_args!(
                "epoch {} has a carry open, and epoch {}, where the data was, is not in the history \
                 here; the hub was not changed: push from where its history is, or pull",
                map.epoch(),
                carry.from_epoch
            ),
        )),
    }
}

/// Returns the ancestors to store with the map: those between the head and the map, or, where there
/// is no head in its line, as many as the hub keeps.
fn older(head: Option<&Head>, map: &Map, store: &Store, keep: usize) -> Vec<Map> {
    let (mut at, mut parent) = (map.epoch(), map.parent());
    let mut older = Vec::new();
    while at > 1 && older.len() + 1 < keep {
        at -= 1;
        if head.is_some_and(|head| head.digest == parent) {
            break;
        }
        let Some(map) = store
            .open_epoch(at)
            .ok()
            .filter(|map| map.digest() == parent)
        else {
            break;
        };
        parent = map.parent();
        older.push(map);
    }
    older
}

/// Returns the log here, with an entry for each of the maps.
fn story(map: &Map, older: &[Map], store: &Store) -> Result<Vec<Entry>> {
    let mut log = store.log();
    let line: Vec<&Map> = older.iter().rev().chain([map]).collect();
    for (i, map) in line.iter().enumerate() {
        let digest = hex(&map.digest());
        if log.iter().any(|entry| entry.digest == digest) {
            continue;
        }
        let before = i.checked_sub(1).map(|i| line[i]);
        let change = match before {
            Some(before) => changes(Some(before), map)?,
            None => format!("{} nodes", map.nodes().len()),
        };
        log.push(Entry {
            epoch: map.epoch(),
            digest,
            parent: hex(&map.parent()),
            time: now(),
            who: who(),
            note: None,
            change,
            moved_points: "0".to_owned(),
            replicas: map.replicas(),
        });
    }
    Ok(log)
}
