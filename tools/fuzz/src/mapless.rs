//! What libstead does without a map, and the answers of the Rust library: points, folded keys,
//! paths, and files that are not there.
#![allow(unsafe_code)] // `call!`, whose one block of unsafe code is in foreign.rs

use std::ffi::{c_char, CStr};
use std::ptr::{null, null_mut};

use stead::hash::{Affixes, Hash, Secret};
use stead::path::{Fold, Levels};

use crate::arguments::{key, Nulls, Record, BEHIND, INVALID};
use crate::foreign::call;
use crate::input::Input;

/// `STEAD_NOT_FOUND` and `STEAD_IO`.
const NOT_FOUND: i32 = 8;
const IO: i32 = 9;

/// Asks for points, and folds keys.
pub(crate) fn without_a_map(input: &mut Input<'_>) {
    let key = key(input);
    let hash = *input.one_of(&[1, 2, 3, 4, 5, 9, 21, 24, 25, 26, 0, -1, i32::MAX, 77]);
    let hash = if hash == 77 {
        input.below(40) as i32
    } else {
        hash
    };
    let secret = [7_u8; 16];
    let has_secret = (hash == 4) != (input.below(6) == 0);
    let wanted = match u32::try_from(hash) {
        Ok(4) => has_secret.then_some(Hash::SipHash(Secret(secret))),
        Ok(number) => Hash::from_stored(number, [0; 16], Affixes::default())
            .filter(|hash| !hash.is_modulo() && !has_secret),
        Err(_) => None,
    };
    let (nulls, mut record, mut point) = (Nulls::of(input), Record::new(), 77);
    let there = if wanted.is_some() { 0 } else { INVALID };
    let bad = nulls.any(1) || (!key.is_empty() && nulls.any(2));
    let status = call!(stead_point(
        hash,
        if has_secret {
            secret.as_ptr().cast()
        } else {
            null()
        },
        nulls.or(1, key.as_ptr()).cast(),
        key.len(),
        nulls.or_mut(0, &mut point),
        record.place(input),
    ));
    record.check("stead_point", status, if bad { INVALID } else { there });
    let wanted = wanted.map_or(77, |hash| hash.point(key).0);
    assert_eq!(point, if status == 0 { wanted } else { 77 });

    let mut folded = vec![b'?'; key.len() + BEHIND];
    let (nulls, mut record) = (Nulls::of(input), Record::new());
    let bad = !key.is_empty() && nulls.any(2);
    let status = call!(stead_fold_ascii(
        nulls.or(0, key.as_ptr()).cast(),
        key.len(),
        nulls.or_mut(1, folded.as_mut_ptr()).cast(),
        record.place(input),
    ));
    record.check("stead_fold_ascii", status, if bad { INVALID } else { 0 });
    let mut wanted = if status == 0 {
        key.to_ascii_lowercase()
    } else {
        Vec::new()
    };
    wanted.resize(folded.len(), b'?');
    assert_eq!(folded, wanted);
}

