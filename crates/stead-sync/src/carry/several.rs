//! Several kinds of data in one carry: what one map places is carried together.
//!
//! An item's name has the word of its kind before it, as in `files:38/37/60/frank`. A node is
//! listed kind by kind, always in the same order. Each item is handled by its own kind, so each
//! kind's guarantee holds as it does alone.

use std::sync::atomic::AtomicBool;

use super::kind::{
    About, Added, Compared, Dates, Disk, Done, Fault, Ground, Holding, Item, Kind, Moment, Node,
    Tie, Version,
};

/// A kind with its word, such as `files`.
pub type Named = (&'static str, Box<dyn Kind>);

/// The kinds.
pub struct Several {
    kinds: Vec<Named>,
}

/// An item of one kind, as that kind knows it.
struct Own<'a> {
    kind: &'a dyn Kind,
    item: Item,
}

impl Several {
    /// Returns the kinds as one. The words are distinct, and have no colon.
    pub fn new(kinds: Vec<Named>) -> Several {
        Several { kinds }
    }

    /// Returns the number of the kind of an item's name, and the name that this kind knows.
    fn split<'a>(&self, name: &'a [u8]) -> Option<(usize, &'a [u8])> {
        let colon = name.iter().position(|byte| *byte == b':')?;
        let is_its = |(word, _): &(&str, _)| word.as_bytes() == &name[..colon];
        let number = self.kinds.iter().position(is_its)?;
        Some((number, &name[colon + 1..]))
    }

    fn own(&self, item: &Item) -> Done<Own<'_>> {
        // the journal may be one of another file
        let unknown = || {
            let told = item.told();
            Fault::final_one(format_args!(
                "{told}: it is of no kind that the file of the carry names; correct the file"
            ))
        };
        let (number, name) = self.split(&item.name).ok_or_else(unknown)?;
        Ok(Own {
            kind: &*self.kinds[number].1,
            item: Item {
                name: name.to_vec(),
                key: item.key.clone(),
            },
        })
    }

    /// Does something for all items, those of each kind at once. The results are in the order of
    /// the items.
    fn by_kind<T>(
        &self,
        items: &[&Item],
        mut each: impl FnMut(&dyn Kind, &[&Item], &[usize]) -> Vec<Done<T>>,
    ) -> Vec<Done<T>> {
        let mut results: Vec<Option<Done<T>>> = items.iter().map(|_| None).collect();
        for (number, (_, kind)) in self.kinds.iter().enumerate() {
            let is_its = |place: &usize| {
                let split = self.split(&items[*place].name);
                split.is_some_and(|(its, _)| its == number)
            };
            let places: Vec<usize> = (0..items.len()).filter(is_its).collect();
            let own = places.iter().map(|place| self.own(items[*place]));
            let Ok(own) = own.collect::<Done<Vec<_>>>() else {
                continue;
            };
            let mine: Vec<&Item> = own.iter().map(|own| &own.item).collect();
            if !mine.is_empty() {
                for (place, result) in places.iter().zip(each(&**kind, &mine, &places)) {
                    results[*place] = Some(result);
                }
            }
        }
        let missing = |item| match self.own(item) {
            Err(fault) => Err(fault),
            Ok(_) => Err(Fault::passing("the kind gave no result")),
        };
        let all = items.iter().zip(results);
        all.map(|(item, result)| result.unwrap_or_else(|| missing(item)))
            .collect()
    }
}

impl Kind for Several {
    fn ready(&self, nodes: &[&Node]) -> Done {
        self.kinds
            .iter()
            .try_for_each(|(_, kind)| kind.ready(nodes))
    }

    fn ground(&self, node: &Node) -> Option<Ground> {
        self.kinds.iter().find_map(|(_, kind)| kind.ground(node))
    }

