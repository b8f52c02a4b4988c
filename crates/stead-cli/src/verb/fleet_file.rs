//! A fleet file in TOML that is edited in place: comments and order stay.

use std::fs;
use std::path::{Path, PathBuf};

use stead::fleet::{Node, PinTo, Pinned};
use stead::Fleet;

use crate::edit::Edited;
use crate::exit::{Failure, Result, USAGE};
use crate::input::shown;
use crate::rewrite;
use crate::suggest::hint;

/// A fleet file that is being edited.
pub struct FleetFile {
    path: PathBuf,
    /// The file before the edit.
    pub bytes: Vec<u8>,
    /// The fleet before the edit.
    pub fleet: Fleet,
    pub edited: Edited,
}

impl FleetFile {
    /// Reads a file that must be a fleet in TOML.
    pub fn read(path: &Path) -> Result<FleetFile> {
        let fleet = Fleet::read(path)?;
        let bytes = fs::read(path).map_err(|e| stead::Error::io("read", path, e))?;
        let text = String::from_utf8_lossy(&bytes);
        let json = text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with('{')
            || path
                .extension()
                .is_some_and(|extension| extension == "json");
        let edited = Edited::parse(&text).filter(|_| !json);
        let edited = edited.ok_or_else(|| {
            Failure::new(
                USAGE,
                format!(
                    "{}: this fleet is JSON, and stead edits TOML only; edit it with a \
                     program such as jq",
                    path.display()
                ),
            )
        })?;
        Ok(FleetFile {
            path: path.to_owned(),
            fleet,
            edited,
            bytes,
        })
    }

    /// Its name, for messages.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// A mistake in a line of the file.
    pub fn wrong(&self, line: usize, problem: String) -> Failure {
        Failure::new(USAGE, format!("{}:{line}: {problem}", self.name()))
    }

    /// Finds a node of the fleet.
    pub fn node(&self, name: &str) -> Result<&Node> {
        let node = self.fleet.nodes.iter().find(|node| node.name == name);
        node.ok_or_else(|| {
            let names = self.fleet.nodes.iter().map(|node| node.name.as_str());
            let hint = match name.contains(',') {
                true => "; names have no commas: write a space between two names".to_owned(),
                false => hint(name, names),
            };
            Failure::new(USAGE, format!("{}: no node `{name}`{hint}", self.name()))
        })
    }

    /// Returns the policies and pins that name a node, each with its line and in words.
    pub fn naming(&self, name: &str) -> Vec<(usize, String)> {
        let policies = self.fleet.policies.iter();
        let policies = policies
            .filter(|policy| policy.nodes.iter().any(|node| node == name))
            .map(|policy| (policy.line, format!("policy `{}`", policy.name)));
        let pins = self.fleet.pins.iter().filter_map(|pin| match &pin.to {
            PinTo::Nodes(nodes) if nodes.iter().any(|node| node == name) => {
                Some((pin.line, pin_in_words(&pin.what)))
            }
            _ => None,
        });
        let mut all: Vec<(usize, String)> = policies.chain(pins).collect();
        all.sort();
        all
    }

    /// Reads the edited fleet, which must break no rule.
    pub fn read_again(&self) -> Result<Fleet> {
        // the name has the same directory, so that a secret_file is found
        let edited = Fleet::parse(&self.edited.text(), &format!("{} (as edited)", self.name()));
        edited.map_err(|error| Failure::from(error).at("refused, nothing was written"))
    }

    /// Writes the edited fleet over the file, unless somebody else changed it since it was read.
    pub fn save(&self) -> Result {
        rewrite::replace(&self.path, &self.bytes, self.edited.text())
    }
}

fn pin_in_words(what: &Pinned) -> String {
    match what {
        Pinned::Key(key) => format!("the pin of key {}", shown(key)),
        Pinned::Range { .. } => "a pin by range".to_owned(),
    }
}
