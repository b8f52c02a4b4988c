//! Route: the cheapest way found to pass cells from one role to another by moving borders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::borders::{Arc, Borders};
use super::holder::Role;
use super::piece::PieceId;
use super::table::Table;

/// The most borders that a route moves on either side of the role where its two halves meet.
const LONGEST: u32 = 12;

/// About the most borders that a search looks at from each end.
const WIDEST: usize = 512;

/// A search for routes. It keeps its tables from one search to the next.
pub(super) struct Routes {
    number: u32,
    sides: [Side; 2],
}

/// The roles that a search has reached from one end of the route.
struct Side {
    reached: Table<Role, Reached>,
    /// What is to be looked at next: price, number of borders, role.
    heap: BinaryHeap<Reverse<(i128, u32, Role)>>,
    /// How many borders were looked at.
    width: usize,
}

/// How a role was reached.
#[derive(Clone, Copy)]
struct Reached {
    search: u32,
    settled: bool,
    price: i128,
    /// The border between this role and the one before it; `None` at the end where the search
    /// started.
    by: Option<Arc>,
}

/// What a search found.
pub(super) enum Found {
    /// A route and its price.
    Route(i128, Vec<Arc>),
    /// Every route costs more than the limit, as far as was searched.
    TooDear,
    /// There is no route, as far as was searched.
    Nothing,
}

/// What passes along a route.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub from: Role,
    pub to: Role,
    pub cells: u128,
    /// A piece that is to keep its borders.
    pub apart: PieceId,
}

impl Side {
    fn new(roles: usize) -> Side {
        let nothing = Reached {
            search: 0,
            settled: false,
            price: 0,
            by: None,
        };
        Side {
            reached: Table::filled(roles, nothing),
            heap: BinaryHeap::new(),
            width: 0,
        }
    }

    /// Begins a search at a role.
    fn start(&mut self, search: u32, role: Role) {
        self.heap.clear();
        self.width = 0;
        self.reach(search, role, 0, 0, None);
    }

    fn reach(&mut self, search: u32, role: Role, price: i128, length: u32, by: Option<Arc>) {
        self.reached[role] = Reached {
            search,
            settled: false,
            price,
            by,
        };
        self.heap.push(Reverse((price, length, role)));
    }

    /// The price of what is looked at next.
    fn next(&self) -> Option<i128> {
        self.heap.peek().map(|Reverse((price, ..))| *price)
    }

    /// The price at which this search has reached a role.
    fn price(&self, search: u32, role: Role) -> Option<i128> {
        let reached = &self.reached[role];
        (reached.search == search).then_some(reached.price)
    }
}

impl Routes {
    /// A search among this many roles.
    pub(super) fn new(roles: usize) -> Routes {
        Routes {
            number: 0,
            sides: [Side::new(roles), Side::new(roles)],
        }
    }

    /// Finds a route that costs at most `limit`.
    ///
    /// This is Dijkstra's search from both ends at once: the halves of a route are short, where few
    /// roles can be reached. Refunds are negative prices, for which the search is not exact: it may
    /// miss the cheapest route, but what it finds is a route.
    pub(super) fn find(&mut self, borders: &Borders, load: Load, limit: i128) -> Found {
        self.number += 1;
        let number = self.number;
        for (side, role) in self.sides.iter_mut().zip([load.from, load.to]) {
            side.start(number, role);
        }
        let (mut best, mut dear): (Option<(i128, Role)>, bool) = (None, false);
        while let [Some(one), Some(other)] = self.sides.each_ref().map(Side::next) {
            if best.is_some_and(|(price, _)| price <= one + other) {
                break;
            }
            if one + other > limit {
                dear = true;
                break;
            }
            let [forward, backward] = &mut self.sides;
            let gives = forward.width <= backward.width;
            let (near, far) = if gives {
                (forward, backward)
            } else {
                (backward, forward)
            };
            let Some(Reverse((so_far, length, role))) = near.heap.pop() else {
                break;
            };
            if std::mem::replace(&mut near.reached[role].settled, true) || length == LONGEST {
                continue;
            }
            if near.width > WIDEST {
                break;
            }
            for arc in borders.arcs(role, gives) {
                near.width += 1;
                let next = if gives { arc.to } else { arc.from };
                let reached = &near.reached[next];
                if reached.search == number && reached.settled {
                    continue;
                }
                let Some(price) = borders.price(arc, load.cells, load.apart) else {
                    continue;
                };
                let price = so_far + price;
                if reached.search == number && reached.price <= price {
                    continue;
                }
                near.reach(number, next, price, length + 1, Some(arc));
                let Some(rest) = far.price(number, next) else {
                    continue;
                };
                if price + rest > limit {
                    dear = true;
                } else if best.is_none_or(|(best, _)| price + rest < best) {
                    best = Some((price + rest, next));
                }
            }
        }
        match best {
            Some((price, role)) => Found::Route(price, self.route(role)),
            None if dear => Found::TooDear,
            None => Found::Nothing,
        }
    }

