//! The errors of stead: variants that carry facts, each with a message and a status number.
//!
//! A message is one line in lower case: what is wrong, where (file, line, offset), and what to do.
//! The status numbers are those of the C API. They are written down here, never change, and are
//! never reused for something else.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::refusal;

/// The result of every function of stead that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The number of a kind of failure. It is the same in every language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    /// An argument is out of range.
    Invalid = 1,
    /// The fleet file has a mistake.
    Fleet = 2,
    /// The fleet is well-formed, but what it asks for is impossible.
    Impossible = 3,
    /// The file is not a map, or its structure is damaged.
    Format = 4,
    /// The file is a map, but its digest does not match its bytes.
    Digest = 5,
    /// The map needs a newer stead.
    Version = 6,
    /// The map belongs to another cluster, uses another hash or key rule, or is not the newest of
    /// its history.
    Identity = 7,
    /// A file does not exist.
    NotFound = 8,
    /// The operating system refused to read or write.
    Io = 9,
    /// Another process changed the map in the meantime.
    Conflict = 10,
    /// The new epoch is in place, but may not survive a power cut.
    Uncertain = 11,
    /// The file was overwritten in place while it was open.
    Changed = 12,
    /// A key has no path, because its file name would be too long; or no key has this path.
    Name = 13,
    // 14 was never returned and will not be used
    /// A bug in stead.
    Internal = 15,
    /// The operating system denied permission.
    Permission = 16,
    /// There is not enough memory for the call.
    Memory = 17,
    /// The change does harm that a guard forbids, and the guard was not lifted.
    Guarded = 18,
}

impl fmt::Display for Status {
    /// Writes the name, such as `NotFound`, as docs/languages.md lists it for Rust. An [`Error`]
    /// has the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A failure of a stead function.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument of a call is out of range.
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
    /// The fleet asks for something impossible.
    Impossible {
        /// What is wrong and what to do.
        problem: String,
    },
    /// The bytes are not a map, or are a damaged one.
    Format {
        /// The name of the file, when the bytes came from a file.
        file: Option<PathBuf>,
        /// The offset of the problem in the file, in bytes.
        offset: u64,
        /// Which rule of docs/map-format.md the bytes break.
        problem: String,
    },
    /// A directory, or something else that is no file, is where a map should be.
    NoFile {
        /// What was named.
        file: PathBuf,
        /// What it is, such as "a directory".
        what: &'static str,
    },
    /// A file was given as a saved plan, and is none, or is damaged.
    SavedPlan {
        /// The name of the file.
        file: PathBuf,
        /// Which rule of docs/plan-format.md it breaks.
        problem: String,
    },
    /// The digest in the map does not match the map's bytes.
    Digest {
        /// The name of the file, when the bytes came from a file.
        file: Option<PathBuf>,
    },
    /// The map has a format version or a feature that this stead does not know.
    Version {
        /// The name of the file, when the bytes came from a file.
        file: Option<PathBuf>,
        /// What the map needs, in words.
        needs: String,
    },
    /// The map belongs to another cluster, uses another hash or key rule, or is not the newest of
    /// its history.
    Identity {
        /// What was expected, what was found, what to do.
        problem: String,
    },
    /// The operating system refused. This variant has four statuses: `NotFound`,
    /// `Permission`, `Memory` and `Io`.
    Io {
        /// The action that failed: `open`, `read`, `write` ...
        action: &'static str,
        /// The file that the action was for.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
        /// What to add to that: where a missing file was looked for, or whose a refused file is.
        /// Empty, or a text that begins with "; ".
        advice: String,
    },
    /// Another process changed the map in the meantime. This call changed nothing.
    Conflict {
        /// The map file.
        file: PathBuf,
        /// What happened and what to do.
        problem: String,
    },
    /// The change does harm, and the caller did not allow it. This call changed nothing.
    Guarded {
        /// The map file.
        file: PathBuf,
        /// What the change does, with figures.
        problem: String,
        /// The words that allow it, with commas between them.
        allow: String,
    },
    /// A carry is open, and this is another change. This call changed nothing.
    Carrying {
        /// The map file, if the caller knows it.
        file: Option<PathBuf>,
        /// Which carry it is, its state, and what to do.
        problem: String,
    },
    /// The new epoch is in place, but its directory could not be made durable, or the history lacks
    /// it.
    Uncertain {
        /// The map file.
        file: PathBuf,
        /// The epoch that is in place.
        epoch: u64,
        /// Whether it is the history that lacks the epoch.
        unkept: bool,
        /// What the operating system said.
        source: io::Error,
    },
    /// A published map was overwritten in place.
    Changed {
        /// The map file.
        file: PathBuf,
    },
    /// The system has not enough memory for the call.
    Memory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// The call may need more memory than the limit of the process allows; see
    /// [`memory`](crate::memory).
    MemoryLimit {
        /// An upper bound of what the call needs, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A key cannot be a file name, because the name would be too long.
    Name {
        /// The length that the file name would have had, in bytes.
        length: usize,
    },
    /// No key has this path.
    NoName {
        /// The path.
        path: Vec<u8>,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A bug in stead: please report it.
    Internal {
        /// The impossible state that was found.
        problem: String,
    },
}

impl Error {
    /// Returns the status number of the failure.
    pub fn status(&self) -> Status {
        match self {
            Error::Invalid { .. } => Status::Invalid,
            Error::Fleet { .. } => Status::Fleet,
            Error::Impossible { .. } => Status::Impossible,
            Error::Format { .. } | Error::NoFile { .. } | Error::SavedPlan { .. } => Status::Format,
            Error::Digest { .. } => Status::Digest,
            Error::Version { .. } => Status::Version,
            Error::Identity { .. } => Status::Identity,
            Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Status::NotFound
            }
            Error::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Status::Permission
            }
            Error::Io { source, .. } if source.kind() == io::ErrorKind::OutOfMemory => {
                Status::Memory
            }
            Error::Io { .. } => Status::Io,
            Error::Conflict { .. } => Status::Conflict,
            Error::Guarded { .. } | Error::Carrying { .. } => Status::Guarded,
            Error::Uncertain { .. } => Status::Uncertain,
            Error::Changed { .. } => Status::Changed,
            Error::Memory { .. } | Error::MemoryLimit { .. } => Status::Memory,
            Error::Name { .. } | Error::NoName { .. } => Status::Name,
            Error::Internal { .. } => Status::Internal,
        }
    }

