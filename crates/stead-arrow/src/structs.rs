//! The structs of Arrow's C data interface, as all libraries share them, and who releases them.
//!
//! The rules are those of arrow.apache.org, "The Arrow C data interface". A struct whose `release`
//! is null is released. The owner of a struct calls `release` once. A struct may be moved, and then
//! only the new place owns it. The structs themselves are plain data and do not say who owns them.
//! [`Owned`] is the owner.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void, CStr};
use std::ops::Deref;
use std::ptr;

/// `struct ArrowSchema`: the type of a column.
#[repr(C)]
pub struct ArrowSchema {
    /// The type, as a string of the interface.
    pub format: *const c_char,
    /// The name of the column; unused.
    pub name: *const c_char,
    /// Pairs of keys and values, of which the name of an extension type is used.
    pub metadata: *const c_char,
    /// Flags; unused.
    pub flags: i64,
    /// How many children the type has.
    pub n_children: i64,
    /// The types of the children.
    pub children: *mut *mut ArrowSchema,
    /// The type of the values, if the rows are indices.
    pub dictionary: *mut ArrowSchema,
    /// Frees what the struct points to; null in a released struct.
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// `struct ArrowArray`: the rows of a column.
#[repr(C)]
pub struct ArrowArray {
    /// The number of rows.
    pub length: i64,
    /// The number of null rows; -1 if nobody counted them.
    pub null_count: i64,
    /// The row of the buffers at which the column begins.
    pub offset: i64,
    /// How many buffers there are.
    pub n_buffers: i64,
    /// How many children there are.
    pub n_children: i64,
    /// The addresses of the buffers.
    pub buffers: *const *const c_void,
    /// The children.
    pub children: *mut *mut ArrowArray,
    /// The values, if the rows are indices.
    pub dictionary: *mut ArrowArray,
    /// Frees what the struct points to; null in a released struct.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// `struct ArrowArrayStream`: columns of one type, one after the other.
#[repr(C)]
pub struct ArrowArrayStream {
    /// Fills in the type.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Fills in the next column; a released one at the end.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// Says why the last call failed.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Frees what the struct points to; null in a released struct.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// A struct of the interface. It is passed in a capsule of a fixed name, may be moved, and is
/// released once.
pub trait Struct: Sized {
    /// The name of its capsules.
    const CAPSULE: &'static CStr;
    /// A released struct.
    fn released() -> Self;
    /// Whether the struct is released.
    fn is_released(&self) -> bool;
    /// Calls the release of a struct that is not released.
    ///
    /// # Safety
    ///
    /// The caller owns the struct, and its producer keeps the rules of the interface.
    unsafe fn release(&mut self);
}

impl Struct for ArrowSchema {
    const CAPSULE: &'static CStr = c"arrow_schema";

    fn released() -> ArrowSchema {
        ArrowSchema {
            format: ptr::null(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }

    unsafe fn release(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the struct is not released (line above); the caller promises the rest.
            unsafe { release(self) }
        }
    }
}

impl Struct for ArrowArray {
    const CAPSULE: &'static CStr = c"arrow_array";

    fn released() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }

    unsafe fn release(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the struct is not released (line above); the caller promises the rest.
            unsafe { release(self) }
        }
    }
}

impl Struct for ArrowArrayStream {
    const CAPSULE: &'static CStr = c"arrow_array_stream";

    fn released() -> ArrowArrayStream {
        ArrowArrayStream {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }

    unsafe fn release(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the struct is not released (line above); the caller promises the rest.
            unsafe { release(self) }
        }
    }
}

/// The owner of a struct, who releases it when dropped.
#[repr(transparent)]
pub struct Owned<T: Struct>(T);

impl<T: Struct> Owned<T> {
    /// Takes a struct over.
    ///
    /// # Safety
    ///
    /// Nobody else owns the struct. It keeps the rules of the interface: each pointer is null, or
    /// points to what the format of the column says, which stays there, unchanged, until the
    /// release; and the functions do what the interface says, on any thread.
    pub unsafe fn new(one: T) -> Owned<T> {
        Owned(one)
    }

    /// The struct, for a producer's function that gets a pointer to it.
    pub(crate) fn place(&mut self) -> *mut T {
        &mut self.0
    }
}

impl<T: Struct> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Struct> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: this value is the owner, and the producer keeps the rules (`new`).
        unsafe { self.0.release() }
    }
}

// SAFETY: the interface lets a struct be moved, read and released on any thread, but an array and a
// stream only by one thread at a time, hence no `Sync` for these.
unsafe impl<T: Struct> Send for Owned<T> {}
// SAFETY: nothing writes to a schema before its release, which happens when its owner is dropped.
unsafe impl Sync for Owned<ArrowSchema> {}
