//! A router that serves no clients now: it refuses them, and reports its status.

use std::future::Future;
use std::sync::Arc;

use sd_notify::NotifyState;
use tokio::task::JoinSet;

use super::certificates;
use super::reporting::{bind_control, bind_metrics};
use super::start::Start;
use super::told::tell_systemd;
use crate::control::Operable;
use crate::exit::Failure;
use crate::listener::Listener;

/// Refuses clients, because of `what`, until `until` is done. Returns whether it was, and not the
/// program told to stop.
pub(super) async fn refuse_until<W: Operable>(
    start: &mut Start,
    work: Arc<W>,
    listeners: &[Listener],
    until: impl Future<Output = ()>,
    what: &str,
) -> Result<bool, Failure> {
    let serve = &start.serve;
    let mut tasks = JoinSet::new();
    let control = bind_control(serve)?;
    let asked = Arc::clone(&work);
    tasks.spawn(async move { control.run(asked).await });
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
    let is_done = tokio::select! {
        () = until => true,
        () = start.told.wait_or(|| certificates::reload(&serve.tls)) => false,
    };
    tasks.shutdown().await;
    Ok(is_done)
}
