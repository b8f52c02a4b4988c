//! Which machine this is: its name, and a mark that two machines of one name do not share.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::exit::{Failure, Result, CONFLICT, USAGE};
use crate::report::Report;

/// Returns the name of this machine, or the one that is given.
///
/// Errors: a name that cannot be a key and a file.
pub fn host(given: Option<&str>) -> Result<String> {
    let name = match given {
        Some(name) => name.to_owned(),
        None => fs::read_to_string("/proc/sys/kernel/hostname")
            .or_else(|_| fs::read_to_string("/etc/hostname"))
            .unwrap_or_default()
            .trim()
            .to_owned(),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !name.is_empty() && name.len() <= 200 && name.chars().all(fits) && !name.starts_with('.')
    {
        true => Ok(name),
        false => Err(Failure::new(
            USAGE,
            format_args!(
                "{name:?} is no name of a host; give --host with letters, digits, - _ and dots"
            ),
        )),
    }
}

/// Returns the mark of this machine and this map: the boot of the kernel, and the directory of the
/// map. Two machines with one name, such as copies of a virtual machine, have different marks.
pub fn mark(map: &Path) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let directory = map
        .parent()
        .filter(|p| *p != Path::new(""))
        .unwrap_or(Path::new("."));
    let place = fs::metadata(directory).map_or((0, 0), |meta| (meta.dev(), meta.ino()));
    let file = map.file_name().unwrap_or_default().to_string_lossy();
    format!("{}:{}:{}:{file}", boot.trim(), place.0, place.1)
}

/// The failure of a host whose name another machine has.
pub fn another(report: &Report) -> Failure {
    Failure::new(
        CONFLICT,
        format_args!(
            "another machine reports as {}, or this one was started again a moment ago; if this \
             stays, give one of the two another name with --host",
            report.host
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_must_be_a_key_and_a_file() {
        assert_eq!(host(Some("web1.example.org")).unwrap(), "web1.example.org");
        for name in ["", "a/b", ".a", "a b", "ä"] {
            assert_eq!(host(Some(name)).unwrap_err().code, USAGE, "{name}");
        }
    }

    #[test]
    fn maps_in_two_directories_have_two_marks() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let of = |d: &tempfile::TempDir| mark(&d.path().join("m"));
        assert_eq!(of(&one), of(&one));
        assert_ne!(of(&one), of(&other));
    }
}
