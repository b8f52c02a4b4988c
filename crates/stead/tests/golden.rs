//! Frozen digests: the same fleets and histories give the same bytes for ever. A frozen digest
//! proves that nothing changed, not that it is right; guarantees.rs and the reference check that. A
//! change here is a new version of the algorithm or of the format.

use stead::{build, Fleet, Map};

fn history(fleets: impl Iterator<Item = String>) -> (String, usize) {
    let mut map: Option<Map> = None;
    for text in fleets {
        map = Some(build(&Fleet::parse(&text, "golden.toml").unwrap(), map.as_ref()).unwrap());
    }
    let map = map.unwrap();
    (
        map.digest().iter().map(|b| format!("{b:02x}")).collect(),
        map.base_count(),
    )
}

fn equal(n: usize) -> String {
    let nodes: String = (0..n)
        .map(|i| format!("[[node]]\nname = \"n{i:04}\"\n"))
        .collect();
    format!("name = \"golden\"\n{nodes}")
}

/// Weights from 1 to 2 in steps of a seventeenth, with every seventh node left out. So nodes come,
/// leave and get other weights.
fn uneven(step: usize) -> String {
    let node = |i: usize| {
        let millionths = 1_000_000 + ((i * 5 + step * 3) % 17) * 1_000_000 / 17;
        format!(
            "[[node]]\nname = \"n{i:04}\"\nweight = {}.{:06}\n",
            millionths / 1_000_000,
            millionths % 1_000_000
        )
    };
    let nodes: String = (step..step * 2 + 3)
        .filter(|i| (i + step) % 7 != 0)
        .map(node)
        .collect();
    format!("name = \"golden\"\n{nodes}")
}

#[test]
fn digests_stay() {
    let seed2 = |w: &[&str]| {
        let node = |(i, w): (usize, &&str)| format!("[[node]]\nname = \"n{i}\"\nweight = {w}\n");
        format!(
            "name = \"golden\"\n{}",
            w.iter().enumerate().map(node).collect::<String>()
        )
    };
    let figure_6 = [
        vec!["1"],
        vec!["1"; 2],
        vec!["1"; 3],
        vec!["1"; 4],
        vec!["1", "1", "1", "1.5"],
    ];
    let policies = "name = 'golden'\nhash = 'xxh3'\nnode = [{name = 'a', weight = 2}, {name = 'b', labels = {zone = 'z'}}]\n\
        policy = [{name = 'p', kind = 'chain', nodes = ['b', 'a'], weight = 0.5}]\n\
        pin = [{key = 'justin', policy = 'p'}, {range = ['6.00000%', '6.00001%'], nodes = ['b']}]\n";
    let found = [
        ("figure 6", history(figure_6.iter().map(|w| seed2(w)))),
        (
            "figure 7",
            history([4, 7, 10, 13, 16].into_iter().map(equal)),
        ),
        ("one by one to 100", history((1..=100).map(equal))),
        ("300 by 10", history((1..=30).map(|k| equal(k * 10)))),
        ("1000 by 100", history((1..=10).map(|k| equal(k * 100)))),
        (
            "growing, losing, reweighting",
            history((1..=60).map(uneven)),
        ),
        (
            "policies and pins",
            history(std::iter::once(policies.to_owned())),
        ),
    ];
    let found: Vec<String> = found
        .iter()
        .map(|(name, (digest, slices))| format!("{name}: {slices} slices, {digest}"))
        .collect();
    assert_eq!(found, FROZEN);
}

const ZONE: &str = "\"zone\"";
const RACK: &str = "\"rack\"";
const APART: &str = "\"zone\", \"rack\"";

/// Fleets with replicas: `racks[i]` nodes in rack i, three racks a zone, weights 1 to 3.
fn racks(replicas: usize, spread: &str, racks: &[usize], more: &str) -> String {
    let node = |rack: usize, i: usize| {
        let (zone, weight) = (rack / 3, 1 + (rack + i) % 3);
        format!(
            "[[node]]\nname = \"z{zone}r{rack}n{i}\"\nweight = {weight}\nlabels = \
            {{ zone = \"{zone}\", rack = \"{rack}\" }}\n"
        )
    };
    let nodes: String = racks
        .iter()
        .enumerate()
        .flat_map(|(rack, n)| (0..*n).map(move |i| node(rack, i)))
        .collect();
    format!("name = \"golden\"\nreplicas = {replicas}\nspread = [{spread}]\n{more}{nodes}")
}

