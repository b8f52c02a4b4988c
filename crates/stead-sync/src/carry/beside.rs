//! Two operators of one machine may have a map file and a journal each. Both carriers report by the
//! name of the machine, so neither would wait for the other one. A carrier's report names its
//! journal, and the lock of that journal says whether the other process still works.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::journal::Journal;
use super::owner::who;
use super::settings::Settings;
use crate::exit::{Failure, Result, CONFLICT};
use crate::hub::{Host, Shared};
use crate::instance;
use crate::report::Report;

/// Returns the absolute path of a journal, or `None` if the journal is not there.
fn place(journal: &Path) -> Option<PathBuf> {
    fs::canonicalize(journal).ok()
}

/// Returns what the carrier of this name reports of itself before it has done anything.
pub fn report(host: &str, settings: &Settings) -> Report {
    Report {
        journal: place(&settings.journal()),
        ..Report::new(host, &instance::mark(&settings.map), None)
    }
}

/// Refuses to carry while another process of this machine does so by another journal. Returns what
/// to say about one that does not work any more, since what it noted is not known here.
///
/// Errors: `CONFLICT` when the other process works, or when nobody can say whether it does.
pub fn refuse_beside(shared: &dyn Shared, url: &str, own: &Report) -> Result<Option<String>> {
    let hosts = shared.hosts()?;
    let (Some(theirs), Some(ours)) = (other_journal(&hosts, own), own.journal.as_deref()) else {
        return Ok(None);
    };
    let file = theirs.display();
    let line = match Journal::is_open(theirs) {
        Ok(false) => {
            return Ok(Some(format!(
                "another run has carried on this machine by the journal {file}, and does not work \
                 now; this one goes on by {}, which does not know what that one did",
                ours.display()
            )));
        }
        Ok(true) => format!(
            "{} of this machine carries by the journal {file}; wait for it, or end it",
            who(theirs)
        ),
        Err(Failure { line, .. }) => format!(
            "another process of this machine may carry by another journal, and this user cannot \
             look ({line}); carry as its user, or, if no run works on it, `stead-sync forget {url} {} --alive`",
            own.host
        ),
    };
    Err(Failure::new(CONFLICT, line))
}

/// Returns the journal by which another run on this machine has carried last, if it is not that of
/// this one.
pub fn other_journal<'a>(hosts: &'a [Host], own: &Report) -> Option<&'a Path> {
    let other = hosts.iter().map(|host| &host.report).find(|report| {
        // the mark begins with the boot of the kernel: a path of another machine says nothing here
        let boot = |report: &Report| report.instance.split(':').next().map(str::to_owned);
        report.host == own.host && boot(report) == boot(own)
    });
    let theirs = other?.journal.as_deref()?;
    let is_ours = |ours: &Path| theirs == ours || is_one_file(theirs, ours);
    let is_other = !own.journal.as_deref().is_some_and(is_ours);
    is_other.then_some(theirs)
}

/// Whether two paths lead to one file, such as by another mount.
fn is_one_file(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| -> io::Result<(u64, u64)> {
        fs::metadata(path).map(|found| (found.dev(), found.ino()))
    };
    matches!((found(one), found(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;

    #[test]
    fn a_carrier_with_another_journal_is_refused_while_it_works() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Directory::new(&dir.path().join("members.map"));
        let of = |name: &str, boot: &str| {
            let path = dir.path().join(name);
            let journal = Journal::open(&path, "id").unwrap();
            let report = Report {
                journal: place(&path),
                ..Report::new("carry.ops", &format!("{boot}:1:2:{name}"), None)
            };
            (journal, report)
        };
        let (one, first) = of("one", "boot");
        let (_other, second) = of("other", "boot");
        // nobody has reported yet, and one's own report is no other one
        let ask = |own: &Report| refuse_beside(&hub, "file:///x", own);
        assert_eq!(ask(&first), Ok(None));
        hub.report(&first, false).unwrap();
        assert_eq!(ask(&first), Ok(None));
        let failure = ask(&second).unwrap_err();
        assert_eq!(failure.code, CONFLICT);
        let told = format!(
            "another process ({}) of this machine carries by the journal {}/one; wait for it, or \
             end it",
            std::process::id(),
            fs::canonicalize(dir.path()).unwrap().display()
        );
        assert_eq!(failure.line, told);
        // another machine of this name, or this one before it was started again
        let mut elsewhere = second.clone();
        elsewhere.instance = "another:1:2:other".to_owned();
        assert_eq!(ask(&elsewhere), Ok(None));
        // one journal at two paths
        fs::hard_link(dir.path().join("one"), dir.path().join("link")).unwrap();
        let mut same = first.clone();
        same.journal = place(&dir.path().join("link"));
        assert_eq!(ask(&same), Ok(None));
        // it was killed, and its journal may be gone
        drop(one);
        let told = ask(&second).unwrap().unwrap();
        assert!(told.contains("/one, and does not work now; this one goes on by"));
        fs::remove_file(dir.path().join("one")).unwrap();
        assert_eq!(ask(&second), Ok(Some(told)));
    }
}
