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
//!
//! A root is at this machine, or at another one, which is reached by ssh. The same code works at
//! both: `root.rs`.

pub mod agent;
mod far;
pub mod options;
mod own;
mod root;
mod standing_on;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stead::format::hex;

use super::base64_bytes::Bytes;
use super::kind::{
    each_or_all, told, About, Added, Compared, Dates, Disk, Done, Fault, Ground, Holding, Item,
    Kind, Moment, Node, Version,
};
use super::pattern::Pattern;
use super::walk::OWN;
use super::whole_file::Piece;
use super::wire::{Ask, Hello};

use far::Far;
pub use options::FilesOptions;
use own::fault;
use root::{Left, Opening, Room, Root, Seen, Taking};

/// Where the root of a node is.
enum Spot {
    /// At this machine.
    Here(Box<Root>),
    /// At another one.
    There(Box<Far>),
}

impl Spot {
    fn keys(
        &self,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done<Option<Left>> {
        match self {
            Spot::Here(root) => root.keys(after, stop, each).map(Some),
            Spot::There(far) => far.keys(after, stop, each),
        }
    }

    fn room(&self, item: &Item) -> Done<Room> {
        match self {
            Spot::Here(root) => root.room(item),
            Spot::There(far) => far.about(item, |item| Ask::Room { item }),
        }
    }

    fn version(&self, item: &Item) -> Done<Option<Bytes>> {
        match self {
            Spot::Here(root) => root.version(item),
            Spot::There(far) => far.about(item, |item| Ask::Version { item }),
        }
    }

    fn written(&self, item: &Item) -> Done<Option<Moment>> {
        match self {
            Spot::Here(root) => root.written(item),
            Spot::There(far) => far.about(item, |item| Ask::Written { item }),
        }
    }

    fn look(&self, item: &Item) -> Done<Option<Seen>> {
        match self {
            Spot::Here(root) => root.look(item),
            Spot::There(far) => far.about(item, |item| Ask::Look { item }),
        }
    }

    fn give(&self, item: &Item, above: bool, take: &mut Taking<'_>) -> Done<Added> {
        match self {
            Spot::Here(root) => {
                let Some((opening, mut reading)) = root.open(item, above)? else {
                    return Ok(Added::Gone);
                };
                let path = PathBuf::from(item.told());
                let failed = |error| fault("cannot read", &path, &error);
                take(&opening, &mut || reading.piece().map_err(failed))
            }
            Spot::There(far) => far.give(item, above, take),
        }
    }

    fn take(
        &self,
        item: &Item,
        opening: &Opening,
        next: &mut dyn FnMut() -> Done<Option<Piece>>,
        over: Option<&Version>,
    ) -> Done<Added> {
        match self {
            Spot::Here(root) => root.take(item, opening, next, over, None),
            Spot::There(far) => far.take(item, opening, next, over),
        }
    }
}

/// The kind.
pub struct Files {
    options: FilesOptions,
    /// the name of the directory of temporary files in each root
    own: String,
    /// by node
    spots: Mutex<BTreeMap<usize, Arc<Spot>>>,
    /// by node: what was left alone
    left: Mutex<BTreeMap<usize, Left>>,
    /// how many links were copied that lead out of their keys, and one of them
    links: Mutex<(u64, Option<String>)>,
}

impl Files {
    /// Returns the kind, for a carry of the map of an id.
    ///
    /// Errors: what is wrong with the options.
    pub fn new(options: FilesOptions, map_id: &[u8]) -> Result<Files, String> {
        Pattern::parse(&options.pattern)?;
        if options.ssh.is_empty() {
            return Err("files.ssh is empty; write the words that reach a machine".to_owned());
        }
        Ok(Files {
            own: format!("{OWN}.{}", hex(map_id)),
            options,
            spots: Mutex::default(),
            left: Mutex::default(),
            links: Mutex::default(),
        })
    }

