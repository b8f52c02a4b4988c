//! A router that serves clients, until the program is told to stop.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use stead::store::KEEP;
use stead::{Error, Map, Store};
use tokio::sync::watch;
use tokio::time::{timeout_at, Instant};

use super::certificates;
use super::claiming::Claiming;
use super::first::tell_of_first_start;
use super::places::{Bound, Places};
use super::reporting::bind_control;
use super::start::Start;
use super::told::tell_systemd;
use crate::create::Templates;
use crate::epochs::Epochs;
use crate::exit::{Failure, DATA, FLEET, IO};
use crate::line::Serve;
use crate::listener::Room;
use crate::log::Log;
use crate::mover::Mover;
use crate::report::Report;
use crate::router::Router;
use crate::status::Source;

/// Serves clients until the program is told to stop.
pub(super) async fn route(start: Start, log: Arc<dyn Log>, places: Places) -> Result<(), Failure> {
    let Start {
        serve,
        map,
        options,
        state,
        mut told,
    } = start;
    // the map by which the files are placed now, not the newest one at --map
    let settled = state
        .settled()
        .map_err(|error| Failure(DATA, error.to_string()))?;
    let first = settled.is_none();
    if first {
        is_newest(&serve, &map)?;
        tell_of_first_start(&serve.state, &serve.map, &map);
    }
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
    epochs.resume()?;
    let loaded = router.load_repairs(&state);
    loaded.map_err(|error| Failure(IO, error.to_string()))?;
    let mover = Mover::new(Arc::clone(&router), state, Arc::clone(&epochs));
    mover.load_move().map_err(|line| Failure(IO, line))?;
    let every = Duration::from_secs_f64(serve.check_every * 86400.0);
    mover.load_checks(every).map_err(|line| Failure(IO, line))?;
    let Bound { listeners, metrics } = places.bind(&serve).await?;
    let report = Arc::new(Report::new(
        Arc::clone(&router),
        Arc::clone(&mover),
        !serve.no_log,
    ));
    let control = bind_control(&serve)?;
    if let Some(metrics) = metrics {
        let asked = Arc::clone(&report);
        tokio::spawn(async move { metrics.run(asked).await });
    }
    if let Some(pair) = &router.shared().options.pair {
        // before anything is written in this term
        let claimed = async {
            router.claim().await;
            tokio::time::sleep_until(pair.serves_from().into()).await;
        };
        tokio::select! {
            () = control.run(Arc::new(Claiming::new(Arc::clone(&report)))) => {}
            () = claimed => {}
        }
        tokio::spawn(Arc::clone(&router).keep_claim());
    }
    router.start();
    let asked = Arc::clone(&report);
    tokio::spawn(async move { control.run(asked).await });
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
    tokio::spawn(Arc::clone(&mover).watch_files());
    tokio::spawn(mover.keep_checked(serve.check_rate << 20));
    tell_systemd(NotifyState::Ready);
    told.wait_or(|| {
        epochs.again.notify_one();
        reload_templates(&serve, &router);
        certificates::reload(&serve.tls);
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
    let grace = Instant::now() + Duration::from_secs(serve.grace);
    if timeout_at(grace, end.closed()).await.is_err() {
        tracing::warn!("some clients have not taken their answers in time");
    }
    hand_over(&router, grace).await;
    Ok(())
}

/// Waits, if the log is lost, until the servers have all writes or the grace ends. The next start
/// would not find a lost log, so until then only this process has what clients were told is safe.
async fn hand_over(router: &Router, grace: Instant) {
    let log = &router.shared().log;
    let lost = log.frontier().borrow().broken.is_some();
    if lost
        && timeout_at(grace, router.backends.have_everything())
            .await
            .is_err()
    {
        tracing::error!(
            "some servers have not taken in time what clients were told is safe; compare all \
             copies when the router runs again: `stead-rrd check DIR --restart`"
        );
    }
}

/// Refuses a map whose history has newer epochs. A router that has served by a map knows this from
/// its state directory; before that, it would place files where an old map has them. Where this
/// user cannot read the history, the map is taken as it is.
fn is_newest(serve: &Serve, map: &Map) -> Result<(), Failure> {
    match Store::new(&serve.map, KEEP).check_history(map) {
        Err(error @ Error::Identity { .. }) => Err(Failure(DATA, error.to_string())),
        _ => Ok(()),
    }
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
