//! How the program ends: the codes are those of the program `stead`, where both have them.

/// All was done, and all is well.
pub const WELL: u8 = 0;
/// The router is not well, or some files could not be carried.
pub const NOT_WELL: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// The map is damaged, or not a map.
pub const DATA: u8 = 65;
/// The map is missing.
pub const NO_INPUT: u8 = 66;
/// No router answers.
pub const UNAVAILABLE: u8 = 69;
/// A fault of ours.
pub const INTERNAL: u8 = 70;
/// Reading, writing or listening failed.
pub const IO: u8 = 74;
/// The router said no.
pub const REFUSED: u8 = 75;
/// The fleet does not say where its backends are.
pub const FLEET: u8 = 78;
/// Ended by Ctrl-C, as the shell says it.
pub const INTERRUPTED: u8 = 130;
/// Nobody reads what we print.
pub const PIPE: u8 = 141;

/// An end that is not success: its code, and a line, which may be empty.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure(pub u8, pub String);