    /// Makes an `Io` error: `source` says why the action on `file` failed.
    pub fn io(action: &'static str, file: &Path, source: io::Error) -> Error {
        Error::Io {
            action,
            file: file.to_owned(),
            advice: refusal::advice(file, &source),
            source,
        }
    }

    /// Adds the file that the bytes came from, if the variant names a file and has none yet.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Error {
        if let Error::Format { file, .. }
        | Error::Digest { file }
        | Error::Version { file, .. }
        | Error::Carrying { file, .. } = &mut self
        {
            file.get_or_insert_with(|| path.to_owned());
        }
        self
    }
}

/// Prints `FILE: `, or nothing for `None`.
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
            Error::NoFile { file, what } => write!(
                f,
                "{}: this is {what}, not a stead map; name the map file",
                file.display()
            ),
            // offset 0 is usually a wrong file name rather than a damaged map
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
            Error::SavedPlan { file, problem } => write!(
                f,
                "{}: {problem}; make the plan again with `stead plan FLEET MAP -o FILE`",
                file.display()
            ),
            Error::Digest { file } => write!(
                f,
                "{}the digest does not match the bytes: the file is damaged; restore it from \
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
                advice,
            } => write!(f, "cannot {action} {}: {source}{advice}", file.display()),
            Error::Guarded {
                file,
                problem,
                allow,
            } => write!(
                f,
                "{}: {problem}; nothing was changed; if you mean it, allow {allow}",
                file.display()
            ),
            Error::Carrying { file, problem } => write!(f, "{}{problem}", Prefix(file)),
            Error::Conflict { file, problem } => write!(f, "{}: {problem}", file.display()),
            Error::Uncertain {
                file,
                epoch,
                unkept: true,
                source,
            } => write!(
                f,
                "{}: epoch {epoch} is in place, but could not be put into its history ({source}); \
                 do not apply again, the next change puts it there",
                file.display()
            ),
            Error::Uncertain {
                file,
                epoch,
                unkept: false,
                source,
            } => write!(
                f,
                "{}: epoch {epoch} is in place, but its directory could not be synced ({source}): \
                 it may be lost in a power cut; do not apply again, sync the disk",
                file.display()
            ),
            Error::Changed { file } => write!(
                f,
                "{}: the file was overwritten in place while it was in use; copy the right map to \
                 another name beside it, and mv that over it: maps are published by renaming",
                file.display()
            ),
            Error::Memory { bytes } => write!(f, "there is no memory for {bytes} more bytes"),
            Error::MemoryLimit { bytes, limit } => write!(
                f,
                "this may need up to {bytes} bytes of memory, and the limit is {limit}; raise the \
                 limit (STEAD_MEMORY_LIMIT), or have fewer nodes, copies, labels or pins"
            ),
            Error::Name { length } => {
                write!(
                    f,
                    "the file name would have {length} bytes, but file systems allow at most 255; use a \
                     shorter key"
                )
            }
            Error::NoName { path, problem } => {
                write!(f, "{}: {problem}", end_of(path))
            }
            Error::Internal { problem } => write!(f, "internal fault, please report it: {problem}"),
        }
    }
}

