//! Lists a directory of RRD files in order, a page at a time. So a program can walk through a
//! million files, as slowly as it likes, without remembering more than where it is.
//!
//! Only the directories on the way to the page are read. Of a directory with very many entries, no
//! more than some thousand names are in memory.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

use super::below::{named, open_dir, rrd_bytes, DEPTH};
use super::tree::{file_of, kind_of, leads_to_rrds, Tree};

/// How many names of one directory are in memory.
const KEPT: usize = 4096;

/// How many entries are looked at for one page. A page without a single RRD must come to an end,
/// too.
const LOOKED_AT: usize = 10_000;

/// A part of the list of all RRDs, in the order of [`in_order`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The names.
    pub names: Vec<Vec<u8>>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Vec<u8>>,
    /// How many entries were left out behind which clients may have RRDs, as in
    /// [`Listed`](super::Listed).
    pub left_out: u64,
    /// One of these entries.
    pub example: Option<Vec<u8>>,
}

/// Compares two names, part by part: all files below a directory stand together.
pub fn in_order(one: &[u8], other: &[u8]) -> Ordering {
    let weight = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    one.iter().map(weight).cmp(other.iter().map(weight))
}

/// A directory on the way.
struct Level {
    dir: OwnedFd,
    /// the length of its path
    length: usize,
    /// entries up to this one are done, or before it if there is more of `after` below it
    from: Vec<u8>,
    /// whether the entry `from` itself still has to be looked at
    with: bool,
    /// the next entries, in order
    kept: VecDeque<(Vec<u8>, FileType)>,
    /// whether there are entries behind those in `kept`
    more: bool,
}

impl Tree {
    /// Returns at most `most` RRDs that come after this name in the order of [`in_order`]. The
    /// empty name comes before all others.
    pub(crate) fn page(&self, after: &[u8], most: usize) -> io::Result<Page> {
        let parts: Vec<&[u8]> = match after {
            [] => Vec::new(),
            after => after.split(|byte| *byte == b'/').collect(),
        };
        let (mut page, mut path) = (Page::default(), Vec::new());
        let mut levels = vec![Level::new(self.open_base()?, 0, &parts)];
        let mut looked_at = 0;
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else {
                return Ok(page);
            };
            path.truncate(level.length);
            if level.kept.is_empty() && level.more {
                level.fill().map_err(|error| named(&path, error.into()))?;
            }
            let Some((name, kind)) = level.kept.pop_front() else {
                levels.pop();
                continue;
            };
            // whether all of `after` up to here is the path of this entry
            let within = level.with && level.from == name;
            (level.from, level.with) = (name.clone(), false);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            let failed = |error: Errno| named(&path, error.into());
            match kind {
                FileType::RegularFile if !within => {
                    let file = file_of(level.dir.as_fd(), &name, false).map_err(failed)?;
                    if file.map_or(Ok(None), |file| rrd_bytes(&file))?.is_some() {
                        page.names.push(path.clone());
                    }
                }
                FileType::Directory if depth == DEPTH && within => {} // counted before
                FileType::Directory if depth == DEPTH => page.leave_out(&path),
                FileType::Symlink if !within && leads_to_rrds(level.dir.as_fd(), &name) => {
                    page.leave_out(&path);
                }
                FileType::Directory => match open_dir(level.dir.as_fd(), &name) {
                    Ok(below) => {
                        let rest = parts.get(depth..).filter(|_| within);
                        levels.push(Level::new(below, path.len(), rest.unwrap_or_default()));
                    }
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    // it belongs to the file system and to root
                    Err(Errno::ACCESS) if path == b"lost+found" => {}
                    Err(error) => return Err(failed(error)),
                },
                _ => {}
            }
            looked_at += 1;
            if page.names.len() >= most || looked_at >= LOOKED_AT {
                page.next = Some(path);
                return Ok(page);
            }
        }
    }
}

impl Page {
    fn leave_out(&mut self, path: &[u8]) {
        self.left_out += 1;
        self.example.get_or_insert_with(|| path.to_vec());
    }
}

impl Level {
    /// `rest` is what is left of `after` below this directory.
    fn new(dir: OwnedFd, length: usize, rest: &[&[u8]]) -> Level {
        Level {
            dir,
            length,
            from: rest.first().map(|name| name.to_vec()).unwrap_or_default(),
            with: !rest.is_empty(),
            kept: VecDeque::new(),
            more: true,
        }
    }

