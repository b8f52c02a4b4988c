//! Blocks: which whole pieces the roles that must shrink give up, so that most pieces vanish.
//!
//! A *run* is a row of pieces in which each piece could give up one copy, and all of them would
//! then lack the same copy: any pieces beside each other in a run could share one gap. A *block* is
//! a part of a run that is given up whole. A border inside a block vanishes, and so does the border
//! at an end of the block if the piece behind it is cut there. A whole piece that shares its gap
//! with nothing saves nothing, and the gap may even take its borders from other roles.
//!
//! ```text
//!   a a a c d d b b b     c and d fit: they are given up whole, and a and b cut beside them
//!   a a . . . . . b b     one gap serves four roles, and three borders are gone
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::holder::{ByRole, Role};
use super::piece::PieceId;
use super::table::{Id, Lists, Table};

/// A run, identified by its position among all runs, from left to right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RunId(u32);

impl Id for RunId {
    fn new(place: u32) -> RunId {
        RunId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// All runs.
pub(super) type Runs = Lists<RunId, Link>;

/// A piece of a run, and the role that could give up its copy there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub piece: PieceId,
    pub cells: u128,
    pub role: Role,
}

/// An end of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Left,
    Right,
}

/// What is to be given up.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    /// The pieces that are given up whole.
    pub wholes: Vec<Link>,
    /// The pieces that are cut beside a block. A role gives up there what it has left to give after
    /// all whole pieces; this is less than the piece.
    pub cuts: Vec<(Link, End)>,
}

/// Chooses blocks and the cuts beside them. `surplus` is what each role has to give up, and there
/// are `pieces` pieces. Each role makes at most one cut.
///
/// Takes the block that saves most first; of equal ones, the shortest. Cost: O(n log n) for runs of
/// n pieces in all, unless many blocks compete for the same surplus.
pub(super) fn choose(runs: &Runs, pieces: usize, surplus: &ByRole) -> Chosen {
    let mut work = Choosing {
        runs,
        surplus: surplus.clone(),
        used: ByRole::zeros(surplus.len()),
        taken: Table::filled(pieces, false),
        cuts: Table::filled(surplus.len(), false),
        best: BinaryHeap::new(),
        chosen: Chosen::default(),
    };
    for run in runs.ids() {
        let (from, to) = (0, runs[run].len());
        work.enter_fitting(Block { run, from, to });
    }
    while let Some((saved, cells, Reverse(block))) = work.best.pop() {
        if !work.fits(block) {
            work.enter_fitting(block); // others used the surplus: try what is left of it
        } else if work.saved(block) == saved {
            work.take(block);
        } else {
            work.enter(block, cells);
        }
    }
    work.chosen
}

/// A part of a run: the links `from` up to but not including `to`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Block {
    run: RunId,
    from: usize,
    to: usize,
}

/// A block with what it saves and the number of its cells. The greatest is taken first.
type Ranked = (usize, Reverse<u128>, Reverse<Block>);

struct Choosing<'a> {
    runs: &'a Runs,
    /// What each role still has to give up.
    surplus: ByRole,
    /// What the block that is looked at needs of each surplus. All zero in between.
    used: ByRole,
    /// The pieces that are given up or cut.
    taken: Table<PieceId, bool>,
    /// The roles that have made their cut.
    cuts: Table<Role, bool>,
    best: BinaryHeap<Ranked>,
    chosen: Chosen,
}

