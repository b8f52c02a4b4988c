//! `stead check MAP`: is the map intact, and does it keep what its fleet asked for?

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use stead::format::hex;
use stead::report::{Amount, Report, Warning};
use stead::store::KEEP;
use stead::verdict::{Problem, Rule, Verdict, Violation, Violations};
use stead::{Map, Store};

use super::observed::Observed;
use super::off::Off;
use crate::carrying::{in_words, CarryJson};
use crate::change::understood;
use crate::checks::{checks, Checked};
use crate::epochs::{damaged_epoch, not_newest};
use crate::exit::{Failure, Result, VIOLATED};
use crate::input::KeyJson;
use crate::output::{Out, BAD, GOOD};
use crate::text::{told, wrapped};

/// How many violations are listed for people.
const LISTED: usize = 20;
/// How many violations are listed with `--json`.
const LISTED_JSON: usize = 10_000;

/// Verify a map, or compare it with what production does
///
/// Checks the digest, every rule of the file format, and every promise about placement: each point
/// has R nodes, no domain exceeds its cap, every share and every node's number of primaries is
/// exact, and every pin has its copies unless the fleet marks it as short. Everything is computed
/// again from the file alone, and what breaks a rule is listed. The history beside the map must
/// have no newer epoch, and none that is damaged. With --observed it compares the map with keys
/// that were seen on nodes; if some are elsewhere, it names the rings that fit best. With --off it
/// says whether a drained node may be switched off.
#[derive(Args)]
#[command(after_help = "\
Examples: check a map before it is shipped; find the ring that production uses;
ask whether a drained node may be switched off
  stead check members.map && rsync members.map host:
  stead check cache.map --observed seen.tsv
  stead check members.map --off db7

Exit codes:
  0   no rule is broken, every key is where the map says, or the node may go off
  1   a rule is broken, the history has a newer epoch or a damaged one, a key is
      elsewhere, or the node still answers
  64  wrong usage, or the map has no such node
  65  the map is damaged or not a map, or a line of KEYS is wrong
  66  a file is missing
  74  reading or writing failed
  77  permission denied")]
pub struct Check {
    /// The map file
    map: PathBuf,
    /// Compare the map with production instead: KEYS is a file of lines, each a key, a tab, and the
    /// node that has the key; - is standard input
    #[arg(long, value_name = "KEYS")]
    observed: Option<PathBuf>,
    /// Ask instead whether NODE may be switched off: whether no key is answered with it
    #[arg(long, value_name = "NODE", conflicts_with = "observed")]
    off: Option<String>,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

/// The column at which a line says what a check found.
const FOUND: usize = 20;

/// The word for what is odd in a fleet and breaks no rule.
const FLEET: &str = "fleet";
/// The warnings of a plan that hold as long as the map is as it is.
const STANDING: &[&str] = &[
    "attribute-shared",
    "labels-alike",
    "name-spaces",
    "names-alike",
    "few-cells",
];

#[derive(Serialize)]
struct Checks<'a> {
    name: &'a str,
    epoch: u64,
    digest: String,
    ok: bool,
    violations: usize,
    pending_violations: usize,
    /// the gradual change that is under way
    #[serde(skip_serializing_if = "Option::is_none")]
    gradual: Option<Gradual>,
    /// the carry that is open
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<CarryJson>,
    pin_violations: usize,
    short_pins: usize,
    max_share_error_points: String,
    /// only in a map with a tolerance, like the next one
    #[serde(skip_serializing_if = "Option::is_none")]
    max_share_error_millionths: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<String>,
    checks: Vec<Checked>,
    listed: Vec<Listed<'a>>,
    unlisted: usize,
    warnings: Vec<Listed<'a>>,
    unlisted_warnings: usize,
}

#[derive(Serialize)]
struct Gradual {
    /// null when the epochs before it are not kept
    step: Option<usize>,
    /// about how many steps there are
    steps: Option<usize>,
    slices_to_come: usize,
    to_come: Amount,
}

/// A violation or a warning. It has points and nodes only if it is about a slice or a pin.
#[derive(Serialize)]
struct Listed<'a> {
    check: &'static str,
    /// only of what a plan warns of, too
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// the key of a pin by key
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyJson<'a>>,
    #[serde(flatten)]
    slice: Option<ListedSlice<'a>>,
    reason: String,
}

#[derive(Serialize)]
struct ListedSlice<'a> {
    first: String,
    last: String,
    nodes: Vec<&'a str>,
}

