//! Firsts: the node of an entry answers first where it holds the points, and nothing else changes.

use stead::format::{encode, Parts};
use stead::point::SPACE;
use stead::policy::NodeId;
use stead::report::Report;
use stead::verdict::Verdict;
use stead::{build, build_max_move, Fleet, Map, Plan, Point, Share};

fn fleet(weights: &[(&str, u32)], more: &str) -> Fleet {
    let nodes: String = weights
        .iter()
        .map(|(name, weight)| format!("[[node]]\nname = '{name}'\nweight = {weight}\n"))
        .collect();
    Fleet::parse(
        &format!("name = 'm'\nreplicas = 2\n{nodes}{more}"),
        "fleet.toml",
    )
    .unwrap()
}

const NODES: [(&str, u32); 5] = [("a", 1), ("b", 2), ("c", 1), ("d", 1), ("e", 2)];
const FIRSTS: &str = "[[first]]\nrange = ['15%', '30%']\nnode = 'a'\n[[first]]\nkey = \
    'frank'\nnode = 'e'\n[[first]]\nrange = ['50%', '100%']\nnode = 'b'\n";

fn with_firsts() -> Fleet {
    fleet(&NODES, FIRSTS)
}

/// The names of the nodes of a point.
fn nodes(map: &Map, point: Point) -> Vec<&str> {
    let members = map.policy(map.policy_of(point)).members();
    members.map(|node| map.node(node).name()).collect()
}

/// Points everywhere, among them the bounds of all slices.
fn points(maps: &[&Map]) -> Vec<Point> {
    let bounds = maps
        .iter()
        .flat_map(|map| map.slices().chain(map.base_slices()))
        .flat_map(|slice| [slice.first, slice.last]);
    bounds
        .chain((0..2000).map(|i| Point(i << 53 | 7)))
        .collect()
}

/// Whether the nodes of each point are those of the map without firsts, in the order of the entry
/// over it. Returns in how many points an entry took effect.
fn follows(map: &Map, without: &Map) -> usize {
    let mut effects = 0;
    for point in points(&[map, without]) {
        let mut expected = nodes(without, point);
        let first = map
            .firsts()
            .find(|first| first.first <= point && point <= first.last);
        let pinned = map
            .pins()
            .any(|pin| pin.slice.first <= point && point <= pin.slice.last);
        if let Some(first) = first.filter(|_| !pinned) {
            let name = map.node(first.node).name();
            if let Some(place) = expected.iter().position(|node| *node == name) {
                effects += usize::from(place > 0);
                let name = expected.remove(place);
                expected.insert(0, name);
            }
        }
        assert_eq!(nodes(map, point), expected, "{point}");
    }
    effects
}

#[test]
fn the_node_answers_first_where_it_holds_the_points_and_nothing_else_changes() {
    let without = build(&fleet(&NODES, ""), None).unwrap();
    let map = build(&with_firsts(), Some(&without)).unwrap();
    assert!(follows(&map, &without) > 100);
    assert_eq!(map.firsts().len(), 3);
    let plan = Plan::between(&without, &map).unwrap();
    assert!(plan.moves.is_empty());
    let amounts = plan.amounts;
    assert_eq!(
        (amounts.moved.0, amounts.reordered.0, amounts.by_hand.0),
        (0, 0, 0)
    );
    let (before, after) = (Verdict::of(&without, 9), Verdict::of(&map, 9));
    assert!(after.is_sound() && after.warnings.listed.is_empty());
    assert_eq!(before.nodes, after.nodes);
}

