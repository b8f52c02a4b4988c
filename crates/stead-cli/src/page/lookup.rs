//! The box that says where a key lives: its form, and what the page's script needs of a map.
//!
//! The final slices stand in the page as they stand in the map, so that the script answers like
//! every other reader. A secret never does: whoever has it types it. Where a map cannot be answered
//! from, the box says why and names the command that can.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde::Serialize;
use stead::hash::KeyRule;
use stead::policy::PolicyId;
use stead::Map;

use super::html::{element, opened, Html};
use super::tiles::{command, remark};
use crate::input::shown;

/// What the script reads.
#[derive(Serialize)]
pub struct Lookup<'a> {
    maps: Vec<Places<'a>>,
}

/// A map, as far as a lookup needs it.
#[derive(Serialize)]
struct Places<'a> {
    title: String,
    hash: &'static str,
    /// the number of cells, which may be 2^64
    cells: String,
    modulo: bool,
    /// how many segments of a key are hashed; 0 is the whole key
    segments: u8,
    nodes: Vec<&'a str>,
    /// the numbers of the nodes of each policy, primary first; the policies are in the order of
    /// their first slices, and the numbers of policies below are their places here
    policies: Vec<Vec<u32>>,
    /// policy, name, kind
    named: Vec<(u32, &'a str, &'a str)>,
    /// first point, last point, what is pinned
    pins: Vec<(String, String, String)>,
    /// the first points of the final slices, 8 bytes each, little-endian
    firsts: String,
    /// the slices whose policy had a slice before, each with this policy. Every other slice brings
    /// the next policy
    again: Vec<(usize, u32)>,
}

impl<'a> Lookup<'a> {
    /// Returns what the script needs of these maps. They are of one cluster.
    fn of(maps: &[&'a Map]) -> Lookup<'a> {
        Lookup {
            maps: maps.iter().map(|map| places(map)).collect(),
        }
    }
}

fn places(map: &Map) -> Places<'_> {
    let (mut firsts, mut again, mut policies, mut named) = (vec![], vec![], vec![], vec![]);
    let mut places: HashMap<PolicyId, u32> = HashMap::new();
    for (number, slice) in map.slices().enumerate() {
        firsts.extend(slice.first.0.to_le_bytes());
        let place = policies.len() as u32; // a map has less than 2^32 policies
        match places.entry(slice.policy) {
            Entry::Occupied(known) => again.push((number, *known.get())),
            Entry::Vacant(new) => {
                let policy = map.policy(slice.policy);
                policies.push(policy.members().map(|node| node.0).collect());
                named.extend(policy.name().map(|name| (place, name, policy.kind())));
                new.insert(place);
            }
        }
    }
    let pins = map.pins().map(|pin| {
        let what = pin
            .key
            .map_or("a range".to_owned(), |key| format!("key {}", shown(key)));
        (
            pin.slice.first.to_string(),
            pin.slice.last.to_string(),
            what,
        )
    });
    Places {
        title: format!("epoch {}", map.epoch()),
        hash: map.hash().name(),
        cells: map.cells().count().to_string(),
        modulo: map.hash().is_modulo(),
        segments: match map.key_rule() {
            KeyRule::Whole => 0,
            KeyRule::First(segments) => segments.get(),
        },
        nodes: map.nodes().map(|node| node.name()).collect(),
        policies,
        named,
        pins: pins.collect(),
        firsts: STANDARD.encode(firsts),
        again,
    }
}

/// Says why keys of a map cannot be located in the page, and what to type instead.
fn refusal(map: &Map, file: &str) -> Option<Html> {
    let (why, option) = if map.carry().is_some() {
        (
            "A carry is open, so a key has places to read and places to write. This page has only \
             one map. Ask the program: ",
            " --carry",
        )
    } else if map.hash().affixes().is_some() {
        (
            "This map hashes each key together with bytes that are kept secret, so this page cannot \
             locate keys. Ask the program: ",
            "",
        )
    } else {
        return None;
    };
    let mut inside = Html::text(why);
    inside.add(command(&format!("stead locate {file}{option} KEY")));
    Some(element("p", &[("id", "refused")], inside))
}

/// Returns the box, and the data for the script if the box can answer. `file` names the newest of
/// the maps for whoever has no scripts.
pub fn form<'a>(maps: &[&'a Map], file: &str) -> (Html, Option<Lookup<'a>>) {
    if let Some(refusal) = maps.iter().find_map(|map| refusal(map, file)) {
        return (refusal, None);
    }
    let Some(map) = maps.last() else {
        return (Html::default(), None);
    };
    let mut without = Html::text("This box needs scripts. Without them, ask the program: ");
    without.add(command(&format!("stead locate {file} KEY")));
    let mut html = element("p", &[("id", "without-scripts")], without);
    html.add(element(
        "form",
        &[("id", "locate"), ("hidden", ""), ("autocomplete", "off")],
        fields(map),
    ));
    html.add(element(
        "div",
        &[("id", "answer"), ("aria-live", "polite"), ("hidden", "")],
        "",
    ));
    (html, Some(Lookup::of(maps)))
}

fn fields(map: &Map) -> Html {
    let input = |attributes: &[(&'static str, &str)]| opened("input", attributes);
    let mut key = element("label", &[("for", "key")], "Key");
    key.add(input(&[
        ("id", "key"),
        ("type", "text"),
        ("spellcheck", "false"),
        ("autocapitalize", "off"),
        ("aria-describedby", "key-note"),
    ]));
    key.add(element(
        "p",
        &[("id", "key-note"), ("class", "remark")],
        "A key is bytes: spaces and upper case count. Text is taken as UTF-8.",
    ));
    let mut html = element("div", &[("class", "field wide")], key);
    if map.hash().is_secret() {
        let mut secret = element(
            "label",
            &[("for", "secret")],
            "Secret of the map, 32 hex digits",
        );
        secret.add(input(&[
            ("id", "secret"),
            ("type", "password"),
            ("autocomplete", "off"),
            ("spellcheck", "false"),
            ("aria-describedby", "secret-note"),
        ]));
        secret.add(element(
            "p",
            &[("id", "secret-note"), ("class", "remark")],
            "The secret is not in this page, and what you type stays in it. With another secret the \
             answer is another, and nothing tells.",
        ));
        html.add(element("div", &[("class", "field wide")], secret));
    }
    let option = |id: &str, words: &str| {
        let mut label = input(&[("id", id), ("type", "checkbox")]);
        label.add(Html::text(format!(" {words}")));
        element("label", &[("class", "option")], label)
    };
    html.add(option("as-hex", "the key is written in hex digits"));
    html.add(option("fold", "turn A-Z into a-z first (--fold ascii)"));
    html
}

/// Returns the note below the heading of the box.
pub fn about(map: &Map) -> Html {
    remark(format!(
        "Computed in this page from the final slices, pins applied, with the hash {}. Nothing is \
         sent anywhere.",
        crate::text::hash(map)
    ))
}
