//! `wait`: waits until every registered host has confirmed an epoch, and a grace has passed.

use std::time::{Duration, Instant};

use crate::confirm::{followers, lacking, told_lacking};
use crate::contact::Contact;
use crate::exit::say;
use crate::exit::{Failure, Result, NOT_YET, NO_INPUT};
use crate::hub::Hub;
use crate::open::shared;

/// How often the reports are read.
const LOOK: Duration = Duration::from_millis(500);

/// How long hosts may take to register with the first map of a hub: some look once a second.
const FIRST: Duration = Duration::from_secs(5);

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
    let began = Instant::now();
    let mut contact = Contact::default();
    let mut since: Option<Instant> = None;
    let mut said = String::new();
    loop {
        let now = Instant::now();
        let found = hub.head().and_then(|head| Ok((head, hosts.hosts()?)));
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
                (said.clone(), contact.pause())
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
        if line != said && !line.is_empty() {
            say(&line);
            said = line;
        }
        let left = patience
            .timeout
            .map(|most| most.saturating_sub(began.elapsed()));
        std::thread::sleep(left.map_or(pause, |left| left.min(pause)));
    }
}

/// Says that so many hosts have something.
pub fn hosts_have(count: usize) -> String {
    match count {
        1 => "1 host has".to_owned(),
        count => format!("{count} hosts have"),
    }
}
