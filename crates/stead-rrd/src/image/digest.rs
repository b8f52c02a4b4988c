//! A short summary of the content of an RRD file. Copies whose summaries are equal are equal.

use twox_hash::XxHash3_128;

use super::parts::Parts;

/// A summary of the content of a file. Two files of the same content have equal summaries,
/// whichever row their archives begin with. A file that this program cannot read is summed up by
/// its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The size in bytes.
    pub bytes: u64,
    /// XXH3-128 of what cannot differ in copies of one file: its version and step, its columns and
    /// archives. `None` if this program cannot read the file.
    pub shape: Option<u128>,
    /// The last time, in seconds and microseconds.
    pub last: (i64, i64),
    /// XXH3-128 of everything else.
    pub content: u128,
}

impl Digest {
    /// Computes the summary.
    pub fn of(bytes: &[u8]) -> Digest {
        let size = bytes.len() as u64;
        let Some(parts) = Parts::of(bytes) else {
            return Digest {
                bytes: size,
                shape: None,
                last: (0, 0),
                content: XxHash3_128::oneshot(bytes),
            };
        };
        let (mut shape, mut content) = (XxHash3_128::new(), XxHash3_128::new());
        for part in parts.definitions() {
            shape.write(part);
        }
        content.write(&parts.last.0.to_ne_bytes());
        content.write(&parts.last.1.to_ne_bytes());
        for bits in parts.prepared() {
            content.write(&bits.to_ne_bytes());
        }
        let mut row = Vec::with_capacity(8 * parts.columns);
        for archive in &parts.archives {
            for back in (0..archive.rows).rev() {
                let at = parts.row_at(archive, back);
                row.clear();
                for column in 0..parts.columns {
                    row.extend_from_slice(&parts.value(at + 8 * column).to_ne_bytes());
                }
                content.write(&row);
            }
        }
        Digest {
            bytes: size,
            shape: Some(shape.finish_128()),
            last: parts.last,
            content: content.finish_128(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::file;
    use super::*;

    #[test]
    fn equal_contents_have_equal_digests_and_others_do_not() {
        let rows = [1.0, f64::NAN, 3.0, 4.0];
        let whole = Digest::of(&file(1000, rows, 0));
        for turn in 1..4 {
            assert_eq!(whole, Digest::of(&file(1000, rows, turn)));
        }
        // another sign of NaN is no other value
        assert_eq!(
            whole,
            Digest::of(&file(1000, [1.0, -f64::NAN, 3.0, 4.0], 2))
        );
        let other = Digest::of(&file(1000, [1.0, 2.0, 3.0, 4.0], 0));
        assert!(whole.shape == other.shape && whole.content != other.content);
        assert_ne!(whole, Digest::of(&file(1001, rows, 0)));
        // every byte of the definitions counts
        let mut tuned = file(1000, rows, 0);
        tuned[140] = b'x';
        assert_ne!(whole.shape, Digest::of(&tuned).shape);
    }

    #[test]
    fn what_cannot_be_read_is_compared_by_its_bytes() {
        let (one, two) = (Digest::of(b"RRD\0torn"), Digest::of(b"RRD\0tore"));
        assert!(one.shape.is_none() && one != two);
        assert_eq!(one, Digest::of(b"RRD\0torn"));
    }
}
