//! One rebalance, whole: fit, shift, release, fill, and shortest paths for the rest; primaries;
//! within `max_slices` where it is set; and the proof that it came out right.

use super::chunks::{chunks, layout};
use super::coalesce::coalesce;
use super::domains::Domains;
use super::fill::fill;
use super::fit::fit;
use super::holder::{ByHolder, HolderId};
use super::piece::{join, loads, moved, role_loads, Piece};
use super::release::release;
use super::role::{ByRole, Role};
use super::sets::Sets;
use super::shift::shift;
use super::{copies, primaries};
use crate::error::{Error, Result};

/// What a rebalance aims at.
pub(super) struct Aim<'a> {
    /// The caps, and who can hold.
    pub domains: &'a Domains,
    /// What everybody gets; they add up to R times the space.
    pub targets: &'a ByHolder,
    /// How many cells the space has.
    pub cells: u128,
    /// At most so many pieces.
    pub max_slices: Option<u32>,
}

impl Aim<'_> {
    fn most(&self) -> usize {
        self.max_slices.map_or(usize::MAX, |most| most as usize)
    }

    /// The first pieces of a fleet.
    pub(super) fn first(&self, sets: &mut Sets) -> Result<Vec<Piece>> {
        let mut number = chunks(self.domains.holding(), self.domains.replicas(), self.most());
        loop {
            let laid = layout(self.targets, self.domains, sets, self.cells, number);
            let pieces = self.with_primaries(
                &[Piece {
                    cells: self.cells,
                    set: sets.id([]),
                }],
                &laid,
                sets,
            )?;
            self.prove(&pieces, sets)?;
            if pieces.len() <= self.most() {
                return Ok(pieces);
            }
            if number == 1 {
                return Err(self.too_few(pieces.len()));
            }
            number /= 2;
        }
    }

    /// New pieces in which every holder has exactly its target, with the least movement there is.
    ///
    /// `pieces` cover the space; holders without a target lose all they have. With `max_slices`
    /// there are at most so many pieces, and then more may move.
    ///
    /// Cost: O(s log s) for s pieces where exchanges settle it; about twelve times that when
    /// `max_slices` bites.
    pub(super) fn rebalance(&self, pieces: &[Piece], sets: &mut Sets) -> Result<Vec<Piece>> {
        let made = self.once(pieces, sets)?;
        if made.len() <= self.most() {
            return Ok(made);
        }
        let least = self.targets.0.iter().filter(|target| **target > 0).count();
        if self.domains.replicas() == 1 && self.most() < least {
            return Err(self.too_few(least));
        }
        self.within(pieces, sets)
    }

    fn too_few(&self, least: usize) -> Error {
        let why = match self.domains.replicas() {
            1 => format!("{least} holders have a weight and each needs a slice"),
            r => format!("{r} copies with exact shares need {least} slices as far as is known"),
        };
        Error::Impossible {
            problem: format!(
                "max_slices = {} cannot be met: {why}; set it to {least} or more",
                self.most()
            ),
        }
    }

    /// A rebalance without a limit, with the least movement.
    fn once(&self, start: &[Piece], sets: &mut Sets) -> Result<Vec<Piece>> {
        let mut pieces = start.to_vec();
        if let Some(fitted) = fit(start, sets, self.domains, self.targets) {
            // exchanges that move nothing come before those that do
            pieces = copies::settle(start, &fitted, sets, self.domains, self.targets, 0);
        }
        pieces = self.greedy(pieces, sets);
        if self.domains.replicas() > 1 {
            if loads(&pieces, sets, self.targets.0.len()) != *self.targets {
                pieces = copies::settle(start, &pieces, sets, self.domains, self.targets, i64::MAX);
            }
            pieces = self.with_primaries(start, &pieces, sets)?;
        }
        self.prove(&pieces, sets)?;
        Ok(pieces)
    }

    /// Exchanges between one who has too much and one who has too little: as many as there are, or
    /// nearly.
    fn greedy(&self, mut pieces: Vec<Piece>, sets: &mut Sets) -> Vec<Piece> {
        let mut before = u128::MAX;
        loop {
            let now = role_loads(&pieces, sets, self.targets.0.len());
            let left = now.by_holder().above(self.targets).sum();
            if left == 0 || left >= before {
                return pieces;
            }
            before = left;
            let (mut surplus, mut deficit) = self.by_role(&now);
            pieces = shift(pieces, sets, &mut surplus, &mut deficit);
            let released = release(pieces, sets, self.domains, surplus, &deficit);
            pieces = fill(released, sets, self.domains, &mut deficit);
            if deficit.above_zero().next().is_none() {
                return pieces;
            }
        }
    }

    /// What each role has too much and too little: never more than its holder has.
    fn by_role(&self, now: &ByRole) -> (ByRole, ByRole) {
        let holders = self.targets.0.len();
        let (loads, primaries) = (now.by_holder(), now.primaries());
        let wanted = primaries::wanted(
            self.targets,
            &loads,
            &primaries,
            self.domains.replicas(),
            self.cells,
        );
        let (mut surplus, mut deficit) = (ByRole::zeros(holders), ByRole::zeros(holders));
        for (holder, target) in self.targets.iter() {
            let (primary, other) = (Role::primary(holder), Role::other(holder));
            let load = loads.of(holder);
            let aims = [
                (primary, wanted.of(holder)),
                (other, target - wanted.of(holder)),
            ];
            let (mut too_much, mut too_little) =
                (load.saturating_sub(target), target.saturating_sub(load));
            for (role, aim) in aims {
                let gives = now.of(role).saturating_sub(aim).min(too_much);
                let takes = aim.saturating_sub(now.of(role)).min(too_little);
                too_much -= gives;
                too_little -= takes;
                surplus.add(role, gives);
                deficit.add(role, takes);
            }
        }
        (surplus, deficit)
    }

    fn with_primaries(
        &self,
        old: &[Piece],
        pieces: &[Piece],
        sets: &mut Sets,
    ) -> Result<Vec<Piece>> {
        let holders = self.targets.0.len();
        let replicas = self.domains.replicas();
        if replicas == 1 {
            return Ok(pieces.to_vec());
        }
        let before = loads(old, sets, holders);
        let now = role_loads(pieces, sets, holders).primaries();
        let wanted = primaries::wanted(self.targets, &before, &now, replicas, self.cells);
        primaries::settle(old, pieces, sets, self.targets, &wanted, replicas)
    }

    /// What every later guarantee stands on; a wrong map must not leave this module.
    fn prove(&self, pieces: &[Piece], sets: &Sets) -> Result<()> {
        let wrong = |problem: &str| {
            Err(Error::Internal {
                problem: problem.to_owned(),
            })
        };
        if loads(pieces, sets, self.targets.0.len()) != *self.targets
            || pieces.iter().map(|p| p.cells).sum::<u128>() != self.cells
        {
            return wrong("a rebalance missed its targets");
        }
        let replicas = self.domains.replicas() as usize;
        let mut known = vec![false; sets.count()];
        for piece in pieces {
            let Some(known) = known
                .get_mut(piece.set.index())
                .filter(|known| replicas > 1 && !**known)
            else {
                continue;
            };
            *known = true;
            let roles = sets.roles(piece.set);
            let one_primary = roles.iter().filter(|role| role.is_primary()).count() == 1;
            if roles.len() != replicas
                || !one_primary
                || self.domains.broken(sets.holders(piece.set)).is_some()
            {
                return wrong("a rebalance put too many copies into one domain");
            }
        }
        Ok(())
    }

    /// The best of the rebalances that stay within the limit, among a dozen coalesced starts and a
    /// few fresh layouts.
    ///
    /// One replica: the one with the least movement. Halving finds about how much must be
    /// coalesced: the fewer pieces are kept, the fewer come out and the more moves, nearly. A fresh
    /// layout has few, and is often better where the limit is tight.
    ///
    /// More: coalescing puts all holders off their targets, and to put them right takes about two
    /// cuts each, however little was coalesced. So it must not be done at every step: the one is
    /// taken that moves least for each piece of room that it leaves, and a fresh layout, which
    /// moves nearly everything, only when nothing else fits.
    fn within(&self, pieces: &[Piece], sets: &mut Sets) -> Result<Vec<Piece>> {
        let mut tried = self.fresh(pieces, sets)?;
        let several = self.domains.replicas() > 1;
        if several {
            // ten by ten per cent, and the last of them halved until one is left
            let tenths = (1..10).rev().map(|tenths| pieces.len() * tenths / 10);
            let halves = (4..)
                .map(|k| pieces.len() >> k)
                .take_while(|keep| *keep > 0);
            for keep in tenths.chain(halves) {
                tried.push(self.once(&coalesce(pieces, sets, self.targets, keep), sets)?);
            }
        } else {
            let (mut works, mut fails) = (0, pieces.len().max(2));
            while fails - works > 1 + works / 64 {
                let keep = works + (fails - works) / 2;
                let made = self.once(&coalesce(pieces, sets, self.targets, keep), sets)?;
                if made.len() <= self.most() {
                    works = keep;
                    tried.push(made);
                } else {
                    fails = keep;
                }
            }
        }
        let fewest = tried.iter().map(Vec::len).min().unwrap_or(usize::MAX);
        let fit = |made: &Vec<Piece>| made.len() <= self.most();
        let last_resort = several && tried.iter().skip(1).any(fit);
        let fits = tried.into_iter().skip(usize::from(last_resort)).filter(fit);
        let room = |made: &Vec<Piece>| if several { 1 + self.most() - made.len() } else { 1 } as u128;
        let fits = fits.map(|made| (moved(pieces, &made, sets), room(&made), made));
        // of equal ones the first; at most 2^72 copies and 2^32 pieces
        let best = fits.reduce(|best, next| {
            if next.0 * best.1 < best.0 * next.1 {
                next
            } else {
                best
            }
        });
        best.map(|(_, _, made)| made)
            .ok_or_else(|| self.too_few(fewest))
    }

    /// Layouts with few pieces. One replica: in the order in which the holders have their longest
    /// pieces now, those that have none in between, at five places. More: the layout of a first map
    /// with one chunk.
    fn fresh(&self, pieces: &[Piece], sets: &mut Sets) -> Result<Vec<Vec<Piece>>> {
        if self.domains.replicas() > 1 {
            let laid = layout(self.targets, self.domains, sets, self.cells, 1);
            return Ok(vec![self.with_primaries(pieces, &laid, sets)?]);
        }
        // holder -> length and middle of its longest piece, of equal ones the first
        let mut longest: Vec<(u128, u128)> = vec![(0, 0); self.targets.0.len()];
        let mut start = 0;
        for piece in pieces {
            for holder in sets.holders(piece.set) {
                if let Some(known) = longest
                    .get_mut(holder.index())
                    .filter(|known| known.0 < piece.cells)
                {
                    *known = (piece.cells, start + piece.cells / 2);
                }
            }
            start += piece.cells;
        }
        let (mut old, mut new): (Vec<(u128, HolderId)>, Vec<HolderId>) = (Vec::new(), Vec::new());
        for ((cells, middle), holder) in longest.into_iter().zip((0..).map(HolderId)) {
            match cells {
                0 => new.push(holder),
                _ => old.push((middle, holder)),
            }
        }
        old.sort_unstable();
        let places: &[usize] = if new.iter().all(|holder| self.targets.of(*holder) == 0) {
            &[4]
        } else {
            &[0, 1, 2, 3, 4]
        };
        let mut piece = |holder: HolderId| Piece {
            cells: self.targets.of(holder),
            set: sets.id([Role::primary(holder)]),
        };
        let mut layout = |quarter: &usize| {
            let (before, after) = old.split_at(old.len() * quarter / 4);
            let order = before
                .iter()
                .map(|o| o.1)
                .chain(new.iter().copied())
                .chain(after.iter().map(|o| o.1));
            join(order.map(&mut piece).collect::<Vec<Piece>>())
        };
        Ok(places.iter().map(&mut layout).collect())
    }
}
