//! `wait`: waits until every registered host has confirmed an epoch, and a grace has passed.

use std::time::{Duration, Instant};

use crate::confirm::{followers, lacking, told_lacking};
use crate::contact::Contact;
use crate::exit::say;
use crate::exit::{Failure, Result, NOT_YET, NO_INPUT};
use crate::hub::{Host, Hub};
use crate::instance;
use crate::open::shared;
use crate::report::CARRIER;

/// How often the reports are read.
const LOOK: Duration = Duration::from_millis(500);

/// How long hosts may take to register with the first map of a hub: some look once a second.
const FIRST: Duration = Duration::from_secs(5);

/// How often it is said again what is waited for, with what to do.
const REMIND: Duration = Duration::from_secs(60);

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The epoch.
    pub epoch: u64,
    /// How long all hosts must have confirmed it: processes may have the map before it open.
    pub grace: Duration,
    /// When to give up.
    pub timeout: Option<Duration>,
    /// Whether a carrier waits. It goes on where no host follows the hub. For everybody else, that
    /// is a failure.
    pub by_carrier: bool,
}

/// Waits until every registered host has confirmed the epoch, without interruption for the grace.
/// Returns how many hosts there are, without carriers. Goes on while the hub is away.
///
/// Errors: `NOT_YET` when the time is up; `NO_INPUT` when no host is registered; those of the hub
/// that do not pass by themselves.
pub fn wait(hub: &dyn Hub, url: &str, patience: Patience) -> Result<usize> {
    let hosts = shared(hub, url)?;
    let here = instance::host(None).ok();
    let began = Instant::now();
    let mut contact = Contact::default();
    let mut since: Option<Instant> = None;
    let mut telling = Telling::new(began);
    loop {
        let now = Instant::now();
        let found = hub.head().and_then(|head| Ok((head, hosts.hosts()?)));
        let mut advice = None;
        let (line, pause) = match found {
            Ok((head, hosts)) => {
                contact.find().iter().for_each(|line| say(line));
                let all = followers(&hosts);
                let is_first = head.as_ref().is_some_and(|head| head.epoch == 1);
                let may_come = is_first && began.elapsed() < FIRST;
                if all == 0 && !patience.by_carrier && !may_come {
                    return Err(Failure::new(
                        NO_INPUT,
                        format_args!(
                            "{url}: no host follows this hub, so nobody has confirmed epoch {}; \
                             is the URL right? `stead-sync watch` and `stead-sync pull` register \
                             a host",
                            patience.epoch
                        ),
                    ));
                }
                let lacking = lacking(&hosts, head.as_ref(), patience.epoch);
                if all == 0 && may_come && !patience.by_carrier {
                    (String::new(), LOOK)
                } else if lacking.is_empty() {
                    let since = *since.get_or_insert(now);
                    if now.duration_since(since) >= patience.grace {
                        return Ok(all);
                    }
                    (
                        format!(
                            "{} epoch {}; the grace of {} s runs",
                            match all {
                                0 | 1 => hosts_have(all),
                                _ => format!("all {}", hosts_have(all)),
                            },
                            patience.epoch,
                            patience.grace.as_secs()
                        ),
                        LOOK,
                    )
                } else {
                    since = None;
                    advice = advice_for(&lacking, url, here.as_deref());
                    (
                        told_lacking(&lacking, &hosts, head.as_ref(), patience.epoch),
                        LOOK,
                    )
                }
            }
            Err(failure) if failure.is_contact() => {
                // nobody knows what happens meanwhile
                since = None;
                contact
                    .lose(&failure.line)
                    .iter()
                    .for_each(|line| say(line));
                (telling.said.clone(), contact.pause())
            }
            Err(failure) => return Err(failure),
        };
        if patience.timeout.is_some_and(|most| began.elapsed() >= most) {
            let why = match (contact.is_lost(), line.is_empty()) {
                (true, _) => "there is no contact with the hub",
                (false, true) => "nothing is known",
                (false, false) => &line,
            };
            return Err(Failure::new(NOT_YET, format_args!("the time is up: {why}")));
        }
        if let Some(told) = telling.tells(line, advice, now) {
            say(&told);
        }
        let left = patience
            .timeout
            .map(|most| most.saturating_sub(began.elapsed()));
        std::thread::sleep(left.map_or(pause, |left| left.min(pause)));
    }
}

