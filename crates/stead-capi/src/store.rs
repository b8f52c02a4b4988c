//! Map files and their histories: applying a fleet, old epochs, and going back.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use stead_core::store::Back;
use stead_core::{Fleet, Result, Store};

use crate::boundary::{status, Caller, Foreign};
use crate::open::{lifted, limit};
use crate::types::{stead_error, stead_map};

/// Returns the store of a map file. It keeps as many epochs as `stead apply` does.
fn store(c: &Caller, path: Foreign<*const c_char>) -> Result<Store> {
    Ok(Store::new(c.path(path)?, stead_core::store::KEEP))
}

/// Brings the map file at `path` up to a fleet: builds the map of the fleet on the map that is
/// there, or a first map when there is no file, and publishes it as stead_map_publish does. When
/// nothing would change, it writes nothing. `stead apply` does the same. So a mistyped path makes a
/// first map there, unless the fleet says `[guard] first_map = false`.
/// fleet, length, name: These are the text of the fleet and its name, as in stead_map_build.
/// max_move: This text limits how much may move in this epoch, such as "5%". NULL means no limit.
/// allow: These words let a change pass that a guard refuses, with commas between them:
/// "drop-copies", "leave-data", "lose-domain", "move", "take-back". NULL allows none.
/// docs/guards.md says what each guard refuses.
/// map: The function writes a handle here, of the map that is at `path` afterwards. Free it with
/// stead_map_free.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument or a symbolic link; STEAD_FLEET,
/// STEAD_IMPOSSIBLE or STEAD_IDENTITY when the fleet is wrong or is not for this map; STEAD_FORMAT,
/// STEAD_DIGEST or STEAD_VERSION when the file is no sound map; STEAD_NOT_FOUND when the directory
/// is missing; STEAD_PERMISSION, STEAD_MEMORY or STEAD_IO when the system refuses; STEAD_CONFLICT
/// when another program was faster (call it again); STEAD_GUARDED when a guard refuses the change,
/// and then nothing was changed; STEAD_UNCERTAIN when the map is in place and may not survive a
/// power cut.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_apply(
    fleet: Foreign<*const c_void>,
    length: usize,
    name: Foreign<*const c_char>,
    path: Foreign<*const c_char>,
    max_move: Foreign<*const c_char>,
    allow: Foreign<*const c_char>,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_apply", error, |c| {
        let (text, map) = (c.bytes(fleet, length, "fleet")?, c.out(map, "map")?);
        let name = name.given().map(|name| c.text(name, "name")).transpose()?;
        let (store, most) = (store(c, path)?, limit(c, max_move)?);
        let store = store.allowing(lifted(c, allow)?);
        let fleet = Fleet::parse_bytes(text, name.unwrap_or("fleet"))?;
        c.give_map(Arc::new(store.apply(&fleet, most)?), map);
        Ok(())
    })
}

/// Brings the map file at `path` up to a fleet file, as stead_map_apply does with a text. Messages
/// call the fleet by its path.
/// fleet: This is the path of the fleet file.
/// max_move, allow, map: These are as in stead_map_apply.
/// Returns STEAD_OK; STEAD_INVALID, STEAD_FLEET, STEAD_IMPOSSIBLE, STEAD_IDENTITY, STEAD_FORMAT,
/// STEAD_DIGEST, STEAD_VERSION, STEAD_PERMISSION, STEAD_MEMORY, STEAD_IO, STEAD_CONFLICT,
/// STEAD_GUARDED and STEAD_UNCERTAIN as stead_map_apply does; STEAD_NOT_FOUND also when the fleet
/// file is missing.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_apply_file(
    fleet: Foreign<*const c_char>,
    path: Foreign<*const c_char>,
    max_move: Foreign<*const c_char>,
    allow: Foreign<*const c_char>,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_apply_file", error, |c| {
        let (fleet, map) = (c.file(fleet, "fleet")?, c.out(map, "map")?);
        let (store, most) = (store(c, path)?, limit(c, max_move)?);
        let store = store.allowing(lifted(c, allow)?);
        c.give_map(Arc::new(store.apply(&Fleet::read(fleet)?, most)?), map);
        Ok(())
    })
}

