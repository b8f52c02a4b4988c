//! The page that a person reads when something is wrong: of a [`Status`], in words and in units for
//! people.
//!
//! [`Status::problems`] decides what is wrong and says what to do. Nothing that a backend or a file
//! has written steers the terminal.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration};

use crate::health::Health;
use crate::status::{Progress, Status};
use crate::tally::Requests;

/// From this part of its bound on, a log is worth waking somebody.
const LOG_ALMOST_FULL: f64 = 0.8;
/// A log is never smaller: two segments, as log::Size has them.
const LOG_LEAST: u64 = 32 << 20;

impl Status {
    /// Whether files are on their way now.
    pub fn is_moving(&self) -> bool {
        self.moving.as_ref().is_some_and(|moving| !moving.ended)
    }

    /// What is wrong, the worst first, each in one line; nothing when all is well.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.exposed.unreachable > 0.0 {
            problems.push(format!(
                "{} of the files cannot be read, as none of their backends is \
                up; updates for them wait in the log",
                percent(self.exposed.unreachable)
            ));
        }
        self.problems_of_the_log(&mut problems);
        for backend in &self.backends {
            let name = format!(
                "backend {} ({})",
                printable(&backend.name),
                printable(&backend.address)
            );
            match backend.state {
                Health::Up => {}
                Health::Down => {
                    let reason = backend
                        .reason
                        .as_deref()
                        .map_or(String::new(), |reason| format!(": {}", printable(reason)));
                    problems.push(format!(
                        "{name} is down for {}{reason}",
                        ago(self.now, backend.since)
                    ));
                }
                Health::Behind => problems.push(format!(
                    "{name} is catching up for {}: {} to go",
                    ago(self.now, backend.since),
                    many(backend.behind, "record")
                )),
            }
            if backend.lacking > 0 {
                problems.push(format!(
                    "{name} lacks {}, which are being copied to it",
                    many(backend.lacking, "file")
                ));
            }
        }
        let journals: Vec<String> = self
            .backends
            .iter()
            .filter(|backend| backend.journal)
            .map(|backend| printable(&backend.name))
            .collect();
        if !journals.is_empty() {
            problems.push(format!(
                "rrdcached keeps a journal of its own on {}, by which it can \
                lose updates when it crashes: start it without -j",
                journals.join(", ")
            ));
        }
        if self.exposed.single > 0.0 {
            problems.push(format!(
                "{} of the files have one copy only that is up",
                percent(self.exposed.single)
            ));
        }
        if let Some(moving) = self.moving.as_ref().filter(|moving| moving.failed > 0) {
            let reason = moving.reasons.first().map_or(String::new(), |reason| {
                format!("; the first: {}", printable(reason))
            });
            problems.push(format!(
                "{}: {} failed{reason}",
                moving.title(),
                many(moving.failed, "file")
            ));
        }
        if let (Some(next), false) = (self.next_epoch, self.is_moving()) {
            problems.push(format!(
                "files have to be moved from epoch {} to {next}, and nothing \
                moves them: run stead-rrd move",
                self.epoch
            ));
        }
        problems
    }

    fn problems_of_the_log(&self, problems: &mut Vec<String>) {
        let Some(log) = &self.log else {
            problems.push(
                "the router runs without a log (--no-log): a crash loses updates that \
                clients believe safe"
                    .to_owned(),
            );
            return;
        };
        if let Some(error) = &log.failed {
            problems.push(format!(
                "the log has failed and takes no writes: {}; make room or mend \
                the disk, then restart the router",
                printable(error)
            ));
        }
        let part = log.bytes as f64 / log.bound.max(1) as f64;
        if let Some(reason) = &log.short {
            problems.push(format!(
                "the log has no room for much more, and then refuses writes: {}",
                printable(reason)
            ));
        } else if part >= LOG_ALMOST_FULL && log.bytes > LOG_LEAST {
            let slowest = self.backends.iter().min_by_key(|backend| backend.confirmed);
            let slowest = slowest.map_or(String::new(), |backend| {
                format!(
                    "; it waits for backend {}, which has confirmed {} of {} records",
                    printable(&backend.name),
                    HumanCount(backend.confirmed),
                    HumanCount(log.newest)
                )
            });
            problems.push(format!(
                "the log is {} full ({} of {}); when it is full, writes are refused{slowest}",
                percent(part),
                HumanBytes(log.bytes),
                HumanBytes(log.bound)
            ));
        }
    }

    /// The page: its first line says whether all is well, or what is not.
    pub fn page(&self) -> String {
        let mut page = String::new();
        let problems = self.problems();
        match problems.split_first() {
            None => {
                let _ = write!(
                    page,
                    "all is well: {} up",
                    many(self.backends.len() as u64, "backend")
                );
                if let Some(moving) = self.moving.as_ref().filter(|moving| !moving.ended) {
                    let _ = write!(page, "; {}: {}", moving.title(), moving.figures());
                }
                page.push('\n');
            }
            Some((worst, others)) => {
                let _ = writeln!(page, "not well: {worst}");
                for other in others {
                    let _ = writeln!(page, "    also: {other}");
                }
            }
        }
        let next = self
            .next_epoch
            .map_or(String::new(), |next| format!(" -> {next}"));
        let running = HumanDuration(Duration::from_secs(self.now.saturating_sub(self.started)));
        let _ = writeln!(
            page,
            "{}, epoch {}{next}, stead-rrd {}, started {running} ago\n",
            printable(&self.fleet),
            self.epoch,
            self.version
        );
        self.table(&mut page);
        self.foot(&mut page);
        page
    }

    fn table(&self, page: &mut String) {
        let heading = [
            "backend",
            "address",
            "labels",
            "state",
            "for",
            "waiting",
            "behind",
            "unflushed",
            "answered",
            "refused",
            "reconnects",
        ];
        let mut rows = vec![heading.map(str::to_owned)];
        for backend in &self.backends {
            let labels: Vec<String> = backend
                .labels
                .iter()
                .map(|(key, value)| printable(&format!("{key}={value}")))
                .collect();
            let waiting = if backend.queued_lines == 0 {
                "0".to_owned()
            } else {
                format!(
                    "{} ({})",
                    HumanCount(backend.queued_lines),
                    HumanBytes(backend.queued_bytes)
                )
            };
            let [behind, unflushed, answered, errors, reconnects] = [
                backend.behind,
                backend.unflushed_files,
                backend.answered,
                backend.errors,
                backend.reconnects,
            ]
            .map(|count| HumanCount(count).to_string());
            let (name, address) = (printable(&backend.name), printable(&backend.address));
            let (state, since) = (
                backend.state.name().to_owned(),
                ago(self.now, backend.since),
            );
            rows.push([
                name,
                address,
                labels.join(" "),
                state,
                since,
                waiting,
                behind,
                unflushed,
                answered,
                errors,
                reconnects,
            ]);
        }
        let width = |column: usize| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heading.len()).map(width).collect();
        for row in &rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                // words to the left, numbers to the right
                let (before, after) = if column < 5 {
                    ("", &space[..])
                } else {
                    (&space[..], "")
                };
                line.extend([if column == 0 { "" } else { "  " }, before, cell, after]);
            }
            page.push_str(line.trim_end());
            page.push('\n');
        }
        page.push('\n');
    }

    fn foot(&self, page: &mut String) {
        match &self.log {
            Some(log) => {
                let part = percent(log.bytes as f64 / log.bound.max(1) as f64);
                let records = match (log.newest + 1).saturating_sub(log.oldest) {
                    0 => "every backend has all records".to_owned(),
                    kept => format!(
                        "{} wait for their FLUSH, the newest has number {}",
                        many(kept, "record"),
                        HumanCount(log.newest)
                    ),
                };
                let _ = writeln!(
                    page,
                    "log       {} of {} ({part}), {records}",
                    HumanBytes(log.bytes),
                    HumanBytes(log.bound)
                );
            }
            None => page.push_str("log       none\n"),
        }
        let clients = &self.clients;
        let [connected, accepted, refused] =
            [clients.connected, clients.accepted, clients.refused].map(HumanCount);
        let _ = writeln!(
            page,
            "clients   {connected} connected, {accepted} accepted since the \
            start, {refused} refused"
        );
        for verb in clients.verbs.iter().filter(|verb| verb.requests > 0) {
            let _ = writeln!(page, "{:<10}{}", printable(&verb.verb), requests(verb));
        }
        if let Some(moving) = &self.moving {
            let since = ago(self.now, moving.started);
            let when = if moving.ended {
                format!("ended, begun {since} ago")
            } else {
                format!("for {since}")
            };
            let _ = writeln!(page, "{}, {when}: {}", moving.title(), moving.figures());
            for reason in &moving.reasons {
                let _ = writeln!(page, "          {}", printable(reason));
            }
        }
    }
}

