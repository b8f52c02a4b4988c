//! Files: the Rust files that make up a crate, and their texts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the files of the crate whose root is `root`, the root first. Each is a path relative to
/// the root's directory, and a text.
///
/// All files in and below the directory belong to a library or program. Tests share one directory:
/// a test has only the directories there that it declares as modules.
pub fn of_crate(root: &Path) -> io::Result<Vec<(String, String)>> {
    let directory = root.parent().unwrap_or(Path::new("."));
    let text = fs::read_to_string(root)?;
    let mut files = Vec::new();
    for entry in sorted(directory)? {
        if entry.is_dir() {
            if is_root(root) || text.contains(&format!("mod {};", name(&entry))) {
                files.extend(below(&entry)?);
            }
        } else if is_root(root) && is_rust(&entry) && !is_root(&entry) {
            files.push(entry);
        }
    }
    let named = |file: &Path, text: String| {
        let path = file.strip_prefix(directory).unwrap_or(file);
        (path.display().to_string(), text)
    };
    let rest = files
        .iter()
        .map(|file| Ok(named(file, fs::read_to_string(file)?)));
    std::iter::once(Ok(named(root, text))).chain(rest).collect()
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "rs")
}

fn is_root(path: &Path) -> bool {
    matches!(name(path).as_str(), "lib.rs" | "main.rs")
}

fn sorted(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut entries: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    entries.sort();
    Ok(entries)
}

/// All Rust files below a directory.
fn below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in sorted(directory)? {
        if entry.is_dir() {
            files.extend(below(&entry)?);
        } else if is_rust(&entry) {
            files.push(entry);
        }
    }
    Ok(files)
}