/// Lists the epochs of a map file that stead_map_open_epoch can open, oldest first. The last one is
/// the epoch of the file itself.
/// epochs, capacity: The function writes the numbers to this array, which has room for so many.
/// Numbers beyond the capacity are not written. NULL with capacity 0 asks for the count alone.
/// count: The function writes here how many epochs there are, whatever the capacity.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_NOT_FOUND when there is no map;
/// STEAD_PERMISSION or STEAD_IO when the system refuses. The history of a damaged file can be
/// listed.
#[no_mangle]
pub extern "C" fn stead_map_history(
    path: Foreign<*const c_char>,
    epochs: Foreign<*mut u64>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_history", error, |c| {
        let places = c.counted(epochs, capacity, count, "epochs")?;
        places.put(store(c, path)?.history()?);
        Ok(())
    })
}

/// Opens and verifies an old epoch of a map file, or its newest one. The map is read into memory.
/// epoch: This is a number that stead_map_history lists.
/// map: The function writes the handle here. Free it with stead_map_free.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument, or when the history does not have this
/// epoch; STEAD_NOT_FOUND when there is no map; STEAD_FORMAT, STEAD_DIGEST or STEAD_VERSION when
/// the epoch is damaged or needs a newer stead; STEAD_PERMISSION, STEAD_MEMORY or STEAD_IO when the
/// system refuses.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_open_epoch(
    path: Foreign<*const c_char>,
    epoch: u64,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_open_epoch", error, |c| {
        let (store, map) = (store(c, path)?, c.out(map, "map")?);
        c.give_map(Arc::new(store.open_epoch(epoch)?), map);
        Ok(())
    })
}

/// Goes back to an old epoch of a map file by publishing a next epoch, since epoch numbers only go
/// up. When nothing would change, it writes nothing. `stead rollback` does the same. Restore the
/// fleet as well, or a guard refuses it the next time.
/// epoch: This is a number that stead_map_history lists.
/// back: This text says how: "exact" publishes the slices of the old epoch again, so that every key
/// lives where it lived then; "least" builds the fleet of the old epoch on the newest one, which
/// moves as little as possible. NULL means "exact" for the epoch just before the newest one. An
/// older epoch with NULL is refused, and the message says what both would move. Either way, nodes
/// keep the attributes that they have now if data has moved since the old epoch.
/// allow: These words lift guards, as in stead_map_apply. "take-back" is never needed here.
/// map: The function writes a handle here, of the map that is at `path` afterwards. Free it with
/// stead_map_free.
/// Returns STEAD_OK; STEAD_NOT_FOUND, STEAD_FORMAT, STEAD_DIGEST, STEAD_VERSION, STEAD_PERMISSION,
/// STEAD_MEMORY and STEAD_IO as stead_map_open_epoch does; STEAD_INVALID also for a symbolic link,
/// or when it must be said how to go back; STEAD_IDENTITY when the epoch is of another map;
/// STEAD_IMPOSSIBLE when no epoch can follow or the old fleet cannot be met; STEAD_CONFLICT,
/// STEAD_GUARDED and STEAD_UNCERTAIN as stead_map_publish does.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_rollback(
    path: Foreign<*const c_char>,
    epoch: u64,
    back: Foreign<*const c_char>,
    allow: Foreign<*const c_char>,
    map: Foreign<*mut *mut stead_map>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_rollback", error, |c| {
        let (store, map) = (store(c, path)?, c.out(map, "map")?);
        let store = store.allowing(lifted(c, allow)?);
        let back = back.given().map(|back| c.text(back, "back")).transpose()?;
        let back = back.map(Back::named).transpose()?;
        c.give_map(Arc::new(store.rollback(epoch, back)?), map);
        Ok(())
    })
}
