//! A gradual change takes no node above the larger of its shares before and after, over 40 random
//! fleets; docs/placement.md, "Gradual change". The control is a walk over the space in the order
//! of the points, which does.

use std::collections::BTreeMap;

use stead::policy::NodeId;
use stead::slice::Slice;
use stead::{build, build_max_move, Fleet, Map, Share};

/// The points of each node, by its name.
type Held = BTreeMap<String, u128>;
/// Points, their nodes before, and their nodes after.
type Run = (u128, Vec<String>, Vec<String>);

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % u64::from(n)) as u32
    }
}

/// A change of random fleets with three copies in four zones or so.
fn change(random: &mut Random) -> (Fleet, Fleet) {
    let mut below = |n: u32| random.below(n);
    let zones = 3 + below(3);
    let mut nodes: Vec<(u32, u32, u32)> = (0..10 + below(14))
        .map(|name| (name, 1 + below(4), name % zones))
        .collect();
    let before = fleet(&nodes, 3);
    for _ in 0..=below(4) {
        let number = below(nodes.len() as u32) as usize;
        match below(5) {
            0 => drop(nodes.remove(number)),
            1 => nodes[number].1 = 1 + below(6),
            2 => nodes[number].2 = below(zones + 1),
            _ => nodes.push((100 + nodes.len() as u32, 1 + below(4), below(zones + 1))),
        }
    }
    let replicas = if below(5) == 0 { 2 } else { 3 };
    (before, fleet(&nodes, replicas))
}

fn fleet(nodes: &[(u32, u32, u32)], replicas: u32) -> Fleet {
    let node = |(name, weight, zone): &(u32, u32, u32)| {
        format!("[[node]]\nname = 'n{name}'\nweight = {weight}\nlabels = {{zone = 'z{zone}'}}\n")
    };
    let nodes: String = nodes.iter().map(node).collect();
    let text = format!("name = 'peaks'\nreplicas = {replicas}\nspread = ['zone']\n{nodes}");
    Fleet::parse(&text, "fleet.toml").unwrap()
}

fn names(map: &Map, nodes: impl IntoIterator<Item = NodeId>) -> Vec<String> {
    let name = |node| map.node(node).name().to_owned();
    nodes.into_iter().map(name).collect()
}

fn held(map: &Map) -> Held {
    let mut held = Held::new();
    for slice in map.base_slices() {
        for name in names(map, map.policy(slice.policy).distinct()) {
            *held.entry(name).or_default() += slice.points();
        }
    }
    held
}

/// How many nodes hold more than before the change and more than after it.
fn above(now: &Held, before: &Held, after: &Held) -> usize {
    let of = |held: &Held, name: &String| held.get(name).copied().unwrap_or(0);
    let is_above =
        |(name, points): &(&String, &u128)| **points > of(before, name).max(of(after, name));
    now.iter().filter(is_above).count()
}

/// Cuts the space at the bounds of both maps.
fn runs(old: &Map, new: &Map) -> Vec<Run> {
    let (old_slices, new_slices): (Vec<Slice>, Vec<Slice>) =
        (old.base_slices().collect(), new.base_slices().collect());
    let (mut runs, mut i, mut j, mut first) = (Vec::new(), 0, 0, 0u128);
    while i < old_slices.len() {
        let (a, b) = (old_slices[i], new_slices[j]);
        let end = u128::from(a.last.0.min(b.last.0)) + 1;
        let nodes = |map: &Map, slice: Slice| names(map, map.policy(slice.policy).members());
        runs.push((end - first, nodes(old, a), nodes(new, b)));
        first = end;
        i += usize::from(end == u128::from(a.last.0) + 1);
        j += usize::from(end == u128::from(b.last.0) + 1);
    }
    runs
}

/// What a change passes through: node-steps above both shares, steps, and the most slices.
#[derive(Default, Debug)]
struct Passed {
    above: usize,
    steps: usize,
    slices: usize,
}

/// Takes the runs in the order of the points.
fn walk_by_points(old: &Map, new: &Map, budget: u128) -> Passed {
    let (before, after, runs) = (held(old), held(new), runs(old, new));
    let mut taken = vec![0u128; runs.len()];
    let (mut now, mut passed) = (before.clone(), Passed::default());
    let mut next = 0;
    while next < runs.len() {
        let mut left = budget;
        while let Some((points, from, to)) = runs.get(next) {
            let gains: Vec<&String> = to.iter().filter(|n| !from.contains(n)).collect();
            let losses = from.iter().filter(|n| !to.contains(n));
            let wanted = points - taken[next];
            let affordable = left.checked_div(gains.len() as u128).unwrap_or(wanted);
            let cells = wanted.min(affordable);
            left -= cells * gains.len() as u128;
            taken[next] += cells;
            for name in losses {
                *now.get_mut(name).unwrap() -= cells;
            }
            for name in gains {
                *now.entry(name.clone()).or_default() += cells;
            }
            if cells < wanted {
                break;
            }
            next += 1;
        }
        passed.steps += 1;
        passed.above += above(&now, &before, &after);
        let sides = runs
            .iter()
            .zip(&taken)
            .flat_map(|((points, from, to), taken)| [(*taken, to), (points - taken, from)]);
        let mut sides: Vec<&Vec<String>> = sides
            .filter_map(|(points, nodes)| (points > 0).then_some(nodes))
            .collect();
        sides.dedup();
        passed.slices = passed.slices.max(sides.len());
    }
    passed
}

fn walk_by_steps(old: &Map, fleet: &Fleet, end: &Map, part: Share) -> Passed {
    let (before, after) = (held(old), held(end));
    let (mut passed, mut map) = (Passed::default(), None);
    loop {
        let next = build_max_move(fleet, Some(map.as_ref().unwrap_or(old)), part).unwrap();
        passed.steps += 1;
        passed.above += above(&held(&next), &before, &after);
        passed.slices = passed.slices.max(next.base_count());
        let is_complete = next.target_slices().is_none();
        map = Some(next);
        if is_complete {
            return passed;
        }
        assert!(passed.steps < 300, "does not come to an end");
    }
}

#[test]
fn no_node_goes_above_its_shares_before_and_after() {
    let mut random = Random(19);
    let part = stead::fleet::part("2%").unwrap();
    let (mut control, mut steps) = (Passed::default(), Passed::default());
    let mut widest = 0.0f64;
    for _ in 0..40 {
        let (first, wish) = change(&mut random);
        let old = build(&first, None).unwrap();
        let end = build(&wish, Some(&old)).unwrap();
        let by_points = walk_by_points(&old, &end, part.0 * u128::from(wish.replicas));
        let by_steps = walk_by_steps(&old, &wish, &end, part);
        widest = widest.max(by_steps.slices as f64 / by_points.slices as f64);
        for (sum, one) in [(&mut control, by_points), (&mut steps, by_steps)] {
            sum.above += one.above;
            sum.steps += one.steps;
            sum.slices += one.slices;
        }
    }
    println!("in the order of the points: {control:?}\nas stead takes them: {steps:?}");
    println!("the largest ratio of slices is {widest:.3}");
    assert!(control.above > 0, "no fleet of this test needs the rule");
    assert_eq!(steps.above, 0, "node-steps above both shares");
    // a step may leave less than it could, so a change may take a step more
    assert!(steps.steps <= control.steps + 4, "{} steps", steps.steps);
    assert!(
        steps.slices * 100 <= control.slices * 105,
        "{} slices",
        steps.slices
    );
}
