//! Maps: whatever is accepted keeps the rules of the format and answers every question.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use stead::format::{encode, FirstPart, Parts, PinPart, TargetPart};
use stead::outage::{Outage, Profile};
use stead::plan::Amounts;
use stead::point::Share;
use stead::policy::{NodeId, PolicyId};
use stead::report::Report;
use stead::tolerance::Tolerance;
use stead::verdict::Verdict;
use stead::weight::Weight;
use stead::{build, build_max_move, carry, Fleet, Keys, Map, Plan, Point};

use crate::input::Input;

/// Where the digest stands in a map.
const DIGEST: std::ops::Range<usize> = 96..128;

/// The bytes of a map, whose digest is made right before they are read: it answers.
pub fn bytes(data: &[u8]) {
    if let Some(map) = of_bytes(data) {
        questions(&map);
    }
}

/// The same, and it is compared, reported, and gets successors.
pub fn changed_bytes(data: &[u8]) {
    if let Some(map) = of_bytes(data) {
        successors(&map);
    }
}

fn of_bytes(data: &[u8]) -> Option<Map> {
    let mut bytes = data.to_vec();
    seal(&mut bytes);
    let map = Map::from_bytes(bytes.clone()).ok()?;
    if map.understood().is_ok() {
        assert_eq!(encode(&map.to_parts()), bytes, "a map has one encoding");
    }
    Some(map)
}

/// Writes the digest of a map into it.
pub fn seal(bytes: &mut [u8]) {
    if bytes.len() < DIGEST.end {
        return;
    }
    bytes[DIGEST].fill(0);
    let digest = Sha256::digest(&*bytes);
    bytes[DIGEST].copy_from_slice(digest.as_slice());
}

/// The fleets of the maps that [`parts`] begins with.
const FLEETS: [&str; 4] = [
    "name = 'a'\nnode = [{name = 'a'}, {name = 'b', weight = 2}, {name = 'c'}]\n",
    "name = 'b'\nreplicas = 2\nspread = ['zone']\nmax_slices = 300\n\
     node = [{name = 'a', labels = {zone = '1'}}, {name = 'b', labels = {zone = '1'}}, \
     {name = 'c', labels = {zone = '2'}}, {name = 'd', labels = {zone = '2'}}]\n\
     pin = [{key = 'k', nodes = ['a', 'c']}]\n",
    "name = 'c'\nhash = 'xxh3'\ntolerance = '5%'\n\
     node = [{name = 'a'}, {name = 'b'}, {name = 'c', attributes = {address = 'x:1'}}]\n\
     policy = [{name = 'p', nodes = ['a', 'b'], weight = 1}]\n\
     first = [{key = 'k', node = 'b'}]\n",
    "name = 'd'\nreplicas = 3\nkey = 'first 1 segments'\n\
     node = [{name = 'a'}, {name = 'b'}, {name = 'c'}, {name = 'd', weight = 0}]\n",
];

/// The parts of maps, changed so that most rules are kept: what is accepted answers.
pub fn parts(data: &[u8]) {
    if let Some(map) = of_parts(data) {
        questions(&map);
    }
}

/// The same, and it is compared, reported, and gets successors.
pub fn changed_parts(data: &[u8]) {
    if let Some(map) = of_parts(data) {
        successors(&map);
    }
}

/// The same, and nodes of it are down.
pub fn outages(data: &[u8]) {
    if let Some(map) = of_parts(data) {
        let down = [NodeId(0), NodeId(map.nodes().len() as u32 - 1)];
        let outage = Outage::sampled(&map, &down, 20);
        assert_eq!(outage.left.iter().sum::<u128>(), 1 << 64);
        let _ = Profile::of(&map, down[0]);
    }
}

fn of_parts(data: &[u8]) -> Option<Map> {
    let mut input = Input(data);
    let parts = base(input.byte());
    let mut parts = parts.clone();
    while !input.is_over() {
        change(&mut parts, &mut input);
    }
    let map = Map::from_bytes(encode(&parts)).ok()?;
    assert_eq!(map.to_parts(), parts, "what is read is what was written");
    Some(map)
}

