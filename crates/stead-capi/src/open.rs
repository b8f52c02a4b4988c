//! Making, opening, saving and freeing maps.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use stead_core::fleet::part;
use stead_core::{build, build_max_move, Allow, Fleet, Map, Result, Share, Store};

use crate::boundary::{status, value, Caller, Foreign};
use crate::types::{stead_error, stead_map, stead_open_flags};

/// Opens and verifies a map file. Cost: one stat when this process has the file open already and it
/// is unchanged. Otherwise the whole file is read and verified. A file that was replaced (by
/// renaming another over it, as stead does) is opened anew, and the maps that are open keep their
/// answers. If the file was overwritten in place while this process had it open, this returns
/// STEAD_CHANGED. While data is carried, the answers of the map are its new places, so a program
/// whose data is carried opens a pair (stead_pair_open).
/// flags: STEAD_OPEN_SHARED or STEAD_OPEN_COPY.
/// map: where the handle goes; free it with stead_map_free.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
/// STEAD_VERSION when the file is not a map, is damaged, or needs a newer stead; STEAD_CHANGED;
/// STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the operating system; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_open(
    path: Foreign<*const c_char>,
    flags: u32,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_open", error, |c| {
        let (path, map) = (c.path(path)?, c.out(map, "map")?);
        let opened = if is_copy(c, flags)? {
            Map::open_copy(path)
        } else {
            Map::open(path)
        };
        c.give_map(opened?, map);
        Ok(())
    })
}

/// Whether the flags ask for a copy.
pub(crate) fn is_copy(c: &Caller, flags: u32) -> Result<bool> {
    match flags & !(stead_open_flags::STEAD_OPEN_COPY as u32) {
        0 => Ok(flags & stead_open_flags::STEAD_OPEN_COPY as u32 != 0),
        _ => Err(c.invalid(format_args!(
            "flags {flags} are unknown; use STEAD_OPEN_SHARED or STEAD_OPEN_COPY"
        ))),
    }
}

/// Makes a map from the bytes of a map file, wherever they come from. It copies and verifies the
/// bytes.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
/// STEAD_VERSION when the bytes are not a map, are damaged, or need a newer stead; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_from_bytes(
    bytes: Foreign<*const c_void>,
    length: usize,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_from_bytes", error, |c| {
        let (bytes, map) = (c.bytes(bytes, length, "bytes")?, c.out(map, "map")?);
        c.give_map(Arc::new(Map::from_bytes(c.copied(bytes)?)?), map);
        Ok(())
    })
}

/// Builds the map of a fleet: the first map, or the next epoch after `previous`, which moves as
/// little as possible. It writes no file. The same fleet and the same previous map give the same
/// bytes on every machine.
/// fleet, length: the text of the fleet, TOML or JSON, as docs/fleet.md describes it.
/// name: the name of the text in messages, such as "fleet.toml". A secret_file in the fleet is read
/// relative to its directory. NULL means "fleet".
/// previous: the map to start from; NULL for a first map.
/// max_move: how much may move in this epoch, such as "5%"; NULL for no limit. With a limit the map
/// also carries its target, and building the same fleet again takes the next step.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FLEET, STEAD_IMPOSSIBLE;
/// STEAD_IDENTITY when `previous` has another name, hash or key rule; STEAD_VERSION when it needs a
/// newer stead than this one to build on it; STEAD_GUARDED when a carry is open in it and more than
/// attributes of nodes would change; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_build(
    fleet: Foreign<*const c_void>,
    length: usize,
    name: Foreign<*const c_char>,
    previous: Foreign<*const stead_map>,
    max_move: Foreign<*const c_char>,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_build", error, |c| {
        let (text, map) = (c.bytes(fleet, length, "fleet")?, c.out(map, "map")?);
        let name = name.given().map(|name| c.text(name, "name")).transpose()?;
        let fleet = Fleet::parse_bytes(text, name.unwrap_or("fleet"))?;
        c.give_map(next(c, &fleet, previous, max_move)?, map);
        Ok(())
    })
}

/// Builds the map of a fleet file, as stead_map_build does with a text. Messages call the fleet by
/// its path.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FLEET, STEAD_IMPOSSIBLE;
/// STEAD_IDENTITY when `previous` has another name, hash or key rule; STEAD_VERSION when it needs a
/// newer stead than this one to build on it; STEAD_GUARDED when a carry is open in it and more than
/// attributes of nodes would change; STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the
/// operating system; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_build_file(
    path: Foreign<*const c_char>,
    previous: Foreign<*const stead_map>,
    max_move: Foreign<*const c_char>,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_build_file", error, |c| {
        let (path, map) = (c.path(path)?, c.out(map, "map")?);
        c.give_map(next(c, &Fleet::read(path)?, previous, max_move)?, map);
        Ok(())
    })
}

fn next(
    c: &Caller,
    fleet: &Fleet,
    previous: Foreign<*const stead_map>,
    max_move: Foreign<*const c_char>,
) -> Result<Arc<Map>> {
    let previous = c.optional_map(previous)?;
    let next = match limit(c, max_move)? {
        Some(most) => build_max_move(fleet, previous, most),
        None => build(fleet, previous),
    };
    next.map(Arc::new)
}

