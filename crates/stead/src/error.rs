//! What can go wrong, as facts, with one line of words and a status number for each.
//!
//! A message is one line, lower case: what is wrong, where (file, line, offset), what to do. The
//! status numbers are the ones of the C API: written down here, never changed and never used again
//! for something else.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in stead that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The number of a kind of failure; the same in every language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    /// An argument is out of its range.
    Invalid = 1,
    /// A fleet file is wrong.
    Fleet = 2,
    /// A fleet is well written and cannot be met.
    Impossible = 3,
    /// The file is not a map, or its structure is damaged.
    Format = 4,
    /// The file is a map whose digest does not fit its bytes.
    Digest = 5,
    /// The map needs a newer stead.
    Version = 6,
    /// The map belongs to another cluster.
    Identity = 7,
    /// A file is missing.
    NotFound = 8,
    /// The operating system refused to read or write.
    Io = 9,
    /// Somebody else changed the map meanwhile.
    Conflict = 10,
    /// The new epoch is in place, but may not survive a power cut.
    Uncertain = 11,
    /// The file was overwritten in place while it was open.
    Changed = 12,
    /// A key has no path: its file name would be too long.
    Name = 13,
    // 14 was never returned, and is not used again
    /// A fault in stead itself.
    Internal = 15,
}

/// A failure.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument of a call is out of its range.
    Invalid {
        /// What is wrong and what to do.
        problem: String,
    },
    /// The fleet has a mistake.
    Fleet {
        /// The file's name as the user gave it, or `fleet` for a text.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what to do.
        problem: String,
    },
    /// The fleet asks for something that cannot be.
    Impossible {
        /// What is wrong and what to do.
        problem: String,
    },
    /// The bytes are no map, or a damaged one.
    Format {
        /// The file's name, when it came from a file.
        file: Option<PathBuf>,
        /// Where in the file, in bytes.
        offset: u64,
        /// Which rule of docs/map-format.md is broken.
        problem: String,
    },
    /// The digest in the map does not fit its bytes.
    Digest {
        /// The file's name, when it came from a file.
        file: Option<PathBuf>,
    },
    /// The map has a format version or a feature that this stead does not know.
    Version {
        /// The file's name, when it came from a file.
        file: Option<PathBuf>,
        /// What it needs, in words.
        needs: String,
    },
    /// The map belongs to another cluster.
    Identity {
        /// What was expected, what was found, what to do.
        problem: String,
    },
    /// The operating system refused; `NotFound` and `Io` both come as this.
    Io {
        /// What was being done: `open`, `read`, `write` ...
        action: &'static str,
        /// To which file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process changed the map meanwhile; nothing was changed here.
    Conflict {
        /// The map.
        file: PathBuf,
        /// What happened and what to do.
        problem: String,
    },
    /// The new epoch is in place, and the directory could not be made durable.
    Uncertain {
        /// The map.
        file: PathBuf,
        /// The epoch that is in place.
        epoch: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A published file was changed in place.
    Changed {
        /// The map.
        file: PathBuf,
    },
    /// A key cannot be a file name.
    Name {
        /// The length that the file name would have, in bytes.
        length: usize,
    },
    /// A fault in stead itself: please report it.
    Internal {
        /// What was found that cannot be.
        problem: String,
    },
}

impl Error {
    /// The failure's number.
    pub fn status(&self) -> Status {
        match self {
            Error::Invalid { .. } => Status::Invalid,
            Error::Fleet { .. } => Status::Fleet,
            Error::Impossible { .. } => Status::Impossible,
            Error::Format { .. } => Status::Format,
            Error::Digest { .. } => Status::Digest,
            Error::Version { .. } => Status::Version,
            Error::Identity { .. } => Status::Identity,
            Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Status::NotFound
            }
            Error::Io { .. } => Status::Io,
            Error::Conflict { .. } => Status::Conflict,
            Error::Uncertain { .. } => Status::Uncertain,
            Error::Changed { .. } => Status::Changed,
            Error::Name { .. } => Status::Name,
            Error::Internal { .. } => Status::Internal,
        }
    }

    /// An `Io` failure: `action` is what was being done to `file`.
    pub fn io(action: &'static str, file: &Path, source: io::Error) -> Error {
        Error::Io {
            action,
            file: file.to_owned(),
            source,
        }
    }

    /// The same failure, with the file that the bytes came from, where the kind has one and it is
    /// not set.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Error {
        if let Error::Format { file, .. } | Error::Digest { file } | Error::Version { file, .. } =
            &mut self
        {
            file.get_or_insert_with(|| path.to_owned());
        }
        self
    }
}