/// Returns the bytes of a map with some changes, which may break rules.
pub fn made(input: &mut Input<'_>, changes: usize) -> Vec<u8> {
    let mut parts = base(input.byte()).clone();
    (0..changes).for_each(|_| change(&mut parts, input));
    encode(&parts)
}

/// Returns the text of a fleet of one of the maps that [`parts`] begins with: changed, cut, or
/// bytes of the input instead.
pub fn fleet(input: &mut Input<'_>) -> Vec<u8> {
    let mut text = input.one_of(&FLEETS).to_string();
    match input.below(8) {
        0 => text = text.replace("{name = 'c'}", "{name = 'c'}, {name = 'd'}"),
        1 => text = text.replace("weight = 2", &format!("weight = {}", input.below(1000))),
        2 => text += *input.one_of(&["replicas = 2\n", "max_slices = 9\n", "x = 1\n"]),
        3 => text.truncate(input.below(text.len())),
        4 => text = text.replace("name = 'b'", "name = 'e'"),
        5 => {
            let own = 4 * input.below(60);
            return input.bytes(own).to_vec();
        }
        _ => {}
    }
    text.into_bytes()
}

fn base(which: u8) -> &'static Parts {
    static BASES: OnceLock<Vec<Parts>> = OnceLock::new();
    let bases = BASES.get_or_init(|| {
        let build_one = |text: &&str| {
            let fleet = Fleet::parse(text, "fleet.toml").expect(text);
            build(&fleet, None).expect(text)
        };
        let mut bases: Vec<Parts> = FLEETS.iter().map(|t| build_one(t).to_parts()).collect();
        // a change that is under way, and one whose data is being carried
        let first = build_one(&FLEETS[0]);
        let more = FLEETS[0].replace("{name = 'c'}", "{name = 'c'}, {name = 'd'}");
        let fleet = Fleet::parse(&more, "fleet.toml").expect(&more);
        let part = Share(1 << 60);
        let gradual = build_max_move(&fleet, Some(&first), part).expect("a first step");
        bases.push(gradual.to_parts());
        let whole = build(&fleet, Some(&first)).expect("the whole change");
        let carried = carry::begin(Some(&first), &whole).expect("a carry begins");
        bases.extend(carried.map(|map| map.to_parts()));
        bases
    });
    &bases[usize::from(which) % bases.len()]
}

