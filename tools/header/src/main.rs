//! Writes the headers: `include/stead.h`, which is the manual of the C API, and the same
//! declarations in the form that PHP reads.
//!
//! ```text
//! crates/stead-capi/src --bare, cbindgen--> include/stead.h    comments, guards, C++
//!                                     php/src/stead.cdef.h     for FFI::cdef: no line of a preprocessor, since PHP has none
//!                                     php/preload/stead.h      for ffi.preload: the same after FFI_SCOPE and FFI_LIB
//! ```
//!
//! `make header` runs this program. With `--check` it writes nothing and fails when a file is
//! stale.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, process};

use cbindgen::{Builder, Config, Language};

/// The definitions after the includes: the version, for `#if`, and the attribute of functions whose
/// result must be used.
const MACROS: &str = concat!(
    "\n// The version of this header, for #if: STEAD_VERSION_NUMBER is 1000000 * major +\n\
     // 1000 * minor + patch. stead_version has the version of the library that the program\n\
     // runs with. (The name STEAD_VERSION is a status.)\n",
    "#define STEAD_VERSION_MAJOR ",
    env!("CARGO_PKG_VERSION_MAJOR"),
    "\n#define STEAD_VERSION_MINOR ",
    env!("CARGO_PKG_VERSION_MINOR"),
    "\n#define STEAD_VERSION_PATCH ",
    env!("CARGO_PKG_VERSION_PATCH"),
    "\n#define STEAD_VERSION_NUMBER \\\n  \
     (1000000 * STEAD_VERSION_MAJOR + 1000 * STEAD_VERSION_MINOR + STEAD_VERSION_PATCH)\n\
     #define STEAD_VERSION_STRING \"",
    env!("CARGO_PKG_VERSION"),
    "\"\n\n// The compiler warns where the result of a function with this attribute is ignored: it is a new\n\
     // object, or the only sign of a failure. Define it as nothing to have no warning.\n\
     #ifndef STEAD_USE_RESULT\n\
     #ifdef __GNUC__\n\
     #define STEAD_USE_RESULT __attribute__((warn_unused_result))\n\
     #else\n\
     #define STEAD_USE_RESULT\n\
     #endif\n\
     #endif"
);

/// The two definitions that PHP's preloading needs. It understands no other lines of a
/// preprocessor.
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
    let library = root.join("crates/stead-capi");
    let mut config = Config::from_file(library.join("cbindgen.toml"))?;
    config.after_includes = Some(MACROS.to_owned());
    config.function.must_use = Some("STEAD_USE_RESULT".to_owned());
    let source = env::temp_dir().join(format!("stead-header-{}", process::id()));
    copy_bare(&library.join("src"), &source)?;
    let bare = declarations(&source, for_php(config.clone()))?;
    // always on a line of its own, where cbindgen writes a short declaration on one line
    let manual =
        declarations(&source, config)?.replace("\nSTEAD_USE_RESULT ", "\nSTEAD_USE_RESULT\n");
    fs::remove_dir_all(&source)?;
    let files = [
        ("include/stead.h", manual),
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

/// Settings of cbindgen for the declarations without comments, includes, guards and C++.
fn for_php(mut config: Config) -> Config {
    config.language = Language::C;
    config.header = None;
    config.trailer = None;
    config.include_guard = None;
    config.no_includes = true;
    config.sys_includes = Vec::new();
    config.after_includes = None;
    config.function.must_use = None;
    config.cpp_compat = false;
    config.documentation = false;
    config
}

/// Copies the sources with each type `Foreign<P>` replaced by its pointer `P`; the two have the
/// same representation (boundary.rs of crates/stead-capi). Otherwise cbindgen would write a typedef
/// for each, which says nothing to a C programmer.
fn copy_bare(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_bare(&path, &to)?;
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let mut parts = text.split(": Foreign<*");
        let mut bare = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (pointer, rest) = part.split_once('>').ok_or("`Foreign<` without `>`")?;
            bare += &format!(": *{pointer}{rest}");
        }
        fs::write(to, bare)?;
    }
    Ok(())
}

fn declarations(source: &Path, config: Config) -> Result<String, Failure> {
    let bindings = Builder::new()
        .with_src(source.join("lib.rs"))
        .with_config(config)
        .generate()?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(String::from_utf8(text)?)
}
