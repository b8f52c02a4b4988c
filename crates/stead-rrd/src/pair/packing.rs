//! Packs records into frames, and changes of the state directory.

use std::io;

use super::frame::{broken, number};

/// Appends a record to the body of a frame of records.
pub(super) fn push(body: &mut Vec<u8>, record: &[u8]) {
    body.extend_from_slice(&(record.len() as u32).to_le_bytes());
    body.extend_from_slice(record);
}

/// Calls `each` with the number and the bytes of every record of a frame.
pub(super) fn records(
    body: &[u8],
    mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (mut at, mut rest) = number(body)?;
    while !rest.is_empty() {
        let cut = || broken("a record that is cut off");
        let (length, behind) = rest.split_first_chunk().ok_or_else(cut)?;
        let length = u32::from_le_bytes(*length) as usize;
        let record = behind.get(..length).ok_or_else(cut)?;
        each(at, record)?;
        at = at.checked_add(1).ok_or_else(cut)?;
        rest = &behind[length..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_as_they_went_in_and_a_cut_is_an_error() {
        let mut body = 7u64.to_le_bytes().to_vec();
        for record in [&b"one"[..], b"", b"three"] {
            push(&mut body, record);
        }
        let read = |body: &[u8]| {
            let mut found = Vec::new();
            records(body, |number, record| {
                found.push((number, record.to_vec()));
                Ok(())
            })
            .map(|()| found)
        };
        let expected = vec![
            (7, b"one".to_vec()),
            (8, Vec::new()),
            (9, b"three".to_vec()),
        ];
        assert_eq!(read(&body).unwrap(), expected);
        let whole = [8, 15, 19, body.len()];
        for cut in 0..body.len() {
            assert_eq!(read(&body[..cut]).is_ok(), whole.contains(&cut), "{cut}");
        }
    }
}
