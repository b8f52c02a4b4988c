//! What changed in the fleet between two epochs, in a few words for the history: `+db7, +db8,
//! R 3 -> 2, +1 pin`.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::map::{Map, Node};
use crate::plan::same_nodes;
use crate::policy::NodeId;
use crate::weight::Weight;

/// The most nodes that are named; more are counted.
const NAMED: usize = 2;

/// Returns what changed from `old` to `new`; `None` stands for the time before the first map.
///
/// Errors: `Identity` when the maps belong to different clusters.
pub fn changes(old: Option<&Map>, new: &Map) -> Result<String> {
    let Some(old) = old else {
        let nodes = counted(new.nodes().len(), "node");
        return Ok(format!("first map, {nodes}"));
    };
    let mut words = of_nodes(old, new)?;
    if old.replicas() != new.replicas() {
        words.push(format!("R {} -> {}", old.replicas(), new.replicas()));
    }
    let spread = |map: &Map| match map.spread().collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "none".to_owned(),
        labels => labels,
    };
    if !old.spread().eq(new.spread()) {
        words.push(format!("spread {} -> {}", spread(old), spread(new)));
    }
    let most = |map: &Map| {
        map.max_slices()
            .map_or("none".to_owned(), |n| n.to_string())
    };
    if old.max_slices() != new.max_slices() {
        words.push(format!("max_slices {} -> {}", most(old), most(new)));
    }
    let tolerance = |map: &Map| {
        map.tolerance()
            .map_or("none".to_owned(), |tolerance| tolerance.to_string())
    };
    if old.tolerance() != new.tolerance() {
        let [old, new] = [old, new].map(tolerance);
        words.push(format!("tolerance {old} -> {new}"));
    }
    words.extend(of_policies(old, new));
    words.extend(of_pins(old, new));
    words.extend(of_firsts(old, new));
    if words.is_empty() && !former_names(old).eq(former_names(new)) {
        words.push("former names dropped".to_owned());
    }
    words.extend(of_carry(old, new));
    if words.is_empty() {
        let step = match (old.target_slices().is_some(), new.target_slices().is_some()) {
            (true, true) => "the next step",
            (true, false) => "the last step",
            _ => "the same fleet",
        };
        words.push(step.to_owned());
    }
    Ok(words.join(", "))
}

/// `carry: both_old_first`, `carry: old (reversed)`, `carry: closed`, or `carry: closed (reversed)`
/// if nothing is at its new place.
fn of_carry(old: &Map, new: &Map) -> Option<String> {
    let word = match (old.carry(), new.carry()) {
        (before, after) if before == after => return None,
        (_, Some(carry)) if carry.reverse => format!("{} (reversed)", carry.state.word()),
        (_, Some(carry)) => carry.state.word().to_owned(),
        (Some(carry), None) if carry.reverse => "closed (reversed)".to_owned(),
        (_, None) => "closed".to_owned(),
    };
    Some(format!("carry: {word}"))
}

