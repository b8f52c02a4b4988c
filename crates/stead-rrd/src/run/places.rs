//! The places where clients connect: each --listen with the options that follow it.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use clap::ArgMatches;

use super::listening::cannot_listen;
use super::reporting::bind_metrics;
use crate::client::Allowed;
use crate::connection::Address;
use crate::exit::Failure;
use crate::line::Serve;
use crate::listener::Listener;
use crate::metrics::Metrics;
use crate::policy::Policy;

/// A --listen with the options that follow it.
pub(super) struct Place {
    pub(super) address: Address,
    allowed: Allowed,
    policy: Policy,
}

/// Where clients connect, and whoever asks for the metrics: places that still have to be bound, or
/// bound ones.
pub(super) enum Places {
    Free(Vec<Place>),
    Bound(Bound),
}

/// Places that are bound.
pub(super) struct Bound {
    pub(super) listeners: Vec<Listener>,
    pub(super) metrics: Option<Arc<Metrics>>,
}

impl Places {
    /// Listens at all of them.
    pub(super) async fn bind(self, serve: &Serve) -> Result<Bound, Failure> {
        let places = match self {
            Places::Free(places) => places,
            Places::Bound(bound) => return Ok(bound),
        };
        let mut listeners = Vec::new();
        for Place {
            address,
            allowed,
            policy,
        } in places
        {
            let failed = |error: io::Error| cannot_listen("--listen", &address, &error);
            let listener = Listener::bind(&address, allowed, policy, serve.public)
                .await
                .map_err(failed)?;
            let address = listener.address().map_err(failed)?;
            tracing::info!(address, "listening on {address}");
            listeners.push(listener);
        }
        let metrics = bind_metrics(serve).await?.map(Arc::new);
        Ok(Bound { listeners, metrics })
    }
}

/// Returns each --listen with the options that follow it, before the next --listen.
pub(super) fn read(serve: &Serve, given: &ArgMatches) -> Result<Vec<Place>, String> {
    let indices = |name| given.indices_of(name).into_iter().flatten();
    let mut listens: Vec<usize> = Vec::new();
    let mut places = Vec::new();
    for (at, text) in indices("listen").zip(&serve.listen) {
        listens.push(at);
        places.push(Place {
            address: Address::parse(text).map_err(|error| format!("--listen {error}"))?,
            allowed: Allowed::default(),
            policy: Policy::default(),
        });
    }
    let mut seen = HashSet::new();
    // returns the place that an option at this index is for
    let mut place = |option: &'static str, at: usize| {
        let behind = listens.partition_point(|listen| *listen < at);
        let place = behind
            .checked_sub(1)
            .ok_or_else(|| format!("--{option}: put it after the --listen that it is for"))?;
        match seen.insert((option, place)) {
            true => Ok(place),
            false => Err(format!("--{option}: that --listen has one already")),
        }
    };
    for (at, text) in indices("allow").zip(&serve.allow) {
        let place = place("allow", at)
            .map_err(|error| format!("{error}; join the commands with a comma"))?;
        let allowed = Allowed::parse(text).map_err(|error| format!("--allow {error}"))?;
        places[place].allowed = allowed;
    }
    for (at, answer) in indices("answer").zip(&serve.answer) {
        places[place("answer", at)?].policy.answer = *answer;
    }
    for (at, durability) in indices("durability").zip(&serve.durability) {
        places[place("durability", at)?].policy.durability = *durability;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::line::{command, CommandLine, Task};
    use crate::log::Durability;
    use crate::policy::Answer;

    fn read_line(line: &str) -> Result<Vec<Place>, String> {
        let words = format!("stead-rrd serve --map m --base /b --state /s {line}");
        let matches = command()
            .try_get_matches_from(words.split(' '))
            .map_err(|error| error.to_string())?;
        let CommandLine {
            task: Task::Serve(serve),
        } = CommandLine::from_arg_matches(&matches).unwrap()
        else {
            panic!("{line}")
        };
        read(&serve, matches.subcommand_matches("serve").unwrap())
    }

    #[test]
    fn an_option_of_a_listener_belongs_to_the_listen_before_it() {
        command().debug_assert();
        let line = "--listen unix:/s --durability crash --listen 127.0.0.1:1 --allow update \
            --answer logged --durability power --listen 127.0.0.1:2";
        let places = read_line(line).unwrap();
        let flushes = |place: &Place| format!("{:?}", place.allowed).contains("Flush");
        let found = places.iter().map(|place| (flushes(place), place.policy));
        let policy = |answer, durability| Policy { answer, durability };
        let expected = [
            (true, policy(Answer::Served, Durability::Crash)),
            (false, policy(Answer::Logged, Durability::Power)),
            (true, Policy::default()),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        for line in [
            "--allow update --listen unix:/s",
            "--listen unix:/s --allow update --allow flush",
            "--answer logged --listen unix:/s",
            "--listen unix:/s --durability crash --durability crash",
            "--listen x",
            "--listen unix:/s --allow x",
        ] {
            assert!(read_line(line).is_err(), "{line}");
        }
    }
}
