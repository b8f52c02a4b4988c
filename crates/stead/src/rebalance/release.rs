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
//! 1. Give up whole pieces that fit, shortest first.
//! 2. Cut beside pieces that were given up whole. Each role cuts the shortest piece that it has
//!    there.
//! 3. Cut in pairs, on both sides of a border between two roles. The role with the fewest such
//!    borders chooses first (a matching that leaves few roles alone). It takes the border whose two
//!    pieces are shortest together, so that short pieces wear away and vanish in a later step.
//!    Measured while growing one by one to 300 nodes: 22,723 slices. With the shortest border of
//!    all first (a variant tried once) there were 24,607, and the prototype had 24,967.
//! 4. A role that is left over cuts beside a gap if it can, else at the left end of its shortest
//!    piece that is long enough.

use std::cmp::Reverse;

use super::demand::Demand;
use super::domains::Domains;
use super::holder::{ByRole, HolderId, Role};
use super::piece::{Piece, PieceId};
use super::sets::{SetId, Sets};
use super::table::Table;

/// A piece, the cells that it gives up at each end, and the role that gives them up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Released {
    /// The piece as it was.
    pub piece: Piece,
    /// Given up at the left end. If this is the length of the piece, the whole piece is given up.
    pub left: Option<(Role, u128)>,
    /// Given up at the right end.
    pub right: Option<(Role, u128)>,
}

impl Released {
    fn whole(&self) -> bool {
        self.left
            .is_some_and(|(_, cells)| cells == self.piece.cells)
    }

    fn untouched(&self) -> bool {
        self.left.is_none() && self.right.is_none()
    }

    /// The role that is missing at the right end.
    fn open_right(&self) -> Option<Role> {
        self.right
            .or(self.left.filter(|_| self.whole()))
            .map(|(role, _)| role)
    }

    /// The role that is missing at the left end.
    fn open_left(&self) -> Option<Role> {
        self.left.map(|(role, _)| role)
    }
}

#[derive(Clone, Copy)]
enum End {
    Left,
    Right,
}

/// Gives up as much of each role's surplus as possible and reduces the surplus by it. Returns the
/// pieces with what was given up of each.
pub(super) fn release(
    pieces: Vec<Piece>,
    sets: &Sets,
    domains: &Domains,
    demand: &mut Demand,
) -> Vec<Released> {
    let released = |piece| Released {
        piece,
        left: None,
        right: None,
    };
    let mut work = Releasing {
        pieces: pieces.into_iter().map(released).collect(),
        surplus: &mut demand.surplus,
        sets,
        takers: Takers::new(sets, domains, &demand.deficit),
    };
    work.give_wholes();
    work.cut_beside_wholes();
    let owned = work.owned();
    work.cut_in_pairs(&owned);
    work.cut_alone(&owned);
    work.pieces.into_values()
}

/// The holders that must grow, as primaries and as other copies.
struct Takers<'a> {
    sets: &'a Sets,
    domains: &'a Domains,
    primaries: Vec<HolderId>,
    others: Vec<HolderId>,
}

impl<'a> Takers<'a> {
    fn new(sets: &'a Sets, domains: &'a Domains, deficit: &ByRole) -> Takers<'a> {
        let (primaries, others): (Vec<Role>, Vec<Role>) =
            deficit.above_zero().partition(|role| role.is_primary());
        let holders = |roles: Vec<Role>| roles.into_iter().map(Role::holder).collect();
        Takers {
            sets,
            domains,
            primaries: holders(primaries),
            others: holders(others),
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
        let rest = self
            .sets
            .holders(set)
            .filter(|holder| *holder != role.holder());
        takers
            .iter()
            .any(|taker| self.domains.may_join(*taker, rest.clone()))
    }
}

struct Releasing<'a> {
    pieces: Table<PieceId, Released>,
    surplus: &'a mut ByRole,
    sets: &'a Sets,
    takers: Takers<'a>,
}

