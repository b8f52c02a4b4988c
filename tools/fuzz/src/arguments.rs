//! The arguments of calls of libstead: which pointers are NULL, keys, arrays with room behind them,
//! and the error record; and the checks of what a call leaves in them.
#![allow(unsafe_code)] // `call!`, whose one block of unsafe code is in foreign.rs

use std::collections::HashMap;
use std::ffi::{c_char, CStr};
use std::ptr::{null, null_mut};
use std::sync::{Arc, OnceLock};

use stead::policy::NodeId;
use stead::{Error, Map, Plan};
use stead_capi::types::{stead_error, stead_map};

use crate::foreign::{call, said};
use crate::input::Input;

/// `STEAD_INVALID`.
pub(crate) const INVALID: i32 = 1;

/// `STEAD_INTERNAL`.
const INTERNAL: i32 = 15;

/// An object of libstead, and the same one of the Rust library.
pub(crate) struct Both<C, R> {
    pub(crate) c: *mut C,
    pub(crate) rust: R,
}

/// A plan of the Rust library, and what a report of it needs.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) old: Arc<Map>,
    pub(crate) new: Arc<Map>,
}

/// Returns the status that a result of the Rust library has in C.
pub(crate) fn status_of<T>(result: &Result<T, Error>) -> i32 {
    result
        .as_ref()
        .err()
        .map_or(0, |error| error.status() as i32)
}

/// The arguments of a call that are pointers: which of them is NULL.
pub(crate) struct Nulls(pub(crate) usize);

impl Nulls {
    /// Chooses one of the first pointers, or, mostly, none.
    pub(crate) fn of(input: &mut Input<'_>) -> Nulls {
        Nulls(input.below(24))
    }

    /// Returns pointer number `number`, or NULL in its place.
    pub(crate) fn or<T>(&self, number: usize, pointer: *const T) -> *const T {
        if self.0 == number {
            null()
        } else {
            pointer
        }
    }

    /// The same for a place that is written to.
    pub(crate) fn or_mut<T>(&self, number: usize, pointer: *mut T) -> *mut T {
        if self.0 == number {
            null_mut()
        } else {
            pointer
        }
    }

    /// Whether one of the first `count` pointers is NULL.
    pub(crate) fn any(&self, count: usize) -> bool {
        self.0 < count
    }

    /// The status of a call whose first `count` pointers may not be NULL, and which otherwise has
    /// this one.
    pub(crate) fn status(&self, count: usize, otherwise: i32) -> i32 {
        if self.any(count) {
            INVALID
        } else {
            otherwise
        }
    }
}

/// The error record of a call.
pub(crate) struct Record(stead_error);

impl Record {
    pub(crate) fn new() -> Record {
        Record(stead_error {
            status: -7,
            os_errno: -7,
            message: [b'?' as c_char; 248],
        })
    }

    /// The pointer to pass: at times NULL, which is always allowed.
    pub(crate) fn place(&mut self, input: &mut Input<'_>) -> *mut stead_error {
        if input.below(8) == 0 {
            self.0.status = i32::MIN;
            return null_mut();
        }
        &mut self.0
    }

    /// Checks what a call returned: the status that it must have, which its comment lists, and a
    /// record that says the same.
    pub(crate) fn check(&self, name: &str, status: i32, wanted: i32) {
        let message: Vec<u8> = self.0.message.iter().map(|byte| *byte as u8).collect();
        let message = CStr::from_bytes_until_nul(&message);
        assert_eq!(status, wanted, "{name}: {message:?}");
        let listed = status == 0 || documented()[name].contains(&status);
        assert!(listed && status != INTERNAL, "{name} returns {status}");
        if self.0.status == i32::MIN {
            return; // there was no record
        }
        let message = message.expect("a NUL").to_str().expect("UTF-8");
        assert_eq!(self.0.status, status, "{name}: the record");
        assert_eq!(message.is_empty(), status == 0, "{name}: {message:?}");
        assert!(!message.contains('\n'), "{name}: {message:?}");
    }
}

/// Returns the statuses that stead.h lists for each function that has an error record.
fn documented() -> &'static HashMap<&'static str, Vec<i32>> {
    static FOUND: OnceLock<HashMap<&str, Vec<i32>>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let number = |word: &str| {
            let name = |status: &i32| said(call!(stead_status_name(*status)));
            (0..32).find(|status| name(status).as_deref() == Some(word))
        };
        let (mut found, mut sentence) = (HashMap::new(), Vec::new());
        for line in include_str!("../../../include/stead.h").lines() {
            if line.starts_with("// Returns STEAD_OK") {
                sentence = vec![0];
            }
            if line.starts_with("//") && !sentence.is_empty() {
                let words = line.split(|c: char| c != '_' && !c.is_ascii_alphabetic());
                sentence.extend(words.filter_map(number));
            } else if let Some(name) = line.strip_prefix("int32_t ") {
                let name = name.split('(').next().unwrap_or_default();
                found.insert(name, std::mem::take(&mut sentence));
            } else if line.is_empty() {
                sentence.clear();
            }
        }
        assert!(found["stead_map_build"].len() > 5, "the header is read");
        found
    })
}

