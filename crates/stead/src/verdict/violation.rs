//! A violation: which rule is broken, where, and the words for it.

use std::fmt;

use crate::slice::Slice;

/// A rule of docs/placement.md that a map can break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// Every slice is held by R nodes.
    Replicas,
    /// No domain holds more copies of a point than its cap.
    Spread,
    /// Every holder has its target, or is within the tolerance of it.
    Balance,
    /// A node is the primary of its share / R, rounded down or up.
    Primaries,
    /// There are at most `max_slices` slices.
    MaxSlices,
    /// A pin has at least R nodes, each once, and keeps the caps.
    Pins,
}

impl Rule {
    /// Returns the name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Replicas => "replicas",
            Rule::Spread => "spread",
            Rule::Balance => "balance",
            Rule::Primaries => "primaries",
            Rule::MaxSlices => "max_slices",
            Rule::Pins => "pins",
        }
    }
}

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The slice or pin that breaks it; `None` for a rule about nodes or about the whole map.
    pub slice: Option<Slice>,
    /// The index of the pin among the map's pins, if it is one.
    pub pin: Option<usize>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong, as facts. `Display` puts it into words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// A slice does not have R nodes.
    Nodes {
        /// The number of its nodes.
        has: usize,
        /// R.
        replicas: usize,
    },
    /// A pin has fewer nodes than R.
    Short {
        /// The number of its nodes.
        has: usize,
        /// R.
        replicas: usize,
    },
    /// A pin lists a node twice.
    Twice {
        /// The node.
        node: String,
    },
    /// A warning, not a violation: a node with weight 0 and no share still has points.
    Kept {
        /// The node.
        node: String,
        /// How many other nodes of the same pin or policy are in the same state.
        more: usize,
        /// The named policy that gives it points; `None` if the pin does.
        policy: Option<String>,
    },
    /// A warning, not a violation: no node of a domain has a weight above 0.
    Empty {
        /// The names and values of the domain's labels, outermost first.
        domain: Vec<(String, String)>,
    },
    /// A slice is held by a named policy although R is above 1.
    NamedPolicy {
        /// The name of the policy.
        name: String,
    },
    /// A slice or pin has more copies in a domain than the domain's cap.
    Cap {
        /// The names and values of the domain's labels, outermost first.
        domain: Vec<(String, String)>,
        /// How many copies it has there.
        copies: usize,
        /// The cap.
        cap: usize,
    },
    /// A node that can hold points lacks a label of the spread.
    Label {
        /// The node.
        node: String,
        /// The outermost label that it lacks.
        label: String,
    },
    /// Fewer nodes can hold points than there are replicas, so no targets exist.
    TooFew {
        /// How many nodes can hold points.
        can_hold: usize,
        /// R.
        replicas: usize,
    },
    /// A share differs from its target, by more than the tolerance allows.
    Share {
        /// `node` or `policy`.
        kind: &'static str,
        /// The name of the node or policy.
        name: String,
        /// The cells that it has.
        has: u128,
        /// The cells that it should have.
        target: u128,
        /// The fewest cells that it may have; the target if there is no tolerance.
        least: u128,
        /// The most cells that it may have.
        most: u128,
        /// `points`, or `cells` if a cell is more than a point.
        unit: &'static str,
    },
    /// A node is the primary of too many or too few of its cells.
    Primaries {
        /// The node.
        node: String,
        /// The cells of which it is the primary.
        primary: u128,
        /// The cells that it has.
        has: u128,
        /// The fewest cells of which it may be the primary.
        least: u128,
        /// The most cells of which it may be the primary.
        most: u128,
        /// `points` or `cells`.
        unit: &'static str,
    },
    /// There are more slices than the fleet allows.
    Slices {
        /// How many slices there are.
        has: usize,
        /// How many slices the fleet allows.
        most: usize,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Nodes { has, replicas } => {
                write!(f, "{}, not {replicas}", count(*has as u128, "nodes"))
            }
            Problem::Short { has, replicas } => {
                write!(f, "{}, fewer than {replicas}", count(*has as u128, "nodes"))
            }
            Problem::Twice { node } => write!(f, "node {node} is named twice"),
            Problem::Kept { node, more, policy } => {
                match more {
                    0 => write!(f, "node {node} has")?,
                    more => write!(f, "node {node} and {more} more have")?,
                }
                write!(f, " weight 0 and no share, and still ")?;
                f.write_str(if *more == 0 { "holds" } else { "hold" })?;
                match policy {
                    Some(policy) => write!(f, " what policy `{policy}` has"),
                    None => write!(f, " what is pinned here"),
                }
            }
            Problem::Empty { domain } => write!(
                f,
                "{} has no node with a weight above 0, so it holds no copies",
                named(domain)
            ),
            Problem::NamedPolicy { name } => write!(
                f,
                "policy `{name}` takes a share, which is allowed only with one replica"
            ),
            Problem::Cap {
                domain,
                copies,
                cap,
            } => {
                write!(
                    f,
                    "{} in {}, at most {cap} allowed",
                    count(*copies as u128, "copies"),
                    named(domain)
                )
            }
            Problem::Label { node, label } => {
                write!(f, "node {node} can hold points but has no label `{label}`")
            }
            Problem::TooFew { can_hold, replicas } => {
                write!(
                    f,
                    "{} can hold points, but {replicas} replicas need {replicas}: there are no targets",
                    count(*can_hold as u128, "nodes")
                )
            }
            Problem::Share {
                kind,
                name,
                has,
                target,
                least,
                most,
                unit,
            } => {
                write!(f, "{kind} {name} has {has} {unit}, ")?;
                let more = has > target;
                match least == most {
                    true => {
                        let off = if more { "too many" } else { "too few" };
                        write!(f, "{} {off} for its target", has.abs_diff(*target))
                    }
                    false => {
                        let (bound, off) = if more {
                            (most, "more")
                        } else {
                            (least, "fewer")
                        };
                        let by = has.abs_diff(*bound);
                        write!(f, "{by} {off} than the tolerance of its target allows")
                    }
                }
            }
            Problem::Primaries {
                node,
                primary,
                has,
                least,
                most,
                unit,
            } => {
                write!(
                    f,
                    "node {node} is the primary of {primary} of its {has} {unit}, not of {least}"
                )?;
                match most - least {
                    0 => Ok(()),
                    1 => write!(f, " or {most}"),
                    _ => write!(f, " to {most}"),
                }
            }
            Problem::Slices { has, most } => write!(
                f,
                "{}, at most {most} allowed",
                count(*has as u128, "slices")
            ),
        }
    }
}