impl Check {
    pub fn run(self, out: &mut Out) -> Result {
        // opening fails unless the digest and the structure are right
        let map = Map::open_uncached(&self.map)?;
        if let Some(pairs) = &self.observed {
            return Observed::of(&map, pairs)?.report(self.json, out);
        }
        if let Some(node) = &self.off {
            let store = Store::new(&self.map, KEEP);
            return Off::of(&store, &map, node)?.report(&self.map, self.json, out);
        }
        understood(&map, &self.map)?;
        let verdict = Verdict::of(&map, if self.json { LISTED_JSON } else { LISTED });
        let store = Store::new(&self.map, KEEP);
        let progress = store.progress(&map);
        let standing = standing(&map)?;
        let mut checks = checks(&map, &verdict, progress.as_ref());
        let history = not_newest(&store, &map).or_else(|| damaged_epoch(&store));
        checks.extend(history.clone().map(|found| Checked {
            check: "history",
            ok: false,
            found,
        }));
        if self.json {
            out.json(&Checks {
                name: map.name(),
                epoch: map.epoch(),
                digest: hex(&map.digest()),
                ok: verdict.is_sound() && history.is_none(),
                violations: verdict.violations.count(),
                pending_violations: verdict.pending_violations,
                gradual: progress
                    .filter(|_| map.target_slices().is_some())
                    .map(|progress| Gradual {
                        step: progress.step,
                        steps: progress.steps,
                        slices_to_come: progress.slices_to_come,
                        to_come: Amount::of(progress.to_come.0, &map),
                    }),
                carry: CarryJson::of(&map),
                pin_violations: verdict.violating_pins,
                short_pins: verdict.short_pins,
                max_share_error_points: verdict.max_share_error.to_string(),
                max_share_error_millionths: verdict
                    .tolerance
                    .map(|_| verdict.max_share_error_millionths),
                tolerance: verdict.tolerance.map(|tolerance| tolerance.to_string()),
                checks,
                listed: all_listed(&map, &verdict.violations),
                unlisted: verdict.violations.unlisted(),
                warnings: all_listed(&map, &verdict.warnings)
                    .into_iter()
                    .chain(standing.into_iter().map(listed_standing))
                    .collect(),
                unlisted_warnings: verdict.warnings.unlisted(),
            })?;
        } else {
            let carry = map.carry().map_or(String::new(), |carry| {
                format!(", a carry is open: {}", in_words(&carry))
            });
            out.line(format_args!("{}: epoch {}{carry}", map.name(), map.epoch()))?;
            for check in checks {
                let word = if check.ok {
                    out.paint(GOOD, "ok    ")
                } else {
                    out.paint(BAD, "BROKEN")
                };
                let lines = match check.found.contains(' ') {
                    true => {
                        let space = " ".repeat(FOUND);
                        let mut lines = wrapped(&check.found, &space, &space);
                        if let Some(first) = lines.first_mut() {
                            first.replace_range(..FOUND, &format!("{word}  {:<10}  ", check.check));
                        }
                        lines
                    }
                    // at the column of the others, a digest would end after column 80
                    false => vec![format!("{word}  {}  {}", check.check, check.found)],
                };
                lines.iter().try_for_each(|line| out.line(line))?;
            }
            warn(&map, &verdict.warnings, out)?;
            for warning in standing {
                let start = format!("warn    {:<10}  ", FLEET);
                wrapped(&warning.text, &start, &" ".repeat(FOUND))
                    .iter()
                    .try_for_each(|line| out.line(line))?;
            }
            list(&map, &verdict, out)?;
        }
        if verdict.is_sound() && history.is_some() {
            // the line of the history has said why
            return Err(Failure::new(
                VIOLATED,
                format_args!(
                    "{}: the check of its history failed, and says why",
                    self.map.display()
                ),
            ));
        }
        if verdict.is_sound() {
            return Ok(());
        }
        let of_pins = verdict.violations.of(Rule::Pins);
        let problem = if of_pins == verdict.violations.count() {
            "a pin breaks a rule; give it other nodes, or write short = true in its [[pin]]"
        } else {
            "a rule is broken; apply its fleet again"
        };
        Err(Failure::new(
            VIOLATED,
            format_args!("{}: {problem}", self.map.display()),
        ))
    }
}

/// Returns the warnings of a plan that hold as long as the map is as it is. Whoever overlooked them
/// in the plan finds them here.
fn standing(map: &Map) -> Result<Vec<Warning>> {
    let mut warnings = Report::of(None, map, false)?.warnings;
    warnings.retain(|warning| STANDING.contains(&warning.code));
    Ok(warnings)
}

fn listed_standing<'a>(warning: Warning) -> Listed<'a> {
    Listed {
        check: FLEET,
        code: Some(warning.code),
        key: None,
        slice: None,
        reason: warning.text,
    }
}

fn all_listed<'a>(map: &'a Map, violations: &Violations) -> Vec<Listed<'a>> {
    let listed = |violation| listed(map, violation);
    violations.listed.iter().map(listed).collect()
}

fn listed<'a>(map: &'a Map, violation: &Violation) -> Listed<'a> {
    let slice = violation.slice.map(|slice| ListedSlice {
        first: slice.first.to_string(),
        last: slice.last.to_string(),
        nodes: map
            .policy(slice.policy)
            .members()
            .map(|node| map.node(node).name())
            .collect(),
    });
    let pin = violation.pin.and_then(|number| map.pins().nth(number));
    Listed {
        check: violation.rule.name(),
        code: None,
        key: pin.and_then(|pin| pin.key).map(KeyJson::of),
        slice,
        reason: violation.problem.to_string(),
    }
}

/// Writes the warnings for people.
fn warn(map: &Map, warnings: &Violations, out: &mut Out) -> Result {
    for warning in &warnings.listed {
        let meant = match warning.problem {
            Problem::Kept { .. } | Problem::Empty { .. } => "",
            _ => "; its fleet says short = true",
        };
        let name = warning.rule.name();
        out.line(format_args!(
            "warn    {name:<10}  {}{meant}",
            told(map, warning)
        ))?;
    }
    more(warnings, "warn    ", out)
}

/// Writes the violations for people.
fn list(map: &Map, verdict: &Verdict, out: &mut Out) -> Result {
    if verdict.is_sound() {
        return Ok(());
    }
    out.line("")?;
    for violation in &verdict.violations.listed {
        let name = violation.rule.name();
        out.line(format_args!("{name:<10}  {}", told(map, violation)))?;
    }
    more(&verdict.violations, "", out)
}

fn more(violations: &Violations, before: &str, out: &mut Out) -> Result {
    match violations.unlisted() {
        0 => Ok(()),
        more => out.line(format_args!(
            "{before}and {more} more; --json lists up to {LISTED_JSON}"
        )),
    }
}
