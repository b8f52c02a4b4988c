//! The file that describes a carry: which map, which hub, what kind of data, which limits.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use stead::Store;

use super::files::{Files, FilesOptions};
use super::kind::Kind;
use super::servers::{MemcachedOptions, RedisOptions, SqlOptions};
use super::several::{Named, Several};
use super::shell::{Shell, ShellOptions};
use crate::exit::{Failure, Result, USAGE};

/// The file of a carry. docs/carry-reference.md describes each key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The map file, beside which its history is.
    pub map: PathBuf,
    /// The hub.
    pub url: String,
    /// For how many seconds all hosts must have confirmed a state before the next step.
    pub grace: u64,
    /// The journal; by default beside the map.
    pub journal: Option<PathBuf>,
    /// Nodes that are gone for good: nothing is read from them, written to them or removed there.
    #[serde(default)]
    pub lost: Vec<String>,
    /// What limits the work.
    #[serde(default)]
    pub limits: Limits,
    /// Files.
    pub files: Option<FilesOptions>,
    /// Any command.
    pub command: Option<ShellOptions>,
    /// Keys of memcached.
    pub memcached: Option<MemcachedOptions>,
    /// Keys of Redis.
    pub redis: Option<RedisOptions>,
    /// Rows of PostgreSQL.
    pub postgresql: Option<SqlOptions>,
    /// Rows of MariaDB.
    pub mariadb: Option<SqlOptions>,
    /// The file itself, from the root.
    #[serde(skip)]
    pub file: PathBuf,
    /// The directory of the file.
    #[serde(skip)]
    directory: PathBuf,
}

/// What limits the work of a carry.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How many nodes are listed at once.
    pub nodes: u32,
    /// How many items of a listed node are handled at once.
    pub workers: u32,
    /// How many items a second may be read from a node or written to it; 0: any number.
    pub items_per_second: u64,
    /// The same of bytes.
    pub bytes_per_second: u64,
    /// How often an operation is tried that fails for a reason that may pass.
    pub tries: u32,
    /// How many items may fail before the pass stops.
    pub failures: u64,
    /// How many items of a node the new place may lack before the step to `new`.
    pub absent: u64,
    /// How many items may have another value at the old place than at the new one, that may be the
    /// newer one. By default none where a kind knows which is the newer one.
    pub different: Option<u64>,
    /// How many items that only the new place has are removed there by a pass that verifies.
    pub only_new: u64,
    /// How many old copies of a node are removed in the state `new` although the new place lacks
    /// the item: applications have deleted it there. By default [`DELETED`], and none where the
    /// journal does not know that everything was compared.
    pub deleted: Option<u64>,
    /// How many nodes may have no items although they have so many keys that this is no chance.
    pub empty: u64,
    /// How many disks may have less room than what is to be copied there.
    pub full: u64,
    /// The percentage of the counted items that may be at nodes where no map places them, and the
    /// percentage of the paths that may not fit the pattern.
    pub overlooked: u64,
}

/// The usual limit of what applications have deleted at the new places.
pub const DELETED: u64 = 1000;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            nodes: 4,
            workers: 4,
            items_per_second: 0,
            bytes_per_second: 0,
            tries: 6,
            failures: 1000,
            absent: 0,
            different: None,
            only_new: 0,
            deleted: None,
            empty: 0,
            full: 0,
            overlooked: 10,
        }
    }
}

impl Limits {
    /// Returns the limits by which a run accepts something else than usual, as the file says them.
    pub fn raised(&self) -> Vec<String> {
        let usual = Limits::default();
        let all = [
            ("absent", Some(self.absent), Some(usual.absent)),
            ("different", self.different, usual.different),
            ("only_new", Some(self.only_new), Some(usual.only_new)),
            ("deleted", self.deleted, usual.deleted),
            ("empty", Some(self.empty), Some(usual.empty)),
            ("full", Some(self.full), Some(usual.full)),
            ("overlooked", Some(self.overlooked), Some(usual.overlooked)),
        ];
        let changed = all.into_iter().filter(|(_, now, usual)| now != usual);
        let told =
            changed.filter_map(|(name, now, _)| now.map(|now| format!("limits.{name} = {now}")));
        told.collect()
    }
}

