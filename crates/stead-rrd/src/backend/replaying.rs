//! Replays what a backend missed: the log from the backend's last confirmed record to its end.

use std::io;
use std::time::Instant;

use super::server::Backend;
use super::standing::BATCH_LINES;
use crate::connection::Connection;
use crate::health::Health;
use crate::record;
use crate::refusals::has_no_file;
use crate::verb::Verb;
use crate::words::{words, Split};

impl Backend {
    /// Sends the records of the log after `has` until there are no more, and then marks the backend
    /// as up. Returns the number of the last record.
    pub(super) async fn replay(&self, connection: &mut Connection, has: u64) -> io::Result<u64> {
        let mut through = has;
        loop {
            {
                let version = self.shared.layout().version();
                let mut standing = self.standing();
                standing.version = version;
                through = standing
                    .late
                    .take()
                    .map_or(through, |late| through.min(late - 1));
            }
            let stretch = self.stretch(through)?;
            through = stretch.through;
            if stretch.names.is_empty() {
                let mut standing = self.standing();
                if standing.offered <= through && standing.late.is_none() {
                    standing.become_(Health::Up);
                    standing.error = None;
                    return Ok(through);
                }
                // a newer record was offered; every offered record is durable, so the log has it
                continue;
            }
            let failures = self
                .in_time(connection.batch(&stretch.text, stretch.names.len()))
                .await?;
            for (at, text) in failures {
                if has_no_file(&text) {
                    self.shared.lacks.add(&stretch.names[at].1, self.id);
                }
            }
            let now = Instant::now();
            let mut standing = self.standing();
            for (number, name) in &stretch.names {
                standing.unflushed.wrote(name, *number, now);
            }
        }
    }

    /// Reads the next writes of the log that are for this backend.
    fn stretch(&self, after: u64) -> io::Result<Stretch> {
        let mut stretch = Stretch {
            through: after,
            ..Stretch::default()
        };
        let damaged = |number| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("record {number} of the log is damaged"),
            )
        };
        // The iterator may block this task to read from the disk. The reads are short, and mostly
        // of files that were written a moment ago.
        for record in self.shared.log.read(after) {
            let (number, bytes) = record?;
            for entry in record::entries(&bytes) {
                let entry = entry.ok_or_else(|| damaged(number))?;
                if entry.names().any(|name| name == self.name) {
                    let split = Split::of(entry.line);
                    let (name, rest) = split.path().ok_or_else(|| damaged(number))?;
                    // skip files that have moved away from this backend, or have not come to it yet
                    if self.shared.layout().now(&name).contains(&self.id) {
                        let is_update = split.verb == Some(Verb::Update);
                        let values = if is_update { rest } else { b"" };
                        pieces(entry.line, values, &mut stretch.text, || {
                            stretch.names.push((number, name.to_vec()))
                        });
                    }
                }
            }
            stretch.through = number;
            if stretch.names.len() >= BATCH_LINES {
                break;
            }
        }
        Ok(stretch)
    }
}

/// Writes of the log, ready to be sent.
#[derive(Default)]
struct Stretch {
    text: Vec<u8>,
    /// the record and the file of each line
    names: Vec<(u64, Vec<u8>)>,
    /// the number of the last record that was read
    through: u64,
}

/// Appends a write of the log to `to`. `values` are the values at the end of `line` if it is an
/// update. An update with several values becomes one update for each: rrdcached stops at the first
/// value that it has already, and of a repeated line it may have only the first values. Calls
/// `each` for every line that it appends.
fn pieces(line: &[u8], values: &[u8], to: &mut Vec<u8>, mut each: impl FnMut()) {
    if words(values).count() < 2 {
        to.extend_from_slice(line);
        to.push(b'\n');
        return each();
    }
    let head = &line[..line.len() - values.len()];
    for value in words(values) {
        to.extend_from_slice(head);
        to.extend_from_slice(value);
        to.push(b'\n');
        each();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn an_update_of_the_log_goes_out_value_by_value() {
        let lines = |line: &str, values: &str| {
            let (mut text, mut count) = (Vec::new(), 0);
            pieces(line.as_bytes(), values.as_bytes(), &mut text, || count += 1);
            (String::from_utf8(text).unwrap(), count)
        };
        assert_eq!(
            lines("update c/x\\ y 1:2 3:4", "1:2 3:4"),
            ("update c/x\\ y 1:2\nupdate c/x\\ y 3:4\n".to_owned(), 2)
        );
        assert_eq!(
            lines("update a 1:2", "1:2"),
            ("update a 1:2\n".to_owned(), 1)
        );
        assert_eq!(
            lines("create a -s 60 DS:a", ""),
            ("create a -s 60 DS:a\n".to_owned(), 1)
        );
    }
}
