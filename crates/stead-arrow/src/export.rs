//! Exports columns, which their consumer releases.
#![allow(unsafe_code)]

use std::ffi::{c_void, CStr};
use std::ptr;
use std::sync::Arc;

use crate::structs::{ArrowArray, ArrowSchema, Owned, Struct};

/// `ARROW_FLAG_NULLABLE`.
const NULLABLE: i64 = 2;

/// Memory that is exported.
///
/// # Safety
///
/// While it is in an `Arc`, it must neither move nor change: `address` returns the same items each
/// time.
pub unsafe trait Buffer: Send + Sync {
    /// The address of the memory.
    fn address(&self) -> *const c_void;
}

// SAFETY: a Vec that is only read does not move its items. They do not change either, because what
// can change behind a shared reference (an atomic number) is not `Copy`.
unsafe impl<T: Copy + Send + Sync> Buffer for Vec<T> {
    fn address(&self) -> *const c_void {
        self.as_ptr().cast()
    }
}

/// A column to export.
pub struct Export {
    /// The format string of its type, such as "i".
    pub format: &'static CStr,
    /// The number of rows.
    pub length: usize,
    /// The number of rows that are null.
    pub nulls: usize,
    /// The buffers in the order of the type; None for the validity of a column without nulls.
    pub buffers: Vec<Option<Arc<dyn Buffer>>>,
    /// The values that the rows are indices of.
    pub dictionary: Option<Box<Export>>,
    /// The items of all rows, if the rows are lists.
    pub items: Option<Box<Export>>,
}

impl Export {
    /// The type.
    pub fn schema(&self) -> Owned<ArrowSchema> {
        // SAFETY: the struct is new, points to what `exported_schema` made, and is released by
        // `release_schema`.
        unsafe { Owned::new(self.exported_schema()) }
    }

    /// The rows.
    pub fn array(self) -> Owned<ArrowArray> {
        // SAFETY: the struct is new, points to what `exported_array` made, and is released by
        // `release_array`.
        unsafe { Owned::new(self.exported_array()) }
    }

    fn exported_schema(&self) -> ArrowSchema {
        ArrowSchema {
            format: self.format.as_ptr(),
            name: c"item".as_ptr(), // Arrow's own name for the items of lists; others need none
            flags: NULLABLE,
            n_children: self.items.iter().len() as i64, // 0 or 1
            children: children(self.items.as_ref().map(|items| items.exported_schema())),
            dictionary: boxed(self.dictionary.as_ref().map(|it| it.exported_schema())),
            release: Some(release_schema),
            ..ArrowSchema::released()
        }
    }

    fn exported_array(self) -> ArrowArray {
        let addresses = self
            .buffers
            .iter()
            .map(|buffer| {
                buffer
                    .as_ref()
                    .map_or(ptr::null(), |buffer| buffer.address())
            })
            .collect();
        let held = Box::new(Held {
            addresses,
            _buffers: self.buffers,
        });
        ArrowArray {
            // a Vec has no more than `isize::MAX` items
            length: self.length as i64,
            null_count: self.nulls as i64,
            n_buffers: held.addresses.len() as i64,
            buffers: held.addresses.as_ptr(),
            n_children: self.items.iter().len() as i64, // 0 or 1
            children: children(self.items.map(|items| items.exported_array())),
            dictionary: boxed(self.dictionary.map(|values| values.exported_array())),
            release: Some(release_array),
            private_data: Box::into_raw(held).cast(),
            ..ArrowArray::released()
        }
    }
}

/// The memory that an exported array points to.
struct Held {
    addresses: Vec<*const c_void>,
    _buffers: Vec<Option<Arc<dyn Buffer>>>,
}

/// A struct in a box that only `drop_box` frees; null for None.
fn boxed<T>(inner: Option<T>) -> *mut T {
    inner.map_or(ptr::null_mut(), |inner| Box::into_raw(Box::new(inner)))
}

/// The children of a struct that has one child or none. Only `drop_children` frees them.
fn children<T>(only: Option<T>) -> *mut *mut T {
    boxed(only.map(|only| boxed(Some(only))))
}

/// Frees what `boxed` made, and returns what was in it.
///
/// # Safety
///
/// `inner` is from `boxed`, and is not used again.
unsafe fn drop_box<T>(inner: *mut T) -> Option<T> {
    // SAFETY: if it is not null, `boxed` made it from a box.
    (!inner.is_null()).then(|| *unsafe { Box::from_raw(inner) })
}

/// Releases a struct that `boxed` put into a box, unless its consumer has moved it out, and frees
/// it.
///
/// # Safety
///
/// As for [`drop_box`].
unsafe fn drop_struct<T: Struct>(inner: *mut T) {
    // SAFETY: the caller promises it.
    let one = unsafe { drop_box(inner) };
    // SAFETY: nobody else owns a struct that was not moved out, and `Export` made it.
    drop(one.map(|one| unsafe { Owned::new(one) }));
}

/// Frees what `children` made.
///
/// # Safety
///
/// `only` is from `children`, and is not used again.
unsafe fn drop_children<T: Struct>(only: *mut *mut T) {
    // SAFETY: it is null, or `boxed` made it, which nobody else frees.
    if let Some(child) = unsafe { only.as_ref() } {
        // SAFETY: `children` made the child with `boxed`.
        unsafe { drop_struct(*child) };
        // SAFETY: `children` made the list of one with `boxed`.
        unsafe { drop_box(only) };
    }
}

/// The `release` of `exported_schema`.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface guarantees that a schema's release is called with that schema, by its
    // only owner.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: `exported_schema` made them, and release runs once.
    unsafe { drop_children(schema.children) };
    // SAFETY: `exported_schema` made it, and release runs once.
    unsafe { drop_struct(schema.dictionary) };
}

/// The `release` of `exported_array`.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the interface guarantees that an array's release is called with that array, by its
    // only owner.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: `exported_array` made them, and release runs once.
    unsafe { drop_children(array.children) };
    // SAFETY: `exported_array` made it, and release runs once.
    unsafe { drop_struct(array.dictionary) };
    // SAFETY: `exported_array` made it from a box of a `Held`, and the interface guarantees that
    // release is called only once.
    drop(unsafe { Box::from_raw(array.private_data.cast::<Held>()) });
}