/// Writes `zone a, rack 7`.
fn named(domain: &[(String, String)]) -> String {
    let names = domain
        .iter()
        .map(|(label, value)| format!("{label} {value}"));
    names.collect::<Vec<_>>().join(", ")
}

/// Writes `2 nodes`, `1 node`.
fn count(n: u128, what: &str) -> String {
    match (n, what) {
        (1, "copies") => "1 copy".to_owned(),
        (1, _) => format!("1 {}", what.trim_end_matches('s')),
        _ => format!("{n} {what}"),
    }
}

/// The number of violations per rule, and the first violations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violations {
    /// The first violations: of the whole map, then of pins and of slices by their first points,
    /// then of holders by name.
    pub listed: Vec<Violation>,
    /// How many violations are listed at most.
    most: usize,
    counts: [usize; 6],
}

impl Violations {
    /// Returns an empty list.
    pub(super) fn new(most: usize) -> Violations {
        Violations {
            listed: Vec::new(),
            most,
            counts: [0; 6],
        }
    }

    /// Returns how many violations there are.
    pub fn count(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns how many violations break this rule.
    pub fn of(&self, rule: Rule) -> usize {
        self.counts.get(rule as usize).copied().unwrap_or(0)
    }

    /// Returns how many violations are not listed.
    pub fn unlisted(&self) -> usize {
        self.count() - self.listed.len()
    }

    /// Counts a violation. Makes and lists it if it is among the first.
    pub(super) fn add(&mut self, rule: Rule, make: impl FnOnce() -> Violation) {
        if let Some(count) = self.counts.get_mut(rule as usize) {
            *count += 1;
        }
        if self.listed.len() < self.most {
            self.listed.push(make());
        }
    }

    /// Counts a violation that is not about a slice or pin.
    pub(super) fn add_of_map(&mut self, rule: Rule, make: impl FnOnce() -> Problem) {
        self.add(rule, || Violation {
            rule,
            slice: None,
            pin: None,
            problem: make(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_what_is_there_and_what_should_be() {
        let text = |problem: Problem| problem.to_string();
        let domain = vec![
            ("zone".to_owned(), "a".to_owned()),
            ("rack".to_owned(), "7".to_owned()),
        ];
        assert_eq!(
            text(Problem::Nodes {
                has: 1,
                replicas: 3
            }),
            "1 node, not 3"
        );
        assert_eq!(
            text(Problem::Cap {
                domain: domain.clone(),
                copies: 2,
                cap: 1
            }),
            "2 copies in zone a, rack 7, at most 1 allowed"
        );
        assert_eq!(
            text(Problem::Cap {
                domain,
                copies: 1,
                cap: 0
            }),
            "1 copy in zone a, rack 7, at most 0 allowed"
        );
        let share = |has, target, tolerance| Problem::Share {
            kind: "node",
            name: "n1".into(),
            has,
            target,
            least: target - tolerance,
            most: target + tolerance,
            unit: "points",
        };
        assert_eq!(
            text(share(10, 7, 0)),
            "node n1 has 10 points, 3 too many for its target"
        );
        assert_eq!(
            text(share(6, 7, 0)),
            "node n1 has 6 points, 1 too few for its target"
        );
        assert_eq!(
            text(share(10, 7, 1)),
            "node n1 has 10 points, 2 more than the tolerance of its target allows"
        );
        assert_eq!(
            text(share(5, 7, 1)),
            "node n1 has 5 points, 1 fewer than the tolerance of its target allows"
        );
        let primaries = |has, least, most| Problem::Primaries {
            node: "n1".into(),
            primary: 9,
            has,
            least,
            most,
            unit: "cells",
        };
        assert_eq!(
            text(primaries(10, 3, 4)),
            "node n1 is the primary of 9 of its 10 cells, not of 3 or 4"
        );
        assert_eq!(
            text(primaries(12, 4, 4)),
            "node n1 is the primary of 9 of its 12 cells, not of 4"
        );
        assert_eq!(
            text(primaries(12, 3, 5)),
            "node n1 is the primary of 9 of its 12 cells, not of 3 to 5"
        );
        let kept = |more, policy: Option<&str>| Problem::Kept {
            node: "n1".into(),
            more,
            policy: policy.map(str::to_owned),
        };
        assert_eq!(
            text(kept(0, None)),
            "node n1 has weight 0 and no share, and still holds what is pinned here"
        );
        assert_eq!(
            text(kept(2, Some("p"))),
            "node n1 and 2 more have weight 0 and no share, and still hold what policy `p` has"
        );
        assert_eq!(
            text(Problem::TooFew {
                can_hold: 1,
                replicas: 3
            }),
            "1 node can hold points, but 3 replicas need 3: there are no targets"
        );
    }

    #[test]
    fn all_are_counted_and_the_first_are_listed() {
        let mut violations = Violations::new(2);
        for has in 0..5 {
            violations.add_of_map(Rule::Replicas, || Problem::Nodes { has, replicas: 9 });
        }
        violations.add_of_map(Rule::MaxSlices, || Problem::Slices { has: 2, most: 1 });
        assert_eq!(
            (
                violations.count(),
                violations.listed.len(),
                violations.unlisted()
            ),
            (6, 2, 4)
        );
        assert_eq!(
            (
                violations.of(Rule::Replicas),
                violations.of(Rule::MaxSlices),
                violations.of(Rule::Spread)
            ),
            (5, 1, 0)
        );
    }
}
