//! Lists of servers of other programs' rings: what can be drawn answers as the map of it does.

use stead::ring::{Servers, Values, Weights, KINDS};
use stead::{Fleet, Map};

use crate::input::Input;

/// The kinds where each server has as many points as its weight says, times a number: there a large
/// weight only takes longer.
const HEAVY: [&str; 3] = ["cache-memcached-fast", "karger", "uhashring"];

/// Whether a number of more than two digits is in a list that is no port.
fn has_weight(bytes: &[u8]) -> bool {
    let runs = bytes.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let mut before = None;
    runs.into_iter().any(|run| {
        let is_port = before.replace(run[run.len() - 1]) == Some(b':');
        run[0].is_ascii_digit() && run.len() > 2 && !is_port
    })
}

/// A kind, its choices, and a list of servers.
pub fn lists(data: &[u8]) {
    let mut input = Input(data);
    let kind = input.one_of(KINDS);
    let mut set = Vec::new();
    for choice in kind.choices {
        let by = input.byte();
        let value = match &choice.values {
            _ if by % 4 != 0 => continue,
            // large numbers only take longer
            Values::Number { least, most, .. } => {
                (least + u64::from(by / 4)).min(*most).to_string()
            }
            Values::OneOf(words) => (*input.one_of(words)).to_owned(),
            Values::Text => String::from_utf8_lossy(input.bytes(3)).into_owned(),
        };
        set.push(format!("{}={value}", choice.name));
    }
    let bytes = input.0;
    if HEAVY.contains(&kind.name) && has_weight(bytes) {
        return;
    }
    let file = "servers";
    let Ok(ring) = kind.draw(&Servers { bytes, file }, &set) else {
        return;
    };
    let keys: [&[u8]; 4] = [b"", b"frank", b"{a}b", b"\xff"];
    for weights in [Weights::Ring, Weights::Shares] {
        let ring = ring.clone().with(weights);
        let Ok(map) = ring.map("ring") else { continue };
        Map::from_bytes(map.bytes().to_vec()).expect("a drawn map can be read");
        for key in keys {
            let node = map.locate(key);
            let name = map.node(node).name();
            let member = ring
                .locate(key)
                .and_then(|at| ring.members.get(at as usize));
            assert_eq!(member.map(|m| m.name.as_str()), Some(name));
        }
        for text in [ring.fleet("ring"), map.fleet().to_toml()] {
            Fleet::parse(&text, "fleet.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
    }
}
