//! The boundary: the only place that touches foreign pointers, catches panics, and fills the error
//! record.
//!
//! An exported function is a single call of [`status`] or [`value`] with a closure that gets a
//! [`Caller`]. Its pointer parameters are [`Foreign`]. Only the methods of `Caller` look at them,
//! and turn each into a value that Rust can trust, or into an error that names the argument. So all
//! unsafe code of the library is in this file. A panic becomes `STEAD_INTERNAL`. The library itself
//! prints nothing; Rust prints the message of a panic.

use std::any::Any;
use std::ffi::{c_char, c_void, CStr, CString, OsStr};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use stead_core::{memory, Error, Map, Result};

use crate::batch::{Batch, Offset};
use crate::message::message_of;
use crate::types::{stead_error, stead_map, stead_pair, stead_plan, stead_status};

/// Whether an array of `count` values of `size` bytes is larger than any object can be, on a
/// machine whose pointers have `bits` bits. A 64-bit process has at most 2^56 bytes (x86-64 with
/// five levels of page tables). On a smaller machine no object has half of the address space:
/// pointer arithmetic stops there, and a length of SIZE_MAX / 2 comes from a calculation that went
/// wrong.
const fn too_long(count: usize, size: usize, bits: u32) -> bool {
    let most: u128 = if bits == 64 {
        1 << 56
    } else {
        (1 << (bits - 1)) - 2
    };
    count as u128 * size as u128 > most
}

/// A pointer that C passed, valid for the duration of the call.
///
/// Code outside this file cannot make one: it only gets one as a parameter of an exported function.
/// So it comes from C, and the caller in C has promised what the header says: the pointer is NULL,
/// or it points to what its type and its function say, and the target stays there until the call
/// returns. `Foreign` is not `Copy`, so that no function can use a handle after freeing it.
#[repr(transparent)]
pub struct Foreign<'call, P>(P, PhantomData<&'call ()>);

impl<P: Pointer> Foreign<'_, P> {
    /// Whether the pointer is NULL, for arguments that may be.
    pub(crate) fn is_null(&self) -> bool {
        self.0.null()
    }

    /// Returns `None` for NULL, for arguments that may be NULL.
    pub(crate) fn given(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }
}

/// A const or a mutable pointer.
pub(crate) trait Pointer {
    fn null(&self) -> bool;
}

impl<T> Pointer for *const T {
    fn null(&self) -> bool {
        self.is_null()
    }
}

impl<T> Pointer for *mut T {
    fn null(&self) -> bool {
        self.is_null()
    }
}

impl<'call> Foreign<'call, *mut c_void> {
    /// Casts the pointer, to write bytes through it.
    pub(crate) fn bytes(self) -> Foreign<'call, *mut u8> {
        Foreign(self.0.cast(), PhantomData)
    }
}

/// Proof of being inside a call from C, with the name of the exported function. Its methods check
/// the arguments of the call.
pub(crate) struct Caller {
    name: &'static str,
}

/// Runs an exported function that can fail. Fills the error record, if there is one, and returns
/// the status.
pub(crate) fn status(
    name: &'static str,
    error: Foreign<*mut stead_error>,
    body: impl FnOnce(&Caller) -> Result<()>,
) -> i32 {
    let failure = match guarded(name, body) {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(panic) => Some(Error::Internal {
            problem: format!("{name}: {}", panic_text(&*panic)),
        }),
    };
    let status = failure
        .as_ref()
        .map_or(stead_status::STEAD_OK, |failure| failure.status().into());
    // SAFETY: by the promise of `Foreign` it is NULL, or a record that we may write until the call
    // returns.
    if let Some(record) = unsafe { error.0.as_mut() } {
        record.status = status as i32;
        record.os_errno = failure.as_ref().and_then(os_errno).unwrap_or(0);
        let most = record.message.len() - 1;
        let message = failure.map_or(String::new(), |failure| message_of(&failure, most));
        write_message(&mut record.message, &message);
    }
    status as i32
}