impl Progress {
    /// `move to epoch 8` or `repair of b1`.
    pub fn title(&self) -> String {
        match &self.repair {
            Some(name) => format!("repair of {}", printable(name)),
            None => format!("move to epoch {}", self.to_epoch),
        }
    }

    /// `12 of 2,000 files, 1 failed, 3.10 MiB, 1.20 MiB/s`.
    pub fn figures(&self) -> String {
        // as many are known as are done: before the first look at the servers, and while they are
        // looked at again
        let mut text = match !self.ended && self.done + self.failed >= self.files {
            true => format!("{}, looking for more", many(self.done, "file")),
            false => format!("{} of {}", HumanCount(self.done), many(self.files, "file")),
        };
        if self.failed > 0 {
            let _ = write!(text, ", {} failed", HumanCount(self.failed));
        }
        let _ = write!(text, ", {}", HumanBytes(self.bytes));
        if !self.ended && self.rate > 0 {
            let _ = write!(text, ", {}/s", HumanBytes(self.rate));
        }
        text
    }
}

fn requests(verb: &Requests) -> String {
    let mut text = many(verb.requests, "request");
    if verb.errors > 0 {
        let _ = write!(text, ", {}", many(verb.errors, "error"));
    }
    match (verb.within(50), verb.within(99)) {
        (Some(half), Some(most)) => {
            let _ = write!(text, "; half within {half:?}, 99 % within {most:?}");
        }
        _ => text.push_str("; some took longer than 10s"),
    }
    text
}

