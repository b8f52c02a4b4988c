//! A router that serves no clients now: it refuses them, and reports its status.

use std::future::Future;
use std::sync::Arc;

use sd_notify::NotifyState;
use tokio::task::JoinSet;

use super::certificates;
use super::places::Bound;
use super::reporting::bind_control;
use super::start::Start;
use super::told::tell_systemd;
use crate::control::Operable;
use crate::exit::Failure;

/// Refuses clients, because of `what`, until `until` is done. Returns whether it was, and not the
/// program told to stop.
pub(super) async fn refuse_until<W: Operable>(
    start: &mut Start,
    work: Arc<W>,
    bound: &Bound,
    until: impl Future<Output = ()>,
    what: &str,
) -> Result<bool, Failure> {
    let serve = &start.serve;
    let mut tasks = JoinSet::new();
    let control = bind_control(serve)?;
    let asked = Arc::clone(&work);
    tasks.spawn(async move { control.run(asked).await });
    if let Some(metrics) = bound.metrics.clone() {
        tasks.spawn(async move { metrics.run(work).await });
    }
    let why =
        format!("this router serves nobody now: {what}; ask the other one, or try again later");
    for listener in &bound.listeners {
        tasks.spawn(listener.refuse(why.clone()));
    }
    tell_systemd(NotifyState::Ready);
    tracing::info!("{what}");
    let is_done = tokio::select! {
        () = until => true,
        () = start.told.wait_or(|| certificates::reload(&serve.tls)) => false,
    };
    tasks.shutdown().await;
    Ok(is_done)
}
