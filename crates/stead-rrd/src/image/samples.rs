//! RRD files for the tests of the files beside it.

use super::parts::{ARCHIVE, COLUMN, HEAD, LIVE, NUMBER, PREPARED, PREPARED_ROW};

/// The functions of the archives of a sample.
pub(super) const FUNCTION: &str = "AVERAGE";

/// Returns a file with one column and one archive of four rows of 10 s. Its rows are given
/// oldest first, and `turn` says in which place of the file the oldest is.
pub(crate) fn file(last: u64, rows: [f64; 4], turn: usize) -> Vec<u8> {
    file_with(FUNCTION, last, rows, turn)
}

/// Returns a file whose archive has this function.
pub(super) fn file_with(function: &str, last: u64, rows: [f64; 4], turn: usize) -> Vec<u8> {
    let mut bytes = b"RRD\x000003\0".to_vec();
    bytes.resize(16, 0);
    let put = |bytes: &mut Vec<u8>, numbers: &[u64], size: usize| {
        let end = bytes.len() + size;
        numbers
            .iter()
            .for_each(|number| bytes.extend_from_slice(&number.to_ne_bytes()));
        bytes.resize(end, 0);
    };
    put(&mut bytes, &[NUMBER.to_bits(), 1, 1, 10], HEAD - 16);
    put(&mut bytes, &[], COLUMN);
    let archive = bytes.len();
    put(&mut bytes, &[0, 0, 0, 4, 1], ARCHIVE);
    bytes[archive..archive + function.len()].copy_from_slice(function.as_bytes());
    put(&mut bytes, &[last, 0], LIVE);
    put(&mut bytes, &[], PREPARED);
    put(&mut bytes, &[], PREPARED_ROW);
    put(&mut bytes, &[((turn + 3) % 4) as u64], 8);
    let mut placed = rows;
    placed.rotate_right(turn);
    put(&mut bytes, &placed.map(f64::to_bits), 32);
    bytes
}
