//! The program `stead`: where does this key live?
//!
//! A library, so that whoever describes the program (tools/pages: manual pages and completions) has
//! its [`command`] from the source.
//!
//! One file a verb under `verb/`; what they share: `change` (two maps side by side), `caps` (fault
//! domains), `input` (keys), `output`, `text`, `progress`, and `exit`, whose codes docs/cli.md
//! lists.
//!
//! A module uses only modules to its left; a test holds that (tools/layers):
//!
//! ```text
//! exit progress | output | input | text | caps explain | change | verb | usage
//! ```

#![forbid(unsafe_code)]

mod caps;
mod change;
mod exit;
mod explain;
mod input;
mod output;
mod progress;
mod text;
mod usage;
mod verb;

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use exit::{Failure, INTERNAL};
use output::Out;

/// The command line: every verb and option with its help.
pub fn command() -> clap::Command {
    usage::command()
}

/// The whole program, from the arguments of this process to its exit code.
///
/// Sets the panic hook of the process, so that a fault of ours is one line, too.
pub fn main() -> ExitCode {
    // one line for a fault of ours, too; `catch_unwind` below turns it into an exit code
    std::panic::set_hook(Box::new(|fault| {
        let text = fault.to_string().replace('\n', ": ");
        let _ = std::io::stderr()
            .write_all(format!("stead: internal fault, please report it: {text}\n").as_bytes());
    }));
    let end = std::panic::catch_unwind(run).unwrap_or_else(|_| Err(Failure::silent(INTERNAL)));
    end.map_or_else(Failure::end, |()| ExitCode::SUCCESS)
}

fn run() -> exit::Result {
    // a file size limit (ulimit -f) sends this signal, which kills; with a handler the write fails
    // with an error instead
    signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Arc::new(AtomicBool::new(false)),
    )
    .map_err(|e| Failure::io("cannot set a signal handler", &e))?;
    let mut out = Out::new()?;
    let done =
        usage::parse(&mut out).and_then(|verb| verb.map_or(Ok(()), |verb| verb.run(&mut out)));
    // also after a failure: what was answered before it is right
    let flushed = out.flush();
    done.and(flushed)
}
