//! `stead plot KIND MAP... -o FILE`: draws a picture, as SVG or PNG.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use stead::path::Fold;
use stead_plot::{Options, Theme};

use super::locate::FoldArg;
use super::plotted::{self, usage};
use crate::exit::{Failure, Result, USAGE};
use crate::input::whole;
use crate::output::Out;
use crate::pixels::png;
use crate::rewrite;

/// Draw a picture of maps, names or load, as SVG or PNG
///
/// The ending of FILE says which: .svg or .png. Pictures are the same on every machine, need no
/// fonts, and can be told apart without colours. More than 24 nodes are drawn in groups: by when
/// they came, by their outermost fault domain, or by name. A plan that `stead plan -o` saved stands
/// for the map that it makes.
#[derive(Args)]
#[command(
    disable_help_subcommand = true,
    arg_required_else_help = false,
    after_help = "\
Examples:
  stead plot bands members.map --history -o history.svg
  stead plot moves members.map -o last-change.png
  stead plot moves members.map next.plan -o next-change.svg
  stead plot distribution members.map names.txt -o names.svg
  stead plot bands --scenario figure-7 --system riak -o growth.svg

Exit codes:
  0   done
  64  wrong usage, such as a FILE that ends neither in .svg nor in .png
  65  a map or a plan is damaged or of another cluster, the plan was made on
      another epoch than OLD, or a line of the log is wrong
  66  a file is missing
  74  reading or writing failed
  77  permission denied
  78  the scenario is wrong"
)]
pub struct Plot {
    #[command(subcommand)]
    kind: Kind,
}

/// The kinds. The first paragraph of each is its line in `--help`.
#[derive(Subcommand)]
enum Kind {
    Bands(Bands),
    Ring(Ring),
    Shares(Shares),
    Distribution(Distribution),
    Moves(Moves),
    Domains(Domains),
    Load(Load),
    Modulo(Modulo),
}

/// Who has which part of the hash space, a row for each map
///
/// Epochs of one map say how much each moves. With several replicas a row shows who answers first.
#[derive(Args)]
struct Bands {
    /// The map files, each a row
    #[arg(required_unless_present = "scenario")]
    maps: Vec<PathBuf>,
    /// Draw the last epochs of the map, from its history, in at most N rows; the epochs of one
    /// carry share a row [default: 12]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "12")]
    history: Option<NonZeroUsize>,
    /// Draw a scenario of `stead simulate` instead: the name of a built-in one, or a JSON file
    #[arg(long, conflicts_with_all = ["maps", "history"])]
    scenario: Option<PathBuf>,
    /// With --scenario: draw this system; may be given more than once [default: stead]
    #[arg(long, requires = "scenario")]
    system: Vec<String>,
    /// With --scenario: the number of partitions of Riak's ring, a power of two
    #[arg(long, value_name = "N", value_parser = whole, requires = "scenario")]
    partitions: Option<u64>,
    #[command(flatten)]
    file: File,
}

/// The hash space as a circle, with keys on it
#[derive(Args)]
struct Ring {
    /// The map file, or with --kind a list of servers; - is standard input
    map: PathBuf,
    /// Mark where KEY hashes to; may be given more than once
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// Draw the ring of another program from its list of servers: a kind of `stead ring --list`
    #[arg(long)]
    kind: Option<String>,
    /// With --kind: a setting of the ring; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", requires = "kind")]
    set: Vec<String>,
    #[command(flatten)]
    file: File,
}

/// The share of each node, against its target
#[derive(Args)]
struct Shares {
    /// The map file
    map: PathBuf,
    /// Also draw the shares of this map, such as an older epoch
    #[arg(long, value_name = "OLD")]
    before: Option<PathBuf>,
    #[command(flatten)]
    file: File,
}

/// How many names of a list each node or bucket has
#[derive(Args)]
struct Distribution {
    /// The map file, and a file with one name per line, or only the latter with --scheme; - is
    /// standard input
    #[arg(required = true, num_args = 1..=2, value_names = ["MAP", "NAMES"])]
    files: Vec<PathBuf>,
    /// Draw the buckets of a scheme of `stead survey` instead of nodes: D1, D2, D3, N1, N2, M1, M2
    /// or M3
    #[arg(long)]
    scheme: Option<String>,
    #[command(flatten)]
    fold: FoldArg,
    #[command(flatten)]
    file: File,
}

