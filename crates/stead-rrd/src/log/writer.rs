//! The thread that writes: all that is waiting at once, with one sync, then it tells everybody who
//! waited.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::PoisonError;

use super::positions::failed;
use super::{Chunk, Shared};

pub(super) fn run(log: &Shared) {
    let mut inside = log.inside();
    loop {
        while inside.queue.is_empty() && !inside.closing && inside.broken.is_none() {
            inside = log
                .work
                .wait(inside)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if inside.broken.is_some() {
            inside.queue.clear();
            return; // append takes nothing more, and who waits was told
        }
        if inside.queue.is_empty() {
            return;
        }
        let chunks = std::mem::take(&mut inside.queue);
        let newest = inside.next - 1;
        drop(inside);
        let put = chunks.into_iter().try_for_each(|chunk| put(log, chunk));
        if let Err(error) = &put {
            log.give_up(error);
        }
        inside = log.inside();
        if put.is_ok() {
            inside.newest = newest;
            log.progress
                .send_modify(|progress| progress.newest = newest);
        }
    }
}

/// Makes a chunk durable. A segment is so as a whole before the next one gets its first byte: only
/// the last can be torn.
fn put(log: &Shared, chunk: Chunk) -> io::Result<()> {
    let path = &chunk.segment.path;
    let file = &chunk.segment.file;
    if let Some(from) = &chunk.from {
        fs::rename(from, path).map_err(|e| failed("rename", from, e))?;
    }
    file.write_all_at(&chunk.bytes, chunk.offset)
        .map_err(|e| failed("write", path, e))?;
    log.disk.sync(file).map_err(|e| failed("sync", path, e))?;
    if chunk.from.is_some() {
        log.disk
            .sync_dir(&log.dir)
            .map_err(|e| failed("sync the directory", &log.dir, e))?;
    }
    Ok(())
}
