//! Keys without a map: points, paths, folding, surveys.

use std::ffi::{c_char, c_void};

use stead_core::hash::{Affixes, Hash, Secret};
use stead_core::path::{Fold, Levels};
use stead_core::stats::{Projection, Survey, Surveyed};
use stead_core::{memory, Result};

use crate::boundary::{status, Caller, Foreign};
use crate::inside::text_of;
use crate::types::{stead_error, stead_fold};

/// Computes the point of a key under a hash, without a map.
/// hash: This is a number of stead_hash.
/// secret: STEAD_SIPHASH needs 16 bytes here. Pass NULL for every other hash.
/// key, length: These are the bytes of the key, as in stead_map_locate.
/// point: The function writes the point here.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
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

fn levels_of(c: &Caller, levels: Foreign<*const c_char>) -> Result<Levels> {
    match levels.given() {
        Some(levels) => Levels::parse(c.text(levels, "levels")?),
        None => Ok(Levels::default()),
    }
}

/// Makes the path of a key: its directories and its file name, such as "38/37/60/frank".
/// docs/paths.md has the rules: a path has no other characters than [a-z0-9_=/], never leaves the
/// directory that you put it under, and no two keys have the same one.
/// levels: This text says how many directories there are on each level. NULL means "64,64,128".
/// fold: This is a number of stead_fold.
/// path, capacity: The function writes the path and a NUL to this buffer. STEAD_PATH_ROOM bytes
/// always suffice.
/// count: The function writes the length of the path here, without the NUL.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument, or a buffer that is too small; STEAD_NAME.
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
        let levels = levels_of(c, levels)?;
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

/// Finds the name that has a path: the inverse of stead_path without folding. The last parts of the
/// path must be the directories of the name and its file name. What comes before them is ignored,
/// so an absolute path is fine.
/// path, length: These are the bytes of the path.
/// levels: This text says how many directories there are on each level. NULL means "64,64,128".
/// name, capacity: The function writes the bytes of the name to this buffer, and no NUL.
/// STEAD_NAME_ROOM bytes always suffice.
/// count: The function writes the length of the name here.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument, or when the buffer is too small;
/// STEAD_NAME when no name has this path.
#[no_mangle]
pub extern "C" fn stead_path_name(
    path: Foreign<*const c_void>,
    length: usize,
    levels: Foreign<*const c_char>,
    name: Foreign<*mut c_char>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_path_name", error, |c| {
        let (path, count) = (c.bytes(path, length, "path")?, c.out(count, "count")?);
        let name = c.outs(name, capacity, "name")?;
        let found = stead_core::path::path_name(path, &levels_of(c, levels)?)?;
        if found.len() > capacity {
            return Err(c.invalid(format_args!(
                "capacity is {capacity}, and the name needs {}; STEAD_NAME_ROOM suffices",
                found.len()
            )));
        }
        count.put(name.fill(found.into_iter().map(|byte| byte as c_char)));
        Ok(())
    })
}

/// Measures how evenly eight schemes, MD5 among them, spread a list of names: a report as JSON, in
/// the form of `stead survey --json` (docs/cli.md). Free the text with stead_text_free.
/// names, length, offsets, count: These are the names end to end, as the keys of
/// stead_map_locate_many.
/// members: The report also says what the directories of `levels` would hold for this many members.
/// 0 leaves that out.
/// levels: This text says how many directories there are on each level. NULL means "64,64,128".
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_survey(
    names: Foreign<*const c_void>,
    length: usize,
    offsets: Foreign<*const u64>,
    count: usize,
    members: u64,
    levels: Foreign<*const c_char>,
    json: Foreign<*mut *mut c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_survey", error, |c| {
        let json = c.out(json, "json")?;
        let names = c.batch(names, length, offsets, count, "names")?;
        let levels = levels_of(c, levels)?;
        let _room = memory::room(Survey::BYTES)?;
        let mut survey = Survey::new();
        names.blocks(|_, names| survey.add_keys(names));
        let projection = match members {
            0 => None,
            members => Some(Projection::new(members, &levels)?),
        };
        let surveyed = Surveyed::new(survey.finish(), projection);
        c.give_text(text_of(&surveyed)?, json)
    })
}

/// Turns A-Z in a key into a-z and leaves all other bytes: for sites whose names ignore case. A
/// site that folds must fold every key before every lookup.
/// folded: The function writes `length` bytes here. This may be the key itself.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
#[no_mangle]
pub extern "C" fn stead_fold_ascii(
    key: Foreign<*const c_void>,
    length: usize,
    folded: Foreign<*mut c_void>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_fold_ascii", error, |c| {
        // a copy, because key and folded may be the same bytes
        let mut copy = c.copied(c.key(key, length)?)?;
        copy.make_ascii_lowercase();
        c.outs(folded.bytes(), length, "folded")?.fill(copy);
        Ok(())
    })
}
