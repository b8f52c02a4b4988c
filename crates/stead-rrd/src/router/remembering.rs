//! Keeps the repair queue on disk, by the names of the backends: the router takes it up again when
//! it starts, and so does a standby that becomes the primary.

use std::io;

use super::hub::Router;
use crate::dirs::Place;
use crate::repairs::Need;
use crate::state::StateDir;

/// The word of a backend whose copies were not compared since its address or its directory
/// changed. That is about all of its files, so the name behind it is empty.
const UNCOMPARED: &[u8] = b"uncompared";

/// The word of a backend before the directory that its files are in, as `device:number`.
const DIRECTORY: &[u8] = b"directory";

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
            } else if need == DIRECTORY {
                match directory(&file) {
                    Some(directory) => repairs.was_in(backend.id(), directory),
                    // somebody has changed the file, so nobody knows which one it was
                    None => repairs.readdressed(backend.id()),
                }
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
        // a backend that is in no map any more may come back with any disk
        let all = self.shared().layout().all();
        let mut directories = queue.directories;
        directories.retain(|(place, _)| all.contains(place));
        let directories = directories.into_iter().map(|(place, (device, number))| {
            let directory = format!("{device}:{number}").into_bytes();
            (name(place), DIRECTORY.to_vec(), directory)
        });
        let entries = queue.entries.into_iter();
        let entries =
            entries.map(|(file, place, need)| (name(place), need.word().as_bytes().to_vec(), file));
        state.store_repairs(directories.chain(uncompared).chain(entries))?;
        repairs.stored(queue.version);
        Ok(())
    }
}

/// Reads a directory as it is stored.
fn directory(text: &[u8]) -> Option<Place> {
    let (device, number) = std::str::from_utf8(text).ok()?.split_once(':')?;
    Some((device.parse().ok()?, number.parse().ok()?))
}
