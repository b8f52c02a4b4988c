//! What must be permitted before a map is published: the options, and the sentences of `plan`.

use clap::Args;
use serde::Serialize;
use stead::guard::{needs, Finding, Guard, Need, Release};
use stead::{Allow, Map};

use crate::exit::{Failure, Result, CONFLICT, REFUSED};

/// The options of the verbs that publish.
#[derive(Args)]
pub struct Permit {
    /// Let a change pass that a guard refuses: drop-copies, leave-data, lose-domain, move,
    /// take-back, with commas between them
    #[arg(long, value_name = "WORDS", value_parser = allowed, default_value = "", hide_default_value = true)]
    allow: Allow,
    /// Publish only if the newest epoch is N; 0 means that there is no map yet
    #[arg(long, value_name = "N", value_parser = crate::input::whole)]
    expect_epoch: Option<u64>,
    /// Refuse a map that this release of stead, such as 0.1, cannot read
    #[arg(long, value_name = "VERSION", value_parser = release)]
    readers: Option<Release>,
}

fn allowed(text: &str) -> std::result::Result<Allow, String> {
    Allow::parse(text).map_err(|error| error.to_string())
}

fn release(text: &str) -> std::result::Result<Release, &'static str> {
    Release::parse(text).ok_or("write the version of a release, like 0.1 or 0.1.2")
}

impl Permit {
    /// Returns the guards that are lifted.
    pub fn allow(&self) -> Allow {
        self.allow
    }

    /// Fails when the newest map is not the expected epoch.
    pub fn check_epoch(&self, newest: Option<&Map>, map: &str) -> Result {
        let now = newest.map_or(0, Map::epoch);
        let named = |epoch: u64| match epoch {
            0 => "no map".to_owned(),
            epoch => format!("epoch {epoch}"),
        };
        match self.expect_epoch {
            Some(expected) if expected != now => Err(Failure::new(
                CONFLICT,
                format!(
                    "{map}: {} was expected, and {} is there; nothing was changed, plan again",
                    named(expected),
                    named(now)
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Fails when the release that reads the map does not know what the new map needs.
    pub fn check_readers(&self, new: &Map, map: &str) -> Result {
        let Some(release) = self.readers else {
            return Ok(());
        };
        match needs(new).into_iter().rfind(|need| need.since > release) {
            None => Ok(()),
            Some(Need { since, what, .. }) => Err(Failure::new(
                REFUSED,
                format!(
                    "{map}: stead {release} cannot read the new map, which needs stead {since} for \
                     {what}; nothing was changed; update the readers first"
                ),
            )),
        }
    }
}

/// Returns the words that lift these guards, as `--allow` takes them.
pub fn words(guards: &[Guard]) -> String {
    let words: Vec<&str> = guards.iter().map(|guard| guard.word()).collect();
    words.join(",")
}

/// A finding in JSON.
#[derive(Serialize)]
pub struct FindingJson<'a> {
    guard: &'static str,
    finding: &'a str,
}

impl<'a> FindingJson<'a> {
    /// Returns the JSON form of a finding.
    pub fn of(finding: &'a Finding) -> FindingJson<'a> {
        FindingJson {
            guard: finding.guard.word(),
            finding: &finding.text,
        }
    }
}

/// The first release.
const FIRST: Release = Release(0, 1, 0);

/// Returns the sentences that say what the readers of the new map must know, and those of the old
/// map need not.
pub fn shut_out(old: Option<&Map>, new: &Map) -> Vec<String> {
    old.map_or(Vec::new(), |old| told(&needs(old), needs(new)))
}

fn told(known: &[Need], needs: Vec<Need>) -> Vec<String> {
    // no release is older than the first, so nobody is shut out by what it reads
    let fresh = |need: &Need| need.since > FIRST && !known.contains(need);
    let said = |need: Need| {
        format!(
            "hosts with stead before {} cannot read this map, for it has {}",
            need.since, need.what
        )
    };
    needs.into_iter().filter(fresh).map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_shut_out_is_told_once() {
        let need = |feature, since, what| Need {
            feature: Some(feature),
            since,
            what,
        };
        let known = need(0, FIRST, "a gradual change");
        let fresh = need(5, Release(0, 2, 0), "a tolerance");
        let lines = told(&[known], vec![known, need(4, FIRST, "a first"), fresh]);
        assert_eq!(
            lines,
            ["hosts with stead before 0.2.0 cannot read this map, for it has a tolerance"]
        );
        assert!(told(&[fresh], vec![known, fresh]).is_empty());
    }
}