/// What goes from which node to which between two epochs
#[derive(Args)]
struct Moves {
    /// The old and the new map file, or one map, which is compared with the last epoch from which
    /// something moves to it. NEW may be a saved plan
    #[arg(required = true, num_args = 1..=2, value_names = ["OLD", "NEW"])]
    maps: Vec<PathBuf>,
    /// Show what moves of these lines of KEY, or of KEY<TAB>COUNT: the rows or bytes of the key. -
    /// is standard input
    #[arg(long, value_name = "FILE")]
    sum: Option<PathBuf>,
    /// With --sum: what the counts of the file are, such as `bytes`: the word in the picture
    #[arg(long, value_name = "WORD", value_parser = super::load::unit, requires = "sum")]
    unit: Option<String>,
    #[command(flatten)]
    fold: FoldArg,
    #[command(flatten)]
    file: File,
}

/// The fault domains, and how much of the data is in each
#[derive(Args)]
struct Domains {
    /// The map file
    map: PathBuf,
    #[command(flatten)]
    file: File,
}

/// The load of each node, by a log of accesses
#[derive(Args)]
struct Load {
    /// The map file
    map: PathBuf,
    /// The log: lines of KEY, or of KEY<TAB>COUNT; - is standard input
    #[arg(default_value = "-", hide_default_value = true)]
    log: PathBuf,
    /// Which nodes answer: `primary` for the first node of a key, `spread` for all its nodes evenly
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "primary",
        hide_possible_values = true
    )]
    reads: super::load::ReadsArg,
    /// What the counts of the log are, such as `bytes`: the word in the picture
    #[arg(long, value_name = "WORD", default_value = "accesses", value_parser = super::load::unit)]
    unit: String,
    #[command(flatten)]
    fold: FoldArg,
    #[command(flatten)]
    file: File,
}

/// What moves when keys go to `hash mod n` and n changes
#[derive(Args)]
struct Modulo {
    /// The smallest number of buckets
    #[arg(long, value_name = "N", default_value = "3")]
    from: NonZeroU64,
    /// The largest number of buckets
    #[arg(long, value_name = "N", default_value = "10")]
    to: NonZeroU64,
    /// Draw the hashes from 0 to N - 1, at most 64
    #[arg(long, value_name = "N", default_value = "24")]
    hashes: NonZeroU64,
    /// Draw this key instead, by the low 8 bits of its djb2 hash; may be given more than once
    #[arg(long, conflicts_with = "hashes")]
    key: Vec<String>,
    #[command(flatten)]
    file: File,
}

/// Where a picture goes, and what it looks like.
#[derive(Args)]
pub struct File {
    /// Write the picture to FILE, which ends in .svg or .png; - writes SVG to standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The title [default: what the picture shows]
    #[arg(long)]
    title: Option<String>,
    /// The ground: light, dark, or auto, which is dark in SVG where the reader prefers that, and
    /// light in PNG
    #[arg(
        long,
        value_name = "THEME",
        default_value = "auto",
        hide_possible_values = true
    )]
    theme: ThemeArg,
    /// The width in units, from 320 to 4000
    #[arg(long, value_name = "N", default_value = "960", value_parser = clap::value_parser!(u32).range(i64::from(Options::NARROWEST)..=i64::from(Options::WIDEST)))]
    width: u32,
    /// How many pixels of a PNG a unit has, from 1 to 8
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=8))]
    scale: u32,
}

/// On which ground a picture is drawn.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ThemeArg {
    Auto,
    Light,
    Dark,
}

/// What a file is to contain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

