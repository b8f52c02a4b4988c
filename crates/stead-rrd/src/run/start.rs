//! What a router is started with: everything that its command line names, read and checked.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::told::Told;
use crate::create::Templates;
use crate::exit::{Failure, DATA, IO, NO_INPUT, PERMISSION};
use crate::line::Serve;
use crate::log::{Durable, Size};
use crate::mapfile::put_back_from;
use crate::pair::Serves;
use crate::path::Base;
use crate::shared::{Backlog, Options};
use crate::state::StateDir;

/// What a router is started with.
pub(super) struct Start {
    pub(super) serve: Serve,
    pub(super) map: stead::Map,
    pub(super) options: Options,
    pub(super) state: Arc<StateDir>,
    pub(super) told: Told,
}

impl Start {
    /// Reads the map and the templates, and takes the state directory.
    pub(super) fn new(serve: Serve) -> Result<Start, Failure> {
        let map = stead::Map::open_uncached(&serve.map).map_err(|error| match error.status() {
            stead::Status::NotFound => Failure(NO_INPUT, format!("{error}{}", kept_map(&serve))),
            stead::Status::Permission => Failure(PERMISSION, error.to_string()),
            _ => Failure(DATA, error.to_string()),
        })?;
        let options = options(&serve)?;
        let state = StateDir::open(&serve.state).map_err(|error| of_state(&serve, error))?;
        Ok(Start {
            map,
            options,
            state: Arc::new(state),
            told: Told::new()?,
            serve,
        })
    }

    /// Returns what this router serves, which both of a pair must agree on.
    pub(super) fn serves(&self) -> Serves {
        Serves {
            fleet: self.map.name().to_owned(),
            base: String::from_utf8_lossy(self.options.base.directory()).into_owned(),
        }
    }

    /// Returns the size of the durable log.
    pub(super) fn log_size(&self) -> Size {
        Size {
            bound: self.serve.log_size.saturating_mul(1 << 20),
            sync_every: Duration::from_millis(self.serve.sync_every),
            ..Size::default()
        }
    }

    /// Opens the durable log.
    pub(super) fn open_log(&self) -> Result<Arc<Durable>, Failure> {
        let log = Durable::open(&self.serve.state.join("log"), self.log_size());
        let log = log.map_err(|error| self.failed(error))?;
        if let Some(notice) = log.notice() {
            tracing::warn!("{notice}");
        }
        Ok(Arc::new(log))
    }

    /// Returns the failure of something in the state directory.
    pub(super) fn failed(&self, error: impl Display) -> Failure {
        of_state(&self.serve, error)
    }
}

/// Says where the state directory has a map, if it has one.
fn kept_map(serve: &Serve) -> String {
    let kept = [("target.map", true), ("settled.map", false)];
    let kept = kept.iter().find_map(|(name, is_target)| {
        let map = stead::Map::open_uncached(serve.state.join(name)).ok()?;
        Some(put_back_from(&serve.state, *is_target, map.epoch()))
    });
    kept.unwrap_or_default()
}

fn of_state(serve: &Serve, error: impl Display) -> Failure {
    Failure(IO, format!("--state {}: {error}", serve.state.display()))
}

fn options(serve: &Serve) -> Result<Options, Failure> {
    let load = |path: &PathBuf| {
        Templates::load(path)
            .map(Arc::new)
            .map_err(|error| Failure(DATA, format!("--create {error}")))
    };
    Ok(Options {
        base: Base::new(serve.base.as_os_str().as_encoded_bytes()),
        flush_after: Duration::from_secs(serve.flush_after),
        sync_after: Duration::from_secs(serve.sync_after),
        patience: Duration::from_secs(serve.timeout.max(1)),
        backlog: Backlog {
            bytes: serve.backlog.saturating_mul(1 << 20) as usize,
            age: Duration::from_secs(serve.backlog_age),
        },
        idle: Some(serve.idle)
            .filter(|idle| *idle > 0)
            .map(Duration::from_secs),
        overwrite: serve.overwrite,
        create: serve.create.as_ref().map(load).transpose()?,
        pair: None,
    })
}