/// Like `digests_stay`, with replicas. To print the digests: `cargo test -p stead --test golden --
/// --nocapture replicas`.
#[test]
fn digests_with_replicas_stay() {
    // the racks grow, a rack is lost, a zone comes, a node leaves, a zone leaves
    let zones: [&[usize]; 6] = [
        &[2, 2, 2, 2, 2, 2, 2, 2, 2],
        &[3, 2, 2, 2, 4, 2, 2, 2, 2],
        &[3, 2, 0, 2, 4, 2, 2, 2, 2],
        &[3, 2, 0, 2, 4, 2, 2, 2, 2, 3, 3],
        &[3, 2, 0, 2, 4, 2, 2, 1, 2, 3, 3],
        &[0, 0, 0, 2, 4, 2, 2, 1, 2, 3, 3],
    ];
    let changed = [
        (1, ""),
        (2, ""),
        (2, ZONE),
        (3, ZONE),
        (3, APART),
        (5, APART),
        (4, RACK),
        (2, ""),
        (1, APART),
    ];
    let found = [
        (
            "zones and racks",
            history(zones.iter().map(|n| racks(3, APART, n, ""))),
        ),
        (
            "replicas and spread",
            history(
                changed
                    .iter()
                    .map(|(r, spread)| racks(*r, spread, &[2, 1, 2, 2, 2, 1, 3], "")),
            ),
        ),
    ];
    let found: Vec<String> = found
        .iter()
        .map(|(name, (digest, slices))| format!("{name}: {slices} slices, {digest}"))
        .collect();
    found.iter().for_each(|line| println!("    \"{line}\","));
    assert_eq!(found, FROZEN_WITH_REPLICAS);
}

const FROZEN_WITH_REPLICAS: [&str; 2] = [
    "zones and racks: 809 slices, a805050f6aa21cb7c025bef86db5bdf3a7aa0332a25c48e1f3c3fe3cccd64fc3",
    "replicas and spread: 78 slices, \
     cb4924ce1594814421837f0fd22b5c61abd09f316923af9a1b9d3fe5e9a85744",
];

#[test]

fn digests_with_replicas_and_a_limit_stay() {
    let sizes = [
        [2, 3, 2, 3],
        [3, 3, 2, 3],
        [3, 3, 2, 5],
        [3, 1, 2, 5],
        [4, 4, 4, 4],
    ];
    let (digest, slices) = history(sizes.iter().map(|n| racks(3, RACK, n, "max_slices = 60\n")));
    let found = format!("within 60 slices: {slices} slices, {digest}");
    println!("    \"{found}\"");
    assert_eq!(
        found,
        "within 60 slices: 29 slices, \
        e5454c1d16570290af415533ee634aa66f311d87acae48b6ab0ec3c13180eece"
    );
}

const FROZEN: [&str; 7] = [
    "figure 6: 5 slices, 3e346c29f0ca344a16847d07b860ddd59deab599f8df5e065d6641cc8becdc83",
    "figure 7: 29 slices, f26e14253a337a5326d038e0202830ccbf13e773461fe59615b6188189470e2e",
    "one by one to 100: 2531 slices, \
     11b2f0ed3b8ec3a8783d9002651c8c2034bba4758e0c3f791a187f354dc1917c",
    "300 by 10: 2340 slices, 4b5aeb6f6b0252dc297ecc3a68794286cc3db8a70898a0b239ca84a493883012",
    "1000 by 100: 2850 slices, 2e5674fb0d4e308ccfe0b2aecd8b502472de9a15745fd87b2a10b96ed83f60c1",
    "growing, losing, reweighting: 153 slices, \
     083433bb5a21cce077c47198e09c35c43c0db9d9a218538afaea55796928aaf7",
    "policies and pins: 3 slices, 77bd1dff00c2b6bbd243695c977df6332ee5b7815372a20820547943074861a6",
];
