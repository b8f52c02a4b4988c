//! The program `stead-rrd`.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches};
use sd_notify::NotifyState;
use stead_rrd::client::Allowed;
use stead_rrd::connection::Address;
use stead_rrd::control::{Control, Operable};
use stead_rrd::create::Templates;
use stead_rrd::epochs::Epochs;
use stead_rrd::exit::{Failure, DATA, FLEET, IO, NO_INPUT, USAGE};
use stead_rrd::files::Agent;
use stead_rrd::line::{command, CommandLine, FilesOptions, Serve, Task, Tls};
use stead_rrd::listener::{Listener, Room};
use stead_rrd::log::{self, Durable, Log, Memory};
use stead_rrd::metrics::Metrics;
use stead_rrd::mover::Mover;
use stead_rrd::pair::{Facts, Pair, Saved, Standby, Waiting};
use stead_rrd::path::Base;
use stead_rrd::policy::Policy;
use stead_rrd::report::Report;
use stead_rrd::role::Role;
use stead_rrd::router::Router;
use stead_rrd::shared::{Backlog, Options};
use stead_rrd::socket::Socket;
use stead_rrd::state::{Mirror, StateDir};
use stead_rrd::status::Source;
use stead_rrd::tls::{Identity, Paths};
use stead_rrd::{operate, say, tls};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::watch;

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    match run(&matches) {
        Ok(code) => ExitCode::from(code),
        Err(Failure(code, line)) => {
            if !line.is_empty() {
                eprintln!("stead-rrd: {}", line.replace('\n', " "));
            }
            ExitCode::from(code)
        }
    }
}

fn run(matches: &ArgMatches) -> Result<u8, Failure> {
    let CommandLine { task } = CommandLine::from_arg_matches(matches)
        .map_err(|error| Failure(USAGE, error.to_string()))?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure(IO, format!("cannot start: {error}")))?;
    match task {
        Task::Serve(serve) => {
            say::start(serve.saying.log_format, serve.saying.log_level);
            runtime
                .block_on(serve_until_told(
                    *serve,
                    matches.subcommand_matches("serve").unwrap_or(matches),
                ))
                .map(|()| 0)
        }
        Task::Files(options) => {
            say::start(options.saying.log_format, options.saying.log_level);
            runtime.block_on(give_files_until_told(options)).map(|()| 0)
        }
        Task::Status(ask) => runtime.block_on(operate::status(&ask)),
        Task::Move(told) => runtime.block_on(operate::move_files(&told)),
        Task::Repair(told) => runtime.block_on(operate::repair(&told)),
        Task::Check(told) => runtime.block_on(operate::check(&told)),
        Task::Promote(told) => runtime.block_on(operate::promote(&told)),
    }
}

/// Reports a state of this process to systemd, if systemd has started it. An error means that
/// systemd does not listen any more, so it is ignored.
fn tell_systemd(state: NotifyState<'_>) {
    let _ = sd_notify::notify(&[state]);
}

async fn give_files_until_told(options: FilesOptions) -> Result<(), Failure> {
    let address = Address::parse(&options.listen)
        .map_err(|error| Failure(USAGE, format!("--listen {error}")))?;
    let mut told = Told::new()?;
    let paths = identity(&options.tls, [("--listen", &address)])?;
    let agent = Agent::bind(options.base, &address, options.public, options.read_only).await;
    let agent =
        agent.map_err(|error| Failure(IO, format!("cannot serve files on {address}: {error}")))?;
    listening(
        &agent
            .address()
            .map_err(|error| Failure(IO, error.to_string()))?,
    );
    tell_systemd(NotifyState::Ready);
    tokio::select! {
        () = agent.run() => {}
        () = told.wait_or(|| paths.iter().for_each(tls::reload)) => {}
    }
    Ok(())
}

/// Loads the certificates, if they are given. They must be given for an address with `tls:`.
fn identity<'a>(
    options: &Tls,
    addresses: impl IntoIterator<Item = (&'a str, &'a Address)>,
) -> Result<Option<Paths>, Failure> {
    let Some(paths) = options.paths() else {
        let needs = |(_, address): &(_, &Address)| matches!(address, Address::Tls(_));
        return match addresses.into_iter().find(needs) {
            None => Ok(None),
            Some((option, address)) => {
                let line = format!(
                    "{option} {address}: it needs --tls-cert, --tls-key and --tls-ca as well"
                );
                Err(Failure(USAGE, line))
            }
        };
    };
    tls::install(Identity::load(&paths).map_err(|line| Failure(IO, line))?);
    Ok(Some(paths))
}

