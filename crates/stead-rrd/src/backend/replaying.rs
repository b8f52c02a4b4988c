//! Replays what a backend missed: the log from the backend's last confirmed record to its end.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Instant;

use super::feeding::needed;
use super::server::Backend;
use super::standing::BATCH_LINES;
use super::work::is_risky;
use crate::connection::Connection;
use crate::health::Health;
use crate::key::{hash_of, Key};
use crate::known::Doubt;
use crate::record;
use crate::refusals::{has_no_file, is_repeated, last_time};
use crate::repairs::Need;
use crate::shape::Shape;
use crate::verb::Verb;
use crate::words::{line_of, words, Split};
use crate::writes::is_unjudged;

impl Backend {
    /// Sends the records of the log after `has` until there are no more, and then marks the backend
    /// as up. Returns the number of the last record.
    pub(super) async fn replay(&self, connection: &mut Connection, has: u64) -> io::Result<u64> {
        let mut through = has;
        let (mut asked, mut doubts) = (HashSet::new(), Doubts::default());
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
            let stretch = self.stretch(through, &asked)?;
            if !stretch.unknown.is_empty() {
                self.learn(connection, &stretch.unknown).await?;
                asked.extend(stretch.unknown);
                continue; // read the same stretch again, now that its files are known
            }
            through = stretch.through;
            if stretch.sent.is_empty() {
                let mut standing = self.standing();
                if standing.offered <= through && standing.late.is_none() {
                    standing.become_(Health::Up);
                    standing.error = None;
                    drop(standing);
                    for (name, Doubted { count, text, .. }) in doubts.left() {
                        let repairs = &self.shared.repairs;
                        repairs.refused(&name, self.id, Need::Doubtful, &text, count);
                    }
                    return Ok(through);
                }
                // a newer record was offered; every offered record is durable, so the log has it
                continue;
            }
            if stretch.sent.iter().any(|sent| is_risky(sent.verb)) {
                self.fenced().await?;
            }
            let failures = self
                .in_time(connection.batch(&stretch.text, stretch.sent.len()))
                .await?;
            let mut failures: HashMap<usize, Vec<u8>> = failures.into_iter().collect();
            for (at, sent) in stretch.sent.iter().enumerate() {
                let Sent {
                    name,
                    verb,
                    time,
                    unjudged,
                    ..
                } = sent;
                let Some(text) = failures.remove(&at) else {
                    doubts.took(name, *time);
                    continue;
                };
                let repairs = &self.shared.repairs;
                match needed(*verb, &text) {
                    _ if has_no_file(&text) => {
                        repairs.add(name, self.id, Need::Missing);
                        if *unjudged {
                            repairs.unheard(name, self.id);
                        }
                    }
                    Some(Need::Doubtful) if is_repeated(&text) => doubts.add(name, *time, text),
                    Some(need) => repairs.refused(name, self.id, need, &text, 1),
                    None => {}
                }
            }
            let now = Instant::now();
            let mut standing = self.standing();
            for Sent { number, name, .. } in &stretch.sent {
                standing.unflushed.wrote(Key::of(name), *number, now);
            }
        }
    }

    /// Asks the backend about files, to judge updates that nobody has judged.
    async fn learn(&self, connection: &mut Connection, names: &[Vec<u8>]) -> io::Result<()> {
        for name in names {
            let asked = connection.infos(std::slice::from_ref(name));
            for [info, last] in self.in_time(asked).await? {
                if let Some(found) = Shape::read(&info, &last) {
                    self.shared.known.learn(name, found);
                }
            }
        }
        Ok(())
    }

    /// Reads the next writes of the log that are for this backend. It stops before an update that
    /// has to be judged and whose file is not known, unless the backend was `asked` about it.
    fn stretch(&self, after: u64, asked: &HashSet<Vec<u8>>) -> io::Result<Stretch> {
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
        let mut refused = Vec::new();
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
                        let Some(verb) = split.verb else {
                            return Err(damaged(number));
                        };
                        let values = if verb == Verb::Update { rest } else { b"" };
                        if verb == Verb::Update && is_unjudged(entry.line) {
                            match self.shared.known.judge(&name, values) {
                                Some(Doubt::Unknown) if !asked.contains(&*name) => {
                                    stretch.unknown.push(name.to_vec());
                                }
                                Some(Doubt::Refused(why)) => {
                                    refused.push((name.to_vec(), why));
                                    continue;
                                }
                                _ => {}
                            }
                        }
                        let mut sent = |verb, time| {
                            stretch.sent.push(Sent {
                                number,
                                name: name.to_vec(),
                                verb,
                                time,
                                unjudged: verb == Verb::Update && is_unjudged(entry.line),
                            })
                        };
                        let flush = line_of(Verb::Flush, &name);
                        pieces(
                            entry.line,
                            values,
                            &flush,
                            &mut stretch.text,
                            |verb_of, value| sent(verb_of.unwrap_or(verb), time_of(value)),
                        );
                    }
                }
            }
            stretch.through = number;
            if stretch.sent.len() >= BATCH_LINES {
                break;
            }
        }
        if stretch.unknown.is_empty() {
            for (name, error) in refused {
                let (backend, file) = (&self.name, String::from_utf8_lossy(&name));
                self.shared.repairs.refused_by_all(self.id);
                tracing::error!(
                    backend,
                    file = &*file,
                    error,
                    "an update of {file} that was taken \
                    while none of its servers was up is not sent to {backend}, as it cannot be \
                    written: {error}"
                );
            }
        }
        Ok(stretch)
    }
}

