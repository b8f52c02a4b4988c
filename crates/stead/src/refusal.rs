//! What to add to an error of the operating system: where a missing file was looked for, whose the
//! file is that this process may not use, or how long a name may be.
//!
//! The names of users and groups come from /etc/passwd and /etc/group. Where these do not have
//! them, their numbers are shown. Who this process is comes from /proc, so that no unsafe code is
//! needed; where there is no /proc, the message does not say it.

use std::fs;
#[cfg(unix)]
use std::fs::Metadata;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

/// The most bytes of a name in a directory on the file systems in use.
const LONGEST_NAME: usize = 255;

/// Returns the end of the message for a failed action on a file: empty, or a text that begins with
/// "; ".
pub(crate) fn advice(file: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => missing(file),
        io::ErrorKind::NotADirectory => through(file),
        io::ErrorKind::PermissionDenied => denied(file),
        _ if is_too_long(error) => too_long(file),
        _ => String::new(),
    }
}

#[cfg(not(unix))]
fn is_too_long(_error: &io::Error) -> bool {
    false
}

#[cfg(unix)]
fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENAMETOOLONG)
}

fn too_long(file: &Path) -> String {
    let bytes = |name: &std::ffi::OsStr| name.as_encoded_bytes().len();
    let longest = file.iter().map(bytes).max().unwrap_or(0);
    match longest > LONGEST_NAME {
        true => format!(
            "; a name between slashes has {longest} bytes, and at most {LONGEST_NAME} are \
             possible: correct the path"
        ),
        false => format!(
            "; the path has {} bytes, and the system takes fewer: use a shorter one, such as from \
             the working directory on",
            bytes(file.as_os_str())
        ),
    }
}

fn through(file: &Path) -> String {
    let is_file = |path: &&Path| fs::metadata(path).is_ok_and(|meta| !meta.is_dir());
    match file.ancestors().skip(1).find(is_file) {
        Some(path) => format!(
            "; {} is a file, no directory: correct the path",
            path.display()
        ),
        None => "; correct the path".to_owned(),
    }
}

fn missing(file: &Path) -> String {
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    if let Some(parent) = parent.filter(|parent| matches!(parent.try_exists(), Ok(false))) {
        return format!("; there is no directory {}", parent.display());
    }
    match std::env::current_dir() {
        Ok(here) if file.is_relative() => format!(
            "; the working directory is {}: correct the path, or write it from / on",
            here.display()
        ),
        _ => "; correct the path".to_owned(),
    }
}

#[cfg(not(unix))]
fn denied(_file: &Path) -> String {
    String::new()
}

#[cfg(unix)]
fn denied(file: &Path) -> String {
    let Some((cause, meta)) = cause(file) else {
        return String::new();
    };
    let what = if cause == file {
        "it".to_owned()
    } else {
        format!("the directory {}", cause.display())
    };
    let owner = name("/etc/passwd", meta.uid());
    let group = name("/etc/group", meta.gid());
    let remedy = match us() {
        Some(us) if us == meta.uid() => ", and this is the same user: change its mode".to_owned(),
        Some(us) => {
            let us = name("/etc/passwd", us);
            format!(", and this is user {us}: ask {owner} for access")
        }
        None => format!(": ask {owner} for access"),
    };
    format!(
        "; {what} belongs to {owner}:{group} with mode {:04o}{remedy}",
        meta.mode() & 0o7777
    )
}

/// Returns what refuses the access: the file itself if it can be seen, else the innermost directory
/// on the way to it that can be seen.
#[cfg(unix)]
fn cause(file: &Path) -> Option<(PathBuf, Metadata)> {
    for path in file.ancestors() {
        let path = if path == Path::new("") {
            Path::new(".")
        } else {
            path
        };
        if let Ok(meta) = fs::metadata(path) {
            return Some((path.to_owned(), meta));
        }
    }
    None
}

/// Returns the effective user of this process.
#[cfg(unix)]
pub(crate) fn us() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Says what to do where a file cannot be given to the group of the one that it replaces.
#[cfg(unix)]
pub(crate) fn not_given(group: u32) -> String {
    let group = name("/etc/group", group);
    format!(
        "; it replaces a file of the group {group}, and only root and members of {group} can give \
         it to that group: add this user to it, or let the readers be in a group of this user"
    )
}

/// Returns the name of a user or group, or its number where the file does not have it.
#[cfg(unix)]
fn name(file: &str, number: u32) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let wanted = number.to_string();
    text.lines()
        .find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)? == wanted).then(|| name.to_owned())
        })
        .unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &Path, kind: io::ErrorKind) -> String {
        advice(file, &kind.into())
    }

    #[test]
    fn a_missing_file_says_where_it_was_looked_for() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            of(Path::new("nope.map"), io::ErrorKind::NotFound),
            format!(
                "; the working directory is {}: correct the path, or write it from / on",
                here.display()
            )
        );
        assert_eq!(
            of(Path::new("/nope.map"), io::ErrorKind::NotFound),
            "; correct the path"
        );
        assert_eq!(
            of(Path::new("/none/nope.map"), io::ErrorKind::NotFound),
            "; there is no directory /none"
        );
        assert_eq!(
            of(
                Path::new("/etc/passwd/a/nope.map"),
                io::ErrorKind::NotADirectory
            ),
            "; /etc/passwd is a file, no directory: correct the path"
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_name_that_is_too_long_says_how_long_it_may_be() {
        let of = |file: String| {
            let error = fs::File::open(&file).unwrap_err();
            advice(Path::new(&file), &error)
        };
        assert_eq!(
            of(format!("/tmp/{}.map", "a".repeat(296))),
            "; a name between slashes has 300 bytes, and at most 255 are possible: correct the path"
        );
        assert_eq!(
            of("/tmp/..".repeat(1000)),
            "; the path has 7000 bytes, and the system takes fewer: use a shorter one, such as from \
             the working directory on"
        );
    }

    #[test]
    fn a_refused_file_says_whose_it_is() {
        let root = of(Path::new("/etc/passwd"), io::ErrorKind::PermissionDenied);
        assert!(
            root.starts_with("; it belongs to root:root with mode 0644, and this is "),
            "{root}"
        );
        let new = of(Path::new("/etc/new.map"), io::ErrorKind::PermissionDenied);
        assert!(
            new.starts_with("; the directory /etc belongs to root:root with mode 0755"),
            "{new}"
        );
        assert_eq!(of(Path::new("/etc"), io::ErrorKind::StorageFull), "");
        assert_eq!(name("/etc/passwd", 4_000_000_000), "4000000000");
    }
}
