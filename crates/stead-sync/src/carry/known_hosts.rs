//! The hosts that a carry knows: those that had confirmed its newest state.
//!
//! A host that is known and no longer registered still reads the map that it has, unless an
//! operator has forgotten it. A hub that has lost its data has lost its hosts, too, and would let
//! the carry go on as if there were none.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use super::journal::Journal;
use super::story::Hosts;
use crate::exit::{Failure, Result, REFUSED};
use crate::hub::Shared;
use crate::instance;
use crate::report::CARRIER;

/// How many hosts the message names.
const NAMED: usize = 5;

/// Returns the name by which the carrier of this machine reports.
pub fn carrier() -> Result<String> {
    Ok(format!("{CARRIER}{}", instance::host(None)?))
}

/// Checks after a wait that every known host is still registered, and notes those that are.
///
/// Errors: `REFUSED` when the hub lacks a host that nobody has forgotten.
pub fn check(shared: &dyn Shared, url: &str, journal: &Journal, epoch: u64) -> Result {
    let hosts = shared.hosts()?.into_iter().map(|host| host.report);
    let hosts = hosts.filter(|report| !report.is_carrier());
    let names: BTreeSet<String> = hosts.map(|report| report.host).collect();
    let known = journal.hosts();
    if let Some(known) = &known {
        let mut missing: Vec<&String> = known.names.difference(&names).collect();
        if !missing.is_empty() {
            let given_up = shared.given_up()?;
            // one that was forgotten before it confirmed this epoch has registered again since
            let is_forgotten =
                |host: &String| given_up.get(host).is_some_and(|at| *at >= known.epoch);
            missing.retain(|host| !is_forgotten(host));
        }
        if let Some(first) = missing.first() {
            return Err(lost(url, known.epoch, first, &missing));
        }
    }
    // a second run in a state keeps the time of the first one
    let since = known.filter(|known| known.epoch == epoch);
    journal.note_hosts(&Hosts {
        epoch,
        since: since.map_or_else(now, |known| known.since),
        names,
    })
}

fn lost(url: &str, epoch: u64, first: &str, missing: &[&String]) -> Failure {
    let named: Vec<&str> = missing
        .iter()
        .take(NAMED)
        .map(|host| host.as_str())
        .collect();
    let more = match missing.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let hosts = match missing.len() {
        1 => "1 host that had confirmed",
        count => &format!("{count} hosts that had confirmed"),
    };
    Failure::new(
        REFUSED,
        format_args!(
            "{url}: the hub has lost {hosts} epoch {epoch}: {}{more}; the carry does not go on: wait until \
             `stead-sync status {url}` shows them again, and run the carry again; if a host is gone \
             for good, `stead-sync forget {url} {first} --lost`",
            named.join(", ")
        ),
    )
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use crate::report::Report;

    #[test]
    fn a_host_that_the_hub_has_lost_is_named_until_it_is_back_or_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Directory::new(&dir.path().join("members.map"));
        let journal = Journal::open(&dir.path().join("journal"), "id").unwrap();
        let report = |name: &str| hub.report(&Report::new(name, "i", None), true).unwrap();
        let check = |epoch| check(&hub, "file:///x", &journal, epoch);
        ["web1", "web2", "carry.ops"].into_iter().for_each(report);
        check(7).unwrap();
        let known = journal.hosts().unwrap();
        assert_eq!(known.epoch, 7);
        assert_eq!(Vec::from_iter(&known.names), ["web1", "web2"]);
        // all is lost
        std::fs::remove_dir_all(dir.path().join("members.map.hosts")).unwrap();
        let failure = check(8).unwrap_err();
        assert_eq!(failure.code, REFUSED);
        let part = "the hub has lost 2 hosts that had confirmed epoch 7: web1, web2; the carry";
        assert!(failure.line.contains(part), "{failure:?}");
        report("web2");
        let failure = check(8).unwrap_err();
        assert!(
            failure
                .line
                .contains("1 host that had confirmed epoch 7: web1;"),
            "{failure:?}"
        );
        // what was given up in an earlier state has registered again since
        hub.give_up("web1", 6).unwrap();
        assert!(check(8).is_err());
        assert_eq!(journal.hosts().unwrap(), known);
        hub.give_up("web1", 7).unwrap();
        check(8).unwrap();
        let known = journal.hosts().unwrap();
        assert_eq!((known.epoch, known.names.len()), (8, 1));
        // the same state again has the same time, and a new host counts from then on
        report("web3");
        check(8).unwrap();
        let again = journal.hosts().unwrap();
        assert_eq!((again.since, again.names.len()), (known.since, 2));
    }
}
