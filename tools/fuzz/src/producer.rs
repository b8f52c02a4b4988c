//! A producer of Arrow's C data interface: makes the structs of a column that is described, counts
//! their releases, and keeps what they point to.
//!
//! Every buffer is exactly as long as the structs promise, so a reader that goes by the structs
//! stays inside; the targets check that it does.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void, CString};
use std::ptr::{null, null_mut};

use stead_arrow::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned};

/// A column as its producer means it, or, if something in it is wrong, as it lies about it.
#[derive(Clone)]
pub(crate) struct Described {
    /// The format; `None` for a null pointer.
    pub(crate) format: Option<Vec<u8>>,
    pub(crate) length: i64,
    pub(crate) offset: i64,
    pub(crate) nulls: i64,
    /// The buffers; `None` for a null pointer.
    pub(crate) buffers: Vec<Option<Vec<u8>>>,
    /// How many buffers and children are claimed, of the type and of the rows.
    pub(crate) claimed_buffers: i64,
    pub(crate) claimed_children: [i64; 2],
    /// Whether the pointers to the lists are null.
    pub(crate) no_lists: bool,
    /// Whether the structs are released already.
    pub(crate) is_released: bool,
    /// The children, each of which may be a null pointer.
    pub(crate) children: Vec<Option<Described>>,
    /// The values of a dictionary, and whether the type and the rows point to them.
    pub(crate) dictionary: Option<Box<Described>>,
    pub(crate) has_dictionary: [bool; 2],
}

/// What the structs point to.
#[derive(Default)]
#[allow(clippy::vec_box)] // the structs point to each other, so they must stay where they are
pub(crate) struct Store {
    texts: Vec<CString>,
    buffers: Vec<Box<[u8]>>,
    addresses: Vec<Box<[*const c_void]>>,
    schemas: Vec<Box<ArrowSchema>>,
    arrays: Vec<Box<ArrowArray>>,
    schema_lists: Vec<Box<[*mut ArrowSchema]>>,
    array_lists: Vec<Box<[*mut ArrowArray]>>,
}

thread_local! {
    /// How many structs were given and not released yet.
    static GIVEN: Cell<i64> = const { Cell::new(0) };
    /// How many structs were released that their consumer does not own.
    static WRONG: Cell<i64> = const { Cell::new(0) };
}

/// Returns how many structs are not released, and how many were released wrongly; forgets both.
pub(crate) fn counts() -> (i64, i64) {
    (GIVEN.take(), WRONG.take())
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface promises the struct itself.
    unsafe { (*schema).release = None };
    GIVEN.set(GIVEN.get() - 1);
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the interface promises the struct itself.
    unsafe { (*array).release = None };
    GIVEN.set(GIVEN.get() - 1);
}

/// The release of children and dictionaries, which belong to their parent.
unsafe extern "C" fn release_no_schema(_schema: *mut ArrowSchema) {
    WRONG.set(WRONG.get() + 1);
}

unsafe extern "C" fn release_no_array(_array: *mut ArrowArray) {
    WRONG.set(WRONG.get() + 1);
}

impl Store {
    /// Makes the type of a column.
    pub(crate) fn schema(&mut self, of: &Described) -> Owned<ArrowSchema> {
        let mut schema = self.raw_schema(of);
        if schema.release.is_some() {
            schema.release = Some(release_schema);
            GIVEN.set(GIVEN.get() + 1);
        }
        // SAFETY: it is new, and this store, which lives longer, keeps what it points to.
        unsafe { Owned::new(schema) }
    }

    /// Makes the rows of a column.
    pub(crate) fn array(&mut self, of: &Described) -> Owned<ArrowArray> {
        let mut array = self.raw_array(of);
        if array.release.is_some() {
            array.release = Some(release_array);
            GIVEN.set(GIVEN.get() + 1);
        }
        // SAFETY: it is new, and this store, which lives longer, keeps what it points to.
        unsafe { Owned::new(array) }
    }

    fn raw_schema(&mut self, of: &Described) -> ArrowSchema {
        let format = of.format.clone().map(|format| {
            let text = CString::new(format).unwrap_or_default();
            self.texts.push(text);
            self.texts[self.texts.len() - 1].as_ptr()
        });
        let mut children = Vec::new();
        for child in &of.children {
            let child = child.as_ref().map(|child| Box::new(self.raw_schema(child)));
            children.push(child.map_or(null_mut(), |child| {
                self.schemas.push(child);
                let last = self.schemas.len() - 1;
                &mut *self.schemas[last]
            }));
        }
        let dictionary = of.dictionary.as_ref().filter(|_| of.has_dictionary[0]);
        let dictionary = dictionary.map(|values| Box::new(self.raw_schema(values)));
        let dictionary = dictionary.map_or(null_mut(), |values| {
            self.schemas.push(values);
            let last = self.schemas.len() - 1;
            &mut *self.schemas[last] as *mut ArrowSchema
        });
        self.schema_lists.push(children.into());
        let last = self.schema_lists.len() - 1;
        ArrowSchema {
            format: format.unwrap_or(null()),
            name: null(),
            metadata: null(),
            flags: 2,
            n_children: of.claimed_children[0],
            children: match of.no_lists {
                true => null_mut(),
                false => self.schema_lists[last].as_mut_ptr(),
            },
            dictionary,
            release: (!of.is_released).then_some(release_no_schema),
            private_data: null_mut(),
        }
    }

