//! The message of an error, cut to the room that the error record has.
//!
//! A message says what is wrong, where, and what to do, and its end is the part that a reader needs
//! most. So a message that is too long never loses its end: first the path in it gets shorter, in
//! its middle, and if there is no path, or if that is not enough, the message itself does.

use std::path::Path;

use stead_core::Error;

/// What stands for the bytes that are left out.
const CUT: &str = "...";
/// A path keeps at least this much, so that a reader still recognises it: the start of a root
/// directory, and the name of the file.
const LEAST_PATH: usize = 60;

/// Returns the message of an error with at most `most` bytes. Control characters, which the names
/// of files may contain, become spaces: a message is one line, and may go to a log or a terminal.
pub(crate) fn message_of(error: &Error, most: usize) -> String {
    let mut message = error.to_string();
    if message.len() > most {
        // the directory of the path may be named, too: that it is missing, or whose it is
        let path = path_of(error).unwrap_or_default();
        let directory = Path::new(&path).parent().map(|d| d.display().to_string());
        for named in [path, directory.unwrap_or_default()] {
            message = with_short_path(&message, &named, most);
        }
        message = shortened(&message, most, most / 3);
    }
    message.replace(|c: char| c.is_ascii_control(), " ")
}

/// Returns the path in the message of an error, as the message shows it.
fn path_of(error: &Error) -> Option<String> {
    let shown = |file: &Path| Some(file.display().to_string());
    match error {
        Error::Fleet { file, .. } => Some(file.clone()),
        Error::Format { file, .. } | Error::Digest { file } | Error::Version { file, .. } => {
            shown(file.as_deref()?)
        }
        Error::Io { file, .. }
        | Error::Conflict { file, .. }
        | Error::Guarded { file, .. }
        | Error::Uncertain { file, .. }
        | Error::Changed { file } => shown(file),
        _ => None,
    }
}

/// Shortens a path wherever it is in a message, by as much as is needed and possible.
fn with_short_path(message: &str, path: &str, most: usize) -> String {
    if message.len() <= most || path.len() <= LEAST_PATH || !message.contains(path) {
        return message.to_owned();
    }
    let times = message.matches(path).count();
    let too_many = (message.len() - most).div_ceil(times);
    let room = path.len().saturating_sub(too_many).max(LEAST_PATH);
    // more of the end, which has the name of the file
    message.replace(path, &shortened(path, room, room / 3))
}

