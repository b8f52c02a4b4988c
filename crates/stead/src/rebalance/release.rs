//! Release: roles that must shrink give up cells, such that few gaps open and old pieces vanish.
//!
//! Each gap costs a piece, and each piece that is given up whole saves one. Whole pieces rarely add
//! up to what a role must give up, so it needs one cut somewhere. Gaps can be saved by letting two
//! cuts share one:
//!
//! ```text
//!   a a a a b b b b b     a gives up 1, b gives up 2:     a a a . . . b b b     one gap serves both
//!   a a a c b b b b b     c gives up its piece whole:     a a . . . b b b b     both cuts use c's gap
//! ```
//!
//! With several copies, two cuts can share a gap where the two sets differ by one exchange: then
//! the rest of both sets is the same. A piece gives up only one copy at a time, and only where a
//! role that must grow may take the place of that copy.
//!
//! 1. Give up blocks of whole pieces, and cut beside them (`blocks`).
//! 2. Cut in pairs, on both sides of a border between two roles. The role with the fewest such
//!    borders chooses first (a matching that leaves few roles alone). It takes the border whose two
//!    pieces are longest together, so that short pieces stay whole and a later block takes them.
//! 3. A role that is left over gives up its longest pieces, if it must give up more than these.
//!    Then it cuts beside a gap if it can, else at the left end of its shortest piece that is long
//!    enough.
//!
//! docs/rebalance.md, "Why not ...", has the numbers of slices that other choices gave.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::blocks::{choose, End, Link, Runs};
use super::demand::Demand;
use super::domains::Domains;
use super::holder::{ByRole, HolderId, Role};
use super::piece::{Piece, PieceId};
use super::pool::{Pool, Spot};
use super::room::Room;
use super::sets::{exchange, SetId, Sets};
use super::table::{Id, Table};

/// Pieces, and what is given up of them.
pub(super) struct Released {
    /// The pieces as they were.
    pub pieces: Table<PieceId, Piece>,
    /// What is given up, of the pieces of which something is given up.
    pub given: BTreeMap<PieceId, Given>,
}

/// The cells that a piece gives up at each end, and the role that gives them up.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Given {
    /// Given up at the left end. If this is the length of the piece, the whole piece is given up.
    pub left: Option<(Role, u128)>,
    /// Given up at the right end.
    pub right: Option<(Role, u128)>,
}

/// Gives up as much of each role's surplus as possible and reduces the surplus by it. Returns the
/// pieces with what was given up of each.
pub(super) fn release(
    pieces: Vec<Piece>,
    sets: &Sets,
    domains: &Domains,
    demand: &mut Demand,
) -> Released {
    let mut work = Releasing {
        untouched: Table::filled(pieces.len(), true),
        pieces: pieces.into(),
        given: BTreeMap::new(),
        surplus: &mut demand.surplus,
        sets,
        takers: Takers::new(sets, domains, &demand.deficit),
    };
    let borders = work.borders();
    work.give_blocks(&borders);
    work.cut_in_pairs(&borders);
    work.cut_alone();
    Released {
        pieces: work.pieces,
        given: work.given,
    }
}

/// The holders that must grow, as primaries and as other copies.
struct Takers<'a> {
    sets: &'a Sets,
    domains: &'a Domains,
    room: Room<'a>,
    primaries: Pool<'a>,
    others: Pool<'a>,
}

impl<'a> Takers<'a> {
    fn new(sets: &'a Sets, domains: &'a Domains, deficit: &ByRole) -> Takers<'a> {
        let (primaries, others): (Vec<Role>, Vec<Role>) =
            deficit.above_zero().partition(|role| role.is_primary());
        let pool = |roles: Vec<Role>| {
            let holders = roles.into_iter().map(Role::holder);
            let can = holders.filter(|holder| domains.can_hold(*holder));
            Pool::new(domains, can.collect())
        };
        Takers {
            sets,
            domains,
            room: Room::new(domains),
            primaries: pool(primaries),
            others: pool(others),
        }
    }

    /// Whether any holder may take the place of this role in the set.
    fn any_for(&self, set: SetId, role: Role) -> bool {
        let takers = if role.is_primary() {
            &self.primaries
        } else {
            &self.others
        };
        if self.domains.replicas() == 1 {
            return !takers.is_empty();
        }
        let full = self.room.full(self.sets, set, role.holder());
        let may =
            |taker: HolderId| taker == role.holder() || self.sets.role_of(set, taker).is_none();
        takers.first(Spot::new(0), &full, may).is_some()
    }
}