/// Makes one change.
fn change(parts: &mut Parts, input: &mut Input<'_>) {
    let nodes = parts.nodes.len();
    let policies = parts.policies.len();
    match input.below(18) {
        0 => parts.epoch = input.word() >> input.below(64),
        1 => parts.replicas = input.below(8) as u32,
        2 => parts.max_slices = Some(1 + input.below(1000) as u32),
        3 => parts.tolerance = Tolerance::from_millionths(input.word() as u32 % 1_100_000),
        4 => {
            let at = input.below(nodes);
            let millionths = input.word() >> input.below(64);
            if let Some((node, weight)) = parts
                .nodes
                .get_mut(at)
                .zip(Weight::from_millionths(millionths))
            {
                node.weight = weight;
            }
        }
        5 => {
            let at = input.below(nodes);
            let name = String::from_utf8_lossy(input.bytes(3)).into_owned();
            if let Some(node) = parts.nodes.get_mut(at) {
                node.labels.push(("zone".to_owned(), name));
            }
        }
        6 => {
            let (at, name) = (input.below(nodes), input.byte());
            if let Some(node) = parts.nodes.get_mut(at) {
                node.name = format!("n{name}");
                node.formerly = format!("f{}", input.byte() % 4);
            }
            parts.nodes.sort_by(|a, b| a.name.cmp(&b.name));
        }
        7 => {
            let at = input.below(nodes);
            if let Some(node) = parts.nodes.get(at) {
                let mut node = node.clone();
                node.name.push(char::from(b'a' + input.byte() % 26));
                parts.nodes.insert(at + 1, node);
            }
        }
        8 => {
            let (at, member) = (input.below(policies), input.below(4));
            let node = NodeId(input.below(nodes) as u32);
            if let Some(policy) = parts.policies.get_mut(at) {
                match policy.members.get_mut(member) {
                    Some(place) => *place = node,
                    None => policy.members.push(node),
                }
            }
        }
        9 => {
            let at = input.below(policies);
            if let Some(policy) = parts.policies.get_mut(at) {
                policy.weight = Weight::from_millionths(input.word() >> input.below(64));
            }
        }
        10 => {
            let at = input.below(policies);
            if let Some(policy) = parts.policies.get(at) {
                let mut policy = policy.clone();
                policy.members.rotate_left(1);
                parts.policies.push(policy);
            }
            parts.policies.sort_by(|a, b| {
                let key = |p: &stead::format::PolicyPart| (p.name.is_none(), p.name.clone());
                key(a).cmp(&key(b)).then(a.members.cmp(&b.members))
            });
            parts.policies.dedup();
        }
        11 => slices(&mut parts.base, policies, input),
        12 => {
            let mut target = parts.target.take().unwrap_or(TargetPart {
                slices: parts.base.clone(),
                leaving: Vec::new(),
            });
            slices(&mut target.slices, policies, input);
            parts.target = Some(target);
        }
        13 => {
            let node = NodeId(input.below(nodes) as u32);
            if let Some(target) = &mut parts.target {
                target.leaving.push(node);
                target.leaving.sort_unstable();
                target.leaving.dedup();
            }
        }
        14 => {
            let (first, last) = range(parts, input);
            parts.pins.push(PinPart {
                first,
                last,
                policy: PolicyId(input.below(policies) as u32),
                key: None,
                short: input.byte() % 2 == 0,
            });
            parts.pins.sort_by_key(|pin| pin.first);
        }
        15 => {
            let (first, last) = range(parts, input);
            parts.firsts.push(FirstPart {
                first,
                last,
                node: NodeId(input.below(nodes) as u32),
                key: None,
            });
            parts.firsts.sort_by_key(|one| one.first);
        }
        16 => {
            let at = input.below(parts.pins.len());
            if let Some(pin) = parts.pins.get_mut(at) {
                pin.policy = PolicyId(input.below(policies) as u32);
                pin.short = !pin.short;
            }
        }
        _ => {
            if let Some(carry) = &mut parts.carry {
                carry.from_epoch = input.word() >> input.below(64);
            }
        }
    }
}

/// A range of whole cells.
fn range(parts: &Parts, input: &mut Input<'_>) -> (Point, Point) {
    let cells = parts.cells;
    let first = cells.first_point_of(Point(input.word()));
    let wide = input.word() >> (8 + input.below(56));
    let end = cells.round_up(u128::from(first.0) + u128::from(wide) + 1);
    let last = end.saturating_sub(1).min(u128::from(u64::MAX)) as u64;
    (first, Point(last.max(first.0)))
}

/// Adds a slice or gives one away; neighbours stay different.
fn slices(slices: &mut Vec<(Point, PolicyId)>, policies: usize, input: &mut Input<'_>) {
    let policy = PolicyId(input.below(policies) as u32);
    if input.byte() % 2 == 0 {
        let at = input.below(slices.len());
        if let Some(slice) = slices.get_mut(at) {
            slice.1 = policy;
        }
    } else {
        let point = Point(input.word());
        let at = slices.partition_point(|(first, _)| *first < point);
        slices.insert(at, (point, policy));
    }
    slices.dedup_by_key(|(first, _)| *first);
    slices.dedup_by_key(|(_, policy)| *policy);
}

/// Asks a map what can be asked of one alone.
fn questions(map: &Map) {
    answers(map);
    let verdict = Verdict::of(map, 3);
    let _ = (verdict.is_sound(), verdict.has_targets());
}

