//! The pieces of a map: the space, cut at the bounds of the base slices and of the final slices.
//! All points of a piece have the same nodes, whether pins and firsts lie over it or not.

use crate::map::Map;
use crate::point::Point;
use crate::policy::PolicyId;
use crate::slice::overlay;

/// A run of points with one base policy and one final policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The first point.
    pub first: Point,
    /// The last point.
    pub last: Point,
    /// The policy that rebalancing gave it.
    pub base: PolicyId,
    /// The policy that answers for it.
    pub policy: PolicyId,
}

impl Piece {
    /// The number of points of the piece: 1 to 2^64.
    pub fn points(&self) -> u128 {
        self.first.count_to(self.last)
    }
}

/// All pieces of a map, and the way from a point to its piece.
pub(super) struct Pieces {
    pub all: Vec<Piece>,
    /// for each bucket the number of pieces that start before it
    starts: Vec<u32>,
    shift: u32,
}

impl Pieces {
    pub(super) fn of(map: &Map) -> Pieces {
        let lists = [map.base_slices().collect(), map.slices().collect()];
        let all: Vec<Piece> = overlay(lists)
            .map(|(first, last, [base, policy])| Piece {
                first,
                last,
                base,
                policy,
            })
            .collect();
        // about four buckets a piece, and at most 2^20 of 4 bytes
        let bits = (all.len() * 4)
            .next_power_of_two()
            .trailing_zeros()
            .clamp(2, 20);
        let shift = 64 - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        for piece in &all {
            // a piece that starts at the bound of a bucket is not before it
            let after = (piece.first.0 >> shift) as usize + 1;
            if let Some(count) = starts.get_mut(after) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut starts {
            sum += *count;
            *count = sum;
        }
        Pieces { all, starts, shift }
    }

    /// Returns the number of the piece of a point.
    pub(super) fn find(&self, point: Point) -> usize {
        let bucket = (point.0 >> self.shift) as usize;
        let start = |bucket: usize| self.starts.get(bucket).map_or(0, |start| *start as usize);
        let (from, to) = (start(bucket), start(bucket + 1));
        let inside = self.all.get(from..to).unwrap_or_default();
        (from + inside.partition_point(|piece| piece.first <= point)).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, Fleet};

    #[test]
    fn a_point_is_found_in_its_piece() {
        let nodes: String = (0..9)
            .map(|i| format!("[[node]]\nname = 'n{i}'\n"))
            .collect();
        let pins = "[[pin]]\nrange = ['1%', '70%']\nnodes = ['n1', 'n2']\n[[pin]]\nkey = \
            'frank'\nnodes = ['n3', 'n4']\n";
        for pins in ["", pins] {
            let text = format!(
                "name = 'm'\nreplicas = 2\n{nodes}{}",
                pins.replace("70%", "2%")
            );
            let map = build(&Fleet::parse(&text, "f").unwrap(), None).unwrap();
            let pieces = Pieces::of(&map);
            assert_eq!(pieces.all.iter().map(Piece::points).sum::<u128>(), 1 << 64);
            for (number, piece) in pieces.all.iter().enumerate() {
                for point in [piece.first, piece.last] {
                    assert_eq!(pieces.find(point), number);
                    assert_eq!(map.policy_of(point), piece.policy);
                }
            }
        }
    }
}