impl<'a> Choosing<'a> {
    fn links(&self, block: Block) -> &'a [Link] {
        let run = &self.runs[block.run];
        run.get(block.from..block.to).unwrap_or(&[])
    }

    /// The links before and after a block that can be cut beside it. A role cuts only once.
    fn ends(&self, block: Block) -> [Option<Link>; 2] {
        let link = |place: usize| self.runs[block.run].get(place).copied();
        let cuts = |link: &Link| {
            let surplus = self.surplus[link.role];
            let longer = surplus > 0 && link.cells > surplus;
            longer && !self.cuts[link.role] && !self.taken[link.piece]
        };
        let before = block.from.checked_sub(1).and_then(link).filter(cuts);
        let after = link(block.to).filter(cuts);
        let after = after.filter(|link| before.is_none_or(|before| before.role != link.role));
        [before, after]
    }

    /// Twice the number of pieces that a block saves, compared with cuts in pairs: a border inside
    /// saves one. So does a border at an end that is cut, but in a pair that cut would save half a
    /// piece too.
    fn saved(&self, block: Block) -> usize {
        let inside = (block.to - block.from).saturating_sub(1);
        2 * inside + self.ends(block).iter().flatten().count()
    }

    /// Whether all pieces of a block can be given up whole.
    fn fits(&mut self, block: Block) -> bool {
        let links = self.links(block);
        let count = links.iter().take_while(|link| self.add(**link)).count();
        self.forget(links);
        count == links.len()
    }

    /// Adds a piece to those that are looked at. Returns whether the surplus is enough for it, and
    /// adds nothing if not.
    fn add(&mut self, link: Link) -> bool {
        let needed = self.used[link.role] + link.cells;
        let fits = needed <= self.surplus[link.role] && !self.taken[link.piece];
        if fits {
            self.used[link.role] = needed;
        }
        fits
    }

    fn forget(&mut self, links: &[Link]) {
        for link in links {
            self.used[link.role] = 0;
        }
    }

    /// Enters the longest blocks that fit, from left to right.
    fn enter_fitting(&mut self, Block { run, from, to }: Block) {
        let links = self.links(Block { run, from, to });
        let (mut start, mut cells) = (from, 0);
        for (place, link) in (from..).zip(links) {
            if self.add(*link) {
                cells += link.cells;
                continue;
            }
            let block = Block {
                run,
                from: start,
                to: place,
            };
            self.enter(block, Reverse(cells));
            self.forget(self.links(block));
            let again = self.add(*link); // it may fit without the pieces before it
            (start, cells) = if again {
                (place, link.cells)
            } else {
                (place + 1, 0)
            };
        }
        let last = Block {
            run,
            from: start,
            to,
        };
        self.enter(last, Reverse(cells));
        self.forget(self.links(last));
    }

    /// Enters a block, if it saves anything.
    fn enter(&mut self, block: Block, cells: Reverse<u128>) {
        let saved = self.saved(block);
        if block.from < block.to && saved > 0 {
            self.best.push((saved, cells, Reverse(block)));
        }
    }

    fn take(&mut self, block: Block) {
        for link in self.links(block) {
            self.surplus[link.role] -= link.cells;
            self.taken[link.piece] = true;
            self.chosen.wholes.push(*link);
        }
        let ends = self.ends(block);
        for (link, end) in ends.into_iter().zip([End::Right, End::Left]) {
            if let Some(link) = link {
                self.cuts[link.role] = true;
                self.taken[link.piece] = true;
                self.chosen.cuts.push((link, end));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::holder::HolderId;
    use super::super::table::Id;
    use super::*;

    /// Runs of pieces with these cells and these holders, which give up copies as primaries.
    fn runs(lists: &[&[(u128, u32)]]) -> Runs {
        let mut number = 0;
        let mut link = |(cells, holder): &(u128, u32)| {
            number += 1;
            Link {
                piece: PieceId::new(number - 1),
                cells: *cells,
                role: Role::primary(HolderId(*holder)),
            }
        };
        let mut runs = Runs::default();
        for list in lists {
            runs.push(list.iter().map(&mut link));
        }
        runs
    }

    /// The numbers of the pieces that are given up whole, and of those that are cut, with the end.
    fn chosen(lists: &[&[(u128, u32)]], surplus: &[u128]) -> (Vec<u32>, Vec<(u32, End)>) {
        let both_roles: Vec<u128> = surplus.iter().flat_map(|cells| [*cells, 0]).collect();
        let count = lists.iter().map(|list| list.len()).sum();
        let chosen = choose(&runs(lists), count, &both_roles.into());
        let wholes = chosen.wholes.iter().map(|link| link.piece.place());
        let cuts = chosen
            .cuts
            .iter()
            .map(|(link, end)| (link.piece.place(), *end));
        (wholes.collect(), cuts.collect())
    }

    #[test]
    fn pieces_side_by_side_are_given_up_together_and_the_neighbours_cut_beside_them() {
        let run: &[(u128, u32)] = &[(9, 0), (2, 1), (3, 2), (9, 3)];
        assert_eq!(
            chosen(&[run], &[1, 2, 3, 1]),
            (vec![1, 2], vec![(0, End::Right), (3, End::Left)])
        );
        // 2 does not fit, so it is cut beside 1
        assert_eq!(
            chosen(&[run], &[1, 2, 2, 1]),
            (vec![1], vec![(0, End::Right), (2, End::Left)])
        );
        // nobody can cut beside a piece that stands alone: it is kept
        assert_eq!(chosen(&[run], &[0, 2, 0, 0]), (vec![], vec![]));
    }

    #[test]
    fn the_block_that_saves_most_gets_a_surplus_that_two_blocks_need() {
        let short: &[(u128, u32)] = &[(9, 3), (2, 0), (2, 1)];
        let long: &[(u128, u32)] = &[(3, 0), (3, 1), (3, 2)];
        let (wholes, _) = chosen(&[short, long], &[3, 3, 3, 1]);
        assert_eq!(wholes, [3, 4, 5]);
        // control: where the surplus is enough for both, both are taken
        let (wholes, cuts) = chosen(&[short, long], &[5, 5, 3, 1]);
        assert_eq!(wholes, [3, 4, 5, 1, 2]);
        assert_eq!(cuts, [(0, End::Right)]);
    }

    #[test]
    fn a_role_that_occurs_twice_gives_up_no_more_than_its_surplus() {
        let run: &[(u128, u32)] = &[(2, 0), (1, 1), (2, 0), (1, 2)];
        let (wholes, cuts) = chosen(&[run], &[3, 1, 1]);
        assert_eq!((wholes, cuts), (vec![0, 1], vec![(2, End::Left)]));
    }
}
