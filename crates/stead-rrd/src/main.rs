//! The program `stead-rrd`.
#![forbid(unsafe_code)]

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use stead_rrd::connection::Address;
use stead_rrd::files::Agent;
use stead_rrd::journal::{Journal, Memory};
use stead_rrd::listener::{Allowed, Listener};
use stead_rrd::log::{self, Log};
use stead_rrd::path::Base;
use stead_rrd::router::Router;
use stead_rrd::shared::Options;
use tokio::signal::unix::{signal, Signal, SignalKind};

// the same codes as those of the program stead
const USAGE: u8 = 64;
const DATA: u8 = 65;
const NO_INPUT: u8 = 66;
const IO: u8 = 74;
const FLEET: u8 = 78;

/// Round-robin databases spread over many rrdcached servers, which clients use as if it were one
#[derive(Parser)]
#[command(name = "stead-rrd", version, max_term_width = 100)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve clients: route their requests to the backends of a map
    Serve(Serve),
    /// Give the RRD files beside an rrdcached to the router that moves them, and take new ones
    Files(FilesOptions),
}

#[derive(Args)]
struct Serve {
    /// The map; its nodes are the backends, each with an attribute `rrdcached`: unix:/path or host:port
    #[arg(long, value_name = "MAP")]
    map: PathBuf,
    /// The directory that clients believe all files to be in, as -b of rrdcached
    #[arg(long, value_name = "DIR")]
    base: PathBuf,
    /// Where to listen: unix:/path or host:port; may be given more than once
    #[arg(long, value_name = "ADDRESS", required = true)]
    listen: Vec<String>,
    /// What clients of the --listen before it may use, as UPDATE,FLUSH; all when it is left out
    #[arg(long, value_name = "COMMANDS")]
    allow: Vec<String>,
    /// Listen on addresses that others can reach, too; the protocol knows no passwords
    #[arg(long)]
    public: bool,
    /// The router's own directory: its log, in which writes stand until their backends have them on disk, and what it knows of moves
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Keep the log in memory only: a crash of the router loses updates that were acknowledged
    #[arg(long)]
    no_log: bool,
    /// The most that the log may grow to, in MiB; when it is full, writes are refused until backends have flushed
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    log_size: u64,
    /// Seconds until a write that waits in a backend's memory is flushed and leaves the log
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    flush_after: u64,
    /// Seconds that a backend may take for an answer; beyond, it is treated as down
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    timeout: u64,
    /// Let CREATE replace a file that is there, as rrdcached does unless the client says -O
    #[arg(long)]
    overwrite: bool,
}

#[derive(Args)]
struct FilesOptions {
    /// The directory of the files, as -b of the rrdcached beside it
    #[arg(long, value_name = "DIR")]
    base: PathBuf,
    /// Where to listen: unix:/path or host:port
    #[arg(long, value_name = "ADDRESS")]
    listen: String,
    /// Listen on an address that others can reach, too; the protocol knows no passwords
    #[arg(long)]
    public: bool,
    /// Give files and lists of them, but write and remove nothing
    #[arg(long)]
    read_only: bool,
}

/// An end that is not success.
struct Failure(u8, String);

fn main() -> ExitCode {
    let matches = match Line::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    match run(&matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(code, line)) => {
            eprintln!("stead-rrd: {}", line.replace('\n', " "));
            ExitCode::from(code)
        }
    }
}

fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let Line { verb } = Line::from_arg_matches(matches).map_err(|error| Failure(USAGE, error.to_string()))?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure(IO, format!("cannot start: {error}")))?;
    match verb {
        Verb::Serve(serve) => runtime.block_on(serve_until_told(serve, matches.subcommand_matches("serve").unwrap_or(matches))),
        Verb::Files(options) => runtime.block_on(give_files_until_told(options)),
    }
}

async fn give_files_until_told(options: FilesOptions) -> Result<(), Failure> {
    let address = Address::parse(&options.listen).map_err(|error| Failure(USAGE, format!("--listen {error}")))?;
    let mut told = Told::new()?;
    let agent = Agent::bind(options.base, &address, options.public, options.read_only).await;
    let agent = agent.map_err(|error| Failure(IO, format!("cannot give files on {address}: {error}")))?;
    eprintln!("stead-rrd: listening on {}", agent.address().map_err(|error| Failure(IO, error.to_string()))?);
    tokio::select! {
        () = agent.run() => {}
        () = told.to_end() => {}
    }
    Ok(())
}

/// The signals that end the program.
struct Told {
    interrupt: Signal,
    terminate: Signal,
    /// A limit of file sizes shall be an error of the write, and not the end of the program.
    _large: Signal,
}

