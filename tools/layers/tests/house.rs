//! Rules for all crates of the workspace: no two files of a crate use each other, and each crate
//! keeps the order that its front page draws. In the core, few files have unsafe code, and
//! the modules that place keys use neither floats nor indexing that can panic.
#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use stead_layers::{order, Crate};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The directories of the workspace's members.
fn members() -> Vec<String> {
    let text = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("members = ["));
    let names = line.unwrap().trim_end_matches(']').split(',');
    names
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect()
}

/// The root of each member's library, or of its program when it has no library.
fn roots() -> Vec<String> {
    let root = |member: String| {
        let library = format!("{member}/src/lib.rs");
        if workspace().join(&library).exists() {
            library
        } else {
            format!("{member}/src/main.rs")
        }
    };
    members().into_iter().map(root).collect()
}

/// The roots of the members' tests; each test is a crate of its own.
fn tests() -> Vec<String> {
    let mut roots = Vec::new();
    for member in members() {
        let Ok(entries) = fs::read_dir(workspace().join(&member).join("tests")) else {
            continue;
        };
        for entry in entries {
            let entry = entry.unwrap().path();
            let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".rs") {
                roots.push(format!("{member}/tests/{name}"));
            } else if entry.join("main.rs").exists() {
                roots.push(format!("{member}/tests/{name}/main.rs"));
            }
        }
    }
    roots.sort();
    roots
}

fn read(root: String) -> (String, Crate) {
    match Crate::read(&workspace().join(&root)) {
        Ok(of) => (root, of),
        Err(error) => panic!("{root}: {error}"),
    }
}

/// The libraries and programs, read once for all tests of this file.
fn house() -> &'static [(String, Crate)] {
    static HOUSE: OnceLock<Vec<(String, Crate)>> = OnceLock::new();
    HOUSE.get_or_init(|| roots().into_iter().map(read).collect())
}

/// The locks beside that of the workspace name our crates, too, and what these use. Where one is
/// left behind, no command with `--locked` works.
#[test]
fn every_lock_is_up_to_date() {
    let list = Command::new("git")
        .args(["ls-files", "Cargo.lock", "*/Cargo.lock"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let tracked = String::from_utf8(list.stdout).unwrap();
    let locks: Vec<&str> = match tracked.is_empty() {
        // a source package
        true => vec!["Cargo.lock", "fuzz/Cargo.lock"],
        false => tracked.lines().collect(),
    };
    for lock in locks {
        let manifest = workspace().join(lock).with_extension("toml");
        if !manifest.exists() {
            continue;
        }
        let done = Command::new(env!("CARGO"))
            .args(["update", "-q", "--workspace", "--locked", "--manifest-path"])
            .arg(&manifest)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success(),
            "{lock}: {said}\nrun `cargo update --workspace --manifest-path {}`",
            manifest.display()
        );
    }
}

#[test]
fn no_two_files_use_each_other() {
    let mut wrong = Vec::new();
    let tests: Vec<(String, Crate)> = tests().into_iter().map(read).collect();
    let files: usize = tests.iter().map(|(_, of)| of.files.len()).sum();
    assert!(house().len() >= 8 && files > 60, "not all were found");
    for (root, of) in house().iter().chain(&tests) {
        for (file, path) in &of.lost {
            let file = &of.files[*file];
            wrong.push(format!("{root}: {file} names {path}, which is nowhere"));
        }
        for circle in of.circles() {
            wrong.push(format!("{root}:\n    {}", of.among(&circle).join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The modules of a directory of tests that its `main.rs` does not declare: their tests do not run.
fn undeclared(main: &str, of: &Crate) -> Vec<String> {
    let declared = |module: &str| main.lines().any(|line| line == format!("mod {module};"));
    let modules = of.tops().into_iter();
    modules.filter(|module| !declared(module)).collect()
}

#[test]
fn every_file_of_tests_is_declared_and_so_runs() {
    let mut found = 0;
    for (root, of) in tests().into_iter().map(read) {
        if root.ends_with("/main.rs") {
            let main = fs::read_to_string(workspace().join(&root)).unwrap();
            assert_eq!(undeclared(&main, &of), [""; 0], "{root}");
            // the control: a declaration is missing
            let some = of.tops().into_iter().next().unwrap();
            let without = main.replace(&format!("mod {some};\n"), "");
            assert_eq!(undeclared(&without, &of), [some], "{root}");
            found += 1;
        }
    }
    assert!(found >= 2, "not all were found");
}

#[test]
fn each_crate_keeps_the_order_of_its_front_page() {
    let mut wrong = Vec::new();
    for (root, of) in house() {
        let lines = order::against_the_order(of).into_iter();
        wrong.extend(lines.map(|line| format!("{root}: {line}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_code_lives_where_the_system_is_met() {
    for (root, of) in house() {
        let allowed: &[&str] = match root.as_str() {
            "crates/stead/src/lib.rs" => &[
                "kernel/choice.rs",
                "kernel/isa/neon.rs",
                "kernel/isa/x86.rs",
                "lock.rs",
                "memory/reserve.rs",
                "mmap.rs",
            ],
            // reads and makes structs that other libraries share
            "crates/stead-arrow/src/lib.rs" => {
                &["export.rs", "extension.rs", "import.rs", "structs.rs"]
            }
            "python/src/lib.rs" => &["arrow.rs"],
            // calls libstead as C does, and makes structs as a producer of Arrow does
            "tools/fuzz/src/lib.rs" => &["foreign.rs", "producer.rs"],
            // C calls it, so that it is full of unsafe code; its own tests check where
            "crates/stead-capi/src/lib.rs" => continue,
            _ => &[],
        };
        let found = of.files_with("unsafe");
        assert!(found.iter().eq(allowed), "{root}: {found:?}");
    }
}

#[test]
fn modules_that_place_are_free_of_floats_and_indexing() {
    // the lints find floats and indexing; this test finds a module without the lints
    let text = fs::read_to_string(workspace().join("crates/stead/src/lib.rs")).unwrap();
    for module in [
        "cell",
        "format",
        "hash",
        "kernel",
        "map",
        "name",
        "plan",
        "point",
        "policy",
        "rebalance",
        "slice",
        "tolerance",
        "verdict",
        "weight",
    ] {
        let strict = "#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]\n";
        let declared = text.contains(&format!("{strict}pub mod {module};"));
        assert!(declared, "{module} is declared without the lints");
    }
}
