//! The program `stead`: where does this key live?
//!
//! The program is a library so that tools/pages, which writes the manual pages and the completions,
//! can read its [`command`].
//!
//! Each verb is a file under `verb/`. The verbs share `change` (the comparison of two maps), `caps`
//! (fault domains), `guards` (what needs permission), `input` (keys), `output`, `text`, `progress`,
//! and `exit` (the exit codes, which docs/cli.md lists). `records` reads the input in blocks, and
//! `lines` finds the records there. `picture` and `band` draw in text, and `pixels` makes a PNG of
//! a picture of stead-plot. `down` and `loss` say what the failure of nodes costs. `draft`,
//! `nodes_table`, `edit` and `rewrite` make and edit fleets, and `suggest` says what a wrong name
//! may have meant. `carrying` puts a carry into words, `journaled` reads the journal of `stead-sync
//! carry`, and `planned` a saved plan. `back` is the command that goes back. `checks` and `epochs`
//! are what `check` and `history` print; `page` is the page of `report`. `counted` reads keys with
//! counts, and `summed` adds up what moves of them.
//!
//! Bars separate groups of modules. A module uses only modules of the groups to the left of its
//! own; a test checks this (tools/layers):
//!
//! ```text
//! exit picture progress lines edit asked | band suggest rewrite draft output planned records pixels | input nodes_table down primaries | carrying journaled following text counted | caps checks epochs explain guards loss | change | summed | back page | verb | usage
//! ```

#![forbid(unsafe_code)]

mod asked;
mod back;
mod band;
mod caps;
mod carrying;
mod change;
mod checks;
mod counted;
mod down;
mod draft;
mod edit;
mod epochs;
mod exit;
mod explain;
mod following;
mod guards;
mod input;
mod journaled;
mod lines;
mod loss;
mod nodes_table;
mod output;
mod page;
mod picture;
mod pixels;
mod planned;
mod primaries;
mod progress;
mod records;
mod rewrite;
mod suggest;
mod summed;
mod text;
mod usage;
mod verb;

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use exit::{Failure, INTERNAL, USAGE};
use output::Out;
use stead::kernel::Kernel;
use stead::memory;

/// Returns the description of the command line: every verb and option with its help.
pub fn command() -> clap::Command {
    usage::command()
}

/// Runs the program on the arguments of this process, and returns its exit code.
///
/// Sets the panic hook of the process, so that a panic also prints only one line.
pub fn main() -> ExitCode {
    // prints a panic as one line; `catch_unwind` below turns it into an exit code
    std::panic::set_hook(Box::new(|fault| {
        let text = fault.to_string().replace('\n', ": ");
        let _ = std::io::stderr()
            .write_all(format!("stead: internal fault, please report it: {text}\n").as_bytes());
    }));
    let end = std::panic::catch_unwind(run).unwrap_or_else(|_| Err(Failure::silent(INTERNAL)));
    end.map_or_else(Failure::end, |()| ExitCode::SUCCESS)
}

fn run() -> exit::Result {
    // A write beyond the file size limit (ulimit -f) raises SIGXFSZ, which kills the process. With
    // a handler the write returns an error instead.
    signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Arc::new(AtomicBool::new(false)),
    )
    .map_err(|e| Failure::io("cannot set a signal handler", &e))?;
    let mut out = Out::new()?;
    let done = usage::parse(&mut out).and_then(|verb| match verb {
        Some(verb) => known_kernel()
            .and_then(|()| known_limit())
            .and_then(|()| verb.run(&mut out)),
        None => Ok(()),
    });
    // flush after a failure, too: the answers before it are right
    let flushed = out.flush();
    done.and(flushed)
}

/// Refuses a limit of memory that is not a number of bytes. The library would take the usual one
/// without a word, and whoever sets STEAD_MEMORY_LIMIT counts on it.
fn known_limit() -> exit::Result {
    let wanted = std::env::var_os(memory::VARIABLE).unwrap_or_default();
    let text = wanted.to_string_lossy();
    if wanted.is_empty() || memory::named_limit(&text).is_some() {
        return Ok(());
    }
    Err(Failure::new(
        USAGE,
        format!(
            "{} is {text:?}, which is not a number of bytes; write digits, such as 8589934592 for \
             8 GiB, or unset it",
            memory::VARIABLE
        ),
    ))
}

/// Refuses a kernel that is not here. The library would take another one without a word, and
/// whoever sets STEAD_KERNEL wants to know which one was measured or tested.
fn known_kernel() -> exit::Result {
    let wanted = std::env::var_os("STEAD_KERNEL").unwrap_or_default();
    let known: Vec<&str> = Kernel::here().map(Kernel::name).collect();
    if wanted.is_empty() || known.iter().any(|name| wanted == *name) {
        return Ok(());
    }
    Err(Failure::new(
        USAGE,
        format!(
            "STEAD_KERNEL is {:?}, which is not a kernel of this program on this processor; \
             write one of {}, or unset it",
            wanted.to_string_lossy(),
            known.join(", ")
        ),
    ))
}