/// Returns the time of a value.
fn time_of(value: &[u8]) -> Option<f64> {
    let time = value.split(|byte| *byte == b':').next()?;
    std::str::from_utf8(time).ok()?.parse().ok()
}

/// Writes of the log, ready to be sent.
#[derive(Default)]
struct Stretch {
    text: Vec<u8>,
    sent: Vec<Sent>,
    /// files that have to be known before this can be sent
    unknown: Vec<Vec<u8>>,
    /// the number of the last record that was read
    through: u64,
}

/// A line that is sent.
struct Sent {
    /// the number of its record
    number: u64,
    name: Vec<u8>,
    verb: Verb,
    /// the time of its value
    time: Option<f64>,
    /// whether it is an update that was answered while no server could judge it
    unjudged: bool,
}

/// Refusals that may be repetitions.
///
/// A backend that has got the log up to some record refuses that record's values, and all before
/// it, when they are sent again. So it names the time of one of them as the last one of the file,
/// or the time of a value that it has taken just now, if the log has values that every backend
/// refuses. When it names another time, somebody else has written the file, and the backend may
/// lack what it refused.
#[derive(Default)]
struct Doubts {
    files: HashMap<Vec<u8>, Doubted>,
    /// the time of the last value that the backend took, by the hash of the file's name
    taken: HashMap<u64, f64>,
}

struct Doubted {
    /// the last time that the backend names
    last: Option<f64>,
    /// whether a value of the log has this time
    seen: bool,
    /// the first refusal
    text: Vec<u8>,
    /// how many refusals there are
    count: u64,
}

impl Doubts {
    /// Notes that a value of this time was taken.
    fn took(&mut self, name: &[u8], time: Option<f64>) {
        let Some(time) = time else { return };
        self.taken.insert(hash_of(name), time);
        if let Some(doubted) = self.files.get_mut(name) {
            doubted.seen |= doubted.last.is_some_and(|last| is_last(time, last));
        }
    }

    /// Adds a refusal of a value of this time.
    fn add(&mut self, name: &[u8], time: Option<f64>, text: Vec<u8>) {
        let last = last_time(&text);
        let doubted = self.files.entry(name.to_vec()).or_insert(Doubted {
            last,
            seen: false,
            text,
            count: 0,
        });
        doubted.count += 1;
        if doubted.last != last {
            (doubted.last, doubted.seen) = (last, false);
        }
        let taken = self.taken.get(&hash_of(name)).copied();
        let times = [time, taken];
        let is_last = |(time, last)| is_last(time, last);
        doubted.seen |= times.iter().any(|time| time.zip(last).is_some_and(is_last));
    }

    /// Returns the files whose refusals are no repetitions.
    fn left(self) -> impl Iterator<Item = (Vec<u8>, Doubted)> {
        self.files.into_iter().filter(|(_, doubted)| !doubted.seen)
    }
}

