//! Uses: which file of a crate uses which, found by following every path in its code.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use crate::circles::circles;
use crate::code::{self, Module, Written};
use crate::files;

/// The numbers of a file and of a file that it uses, with the first path that leads from one to the
/// other.
pub type Uses = BTreeMap<(usize, usize), String>;

/// The first words of paths that must lead into the crate.
const ROOTED: [&str; 3] = ["crate", "self", "super"];

/// A crate, read from its files.
#[derive(Debug)]
pub struct Crate {
    /// The paths of its files, relative to the root's directory; the root is the first.
    pub files: Vec<String>,
    /// The comment at the start of its root.
    pub front_page: String,
    /// Which file uses which.
    pub uses: Uses,
    /// Paths into the crate that lead nowhere, each with its file. They are errors, so that code
    /// which is not understood here does not pass unnoticed.
    pub lost: Vec<(usize, String)>,
    modules: Vec<(usize, Module)>,
    by_path: BTreeMap<Vec<String>, usize>,
}

/// The destination of a path.
#[derive(Clone, Copy, Debug)]
enum Found<'a> {
    Module(usize),
    /// An item that is defined in a module, and the word of the path after the item.
    Item(usize, &'a str, Option<&'a str>),
}

/// The reason why a path does not lead into the crate.
enum Astray {
    /// The path begins with a name that the crate does not define.
    Elsewhere,
    /// The path begins in the crate but names something that does not exist.
    Nowhere,
}

impl Crate {
    /// Reads the crate whose root is the file `root`.
    pub fn read(root: &Path) -> io::Result<Crate> {
        Crate::of(&files::of_crate(root)?)
    }

