//! The kinds of rings, one file each.

use super::kind::Kind;
use crate::error::{Error, Result};

/// Declares a module for each file, and the list of their `KIND`s.
macro_rules! kinds {
    ($($file:ident,)+) => {
        $(mod $file;)+

        /// All kinds, as `stead ring --list` shows them.
        pub const KINDS: &[Kind] = &[$($file::KIND),+];

        #[cfg(test)]
        const FILES: &[&str] = &[$(stringify!($file)),+];
    };
}

kinds! {
    karger,
    riak,
    wallaroo,
    explicit,
    libketama,
    libmemcached,
    cache_memcached_fast,
    uhashring,
    redis_slots,
    carbon,
    swift,
    twemproxy,
    envoy_maglev,
    envoy_ring_hash,
}

impl Kind {
    /// The kind of a name. Error: `Invalid`, which lists the names.
    pub fn named(name: &str) -> Result<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            Error::Invalid {
                problem: format!(
                    "there is no ring `{name}`; stead knows {}",
                    names.join(", ")
                ),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    /// For each file of a directory whose name begins and ends so, the part between.
    fn files(directory: &str, begins: &str, ends: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(root().join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let stem = |name: String| {
            let stem = name.strip_prefix(begins)?.strip_suffix(ends)?;
            Some(stem.to_owned())
        };
        names.filter_map(stem).collect()
    }

    #[test]
    fn every_file_is_a_kind_of_its_name() {
        let mut there = files("crates/stead/src/ring/kinds", "", ".rs");
        assert!(there.remove("mod"));
        let listed = FILES.iter().map(|file| (*file).to_owned());
        assert_eq!(there, listed.collect());
        assert_eq!(there.len(), FILES.len(), "a kind is listed twice");
        for (file, kind) in FILES.iter().zip(KINDS) {
            assert_eq!(kind.name.replace('-', "_"), *file);
            assert_eq!(Kind::named(kind.name).unwrap().about, kind.about);
        }
    }

    #[test]
    fn every_kind_has_its_rule_in_python_its_test_and_its_section() {
        let rules = files("tests/reference/rings", "", ".py");
        let tests = files("tests/rings", "test_", ".py");
        let page = fs::read_to_string(root().join("docs/rings.md")).unwrap();
        for (file, kind) in FILES.iter().zip(KINDS) {
            assert!(rules.contains(*file), "no tests/reference/rings/{file}.py");
            assert!(tests.contains(*file), "no tests/rings/test_{file}.py");
            let section = format!("\n## {}\n", kind.name);
            assert!(
                page.contains(&section),
                "no section {} in docs/rings.md",
                kind.name
            );
        }
    }
}
