//! The program `stead-sync`, which is the library `stead_sync`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    stead_sync::main()
}
