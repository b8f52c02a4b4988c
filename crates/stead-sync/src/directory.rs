//! A hub in a directory that all hosts share: a map file with its history, and a file per host.
//!
//! ```text
//! MAP, MAP.history/, MAP.lock    as `stead` writes them; every program of stead reads them
//! MAP.hosts/NAME                 JSON: the report of a registered host
//! MAP.forgotten/NAME             the epoch at which a host was given up while a carry was open
//! ```
//!
//! A watcher renews its report every 30 s. The host counts as alive until its file is 90 s old.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{fchown, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use stead::store::{Accept, Arrival, Standing};
use stead::{Map, Status, Store};

use crate::exit::{Failure, Result, DATA, NO_CONTACT, USAGE};
use crate::hub::{Head, Host, Hub, Shared, Turn};
use crate::inotify::Notices;
use crate::instance::another;
use crate::report::Report;
use crate::token::token;

/// How often a report is renewed.
const RENEW: Duration = Duration::from_secs(30);

/// How old the report of a host that is alive may be: three renewals.
const ALIVE: Duration = Duration::from_secs(90);

/// How often the map is looked at. A network file system gives no notices.
const LOOK: Duration = Duration::from_secs(1);

/// How long another process may hold the lock before a push gives up.
const LOCKED: Duration = Duration::from_secs(10);

/// A hub in a shared directory.
pub struct Directory {
    map: PathBuf,
    notices: Option<Notices>,
}

/// The file of a host as it was found.
struct There {
    report: Report,
    age: Duration,
    alive: bool,
}

impl Directory {
    /// Returns the hub of this map file, without touching any file.
    pub fn new(map: &Path) -> Directory {
        Directory {
            map: map.to_owned(),
            notices: None,
        }
    }

    fn store(&self, keep: usize) -> Store {
        Store::new(&self.map, keep)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.map.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    }

    fn hosts_dir(&self) -> PathBuf {
        self.beside(".hosts")
    }

    fn forgotten_dir(&self) -> PathBuf {
        self.beside(".forgotten")
    }

