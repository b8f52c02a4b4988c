//! `stead check MAP`: is the map whole, and does it hold what its fleet asked for?

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::report::{violations, Balance};
use stead::Map;

use crate::exit::{Failure, Result, VIOLATED};
use crate::input::hex;
use crate::output::{Out, BAD, GOOD};
use crate::text::count;

/// Verify a map: digest, structure, balance
///
/// Its digest, every rule of the format, and that every node has exactly the points that its weight gives it.
#[derive(Args)]
#[command(after_help = "\
Example: before a map is shipped
  stead check members.map && rsync members.map host:

Exit codes: 0 all is well; 1 a rule is broken; 65 the map is damaged or not a map; 66 no such map")]
pub struct Check {
    /// The map
    map: PathBuf,
    /// JSON for programs, see docs/cli.md
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Verdict<'a> {
    name: &'a str,
    epoch: u64,
    digest: String,
    ok: bool,
    violations: usize,
    max_share_error_points: String,
    checks: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    check: &'static str,
    ok: bool,
    found: String,
}

impl Check {
    /// Does it.
    pub fn run(self, out: &mut Out) -> Result {
        // opening verifies digest and structure, or fails
        let map = Map::open_copy(&self.map)?;
        let error = Balance::of(&map).map_err(|e| Failure::from(e).at(&self.map.display().to_string()))?.max_share_error;
        let violations = violations(&map);
        let mut checks = vec![
            Checked { check: "digest", ok: true, found: hex(&map.digest()) },
            Checked { check: "structure", ok: true, found: format!("{} bytes keep every rule of the map format", map.bytes().len()) },
            Checked {
                check: "replicas",
                ok: violations == 0,
                found: match violations {
                    0 => format!("every slice is held by {}", count(map.replicas() as usize, "node")),
                    n => format!("{} held by another number of nodes than {}", count(n, "slice"), map.replicas()),
                },
            },
            Checked {
                check: "balance",
                ok: error == 0,
                found: match error {
                    0 => "every share is its target, to the point".to_owned(),
                    points => format!("a share is {points} points off its target"),
                },
            },
        ];
        if let Some(most) = map.max_slices() {
            let found = format!("{} of at most {most}", count(map.base_count(), "slice"));
            checks.push(Checked { check: "max_slices", ok: map.base_count() <= most as usize, found });
        }
        let ok = checks.iter().all(|check| check.ok);
        if self.json {
            out.json(&Verdict {
                name: map.name(),
                epoch: map.epoch(),
                digest: hex(&map.digest()),
                ok,
                violations,
                max_share_error_points: error.to_string(),
                checks,
            })?;
        } else {
            out.line(format_args!("{}: epoch {}", map.name(), map.epoch()))?;
            for check in checks {
                let verdict = if check.ok { out.paint(GOOD, "ok    ") } else { out.paint(BAD, "BROKEN") };
                out.line(format_args!("{verdict}  {:<10}  {}", check.check, check.found))?;
            }
        }
        match ok {
            true => Ok(()),
            false => Err(Failure::new(VIOLATED, format_args!("{}: a rule is broken; apply its fleet again", self.map.display()))),
        }
    }
}
