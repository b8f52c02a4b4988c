//! What a caller in C does, for the tests: it passes pointers, owns the places that answers are
//! written to, and reads what the library returned. Most places start without a value, as a local
//! variable does in C; Miri reports whoever reads one that was not written.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void, CStr};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::Foreign;
use crate::types::{stead_error, stead_map, stead_pair};

/// A pointer as C passes it. The tests only pass pointers to live values, and pointers that must be
/// refused before they are read.
pub(crate) fn passed<P>(pointer: P) -> Foreign<'static, P> {
    Foreign(pointer, PhantomData)
}

/// NULL.
pub(crate) fn null<T>() -> Foreign<'static, *const T> {
    passed(std::ptr::null())
}

/// NULL, for an answer that nobody wants.
pub(crate) fn nowhere<T>() -> Foreign<'static, *mut T> {
    passed(std::ptr::null_mut())
}

/// The bytes of a key or a text.
pub(crate) fn bytes(bytes: &[u8]) -> Foreign<'_, *const c_void> {
    passed(bytes.as_ptr().cast())
}

/// A string with its NUL.
pub(crate) fn text(text: &CStr) -> Foreign<'_, *const c_char> {
    passed(text.as_ptr())
}

/// A copy of a string that the library returned; `None` for NULL.
pub(crate) fn read(text: *const c_char) -> Option<String> {
    // SAFETY: the library returned it: it is NULL, or ends with NUL and lives as long as its map,
    // which the tests free later.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned())
}

/// A copy of bytes that the library returned.
pub(crate) fn copied(start: *const c_void, length: usize) -> Vec<u8> {
    // SAFETY: the library said that there are so many bytes, and the tests free their map later.
    unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) }.to_vec()
}

/// Places for answers, which have no value before the library writes them.
pub(crate) struct Places<T>(Vec<MaybeUninit<T>>);

impl<T> Places<T> {
    pub(crate) fn new(count: usize) -> Places<T> {
        Places((0..count).map(|_| MaybeUninit::uninit()).collect())
    }

    pub(crate) fn place(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }

    pub(crate) fn out(&mut self) -> Foreign<'_, *mut T> {
        passed(self.place())
    }

    /// Looks at what the library wrote to the only place.
    pub(crate) fn with<U>(&self, look: impl FnOnce(&T) -> U) -> U {
        // SAFETY: the library said that it has written it. Miri finds a lie.
        look(unsafe { self.0[0].assume_init_ref() })
    }
}

impl<T: Copy> Places<T> {
    /// Reads what the library wrote to the first places.
    pub(crate) fn first(&self, count: usize) -> Vec<T> {
        // SAFETY: the library said that it has written these. Miri finds a lie.
        let read = |place: &MaybeUninit<T>| unsafe { place.assume_init() };
        self.0[..count].iter().map(read).collect()
    }

    /// Reads what the library wrote to the only place.
    pub(crate) fn one(&self) -> T {
        self.first(1)[0]
    }
}

/// An error record that was never written.
pub(crate) struct Record(Box<MaybeUninit<stead_error>>);

impl Record {
    pub(crate) fn new() -> Record {
        Record(Box::new(MaybeUninit::uninit()))
    }

    pub(crate) fn out(&mut self) -> Foreign<'_, *mut stead_error> {
        passed(self.0.as_mut_ptr())
    }

    /// Reads the status, the errno and the message that the last call wrote.
    pub(crate) fn said(&self) -> (i32, i32, String) {
        let record = self.0.as_ptr();
        // SAFETY: every call writes the status.
        let status = unsafe { (*record).status };
        // SAFETY: every call writes the errno.
        let os_errno = unsafe { (*record).os_errno };
        // SAFETY: every call writes the message up to its NUL; no reference is made to the rest.
        let message = unsafe { &raw const (*record).message };
        (status, os_errno, read(message.cast()).unwrap())
    }
}

/// A handle that several threads use at once.
pub(crate) struct Handle<T>(*mut T);

// SAFETY: the header allows any number of threads to use a map at once.
unsafe impl Sync for Handle<stead_map> {}
// SAFETY: as for a map.
unsafe impl Sync for Handle<stead_pair> {}

impl<T> Handle<T> {
    pub(crate) fn new(handle: *mut T) -> Handle<T> {
        Handle(handle)
    }

    pub(crate) fn get(&self) -> Foreign<'_, *const T> {
        passed(self.0.cast_const())
    }

    pub(crate) fn get_mut(&self) -> *mut T {
        self.0
    }

    pub(crate) fn freed(self) -> Foreign<'static, *mut T> {
        passed(self.0)
    }
}

/// A number that threads change without a lock: the mistake of a control.
#[derive(Default)]
pub(crate) struct Unlocked(UnsafeCell<u32>);

// SAFETY: this is false, and the control shows that the tools find it.
unsafe impl Sync for Unlocked {}

impl Unlocked {
    pub(crate) fn add_one(&self) {
        let place = self.0.get();
        // SAFETY: this is false when two threads call it at once; see above.
        unsafe { *place += 1 };
    }
}
