//! `stead survey NAMES`: the table of the paper on members and MD5, for any list of names.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use stead::path::Levels;
use stead::stats::{self, Projection, Surveyed};

use crate::exit::Result;
use crate::input::{self, whole};
use crate::output::Out;

/// Measure how evenly several schemes spread a list of names
///
/// The schemes are first letters (D1 to D3), sums of characters (N1, N2) and MD5 (M1 to M3). The
/// figures of the paper "Evenly distributing members by MD5" are printed beside them. With
/// --members it also computes how many directories and files that number of members makes.
#[derive(Args)]
#[command(after_help = "\
Example: measure a list of names, and compute the files of a billion members
  stead survey names --members 1000000000

Exit codes:
  0   done
  64  wrong usage
  66  the file is missing
  74  reading or writing failed
  77  permission denied")]
pub struct Survey {
    /// A file with one name per line; - is standard input
    names: PathBuf,
    /// Also compute the directories and files of N members
    #[arg(long, value_name = "N", value_parser = whole)]
    members: Option<u64>,
    /// With --members: the number of directories at each level
    #[arg(long, default_value = "64,64,128", requires = "members")]
    levels: Levels,
    /// Count with N threads [default: one for each processor, at most 16]
    #[arg(long, value_name = "N", value_parser = input::threads)]
    threads: Option<NonZeroUsize>,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

impl Survey {
    pub fn run(self, out: &mut Out) -> Result {
        let projection = self
            .members
            .map(|members| Projection::new(members, &self.levels))
            .transpose()?;
        let parts = input::tally_lines(
            &self.names,
            self.threads,
            stats::Survey::new,
            |survey, names| survey.add_keys(names.keys()),
        )?;
        let mut survey = stats::Survey::new();
        parts.iter().for_each(|part| survey.merge(part));
        let report = survey.finish();
        if self.json {
            return out.json(&Surveyed::new(report, projection));
        }
        out.bytes(report.table().as_bytes())?;
        if let Some(projection) = projection {
            out.line("")?;
            out.bytes(projection.table().as_bytes())?;
        }
        Ok(())
    }
}
