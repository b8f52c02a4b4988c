//! The command line: every verb and option with its help. tools/pages makes the manual pages from
//! it.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::log::Durability;
use crate::policy::Answer;
use crate::role::{Lost, Role};
use crate::say::{Format, Least};
use crate::tls::Paths;

/// Spread round-robin databases over many rrdcached servers, which clients use as if they were one
#[derive(Parser)]
#[command(name = "stead-rrd", version, max_term_width = 80, disable_help_subcommand = true, arg_required_else_help = false, after_help = CODES)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Task {
    /// Serve clients: route their requests to the backends of a map
    #[command(override_usage = SERVE)]
    Serve(Box<Serve>),
    /// Read and write the RRD files beside an rrdcached, for a router that moves and compares them
    Files(FilesOptions),
    /// Report the state of a running router: its backends, its log, its clients; the exit code is 1
    /// if something is wrong
    Status(Status),
    /// Let a running router move files to where the newest map places them; it goes on by itself
    /// until it is done. Ctrl-C stops it, and the same command continues later
    Move(Move),
    /// Let a running router compare every file that a backend should have with its other copies,
    /// and make them equal
    Repair(Repair),
    /// Let a running router compare all copies of all files; the exit code is 1 if some differ.
    /// Ctrl-C stops it, and the same command continues later
    Check(Check),
    /// Make a standby the primary of its pair
    Promote(Promote),
}

/// The options of `stead-rrd serve`.
#[derive(Args)]
pub struct Serve {
    /// The map; its nodes are the backends, each with an attribute `rrdcached`: unix:/path,
    /// host:port or tls:host:port
    #[arg(long, value_name = "MAP")]
    pub map: PathBuf,
    /// The directory that clients believe all files to be in, like -b of rrdcached
    #[arg(long, value_name = "DIR")]
    pub base: PathBuf,
    /// Where to listen: unix:/path, host:port or tls:host:port; may be given more than once
    #[arg(long, value_name = "ADDRESS", required = true)]
    pub listen: Vec<String>,
    /// The commands that clients of the preceding --listen may use, such as UPDATE,FLUSH; DEFAULT
    /// stands for all but SUSPENDALL and RESUMEALL
    #[arg(long, value_name = "COMMANDS")]
    pub allow: Vec<String>,
    /// When clients of the preceding --listen get the answer to an UPDATE: `served` when a server
    /// has taken it (the default), `logged` when the router's log has it
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true)]
    pub answer: Vec<Answer>,
    /// What a write of a client of the preceding --listen survives from its answer on: `power`, a
    /// power cut (the default), or `crash`, a crash of the router
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    pub durability: Vec<Durability>,
    /// How many milliseconds the log may wait for its next sync, if all writes since the last one
    /// only have to survive a crash of the router
    #[arg(long, value_name = "MS", default_value_t = 100)]
    pub sync_every: u64,
    /// With --answer logged: how many MiB may wait for every copy of a file before answers wait for
    /// a server
    #[arg(long, value_name = "MIB", default_value_t = 16)]
    pub backlog: u64,
    /// With --answer logged: how many seconds the oldest update may wait for every copy of a file
    /// before answers wait for a server
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub backlog_age: u64,
    /// Also listen without TLS on addresses that other machines can reach; the protocol has no
    /// passwords
    #[arg(long)]
    pub public: bool,
    /// The router's own directory. It has the log, which keeps writes until all their backends have
    /// them on disk, and the state of moves, repairs and checks
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Keep the log in memory only: a crash of the router loses acknowledged updates
    #[arg(long)]
    pub no_log: bool,
    /// An upper bound on the size of the log, in MiB, at least 32; when the log is full, writes are
    /// refused until backends have flushed
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(32..=1 << 40))]
    pub log_size: u64,
    /// How many seconds a write may wait in a backend's memory before it is flushed
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub flush_after: u64,
    /// How many seconds a flushed write stays in the log. The system of a backend writes it to the
    /// disk meanwhile; after a power cut of the backend, it is sent again
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub sync_after: u64,
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
    /// Run as one of two routers: where the other one's --pair is, unix:/path, host:port or
    /// tls:host:port
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "pair",
        conflicts_with = "no_log"
    )]
    pub standby: Option<String>,
    /// Where this router listens for the other one of the two: unix:/path, host:port or
    /// tls:host:port
    #[arg(long, value_name = "ADDRESS", requires = "standby")]
    pub pair: Option<String>,
    /// What this router is when it starts with an empty --state: `primary` or `standby`. Later
    /// starts take that from --state
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
    /// The certificates for addresses with tls:.
    #[command(flatten)]
    pub tls: Tls,
    /// When the program is told to stop, how many seconds clients may still take to receive their
    /// answers
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub grace: u64,
    /// Compare the copies of all files in the background, once in this many days; 0 means never
    #[arg(long, value_name = "DAYS", default_value = "7", value_parser = days)]
    pub check_every: f64,
    /// The most that the check in the background reads in a second, in MiB; a small file counts as
    /// 0.125 MiB
    #[arg(long, value_name = "MIB", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub check_rate: u64,
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
    /// Where to listen: unix:/path, host:port or tls:host:port
    #[arg(long, value_name = "ADDRESS")]
    pub listen: String,
    /// Also listen without TLS on an address that other machines can reach; the protocol has no
    /// passwords
    #[arg(long)]
    pub public: bool,
    /// The certificates for addresses with tls:.
    #[command(flatten)]
    pub tls: Tls,
    /// Only read and list files; write and remove nothing
    #[arg(long)]
    pub read_only: bool,
    /// The messages while it runs.
    #[command(flatten)]
    pub saying: Saying,
}