/// Returns whether a value of this time may be the last one that a backend names. The answer has
/// six decimals. Of a file that rrdcached does not have in its memory, it knows whole seconds only.
fn is_last(time: f64, last: f64) -> bool {
    (time - last).abs() < 1e-6 || (last.fract() == 0.0 && time.floor() == last)
}

/// Appends a write of the log to `to`. `values` are the values at the end of `line` if it is an
/// update. An update with several values becomes one update for each: rrdcached stops at the first
/// value that it has already, and of a repeated line it may have only the first values.
///
/// A value with a fraction of a second is followed by `flush`. After a restart, rrdcached knows the
/// last time of a file in whole seconds only. So it may take a value that the file has, and lose it
/// with everything that waits behind it: then nothing must wait.
///
/// Calls `each` for every line that it appends, with the verb if that is not the verb of `line`,
/// and with the value.
fn pieces(
    line: &[u8],
    values: &[u8],
    flush: &[u8],
    to: &mut Vec<u8>,
    mut each: impl FnMut(Option<Verb>, &[u8]),
) {
    let head = &line[..line.len() - values.len()];
    let several = words(values).nth(1).is_some();
    if !several {
        to.extend_from_slice(line);
        to.push(b'\n');
        each(None, words(values).next().unwrap_or_default());
    }
    for value in words(values) {
        if several {
            to.extend_from_slice(head);
            to.extend_from_slice(value);
            to.push(b'\n');
            each(None, value);
        }
        if time_of(value).is_some_and(|time| time.fract() != 0.0) {
            to.extend_from_slice(flush);
            to.push(b'\n');
            each(Some(Verb::Flush), b"");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn an_update_of_the_log_goes_out_value_by_value() {
        let lines = |line: &str, values: &str| {
            let (mut text, mut count) = (Vec::new(), 0);
            let flush = b"FLUSH c/x";
            pieces(
                line.as_bytes(),
                values.as_bytes(),
                flush,
                &mut text,
                |_, _| count += 1,
            );
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
        // what rrdcached could take although the file has it must not take others with it
        assert_eq!(
            lines("update c/x 1.5:2 3:4", "1.5:2 3:4"),
            (
                "update c/x 1.5:2\nFLUSH c/x\nupdate c/x 3:4\n".to_owned(),
                3
            )
        );
        assert_eq!(
            lines("update c/x 1.5:2", "1.5:2"),
            ("update c/x 1.5:2\nFLUSH c/x\n".to_owned(), 2)
        );
    }

    #[test]
    fn a_refusal_is_a_repetition_when_the_log_has_the_time_that_it_names() {
        let mut doubts = Doubts::default();
        let refusal = |last: &str| {
            format!(
                "illegal attempt to update using time 1.0 when last update time is {last} \
                (minimum one second step)"
            )
            .into_bytes()
        };
        for time in [10.0, 20.0, 15.0] {
            doubts.add(b"own", Some(time), refusal("20.000000"));
            doubts.add(b"foreign", Some(time), refusal("600.000000"));
        }
        doubts.add(b"fraction", Some(10.1234567), refusal("10.123457"));
        doubts.add(b"later", Some(10.0), refusal("10.000000"));
        doubts.add(b"later", Some(11.0), refusal("12.000000"));
        // what the backend lacked, and then a value that every backend refuses
        doubts.took(b"lacked", Some(20.0));
        doubts.add(b"lacked", Some(15.0), refusal("20.000000"));
        doubts.took(b"overtaken", Some(20.0));
        doubts.add(b"overtaken", Some(21.0), refusal("600.000000"));
        // rrdcached knows whole seconds only, and takes the last value once more
        doubts.add(b"whole", Some(10.5), refusal("12.000000"));
        doubts.took(b"whole", Some(12.25));
        doubts.add(b"foreign whole", Some(10.5), refusal("600.000000"));
        doubts.took(b"foreign whole", Some(601.25));
        let mut left: Vec<_> = doubts.left().map(|(name, _)| name).collect();
        left.sort();
        assert_eq!(
            left,
            [&b"foreign"[..], b"foreign whole", b"later", b"overtaken"]
        );
    }
}
