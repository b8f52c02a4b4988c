//! The boundary: the one place where foreign pointers are touched, panics end, and the error record
//! is filled.
//!
//! An exported function is one call of [`status`] or [`value`] with a closure that gets a
//! [`Caller`]. The caller's methods turn what C gave into what Rust trusts, or into an error that
//! names the argument. A panic becomes `STEAD_INTERNAL`; nothing is printed by us but what Rust
//! prints itself when it panics.

use std::any::Any;
use std::ffi::{c_char, c_void, CStr, CString, OsStr};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use stead_core::{Error, Map, Result};

use crate::types::{stead_error, stead_map, stead_plan, stead_status};

/// More bytes than any object has: processors with 64 bits give a process at most 2^56 (x86-64 with
/// five levels), and elsewhere pointer arithmetic ends here.
const MOST_BYTES: usize = if cfg!(target_pointer_width = "64") {
    1 << 56
} else {
    isize::MAX as usize
};

/// Whoever called from C. That one exists means: its pointers are NULL or what the header says,
/// until the call returns.
pub(crate) struct Caller {
    name: &'static str,
}

/// Runs an exported function that can fail; fills the error record, when there is one, and returns
/// the status.  # Safety `error` is NULL or points to a record; the closure hands only pointers of
/// this call to the caller's methods.
pub(crate) unsafe fn status(
    name: &'static str,
    error: *mut stead_error,
    body: impl FnOnce(&Caller) -> Result<()>,
) -> i32 {
    let caller = Caller { name };
    let done = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "faults")]
        faults::pass(name);
        body(&caller)
    }));
    let failure = match done {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panic) => Some(Error::Internal {
            problem: format!("{name}: {}", panic_text(&*panic)),
        }),
    };
    let status = failure
        .as_ref()
        .map_or(stead_status::STEAD_OK, |failure| failure.status().into());
    if !error.is_null() {
        // SAFETY: not NULL, and by this function's contract a record of the caller's.
        let record = unsafe { &mut *error };
        record.status = status as i32;
        record.os_errno = failure.as_ref().and_then(os_errno).unwrap_or(0);
        write_message(
            &mut record.message,
            failure
                .map_or(String::new(), |failure| failure.to_string())
                .as_bytes(),
        );
    }
    status as i32
}

/// Runs an exported function that cannot fail, but for wrong arguments: those and a panic give
/// `fallback`.  # Safety The closure hands only pointers of this call to the caller's methods.
pub(crate) unsafe fn value<T>(
    name: &'static str,
    fallback: T,
    body: impl FnOnce(&Caller) -> Option<T>,
) -> T {
    let caller = Caller { name };
    let done = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "faults")]
        faults::pass(name);
        body(&caller)
    }));
    done.ok().flatten().unwrap_or(fallback)
}

/// What a panic said.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic")
}

fn os_errno(failure: &Error) -> Option<i32> {
    match failure {
        Error::Io { source, .. } | Error::Uncertain { source, .. } => source.raw_os_error(),
        _ => None,
    }
}

/// Writes a message with its NUL; one that is too long is cut between two characters and ends in
/// "...". Control characters, which names of files may have, become spaces: a message is one line,
/// and may go to a log or a terminal.
fn write_message(record: &mut [c_char], message: &[u8]) {
    const CUT: &[u8] = b"...";
    let most = record.len().saturating_sub(1);
    let mut kept = message.len();
    let mut end: &[u8] = b"";
    if kept > most {
        kept = most - CUT.len();
        while kept > 0 && message[kept] & 0xC0 == 0x80 {
            kept -= 1; // not in the middle of a UTF-8 sequence
        }
        end = CUT;
    }
    let bytes =
        message[..kept]
            .iter()
            .chain(end)
            .map(|byte| if byte.is_ascii_control() { b' ' } else { *byte });
    let length = kept + end.len();
    record
        .iter_mut()
        .zip(bytes)
        .for_each(|(place, byte)| *place = byte as c_char);
    record[length] = 0;
}

