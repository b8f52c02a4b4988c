//! The command line: every verb and option with its help. tools/pages makes the manual from it.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use stead::guard::Release;

use crate::access::Access;
use crate::exit::HELP;

/// Bring maps to every host, and know which host has which epoch
#[derive(Parser)]
#[command(name = "stead-sync", version, max_term_width = 80, disable_help_subcommand = true, arg_required_else_help = false, after_help = HELP)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Task {
    /// Make the map here the newest map of a hub
    ///
    /// The map must descend from the hub's newest map, which may change meanwhile: of two operators
    /// one wins, and the other is told who was first. A map that a registered host cannot read is
    /// refused. Where a carry was stepped by hand, each push brings the next state.
    Push(Push),
    /// Install the newest map of a hub here, with its history
    ///
    /// The map must descend from the one that is here. Whatever fails, the map here stays. The host
    /// is registered, so that `stead-sync wait` waits for it.
    Pull(Pull),
    /// Keep the map here at the newest map of a hub, and report what this host has
    ///
    /// Runs until it is stopped. Survives outages of the hub, and keeps the last good map. The
    /// command of --exec gets STEAD_SYNC_MAP, STEAD_SYNC_NAME, STEAD_SYNC_EPOCH,
    /// STEAD_SYNC_OLD_EPOCH, STEAD_SYNC_DIGEST and STEAD_SYNC_URL in its environment.
    Watch(Watch),
    /// List the hosts of a hub with their epochs, the worst first
    Status(Status),
    /// Wait until every registered host has confirmed an epoch
    ///
    /// Only `stead-sync forget` removes a host that is gone for good.
    Wait(Wait),
    /// Remove a host, which is then waited for no longer
    ///
    /// Only for a host that is gone for good, or that no longer reads the map. If its watch still
    /// runs, the host registers again.
    Forget(Forget),
    /// Carry the data to where a new map places it, while hosts read and write it
    Carry(Carry),
}

/// The options of `stead-sync push`.
#[derive(Args)]
#[command(after_help = "\
Example:
  stead-sync push members.map etcd://10.0.0.1,10.0.0.2/stead/members

Exit codes:
  0   done, or the hub has this map already
  64  wrong usage
  65  a map is damaged, or the hub has another map
  66  the map is missing
  68  the hub cannot be reached
  69  a registered host cannot read the map, or the hub has no map and the
      epoch is a later one than 1
  75  another operator was first; or hosts must confirm a state of a carry
      before the next one: push again then
  77  permission denied")]
pub struct Push {
    /// The map file
    pub map: PathBuf,
    /// The hub: etcd://HOST,HOST/PREFIX/NAME, etcds://... or file:///DIRECTORY/MAP
    pub url: String,
    /// Push a map that would be refused: `fork` allows one of which the hub's newest map is no
    /// ancestor, `first` a later epoch than 1 to a hub without a map, `skip` one by which hosts
    /// skip states of a carry; separate several words by commas
    #[arg(long, value_name = "WORDS", value_enum, value_delimiter = ',')]
    pub allow: Vec<AllowPush>,
    /// How many epochs the hub keeps [default: 8 in etcd, 32 in a directory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub keep: Option<u32>,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// What a push may do.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AllowPush {
    /// Take the place of a map that is no ancestor.
    Fork,
    /// Begin at a hub without a map with a later epoch than 1.
    First,
    /// Let hosts skip states of a carry.
    Skip,
}

/// What a pull may do.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AllowPull {
    /// Install an ancestor of the map here.
    Back,
    /// Install a map that does not descend from the one here.
    Fork,
    /// With `back` or `fork`: install a map without the state of a carry that removes old copies.
    Carry,
}

/// The options of `stead-sync pull`.
#[derive(Args)]
#[command(after_help = "\
Example: look at a map without becoming one of its hosts
  stead-sync pull --unregistered etcd://10.0.0.1/stead/members members.map

Exit codes:
  0   done, or the newest map is here already
  64  wrong usage
  65  the hub's map is damaged, too new or another one
  66  the hub has no map yet, or the directory of MAP is missing
  68  the hub cannot be reached
  69  refused: a fork or a step back
  75  another process is publishing here, or another machine has this name
  76  the map is in place, but syncing the disk failed
  77  permission denied")]