/// A border at which two roles could share a gap.
struct Border {
    /// The pieces to its left and to its right.
    pieces: [PieceId; 2],
    /// The roles that would give up cells to its left and to its right.
    roles: (Role, Role),
    /// The length of both pieces together.
    cells: u128,
}

/// For each role that still has something to give, its untouched pieces.
type Owned = Table<Role, Vec<PieceId>>;

impl Releasing<'_> {
    /// The piece, if nothing of it has been given up.
    fn untouched(&self, id: PieceId) -> Option<Piece> {
        let released = &self.pieces[id];
        released.untouched().then_some(released.piece)
    }

    /// Whether the role still has something to give and a holder may take its place in the set.
    fn gives(&self, set: SetId, role: Role) -> bool {
        self.surplus[role] > 0 && self.takers.any_for(set, role)
    }

    /// Gives up as much of a piece as the role still has to give, at the given end.
    fn cut(&mut self, id: PieceId, end: End, role: Role) {
        let released = &mut self.pieces[id];
        let given = self.surplus.take(role, released.piece.cells);
        match end {
            // a piece that is given up whole is recorded at its left end
            End::Right if given < released.piece.cells => released.right = Some((role, given)),
            _ => released.left = Some((role, given)),
        }
    }

    /// The end of a piece at which a gap already lacks the same copy, so that a cut of `role` there
    /// needs no gap of its own.
    fn open_end(&self, id: PieceId, role: Role) -> Option<End> {
        let set = self.pieces[id].piece.set;
        let lacks = |beside: PieceId, open: fn(&Released) -> Option<Role>| {
            let beside = &self.pieces[beside];
            open(beside)
                .is_some_and(|gone| self.sets.exchange(set, beside.piece.set) == Some((role, gone)))
        };
        let [left, right] = self.pieces.neighbours(id);
        if left.is_some_and(|left| lacks(left, Released::open_right)) {
            Some(End::Left)
        } else if right.is_some_and(|right| lacks(right, Released::open_left)) {
            Some(End::Right)
        } else {
            None
        }
    }

    /// Step 1: gives up whole pieces.
    fn give_wholes(&mut self) {
        let mut order: Vec<(u128, PieceId, Role)> = Vec::new();
        for (id, Released { piece, .. }) in self.pieces.iter() {
            let roles = self.sets.roles(piece.set).iter();
            let fits = roles.filter(|role| piece.cells <= self.surplus[**role]);
            order.extend(fits.map(|role| (piece.cells, id, *role)));
        }
        order.sort_unstable();
        for (cells, id, role) in order {
            let fits = |_: &Piece| cells <= self.surplus[role];
            let Some(piece) = self.untouched(id).filter(fits) else {
                continue;
            };
            if self.gives(piece.set, role) {
                self.cut(id, End::Left, role);
            }
        }
    }

    /// Step 2: cuts beside whole pieces.
    fn cut_beside_wholes(&mut self) {
        let mut order: Vec<(u128, PieceId, Role)> = Vec::new();
        for (id, whole) in self.pieces.iter().filter(|(_, r)| r.whole()) {
            for beside in self.pieces.neighbours(id).into_iter().flatten() {
                let Some(piece) = self.untouched(beside) else {
                    continue;
                };
                let exchange = self.sets.exchange(piece.set, whole.piece.set);
                let shares = |(role, gone): &(Role, Role)| {
                    whole.open_left() == Some(*gone) && self.surplus[*role] > 0
                };
                if let Some((role, _)) = exchange.filter(shares) {
                    order.push((piece.cells, beside, role));
                }
            }
        }
        order.sort_unstable();
        for (_, id, role) in order {
            let piece = self.untouched(id);
            if piece.is_some_and(|piece| self.gives(piece.set, role)) {
                if let Some(end) = self.open_end(id, role) {
                    self.cut(id, end, role);
                }
            }
        }
    }

    /// For each role that still has something to give, its untouched pieces.
    fn owned(&self) -> Owned {
        let mut owned = Owned::filled(self.surplus.len(), Vec::new());
        for (id, Released { piece, .. }) in self.pieces.iter().filter(|(_, r)| r.untouched()) {
            for role in self.sets.roles(piece.set) {
                if self.surplus[*role] > 0 {
                    owned[*role].push(id);
                }
            }
        }
        owned
    }

    /// The border at the right end of a piece, if two roles could share a gap there.
    fn border(&self, left: PieceId) -> Option<Border> {
        let [_, right] = self.pieces.neighbours(left);
        let pieces = [left, right?];
        let [before, behind] = [self.untouched(left)?, self.untouched(right?)?];
        let (a, b) = self.sets.exchange(before.set, behind.set)?;
        let border = Border {
            cells: before.cells + behind.cells,
            pieces,
            roles: (a, b),
        };
        let both = self.surplus[a] > 0 && self.surplus[b] > 0;
        (both && self.takers.any_for(before.set, a)).then_some(border)
    }

    /// The borders of these pieces at which `role` could share a gap.
    fn borders<'a>(
        &'a self,
        role: Role,
        owned: &'a [PieceId],
    ) -> impl Iterator<Item = Border> + 'a {
        owned.iter().flat_map(move |id| {
            let [before, _] = self.pieces.neighbours(*id);
            let left = before.and_then(|before| self.border(before));
            let left = left.filter(|border| border.roles.1 == role);
            let right = self.border(*id).filter(|border| border.roles.0 == role);
            [left, right].into_iter().flatten()
        })
    }

    /// Step 3: cuts in pairs.
    fn cut_in_pairs(&mut self, owned: &Owned) {
        let mut order: Vec<(usize, Role)> = self
            .surplus
            .above_zero()
            .map(|role| (self.borders(role, &owned[role]).count(), role))
            .filter(|(borders, _)| *borders > 0)
            .collect();
        order.sort_unstable();
        for (_, role) in order {
            if self.surplus[role] == 0 {
                continue;
            }
            let borders = self.borders(role, &owned[role]);
            if let Some(border) = borders.min_by_key(|border| (border.cells, border.pieces)) {
                let ([left, right], (a, b)) = (border.pieces, border.roles);
                self.cut(left, End::Right, a);
                self.cut(right, End::Left, b);
            }
        }
    }

    /// Step 4: cuts alone. Takes a piece that is long enough if there is one, otherwise the longest
    /// pieces until nothing is left to give.
    fn cut_alone(&mut self, owned: &Owned) {
        let left_over: Vec<Role> = self.surplus.above_zero().collect();
        for role in left_over {
            while self.surplus[role] > 0 {
                let Some(id) = self.best_alone(role, &owned[role]) else {
                    break;
                };
                let end = self.open_end(id, role).unwrap_or(End::Left);
                self.cut(id, end, role);
            }
        }
    }

    /// The piece that a role cuts alone: the shortest one beside a gap that is long enough, else
    /// the shortest one anywhere that is long enough, else the longest of all.
    fn best_alone(&self, role: Role, owned: &[PieceId]) -> Option<PieceId> {
        let free = || {
            let untouched = owned
                .iter()
                .filter_map(|id| Some((self.untouched(*id)?, *id)));
            untouched
                .filter(|(piece, _)| self.gives(piece.set, role))
                .map(|(piece, id)| (piece.cells, id))
        };
        let long = || free().filter(|(cells, _)| *cells >= self.surplus[role]);
        let beside_gap = long().filter(|(_, id)| self.open_end(*id, role).is_some());
        let longest = || free().max_by_key(|(cells, id)| (*cells, Reverse(*id)));
        let best = beside_gap.min().or_else(|| long().min()).or_else(longest);
        best.map(|(_, id)| id)
    }
}
