//! The headers in the tree are those that the sources give.

use std::process::Command;

#[test]
fn the_headers_are_current() {
    let header = Command::new(env!("CARGO_BIN_EXE_stead-header"))
        .arg("--check")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&header.stderr);
    assert!(header.status.success(), "{said}");
}