pub(crate) type MapOf = Both<stead_map, Arc<Map>>;

/// What stands in an array before a call. Behind the capacity it must stand there afterwards.
pub(crate) const UNTOUCHED: i32 = -77;

/// Places behind the capacity of each array.
pub(crate) const BEHIND: usize = 3;

pub(crate) fn number(node: NodeId) -> i32 {
    node.0 as i32
}

/// Takes a key: some that many maps have, or bytes of the input.
pub(crate) fn key<'a>(input: &mut Input<'a>) -> &'a [u8] {
    let known: [&[u8]; 6] = [b"", b"frank", b"k", b"{a}b", b"a/b/c", b"\xff\0"];
    let chosen = input.below(9);
    let own = 3 * input.below(40) / 2;
    known
        .get(chosen)
        .copied()
        .unwrap_or_else(|| input.bytes(own))
}

/// Takes a number of a node, a policy or a level: often one that is there.
pub(crate) fn place(input: &mut Input<'_>, count: usize) -> i32 {
    let there = input.below(count.max(1)) as i32;
    *input.one_of(&[
        there,
        there,
        there,
        there,
        count as i32,
        -1,
        i32::MAX,
        i32::MIN,
    ])
}

/// A list with a capacity, as many functions fill it.
pub(crate) struct List {
    pub(crate) values: Vec<i32>,
    pub(crate) capacity: usize,
    pub(crate) count: usize,
}

impl List {
    pub(crate) fn of(input: &mut Input<'_>) -> List {
        let capacity = *input.one_of(&[0, 1, 2, 3, 8, 16, 17, 40]);
        List {
            values: vec![UNTOUCHED; capacity + BEHIND],
            capacity,
            count: usize::MAX,
        }
    }

    /// Checks what the call left: the first of `wanted`, and their number; or nothing.
    pub(crate) fn check(&self, status: i32, wanted: &[i32]) {
        let wanted: &[i32] = if status == 0 { wanted } else { &[] };
        let count = if status == 0 {
            wanted.len()
        } else {
            usize::MAX
        };
        assert_eq!(self.count, count);
        let written = wanted.len().min(self.capacity);
        assert_eq!(self.values[..written], wanted[..written]);
        let rest = &self.values[written..];
        assert!(rest.iter().all(|one| *one == UNTOUCHED), "nothing else");
    }
}

/// Many keys: bytes, and offsets that may be wrong.
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) offsets: Vec<u64>,
    pub(crate) is_right: bool,
}

impl Batch {
    pub(crate) fn of(input: &mut Input<'_>) -> Batch {
        // rarely more than a block of the core
        let count = *input.one_of(&[0, 1, 2, 3, 5, 8, 33, 1100]);
        let length = input.below(64);
        let mut bytes = input.bytes(length).to_vec();
        bytes.resize(length, b'k');
        let mut offsets: Vec<u64> = (0..=count)
            .map(|i| (i * length / count.max(1)) as u64)
            .collect();
        if input.below(3) == 0 {
            let at = input.below(offsets.len());
            offsets[at] = input.word() >> input.below(64);
        }
        let is_right = count == 0
            || offsets.is_sorted() && offsets.last().is_none_or(|last| *last <= length as u64);
        Batch {
            bytes,
            offsets,
            is_right,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The keys; none when the offsets are wrong.
    pub(crate) fn keys(&self) -> Vec<&[u8]> {
        if !self.is_right || self.count() == 0 {
            return Vec::new();
        }
        let pairs = self.offsets.windows(2);
        pairs
            .map(|pair| &self.bytes[pair[0] as usize..pair[1] as usize])
            .collect()
    }

    /// Whether a call with these NULLs is wrong: number 2 is the bytes, number 3 the offsets.
    pub(crate) fn is_bad(&self, nulls: &Nulls, always: usize) -> bool {
        let is_null = |number: usize| nulls.or(number, &number).is_null();
        nulls.any(always)
            || (!self.bytes.is_empty() && is_null(2))
            || (self.count() > 0 && is_null(3))
            || !self.is_right
    }
}

/// Takes a text that libstead made, and frees it.
pub(crate) fn taken(text: *mut c_char) -> Option<String> {
    let copy = said(text);
    call!(stead_text_free(text));
    copy
}
