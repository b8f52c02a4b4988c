//! Need: how many bytes of memory the reading of a fleet takes at most, estimated from what a scan
//! of the text counts. tests/memory.rs compares the estimates with the memory that is really used.

/// What every reading takes, whatever the text is.
const FEW: u64 = 64 << 10;

/// What a byte takes: the parsers, the tree and the fleet have copies of a text, some of which grow
/// by doubling.
const TOML_BYTE: u64 = 10;
const JSON_BYTE: u64 = 4;

/// What a token of TOML takes while its part of the text is read, and what it takes in the fleet.
const PARSED_TOKEN: u64 = 150;
const TOKEN: u64 = 60;

/// What a comma, a colon or an open bracket of JSON takes.
const JSON_VALUE: u64 = 100;

/// The most bytes that the scan of a TOML text takes, which comes first: where each header is, 8
/// bytes for each 6 of the text, in a list that doubles.
pub(super) fn of_toml_scan(length: usize) -> u64 {
    4 * length as u64 + FEW
}

/// The most bytes that the reading of a TOML text takes, from its length and its tokens: of all,
/// and of the most that the parser sees at once.
pub(super) fn of_toml(length: usize, tokens: usize, at_once: usize) -> u64 {
    TOML_BYTE * length as u64 + TOKEN * tokens as u64 + PARSED_TOKEN * at_once as u64 + FEW
}

/// The most bytes that the reading of a JSON text takes, from its length and the count of
/// `from_json::scan`.
pub(super) fn of_json(length: usize, values: usize) -> u64 {
    JSON_BYTE * length as u64 + JSON_VALUE * values as u64 + FEW
}
