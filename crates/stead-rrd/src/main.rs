//! The program `stead-rrd`: it reads the command line and runs the verb.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use stead::error::usage_line;
use stead_rrd::exit::{Failure, IO, USAGE};
use stead_rrd::line::{command, CommandLine, Task};
use stead_rrd::{operate, run, say};

#[global_allocator]
static ALLOCATOR: stead::memory::Reserving = stead::memory::Reserving::of_system();

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            if error.use_stderr() {
                let line = usage_line(&error.render().to_string());
                eprintln!("stead-rrd: {line}");
                return ExitCode::from(USAGE);
            }
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    match run_verb(&matches) {
        Ok(code) => ExitCode::from(code),
        Err(Failure(code, line)) => {
            if !line.is_empty() {
                eprintln!("stead-rrd: {}", line.replace('\n', " "));
            }
            ExitCode::from(code)
        }
    }
}

/// Returns the exit code.
fn run_verb(matches: &ArgMatches) -> Result<u8, Failure> {
    let CommandLine { task } = CommandLine::from_arg_matches(matches)
        .map_err(|error| Failure(USAGE, error.to_string()))?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure(IO, format!("cannot start: {error}")))?;
    match task {
        Task::Serve(serve) => {
            say::start(serve.saying.log_format, serve.saying.log_level);
            let given = matches.subcommand_matches("serve").unwrap_or(matches);
            runtime.block_on(run::serve(*serve, given)).map(|()| 0)
        }
        Task::Files(options) => {
            say::start(options.saying.log_format, options.saying.log_level);
            runtime.block_on(run::give_files(options)).map(|()| 0)
        }
        Task::Status(ask) => runtime.block_on(operate::status(&ask)),
        Task::Move(told) => runtime.block_on(operate::move_files(&told)),
        Task::Repair(told) => runtime.block_on(operate::repair(&told)),
        Task::Check(told) => runtime.block_on(operate::check(&told)),
        Task::Promote(told) => runtime.block_on(operate::promote(&told)),
    }
}
