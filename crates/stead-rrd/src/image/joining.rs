//! Joins copies of one file of which each has values that another one lacks.

use std::collections::BTreeSet;

use super::parts::{Extent, Parts, UNKNOWN};

/// The functions whose rows stand for themselves. The rows of the others (HWPREDICT, SEASONAL and
/// the like) belong to a state that cannot be joined.
const PLAIN: [&[u8]; 4] = [b"AVERAGE", b"MIN", b"MAX", b"LAST"];

/// Returns a file that has every value of the rows of all these copies. Where several copies know a
/// value, that of the earliest one in the list is taken. Coarser rows are computed again where the
/// rows of single steps have become more complete.
///
/// Everything that goes into rows to come is that of the copy with the newest last time, and so are
/// the archives of functions that predict.
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
    let mut finest: Option<(&Extent, Filled)> = None;
    for (number, archive) in base.archives.iter().enumerate() {
        if !PLAIN.contains(&function(base, archive)) {
            continue;
        }
        let filled = fill(&mut bytes, base, &copies, number);
        let longest = finest.as_ref().map_or(0, |(archive, _)| archive.rows);
        if archive.steps == 1 && archive.rows > longest {
            finest = Some((archive, filled));
        }
    }
    if let Some((finest, filled)) = finest {
        let coarse = base.archives.iter().filter(|archive| archive.steps > 1);
        for archive in coarse.filter(|archive| PLAIN.contains(&function(base, archive))) {
            compute_again(&mut bytes, base, archive, finest, &filled);
        }
    }
    Some(bytes)
}

/// The numbers of rows, and the columns, in which one copy knew a value that another one lacked.
type Filled = BTreeSet<(i64, usize)>;

/// Fills one archive with the values of all copies.
fn fill(bytes: &mut [u8], base: &Parts<'_>, copies: &[Parts<'_>], number: usize) -> Filled {
    let mut filled = Filled::new();
    let archive = &base.archives[number];
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
            let values = rows.iter().map(|(parts, at)| parts.value(at + 8 * column));
            let mut known = values.filter(|value| *value != UNKNOWN);
            let Some(value) = known.next() else { continue };
            if known.count() + 1 < copies.len() {
                filled.insert((archive.newest - back as i64, column));
            }
            put(bytes, at + 8 * column, value);
        }
    }
    filled
}

/// Computes the rows of an archive again that stand for steps which were filled, as rrdtool
/// computes them: from the values that are known, if enough are.
fn compute_again(
    bytes: &mut [u8],
    base: &Parts<'_>,
    archive: &Extent,
    finest: &Extent,
    filled: &Filled,
) {
    let steps = archive.steps;
    let rows: BTreeSet<(i64, usize)> = filled
        .iter()
        .map(|(step, column)| ((step + steps - 1).div_euclid(steps), *column))
        .collect();
    for (row, column) in rows {
        let Some(back) = place(archive, row) else {
            continue;
        };
        let kept: Option<Vec<usize>> = (row * steps - steps + 1..=row * steps)
            .map(|step| place(finest, step))
            .collect();
        let Some(kept) = kept else { continue };
        let values = kept.into_iter().map(|back| {
            let at = base.row_at(finest, back) + 8 * column;
            value_at(bytes, at)
        });
        let known: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
        let unknown = steps as f64 - known.len() as f64;
        if unknown / steps as f64 > archive.may_lack {
            continue;
        }
        let value = match function(base, archive) {
            b"AVERAGE" => Some(known.iter().sum::<f64>() / known.len() as f64),
            b"MIN" => known.iter().copied().reduce(f64::min),
            b"MAX" => known.iter().copied().reduce(f64::max),
            _ => known.last().copied(),
        };
        if let Some(value) = value.filter(|value| !value.is_nan()) {
            let at = base.row_at(archive, back) + 8 * column;
            put(bytes, at, value.to_bits());
        }
    }
}

/// Returns how many rows before the newest one this row is, if the archive still has it.
fn place(archive: &Extent, row: i64) -> Option<usize> {
    let back = usize::try_from(archive.newest - row).ok()?;
    (back < archive.rows).then_some(back)
}

fn function<'a>(parts: &Parts<'a>, archive: &Extent) -> &'a [u8] {
    let name = &parts.bytes[archive.function.clone()];
    name.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
}

fn value_at(bytes: &[u8], at: usize) -> f64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    f64::from_ne_bytes(value)
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
