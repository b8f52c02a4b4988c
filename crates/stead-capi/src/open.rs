//! Making, opening, saving and ending maps.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use stead_core::fleet::part;
use stead_core::{build, build_step, Fleet, Map, Result, Store};

use crate::boundary::{status, value, Caller, Foreign};
use crate::types::{stead_error, stead_map, stead_open_flags};

/// Opens a map file. Cost: one stat when this process has it open already and it is unchanged;
/// otherwise the file is read and all of it verified. A file that was replaced (by renaming another
/// over it, as stead does) is opened anew, while maps that are open keep their answers; one that
/// was overwritten in place is STEAD_CHANGED.
/// flags: STEAD_OPEN_SHARED or STEAD_OPEN_COPY.
#[no_mangle]
pub extern "C" fn stead_map_open(
    path: Foreign<*const c_char>,
    flags: u32,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_open", error, |c| {
        let (path, map) = (c.path(path)?, c.out(map, "map")?);
        if flags & !(stead_open_flags::STEAD_OPEN_COPY as u32) != 0 {
            return Err(c.invalid(format_args!(
                "flags {flags} are unknown; use STEAD_OPEN_SHARED or STEAD_OPEN_COPY"
            )));
        }
        let copy = flags & stead_open_flags::STEAD_OPEN_COPY as u32 != 0;
        c.give_map(stead_core::map::open_cached(path, copy)?, map);
        Ok(())
    })
}

/// The map of the bytes of a map file, wherever they come from. They are copied and verified.
#[no_mangle]
pub extern "C" fn stead_map_from_bytes(
    bytes: Foreign<*const c_void>,
    length: usize,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_from_bytes", error, |c| {
        let (bytes, map) = (c.bytes(bytes, length, "bytes")?, c.out(map, "map")?);
        c.give_map(Arc::new(Map::from_bytes(bytes.to_vec())?), map);
        Ok(())
    })
}

/// Builds the map of a fleet: the first one, or the next epoch of `previous`, from which as little
/// as is possible moves. Nothing is written. The same fleet and the same previous map give the same
/// bytes on every machine.
/// fleet, length: the text, TOML or JSON, as docs/fleet.md describes it. name: what messages call
/// it ("fleet.toml"), and where a secret_file is looked for; NULL is "fleet".
/// previous: NULL for a first map.
/// max_move: NULL, or how much may move in this epoch, such as "5%": the map then carries its
/// target, and building the same fleet again takes the next step.
#[no_mangle]
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

/// As stead_map_build, of a fleet file.
#[no_mangle]
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
    let Some(max_move) = max_move.given() else {
        return build(fleet, previous).map(Arc::new);
    };
    let text = c.text(max_move, "max_move")?;
    let most = part(text).map_err(|why| c.invalid(format_args!("max_move {text:?} {why}")))?;
    build_step(fleet, previous, most).map(Arc::new)
}

/// Verifies a map file, digest and structure, without the cache: STEAD_OK, or what is wrong with
/// it.
#[no_mangle]
pub extern "C" fn stead_map_verify(
    path: Foreign<*const c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_verify", error, |c| {
        Map::open_copy(c.path(path)?).map(drop)
    })
}

/// Epoch and digest (STEAD_DIGEST_ROOM bytes) from the header of a map file, which is not verified:
/// a cheap way to ask whether a newer epoch is there. digest may be NULL.
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

/// Publishes a map to those who open `path`: whole or not at all, with its history beside it, if
/// `previous`, on which it was built, is still there (NULL: if there is no map yet). When this
/// returns STEAD_OK, the new epoch survives a power cut. Of two who publish at once one gets
/// STEAD_CONFLICT and changes nothing: build again on the map that is there now. A map that was
/// built on another than `previous` is STEAD_INVALID. The program `stead apply` does the same.
#[no_mangle]
pub extern "C" fn stead_map_publish(
    map: Foreign<*const stead_map>,
    previous: Foreign<*const stead_map>,
    path: Foreign<*const c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_publish", error, |c| {
        let (map, previous) = (c.map(map)?, c.optional_map(previous)?);
        Store::new(c.path(path)?, stead_core::store::KEEP).publish(previous, map)
    })
}

/// Writes a copy of a map to a file, whole or not at all, in place of what is there; it knows no
/// history and no conflicts.
#[no_mangle]
pub extern "C" fn stead_map_save(
    map: Foreign<*const stead_map>,
    path: Foreign<*const c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_save", error, |c| {
        stead_core::store::save(c.map(map)?, c.path(path)?)
    })
}

/// Another handle of the same map, to be ended on its own; NULL of NULL. Cost: nothing is copied.
#[no_mangle]
pub extern "C" fn stead_map_share(map: Foreign<*const stead_map>) -> *mut stead_map {
    value("stead_map_share", std::ptr::null_mut(), |c| {
        Some(c.handle(c.share(map).ok()?))
    })
}

/// Ends a handle. Strings and bytes of the map that no other handle holds are gone with it. NULL is
/// fine.
#[no_mangle]
pub extern "C" fn stead_map_free(map: Foreign<*mut stead_map>) {
    value("stead_map_free", (), |c| {
        c.take_map(map);
        Some(())
    });
}
