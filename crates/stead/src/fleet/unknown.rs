//! What to write instead of a key that fleets don't have.

use super::tree::shown;

/// The keys of the fleet itself.
pub(super) const TOP_KEYS: [&str; 14] = [
    "name",
    "replicas",
    "spread",
    "hash",
    "secret",
    "secret_file",
    "key",
    "max_slices",
    "tolerance",
    "guard",
    "node",
    "policy",
    "pin",
    "first",
];

/// The keys of a node.
pub(super) const NODE_KEYS: [&str; 5] = ["name", "weight", "labels", "attributes", "formerly"];

/// Says that a key is unknown, which ones are known, and where it can be foreseen, what to write.
pub(super) fn unknown_key(key: &str, place: &str, known: &[&str], json: bool) -> String {
    format!(
        "unknown key `{}` in {place}; known keys: {}{}",
        shown(key),
        known.join(", "),
        advice(key, place, known, json).unwrap_or_default()
    )
}

fn advice(key: &str, place: &str, known: &[&str], json: bool) -> Option<String> {
    if known == TOP_KEYS {
        return match key {
            "nodes" | "server" | "servers" if json => Some("; write the nodes as `node`"),
            "nodes" | "server" | "servers" => Some("; begin each node with [[node]]"),
            "copies" | "replication" => Some("; `replicas` is the number of copies"),
            "fleet" | "cluster" if json => Some("; its values belong to the outermost object"),
            "fleet" | "cluster" => Some("; keys of the fleet itself have no header"),
            _ => None,
        }
        .map(str::to_owned);
    }
    if TOP_KEYS.contains(&key) {
        // the most common case in TOML: a key of the fleet below the header of a table
        return (!json).then(|| match place.starts_with("[[") {
            true => "; keys of the fleet itself must come before the first [[...]]".to_owned(),
            false => format!(
                "; what stands below the line {place} belongs to {place}, so move `{key}` above it"
            ),
        });
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let own = known == NODE_KEYS && key.bytes().all(plain) && !resembles_one_of(key, known);
    own.then(|| {
        let pair = if json {
            format!("{{\"{key}\": \"...\"}}")
        } else {
            format!("{{ {key} = \"...\" }}")
        };
        let equal = if json { ":" } else { " =" };
        format!("; write attributes{equal} {pair}, or labels{equal} {pair} if spread names it")
    })
}

/// Whether a key is a known one but for some letters in the middle.
fn resembles_one_of(key: &str, known: &[&str]) -> bool {
    known.iter().any(|known| {
        let same = |pair: &(u8, u8)| pair.0 == pair.1;
        let before = key.bytes().zip(known.bytes()).take_while(same).count();
        let behind = key.bytes().rev().zip(known.bytes().rev());
        before + behind.take_while(same).count() + 2 >= key.len().max(known.len())
    })
}