    fn make(&self, directory: &Path) -> Result {
        match fs::create_dir(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(self.unwritten("make", directory, error))
            }
            _ => Ok(()),
        }
    }

    /// Returns the failure of writing a report, with whose the directory is and what it needs.
    fn unwritten(&self, action: &'static str, path: &Path, error: io::Error) -> Failure {
        if error.kind() != io::ErrorKind::PermissionDenied {
            let mut failure = self.away(&format!("cannot {action} {}", path.display()), &error);
            if error.kind() == io::ErrorKind::ReadOnlyFilesystem {
                let above = self.map.parent().unwrap_or(&self.map);
                failure.line += &format!(
                    "; a unit of systemd may write there with ReadWritePaths={} (systemctl edit)",
                    above.display()
                );
            }
            return failure;
        }
        let mut failure = Failure::from(stead::Error::io(action, path, error));
        failure.line += &match action {
            "replace" => "; in a directory of mode 1777 only its owner and root may replace it: \
                          remove it, and this host reports again"
                .to_owned(),
            "remove" => {
                "; in a directory of mode 1777 only its owner and root may remove it; where \
                         operators are to, give the directory a group of operators and hosts, and \
                         the mode 2775"
                    .to_owned()
            }
            _ => format!(
                "; each host writes its report into {}: give this directory the mode 1777, or the \
                 group of all hosts",
                self.hosts_dir().display()
            ),
        };
        failure
    }

    /// Returns the failure of reading the shared directory, which may be away for a while.
    fn away(&self, what: &str, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Failure::io(what, error),
            _ => Failure::new(NO_CONTACT, format_args!("{what}: {error}")),
        }
    }

    /// Refuses a directory where the map should be: a push into it cannot be meant.
    fn check_map(&self) -> Result {
        match self.map.is_dir() {
            false => Ok(()),
            true => Err(Failure::new(
                USAGE,
                format_args!(
                    "file://{0}: this is a directory; name the map in it: file://{0}/members.map",
                    self.map.display()
                ),
            )),
        }
    }

    fn check_directory(&self) -> Result {
        let directory = self.map.parent().unwrap_or(Path::new("/"));
        match fs::metadata(directory) {
            Ok(meta) if meta.is_dir() => Ok(()),
            Ok(_) => Err(Failure::new(
                USAGE,
                format_args!("{}: this is no directory", directory.display()),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::new(
                NO_CONTACT,
                format_args!(
                    "{}: the shared directory of the hub is not there; mount it, or make it if the \
                     hub is new",
                    directory.display()
                ),
            )),
            Err(error) => Err(self.away(&directory.display().to_string(), &error)),
        }
    }

    fn read(&self, path: &Path) -> Result<Option<There>> {
        let told = |error: &io::Error| self.away(&path.display().to_string(), error);
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| told(&error))?,
        };
        let changed = fs::metadata(path).and_then(|meta| meta.modified());
        let age = match changed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            changed => SystemTime::now()
                .duration_since(changed.map_err(|error| told(&error))?)
                .unwrap_or_default(),
        };
        let report: Report = serde_json::from_slice(&text).map_err(|error| {
            Failure::new(
                DATA,
                format_args!(
                    "{}: this is no report of a host: {error}; remove the file",
                    path.display()
                ),
            )
        })?;
        Ok(Some(There {
            alive: report.watched && !report.ended && age < ALIVE,
            report,
            age,
        }))
    }

    fn write(&self, report: &Report) -> Result {
        self.check_directory()?;
        let directory = self.hosts_dir();
        self.make(&directory)?;
        let (path, draft) = (
            directory.join(&report.host),
            // no name of a host begins with a dot
            directory.join(format!(".{}.{}", report.host, token())),
        );
        let text = serde_json::to_vec(report).unwrap_or_default();
        let written = File::create(&draft).and_then(|mut file| {
            file.write_all(&text)?;
            if let Ok(before) = fs::symlink_metadata(&path) {
                // what root replaces stays its user's, who could not replace it any more; only root
                // can give files away
                let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
            }
            file.sync_all()
        });
        let done = written
            .map_err(|error| ("write", error))
            .and_then(|()| fs::rename(&draft, &path).map_err(|error| ("replace", error)));
        done.map_err(|(action, error)| {
            let _ = fs::remove_file(&draft);
            self.unwritten(action, &path, error)
        })
    }
}