    /// Reads the next entries.
    fn fill(&mut self) -> Result<(), Errno> {
        let mut found: BTreeMap<Vec<u8>, FileType> = BTreeMap::new();
        self.more = false;
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let new = match name.cmp(&self.from) {
                Ordering::Greater => true,
                Ordering::Equal => self.with,
                Ordering::Less => false,
            };
            if !new || name == b"." || name == b".." || name.iter().any(u8::is_ascii_control) {
                continue;
            }
            let full = found.len() >= KEPT;
            if full
                && found
                    .last_key_value()
                    .is_some_and(|(last, _)| name > &last[..])
            {
                self.more = true;
                continue;
            }
            let Some(kind) = kind_of(self.dir.as_fd(), &entry)? else {
                continue;
            };
            if full {
                found.pop_last();
                self.more = true;
            }
            found.insert(name.to_vec(), kind);
        }
        self.kept = found.into_iter().collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn make(base: &Path, name: &str) {
        let path = base.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"RRD\x000003\0").unwrap();
    }

    /// Returns all names by pages of this size.
    fn all(tree: &Tree, most: usize) -> Vec<String> {
        let (mut names, mut after) = (Vec::new(), Vec::new());
        loop {
            let page = tree.page(&after, most).unwrap();
            assert!(page.names.len() <= most);
            names.extend(
                page.names
                    .iter()
                    .map(|n| String::from_utf8(n.clone()).unwrap()),
            );
            match page.next {
                Some(next) => after = next,
                None => return names,
            }
        }
    }

    #[test]
    fn pages_of_any_size_have_every_file_once_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let names = [
            "a.rrd",
            "a/b.rrd",
            "a/b/c.rrd",
            "a/b/d",
            "a/b-c.rrd",
            "a-b/x.rrd",
            "b b/y.rrd",
            "c/z",
            "c/sub/deep/er.rrd",
            "z",
        ];
        names.iter().for_each(|name| make(dir.path(), name));
        std::fs::create_dir(dir.path().join("empty")).unwrap();
        std::fs::write(dir.path().join("a/no-rrd"), b"text").unwrap();
        std::fs::write(dir.path().join("zero"), b"").unwrap();
        std::os::unix::fs::symlink("z", dir.path().join("link")).unwrap();
        let tree = Tree {
            base: dir.path().to_owned(),
        };
        let mut expected = names.map(str::to_owned).to_vec();
        expected.sort_by(|one, other| in_order(one.as_bytes(), other.as_bytes()));
        for most in [1, 2, 3, 7, 100] {
            assert_eq!(all(&tree, most), expected, "{most}");
        }
        let page = tree.page(b"", 100).unwrap();
        assert_eq!((page.left_out, page.example), (1, Some(b"link".to_vec())));
        // it goes on behind a name that is gone, and behind a file that has become a directory
        std::fs::remove_file(dir.path().join("a/b/c.rrd")).unwrap();
        let after = |name: &[u8]| tree.page(name, 1).unwrap().names;
        assert_eq!(after(b"a/b/c.rrd"), [b"a/b/d".to_vec()]);
        assert_eq!(after(b"a/b"), [b"a/b/d".to_vec()]);
        assert_eq!(after(b"z/under/it"), [] as [Vec<u8>; 0]);
    }

    #[test]
    fn a_large_directory_is_read_in_parts() {
        let dir = tempfile::tempdir().unwrap();
        let count = 2 * KEPT + 10;
        (0..count).for_each(|number| make(dir.path(), &format!("d/{number:06}.rrd")));
        let tree = Tree {
            base: dir.path().to_owned(),
        };
        let names = all(&tree, 1000);
        assert_eq!(names.len(), count);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
        // one page is larger than what is kept of a directory
        assert_eq!(tree.page(b"", KEPT + 5).unwrap().names.len(), KEPT + 5);
    }

    #[test]
    fn a_page_ends_even_where_there_are_no_rrds() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..LOOKED_AT + 5 {
            std::fs::write(dir.path().join(format!("{number:06}.txt")), b"").unwrap();
        }
        make(dir.path(), "last.rrd");
        let tree = Tree {
            base: dir.path().to_owned(),
        };
        let first = tree.page(b"", 10).unwrap();
        assert!(first.names.is_empty() && first.next.is_some());
        assert_eq!(all(&tree, 10), ["last.rrd"]);
    }
}
