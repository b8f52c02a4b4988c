//! CRC-32 and CRC-16 as hashes.

/// CRC-32 as in zlib: reflected, polynomial 0xEDB88320, all bits inverted before and after.
pub(crate) fn crc32(key: &[u8]) -> u32 {
    crc32_add(0, key)
}

/// The CRC-32 of some bytes and `more`, from the CRC-32 of those bytes.
pub(crate) fn crc32_add(before: u32, more: &[u8]) -> u32 {
    !more.iter().fold(!before, |crc, byte| {
        let entry = CRC32
            .get(((crc ^ u32::from(*byte)) & 0xff) as usize)
            .copied()
            .unwrap_or(0);
        entry ^ crc >> 8
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

#[allow(clippy::indexing_slicing)] // computed by the compiler, which would say so
const CRC32: [u32; 256] = {
    let mut table = [0; 256];
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
        table[byte] = crc;
        byte += 1;
    }
    table
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
