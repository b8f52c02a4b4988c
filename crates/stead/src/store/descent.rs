//! Descent: whether one epoch of a map is an ancestor of another.
//!
//! Every map names the digest of its parent. So the maps between two epochs prove that one descends
//! from the other. Where these maps are no longer kept, the log of a history is believed: it has
//! the digest of every epoch, and that of its parent.

use super::log::{line, Entry};
use crate::format::{hex, Digest};
use crate::map::Map;

/// Whether an epoch is an ancestor of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Descent {
    /// It is the map itself or one of its ancestors.
    Known,
    /// The map has another ancestor with the number of this epoch, or its epoch is lower.
    Denied,
    /// Neither the maps nor the log that are there tell.
    Unknown,
}

/// What a map says of itself and its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The number of the epoch.
    pub epoch: u64,
    /// The digest of the map.
    pub digest: Digest,
    /// The digest of the epoch before.
    pub parent: Digest,
}

impl Link {
    /// Returns the link of a map.
    pub fn of(map: &Map) -> Link {
        Link {
            epoch: map.epoch(),
            digest: map.digest(),
            parent: map.parent(),
        }
    }
}

/// Tells whether `newest` descends from the epoch with this number and digest.
///
/// `older` returns the link of an epoch, if its map is there; one that is not the parent of the
/// epoch after it is ignored. `log` is the log of the history of `newest`.
///
/// Cost: one call of `older` for each epoch in between.
pub fn descent(
    newest: Link,
    (epoch, digest): (u64, Digest),
    mut older: impl FnMut(u64) -> Option<Link>,
    log: &[Entry],
) -> Descent {
    let judge = |same: bool| match same {
        true => Descent::Known,
        false => Descent::Denied,
    };
    if epoch >= newest.epoch {
        return judge((epoch, digest) == (newest.epoch, newest.digest));
    }
    let (mut at, mut parent) = (newest.epoch - 1, newest.parent);
    while at > epoch {
        match older(at).filter(|link| link.epoch == at && link.digest == parent) {
            Some(link) => (at, parent) = (at - 1, link.parent),
            None => return by_log(log, &parent, (epoch, digest)),
        }
    }
    judge(parent == digest)
}

/// Tells by the log alone whether the map of digest `from` has this ancestor.
fn by_log(log: &[Entry], from: &Digest, (epoch, digest): (u64, Digest)) -> Descent {
    match line(log, &hex(from)).find(|entry| entry.epoch <= epoch) {
        Some(entry) if (entry.epoch, &entry.digest) == (epoch, &hex(&digest)) => Descent::Known,
        Some(_) => Descent::Denied,
        None => Descent::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, Fleet};

    fn next(nodes: &[&str], old: Option<&Map>) -> Map {
        let nodes: Vec<String> = nodes.iter().map(|n| format!("{{name = '{n}'}}")).collect();
        let text = format!("name = 'm'\nnode = [{}]", nodes.join(", "));
        build(&Fleet::parse(&text, "fleet").unwrap(), old).unwrap()
    }

    fn entry(map: &Map) -> Entry {
        Entry {
            epoch: map.epoch(),
            digest: hex(&map.digest()),
            parent: hex(&map.parent()),
            time: String::new(),
            who: String::new(),
            note: None,
            change: String::new(),
            moved_points: "0".into(),
            replicas: 1,
        }
    }

    #[test]
    fn parents_tell_and_then_the_log_does() {
        let mut maps = vec![next(&["a"], None)];
        for nodes in [&["a", "b"][..], &["a", "b", "c"], &["a", "b", "c", "d"]] {
            maps.push(next(nodes, maps.last()));
        }
        let fork = next(&["a", "x"], Some(&maps[0]));
        let newest = Link::of(&maps[3]);
        let id = |map: &Map| (map.epoch(), map.digest());
        let all = |epoch: u64| Some(Link::of(&maps[epoch as usize - 1]));
        let asked = |of: &Map, log: &[Entry]| descent(newest, id(of), |_| None, log);
        for map in &maps {
            assert_eq!(descent(newest, id(map), all, &[]), Descent::Known);
        }
        assert_eq!(descent(newest, id(&fork), all, &[]), Descent::Denied);
        assert_eq!(
            descent(Link::of(&maps[0]), id(&maps[3]), all, &[]),
            Descent::Denied
        );
        // the parent needs no other map
        assert_eq!(asked(&maps[2], &[]), Descent::Known);
        assert_eq!(asked(&maps[0], &[]), Descent::Unknown);
        // a map that is not the parent proves nothing
        let wrong = descent(newest, id(&maps[0]), |_| Some(Link::of(&fork)), &[]);
        assert_eq!(wrong, Descent::Unknown);
        // nor does one of the same number that was made beside the parent
        let beside = next(&["a", "x", "y"], Some(&fork));
        let of_beside = |epoch| {
            [&fork, &beside]
                .map(Link::of)
                .into_iter()
                .find(|l| l.epoch == epoch)
        };
        let wrong = descent(newest, id(&fork), of_beside, &[]);
        assert_eq!(wrong, Descent::Unknown);
        let log: Vec<Entry> = maps.iter().map(entry).collect();
        assert_eq!(asked(&maps[0], &log), Descent::Known);
        assert_eq!(asked(&fork, &log), Descent::Denied);
        assert_eq!(asked(&maps[0], &log[..2]), Descent::Unknown);
        // what was made beside the map and given up does not count, wherever the log has it
        for at in 1..=log.len() {
            let with_fork = [&log[..at], &[entry(&fork)], &log[at..]].concat();
            assert_eq!(asked(&maps[1], &with_fork), Descent::Known);
            assert_eq!(asked(&fork, &with_fork), Descent::Denied);
        }
        // a log that goes round in a circle ends
        let mut odd = log.clone();
        odd[0].parent.clone_from(&log[3].digest);
        assert_eq!(asked(&fork, &odd), Descent::Denied);
        odd[1].parent.clone_from(&log[3].digest);
        assert_eq!(asked(&maps[0], &odd), Descent::Unknown);
    }
}
