//! Keys without a map: points, paths, folding.

use std::ffi::{c_char, c_void};

use stead_core::hash::{Affixes, Hash, Secret};
use stead_core::path::{Fold, Levels};

use crate::boundary::{status, Foreign};
use crate::types::{stead_error, stead_fold};

/// The point of a key under a hash, without a map.
/// hash: a number of stead_hash. secret: 16 bytes for STEAD_SIPHASH, NULL for the others.
#[no_mangle]
pub extern "C" fn stead_point(
    hash: i32,
    secret: Foreign<*const c_void>,
    key: Foreign<*const c_void>,
    length: usize,
    point: Foreign<*mut u64>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_point", error, |c| {
        let (key, point) = (c.key(key, length)?, c.out(point, "point")?);
        let keyed = Hash::SipHash(Secret([0; 16]));
        let hash = match u32::try_from(hash) {
            Ok(number) if number == keyed.number() => {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(c.bytes(secret, 16, "secret")?);
                Some(Hash::SipHash(Secret(bytes)))
            }
            Ok(_) if !secret.is_null() => {
                return Err(c.invalid("secret is for STEAD_SIPHASH alone; pass NULL"))
            }
            Ok(number) => Hash::from_stored(number, [0; 16], Affixes::default())
                .filter(|hash| !hash.is_modulo()),
            Err(_) => None,
        };
        let hash = hash.ok_or_else(|| c.invalid("hash is not a number of stead_hash"))?;
        point.put(hash.point(key).0);
        Ok(())
    })
}

/// The directories and the file name of a key, such as "38/37/60/frank", by docs/paths.md: made of
/// [a-z0-9_=/], never leaving the directory it is put under, two keys never the same.
/// levels: the number of directories on each level, such as "64,64,128"; NULL is that.
/// fold: a number of stead_fold.
/// path, capacity: where it goes, with a NUL; STEAD_PATH_ROOM always suffices. count: its length
/// without the NUL.
#[no_mangle]
pub extern "C" fn stead_path(
    key: Foreign<*const c_void>,
    length: usize,
    levels: Foreign<*const c_char>,
    fold: i32,
    path: Foreign<*mut c_char>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_path", error, |c| {
        let (key, count) = (c.key(key, length)?, c.out(count, "count")?);
        let path = c.outs(path, capacity, "path")?;
        let levels = match levels.given() {
            Some(levels) => Levels::parse(c.text(levels, "levels")?)?,
            None => Levels::default(),
        };
        let fold = match fold {
            f if f == stead_fold::STEAD_FOLD_NONE as i32 => Fold::None,
            f if f == stead_fold::STEAD_FOLD_ASCII as i32 => Fold::Ascii,
            _ => return Err(c.invalid(format_args!("fold {fold} is not a number of stead_fold"))),
        };
        let found = stead_core::path::path(key, &levels, fold)?;
        if found.len() >= capacity {
            return Err(c.invalid(format_args!(
                "capacity is {capacity}, and the path needs {}; STEAD_PATH_ROOM suffices",
                found.len() + 1
            )));
        }
        path.fill(found.bytes().chain([0]).map(|byte| byte as c_char));
        count.put(found.len());
        Ok(())
    })
}

/// Makes A-Z of a key a-z and leaves all other bytes: for sites whose names ignore case. Fold
/// before locating, and then everywhere.
/// folded: `length` bytes; it may be the key itself.
#[no_mangle]
pub extern "C" fn stead_fold_ascii(
    key: Foreign<*const c_void>,
    length: usize,
    folded: Foreign<*mut c_void>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_fold_ascii", error, |c| {
        // a copy: the two may be the same bytes
        let copy = Fold::Ascii.apply(c.key(key, length)?).into_owned();
        c.outs(folded.bytes(), length, "folded")?.fill(copy);
        Ok(())
    })
}
