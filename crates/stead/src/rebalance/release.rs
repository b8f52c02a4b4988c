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

use super::blocks::{choose, End, Link};
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
    work.give_blocks();
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

    /// The runs of pieces in which a block could be given up.
    fn runs(&self) -> Vec<Vec<Link>> {
        let mut runs: Vec<Vec<Link>> = Vec::new();
        let mut run: Vec<Link> = Vec::new();
        let link = |piece, role| Link {
            piece,
            cells: self.pieces[piece].piece.cells,
            role,
        };
        for left in self.pieces.ids() {
            let border = self.border(left);
            let first = border.as_ref().map(|border| link(left, border.roles.0));
            if first.is_none() || run.last() != first.as_ref() {
                runs.push(std::mem::replace(&mut run, first.into_iter().collect()));
            }
            if let Some(border) = border {
                let [_, right] = border.pieces;
                run.push(link(right, border.roles.1));
            }
        }
        runs.push(run);
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// Step 1: gives up blocks of whole pieces, and cuts beside them.
    fn give_blocks(&mut self) {
        let chosen = choose(&self.runs(), self.pieces.len(), self.surplus);
        for link in chosen.wholes {
            self.cut(link.piece, End::Left, link.role);
        }
        for (link, end) in chosen.cuts {
            if self.surplus[link.role] > 0 {
                self.cut(link.piece, end, link.role);
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

    /// Step 2: cuts in pairs.
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
            if let Some(border) =
                borders.max_by_key(|border| (border.cells, Reverse(border.pieces)))
            {
                let ([left, right], (a, b)) = (border.pieces, border.roles);
                self.cut(left, End::Right, a);
                self.cut(right, End::Left, b);
            }
        }
    }

    /// Step 3: cuts alone. Gives up the longest pieces whole, as long as they are shorter than what
    /// the role has left to give. Then cuts the shortest piece beside a gap that is long enough, or
    /// else the shortest piece anywhere that is long enough.
    fn cut_alone(&mut self, owned: &Owned) {
        let left_over: Vec<Role> = self.surplus.above_zero().collect();
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

    /// The untouched pieces that a role may give up, from the shortest to the longest.
    fn by_length(&self, role: Role, owned: &[PieceId]) -> Vec<(u128, Reverse<PieceId>)> {
        let free = owned.iter().filter_map(|id| {
            let piece = self.untouched(*id)?;
            let gives = self.gives(piece.set, role);
            gives.then_some((piece.cells, Reverse(*id)))
        });
        let mut free: Vec<_> = free.collect();
        free.sort_unstable();
        free
    }
}
