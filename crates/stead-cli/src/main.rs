//! The program `stead`, which is the library `stead_cli`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    stead_cli::main()
}
