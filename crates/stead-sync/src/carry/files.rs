//! Files: the kind of data whose items are the files below a root for each node.
//!
//! ```text
//! ROOT/38/37/60/frank            an item
//! ROOT/.stead-carry.ID/4711-3    being written, or on its way out; ID is that of the map
//! ```
//!
//! A file is written under a temporary name and renamed to where nothing is. To remove one version
//! and no other, the file is first renamed away, then looked at, and put back if it is another one.
//! Applications must write files in the same way: a new file, renamed to its place.
//!
//! Each file below a directory `{key}/...` is an item of its own. Directories are made as they are
//! needed, with owner and permissions of those at the source. Empty ones are not carried.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;

use super::attributes::copy_attributes;
use super::kind::{told, Added, Compared, Done, Fault, Item, Kind, Node, Version};
use super::pattern::Pattern;
use super::stamp::{is_absent, Stamp};
use super::walk::{Walk, OWN};
use super::whole_file::{copy, equal, rename_without_replacing, Keep};
use crate::hub::hex;

/// The table `[files]` of the file of a carry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesOptions {
    /// The root of each node: a template with `{node}` and the names of attributes.
    pub root: String,
    /// Where the key is in a path below the root.
    pub pattern: String,
    /// A file in each root that has the name of the node in it.
    pub marker: Option<String>,
    /// Whether copies get the owner and the group of what is copied.
    #[serde(default = "yes")]
    pub owner: bool,
    /// Whether copies get the extended attributes and ACLs of what is copied.
    #[serde(default = "yes")]
    pub attributes: bool,
}

fn yes() -> bool {
    true
}

/// The kind.
pub struct Files {
    options: FilesOptions,
    pattern: Pattern,
    /// the directory of temporary files in each root
    own: String,
    /// numbers temporary files
    made: AtomicU64,
    /// the directories that have names which are not durable yet, by node
    touched: Mutex<BTreeMap<usize, BTreeSet<PathBuf>>>,
    /// by node: how many paths were left alone, and one of them
    left: Mutex<BTreeMap<usize, (u64, Vec<u8>)>>,
}

impl Files {
    /// Returns the kind, for a carry of the map of an id.
    ///
    /// Errors: what is wrong with the options.
    pub fn new(options: FilesOptions, map_id: &[u8]) -> Result<Files, String> {
        let pattern = Pattern::parse(&options.pattern)?;
        Ok(Files {
            own: format!("{OWN}.{}", hex(map_id)),
            options,
            pattern,
            made: AtomicU64::new(0),
            touched: Mutex::default(),
            left: Mutex::default(),
        })
    }

    fn root(&self, node: &Node) -> Done<PathBuf> {
        node.fill(&self.options.root).map(PathBuf::from)
    }

    fn path(&self, node: &Node, item: &Item) -> Done<PathBuf> {
        Ok(self.root(node)?.join(OsStr::from_bytes(&item.name)))
    }

    /// Returns a path beside the items that nobody uses. It makes the directory.
    fn beside(&self, node: &Node) -> Done<PathBuf> {
        let own = self.root(node)?.join(&self.own);
        match DirBuilder::new().mode(0o700).create(&own) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(fault("cannot make", &own, &error))
            }
            _ => {}
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Ok(own.join(format!("{}-{number}", std::process::id())))
    }

    /// Makes the directories above an item, like those at the source.
    fn make_directories(&self, from: &Node, to: &Node, item: &Item) -> Done {
        let (mut source, mut target) = (self.root(from)?, self.root(to)?);
        let path = Path::new(OsStr::from_bytes(&item.name));
        let Some(parent) = path.parent() else {
            return Ok(());
        };
        if self.path(to, item)?.parent().is_some_and(Path::is_dir) {
            return Ok(());
        }
        for name in parent {
            let above = target.clone();
            source.push(name);
            target.push(name);
            match DirBuilder::new().mode(0o700).create(&target) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(fault("cannot make", &target, &error)),
            }
            // it may be gone at the source; then the item is, too
            if let Ok(meta) = fs::metadata(&source) {
                let owned = match self.options.owner {
                    true => std::os::unix::fs::chown(&target, Some(meta.uid()), Some(meta.gid())),
                    false => Ok(()),
                };
                let mode = fs::Permissions::from_mode(meta.mode() & 0o7777);
                owned
                    .and_then(|()| fs::set_permissions(&target, mode))
                    .and_then(|()| match self.options.attributes {
                        true => copy_attributes(&File::open(&source)?, &File::open(&target)?),
                        false => Ok(()),
                    })
                    .map_err(|e| fault("cannot set the owner and permissions of", &target, &e))?;
            }
            self.touch(to, &above);
        }
        Ok(())
    }

    fn touch(&self, node: &Node, directory: &Path) {
        let mut touched = lock(&self.touched);
        let of_node = touched.entry(node.number).or_default();
        of_node.insert(directory.to_owned());
    }

    fn check_root(&self, node: &Node) -> Done<(u64, u64)> {
        let root = self.root(node)?;
        let wrong = |problem: &str| {
            Fault::final_one(format_args!(
                "node {}: its root {} {problem}",
                node.name,
                root.display()
            ))
        };
        if !root.is_absolute() {
            return Err(wrong("is not an absolute path; write it from / on"));
        }
        let meta = match fs::metadata(&root) {
            Ok(meta) if meta.is_dir() => meta,
            Ok(_) => return Err(wrong("is not a directory")),
            Err(error) => {
                return Err(wrong(&format!(
                    "cannot be used: {error}; mount it, or make it if the node is new"
                )))
            }
        };
        if let Some(marker) = &self.options.marker {
            let text = fs::read_to_string(root.join(marker)).map_err(|error| {
                wrong(&format!(
                    "has no marker {marker} ({error}); is it mounted? a new node needs this file, \
                     with the name of the node in it"
                ))
            })?;
            if text.trim() != node.name {
                let text: String = text.trim().chars().take(80).collect();
                return Err(wrong(&format!(
                    "is that of another node: its marker {marker} says {text:?}"
                )));
            }
        }
        Ok((meta.dev(), meta.ino()))
    }
}

