//! The command line: every verb and option with its help. tools/pages makes the manual of it.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::operate::{Ask, Move, Repair};
use crate::say::{Format, Least};

/// Round-robin databases spread over many rrdcached servers, which clients use as if it were one
#[derive(Parser)]
#[command(name = "stead-rrd", version, max_term_width = 100, disable_help_subcommand = true, after_help = CODES)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Task {
    /// Serve clients: route their requests to the backends of a map
    Serve(Serve),
    /// Give the RRD files beside an rrdcached to the router that moves them, and take new ones
    Files(FilesOptions),
    /// Say how a running router is: its backends, its log, its clients; ends with 1 when something
    /// is wrong
    Status(Ask),
    /// Have a running router move files to where the newest map has them; Ctrl-C stops it, and the
    /// same again goes on
    Move(Move),
    /// Have a running router copy to a backend what it should have and lacks
    Repair(Repair),
}

/// What `stead-rrd serve` is told.
#[derive(Args)]
pub struct Serve {
    /// The map; its nodes are the backends, each with an attribute `rrdcached`: unix:/path or
    /// host:port
    #[arg(long, value_name = "MAP")]
    pub map: PathBuf,
    /// The directory that clients believe all files to be in, as -b of rrdcached
    #[arg(long, value_name = "DIR")]
    pub base: PathBuf,
    /// Where to listen: unix:/path or host:port; may be given more than once
    #[arg(long, value_name = "ADDRESS", required = true)]
    pub listen: Vec<String>,
    /// What clients of the --listen before it may use, as UPDATE,FLUSH; all when it is left out
    #[arg(long, value_name = "COMMANDS")]
    pub allow: Vec<String>,
    /// Listen on addresses that others can reach, too; the protocol knows no passwords
    #[arg(long)]
    pub public: bool,
    /// The router's own directory: its log, in which writes stand until their backends have them on
    /// disk, and what it knows of moves
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Keep the log in memory only: a crash of the router loses updates that were acknowledged
    #[arg(long)]
    pub no_log: bool,
    /// The most that the log may grow to, in MiB; when it is full, writes are refused until
    /// backends have flushed
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub log_size: u64,
    /// Seconds until a write that waits in a backend's memory is flushed and leaves the log
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub flush_after: u64,
    /// Seconds that a backend may take for an answer; beyond, it is treated as down
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub timeout: u64,
    /// Let CREATE replace a file that is there, as rrdcached does unless the client says -O
    #[arg(long)]
    pub overwrite: bool,
    /// Make files that an UPDATE names and that are not there, by the templates of this file
    #[arg(long, value_name = "FILE")]
    pub create: Option<PathBuf>,
    /// Seconds that clients may still take for the answers that they wait for, when the program is
    /// told to end
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub grace: u64,
    /// Give metrics for Prometheus over HTTP on this host:port, at /metrics
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// What is said while it runs.
    #[command(flatten)]
    pub saying: Saying,
}

/// What `stead-rrd files` is told.
#[derive(Args)]
pub struct FilesOptions {
    /// The directory of the files, as -b of the rrdcached beside it
    #[arg(long, value_name = "DIR")]
    pub base: PathBuf,
    /// Where to listen: unix:/path or host:port
    #[arg(long, value_name = "ADDRESS")]
    pub listen: String,
    /// Listen on an address that others can reach, too; the protocol knows no passwords
    #[arg(long)]
    pub public: bool,
    /// Give files and lists of them, but write and remove nothing
    #[arg(long)]
    pub read_only: bool,
    /// What is said while it runs.
    #[command(flatten)]
    pub saying: Saying,
}

/// What is said while the program runs, on standard error.
#[derive(Args)]
pub struct Saying {
    /// How log lines look: `text` for people, or `json`, an object a line
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text, hide_possible_values = true)]
    pub log_format: Format,
    /// The least that is said: error, warn, info or debug
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Least::Info, hide_possible_values = true)]
    pub log_level: Least,
}

/// The table for `--help`; docs/rrd.md has the same.
const CODES: &str = "\
Exit codes:
  0   done; of status: all is well
  1   of status: something is wrong; of move and repair: not all files could be carried
  64  the command line is wrong
  65  the map is damaged or not a map
  66  the map is missing
  69  no router answers on this state directory
  70  a fault in stead-rrd itself
  74  reading, writing or listening failed
  75  the router refused, and says why
  78  the fleet does not say where its backends are
  130 ended by Ctrl-C";

/// The whole of it.
pub fn command() -> clap::Command {
    CommandLine::command()
}
