//! Files that are gone although their backends have taken updates for them: somebody has removed
//! them, or their disk is not mounted any more. rrdcached takes updates for such a file, says that
//! it has flushed them, and drops them. So the log keeps the updates until the file is back.

use std::collections::BTreeMap;
use std::time::Duration;

use super::carrying::Mover;
use super::mending::Copied;
use crate::backend::{files_back, on_disk, Backend};
use crate::layout::BackendId;
use crate::refusals::is_missing;
use crate::repairs::{Due, Need};

/// How long the log keeps the updates of a file that is gone everywhere. Somebody may have removed
/// it on purpose, and then its updates must not fill the log.
const GIVE_UP: Duration = Duration::from_secs(86_400);

impl Mover {
    /// Looks which of these files are back, and sends each of their backends everything again that
    /// it has not confirmed. All are looked at together, since each time costs a backend its
    /// connection.
    pub(super) async fn send_again(&self, due: &[Due]) {
        let mut found: BTreeMap<BackendId, Vec<&[u8]>> = BTreeMap::new();
        for Due { name, place, .. } in due.iter().filter(|due| due.need == Need::Gone) {
            let backend = self.router.backends.get(*place);
            if exists(&backend, name).await == Ok(true) {
                found.entry(*place).or_default().push(name);
            }
        }
        let repairs = &self.router.shared().repairs;
        for (place, names) in found {
            // before the entries are changed, or their records could be confirmed meanwhile
            let backend = self.router.backends.get(place);
            backend.send_again(files_back(names.iter().copied()));
            for name in names {
                repairs.turns(name, place, Need::Doubtful);
            }
        }
    }

    /// Copies a file that is gone to its backend if another one still has it. Otherwise the log
    /// keeps its updates for a day, or until there is no room for others.
    pub(super) async fn bring_back(
        &self,
        name: &[u8],
        place: BackendId,
        age: Duration,
    ) -> Result<Vec<Copied>, String> {
        let shared = self.router.shared();
        let repairs = &shared.repairs;
        if !repairs.is_gone(name, place) {
            return Err("it is back, and is being sent the updates that it has lost".to_owned());
        }
        let copies = shared.layout().now(name);
        if !copies.contains(&place) {
            return Ok(Vec::new());
        }
        let mut unknown = None;
        for other in copies.into_iter().filter(|other| *other != place) {
            let other = self.router.backends.get(other);
            match exists(&other, name).await {
                Ok(true) if !repairs.is_gone(name, other.id()) => {
                    repairs.turns(name, place, Need::Missing);
                    return self.fill(name, place).await;
                }
                Ok(_) => {}
                Err(error) => unknown = Some(format!("{}: {error}", other.name())),
            }
        }
        let backend = self.router.backends.get(place);
        let why = if age >= GIVE_UP {
            "it has been gone for a day"
        } else if self.holds_up_a_full_log(&backend) {
            "the log has no room for others"
        } else {
            let no_server = || "no server has it: put it back, and it is sent its updates".into();
            return Err(unknown.unwrap_or_else(no_server));
        };
        repairs.refused_by_all(place);
        let (backend, file) = (backend.name(), String::from_utf8_lossy(name));
        tracing::error!(
            backend,
            file = &*file,
            "{file} is gone from {backend}, and the log does not keep its updates any longer: {why}"
        );
        Ok(Vec::new())
    }

    /// Returns whether the log cannot grow and waits for no backend longer than for this one.
    fn holds_up_a_full_log(&self, backend: &Backend) -> bool {
        let log = &self.router.shared().log;
        let confirmed = log.confirmed(backend.name());
        let all = self.router.backends.all();
        log.extent().short.is_some()
            && all
                .iter()
                .all(|other| log.confirmed(other.name()) >= confirmed)
    }
}

/// Returns whether a backend has a file on its disk, and not only in its memory.
async fn exists(backend: &Backend, name: &[u8]) -> Result<bool, String> {
    let reply = backend.ask(&on_disk(name), false).await;
    let reply = reply.map_err(|error| error.to_string())?;
    Ok(!(reply.is_error() && is_missing(&reply.text)))
}