impl Kind for Files {
    fn ready(&self, nodes: &[&Node]) -> Done {
        let mut seen: BTreeMap<(u64, u64), &str> = BTreeMap::new();
        for node in nodes {
            let place = self.check_root(node)?;
            if let Some(other) = seen.insert(place, &node.name) {
                return Err(Fault::final_one(format_args!(
                    "the nodes {other} and {} have the same root {}; give each its own",
                    node.name,
                    self.root(node)?.display()
                )));
            }
        }
        Ok(())
    }

    fn clear(&self, node: &Node) -> Done {
        let own = self.root(node)?.join(&self.own);
        match fs::remove_dir_all(&own) {
            Err(error) if !is_absent(&error) => Err(fault("cannot remove", &own, &error)),
            _ => Ok(()),
        }
    }

    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let root = self.root(node)?;
        let mut walk = Walk::new(&root, &self.pattern, self.options.marker.as_deref(), after)
            .map_err(|error| fault("cannot list", &root, &error))?;
        while !stop.load(Ordering::Relaxed) {
            let item = walk
                .next()
                .map_err(|(path, error)| fault("cannot list", &path, &error))?;
            let goes_on = item.is_some_and(&mut *each);
            if !goes_on {
                break;
            }
        }
        // only a walk through all of it counts all
        if let (Some(example), None) = (walk.example, after) {
            lock(&self.left).insert(node.number, (walk.left, example));
        }
        Ok(())
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        let path = self.path(node, item)?;
        let stamp = Stamp::at(&path).map_err(|error| fault("cannot look at", &path, &error))?;
        Ok(stamp.map(|stamp| stamp.version()))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        let (source, target) = (self.path(from, item)?, self.path(to, item)?);
        let look = |error| fault("cannot look at", &source, &error);
        let Some(read) = Stamp::settled(&source).map_err(look)? else {
            return Ok(Added::Gone);
        };
        if Stamp::at(&target)
            .map_err(|error| fault("cannot look at", &target, &error))?
            .is_some()
        {
            return Ok(Added::Present);
        }
        let beside = self.beside(to)?;
        let added = self.add_by(from, to, item, &beside, read);
        if !matches!(added, Ok(Added::Copied { .. })) {
            // absent when it was never made
            let _ = fs::remove_file(&beside);
        }
        added
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        let (one, other) = (self.path(first, item)?, self.path(second, item)?);
        let stamp = |path: &Path| {
            Stamp::settled(path).map_err(|error| fault("cannot look at", path, &error))
        };
        let (a, b) = (stamp(&one)?, stamp(&other)?);
        let equal = match (&a, &b) {
            (None, None) => true,
            (Some(a), Some(b)) if a.kind() == b.kind() && a.size == b.size => {
                match equal(&one, &other) {
                    Ok(equal) => equal,
                    // gone meanwhile: not what the versions say
                    Err(error) if is_absent(&error) => false,
                    Err(error) => {
                        let two = format!("{}, {}", one.display(), other.display());
                        return Err(fault("cannot compare", Path::new(&two), &error));
                    }
                }
            }
            _ => false,
        };
        Ok(Compared {
            first: a.map(|stamp| stamp.version()),
            second: b.map(|stamp| stamp.version()),
            equal,
        })
    }

    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool> {
        let path = self.path(node, item)?;
        let look = |error| fault("cannot look at", &path, &error);
        let Some(stamp) = Stamp::at(&path).map_err(look)? else {
            return Ok(true);
        };
        if stamp.version() != *version {
            return Ok(false);
        }
        let away = self.beside(node)?;
        match fs::rename(&path, &away) {
            Ok(()) => {}
            Err(error) if is_absent(&error) => return Ok(true),
            Err(error) => return Err(fault("cannot rename", &path, &error)),
        }
        let taken = Stamp::at(&away).map_err(|error| fault("cannot look at", &away, &error))?;
        let is_that = taken.is_none_or(|taken| taken.is_renamed(&stamp));
        if !is_that {
            // an application wrote another one in between: it goes back, unless a newer one is
            // there
            rename_without_replacing(&away, &path)
                .map_err(|error| fault("cannot put back", &path, &error))?;
        }
        match fs::remove_file(&away) {
            Err(error) if !is_absent(&error) => return Err(fault("cannot remove", &away, &error)),
            _ => {}
        }
        if let Some(parent) = path.parent() {
            self.touch(node, parent);
        }
        Ok(is_that)
    }

    fn flush(&self, node: &Node) -> Done {
        let directories = lock(&self.touched).remove(&node.number);
        for directory in directories.into_iter().flatten() {
            match File::open(&directory).and_then(|file| file.sync_all()) {
                Err(error) if !is_absent(&error) => {
                    return Err(fault("cannot sync", &directory, &error))
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn tidy(&self, node: &Node, item: &Item) -> Done {
        let root = self.root(node)?;
        let mut names: Vec<&[u8]> = item.name.split(|b| *b == b'/').collect();
        // the directories above hold other keys
        while names.len() > self.pattern.shared_levels() + 1 {
            names.pop();
            let path = root.join(OsStr::from_bytes(&names.join(&b'/')));
            if fs::remove_dir(path).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let left = lock(&self.left);
        let count: u64 = left.values().map(|(count, _)| count).sum();
        let Some((_, example)) = left.values().next() else {
            return Vec::new();
        };
        vec![format!(
            "{count} paths do not fit the pattern {} and were left alone, such as {}",
            self.options.pattern,
            told(example)
        )]
    }
}

impl Files {
    /// Copies an item to `beside`, and renames it to its place.
    fn add_by(
        &self,
        from: &Node,
        to: &Node,
        item: &Item,
        beside: &Path,
        read: Stamp,
    ) -> Done<Added> {
        let (source, target) = (self.path(from, item)?, self.path(to, item)?);
        let keep = Keep {
            owner: self.options.owner,
            attributes: self.options.attributes,
        };
        let fresh = match copy(&source, beside, keep) {
            Ok(fresh) => fresh,
            Err(error) if is_absent(&error) && !source.exists() => return Ok(Added::Gone),
            Err(error) => {
                let what = format!("cannot copy {} to", source.display());
                return Err(fault(&what, &target, &error));
            }
        };
        self.make_directories(from, to, item)?;
        let renamed = rename_without_replacing(beside, &target)
            .map_err(|error| fault("cannot write", &target, &error))?;
        if !renamed {
            return Ok(Added::Present);
        }
        if let Some(parent) = target.parent() {
            self.touch(to, parent);
        }
        let wrote = fresh
            .metadata()
            .map_err(|error| fault("cannot look at", &target, &error))?;
        Ok(Added::Copied {
            read: read.version(),
            wrote: Stamp::of(&wrote).version(),
            bytes: fresh.bytes,
        })
    }
}

/// Returns the fault of an operation on a path.
fn fault(what: &str, path: &Path, error: &io::Error) -> Fault {
    let passes = matches!(
        error.kind(),
        ErrorKind::Interrupted
            | ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::NotFound
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
    );
    Fault {
        line: format!("{what} {}: {error}", path.display()),
        passes,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two {
        directory: tempfile::TempDir,
        kind: Files,
        nodes: [Node; 2],
    }

    impl Two {
        fn new(pattern: &str) -> Two {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().join("{node}");
            let options = FilesOptions {
                root: root.to_str().unwrap().to_owned(),
                pattern: pattern.to_owned(),
                marker: None,
                owner: true,
                attributes: true,
            };
            let kind = Files::new(options, &[1; 16]);
            let nodes = ["a", "b"].map(|name| Node {
                number: usize::from(name == "b"),
                name: name.to_owned(),
                attributes: vec![],
            });
            for node in &nodes {
                fs::create_dir(directory.path().join(&node.name)).unwrap();
            }
            Two {
                directory,
                kind: kind.unwrap(),
                nodes,
            }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.directory.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn items(&self, node: usize) -> Vec<Item> {
            let mut items = Vec::new();
            let stop = AtomicBool::new(false);
            let mut each = |item| {
                items.push(item);
                true
            };
            let node = &self.nodes[node];
            self.kind.keys(node, None, &stop, &mut each).unwrap();
            items
        }
    }

    #[test]
    fn a_file_is_added_where_none_is_and_only_that_version_is_removed() {
        let two = Two::new("{x}/{key}/...");
        let [a, b] = &two.nodes;
        two.write("a/1/k/deep/f", "text");
        fs::set_permissions(two.path("a/1/k"), fs::Permissions::from_mode(0o751)).unwrap();
        let items = two.items(0);
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].key, b"k");
        let item = &items[0];
        let Added::Copied { read, wrote, bytes } = two.kind.add(a, b, item).unwrap() else {
            panic!("not copied")
        };
        two.kind.flush(b).unwrap();
        assert_eq!(bytes, 4);
        assert_eq!(two.kind.version(a, item).unwrap(), Some(read.clone()));
        assert_eq!(two.kind.version(b, item).unwrap(), Some(wrote.clone()));
        let mode = fs::metadata(two.path("b/1/k")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o751);
        assert!(two.kind.compare(a, b, item).unwrap().equal);
        assert_eq!(two.kind.add(a, b, item).unwrap(), Added::Present);
        // an application writes: this version stays
        two.write("b/1/k/deep/f", "newer");
        assert!(!two.kind.remove(b, item, &wrote).unwrap());
        assert!(!two.kind.compare(a, b, item).unwrap().equal);
        let now = two.kind.version(b, item).unwrap().unwrap();
        assert!(two.kind.remove(b, item, &now).unwrap());
        two.kind.tidy(b, item).unwrap();
        assert!(!two.path("b/1/k").exists() && two.path("b/1").exists());
        assert!(two.kind.remove(b, item, &now).unwrap());
        // the control: a version that is the present one is removed at the source, too
        assert!(two.kind.remove(a, item, &read).unwrap());
        assert_eq!(two.kind.add(a, b, item).unwrap(), Added::Gone);
        // another map over the same roots keeps what it is about to write
        let other = Files::new(two.kind.options.clone(), &[2; 16]).unwrap();
        let mine = two.kind.beside(b).unwrap();
        let theirs = other.beside(b).unwrap();
        assert!(mine.parent() != theirs.parent());
        two.kind.clear(b).unwrap();
        assert!(!mine.parent().unwrap().exists() && theirs.parent().unwrap().exists());
    }

    #[test]
    fn a_root_that_is_missing_or_that_of_another_node_is_refused() {
        let mut two = Two::new("{key}");
        two.kind.options.marker = Some(".node".into());
        let ready = |two: &Two| {
            let nodes: Vec<&Node> = two.nodes.iter().collect();
            two.kind.ready(&nodes).map_err(|fault| fault.line)
        };
        assert!(ready(&two).unwrap_err().contains("has no marker .node"));
        two.write("a/.node", "a\n");
        two.write("b/.node", "a\n");
        assert!(ready(&two).unwrap_err().contains("another node"));
        two.write("b/.node", "b\n");
        assert_eq!(ready(&two), Ok(()));
        fs::remove_dir_all(two.path("b")).unwrap();
        assert!(ready(&two).unwrap_err().contains("mount it"));
        std::os::unix::fs::symlink("a", two.path("b")).unwrap();
        two.kind.options.marker = None;
        assert!(ready(&two).unwrap_err().contains("same root"));
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing_behind() {
        let two = Two::new("{x}/{key}");
        two.write("a/1/k", "text");
        two.write("b/1", "a file where a directory should be");
        let item = &two.items(0)[0];
        let fault = two
            .kind
            .add(&two.nodes[0], &two.nodes[1], item)
            .unwrap_err();
        assert!(fault.line.contains("b/1"), "{fault:?}");
        let own = two.path("b").join(&two.kind.own);
        assert_eq!(fs::read_dir(own).unwrap().count(), 0);
    }
}
