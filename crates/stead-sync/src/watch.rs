//! `watch`: keeps the map of this host at the hub's newest, and reports what the host has.
//!
//! ```text
//! register --> read the head --> install --> --exec --> report --> wait for another head
//!    ^                                                               |
//!    +------------------ at least every 10 seconds ------------------+
//! ```
//!
//! A host registers before it takes its first map. So whoever waits for all hosts knows of every
//! host that has one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sd_notify::NotifyState;
use stead::format::{hex, Digest};
use stead::guard::Release;
use stead::store::{Accept, Standing, KEEP};
use stead::{Map, Store};

use crate::alone::Alone;
use crate::command;
use crate::contact::Contact;
use crate::exit::{say, Failure, Result, CONFLICT, DATA, PERMISSION, UNCERTAIN};
use crate::here::{Here, Look};
use crate::hub::{short, Head, Hub};
use crate::instance;
use crate::metrics::{Figures, MetricsFile};
use crate::pull::{complete, pull_head};
use crate::push::check_identity;
use crate::report::Report;

/// How often a host says that it is alive. A report and an installation do not wait for it.
const BEAT: Duration = Duration::from_secs(10);

/// How often the map here is looked at: somebody may put another file there. It costs one `stat`.
const LOOK: Duration = Duration::from_secs(1);

/// The first pause after a failure that is not one of contact; it doubles up to `BEAT`.
const RETRY: Duration = Duration::from_millis(500);

/// How often a report is written again although it says the same, so that its time tells when a
/// host was lost. etcd keeps every version of a key until it is compacted.
const AGAIN: u64 = 600;

/// What a watch does.
#[derive(Clone, Debug)]
pub struct Options {
    /// The URL of the hub.
    pub url: String,
    /// The map file of this host.
    pub map: PathBuf,
    /// The name of this host.
    pub host: String,
    /// The oldest release on this host that reads the map, if it is not this one.
    pub readers: Option<Release>,
    /// The command that runs after each installation.
    pub exec: Option<String>,
    /// How long the command may run.
    pub exec_limit: Duration,
    /// Where the metrics go.
    pub metrics: Option<PathBuf>,
}

/// A running watch.
pub struct Watch {
    hub: Box<dyn Hub>,
    options: Options,
    here: Here,
    contact: Contact,
    /// what this host has to say
    report: Report,
    /// what the hub knows of it
    sent: Option<Report>,
    figures: Figures,
    metrics: Option<MetricsFile>,
    head: Option<Head>,
    /// the head that was refused, and why: nothing is fetched twice for the same refusal
    refused: Option<(Head, String)>,
    /// why the map that was here is not in place
    broken: Option<String>,
    /// why programs here cannot read by the map, although it is in place
    lacking: Option<String>,
    /// whether it was said that the hub has no map
    said_empty: bool,
    /// the epoch after which --exec ran
    executed: u64,
    /// what was said last, since a problem is said once
    said: Option<String>,
    /// the same for the file of the metrics
    said_of_metrics: Option<String>,
    beaten: Option<Instant>,
    /// how long to pause after what contact with the hub does not mend
    retry: Duration,
    /// the lock of the map file
    _alone: Option<Alone>,
}

impl Watch {
    /// Returns a watch that has done nothing yet.
    ///
    /// Errors: a path that cannot be a map; another process that watches the file.
    pub fn new(hub: Box<dyn Hub>, options: Options) -> Result<Watch> {
        let store = Store::new(&options.map, KEEP);
        store.refuse_symlink()?;
        let alone = Alone::at(&options.map)?;
        let mark = instance::mark(&options.map);
        let report = Report::new(&options.host, &mark, options.readers);
        Ok(Watch {
            hub,
            here: Here::new(store),
            contact: Contact::default(),
            report,
            sent: None,
            figures: Figures::default(),
            metrics: options.metrics.as_deref().map(MetricsFile::new),
            head: None,
            refused: None,
            broken: None,
            lacking: None,
            said_empty: false,
            executed: 0,
            said: None,
            said_of_metrics: None,
            beaten: None,
            retry: RETRY,
            _alone: alone,
            options,
        })
    }

