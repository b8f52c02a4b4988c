//! What the page's script reads of a map to locate keys, as JSON.
//!
//! The slices stand in the page as they stand in the map, so that the script answers like every
//! other reader. A secret never does: whoever has it types it.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde::Serialize;
use stead::hash::KeyRule;
use stead::plan::same_nodes;
use stead::policy::PolicyId;
use stead::slice::Slice;
use stead::Map;

use crate::input::shown;

/// What the script reads.
#[derive(Serialize)]
pub struct Lookup<'a> {
    /// the maps that the box answers for
    maps: Vec<Places<'a>>,
    /// the maps from which a carry comes, without an answer of their own
    from: Vec<Places<'a>>,
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
    /// for each node the number of its outermost domain, or null; no numbers if the map spreads
    /// nothing
    domains: Vec<Option<u32>>,
    /// the numbers of the nodes of each policy, primary first; the policies are in the order of
    /// their first slices, those of `base` last, and the numbers of policies below are their places
    /// here
    policies: Vec<Vec<u32>>,
    /// policy, name, kind
    named: Vec<(u32, &'a str, &'a str)>,
    /// first point, last point, what is pinned
    pins: Vec<(String, String, String)>,
    /// the final slices
    slices: Slices,
    /// the slices below the pins, if they are others
    base: Option<Slices>,
    carry: Option<Carried>,
}

/// A table of slices.
#[derive(Serialize)]
struct Slices {
    /// the first points, 8 bytes each, little-endian
    firsts: String,
    /// the slices whose policy had a slice before, each with this policy. Every other slice brings
    /// the next policy
    again: Vec<(usize, u32)>,
}

/// A carry that is open.
#[derive(Serialize)]
struct Carried {
    state: &'static str,
    /// the place of the map where the data was in `Lookup::from`
    from: usize,
    /// for each node of that map its number in this one; nodes that only the other map has follow
    /// the nodes of this one
    numbers: Vec<u32>,
}

/// Returns the map among these in which the data was when the open carry of a map began.
pub fn origin<'a>(map: &Map, among: impl IntoIterator<Item = &'a Map>) -> Option<&'a Map> {
    let digest = map.carry()?.from_digest;
    among.into_iter().find(|from| from.digest() == digest)
}

impl<'a> Lookup<'a> {
    /// Returns what the script needs of these maps, which are of one cluster. A map with an open
    /// carry has the map beside it where the data was. Fails if that one is of another cluster.
    pub fn of(maps: &[(&'a Map, Option<&'a Map>)]) -> stead::Result<Lookup<'a>> {
        let mut lookup = Lookup {
            maps: Vec::new(),
            from: Vec::new(),
        };
        for (map, from) in maps {
            let mut places = places(map);
            if let (Some(carry), Some(from)) = (map.carry(), from) {
                places.carry = Some(Carried {
                    state: carry.state.word(),
                    from: lookup.from.len(),
                    numbers: numbers(from, map)?,
                });
                lookup.from.push(self::places(from));
            }
            lookup.maps.push(places);
        }
        Ok(lookup)
    }
}

/// Returns the number in the pair of each node of the old map, as `stead::Pair` numbers them.
fn numbers(old: &Map, new: &Map) -> stead::Result<Vec<u32>> {
    let mut next = new.nodes().len() as u32; // a map has at most 65,536 nodes
    let numbers = same_nodes(old, new)?.into_iter().map(|node| match node {
        Some(node) => node.0,
        None => {
            next += 1;
            next - 1
        }
    });
    Ok(numbers.collect())
}

/// The policies of a map, numbered as slices name them.
#[derive(Default)]
struct Policies<'a> {
    places: HashMap<PolicyId, u32>,
    members: Vec<Vec<u32>>,
    named: Vec<(u32, &'a str, &'a str)>,
}

impl<'a> Policies<'a> {
    fn table(&mut self, map: &'a Map, slices: impl Iterator<Item = Slice>) -> Slices {
        let (mut firsts, mut again) = (vec![], vec![]);
        for (number, slice) in slices.enumerate() {
            firsts.extend(slice.first.0.to_le_bytes());
            let place = self.members.len() as u32; // a map has less than 2^32 policies
            match self.places.entry(slice.policy) {
                Entry::Occupied(known) => again.push((number, *known.get())),
                Entry::Vacant(new) => {
                    let policy = map.policy(slice.policy);
                    self.members
                        .push(policy.members().map(|node| node.0).collect());
                    let named = policy.name().map(|name| (place, name, policy.kind()));
                    self.named.extend(named);
                    new.insert(place);
                }
            }
        }
        Slices {
            firsts: STANDARD.encode(firsts),
            again,
        }
    }
}

fn places(map: &Map) -> Places<'_> {
    let mut policies = Policies::default();
    let slices = policies.table(map, map.slices());
    let is_base = map.slices().eq(map.base_slices());
    let base = (!is_base).then(|| policies.table(map, map.base_slices()));
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
        domains: domains(map),
        policies: policies.members,
        named: policies.named,
        pins: pins.collect(),
        slices,
        base,
        carry: None,
    }
}

/// Numbers the outermost domains.
fn domains(map: &Map) -> Vec<Option<u32>> {
    let Some(label) = map.spread().next() else {
        return Vec::new();
    };
    let mut numbers = HashMap::new();
    let of_nodes = map.nodes().map(|node| {
        let domain = node.label(label)?;
        let next = numbers.len() as u32;
        Some(*numbers.entry(domain).or_insert(next))
    });
    of_nodes.collect()
}
