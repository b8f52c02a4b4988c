//! A record of the log: the writes of one request, or of a part of a BATCH, and the backends that
//! must get each of them.
//!
//! ```text
//! db1,db3 TAB update c/load.rrd 1700000060:1 LF
//! ```
//!
//! A record is text, so that a person can read the log. The names of nodes contain no comma and no
//! control characters, and lines contain no control characters. The names are stored in the record
//! and not only in the map, so a record goes to the backends that it was meant for, whatever a
//! later map says.

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressed<'a> {
    names: &'a str,
    /// The request, without its line end.
    pub line: &'a [u8],
}

impl<'a> Addressed<'a> {
    /// Returns the names of the backends.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.split(',')
    }
}

/// Appends a write to a record. The line may have its line end or not.
pub fn push<'a>(record: &mut Vec<u8>, names: impl Iterator<Item = &'a str>, line: &[u8]) {
    for (at, name) in names.enumerate() {
        if at > 0 {
            record.push(b',');
        }
        record.extend_from_slice(name.as_bytes());
    }
    record.push(b'\t');
    record.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
    record.push(b'\n');
}

/// Returns the writes of a record, with `None` in place of a damaged one.
pub fn entries(record: &[u8]) -> impl Iterator<Item = Option<Addressed<'_>>> {
    record
        .strip_suffix(b"\n")
        .unwrap_or(record)
        .split(|b| *b == b'\n')
        .map(|text| {
            let at = text.iter().position(|b| *b == b'\t')?;
            Some(Addressed {
                names: std::str::from_utf8(&text[..at]).ok()?,
                line: &text[at + 1..],
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_back_what_was_put_in() {
        let mut record = Vec::new();
        push(
            &mut record,
            ["a", "b é"].into_iter(),
            b"update c/x\ty.rrd 1:2",
        );
        push(&mut record, ["c"].into_iter(), b"forget \xff");
        let back: Vec<_> = entries(&record).map(Option::unwrap).collect();
        assert_eq!(
            back[0],
            Addressed {
                names: "a,b é",
                line: b"update c/x\ty.rrd 1:2"
            }
        );
        assert_eq!(
            back[1],
            Addressed {
                names: "c",
                line: b"forget \xff"
            }
        );
        assert_eq!(back[0].names().collect::<Vec<_>>(), ["a", "b é"]);
        assert_eq!(entries(b"no tab\n").collect::<Vec<_>>(), [None]);
    }
}
