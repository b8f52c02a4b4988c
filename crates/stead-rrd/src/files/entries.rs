//! A listing on its way, in pieces: of a million files, only some are in memory at any time.

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::tree::{Entry, Listed, Tree};

/// Bytes of a piece, from which on it is sent.
const PIECE: usize = 32 << 10;
/// How long a piece may wait for more; an empty one says that the listing goes on.
const WAIT: Duration = Duration::from_secs(1);

/// Entries in one row of bytes: of each its size, the length of its name, its name.
#[derive(Default)]
pub(crate) struct Entries(pub(crate) Vec<u8>);

impl Entries {
    fn push(&mut self, name: &[u8], size: u64) {
        self.0.extend_from_slice(&size.to_le_bytes());
        self.0.extend_from_slice(&(name.len() as u32).to_le_bytes());
        self.0.extend_from_slice(name);
    }

    /// Gives each its name and size; `None` when these bytes are no entries.
    pub(crate) fn read(&self, each: &mut impl FnMut(Vec<u8>, u64)) -> Option<()> {
        let mut rest = &self.0[..];
        while !rest.is_empty() {
            let (size, after) = rest.split_first_chunk()?;
            let (length, after) = after.split_first_chunk()?;
            let (name, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            each(name.to_vec(), u64::from_le_bytes(*size));
            rest = after;
        }
        Some(())
    }
}

/// Lists the directory piece by piece; the end says how it went. It ends early when nobody takes
/// the pieces.
pub(crate) fn list(
    tree: Tree,
    clean: bool,
) -> (mpsc::Receiver<Entries>, JoinHandle<io::Result<Listed>>) {
    let (out, pieces) = mpsc::channel(4);
    let task = tokio::task::spawn_blocking(move || {
        let (mut piece, mut sent) = (Entries::default(), Instant::now());
        let listed = tree.list(clean, |entry| {
            if let Entry::File(name, size) = entry {
                piece.push(name, size);
            }
            if piece.0.len() < PIECE && sent.elapsed() < WAIT {
                return ControlFlow::Continue(());
            }
            sent = Instant::now();
            match out.blocking_send(std::mem::take(&mut piece)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        let _ = out.blocking_send(piece); // when nobody takes it, nobody asks how it went
        Ok(listed)
    });
    (pieces, task)
}
