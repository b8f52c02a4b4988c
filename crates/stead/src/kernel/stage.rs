//! Brings keys into one buffer, where registers are filled from, and finishes their points.

use super::choice::{Kernel, Lanes};
use super::keys::{Form, Keys, Span, BLOCK};
use super::message::{LONGEST, LONGEST_IN_LANES};
use crate::hash::{Affixes, Function, Hash, KeyRule};
use crate::point::Point;

/// Fewer keys are hashed one by one: registers of which few lanes are used gain nothing.
const FEWEST: usize = 4;
/// The number of keys that are copied at a time.
const COPIED: usize = 256;
/// The room of a copied key: a block of a message.
const SLOT: usize = 64;
/// The number of long keys that are hashed at a time.
const LONG: usize = 64;

/// Computes the points of at most [`BLOCK`] keys in lanes, before cells. Returns false, having done
/// nothing, if the hash or the kernel takes one key after the other.
pub(super) fn in_lanes(
    kernel: Kernel,
    hash: &Hash,
    rule: KeyRule,
    keys: Keys<'_>,
    points: &mut [Point],
) -> bool {
    let Some(function) = function_of(hash) else {
        return false;
    };
    let lanes = match function {
        Function::Sha1 => Lanes::Sha1,
        _ => Lanes::Md5,
    };
    if kernel == Kernel::Scalar || keys.len() < FEWEST {
        return false;
    }
    let whole = |key: &[u8]| Point(lanes.function().value(key));
    let done = match (keys.form(), rule, hash.affixes()) {
        (_, _, Some(affixes)) => {
            let around =
                |key: &[u8]| Point(around(affixes, key, |key| lanes.function().value(key)));
            copied(kernel, lanes, keys, rule, affixes, points, around)
        }
        (Form::Spans(bytes, spans), KeyRule::Whole, None) => {
            hashed(kernel, lanes, bytes, spans, points, |i| keys.get(i), whole)
        }
        (Form::Spans(bytes, spans), KeyRule::First(_), None) => {
            let mut first = [Span::default(); BLOCK];
            for ((first, span), key) in first.iter_mut().zip(spans).zip(keys.iter()) {
                let range = rule.range_of(key);
                first.start = span.start + range.start;
                first.length = range.len();
            }
            let spans = first.get(..spans.len()).unwrap_or(&[]);
            hashed(
                kernel,
                lanes,
                bytes,
                spans,
                points,
                |i| rule.of(keys.get(i)),
                whole,
            )
        }
        (Form::Each(_), _, None) => {
            let none = Affixes::default();
            copied(kernel, lanes, keys, rule, &none, points, whole)
        }
    };
    if done {
        finish(function, points);
    }
    done
}

impl Lanes {
    fn function(self) -> Function {
        match self {
            Lanes::Md5 => Function::Md5,
            Lanes::Sha1 => Function::Sha1,
        }
    }
}

/// The function of a hash that lanes can compute: the high bits of MD5 or SHA-1.
fn function_of(hash: &Hash) -> Option<Function> {
    match hash {
        Hash::Md5 => Some(Function::Md5),
        Hash::Sha1 => Some(Function::Sha1),
        Hash::Adopted(adopted) if !adopted.modulo => Some(adopted.function).filter(|function| {
            use Function::{Md5, Md5Be32, Md5Le32, Sha1};
            matches!(function, Md5 | Md5Be32 | Md5Le32 | Sha1)
        }),
        _ => None,
    }
}

/// Makes the points of a function from those of its digest.
fn finish(function: Function, points: &mut [Point]) {
    for point in points {
        match function {
            Function::Md5Be32 => point.0 &= 0xffff_ffff << 32,
            // the same four bytes, as a little-endian number
            Function::Md5Le32 => point.0 = point.0.swap_bytes() << 32,
            _ => return,
        }
    }
}

fn around<T>(affixes: &Affixes, key: &[u8], take: impl FnOnce(&[u8]) -> T) -> T {
    take(&[&affixes.prefix, key, &affixes.suffix].concat())
}