fn listening(address: &str) {
    tracing::info!(address, "listening on {address}");
}

/// The signals that the program reacts to.
struct Told {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    /// Caught so that a limit on file sizes is an error of the write and does not kill the program.
    _large: Signal,
}

impl Told {
    fn new() -> Result<Told, Failure> {
        let on = |kind| {
            signal(kind).map_err(|error| Failure(IO, format!("cannot handle signals: {error}")))
        };
        let large = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        Ok(Told {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hang_up: on(SignalKind::hangup())?,
            _large: on(large)?,
        })
    }

    /// Waits until the program is told to stop. Calls `again` whenever it is told to look at its
    /// files again.
    async fn wait_or(&mut self, again: impl Fn()) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => again(),
            }
        }
    }
}

async fn serve_until_told(serve: Serve, given: &ArgMatches) -> Result<(), Failure> {
    let places = listeners(&serve, given).map_err(|line| Failure(USAGE, line))?;
    let addresses = pair_addresses(&serve).map_err(|line| Failure(USAGE, line))?;
    let pair = addresses.iter();
    let pair = pair.flat_map(|(peer, own)| [("--standby", peer), ("--pair", own)]);
    let listen = places.iter().map(|place| ("--listen", &place.address));
    identity(&serve.tls, listen.chain(pair))?;
    let map = stead::Map::open_uncached(&serve.map).map_err(|error| {
        let code = if error.status() == stead::Status::NotFound {
            NO_INPUT
        } else {
            DATA
        };
        Failure(code, error.to_string())
    })?;
    let base = Base::new(serve.base.as_os_str().as_encoded_bytes());
    let load = |path: &PathBuf| {
        Templates::load(path)
            .map(Arc::new)
            .map_err(|error| Failure(DATA, format!("--create {error}")))
    };
    let create = serve.create.as_ref().map(load).transpose()?;
    let options = Options {
        base,
        flush_after: Duration::from_secs(serve.flush_after),
        patience: Duration::from_secs(serve.timeout.max(1)),
        backlog: Backlog {
            bytes: serve.backlog.saturating_mul(1 << 20) as usize,
            age: Duration::from_secs(serve.backlog_age),
        },
        idle: Some(serve.idle)
            .filter(|idle| *idle > 0)
            .map(Duration::from_secs),
        overwrite: serve.overwrite,
        create,
        pair: None,
    };
    let failed =
        |error: io::Error| Failure(IO, format!("--state {}: {error}", serve.state.display()));
    let state = Arc::new(StateDir::open(&serve.state).map_err(failed)?);
    let saved = Saved::load(state.dir()).map_err(failed)?;
    let told = Told::new()?;
    let bound = log::Size {
        bound: serve.log_size.saturating_mul(1 << 20),
        sync_every: Duration::from_millis(serve.sync_every),
        ..log::Size::default()
    };
    let Some((peer, own)) = addresses else {
        if saved.is_some() {
            return Err(Failure(
                USAGE,
                format!(
                    "--state {} belongs to one of two routers: give --standby and --pair, or, if \
                    the other router is gone for good, remove the file `pair` there",
                    serve.state.display()
                ),
            ));
        }
        let log: Arc<dyn Log> = if serve.no_log {
            Arc::new(Memory::default())
        } else {
            open_log(&serve, bound)?
        };
        return route(&serve, map, log, options, Places::Free(places), state, told).await;
    };
    let listeners = Places::Free(places).bind(&serve).await?;
    let socket = Socket::bind(&own, serve.public)
        .await
        .map_err(|error| Failure(IO, format!("--pair {own}: {error}")))?;
    let saved = saved.unwrap_or_else(|| Saved::new(serve.role));
    if saved.role == Role::Standby {
        let standby = Standby::open(Arc::clone(&state), bound, saved.clone(), peer);
        let standby = standby.map_err(failed)?;
        // from now on the directory says that it is a standby
        saved.store(state.dir()).map_err(failed)?;
        tokio::spawn(Arc::clone(&standby).listen(socket));
        let never = std::future::pending();
        return stand_by(
            &serve,
            standby,
            &listeners,
            told,
            never,
            "the standby of two routers",
        )
        .await
        .map(drop);
    }
    let log = open_log(&serve, bound)?;
    let facts = Facts {
        state: Arc::clone(&state),
        log,
        peer,
        lost: serve.standby_lost,
    };
    let pair = Pair::new(facts, saved).map_err(failed)?;
    state.mirror_to(Arc::clone(&pair) as Arc<dyn Mirror>);
    let mut open = pair.open();
    pair.start(socket)
        .map_err(|error| Failure(IO, format!("--pair {own}: {error}")))?;
    let opened = async move {
        let _ = open.wait_for(|open| *open).await;
    };
    let waiting = Arc::new(Waiting::new(Arc::clone(&pair)));
    let why = "waiting for the other one of two routers";
    let Some(told) = stand_by(&serve, waiting, &listeners, told, opened, why).await? else {
        return Ok(());
    };
    let options = Options {
        pair: Some(Arc::clone(&pair)),
        ..options
    };
    let places = Places::Bound(listeners);
    route(&serve, map, pair, options, places, state, told).await
}

