//! Tests of every kind of ring: what it draws can be adopted, evolved with the least movement, and
//! renamed. The tables of the RRD article come out, too.

use stead::ring::{Kind, Member, Ring, Servers, Weights, KINDS};
use stead::weight::Weight;
use stead::{build, Fleet, Map, Plan};

fn drawn(kind: &str, list: &str, set: &[&str]) -> Ring {
    Kind::named(kind)
        .unwrap()
        .draw(
            &Servers {
                bytes: list.as_bytes(),
                file: "servers",
            },
            set,
        )
        .unwrap()
}

/// Kinds that can be drawn from names and weights alone, each in all its variants.
fn all(members: &[Member]) -> Vec<(String, Ring)> {
    let rings = KINDS.iter().flat_map(|kind| {
        kind.guesses(members)
            .into_iter()
            .map(move |(set, ring)| (format!("{} {set:?}", kind.name), ring))
    });
    rings.collect()
}

fn members(count: usize) -> Vec<Member> {
    (1..=count)
        .map(|i| Member::new(format!("10.0.0.{i}:11211"), Weight::ONE))
        .collect()
}

fn next(fleet: &str, map: &Map) -> Map {
    build(&Fleet::parse(fleet, "fleet").unwrap(), Some(map)).unwrap()
}

#[test]
fn an_adopted_ring_evolves_with_the_least_movement_and_splits_no_cell() {
    let rings = all(&members(10));
    assert!(
        rings.len()
            >= KINDS
                .iter()
                .filter(|kind| kind.name == "karger" || kind.name == "uhashring")
                .count()
                * 2
    );
    for (what, ring) in rings {
        let adopted = ring.map("cache").unwrap();
        assert_eq!(
            (adopted.hash(), adopted.cells(), adopted.epoch()),
            (ring.hash.clone(), ring.cells, 1),
            "{what}"
        );
        let fleet = ring.fleet("cache");
        let balanced = next(&fleet, &adopted);
        let grown = next(&(fleet.clone() + "\n[[node]]\nname = \"new\"\n"), &balanced);
        for (before, after) in [
            (&adopted, &balanced),
            (&balanced, &grown),
            (
                &adopted,
                &next(&(fleet.clone() + "\n[[node]]\nname = \"new\"\n"), &adopted),
            ),
        ] {
            let plan = Plan::between(before, after).unwrap();
            assert_eq!(plan.amounts.moved, plan.amounts.lower_bound, "{what}");
            assert_eq!(
                (after.hash(), after.cells()),
                (ring.hash.clone(), ring.cells),
                "{what}"
            );
            assert!(
                after.slices().all(|slice| ring.cells.is_bound(slice.first)),
                "{what}"
            );
        }
        // the keys that go to the new node are the only ones that move
        for i in 0..2000 {
            let key = format!("user/{i}");
            let (old, new) = (
                balanced.node(balanced.locate(key.as_bytes())).name(),
                grown.node(grown.locate(key.as_bytes())).name(),
            );
            assert!(
                old == new || new == "new",
                "{what}: {key} went from {old} to {new}"
            );
        }
        // the answers are the ring's, key by key
        for i in 0..2000 {
            let key = format!("user/{i}");
            let server = ring.locate(key.as_bytes()).unwrap() as usize;
            assert_eq!(
                adopted.node(adopted.locate(key.as_bytes())).name(),
                ring.members[server].name,
                "{what}: {key}"
            );
        }
    }
}

#[test]
fn nodes_take_names_that_last_without_moving() {
    for (what, ring) in all(&members(7)) {
        let ring = ring.with(Weights::Shares);
        let adopted = ring.map("cache").unwrap();
        let fleet = ring.fleet("cache").replace(
            "name = \"10.0.0.3:11211\"",
            "name = \"c3\"\nformerly = \"10.0.0.3:11211\"",
        );
        let plan = Plan::between(&adopted, &next(&fleet, &adopted)).unwrap();
        // the weights are shares to a millionth of a percent, and cells are whole
        let rounding = (1u128 << 64) / 50_000_000 * 7 + 7 * (1u128 << 64) / ring.cells.count();
        assert!(
            plan.amounts.moved.0 <= rounding,
            "{what} moves {}",
            plan.amounts.moved
        );
    }
}

#[test]
fn seed_3_a_node_that_is_added_takes_keys_only_for_itself() {
    let keys: Vec<String> = (0..50)
        .flat_map(|h| {
            ["cpu", "memory", "load", "disk"].map(|what| format!("host{h:02}.example.com:{what}"))
        })
        .collect();
    for set in [&[][..], &["bits=8"], &["vnodes=4"], &["vnodes=1"]] {
        let (three, four) = (
            drawn("karger", "A\nB\nC", set),
            drawn("karger", "A\nB\nC\nD", set),
        );
        let mut taken = 0;
        for key in &keys {
            let (before, after) = (three.locate(key.as_bytes()), four.locate(key.as_bytes()));
            assert!(before == after || after == Some(3), "{key} under {set:?}");
            taken += usize::from(before != after);
        }
        assert!(taken > 0, "nothing moved under {set:?}");
    }
}

#[test]
fn seed_3_twice_the_virtual_nodes_double_the_mean_share() {
    // A with 8 points, B and C with 4 each, over 1,000 sets of names, under both widths of the hash
    for bits in ["bits=8", "bits=64"] {
        let mut sums = [0u128; 3];
        for set in 0..1000 {
            let ring = drawn(
                "karger",
                &format!("a{set}.example.com 2\nb{set}.example.com\nc{set}.example.com"),
                &["vnodes=4", bits],
            );
            for (sum, held) in sums.iter_mut().zip(ring.held()) {
                *sum += held * 1_000_000 / ring.cells.count();
            }
        }
        let [a, b, c] = sums.map(|sum| sum as f64 / 1e9);
        // a share of n of 16 points has a standard deviation of about 0.12 or less: 0.004 for the
        // mean of 1,000
        assert!(
            (a - 0.5).abs() < 0.016 && (b - 0.25).abs() < 0.016 && (c - 0.25).abs() < 0.016,
            "{bits}: {a} {b} {c}"
        );
    }
}

#[test]
fn any_list_gives_a_ring_or_an_error_that_says_where() {
    let pieces = [
        "a",
        "b 2",
        "10.0.0.1:11211",
        "10.0.0.2:11211 600",
        "0",
        "0x10 a",
        "-1",
        "1e9",
        "\u{e9}",
        "a,b",
        "#",
        "\t",
        " ",
        "\0",
        ":",
        "0-16383 a",
        "\n",
        "\r\n",
    ];
    let mut state = 7u64;
    let mut draw = |most: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % most
    };
    for kind in KINDS {
        let mut failed = 0;
        for _ in 0..2000 {
            let mut list: Vec<u8> = Vec::new();
            for _ in 0..draw(8) {
                list.extend(pieces[draw(pieces.len())].as_bytes());
                list.push(b"\n \xff,"[draw(4)]);
            }
            match kind.draw(
                &Servers {
                    bytes: &list,
                    file: "servers",
                },
                &[""; 0],
            ) {
                Ok(ring) => drop(
                    ring.map("m")
                        .map(|map| assert_eq!(map.nodes().len(), ring.members.len())),
                ),
                Err(error) => {
                    failed += 1;
                    let text = error.to_string();
                    assert!(
                        text.starts_with("servers:") && !text.contains('\n'),
                        "{}: {text:?}",
                        kind.name
                    );
                }
            }
        }
        assert!(
            failed > 100,
            "{}: only {failed} lists were refused",
            kind.name
        );
    }
}