struct Releasing<'a> {
    pieces: Table<PieceId, Piece>,
    /// Of which pieces nothing has been given up.
    untouched: Table<PieceId, bool>,
    given: BTreeMap<PieceId, Given>,
    surplus: &'a mut ByRole,
    sets: &'a Sets,
    takers: Takers<'a>,
}

/// A border at which two roles can share a gap, as long as both have something to give and both
/// pieces are untouched.
struct Border {
    /// The pieces to its left and to its right.
    pieces: [PieceId; 2],
    /// The roles that would give up cells to its left and to its right.
    roles: [Role; 2],
}

impl Releasing<'_> {
    /// Gives up as much of a piece as the role still has to give, at the given end.
    fn cut(&mut self, id: PieceId, end: End, role: Role) {
        let cells = self.pieces[id].cells;
        let given = self.surplus.take(role, cells);
        self.untouched[id] = false;
        let ends = self.given.entry(id).or_default();
        match end {
            // a piece that is given up whole is recorded at its left end
            End::Right if given < cells => ends.right = Some((role, given)),
            _ => ends.left = Some((role, given)),
        }
    }

    /// The role that is missing at an end of a piece.
    fn open(&self, id: PieceId, end: End) -> Option<Role> {
        let Given { left, right } = self.given.get(&id)?;
        let whole = |(_, cells): &(Role, u128)| *cells == self.pieces[id].cells;
        let given = match end {
            End::Left => *left,
            End::Right => right.or(left.filter(whole)),
        };
        given.map(|(role, _)| role)
    }

    /// The end of a piece at which a gap already lacks the same copy, so that a cut of `role` there
    /// needs no gap of its own.
    fn open_end(&self, id: PieceId, role: Role) -> Option<End> {
        let set = self.pieces[id].set;
        let lacks = |beside: PieceId, end: End| {
            self.open(beside, end).is_some_and(|gone| {
                self.sets.exchange(set, self.pieces[beside].set) == Some((role, gone))
            })
        };
        let [left, right] = self.pieces.neighbours(id);
        if left.is_some_and(|left| lacks(left, End::Right)) {
            Some(End::Left)
        } else if right.is_some_and(|right| lacks(right, End::Left)) {
            Some(End::Right)
        } else {
            None
        }
    }

    /// The borders at which two roles could share a gap, from left to right.
    fn borders(&self) -> Vec<Border> {
        let gives = |role: &Role| self.surplus[*role] > 0;
        let mut borders = Vec::new();
        // the piece before, if it can give
        let mut before: Option<(PieceId, SetId, &[Role])> = None;
        for (right, piece) in self.pieces.iter() {
            let roles = self.sets.roles(piece.set);
            let here = roles.iter().any(gives);
            let here = here.then_some((right, piece.set, roles));
            let both = std::mem::replace(&mut before, here).zip(here);
            let Some(((left, set, from), (right, _, to))) = both else {
                continue;
            };
            let Some((a, b)) = exchange(from, to) else {
                continue;
            };
            if gives(&a) && gives(&b) && self.takers.any_for(set, a) {
                borders.push(Border {
                    pieces: [left, right],
                    roles: [a, b],
                });
            }
        }
        borders
    }

    /// Whether two roles can still share a gap at a border.
    fn is_open(&self, border: &Border) -> bool {
        border.roles.iter().all(|role| self.surplus[*role] > 0)
            && border.pieces.iter().all(|id| self.untouched[*id])
    }

    /// The runs of pieces in which a block could be given up.
    fn runs(&self, borders: &[Border]) -> Runs {
        let mut runs = Runs::default();
        let mut run: Vec<Link> = Vec::new();
        let link = |piece: PieceId, role: Role| Link {
            piece,
            cells: self.pieces[piece].cells,
            role,
        };
        for Border { pieces, roles } in borders {
            let ([left, right], [a, b]) = (*pieces, *roles);
            let first = link(left, a);
            if run.last() != Some(&first) {
                runs.push(run.drain(..));
                run.push(first);
            }
            run.push(link(right, b));
        }
        runs.push(run);
        runs
    }

    /// Step 1: gives up blocks of whole pieces, and cuts beside them.
    fn give_blocks(&mut self, borders: &[Border]) {
        let chosen = choose(&self.runs(borders), self.pieces.len(), self.surplus);
        for link in chosen.wholes {
            self.cut(link.piece, End::Left, link.role);
        }
        for (link, end) in chosen.cuts {
            if self.surplus[link.role] > 0 {
                self.cut(link.piece, end, link.role);
            }
        }
    }

    /// Step 2: cuts in pairs.
    fn cut_in_pairs(&mut self, borders: &[Border]) {
        let mut of: Table<Role, Vec<&Border>> = Table::filled(self.surplus.len(), Vec::new());
        for border in borders.iter().filter(|border| self.is_open(border)) {
            for role in border.roles {
                of[role].push(border);
            }
        }
        let mut order: Vec<(usize, Role)> = of
            .iter()
            .map(|(role, borders)| (borders.len(), role))
            .filter(|(borders, _)| *borders > 0)
            .collect();
        order.sort_unstable();
        for (_, role) in order {
            if self.surplus[role] == 0 {
                continue;
            }
            let cells = |border: &Border| -> u128 {
                border.pieces.iter().map(|id| self.pieces[*id].cells).sum()
            };
            let open = of[role].iter().filter(|border| self.is_open(border));
            let longest = open.max_by_key(|border| (cells(border), Reverse(border.pieces)));
            if let Some(Border { pieces, roles }) = longest {
                let ([left, right], [a, b]) = (*pieces, *roles);
                self.cut(left, End::Right, a);
                self.cut(right, End::Left, b);
            }
        }
    }

    /// Step 3: cuts alone. Gives up the longest pieces whole, as long as they are shorter than what
    /// the role has left to give. Then cuts the shortest piece beside a gap that is long enough, or
    /// else the shortest piece anywhere that is long enough.
    fn cut_alone(&mut self) {
        let left_over: Vec<Role> = self.surplus.above_zero().collect();
        if left_over.is_empty() {
            return;
        }
        let owned = self.owned();
        for role in left_over {
            let mut free = self.by_length(role, &owned[role]);
            while let Some((cells, Reverse(id))) = free.pop() {
                if cells >= self.surplus[role] {
                    free.push((cells, Reverse(id)));
                    break;
                }
                self.cut(id, End::Left, role);
            }
            let long_enough = |(cells, _): &&(u128, Reverse<PieceId>)| *cells >= self.surplus[role];
            let long = free.iter().filter(long_enough);
            let long = long.map(|(cells, Reverse(id))| (*cells, *id));
            let beside_gap = long
                .clone()
                .filter(|(_, id)| self.open_end(*id, role).is_some());
            if let Some((_, id)) = beside_gap.min().or_else(|| long.min()) {
                let end = self.open_end(id, role).unwrap_or(End::Left);
                self.cut(id, end, role);
            }
        }
    }

    /// For each role that still has something to give, its untouched pieces.
    fn owned(&self) -> Table<Role, Vec<PieceId>> {
        let mut owned = Table::filled(self.surplus.len(), Vec::new());
        for (id, piece) in self.pieces.iter().filter(|(id, _)| self.untouched[*id]) {
            for role in self.sets.roles(piece.set) {
                if self.surplus[*role] > 0 {
                    owned[*role].push(id);
                }
            }
        }
        owned
    }

    /// The untouched pieces that a role may give up, from the shortest to the longest.
    fn by_length(&self, role: Role, owned: &[PieceId]) -> Vec<(u128, Reverse<PieceId>)> {
        let free = owned.iter().filter_map(|id| {
            let Piece { cells, set } = self.pieces[*id];
            let free = self.untouched[*id] && self.takers.any_for(set, role);
            free.then_some((cells, Reverse(*id)))
        });
        let mut free: Vec<_> = free.collect();
        free.sort_unstable();
        free
    }
}
