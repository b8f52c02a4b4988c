//! Targets: the weighted shares as integers, by largest remainder.

use super::piece::ByHolder;
use crate::weight::Weight;

/// How many cells each holder gets of `cells` (at most 2^64) by its weight.
///
/// Exact: the targets add up to `cells`, each is less than one cell from its share, and equal weights scaled alike give equal
/// targets. Left-over cells go to the largest remainders, of equal ones to the earlier holder. `None` when all weights are 0.
///
/// Nothing overflows: 2^64 cells times 65,536 * 2 holders of 10^12 millionths would, so the product is split: with
/// G = a * W + b, the share of w is a * w + (b * w) / W, and b * w < W * w < 2^57 * 2^40.
pub fn targets(weights: &[Weight], cells: u128) -> Option<ByHolder> {
    let total: u128 = weights.iter().map(|w| u128::from(w.millionths())).sum();
    if total == 0 {
        return None;
    }
    let (whole, rest) = (cells / total, cells % total);
    let share = |w: &Weight| whole * u128::from(w.millionths()) + rest * u128::from(w.millionths()) / total;
    let remainder = |w: &Weight| rest * u128::from(w.millionths()) % total;

    let mut shares = ByHolder(weights.iter().map(share).collect());
    let left = cells - shares.sum();
    let mut order: Vec<(u128, usize)> = weights.iter().map(remainder).zip(0..).collect();
    order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    // `left` is a sum of fractions below one each, so there are more holders than left-over cells
    for (_, holder) in order.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
        if let Some(cells) = shares.0.get_mut(holder) {
            *cells += 1;
        }
    }
    Some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::SPACE;

    fn weights(millionths: &[u64]) -> Vec<Weight> {
        millionths.iter().map(|m| Weight::from_millionths(*m).unwrap()).collect()
    }

    #[test]
    fn targets_add_up_and_are_within_one_cell_of_the_share() {
        for list in [vec![1], vec![1, 1, 1], vec![1_000_000, 1_500_000, 0, 3], vec![7; 1000], vec![1_000_000_000_000; 65_536]] {
            let list = weights(&list);
            let total: u128 = list.iter().map(|w| u128::from(w.millionths())).sum();
            for cells in [SPACE, 16_384, 7, 1] {
                let targets = targets(&list, cells).unwrap();
                assert_eq!(targets.sum(), cells);
                for (weight, target) in list.iter().zip(&targets.0) {
                    // |target - cells * w / W| < 1, without fractions: |target * W - cells * w| < W; split as in the code
                    let w = u128::from(weight.millionths());
                    let floor = cells / total * w + cells % total * w / total;
                    assert!(*target == floor || *target == floor + 1);
                }
            }
        }
    }

    #[test]
    fn left_over_cells_go_to_the_largest_remainders_then_to_the_earlier_holder() {
        assert_eq!(targets(&weights(&[1, 1, 1]), 16).unwrap().0, [6, 5, 5]);
        // shares 2.5, 5, 2.5
        assert_eq!(targets(&weights(&[1, 2, 1]), 10).unwrap().0, [3, 5, 2]);
        // shares 1.2, 2.4, 8.4
        assert_eq!(targets(&weights(&[1, 2, 7]), 12).unwrap().0, [1, 3, 8]);
    }

    #[test]
    fn scaling_all_weights_alike_changes_nothing() {
        for list in [vec![1, 2, 3], vec![5, 7, 11, 13], vec![999_999, 1]] {
            let scaled: Vec<u64> = list.iter().map(|w| w * 1000).collect();
            assert_eq!(targets(&weights(&list), SPACE), targets(&weights(&scaled), SPACE));
        }
    }

    #[test]
    fn without_any_weight_there_are_no_targets() {
        assert_eq!(targets(&weights(&[0, 0]), SPACE), None);
        assert_eq!(targets(&[], SPACE), None);
    }
}