    /// Runs until the process ends.
    pub fn run(mut self) -> Result {
        say(&format!(
            "watching {} for {} as host {}",
            self.options.url,
            self.options.map.display(),
            self.options.host
        ));
        if self.hub.shared().is_none() {
            say("a web server takes no reports: `stead-sync wait` does not know this host");
        }
        let mut is_ready = false;
        loop {
            let went = self.round();
            self.note_contact(&went);
            self.write_metrics();
            if !is_ready {
                is_ready = true;
                // after a failure, too: the hub may be away when a host starts
                let _ = sd_notify::notify(&[NotifyState::Ready]);
            }
            match went {
                Ok(()) => self.wait(),
                Err(failure) if failure.is_contact() => std::thread::sleep(self.contact.pause()),
                Err(_) => std::thread::sleep(self.pause()),
            }
        }
    }

    /// Takes note of how a round went with the hub. One that does not let this host in tells it
    /// nothing, so that is no contact.
    fn note_contact(&mut self, went: &Result) {
        match went {
            Ok(()) => self.found(),
            Err(failure) if failure.is_contact() => {
                let line = self.contact.lose(&failure.line);
                line.iter().for_each(|line| say(line));
                self.figures.has_contact = false;
                self.beaten = None;
            }
            Err(failure) => {
                match failure.code == PERMISSION {
                    true => self.figures.has_contact = false,
                    false => self.found(),
                }
                self.tell_problem(failure.line.clone());
            }
        }
    }

    fn found(&mut self) {
        let line = self.contact.find();
        line.iter().for_each(|line| say(line));
        self.figures.contact = seconds();
        self.figures.has_contact = true;
    }

    /// Says a problem, unless it was said last.
    fn tell_problem(&mut self, line: String) {
        if self.said.as_ref() != Some(&line) {
            say(&line);
            self.said = Some(line);
        }
    }

    /// Returns the next pause after a failure.
    fn pause(&mut self) -> Duration {
        let now = self.retry;
        self.retry = (now * 2).min(BEAT);
        now
    }

    /// Waits for another head, or another map here. A failure is that of the next round.
    fn wait(&mut self) {
        let mut most = match &self.beaten {
            Some(beaten) => BEAT.saturating_sub(beaten.elapsed()),
            // the heartbeat is due
            None if self.sent.is_some() => Duration::ZERO,
            None => BEAT,
        };
        let has_problem = self.report.problem.is_some();
        if has_problem {
            most = most.min(self.pause());
        }
        let until = Instant::now() + most.max(Duration::from_millis(100));
        loop {
            let began = Instant::now();
            let part = LOOK.min(until.saturating_duration_since(began));
            if self.hub.wait(self.head.as_ref(), part).is_err() {
                // the next round finds out whether the hub is away, or has only ended a stream
                std::thread::sleep(self.pause());
                return;
            }
            let is_over = Instant::now() >= until || began.elapsed() < part;
            if is_over || self.here.has_changed() {
                break;
            }
        }
        if !has_problem {
            self.retry = RETRY;
        }
    }

    /// Looks at the map here, registers, installs, executes, reports.
    fn round(&mut self) -> Result {
        self.look_for(self.here.held());
        let registered = self.keep_registered();
        if let Err(failure) = &registered {
            // a host that nobody knows of must not have a map that nobody knows of
            if failure.is_contact() || self.sent.is_none() {
                return registered;
            }
        }
        let before = self.head.take();
        self.head = match self.hub.head() {
            Ok(head) => head,
            Err(failure) => return Err(self.told_to_the_hub(failure)),
        };
        if self.head.is_some() && self.sent.is_none() && registered.is_ok() {
            // the first map came to an empty hub since `keep_registered` asked
            self.send()?;
        }
        if before.is_some() && self.head.is_none() {
            // a hub that has lost its map may have lost its hosts, too
            self.beaten = None;
        }
        self.install()?;
        self.execute();
        registered.and_then(|()| self.send())?;
        // a problem that comes again is said again
        if self.report.problem.is_none()
            && (self.sent.is_some() || self.hub.shared().is_none())
            && self.said.take().is_some()
        {
            say(&match self.here.held() {
                Some((epoch, _)) => format!("all is well again: epoch {epoch} is in place"),
                None => "all is well again".to_owned(),
            });
        }
        Ok(())
    }

