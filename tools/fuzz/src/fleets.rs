//! Texts of fleets, TOML and JSON: what is accepted can be built, and its own text is read as the
//! same fleet.

use stead::verdict::{Rule, Verdict};
use stead::{build, Fleet, Map};

use crate::maps::answers;

/// A text of a fleet.
pub fn texts(data: &[u8]) {
    let Ok(fleet) = Fleet::parse_bytes(data, "fleet") else {
        return;
    };
    let text = fleet.to_toml();
    let again = Fleet::parse(&text, "fleet");
    let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(
        again.to_toml(),
        text,
        "the text of a fleet is read as it was"
    );
    let many = fleet.replicas > 8
        || fleet.spread.len() > 6
        || fleet.nodes.len() > 40
        || fleet.pins.len() + fleet.firsts.len() + fleet.policies.len() > 200;
    if many {
        return; // larger fleets take longer, and are no other case
    }
    let (first, second) = (build(&fleet, None), build(&again, None));
    let Ok(map) = first else {
        assert!(second.is_err());
        return;
    };
    assert!(map.same(&second.expect("the same fleet can be built")));
    let read = Map::from_bytes(map.bytes().to_vec()).expect("what is built can be read");
    // a pin may break a rule, which is said; whoever means it says `short`
    let broken = Verdict::of(&read, 3).violations;
    assert_eq!(
        broken.count(),
        broken.of(Rule::Pins),
        "what is built keeps its rules"
    );
    answers(&read);
    let back = build(&read.fleet(), None).expect("the fleet of a map can be built");
    assert_eq!(back.slice_count(), map.slice_count());
}