impl Caller {
    /// An argument is wrong.
    pub(crate) fn invalid(&self, problem: impl std::fmt::Display) -> Error {
        Error::Invalid {
            problem: format!("{}: {problem}", self.name),
        }
    }

    fn present<T>(&self, pointer: *const T, what: &str) -> Result<()> {
        if pointer.is_null() {
            return Err(self.invalid(format_args!("{what} is NULL")));
        }
        if !pointer.is_aligned() {
            return Err(self.invalid(format_args!(
                "{what} is not aligned: it cannot be what its type says"
            )));
        }
        Ok(())
    }

    fn reference<'a, T>(&'a self, pointer: *const T, what: &str) -> Result<&'a T> {
        self.present(pointer, what)?;
        // SAFETY: neither NULL nor misaligned, so by `Caller`'s meaning a value that lives until
        // the call returns.
        Ok(unsafe { &*pointer })
    }

    /// A map that the caller holds.
    pub(crate) fn map(&self, map: *const stead_map) -> Result<&Map> {
        self.reference(map.cast::<Map>(), "map")
    }

    /// A map of its own for us, of one that the caller holds.
    pub(crate) fn share(&self, map: *const stead_map) -> Result<Arc<Map>> {
        self.present(map.cast::<Map>(), "map")?;
        // SAFETY: a handle comes from `give_map`, which made it of an Arc of this very type.
        let held = ManuallyDrop::new(unsafe { Arc::from_raw(map.cast::<Map>()) });
        Ok(Arc::clone(&held))
    }

    /// A map, or `None` for NULL where that has a meaning.
    pub(crate) fn optional_map(&self, map: *const stead_map) -> Result<Option<&Map>> {
        if map.is_null() {
            return Ok(None);
        }
        self.map(map).map(Some)
    }

    /// A plan that the caller holds.
    pub(crate) fn plan(&self, plan: *const stead_plan) -> Result<&stead_plan> {
        self.reference(plan, "plan")
    }

    /// Bytes with a length; NULL with length 0 is the empty string.
    pub(crate) fn bytes<'a>(
        &'a self,
        bytes: *const c_void,
        length: usize,
        what: &str,
    ) -> Result<&'a [u8]> {
        if length == 0 {
            return Ok(&[]);
        }
        self.many(bytes.cast::<u8>(), length, what)
    }

    /// So many values side by side.
    pub(crate) fn many<'a, T>(
        &'a self,
        values: *const T,
        count: usize,
        what: &str,
    ) -> Result<&'a [T]> {
        self.present(values, what)?;
        if count > MOST_BYTES / size_of::<T>().max(1) {
            return Err(self.invalid(format_args!("{what} cannot be so long: {count}")));
        }
        // SAFETY: neither NULL nor misaligned, not longer than memory, so by `Caller`'s meaning so
        // many values.
        Ok(unsafe { std::slice::from_raw_parts(values, count) })
    }

    /// A string that ends in NUL.
    pub(crate) fn c_str<'a>(&'a self, text: *const c_char, what: &str) -> Result<&'a CStr> {
        self.present(text, what)?;
        // SAFETY: not NULL, so by `Caller`'s meaning a string with a NUL at its end.
        Ok(unsafe { CStr::from_ptr(text) })
    }

    /// A string in UTF-8 that ends in NUL.
    pub(crate) fn text<'a>(&'a self, text: *const c_char, what: &str) -> Result<&'a str> {
        self.c_str(text, what)?
            .to_str()
            .map_err(|_| self.invalid(format_args!("{what} is not UTF-8")))
    }

    /// The path of a file: a string of any bytes.
    pub(crate) fn path(&self, path: *const c_char) -> Result<&Path> {
        let path = self.c_str(path, "path")?;
        if path.is_empty() {
            return Err(self.invalid("path is empty"));
        }
        Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
    }

    /// Where an answer goes; nothing is written yet.
    pub(crate) fn out<T>(&self, place: *mut T, what: &str) -> Result<Out<T>> {
        self.present(place, what)?;
        Ok(Out(place))
    }

    /// Where up to `capacity` answers go; NULL when there is room for none.
    pub(crate) fn outs<T>(&self, places: *mut T, capacity: usize, what: &str) -> Result<Outs<T>> {
        if capacity > 0 {
            self.present(places, what)?;
        }
        Ok(Outs(places, capacity))
    }

    /// A map for the caller to hold.
    pub(crate) fn give_map(&self, map: Arc<Map>, place: Out<*mut stead_map>) {
        place.put(Arc::into_raw(map).cast_mut().cast::<stead_map>());
    }

    /// Takes a map back. NULL is fine.
    pub(crate) fn take_map(&self, map: *mut stead_map) {
        if !map.is_null() {
            // SAFETY: a handle comes from `give_map`, and the header allows to end it once.
            drop(unsafe { Arc::from_raw(map.cast_const().cast::<Map>()) });
        }
    }

    /// A plan for the caller to hold.
    pub(crate) fn give_plan(&self, plan: stead_plan, place: Out<*mut stead_plan>) {
        place.put(Box::into_raw(Box::new(plan)));
    }

    /// Takes a plan back. NULL is fine.
    pub(crate) fn take_plan(&self, plan: *mut stead_plan) {
        if !plan.is_null() {
            // SAFETY: a handle comes from `give_plan`, and the header allows to end it once.
            drop(unsafe { Box::from_raw(plan) });
        }
    }

    /// A text for the caller to hold. A NUL in it would be a fault of ours.
    pub(crate) fn give_text(&self, text: String, place: Out<*mut c_char>) -> Result<()> {
        let text = CString::new(text).map_err(|_| Error::Internal {
            problem: format!("{}: a NUL in a text", self.name),
        })?;
        place.put(text.into_raw());
        Ok(())
    }

    /// Takes a text back. NULL is fine.
    pub(crate) fn take_text(&self, text: *mut c_char) {
        if !text.is_null() {
            // SAFETY: a text comes from `give_text`; the header forbids to change it and allows to
            // end it once.
            drop(unsafe { CString::from_raw(text) });
        }
    }
}

