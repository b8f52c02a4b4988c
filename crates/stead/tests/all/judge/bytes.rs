//! The bytes of a map, by docs/map-format.md alone: numbers, texts and sections, for both judges.

pub fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Returns the offset and the number of records of a section. Sections are numbered from 1, as in
/// the document.
pub fn section(bytes: &[u8], number: usize) -> (usize, usize) {
    let entry = 176 + 24 * (number - 1);
    (
        u64_at(bytes, entry + 8) as usize,
        u64_at(bytes, entry + 16) as usize,
    )
}

/// The text to which the reference at offset `at` points.
pub fn text(bytes: &[u8], at: usize) -> String {
    let start = section(bytes, 1).0 + u32_at(bytes, at);
    String::from_utf8(bytes[start..start + u32_at(bytes, at + 4)].to_vec()).unwrap()
}

/// How far a share may be from its target, in millionths: section 19, or 0 if there is none.
/// Sections that only some maps have need not have a fixed place in the table.
pub fn tolerance(bytes: &[u8]) -> u128 {
    let entries = (0..u32_at(bytes, 172)).map(|i| 176 + 24 * i);
    let entry = entries.into_iter().find(|at| u32_at(bytes, *at) == 19);
    entry.map_or(0, |at| {
        u32_at(bytes, u64_at(bytes, at + 8) as usize) as u128
    })
}

/// The fewest and the most cells that a holder may have.
pub fn allowed(target: u128, tolerance: u128, cells: u128) -> (u128, u128) {
    let million = 1_000_000;
    let (least, most) = (
        target * (million - tolerance),
        target * (million + tolerance),
    );
    (least.div_ceil(million), (most / million).min(cells))
}
