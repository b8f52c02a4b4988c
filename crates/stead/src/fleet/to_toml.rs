//! Writes a fleet as TOML, so that reading the text gives the fleet again.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::model::{First, Fleet, Node, Pin, PinTo, Pinned, Policy};
use super::percent;
use crate::weight::Weight;

impl Fleet {
    /// Returns the fleet as TOML that [`Fleet::parse`] reads as the same fleet, apart from the line
    /// numbers.
    ///
    /// Two things are not written. The first is the hash `siphash`, because its secret is never
    /// shown: a build on the map keeps the hash and the secret of the map. The second is a pin or a
    /// first by a key that is not UTF-8, which no fleet file can hold;
    /// [`Map::fleet`](crate::Map::fleet) has such a pin or first by its range.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        pair("name", &text(&self.name), &mut out);
        if self.replicas != 1 {
            pair("replicas", &self.replicas.to_string(), &mut out);
        }
        if !self.spread.is_empty() {
            pair("spread", &list(&self.spread), &mut out);
        }
        if let Some(hash) = self.hash.as_ref().filter(|hash| !hash.is_secret()) {
            pair("hash", &text(hash.name()), &mut out);
        }
        if let Some(rule) = self.key_rule {
            pair("key", &text(&rule.to_string()), &mut out);
        }
        if let Some(most) = self.max_slices {
            pair("max_slices", &most.to_string(), &mut out);
        }
        if let Some(tolerance) = self.tolerance {
            pair("tolerance", &text(&tolerance.to_string()), &mut out);
        }
        if self.move_limit.is_some() || self.carry.is_some() || !self.first_map {
            out.push_str("\n[guard]\n");
        }
        if let Some(limit) = self.move_limit {
            pair("move", &text(&percent::percentage(limit)), &mut out);
        }
        if let Some(carry) = self.carry {
            pair("carry", &carry.to_string(), &mut out);
        }
        if !self.first_map {
            pair("first_map", "false", &mut out);
        }
        self.nodes.iter().for_each(|node| node.write(&mut out));
        self.policies
            .iter()
            .for_each(|policy| policy.write(&mut out));
        self.pins.iter().for_each(|pin| pin.write(&mut out));
        self.firsts.iter().for_each(|first| first.write(&mut out));
        out
    }
}

impl Node {
    fn write(&self, out: &mut String) {
        out.push_str("\n[[node]]\n");
        pair("name", &text(&self.name), out);
        if self.weight != Weight::ONE {
            pair("weight", &self.weight.to_string(), out);
        }
        for (key, texts) in [("labels", &self.labels), ("attributes", &self.attributes)] {
            if !texts.is_empty() {
                pair(key, &table(texts), out);
            }
        }
        if let Some(formerly) = &self.formerly {
            pair("formerly", &text(formerly), out);
        }
    }
}

impl Policy {
    fn write(&self, out: &mut String) {
        out.push_str("\n[[policy]]\n");
        pair("name", &text(&self.name), out);
        if !self.kind.is_empty() {
            pair("kind", &text(&self.kind), out);
        }
        if let Some(weight) = self.weight {
            pair("weight", &weight.to_string(), out);
        }
        pair("nodes", &list(&self.nodes), out);
    }
}

impl Pin {
    fn write(&self, out: &mut String) {
        let Some((what, value)) = covered(&self.what) else {
            return;
        };
        out.push_str("\n[[pin]]\n");
        pair(what, &value, out);
        match &self.to {
            PinTo::Policy(policy) => pair("policy", &text(policy), out),
            PinTo::Nodes(nodes) => pair("nodes", &list(nodes), out),
        }
        if self.short {
            pair("short", "true", out);
        }
    }
}

impl First {
    fn write(&self, out: &mut String) {
        if let Some((what, value)) = covered(&self.what) {
            out.push_str("\n[[first]]\n");
            pair(what, &value, out);
            pair("node", &text(&self.node), out);
        }
    }
}

/// Returns the key and the value for what a pin or a first covers; `None` for a key that is not
/// UTF-8.
fn covered(what: &Pinned) -> Option<(&'static str, String)> {
    Some(match what {
        Pinned::Key(key) => ("key", text(std::str::from_utf8(key).ok()?)),
        Pinned::Range { first, end } => {
            let bounds = [u128::from(first.0), *end].map(percent::text);
            ("range", list(&bounds))
        }
    })
}

fn pair(key: &str, value: &str, out: &mut String) {
    out.extend([key, " = ", value, "\n"]);
}

/// Returns a basic string of TOML.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // TOML forbids these; the others from U+0080 on are allowed, but nobody sees them
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|each| text(each)).collect();
    format!("[{}]", quoted.join(", "))
}

fn table(texts: &BTreeMap<String, String>) -> String {
    let is_bare = |key: &str| {
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !key.is_empty() && key.bytes().all(bare)
    };
    let pairs: Vec<String> = texts
        .iter()
        .map(|(key, value)| {
            let key = if is_bare(key) { key.clone() } else { text(key) };
            format!("{key} = {}", text(value))
        })
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;

    /// Forgets the lines and the hash, which the text does not keep.
    fn without_lines(mut fleet: Fleet) -> Fleet {
        fleet.nodes.iter_mut().for_each(|node| node.line = 0);
        fleet.policies.iter_mut().for_each(|policy| policy.line = 0);
        fleet.pins.iter_mut().for_each(|pin| pin.line = 0);
        fleet.hash = fleet.hash.filter(|hash| !Hash::is_secret(hash));
        fleet
    }

    #[test]
    fn the_text_is_what_a_person_would_write() {
        let written = r#"name = "members"
spread = ["zone"]
hash = "xxh3"
key = "first 2 segments"
max_slices = 800
tolerance = "0.5%"

[guard]
move = "20%"
first_map = false

[[node]]
name = "a \"quoted\" \\ né"
weight = 0.000001
labels = { zone = "z 1", "a.b" = "" }
attributes = { address = "10.0.0.1:3306", "\u00E9t\u00E9" = "" }
formerly = "b"

[[node]]
name = "c"
labels = { zone = "z" }

[[policy]]
name = "cray"
kind = "chain"
weight = 2
nodes = ["c", "a \"quoted\" \\ né"]

[[pin]]
key = "jus\ttin\n\u0000\u007F\u0085'"
policy = "cray"

[[pin]]
range = ["6%", "6.00001%"]
nodes = ["c"]
short = true
"#;
        // the label a.b must have a value, and é needs no escape
        let written = written
            .replace("\"a.b\" = \"\"", "\"a.b\" = \"1\"")
            .replace("\\u00E9t\\u00E9", "été")
            .replace(
                "labels = { zone = \"z 1\", \"a.b\" = \"1\" }",
                "labels = { \"a.b\" = \"1\", zone = \"z 1\" }",
            );
        let fleet = Fleet::parse(&written, "fleet").unwrap();
        assert_eq!(fleet.to_toml(), written);
    }

    #[test]
    fn a_secret_is_not_written() {
        let secret = "000102030405060708090a0b0c0d0e0f";
        let fleet =
            format!("name = 'm'\nhash = 'siphash'\nsecret = '{secret}'\n[[node]]\nname = 'a'\n");
        let fleet = Fleet::parse(&fleet, "fleet").unwrap();
        let text = fleet.to_toml();
        assert_eq!(text, "name = \"m\"\n\n[[node]]\nname = \"a\"\n");
        let again = Fleet::parse(&text, "fleet").unwrap();
        assert_eq!(without_lines(again), without_lines(fleet));
    }
}