/// Runs an exported function that fails only on wrong arguments. Returns `fallback` for those, and
/// when the body panics.
pub(crate) fn value<T>(
    name: &'static str,
    fallback: T,
    body: impl FnOnce(&Caller) -> Option<T>,
) -> T {
    guarded(name, body).ok().flatten().unwrap_or(fallback)
}

/// Returns the result of the body, or its panic.
fn guarded<T>(name: &'static str, body: impl FnOnce(&Caller) -> T) -> std::thread::Result<T> {
    catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "faults")]
        faults::pass(name);
        body(&Caller { name })
    }))
}

/// Returns the message of a panic.
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

/// Writes a message, which fits, and its NUL.
fn write_message(record: &mut [c_char], message: &str) {
    let bytes = message.bytes().chain([0]);
    record
        .iter_mut()
        .zip(bytes)
        .for_each(|(place, byte)| *place = byte as c_char);
}

impl Caller {
    /// Returns the error for a wrong argument. The message does not name the function: a C
    /// programmer knows which one was called, and the users of PHP and Perl called another.
    pub(crate) fn invalid(&self, problem: impl std::fmt::Display) -> Error {
        Error::Invalid {
            problem: problem.to_string(),
        }
    }

    fn present<T>(&self, pointer: *const T, what: &str) -> Result<()> {
        if pointer.is_null() {
            return Err(self.invalid(format_args!("{what} is NULL")));
        }
        if !pointer.is_aligned() {
            return Err(self.invalid(format_args!("{what} is not aligned for its type")));
        }
        Ok(())
    }

    /// Refuses an array that is larger than any object can be.
    fn measured<T>(&self, count: usize, what: &str) -> Result<()> {
        if too_long(count, size_of::<T>(), usize::BITS) {
            return Err(self.invalid(format_args!("{what} cannot be so long: {count}")));
        }
        Ok(())
    }

    fn reference<'a, T>(&'a self, pointer: Foreign<'a, *const T>, what: &str) -> Result<&'a T> {
        self.present(pointer.0, what)?;
        // SAFETY: `present` checked that it is neither NULL nor misaligned. So by the promise of
        // `Foreign` it points to a T, which C keeps until the call returns.
        Ok(unsafe { &*pointer.0 })
    }

    /// Borrows a map that C owns.
    pub(crate) fn map<'a>(&'a self, map: Foreign<'a, *const stead_map>) -> Result<&'a Map> {
        // a handle is the address of the map inside its `Arc` (see `handle`)
        self.reference(Foreign(map.0.cast::<Map>(), PhantomData), "map")
    }

    /// Clones the `Arc` of a map that C owns.
    pub(crate) fn share(&self, map: Foreign<*const stead_map>) -> Result<Arc<Map>> {
        self.present(map.0.cast::<Map>(), "map")?;
        // SAFETY: `handle` made the pointer with `Arc::into_raw` from an `Arc<Map>`, and C has not
        // freed it. `ManuallyDrop` leaves C's reference to C.
        let held = ManuallyDrop::new(unsafe { Arc::from_raw(map.0.cast::<Map>()) });
        Ok(Arc::clone(&held))
    }