    fn raw_array(&mut self, of: &Described) -> ArrowArray {
        let mut addresses: Vec<*const c_void> = Vec::new();
        for buffer in &of.buffers {
            addresses.push(buffer.as_ref().map_or(null(), |buffer| {
                self.buffers.push(buffer.clone().into_boxed_slice());
                self.buffers[self.buffers.len() - 1].as_ptr().cast()
            }));
        }
        let mut children = Vec::new();
        for child in &of.children {
            let child = child.as_ref().map(|child| Box::new(self.raw_array(child)));
            children.push(child.map_or(null_mut(), |child| {
                self.arrays.push(child);
                let last = self.arrays.len() - 1;
                &mut *self.arrays[last]
            }));
        }
        let dictionary = of.dictionary.as_ref().filter(|_| of.has_dictionary[1]);
        let dictionary = dictionary.map(|values| Box::new(self.raw_array(values)));
        let dictionary = dictionary.map_or(null_mut(), |values| {
            self.arrays.push(values);
            let last = self.arrays.len() - 1;
            &mut *self.arrays[last] as *mut ArrowArray
        });
        self.addresses.push(addresses.into());
        self.array_lists.push(children.into());
        let (list, last) = (self.addresses.len() - 1, self.array_lists.len() - 1);
        ArrowArray {
            length: of.length,
            null_count: of.nulls,
            offset: of.offset,
            n_buffers: of.claimed_buffers,
            n_children: of.claimed_children[1],
            buffers: match of.no_lists {
                true => null(),
                false => self.addresses[list].as_ptr(),
            },
            children: match of.no_lists {
                true => null_mut(),
                false => self.array_lists[last].as_mut_ptr(),
            },
            dictionary,
            release: (!of.is_released).then_some(release_no_array),
            private_data: null_mut(),
        }
    }

    /// Whether these bytes lie in a buffer of the producer.
    pub(crate) fn has(&self, bytes: &[u8]) -> bool {
        let range = bytes.as_ptr_range();
        let is_in = |buffer: &[u8]| {
            let whole = buffer.as_ptr_range();
            whole.start <= range.start && range.end <= whole.end
        };
        bytes.is_empty() || self.buffers.iter().any(|buffer| is_in(buffer))
    }
}

/// A stream as its producer means it.
#[derive(Default)]
pub(crate) struct Streamed {
    pub(crate) store: RefCell<Store>,
    pub(crate) schema: Option<Described>,
    pub(crate) chunks: Vec<Described>,
    /// The call, from 0, that fails, and what the producer says then.
    pub(crate) fails: Option<(usize, Option<CString>)>,
    /// Which of the three functions are missing.
    pub(crate) missing: [bool; 3],
    /// How many chunks were given, and how many calls were made.
    pub(crate) given: Cell<usize>,
    pub(crate) calls: Cell<usize>,
}

impl Streamed {
    fn fails_now(&self) -> bool {
        let number = self.calls.replace(self.calls.get() + 1);
        self.fails
            .as_ref()
            .is_some_and(|(fails, _)| *fails == number)
    }
}

/// The stream of a `Streamed`, which must stay where it is until the stream is dropped.
pub(crate) fn stream(of: &Streamed) -> Owned<ArrowArrayStream> {
    GIVEN.set(GIVEN.get() + 1);
    let [no_schema, no_next, no_error] = of.missing;
    let stream = ArrowArrayStream {
        get_schema: (!no_schema).then_some(get_schema),
        get_next: (!no_next).then_some(get_next),
        get_last_error: (!no_error).then_some(get_last_error),
        release: Some(release_stream),
        private_data: std::ptr::from_ref(of).cast_mut().cast(),
    };
    // SAFETY: it is new, and its functions keep the rules.
    unsafe { Owned::new(stream) }
}

/// The producer of a stream.
///
/// # Safety
///
/// `stream` made it, and its `Streamed` is still there.
unsafe fn streamed<'a>(of: *mut ArrowArrayStream) -> &'a Streamed {
    // SAFETY: the caller promises it.
    let data = unsafe { (*of).private_data };
    // SAFETY: `stream` put it there.
    unsafe { &*data.cast::<Streamed>() }
}

unsafe extern "C" fn get_schema(of: *mut ArrowArrayStream, made: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer calls it with the stream itself.
    let of = unsafe { streamed(of) };
    if of.fails_now() {
        return 5;
    }
    if let Some(schema) = &of.schema {
        let schema = std::mem::ManuallyDrop::new(of.store.borrow_mut().schema(schema));
        // SAFETY: the consumer gave the place for it, and owns it from now on.
        unsafe { made.copy_from(&**schema, 1) };
    }
    0
}

unsafe extern "C" fn get_next(of: *mut ArrowArrayStream, made: *mut ArrowArray) -> c_int {
    // SAFETY: the consumer calls it with the stream itself.
    let of = unsafe { streamed(of) };
    if of.fails_now() {
        return 5;
    }
    let number = of.given.replace(of.given.get() + 1);
    if let Some(chunk) = of.chunks.get(number) {
        let array = std::mem::ManuallyDrop::new(of.store.borrow_mut().array(chunk));
        // SAFETY: the consumer gave the place for it, and owns it from now on.
        unsafe { made.copy_from(&**array, 1) };
    }
    0
}

unsafe extern "C" fn get_last_error(of: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: the consumer calls it with the stream itself.
    let of = unsafe { streamed(of) };
    let said = of.fails.as_ref().and_then(|(_, said)| said.as_ref());
    said.map_or(null(), |said| said.as_ptr())
}

unsafe extern "C" fn release_stream(of: *mut ArrowArrayStream) {
    // SAFETY: the interface promises the struct itself.
    unsafe { (*of).release = None };
    GIVEN.set(GIVEN.get() - 1);
}
