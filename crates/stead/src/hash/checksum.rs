//! CRC-32 and CRC-16 as hashes.

/// CRC-32 as in zlib: reflected, polynomial 0xEDB88320, all bits inverted before and after.
pub(crate) fn crc32(key: &[u8]) -> u32 {
    crc32_add(0, key)
}

/// The CRC-32 of some bytes and `more`, from the CRC-32 of those bytes. Eight bytes are taken at a
/// time, each with a table of its own, since the tables can be read side by side (Kounavis and
/// Berry, "slicing by 8").
#[allow(clippy::indexing_slicing)] // bytes, and tables of 256 entries
pub(crate) fn crc32_add(before: u32, more: &[u8]) -> u32 {
    let eights = more.chunks_exact(8);
    let rest = eights.remainder();
    let crc = eights.fold(!before, |crc, bytes| {
        let [a, b, c, d, e, f, g, h] = bytes.try_into().unwrap_or_default();
        let [i, j, k, l] = (crc ^ u32::from_le_bytes([a, b, c, d])).to_le_bytes();
        let indexes = [h, g, f, e, l, k, j, i];
        let entries = CRC32.iter().zip(indexes);
        entries.fold(0, |crc, (table, index)| crc ^ table[usize::from(index)])
    });
    !rest.iter().fold(crc, |crc, byte| {
        CRC32[0][usize::from(crc as u8 ^ byte)] ^ crc >> 8
    })
}

/// CRC-16/XMODEM: polynomial 0x1021, starting at 0, nothing reflected or inverted.
pub(super) fn crc16(key: &[u8]) -> u16 {
    key.iter().fold(0, |crc, byte| {
        let entry = CRC16
            .get(usize::from(crc >> 8 ^ u16::from(*byte)))
            .copied()
            .unwrap_or(0);
        entry ^ crc << 8
    })
}

/// For each byte, what it does to the CRC; in table n, with n bytes of 0 behind it.
#[allow(clippy::indexing_slicing)] // computed by the compiler, which would say so
const CRC32: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                0xEDB8_8320 ^ crc >> 1
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[table - 1][byte];
            tables[table][byte] = tables[0][(crc & 0xff) as usize] ^ crc >> 8;
            byte += 1;
        }
        table += 1;
    }
    tables
};

#[allow(clippy::indexing_slicing)] // computed by the compiler, which would say so
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 {
                0x1021 ^ crc << 1
            } else {
                crc << 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_at_a_time_are_the_same_as_one() {
        let one_by_one = |before: u32, bytes: &[u8]| {
            !bytes.iter().fold(!before, |crc, byte| {
                (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
                    1 => 0xEDB8_8320 ^ crc >> 1,
                    _ => crc >> 1,
                })
            })
        };
        let bytes: Vec<u8> = (0..100u32).map(|i| (i * i * 37 % 251) as u8).collect();
        for end in 0..=bytes.len() {
            let whole = one_by_one(0, &bytes[..end]);
            assert_eq!(crc32(&bytes[..end]), whole, "{end} bytes");
            for middle in [0, 1, 7, 8, 9].map(|middle| middle.min(end)) {
                let before = crc32(&bytes[..middle]);
                assert_eq!(crc32_add(before, &bytes[middle..end]), whole);
            }
        }
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926); // the check value of the algorithm
    }
}
