//! The verb `files`: an agent gives the files of one rrdcached to the router.

use std::io;

use sd_notify::NotifyState;

use super::certificates;
use super::listening::cannot_listen;
use super::told::{tell_systemd, Told};
use crate::connection::Address;
use crate::exit::{Failure, IO, USAGE};
use crate::files::Agent;
use crate::line::FilesOptions;

/// Gives files to routers until the program is told to stop.
pub async fn give_files(options: FilesOptions) -> Result<(), Failure> {
    let address = Address::parse(&options.listen)
        .map_err(|error| Failure(USAGE, format!("--listen {error}")))?;
    let mut told = Told::new()?;
    certificates::load(&options.tls, [("--listen", &address)])?;
    let agent = Agent::bind(options.base, &address, options.public, options.read_only).await;
    let agent = agent.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => cannot_listen("--listen", &address, &error),
        _ => Failure(IO, format!("cannot serve files on {address}: {error}")),
    })?;
    let address = agent.address();
    let address = address.map_err(|error| Failure(IO, error.to_string()))?;
    tracing::info!(address, "listening on {address}");
    tell_systemd(NotifyState::Ready);
    tokio::select! {
        () = agent.run() => {}
        () = told.wait_or(|| certificates::reload(&options.tls)) => {}
    }
    Ok(())
}