    fn clear(&self, node: &Node, last: bool) -> Done {
        self.kinds
            .iter()
            .try_for_each(|(_, kind)| kind.clear(node, last))
    }

    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let (first, mut after) = match after.and_then(|name| self.split(name)) {
            Some((number, name)) => (number, Some(name)),
            None => (0, None),
        };
        let mut goes_on = true;
        for (word, kind) in &self.kinds[first..] {
            let mut named = |item: Item| {
                let name = [word.as_bytes(), b":", &item.name].concat();
                goes_on = each(Item { name, ..item });
                goes_on
            };
            kind.keys(node, after.take(), stop, &mut named)?;
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    fn is_ordered(&self) -> bool {
        self.kinds.iter().all(|(_, kind)| kind.is_ordered())
    }

    fn may_forget(&self, item: &Item) -> bool {
        self.own(item)
            .is_ok_and(|own| own.kind.may_forget(&own.item))
    }

    fn at_once(&self, item: &Item) -> usize {
        self.own(item).map_or(1, |own| own.kind.at_once(&own.item))
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        let own = self.own(item)?;
        own.kind.version(node, &own.item)
    }

    fn has_times(&self, item: &Item) -> bool {
        self.own(item)
            .is_ok_and(|own| own.kind.has_times(&own.item))
    }

    fn written(&self, node: &Node, item: &Item) -> Done<Option<Moment>> {
        let own = self.own(item)?;
        own.kind.written(node, &own.item)
    }

    fn dates(&self, node: &Node, item: &Item) -> Done<Option<Dates>> {
        let own = self.own(item)?;
        own.kind.dates(node, &own.item)
    }

    fn replace(
        &self,
        from: &Node,
        to: &Node,
        item: &Item,
        version: &Version,
    ) -> Done<Option<bool>> {
        let own = self.own(item)?;
        own.kind.replace(from, to, &own.item, version)
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        let own = self.own(item)?;
        own.kind.add(from, to, &own.item)
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        let own = self.own(item)?;
        own.kind.compare(first, second, &own.item)
    }

    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool> {
        let own = self.own(item)?;
        own.kind.remove(node, &own.item, version)
    }

    fn flush(&self, node: &Node) -> Done {
        self.kinds.iter().try_for_each(|(_, kind)| kind.flush(node))
    }

    fn tidy(&self, node: &Node, item: &Item) -> Done {
        let own = self.own(item)?;
        own.kind.tidy(node, &own.item)
    }

    fn size_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<u64>>> {
        self.by_kind(items, |kind, mine, _| kind.size_all(node, mine))
    }

    fn disk(&self, node: &Node) -> Done<Option<Disk>> {
        for (_, kind) in &self.kinds {
            if let Some(disk) = kind.disk(node)? {
                return Ok(Some(disk));
            }
        }
        Ok(None)
    }

    fn add_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Added>> {
        self.by_kind(items, |kind, mine, _| kind.add_all(from, to, mine))
    }

    fn version_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<Version>>> {
        self.by_kind(items, |kind, mine, _| kind.version_all(node, mine))
    }

    fn compare_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<Compared>> {
        self.by_kind(items, |kind, mine, _| kind.compare_all(first, second, mine))
    }

    fn remove_all(&self, node: &Node, items: &[(&Item, &Version)]) -> Vec<Done<bool>> {
        let names: Vec<&Item> = items.iter().map(|(item, _)| *item).collect();
        self.by_kind(&names, |kind, mine, places| {
            let versions = places.iter().map(|place| items[*place].1);
            let mine: Vec<_> = mine.iter().copied().zip(versions).collect();
            kind.remove_all(node, &mine)
        })
    }

    fn overlooked(&self, nodes: &[&Node]) -> Done<Option<String>> {
        for (_, kind) in &self.kinds {
            if let Some(line) = kind.overlooked(nodes)? {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn notes(&self) -> Vec<String> {
        let notes = self.kinds.iter().flat_map(|(_, kind)| kind.notes());
        notes.collect()
    }

    fn differs_also(&self) -> &'static str {
        let mut others = self.kinds.iter().map(|(_, kind)| kind.differs_also());
        others.find(|other| !other.is_empty()).unwrap_or_default()
    }

    fn about(&self) -> About {
        About::join(self.kinds.iter().map(|(_, kind)| kind.about()))
    }

    fn halted(&self) -> Option<String> {
        self.kinds.iter().find_map(|(_, kind)| kind.halted())
    }

    fn holding(&self, node: &Node, doubts: bool) -> Done<Holding> {
        let mut all = Holding::new();
        for (word, kind) in &self.kinds {
            let holding = kind.holding(node, doubts)?.into_iter();
            all.extend(holding.map(|(part, mark)| (format!("{word}: {part}"), mark)));
        }
        Ok(all)
    }

    fn ties(&self, node: &Node, items: &[&Item]) -> Done<Vec<Tie>> {
        let mut ties = Vec::new();
        let mut failed = None;
        self.by_kind(items, |kind, mine, _| {
            match kind.ties(node, mine) {
                Ok(found) => ties.extend(found),
                Err(fault) => failed = Some(fault),
            }
            mine.iter().map(|_| Ok(())).collect()
        });
        failed.map_or(Ok(ties), Err)
    }

    fn left_alone(&self) -> u64 {
        self.kinds.iter().map(|(_, kind)| kind.left_alone()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::files::{Files, FilesOptions};
    use super::*;

    /// Two kinds of files below one directory: `ROOT/NODE/one` and `ROOT/NODE/two`.
    fn several(root: &Path) -> Several {
        let kind = |name: &str| -> Box<dyn Kind> {
            let options = FilesOptions {
                root: format!("{}/{{node}}/{name}", root.display()),
                pattern: "{key}".to_owned(),
                marker: None,
                attributes: true,
                owner: false,
                ssh: vec!["ssh".to_owned()],
                agent: String::new(),
            };
            Box::new(Files::new(options, &[1; 16]).unwrap())
        };
        for name in ["a/one", "a/two", "b/one", "b/two"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        Several::new(vec![("one", kind("one")), ("two", kind("two"))])
    }

    fn node(number: usize, name: &str) -> Node {
        Node {
            number,
            name: name.to_owned(),
            attributes: Vec::new(),
        }
    }

    fn listed(kinds: &Several, after: Option<&str>, most: usize) -> Vec<String> {
        let mut names = Vec::new();
        let mut each = |item: Item| {
            names.push(String::from_utf8(item.name).unwrap());
            names.len() < most
        };
        let after = after.map(str::as_bytes);
        let stop = AtomicBool::new(false);
        kinds.keys(&node(0, "a"), after, &stop, &mut each).unwrap();
        names
    }

    fn items(names: &[&str]) -> Vec<Item> {
        let item = |name: &&str| Item {
            name: name.as_bytes().to_vec(),
            key: name.as_bytes()[4..].to_vec(),
        };
        names.iter().map(item).collect()
    }

    #[test]
    fn a_node_is_listed_kind_by_kind_from_any_place_on() {
        let place = tempfile::tempdir().unwrap();
        let kinds = several(place.path());
        for name in ["a/one/x", "a/one/y", "a/two/w", "a/two/x"] {
            fs::write(place.path().join(name), name).unwrap();
        }
        let all = ["one:x", "one:y", "two:w", "two:x"];
        assert_eq!(listed(&kinds, None, 9), all);
        for (number, name) in all.iter().enumerate() {
            assert_eq!(listed(&kinds, Some(name), 9), all[number + 1..]);
            assert_eq!(listed(&kinds, None, number + 1), all[..=number]);
        }
        assert_eq!(listed(&kinds, Some("three:x"), 9), all, "another file's");
    }

    #[test]
    fn items_of_several_kinds_go_each_to_its_own_and_keep_their_order() {
        let place = tempfile::tempdir().unwrap();
        let kinds = several(place.path());
        let (a, b) = (node(0, "a"), node(1, "b"));
        for name in ["one/x", "two/x", "one/y"] {
            fs::write(place.path().join("a").join(name), name).unwrap();
        }
        let all = items(&["two:x", "one:x", "two:z", "bad:x", "one:y"]);
        let all: Vec<&Item> = all.iter().collect();
        let added = kinds.add_all(&a, &b, &all);
        let copied = |added: &Done<Added>| matches!(added, Ok(Added::Copied { bytes: 5, .. }));
        assert!(copied(&added[0]) && copied(&added[1]) && copied(&added[4]));
        assert_eq!(added[2], Ok(Added::Gone));
        assert!(matches!(&added[3], Err(fault) if fault.line.contains("bad:x")));
        for name in ["one/x", "two/x", "one/y"] {
            let copy = fs::read_to_string(place.path().join("b").join(name));
            assert_eq!(copy.unwrap(), name);
        }
        fs::write(place.path().join("b/two/x"), "other").unwrap();
        let compared = kinds.compare_all(&a, &b, &all);
        let equal = |place: usize| compared[place].as_ref().map(|both| both.equal);
        assert_eq!(
            (equal(0), equal(1), equal(2)),
            (Ok(false), Ok(true), Ok(true))
        );
        let versions = kinds.version_all(&b, &all[..2]);
        let versions: Vec<Version> = versions.into_iter().map(|v| v.unwrap().unwrap()).collect();
        // the version of another kind's item is not the one that is there
        let swapped = [(all[0], &versions[1]), (all[1], &versions[1])];
        assert_eq!(kinds.remove_all(&b, &swapped), [Ok(false), Ok(true)]);
        assert!(!place.path().join("b/one/x").exists());
    }
}