/// Hashes keys that lie in one buffer. `key` gives the bytes of a long one, and `one` its point.
fn hashed<'a>(
    kernel: Kernel,
    lanes: Lanes,
    bytes: &[u8],
    spans: &[Span],
    points: &mut [Point],
    key: impl Fn(usize) -> &'a [u8],
    one: impl Fn(&[u8]) -> Point,
) -> bool {
    let mut places = [0; BLOCK];
    let Some(count) = kernel.short(lanes, bytes, spans, points, &mut places) else {
        return false;
    };
    let places = places.get(..count).unwrap_or(&[]);
    for places in places.chunks(LONG) {
        let mut keys: [&[u8]; LONG] = [&[]; LONG];
        let mut found = [Point(0); LONG];
        let mut count = 0;
        let mut in_lanes = [0; LONG];
        for place in places {
            let key = key(usize::from(*place));
            if key.len() > LONGEST_IN_LANES || places.len() == 1 {
                if let Some(point) = points.get_mut(usize::from(*place)) {
                    *point = one(key);
                }
            } else if let (Some(to), Some(at)) = (keys.get_mut(count), in_lanes.get_mut(count)) {
                (*to, *at) = (key, *place);
                count += 1;
            }
        }
        let keys = keys.get(..count).unwrap_or(&[]);
        if !kernel.long(lanes, keys, &mut found) {
            for (found, key) in found.iter_mut().zip(keys) {
                *found = one(key);
            }
        }
        for (at, found) in in_lanes.iter().zip(found).take(count) {
            if let Some(point) = points.get_mut(usize::from(*at)) {
                *point = found;
            }
        }
    }
    true
}

/// Hashes keys that lie anywhere, each with affixes around it: copies the short ones.
fn copied(
    kernel: Kernel,
    lanes: Lanes,
    keys: Keys<'_>,
    rule: KeyRule,
    affixes: &Affixes,
    points: &mut [Point],
    one: impl Fn(&[u8]) -> Point,
) -> bool {
    let (prefix, suffix) = (&affixes.prefix[..], &affixes.suffix[..]);
    let mut slots = [[0u8; SLOT]; COPIED];
    let mut spans = [Span::default(); COPIED];
    for (keys, points) in keys.parts(COPIED).zip(points.chunks_mut(COPIED)) {
        for (i, ((key, slot), span)) in keys.iter().zip(&mut slots).zip(&mut spans).enumerate() {
            let key = rule.of(key);
            *span = Span {
                start: i * SLOT,
                length: prefix.len() + key.len() + suffix.len(),
            };
            if span.length <= LONGEST {
                put(slot, 0, prefix);
                put(slot, prefix.len(), key);
                put(slot, prefix.len() + key.len(), suffix);
            }
        }
        let spans = spans.get(..keys.len()).unwrap_or(&[]);
        let bytes = slots.as_flattened();
        let done = if affixes == &Affixes::default() {
            hashed(
                kernel,
                lanes,
                bytes,
                spans,
                points,
                |i| rule.of(keys.get(i)),
                &one,
            )
        } else {
            one_by_one_when_long(kernel, lanes, bytes, spans, points, |i| {
                one(rule.of(keys.get(i)))
            })
        };
        if !done {
            return false;
        }
    }
    true
}

/// As [`hashed`], for keys of which the long ones are hashed one by one.
fn one_by_one_when_long(
    kernel: Kernel,
    lanes: Lanes,
    bytes: &[u8],
    spans: &[Span],
    points: &mut [Point],
    one: impl Fn(usize) -> Point,
) -> bool {
    let mut places = [0; COPIED];
    let Some(count) = kernel.short(lanes, bytes, spans, points, &mut places) else {
        return false;
    };
    for place in places.iter().take(count).map(|place| usize::from(*place)) {
        if let Some(point) = points.get_mut(place) {
            *point = one(place);
        }
    }
    true
}

/// Copies a few bytes into a slot. Copies of a fixed size are quicker than a call for every key.
#[inline(always)]
fn put(slot: &mut [u8; SLOT], at: usize, key: &[u8]) {
    let Some(to) = slot.get_mut(at..at + key.len()) else {
        return;
    };
    macro_rules! ends {
        ($size:literal) => {
            if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
                if let Some(to) = to.first_chunk_mut::<$size>() {
                    *to = *first;
                }
                if let Some(to) = to.last_chunk_mut::<$size>() {
                    *to = *last;
                }
            }
        };
    }
    match key.len() {
        0 => {}
        1..=3 => to.copy_from_slice(key),
        4..=7 => ends!(4),
        8..=16 => ends!(8),
        17..=32 => ends!(16),
        _ => to.copy_from_slice(key),
    }
}