    /// The route whose halves meet at a role.
    fn route(&self, middle: Role) -> Vec<Arc> {
        let [forward, backward] = &self.sides;
        let mut route = Vec::new();
        let mut next = forward.reached[middle].by;
        while let Some(arc) = next {
            route.push(arc);
            next = forward.reached[arc.from].by;
        }
        route.reverse();
        let mut next = backward.reached[middle].by;
        while let Some(arc) = next {
            route.push(arc);
            next = backward.reached[arc.to].by;
        }
        route
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::holder::HolderId;
    use super::super::piece::{join, Piece};
    use super::super::sets::Sets;
    use super::super::table::Id;
    use super::*;

    /// The price of the cheapest route, by trying every border again and again.
    fn cheapest(borders: &Borders, roles: u32, load: Load) -> Option<i128> {
        let mut prices: Vec<Option<i128>> = vec![None; roles as usize];
        prices[load.from.place() as usize] = Some(0);
        for _ in 0..roles {
            for role in (0..roles).map(Role::new) {
                let Some(so_far) = prices[role.place() as usize] else {
                    continue;
                };
                for arc in borders.arcs(role, true) {
                    let Some(price) = borders.price(arc, load.cells, load.apart) else {
                        continue;
                    };
                    let known = &mut prices[arc.to.place() as usize];
                    if known.is_none_or(|known| so_far + price < known) {
                        *known = Some(so_far + price);
                    }
                }
            }
        }
        prices[load.to.place() as usize]
    }

    proptest! {
        /// Cells have moved to these holders from one that has left, or have not moved at all. So
        /// no holder gets cells back that it had, there are no refunds, and the search is exact.
        #[test]
        fn without_refunds_the_cheapest_route_is_found(
            list in prop::collection::vec((1u128..9, 0u32..12, any::<bool>()), 2..60),
            ends in (0u32..12, 1u32..12),
            apart in 0usize..60,
        ) {
            let mut sets = Sets::default();
            let mut pieces = |left: bool| {
                join(list.iter().map(|(cells, holder, moved)| Piece {
                    cells: *cells,
                    set: sets.of(&[if left && *moved { 12 } else { *holder }]),
                }))
            };
            let (start, now) = (pieces(true), pieces(false));
            let borders = Borders::new(&start, &now, &sets, 13);
            let ids: Vec<PieceId> = borders.ids().collect();
            let [from, to] = [ends.0, (ends.0 + ends.1) % 12].map(|i| Role::primary(HolderId(i)));
            let load = Load { from, to, cells: 2, apart: ids[apart % ids.len()] };
            let wanted = cheapest(&borders, 26, load);
            match Routes::new(26).find(&borders, load, i128::MAX / 2) {
                Found::Route(price, route) => {
                    prop_assert_eq!(Some(price), wanted);
                    let prices = route.iter().map(|arc| borders.price(*arc, 2, load.apart));
                    prop_assert_eq!(prices.sum::<Option<i128>>(), Some(price));
                    let mut at = from;
                    for arc in route {
                        prop_assert_eq!(arc.from, at);
                        at = arc.to;
                    }
                    prop_assert_eq!(at, to);
                }
                Found::TooDear => prop_assert!(false, "there is no limit"),
                Found::Nothing => prop_assert_eq!(wanted, None),
            }
        }
    }
}
