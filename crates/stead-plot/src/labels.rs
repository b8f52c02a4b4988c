//! The labels of bars that stand for nodes or for groups of nodes. A long one is shortened, but a
//! group never reads like one of its nodes.

use crate::canvas::SIZE;
use crate::figures::count;
use crate::groups::Groups;
use crate::letters;
use crate::names::{apart, ending, without_beginning};

/// What a bar stands for.
pub(crate) enum Label {
    /// A node.
    Node(String),
    /// All nodes from one name to another, and how many they are.
    Range {
        first: String,
        last: String,
        nodes: usize,
    },
    /// Something else, such as a fault domain: `zone eu-1 (9 nodes)`.
    Other(String),
}

/// Labels that fit into a room.
pub(crate) struct Fitted {
    pub texts: Vec<String>,
    /// What is left out at the end of all names; empty if nothing is.
    pub ending: String,
    /// Whether `+2` says that a group has two nodes more than the one that is named.
    pub is_counted: bool,
}

impl Label {
    /// Returns the whole label.
    pub fn whole(&self) -> String {
        self.text("", true)
    }

    /// Returns the label, without an ending of the names and perhaps without the number of nodes.
    fn text(&self, ending: &str, counted: bool) -> String {
        let bare = |name: &str| name.strip_suffix(ending).unwrap_or(name).to_owned();
        match self {
            Label::Node(name) => bare(name),
            Label::Range { first, last, nodes } => {
                let range = format!("{} to {}", bare(first), bare(last));
                match counted {
                    true => format!("{range} ({})", count(*nodes, "node")),
                    false => range,
                }
            }
            Label::Other(text) => text.clone(),
        }
    }

    /// Returns the names that are read in the label.
    fn names(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Label::Node(name) => [Some(name), None],
            Label::Range { first, last, .. } => [Some(first), Some(last)],
            Label::Other(_) => [None, None],
        };
        names.into_iter().flatten().map(String::as_str)
    }
}

/// Returns the labels of groups.
pub(crate) fn of_groups(groups: &Groups) -> Vec<Label> {
    let label = |(group, label): (usize, &String)| match (groups.single, groups.ranges.get(group)) {
        (true, _) => Label::Node(label.clone()),
        (false, None) => Label::Other(label.clone()),
        (false, Some([first, last])) => Label::Range {
            first: first.clone(),
            last: last.clone(),
            nodes: groups.of.iter().filter(|of| **of == group).count(),
        },
    };
    groups.labels.iter().enumerate().map(label).collect()
}

/// Shortens labels so that each fits into `room` pixels. Labels of one kind are shortened in one
/// way. What they share with the labels beside them is left out first.
pub(crate) fn fitted(labels: &[Label], beside: &[Label], room: f64) -> Fitted {
    let names: Vec<&str> = labels.iter().flat_map(Label::names).collect();
    let others = beside.iter().flat_map(Label::names);
    let all: Vec<&str> = names.iter().copied().chain(others).collect();
    let common = match ending(&all) {
        "" => ending(&names),
        common => common,
    };
    let fits = |text: &str| letters::width(text, SIZE) <= room;
    let is_named = |label: &&Label| !matches!(label, Label::Other(_));
    let ways = [("", true), ("", false), (common, true), (common, false)];
    let way = ways.into_iter().find(|(ending, counted)| {
        let mut named = labels.iter().filter(is_named);
        named.all(|label| fits(&label.text(ending, *counted)))
    });
    if let Some((ending, counted)) = way {
        let text = |label: &Label| match label {
            Label::Other(text) => other(text, room),
            label => label.text(ending, counted),
        };
        return Fitted {
            texts: labels.iter().map(text).collect(),
            ending: ending.to_owned(),
            is_counted: false,
        };
    }
    let bare = |name: &'_ str| name.strip_suffix(common).unwrap_or(name).to_owned();
    let firsts: Vec<String> = labels
        .iter()
        .filter_map(|label| label.names().next())
        .map(bare)
        .collect();
    let firsts: Vec<&str> = firsts.iter().map(String::as_str).collect();
    let most = labels.iter().map(|label| match label {
        Label::Range { nodes, .. } => *nodes,
        _ => 1,
    });
    let most = most.max().unwrap_or(1);
    // behind the first node of a group: how many more it has, in a longer and a shorter way
    let more: [fn(usize) -> String; 2] =
        [|more| format!(" + {more} more"), |more| format!(" +{more}")];
    let mut short = more.into_iter().filter_map(|more| {
        let behind = letters::width(&more(most - 1), SIZE);
        let starts = without_beginning(&firsts, SIZE, room - behind)?;
        Some((starts, Some(more)))
    });
    let (starts, more) = match most {
        1 => (apart(&firsts, SIZE, room), None),
        _ => short.next().unwrap_or_default(),
    };
    let mut starts = starts.into_iter();
    let text = |label: &Label| match (label, more) {
        (Label::Other(text), _) => other(text, room),
        (Label::Node(_), _) => starts.next().unwrap_or_default(),
        (Label::Range { nodes, .. }, Some(more)) => {
            starts.next().unwrap_or_default() + &more(nodes - 1)
        }
        (Label::Range { nodes, .. }, None) => letters::cut(&count(*nodes, "node"), SIZE, room),
    };
    Fitted {
        texts: labels.iter().map(text).collect(),
        ending: match most > 1 && more.is_none() {
            true => String::new(), // no name is left
            false => common.to_owned(),
        },
        is_counted: more.is_some(),
    }
}

