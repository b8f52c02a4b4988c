//! What the hosts have confirmed: the state of each host beside the hub's newest map.

use std::collections::HashMap;

use serde::Serialize;

use stead::format::hex;

use crate::hub::{short, Head, Host};

/// How many hosts a message names.
const NAMED: usize = 5;

/// The state of a host. The worst state comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It says itself why it does not take or confirm the newest map.
    Problem,
    /// It has an epoch that is not in the line of the hub's map.
    Fork,
    /// It has an older epoch, or none.
    Behind,
    /// It has a newer epoch than the hub.
    Ahead,
    /// It has confirmed the newest epoch, and its watch is not there now.
    Silent,
    /// It has confirmed the newest epoch.
    Current,
}

impl State {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            State::Problem => "problem",
            State::Fork => "fork",
            State::Behind => "behind",
            State::Ahead => "ahead",
            State::Silent => "silent",
            State::Current => "current",
        }
    }
}

/// What the hub's map and its ancestors are.
pub struct Line<'a> {
    head: Option<&'a Head>,
    /// the digests of the ancestors, as far as the log tells
    digests: HashMap<u64, &'a str>,
}

impl<'a> Line<'a> {
    /// Returns the line of a head. Without a head nothing is expected of the hosts.
    pub fn of(head: Option<&'a Head>) -> Line<'a> {
        let entries = head.into_iter().flat_map(Head::line);
        Line {
            digests: entries.map(|e| (e.epoch, e.digest.as_str())).collect(),
            head,
        }
    }

    /// Returns the state of a host.
    pub fn state(&self, host: &Host) -> State {
        let newest = self.head.map_or(0, |head| head.epoch);
        match host.report.epoch {
            _ if host.report.problem.is_some() => State::Problem,
            // at a hub without a map, too
            0 => State::Behind,
            _ if self.is_fork(host) => State::Fork,
            epoch if epoch < newest => State::Behind,
            epoch if epoch > newest => State::Ahead,
            _ if host.report.watched && !host.alive => State::Silent,
            _ => State::Current,
        }
    }

    /// Whether the epoch of a host is known to be another than the hub's of this number.
    fn is_fork(&self, host: &Host) -> bool {
        self.other(host).is_some()
    }

    /// Returns the digests of a host's epoch and of the hub's of the same number, if they are known
    /// to be two maps.
    pub fn other(&self, host: &Host) -> Option<(String, String)> {
        let report = &host.report;
        let head = self.head.filter(|_| report.epoch > 0)?;
        let ours = match report.epoch == head.epoch {
            true => hex(&head.digest),
            false => (*self.digests.get(&report.epoch)?).to_owned(),
        };
        (ours != report.digest).then(|| (report.digest.clone(), ours))
    }
}

/// Returns the hosts that have not confirmed an epoch: those that have an older one, a fork, or one
/// that the hub does not have. A map that is not the hub's may place every key elsewhere.
pub fn lacking<'a>(hosts: &'a [Host], head: Option<&Head>, epoch: u64) -> Vec<&'a Host> {
    let line = Line::of(head);
    let newest = head.map_or(0, |head| head.epoch);
    let has = |host: &Host| {
        let report = &host.report;
        (epoch..=newest).contains(&report.epoch) && !line.is_fork(host)
    };
    hosts.iter().filter(|host| !has(host)).collect()
}

/// Returns how many hosts follow a hub. A carrier is registered, and follows no map.
pub fn followers(hosts: &[Host]) -> usize {
    let is_host = |host: &&Host| !host.report.is_carrier();
    hosts.iter().filter(is_host).count()
}

/// Names registered hosts, for a name that none of them has: `; registered are web3, web1`. Those
/// that are most like it come first.
pub fn told_registered(given: &str, hosts: &[Host]) -> String {
    let mut names: Vec<&str> = hosts.iter().map(|host| host.report.host.as_str()).collect();
    names.sort_by_key(|name| strsim::damerau_levenshtein(given, name));
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(NAMED);
    match names.is_empty() {
        true => "; no host is registered".to_owned(),
        false => format!("; registered are {}{more}", names.join(", ")),
    }
}

/// Says how many hosts lack an epoch, and names some of them with what they have.
pub fn told_lacking(lacking: &[&Host], hosts: &[Host], head: Option<&Head>, epoch: u64) -> String {
    let line = Line::of(head);
    let carriers = lacking.iter().filter(|host| host.report.is_carrier());
    let all = followers(hosts) + carriers.count();
    let one = |host: &&Host| {
        let report = &host.report;
        let silent = if report.watched && !host.alive {
            ", silent"
        } else {
            ""
        };
        let which = match line.other(host) {
            Some((theirs, ours)) => {
                let (theirs, ours) = (short(&theirs), short(&ours));
                format!(
                    "another epoch {}: {theirs}, and the hub has {ours}",
                    report.epoch
                )
            }
            None if report.epoch == 0 => "no epoch".to_owned(),
            None if head.is_none_or(|head| report.epoch > head.epoch) => {
                format!("epoch {}, which the hub does not have", report.epoch)
            }
            None => format!("epoch {}", report.epoch),
        };
        let why = match &report.problem {
            Some(problem) => format!("; it says: {}", shortened(problem)),
            None => String::new(),
        };
        format!("{} ({which}{silent}{why})", report.host)
    };
    let named: Vec<String> = lacking.iter().take(NAMED).map(one).collect();
    let more = match lacking.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} of {all} {} epoch {epoch}: {}{more}",
        lacking.len(),
        if all == 1 { "host lacks" } else { "hosts lack" },
        named.join(", ")
    )
}

