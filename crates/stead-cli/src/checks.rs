//! What a verdict says about each rule, a line for each: `check` prints these lines, and the page
//! of `report` shows them.

use serde::Serialize;
use stead::format::hex;
use stead::store::Progress;
use stead::verdict::{Rule, Verdict};
use stead::Map;

use crate::asked::nearness;
use crate::text::{count, step_of};

/// The result of one check.
#[derive(Serialize)]
pub struct Checked {
    pub check: &'static str,
    pub ok: bool,
    pub found: String,
}

/// Returns the result of each check, in the order of the output.
pub fn checks(map: &Map, verdict: &Verdict, progress: Option<&Progress>) -> Vec<Checked> {
    let mut checks = vec![
        Checked {
            check: "digest",
            ok: true,
            found: hex(&map.digest()),
        },
        Checked {
            check: "structure",
            ok: true,
            found: format!("all {} bytes follow the map format", map.bytes().len()),
        },
    ];
    if map.target_slices().is_some() {
        let found = progress.map_or(String::new(), |progress| {
            let slices = count(progress.slices_to_come, "slice");
            format!("{}, {slices} still to come; ", step_of(progress))
        });
        checks.push(Checked {
            check: "gradual",
            ok: true,
            found: format!("{found}the rules are checked for its end"),
        });
    }
    for rule in [
        Rule::Replicas,
        Rule::Spread,
        Rule::Balance,
        Rule::Primaries,
        Rule::MaxSlices,
        Rule::Pins,
    ] {
        let broken = verdict.violations.of(rule);
        let found = if broken == 0 {
            sound(rule, map, verdict)
        } else {
            Some(unsound(rule, broken, map, verdict))
        };
        checks.extend(found.map(|found| Checked {
            check: rule.name(),
            ok: broken == 0,
            found,
        }));
    }
    checks
}

/// Returns the words for a rule that is kept, or `None` if the rule does not apply to the map.
fn sound(rule: Rule, map: &Map, verdict: &Verdict) -> Option<String> {
    Some(match (rule, map.replicas()) {
        (Rule::Replicas, replicas) => format!(
            "every slice is held by {}",
            count(replicas as usize, "node")
        ),
        (Rule::Spread, _) if map.spread().len() == 0 => {
            "the fleet has no spread labels, so any nodes may hold the copies".to_owned()
        }
        (Rule::Spread, _) => {
            let labels: Vec<&str> = map.spread().collect();
            // the first domain is the whole fleet
            let domains = count(verdict.domains.len() - 1, "domain");
            format!(
                "{domains} of {}: none holds more copies of a point than its cap",
                labels.join(", ")
            )
        }
        (Rule::Balance, _) => match verdict.tolerance {
            None => match nearness(map, verdict) {
                Some(near) => format!("every share is {near}"),
                None => "every share is its target, to the point".to_owned(),
            },
            Some(tolerance) => format!(
                "every share is within {tolerance} of its target, at most {} off",
                off(verdict)
            ),
        },
        (Rule::Primaries, 1) => "every node is the primary of all its points".to_owned(),
        (Rule::Primaries, replicas) => match verdict.tolerance {
            None => format!("every node is the primary of 1/{replicas} of its points"),
            Some(tolerance) => format!(
                "every node is the primary of 1/{replicas} of its target, within {tolerance} of it"
            ),
        },
        (Rule::MaxSlices, _) => {
            let slices = if map.target_slices().is_some() {
                map.target_count()
            } else {
                map.base_count()
            };
            format!(
                "{}, and at most {} are allowed",
                count(slices, "slice"),
                map.max_slices()?
            )
        }
        (Rule::Pins, _) if map.pins().len() == 0 => return None,
        (Rule::Pins, replicas) => {
            let short = match verdict.short_pins {
                0 => String::new(),
                pins => format!(", except {pins} that the fleet marks as short"),
            };
            format!(
                "{}: each has {} or more and keeps the caps{short}",
                count(map.pins().len(), "pin"),
                count(replicas as usize, "node")
            )
        }
    })
}

/// Returns how far the share is from its target that is the farthest from it, as a percentage of
/// the target: `0.8312%`.
fn off(verdict: &Verdict) -> String {
    let millionths = verdict.max_share_error_millionths;
    format!("{}.{:04}%", millionths / 10_000, millionths % 10_000)
}

/// Returns the words for a rule that is broken.
fn unsound(rule: Rule, broken: usize, map: &Map, verdict: &Verdict) -> String {
    match rule {
        Rule::Replicas => format!(
            "{} not held by exactly {}",
            count(broken, "slice"),
            count(map.replicas() as usize, "node")
        ),
        Rule::Spread => format!("{} of caps or labels", count(broken, "violation")),
        Rule::Balance if !verdict.has_targets() => {
            "there are no targets: too few nodes have a weight above 0".to_owned()
        }
        Rule::Balance => format!(
            "{} off target{}, by at most {} points",
            count(broken, "share"),
            verdict.tolerance.map_or(String::new(), |tolerance| format!(
                " by more than {tolerance}"
            )),
            verdict.max_share_error
        ),
        Rule::Primaries => {
            let (are, their) = match broken {
                1 => ("is", "its"),
                _ => ("are", "their"),
            };
            let nodes = count(broken, "node");
            let part = format!("{nodes} {are} not the primary of 1/{}", map.replicas());
            match verdict.tolerance {
                None => format!("{part} of {their} points"),
                Some(tolerance) => format!("{part} of {their} target, within {tolerance} of it"),
            }
        }
        Rule::MaxSlices => format!(
            "{}, but at most {} are allowed",
            count(map.base_count(), "slice"),
            map.max_slices().unwrap_or(0)
        ),
        Rule::Pins => format!(
            "{} of {}: too few nodes, a node listed twice, or a domain above its cap",
            verdict.violating_pins,
            count(map.pins().len(), "pin")
        ),
    }
}
