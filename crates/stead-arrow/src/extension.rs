//! The name of a column's extension type, which says what its bytes mean.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::slice;

/// The key under which a schema has the name.
const NAME: &[u8] = b"ARROW:extension:name";

/// Returns the name of the extension type in the metadata of a schema, if they have one.
///
/// The metadata are a number of pairs, and then a key and a value for each, with the length before
/// it. All numbers are 32 bits long, in the order of bytes of this machine.
///
/// # Safety
///
/// `metadata` is null, or points to such pairs.
pub unsafe fn extension_name(metadata: *const c_char) -> Option<String> {
    if metadata.is_null() {
        return None;
    }
    let mut rest = Rest(metadata.cast());
    // SAFETY: the parts are read in the order of the interface, and as many as it says
    let pairs = unsafe { rest.number() }?;
    for _ in 0..pairs {
        // SAFETY: as above
        let key = unsafe { rest.part() }?;
        // SAFETY: as above
        let value = unsafe { rest.part() }?;
        if key == NAME {
            return Some(String::from_utf8_lossy(value).into_owned());
        }
    }
    None
}

/// The metadata that are not read yet.
struct Rest(*const u8);

impl Rest {
    /// # Safety
    ///
    /// So many bytes are left.
    unsafe fn take<'a>(&mut self, length: usize) -> &'a [u8] {
        // SAFETY: by the promise of the caller
        let bytes = unsafe { slice::from_raw_parts(self.0, length) };
        // SAFETY: the same
        self.0 = unsafe { self.0.add(length) };
        bytes
    }

    /// # Safety
    ///
    /// A number is next.
    unsafe fn number(&mut self) -> Option<usize> {
        // SAFETY: by the promise of the caller
        let bytes = unsafe { self.take(4) };
        usize::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    }

    /// # Safety
    ///
    /// A key or a value is next.
    unsafe fn part<'a>(&mut self) -> Option<&'a [u8]> {
        // SAFETY: by the promise of the caller
        let length = unsafe { self.number() }?;
        // SAFETY: the same
        Some(unsafe { self.take(length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_among_other_pairs() {
        let metadata = |pairs: &[(&str, &str)]| {
            let number = |n: usize| (n as i32).to_ne_bytes();
            let mut bytes = number(pairs.len()).to_vec();
            for part in pairs.iter().flat_map(|(key, value)| [key, value]) {
                bytes.extend(number(part.len()));
                bytes.extend(part.bytes());
            }
            bytes
        };
        let name = |bytes: &[u8]| {
            // SAFETY: `bytes` are metadata, whole or with a number that is negative
            unsafe { extension_name(bytes.as_ptr().cast()) }
        };
        assert_eq!(name(&metadata(&[])), None);
        assert_eq!(name(&metadata(&[("a", "b")])), None);
        let uuid = [("", ""), ("ARROW:extension:name", "arrow.uuid"), ("c", "")];
        assert_eq!(name(&metadata(&uuid)).as_deref(), Some("arrow.uuid"));
        assert_eq!(name(&(-1i32).to_ne_bytes()), None);
        // SAFETY: null is allowed
        assert_eq!(unsafe { extension_name(std::ptr::null()) }, None);
    }
}