/// Returns how much may move; `None` for no limit.
pub(crate) fn limit(c: &Caller, max_move: Foreign<*const c_char>) -> Result<Option<Share>> {
    let Some(max_move) = max_move.given() else {
        return Ok(None);
    };
    let text = c.text(max_move, "max_move")?;
    let most = part(text).map_err(|why| c.invalid(format_args!("max_move {text:?} {why}")))?;
    Ok(Some(most))
}

/// Returns the guards that the caller lifts; NULL lifts none.
pub(crate) fn lifted(c: &Caller, allow: Foreign<*const c_char>) -> Result<Allow> {
    match allow.given() {
        Some(allow) => Allow::parse(c.text(allow, "allow")?),
        None => Ok(Allow::NONE),
    }
}

/// Opens and verifies a map file without the cache of open maps, and reads it into memory whatever
/// its size: for a program that looks at many files once, or that only wants to know whether a file
/// is a sound map.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
/// STEAD_VERSION when the file is not a map, is damaged, or needs a newer stead; STEAD_CHANGED
/// while somebody writes into the file; STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the
/// operating system; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_open_uncached(
    path: Foreign<*const c_char>,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_open_uncached", error, |c| {
        let (path, map) = (c.path(path)?, c.out(map, "map")?);
        c.give_map(Arc::new(Map::open_uncached(path)?), map);
        Ok(())
    })
}

/// Reads the epoch and the digest from the header of a map file without verifying it: a cheap way
/// to ask whether there is a newer epoch.
/// digest: room for STEAD_DIGEST_ROOM bytes, or NULL.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT when the file does not
/// begin as a map; STEAD_NOT_FOUND, STEAD_PERMISSION or STEAD_IO from the operating system.
#[no_mangle]
pub extern "C" fn stead_map_peek(
    path: Foreign<*const c_char>,
    epoch: Foreign<*mut u64>,
    digest: Foreign<*mut u8>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_peek", error, |c| {
        let (path, epoch) = (c.path(path)?, c.out(epoch, "epoch")?);
        let peeked = Store::peek(path)?;
        if let Some(digest) = digest.given() {
            c.outs(digest, peeked.digest.len(), "digest")?
                .fill(peeked.digest);
        }
        epoch.put(peeked.epoch);
        Ok(())
    })
}

/// Publishes a map at `path`, for everybody who opens that file: whole or not at all, with its
/// history beside it. `stead apply` does the same. When this returns STEAD_OK, the new epoch
/// survives a power cut.
/// previous: the map that `map` was built on; NULL for a first map. If the file at `path` is no
/// longer that map, this returns STEAD_CONFLICT and changes nothing: build again, on the map that
/// is there now. So of two programs that publish at the same time, one gets STEAD_CONFLICT. A
/// `previous` that `map` was not built on is STEAD_INVALID, and so is NULL for a map that was built
/// on the map that is there.
/// allow: the words of the guards that may not refuse the change, as in stead_map_apply; NULL for
/// none.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_CONFLICT; STEAD_IDENTITY when the
/// file is not the newest epoch of its history, where trying again does not help; STEAD_GUARDED
/// when a guard refuses the change, and then nothing was changed; STEAD_UNCERTAIN; STEAD_NOT_FOUND,
/// STEAD_PERMISSION or STEAD_IO from the operating system; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_publish(
    map: Foreign<*const stead_map>,
    previous: Foreign<*const stead_map>,
    path: Foreign<*const c_char>,
    allow: Foreign<*const c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_publish", error, |c| {
        let (map, previous) = (c.map(map)?, c.optional_map(previous)?);
        let store = Store::new(c.path(path)?, stead_core::store::KEEP);
        store.allowing(lifted(c, allow)?).publish(previous, map)
    })
}

/// Writes a copy of a map to a file, and replaces the file that is there: whole or not at all. It
/// keeps no history and detects no conflict.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_UNCERTAIN; STEAD_NOT_FOUND,
/// STEAD_PERMISSION or STEAD_IO from the operating system.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_save(
    map: Foreign<*const stead_map>,
    path: Foreign<*const c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_save", error, |c| {
        stead_core::store::save(c.map(map)?, c.path(path)?)
    })
}

/// Returns another handle of the same map, to be freed on its own; NULL when map is NULL. Nothing
/// is copied.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_share(map: Foreign<*const stead_map>) -> *mut stead_map {
    value("stead_map_share", std::ptr::null_mut(), |c| {
        Some(c.handle(c.share(map, "map").ok()?))
    })
}

/// Frees a handle. The strings and bytes of the map become invalid when its last handle is freed.
/// NULL is allowed and does nothing.
#[no_mangle]
pub extern "C" fn stead_map_free(map: Foreign<*mut stead_map>) {
    value("stead_map_free", (), |c| {
        c.take_map(map);
        Some(())
    });
}