impl Settings {
    /// Reads the file. Relative paths in it begin at its directory.
    ///
    /// Errors: the line and what is wrong with it.
    pub fn read(file: &Path) -> Result<Settings> {
        let bytes = fs::read(file)
            .map_err(|e| Failure::io(format_args!("cannot read {}", file.display()), &e))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let what = no_text(file, error.as_bytes(), error.utf8_error().valid_up_to());
            Failure::new(USAGE, format_args!("{}{what}", file.display()))
        })?;
        let mut settings = Settings::parse(&text)
            .map_err(|line| Failure::new(USAGE, format_args!("{}{line}", file.display())))?;
        let directory = file.parent().unwrap_or(Path::new(""));
        settings.map = directory.join(&settings.map);
        settings.journal = settings.journal.map(|journal| directory.join(journal));
        settings.directory = directory.to_owned();
        settings.file = std::path::absolute(file).unwrap_or(file.to_owned());
        Ok(settings)
    }

    fn parse(text: &str) -> std::result::Result<Settings, String> {
        let settings: Settings = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = line_at(text.as_bytes(), start);
            let what = of_another_type(text, error.span(), error.message())
                .or_else(|| without_quotes(text, line, error.message()))
                .or_else(|| out_of_place(error.message()))
                .or_else(|| lacking(text, line, error.message()))
                .unwrap_or_else(|| error.message().replace('\n', ", "));
            format!(":{line}: {what}")
        })?;
        let limits = &settings.limits;
        let ranges = BTreeMap::from([
            ("nodes", (u64::from(limits.nodes), 1, 256)),
            ("workers", (u64::from(limits.workers), 1, 256)),
            ("tries", (u64::from(limits.tries), 1, 100)),
            ("failures", (limits.failures, 0, 1_000_000)),
            ("absent", (limits.absent, 0, 1_000_000)),
            (
                "different",
                (limits.different.unwrap_or_default(), 0, u64::MAX),
            ),
            ("only_new", (limits.only_new, 0, u64::MAX)),
            (
                "deleted",
                (limits.deleted.unwrap_or_default(), 0, 1_000_000),
            ),
            ("empty", (limits.empty, 0, 65_536)),
            ("full", (limits.full, 0, 65_536)),
            ("overlooked", (limits.overlooked, 0, 100)),
        ]);
        for (name, (value, least, most)) in ranges {
            if !(least..=most).contains(&value) {
                return Err(format!(
                    ": limits.{name} is {value}; write {least} to {most}"
                ));
            }
        }
        let kinds = [
            settings.files.is_some(),
            settings.command.is_some(),
            settings.memcached.is_some(),
            settings.redis.is_some(),
            settings.postgresql.is_some(),
            settings.mariadb.is_some(),
        ];
        match kinds.contains(&true) {
            true => Ok(settings),
            false => Err(
                ": no kind of data is named; add a table [files], [command], [memcached], [redis], \
                 [postgresql] or [mariadb]"
                    .to_owned(),
            ),
        }
    }

    /// Returns the journal's file.
    pub fn journal(&self) -> PathBuf {
        self.journal.clone().unwrap_or_else(|| {
            let mut name = self.map.as_os_str().to_owned();
            name.push(".carry");
            PathBuf::from(name)
        })
    }

    /// Returns for how long all hosts must have confirmed a state.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(self.grace)
    }

    /// Returns the kind of data, or all kinds together, for a carry of the map of an id.
    ///
    /// Errors: what is wrong with its options.
    pub fn kind(&self, map_id: &[u8]) -> Result<Box<dyn Kind>> {
        let mut kinds = self.kinds(map_id)?;
        match kinds.len() {
            // its names are in journals as they are
            1 => Ok(kinds.remove(0).1),
            _ => Ok(Box::new(Several::new(kinds))),
        }
    }

    /// Returns each kind that the file names, with its word.
    fn kinds(&self, map_id: &[u8]) -> Result<Vec<Named>> {
        type Made = Result<Box<dyn Kind>>;
        fn boxed<K: Kind + 'static>(kind: K) -> Box<dyn Kind> {
            Box::new(kind)
        }
        let directory = &self.directory;
        let wrong = |line: String| Failure::new(USAGE, line);
        let files = |o: &FilesOptions| Files::new(o.clone(), map_id).map(boxed).map_err(wrong);
        let shell = |o: &ShellOptions| Shell::new(o.clone()).map(boxed).map_err(wrong);
        let made: [(&'static str, Option<Made>); 6] = [
            ("files", self.files.as_ref().map(files)),
            ("command", self.command.as_ref().map(shell)),
            ("memcached", self.memcached.as_ref().map(|o| Ok(o.kind()))),
            ("redis", self.redis.as_ref().map(|o| o.kind(directory))),
            (
                "postgresql",
                self.postgresql.as_ref().map(|o| o.postgresql(directory)),
            ),
            (
                "mariadb",
                self.mariadb.as_ref().map(|o| o.mariadb(directory)),
            ),
        ];
        let named = made
            .into_iter()
            .filter_map(|(word, made)| Some((word, made?)));
        named.map(|(word, made)| Ok((word, made?))).collect()
    }
}

