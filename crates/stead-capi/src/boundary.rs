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
use std::mem::{offset_of, ManuallyDrop, MaybeUninit};
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
/// or it points to what its type and its function say, aligned for it; the target stays there until
/// the call returns, and nobody else writes to it, or, where the call writes, reads it either.
/// `Foreign` is not `Copy`, so that no function can use a handle after freeing it.
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
    // SAFETY: by the promise of `Foreign` it is NULL, or the place of a record, aligned for one,
    // that nobody else reads or writes until the call returns. A `Record` has the layout of the
    // type in the header (below), and its bytes need not have been written before.
    if let Some(record) = unsafe { error.0.cast::<Record>().as_mut() } {
        record.status.write(status as i32);
        record
            .os_errno
            .write(failure.as_ref().and_then(os_errno).unwrap_or(0));
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

/// A `stead_error` whose bytes may never have been written: in C, `stead_error error;` is enough.
/// In Rust, a reference to numbers that were never written must not exist.
#[repr(C)]
struct Record {
    status: MaybeUninit<i32>,
    os_errno: MaybeUninit<i32>,
    message: [MaybeUninit<c_char>; 248],
}

const _: () = {
    assert!(size_of::<Record>() == size_of::<stead_error>());
    assert!(align_of::<Record>() == align_of::<stead_error>());
    assert!(offset_of!(Record, status) == offset_of!(stead_error, status));
    assert!(offset_of!(Record, os_errno) == offset_of!(stead_error, os_errno));
    assert!(offset_of!(Record, message) == offset_of!(stead_error, message));
};

/// Writes a message, which fits, and its NUL.
fn write_message(record: &mut [MaybeUninit<c_char>], message: &str) {
    let bytes = message.bytes().chain([0]);
    for (place, byte) in record.iter_mut().zip(bytes) {
        place.write(byte as c_char);
    }
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
    pub(crate) fn share(&self, map: Foreign<*const stead_map>, what: &str) -> Result<Arc<Map>> {
        self.present(map.0.cast::<Map>(), what)?;
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
        // C keeps and does not change until the call returns. Every value of a T that the functions
        // take (bytes and numbers) is valid.
        Ok(unsafe { std::slice::from_raw_parts(values.0, count) })
    }

    /// Borrows a string that ends with NUL.
    fn c_str<'a>(&'a self, text: Foreign<'a, *const c_char>, what: &str) -> Result<&'a CStr> {
        self.present(text.0, what)?;
        // SAFETY: `present` checked that it is not NULL. So by the promise of `Foreign` it is a
        // string with a NUL at its end, which C keeps and does not change until the call returns.
        // No object, and so no string, is longer than isize::MAX (`too_long`).
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
pub(crate) mod passing;

#[cfg(test)]
mod tests;
