//! The name of an RRD: the path that the client wrote, relative to the base.
//!
//! Clients write `c/load.rrd` over TCP and `/base/c/load.rrd` over a unix socket, and some write
//! `c//load.rrd`. All of these are one file, one name, one key. `..` is refused everywhere, as
//! rrdcached does, so no path leaves the base.

use std::borrow::Cow;

/// The directory in which clients believe all files to be, like `-b` of rrdcached. It has no slash
/// at its end.
#[derive(Clone, Debug)]
pub struct Base(Vec<u8>);

/// The error for a path outside the base. It holds rrdcached's words for that.
#[derive(Debug, PartialEq, Eq)]
pub struct Outside(pub Vec<u8>);

impl Base {
    /// Returns the base for this directory, which need not exist here.
    pub fn new(directory: &[u8]) -> Base {
        let end = directory
            .iter()
            .rposition(|b| *b != b'/')
            .map_or(0, |at| at + 1);
        Base(directory[..end].to_vec())
    }

    /// Returns the directory as it appears in answers.
    pub fn directory(&self) -> &[u8] {
        &self.0
    }

    /// Returns the name of the file: relative to the base, without empty parts and `.`. The key of
    /// the file has the same bytes.
    pub fn name<'a>(&self, written: &'a [u8]) -> Result<Cow<'a, [u8]>, Outside> {
        let outside = || {
            let mut text = if written.first() == Some(&b'/') {
                Vec::new()
            } else {
                [&self.0[..], b"/"].concat()
            };
            text.extend_from_slice(written);
            text.extend_from_slice(b": Permission denied");
            Outside(text)
        };
        let relative = match written {
            [b'/', ..] => {
                let below = written
                    .strip_prefix(&self.0[..])
                    .filter(|rest| rest.first() == Some(&b'/'));
                below.ok_or_else(outside)?.get(1..).unwrap_or_default()
            }
            _ => written,
        };
        if is_plain(relative) {
            return Ok(Cow::Borrowed(relative));
        }
        let name = join(relative).ok_or_else(outside)?;
        if name.is_empty() || name.iter().any(u8::is_ascii_control) {
            return Err(outside());
        }
        Ok(Cow::Owned(name))
    }
}

/// Returns whether the path is as [`join`] would write it and has no control characters. Nearly all
/// paths are, and one look at each byte shows it.
fn is_plain(path: &[u8]) -> bool {
    let mut before = b'/';
    for byte in path {
        // a part that begins with a dot may be `.` or `..`, which `join` handles
        if byte.is_ascii_control() || before == b'/' && matches!(byte, b'/' | b'.') {
            return false;
        }
        before = *byte;
    }
    before != b'/'
}

/// Joins the parts of a path with one slash between them. Returns `None` if one of them is `..`.
pub fn join(path: &[u8]) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = path
        .split(|b| *b == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .collect();
    (!parts.contains(&&b".."[..])).then(|| parts.join(&b'/'))
}

/// Appends the name as the protocol writes it, with a backslash before each blank and backslash.
pub fn escape(name: &[u8], to: &mut Vec<u8>) {
    if !name.iter().any(|byte| matches!(byte, b' ' | b'\\')) {
        return to.extend_from_slice(name); // nearly all names
    }
    for byte in name {
        if matches!(byte, b' ' | b'\\') {
            to.push(b'\\');
        }
        to.push(*byte);
    }
}

/// Returns the name as the protocol writes it.
pub fn escaped(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    escape(name, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_name_however_it_is_written() {
        let base = Base::new(b"/var/rrd//");
        for written in [
            "c/load.rrd",
            "/var/rrd/c/load.rrd",
            "c//load.rrd",
            "./c/./load.rrd",
            "/var/rrd//c/load.rrd",
            "c/load.rrd/",
        ] {
            assert_eq!(
                *base.name(written.as_bytes()).unwrap(),
                *b"c/load.rrd",
                "{written}"
            );
        }
        assert_eq!(*base.name(b"c/a..b.rrd").unwrap(), *b"c/a..b.rrd");
        assert_eq!(*base.name(b".c/.a").unwrap(), *b".c/.a");
        assert_eq!(*Base::new(b"/").name(b"/c/a").unwrap(), *b"c/a");
    }

    #[test]
    fn nothing_leaves_the_base() {
        let base = Base::new(b"/var/rrd");
        for written in [
            "../x",
            "c/../../x",
            "c/..",
            "/etc/x",
            "/var/rrdx/a",
            "/var/rrd",
            "/var/rrd/../x",
            "",
            "/",
            "a\rb",
        ] {
            assert!(base.name(written.as_bytes()).is_err(), "{written}");
        }
        assert_eq!(
            base.name(b"../x.rrd"),
            Err(Outside(b"/var/rrd/../x.rrd: Permission denied".to_vec()))
        );
        assert_eq!(
            base.name(b"/etc/x.rrd"),
            Err(Outside(b"/etc/x.rrd: Permission denied".to_vec()))
        );
    }
}
