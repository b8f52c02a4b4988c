//! `status`: which hosts have which epoch, as a table and as JSON.

use std::fmt::Write;

use serde::Serialize;

use stead::format::hex;

use crate::confirm::{Line, State};
use crate::hub::{Head, Host};

/// The width of everything that a person reads.
const WIDTH: usize = 80;

/// How many seconds the clock of a host may be ahead of the one here.
const AHEAD: u64 = 60;

/// A report that is older than this many seconds is not of now. A watch renews the file of its
/// report in a directory every 30 s.
const NOW: u64 = 40;

/// The longest name that the table shows whole.
const NAME: usize = 32;

/// What `status --json` prints.
#[derive(Serialize)]
pub struct Status<'a> {
    url: &'a str,
    epoch: Option<u64>,
    digest: Option<String>,
    pushed_by: Option<&'a str>,
    pushed_at: Option<&'a str>,
    hosts: Vec<Row<'a>>,
}

/// A host.
#[derive(Serialize)]
struct Row<'a> {
    host: &'a str,
    state: State,
    epoch: u64,
    digest: &'a str,
    installed: u64,
    alive: bool,
    watched: bool,
    /// seconds since its last report: by the hub's clock, or by those of the host and of this
    /// machine where the hub has none
    age: u64,
    /// whether the clock of the host is ahead, so that the age is not known
    #[serde(skip)]
    is_ahead: bool,
    /// whether the hub itself knows how old the report is, and it is older than one of a watch that
    /// runs
    #[serde(skip)]
    is_late: bool,
    #[serde(skip)]
    is_carrier: bool,
    /// whether the last report of its watch says that the watch ends
    #[serde(skip)]
    is_ended: bool,
    version: &'a str,
    readers: &'a str,
    problem: Option<&'a str>,
}

impl<'a> Status<'a> {
    /// Makes the status, worst first. `now` is in seconds since 1970.
    pub fn of(url: &'a str, head: Option<&'a Head>, hosts: &'a [Host], now: u64) -> Status<'a> {
        let line = Line::of(head);
        let row = |host: &'a Host| Row {
            host: &host.report.host,
            state: line.state(host),
            epoch: host.report.epoch,
            digest: &host.report.digest,
            installed: host.report.installed,
            alive: host.alive,
            watched: host.report.watched,
            age: host.age.unwrap_or(now.saturating_sub(host.report.time)),
            is_ahead: host.age.is_none() && host.report.time > now + AHEAD,
            is_late: host.age.is_some_and(|age| age > NOW),
            is_carrier: host.report.is_carrier(),
            is_ended: host.report.ended,
            version: &host.report.version,
            readers: &host.report.readers,
            problem: host.report.problem.as_deref(),
        };
        let mut rows: Vec<Row> = hosts.iter().map(row).collect();
        rows.sort_by(|a, b| (a.state, a.epoch, a.host).cmp(&(b.state, b.epoch, b.host)));
        let pushed = head.and_then(|head| head.pushed.as_ref());
        Status {
            url,
            epoch: head.map(|head| head.epoch),
            digest: head.map(|head| hex(&head.digest)),
            pushed_by: pushed.map(|(who, _)| who.as_str()),
            pushed_at: pushed.map(|(_, time)| time.as_str()),
            hosts: rows,
        }
    }

    /// Returns whether every host is current.
    pub fn is_well(&self) -> bool {
        self.hosts.iter().all(|row| row.state == State::Current)
    }

    /// Returns the table. No line is wider than 80 columns.
    pub fn table(&self, head: Option<&Head>) -> String {
        let mut text = String::new();
        let told = head.map_or("nothing was pushed yet".to_owned(), Head::told);
        for line in wrapped(&told, "") {
            let _ = writeln!(text, "{line}");
        }
        if self.hosts.is_empty() {
            text += "no host is registered\n";
            return text;
        }
        let (hosts, carriers): (Vec<&Row>, Vec<&Row>) =
            self.hosts.iter().partition(|row| !row.is_carrier);
        let _ = writeln!(
            text,
            "{}{}\n",
            match hosts.is_empty() {
                true => "no host is registered".to_owned(),
                false => counted("host", &hosts),
            },
            match carriers.is_empty() {
                true => String::new(),
                false => format!("; {}", counted("carrier", &carriers)),
            }
        );
        let shown: Vec<String> = self.hosts.iter().map(|row| shortened(row.host)).collect();
        let name = shown.iter().map(|host| host.chars().count()).max();
        let name = name.unwrap_or(0).max(4);
        let _ = writeln!(
            text,
            "{:<name$}  {:<7}  {:>8}  {:>9}  stead",
            "host", "state", "epoch", "seen"
        );
        for (row, host) in self.hosts.iter().zip(shown) {
            let version = match row.readers == row.version {
                true => row.version.to_owned(),
                false => format!("{} ({})", row.version, row.readers),
            };
            let epoch = match row.epoch {
                0 => "none yet".to_owned(),
                epoch => epoch.to_string(),
            };
            let _ = writeln!(
                text,
                "{host:<name$}  {:<7}  {epoch:>8}  {:>9}  {version}",
                row.state.word(),
                seen(row)
            );
            for line in why(row).into_iter().flat_map(|why| wrapped(why, "    ")) {
                let _ = writeln!(text, "{line}");
            }
        }
        text
    }
}

/// Says what is wrong with a host: its own words, or why the hub has no new ones.
fn why<'a>(row: &Row<'a>) -> Option<&'a str> {
    let is_quiet = row.watched && !row.alive && !row.is_carrier;
    row.problem.or(match (is_quiet, row.is_ended) {
        (false, _) => None,
        (true, true) => Some("its watch was ended"),
        (true, false) => Some("no report of late: the log of its watch says why"),
    })
}

