//! A walk through a tree: the files in a stable order, from any place on, in bounded memory.
//!
//! The order is that of the names, byte by byte, level by level. So a directory comes where its
//! name is, with all that is in it. Only the names of the directories on the way down are in
//! memory.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::kind::Item;
use super::pattern::{Fit, Pattern};

/// The beginning of names in the root of each node that are no data: the temporary files of a
/// carry. The id of its map follows, so that the carries of two maps over the same roots do not
/// meet.
pub const OWN: &str = ".stead-carry";

/// A name in a directory.
struct Entry {
    name: Vec<u8>,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Directory,
    /// A regular file or a symbolic link.
    File,
    Other,
}

/// A walk.
pub struct Walk<'a> {
    root: &'a Path,
    pattern: &'a Pattern,
    /// a name in the root that is no data either
    marker: Option<&'a str>,
    /// of each open directory the names that are left, in reverse order
    open: Vec<Vec<Entry>>,
    /// the names of the open directories below the root
    path: Vec<Vec<u8>>,
    /// where an earlier walk stopped: the names of the directories and of the item that this walk
    /// still has to pass
    after: Vec<Vec<u8>>,
    /// how many paths were left alone
    pub left: u64,
    /// one of them: a file if there is one; the path of a directory without a file ends with `/`
    pub example: Option<Vec<u8>>,
    /// how many directories of keys have nothing in them
    pub empty: u64,
    /// the first of them
    pub empty_example: Option<Vec<u8>>,
}

impl<'a> Walk<'a> {
    /// Begins a walk through a tree, behind the item of the name `after` if one is given. In the
    /// root, the name `marker` is no data.
    pub fn new(
        root: &'a Path,
        pattern: &'a Pattern,
        marker: Option<&'a str>,
        after: Option<&[u8]>,
    ) -> io::Result<Walk<'a>> {
        let split = |name: &[u8]| name.split(|b| *b == b'/').map(<[u8]>::to_vec).collect();
        let mut walk = Walk {
            root,
            pattern,
            marker,
            open: Vec::new(),
            path: Vec::new(),
            after: after.map_or_else(Vec::new, split),
            left: 0,
            example: None,
            empty: 0,
            empty_example: None,
        };
        walk.enter()?;
        Ok(walk)
    }

    /// Lists the directory at the present path, from the place of an earlier walk on.
    fn enter(&mut self) -> io::Result<()> {
        let depth = self.path.len();
        let mut entries = list(&self.directory())?;
        if entries.is_empty() && depth > self.pattern.shared_levels() {
            self.empty += 1;
            self.empty_example
                .get_or_insert_with(|| self.path.join(&b'/'));
        }
        if depth == 0 {
            let marker = self.marker.map(str::as_bytes);
            entries.retain(|entry| {
                !entry.name.starts_with(OWN.as_bytes()) && Some(&entry.name[..]) != marker
            });
        }
        entries.sort_unstable_by(|a, b| b.name.cmp(&a.name));
        if let Some(after) = self.after.get(depth) {
            let last = depth + 1 == self.after.len();
            entries.retain(|entry| match last {
                true => entry.name > *after,
                false => entry.name >= *after,
            });
        }
        self.open.push(entries);
        Ok(())
    }

    fn directory(&self) -> PathBuf {
        let mut directory = self.root.to_owned();
        directory.extend(self.path.iter().map(|name| OsStr::from_bytes(name)));
        directory
    }

    fn leave_alone(&mut self, entry: &Entry) {
        self.left += 1;
        let example = self.example.as_deref();
        if example.is_some_and(|path| !path.ends_with(b"/")) {
            return;
        }
        let mut path = self.path.clone();
        path.push(entry.name.clone());
        let mut path = path.join(&b'/');
        if entry.what == What::Directory {
            let inside = a_file(&self.root.join(OsStr::from_bytes(&path)));
            path.push(b'/');
            match inside {
                Some(inside) => path.extend(inside),
                None if example.is_some() => return,
                None => {}
            }
        }
        self.example = Some(path);
    }

    /// Returns the next item.
    ///
    /// Errors: the directory that could not be read.
    pub fn next(&mut self) -> Result<Option<Item>, (PathBuf, io::Error)> {
        while let Some(entries) = self.open.last_mut() {
            let depth = self.path.len();
            let Some(entry) = entries.pop() else {
                self.open.pop();
                self.path.pop();
                // the way back leads past the place of the earlier walk
                self.after.clear();
                continue;
            };
            if self.after.get(depth).is_some_and(|name| entry.name > *name) {
                self.after.clear();
            }
            let path: Vec<&[u8]> = self.path.iter().map(|name| &name[..]).collect();
            let path = [&path[..], &[&entry.name[..]]].concat();
            match entry.what {
                What::Directory => {
                    if self.pattern.directory(&path) == Fit::No {
                        self.leave_alone(&entry);
                        continue;
                    }
                    self.path.push(entry.name);
                    if let Err(error) = self.enter() {
                        let directory = self.directory();
                        self.path.pop();
                        // the application may remove a directory at any moment
                        if error.kind() != io::ErrorKind::NotFound {
                            return Err((directory, error));
                        }
                    }
                }
                // it was a directory when the earlier walk went through it
                What::File if self.after.get(depth) == Some(&entry.name) => {}
                What::File => match self.pattern.key(&path) {
                    Some(key) => {
                        let name = path.join(&b'/');
                        return Ok(Some(Item { name, key }));
                    }
                    None => self.leave_alone(&entry),
                },
                What::Other => self.leave_alone(&entry),
            }
        }
        Ok(None)
    }
}