/// Shortens the label of a domain: the number of its nodes can be missed first, and then the word
/// `zone`.
fn other(label: &str, room: f64) -> String {
    let bare = label.split(" (").next().unwrap_or(label);
    let value = bare.split_once(' ').map_or(bare, |(_, value)| value);
    let fits = |label: &&str| letters::width(label, SIZE) <= room;
    let label = [label, bare].into_iter().find(fits).unwrap_or(value);
    letters::cut_middle(label, SIZE, room)
}

/// Says how the names of a left and a right column are shortened, as sentences after another one;
/// empty if they are whole.
pub(crate) fn in_words(left: &Fitted, right: &Fitted) -> String {
    let without = match [&left.ending, &right.ending].map(String::as_str) {
        ["", ""] => String::new(),
        [left, right] if left == right => format!(" Names are written without {left}."),
        [left, ""] => format!(" Names on the left are written without {left}."),
        ["", right] => format!(" Names on the right are written without {right}."),
        [left, right] => format!(
            " Names are written without {left} on the left, and without {right} on the right."
        ),
    };
    match left.is_counted || right.is_counted {
        true => without + " A group is named by its first node, and +2 means two nodes more.",
        false => without,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: &str, last: &str, nodes: usize) -> Label {
        Label::Range {
            first: first.to_owned(),
            last: last.to_owned(),
            nodes,
        }
    }

    #[test]
    fn a_group_never_reads_like_one_of_its_nodes() {
        let labels = [
            range("store-a00-01.example.net", "store-a12-02.example.net", 38),
            range("store-a12-03.example.net", "store-a24-03.example.net", 37),
        ];
        let first = |room: f64| {
            let fitted = fitted(&labels, &[], room);
            assert!(fitted
                .texts
                .iter()
                .all(|text| letters::width(text, SIZE) <= room));
            (fitted.texts[0].clone(), fitted.ending)
        };
        let wide = |text: &str| first(letters::width(text, SIZE) + 0.1);
        for (text, ending) in [
            (
                "store-a00-01.example.net to store-a12-02.example.net (38 nodes)",
                "",
            ),
            ("store-a00-01.example.net to store-a12-02.example.net", ""),
            ("store-a00-01 to store-a12-02 (38 nodes)", ".example.net"),
            ("store-a00-01 to store-a12-02", ".example.net"),
            ("store-a00-01 + 37 more", ".example.net"),
            ("…a00-01 + 37 more", ".example.net"),
            ("…a00-01 +37", ".example.net"),
            ("38 nodes", ""),
        ] {
            assert_eq!(wide(text), (text.to_owned(), ending.to_owned()));
        }
    }

    #[test]
    fn nodes_lose_their_common_domain_first() {
        let node = |name: &str| Label::Node(name.to_owned());
        let labels = [node("photos-1.example.com"), node("photos-2.example.com")];
        let texts = |text: &str| fitted(&labels, &[], letters::width(text, SIZE) + 0.1).texts;
        assert_eq!(texts("photos-1"), ["photos-1", "photos-2"]);
        assert_eq!(texts("p…1"), ["p…1", "p…2"]);
        // a single name has the others beside it
        let room = letters::width("storage-1.sub", SIZE) + 0.1;
        let alone = [node("storage-1.sub.example.com")];
        let beside = fitted(&alone, &labels, room);
        assert_eq!(
            (beside.texts[0].as_str(), beside.ending.as_str()),
            ("storage-1.sub", ".example.com")
        );
    }
}
