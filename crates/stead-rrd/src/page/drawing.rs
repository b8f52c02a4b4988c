//! The status page: whether all is well, a table of the backends, the log, the clients, and the
//! move.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration};

use super::wording::{ago, compared, many, percent, printable};
use crate::passes::Pass;
use crate::role::Role;
use crate::status::{BackendStatus, Status};
use crate::tally::Requests;

/// The width of the first column below the table: the longest verb, and two blanks.
pub(super) const LABEL: usize = "suspendall".len() + 2;

/// The width of the table.
const WIDTH: usize = 80;
/// The least width to which a name or an address is cut.
const LEAST: usize = 12;
/// The columns that are left out where there is no room, the least important first: reconnects,
/// answered, labels, refused, unflushed.
const DROPPED: [usize; 5] = [10, 8, 2, 9, 7];
/// The columns that are cut in their middle where there is still no room: backend, address.
const CUT: [usize; 2] = [0, 1];

/// The label of the lines of the checks.
const CHECK: &str = "check";

impl Status {
    /// Returns the page. Its first line says whether all is well, or what is wrong.
    pub fn page(&self) -> String {
        let mut page = String::new();
        let problems = self.problems();
        match problems.split_first() {
            None => {
                let backends = || format!("{} up", many(self.backends.len() as u64, "backend"));
                let well = match self.pair.as_ref().map(|pair| pair.role) {
                    Some(Role::Standby) => "a standby in sync with its primary".to_owned(),
                    Some(Role::Primary) => format!("{}, standby in sync", backends()),
                    None => backends(),
                };
                let _ = write!(page, "all is well: {well}");
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
        let next = match self.waiting_epoch {
            Some(waiting) => format!("{next}, then {waiting}"),
            None => next,
        };
        let running = HumanDuration(Duration::from_secs(self.now.saturating_sub(self.started)));
        // a primary that waits for its standby has looked at no map yet
        let what = match self.epoch {
            0 => "serves nobody yet".to_owned(),
            epoch => format!("{}, epoch {epoch}{next}", printable(&self.fleet)),
        };
        let _ = writeln!(
            page,
            "{what}, stead-rrd {}, started {running} ago\n",
            self.version
        );
        if self.pair.as_ref().is_none_or(|pair| pair.serving) {
            self.table(&mut page);
        }
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
        rows.extend(self.backends.iter().map(|backend| self.cells(backend)));
        let width = |column: usize| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..heading.len()).map(width).collect();
        // a column that says nothing of any backend takes room from the others
        let says = |column: usize| {
            let mut cells = rows.iter().skip(1).filter_map(|row| row.get(column));
            cells.any(|cell| !cell.is_empty() && cell != "0")
        };
        let mut shown: Vec<bool> = (0..heading.len()).map(says).collect();
        let left_out = fit(&mut shown, &mut widths);
        for row in &rows {
            let mut line = String::new();
            let cells = row.iter().zip(&widths).enumerate();
            for (column, (cell, width)) in cells.filter(|(column, _)| shown[*column]) {
                let cell = &cut(cell, *width);
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                // words are aligned left, numbers right
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
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.iter().map(|column| heading[*column]).collect();
            let _ = writeln!(
                page,
                "not shown, for lack of room: {} (--json has all)",
                names.join(", ")
            );
        }
        page.push('\n');
    }

    /// Returns a backend's row of the table.
    fn cells(&self, backend: &BackendStatus) -> [String; 11] {
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
        [
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
        ]
    }

    fn foot(&self, page: &mut String) {
        match &self.log {
            Some(log) => {
                let part = percent(log.bytes as f64 / log.bound.max(1) as f64);
                // a standby knows only which records it keeps
                let lacks = |backend: &BackendStatus| log.newest.saturating_sub(backend.confirmed);
                let waiting = self.backends.iter().map(lacks).max();
                let kept = (log.newest + 1).saturating_sub(log.oldest);
                let words = waiting.map_or("kept", |_| "wait for the disks");
                let (part, records) = match waiting.unwrap_or(kept) {
                    0 => (
                        "preallocated".to_owned(),
                        "every backend has all records".to_owned(),
                    ),
                    waiting => (
                        part,
                        format!(
                            "{} {words}\n{:LABEL$}the newest record has number {}",
                            many(waiting, "record"),
                            "",
                            HumanCount(log.newest)
                        ),
                    ),
                };
                let _ = writeln!(
                    page,
                    "{:<LABEL$}{} of {} ({part}), {records}",
                    "log",
                    HumanBytes(log.bytes),
                    HumanBytes(log.bound)
                );
            }
            None => {
                let _ = writeln!(page, "{:<LABEL$}none", "log");
            }
        }
        if let Some(pair) = &self.pair {
            let role = match pair.role {
                Role::Primary => "primary",
                Role::Standby => "standby",
            };
            let _ = writeln!(
                page,
                "{:<LABEL$}{role} in term {}, --standby-lost {}, {} behind, {} discarded",
                "pair",
                pair.term,
                pair.lost,
                many(pair.behind, "record"),
                HumanCount(pair.discarded)
            );
        }
        if let Some(state) = &self.carry {
            let _ = writeln!(
                page,
                "{:<LABEL$}epoch {} has one open in the state {}, which stead-rrd does not need; \
                 until stead carry has closed it, stead apply refuses",
                "carry",
                self.next_epoch.unwrap_or(self.epoch),
                printable(state)
            );
        }
        let clients = &self.clients;
        let [connected, accepted, refused] =
            [clients.connected, clients.accepted, clients.refused].map(HumanCount);
        let _ = writeln!(
            page,
            "{:<LABEL$}{connected} connected, {accepted} accepted since the \
            start, {refused} refused",
            "clients"
        );
        for verb in clients.verbs.iter().filter(|verb| verb.requests > 0) {
            let _ = writeln!(page, "{:<LABEL$}{}", printable(&verb.verb), requests(verb));
        }
        self.checks(page);
        if let Some(moving) = &self.moving {
            let since = ago(self.now, moving.started);
            let when = if moving.ended {
                format!("ended, begun {since} ago")
            } else {
                format!("for {since}")
            };
            let _ = writeln!(page, "{}, {when}: {}", moving.title(), moving.figures());
            for reason in &moving.reasons {
                let _ = writeln!(page, "{:LABEL$}{}", "", printable(reason));
            }
        }
    }
}

impl Status {
    /// Adds the lines of the checks.
    fn checks(&self, page: &mut String) {
        let check = &self.check;
        match &self.pair {
            Some(pair) if pair.role == Role::Standby => {
                let _ = writeln!(page, "{CHECK:<LABEL$}on the primary only");
                return;
            }
            Some(pair) if !pair.serving => return,
            _ => {}
        }
        if let Some(asked) = &check.asked {
            let since = ago(self.now, asked.started);
            let _ = writeln!(page, "{CHECK:<LABEL$}for {since}: {}", asked.figures());
        }
        if let Some(slow) = check.slow.as_ref().filter(|_| check.every > 0) {
            let waits = check.waits.as_deref();
            let waits = match waits {
                Some(why) => format!("; waits: {}", printable(why)),
                None if check.left_out.is_empty() => String::new(),
                None => format!("; without {}", printable(&check.left_out.join(", "))),
            };
            let _ = writeln!(
                page,
                "{CHECK:<LABEL$}in the background for {}: {}{waits}",
                ago(self.now, slow.began),
                of_pass(slow, false)
            );
        }
        match &check.last {
            Some(last) => {
                let skipped = match last.skipped {
                    0 => String::new(),
                    some => format!(", {} not compared", HumanCount(some)),
                };
                let _ = writeln!(
                    page,
                    "{CHECK:<LABEL$}the last one ended {} ago: {}{skipped}",
                    ago(self.now, last.ended),
                    of_pass(last, true)
                );
            }
            None if check.every == 0 && check.asked.is_none() => {
                let _ = writeln!(page, "{CHECK:<LABEL$}never (--check-every 0)");
            }
            None if check.slow.is_none() && check.asked.is_none() => {
                let _ = writeln!(page, "{CHECK:<LABEL$}none so far");
            }
            None => {}
        }
        if let Some(pass) = &check.incomplete {
            let mut left = Vec::new();
            if pass.skipped > 0 {
                left.push(format!("{} not compared", many(pass.skipped, "file")));
            }
            if pass.unlisted > 0 {
                left.push(format!("{} not listed", many(pass.unlisted, "backend")));
            }
            let reason = pass.reason.as_deref().map_or(String::new(), |reason| {
                format!("; the first: {}", printable(reason))
            });
            let _ = writeln!(
                page,
                "{CHECK:<LABEL$}{} by the one that ended {} ago{reason}",
                left.join(", "),
                ago(self.now, pass.ended)
            );
        }
    }
}

/// Returns how many files a pass has compared.
fn of_pass(pass: &Pass, ended: bool) -> String {
    let count = pass.files.saturating_sub(pass.skipped);
    compared(count, "", pass.differing, ended)
}

/// Leaves out columns, and then makes names and addresses narrower, until the table fits. Returns
/// the columns that were left out.
fn fit(shown: &mut [bool], widths: &mut [usize]) -> Vec<usize> {
    let all = |shown: &[bool], widths: &[usize]| -> usize {
        let columns = widths.iter().zip(shown).filter(|(_, shown)| **shown);
        columns
            .map(|(width, _)| width + 2)
            .sum::<usize>()
            .saturating_sub(2)
    };
    let mut left_out = Vec::new();
    for column in DROPPED {
        if all(shown, widths) <= WIDTH {
            break;
        }
        if std::mem::take(&mut shown[column]) {
            left_out.push(column);
        }
    }
    while all(shown, widths) > WIDTH {
        let widest = CUT.into_iter().max_by_key(|column| widths[*column]);
        match widest.filter(|column| widths[*column] > LEAST) {
            Some(column) => widths[column] -= 1,
            None => break,
        }
    }
    left_out
}

/// Cuts a text in its middle, so that it has at most so many columns.
fn cut(text: &str, most: usize) -> String {
    let all = text.chars().count();
    if all <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub("...".len());
    let begin = text.chars().take(kept - kept / 2);
    let end = text.chars().skip(all - kept / 2);
    begin.chain("...".chars()).chain(end).collect()
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