impl Told {
    fn new() -> Result<Told, Failure> {
        let on = |kind| signal(kind).map_err(|error| Failure(IO, format!("cannot handle signals: {error}")));
        let large = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        Ok(Told { interrupt: on(SignalKind::interrupt())?, terminate: on(SignalKind::terminate())?, _large: on(large)? })
    }

    async fn to_end(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

async fn serve_until_told(serve: Serve, given: &ArgMatches) -> Result<(), Failure> {
    let places = listeners(&serve, given).map_err(|line| Failure(USAGE, line))?;
    let map = stead::Map::open_copy(&serve.map).map_err(|error| {
        let code = if error.status() == stead::Status::NotFound { NO_INPUT } else { DATA };
        Failure(code, error.to_string())
    })?;
    let base = Base::new(serve.base.as_os_str().as_encoded_bytes());
    let options = Options {
        base,
        flush_after: Duration::from_secs(serve.flush_after),
        patience: Duration::from_secs(serve.timeout.max(1)),
        overwrite: serve.overwrite,
    };
    let state = |error: io::Error| Failure(IO, format!("--state {}: {error}", serve.state.display()));
    std::fs::create_dir_all(&serve.state).map_err(state)?;
    if serve.no_log {
        return listen_and_route(map, Arc::new(Memory::default()), options, places, serve.public).await;
    }
    let bound = log::Options { bound: serve.log_size.saturating_mul(1 << 20), ..log::Options::default() };
    let log = Log::open(&serve.state.join("log"), bound).map_err(state)?;
    if let Some(notice) = log.notice() {
        eprintln!("stead-rrd: {notice}");
    }
    listen_and_route(map, Arc::new(log), options, places, serve.public).await
}

async fn listen_and_route(
    map: stead::Map, journal: Arc<dyn Journal>, options: Options, places: Vec<(Address, Allowed)>, public: bool,
) -> Result<(), Failure> {
    let mut told = Told::new()?;
    let router = Router::new(map, journal, options).map_err(|line| Failure(FLEET, line))?;
    let mut listeners = Vec::new();
    for (address, allowed) in places {
        let failed = |error: io::Error| Failure(IO, format!("cannot listen on {address}: {error}"));
        let listener = Listener::bind(&address, allowed, public).await.map_err(failed)?;
        eprintln!("stead-rrd: listening on {}", listener.address().map_err(failed)?);
        listeners.push(listener);
    }
    router.start();
    for listener in listeners {
        tokio::spawn(listener.run(Arc::clone(&router)));
    }
    told.to_end().await;
    Ok(())
}

/// Each --listen with the --allow that stands behind it, before the next.
fn listeners(serve: &Serve, given: &ArgMatches) -> Result<Vec<(Address, Allowed)>, String> {
    let indices = |name| given.indices_of(name).into_iter().flatten();
    let mut places: Vec<(usize, Address, Option<Allowed>)> = Vec::new();
    for (at, text) in indices("listen").zip(&serve.listen) {
        places.push((at, Address::parse(text).map_err(|error| format!("--listen {error}"))?, None));
    }
    for (at, text) in indices("allow").zip(&serve.allow) {
        let place = places.iter_mut().rev().find(|(listen, ..)| *listen < at);
        let (.., allowed) = place.ok_or_else(|| format!("--allow {text}: put it behind the --listen that it is for"))?;
        if allowed.is_some() {
            return Err(format!("--allow {text}: that --listen has one already; join them with a comma"));
        }
        *allowed = Some(Allowed::parse(text).map_err(|error| format!("--allow {error}"))?);
    }
    Ok(places.into_iter().map(|(_, address, allowed)| (address, allowed.unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<(Address, Allowed)>, String> {
        let words = format!("stead-rrd serve --map m --base /b --state /s {line}");
        let matches = Line::command().try_get_matches_from(words.split(' ')).map_err(|error| error.to_string())?;
        let Line { verb: Verb::Serve(serve) } = Line::from_arg_matches(&matches).unwrap() else { panic!("{line}") };
        listeners(&serve, matches.subcommand_matches("serve").unwrap())
    }

    #[test]
    fn an_allow_belongs_to_the_listen_before_it() {
        Line::command().debug_assert();
        let places = read("--listen unix:/s --listen 127.0.0.1:1 --allow update --listen 127.0.0.1:2").unwrap();
        let kinds: Vec<bool> = places.iter().map(|(_, allowed)| format!("{allowed:?}").contains("Update")).collect();
        assert_eq!(kinds, [false, true, false]);
        for line in ["--allow update --listen unix:/s", "--listen unix:/s --allow update --allow flush", "--listen x", "--listen unix:/s --allow x"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