    /// Notes a link that was copied, if it leads out of its key: at its new place there may be
    /// nothing for it.
    fn copied_link(&self, item: &Item, text: &[u8]) {
        let parts = || self.options.pattern.split('/');
        let own = (parts().next_back() == Some("...")).then(|| parts().count() - 1);
        let mut depth = item.name.split(|byte| *byte == b'/').count() - 1;
        let mut least = depth;
        for part in text.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => depth = depth.saturating_sub(1),
                _ => depth += 1,
            }
            least = least.min(depth);
        }
        if own.is_none_or(|own| least < own) {
            let mut links = lock(&self.links);
            links.0 += 1;
            let told = || format!("{} -> {}", item.told(), told(text));
            links.1.get_or_insert_with(told);
        }
    }

    fn spot(&self, node: &Node) -> Done<Arc<Spot>> {
        if let Some(spot) = lock(&self.spots).get(&node.number) {
            return Ok(Arc::clone(spot));
        }
        let text = node.fill(&self.options.root)?;
        let far = text
            .split_once(":/")
            .filter(|(host, _)| !host.contains('/'));
        let spot = match far {
            Some((host, path)) => Spot::There(Box::new(Far::new(
                host.to_owned(),
                self.options.ssh.clone(),
                Hello {
                    program: agent::PROGRAM.to_owned(),
                    options: self.options.clone(),
                    own: self.own.clone(),
                    node: node.name.clone(),
                    root: format!("/{path}"),
                    ground: None,
                },
            ))),
            None => {
                let root = Root::new(PathBuf::from(text), &self.options, &self.own);
                Spot::Here(Box::new(root.map_err(Fault::final_one)?))
            }
        };
        let spot = Arc::new(spot);
        lock(&self.spots).insert(node.number, Arc::clone(&spot));
        Ok(spot)
    }
}

impl Kind for Files {
    fn ready(&self, nodes: &[&Node]) -> Done {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for node in nodes {
            let place = match &*self.spot(node)? {
                Spot::Here(root) => root.ready(&node.name)?.0,
                Spot::There(far) => far.ready()?,
            };
            if let Some(other) = seen.insert(place, &node.name) {
                return Err(Fault::of_one_that_is_there(format_args!(
                    "the nodes {other} and {} have the same root {}; give each its own",
                    node.name,
                    node.fill(&self.options.root)?
                )));
            }
        }
        Ok(())
    }

    fn ground(&self, node: &Node) -> Option<Ground> {
        match &*self.spot(node).ok()? {
            Spot::Here(root) => root.ground(),
            Spot::There(far) => far.ground(),
        }
    }

    fn clear(&self, node: &Node, last: bool) -> Done {
        match &*self.spot(node)? {
            // no agent works for a carrier at this machine
            Spot::Here(root) => root.own.clear(None, last),
            Spot::There(far) => far.clear(last),
        }
    }

    fn holding(&self, node: &Node, _doubts: bool) -> Done<Holding> {
        let mark = match &*self.spot(node)? {
            Spot::Here(root) => root.holding()?,
            Spot::There(far) => far.holding()?,
        };
        let part = mark.map(|mark| ("its root".to_owned(), mark));
        Ok(part.into_iter().collect())
    }

