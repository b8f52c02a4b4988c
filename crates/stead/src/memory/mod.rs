//! Memory: a call that may need much of it asks first, and is refused if there is not enough or if
//! it would be above the limit of the process.
//!
//! In Rust, an allocation that the system refuses ends the whole process, and that is the program
//! that uses the library. Where a file, a text or a caller decides the size of a single block,
//! stead allocates it with `try_reserve`, and a refusal is [`Error::Memory`]. But building a map,
//! comparing two maps and judging one allocate in hundreds of places, and so do the parsers that
//! stead uses. Such a call estimates the most that it may need and takes [`room`] before it begins.
//!
//! With the allocator [`Reserving`] the memory is held for the call, so that nobody else takes it
//! meanwhile. The C library, the Python module and the programs have that allocator.

mod reserve;

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

pub use reserve::{Reserving, Room};

/// The limit as long as nobody sets another one. It was chosen from the estimates that
/// tests/memory.rs prints for its widest fleets, which are fleets of the table of docs/rebalance.md
/// ("Many copies and many labels") and a fleet with as many nodes and policies as docs/fleet.md
/// allows: the test checks that all of them are below it.
pub const USUAL_LIMIT: u64 = 4 << 30;

/// The environment variable that has the limit at the start of a process, as a number of bytes.
pub const VARIABLE: &str = "STEAD_MEMORY_LIMIT";

/// The limit; 0 as long as nobody asked for it.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Sets how many bytes a single call may need, for all threads of the process. Returns the limit
/// before. A limit of 0 is taken as 1 byte.
///
/// A call that reads a fleet, or that opens, builds, compares or judges maps, and that may need
/// more, is refused with [`Error::MemoryLimit`] before it begins. What a call may need is an upper
/// bound: most calls need less.
pub fn set_limit(bytes: u64) -> u64 {
    match LIMIT.swap(bytes.max(1), Ordering::Relaxed) {
        0 => first_limit(),
        before => before,
    }
}

/// Returns how many bytes a single call may need: what [`set_limit`] set, or what the environment
/// variable STEAD_MEMORY_LIMIT said when it was first asked for, or [`USUAL_LIMIT`].
pub fn limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        0 => {
            let first = first_limit();
            let kept = LIMIT.compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
            kept.map_or_else(|set| set, |_| first)
        }
        limit => limit,
    }
}

/// Returns the limit that the environment names, or else the usual one. A text that is not a limit
/// is ignored here; the programs refuse it.
fn first_limit() -> u64 {
    let named = std::env::var(VARIABLE).ok();
    named
        .and_then(|text| named_limit(&text))
        .unwrap_or(USUAL_LIMIT)
}

/// Returns the limit that a text names: a number of bytes above 0, in digits.
pub fn named_limit(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let bytes = text.parse().ok().filter(|_| digits);
    bytes.filter(|bytes| *bytes > 0)
}

/// Checks that a call may use this many bytes and that the system has them now, and holds them
/// until the result is dropped, if the allocator is [`Reserving`].
///
/// Errors: `MemoryLimit` when it is more than the limit; `Memory` when the system refuses. Cost:
/// about a microsecond, and nothing below 64 KiB.
pub fn room(bytes: u64) -> Result<Room> {
    let limit = limit();
    if bytes > limit {
        return Err(Error::MemoryLimit { bytes, limit });
    }
    if bytes < reserve::LARGE as u64 {
        return Ok(Room::NONE);
    }
    // the compiler may leave out an allocation that nobody looks at
    let block = black_box(empty::<u8>(usize::try_from(bytes).unwrap_or(usize::MAX))?);
    Ok(Room::holding(block))
}

/// Returns an empty list with room for this many values.
///
/// Errors: as [`room`].
pub fn empty<T>(count: usize) -> Result<Vec<T>> {
    let bytes = count.saturating_mul(size_of::<T>());
    allowed(bytes)?;
    let mut list = Vec::new();
    list.try_reserve_exact(count)
        .map_err(|_| Error::Memory { bytes })?;
    Ok(list)
}

/// Returns a list of this many equal values.
///
/// Errors: as [`room`].
pub fn filled<T: Copy>(count: usize, value: T) -> Result<Vec<T>> {
    let mut list = empty(count)?;
    list.resize(count, value);
    Ok(list)
}

/// Collects values into a list. For an iterator that knows its length, the list is allocated at
/// once.
///
/// Errors: as [`room`].
pub fn collected<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut list = empty(values.size_hint().0)?;
    for value in values {
        push(&mut list, value)?;
    }
    Ok(list)
}

/// Makes room for this many more values in a list that may become long.
///
/// Errors: as [`room`].
#[inline]
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    match list.capacity() - list.len() >= more {
        true => Ok(()),
        false => grow(list, more),
    }
}

/// Adds a value to a list that may become long.
///
/// Errors: as [`room`].
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    reserve(list, 1)?;
    list.push(value);
    Ok(())
}

/// Adds bytes to a text that may become long.
///
/// Errors: as [`room`].
pub fn append(list: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    reserve(list, bytes.len())?;
    list.extend_from_slice(bytes);
    Ok(())
}

/// Makes room for `more` values, and at least doubles the list.
#[cold]
fn grow<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    let count = list.len().saturating_add(more.max(list.len()));
    let bytes = count.saturating_mul(size_of::<T>());
    allowed(bytes)?;
    list.try_reserve(more).map_err(|_| Error::Memory { bytes })
}

/// Refuses what is above the limit.
pub(crate) fn allowed(bytes: usize) -> Result<()> {
    let (bytes, limit) = (bytes as u64, limit());
    if bytes > limit {
        return Err(Error::MemoryLimit { bytes, limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_is_refused_before_the_system_is_asked() {
        drop(room(0).unwrap());
        drop(room(USUAL_LIMIT / 4096).unwrap());
        match room(USUAL_LIMIT + 1) {
            Err(Error::MemoryLimit { bytes, limit }) => {
                assert_eq!((bytes, limit), (USUAL_LIMIT + 1, USUAL_LIMIT));
            }
            other => panic!("{other:?}"),
        }
        let long = empty::<u64>(USUAL_LIMIT as usize);
        assert!(matches!(long, Err(Error::MemoryLimit { .. })));
    }

    #[test]
    fn a_limit_is_a_number_of_bytes_in_digits() {
        assert_eq!(named_limit("8589934592"), Some(8 << 30));
        for text in [
            "",
            "0",
            "-1",
            "+1",
            "1e9",
            "8G",
            " 1",
            "99999999999999999999",
        ] {
            assert_eq!(named_limit(text), None, "{text:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends when there is not enough memory")]
    fn what_no_machine_has_is_an_error() {
        // no address space has as much, and the limit is not asked in between
        let mut list: Vec<u8> = Vec::new();
        let refused = list.try_reserve_exact(isize::MAX as usize).is_err();
        assert!(refused);
        assert!(matches!(
            grow(&mut vec![0u8; 1], usize::MAX),
            Err(Error::MemoryLimit { .. })
        ));
    }

    #[test]
    fn lists_have_what_was_put_into_them() {
        assert_eq!(collected(0..1000).unwrap(), (0..1000).collect::<Vec<_>>());
        let odd = (0..1000).filter(|n| n % 2 == 1);
        assert_eq!(collected(odd.clone()).unwrap(), odd.collect::<Vec<_>>());
        let mut text = Vec::new();
        for part in [&b""[..], b"a", b"bcd", &[b'x'; 100]] {
            append(&mut text, part).unwrap();
        }
        assert_eq!(text, [&b"abcd"[..], &[b'x'; 100]].concat());
    }
}
