//! The writer: the thread that writes all records that wait, syncs once, and then reports them as
//! durable.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::PoisonError;

use super::books::{Chunk, Core};
use crate::dirs::failed;

pub(super) fn run(log: &Core) {
    let mut books = log.books();
    loop {
        while books.queue.is_empty() && !books.closing && books.broken.is_none() {
            books = log.work.wait(books).unwrap_or_else(PoisonError::into_inner);
        }
        if books.broken.is_some() {
            books.queue.clear();
            return; // append takes no more records, and its callers have been told
        }
        if books.queue.is_empty() {
            return;
        }
        let chunks = std::mem::take(&mut books.queue);
        let newest = books.next - 1;
        drop(books);
        let put = chunks.into_iter().try_for_each(|chunk| put(log, chunk));
        if let Err(error) = &put {
            log.give_up(error);
        }
        books = log.books();
        if put.is_ok() {
            books.newest = newest;
            log.frontier
                .send_modify(|frontier| frontier.newest = newest);
        }
    }
}

/// Makes a chunk durable. The whole previous segment is durable before the next one gets its first
/// byte, so only the last segment can be torn.
fn put(log: &Core, chunk: Chunk) -> io::Result<()> {
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
