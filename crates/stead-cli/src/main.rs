//! The program `stead`.
fn main() {}