/// Makes paths of keys, and keys of paths.
pub(crate) fn paths(input: &mut Input<'_>) {
    let texts = [
        c"64,64,128",
        c"2",
        c"65536",
        c"0",
        c"",
        c"64,x",
        c"9,9,9,9,9,9,9,9,9,9",
    ];
    let levels = input.below(texts.len() + 3);
    let levels = texts.get(levels).copied();
    let known = match levels {
        Some(text) => Levels::parse(text.to_str().expect("ASCII")),
        None => Ok(Levels::default()),
    };
    let text = levels.map_or(null(), CStr::as_ptr);
    let fold = *input.one_of(&[0, 1, 2, -1]);
    let key = key(input);
    let wanted = known.as_ref().map_or_else(
        |error| Err(error.status() as i32),
        |levels| match fold {
            0 => stead::path::path(key, levels, Fold::None).map_err(|error| error.status() as i32),
            1 => stead::path::path(key, levels, Fold::Ascii).map_err(|error| error.status() as i32),
            _ => Err(INVALID),
        },
    );
    let capacity = *input.one_of(&[320, 320, 0, 5, 20]);
    let (mut path, mut count) = (vec![b'?' as c_char; capacity + BEHIND], usize::MAX);
    let (nulls, mut record) = (Nulls::of(input), Record::new());
    let mut bad = nulls.any(1) || (!key.is_empty() && nulls.or(1, &0).is_null());
    bad |= capacity > 0 && nulls.or(2, &0).is_null();
    let status = call!(stead_path(
        nulls.or(1, key.as_ptr()).cast(),
        key.len(),
        text,
        fold,
        nulls.or_mut(2, path.as_mut_ptr()),
        capacity,
        nulls.or_mut(0, &mut count),
        record.place(input),
    ));
    let fits = |path: &String| if path.len() < capacity { 0 } else { INVALID };
    let there = wanted.as_ref().map_or_else(|status| *status, fits);
    record.check("stead_path", status, if bad { INVALID } else { there });
    let made: Vec<u8> = path.iter().map(|byte| *byte as u8).collect();
    match (status, &wanted) {
        (0, Ok(wanted)) => {
            assert_eq!(count, wanted.len());
            assert_eq!(made[..count], *wanted.as_bytes());
            assert_eq!(made[count], 0);
            assert!(made[count + 1..].iter().all(|byte| *byte == b'?'));
        }
        _ => assert!(count == usize::MAX && made.iter().all(|byte| *byte == b'?')),
    }

    let own = wanted.unwrap_or_default();
    let given: &[u8] = if input.below(2) == 0 {
        key
    } else {
        own.as_bytes()
    };
    let wanted = known.and_then(|levels| stead::path::path_name(given, &levels));
    let capacity = *input.one_of(&[255, 255, 0, 3]);
    let (mut name, mut count) = (vec![b'?' as c_char; capacity + BEHIND], usize::MAX);
    let (nulls, mut record) = (Nulls::of(input), Record::new());
    let mut bad = nulls.any(1) || (!given.is_empty() && nulls.or(1, &0).is_null());
    bad |= capacity > 0 && nulls.or(2, &0).is_null();
    let status = call!(stead_path_name(
        nulls.or(1, given.as_ptr()).cast(),
        given.len(),
        text,
        nulls.or_mut(2, name.as_mut_ptr()),
        capacity,
        nulls.or_mut(0, &mut count),
        record.place(input),
    ));
    let fits = |name: &Vec<u8>| if name.len() <= capacity { 0 } else { INVALID };
    let there = wanted
        .as_ref()
        .map_or_else(|error| error.status() as i32, fits);
    record.check("stead_path_name", status, if bad { INVALID } else { there });
    let made: Vec<u8> = name.iter().map(|byte| *byte as u8).collect();
    let mut left = wanted.ok().filter(|_| status == 0).unwrap_or_default();
    assert_eq!(count, if status == 0 { left.len() } else { usize::MAX });
    left.resize(made.len(), b'?');
    assert_eq!(made, left);
}

/// Opens a file that does not exist, in each way.
pub(crate) fn no_file(input: &mut Input<'_>) {
    let path = *input.one_of(&[c"/nowhere/x.map", c"/dev/null/x", c""]);
    let flags = *input.one_of(&[0, 1, 2, u32::MAX]);
    let nulls = Nulls::of(input);
    let (mut record, mut made) = (Record::new(), null_mut());
    let missing = match path.to_bytes() {
        b"" => INVALID,
        b"/nowhere/x.map" => NOT_FOUND,
        _ => IO, // /dev/null is not a directory
    };
    let (place, at) = (nulls.or(0, path.as_ptr()), record.place(input));
    let status = call!(stead_map_open(place, flags, nulls.or_mut(1, &mut made), at));
    let wanted = if flags > 1 { INVALID } else { missing };
    record.check("stead_map_open", status, nulls.status(2, wanted));
    assert!(made.is_null());
    let (mut record, at) = (Record::new(), nulls.or_mut(1, &mut made));
    let status = call!(stead_map_open_uncached(place, at, record.place(input)));
    record.check("stead_map_open_uncached", status, nulls.status(2, missing));
    let (mut record, mut epoch) = (Record::new(), 77);
    let at = nulls.or_mut(1, &mut epoch);
    let status = call!(stead_map_peek(place, at, null_mut(), record.place(input)));
    record.check("stead_map_peek", status, nulls.status(2, missing));
    assert!(epoch == 77 && made.is_null(), "nothing is written");
}
