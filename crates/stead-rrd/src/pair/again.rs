//! Starts the program again in the same process: after a promotion, and when another router has
//! become the primary.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::exit::IO;

/// Replaces the running program by a new run of itself with the same arguments. All its
/// connections are closed, and its locks are free. Never returns.
pub fn start_again() -> ! {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    // /proc/self/exe is the program that runs, even after its file was replaced
    let program = std::env::current_exe()
        .ok()
        .filter(|path| path.exists())
        .unwrap_or_else(|| "/proc/self/exe".into());
    let error = Command::new(program).arg0(name).args(arguments).exec();
    tracing::error!(%error, "cannot start again: {error}");
    std::process::exit(IO.into())
}