/// The options of `stead-rrd status`.
#[derive(Args)]
pub struct Status {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print everything as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// The options of `stead-rrd move`.
#[derive(Args)]
pub struct Move {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The most to copy in a second, in MiB, of all files together; a small file counts as no more
    /// than its size; without it, as fast as the disks are
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub rate: Option<u64>,
}

/// The options of `stead-rrd repair`.
#[derive(Args)]
pub struct Repair {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The name of the backend in the map
    #[arg(value_name = "NODE")]
    pub node: String,
    /// Replace all of its files by those of other backends, without comparing them
    #[arg(long)]
    pub replace: bool,
}

/// The options of `stead-rrd check`.
#[derive(Args)]
pub struct Check {
    /// The router's --state directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The most to read in a second, in MiB, of all copies together; a small file counts as no more
    /// than its size; without it, as fast as the disks are
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub rate: Option<u64>,
    /// Begin again, even if a check was stopped before its end
    #[arg(long)]
    pub restart: bool,
    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// The options of `stead-rrd promote`.
#[derive(Args)]
pub struct Promote {
    /// The --state directory of the standby
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Promote it even if acknowledged updates may be lost, or there may be two primaries; on the
    /// primary: go on without the standby
    #[arg(long)]
    pub force: bool,
}

/// The certificates for addresses with `tls:`, on which both sides show one.
#[derive(Args)]
pub struct Tls {
    /// The certificate that this program shows on addresses with tls:, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The CA that has signed the certificates of both sides, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_ca: Option<PathBuf>,
    /// The host names or IP addresses of which the certificate of a client must have one; default:
    /// any certificate of the CA will do
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "tls_cert"
    )]
    pub tls_clients: Vec<String>,
}

impl Tls {
    /// Returns the files, if they are given.
    pub fn paths(&self) -> Option<Paths> {
        Some(Paths {
            cert: self.tls_cert.clone()?,
            key: self.tls_key.clone()?,
            ca: self.tls_ca.clone()?,
            clients: self.tls_clients.clone(),
        })
    }
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

/// The usage of `serve`, which needs two lines of 80 columns.
const SERVE: &str = "stead-rrd serve [OPTIONS] --map <MAP> --base <DIR> --state <DIR>
                       --listen <ADDRESS>";

/// The most days between two checks.
const MOST_DAYS: f64 = 36500.0;

/// The table for `--help`; docs/rrd-reference.md has the same.
const CODES: &str = "\
Exit codes:
  0   done; of status: all is well
  1   of status: something is wrong; of move and repair: not all files could be
      copied; of check: some copies differ, or could not be compared
  64  the command line is wrong
  65  the map is damaged or not a map
  66  the map is missing
  69  no router answers on this state directory, or a promoted one not yet
  70  a fault in stead-rrd itself
  74  reading, writing or listening failed
  75  the router refused, and says why
  77  this user may not read the map
  78  the fleet does not say where its backends are
  130 stopped by Ctrl-C
  141 the reader of the output has gone";

/// Parses a number of days.
fn days(text: &str) -> Result<f64, String> {
    let days: Result<f64, _> = text.parse();
    days.ok()
        .filter(|days| (0.0..=MOST_DAYS).contains(days))
        .ok_or_else(|| format!("write a number of days from 0 to {MOST_DAYS}, such as 7 or 0.5"))
}

/// Returns the whole command line.
pub fn command() -> clap::Command {
    CommandLine::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_sound_and_its_help_fits_eighty_columns() {
        let mut command = super::command();
        command.clone().debug_assert();
        command.build();
        let mut helps = vec![command.render_long_help().to_string()];
        for verb in command.get_subcommands_mut() {
            helps.push(verb.render_long_help().to_string());
            helps.extend(verb.get_after_help().map(ToString::to_string));
        }
        assert!(helps.len() >= 8, "{}", helps.len());
        for help in helps {
            let wide = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None);
        }
        assert!(super::CODES.lines().all(|line| line.len() <= 80));
    }
}