/// Shows the end of a path, which is what a message about its file name needs.
fn end_of(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    let length = text.chars().count();
    let cut = if length > 80 { "..." } else { "" };
    let end = text.chars().skip(length.saturating_sub(80));
    cut.chars()
        .chain(end.flat_map(char::escape_default))
        .collect()
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::Uncertain { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// An example of the use of each program.
const EXAMPLES: [(&str, &str); 3] = [
    ("stead", "stead locate MAP KEY"),
    ("stead-sync", "stead-sync status URL"),
    ("stead-rrd", "stead-rrd status DIR"),
];

/// Returns the message for a command line that ends before the command: which commands there are,
/// or, where these are many, an example. `None` if the text is about another mistake.
fn without_command(text: &str) -> Option<String> {
    let (name, rest) = text
        .strip_prefix("error: '")?
        .split_once("' requires a subcommand but one was not provided")?;
    let (_, list) = rest.split_once("[subcommands: ")?;
    let (list, _) = list.split_once(']')?;
    let example = EXAMPLES.iter().find(|(program, _)| *program == name);
    Some(match example {
        Some((_, example)) => {
            format!("give a command, such as `{example}`; `{name} --help` lists them")
        }
        None => format!("give a command: {list}; see {name} --help"),
    })
}

/// Returns the message of a mistake on a command line as one line: `what is wrong; tip: ..; usage:
/// ..; see --help`. The text is what clap, by which every program of stead reads its command line,
/// writes in several paragraphs.
pub fn usage_line(text: &str) -> String {
    if let Some(line) = without_command(text) {
        return line;
    }
    let mut parts: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        for part in paragraph.split("\n  tip:") {
            let words: Vec<&str> = part.split_whitespace().collect();
            let part = words.join(" ");
            if part.is_empty() || part.starts_with("For more information") {
                continue;
            }
            let part = part
                .strip_prefix("error: ")
                .map_or(part.clone(), str::to_owned);
            let part = part.replacen("Usage: ", "usage: ", 1);
            // the words of Rust's parser of numbers
            parts.push(part.replace("invalid digit found in string", "write a whole number"));
        }
    }
    parts.push("see --help".to_owned());
    parts.join("; ")
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
        let through = Error::io(
            "open",
            Path::new("f/m"),
            io::ErrorKind::NotADirectory.into(),
        );
        assert_eq!(
            through.status(),
            Status::Io,
            "no caller may take it for \"no map yet\""
        );
        assert_eq!(denied.status(), Status::Permission);
    }

    #[test]
    fn a_status_is_printed_by_its_name() {
        assert_eq!(Status::NotFound.to_string(), "NotFound");
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
        assert!(said(b"name = 'm'").contains("a text; of a fleet, `stead apply` makes a map"));
        assert!(said(b"\x89STP\r\n\x1a\n").contains("a saved plan, which `stead apply`"));
        assert!(said(&[0; 200]).contains("the magic bytes"));
        assert!(said(b"\x89STD\r\n").starts_with("byte 6: the file ends after 6 bytes"));
    }

    #[test]
    fn a_missing_command_is_asked_for_in_one_short_line() {
        let text = |name: &str| {
            format!(
                "error: '{name}' requires a subcommand but one was not provided\n  \
                 [subcommands: one, two]\n\nUsage: {name} <COMMAND>\n\nFor more information, try \
                 '--help'.\n"
            )
        };
        assert_eq!(
            usage_line(&text("stead")),
            "give a command, such as `stead locate MAP KEY`; `stead --help` lists them"
        );
        assert_eq!(
            usage_line(&text("stead fleet")),
            "give a command: one, two; see stead fleet --help"
        );
    }

    #[test]
    fn the_file_is_named_once() {
        let error = Error::Digest { file: None }
            .in_file(Path::new("a.map"))
            .in_file(Path::new("b.map"));
        assert!(error.to_string().starts_with("a.map: the digest"));
    }
}