/// Says how many there are, and how many of them in each state: `2 hosts: 1 behind, 1 current`.
fn counted(what: &str, rows: &[&Row]) -> String {
    let mut counts = Vec::new();
    for state in [
        State::Problem,
        State::Fork,
        State::Behind,
        State::Ahead,
        State::Silent,
        State::Current,
    ] {
        let n = rows.iter().filter(|row| row.state == state).count();
        if n > 0 {
            counts.push(format!("{n} {}", state.word()));
        }
    }
    let n = rows.len();
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}: {}", counts.join(", "))
}

/// Says when a host was heard of: `now`, or how long ago.
fn seen(row: &Row) -> String {
    if row.alive && !row.is_late {
        return "now".to_owned();
    }
    if row.is_ahead {
        return "unknown".to_owned();
    }
    match row.age {
        age @ 0..120 => format!("{age} s ago"),
        age @ 120..7200 => format!("{} m ago", age / 60),
        age @ 7200..172_800 => format!("{} h ago", age / 3600),
        age => format!("{} d ago", age / 86_400),
    }
}

fn shortened(host: &str) -> String {
    match host.chars().count() > NAME {
        true => host.chars().take(NAME - 3).chain("...".chars()).collect(),
        false => host.to_owned(),
    }
}

/// Breaks a text between its words into lines of at most 80 columns; a longer word is cut.
fn wrapped(text: &str, indent: &str) -> Vec<String> {
    let most = WIDTH - indent.len();
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        while word.len() > most {
            let rest = word.split_off(most);
            lines.push(word.into_iter().collect());
            word = rest;
        }
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.len() <= most => {
                line.push(' ');
                line.extend(word);
            }
            _ => lines.push(word.into_iter().collect()),
        }
    }
    lines
        .into_iter()
        .map(|line| format!("{indent}{line}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    #[test]
    fn the_table_is_sorted_worst_first_and_fits_eighty_columns() {
        let host = |name: &str, epoch, alive, problem: Option<&str>| Host {
            report: Report {
                epoch,
                digest: hex(&[7; 32]),
                watched: true,
                time: 1000,
                problem: problem.map(str::to_owned),
                ..Report::new(name, "i", None)
            },
            alive,
            age: None,
        };
        let head = Head {
            epoch: 7,
            digest: [7; 32],
            identity: None,
            pushed: Some(("anna@ops1".into(), "2026-11-22T21:09:00Z".into())),
            log: Vec::new(),
            version: 1,
        };
        let long = "x".repeat(60);
        let hosts = [
            host("web1", 7, true, None),
            host("web2", 7, false, None),
            host(&long, 6, true, None),
            host("web4", 6, true, Some(&"exec: it says no ".repeat(9))),
        ];
        let status = Status::of("etcd://h/m", Some(&head), &hosts, 9000);
        assert!(!status.is_well());
        let table = status.table(Some(&head));
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(WIDTH), "{table}");
        let order: Vec<usize> = ["web4 ", "xxx", "web2 ", "web1 "]
            .iter()
            .map(|name| table.find(name).unwrap())
            .collect();
        assert!(order.is_sorted(), "{table}");
        assert!(
            table.contains("4 hosts: 1 problem, 1 behind, 1 silent, 1 current"),
            "{table}"
        );
        assert!(table.contains("2 h ago"), "{table}");
        // web2, and no host that is there or says a problem
        let late = "\n    no report of late: the log of its watch says why\n";
        assert_eq!(table.matches(late).count(), 1, "{table}");
        assert!(
            table.contains(&format!("2 h ago  0.1.0{late}web1 ")),
            "{table}"
        );
        let mut hosts = [host("web2", 7, false, None)];
        hosts[0].report.ended = true;
        let table = Status::of("etcd://h/m", Some(&head), &hosts, 9000).table(Some(&head));
        assert!(
            table.ends_with("0.1.0\n    its watch was ended\n"),
            "{table}"
        );
        // a clock that is wrong by a day
        let wrong = |time, age| {
            let mut wrong = host("web5", 7, false, None);
            (wrong.report.time, wrong.age) = (time, age);
            let hosts = [wrong];
            Status::of("etcd://h/m", Some(&head), &hosts, 9000).table(Some(&head))
        };
        assert!(wrong(99_000, None).contains("unknown"));
        assert!(wrong(99_000, Some(70)).contains("70 s ago"));
        assert!(wrong(9030, None).contains("0 s ago"));
        // a watch in a directory counts as alive for 90 s, and its last report is shown as it is
        let mut hosts = [host("web6", 7, true, None)];
        for (age, seen) in [(40, "      now  "), (41, "41 s ago  ")] {
            hosts[0].age = Some(age);
            let table = Status::of("d", Some(&head), &hosts, 9000).table(Some(&head));
            assert!(
                table.contains(seen) && table.contains("1 current"),
                "{table}"
            );
        }
        // a carrier is waited for, and is no host that follows
        let hosts = [
            host("web1", 7, true, None),
            host("carry.ops1", 6, false, None),
            host("carry.ops2", 7, false, None),
        ];
        let told = Status::of("etcd://h/m", Some(&head), &hosts, 9000).table(Some(&head));
        let counts = "\n1 host: 1 current; 2 carriers: 1 behind, 1 silent\n";
        assert!(told.contains(counts), "{told}");
        let told = Status::of("etcd://h/m", Some(&head), &hosts[2..], 9000).table(Some(&head));
        let counts = "\nno host is registered; 1 carrier: 1 silent\n";
        assert!(told.contains(counts), "{told}");
        let json = serde_json::to_value(&status).unwrap();
        assert_eq!(json["hosts"][0]["state"], "problem");
    }
}
