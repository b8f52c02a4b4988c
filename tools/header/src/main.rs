//! Writes the headers: `include/stead.h`, the manual of the C API, and the same declarations as PHP
//! reads them.
//!
//! ```text
//! crates/stead-capi/src --cbindgen--> include/stead.h          comments, guards, C++
//!                                     php/src/stead.cdef.h     for FFI::cdef: no line of a preprocessor, since PHP has none
//!                                     php/preload/stead.h      for ffi.preload: the same after FFI_SCOPE and FFI_LIB
//! ```
//!
//! `make header` runs it; with `--check` nothing is written, and a stale file is an error.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use cbindgen::{Builder, Config, Language};

/// What PHP's preloading wants to know, and all that it may have of a preprocessor.
const PRELOAD: &str = "#define FFI_SCOPE \"stead\"\n#define FFI_LIB \"libstead.so.1\"\n";

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run(env::args().any(|argument| argument == "--check")) {
        Ok(stale) if stale.is_empty() => ExitCode::SUCCESS,
        Ok(stale) => {
            let names: Vec<String> = stale
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            eprintln!(
                "stead-header: stale: {}; run `make header` and commit what it writes",
                names.join(", ")
            );
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("stead-header: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the files, or with `check` compares them; returns those that are stale.
fn run(check: bool) -> Result<Vec<PathBuf>, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let source = root.join("crates/stead-capi");
    let config = Config::from_file(source.join("cbindgen.toml"))?;
    let bare = declarations(&source, for_php(config.clone()))?;
    let files = [
        ("include/stead.h", declarations(&source, config)?),
        ("php/preload/stead.h", format!("{PRELOAD}{bare}")),
        ("php/src/stead.cdef.h", bare),
    ];
    let mut stale = Vec::new();
    for (name, text) in files {
        let path = root.join(name);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        if check {
            stale.push(PathBuf::from(name));
        } else {
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(&path, text)?;
            println!("wrote {name}");
        }
    }
    Ok(stale)
}

/// The same without comments, includes, guards and C++.
fn for_php(mut config: Config) -> Config {
    config.language = Language::C;
    config.header = None;
    config.trailer = None;
    config.include_guard = None;
    config.no_includes = true;
    config.sys_includes = Vec::new();
    config.cpp_compat = false;
    config.documentation = false;
    config
}

fn declarations(source: &Path, config: Config) -> Result<String, Failure> {
    let bindings = Builder::new()
        .with_crate(source)
        .with_config(config)
        .generate()?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(String::from_utf8(text)?)
}