/// Returns the path of a file below a directory. What cannot be read is passed over: it is another
/// one's, such as `lost+found`.
fn a_file(directory: &Path) -> Option<Vec<u8>> {
    let mut waiting = vec![Vec::new()];
    while let Some(above) = waiting.pop() {
        let entries = list(&directory.join(OsStr::from_bytes(&above)));
        for entry in entries.unwrap_or_default() {
            let path = match above.is_empty() {
                true => entry.name,
                false => [&above[..], b"/", &entry.name].concat(),
            };
            match entry.what {
                What::Directory => waiting.push(path),
                What::File | What::Other => return Some(path),
            }
        }
    }
    None
}

fn list(directory: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let what = match (kind.is_dir(), kind.is_file() || kind.is_symlink()) {
            (true, _) => What::Directory,
            (_, true) => What::File,
            _ => What::Other,
        };
        let name = OsString::into_vec(entry.file_name());
        entries.push(Entry { name, what });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path, pattern: &Pattern, after: Option<&str>) -> Vec<String> {
        let mut walk = Walk::new(root, pattern, Some("mark"), after.map(str::as_bytes)).unwrap();
        let mut names = Vec::new();
        while let Some(item) = walk.next().unwrap() {
            names.push(String::from_utf8(item.name).unwrap());
        }
        names
    }

    #[test]
    fn a_walk_can_begin_anywhere_and_then_finds_the_rest() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["a/b/c", "a/b.x", "a/b-/z", "a/bb/d/e", "b/1", "b/2", "x"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(root.join("mark"), "").unwrap();
        for own in [OWN.to_owned(), format!("{OWN}.0123")] {
            fs::create_dir(root.join(&own)).unwrap();
            fs::write(root.join(own).join("1"), "").unwrap();
        }
        std::os::unix::fs::symlink("/", root.join("b/link")).unwrap();
        let pattern = Pattern::parse("{path}").unwrap();
        let all = names(root, &pattern, None);
        assert_eq!(all.len(), 8, "{all:?}");
        for (n, name) in all.iter().enumerate() {
            assert_eq!(names(root, &pattern, Some(name)), all[n + 1..], "{name}");
        }
        // places that are gone
        for (after, first) in [
            ("a/b/b", Some("a/b/c")),
            ("a/b/d", Some("a/b-/z")),
            ("a/c/x/y", Some("b/1")),
            ("zz", None),
            ("b/1/x", Some("b/2")),
        ] {
            let rest = names(root, &pattern, Some(after));
            assert_eq!(rest.first().map(|s| &s[..]), first, "{after}: {all:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_alone_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["a/k.jpg", "a/readme", "a/deep/er/k.jpg", "top"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let pattern = Pattern::parse("{any}/{key}.jpg").unwrap();
        let mut walk = Walk::new(root, &pattern, None, None).unwrap();
        let item = walk.next().unwrap().unwrap();
        assert_eq!(
            (&item.name[..], &item.key[..]),
            (&b"a/k.jpg"[..], &b"k"[..])
        );
        assert_eq!(walk.next().unwrap(), None);
        assert_eq!(
            (walk.left, walk.example.as_deref()),
            (3, Some(&b"a/deep/er/k.jpg"[..]))
        );
        // a directory is named only where no file is
        fs::create_dir_all(root.join("a/bare/er")).unwrap();
        let example = |root: &Path| {
            let mut walk = Walk::new(root, &pattern, None, None).unwrap();
            while walk.next().unwrap().is_some() {}
            walk.example.unwrap()
        };
        assert_eq!(example(root), b"a/deep/er/k.jpg");
        fs::remove_dir_all(root.join("a/deep")).unwrap();
        assert_eq!(example(root), b"a/readme");
        fs::remove_file(root.join("a/readme")).unwrap();
        fs::remove_file(root.join("top")).unwrap();
        assert_eq!(example(root), b"a/bare/");
    }
}
