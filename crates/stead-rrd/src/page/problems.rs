//! Finds what is wrong with a router, the worst first and a cause before what it causes, and says
//! what to do.

use indicatif::{HumanBytes, HumanCount};

use super::wording::{ago, many, percent, printable};
use crate::health::Health;
use crate::role::{Lost, Role};
use crate::status::{BackendStatus, LogStatus, PairStatus, Status};

/// A log that has reached this part of its bound is a problem worth waking somebody for.
const LOG_ALMOST_FULL: f64 = 0.8;

/// A server that owes an answer for longer than this is a problem.
const LAG_MS: u64 = 5000;

/// The least size of a log: two segments, see log::Size.
const LOG_LEAST: u64 = 32 << 20;

impl Status {
    /// Returns whether files are being moved or repaired now.
    pub fn is_moving(&self) -> bool {
        self.moving.as_ref().is_some_and(|moving| !moving.ended)
    }

    /// Returns the problems, the worst first, each in one line. The list is empty when all is well.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.exposed.unreachable > 0.0 {
            problems.push(format!(
                "{} of the files cannot be read, as none of their backends is \
                up; updates for them wait in the log",
                percent(self.exposed.unreachable)
            ));
        }
        if self.exposed.trailing > 0.0 {
            problems.push(format!(
                "{} of the files are served only by copies that are catching up, so that reads may \
                lack the newest values; updates for them wait in the log",
                percent(self.exposed.trailing)
            ));
        }
        let serves_nobody = self.pair.as_ref().is_some_and(|pair| !pair.serving);
        if serves_nobody {
            self.problem_of_the_state(&mut problems);
        }
        let is_standby = |pair: &PairStatus| pair.role == Role::Standby;
        if self.pair.as_ref().is_some_and(is_standby) {
            // a log that takes nothing is why the connection is lost
            self.problems_of_the_log(&mut problems);
        }
        self.problems_of_the_pair(&mut problems);
        if serves_nobody {
            if let Some(why) = &self.map_refused {
                problems.push(format!(
                    "the map at --map could not be taken up if this router became the primary: {}",
                    printable(why)
                ));
            }
            return problems; // it has no backends
        }
        let cause = self.cause_of_a_full_log();
        if let Some(cause) = cause {
            self.problems_of(cause, &mut problems);
        }
        self.problem_of_the_state(&mut problems);
        self.problems_of_the_log(&mut problems);
        let is_cause = |backend: &&BackendStatus| cause.is_some_and(|it| it.name == backend.name);
        for backend in self.backends.iter().filter(|backend| !is_cause(backend)) {
            self.problems_of(backend, &mut problems);
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
        let last = self.check.last.as_ref();
        if let Some(last) = last.filter(|last| last.misplaced > 0) {
            let (files, them) = match last.misplaced {
                1 => ("1 file is".to_owned(), "it"),
                count => (format!("{} files are", HumanCount(count)), "them"),
            };
            problems.push(format!(
                "{files} only where the map does not place {them}, so that nobody can read {them}: \
                stead-rrd check names {them}"
            ));
        }
        if let Some(last) = last.filter(|last| last.needed > 0) {
            let copies = many(last.needed, "copy").replace("copys", "copies");
            problems.push(format!(
                "{copies} where the map places none may have values that the right ones lack: \
                stead-rrd check names what"
            ));
        }
        if let Some(why) = &self.map_refused {
            problems.push(format!(
                "the map at --map is not taken up, and epoch {} stays in use: {}",
                self.next_epoch.unwrap_or(self.epoch),
                printable(why)
            ));
        }
        let waiting = self.waiting_epoch.map_or(String::new(), |waiting| {
            format!(" (epoch {waiting} waits until then)")
        });
        if let (Some(next), false, true) = (self.next_epoch, self.is_moving(), self.move_goes_on) {
            let reason = self
                .moving
                .as_ref()
                .and_then(|moving| moving.reasons.first());
            problems.push(format!(
                "files have to be moved from epoch {} to {next}{waiting}; the move was interrupted \
                and goes on by itself{}",
                self.epoch,
                reason.map_or(String::new(), |reason| format!(": {}", printable(reason)))
            ));
        } else if let (Some(next), false) = (self.next_epoch, self.is_moving()) {
            problems.push(format!(
                "files have to be moved from epoch {} to {next}{waiting}, and nothing moves them: \
                run stead-rrd move",
                self.epoch
            ));
        }
        problems
    }

    fn problems_of(&self, backend: &BackendStatus, problems: &mut Vec<String>) {
        let name = format!(
            "backend {} ({})",
            printable(&backend.name),
            printable(&backend.address)
        );
        let since = ago(self.now, backend.since);
        match backend.state {
            Health::Up if backend.lag_ms > LAG_MS => problems.push(format!(
                "{name} has not answered for {} s, with {} to come",
                backend.lag_ms / 1000,
                many(backend.queued_lines, "line")
            )),
            Health::Up => {}
            Health::Down => {
                let reason = backend
                    .reason
                    .as_deref()
                    .map_or(String::new(), |reason| format!(": {}", printable(reason)));
                problems.push(format!("{name} is down for {since}{reason}"));
            }
            Health::Behind => problems.push(format!(
                "{name} is catching up for {since}: {} to go",
                many(backend.behind, "record")
            )),
        }
        if let Some(why) = &backend.files_error {
            problems.push(format!(
                "the files of {name} can be neither compared nor repaired: {}",
                printable(why)
            ));
        }
        if backend.lacking > 0 {
            problems.push(format!(
                "{name} lacks {}, which are being copied to it{}",
                many(backend.lacking, "file"),
                reason_of(backend)
            ));
        }
        if backend.gone > 0 {
            let example = backend.gone_example.as_deref().unwrap_or_default();
            problems.push(format!(
                "{name} has lost {}, such as {}, with updates that it had taken; the log keeps \
                these for a day if it has room: mount the disk or put the files back{}",
                many(backend.gone, "file"),
                printable(example),
                reason_of(backend)
            ));
        }
        if backend.doubtful > 0 {
            problems.push(format!(
                "{name} may lack values in {}, which are being compared with the other copies{}",
                many(backend.doubtful, "file"),
                reason_of(backend)
            ));
        }
        if backend.uncompared {
            problems.push(format!(
                "all copies of {name} may lack values, since its address or its directory of files \
                has changed: {}",
                self.comparing()
            ));
        }
        if let Some(what) = &backend.suspended {
            problems.push(format!(
                "{name} writes nothing of {} to its disk until somebody sends RESUME",
                printable(what)
            ));
        } else if backend.stuck > 0 {
            problems.push(format!(
                "{name} does not write {} to its disk: somebody has suspended them there, or its \
                messages say why",
                many(backend.stuck, "file")
            ));
        }
    }

    /// Says when copies are compared that have to be.
    fn comparing(&self) -> String {
        let check = &self.check;
        match (&check.asked, &check.slow, &check.waits) {
            (Some(_), ..) => "they are being compared with the other copies".to_owned(),
            _ if check.every == 0 => "stead-rrd check compares them".to_owned(),
            (_, Some(_), Some(why)) => {
                format!("the check in the background waits: {}", printable(why))
            }
            (_, None, _) if !check.left_out.is_empty() => format!(
                "they were compared without {}, and are compared again when it is up",
                printable(&check.left_out.join(", "))
            ),
            _ => "they are being compared with the other copies in the background".to_owned(),
        }
    }

    fn problems_of_the_pair(&self, problems: &mut Vec<String>) {
        let Some(pair) = &self.pair else { return };
        if let Some(why) = &pair.waits {
            return problems.push(format!("this router serves nobody yet: {}", printable(why)));
        }
        let (peer, since) = (printable(&pair.peer), ago(self.now, pair.since));
        let reason = pair
            .reason
            .as_deref()
            .map_or(String::new(), |reason| format!(": {}", printable(reason)));
        let away = match pair.brief {
            true => format!("has been connected for moments only in the last {since}{reason}"),
            false => format!("has not been connected for {since}{reason}"),
        };
        match (pair.role, pair.connected) {
            (Role::Standby, false) => {
                problems.push(format!("the primary {peer} {away}"));
            }
            (Role::Standby, true) => {}
            (Role::Primary, true) if pair.in_sync => {}
            // the cause is told, and the standby is well
            (Role::Primary, _) if pair.renewed && self.state_error.is_some() => {}
            (Role::Primary, connected) => {
                let what = match (connected, pair.alone, pair.serving) {
                    (true, Some(_), _) => "this router goes on alone until it has them and the \
                        connection lasts"
                        .to_owned(),
                    (false, Some(record), _) => format!(
                        "this router goes on alone: whatever it has taken after record {} is on \
                        this machine only",
                        HumanCount(record)
                    ),
                    (true, ..) => "clients wait until it has everything".to_owned(),
                    (_, _, false) => "no client is served, since the other router may be the \
                        primary"
                        .to_owned(),
                    _ => match pair.lost {
                        Lost::Wait => "clients wait for their answers".to_owned(),
                        Lost::Refuse => "writes are refused".to_owned(),
                        Lost::Alone => "clients wait until this router goes on alone".to_owned(),
                    },
                };
                problems.push(match connected {
                    true => format!(
                        "the standby {peer} lacks {}, and {what}",
                        many(pair.behind, "record")
                    ),
                    false => format!("the standby {peer} {away}; {what}"),
                });
            }
        }
        if pair.role == Role::Standby && !pair.in_sync {
            problems.push(
                "this standby cannot be promoted without --force: it does not have everything \
                that the primary may have answered"
                    .to_owned(),
            );
        }
        if pair.role == Role::Primary && pair.connected && !pair.agreed {
            problems.push("the standby does not know --standby-lost yet".to_owned());
        }
    }

    /// Returns the server that is not up and because of which the log is full, or will be.
    fn cause_of_a_full_log(&self) -> Option<&BackendStatus> {
        let log = self.log.as_ref().filter(|log| log.failed.is_none())?;
        if !is_almost_full(log) {
            return None; // if it is short of room, then on its disk
        }
        let slowest = self.backends.iter().min_by_key(|backend| backend.confirmed);
        slowest.filter(|backend| backend.state != Health::Up)
    }

    fn problem_of_the_state(&self, problems: &mut Vec<String>) {
        let Some(error) = &self.state_error else {
            return;
        };
        let is_standby = self
            .pair
            .as_ref()
            .is_some_and(|pair| pair.role == Role::Standby);
        let what = match (error.full, error.log) {
            (true, true) => "the disk of the log is full",
            (true, false) => "the disk under --state is full",
            (false, true) => "the log cannot store what the servers have confirmed",
            (false, false) => "nothing can be written under --state",
        };
        let until = match error.full {
            true => "there is room",
            false => "that is mended",
        };
        let lost = match (error.log, is_standby) {
            (true, _) => "the log forgets nothing",
            (false, true) => "this standby could not be promoted",
            (false, false) => "moves and repairs cannot be recorded",
        };
        problems.push(format!(
            "{what}: {}; until {until}, {lost}",
            printable(&error.reason)
        ));
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
                "the log has failed and takes no writes: {}",
                printable(error)
            ));
        }
        if let Some(reason) = &log.short {
            let what = match log.refuses {
                true => "has no room and refuses writes",
                false => "has no room for much more, and then refuses writes",
            };
            problems.push(format!("the log {what}: {}", printable(reason)));
        } else if is_almost_full(log) {
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
                percent(part_of(log)),
                HumanBytes(log.bytes),
                HumanBytes(log.bound)
            ));
        }
    }
}

/// Returns which part of its bound the log has reached.
fn part_of(log: &LogStatus) -> f64 {
    log.bytes as f64 / log.bound.max(1) as f64
}

fn is_almost_full(log: &LogStatus) -> bool {
    part_of(log) >= LOG_ALMOST_FULL && log.bytes > LOG_LEAST
}

/// Returns why the copies of a backend cannot be repaired now.
fn reason_of(backend: &BackendStatus) -> String {
    let reason = backend.repair_error.as_deref();
    reason.map_or(String::new(), |reason| {
        format!("; the last try failed: {}", printable(reason))
    })
}
