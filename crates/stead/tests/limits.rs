//! The largest fleets: a fleet that needs more than a map can have is refused with a clear message.

use stead::fleet::part;
use stead::{build, build_max_move, Error, Fleet};

fn fleet(nodes: std::ops::Range<usize>) -> Fleet {
    let nodes: String = nodes
        .map(|i| format!("[[node]]\nname = 'n{i}'\n"))
        .collect();
    Fleet::parse(&format!("name = 'full'\n{nodes}"), "f.toml").unwrap()
}

#[test]
fn nodes_that_leave_a_full_fleet_step_by_step_are_refused_as_impossible() {
    let first = build(&fleet(0..65_536), None).unwrap();
    let next = fleet(1..65_537);
    match build_max_move(&next, Some(&first), part("0.0001%").unwrap()) {
        Err(Error::Impossible { problem }) => assert!(
            problem.contains("65536 nodes and 1 that still"),
            "{problem}"
        ),
        other => panic!("{:?}", other.map(|map| map.nodes().len())),
    }
    // all at once, or with a large enough step, it works
    assert_eq!(
        build_max_move(&next, Some(&first), part("1%").unwrap())
            .unwrap()
            .nodes()
            .len(),
        65_536
    );
}