/// Returns the number of the line at an offset.
fn line_at(text: &[u8], offset: usize) -> usize {
    let before = text[..offset].iter();
    before.filter(|b| **b == b'\n').count() + 1
}

/// Says what a file is that has no text beyond an offset.
fn no_text(file: &Path, bytes: &[u8], offset: usize) -> String {
    let is_binary = bytes.contains(&0);
    match Store::peek(file) {
        Ok(_) => ": this is a stead map, and no file of a carry; give the file in TOML that \
                  describes the carry, and names the map"
            .to_owned(),
        Err(_) if is_binary => ": this is a binary file, and no file of a carry; give the file in \
                                TOML that describes the carry"
            .to_owned(),
        Err(_) => format!(
            ":{}: this is no text in UTF-8; write it in UTF-8",
            line_at(bytes, offset)
        ),
    }
}

/// Says what to write for a value that TOML does not know, such as `2s` or `m.map`: what is wrong
/// with the same value in quotes, or that it must have quotes. `None` for other mistakes.
fn without_quotes(text: &str, number: usize, message: &str) -> Option<String> {
    // how the parser calls `2s`, `two` and `no`
    let called = ["invalid boolean", "invalid float", "invalid integer"];
    let is_this = message.contains("must be quoted")
        || called.iter().any(|called| message.starts_with(called));
    if !is_this {
        return None;
    }
    let line = text.lines().nth(number - 1)?;
    let (before, value) = line.split_once('=')?;
    let key = before.trim().rsplit('.').next()?;
    let value = value.split('#').next()?.trim();
    // something like `[{ table = members }]` is for the parser to explain
    if value.contains(['"', '\'', '[', '{', ',']) {
        return None;
    }
    let quoted = format!("{before}= \"{value}\"");
    let mut lines: Vec<&str> = text.lines().collect();
    lines[number - 1] = &quoted;
    let lines = lines.join("\n");
    let what = toml::from_str::<Settings>(&lines).err().and_then(|error| {
        let start = error.span()?.start.min(lines.len());
        let is_here = line_at(lines.as_bytes(), start) == number;
        let what = of_another_type(&lines, error.span(), error.message()).filter(|_| is_here)?;
        Some(what.rsplit_once("; write ")?.1.to_owned())
    });
    let what = what.unwrap_or_else(|| "a text in quotes".to_owned());
    let is = match value.len() {
        0 => "has no value".to_owned(),
        1..=40 => format!("is {value}"),
        _ => "is no value".to_owned(),
    };
    Some(format!("{key} {is}; write {what}"))
}

/// The settings that stand before all tables.
const AT_THE_TOP: [&str; 5] = ["map", "url", "grace", "journal", "lost"];

