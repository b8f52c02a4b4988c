//! A listing that is sent in pieces, so that only a part of a million files is in memory at any
//! time.

use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::tree::{Entry, Listed, Tree};

/// A piece of at least this many bytes is sent.
const PIECE: usize = 32 << 10;
/// How long a piece may wait for more entries. An empty piece says that the listing continues.
const WAIT: Duration = Duration::from_secs(1);

/// Entries in one sequence of bytes. Each has its size, the length of its name, and its name.
#[derive(Default)]
pub(crate) struct Entries(pub(crate) Vec<u8>);

impl Entries {
    /// Adds an entry.
    pub(crate) fn push(&mut self, name: &[u8], size: u64) {
        self.0.extend_from_slice(&size.to_le_bytes());
        self.0.extend_from_slice(&(name.len() as u32).to_le_bytes());
        self.0.extend_from_slice(name);
    }

    /// Calls `each` with the name and the size of each entry. Returns `None` if the bytes are not
    /// entries.
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

/// Returns these names as pieces, without sizes.
pub(crate) fn pieces(names: &[Vec<u8>]) -> Vec<Entries> {
    let mut pieces = vec![Entries::default()];
    for name in names {
        if pieces.last().is_none_or(|piece| piece.0.len() >= PIECE) {
            pieces.push(Entries::default());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(name, 0);
        }
    }
    pieces
}

/// Lists the directory piece by piece. The task returns the result. It stops early if nobody takes
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
        let _ = out.blocking_send(piece); // if nobody takes it, nobody needs the result either
        Ok(listed)
    });
    (pieces, task)
}