pub struct Pull {
    /// The hub: etcd://HOST,HOST/PREFIX/NAME, file:///DIRECTORY/MAP or https://HOST/PATH/MAP
    pub url: String,
    /// The map file
    pub map: PathBuf,
    /// Install a map that would be refused: `back` allows an ancestor of the map here, `fork` a map
    /// that does not descend from it, and `back,carry` an ancestor from before a carry removed old
    /// copies; separate several words by commas
    #[arg(long, value_name = "WORDS", value_enum, value_delimiter = ',')]
    pub allow: Vec<AllowPull>,
    /// The name of this host [default: the machine's]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Do not register: nobody will wait for this host
    #[arg(long)]
    pub unregistered: bool,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// The options of `stead-sync watch`.
#[derive(Args)]
#[command(after_help = "\
Example: reload php-fpm after each installation, and confirm the epoch only then
  stead-sync watch etcd://10.0.0.1/stead/members /var/lib/stead/members.map \\
    --exec 'systemctl reload php8.2-fpm'

Exit codes:
  64  wrong usage
  65  a file of --ca, --cert or --key is wrong
  66  such a file is missing
  75  another process watches this map file
  77  permission denied")]
pub struct Watch {
    /// The hub: etcd://HOST,HOST/PREFIX/NAME, file:///DIRECTORY/MAP or https://HOST/PATH/MAP
    pub url: String,
    /// The map file
    pub map: PathBuf,
    /// Run this in /bin/sh after each installation, and once at the start; the host confirms an
    /// epoch when the command has succeeded. It runs again until then
    #[arg(long, value_name = "COMMAND")]
    pub exec: Option<String>,
    /// How many seconds the command may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub exec_limit: u64,
    /// The name of this host [default: the machine's]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// The oldest release of stead that reads the map on this host, such as 0.1 [default: this one]
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub readers: Option<Release>,
    /// Write metrics into this file, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// How often a web server is asked, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub every: u64,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// The options of `stead-sync status`.
#[derive(Args)]
#[command(after_help = "\
Exit codes:
  0   every host has confirmed the newest epoch
  1   a host is behind, silent, or has a problem
  64  wrong usage
  66  the hub has no map
  68  the hub cannot be reached
  77  permission denied")]
pub struct Status {
    /// The hub
    pub url: String,
    /// Print JSON for programs; docs/sync.md describes it
    #[arg(long)]
    pub json: bool,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// The options of `stead-sync wait`.
#[derive(Args)]
#[command(after_help = "\
Example: everybody has epoch 7, and no request of a minute ago is still running
  stead-sync wait etcd://10.0.0.1/stead/members --epoch 7 --grace 60

Exit codes:
  0   every registered host has confirmed the epoch
  1   the time is up
  64  wrong usage
  66  no host follows the hub, or it has no map yet and no --epoch was given
  68  the hub cannot be reached to learn its newest epoch
  77  permission denied")]
pub struct Wait {
    /// The hub
    pub url: String,
    /// The epoch [default: the hub's newest]
    #[arg(long, value_name = "N")]
    pub epoch: Option<u64>,
    /// How many seconds all must have confirmed it: for processes that have the map before it open
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub grace: u64,
    /// Give up after this many seconds [default: never]
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// The options of `stead-sync forget`.
#[derive(Args)]
#[command(after_help = "\
Exit codes:
  0   done
  64  wrong usage
  66  no host has this name
  68  the hub cannot be reached
  69  refused: a carry is open, and the host is alive or a carrier
  77  permission denied")]
pub struct Forget {
    /// The hub
    pub url: String,
    /// The name of the host, as `stead-sync status` shows it
    pub host: String,
    /// Also if the hub does not know it: it has lost a host for which an open carry waits
    #[arg(long)]
    pub lost: bool,
    /// Also while a carry is open, and the host was alive just now or is a carrier: what used the
    /// map there has ended
    #[arg(long)]
    pub alive: bool,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// Carry the data to where a new map places it, while hosts read and write it
///
/// `stead apply --carry` begins a carry. `run` takes it to its end: before each change of state it
/// waits until every registered host has confirmed the state before. It may be killed at any
/// moment, and run again. docs/carry.md describes FILE, which names the map, the hub and the kind
/// of data.
#[derive(Args)]
#[command(arg_required_else_help = false)]
pub struct Carry {
    /// What to do.
    #[command(subcommand)]
    pub task: CarryTask,
}

/// The verbs of a carry.
#[derive(Subcommand)]
pub enum CarryTask {
    /// Copy, verify, switch over, remove the old copies: all that is left to do
    Run(CarryRun),
    /// Say in which state the carry is, and what it waits for
    Status(CarryStatus),
    /// Turn round: back to where the data was. Possible before the state new
    Reverse(CarryReverse),
    /// List the items that only new places have, or that are newer there
    Ahead(CarryAhead),
    /// Find the items at nodes where the map does not place them
    Audit(CarryAudit),
    /// Do the work at this machine for a carrier at another one
    ///
    /// `stead-sync carry run` starts it by ssh, where the root of a node is HOST:PATH. It reads
    /// questions from standard input, and ends when that does.
    #[command(after_help = "\
Exit codes:
  0   done
  74  the connection to the carrier broke off")]
    Agent,
}

/// Copy, verify, switch over, remove the old copies: all that is left to do
#[derive(Args)]
#[command(after_help = "\
Example: add a node, and bring it its data
  stead apply --carry fleet.toml members.map
  stead-sync carry run --dry-run carry.toml
  stead-sync carry run carry.toml

Exit codes:
  0   done
  1   some items failed: the report says which; nothing is lost
  64  wrong usage, or no carry is open
  65  a map is damaged, or the hub has another map
  66  a file is missing, or a node cannot be used
  68  the hub cannot be reached
  69  the new place lacks data that was there, a host cannot read the map, or
      the hub has lost hosts
  74  reading or writing failed
  75  another process carries, or another operator was first
  77  permission denied")]
pub struct CarryRun {
    /// The file that describes the carry
    pub file: PathBuf,
    /// Count what is to be carried from where to where, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Stop when the work of this state is done, before the next one
    #[arg(long, value_name = "STATE", value_enum)]
    pub until: Option<Until>,
    /// The root of this node was moved to another file system on purpose since the
    /// run before; may be given several times
    #[arg(long, value_name = "NODE")]
    pub moved: Vec<String>,
    /// Print the report as JSON for programs; docs/carry-reference.md describes it
    #[arg(long)]
    pub json: bool,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// The states at which a run can stop.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Until {
    /// The old places are read and written.
    Old,
    /// Both are written, the old one is read first.
    BothOldFirst,
    /// Both are written, the new one is read first.
    BothNewFirst,
    /// The new places are read and written.
    New,
}

/// Say in which state the carry is, and what it waits for
#[derive(Args)]
#[command(after_help = "\
Exit codes:
  0   no carry is open
  1   a carry is open
  64  wrong usage
  65  a map is damaged
  66  a file is missing
  68  the hub cannot be reached
  74  the metrics cannot be written
  77  permission denied")]
pub struct CarryStatus {
    /// The file that describes the carry
    pub file: PathBuf,
    /// Print JSON for programs; docs/carry-reference.md describes it
    #[arg(long)]
    pub json: bool,
    /// Write metrics into this file, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// Turn round: back to where the data was. Possible before the state new
///
/// This changes the state only. `stead-sync carry run` then takes the carry back, and removes what
/// was copied; one that runs notices by itself.
#[derive(Args)]
#[command(after_help = "\
Exit codes:
  0   done, or the carry is being reversed already
  64  wrong usage, or no carry is open
  65  a map is damaged, or the hub has another map
  66  a file is missing
  68  the hub cannot be reached; run it again
  69  it is too late, in the state new; the hub has no map, or a host cannot
      read the map
  75  another process or operator was first
  77  permission denied")]
pub struct CarryReverse {
    /// The file that describes the carry
    pub file: PathBuf,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

/// List the items that only new places have, or that are newer there
///
/// This changes nothing. Each line has an item, its old node, its new one, and only_new, newer, or
/// different where nobody knows which value is the newer one, with tabs between them. Copy what is
/// right to its old place. `stead-sync carry run` removes or replaces the rest as far as
/// limits.only_new and limits.different allow, and ends where they do not.
#[derive(Args)]
#[command(after_help = "\
Exit codes:
  0   nothing is ahead
  1   some items are
  64  wrong usage, or no carry is open
  65  a map is damaged
  66  a file is missing, or a node cannot be used
  69  the carry is in the state new
  74  reading or writing failed, so the list is not whole
  77  permission denied")]
pub struct CarryAhead {
    /// The file that describes the carry
    pub file: PathBuf,
    /// Print each item as a line of JSON; docs/wrong-places.md describes it
    #[arg(long)]
    pub json: bool,
}

/// Find the items at nodes where the map does not place them
///
/// It looks at all nodes of the map while no carry is open, and says how many items
/// are elsewhere, what their right places have, and which copies are missing. With
/// --bring, it copies items to their right places, and removes them where they
/// were. The newer value stays; where nobody knows which one that is, both stay.
#[derive(Args)]
#[command(after_help = "\
Example: after a change that was applied without --carry
  stead-sync carry audit --epoch 7 carry.toml
  stead-sync carry audit --epoch 7 --bring carry.toml

Exit codes:
  0   all items are where the map places them, in all copies
  1   some are not, or could not be brought: the report says which
  64  wrong usage
  65  a map is damaged
  66  a file is missing, or a node cannot be used
  68  the hub cannot be reached
  69  a carry is open, or so many items are elsewhere or missing that the
      pattern, the map or a disk may be wrong
  74  reading or writing failed
  75  hosts have not confirmed the map, the map is another one than the hub's,
      or another process carries
  77  permission denied")]
pub struct CarryAudit {
    /// The file that describes the carry
    pub file: PathBuf,
    /// Bring the items to where they belong
    #[arg(long)]
    pub bring: bool,
    /// Then also copy items to those of their places that lack them. What was
    /// deleted while one of its nodes was down comes back
    #[arg(long, requires = "bring")]
    pub fill: bool,
    /// Look also at nodes that only this epoch has
    #[arg(long, value_name = "N")]
    pub epoch: Option<u64>,
    /// Print the report as JSON for programs; docs/wrong-places.md describes it
    #[arg(long)]
    pub json: bool,
    /// How to get in.
    #[command(flatten)]
    pub access: Access,
}

fn release(text: &str) -> Result<Release, &'static str> {
    Release::parse(text).ok_or("write the version of a release, like 0.1 or 0.1.2")
}

/// Returns the description of the command line.
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
        }
        let carry = command.find_subcommand_mut("carry").unwrap();
        for verb in carry.get_subcommands_mut() {
            helps.push(verb.render_long_help().to_string());
        }
        assert_eq!(helps.len(), 14);
        for help in helps {
            let wide = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None);
        }
    }
}