/// Says where a setting belongs that stands in a table; `None` for other mistakes. `message` is
/// what the parser says: "unknown field `lost`, expected one of ...".
fn out_of_place(message: &str) -> Option<String> {
    let (key, _) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let is_top = AT_THE_TOP.contains(&key);
    is_top.then(|| format!("{key} belongs above the first [table] of the file; move it there"))
}

/// Says how a line looks that a file or a table lacks; `None` for other mistakes. `message` is what
/// the parser says: "missing field `grace`", and `number` is the line where the table begins.
fn lacking(text: &str, number: usize, message: &str) -> Option<String> {
    let key = message.strip_prefix("missing field `")?.split('`').next()?;
    let table = text.lines().nth(number - 1).unwrap_or_default();
    let is_of = |word: &str| table.contains(word);
    let line = match key {
        "map" => "map = \"members.map\"",
        "url" => "url = \"file:///var/lib/stead/hub/members.map\"",
        "grace" => "grace = 60",
        "root" => "root = \"/srv/{node}\"",
        "pattern" => "pattern = \"{key}\"",
        "server" if is_of("redis") => "server = \"redis://{host}:{port}/0\"",
        "server" => "server = \"{host}:{port}\"",
        "connection" if is_of("mariadb") => "connection = \"mysql://carry@{host}:{port}/app\"",
        "connection" => "connection = \"host={host} port={port} dbname=app user=carry\"",
        "tables" => "tables = [{ table = \"members\", key = \"member\" }]",
        "table" => "table = \"members\"",
        "key" => "key = \"member\"",
        "list" => "list = \"ssh $STEAD_FROM ls /srv/boxes\"",
        "copy" => "copy = \"ssh $STEAD_FROM carry-box $STEAD_TO\"",
        "verify" => "verify = \"check-box $STEAD_FROM $STEAD_TO\"",
        "remove" => "remove = \"ssh $STEAD_FROM rm-box\"",
        _ => return None,
    };
    Some(format!("{key} is missing; add a line such as {line}"))
}

/// The settings that are times.
const SECONDS: [&str; 2] = ["grace", "seconds"];

