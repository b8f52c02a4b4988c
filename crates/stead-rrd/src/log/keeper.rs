//! The keeper: the thread that prepares the next segment, stores positions, and removes segments
//! that every backend has confirmed.
//!
//! Positions are stored when that allows a segment to be removed, and otherwise at most once a
//! second. Losing a position only means that some records are sent again, and storing it competes
//! with the writer for the disk.

use std::fs;
use std::io;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::books::{Books, Core};
use super::positions::Trouble;
use super::segment::prepare;
use crate::dirs::failed;
use crate::lock::lock;

/// How long positions may wait to be stored, and how long to wait before trying again what failed
/// for lack of space.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn run(log: &Core) {
    let mut books = log.books();
    let mut due = false;
    // whoever wakes this thread often must not put off the next attempt
    let mut again = None;
    while !books.closing && books.broken.is_none() {
        let spare = books.spare.is_none()
            && books.no_spare.is_none()
            && books.total + log.size.segment <= log.size.bound;
        let unsaved = due && books.unsaved || books.trimmable() && books.not_saved.is_none();
        if spare {
            books = make_spare(log, books);
        } else if unsaved {
            due = false;
            drop(books);
            let _ = save(log); // a caller that needs the room gets the reason from the books
            books = log.books();
        } else if books.unsaved || books.no_spare.is_some() || books.not_saved.is_some() {
            let until = *again.get_or_insert_with(|| Instant::now() + PAUSE);
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                (due, again) = (true, None);
                books.no_spare = None;
                continue;
            }
            let waited = log.chores.wait_timeout(books, left);
            books = waited.unwrap_or_else(PoisonError::into_inner).0;
        } else {
            again = None;
            books = log
                .chores
                .wait(books)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn make_spare<'a>(
    log: &'a Core,
    mut books: std::sync::MutexGuard<'a, Books>,
) -> std::sync::MutexGuard<'a, Books> {
    let path = log.dir.join(format!("spare-{}.tmp", books.spares));
    books.spares += 1;
    drop(books);
    let made = prepare(&path, log.size.segment, &*log.disk);
    let mut books = log.books();
    match made {
        Ok(file) => {
            books.total += log.size.segment;
            books.spare = Some((path, file));
            if std::mem::take(&mut books.told_no_spare) {
                tracing::info!("the log can grow again");
            }
        }
        Err(error) => {
            // the text is the same for each try, so that whoever counts texts counts one
            let error = failed("write", &log.dir, error);
            let need = log.size.segment.div_ceil(1 << 10);
            let text = format!("{error}; the next part of the log needs {need} KiB");
            if !books.told_no_spare {
                tracing::error!(error = text, "the log cannot grow: {text}");
                books.told_no_spare = true;
            }
            books.no_spare = Some((error.kind(), text));
        }
    }
    log.ready.notify_all();
    books
}

/// Stores the positions, then removes the segments that nobody needs any more. The order matters.
pub(super) fn save(log: &Core) -> io::Result<()> {
    let _pen = lock(&log.pen);
    let mut books = log.books();
    books.positions.durable = books.newest;
    books.unsaved = false;
    let positions = books.positions.clone();
    drop(books);
    let saved = positions
        .store(&log.dir, &*log.disk)
        .and_then(|()| trim(log, positions.floor()).map_err(Trouble::Final));
    if let Err(Trouble::Final(error)) = &saved {
        log.give_up(error);
    }
    let mut books = log.books();
    books.unsaved |= saved.is_err();
    books.not_saved = saved.as_ref().err().map(Trouble::parts);
    log.ready.notify_all();
    log.chores.notify_all();
    saved.map_err(Trouble::error)
}

/// Removes the segments whose records are all at or below `floor`, oldest first. The last segment
/// stays.
fn trim(log: &Core, floor: Option<u64>) -> io::Result<()> {
    let Some(floor) = floor else { return Ok(()) };
    loop {
        let books = log.books();
        let Some(oldest) = books
            .segments
            .front()
            .filter(|_| {
                books
                    .segments
                    .get(1)
                    .is_some_and(|next| next.base <= floor + 1)
            })
            .cloned()
        else {
            return Ok(());
        };
        drop(books);
        fs::remove_file(&oldest.path).map_err(|e| failed("remove", &oldest.path, e))?;
        let mut books = log.books();
        books.segments.pop_front();
        books.total -= oldest.size;
        books.no_spare = None;
    }
}