    fn about(&self) -> About {
        About::of("[files] pattern", &self.options.pattern)
    }

    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let left = self.spot(node)?.keys(after, stop, each)?;
        // only a walk through all of it counts all
        if let (Some(left), None) = (left, after) {
            lock(&self.left).insert(node.number, left);
        }
        Ok(())
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        let version = self.spot(node)?.version(item)?;
        Ok(version.map(|version| Version(version.0)))
    }

    fn has_times(&self, _item: &Item) -> bool {
        true
    }

    fn written(&self, node: &Node, item: &Item) -> Done<Option<Moment>> {
        self.spot(node)?.written(item)
    }

    fn dates(&self, node: &Node, item: &Item) -> Done<Option<Dates>> {
        match &*self.spot(node)? {
            Spot::Here(root) => root.dates(item),
            Spot::There(far) => far.about(item, |item| Ask::Dates { item }),
        }
    }

    fn replace(
        &self,
        from: &Node,
        to: &Node,
        item: &Item,
        version: &Version,
    ) -> Done<Option<bool>> {
        let (source, target) = (self.spot(from)?, self.spot(to)?);
        let added = source.give(item, false, &mut |opening, next| {
            target.take(item, opening, next, Some(version))
        })?;
        Ok(Some(matches!(added, Added::Copied { .. })))
    }

    fn size_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<u64>>> {
        each_or_all(items.len(), |range| {
            let items = &items[range];
            let sizes = match &*self.spot(node)? {
                Spot::Here(root) => root.sizes(items.iter().map(|item| (*item).clone())),
                Spot::There(far) => far.sizes(items),
            };
            Ok(sizes?.into_iter().map(Some).collect())
        })
    }

    fn disk(&self, node: &Node) -> Done<Option<Disk>> {
        match &*self.spot(node)? {
            Spot::Here(root) => root.disk().map(Some),
            Spot::There(far) => far.disk().map(Some),
        }
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        let (source, target) = (self.spot(from)?, self.spot(to)?);
        if source.version(item)?.is_none() {
            return Ok(Added::Gone);
        }
        let above = match target.room(item)? {
            Room::Taken => return Ok(Added::Present),
            room => room == Room::NoDirectory,
        };
        source.give(item, above, &mut |opening, next| {
            let added = target.take(item, opening, next, None)?;
            if let (Added::Copied { .. }, Some(text)) = (&added, opening.head.relative_link()) {
                self.copied_link(item, text);
            }
            Ok(added)
        })
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        let one = self.spot(first)?.look(item)?;
        let other = self.spot(second)?.look(item)?;
        let value = |seen: &Option<Seen>| seen.as_ref().map(|seen| seen.value.clone());
        let version = |seen: Option<Seen>| seen.map(|seen| Version(seen.version.0));
        Ok(Compared {
            equal: value(&one) == value(&other),
            first: version(one),
            second: version(other),
        })
    }

    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool> {
        match &*self.spot(node)? {
            Spot::Here(root) => root.remove(item, version, None),
            Spot::There(far) => far.remove(item, version),
        }
    }

    fn flush(&self, node: &Node) -> Done {
        match &*self.spot(node)? {
            Spot::Here(root) => root.flush(),
            // an agent does so before it answers
            Spot::There(_) => Ok(()),
        }
    }

    fn tidy(&self, node: &Node, item: &Item) -> Done {
        match &*self.spot(node)? {
            Spot::Here(root) => root.tidy(item),
            Spot::There(far) => far.about(item, |item| Ask::Tidy { item }),
        }
    }

    fn overlooked(&self, nodes: &[&Node]) -> Done<Option<String>> {
        let mut found = None;
        for node in nodes {
            let mut fits = false;
            let mut each = |_| {
                fits = true;
                false
            };
            let left = self
                .spot(node)?
                .keys(None, &AtomicBool::new(false), &mut each)?;
            if fits {
                return Ok(None);
            }
            // a directory without a file in it is no data
            let example = left.and_then(|left| left.example);
            let file = example.filter(|path| !path.0.ends_with(b"/"));
            found = found.or(file.map(|file| (*node, file)));
        }
        let Some((node, file)) = found else {
            return Ok(None);
        };
        Ok(Some(format!(
            "no file below the roots fits the pattern {}, such as {}/{} of node {}; correct \
             files.pattern, or move files that are no data out of the roots",
            self.options.pattern,
            node.fill(&self.options.root)?.trim_end_matches('/'),
            told(&file.0),
            node.name
        )))
    }

    fn left_alone(&self) -> u64 {
        lock(&self.left).values().map(|left| left.count).sum()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let count = self.left_alone();
        let left = lock(&self.left);
        if let Some(example) = left.values().find_map(|left| left.example.as_ref()) {
            let (paths, are) = match count {
                1 => ("path does", "was"),
                _ => ("paths do", "were"),
            };
            notes.push(format!(
                "{count} {paths} not fit the pattern {} and {are} left alone, such as {}",
                self.options.pattern,
                told(&example.0)
            ));
        }
        let empty: u64 = left.values().map(|left| left.empty).sum();
        if let Some(example) = left.values().find_map(|left| left.empty_example.as_ref()) {
            let directories = match empty {
                1 => "1 directory is".to_owned(),
                _ => format!("{empty} directories are"),
            };
            notes.push(format!(
                "{directories} empty, such as {}: those of keys that move are not copied, and stay \
                 at their old places",
                told(&example.0)
            ));
        }
        if let (count, Some(example)) = &*lock(&self.links) {
            notes.push(match count {
                1 => format!("the symbolic link {example} may lead to nothing at its new place"),
                _ => format!(
                    "{count} symbolic links that are relative may lead to nothing at their new \
                     places, such as {example}"
                ),
            });
        }
        notes
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

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
                ssh: vec!["ssh".to_owned()],
                agent: String::new(),
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
        let mine = two.path("b").join(&two.kind.own);
        let other = Files::new(two.kind.options.clone(), &[2; 16]).unwrap();
        let theirs = two.path("b").join(&other.own);
        assert!(mine != theirs && mine.is_dir());
        fs::create_dir(&theirs).unwrap();
        two.kind.clear(b, true).unwrap();
        assert!(!mine.exists() && theirs.exists());
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
        lock(&two.kind.spots).clear();
        assert!(ready(&two).unwrap_err().contains("same root"));
    }

    #[test]
    fn files_of_which_none_fits_are_not_overlooked() {
        let two = Two::new("{x}/{key}.jpeg");
        let nodes: Vec<&Node> = two.nodes.iter().collect();
        let overlooked = || two.kind.overlooked(&nodes).unwrap();
        // no data
        fs::create_dir(two.path("a/lost+found")).unwrap();
        fs::create_dir_all(two.path("a/x/empty/er")).unwrap();
        assert_eq!(overlooked(), None);
        two.write("b/1/k.jpg", "text");
        let line = overlooked().unwrap();
        assert!(line.contains("{x}/{key}.jpeg, such as "), "{line}");
        assert!(line.contains("/b/1/k.jpg of node b"), "{line}");
        two.write("a/1/k.jpeg", "text");
        assert_eq!(overlooked(), None);
    }

    #[test]
    fn links_that_lead_out_of_their_keys_are_counted() {
        let links = |pattern: &str, links: &[(&str, &str)]| {
            let two = Two::new(pattern);
            for (at, text) in links {
                let path = two.path(&format!("a/{at}"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(text, path).unwrap();
            }
            for item in two.items(0) {
                two.kind.add(&two.nodes[0], &two.nodes[1], &item).unwrap();
            }
            two.kind.notes()
        };
        let out = ["the symbolic link 1/k -> ../2/x may lead to nothing at its new place"];
        assert_eq!(links("{x}/{key}", &[("1/k", "../2/x")]), out);
        assert_eq!(links("{x}/{key}", &[("1/k", "/an/absolute/one")]), [""; 0]);
        let several = [("1/a", "b"), ("1/c", "d"), ("2/e", "/f")];
        let out = [
            "2 symbolic links that are relative may lead to nothing at their new places, \
                    such as 1/a -> b",
        ];
        assert_eq!(links("{x}/{key}", &several), out);
        // what belongs to one key stays together
        let inside = [("1/k/d/a", "../b"), ("1/k/c", "./d/../e")];
        assert_eq!(links("{x}/{key}/...", &inside), [""; 0]);
        let out = ["the symbolic link 1/k/c -> d/../../l/e may lead to nothing at its new place"];
        assert_eq!(links("{x}/{key}/...", &[("1/k/c", "d/../../l/e")]), out);
    }

    #[test]
    fn paths_that_do_not_fit_are_counted_in_words() {
        let two = Two::new("{x}/{key}.jpg");
        for (name, told) in [
            ("a/1/.new", "1 path does not"),
            ("a/1/.old", "2 paths do not"),
        ] {
            two.write(name, "text");
            two.items(0);
            let notes = two.kind.notes();
            assert!(notes.len() == 1 && notes[0].starts_with(told), "{notes:?}");
        }
    }

    #[test]
    fn empty_directories_of_keys_are_told() {
        let two = Two::new("{key}/...");
        for path in ["a/anna/cur/1", "a/bob/cur/1"] {
            two.write(path, "text");
        }
        two.items(0);
        assert!(two.kind.notes().is_empty());
        let tell = |path: &str| {
            fs::create_dir_all(two.path(path)).unwrap();
            two.items(0);
            two.kind.notes().concat()
        };
        let one = tell("a/bob/new");
        assert!(
            one.starts_with("1 directory is empty, such as bob/new: "),
            "{one}"
        );
        // one of a key that has no file at all comes first
        let two_of_them = tell("a/a new mailbox");
        assert!(
            two_of_them.starts_with("2 directories are empty, such as a new mailbox: "),
            "{two_of_them}"
        );
        // directories that hold many keys are often empty
        let shared = Two::new("{x}/{key}");
        fs::create_dir_all(shared.path("a/7")).unwrap();
        shared.write("a/8/k", "text");
        shared.items(0);
        assert!(shared.kind.notes().is_empty());
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
