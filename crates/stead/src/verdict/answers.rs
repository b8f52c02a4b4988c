//! What each node still answers for: whether a node may be switched off.

use std::fmt;

use crate::map::Map;
use crate::point::SPACE;
use crate::policy::NodeId;
use crate::weight::Weight;

/// What `locate` still answers with a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answers {
    /// How many base slices it holds.
    pub slices: usize,
    /// The points of these slices.
    pub points: u128,
    /// How many pins name it, themselves or by a named policy.
    pub pins: usize,
    /// The named policies that name it and hold base slices.
    pub policies: Vec<String>,
    /// How many target slices of a gradual change it is to hold.
    pub target_slices: usize,
}

impl Answers {
    /// Returns what each node of a map answers for, in the order of the nodes.
    ///
    /// Cost: one pass over the slices and pins, and over the nodes of their policies.
    pub fn of_all(map: &Map) -> Vec<Answers> {
        let mut all = vec![Answers::default(); map.nodes().len()];
        let mut add = |node: NodeId, change: &dyn Fn(&mut Answers)| {
            if let Some(answers) = all.get_mut(node.index()) {
                change(answers);
            }
        };
        // for each policy: base slices, their points, pins, target slices
        let mut uses = vec![(0, 0, 0, 0); map.policies().len()];
        for slice in map.base_slices() {
            if let Some((slices, points, ..)) = uses.get_mut(slice.policy.index()) {
                *slices += 1;
                *points += slice.points();
            }
        }
        for pin in map.pins() {
            if let Some((_, _, pins, _)) = uses.get_mut(pin.slice.policy.index()) {
                *pins += 1;
            }
        }
        for slice in map.target_slices().into_iter().flatten() {
            if let Some((.., targets)) = uses.get_mut(slice.policy.index()) {
                *targets += 1;
            }
        }
        for (policy, (slices, points, pins, targets)) in map.policies().zip(uses) {
            if (slices, pins, targets) == (0, 0, 0) {
                continue;
            }
            for node in policy.distinct() {
                add(node, &|answers| {
                    answers.slices += slices;
                    answers.points += points;
                    answers.pins += pins;
                    answers.target_slices += targets;
                    if let Some(name) = policy.name().filter(|_| slices > 0) {
                        answers.policies.push(name.to_owned());
                    }
                });
            }
        }
        all
    }

    /// Returns the nodes of weight 0 that pins or named policies keep in use, although they have no
    /// share of their own, and what they answer for.
    pub fn of_drained(map: &Map) -> Vec<(NodeId, Answers)> {
        if !map.nodes().any(|node| node.weight() == Weight::ZERO) {
            return Vec::new();
        }
        let all = Answers::of_all(map).into_iter().zip(map.nodes());
        all.filter(|(answers, node)| {
            let given = answers.pins > 0 || !answers.policies.is_empty();
            node.weight() == Weight::ZERO && given
        })
        .map(|(answers, node)| (node.id, answers))
        .collect()
    }

    /// Whether no key is answered with the node, so that it may be switched off.
    pub fn is_nothing(&self) -> bool {
        *self == Answers::default()
    }
}

/// Writes `12 slices (3.20 % of all points) and 1 pin`, or `nothing`.
impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.slices > 0 {
            let hundredths = self.points * 10_000 / SPACE;
            let part = match hundredths {
                0 => "less than 0.01 %".to_owned(),
                _ => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
            };
            let by = match self.policies.first() {
                None => String::new(),
                Some(name) if self.policies.len() == 1 => format!(", by policy `{name}`"),
                Some(name) => format!(", by policy `{name}` and {} more", self.policies.len() - 1),
            };
            parts.push(format!(
                "{} ({part} of all points{by})",
                count(self.slices, "slice")
            ));
        }
        if self.pins > 0 {
            parts.push(count(self.pins, "pin"));
        }
        if self.target_slices > 0 && self.slices == 0 {
            let slices = count(self.target_slices, "slice");
            parts.push(format!("{slices} that a change under way gives it"));
        }
        match parts.is_empty() {
            true => f.write_str("nothing"),
            false => f.write_str(&parts.join(" and ")),
        }
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, build_max_move, Fleet, Share};

    fn of(text: &str) -> Vec<String> {
        let fleet = Fleet::parse(&format!("name = 'm'\n{text}"), "fleet").unwrap();
        let map = build(&fleet, None).unwrap();
        Answers::of_all(&map)
            .iter()
            .map(Answers::to_string)
            .collect()
    }

    #[test]
    fn a_drained_node_answers_for_its_pins_and_policies() {
        let nodes = "node = [{name = 'a'}, {name = 'b', weight = 0}, {name = 'c', weight = 0}]\n";
        let half = "1 slice (50.00 % of all points, by policy `p`)";
        assert_eq!(
            of(nodes),
            ["1 slice (100.00 % of all points)", "nothing", "nothing"]
        );
        assert_eq!(
            of(&format!(
                "pin = [{{key = 'k', nodes = ['b', 'a']}}]\n{nodes}"
            )),
            [
                "1 slice (100.00 % of all points) and 1 pin",
                "1 pin",
                "nothing"
            ]
        );
        // a policy that nothing uses keeps nothing in use; one with a weight does
        let policy =
            |more: &str| format!("policy = [{{name = 'p', nodes = ['b']{more}}}]\n{nodes}");
        assert_eq!(of(&policy(""))[1], "nothing");
        assert_eq!(of(&policy(", weight = 1"))[1], half);
        let both = format!(
            "pin = [{{key = 'k', policy = 'p'}}]\n{}",
            policy(", weight = 1")
        );
        assert_eq!(of(&both)[1], format!("{half} and 1 pin"));
        // only a policy with slices is named with them
        let other = "{name = 'q', nodes = ['b']";
        let with = |first: &str, second: &str| format!("policy = [{first}, {second}]\n{nodes}");
        let one = "{name = 'p', nodes = ['b'], weight = 1}";
        let pinned = with(one, &format!("{other}}}"));
        let pinned = format!("pin = [{{key = 'k', policy = 'q'}}]\n{pinned}");
        assert_eq!(of(&pinned)[1], format!("{half} and 1 pin"));
        assert_eq!(
            of(&with(one, &format!("{other}, weight = 1}}")))[1],
            "2 slices (66.66 % of all points, by policy `p` and 1 more)"
        );
        let little = with(one, &format!("{other}}}")).replace("'a'", "'a', weight = 1000000");
        assert_eq!(
            of(&little)[1],
            "1 slice (less than 0.01 % of all points, by policy `p`)"
        );
    }

    #[test]
    fn a_change_under_way_gives_slices_to_nodes_that_have_none_yet() {
        let fleet = |nodes: &str| {
            let nodes = nodes.split(' ').map(|name| format!("{{name = '{name}'}}"));
            let nodes = nodes.collect::<Vec<_>>().join(", ");
            Fleet::parse(&format!("name = 'm'\nnode = [{nodes}]"), "fleet").unwrap()
        };
        let old = build(&fleet("a"), None).unwrap();
        let part = Share(SPACE / 100);
        let step = build_max_move(&fleet("a b c"), Some(&old), part).unwrap();
        let said: Vec<String> = Answers::of_all(&step)
            .iter()
            .map(Answers::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "1 slice (99.00 % of all points)",
                "1 slice (0.99 % of all points)",
                "1 slice that a change under way gives it"
            ]
        );
    }
}