    /// Borrows a map, or returns `None` for an argument that may be NULL.
    pub(crate) fn optional_map<'a>(
        &'a self,
        map: Foreign<'a, *const stead_map>,
    ) -> Result<Option<&'a Map>> {
        map.given().map(|map| self.map(map)).transpose()
    }

    /// Borrows a plan that C owns.
    pub(crate) fn plan<'a>(
        &'a self,
        plan: Foreign<'a, *const stead_plan>,
    ) -> Result<&'a stead_plan> {
        self.reference(plan, "plan")
    }

    /// Borrows a pair that C owns.
    pub(crate) fn pair<'a>(
        &'a self,
        pair: Foreign<'a, *const stead_pair>,
    ) -> Result<&'a stead_pair> {
        self.reference(pair, "pair")
    }

    /// Borrows bytes with a length. NULL with length 0 is the empty string.
    pub(crate) fn bytes<'a>(
        &'a self,
        bytes: Foreign<'a, *const c_void>,
        length: usize,
        what: &str,
    ) -> Result<&'a [u8]> {
        if length == 0 {
            return Ok(&[]);
        }
        self.many(Foreign(bytes.0.cast::<u8>(), PhantomData), length, what)
    }

    /// Copies bytes that C gave. A lack of memory is an error: only the caller knows how many bytes
    /// are too many.
    pub(crate) fn copied(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut copy = memory::empty(bytes.len())?;
        copy.extend_from_slice(bytes);
        Ok(copy)
    }

    /// Borrows the bytes of a key.
    pub(crate) fn key<'a>(
        &'a self,
        key: Foreign<'a, *const c_void>,
        length: usize,
    ) -> Result<&'a [u8]> {
        self.bytes(key, length, "key")
    }

    /// Borrows an array of `count` values.
    pub(crate) fn many<'a, T>(
        &'a self,
        values: Foreign<'a, *const T>,
        count: usize,
        what: &str,
    ) -> Result<&'a [T]> {
        self.present(values.0, what)?;
        self.measured::<T>(count, what)?;
        // SAFETY: `present` checked that it is neither NULL nor misaligned, and `measured` that the
        // size is below isize::MAX. So by the promise of `Foreign` there are `count` values, which
        // C keeps until the call returns.
        Ok(unsafe { std::slice::from_raw_parts(values.0, count) })
    }

    /// Borrows a string that ends with NUL.
    fn c_str<'a>(&'a self, text: Foreign<'a, *const c_char>, what: &str) -> Result<&'a CStr> {
        self.present(text.0, what)?;
        // SAFETY: `present` checked that it is not NULL. So by the promise of `Foreign` it is a
        // string with a NUL at its end, which C keeps until the call returns.
        Ok(unsafe { CStr::from_ptr(text.0) })
    }

    /// Borrows a UTF-8 string that ends with NUL.
    pub(crate) fn text<'a>(
        &'a self,
        text: Foreign<'a, *const c_char>,
        what: &str,
    ) -> Result<&'a str> {
        self.c_str(text, what)?
            .to_str()
            .map_err(|_| self.invalid(format_args!("{what} is not UTF-8")))
    }

    /// Borrows the path of a file, which may have any bytes but NUL.
    pub(crate) fn path<'a>(&'a self, path: Foreign<'a, *const c_char>) -> Result<&'a Path> {
        self.file(path, "path")
    }

    /// Borrows the path of a file, for an argument of another name.
    pub(crate) fn file<'a>(
        &'a self,
        path: Foreign<'a, *const c_char>,
        what: &str,
    ) -> Result<&'a Path> {
        let path = self.c_str(path, what)?;
        if path.is_empty() {
            return Err(self.invalid(format_args!("{what} is empty")));
        }
        Ok(Path::new(OsStr::from_bytes(path.to_bytes())))
    }

    /// Checks the keys of a batch: bytes end to end, and the offsets at which they begin and end.
    pub(crate) fn keys<'a, O: Offset>(
        &'a self,
        keys: Foreign<'a, *const c_void>,
        length: usize,
        offsets: Foreign<'a, *const O>,
        count: usize,
    ) -> Result<Batch<'a, O>> {
        self.batch(keys, length, offsets, count, "keys")
    }

    /// Checks the records of a batch, for an argument of another name.
    pub(crate) fn batch<'a, O: Offset>(
        &'a self,
        keys: Foreign<'a, *const c_void>,
        length: usize,
        offsets: Foreign<'a, *const O>,
        count: usize,
        what: &str,
    ) -> Result<Batch<'a, O>> {
        let keys = self.bytes(keys, length, what)?;
        let offsets = match count.checked_add(1) {
            _ if count == 0 => &[],
            Some(room) => self.many(offsets, room, "offsets")?,
            None => return Err(self.invalid("count is too large")),
        };
        Batch::new(keys, offsets, what)
    }

    /// Checks the place for an answer. Writes nothing yet.
    pub(crate) fn out<'a, T>(&self, place: Foreign<'a, *mut T>, what: &str) -> Result<Out<'a, T>> {
        self.present(place.0, what)?;
        Ok(Out(place))
    }

    /// Checks the place for up to `capacity` answers, which may be NULL when `capacity` is 0.
    pub(crate) fn outs<'a, T>(
        &self,
        places: Foreign<'a, *mut T>,
        capacity: usize,
        what: &str,
    ) -> Result<Outs<'a, T>> {
        if capacity > 0 {
            self.present(places.0, what)?;
        }
        Ok(Outs {
            places,
            capacity,
            count: 0,
        })
    }

    /// Checks the places for exactly `count` answers, and returns them. They may be uninitialised,
    /// so nobody can read them.
    pub(crate) fn room<'a, T>(
        &self,
        places: Foreign<'a, *mut T>,
        count: usize,
        what: &str,
    ) -> Result<&'a mut [MaybeUninit<T>]> {
        if count == 0 {
            return Ok(&mut []);
        }
        self.present(places.0, what)?;
        self.measured::<T>(count, what)?;
        // SAFETY: `present` checked that it is neither NULL nor misaligned, and `measured` that the
        // size is below isize::MAX. So by the promise of `Foreign` there are `count` places, which
        // nobody else reads or writes until the call returns.
        Ok(unsafe { std::slice::from_raw_parts_mut(places.0.cast(), count) })
    }

    /// Checks the places for up to `capacity` answers and for their number.
    pub(crate) fn counted<'a, T>(
        &self,
        places: Foreign<'a, *mut T>,
        capacity: usize,
        count: Foreign<'a, *mut usize>,
        what: &str,
    ) -> Result<Counted<'a, T>> {
        Ok(Counted(
            self.outs(places, capacity, what)?,
            self.out(count, "count")?,
        ))
    }

    /// Makes a handle of a map, which C then owns.
    pub(crate) fn handle(&self, map: Arc<Map>) -> *mut stead_map {
        Arc::into_raw(map).cast_mut().cast()
    }

    /// Writes a new handle of a map to `place`. C then owns it.
    pub(crate) fn give_map(&self, map: Arc<Map>, place: Out<*mut stead_map>) {
        place.put(self.handle(map));
    }

    /// Frees a handle of a map. Does nothing for NULL.
    pub(crate) fn take_map(&self, map: Foreign<*mut stead_map>) {
        if let Some(map) = map.given() {
            // SAFETY: `handle` made the pointer with `Arc::into_raw` from an `Arc<Map>`, and the
            // header allows C to free it only once.
            drop(unsafe { Arc::from_raw(map.0.cast_const().cast::<Map>()) });
        }
    }

    /// Writes the handle of a plan to `place`. C then owns it.
    pub(crate) fn give_plan(&self, plan: stead_plan, place: Out<*mut stead_plan>) {
        place.put(Box::into_raw(Box::new(plan)));
    }

    /// Frees a plan. Does nothing for NULL.
    pub(crate) fn take_plan(&self, plan: Foreign<*mut stead_plan>) {
        if let Some(plan) = plan.given() {
            // SAFETY: `give_plan` made the pointer with `Box::into_raw`, and the header allows C to
            // free it only once.
            drop(unsafe { Box::from_raw(plan.0) });
        }
    }

    /// Writes the handle of a pair to `place`. C then owns it.
    pub(crate) fn give_pair(&self, pair: stead_pair, place: Out<*mut stead_pair>) {
        place.put(self.handle_of_pair(pair));
    }

    /// Makes a handle of a pair. C then owns it.
    pub(crate) fn handle_of_pair(&self, pair: stead_pair) -> *mut stead_pair {
        Box::into_raw(Box::new(pair))
    }

    /// Frees a pair. Does nothing for NULL.
    pub(crate) fn take_pair(&self, pair: Foreign<*mut stead_pair>) {
        if let Some(pair) = pair.given() {
            // SAFETY: `handle_of_pair` made the pointer with `Box::into_raw`, and the header allows
            // C to free it only once.
            drop(unsafe { Box::from_raw(pair.0) });
        }
    }

    /// Writes a text to `place`. C then owns it. A NUL inside the text would be a bug in stead.
    pub(crate) fn give_text(&self, text: Vec<u8>, place: Out<*mut c_char>) -> Result<()> {
        let mut text = text;
        // `CString` allocates neither for the NUL nor to give back what is left, if both fit
        memory::append(&mut text, b"\0")?;
        text.pop();
        let text = CString::new(text).map_err(|_| Error::Internal {
            problem: format!("{}: a NUL in a text", self.name),
        })?;
        place.put(text.into_raw());
        Ok(())
    }

    /// Frees a text. Does nothing for NULL.
    pub(crate) fn take_text(&self, text: Foreign<*mut c_char>) {
        if let Some(text) = text.given() {
            // SAFETY: `give_text` made the pointer with `CString::into_raw`. The header allows C to
            // free it only once, and forbids changing its length.
            drop(unsafe { CString::from_raw(text.0) });
        }
    }
}