/// What a report calls reordered by hand is found point by point here: the first node is another,
/// the old one still holds the point, and rebalancing did not do it.
#[test]
fn the_report_counts_what_firsts_and_pins_reorder() {
    let pin = "[[pin]]\nrange = ['40%', '45%']\nnodes = ['c', 'd']\n";
    let turned = "[[pin]]\nrange = ['40%', '45%']\nnodes = ['d', 'c']\n";
    let more = [("a", 1), ("b", 2), ("c", 3), ("d", 1), ("e", 2), ("f", 2)];
    let old = build(&fleet(&NODES, pin), None).unwrap();
    let new = build(&fleet(&more, &format!("{turned}{FIRSTS}")), Some(&old)).unwrap();
    let turns = |before: &[&str], after: &[&str]| {
        before.first() != after.first() && after.contains(&before[0])
    };
    fn base(map: &Map, point: Point) -> Vec<&str> {
        let slice = map.base_slices().find(|slice| slice.last >= point).unwrap();
        let members = map.policy(slice.policy).members();
        members.map(|node| map.node(node).name()).collect()
    }
    let all = |map: &Map| -> Vec<u64> {
        let slices = map.slices().chain(map.base_slices());
        slices.map(|slice| slice.first.0).collect()
    };
    let mut bounds: Vec<u64> = all(&old).into_iter().chain(all(&new)).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let ends = bounds
        .iter()
        .skip(1)
        .map(|bound| u128::from(*bound))
        .chain([1 << 64]);
    let expected: u128 = bounds
        .iter()
        .zip(ends)
        .filter(|(start, _)| {
            let point = Point(**start);
            let (before, after) = (base(&old, point), base(&new, point));
            turns(&nodes(&old, point), &nodes(&new, point)) && !turns(&before, &after)
        })
        .map(|(start, end)| end - u128::from(*start))
        .sum();
    let report = Report::of(Some(&old), &new, false).unwrap();
    let copies = report.copies.unwrap();
    assert_eq!(copies.reordered_by_hand.points, expected.to_string());
    // the pin alone turns 5 %
    assert!(expected > SPACE / 20 && expected < SPACE);
}

#[test]
fn a_map_without_firsts_is_as_ever_and_one_whose_firsts_went_is_so_again() {
    let without = build(&fleet(&NODES, ""), None).unwrap();
    let map = build(&with_firsts(), Some(&without)).unwrap();
    assert!(!map.same(&without));
    let back = build(&fleet(&NODES, ""), Some(&map)).unwrap();
    assert!(back.same(&build(&fleet(&NODES, ""), Some(&without)).unwrap()));
    // a first map with them has the same base slices
    let first = build(&with_firsts(), None).unwrap();
    assert!(first.base_slices().eq(without.base_slices().map(|slice| {
        let names: Vec<NodeId> = without.policy(slice.policy).members().collect();
        let policy = first
            .policies()
            .find(|p| p.members().eq(names.iter().copied()));
        stead::slice::Slice {
            policy: policy.unwrap().id,
            ..slice
        }
    })));
}

#[test]
fn they_survive_rebalances_and_a_drained_node_is_emptied() {
    let mut map = build(&with_firsts(), None).unwrap();
    for weights in [
        [("a", 1), ("b", 2), ("c", 3), ("d", 1), ("e", 2)],
        [("a", 0), ("b", 2), ("c", 3), ("d", 1), ("e", 2)],
        [("a", 4), ("b", 0), ("c", 3), ("d", 1), ("e", 1)],
    ] {
        let next = build(&fleet(&weights, FIRSTS), Some(&map)).unwrap();
        let without = build(&fleet(&weights, ""), Some(&map)).unwrap();
        assert!(follows(&next, &without) > 0);
        let verdict = Verdict::of(&next, 9);
        assert!(verdict.is_sound());
        for (holder, (name, weight)) in verdict.nodes.iter().zip(weights) {
            if weight == 0 {
                assert_eq!((holder.now.points, holder.pinned_points), (0, 0), "{name}");
            }
        }
        map = next;
    }
}

#[test]
fn pins_decide_where_both_are() {
    let pins = "[[pin]]\nrange = ['5%', '14%']\nnodes = ['c', 'd']\n[[pin]]\nkey = 'frank'\nnodes \
        = ['a', 'b']\n[[pin]]\nrange = ['55%', '60%']\nnodes = ['c', 'b']\n";
    let map = build(&fleet(&NODES, &format!("{FIRSTS}{pins}")), None).unwrap();
    let without = build(&fleet(&NODES, pins), None).unwrap();
    assert!(follows(&map, &without) > 0);
    assert_eq!(nodes(&map, map.point(b"frank")), ["a", "b"]);
}

#[test]
fn each_step_of_a_gradual_change_follows_them() {
    let mut map = build(&with_firsts(), None).unwrap();
    let weights = [("a", 1), ("b", 2), ("c", 1), ("e", 2)]; // d leaves
    for _ in 0..2 {
        let step = |more: &str| {
            build_max_move(&fleet(&weights, more), Some(&map), Share((1 << 64) / 20)).unwrap()
        };
        let (next, without) = (step(FIRSTS), step(""));
        assert!(next.target_slices().is_some());
        assert!(follows(&next, &without) > 0);
        map = next;
    }
}