/// A place of the caller's, neither NULL nor misaligned.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes the answer.
    pub(crate) fn put(self, answer: T) {
        // SAFETY: made by `Caller::out`, so a place for a T; what was in it is a plain value that
        // needs no drop.
        unsafe { self.0.write(answer) }
    }
}

/// Places of the caller's side by side.
pub(crate) struct Outs<T>(*mut T, usize);

impl<T> Outs<T> {
    /// Writes as many of the answers as there is room for; returns how many there were.
    pub(crate) fn fill(self, answers: impl IntoIterator<Item = T>) -> usize {
        let mut count = 0;
        for answer in answers {
            if count < self.1 {
                // SAFETY: made by `Caller::outs`, and `count` is below its capacity.
                let place = unsafe { self.0.add(count) };
                // SAFETY: as above; what was there is a plain value that needs no drop.
                unsafe { place.write(answer) };
            }
            count += 1;
        }
        count
    }

    /// How many there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.1
    }
}

/// For the tests: who went through the boundary, and panics on demand.
#[cfg(feature = "faults")]
mod faults {
    use std::ffi::{c_char, CString};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::Mutex;

    static ARMED: AtomicBool = AtomicBool::new(false);
    static PASSED: Mutex<Vec<(&str, CString)>> = Mutex::new(Vec::new());

    pub(super) fn pass(name: &'static str) {
        let mut passed = PASSED.lock().unwrap();
        if passed.iter().all(|(known, _)| *known != name) {
            passed.push((name, CString::new(name).unwrap()));
        }
        drop(passed);
        assert!(!ARMED.load(Ordering::Relaxed), "armed");
    }