/// Where clients connect.
enum Places {
    Free(Vec<Place>),
    Bound(Vec<Listener>),
}

impl Places {
    async fn bind(self, serve: &Serve) -> Result<Vec<Listener>, Failure> {
        let places = match self {
            Places::Free(places) => places,
            Places::Bound(listeners) => return Ok(listeners),
        };
        let mut listeners = Vec::new();
        for Place {
            address,
            allowed,
            policy,
        } in places
        {
            let failed =
                |error: io::Error| Failure(IO, format!("cannot listen on {address}: {error}"));
            let listener = Listener::bind(&address, allowed, policy, serve.public)
                .await
                .map_err(failed)?;
            listening(&listener.address().map_err(failed)?);
            listeners.push(listener);
        }
        Ok(listeners)
    }
}

fn open_log(serve: &Serve, bound: log::Size) -> Result<Arc<Durable>, Failure> {
    let log = Durable::open(&serve.state.join("log"), bound)
        .map_err(|error| Failure(IO, format!("--state {}: {error}", serve.state.display())))?;
    if let Some(notice) = log.notice() {
        tracing::warn!("{notice}");
    }
    Ok(Arc::new(log))
}

/// Returns the addresses of the other router and of this one, if there are two.
fn pair_addresses(serve: &Serve) -> Result<Option<(Address, Address)>, String> {
    let (Some(standby), Some(pair)) = (&serve.standby, &serve.pair) else {
        return Ok(None);
    };
    let standby = Address::parse(standby).map_err(|error| format!("--standby {error}"))?;
    let pair = Address::parse(pair).map_err(|error| format!("--pair {error}"))?;
    if standby == pair {
        return Err(format!(
            "--standby and --pair are both {pair}: the first is the other router's address"
        ));
    }
    Ok(Some((standby, pair)))
}

/// Serves no clients, but reports the status, until `until` is done. Returns `None` if the program
/// is told to stop before.
async fn stand_by<W: Operable>(
    serve: &Serve,
    work: Arc<W>,
    listeners: &[Listener],
    mut told: Told,
    until: impl std::future::Future<Output = ()>,
    what: &str,
) -> Result<Option<Told>, Failure> {
    let mut tasks = tokio::task::JoinSet::new();
    let control = bind_control(serve)?;
    tasks.spawn(control.run(Arc::clone(&work)));
    if let Some(metrics) = bind_metrics(serve).await? {
        tasks.spawn(metrics.run(Arc::clone(&work)));
    }
    let why =
        format!("this router serves nobody now: {what}; ask the other one, or try again later");
    for listener in listeners {
        tasks.spawn(listener.refuse(why.clone()));
    }
    tell_systemd(NotifyState::Ready);
    tracing::info!("{what}");
    let ended = tokio::select! {
        () = until => Some(()),
        () = told.wait_or(|| serve.tls.paths().iter().for_each(tls::reload)) => None,
    };
    tasks.shutdown().await;
    Ok(ended.map(|()| told))
}

fn bind_control(serve: &Serve) -> Result<Control, Failure> {
    Control::bind(&serve.state).map_err(|error| {
        Failure(
            IO,
            format!("--state {}/control: {error}", serve.state.display()),
        )
    })
}

async fn bind_metrics(serve: &Serve) -> Result<Option<Metrics>, Failure> {
    let Some(address) = &serve.metrics else {
        return Ok(None);
    };
    let failed = |error: io::Error| Failure(IO, format!("--metrics {address}: {error}"));
    let metrics = Metrics::bind(address, serve.public).await.map_err(failed)?;
    let address = metrics.address().map_err(failed)?;
    tracing::info!(%address, "metrics at http://{address}/metrics");
    Ok(Some(metrics))
}

