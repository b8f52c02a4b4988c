//! Prints the public functions of a crate that belong to no trait, each on a line of its own: a
//! method as `Type::name`, a free function as `name`. Code that only tests have is left out.
//! tests/languages compares them with docs/languages.md.
//!
//! ```text
//! cargo run -p stead-layers --bin surface -- crates/stead/src
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use syn::{Attribute, ImplItem, Item, Type, Visibility};

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: surface FOLDER");
        return ExitCode::from(64);
    };
    let mut found = BTreeSet::new();
    match read(Path::new(&folder), &mut found) {
        Ok(()) => {
            for name in found {
                println!("{name}");
            }
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("surface: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn read(folder: &Path, found: &mut BTreeSet<String>) -> Result<(), String> {
    let here = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(here)? {
        let path = entry.map_err(here)?.path();
        if path.is_dir() {
            read(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).map_err(here)?;
            let file = syn::parse_file(&text).map_err(|e| format!("{}: {e}", path.display()))?;
            items(&file.items, found);
        }
    }
    Ok(())
}

fn items(list: &[Item], found: &mut BTreeSet<String>) {
    for item in list {
        match item {
            Item::Mod(inner) if !for_tests(&inner.attrs) => {
                items(
                    inner.content.as_ref().map_or(&[], |(_, items)| items),
                    found,
                );
            }
            Item::Fn(function) if public(&function.vis) && !for_tests(&function.attrs) => {
                found.insert(function.sig.ident.to_string());
            }
            Item::Impl(block) if block.trait_.is_none() && !for_tests(&block.attrs) => {
                let Type::Path(of) = &*block.self_ty else {
                    continue;
                };
                let Some(of) = of.path.segments.last() else {
                    continue;
                };
                for part in &block.items {
                    if let ImplItem::Fn(method) = part {
                        if public(&method.vis) && !for_tests(&method.attrs) {
                            found.insert(format!("{}::{}", of.ident, method.sig.ident));
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

fn public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether a condition leaves the code out of a build for Linux: `#[cfg(unix)]` does not.
fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && !attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("unix"))
    })
}
