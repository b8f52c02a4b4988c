//! A slice: a run of points that one policy holds. Also: laying pins over slices.

use crate::point::Point;
use crate::policy::PolicyId;

/// The points from `first` to `last`, both included, and the policy that holds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The first point.
    pub first: Point,
    /// The last point.
    pub last: Point,
    /// The policy that holds them.
    pub policy: PolicyId,
}

impl Slice {
    /// The number of points of the slice: 1 to 2^64.
    pub fn points(&self) -> u128 {
        self.first.count_to(self.last)
    }
}

/// Makes slices from their first points. Each slice ends before the next one starts, and the last
/// one ends at the end of the space.
pub fn with_ends<I>(firsts: I) -> impl Iterator<Item = Slice>
where
    I: Iterator<Item = (Point, PolicyId)>,
{
    let mut firsts = firsts.peekable();
    std::iter::from_fn(move || {
        let (first, policy) = firsts.next()?;
        let last = firsts
            .peek()
            .map_or(Point::LAST, |(next, _)| Point(next.0.wrapping_sub(1)));
        Some(Slice {
            first,
            last,
            policy,
        })
    })
}

/// Returns the base slices with the pins laid over them; neighbours with the same policy are
/// joined.
///
/// `base` covers the space in order; `pins` are sorted and do not overlap. Cost: one pass.
pub fn lay_over<B, P>(base: B, pins: P) -> Vec<Slice>
where
    B: Iterator<Item = Slice>,
    P: Iterator<Item = Slice>,
{
    let mut out: Vec<Slice> = Vec::new();
    let mut push = |slice: Slice| match out.last_mut() {
        Some(before) if before.policy == slice.policy => before.last = slice.last,
        _ => out.push(slice),
    };
    let mut pins = pins.peekable();
    for slice in base {
        let mut at = slice.first;
        loop {
            match pins.peek() {
                // the pin starts after this slice, so the rest of the slice stays
                Some(pin) if pin.first > slice.last => {
                    push(Slice { first: at, ..slice });
                    break;
                }
                Some(&pin) => {
                    if pin.first > at {
                        push(Slice {
                            first: at,
                            last: Point(pin.first.0 - 1),
                            policy: slice.policy,
                        });
                    }
                    if pin.last > slice.last {
                        // the pin continues over the next slice
                        push(Slice {
                            first: pin.first.max(at),
                            last: slice.last,
                            policy: pin.policy,
                        });
                        break;
                    }
                    push(Slice {
                        first: pin.first.max(at),
                        ..pin
                    });
                    pins.next();
                    if pin.last == slice.last {
                        break;
                    }
                    at = Point(pin.last.0 + 1);
                }
                None => {
                    push(Slice { first: at, ..slice });
                    break;
                }
            }
        }
    }
    out
}

/// Cuts the space at all bounds of the lists, each of which must cover it. Yields the first and the
/// last point of each part and the policy of each list there.
pub fn overlay<const N: usize>(
    lists: [Vec<Slice>; N],
) -> impl Iterator<Item = (Point, Point, [PolicyId; N])> {
    let mut lists = lists.map(|list| list.into_iter().peekable());
    let mut next = Some(Point(0));
    std::iter::from_fn(move || {
        let first = next?;
        let mut last = Point::LAST;
        let mut policies = [PolicyId(0); N];
        for (list, policy) in lists.iter_mut().zip(&mut policies) {
            let slice = list.peek()?;
            *policy = slice.policy;
            last = last.min(slice.last);
        }
        for list in &mut lists {
            list.next_if(|slice| slice.last == last);
        }
        next = last.0.checked_add(1).map(Point);
        Some((first, last, policies))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(first: u64, last: u64, policy: u32) -> Slice {
        Slice {
            first: Point(first),
            last: Point(last),
            policy: PolicyId(policy),
        }
    }

    /// Checks `lay_over` by brute force in a space of 40 points (the rest belongs to the last
    /// slice).
    fn check(base: &[Slice], pins: &[Slice]) {
        let laid = lay_over(base.iter().copied(), pins.iter().copied());
        let owner = |slices: &[Slice], p: u64| {
            slices
                .iter()
                .find(|s| s.first.0 <= p && p <= s.last.0)
                .map(|s| s.policy)
        };
        for p in (0..40).chain([u64::MAX]) {
            let wanted = owner(pins, p).or(owner(base, p));
            assert_eq!(
                owner(&laid, p),
                wanted,
                "point {p} of {base:?} under {pins:?}"
            );
        }
        assert_eq!(laid.iter().map(Slice::points).sum::<u128>(), 1 << 64);
        assert!(laid
            .windows(2)
            .all(|w| w[0].policy != w[1].policy && w[0].last.0 + 1 == w[1].first.0));
    }

    #[test]
    fn pins_lie_over_slices_wherever_their_bounds_fall() {
        let base = [slice(0, 9, 0), slice(10, 19, 1), slice(20, u64::MAX, 2)];
        check(&base, &[]);
        for first in 0..25 {
            for last in first..30 {
                for policy in 0..4 {
                    check(&base, &[slice(first, last, policy)]);
                    check(
                        &base,
                        &[
                            slice(first, last, policy),
                            slice(last + 1, last + 1, 3),
                            slice(last + 4, last + 9, policy),
                        ],
                    );
                }
            }
        }
        check(&base, &[slice(0, u64::MAX, 7)]);
        check(&base, &[slice(0, 3, 7), slice(u64::MAX, u64::MAX, 8)]);
    }
}
