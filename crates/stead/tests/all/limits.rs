//! The largest fleets: a fleet that needs more than a map can have is refused with a clear message.

use stead::fleet::part;
use stead::plan::Amounts;
use stead::{build, build_max_move, Error, Fleet, Map};

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

/// A fleet of three copies in three zones: numbers and weights of the nodes.
fn zoned(nodes: &[(usize, u64)], most: Option<usize>) -> Fleet {
    let limit = most.map_or(String::new(), |most| format!("max_slices = {most}\n"));
    let node = |(number, weight): &(usize, u64)| {
        let zone = number % 3;
        format!("[[node]]\nname = 'n{number}'\nweight = {weight}\nlabels = {{zone = 'z{zone}'}}\n")
    };
    let nodes: String = nodes.iter().map(node).collect();
    let head = "name = 'zoned'\nreplicas = 3\nspread = ['zone']\n";
    Fleet::parse(&format!("{head}{limit}{nodes}"), "zoned.toml").unwrap()
}

/// The history of a fleet of 60 nodes within a limit: 40 changes of one node each. Returns what
/// moved over the lower bound, and how many steps ended at the limit.
fn history(most: usize) -> (f64, usize) {
    let mut nodes: Vec<(usize, u64)> = (0..60).map(|i| (i, 100 + i as u64 * 37 % 100)).collect();
    let mut map = build(&zoned(&nodes, None), None).unwrap();
    let (mut moved, mut bound, mut full) = (0, 0, 0);
    for step in 0..40 {
        match step % 3 {
            0 => nodes.push((60 + step, 150)),
            1 => drop(nodes.remove(step * 7 % nodes.len())),
            _ => nodes[step * 11 % 60].1 = 100 + step as u64,
        }
        let next = build(&zoned(&nodes, Some(most)), Some(&map)).unwrap();
        assert!(next.base_count() <= most);
        let amounts = Amounts::between(&map, &next).unwrap();
        moved += amounts.moved.0;
        bound += amounts.lower_bound.0;
        full += usize::from(next.base_count() + 1 >= most);
        map = next;
    }
    (moved as f64 / bound as f64, full)
}

#[test]
fn a_limit_with_several_copies_costs_little_movement() {
    for (most, at_most) in [(2000, 1.25), (1500, 1.55), (1000, 2.3)] {
        let (ratio, full) = history(most);
        assert!(ratio <= at_most, "within {most}: {ratio}");
        assert!(
            full >= 10,
            "within {most}: only {full} steps were at the limit"
        );
    }
}

/// The smallest limit that the refusal of a smaller one names.
fn named(nodes: &[(usize, u64)], before: Option<&Map>) -> usize {
    match build(&zoned(nodes, Some(1)), before) {
        Err(Error::Impossible { problem }) => {
            let number = problem.split("set it to ").nth(1).unwrap();
            number.split(' ').next().unwrap().parse().unwrap()
        }
        other => panic!("{:?}", other.map(|map| map.base_count())),
    }
}

#[test]
fn a_refusal_names_a_limit_that_can_be_met() {
    let mut sum = (0, 0);
    for size in 4..12 {
        let nodes: Vec<(usize, u64)> = (0..size).map(|i| (i, 1 + i as u64 % 4)).collect();
        let first = named(&nodes, None);
        let map = build(&zoned(&nodes, Some(first)), None).unwrap();
        assert!(map.base_count() <= first);
        let mut next = nodes.clone();
        next.push((size, 3));
        next[1].1 += 2;
        let later = named(&next, Some(&map));
        let map = build(&zoned(&next, Some(later)), Some(&map)).unwrap();
        assert!(map.base_count() <= later);
        sum = (sum.0 + first, sum.1 + later);
    }
    // with coalescing alone the second sum was 125
    assert!(sum.0 <= 98 && sum.1 <= 122, "{sum:?}");
}

#[test]
fn a_refusal_names_the_line_of_the_limit() {
    let text = "name = 'm'\n\nmax_slices = 1\nnode = [{name = 'a'}, {name = 'b'}]\n";
    let fleet = Fleet::parse(text, "f.toml").unwrap();
    let error = build(&fleet, None).unwrap_err().to_string();
    let wanted = "f.toml:3: max_slices = 1 cannot be met: ";
    assert!(error.starts_with(wanted), "{error}");
}
