//! A slice: a run of points that one policy holds. Also: laying firsts and pins over slices.

use crate::point::Point;
use crate::policy::{NodeId, PolicyId};

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
    let mut firsts = firsts;
    let mut here = firsts.next();
    std::iter::from_fn(move || {
        let (first, policy) = here?;
        here = firsts.next();
        let last = here.map_or(Point::LAST, |(next, _)| Point(next.0.wrapping_sub(1)));
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
    lay_into(Vec::new(), base, pins)
}

/// Does the same as [`lay_over`] in an empty list. There are at most as many slices as base slices
/// and twice as many as pins, together: a list with room for them does not grow.
pub fn lay_into<B, P>(list: Vec<Slice>, base: B, pins: P) -> Vec<Slice>
where
    B: Iterator<Item = Slice>,
    P: Iterator<Item = Slice>,
{
    let mut out = list;
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

/// A run of points in which a node answers first, where it holds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct First {
    /// The first point.
    pub first: Point,
    /// The last point.
    pub last: Point,
    /// The node that answers first.
    pub node: NodeId,
}

/// Returns the parts of the base slices over which firsts lie and pins do not, each with the node
/// that is to answer first there.
///
/// `firsts` and `pins` are sorted, and neither overlap among themselves. Cost: one pass.
pub fn under_firsts(base: Vec<Slice>, firsts: &[First], pins: &[Slice]) -> Vec<(Slice, NodeId)> {
    if firsts.is_empty() {
        return Vec::new();
    }
    const NONE: PolicyId = PolicyId(u32::MAX);
    let whole = || {
        std::iter::once(Slice {
            first: Point(0),
            last: Point::LAST,
            policy: NONE,
        })
    };
    // there are far fewer nodes than 2^32, so no node has the number NONE
    let firsts = firsts.iter().map(|first| Slice {
        first: first.first,
        last: first.last,
        policy: PolicyId(first.node.0),
    });
    let pins = pins.iter().map(|pin| Slice {
        policy: PolicyId(0),
        ..*pin
    });
    let lists = [base, lay_over(whole(), firsts), lay_over(whole(), pins)];
    let parts = overlay(lists).filter(|(_, _, [_, first, pin])| *first != NONE && *pin == NONE);
    parts
        .map(|(first, last, [policy, node, _])| {
            let slice = Slice {
                first,
                last,
                policy,
            };
            (slice, NodeId(node.0))
        })
        .collect()
}

/// Returns the nodes of a policy in the order in which they answer if `node` answers first: this
/// node, and the others as they were. `None` if the node answers first anyway or is none of them,
/// so that nothing changes.
pub fn turned(members: &[NodeId], node: NodeId) -> Option<Vec<NodeId>> {
    let place = members.iter().position(|member| *member == node)?;
    if place == 0 {
        return None;
    }
    let others = members.iter().enumerate().filter(|(i, _)| *i != place);
    let mut list = Vec::with_capacity(members.len());
    list.push(node);
    list.extend(others.map(|(_, member)| *member));
    Some(list)
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
    fn a_first_turns_a_list_only_if_the_node_is_another_of_it() {
        let list = |numbers: &[u32]| numbers.iter().map(|n| NodeId(*n)).collect::<Vec<_>>();
        for (members, node, expected) in [
            (&[5, 2, 7][..], 7, Some(&[7, 5, 2][..])),
            (&[5, 2, 7], 2, Some(&[2, 5, 7])),
            (&[5, 2, 7], 5, None),
            (&[5, 2, 7], 1, None),
            (&[5, 2, 5, 7, 2], 2, Some(&[2, 5, 5, 7, 2])),
            (&[5], 5, None),
        ] {
            let found = turned(&list(members), NodeId(node));
            assert_eq!(found, expected.map(list), "{members:?} {node}");
        }
    }

    #[test]
    fn what_lies_under_firsts_and_not_under_pins_is_found_by_brute_force() {
        let base = vec![slice(0, 9, 0), slice(10, 19, 1), slice(20, u64::MAX, 2)];
        let first = |first, last, node| First {
            first: Point(first),
            last: Point(last),
            node: NodeId(node),
        };
        for at in 0..25 {
            for last in at..30 {
                let firsts = [
                    first(at, last, 3),
                    first(last + 1, last + 3, 3),
                    first(36, 39, 4),
                ];
                for pins in [vec![], vec![slice(5, 11, 9), slice(13, 13, 9)]] {
                    let found = under_firsts(base.clone(), &firsts, &pins);
                    assert!(found.windows(2).all(|w| w[0].0.last < w[1].0.first));
                    for p in 0..50 {
                        let is_in = |a: Point, b: Point| a.0 <= p && p <= b.0;
                        let wanted = firsts
                            .iter()
                            .find(|f| is_in(f.first, f.last))
                            .filter(|_| !pins.iter().any(|pin| is_in(pin.first, pin.last)))
                            .map(|f| f.node);
                        let part = found.iter().find(|(part, _)| is_in(part.first, part.last));
                        assert_eq!(part.map(|(_, node)| *node), wanted);
                        let under = base.iter().find(|s| is_in(s.first, s.last)).unwrap();
                        assert!(part.is_none_or(|(part, _)| part.policy == under.policy));
                    }
                }
            }
        }
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
