//! Changes every byte of maps, as `sweep` says. The last line is `N passed, N failed, 0 skipped`.
//!
//! ```text
//! cargo run --release -p stead-fuzz --example bytes
//! ```

use std::process::ExitCode;

use stead_fuzz::sweep;

fn main() -> ExitCode {
    let (mut tries, mut failed) = (0, 0);
    sweep(false, |row| {
        tries += row.tries;
        failed += row.failed;
        println!(
            "{:<32} {:>9} tries {:>8} accepted with their digest {:>3} failed {:>6.1} s",
            row.name,
            row.tries,
            row.accepted,
            row.failed,
            row.took.as_secs_f64()
        );
    });
    println!("{} passed, {failed} failed, 0 skipped", tries - failed);
    ExitCode::from(u8::from(failed > 0))
}