/// Says what to write where a value has another type than its key; `None` for other mistakes.
/// `message` is what the parser says: "invalid type: string "2", expected u64".
fn of_another_type(text: &str, span: Option<Range<usize>>, message: &str) -> Option<String> {
    let is_this = message.starts_with("invalid type:") || message.starts_with("invalid value:");
    let expected = message.rsplit_once(", expected ").filter(|_| is_this)?.1;
    let span = span?;
    let before = text.get(..span.start)?.trim_end().strip_suffix('=')?;
    let is_of_key = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let key = before.trim_end().rsplit(|c| !is_of_key(c)).next()?;
    let key = Some(key).filter(|key| !key.is_empty())?;
    let value = text.get(span)?;
    let seconds = format!("a whole number of seconds, as in {key} = 60");
    let what = match expected {
        "u64" | "u32" if value.starts_with('-') => "a whole number from 0",
        "u64" | "u32" if message.starts_with("invalid value:") => "a smaller whole number",
        "u64" | "u32" if SECONDS.contains(&key) => &seconds,
        "u64" | "u32" => "a whole number, without quotes",
        "a boolean" => "true or false, without quotes",
        "a string" | "path string" => "a text in quotes",
        "a string or a list of strings" => {
            "a text in quotes, or a list of such texts in square brackets"
        }
        "a sequence" => "a list in square brackets",
        _ => return None,
    };
    // one line, and no longer than a message can bear
    let value = match value.len() <= 40 && !value.contains('\n') {
        true => format!("{key} is {value}"),
        false => format!("{key} has a value of another type"),
    };
    Some(format!("{value}; write {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carry::about::About;

    const GOOD: &str = "map = 'm.map'\nurl = 'file:///x/m.map'\ngrace = 5\n";
    const FILES: &str = "[files]\nroot = '/srv/{node}'\npattern = '{key}'\n";

    #[test]
    fn a_file_is_read_and_its_paths_begin_at_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("carry.toml");
        fs::write(&file, format!("{GOOD}{FILES}[limits]\nworkers = 9\n")).unwrap();
        let settings = Settings::read(&file).unwrap();
        assert_eq!(settings.map, directory.path().join("m.map"));
        assert_eq!(settings.file, file);
        assert!(settings.limits.raised().is_empty());
        assert_eq!(settings.journal(), directory.path().join("m.map.carry"));
        assert_eq!((settings.limits.workers, settings.limits.tries), (9, 6));
        assert!(settings.kind(&[]).is_ok());
    }

    #[test]
    fn servers_are_described_and_passwords_are_read_when_the_kind_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("carry.toml");
        let made = |table: &str| {
            fs::write(&file, format!("{GOOD}{table}")).unwrap();
            Settings::read(&file).and_then(|settings| settings.kind(&[]).map(|_| ()))
        };
        fs::write(directory.path().join("password"), "geheim\n").unwrap();
        fs::write(directory.path().join("empty"), "\n").unwrap();
        made("[memcached]\nserver = '{host}:11211'\n").unwrap();
        let sql = "connection = 'x'\ntables = [{ table = 'm', key = 'k' }]\n";
        for (table, feature) in [
            (
                "[redis]\nserver = '{host}'\npassword_file = 'password'\n".to_owned(),
                cfg!(feature = "redis"),
            ),
            (format!("[postgresql]\n{sql}"), cfg!(feature = "postgres")),
            (format!("[mariadb]\n{sql}"), cfg!(feature = "mysql")),
        ] {
            let end = made(&table);
            assert_eq!(end.is_ok(), feature, "{end:?}");
            assert!(end.map_or_else(|failure| failure.line.contains("feature"), |()| true));
        }
        if cfg!(feature = "redis") {
            for name in ["empty", "none"] {
                let table = format!("[redis]\nserver = 'x'\npassword_file = '{name}'\n");
                let line = made(&table).unwrap_err().line;
                let file = directory.path().join(name);
                let told = format!("password_file {}", file.display());
                assert!(line.starts_with(&told), "{line}");
            }
        }
        if cfg!(feature = "mysql") {
            let none = made("[mariadb]\nconnection = 'x'\ntables = []\n");
            assert!(none.unwrap_err().line.contains("tables"));
        }
        let odd = made("[memcached]\nserver = 'x'\nport = 1\n").unwrap_err();
        assert!(odd.line.contains(":6: unknown field `port`"), "{odd:?}");
        for key in AT_THE_TOP {
            let low = made(&format!("{FILES}{key} = 'x'\n")).unwrap_err();
            let told =
                format!(":7: {key} belongs above the first [table] of the file; move it there");
            assert!(low.line.ends_with(&told), "{low:?}");
        }
    }

    #[test]
    fn several_kinds_are_carried_as_one() {
        let command = "[command]\nlist = 'x'\ncopy = 'x'\nverify = 'x'\nremove = 'x'\n";
        let settings = Settings::parse(&format!("{GOOD}{FILES}{command}")).unwrap();
        let kinds = settings.kinds(&[1; 16]).unwrap();
        let words: Vec<&str> = kinds.iter().map(|(word, _)| *word).collect();
        assert_eq!(words, ["files", "command"]);
        // the command lists keys in no order
        assert!(!settings.kind(&[1; 16]).unwrap().is_ordered());
        let alone = Settings::parse(&format!("{GOOD}{FILES}")).unwrap();
        assert!(alone.kind(&[1; 16]).unwrap().is_ordered());
    }

    #[test]
    fn other_patterns_of_names_are_another_matter() {
        let about = |pattern: &str| {
            let table = format!("[memcached]\nserver = 'x'\npattern = {pattern}\n");
            let settings = Settings::parse(&format!("{GOOD}{table}")).unwrap();
            settings.kind(&[1; 16]).unwrap().about()
        };
        let one = about("'sess:{key}:{any}'");
        assert_eq!(one, About::of("[memcached]", "sess:{key}:{any}"));
        assert_eq!(about("['sess:{key}:{any}']"), one);
        let two = about("['sess:{key}:{any}', 'doc:{key}:{any}']");
        assert_ne!(two, one);
        assert_ne!(about("['doc:{key}:{any}', 'sess:{key}:{any}']"), two);
    }

    #[test]
    fn a_file_that_is_no_text_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("carry.toml");
        let read = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            let failure = Settings::read(&file).unwrap_err();
            assert_eq!(failure.code, USAGE);
            failure.line
        };
        let fleet = stead::Fleet::parse("name = 'm'\nnode = [{name = 'a'}]", "fleet").unwrap();
        let map = stead::build(&fleet, None).unwrap();
        let line = read(map.bytes());
        assert!(line.contains("carry.toml: this is a stead map"), "{line}");
        let line = read(b"\x7fELF\0\xff\xfe");
        assert!(line.contains("carry.toml: this is a binary file"), "{line}");
        let line = read(b"map = 'm'\nurl = 'caf\xe9'\n");
        assert!(
            line.contains("carry.toml:2: this is no text in UTF-8"),
            "{line}"
        );
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        for (text, part) in [
            (
                format!("{GOOD}colour = 1\n{FILES}"),
                ":4: unknown field `colour`",
            ),
            (format!("{GOOD}{FILES}rot = 1\n"), ":7: unknown field `rot`"),
            (
                format!("{GOOD}[files]\npattern = '{{key}}'\nroot = 'x/{{node}}'\n"),
                ":6: root is \"x/{node}\", which is not an absolute path; write it from / on",
            ),
            (
                format!("{GOOD}[files]\npattern = '{{key}}'\nroot = '/x/{{nod'\n"),
                ":6: the brace at character 4 has no other one; write {{",
            ),
            (
                format!("{GOOD}[memcached]\nserver = '10.0.0.1}}:11211'\n"),
                ":5: the brace at character 9 has no other one",
            ),
            (
                format!("{GOOD}[redis]\nserver = 'ü{{'\n"),
                ":5: the brace at character 2 has no other one",
            ),
            (
                format!("{GOOD}[postgresql]\nconnection = 'x password={{p{{'\ntables = []\n"),
                ":5: the brace at character 12 has no other one",
            ),
            (format!("{GOOD}{FILES}[limits]\nworkers = -1\n"), ":8: "),
            (
                format!("{GOOD}{FILES}[limits]\nworkers = 0\n"),
                "limits.workers is 0",
            ),
            (GOOD.to_owned(), "no kind of data"),
            (
                FILES.to_owned(),
                ":1: map is missing; add a line such as map = \"members.map\"",
            ),
            (
                format!("map = 'm'\nurl = 'u'\n{FILES}"),
                "grace is missing; add a line such as grace = 60",
            ),
            (
                format!("map = 'm'\ngrace = 1\n{FILES}"),
                "url is missing; add a line such as url = \"file:///",
            ),
            (
                format!("{GOOD}[files]\npattern = '{{key}}'\n"),
                ":4: root is missing; add a line such as root = \"/srv/{node}\"",
            ),
            (
                format!("{GOOD}[files]\nroot = '/srv/{{node}}'\n"),
                ":4: pattern is missing; add a line such as pattern = \"{key}\"",
            ),
            (
                format!("{GOOD}[memcached]\n"),
                ":4: server is missing; add a line such as server = \"{host}:{port}\"",
            ),
            (
                format!("{GOOD}[redis]\n"),
                ":4: server is missing; add a line such as server = \"redis://{host}:{port}/0\"",
            ),
            (
                format!("{GOOD}[postgresql]\ntables = []\n"),
                ":4: connection is missing; add a line such as connection = \"host={host} port",
            ),
            (
                format!("{GOOD}[mariadb]\ntables = []\n"),
                ":4: connection is missing; add a line such as connection = \"mysql://carry@",
            ),
            (
                format!("{GOOD}[mariadb]\nconnection = 'x'\n"),
                ":4: tables is missing; add a line such as tables = [{ table = \"members\", key",
            ),
            (
                format!("{GOOD}[command]\nlist = 'x'\ncopy = 'x'\nverify = 'x'\n"),
                ":4: remove is missing; add a line such as remove = \"ssh $STEAD_FROM rm-box\"",
            ),
            ("map = 1".to_owned(), ":1: map is 1; write a text in quotes"),
            (
                "map = 'm'\nurl = 'u'\ngrace = \"2\"\n".to_owned(),
                ":3: grace is \"2\"; write a whole number of seconds, as in grace = 60",
            ),
            (
                "map = 'm'\nurl = 'u'\ngrace = 2.5\n".to_owned(),
                ":3: grace is 2.5; write a whole number of seconds, as in grace = 60",
            ),
            (
                "map = 'm'\ngrace = 2s # of a request\n".to_owned(),
                ":2: grace is 2s; write a whole number of seconds, as in grace = 60",
            ),
            (
                "map = 'm'\ngrace = two\n".to_owned(),
                ":2: grace is two; write a whole number of seconds, as in grace = 60",
            ),
            (
                "map = 'm'\ngrace =\n".to_owned(),
                ":2: grace has no value; write a whole number of seconds, as in grace = 60",
            ),
            (
                "map = m.map\n".to_owned(),
                ":1: map is m.map; write a text in quotes",
            ),
            (
                format!("url = file:///x/m.map\n{FILES}"),
                ":1: url is file:///x/m.map; write a text in quotes",
            ),
            (
                format!("{GOOD}{FILES}owner = no\n"),
                ":7: owner is no; write true or false, without quotes",
            ),
            (
                format!("{GOOD}lost = nas5\n{FILES}"),
                ":4: lost is nas5; write a list in square brackets",
            ),
            (
                format!("{GOOD}{FILES}[limits]\nworkers = four\n"),
                ":8: workers is four; write a whole number, without quotes",
            ),
            (
                format!("{GOOD}{FILES}[limits]\nworkers = '4'\n"),
                ":8: workers is '4'; write a whole number, without quotes",
            ),
            (
                format!("{GOOD}{FILES}[limits]\nabsent = -1\n"),
                ":8: absent is -1; write a whole number from 0",
            ),
            (
                format!("{GOOD}{FILES}[limits]\nworkers = 5_000_000_000\n"),
                ":8: workers is 5_000_000_000; write a smaller whole number",
            ),
            (
                format!("lost = 'a'\n{GOOD}{FILES}"),
                ":1: lost is 'a'; write a list in square brackets",
            ),
            (
                format!("{GOOD}[redis]\nserver = 'x'\ncache = 'no'\n"),
                ":6: cache is 'no'; write true or false, without quotes",
            ),
            (
                format!("{GOOD}[redis]\nserver = 'x'\npattern = '{{key}}:{{key}}'\n"),
                ":6: pattern \"{key}:{key}\": {key} stands twice; write it once, such as \
                 \"sess:{key}:{any}\"",
            ),
            (
                format!("{GOOD}[redis]\nserver = 'x'\npattern = [\n'{{key}}',\n'x:{{any}}',\n]\n"),
                ":6: pattern \"x:{any}\": it does not say where the key is; write {key}, such as \
                 \"sess:{key}:{any}\"",
            ),
            (
                format!("{GOOD}[memcached]\nserver = 'x'\npattern = []\n"),
                ":6: pattern is an empty list; write at least one pattern, such as \
                 [\"sess:{key}:{any}\"], or leave it out where names are keys",
            ),
            (
                format!("{GOOD}[memcached]\nserver = 'x'\npattern = 5\n"),
                ":6: pattern is 5; write a text in quotes, or a list of such texts in square \
                 brackets",
            ),
            (
                format!("{GOOD}[files]\nroot = '/x/{{node}}'\npattern = 'a/b'\n"),
                ":6: the pattern \"a/b\" does not say where the key is",
            ),
            (
                format!(
                    "{GOOD}[mariadb]\nconnection = 'x'\ntables = [{{ table = 1, key = 'k' }}]\n"
                ),
                ":6: table is 1; write a text in quotes",
            ),
        ] {
            let line = Settings::parse(&text).unwrap_err();
            assert!(line.contains(part), "{text}: {line}");
        }
    }
}
