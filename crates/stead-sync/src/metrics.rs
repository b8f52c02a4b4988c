//! The metrics of a watch or a carry, as a text file for the textfile collector of node_exporter.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::exit::{Failure, Result};
use crate::token::token;

/// The figures of a watch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// The name of the map; empty before the first one.
    pub map: String,
    /// The epoch at the path of the map.
    pub epoch: u64,
    /// The epoch that was confirmed.
    pub confirmed: u64,
    /// The newest epoch of the hub.
    pub hub: u64,
    /// When the hub let this host in last, in seconds since 1970; 0 for never.
    pub contact: u64,
    /// Whether there is contact now.
    pub has_contact: bool,
    /// Maps that were installed.
    pub installed: u64,
    /// Pulls that were refused, or whose map was damaged.
    pub refused: u64,
    /// Commands of --exec that failed.
    pub failed: u64,
}

impl Figures {
    /// Returns the text.
    pub fn text(&self, file: &Path) -> String {
        text(
            "stead_sync",
            &self.map,
            file,
            &[
                ("epoch", "gauge", "The epoch of the map here.", self.epoch),
                (
                    "confirmed_epoch",
                    "gauge",
                    "The epoch that this host has confirmed.",
                    self.confirmed,
                ),
                (
                    "hub_epoch",
                    "gauge",
                    "The newest epoch of the hub.",
                    self.hub,
                ),
                (
                    "last_contact_timestamp_seconds",
                    "gauge",
                    "When the hub let this host in last.",
                    self.contact,
                ),
                (
                    "contact",
                    "gauge",
                    "Whether the hub answers and lets this host in.",
                    u64::from(self.has_contact),
                ),
                (
                    "installed_total",
                    "counter",
                    "Maps that were installed.",
                    self.installed,
                ),
                (
                    "refused_total",
                    "counter",
                    "Maps that were refused or damaged.",
                    self.refused,
                ),
                (
                    "exec_failed_total",
                    "counter",
                    "Commands of --exec that failed.",
                    self.failed,
                ),
            ],
        )
    }
}

/// A figure: its name, its kind, what it means, and its value.
pub type Row<'a> = (&'a str, &'a str, &'a str, u64);

/// Returns the text of figures. The file of the map labels them, too, so that several of a host
/// differ.
pub fn text(prefix: &str, map: &str, file: &Path, rows: &[Row<'_>]) -> String {
    let label = |text: &str| {
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    };
    let labels = format!(
        "map=\"{}\",file=\"{}\"",
        label(map),
        label(&file.display().to_string())
    );
    let mut text = String::new();
    for (name, kind, help, value) in rows {
        let _ = writeln!(
            text,
            "# HELP {prefix}_{name} {help}\n# TYPE {prefix}_{name} {kind}\n\
             {prefix}_{name}{{{labels}}} {value}"
        );
    }
    text
}

/// A file of metrics, which is replaced whole.
#[derive(Debug)]
pub struct MetricsFile {
    path: PathBuf,
}

impl MetricsFile {
    /// Returns the file, without writing it.
    pub fn new(path: &Path) -> MetricsFile {
        MetricsFile {
            path: path.to_owned(),
        }
    }

    /// Writes a text of figures.
    pub fn write(&self, text: &str) -> Result {
        let mut draft = self.path.clone().into_os_string();
        // the collector reads files that end with .prom
        draft.push(format!(".{}", token()));
        let done = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &self.path));
        done.map_err(|error| {
            let _ = fs::remove_file(&draft);
            Failure::io(format_args!("cannot write {}", self.path.display()), &error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_writers_of_one_file_do_not_disturb_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("figures.prom");
        std::thread::scope(|scope| {
            for text in ["one", "other"] {
                let file = MetricsFile::new(&path);
                scope.spawn(move || (0..500).for_each(|_| file.write(text).unwrap()));
            }
        });
        let left = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 1, "no drafts are left");
    }

    #[test]
    fn every_figure_has_its_kind_and_its_labels() {
        let figures = Figures {
            map: "a\"b".into(),
            epoch: 7,
            ..Figures::default()
        };
        let text = figures.text(Path::new("/etc/m"));
        assert!(
            text.contains("\nstead_sync_epoch{map=\"a\\\"b\",file=\"/etc/m\"} 7\n"),
            "{text}"
        );
        assert_eq!(text.matches("# TYPE").count(), 8);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("stead.prom");
        MetricsFile::new(&file).write(&text).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