    /// Reports a failure to read the hub, if the hub still takes reports: otherwise `status` would
    /// show a host that is behind, without a reason.
    fn told_to_the_hub(&mut self, failure: Failure) -> Failure {
        if !failure.is_contact() && self.sent.is_some() {
            self.report.problem = Some(failure.line.clone());
            // one that fails, too, changes nothing
            let _ = self.send();
        }
        failure
    }

    /// Looks at the map of this host, and says it if it is another than the one that this watch has
    /// left here.
    fn look_for(&mut self, left: Option<(u64, Digest)>) {
        self.look();
        let (Some(left), Some(now)) = (left, self.here.held()) else {
            return;
        };
        if left != now {
            let told = |(epoch, digest): (u64, Digest)| {
                format!("epoch {epoch} ({})", short(&hex(&digest)))
            };
            say(&format!(
                "somebody else has put {} here, in place of {}",
                told(now),
                told(left)
            ));
        }
    }

    /// Looks at the map of this host. One that is missing or damaged is replaced from the history,
    /// if that has it; otherwise the installation replaces it.
    fn look(&mut self) {
        let (why, what) = match self.here.look() {
            Look::Unchanged => return,
            Look::Whole(map) => return self.has(&map),
            Look::Missing if self.here.held().is_none() => return,
            Look::Missing => (
                format!("{}: the map here is missing", self.options.map.display()),
                "missing",
            ),
            Look::Damaged(why) => (format!("the map here is damaged: {why}"), "damaged"),
            // in the words of the installation, which fails for the same reason
            Look::Unreadable(why) => (why, "unreadable"),
        };
        // it is in place no longer, so it is not confirmed either
        self.unconfirm();
        self.report.installed = 0;
        self.figures.epoch = 0;
        self.broken = Some(why.clone());
        self.tell_problem(why);
        let Some(epoch) = self.here.restore() else {
            return;
        };
        say(&format!(
            "the {what} map was replaced by epoch {epoch} of the history here"
        ));
        if let Look::Whole(map) = self.here.look() {
            self.has(&map);
        }
    }

    /// Notes that a map is in place.
    fn has(&mut self, map: &Map) {
        self.broken = None;
        self.figures.map = map.name().to_owned();
        self.figures.epoch = map.epoch();
        self.report.installed = map.epoch();
        if self.options.exec.is_none() && !self.here.lacks_origin() {
            self.confirm(map.epoch(), &map.digest());
        }
    }

    fn confirm(&mut self, epoch: u64, digest: &[u8; 32]) {
        self.report.epoch = epoch;
        self.report.digest = hex(digest);
        self.figures.confirmed = epoch;
    }

    /// Confirms the map in place, if it is not confirmed and no command has to run before.
    fn confirm_again(&mut self) {
        let held = self.here.held();
        if let (true, None, Some((epoch, digest))) =
            (self.report.digest.is_empty(), &self.options.exec, held)
        {
            self.confirm(epoch, &digest);
        }
    }

    fn unconfirm(&mut self) {
        self.report.epoch = 0;
        self.report.digest.clear();
        self.figures.confirmed = 0;
    }

    /// Brings the map where the data of an open carry was, if the history here has lost it: without
    /// it no program here can read by the map. Until it is back, the map is not confirmed.
    fn complete(&mut self, head: Option<&Head>) -> Result {
        self.lacking = None;
        if self.broken.is_some() {
            return Ok(());
        }
        if !self.here.lacks_origin() {
            // somebody may have copied it here
            self.confirm_again();
            return Ok(());
        }
        let store = self.here.store();
        match complete(&*self.hub, head, store, KEEP) {
            Err(failure) if failure.is_contact() || failure.code == CONFLICT => Err(failure),
            // the next look finds it
            _ if self.here.has_another_map() => Ok(()),
            Err(failure) if self.here.lacks_origin() => {
                self.unconfirm();
                self.lacking = Some(failure.line);
                Ok(())
            }
            completed => {
                if let Ok(epochs @ 1..) = completed {
                    let epochs = counted(epochs);
                    let map = self.options.map.display();
                    say(&format!(
                        "{map}: the history here lacked the map where the data of the carry was; \
                         {epochs} from the hub"
                    ));
                }
                self.confirm_again();
                Ok(())
            }
        }
    }