impl Plot {
    pub fn run(self, out: &mut Out) -> Result {
        let file = match &self.kind {
            Kind::Bands(kind) => &kind.file,
            Kind::Ring(kind) => &kind.file,
            Kind::Shares(kind) => &kind.file,
            Kind::Distribution(kind) => &kind.file,
            Kind::Moves(kind) => &kind.file,
            Kind::Domains(kind) => &kind.file,
            Kind::Load(kind) => &kind.file,
            Kind::Modulo(kind) => &kind.file,
        };
        // a wrong ending is said before the work
        let format = format(&file.output)?;
        let options = file.options(format);
        let svg = self.kind.draw(&options)?;
        file.write(&svg, format, out)
    }
}

impl Kind {
    /// Draws the picture as SVG.
    fn draw(&self, options: &Options) -> Result<String> {
        match self {
            Kind::Bands(kind) => match (&kind.scenario, kind.history) {
                (Some(scenario), _) => {
                    plotted::scenario(scenario, &kind.system, kind.partitions, options)
                }
                (None, Some(last)) => plotted::history(&kind.maps, last, options),
                (None, None) => plotted::bands(&kind.maps, options),
            },
            Kind::Ring(kind) => match &kind.kind {
                Some(name) => plotted::servers(name, &kind.map, &kind.set, &kind.key, options),
                None => plotted::map_ring(&kind.map, &kind.key, options),
            },
            Kind::Shares(kind) => plotted::shares(&kind.map, kind.before.as_deref(), options),
            Kind::Distribution(kind) => match (&kind.scheme, kind.files.as_slice()) {
                (Some(scheme), [names]) => plotted::scheme(scheme, names, options),
                (None, [map, names]) => plotted::names(map, names, kind.fold.fold, options),
                (Some(_), _) => Err(usage("a scheme needs no map: write --scheme SCHEME NAMES")),
                (None, _) => Err(usage("name a map and a file of names, or give --scheme")),
            },
            Kind::Moves(kind) => {
                if kind.sum.is_none() && kind.fold.fold != Fold::None {
                    return Err(usage("--fold works on keys only; add --sum"));
                }
                let sum = kind.sum.as_ref().map(|path| plotted::Log {
                    path,
                    fold: &kind.fold,
                    unit: kind.unit.as_deref().unwrap_or_default(),
                });
                plotted::moves(&kind.maps, sum.as_ref(), options)
            }
            Kind::Domains(kind) => plotted::domains(&kind.map, options),
            Kind::Load(kind) => {
                let log = plotted::Log {
                    path: &kind.log,
                    fold: &kind.fold,
                    unit: &kind.unit,
                };
                plotted::load(&kind.map, &log, kind.reads, options)
            }
            Kind::Modulo(kind) if !kind.key.is_empty() => {
                let keys: Vec<&[u8]> = kind.key.iter().map(String::as_bytes).collect();
                Ok(stead_plot::modulo_keys(kind.from, kind.to, &keys, options))
            }
            Kind::Modulo(kind) => Ok(stead_plot::modulo(
                kind.from,
                kind.to,
                kind.hashes.get(),
                options,
            )),
        }
    }
}

/// Returns what the ending of a file asks for.
fn format(path: &Path) -> Result<Format> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        _ if path == Path::new("-") => Ok(Format::Svg),
        _ => Err(Failure::new(
            USAGE,
            format!(
                "{}: the name ends neither in .svg nor in .png; its ending says what to write",
                path.display()
            ),
        )),
    }
}

impl File {
    fn options(&self, format: Format) -> Options {
        let theme = match (self.theme, format) {
            (ThemeArg::Dark, _) => Theme::Dark,
            // a PNG has one ground
            (ThemeArg::Light, _) | (ThemeArg::Auto, Format::Png) => Theme::Light,
            (ThemeArg::Auto, Format::Svg) => Theme::Auto,
        };
        Options {
            width: self.width,
            theme,
            title: self.title.clone(),
            ..Options::default()
        }
    }

    fn write(&self, svg: &str, format: Format, out: &mut Out) -> Result {
        let bytes = match format {
            Format::Svg => svg.as_bytes().to_vec(),
            Format::Png => png(svg, self.scale)?,
        };
        if self.output == Path::new("-") {
            return out.bytes(&bytes);
        }
        rewrite::create_or_replace(&self.output, bytes)
    }
}
