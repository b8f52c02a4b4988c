//! Effort: what a rebalance of a fleet takes at most, estimated from its numbers of nodes, copies
//! and labels. A fleet whose effort is above a limit is refused. docs/fleet.md, "Limits, exactly",
//! has the formula, and docs/rebalance.md, "Many copies and many labels", what was measured.

/// The largest effort. 4,096 nodes may have 64 copies with any labels, 128 with one label, and 255
/// without labels.
pub(super) const MOST: usize = 1 << 22;

/// Up to so many nodes, a first map has no more than 16,384 slices.
const SMALL: usize = 4_096;

/// The copies of all slices of a first map, times what the labels cost.
pub(super) fn effort(nodes: usize, copies: usize, labels: usize) -> usize {
    // where every node holds everything, nothing is exchanged; with one copy, no label counts
    if copies <= 1 || copies >= nodes {
        return 0;
    }
    of_a_copy(nodes, labels) * copies / 16
}

/// Sixteen times the effort of each copy.
fn of_a_copy(nodes: usize, labels: usize) -> usize {
    // in a small fleet the inner labels divide few nodes
    let more = if nodes > SMALL { labels.max(4) } else { 4 };
    slices(nodes) * (1 + labels.min(3)) * more * more
}

/// About how many slices a first map of so many nodes has with several copies: 64 for each node,
/// but no more than 16,384, and then 5 for each node beyond 4,096.
fn slices(nodes: usize) -> usize {
    (64 * nodes).min(16_384) + 5 * nodes.saturating_sub(SMALL)
}

/// The largest number of copies that so many nodes may have.
pub(super) fn most_copies(nodes: usize, labels: usize) -> usize {
    let most = (16 * MOST + 15) / of_a_copy(nodes, labels).max(1);
    most.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fleets_that_somebody_has_are_within_the_limit() {
        assert!((0..=4).all(|labels| effort(65_536, 3, labels) <= MOST));
        for (nodes, copies) in [(4_096, 64), (4_000, 16), (1_000, 64)] {
            assert!(effort(nodes, copies, 16) <= MOST, "{nodes} {copies}");
        }
        assert!(effort(65_536, 12, 0) <= MOST && effort(4_096, 255, 0) <= MOST);
        assert!(effort(100, 99, 16) <= MOST && effort(255, 255, 16) <= MOST);
        assert!(effort(65_536, 1, 16) <= MOST);
    }

    #[test]
    fn one_copy_more_than_the_most_is_above_the_limit() {
        for nodes in [200, 256, 257, 1_000, 4_096, 4_097, 20_000, 65_536] {
            for labels in 0..=16 {
                let most = most_copies(nodes, labels);
                assert!(effort(nodes, most, labels) <= MOST);
                let is_above = effort(nodes, most + 1, labels) > MOST;
                assert!(is_above || most + 1 >= nodes, "{nodes} {labels}");
            }
        }
    }
}