/// Compares, reports and changes a map.
pub fn successors(map: &Map) {
    if let Ok(report) = Report::of(None, map, true) {
        serde_json::to_vec(&report).expect("a report as JSON");
    }
    let amounts = Amounts::between(map, map);
    if let Ok(plan) = Plan::between(map, map) {
        assert!(plan.moves.is_empty(), "nothing moves from a map to itself");
        assert_eq!(amounts.expect("amounts as well"), plan.amounts);
    }
    let _ = carry::next(map).map(|map| answers(&map));
    let _ = carry::reverse(map).map(|map| answers(&map));
    let _ = carry::close(map, None).map(|map| answers(&map));
    let fleet = map.fleet();
    let text = fleet.to_toml();
    if let Ok(again) = Fleet::parse(&text, "fleet.toml") {
        assert_eq!(
            again.to_toml(),
            text,
            "the text of a fleet is read as it was"
        );
    }
    if map.base_count() < 2000 {
        if let Ok(next) = build(&fleet, Some(map)) {
            successor(map, &next);
        }
        if let Ok(next) = build_max_move(&fleet, Some(map), Share(1 << 58)) {
            successor(map, &next);
        }
    }
}

/// Checks a map that was built on another one.
pub fn successor(old: &Map, new: &Map) {
    assert_eq!((new.epoch(), new.parent()), (old.epoch() + 1, old.digest()));
    Map::from_bytes(new.bytes().to_vec()).expect("what is built can be read");
    answers(new);
    if let Ok(plan) = Plan::between(old, new) {
        let amounts = plan.amounts;
        // docs/placement.md, "What differs between two maps", names the exception. A map that
        // breaks the rules may have such slices with several replicas, too.
        let is_named = |slice: stead::slice::Slice| old.policy(slice.policy).name().is_some();
        let from_named = new.replicas() > 1 && old.base_slices().any(is_named);
        assert!(amounts.moved >= amounts.lower_bound || from_named);
        for step in &plan.moves {
            assert!(step.first <= step.last && (step.from.is_some() || step.to.is_some()));
        }
        let report = Report::of_plan(&plan, old, new, true).expect("a report of a plan");
        serde_json::to_vec(&report).expect("a report as JSON");
    }
}

/// Checks that one question gets one answer, whichever way it is asked.
pub fn answers(map: &Map) {
    let nodes = map.nodes().len();
    let keys: [&[u8]; 6] = [b"", b"frank", b"{a}b", b"user:17", b"\xff\xfe", b"k"];
    let several = Keys::each(&keys);
    let mut points = [Point(0); 6];
    map.points(several, &mut points);
    for (key, point) in keys.iter().zip(points) {
        assert_eq!(map.point(key), point, "a batch gives the same points");
        let all: Vec<NodeId> = map.locate_all(key).collect();
        let first = map.locate(key);
        assert_eq!(all.first(), Some(&first), "the first node is the primary");
        assert!(all.iter().all(|node| node.index() < nodes));
        let distinct = |list: &[NodeId]| {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            sorted.windows(2).all(|two| two[0] != two[1])
        };
        let slice = map.slice_of(point);
        assert!(slice.first <= point && point <= slice.last);
        let wanted = nodes.min(8);
        let preferred = map.prefer(key, wanted);
        assert!(distinct(&preferred) && preferred.len() <= wanted);
        // a ring that was drawn may name a node twice
        let mut holders: Vec<NodeId> = Vec::new();
        all.iter().for_each(|node| {
            if !holders.contains(node) {
                holders.push(*node);
            }
        });
        let both = holders.len().min(preferred.len());
        assert_eq!(
            preferred[..both],
            holders[..both],
            "prefer begins with the holders"
        );
    }
    let mut policies = [PolicyId(0); 6];
    map.policies_of_points(&points, &mut policies);
    for (point, policy) in points.iter().zip(policies) {
        assert_eq!(
            map.policy_of(*point),
            policy,
            "a batch gives the same policies"
        );
    }
    let slices: Vec<_> = map.slices().take(3000).collect();
    for two in slices.windows(2) {
        assert_eq!(
            two[0].last.0 + 1,
            two[1].first.0,
            "slices follow each other"
        );
    }
    for slice in slices.iter().take(50) {
        assert_eq!(map.policy_of(slice.last), slice.policy);
    }
}