/// Shortens what a host says, so that one line has room for several hosts.
fn shortened(problem: &str) -> String {
    const MOST: usize = 120;
    match problem.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &problem[..end]),
        None => problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use stead::store::Entry;

    fn host(epoch: u64, digest: u8, alive: bool, problem: Option<&str>) -> Host {
        let report = Report {
            epoch,
            digest: hex(&[digest; 32]),
            watched: true,
            problem: problem.map(str::to_owned),
            ..Report::new("web1", "i", None)
        };
        Host {
            report,
            alive,
            age: None,
        }
    }

    fn head() -> Head {
        let entry = |epoch: u64| Entry {
            epoch,
            digest: hex(&[epoch as u8; 32]),
            parent: hex(&[epoch as u8 - 1; 32]),
            time: String::new(),
            who: String::new(),
            note: None,
            change: String::new(),
            moved_points: "0".into(),
            replicas: 1,
        };
        // the log also has what was given up
        let beside = Entry {
            digest: hex(&[66; 32]),
            ..entry(6)
        };
        Head {
            epoch: 7,
            digest: [7; 32],
            identity: None,
            pushed: None,
            log: vec![entry(6), entry(7), beside],
            version: 1,
        }
    }

    #[test]
    fn a_carrier_is_counted_apart_and_the_nearest_names_come_first() {
        let named = |name: &str| Host {
            report: Report::new(name, "i", None),
            alive: true,
            age: None,
        };
        let names = ["carry.ops1", "db1", "web1", "web2", "web3", "web4"];
        let hosts: Vec<Host> = names.iter().map(|name| named(name)).collect();
        assert_eq!(followers(&hosts), 5);
        let told = told_registered("web33", &hosts);
        let known = "; registered are web3, web1, web2, web4, db1 and 1 more";
        assert_eq!(told, known);
        assert_eq!(told_registered("web33", &[]), "; no host is registered");
        let told = |lacking: &[&Host]| told_lacking(lacking, &hosts, None, 3);
        assert!(told(&[&hosts[1]]).starts_with("1 of 5 hosts lack epoch 3: db1 ("));
        let ill = host(2, 2, true, Some("the disk is full"));
        let told_ill = told(&[&ill]);
        assert!(
            told_ill.contains("; it says: the disk is full)"),
            "{told_ill}"
        );
        let long = host(2, 2, true, Some(&"ä".repeat(500)));
        assert!(told(&[&long]).chars().count() < 260);
        let both = told(&[&hosts[0], &hosts[1]]);
        assert!(
            both.starts_with("2 of 6 hosts lack epoch 3: carry.ops1 ("),
            "{both}"
        );
    }

    #[test]
    fn each_host_has_its_state() {
        let head = head();
        for (host, expected) in [
            (host(7, 7, true, None), State::Current),
            (host(7, 7, false, None), State::Silent),
            (host(6, 6, true, None), State::Behind),
            (host(0, 0, true, None), State::Behind),
            (host(6, 5, true, None), State::Fork),
            (host(7, 8, true, None), State::Fork),
            (host(9, 9, true, None), State::Ahead),
            (host(7, 7, true, Some("no")), State::Problem),
        ] {
            assert_eq!(Line::of(Some(&head)).state(&host), expected, "{host:?}");
        }
        let nothing = host(0, 0, true, None);
        assert_eq!(Line::of(None).state(&nothing), State::Behind);
        assert_eq!(Line::of(None).state(&host(6, 6, true, None)), State::Ahead);
        let beside = Line::of(Some(&head)).other(&host(6, 5, true, None));
        assert_eq!(beside, Some((hex(&[5; 32]), hex(&[6; 32]))));
    }

    #[test]
    fn an_epoch_is_confirmed_by_itself_and_by_its_descendants_alone() {
        let head = head();
        let hosts = [
            host(7, 7, false, Some("anything")),
            host(6, 6, true, None),
            host(6, 5, true, None),
            host(5, 5, true, None),
            // somebody has applied a change there, and nobody has pushed it
            host(8, 8, true, None),
        ];
        let epochs = |n| -> Vec<usize> {
            let lacking = lacking(&hosts, Some(&head), n);
            (0..hosts.len())
                .filter(|i| lacking.contains(&&hosts[*i]))
                .collect()
        };
        assert_eq!(epochs(7), [1, 2, 3, 4]);
        assert_eq!(epochs(6), [2, 3, 4]);
        assert_eq!(epochs(5), [2, 4]);
        // a hub that has lost its map knows of no epoch
        assert_eq!(lacking(&hosts, None, 5).len(), hosts.len());
    }
}
