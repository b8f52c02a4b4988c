//! Writes the manual pages and the completions from the programs' own descriptions of their command
//! lines, from include/stead.h, and from two pages of docs.
//!
//!     stead-pages DIRECTORY      DIRECTORY/man1, /man3, /man5, /completions; DIRECTORY must not be there yet
//!
//! The same sources give the same bytes: a page names the version but no date.
//!
//! A module uses only modules to its left; a test holds that (tools/layers):
//!
//! ```text
//! header page | formats library program
//! ```

#![forbid(unsafe_code)]

mod formats;
mod header;
mod library;
mod page;
mod program;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let (Some(directory), None) = (arguments.next(), arguments.next()) else {
        eprintln!("stead-pages: give it one directory to make");
        return ExitCode::from(64);
    };
    match write(Path::new(&directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stead-pages: {}: {error}", Path::new(&directory).display());
            ExitCode::from(74)
        }
    }
}

/// Makes the directory, which must not exist yet: a page left over under a name that is no longer
/// used would be installed again and again.
fn write(directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)?;
    let part = |name: &str| {
        let part = directory.join(name);
        fs::create_dir(&part).map(|()| part)
    };
    program::pages(&part("man1")?)?;
    library::pages(&part("man3")?)?;
    formats::pages(&part("man5")?)?;
    program::completions(&part("completions")?)
}