    /// Makes sure that the hub knows this host, and knows it alive.
    fn keep_registered(&mut self) -> Result {
        let Some(shared) = self.hub.shared() else {
            return Ok(());
        };
        if self.sent.is_some() && self.beaten.is_some_and(|at| at.elapsed() < BEAT / 2) {
            return Ok(());
        }
        if self.sent.is_some() {
            match shared.beat(&self.report.at(seconds())) {
                Ok(true) => {}
                Ok(false) => {
                    say("this host was forgotten; it registers again");
                    self.sent = None;
                }
                Err(failure) => return Err(self.unregistered(failure)),
            }
        }
        self.beaten = Some(Instant::now());
        match self.sent {
            Some(_) => Ok(()),
            None => self.send(),
        }
    }

    /// Sends the report if it says something new, or is old.
    fn send(&mut self) -> Result {
        let Some(shared) = self.hub.shared() else {
            return Ok(());
        };
        let now = seconds();
        // nothing is written where somebody has only mistyped the URL
        if self.sent.is_none() && !shared.is_begun()? {
            return Ok(());
        }
        let is_known = |sent: &Report| sent.says(&self.report) && now < sent.time + AGAIN;
        if self.sent.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        let report = self.report.at(now);
        match shared.report(&report, true) {
            Ok(()) => {
                self.sent = Some(report);
                Ok(())
            }
            Err(failure) => Err(self.unregistered(failure)),
        }
    }

    /// Takes note of a failure to register. Another machine may have the name of this host.
    fn unregistered(&mut self, failure: Failure) -> Failure {
        if failure.code != CONFLICT {
            return failure;
        }
        self.sent = None;
        Failure::new(
            CONFLICT,
            format_args!(
                "{}; this watch installs no map until then, and tries again",
                failure.line
            ),
        )
    }

    /// Installs the head, if it is not installed yet.
    fn install(&mut self) -> Result {
        let Some(head) = self.head.clone() else {
            if !self.said_empty {
                self.said_empty = true;
                let url = &self.options.url;
                let then = match self.sent.is_none() && self.hub.shared().is_some() {
                    true => ", and registers then; is the URL right?",
                    false => "",
                };
                say(&match self.here.held() {
                    None => format!(
                        "{url}: the hub has no map yet; this host waits for the first push there\
                         {then}"
                    ),
                    Some((epoch, _)) => format!(
                        "{url}: the hub has no map, and epoch {epoch} stays here; is its directory \
                         mounted? if it has lost its map, push the newest one there with --allow first"
                    ),
                });
            }
            self.complete(None)?;
            self.note_problem();
            return Ok(());
        };
        self.said_empty = false;
        self.figures.hub = head.epoch;
        if self.is_in_place(&head) {
            self.refused = None;
            self.complete(Some(&head))?;
            self.note_problem();
            return Ok(());
        }
        if let Some((refused, why)) = &self.refused {
            if refused.version == head.version && refused.digest == head.digest {
                self.report.problem = Some(why.clone());
                return self.complete(Some(&head));
            }
        }
        let pulled = pull_head(
            &*self.hub,
            &head,
            self.here.store(),
            KEEP,
            Accept::default(),
        );
        match pulled {
            Ok(Some(pulled)) => {
                let before = self.figures.epoch;
                let was_broken = self.broken.is_some();
                self.look_for(Some((pulled.head.epoch, pulled.head.digest)));
                self.refused = None;
                self.lacking = None;
                self.note_problem();
                self.figures.installed += 1;
                let from = match pulled.standing {
                    Standing::First => "the first map here".to_owned(),
                    _ if was_broken => "in place of the one that was missing or damaged".to_owned(),
                    Standing::Same => "the file was missing or damaged".to_owned(),
                    _ => format!("after epoch {before}"),
                };
                say(&format!("installed {}; {from}", head.told()));
                Ok(())
            }
            // the head has changed meanwhile: at once again
            Ok(None) => Ok(()),
            Err(failure) if failure.is_contact() => Err(failure),
            // somebody publishes here right now
            Err(failure) if failure.code == CONFLICT => Err(failure),
            Err(failure) if failure.code == UNCERTAIN => {
                // in place, by this watch and nobody else
                self.look_for(Some((head.epoch, head.digest)));
                self.refused = None;
                self.figures.installed += 1;
                self.tell_problem(failure.line.clone());
                self.report.problem = Some(failure.line);
                Ok(())
            }
            Err(mut failure) => {
                self.figures.refused += 1;
                if let Some(line) = self.told_other(&head) {
                    failure.line = line;
                }
                let line = match self.figures.epoch {
                    0 if self.broken.is_some() && failure.code == DATA => format!(
                        "{}; the history here does not have it either: remove the file, and the \
                         hub's map takes its place",
                        failure.line
                    ),
                    0 => failure.line.clone(),
                    epoch => format!("{}; epoch {epoch} stays", failure.line),
                };
                self.report.problem = Some(failure.line);
                // a full disk may have room the next time; a map does not change by itself
                let is_final = failure.code == crate::exit::REFUSED;
                self.refused =
                    is_final.then(|| (head, self.report.problem.clone().unwrap_or_default()));
                self.tell_problem(line);
                Ok(())
            }
        }
    }

