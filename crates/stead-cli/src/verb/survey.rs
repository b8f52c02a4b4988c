//! `stead survey NAMES`: the paper's table on any list of names.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::path::Levels;
use stead::stats::{self, Projection, SurveyReport};

use crate::exit::Result;
use crate::input::{self, whole};
use crate::output::Out;

/// Measure how evenly placement schemes spread a list of names
///
/// D1 to D3: first letters; N1, N2: sums of characters; M1 to M3: MD5. The figures of "Evenly
/// distributing members by MD5" stand beside. With --members a projection: how many directories and
/// files that many members make.
#[derive(Args)]
#[command(after_help = "\
Example: how would these names spread, and what do a billion members do?
  stead survey names --members 1000000000

Exit codes: 0 done; 64 wrong usage; 66 no such file; 74 reading or writing failed")]
pub struct Survey {
    /// A file with one name a line; - is standard input
    names: PathBuf,
    /// Also project so many members onto the directories
    #[arg(long, value_name = "N", value_parser = whole)]
    members: Option<u64>,
    /// The levels of that projection
    #[arg(long, default_value = "64,64,128", requires = "members")]
    levels: Levels,
    /// JSON for programs, see docs/cli.md
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Surveyed {
    #[serde(flatten)]
    report: SurveyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    projection: Option<Projection>,
}

impl Survey {
    /// Does it.
    pub fn run(self, out: &mut Out) -> Result {
        let projection = self
            .members
            .map(|members| Projection::new(members, &self.levels))
            .transpose()?;
        let mut survey = stats::Survey::new();
        input::lines(&self.names, |name| survey.add(name))?;
        let report = survey.finish();
        if self.json {
            return out.json(&Surveyed { report, projection });
        }
        out.bytes(report.table().as_bytes())?;
        if let Some(projection) = projection {
            out.line("")?;
            out.bytes(projection.table().as_bytes())?;
        }
        Ok(())
    }
}