    /// From now on (1) every call panics, or (0) none.
    #[no_mangle]
    pub extern "C" fn stead_test_arm(armed: i32) {
        ARMED.store(armed != 0, Ordering::Relaxed);
    }

    /// The name of the function that went through the boundary as number `index`; NULL at the end.
    #[no_mangle]
    pub extern "C" fn stead_test_guarded(index: usize) -> *const c_char {
        // the strings stay where they are: an entry is never removed
        PASSED
            .lock()
            .unwrap()
            .get(index)
            .map_or(std::ptr::null(), |(_, name)| name.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    /// Status, record's status and errno, and the message of a call.
    fn called(body: impl FnOnce(&Caller) -> Result<()>) -> (i32, i32, i32, String) {
        let mut error = stead_error {
            status: -1,
            os_errno: -1,
            message: [1; 248],
        };
        // SAFETY: the record lives; the bodies below hand over pointers that are refused before
        // they are read.
        let status = unsafe { status("stead_map_x", &mut error, body) };
        let bytes: Vec<u8> = error.message.iter().map(|c| *c as u8).collect();
        let message = CStr::from_bytes_until_nul(&bytes)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        (status, error.status, error.os_errno, message)
    }

    #[test]
    fn a_panic_is_a_status_and_a_fallback() {
        let (status_, record, os_errno, message) = called(|_| panic!("no {}", "way"));
        assert_eq!((status_, record, os_errno), (15, 15, 0));
        assert_eq!(
            message,
            "internal fault, please report it: stead_map_x: no way"
        );
        // SAFETY: no record is fine, and no pointers are used.
        let panicked = unsafe { status("stead_map_x", ptr::null_mut(), |_| panic!()) };
        assert_eq!(panicked, 15);
        // SAFETY: no pointers are used.
        assert_eq!(unsafe { value("stead_map_x", -1, |_| panic!()) }, -1);
    }

    #[test]
    fn success_clears_the_record() {
        assert_eq!(called(|_| Ok(())), (0, 0, 0, String::new()));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        for pad in 0..4 {
            let problem = format!("{}{}", "x".repeat(pad), "€".repeat(200));
            let (_, _, _, cut) = called(|_| {
                Err(Error::Invalid {
                    problem: problem.clone(),
                })
            });
            assert!(
                cut.ends_with("...")
                    && cut.len() >= 244
                    && problem.starts_with(cut.trim_end_matches('.')),
                "{cut}"
            );
        }
    }

    #[test]
    fn a_message_is_one_line() {
        let (_, _, _, message) = called(|_| {
            Err(Error::Invalid {
                problem: "a\nb\r\tc\x1b[1m\x7f\0d é".into(),
            })
        });
        assert_eq!(message, "a b  c [1m  d é");
    }

    #[test]
    fn an_argument_is_named() {
        let (status, _, _, message) = called(|c| c.map(ptr::null()).map(|_| ()));
        assert_eq!((status, message.as_str()), (1, "stead_map_x: map is NULL"));
        let odd = called(|c| {
            c.out(ptr::without_provenance_mut::<u64>(3), "point")
                .map(|_| ())
        });
        assert!(
            odd.0 == 1 && odd.3.contains("point is not aligned"),
            "{odd:?}"
        );
        for length in [
            usize::MAX,
            isize::MAX as usize + 1,
            isize::MAX as usize,
            MOST_BYTES + 1,
        ] {
            let long = called(|c| {
                c.bytes(ptr::dangling::<u8>().cast(), length, "key")
                    .map(|_| ())
            });
            assert!(
                long.0 == 1 && long.3.contains("key cannot be so long"),
                "{long:?}"
            );
            let many = called(|c| {
                c.many(ptr::dangling::<u64>(), length / 8 + 1, "offsets")
                    .map(|_| ())
            });
            assert!(
                many.0 == 1 && many.3.contains("offsets cannot be so long"),
                "{many:?}"
            );
        }
    }
}