fn of_nodes(old: &Map, new: &Map) -> Result<Vec<String>> {
    let same = same_nodes(old, new)?;
    let (mut gone, mut renamed, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let (mut labels, mut attributes) = (Vec::new(), Vec::new());
    let mut known = vec![false; new.nodes().len()];
    for (before, after) in old.nodes().zip(same) {
        let was_leaving = before.leaving();
        let Some(after) = after.map(|id: NodeId| new.node(id)) else {
            // a node that was leaving left the fleet in an earlier epoch
            gone.extend((!was_leaving).then(|| before.name().to_owned()));
            continue;
        };
        if let Some(known) = known.get_mut(after.id.index()) {
            *known = !was_leaving || after.leaving();
        }
        if after.leaving() {
            gone.extend((!was_leaving).then(|| before.name().to_owned()));
            continue;
        }
        if was_leaving {
            continue; // it came back, and counts as new
        }
        if before.name() != after.name() {
            renamed.push(format!("{} is now {}", before.name(), after.name()));
        }
        if before.weight() != after.weight() {
            weights.push((after.name().to_owned(), before.weight(), after.weight()));
        }
        labels.extend((!before.labels().eq(after.labels())).then(|| after.name()));
        attributes.extend((!before.attributes().eq(after.attributes())).then(|| after.name()));
    }
    let is_new = |node: &Node| !known.get(node.id.index()).copied().unwrap_or(false);
    let came: Vec<String> = new
        .nodes()
        .filter(is_new)
        .map(|node| node.name().to_owned())
        .collect();
    let mut words = named('+', &came);
    words.extend(named('-', &gone));
    match renamed.len() {
        0..=NAMED => words.extend(renamed),
        more => words.push(format!("{more} nodes renamed")),
    }
    words.extend(of_weights(&weights));
    let of = |what: &str, names: &[&str]| match names.len() {
        0 => None,
        1..=NAMED => Some(format!("{what} of {}", names.join(" and "))),
        more => Some(format!("{what} of {}", counted(more, "node"))),
    };
    words.extend(of("labels", &labels));
    words.extend(of("attributes", &attributes));
    Ok(words)
}

/// `+db7` and `+db8`, or `+5 nodes`.
fn named(sign: char, names: &[String]) -> Vec<String> {
    match names.len() {
        0..=NAMED => names.iter().map(|name| format!("{sign}{name}")).collect(),
        more => vec![format!("{sign}{more} nodes")],
    }
}

/// `db1 1 -> 2`, `db1 drained`, or `5 weights`.
fn of_weights(weights: &[(String, Weight, Weight)]) -> Vec<String> {
    let word = |(name, before, after): &(String, Weight, Weight)| match *after {
        Weight::ZERO => format!("{name} drained"),
        after => format!("{name} {before} -> {after}"),
    };
    match weights.len() {
        0..=NAMED => weights.iter().map(word).collect(),
        more => vec![format!("{more} weights")],
    }
}

fn of_policies(old: &Map, new: &Map) -> Option<String> {
    let all = |map: &Map| -> BTreeMap<String, (Option<Weight>, String, Vec<String>)> {
        let named = map.policies().filter_map(|policy| {
            let nodes = policy
                .members()
                .map(|node| map.node(node).name().to_owned());
            let what = (policy.weight(), policy.kind().to_owned(), nodes.collect());
            Some((policy.name()?.to_owned(), what))
        });
        named.collect()
    };
    differences(&all(old), &all(new), "policy", "policies")
}

fn of_pins(old: &Map, new: &Map) -> Option<String> {
    // a pin is known by its key, or by its points; the nodes are compared by name
    type Pins = BTreeMap<(Option<Vec<u8>>, u64, u64), (Option<String>, Vec<String>, bool)>;
    let all = |map: &Map| -> Pins {
        let pins = map.pins().map(|pin| {
            let (first, last) = (pin.slice.first.0, pin.slice.last.0);
            let policy = map.policy(pin.slice.policy);
            let nodes = policy
                .members()
                .map(|node| map.node(node).name().to_owned());
            let what = (policy.name().map(str::to_owned), nodes.collect(), pin.short);
            ((pin.key.map(<[u8]>::to_vec), first, last), what)
        });
        pins.collect()
    };
    differences(&all(old), &all(new), "pin", "pins")
}

fn of_firsts(old: &Map, new: &Map) -> Option<String> {
    type Firsts = BTreeMap<(Option<Vec<u8>>, u64, u64), String>;
    let all = |map: &Map| -> Firsts {
        let firsts = map.firsts().map(|first| {
            let place = (first.key.map(<[u8]>::to_vec), first.first.0, first.last.0);
            (place, map.node(first.node).name().to_owned())
        });
        firsts.collect()
    };
    differences(&all(old), &all(new), "first", "firsts")
}

/// The former names that the nodes have, which a fleet states for one epoch after a renaming.
fn former_names(map: &Map) -> impl Iterator<Item = &str> {
    map.nodes().filter_map(|node| node.formerly())
}

/// `+1 pin`, `-2 pins`, `~1 pin`, joined.
fn differences<K: Ord, V: PartialEq>(
    old: &BTreeMap<K, V>,
    new: &BTreeMap<K, V>,
    one: &str,
    many: &str,
) -> Option<String> {
    let added = new.keys().filter(|key| !old.contains_key(key)).count();
    let gone = old.keys().filter(|key| !new.contains_key(key)).count();
    let changed = old
        .iter()
        .filter(|(key, value)| new.get(key).is_some_and(|now| now != *value));
    let words: Vec<String> = [('+', added), ('-', gone), ('~', changed.count())]
        .into_iter()
        .filter(|(_, n)| *n > 0)
        .map(|(sign, n)| format!("{sign}{n} {}", if n == 1 { one } else { many }))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, build_max_move, carry, Fleet};

    fn map(text: &str, old: Option<&Map>) -> Map {
        let text = format!("name = 'm'\n{text}");
        build(&Fleet::parse(&text, "fleet").unwrap(), old).unwrap()
    }

    #[test]
    fn a_change_is_told_in_a_few_words() {
        let nodes = |list: &str| format!("node = [{list}]");
        let abc = nodes("{name = 'a'}, {name = 'b'}, {name = 'c'}");
        let old = map(&abc, None);
        assert_eq!(changes(None, &old).unwrap(), "first map, 3 nodes");
        for (text, words) in [
            (abc.clone(), "the same fleet"),
            (nodes("{name = 'a'}, {name = 'b'}, {name = 'd'}"), "+d, -c"),
            (nodes("{name = 'x'}, {name = 'y'}, {name = 'z'}"), "+3 nodes, -3 nodes"),
            (
                nodes("{name = 'a', weight = 2}, {name = 'b', weight = 0}, {name = 'c'}"),
                "a 1 -> 2, b drained",
            ),
            (
                nodes("{name = 'e', formerly = 'a'}, {name = 'b', labels = {zone = 'z'}}, {name = 'c'}"),
                "a is now e, labels of b",
            ),
            (
                nodes("{name = 'a', attributes = {at = 'x'}}, {name = 'b', attributes = {at = 'y'}}, {name = 'c'}"),
                "attributes of a and b",
            ),
            (format!("replicas = 2\n{abc}"), "R 1 -> 2"),
            (
                format!("max_slices = 9\npin = [{{key = 'k', nodes = ['a']}}]\n{abc}"),
                "max_slices none -> 9, +1 pin",
            ),
            (
                format!("tolerance = '1.5%'\n{abc}"),
                "tolerance none -> 1.5%",
            ),
            (
                format!("policy = [{{name = 'p', nodes = ['a']}}, {{name = 'q', nodes = ['b']}}]\n{abc}"),
                "+2 policies",
            ),
        ] {
            let new = map(&text, Some(&old));
            assert_eq!(changes(Some(&old), &new).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn firsts_and_former_names_are_told() {
        let nodes = "replicas = 2\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c'}]";
        let first = |what: &str| map(&format!("{nodes}\nfirst = [{what}]"), None);
        let told = |old: &Map, new: &Map| changes(Some(old), new).unwrap();
        let one = first("{key = 'k', node = 'a'}");
        let two = "{key = 'k', node = 'b'}, {range = ['10%', '20%'], node = 'c'}";
        let two = map(&format!("{nodes}\nfirst = [{two}]"), Some(&one));
        assert_eq!(told(&one, &two), "+1 first, ~1 first");
        assert_eq!(told(&two, &map(nodes, Some(&two))), "-2 firsts");
        let renamed = "node = [{name = 'd', formerly = 'a'}, {name = 'b'}, {name = 'c'}]";
        let old = map(nodes, None);
        let new = map(&format!("replicas = 2\n{renamed}"), Some(&old));
        let after = map(
            &format!("replicas = 2\n{renamed}").replace(", formerly = 'a'", ""),
            Some(&new),
        );
        assert_eq!(told(&old, &new), "a is now d");
        assert_eq!(told(&new, &after), "former names dropped");
    }

    #[test]
    fn the_steps_of_a_change_are_told_as_steps() {
        let part = crate::fleet::part("10%").unwrap();
        let old = map("node = [{name = 'a'}, {name = 'b'}]", None);
        let fleet = Fleet::parse("name = 'm'\nnode = [{name = 'a'}]", "fleet").unwrap();
        let first = build_max_move(&fleet, Some(&old), part).unwrap();
        let second = build_max_move(&fleet, Some(&first), part).unwrap();
        let last = build(&fleet, Some(&second)).unwrap();
        let told = |old: &Map, new: &Map| changes(Some(old), new).unwrap();
        assert_eq!(told(&old, &first), "-b");
        assert_eq!(told(&first, &second), "the next step");
        assert_eq!(told(&second, &last), "the last step");
    }

    #[test]
    fn the_states_of_a_carry_are_told_and_whether_it_was_reversed() {
        let old = map("node = [{name = 'a'}, {name = 'b'}]", None);
        let new = "node = [{name = 'a'}, {name = 'b'}, {name = 'c'}]";
        let new = map(new, Some(&old));
        let begun = carry::begin(Some(&old), &new).unwrap().unwrap();
        let both = carry::next(&begun).unwrap();
        let reversed = carry::reverse(&both).unwrap();
        let closed = carry::close(&reversed, Some(&old)).unwrap();
        let told = |old: &Map, new: &Map| changes(Some(old), new).unwrap();
        assert_eq!(told(&old, &begun), "+c, carry: old");
        assert_eq!(told(&begun, &both), "carry: both_old_first");
        assert_eq!(told(&both, &reversed), "carry: old (reversed)");
        assert_eq!(told(&reversed, &closed), "-c, carry: closed (reversed)");
        let third = carry::next(&both).unwrap();
        let last = carry::next(&third).unwrap();
        let closed = carry::close(&last, None).unwrap();
        assert_eq!(told(&both, &third), "carry: both_new_first");
        assert_eq!(told(&last, &closed), "carry: closed");
        let reversed = carry::reverse(&third).unwrap();
        assert_eq!(told(&third, &reversed), "carry: both_old_first (reversed)");
    }
}
