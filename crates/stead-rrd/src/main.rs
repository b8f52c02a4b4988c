//! The program `stead-rrd`.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Round-robin databases spread over many rrdcached servers, which clients use as if it were one
#[derive(Parser)]
#[command(name = "stead-rrd", version, max_term_width = 100)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve clients: route their requests to the backends of a map
    Serve(Serve),
}

#[derive(clap::Args)]
struct Serve {
    /// The map; its nodes are the backends, each with an attribute `rrdcached`: unix:/path or host:port
    #[arg(long)]
    map: PathBuf,
}

fn main() -> ExitCode {
    let Verb::Serve(serve) = Line::parse().verb;
    match stead::Map::open_copy(&serve.map) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stead-rrd: {error}");
            ExitCode::from(65)
        }
    }
}