/// A place for one answer, which C owns: neither NULL nor misaligned.
pub(crate) struct Out<'call, T>(Foreign<'call, *mut T>);

impl<T> Out<'_, T> {
    /// Writes the answer.
    pub(crate) fn put(self, answer: T) {
        // SAFETY: `Caller::out` checked that it is neither NULL nor misaligned. So by the promise
        // of `Foreign` it is a place for a T. The old value there is plain data and needs no drop.
        unsafe { self.0 .0.write(answer) }
    }
}

/// An array of places for answers, which C owns.
pub(crate) struct Outs<'call, T> {
    places: Foreign<'call, *mut T>,
    capacity: usize,
    /// the number of answers so far, also when they are more than the capacity
    count: usize,
}

impl<T> Outs<'_, T> {
    /// Writes the next answer, if there is room for it.
    fn push(&mut self, answer: T) {
        if self.count < self.capacity {
            let place = self.places.0.wrapping_add(self.count);
            // SAFETY: `Caller::outs` checked that the first place is neither NULL nor misaligned.
            // So by the promise of `Foreign` there are `capacity` places, and the line above shows
            // that this is one of them.
            unsafe { place.write(answer) };
        }
        self.count += 1;
    }

    /// Writes as many answers as there is room for. Returns how many answers there were.
    pub(crate) fn fill(mut self, answers: impl IntoIterator<Item = T>) -> usize {
        answers.into_iter().for_each(|answer| self.push(answer));
        self.count
    }
}