    /// Says what to do about a map of another cluster than the hub's, if there is one here.
    fn told_other(&self, head: &Head) -> Option<String> {
        let here = self.here.store().current().ok()??;
        let failure = check_identity(&*self.hub, head, &here, "nothing was changed").err()?;
        let what = failure.line.split_once("; nothing")?.0;
        Some(format!(
            "{}: {what}; if the hub is the right one, remove this file, and the hub's map takes its \
             place; otherwise give this watch another URL",
            self.options.map.display()
        ))
    }

    /// Whether the map in place is this one.
    fn is_in_place(&self, head: &Head) -> bool {
        self.broken.is_none() && self.here.held() == Some((head.epoch, head.digest))
    }

    /// Takes note of what is wrong here although nothing is to be installed.
    fn note_problem(&mut self) {
        let why = self.broken.clone().or_else(|| self.lacking.clone());
        self.report.problem = why.or_else(|| self.here.why_not_writable());
        if let Some(why) = self.report.problem.clone() {
            self.tell_problem(why);
        }
    }

    /// Runs the command, if the map in place was not executed yet, and then confirms the map.
    fn execute(&mut self) {
        let Some(text) = self.options.exec.clone() else {
            return;
        };
        let is_usable = self.broken.is_none() && self.lacking.is_none();
        let Some((epoch, digest)) = self.here.held().filter(|_| is_usable) else {
            return;
        };
        if epoch == self.executed && self.report.digest == hex(&digest) {
            return;
        }
        let variables = [
            ("STEAD_SYNC_MAP", self.options.map.display().to_string()),
            ("STEAD_SYNC_NAME", self.figures.map.clone()),
            ("STEAD_SYNC_EPOCH", epoch.to_string()),
            ("STEAD_SYNC_OLD_EPOCH", self.executed.to_string()),
            ("STEAD_SYNC_DIGEST", hex(&digest)),
            ("STEAD_SYNC_URL", self.options.url.clone()),
        ];
        let mut last = Instant::now();
        let (hub, report) = (&self.hub, &self.report);
        let mut tick = || {
            if last.elapsed() >= BEAT {
                last = Instant::now();
                // a failure shows itself after the command
                let _ = hub
                    .shared()
                    .map(|shared| shared.beat(&report.at(seconds())));
            }
        };
        match command::run(&text, &variables, self.options.exec_limit, &mut tick) {
            Ok(()) => {
                self.executed = epoch;
                self.confirm(epoch, &digest);
            }
            Err(why) => {
                self.figures.failed += 1;
                self.report.problem = Some(format!(
                    "{why}; epoch {epoch} is installed and not confirmed"
                ));
                self.tell_problem(format!(
                    "{why}; epoch {epoch} is not confirmed, and it runs again"
                ));
            }
        }
    }

