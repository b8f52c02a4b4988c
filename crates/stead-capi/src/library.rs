//! Versions and names.

use std::ffi::{c_char, CStr};
use std::ptr;

use stead_core::memory;

use crate::boundary::value;

/// The number of the binary interface that this header declares; see stead_abi.
#[repr(C)]
pub enum stead_abi_number {
    /// The number of the binary interface of this header.
    STEAD_ABI = 1,
}

/// Returns the number of the library's binary interface. A program runs with every library that
/// returns the STEAD_ABI it was compiled with: such a library may have more functions, and never
/// lacks or changes one. A binding that loads the library at run time must call this first.
#[no_mangle]
pub extern "C" fn stead_abi() -> i32 {
    value("stead_abi", 0, |_| Some(stead_abi_number::STEAD_ABI as i32))
}

/// Returns the version of the library, such as "0.1.0". Do not free it.
#[no_mangle]
pub extern "C" fn stead_version() -> *const c_char {
    value("stead_version", ptr::null(), |_| {
        Some(concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast())
    })
}

/// Returns the name of a status, such as "STEAD_CONFLICT", for logs; NULL for a number that is not
/// a status. Do not free it.
#[no_mangle]
pub extern "C" fn stead_status_name(status: i32) -> *const c_char {
    value("stead_status_name", ptr::null(), |_| {
        let name = NAMES.get(usize::try_from(status).ok()?)?;
        name.map(CStr::as_ptr)
    })
}

/// Sets how many bytes of memory a single call may need, for all threads of the process, and
/// returns the limit before. A call that reads a fleet, or that opens, builds, compares or judges
/// maps, and that may need more, returns STEAD_MEMORY before it begins. What it may need is an
/// upper bound: most calls need less. The limit is 4 GiB unless the environment variable
/// STEAD_MEMORY_LIMIT is another number of bytes when it is first needed.
/// bytes: This is the new limit. 0 changes nothing, and only asks.
#[no_mangle]
pub extern "C" fn stead_memory_limit(bytes: u64) -> u64 {
    value("stead_memory_limit", 0, |_| {
        Some(match bytes {
            0 => memory::limit(),
            bytes => memory::set_limit(bytes),
        })
    })
}

/// The name of each status, indexed by its number.
const NAMES: [Option<&CStr>; 19] = [
    Some(c"STEAD_OK"),
    Some(c"STEAD_INVALID"),
    Some(c"STEAD_FLEET"),
    Some(c"STEAD_IMPOSSIBLE"),
    Some(c"STEAD_FORMAT"),
    Some(c"STEAD_DIGEST"),
    Some(c"STEAD_VERSION"),
    Some(c"STEAD_IDENTITY"),
    Some(c"STEAD_NOT_FOUND"),
    Some(c"STEAD_IO"),
    Some(c"STEAD_CONFLICT"),
    Some(c"STEAD_UNCERTAIN"),
    Some(c"STEAD_CHANGED"),
    Some(c"STEAD_NAME"),
    None, // 14 was never returned and will not be used
    Some(c"STEAD_INTERNAL"),
    Some(c"STEAD_PERMISSION"),
    Some(c"STEAD_MEMORY"),
    Some(c"STEAD_GUARDED"),
];

#[cfg(test)]
mod tests {
    use super::NAMES;
    use crate::types::stead_status;
    use stead_core::Status;

    #[test]
    fn names_and_numbers_belong_together() {
        use Status::*;
        let all = [
            Invalid, Fleet, Impossible, Format, Digest, Version, Identity, NotFound, Io, Conflict,
            Uncertain, Changed, Name, Internal, Permission, Memory, Guarded,
        ];
        for status in all {
            let number = stead_status::from(status);
            assert_eq!(number as i32, status as i32, "one number in every language");
            assert_eq!(
                NAMES[number as usize].unwrap().to_str().unwrap(),
                format!("{number:?}")
            );
        }
        assert_eq!(NAMES.iter().flatten().count(), all.len() + 1);
    }
}
