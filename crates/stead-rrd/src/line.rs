//! The command line: every verb and option with its help. tools/pages makes the manual pages from
//! it.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::operate::{Ask, Move, Promote, Repair};
use crate::role::{Lost, Role};
use crate::say::{Format, Least};

/// Spread round-robin databases over many rrdcached servers, which clients use as if they were one
#[derive(Parser)]
#[command(name = "stead-rrd", version, max_term_width = 100, disable_help_subcommand = true, after_help = CODES)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// The verbs.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant)] // only one exists
pub enum Task {
    /// Serve clients: route their requests to the backends of a map
    Serve(Serve),
    /// Read and write the RRD files beside an rrdcached for the router, which moves files
    Files(FilesOptions),
    /// Report the state of a running router: its backends, its log, its clients; the exit code is 1
    /// if something is wrong
    Status(Ask),
    /// Let a running router move files to where the newest map places them; Ctrl-C stops it, and
    /// the same command continues later
    Move(Move),
    /// Let a running router copy to a backend every file that it should have, from one that has it
    Repair(Repair),
    /// Make a standby the primary of its pair
    Promote(Promote),
}

/// The options of `stead-rrd serve`.
#[derive(Args)]
pub struct Serve {
    /// The map; its nodes are the backends, each with an attribute `rrdcached`: unix:/path or
    /// host:port
    #[arg(long, value_name = "MAP")]
    pub map: PathBuf,
    /// The directory that clients believe all files to be in, like -b of rrdcached
    #[arg(long, value_name = "DIR")]
    pub base: PathBuf,
    /// Where to listen: unix:/path or host:port; may be given more than once
    #[arg(long, value_name = "ADDRESS", required = true)]
    pub listen: Vec<String>,
    /// The commands that clients of the preceding --listen may use, such as UPDATE,FLUSH; default:
    /// all
    #[arg(long, value_name = "COMMANDS")]
    pub allow: Vec<String>,
    /// Also listen on addresses that other machines can reach; the protocol has no passwords
    #[arg(long)]
    pub public: bool,
    /// The router's own directory: the log, which keeps writes until all their backends have them
    /// on disk, and the state of moves
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Keep the log in memory only: a crash of the router loses acknowledged updates
    #[arg(long)]
    pub no_log: bool,
    /// An upper bound on the size of the log, in MiB; when the log is full, writes are refused
    /// until backends have flushed
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub log_size: u64,
    /// How many seconds a write may wait in a backend's memory before it is flushed and leaves the
    /// log
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub flush_after: u64,
    /// How many seconds a backend may take to answer before it is treated as down
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub timeout: u64,
    /// The most clients of each --listen; fewer if the descriptors do not suffice. Further clients
    /// get an error and are disconnected
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub clients: u64,
    /// How many seconds a client may send nothing before it is disconnected; 0 means for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub idle: u64,
    /// Run as one of two routers: where the other one's --pair is, unix:/path or host:port
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "pair",
        conflicts_with = "no_log"
    )]
    pub standby: Option<String>,
    /// Where this router listens for the other one of the two: unix:/path or host:port
    #[arg(long, value_name = "ADDRESS", requires = "standby")]
    pub pair: Option<String>,
    /// What this router is at its very first start, `primary` or `standby`; later, its state says
    /// which it is
    #[arg(long, value_enum, value_name = "ROLE", default_value_t = Role::Primary, hide_possible_values = true, requires = "standby")]
    pub role: Role,
    /// What the primary does without its standby: `wait` lets clients wait, `refuse` answers writes
    /// with an error, `alone` goes on
    #[arg(long, value_enum, value_name = "MODE", default_value_t = Lost::Wait, hide_possible_values = true, requires = "standby")]
    pub standby_lost: Lost,
    /// Let CREATE replace a file that exists, as rrdcached does unless the client says -O
    #[arg(long)]
    pub overwrite: bool,
    /// Make files that an UPDATE names and that do not exist, by the templates in FILE
    #[arg(long, value_name = "FILE")]
    pub create: Option<PathBuf>,
    /// When the program is told to stop, how many seconds clients may still take to receive their
    /// answers
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub grace: u64,
    /// Serve metrics for Prometheus over HTTP on this host:port, at /metrics
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// The messages while it runs.
    #[command(flatten)]
    pub saying: Saying,
}

/// The options of `stead-rrd files`.
#[derive(Args)]
pub struct FilesOptions {
    /// The directory of the files, like -b of the rrdcached beside it
    #[arg(long, value_name = "DIR")]
    pub base: PathBuf,
    /// Where to listen: unix:/path or host:port
    #[arg(long, value_name = "ADDRESS")]
    pub listen: String,
    /// Also listen on an address that other machines can reach; the protocol has no passwords
    #[arg(long)]
    pub public: bool,
    /// Only read and list files; write and remove nothing
    #[arg(long)]
    pub read_only: bool,
    /// The messages while it runs.
    #[command(flatten)]
    pub saying: Saying,
}

/// The messages that the program prints on standard error while it runs.
#[derive(Args)]
pub struct Saying {
    /// The format of messages: `text` for people, or `json` (one object a line)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text, hide_possible_values = true)]
    pub log_format: Format,
    /// The least severe messages to print: error, warn, info or debug
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Least::Info, hide_possible_values = true)]
    pub log_level: Least,
}

/// The table for `--help`; docs/rrd.md has the same.
const CODES: &str = "\
Exit codes:
  0   done; of status: all is well
  1   of status: something is wrong; of move and repair: not all files could be copied
  64  the command line is wrong
  65  the map is damaged or not a map
  66  the map is missing
  69  no router answers on this state directory
  70  a fault in stead-rrd itself
  74  reading, writing or listening failed
  75  the router refused, and says why
  78  the fleet does not say where its backends are
  130 stopped by Ctrl-C";

/// Returns the whole command line.
pub fn command() -> clap::Command {
    CommandLine::command()
}