/// Leaves out the middle of a text, between two characters, so that `most` bytes are left, of which
/// the first `head` are the start of the text.
fn shortened(text: &str, most: usize, head: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut head = head;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - (most - CUT.len() - head);
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}{CUT}{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::*;

    const MOST: usize = 247;

    fn missing(path: &str) -> Error {
        Error::io("open", Path::new(path), io::Error::from_raw_os_error(2))
    }

    #[test]
    fn a_message_that_fits_is_unchanged() {
        let error = missing("/srv/members.map");
        assert_eq!(message_of(&error, MOST), error.to_string());
    }

    #[test]
    fn a_long_path_loses_its_middle_and_the_reason_stays() {
        for length in 180..1000 {
            let path = format!("/srv/{}/members.map", "d".repeat(length));
            let said = message_of(&missing(&path), MOST);
            assert!(said.len() <= MOST && said.len() > MOST - 4, "{said}");
            assert!(said.starts_with("cannot open /srv/ddd"), "{said}");
            // a name of more than 255 bytes cannot be looked up, so nothing is said of it
            let directory = if length <= 255 {
                "; there is no directory /srv/ddd"
            } else {
                "; correct the path"
            };
            let reason = "ddd/members.map: No such file or directory (os error 2)";
            assert!(said.contains(&format!("{reason}{directory}")), "{said}");
            assert!(said.contains(CUT), "{said}");
        }
    }

    #[test]
    fn every_variant_with_a_file_keeps_its_reason() {
        let long = PathBuf::from(format!("/srv/{}.map", "é".repeat(300)));
        let file = || Some(long.clone());
        let full = || io::Error::from_raw_os_error(28);
        for (error, reason) in [
            (
                Error::Format {
                    file: file(),
                    offset: 0,
                    problem: "this is not a stead map".into(),
                },
                ".map: byte 0: this is not a stead map; name a map that stead made, or restore it \
                 from MAP.history or from a copy",
            ),
            (
                Error::Digest { file: file() },
                ".map: the digest does not match the bytes: the file is damaged; restore it from \
                 MAP.history or from a copy",
            ),
            (
                Error::Version {
                    file: file(),
                    needs: "the map has format 9".into(),
                },
                ".map: the map has format 9; use a newer stead",
            ),
            (
                Error::io("write", &long, full()),
                ".map: No space left on device (os error 28)",
            ),
            (
                Error::Conflict {
                    file: long.clone(),
                    problem: "run it again".into(),
                },
                ".map: run it again",
            ),
            (
                Error::Uncertain {
                    file: long.clone(),
                    epoch: 7,
                    unkept: false,
                    source: full(),
                },
                "it may be lost in a power cut; do not apply again, sync the disk",
            ),
            (
                Error::Changed { file: long.clone() },
                ".map: the file was overwritten in place while it was in use; copy the right map \
                 to another name beside it, and mv that over it: maps are published by renaming",
            ),
            (
                Error::Fleet {
                    file: long.display().to_string(),
                    line: 14,
                    problem: "the key `wieght` is unknown".into(),
                },
                ".map:14: the key `wieght` is unknown",
            ),
        ] {
            let said = message_of(&error, MOST);
            assert!(said.len() <= MOST && said.ends_with(reason), "{said}");
            assert!(said.contains("/srv/é"), "{said}");
        }
    }

    #[test]
    fn only_the_path_of_a_fleet_is_cut_where_that_is_enough() {
        let problem = "the key `wieght` is unknown; ".repeat(6);
        let error = Error::Fleet {
            file: format!("/srv/{}/fleet.toml", "d".repeat(200)),
            line: 14,
            problem: problem.clone(),
        };
        let said = message_of(&error, MOST);
        assert!(said.len() <= MOST && said.starts_with("/srv/d"), "{said}");
        assert!(
            said.ends_with(&format!("/fleet.toml:14: {problem}")),
            "{said}"
        );
    }

    #[test]
    fn a_directory_that_needs_no_cut_or_is_not_named_is_no_matter() {
        // the name of the file is cut, and then the message fits
        let (directory, name) = (format!("/srv/{}", "d".repeat(60)), "n".repeat(100));
        let said = message_of(&missing(&format!("{directory}/{name}")), MOST);
        assert!(
            said.len() <= MOST && said.contains("there is no directory"),
            "{said}"
        );
        assert!(said.ends_with(&format!(" {directory}")), "{said}");
        // not even the shortest path is enough
        let error = Error::Conflict {
            file: PathBuf::from(format!("{directory}/{name}")),
            problem: "run it again; ".repeat(20),
        };
        let said = message_of(&error, MOST);
        assert!(
            said.len() <= MOST && said.ends_with("run it again; "),
            "{said}"
        );
    }

    #[test]
    fn a_path_that_is_named_twice_is_shortened_twice() {
        let long = format!("/srv/{}.map", "d".repeat(200));
        let error = Error::Conflict {
            file: PathBuf::from(&long),
            problem: format!("{long}.lock is held by another process"),
        };
        let said = message_of(&error, MOST);
        assert!(
            said.len() <= MOST && said.matches("...").count() == 2,
            "{said}"
        );
        assert!(
            said.ends_with(".map.lock is held by another process"),
            "{said}"
        );
    }

    #[test]
    fn a_long_message_without_a_path_loses_its_middle() {
        for pad in 0..4 {
            let error = Error::Invalid {
                problem: format!("node {}{} is odd", "x".repeat(pad), "€".repeat(200)),
            };
            let said = message_of(&error, MOST);
            assert!(said.len() > MOST - 6 && said.len() <= MOST, "{said}");
            assert!(said.starts_with("node ") && said.contains(CUT), "{said}");
            assert!(said.ends_with("€ is odd"), "{said}");
        }
    }

    #[test]
    fn a_message_is_one_line() {
        let error = Error::Invalid {
            problem: "a\nb\r\tc\x1b[1m\x7f\0d é".into(),
        };
        assert_eq!(message_of(&error, MOST), "a b  c [1m  d é");
    }
}
