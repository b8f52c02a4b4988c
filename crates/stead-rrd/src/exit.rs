//! The program's exit codes. Codes that the program `stead` has, too, mean the same here.

/// All work was done, or the router is well.
pub const WELL: u8 = 0;
/// The router is not well, or some files could not be copied.
pub const NOT_WELL: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// The map is damaged, or not a map.
pub const DATA: u8 = 65;
/// The map is missing.
pub const NO_INPUT: u8 = 66;
/// No router answers.
pub const UNAVAILABLE: u8 = 69;
/// A fault in stead-rrd itself.
pub const INTERNAL: u8 = 70;
/// Reading, writing or listening failed.
pub const IO: u8 = 74;
/// The router refused.
pub const REFUSED: u8 = 75;
/// This user may not read the map.
pub const PERMISSION: u8 = 77;
/// The fleet does not say where its backends are.
pub const FLEET: u8 = 78;
/// Stopped by Ctrl-C; the number is the one that the shell uses.
pub const INTERRUPTED: u8 = 130;
/// Nobody reads what the program prints; the number is the one that the shell uses for SIGPIPE.
pub const PIPE: u8 = 141;

/// A failure: its exit code, and a message of one line, which may be empty.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure(pub u8, pub String);
