//! Keeps the repair queue on disk, by the names of the backends: the router takes it up again when
//! it starts, and so does a standby that becomes the primary.

use std::io;

use super::hub::Router;
use crate::repairs::Need;
use crate::state::StateDir;

/// The word of a backend whose copies were not compared since its address changed. That is about
/// all of its files, so the name behind it is empty.
const UNCOMPARED: &[u8] = b"uncompared";

impl Router {
    /// Takes up the repair queue of the last run.
    pub fn load_repairs(&self, state: &StateDir) -> io::Result<()> {
        let backends = self.backends.all();
        let repairs = &self.shared().repairs;
        // a move that goes on has changed addresses before
        let is_stored = repairs.unstored().is_none();
        for (name, need, file) in state.repairs()? {
            let mut backends = backends.iter();
            let Some(backend) = backends.find(|backend| backend.name().as_bytes() == name) else {
                continue;
            };
            if need == UNCOMPARED {
                repairs.readdressed(backend.id());
            } else if let Some(need) = Need::named(&need) {
                repairs.add(&file, backend.id(), need);
            }
        }
        if is_stored {
            repairs.stored(repairs.version());
        }
        Ok(())
    }

    /// Stores the repair queue if it has changed. It is durable when the call returns. Blocks.
    pub fn store_repairs(&self, state: &StateDir) -> io::Result<()> {
        let repairs = &self.shared().repairs;
        let _storing = repairs.storing();
        let Some(queue) = repairs.unstored() else {
            return Ok(());
        };
        let name = |place| self.backends.get(place).name().as_bytes().to_vec();
        let uncompared = queue.uncompared.into_iter();
        let uncompared = uncompared.map(|place| (name(place), UNCOMPARED.to_vec(), Vec::new()));
        let entries = queue.entries.into_iter();
        let entries =
            entries.map(|(file, place, need)| (name(place), need.word().as_bytes().to_vec(), file));
        state.store_repairs(uncompared.chain(entries))?;
        repairs.stored(queue.version);
        Ok(())
    }
}