async fn route(
    serve: &Serve,
    map: stead::Map,
    log: Arc<dyn Log>,
    options: Options,
    places: Places,
    state: Arc<StateDir>,
    mut told: Told,
) -> Result<(), Failure> {
    // the map by which the files are placed now, not the newest one at --map
    let settled = state
        .settled()
        .map_err(|error| Failure(DATA, error.to_string()))?;
    let first = settled.is_none();
    let router = Router::new(settled.unwrap_or(map), log, options)
        .map(Arc::new)
        .map_err(|line| Failure(FLEET, line))?;
    if first {
        state
            .settle_on(router.shared().layout().settled().map())
            .map_err(|error| Failure(IO, error.to_string()))?;
    }
    let epochs = Arc::new(Epochs::new(
        Arc::clone(&router),
        Arc::clone(&state),
        &serve.map,
    ));
    epochs.resume().map_err(|line| Failure(FLEET, line))?;
    let mover = Mover::new(Arc::clone(&router), state, Arc::clone(&epochs));
    mover.load_repairs().map_err(|line| Failure(IO, line))?;
    mover.load_move().map_err(|line| Failure(IO, line))?;
    let every = Duration::from_secs_f64(serve.check_every * 86400.0);
    mover.load_checks(every).map_err(|line| Failure(IO, line))?;
    let listeners = places.bind(serve).await?;
    let report = Arc::new(Report::new(
        Arc::clone(&router),
        Arc::clone(&mover),
        !serve.no_log,
    ));
    let control = bind_control(serve)?;
    if let Some(metrics) = bind_metrics(serve).await? {
        tokio::spawn(metrics.run(Arc::clone(&report)));
    }
    if let Some(pair) = &router.shared().options.pair {
        // before anything is written in this term
        router.claim().await;
        tokio::time::sleep_until(pair.serves_from().into()).await;
        tokio::spawn(Arc::clone(&router).keep_claim());
    }
    router.start();
    tokio::spawn(control.run(Arc::clone(&report)));
    let (end, ending) = watch::channel(false);
    let room = Room {
        each: serve.clients,
        listeners: listeners.len() as u64,
    };
    for listener in listeners {
        tokio::spawn(listener.run(Arc::clone(&router), ending.clone(), room.clone()));
    }
    drop(ending);
    tokio::spawn(Arc::clone(&epochs).watch());
    tokio::spawn(Arc::clone(&mover).store_repairs());
    tokio::spawn(Arc::clone(&mover).keep_moving());
    tokio::spawn(Arc::clone(&mover).keep_whole());
    tokio::spawn(mover.keep_checked(serve.check_rate << 20));
    tell_systemd(NotifyState::Ready);
    told.wait_or(|| {
        epochs.again.notify_one();
        reload_templates(serve, &router);
        serve.tls.paths().iter().for_each(tls::reload);
    })
    .await;
    tell_systemd(NotifyState::Stopping);
    let connected = Source::status(&*report).await.clients.connected;
    tracing::info!(
        clients = connected,
        "told to stop: {connected} clients get the answers that they wait for"
    );
    // every client holds a receiver until it leaves
    end.send_replace(true);
    if tokio::time::timeout(Duration::from_secs(serve.grace), end.closed())
        .await
        .is_err()
    {
        tracing::warn!("some clients have not taken their answers in time");
    }
    Ok(())
}

/// Loads the file of --create again. If it has a mistake, the templates stay as they were.
fn reload_templates(serve: &Serve, router: &Router) {
    let Some(path) = &serve.create else { return };
    match Templates::load(path) {
        Ok(templates) => {
            router.shared().use_templates(templates);
            tracing::info!("--create {} is loaded again", path.display());
        }
        Err(error) => {
            tracing::warn!("--create {error}; the templates from before stay in use");
        }
    }
}

/// A --listen with the options that follow it.
struct Place {
    address: Address,
    allowed: Allowed,
    policy: Policy,
}

/// Returns each --listen with the options that follow it, before the next --listen.
fn listeners(serve: &Serve, given: &ArgMatches) -> Result<Vec<Place>, String> {
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
    use super::*;
    use stead_rrd::log::Durability;
    use stead_rrd::policy::Answer;

    fn read(line: &str) -> Result<Vec<Place>, String> {
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
        listeners(&serve, matches.subcommand_matches("serve").unwrap())
    }

    #[test]
    fn an_option_of_a_listener_belongs_to_the_listen_before_it() {
        command().debug_assert();
        let line = "--listen unix:/s --durability crash --listen 127.0.0.1:1 --allow update \
            --answer logged --durability power --listen 127.0.0.1:2";
        let places = read(line).unwrap();
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
            assert!(read(line).is_err(), "{line}");
        }
    }
}