    /// Reads a crate from its files, given as paths and texts; the root is the first.
    pub fn of(files: &[(impl AsRef<str>, impl AsRef<str>)]) -> io::Result<Crate> {
        let wrong = |file: &str, error: syn::Error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{file}: {error}"))
        };
        let mut of = Crate {
            files: Vec::new(),
            front_page: String::new(),
            uses: Uses::new(),
            lost: Vec::new(),
            modules: Vec::new(),
            by_path: BTreeMap::new(),
        };
        for (number, (file, text)) in files.iter().enumerate() {
            let (file, text) = (file.as_ref(), text.as_ref());
            let path = if number == 0 { Vec::new() } else { path(file) };
            of.files.push(file.to_owned());
            let (head, modules) = code::read(text, path).map_err(|error| wrong(file, error))?;
            if number == 0 {
                of.front_page = head;
            }
            of.modules.extend(modules.into_iter().map(|m| (number, m)));
        }
        of.leave_out_tests();
        of.by_path = (0..)
            .zip(&of.modules)
            .map(|(number, (_, module))| (module.path.clone(), number))
            .collect();
        (of.uses, of.lost) = of.find_uses();
        Ok(of)
    }

    /// The circles among the files. The files of a circle are sorted by name.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let mut edges: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (from, to) in self.uses.keys() {
            edges.entry(*from).or_default().push(*to);
        }
        let names = |circle: Vec<usize>| {
            let mut names: Vec<&str> = circle.iter().map(|f| self.files[*f].as_str()).collect();
            names.sort_unstable();
            names
        };
        circles(&edges).into_iter().map(names).collect()
    }

    /// The top module that a file belongs to; `None` for the root.
    pub fn top(&self, file: usize) -> Option<String> {
        (file > 0).then(|| path(&self.files[file]).swap_remove(0))
    }

    /// The top modules, except for those that exist only for tests.
    pub fn tops(&self) -> BTreeSet<String> {
        let tops = self.modules.iter().filter_map(|(file, _)| self.top(*file));
        tops.collect()
    }

    /// The files in whose code this word appears.
    pub fn files_with(&self, word: &str) -> BTreeSet<&str> {
        let word = vec![word.to_owned()];
        let has = self.modules.iter().filter(|(_, m)| m.named.contains(&word));
        has.map(|(file, _)| self.files[*file].as_str()).collect()
    }

    /// The uses among these files, a line each.
    pub fn among(&self, files: &[&str]) -> Vec<String> {
        let inside = |file: &usize| files.contains(&self.files[*file].as_str());
        let uses = self.uses.iter();
        uses.filter(|((from, to), _)| inside(from) && inside(to))
            .map(|((from, to), by)| format!("{} -> {}: {by}", self.files[*from], self.files[*to]))
            .collect()
    }

    fn leave_out_tests(&mut self) {
        let mut out = BTreeSet::new();
        for (_, module) in &self.modules {
            for name in &module.for_tests {
                out.insert([module.path.clone(), vec![name.clone()]].concat());
            }
        }
        let kept = |path: &[String]| !(0..=path.len()).any(|n| out.contains(&path[..n]));
        self.modules.retain(|(_, module)| kept(&module.path));
    }

    /// Returns the uses of all files, and the paths that lead nowhere.
    fn find_uses(&self) -> (Uses, Vec<(usize, String)>) {
        let foreign = self.foreign_functions();
        let (mut uses, mut lost) = (Uses::new(), Vec::new());
        for (from, (file, _)) in self.modules.iter().enumerate() {
            for path in self.paths_of(from) {
                let text = path.join("::");
                let mut add = |module: usize| {
                    let to = self.modules[module].0;
                    if to != *file {
                        uses.entry((*file, to)).or_insert_with(|| text.clone());
                    }
                };
                match self.find(from, &path) {
                    Ok(Found::Module(to) | Found::Item(to, _, None)) => add(to),
                    Ok(Found::Item(to, of, Some(next))) => {
                        add(to);
                        let function = (to, of.to_owned(), next.to_owned());
                        foreign.get(&function).into_iter().for_each(|at| add(*at));
                    }
                    Err(Astray::Nowhere) if ROOTED.contains(&path[0].as_str()) => {
                        lost.push((*file, text));
                    }
                    Err(_) => {}
                }
            }
        }
        (uses, lost)
    }

    /// The paths through which a module uses others.
    fn paths_of(&self, from: usize) -> Vec<Written> {
        let module = &self.modules[from].1;
        let named = module.named.iter();
        let named = named.filter(|path| path.len() > 1 || module.exports.contains(&path[0]));
        let words = module.called_with.iter().map(|word| vec![word.clone()]);
        let children = words.filter(|word| self.child(from, &word[0]).is_some());
        // a module does not use what it only re-exports from below
        let exports = module.exports.iter();
        let exports = exports.filter_map(|name| module.aliases.get(name));
        let exports = exports.filter(|path| !self.is_below(from, path));
        named.chain(exports).cloned().chain(children).collect()
    }

    /// The functions that are in another file than their type: module, type, function.
    fn foreign_functions(&self) -> BTreeMap<(usize, String, String), usize> {
        let mut foreign = BTreeMap::new();
        for (at, (file, module)) in self.modules.iter().enumerate() {
            for (of, function) in &module.functions {
                if let Ok(Found::Item(home, name, None)) = self.find(at, of) {
                    if self.modules[home].0 != *file {
                        foreign.insert((home, name.to_owned(), function.clone()), at);
                    }
                }
            }
        }
        foreign
    }

    fn child(&self, module: usize, name: &str) -> Option<usize> {
        let path = [self.modules[module].1.path.clone(), vec![name.to_owned()]].concat();
        self.by_path.get(&path).copied()
    }

    /// Whether a path leads to a submodule of this module, or into one.
    fn is_below(&self, module: usize, path: &Written) -> bool {
        let Ok(Found::Module(to) | Found::Item(to, ..)) = self.find(module, path) else {
            return false;
        };
        self.modules[to]
            .1
            .path
            .starts_with(&self.modules[module].1.path)
    }

    fn find<'a>(&'a self, from: usize, path: &'a Written) -> Result<Found<'a>, Astray> {
        self.follow(from, path, &mut BTreeSet::new())
    }

    /// Follows a path in the code of a module. `seen` has the names that are being looked up, so
    /// that two globs that import each other do not recurse for ever.
    fn follow<'a>(
        &'a self,
        from: usize,
        path: &'a [String],
        seen: &mut BTreeSet<(usize, String, bool)>,
    ) -> Result<Found<'a>, Astray> {
        let mut at = from;
        let mut rest = path;
        while let [first, more @ ..] = rest {
            at = match first.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => {
                    let path = &self.modules[at].1.path;
                    let above = path.get(..path.len().saturating_sub(1));
                    let above = above.and_then(|above| self.by_path.get(above));
                    *above.ok_or(Astray::Nowhere)?
                }
                _ => break,
            };
            rest = more;
        }
        let inside = rest.len() < path.len();
        for (number, word) in rest.iter().enumerate() {
            let last = number + 1 == rest.len();
            match self.look_up(at, word, last, seen) {
                Some(Found::Module(module)) => at = module,
                Some(Found::Item(module, name, _)) => {
                    let next = rest.get(number + 1).map(String::as_str);
                    return Ok(Found::Item(module, name, next));
                }
                None if inside || number > 0 => return Err(Astray::Nowhere),
                None => return Err(Astray::Elsewhere),
            }
        }
        Ok(Found::Module(at))
    }

    /// Returns the meaning of a name in a module.
    fn look_up<'a>(
        &'a self,
        at: usize,
        word: &'a str,
        last: bool,
        seen: &mut BTreeSet<(usize, String, bool)>,
    ) -> Option<Found<'a>> {
        if !seen.insert((at, word.to_owned(), last)) {
            return None;
        }
        let child = self.child(at, word).map(Found::Module);
        if !last && child.is_some() {
            return child;
        }
        let module = &self.modules[at].1;
        if module.items.contains(word) {
            return Some(Found::Item(at, word, None));
        }
        let alias = module.aliases.get(word);
        let alias = alias.and_then(|path| self.follow(at, path, seen).ok());
        let globs = || {
            module.globs.iter().find_map(|path| {
                let Ok(Found::Module(to)) = self.follow(at, path, seen) else {
                    return None;
                };
                self.look_up(to, word, last, seen)
            })
        };
        // a macro call among a module's items may define the items whose names it has
        let defined = || {
            let defined = module.called_with.contains(word);
            defined.then_some(Found::Item(at, word, None))
        };
        alias.or(child).or_else(globs).or_else(defined)
    }
}

/// The path of the module that a file below the root's directory is.
fn path(file: &str) -> Vec<String> {
    let stem = file.trim_end_matches(".rs").trim_end_matches("/mod");
    stem.split('/').map(str::to_owned).collect()
}
