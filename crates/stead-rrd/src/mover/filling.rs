//! Copies a file to a backend that should have it and lacks it.

use super::carrying::Mover;
use super::mending::Copied;
use crate::health::Health;
use crate::layout::BackendId;
use crate::refusals::has_no_file;
use crate::repairs::Need;
use crate::verb::Verb;
use crate::words::line_of;

impl Mover {
    /// Copies a file to a backend that lacks it, unless there is nothing to do. Returns what was
    /// copied.
    pub(super) async fn fill(&self, name: &[u8], place: BackendId) -> Result<Vec<Copied>, String> {
        let backend = self.router.backends.get(place);
        let copies = self.router.shared().layout().now(name);
        if !copies.contains(&place) {
            return Ok(Vec::new());
        }
        if backend.health() != Health::Up {
            return Err(format!("{} is not up", backend.name()));
        }
        let elsewhere = self.somebody_has(name, place).await;
        if elsewhere == Some(false) {
            // nobody has made it
            let lost = self.router.shared().repairs.lose_unheard(name, place);
            if lost > 0 {
                let (backend, file) = (backend.name(), String::from_utf8_lossy(name));
                let updates = if lost == 1 {
                    "update that was"
                } else {
                    "updates that were"
                };
                tracing::error!(
                    backend,
                    file = &*file,
                    "{file} is on no server: {backend} refuses {lost} {updates} taken while none \
                     of its servers was up"
                );
            }
            return Ok(Vec::new());
        }
        // it may have arrived meanwhile, or it may be a file that is no RRD
        let flush = line_of(Verb::Flush, name);
        let asked = backend.ask(&flush, false).await;
        let is_here = asked.is_ok_and(|reply| !has_no_file(&reply.text));
        if elsewhere.is_none() {
            // a file that was made by --create is here; whether it should have older values is
            // known when another server of it is up
            if is_here {
                let repairs = &self.router.shared().repairs;
                repairs.turns(name, place, Need::Doubtful);
            }
            return Err("no other server of the file is up".to_owned());
        }
        let bytes = match is_here {
            true => self.mend_one(name, place).await?,
            false => self.give(name, place).await?,
        };
        Ok(match bytes {
            0 => Vec::new(),
            bytes => vec![(place, bytes)],
        })
    }

    /// Returns whether another backend has the file, or `None` if that is not known, because one is
    /// not up.
    async fn somebody_has(&self, name: &[u8], id: BackendId) -> Option<bool> {
        let copies = self.router.shared().layout().now(name);
        let line = line_of(Verb::Flush, name);
        let mut all_said = true;
        for other in copies.into_iter().filter(|other| *other != id) {
            match self.router.backends.get(other).ask(&line, false).await {
                Ok(reply) if !reply.is_error() => return Some(true),
                Ok(_) => {}
                Err(_) => all_said = false,
            }
        }
        all_said.then_some(false)
    }
}