fn ago(now: u64, then: u64) -> String {
    HumanDuration(Duration::from_secs(now.saturating_sub(then))).to_string()
}

fn many(count: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        HumanCount(count),
        if count == 1 { "" } else { "s" }
    )
}

/// With one digit, and never rounded to all or to nothing.
fn percent(part: f64) -> String {
    match part * 100.0 {
        all if all >= 100.0 => "100 %".to_owned(),
        much if much > 99.9 => "99.9 %".to_owned(),
        little if little > 0.0 && little < 0.1 => "less than 0.1 %".to_owned(),
        other => format!("{other:.1} %"),
    }
}

/// Text that somebody else has written, safe for a terminal: one line, nothing that steers it.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{sample, Exposed};

    fn first_line(status: &Status) -> String {
        status.page().lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_router_that_is_well_says_so_first() {
        let status = sample();
        assert_eq!(status.problems(), Vec::<String>::new());
        let page = status.page();
        assert!(
            page.starts_with(
                "all is well: 4 backends up\nrrd, epoch 7, stead-rrd 0.1.0, \
            started 24 hours ago\n\nbackend  address "
            ),
            "{page}"
        );
        for line in [
            "backend  address          labels  state  for             waiting  behind  unflushed  \
             answered  refused  reconnects",
            "a1       10.0.0.51:42217  zone=a  up     24 hours  12 (1.20 KiB)       0      1,204   \
             601,615        3           1",
            "log       12.00 MiB of 1.00 GiB (1.2 %), 123 records wait for their FLUSH, the newest \
             has number 20,123",
            "clients   1 connected, 1 accepted since the start, 0 refused",
            "update    1,203,231 requests, 3 errors; half within 1ms, 99 % within 1ms",
            "fetch     1 request; half within 5ms, 99 % within 5ms",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}\n{page}");
        }
    }

    type Change = fn(&mut Status);

    #[test]
    fn whatever_is_wrong_is_named_first_and_says_what_to_do() {
        let changes: [(Change, &str); 14] = [
            (|s| s.backends[3].state = Health::Down, "not well: backend b2 (10.0.0.52:42217) is \
                down for 24 hours"),
            (
                |s| {
                    s.backends[3].state = Health::Down;
                    s.backends[3].reason = Some("Connection refused\u{1b}[31m".to_owned());
                },
                "not well: backend b2 (10.0.0.52:42217) is down for 24 hours: Connection \
                 refused\u{fffd}[31m",
            ),
            (
                |s| {
                    s.backends[0].state = Health::Behind;
                    s.backends[0].behind = 12_000;
                },
                "not well: backend a1 (10.0.0.51:42217) is catching up for 24 hours: 12,000 \
                 records to go",
            ),
            (|s| s.backends[0].lacking = 1, "not well: backend a1 (10.0.0.51:42217) lacks 1 file, \
                which are being copied to it"),
            (|s| s.backends[1].journal = true, "not well: rrdcached keeps a journal of its own on \
                a2, by which it can lose updates when it crashes: start it without -j"),
            (
                |s| s.exposed = Exposed { unreachable: 0.25, single: 0.0 },
                "not well: 25.0 % of the files cannot be read, as none of their backends is up; \
                 updates for them wait in the log",
            ),
            (|s| s.exposed = Exposed { unreachable: 0.0, single: 0.9999 }, "not well: 99.9 % of \
                the files have one copy only that is up"),
            (|s| s.log = None, "not well: the router runs without a log (--no-log): a crash loses \
                updates that clients believe safe"),
            (
                |s| {
                    s.log.iter_mut().for_each(|log| log.bytes = 900 << 20);
                    s.backends[2].confirmed = 7;
                },
                "not well: the log is 87.9 % full (900.00 MiB of 1.00 GiB); when it is full, writes are refused; \
                 it waits for backend b1, which has confirmed 7 of 20,123 records",
            ),
            (
                |s| s.log.iter_mut().for_each(|log| log.failed = Some("no space".to_owned())),
                "not well: the log has failed and takes no writes: no space; make room or mend the \
                 disk, then restart the router",
            ),
            (
                |s| s.log.iter_mut().for_each(|log| log.short = Some("the log cannot grow: quota".to_owned())),
                "not well: the log has no room for much more, and then refuses writes: the log \
                 cannot grow: quota",
            ),
            (|s| s.next_epoch = Some(8), "not well: files have to be moved from epoch 7 to 8, and \
                nothing moves them: run stead-rrd move"),
            (
                |s| s.moving = Some(Progress { to_epoch: 8, failed: 2, reasons: vec!["a.rrd: gone\n".to_owned()], ..Progress::default() }),
                "not well: move to epoch 8: 2 files failed; the first: a.rrd: gone\u{fffd}",
            ),
            (|s| s.backends[1].name = "x\ny".to_owned(), "all is well: 4 backends up"),
        ];
        for (change, line) in changes {
            let mut status = sample();
            change(&mut status);
            assert_eq!(first_line(&status), line);
            assert_eq!(
                status.problems().is_empty(),
                line.starts_with("all is well")
            );
            assert!(!status.page().contains('\u{1b}'));
        }
        let mut status = sample();
        changes.iter().for_each(|(change, _)| change(&mut status));
        let page = status.page();
        assert!(
            page.starts_with("not well: ") && page.contains("without a log"),
            "{page}"
        );
        assert_eq!(
            page.lines()
                .filter(|line| line.starts_with("    also: "))
                .count()
                + 1,
            status.problems().len()
        );
    }

    #[test]
    fn a_move_is_shown_and_is_no_trouble() {
        let mut status = sample();
        status.next_epoch = Some(8);
        let moving = Progress {
            from_epoch: 7,
            to_epoch: 8,
            files: 2000,
            done: 1201,
            bytes: 3 << 20,
            rate: 1 << 20,
            started: status.now - 60,
            ..Progress::default()
        };
        status.moving = Some(moving);
        assert_eq!(
            first_line(&status),
            "all is well: 4 backends up; move to epoch 8: 1,201 of \
            2,000 files, 3.00 MiB, 1.00 MiB/s"
        );
        assert!(status.page().contains("rrd, epoch 7 -> 8, "));
        let looking = Progress {
            files: 5,
            done: 5,
            ..Progress::default()
        };
        assert_eq!(looking.figures(), "5 files, looking for more, 0 B");
        assert_eq!(
            Progress {
                ended: true,
                ..looking
            }
            .figures(),
            "5 of 5 files, 0 B"
        );
        assert!(
            status
                .page()
                .contains("\nmove to epoch 8, for 60 seconds: 1,201 of"),
            "{}",
            status.page()
        );
        status
            .moving
            .iter_mut()
            .for_each(|moving| moving.ended = true);
        assert!(
            first_line(&status).ends_with("nothing moves them: run stead-rrd move"),
            "{}",
            status.page()
        );
        assert!(
            status.page().contains(
                "\nmove to epoch 8, ended, begun 60 seconds ago: 1,201 of 2,000 files, 3.00 MiB\n"
            ),
            "{}",
            status.page()
        );
    }

    #[test]
    fn parts_are_never_rounded_to_all_or_nothing() {
        for (part, text) in [
            (0.0, "0.0 %"),
            (0.0001, "less than 0.1 %"),
            (0.5, "50.0 %"),
            (0.99999, "99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(part), text);
        }
    }
}
