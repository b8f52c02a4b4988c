//! The places where a router is asked for its status: its control socket, and the metrics.

use std::io;

use super::listening::cannot_listen_at;
use crate::control::Control;
use crate::exit::{Failure, IO};
use crate::line::Serve;
use crate::metrics::Metrics;

/// Opens the control socket.
pub(super) fn bind_control(serve: &Serve) -> Result<Control, Failure> {
    Control::bind(&serve.state).map_err(|error| {
        Failure(
            IO,
            format!("--state {}/control: {error}", serve.state.display()),
        )
    })
}

/// Opens the socket of the metrics, if there is to be one.
pub(super) async fn bind_metrics(serve: &Serve) -> Result<Option<Metrics>, Failure> {
    let Some(address) = &serve.metrics else {
        return Ok(None);
    };
    let failed = |error: io::Error| cannot_listen_at("--metrics", address, &error);
    let metrics = Metrics::bind(address, serve.public).await.map_err(failed)?;
    let address = metrics.address().map_err(failed)?;
    tracing::info!(%address, "metrics at http://{address}/metrics");
    Ok(Some(metrics))
}
