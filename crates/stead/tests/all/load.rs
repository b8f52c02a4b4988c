//! Proposals on a log of Zipf's law: how near to the floor they come, and what they cost.
//!
//! With `--nocapture` it prints the figures.

use crate::zipf::Zipf;
use stead::load::{Loads, Proposal, Reads, Tally};
use stead::verdict::Verdict;
use stead::{build, Fleet, Keys, Map, Plan};

/// A map of 15 nodes and 3 replicas, in three zones or in none.
fn map(zones: bool) -> Map {
    let nodes: String = (1..=15)
        .map(|i| {
            format!(
                "[[node]]\nname = 'db{i}'\nlabels = {{ zone = 'z{}' }}\n",
                i % 3
            )
        })
        .collect();
    let spread = if zones { "spread = ['zone']\n" } else { "" };
    let text = format!("name = 'm'\nreplicas = 3\n{spread}{nodes}");
    build(&Fleet::parse(&text, "f").unwrap(), None).unwrap()
}

/// A million accesses to 200,000 keys.
fn tally<'a>(map: &'a Map, seed: u64, accesses: std::ops::Range<u64>) -> Tally<'a> {
    let log = Zipf::new(200_000, seed);
    let names: Vec<String> = (0..200_000).map(Zipf::key).collect();
    let mut tally = Tally::of(map);
    let mut keys: Vec<&[u8]> = Vec::new();
    for access in accesses {
        keys.push(names[log.rank(access)].as_bytes());
        if keys.len() == 4096 {
            tally.add_keys(Keys::each(&keys), None).unwrap();
            keys.clear();
        }
    }
    tally.add_keys(Keys::each(&keys), None).unwrap();
    tally
}

#[test]
fn a_zipf_log_comes_within_three_percent_of_the_floor_for_each_way_of_reading() {
    for zones in [false, true] {
        let map = map(zones);
        let tally = tally(&map, 1, 0..1_000_000);
        for reads in [Reads::Primary, Reads::Spread] {
            let before = Loads::of(&tally, reads);
            let proposal = Proposal::of(&tally, reads, 0.03);
            let (full, floor) = (before.fullest().unwrap().over_mean.unwrap(), before.floor);
            println!(
                "zones: {zones}, reads: {}: floor {floor:.3}, fullest {full:.3} -> {:.3}; {} firsts, \
                 {} pins, reordered {:.2} % of the accesses, copied {:.2} %",
                reads.name(),
                proposal.fullest,
                proposal.firsts,
                proposal.pins,
                100.0 * proposal.reordered,
                100.0 * proposal.copied
            );
            assert!(
                proposal.reaches(),
                "{} above {}",
                proposal.fullest,
                proposal.goal
            );
            assert!((proposal.goal / floor - 1.03).abs() < 0.02);
            // the map of the proposal has these loads, moves nothing but the pins, and keeps all
            // rules
            let next = build(&proposal.fleet, Some(&map)).unwrap();
            let after = self::tally(&next, 1, 0..1_000_000);
            let after = Loads::of(&after, reads);
            for (node, expected) in after.nodes.iter().zip(&proposal.loads) {
                assert!(
                    (node.load - expected).abs() < 0.5,
                    "{} {expected}",
                    node.load
                );
            }
            let plan = Plan::between(&map, &next).unwrap();
            assert_eq!((plan.amounts.moved.0, plan.amounts.reordered.0), (0, 0));
            assert_eq!(plan.moves.is_empty(), proposal.pins == 0);
            assert!(Verdict::of(&next, 9).is_sound());
            // and it is as good for accesses that it has not seen
            let later = self::tally(&next, 1, 1_000_000..2_000_000);
            let later = Loads::of(&later, reads)
                .fullest()
                .unwrap()
                .over_mean
                .unwrap();
            assert!(later < 1.05 * floor, "{later}");
            match reads {
                Reads::Primary => assert_eq!((proposal.pins, proposal.copied), (0, 0.0)),
                Reads::Spread => assert_eq!((proposal.firsts, proposal.reordered), (0, 0.0)),
            }
        }
    }
}

#[test]
fn a_log_that_is_fine_needs_nothing_and_firsts_that_help_stay() {
    let map = map(true);
    let tally = tally(&map, 1, 0..300_000);
    let wide = Proposal::of(&tally, Reads::Primary, 2.0);
    assert!(wide.reaches() && wide.firsts == 0 && wide.pins == 0);
    assert!(build(&wide.fleet, Some(&map))
        .unwrap()
        .same(&build(&map.fleet(), Some(&map)).unwrap()));
    // what is proposed once is proposed again from the map that has it
    let first = Proposal::of(&tally, Reads::Primary, 0.1);
    assert!(first.reaches() && first.firsts > 0);
    let next = build(&first.fleet, Some(&map)).unwrap();
    let again = self::tally(&next, 1, 0..300_000);
    let again = Proposal::of(&again, Reads::Primary, 0.1);
    let points = |fleet: &Fleet| build(fleet, Some(&map)).unwrap();
    assert!(points(&again.fleet)
        .slices()
        .eq(points(&first.fleet).slices()));
}

#[test]
fn one_replica_gets_pins_and_says_when_they_do_not_help() {
    let nodes: String = (0..4)
        .map(|i| format!("[[node]]\nname = 'n{i}'\n"))
        .collect();
    let fleet = Fleet::parse(&format!("name = 'm'\n{nodes}"), "f").unwrap();
    let map = build(&fleet, None).unwrap();
    let tally = tally(&map, 3, 0..300_000);
    let proposal = Proposal::of(&tally, Reads::Primary, 0.05);
    assert!(proposal.reaches() && proposal.pins > 0 && proposal.firsts == 0);
    assert!(proposal.copied > 0.0 && proposal.reordered == 0.0);
    // a log of two keys on four nodes cannot get below a half on one node, which is the floor
    let mut two = Tally::of(&map);
    two.add_keys(Keys::each(&[b"x", b"y"]), Some(&[1000, 1000]))
        .unwrap();
    assert!((Loads::of(&two, Reads::Primary).floor - 2.0).abs() < 1e-9);
    // and three keys of the same size with two nodes end above it
    let fleet = Fleet::parse("name = 'm'\nnode = [{name = 'a'}, {name = 'b'}]", "f").unwrap();
    let map = build(&fleet, None).unwrap();
    let mut three = Tally::of(&map);
    let keys: [&[u8]; 3] = [b"x", b"y", b"z"];
    three.add_keys(Keys::each(&keys), Some(&[9000; 3])).unwrap();
    let short = Proposal::of(&three, Reads::Primary, 0.05);
    assert!(
        !short.reaches() && (1.3..1.4).contains(&short.fullest),
        "{}",
        short.fullest
    );
}
