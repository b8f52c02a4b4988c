//! Joins copies of one file of which each has values that another one lacks.

use super::parts::{Parts, UNKNOWN};

/// The functions whose rows stand for themselves. The rows of the others (HWPREDICT, SEASONAL and
/// the like) belong to a state that cannot be joined.
const PLAIN: [&[u8]; 4] = [b"AVERAGE", b"MIN", b"MAX", b"LAST"];

/// Returns a file that has every value of the rows of all these copies. Where several copies know a
/// value, that of the earliest one in the list is taken. Everything that goes into rows to come is
/// that of the copy with the newest last time, and so are the archives of functions that predict.
///
/// Returns `None` if this program cannot read one of them, or if their columns or archives differ.
pub fn joined(copies: &[&[u8]]) -> Option<Vec<u8>> {
    let copies: Vec<Parts<'_>> = copies
        .iter()
        .map(|bytes| Parts::of(bytes))
        .collect::<Option<_>>()?;
    // of equal ones the first
    let base = copies.iter().rev().max_by_key(|parts| parts.last)?;
    if copies
        .iter()
        .any(|parts| parts.definitions() != base.definitions())
    {
        return None;
    }
    let mut bytes = base.bytes.to_vec();
    for (number, archive) in base.archives.iter().enumerate() {
        let function = base.bytes[archive.function.clone()].split(|byte| *byte == 0);
        if !function.take(1).any(|name| PLAIN.contains(&name)) {
            continue;
        }
        for back in 0..archive.rows {
            let at = base.row_at(archive, back);
            // the same row in each copy that has it
            let rows: Vec<(&Parts<'_>, usize)> = copies
                .iter()
                .filter_map(|parts| {
                    let theirs = parts.archives.get(number)?;
                    // never negative, because the base is the newest
                    let ahead = usize::try_from(archive.newest - theirs.newest).ok()?;
                    let back = back.checked_sub(ahead)?;
                    Some((parts, parts.row_at(theirs, back)))
                })
                .collect();
            for column in 0..base.columns {
                let mut values = rows.iter().map(|(parts, at)| parts.value(at + 8 * column));
                if let Some(value) = values.find(|value| *value != UNKNOWN) {
                    let at = at + 8 * column;
                    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
                }
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{file, file_with};
    use super::super::{Digest, Image};
    use super::*;

    const NAN: f64 = f64::NAN;

    #[test]
    fn every_value_of_every_copy_is_in_the_joined_file() {
        // the second copy is two rows behind
        let one = file(1000, [NAN, 2.0, NAN, 4.0], 1);
        let two = file(980, [8.0, 9.0, 1.0, 7.0], 3);
        for copies in [[&one[..], &two], [&two, &one]] {
            let both = joined(&copies).unwrap();
            let image = Image::read(&both).unwrap();
            for copy in copies {
                assert_eq!(image.lacks(&Image::read(copy).unwrap()), Some(0));
            }
            // where both know a value, the first in the list decides
            let second = if copies[0] == one { 2.0 } else { 7.0 };
            let expected = file(1000, [1.0, second, NAN, 4.0], 1);
            assert_eq!(Digest::of(&both), Digest::of(&expected));
        }
    }

    #[test]
    fn a_copy_that_has_come_no_farther_gives_nothing_for_newer_rows() {
        let old = file(500, [1.0, 2.0, 3.0, 4.0], 0);
        let new = file(1000, [NAN, 6.0, NAN, 8.0], 0);
        assert_eq!(joined(&[&old, &new]).as_deref(), Some(&new[..]));
        assert_eq!(joined(&[&new, &old]).as_deref(), Some(&new[..]));
    }

    #[test]
    fn what_predicts_is_not_joined() {
        let one = file_with("HWPREDICT", 1000, [NAN, 2.0, NAN, 4.0], 0);
        let two = file_with("HWPREDICT", 990, [1.0, 2.0, 3.0, 4.0], 0);
        assert_eq!(joined(&[&two, &one]).as_deref(), Some(&one[..]));
    }

    #[test]
    fn different_files_are_not_joined() {
        let one = file(1000, [1.0; 4], 0);
        assert_eq!(joined(&[&one, &file_with("MAX", 1000, [1.0; 4], 0)]), None);
        assert_eq!(joined(&[&one, &one[..one.len() - 1]]), None);
        assert_eq!(joined(&[]), None);
    }
}