/// An array of places for answers, and the place for their number.
pub(crate) struct Counted<'call, T>(Outs<'call, T>, Out<'call, usize>);

impl<T> Counted<'_, T> {
    /// Writes the next answer, if there is room for it. Returns how many answers there are so far.
    pub(crate) fn push(&mut self, answer: T) -> usize {
        self.0.push(answer);
        self.0.count
    }

    /// Writes the number of all answers.
    pub(crate) fn close(self) {
        let Counted(places, count) = self;
        count.put(places.count);
    }

    /// Writes as many answers as there is room for, and the number of all answers.
    pub(crate) fn put(self, answers: impl IntoIterator<Item = T>) {
        let Counted(places, count) = self;
        count.put(places.fill(answers));
    }
}

/// For the tests: records which functions passed through the boundary, and makes them panic on
/// demand.
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

    /// Makes every call from now on panic (1), or none (0).
    #[no_mangle]
    pub extern "C" fn stead_test_arm(armed: i32) {
        ARMED.store(armed != 0, Ordering::Relaxed);
    }

    /// Returns the name of the function that was number `index` to pass through the boundary; NULL
    /// after the last.
    #[no_mangle]
    pub extern "C" fn stead_test_guarded(index: usize) -> *const c_char {
        // the returned string stays where it is: an entry is never removed
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

    /// A pointer as C passes it. The tests only pass pointers to live values, and pointers that
    /// must be refused before they are read.
    fn passed<P>(pointer: P) -> Foreign<'static, P> {
        Foreign(pointer, PhantomData)
    }

    /// Returns the status of a call, the status and errno of its record, and its message.
    fn called(body: impl FnOnce(&Caller) -> Result<()>) -> (i32, i32, i32, String) {
        let mut error = stead_error {
            status: -1,
            os_errno: -1,
            message: [1; 248],
        };
        let status = status("stead_map_x", passed(&mut error), body);
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
        let panicked = status("stead_map_x", passed(ptr::null_mut()), |_| panic!());
        assert_eq!(panicked, 15);
        assert_eq!(value("stead_map_x", -1, |_| panic!()), -1);
    }

    #[test]
    fn success_clears_the_record() {
        assert_eq!(called(|_| Ok(())), (0, 0, 0, String::new()));
    }

    #[test]
    fn an_argument_is_named() {
        let (status, _, _, message) = called(|c| c.map(passed(ptr::null())).map(|_| ()));
        assert_eq!((status, message.as_str()), (1, "map is NULL"));
        let odd = called(|c| {
            c.out(passed(ptr::without_provenance_mut::<u64>(3)), "point")
                .map(|_| ())
        });
        assert!(
            odd.0 == 1 && odd.3.contains("point is not aligned"),
            "{odd:?}"
        );
    }

    #[test]
    fn a_length_that_no_object_has_is_refused_before_anything_is_read() {
        for length in [
            usize::MAX,
            isize::MAX as usize + 1,
            isize::MAX as usize,
            usize::try_from((1_u64 << 56) + 1).unwrap_or(usize::MAX),
        ] {
            let long = called(|c| {
                c.bytes(passed(ptr::dangling::<u8>().cast()), length, "key")
                    .map(|_| ())
            });
            assert!(
                long.0 == 1 && long.3.contains("key cannot be so long"),
                "{long:?}"
            );
            let many = called(|c| {
                c.many(passed(ptr::dangling::<u64>()), length / 8 + 1, "offsets")
                    .map(|_| ())
            });
            assert!(
                many.0 == 1 && many.3.contains("offsets cannot be so long"),
                "{many:?}"
            );
        }
    }

    #[test]
    fn the_longest_length_is_below_half_of_the_address_space() {
        // isize::MAX of a 32-bit machine, which is its SIZE_MAX / 2
        const HALF: usize = i32::MAX as usize;
        for (count, size, is_long) in [
            (HALF - 1, 1, false),
            (HALF, 1, true),
            (HALF + 1, 1, true),
            (HALF / 8, 8, false),
            (HALF / 8 + 1, 8, true),
            (HALF / 24, 24, false),
            (HALF / 24 + 1, 24, true),
            (0, 8, false),
        ] {
            assert_eq!(too_long(count, size, 32), is_long, "{count} of {size}");
        }
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_longest_length_is_what_a_process_can_have() {
        const MOST: usize = 1 << 56;
        const HALF: usize = isize::MAX as usize;
        for (count, size, is_long) in [
            (MOST, 1, false),
            (MOST + 1, 1, true),
            (MOST / 8, 8, false),
            (MOST / 8 + 1, 8, true),
            (HALF - 1, 1, true),
            (HALF, 1, true),
            (HALF + 1, 1, true),
            (HALF / 8, 8, true),
            (usize::MAX, usize::MAX, true),
        ] {
            assert_eq!(too_long(count, size, 64), is_long, "{count} of {size}");
        }
    }
}
