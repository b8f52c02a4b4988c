//! The program `stead-sync`, which is the library `stead_sync`.
#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: stead::memory::Reserving = stead::memory::Reserving::of_system();

fn main() -> std::process::ExitCode {
    stead_sync::main()
}