impl Hub for Directory {
    fn head(&self) -> Result<Option<Head>> {
        self.check_map()?;
        let peeked = match Store::peek(&self.map) {
            Ok(peeked) => peeked,
            Err(error) if error.status() == Status::NotFound => {
                self.check_directory()?;
                return Ok(None);
            }
            Err(error @ stead::Error::Io { .. }) if error.status() != Status::Permission => {
                return Err(Failure::new(NO_CONTACT, error))
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Some(Head {
            epoch: peeked.epoch,
            digest: peeked.digest,
            identity: None,
            pushed: None,
            log: self.store(1).log(),
            version: 0,
        }))
    }

    fn map(&self, head: &Head, epoch: u64) -> Result<Option<Map>> {
        let opened = match epoch == head.epoch {
            true => Map::open_uncached(&self.map),
            false => self.store(1).open_epoch(epoch),
        };
        match opened {
            Ok(map) if epoch == head.epoch && map.digest() != head.digest => Ok(None),
            Ok(map) => Ok(Some(map)),
            // an epoch that is not in the history
            Err(error) if matches!(error.status(), Status::Invalid | Status::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn wait(&mut self, head: Option<&Head>, most: Duration) -> Result {
        let until = Instant::now() + most;
        let seen = head.map(|head| (head.epoch, head.digest));
        if self.notices.is_none() {
            self.notices = self.map.parent().and_then(Notices::of);
        }
        loop {
            let now = match Store::peek(&self.map) {
                Ok(peeked) => Some((peeked.epoch, peeked.digest)),
                Err(error) if error.status() == Status::NotFound => {
                    // the directory may be another one when it is back
                    self.check_directory()
                        .inspect_err(|_| self.notices = None)?;
                    None
                }
                // `head` says what it is
                Err(_) => return Ok(()),
            };
            let left = until.saturating_duration_since(Instant::now());
            if now != seen || left.is_zero() {
                return Ok(());
            }
            match &mut self.notices {
                Some(notices) => notices.wait(left.min(LOOK)),
                None => std::thread::sleep(left.min(LOOK)),
            }
        }
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

impl Shared for Directory {
    fn push(
        &self,
        base: Option<&Head>,
        arrival: Arrival,
        accept: Accept,
        keep: usize,
    ) -> Result<Turn> {
        self.check_directory()?;
        let until = Instant::now() + LOCKED;
        let store = self.store(keep);
        loop {
            let now = self.head()?.map(|head| (head.epoch, head.digest));
            if now != base.map(|head| (head.epoch, head.digest)) {
                return Ok(Turn::Lost);
            }
            match store.install(arrival, accept) {
                Ok(Standing::Same) => return Ok(Turn::Lost),
                Ok(_) => return Ok(Turn::Done),
                Err(stead::Error::Guarded { .. }) => return Ok(Turn::Lost),
                Err(stead::Error::Conflict { .. }) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn is_begun(&self) -> Result<bool> {
        self.check_map()?;
        self.check_directory()?;
        Ok(self.map.exists() || self.hosts_dir().exists())
    }

    fn hosts(&self) -> Result<Vec<Host>> {
        self.check_map()?;
        self.check_directory()?;
        let directory = self.hosts_dir();
        let told = |error: &io::Error| self.away(&directory.display().to_string(), error);
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| told(&error))?,
        };
        let mut hosts = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| told(&error))?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if let Some(There { report, alive, age }) = self.read(&entry.path())? {
                let age = Some(age.as_secs());
                hosts.push(Host { report, alive, age });
            }
        }
        hosts.sort_by(|one, other| one.report.host.cmp(&other.report.host));
        Ok(hosts)
    }

    fn report(&self, report: &Report, alive: bool) -> Result {
        let path = self.hosts_dir().join(&report.host);
        let there = self.read(&path)?;
        let watched = there.as_ref().is_some_and(|there| there.alive);
        if watched && there.is_some_and(|there| there.report.instance != report.instance) {
            return Err(another(report));
        }
        // a pull beside a watch does not end the watch
        let watched = alive || watched;
        self.write(&Report {
            watched,
            ..report.clone()
        })
    }

    fn beat(&self, report: &Report) -> Result<bool> {
        self.check_directory()?;
        let path = self.hosts_dir().join(&report.host);
        let Some(there) = self.read(&path)? else {
            return Ok(false);
        };
        if there.alive && there.report.instance != report.instance {
            return Err(another(report));
        }
        if there.age >= RENEW {
            self.write(&Report {
                watched: true,
                ..report.clone()
            })?;
        }
        Ok(true)
    }

    fn leave(&self, report: &Report) -> Result {
        let path = self.hosts_dir().join(&report.host);
        let there = self.read(&path)?;
        let is_ours = there.is_some_and(|there| there.report.instance == report.instance);
        match is_ours {
            true => self.write(&Report {
                ended: true,
                ..report.clone()
            }),
            false => Ok(()),
        }
    }

    fn forget(&self, host: &str) -> Result<bool> {
        self.check_directory()?;
        let path = self.hosts_dir().join(host);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(self.unwritten("remove", &path, error))
            }
            Err(error) => Err(self.away(&format!("cannot remove {}", path.display()), &error)),
        }
    }

    fn give_up(&self, host: &str, epoch: u64) -> Result {
        self.check_directory()?;
        let directory = self.forgotten_dir();
        self.make(&directory)?;
        let path = directory.join(host);
        fs::write(&path, format!("{epoch}\n"))
            .map_err(|error| self.away(&format!("cannot write {}", path.display()), &error))
    }

    fn given_up(&self) -> Result<BTreeMap<String, u64>> {
        self.check_directory()?;
        let directory = self.forgotten_dir();
        let told = |error: &io::Error| self.away(&directory.display().to_string(), error);
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            entries => entries.map_err(|error| told(&error))?,
        };
        let mut hosts = BTreeMap::new();
        for entry in entries {
            let entry = entry.map_err(|error| told(&error))?;
            let text = fs::read_to_string(entry.path()).map_err(|error| told(&error))?;
            // a file of somebody else says nothing
            if let (Ok(host), Ok(epoch)) = (entry.file_name().into_string(), text.trim().parse()) {
                hosts.insert(host, epoch);
            }
        }
        Ok(hosts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_whose_directory_is_missing_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Directory::new(&dir.path().join("hub/members.map"));
        let failure = hub.check_directory().unwrap_err();
        assert!(failure.is_contact());
        assert!(
            failure.line.contains("mount it, or make it"),
            "{}",
            failure.line
        );
        Directory::new(&dir.path().join("members.map"))
            .check_directory()
            .unwrap();
    }

    #[test]
    fn two_reports_of_one_name_do_not_disturb_each_other() {
        // as of two containers that were given one name, and have one process id
        let dir = tempfile::tempdir().unwrap();
        let hub = Directory::new(&dir.path().join("m.map"));
        let report = Report::new("web1", "boot:1:2:m", None);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..300).for_each(|_| hub.write(&report).unwrap()));
            }
        });
        let left = fs::read_dir(hub.hosts_dir()).unwrap().count();
        assert_eq!(left, 1, "no drafts are left");
    }

    #[test]
    fn hosts_may_register_once_the_hub_has_a_map_or_a_directory_of_reports() {
        let begun = |made: fn(&Path)| {
            let dir = tempfile::tempdir().unwrap();
            made(dir.path());
            let hub = Directory::new(&dir.path().join("m.map"));
            hub.is_begun().unwrap()
        };
        assert!(!begun(|_| {}));
        assert!(begun(|dir| fs::write(dir.join("m.map"), "").unwrap()));
        assert!(begun(|dir| fs::create_dir(dir.join("m.map.hosts")).unwrap()));
    }

    #[test]
    fn a_watch_that_has_said_goodbye_is_not_alive() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Directory::new(&dir.path().join("m.map"));
        let ours = Report::new("web1", "ours", None);
        let alive = || hub.hosts().unwrap()[0].alive;
        hub.report(&ours, true).unwrap();
        // another machine cannot say it
        hub.leave(&Report::new("web1", "theirs", None)).unwrap();
        assert!(alive());
        let there = hub.hosts().unwrap().remove(0).report;
        hub.leave(&there).unwrap();
        assert!(!alive());
        assert!(hub.hosts().unwrap()[0].report.watched);
        // it may be another machine now, at once
        hub.report(&Report::new("web1", "theirs", None), true)
            .unwrap();
        assert!(alive());
        // a host that nobody knows leaves nothing behind
        hub.leave(&Report::new("web2", "i", None)).unwrap();
        assert_eq!(hub.hosts().unwrap().len(), 1);
    }

    #[test]
    fn a_directory_in_the_place_of_the_map_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Directory::new(dir.path());
        let head = hub.head().unwrap_err();
        let hosts = hub.hosts().unwrap_err();
        for failure in [head, hosts] {
            let at = dir.path().display();
            assert_eq!(failure.code, USAGE);
            assert_eq!(
                failure.line,
                format!(
                    "file://{at}: this is a directory; name the map in it: \
                     file://{at}/members.map"
                )
            );
        }
    }
}
