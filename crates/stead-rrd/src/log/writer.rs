//! The writer: the thread that writes the records that wait, and syncs.
//!
//! It syncs at once when somebody waits for that, once for all who wait, and otherwise when the
//! oldest bytes that are not synced have the age that [`Size`](super::Size) allows.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::books::{Books, Chunk, Core};
use crate::dirs::failed;

pub(super) fn run(log: &Core) {
    loop {
        let mut books = wait(log);
        if books.broken.is_some() {
            books.queue.clear();
            return; // append takes no more records, and its callers have been told
        }
        if books.queue.is_empty() && books.unsynced.is_none() {
            return; // the log is being closed
        }
        let done = write(log, books).and_then(|()| sync(log));
        if let Err(error) = &done {
            log.give_up(error);
        }
    }
}

/// Waits until there is something to write or to sync, or the log is being closed.
fn wait(log: &Core) -> MutexGuard<'_, Books> {
    let mut books = log.books();
    while books.queue.is_empty() && !books.closing && books.broken.is_none() {
        match rest(log, &books) {
            Some(Duration::ZERO) => break,
            Some(rest) => {
                let waited = log.work.wait_timeout(books, rest);
                (books, _) = waited.unwrap_or_else(PoisonError::into_inner);
            }
            None => books = log.work.wait(books).unwrap_or_else(PoisonError::into_inner),
        }
    }
    books
}

/// Returns how long the bytes that are not synced may still wait.
fn rest(log: &Core, books: &Books) -> Option<Duration> {
    let (_, since) = books.unsynced.as_ref()?;
    Some(log.size.sync_every.saturating_sub(since.elapsed()))
}

/// Writes what waits.
fn write(log: &Core, mut books: MutexGuard<'_, Books>) -> io::Result<()> {
    if books.queue.is_empty() {
        return Ok(());
    }
    let chunks = std::mem::take(&mut books.queue);
    let through = books.next - 1;
    books.writing = true;
    drop(books);
    let put = chunks.into_iter().try_for_each(|chunk| put(log, chunk));
    let mut books = log.books();
    books.writing = false;
    put?;
    books.written = through;
    // nobody waits for the writing only, if the sync that follows is for all
    let matters = books.awaited < through;
    drop(books); // whoever looks at the frontier may wait for them
    log.frontier.send_if_modified(|frontier| {
        frontier.written = through;
        matters
    });
    Ok(())
}

/// Writes a chunk. The whole previous segment is durable before the next one gets its first byte,
/// so only the last segment can be torn.
fn put(
    log: &Core,
    Chunk {
        segment,
        offset,
        bytes,
        from,
    }: Chunk,
) -> io::Result<()> {
    let path = &segment.path;
    if let Some(from) = &from {
        let before = log.books().unsynced.take();
        if let Some((before, _)) = before {
            log.disk
                .sync(&before.file)
                .map_err(|e| failed("sync", &before.path, e))?;
        }
        fs::rename(from, path).map_err(|e| failed("rename", from, e))?;
        // the directory may be another one by now
        segment.is_in_place()?;
    }
    segment
        .file
        .write_all_at(&bytes, offset)
        .map_err(|e| failed("write", path, e))?;
    if from.is_some() {
        log.disk
            .sync(&segment.file)
            .map_err(|e| failed("sync", path, e))?;
        log.disk
            .sync_dir(&log.dir)
            .map_err(|e| failed("sync the directory", &log.dir, e))?;
    }
    let mut books = log.books();
    if books.unsynced.is_none() {
        books.unsynced = Some((segment, Instant::now()));
    }
    Ok(())
}

/// Syncs what is written, if somebody waits for it or it has waited long enough.
fn sync(log: &Core) -> io::Result<()> {
    let mut books = log.books();
    let due =
        books.awaited > books.newest || books.closing || rest(log, &books) == Some(Duration::ZERO);
    let Some((segment, _)) = books.unsynced.take_if(|_| due) else {
        return Ok(());
    };
    let newest = books.written; // what is written from now on may not be synced
    drop(books);
    let path = &segment.path;
    log.disk
        .sync(&segment.file)
        .map_err(|e| failed("sync", path, e))?;
    segment.is_in_place()?;
    log.books().newest = newest;
    log.frontier.send_modify(|frontier| {
        (frontier.written, frontier.newest) = (frontier.written.max(newest), newest)
    });
    Ok(())
}
