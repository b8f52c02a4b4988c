//! The house has one direction: a core module uses only modules to its left. And unsafe code lives
//! in two modules only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Groups from left to right; within a group no module uses another, unless listed in `WITHIN`.
const GROUPS: [&[&str]; 14] = [
    &["point", "weight", "name", "error", "mmap", "lock"],
    &["cell", "policy"],
    &["hash"],
    &["slice", "fleet"],
    &["format"],
    &["map"],
    &["held"],
    &["plan", "rebalance", "verdict"],
    &["ring"],
    &["report", "path"],
    &["baseline"],
    &["stats", "simulate"],
    &["store"],
    &["lib"],
];

/// Modules that may have unsafe code.
const UNSAFE: [&str; 2] = ["mmap", "lock"];

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The top module that a file belongs to.
fn module(root: &Path, file: &Path) -> String {
    let first = file.strip_prefix(root).unwrap().iter().next().unwrap();
    first.to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The top modules that a text names as `crate::x`, and `crate::{x, y}`.
fn uses(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let list = rest
            .strip_prefix('{')
            .map_or(rest, |inner| inner.split('}').next().unwrap());
        let names = if rest.starts_with('{') {
            list.split(',').collect()
        } else {
            vec![list]
        };
        for name in names {
            let word: String = name
                .trim()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            found.push(word);
        }
    }
    found
}

/// What breaks the rule, as `file -> module`.
fn broken(files: &BTreeMap<String, Vec<(String, String)>>) -> Vec<String> {
    let group = |m: &str| GROUPS.iter().position(|g| g.contains(&m));
    let mut broken = Vec::new();
    for (module, texts) in files {
        let Some(mine) = group(module) else {
            broken.push(format!("{module} is in no group"));
            continue;
        };
        for (file, text) in texts {
            for used in uses(text) {
                match group(&used) {
                    _ if used == *module => {}
                    Some(theirs) if theirs < mine => {}
                    Some(_) => broken.push(format!("{file} -> {used}")),
                    None if used.is_empty() || used.starts_with(char::is_uppercase) => {
                        broken.push(format!("{file} -> crate::{used}"))
                    }
                    None => broken.push(format!("{file} -> {used}, which is in no group")),
                }
            }
        }
    }
    broken
}

fn read_all() -> BTreeMap<String, Vec<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in sources(&root) {
        let text = fs::read_to_string(&file).unwrap();
        // a unit test may look around
        let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
        files
            .entry(module(&root, &file))
            .or_default()
            .push((file.display().to_string(), text));
    }
    files
}

#[test]
fn modules_use_only_modules_to_their_left() {
    let files = read_all();
    assert!(files.len() > 15, "only {} modules found", files.len());
    assert_eq!(broken(&files), Vec::<String>::new());
}

#[test]
fn the_rule_sees_a_module_that_looks_right() {
    let wrong = |module: &str, text: &str| {
        BTreeMap::from([(
            module.to_owned(),
            vec![("file".to_owned(), text.to_owned())],
        )])
    };
    assert_eq!(
        broken(&wrong("point", "use crate::map::Map;")),
        ["file -> map"]
    );
    assert_eq!(
        broken(&wrong("plan", "use crate::rebalance::targets;")),
        ["file -> rebalance"]
    );
    assert_eq!(
        broken(&wrong("verdict", "use crate::rebalance::targets;")),
        ["file -> rebalance"]
    );
    assert_eq!(
        broken(&wrong("hash", "use crate::{point::Point, store};")),
        ["file -> store"]
    );
    assert_eq!(broken(&wrong("nowhere", "")), ["nowhere is in no group"]);
    assert_eq!(
        broken(&wrong("store", "use crate::map::Map;")),
        Vec::<String>::new()
    );
}

#[test]
fn unsafe_code_lives_in_two_modules() {
    for (module, texts) in read_all() {
        for (file, text) in texts {
            let code = text
                .lines()
                .filter(|l| !l.trim_start().starts_with("//"))
                .collect::<Vec<_>>()
                .join("\n");
            let found = code.contains("unsafe {")
                || code.contains("unsafe fn")
                || code.contains("unsafe impl");
            assert_eq!(found, UNSAFE.contains(&module.as_str()), "{file}");
        }
    }
}

#[test]
fn modules_that_place_are_free_of_floats_and_indexing() {
    // the lints do the work; this says that nobody took them off
    for module in [
        "cell",
        "format",
        "map",
        "plan",
        "point",
        "policy",
        "rebalance",
        "slice",
        "verdict",
        "weight",
    ] {
        let text =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
        let strict = "#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]\n";
        let declared = text.contains(&format!("{strict}pub mod {module};"));
        assert!(declared, "{module} is declared without the lints");
    }
}
