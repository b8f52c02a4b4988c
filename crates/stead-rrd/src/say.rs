//! The program's messages on standard error while it runs: lines of text for people, or lines of
//! JSON for machines.
//!
//! Code that reports something uses the macros of `tracing`, with a sentence that can stand alone
//! and the same facts as fields:
//! ```
//! # let (name, address, error) = ("b1", "10.0.0.5:42217", std::io::Error::other("connection refused"));
//! tracing::warn!(backend = name, address, error = %error, "backend {name} ({address}) is down: {error}");
//! ```
//!
//! As text, only the sentence is written; as JSON, the fields stand beside it. A fact has the same
//! field everywhere: `backend`, `address`, `state`, `error`, `file`, `record` (a number in the
//! log), `epoch`.
//!
//! | level | for |
//! |---|---|
//! | error | somebody must act: writes are refused, or there is a fault in the program |
//! | warn | the router works, with less: a backend is down, a file could not be moved |
//! | info | events that a reader wants to find later: starts, stops, backends that come up, a new map |
//! | debug | single requests and connections |

use std::fmt;
use std::io;

use clap::ValueEnum;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::page::printable;

/// The format of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One sentence a line, with time and level. Under systemd the time is left out, because the
    /// journal has it.
    Text,
    /// One object a line.
    Json,
}

/// The least severe level that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)] // the table above
pub enum Least {
    Error,
    Warn,
    Info,
    Debug,
}

impl From<Least> for Level {
    fn from(least: Least) -> Level {
        match least {
            Least::Error => Level::ERROR,
            Least::Warn => Level::WARN,
            Least::Info => Level::INFO,
            Least::Debug => Level::DEBUG,
        }
    }
}

/// Prints all messages on standard error from now on, including a panic, in one line. Works once in
/// a process.
pub fn start(format: Format, least: Least) {
    let to_systemd = is_systemd();
    let subscriber: Box<dyn Subscriber + Send + Sync> = match format {
        Format::Text => Box::new(text(io::stderr, least, to_systemd)),
        Format::Json => Box::new(json(io::stderr, least)),
    };
    // a second call changes nothing
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(|fault| {
        let text = fault.to_string().replace('\n', ": ");
        tracing::error!(error = text, "internal fault, please report it: {text}");
    }));
}

fn text<W: for<'w> MakeWriter<'w> + Send + Sync + 'static>(
    writer: W,
    least: Least,
    to_systemd: bool,
) -> impl Subscriber + Send + Sync {
    tracing_subscriber::fmt()
        .with_max_level(Level::from(least))
        .with_writer(writer)
        .with_ansi(false)
        .event_format(Text { to_systemd })
        .finish()
}

fn json<W: for<'w> MakeWriter<'w> + Send + Sync + 'static>(
    writer: W,
    least: Least,
) -> impl Subscriber + Send + Sync {
    tracing_subscriber::fmt()
        .with_max_level(Level::from(least))
        .with_writer(writer)
        .json()
        .flatten_event(true)
        .finish()
}

/// Returns whether standard error goes to the journal of systemd. JOURNAL_STREAM then has the
/// device and the inode.
fn is_systemd() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    rustix::fs::fstat(io::stderr())
        .is_ok_and(|found| stream == format!("{}:{}", found.st_dev, found.st_ino))
}

/// Writes one sentence a line.
struct Text {
    to_systemd: bool,
}

impl<S, N> FormatEvent<S, N> for Text
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = *event.metadata().level();
        if self.to_systemd {
            // the journal reads the level from this prefix, in the numbers of syslog
            let priority = [(Level::ERROR, 3), (Level::WARN, 4), (Level::INFO, 6)]
                .iter()
                .find(|(known, _)| *known == level)
                .map_or(7, |(_, number)| *number);
            write!(writer, "<{priority}>")?;
        } else {
            SystemTime.format_time(&mut writer)?;
            write!(writer, " {level:<5} stead-rrd: ")?;
        }
        let mut sentence = Sentence(String::new());
        event.record(&mut sentence);
        writeln!(writer, "{}", printable(&sentence.0))
    }
}

struct Sentence(String);

impl Visit for Sentence {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Said(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Said {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn said(with: impl FnOnce(Said) -> Box<dyn Subscriber + Send + Sync>) -> String {
        let said = Said::default();
        tracing::subscriber::with_default(with(said.clone()), || {
            let (backend, address) = ("b1", "10.0.0.5:1");
            tracing::info!(
                backend,
                address,
                record = 7u64,
                "backend {backend} ({address}) is up"
            );
            tracing::warn!("two\nlines, \u{1b}[31mred");
            tracing::debug!("not said");
        });
        let bytes = said.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn make(said: Said) -> impl Fn() -> Said + Send + Sync {
        move || said.clone()
    }

    #[test]
    fn as_text_it_is_the_sentence() {
        let text_of = |to_systemd| said(|to| Box::new(text(make(to), Least::Info, to_systemd)));
        assert_eq!(
            text_of(true),
            "<6>backend b1 (10.0.0.5:1) is up\n<4>two\u{fffd}lines, \u{fffd}[31mred\n"
        );
        let terminal = text_of(false);
        let lines: Vec<&str> = terminal.lines().collect();
        assert_eq!(lines.len(), 2, "{terminal}");
        assert!(
            lines[0].starts_with("20")
                && lines[0].ends_with("Z INFO  stead-rrd: backend b1 (10.0.0.5:1) is up"),
            "{terminal}"
        );
    }

    #[test]
    fn as_json_the_facts_stand_beside_it() {
        let lines = said(|to| Box::new(json(make(to), Least::Info)));
        let lines: Vec<serde_json::Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (
                &lines[0]["backend"],
                &lines[0]["record"],
                &lines[0]["level"]
            ),
            (&"b1".into(), &7.into(), &"INFO".into())
        );
        assert_eq!(lines[0]["message"], "backend b1 (10.0.0.5:1) is up");
        assert_eq!(lines[1]["message"], "two\nlines, \u{1b}[31mred");
    }
}