    fn write_metrics(&mut self) {
        let Some(file) = &self.metrics else { return };
        let text = self.figures.text(&self.options.map);
        let line = file.write(&text).err();
        let line = line.map(|failure| failure.line);
        if line != self.said_of_metrics {
            line.iter().for_each(|line| say(line));
            self.said_of_metrics = line;
        }
    }
}

/// Says how many epochs came to the history.
fn counted(epochs: usize) -> String {
    match epochs {
        1 => "it came".to_owned(),
        epochs => format!("it and {} more came", epochs - 1),
    }
}

/// Returns the time in seconds since 1970.
pub fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Registers a host that pulls, before it takes a map. Returns whether the hub takes reports.
pub fn register(hub: &dyn Hub, host: &str, map: &Path) -> Result<Option<Report>> {
    let Some(shared) = hub.shared() else {
        return Ok(None);
    };
    let mut report = Report::new(host, &instance::mark(map), None);
    if let Ok(Some(map)) = Store::new(map, KEEP).current() {
        report.epoch = map.epoch();
        report.installed = map.epoch();
        report.digest = hex(&map.digest());
    }
    report.time = seconds();
    shared.report(&report, false)?;
    Ok(Some(report))
}

#[cfg(test)]
mod tests {
    use stead::Fleet;

    use super::*;
    use crate::directory::Directory;
    use crate::exit::NO_CONTACT;

    /// Returns a watch of a hub in a directory.
    fn watch(directory: &Path) -> Watch {
        let options = Options {
            url: "file:///hub".to_owned(),
            map: directory.join("m.map"),
            host: "web1".to_owned(),
            readers: None,
            exec: None,
            exec_limit: Duration::from_secs(1),
            metrics: None,
        };
        let hub = Directory::new(&directory.join("hub.map"));
        Watch::new(Box::new(hub), options).unwrap()
    }

    #[test]
    fn a_map_that_this_watch_could_not_keep_in_the_history_is_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let hub = Store::new(directory.path().join("hub.map"), KEEP);
        let apply = |nodes: &str| {
            let text = format!("name = 'm'\nnode = [{nodes}]");
            hub.apply(&Fleet::parse(&text, "fleet").unwrap(), None)
                .unwrap();
        };
        let held = |watch: &Watch| watch.here.held().map(|(epoch, _)| epoch);
        apply("{name = 'a'}");
        let mut watch = watch(directory.path());
        watch.round().unwrap();
        assert_eq!(held(&watch), Some(1));
        apply("{name = 'a'}, {name = 'b'}");
        // the map itself finds its place, and its copy does not
        std::fs::create_dir_all(directory.path().join("m.map.history/2/x")).unwrap();
        watch.round().unwrap();
        // otherwise the next look says that somebody else has put it there
        assert_eq!(held(&watch), Some(2));
        assert_eq!((watch.figures.installed, watch.figures.refused), (2, 0));
        let problem = watch.report.problem.clone().unwrap_or_default();
        assert!(problem.contains("in place"), "{problem}");
    }

    #[test]
    fn a_hub_that_does_not_let_the_host_in_is_no_contact() {
        let directory = tempfile::tempdir().unwrap();
        for (code, is_contact) in [(PERMISSION, false), (NO_CONTACT, false), (DATA, true)] {
            let mut watch = watch(directory.path());
            watch.note_contact(&Err(Failure::new(code, "no")));
            let figures = &watch.figures;
            assert_eq!(figures.has_contact, is_contact, "{code}");
            assert_eq!(figures.contact > 0, is_contact, "{code}");
            watch.note_contact(&Ok(()));
            assert!(watch.figures.has_contact && watch.figures.contact > 0);
            let then = watch.figures.contact - 1;
            watch.figures.contact = then;
            watch.note_contact(&Err(Failure::new(code, "no")));
            let figures = &watch.figures;
            assert_eq!(figures.has_contact, is_contact, "{code}");
            assert_eq!(figures.contact > then, is_contact, "{code}");
        }
    }
}
