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
    let secret = equal(5).replacen(
        '\n',
        "\nhash = 'siphash'\nsecret = '000102030405060708090a0b0c0d0e0f'\n",
        1,
    );
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
        ("siphash", history(std::iter::once(secret))),
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

/// Like `digests_stay`, with replicas. To print the digests: `cargo test -p stead --test all --
/// --nocapture golden::digests_with_replicas`.
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
    "zones and racks: 598 slices, 96740ce01a13d284c5c73d4ecbb8695e8cd3ee92bce9ed380422de2f59b81806",
    "replicas and spread: 78 slices, \
     e3ed26e92ede979e1ae1853668aa2173702fd3c30206c542cff2f806da3f4728",
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
        "within 60 slices: 60 slices, \
        232c1dce99bc2dce95333aec215fbaeae6354cb8580ae35ab72e7d2273941d66"
    );
}

const FROZEN: [&str; 8] = [
    "figure 6: 5 slices, 05fdf9108ff9a4d0b76e40961efd6e48442cdb12b7bafbc724ed41db0166cb00",
    "figure 7: 27 slices, 7dee5d5fafc4ed9cd78c9874d482468d309f29c2c1ad05c7bd4b9590547f575b",
    "one by one to 100: 2505 slices, \
     cc019313a8fbc08a636b48ea93f5abc8a173e626badc69e9dc4151a1966c4f33",
    "300 by 10: 2327 slices, 5b48bc94733b63cce9d24463102f9b1fcd3fe1ccf3c3c99d9913d8898607929c",
    "1000 by 100: 2706 slices, 817ce8833690f7e2fcce2e9e96a598f6755bd8d83820de3f2be94150b2b9757f",
    "growing, losing, reweighting: 150 slices, \
     d2ce5b74d9d0f0fc50b6311b10a569a31742d4a9db49554d187c1478956e380f",
    "policies and pins: 3 slices, e09379baceb87a1182e71555dee4c0c0a751afe43736b5ecbe8207d68fcd784b",
    "siphash: 5 slices, a1b42f352215be1d0a35bd70c9e8088200d6c494225e386e86e5bd082ee83a85",
];
