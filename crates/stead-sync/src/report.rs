//! What a host reports of itself: which epoch it has, and what it can read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stead::guard::{needs, readable, Release};
use stead::Map;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the names begin with that carriers report by.
pub const CARRIER: &str = "carry.";

/// What a host says. It is JSON, at the key or in the file of the host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The name of the host.
    pub host: String,
    /// Which of the machines that could have this name it is: two at once are a mistake.
    pub instance: String,
    /// The epoch that the host confirms; 0 when it has no map.
    pub epoch: u64,
    /// The digest of this epoch, in hex digits; empty for epoch 0.
    pub digest: String,
    /// The epoch at the path of the map. It is ahead of `epoch` while the command of `--exec` has
    /// not succeeded.
    pub installed: u64,
    /// The version of this program.
    pub version: String,
    /// The oldest release of stead on the host that reads the map.
    pub readers: String,
    /// The bits of the features that this stead reads.
    pub features: u64,
    /// When the report was made, in seconds since 1970, by the host's clock.
    pub time: u64,
    /// Whether a watch reports, rather than single pulls.
    pub watched: bool,
    /// Whether that watch has said that it ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// Why the host does not take or confirm the newest map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The journal by which a carrier works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
}

impl Report {
    /// Returns the report of a host without a map. `readers` is the oldest release that reads maps
    /// there, if it is not this one.
    pub fn new(host: &str, instance: &str, readers: Option<Release>) -> Report {
        Report {
            host: host.to_owned(),
            instance: instance.to_owned(),
            epoch: 0,
            digest: String::new(),
            installed: 0,
            version: VERSION.to_owned(),
            readers: readers.map_or(VERSION.to_owned(), |release| release.to_string()),
            features: readable(),
            time: 0,
            watched: false,
            ended: false,
            problem: None,
            journal: None,
        }
    }

    /// Returns whether a carrier reports. It is waited for like a host, and reads by no map.
    pub fn is_carrier(&self) -> bool {
        self.host.starts_with(CARRIER)
    }

    /// Returns the report, as of a time.
    pub fn at(&self, time: u64) -> Report {
        Report {
            time,
            ..self.clone()
        }
    }

    /// Returns whether both say the same, at whatever time.
    pub fn says(&self, other: &Report) -> bool {
        self.at(0) == other.at(0)
    }

    /// Says why the host cannot read a map, if it cannot.
    pub fn cannot_read(&self, map: &Map) -> Option<String> {
        let release = Release::parse(&self.readers);
        let lacking = needs(map).into_iter().find(|need| {
            let unknown = need
                .feature
                .is_some_and(|bit| self.features >> bit & 1 == 0);
            unknown || release.is_none_or(|release| need.since > release)
        })?;
        let bit = lacking
            .feature
            .map_or(String::new(), |bit| format!(" (feature {bit})"));
        Some(format!(
            "host {} (stead {}) cannot read epoch {}, which has {}{bit} and needs stead {}",
            self.host,
            self.readers,
            map.epoch(),
            lacking.what,
            lacking.since
        ))
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead::{build, Fleet};

    fn map(text: &str) -> Map {
        let fleet = Fleet::parse(&format!("name = 'm'\n{text}"), "fleet").unwrap();
        build(&fleet, None).unwrap()
    }

    #[test]
    fn a_host_reads_what_its_features_and_its_release_know() {
        let plain = map("node = [{name = 'a'}]");
        let first = map(
            "replicas = 2\nnode = [{name = 'a'}, {name = 'b'}]\nfirst = [{key = 'k', node = 'b'}]",
        );
        let host = Report::new("web1", "i", None);
        assert_eq!(host.cannot_read(&first), None);
        let old = Report {
            features: host.features & !(1 << 4),
            ..host.clone()
        };
        assert_eq!(old.cannot_read(&plain), None);
        let said = old.cannot_read(&first).unwrap();
        assert!(
            said.contains("host web1") && said.contains("feature 4"),
            "{said}"
        );
        let older = Report::new("web2", "i", Release::parse("0.0.9"));
        assert!(older
            .cannot_read(&plain)
            .unwrap()
            .contains("needs stead 0.1.0"));
    }

    #[test]
    fn a_report_is_the_same_at_any_time() {
        let host = Report::new("web1", "i", None);
        assert!(host.says(&host.at(7)));
        assert!(!host.says(&Report {
            epoch: 1,
            ..host.clone()
        }));
    }
}