/// What was said while somebody waits.
struct Telling {
    said: String,
    at: Instant,
}

impl Telling {
    fn new(now: Instant) -> Telling {
        Telling {
            said: String::new(),
            at: now,
        }
    }

    /// Returns what is to be said: a line that was not said before, or, now and then, the same with
    /// an advice.
    fn tells(&mut self, line: String, advice: Option<String>, now: Instant) -> Option<String> {
        if line.is_empty() {
            return None;
        }
        if line != self.said {
            (self.said, self.at) = (line, now);
            return Some(self.said.clone());
        }
        let advice = advice.filter(|_| now.duration_since(self.at) >= REMIND)?;
        self.at = now;
        Some(format!("still waiting: {}; {advice}", self.said))
    }
}

/// Says what to do about the first host that is waited for. A carrier that does not run confirms
/// nothing, and neither does a host without a watch. `here` is the name of this machine.
fn advice_for(lacking: &[&Host], url: &str, here: Option<&str>) -> Option<String> {
    let report = &lacking.first()?.report;
    let host = &report.host;
    let (start, alive) = match report.is_carrier() {
        true => {
            let machine = host.strip_prefix(CARRIER).unwrap_or(host);
            let start = match here == Some(machine) {
                true => format!("{host} is the carrier of this machine: run"),
                false => format!("{host} is the carrier of the machine {machine}: run there"),
            };
            (format!("{start} `stead-sync carry run`"), " --alive")
        }
        false => (
            format!("{host} takes the map by `stead-sync watch` or `stead-sync pull`"),
            "",
        ),
    };
    Some(format!(
        "{start}; if it is gone for good: `stead-sync forget {url} {host}{alive}`"
    ))
}

/// Says that so many hosts have something.
pub fn hosts_have(count: usize) -> String {
    match count {
        1 => "1 host has".to_owned(),
        count => format!("{count} hosts have"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    #[test]
    fn what_is_waited_for_is_said_again_with_an_advice() {
        let began = Instant::now();
        let mut telling = Telling::new(began);
        let mut after = |seconds, line: &str, advice: Option<&str>| {
            let now = began + Duration::from_secs(seconds);
            telling.tells(line.to_owned(), advice.map(str::to_owned), now)
        };
        assert_eq!(after(0, "", Some("wait")), None);
        assert_eq!(after(1, "a lacks", Some("go")).unwrap(), "a lacks");
        assert_eq!(after(60, "a lacks", Some("go")), None);
        let again = after(61, "a lacks", Some("go")).unwrap();
        assert_eq!(again, "still waiting: a lacks; go");
        assert_eq!(after(120, "a lacks", Some("go")), None);
        assert!(after(121, "a lacks", Some("go")).is_some());
        // the grace runs, and needs nothing
        assert_eq!(
            after(200, "the grace runs", None).unwrap(),
            "the grace runs"
        );
        assert_eq!(after(900, "the grace runs", None), None);
    }

    #[test]
    fn the_advice_names_the_host() {
        let host = |name: &str| Host {
            report: Report::new(name, "boot:1:2:m", None),
            alive: false,
            age: None,
        };
        let (web, carrier) = (host("web2"), host("carry.ops2"));
        let told = advice_for(&[&web, &carrier], "file:///m", Some("ops1")).unwrap();
        assert_eq!(
            told,
            "web2 takes the map by `stead-sync watch` or `stead-sync pull`; if it is gone for good: \
             `stead-sync forget file:///m web2`"
        );
        for (here, whose) in [
            (Some("ops1"), "the machine ops2: run there"),
            (None, "the machine ops2: run there"),
            (Some("ops2"), "this machine: run"),
        ] {
            let told = advice_for(&[&carrier], "file:///m", here).unwrap();
            let start =
                format!("carry.ops2 is the carrier of {whose} `stead-sync carry run`; if it is");
            assert!(told.starts_with(&start), "{told}");
            assert!(told.ends_with("`stead-sync forget file:///m carry.ops2 --alive`"));
        }
        assert_eq!(advice_for(&[], "file:///m", None), None);
    }
}