#[test]
fn the_fleet_of_a_map_has_them_and_gives_the_map_again() {
    let map = build(&with_firsts(), None).unwrap();
    let fleet = map.fleet();
    assert_eq!(fleet.firsts.len(), 3);
    let text = fleet.to_toml();
    let again = build(&Fleet::parse(&text, "again.toml").unwrap(), Some(&map)).unwrap();
    assert!(again.same(&map), "{text}");
    assert!(
        text.contains("\n[[first]]\nrange = [\"15%\", \"30%\"]\nnode = \"a\"\n"),
        "{text}"
    );
    let json = r#"{"name": "m", "replicas": 2, "node": [{"name": "a"}, {"name": "b"}],
        "first": [{"key": "frank", "node": "a"}]}"#;
    assert_eq!(Fleet::parse(json, "f.json").unwrap().firsts.len(), 1);
}

#[test]
fn named_policies_are_never_turned() {
    let text = "name = 'm'\nnode = [{name = 'a', weight = 0}, {name = 'b', weight = 0}]\n[[policy]]\nname = \
        'p'\nnodes = ['a', 'b']\nweight = 1\n[[first]]\nrange = ['0%', '50%']\nnode = 'b'\n";
    let map = build(&Fleet::parse(text, "f").unwrap(), None).unwrap();
    assert_eq!(nodes(&map, Point(0)), ["a", "b"]);
}

#[test]
fn wrong_entries_are_told_with_their_line() {
    let nodes = "name = 'm'\nnode = [{name = 'a'}, {name = 'b'}]\n";
    for (entry, told) in [
        (
            "[[first]]\nkey = 'x'\nnode = 'c'\n",
            "f:5: node `c` is not in this fleet; add it as a [[node]]",
        ),
        (
            "[[first]]\nnode = 'a'\n",
            "f:3: a first needs `key` or `range`",
        ),
        (
            "[[first]]\nkey = 'x'\n",
            "f:3: required key `node` is missing in [[first]]",
        ),
        (
            "[[first]]\nkey = 'x'\nrange = ['1%', '2%']\nnode = 'a'\n",
            "f:5: a first has either `key` or `range`",
        ),
        (
            "[[first]]\nkey = 'x'\nnodes = ['a']\nnode = 'a'\n",
            "f:5: unknown key `nodes` in [[first]]",
        ),
        (
            "[[first]]\nrange = ['2%', '1%']\nnode = 'a'\n",
            "f:4: the first percentage",
        ),
    ] {
        let error = Fleet::parse(&format!("{nodes}{entry}"), "f")
            .unwrap_err()
            .to_string();
        assert!(error.contains(told), "{error}");
    }
    let overlap = "[[first]]\nrange = ['1%', '3%']\nnode = 'a'\n[[first]]\nrange = ['2%', \
        '4%']\nnode = 'b'\n";
    let fleet = Fleet::parse(&format!("{nodes}{overlap}"), "f").unwrap();
    let error = build(&fleet, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "f:6: first covers points of the first in line 3; firsts must not overlap"
    );
}

#[test]
fn a_map_that_breaks_a_rule_of_firsts_is_refused() {
    let good = build(&with_firsts(), None).unwrap().to_parts();
    assert!(Map::from_bytes(encode(&good)).is_ok());
    let refused = |told: &str, change: &dyn Fn(&mut Parts)| {
        let mut parts = good.clone();
        change(&mut parts);
        let Err(error) = Map::from_bytes(encode(&parts)) else {
            panic!("not refused: {told}")
        };
        let error = error.to_string();
        assert!(error.contains(told), "{error}");
    };
    refused("must not overlap", &|parts| parts.firsts.swap(0, 1));
    refused("must not overlap", &|parts| {
        parts.firsts[1].last = parts.firsts[2].first
    });
    refused("there is no node 9", &|parts| {
        parts.firsts[0].node = NodeId(9)
    });
    refused("cover exactly its key's cell", &|parts| {
        let by_key = parts
            .firsts
            .iter()
            .position(|first| first.key.is_some())
            .unwrap();
        parts.firsts[by_key].key = Some(b"another".to_vec());
    });
    // without the firsts, a list in an order that no base slice has is used by nothing
    let three = Fleet {
        replicas: 3,
        ..with_firsts()
    };
    let mut parts = build(&three, None).unwrap().to_parts();
    parts.firsts.clear();
    let error = Map::from_bytes(encode(&parts)).err().unwrap().to_string();
    assert!(error.contains("an unnamed policy holds nothing"), "{error}");
}
