//! Route: the cheapest way found to pass cells from one role to another by moving borders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::borders::{Arc, Borders};
use super::holder::Role;
use super::piece::PieceId;
use super::table::Table;

/// The most borders that a route moves. Each of them may move every cell once more.
const LONGEST: usize = 12;

/// About the most borders that a search looks at.
const WIDEST: usize = 2048;

/// A search for routes. It keeps its tables from one search to the next.
pub(super) struct Routes {
    number: u32,
    reached: Table<Role, Reached>,
    ends: Table<Role, End>,
}

/// How a role was reached from the start.
#[derive(Clone, Copy)]
struct Reached {
    search: u32,
    settled: bool,
    price: i128,
    by: Option<Arc>,
}

/// The cheapest border between a role and the end of the route.
#[derive(Clone, Copy)]
struct End {
    search: u32,
    price: i128,
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

impl Routes {
    /// A search among this many roles.
    pub(super) fn new(roles: usize) -> Routes {
        Routes {
            number: 0,
            reached: Table::filled(
                roles,
                Reached {
                    search: 0,
                    settled: false,
                    price: 0,
                    by: None,
                },
            ),
            ends: Table::filled(
                roles,
                End {
                    search: 0,
                    price: 0,
                    by: None,
                },
            ),
        }
    }

    /// Finds a route that costs at most `limit`.
    ///
    /// This is Dijkstra's search, with the last border of the route looked up from the other end.
    /// Refunds are negative prices, for which the search is not exact: it may miss the cheapest
    /// route, but what it finds is a route, at the price it says.
    pub(super) fn find(&mut self, borders: &Borders, load: Load, limit: i128) -> Found {
        self.number += 1;
        let number = self.number;
        let price = |arc: Arc| borders.price(arc, load.cells, load.apart);
        let mut cheapest_end = None;
        for arc in borders.arcs(load.to, false) {
            let Some(price) = price(arc) else { continue };
            let end = &mut self.ends[arc.from];
            if end.search != number || price < end.price {
                *end = End {
                    search: number,
                    price,
                    by: Some(arc),
                };
            }
            cheapest_end = Some(cheapest_end.map_or(price, |least: i128| least.min(price)));
        }
        let Some(cheapest_end) = cheapest_end else {
            return Found::Nothing;
        };
        let (mut best, mut dear): (Option<(i128, Role)>, bool) = (None, false);
        let mut heap = BinaryHeap::new();
        self.reached[load.from] = Reached {
            search: number,
            settled: false,
            price: 0,
            by: None,
        };
        heap.push(Reverse((0, 1, load.from)));
        let mut width = 0;
        while let Some(Reverse((so_far, length, role))) = heap.pop() {
            if best.is_some_and(|(price, _)| price <= so_far + cheapest_end) {
                break;
            }
            if so_far + cheapest_end > limit {
                dear = true;
                break;
            }
            if std::mem::replace(&mut self.reached[role].settled, true) {
                continue;
            }
            let end = self.ends[role];
            if end.search == number {
                let whole = so_far + end.price;
                if whole > limit {
                    dear = true;
                } else if best.is_none_or(|(price, _)| whole < price) {
                    best = Some((whole, role));
                }
            }
            if length == LONGEST || width > WIDEST {
                continue;
            }
            for arc in borders.arcs(role, true) {
                width += 1;
                let reached = self.reached[arc.to];
                if arc.to == load.to || (reached.search == number && reached.settled) {
                    continue;
                }
                let Some(price) = price(arc) else { continue };
                let price = so_far + price;
                if reached.search != number || price < reached.price {
                    self.reached[arc.to] = Reached {
                        search: number,
                        settled: false,
                        price,
                        by: Some(arc),
                    };
                    heap.push(Reverse((price, length + 1, arc.to)));
                }
            }
        }
        match best {
            Some((price, role)) => Found::Route(price, self.route(role)),
            None if dear => Found::TooDear,
            None => Found::Nothing,
        }
    }

    /// The route that ends with the last border of a role.
    fn route(&self, role: Role) -> Vec<Arc> {
        let mut route: Vec<Arc> = self.ends[role].by.into_iter().collect();
        let mut next = self.reached[role].by;
        while let Some(arc) = next {
            route.push(arc);
            next = self.reached[arc.from].by;
        }
        route.reverse();
        route
    }
}
