//! Whether the roots of a carry still stand on what they stood on when it began. A disk that is not
//! mounted leaves its mount point behind: an empty directory, or one with the files that somebody
//! has written there meanwhile. What is copied there is covered when the disk is mounted again.

use super::journal::Journal;
use super::kind::{Ground, Kind, Node};
use super::story::{ground_line, Story};
use crate::exit::{Failure, Result, NO_INPUT, USAGE};

/// Checks that the root of each node still stands on what it stood on before. The nodes are ready.
/// `moved` are the nodes that were moved on purpose. Returns those of which the journal does not
/// say what they stand on now.
///
/// Errors: the first node that stands on something else; a name in `moved` that no node has.
pub fn refuse_moved(
    kind: &dyn Kind,
    nodes: &[&Node],
    story: &Story,
    moved: &[String],
) -> Result<Vec<(String, Ground)>> {
    let mut fresh = Vec::new();
    for node in nodes {
        let Some(now) = kind.ground(node) else {
            continue;
        };
        let then = story.grounds.get(&node.name);
        match then.filter(|then| !then.is_same(&now)) {
            Some(then) if !moved.contains(&node.name) => {
                return Err(Failure::new(NO_INPUT, told(node, then, &now)))
            }
            _ if then == Some(&now) => {}
            _ => fresh.push((node.name.clone(), now)),
        }
    }
    Ok(fresh)
}

/// Says which root of this machine has no file system of its own where all others have one: its
/// disk may not be mounted. `None` where several have none.
pub fn unlike_others(kind: &dyn Kind, nodes: &[&Node]) -> Option<String> {
    let grounds = nodes
        .iter()
        .filter_map(|node| Some((&*node.name, kind.ground(node)?)));
    let here: Vec<(&str, Ground)> = grounds
        .filter(|(_, ground)| ground.root.starts_with('/'))
        .collect();
    odd_one(&here)
}

fn odd_one(here: &[(&str, Ground)]) -> Option<String> {
    let is_shared = |mount: &str| here.iter().filter(|(_, g)| g.mount == mount).count() > 1;
    let has_own = |ground: &Ground| ground.mount != "/" && !is_shared(&ground.mount);
    let (own, without): (Vec<_>, Vec<_>) = here.iter().partition(|(_, ground)| has_own(ground));
    match (own.len(), &without[..]) {
        (2.., [(name, ground)]) => Some(format!(
            "node {name}: its root {} is on the file system mounted at {}, and those of all other \
             nodes of this machine have one of their own; is its disk mounted?",
            ground.root, ground.mount
        )),
        _ => None,
    }
}

/// Refuses names that no node has.
pub fn refuse_unknown(moved: &[String], nodes: &[Node]) -> Result {
    let is_known = |name: &&String| nodes.iter().any(|node| node.name == **name);
    match moved.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Failure::new(
            USAGE,
            format_args!("--moved: neither map has a node {name:?}; write the name of a node"),
        )),
    }
}

fn told(node: &Node, then: &Ground, now: &Ground) -> String {
    let Node { name, .. } = node;
    let place = match then.mount == now.mount {
        true => format!(
            "on the file system ({}) mounted at {}, and another one ({}) is mounted there now",
            then.system, then.mount, now.system
        ),
        false => format!(
            "on the file system mounted at {}, and is now on the one mounted at {}",
            then.mount, now.mount
        ),
    };
    format!(
        "node {name}: when this carry began, its root {} was {place}; nothing was changed; mount \
         the disk of {name} where it was, or, if the root was moved on purpose, give `stead-sync \
         carry run` the option --moved {name} once",
        now.root
    )
}

impl Journal {
    /// Notes what roots stand on, by the names of their nodes.
    pub fn note_grounds(&self, grounds: &[(String, Ground)]) -> Result {
        let lines: Vec<String> = grounds
            .iter()
            .map(|(node, ground)| ground_line(node, ground))
            .collect();
        match lines.is_empty() {
            true => Ok(()),
            false => self.write(&lines, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground(mount: &str, system: &str, id: Option<&str>, inode: u64) -> Ground {
        Ground {
            root: "/srv/nas7/photos".to_owned(),
            mount: mount.to_owned(),
            system: system.to_owned(),
            id: id.map(str::to_owned),
            inode,
        }
    }

    #[test]
    fn a_root_that_lost_its_disk_is_told_from_one_whose_machine_was_started_again() {
        let disk = ground("/srv/nas7", "ext4", Some("1"), 2);
        for (now, is_same) in [
            (disk.clone(), true),
            // emptied: the mark of the root says so
            (ground("/srv/nas7", "ext4", Some("1"), 99), true),
            // bound elsewhere, or mounted for a service alone
            (ground("/", "ext4", Some("1"), 2), true),
            (ground("/", "ext4", Some("2"), 2), false),
            (ground("/", "ext4", None, 2), false),
            // a part of the same disk that is not bound any more
            (ground("/", "ext4", Some("1"), 3), false),
            (ground("/srv/nas7", "ext4", Some("2"), 2), false),
            (ground("/srv/nas7", "autofs", None, 2), false),
            // where nothing lists the ids of disks
            (ground("/srv/nas7", "ext4", None, 2), true),
        ] {
            assert_eq!(disk.is_same(&now), is_same, "{now:?}");
            assert_eq!(now.is_same(&disk), is_same, "{now:?}");
        }
    }

    #[test]
    fn the_only_root_without_a_disk_of_its_own_is_named() {
        let named = |mounts: &[&'static str]| {
            let here = mounts
                .iter()
                .map(|mount| (*mount, ground(mount, "ext4", None, 2)));
            odd_one(&here.collect::<Vec<_>>())
        };
        let told = named(&["/srv/nas1", "/srv/nas2", "/"]).unwrap();
        assert!(told
            .starts_with("node /: its root /srv/nas7/photos is on the file system mounted at /,"));
        for mounts in [
            &["/srv/nas1", "/srv/nas2"][..],
            &["/srv/nas1", "/"],
            &["/srv/nas1", "/srv/nas2", "/", "/"],
            &["/srv", "/srv", "/srv"],
            &["/srv", "/srv", "/"],
        ] {
            assert_eq!(named(mounts), None, "{mounts:?}");
        }
    }

    #[test]
    fn what_a_root_stood_on_is_read_again_from_the_journal() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("j");
        let journal = Journal::open(&path, "id").unwrap();
        let all = [
            ("nas7", ground("/srv/nas 7", "nfs4", None, 2)),
            ("nas8", ground("/", "ext4", Some("0a1b"), u64::MAX)),
        ];
        let all = all.map(|(name, ground)| (name.to_owned(), ground));
        journal.note_grounds(&all).unwrap();
        let story = Journal::peek(&path).unwrap().unwrap();
        assert_eq!(story.grounds.into_iter().collect::<Vec<_>>(), all);
        // also when the file is written anew
        let mut again = Story::default();
        for line in journal.story().lines() {
            again.take(&line).unwrap();
        }
        assert_eq!(again, journal.story());
    }
}
