//! The explanation that `locate --explain` adds: why a key lives where it lives.

use std::collections::BTreeMap;

use serde::Serialize;
use stead::format::hex;
use stead::hash::KeyRule;
use stead::map::Pin;
use stead::weight::Weight;
use stead::{Map, Point};

use crate::carrying::in_words;
use crate::exit::Result;
use crate::input::{shown, KeyJson};
use crate::output::Out;
use crate::text::{joined, wrapped};

/// The steps from a key to its nodes.
#[derive(Serialize)]
pub struct Explanation<'a> {
    /// the part of the key that is hashed, if the map has a key rule other than `whole`
    #[serde(skip_serializing_if = "Option::is_none")]
    hashed: Option<KeyJson<'a>>,
    /// `hashed` in words for people
    #[serde(skip)]
    hashed_text: Option<String>,
    digest: String,
    slice: Range,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'a str,
    labels: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    /// the pin that covers the key, in words for people
    #[serde(skip)]
    pin: Option<String>,
    why: String,
    /// the carry that is open, in words for people
    #[serde(skip)]
    carry: Option<String>,
}

/// A range of points; `first` and `last` are both included.
#[derive(Serialize)]
pub struct Range {
    first: String,
    last: String,
}

impl<'a> Explanation<'a> {
    /// Explains where a key lives under a map.
    pub fn of(map: &'a Map, key: &'a [u8]) -> Explanation<'a> {
        let point = map.point(key);
        let rule = map.key_rule();
        let bytes = rule.of(key);
        let hashed = (rule != KeyRule::Whole).then_some(bytes);
        let slice = map.slice_of(point);
        let policy = map.policy(slice.policy);
        let pin = map
            .pins()
            .find(|pin| pin.slice.first <= point && point <= pin.slice.last);
        let labels = |node| (map.node(node).name(), map.node(node).labels().collect());
        Explanation {
            hashed: hashed.map(KeyJson::of),
            hashed_text: hashed.map(|bytes| format!("{}, the {rule}", shown(bytes))),
            digest: hex(&map.hash().digest(bytes)),
            slice: Range {
                first: slice.first.to_string(),
                last: slice.last.to_string(),
            },
            policy: policy.name(),
            kind: policy.kind(),
            labels: policy.members().map(labels).collect(),
            why: match &pin {
                Some(pin) => pinned(map, point, pin),
                None => by_weight(map, point) + &turned(map, point),
            },
            pin: pin.as_ref().map(named),
            carry: map.carry().map(|carry| in_words(&carry)),
        }
    }

    /// Writes the explanation for people, under the record of the key.
    pub fn write(&self, point: Point, out: &mut Out) -> Result {
        if let Some(hashed) = &self.hashed_text {
            out.line(format_args!("  hashed  {hashed}"))?;
        }
        out.line(format_args!("  digest  {}", self.digest))?;
        out.line(format_args!("  point   {point}"))?;
        out.line(format_args!(
            "  slice   {}..{}",
            self.slice.first, self.slice.last
        ))?;
        match (self.policy, self.kind) {
            (None, _) => match &self.pin {
                Some(pin) => told("policy", &format!("the nodes of the pin of {pin}"), out)?,
                None => out.line("  policy  chosen by stead")?,
            },
            (Some(name), "") => told("policy", name, out)?,
            (Some(name), kind) => told("policy", &format!("{name}, kind {kind}"), out)?,
        }
        for (node, labels) in &self.labels {
            let labels: Vec<String> = labels
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let labels = if labels.is_empty() {
                "none".to_owned()
            } else {
                labels.join(" ")
            };
            told("labels", &format!("{node}: {labels}"), out)?;
        }
        told("why", &self.why, out)?;
        self.carry.as_ref().map_or(Ok(()), |carry| {
            let text = format!("{carry}; --carry shows where to read and to write");
            told("carry", &text, out)
        })
    }
}

/// Writes a text behind what it is about, in as many lines as it needs.
fn told(what: &str, text: &str, out: &mut Out) -> Result {
    let lines = wrapped(text, &format!("  {what:<6}  "), &" ".repeat(10));
    lines.iter().try_for_each(|line| out.line(line))
}

/// Returns the reason for a point that a pin covers.
fn pinned(map: &Map, point: Point, pin: &Pin) -> String {
    let under = joined(map, map.base_slice_of(point).policy);
    format!(
        "pinned by hand: {}; the base slice under it is held by {under}",
        named(pin)
    )
}

/// Returns the addition to the reason where a first changes which node answers first; otherwise
/// nothing.
fn turned(map: &Map, point: Point) -> String {
    let mut firsts = map.firsts();
    let first = firsts.find(|first| first.first <= point && point <= first.last);
    let base = map.base_slice_of(point).policy;
    match first.filter(|_| map.policy_of(point) != base) {
        None => String::new(),
        Some(first) => format!(
            "; a first lets {} answer first",
            map.node(first.node).name()
        ),
    }
}

/// Names a pin.
fn named(pin: &Pin) -> String {
    match pin.key {
        Some(key) => format!("key {}", shown(key)),
        None => format!("range {}..{}", pin.slice.first, pin.slice.last),
    }
}

/// Returns the reason for a point that no pin covers: the weight of its holder among all weights.
fn by_weight(map: &Map, point: Point) -> String {
    let policy = map.policy(map.base_slice_of(point).policy);
    let holder = policy
        .name()
        .map_or_else(|| joined(map, policy.id), |name| format!("policy {name}"));
    let weight = policy
        .weight()
        .or_else(|| policy.members().next().map(|node| map.node(node).weight()))
        .unwrap_or(Weight::ZERO);
    // at most 131,072 holders of at most 10^12 millionths each: the sum is far below 2^64
    let all: u64 = map
        .nodes()
        .map(|node| node.weight().millionths())
        .sum::<u64>()
        + map
            .policies()
            .filter_map(|policy| policy.weight())
            .map(Weight::millionths)
            .sum::<u64>();
    if policy.name().is_none() && policy.members().len() > 1 {
        let weights: Vec<String> = policy
            .members()
            .map(|node| map.node(node).weight().to_string())
            .collect();
        return format!(
            "base slice of {holder}, which have the weights {} of {}",
            weights.join(","),
            exact(all)
        );
    }
    format!(
        "base slice of {holder}, which has weight {weight} of {}",
        exact(all)
    )
}

/// Formats millionths as the shortest exact decimal. The sum of weights may be larger than any
/// single weight may be, so it is not a `Weight`.
fn exact(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn sums_of_weights_are_exact() {
        assert_eq!(
            [exact(1_500_000), exact(10_000_000), exact(1)],
            ["1.5", "10", "0.000001"]
        );
    }
}