/// `FILE: ` or nothing.
struct Prefix<'a>(&'a Option<PathBuf>);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(path) => write!(f, "{}: ", path.display()),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid { problem }
            | Error::Impossible { problem }
            | Error::Identity { problem } => f.write_str(problem),
            Error::Fleet {
                file,
                line,
                problem,
            } => write!(f, "{file}:{line}: {problem}"),
            // most often somebody named another file by mistake
            Error::Format {
                file,
                offset: 0,
                problem,
            } => {
                write!(
                    f,
                    "{}byte 0: {problem}; name a map that stead made, or restore it from \
                    MAP.history or from a copy",
                    Prefix(file)
                )
            }
            Error::Format {
                file,
                offset,
                problem,
            } => {
                write!(
                    f,
                    "{}byte {offset}: {problem}; restore the file from MAP.history or from a \
                    copy",
                    Prefix(file)
                )
            }
            Error::Digest { file } => write!(
                f,
                "{}the digest does not fit the bytes: the file is damaged; restore it from \
                 MAP.history or from a copy",
                Prefix(file)
            ),
            Error::Version { file, needs } => {
                write!(f, "{}{needs}; use a newer stead", Prefix(file))
            }
            Error::Io {
                action,
                file,
                source,
            } => write!(f, "cannot {action} {}: {source}", file.display()),
            Error::Conflict { file, problem } => write!(f, "{}: {problem}", file.display()),
            Error::Uncertain {
                file,
                epoch,
                source,
            } => write!(
                f,
                "{}: epoch {epoch} is in place, but its directory could not be synced ({source}): \
                 it may be lost in a power cut; do not apply again, sync the disk",
                file.display()
            ),
            Error::Changed { file } => write!(
                f,
                "{}: the file was overwritten in place while it was in use; publish maps by \
                 renaming a new file over the old",
                file.display()
            ),
            Error::Name { length } => {
                write!(
                    f,
                    "the file name would have {length} bytes, and file systems allow 255; \
                    use a shorter key"
                )
            }
            Error::Internal { problem } => write!(f, "internal fault, please report it: {problem}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::Uncertain { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_has_a_status_of_its_own() {
        let missing = Error::io("open", Path::new("m"), io::ErrorKind::NotFound.into());
        let denied = Error::io(
            "open",
            Path::new("m"),
            io::ErrorKind::PermissionDenied.into(),
        );
        assert_eq!(missing.status(), Status::NotFound);
        assert_eq!(denied.status(), Status::Io);
    }

    #[test]
    fn a_file_that_is_no_map_is_told_so_whatever_its_length() {
        let said = |bytes: &[u8]| {
            crate::Map::from_bytes(bytes.to_vec())
                .unwrap_err()
                .to_string()
        };
        for text in [&b"name = 'm'"[..], &[b'x'; 200]] {
            assert!(
                said(text).contains("not a stead map")
                    && said(text).contains("name a map that stead made"),
                "{}",
                said(text)
            );
        }
        assert!(said(b"\x89STD\r\n").starts_with("byte 6: the file ends after 6 bytes"));
    }

    #[test]
    fn the_file_is_named_once() {
        let error = Error::Digest { file: None }
            .in_file(Path::new("a.map"))
            .in_file(Path::new("b.map"));
        assert!(error.to_string().starts_with("a.map: the digest"));
    }
}
