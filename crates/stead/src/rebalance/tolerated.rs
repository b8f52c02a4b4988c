//! Tolerated: what each holder is to get in a step where the fleet has a tolerance. Normative:
//! docs/placement.md, "Tolerance".
//!
//! A holder's *band* is the numbers of cells that the tolerance allows it. A holder in its band
//! keeps what it has, and so do its primaries. What the holders outside their bands must give or
//! take goes to or comes from few of the others: those that are lowest in their bands take until
//! they reach the upper end, and those that are highest give until they reach the lower end. Such
//! a holder is then left alone for many steps, and that is what saves slices. It reaches the end
//! with its cells and its primaries together: if only its cells did, its primaries would leave
//! their band at another time, and correcting them alone costs more slices than all the rest.

use super::aim::{Aim, Chosen};
use super::crowd::Crowd;
use super::domains::{DomainId, Inside};
use super::holder::{ByHolder, HolderId};
use super::piece::{role_loads, Piece};
use super::sets::Sets;
use super::table::Table;
use crate::tolerance::Tolerance;

/// The least and the greatest number of cells that a holder may have.
type Bands = Table<HolderId, (u128, u128)>;

/// Returns the aim of a step from these pieces. Every number is in its band, as few cells move as
/// the bands allow, and the numbers add up and keep the caps of the domains.
pub(super) fn tolerated(pieces: &[Piece], sets: &Sets, aim: &Aim, tolerance: Tolerance) -> Aim {
    let now = role_loads(pieces, sets, aim.holders());
    let replicas = u128::from(aim.replicas());
    let band = |target: &u128| band(*target, tolerance, aim.cells);
    let bands: Bands = aim.targets.values().iter().map(band).collect();
    let of_primaries = |(least, most): &(u128, u128)| (least / replicas, most.div_ceil(replicas));
    let of_primaries: Bands = bands.values().iter().map(of_primaries).collect();
    let (loads, primaries) = (now.by_holder(), now.primaries());
    let cells: ByHolder = clamped(&loads, &bands);
    let kept = clamped(&primaries, &of_primaries);
    let kept = kept.iter().map(|(holder, kept)| *kept.min(&cells[holder]));
    let mut choice = Choice {
        aim,
        primaries: kept.collect(),
        before: &primaries,
        turns: turns(aim),
        cells,
        bands,
        of_primaries,
        room: Table::zeros(aim.domains.list().len()),
    };
    choice.settle();
    let Choice {
        cells,
        primaries,
        of_primaries,
        ..
    } = choice;
    let range =
        |(holder, (least, most)): (HolderId, &(u128, u128))| (*least, *most.min(&cells[holder]));
    let ranges = of_primaries.iter().map(range).collect();
    let tolerated = Aim {
        domains: aim.domains.clone(),
        targets: cells,
        cells: aim.cells,
        max_slices: aim.max_slices,
        chosen: Some(Chosen {
            primaries: primaries.clone(),
            ranges,
        }),
    };
    // what is still wrong about their sum, the holders that change anyway put right
    let primaries = tolerated.primaries(&loads, &primaries);
    let chosen = tolerated.chosen.map(|chosen| Chosen {
        primaries,
        ..chosen
    });
    Aim {
        chosen,
        ..tolerated
    }
}

/// Whether every holder has a number of cells in its band, and every set keeps the caps.
pub(super) fn is_tolerated(pieces: &[Piece], sets: &Sets, aim: &Aim, tolerance: Tolerance) -> bool {
    let loads = role_loads(pieces, sets, aim.holders()).by_holder();
    let mut crowd = Crowd::new(&aim.domains);
    let mut fits = |piece: &Piece| aim.fits(piece.set, sets, &mut crowd);
    loads.iter().all(|(holder, cells)| {
        let (least, most) = band(aim.targets[holder], tolerance, aim.cells);
        (least..=most).contains(cells)
    }) && pieces.iter().all(&mut fits)
}

/// The band around a target.
fn band(target: u128, tolerance: Tolerance, cells: u128) -> (u128, u128) {
    const WHOLE: u128 = 1_000_000; // a target is below 2^72, so the products fit
    let part = u128::from(tolerance.millionths());
    let least = (target * (WHOLE - part)).div_ceil(WHOLE);
    let most = target * (WHOLE + part) / WHOLE;
    (least, most.min(cells))
}

/// The numbers, each moved to the nearest end of its band if it is outside.
fn clamped(numbers: &ByHolder, bands: &Bands) -> ByHolder {
    let clamp = |(holder, number): (HolderId, &u128)| {
        let (least, most) = bands[holder];
        (*number).clamp(least, most)
    };
    numbers.iter().map(clamp).collect()
}

/// How far up in its band a number is: 0 at the lower end, 2^32 at the upper one.
fn height(number: u128, (least, most): (u128, u128)) -> u128 {
    let above = number.saturating_sub(least) << 32;
    above.checked_div(most.saturating_sub(least)).unwrap_or(0)
}

/// The position of each holder among those of its outermost domain, from 0.
fn turns(aim: &Aim) -> Table<HolderId, u32> {
    let mut next = Table::filled(aim.domains.list().len(), 0..);
    let mut turn = |holder| match aim.domains.of(holder).first() {
        Some(domain) => next[*domain].next().unwrap_or(0),
        None => 0,
    };
    aim.targets.ids().map(&mut turn).collect()
}

struct Choice<'a> {
    aim: &'a Aim,
    /// How many primaries each holder had.
    before: &'a ByHolder,
    /// The position of each holder in its outermost domain.
    turns: Table<HolderId, u32>,
    /// How many cells each holder is to get, and of how many it is to be the primary.
    cells: ByHolder,
    primaries: ByHolder,
    bands: Bands,
    of_primaries: Bands,
    /// How many more cells each domain can take.
    room: Table<DomainId, u128>,
}

impl Choice<'_> {
    /// Lowers and raises numbers until no domain has too much and the whole is given out.
    fn settle(&mut self) {
        let outermost = self.aim.domains.outermost();
        let holders = self.settle_inside(outermost);
        let all = u128::from(self.aim.replicas()) * self.aim.cells;
        let given = self.cells.sum();
        let primaries = self.primaries.sum();
        if given > all {
            let primaries = primaries.saturating_sub(self.aim.cells);
            self.lower(&holders, given - all, primaries);
        } else {
            let primaries = self.aim.cells.saturating_sub(primaries);
            self.raise(&holders, all - given, primaries);
        }
    }

    /// Lowers numbers until no domain inside has too much. Returns the holders inside.
    fn settle_inside(&mut self, inside: &Inside) -> Vec<HolderId> {
        let domains = &self.aim.domains;
        let mut all = inside.members.clone();
        for id in &inside.parts {
            let holders = self.settle_inside(&domains.list()[*id].inside);
            let most = u128::from(domains.cap(*id)) * self.aim.cells;
            let sum = |numbers: &ByHolder| holders.iter().map(|h| numbers[*h]).sum::<u128>();
            let given = sum(&self.cells);
            if given > most {
                let more = sum(&self.primaries).saturating_sub(sum(self.before));
                self.lower(&holders, given - most, more);
            }
            self.room[*id] = most.saturating_sub(given);
            all.extend(holders);
        }
        all
    }

    /// Takes `cells` from the holders that are highest in their bands, and primaries among them as
    /// long as there are too many. Each one gives both as far as it can before the next one does.
    fn lower(&mut self, holders: &[HolderId], mut cells: u128, mut primaries: u128) {
        let order = self.by_height(holders, true);
        for holder in &order {
            let spare = self.spare(*holder).min(cells);
            let least = self.of_primaries[*holder].0;
            let of_primaries = self.primaries[*holder].saturating_sub(least);
            let of_primaries = of_primaries.min(primaries).min(spare);
            self.primaries[*holder] -= of_primaries;
            primaries -= of_primaries;
            let others = self.cells[*holder] - self.primaries[*holder] - of_primaries;
            let part = spare.min(of_primaries + others);
            self.cells[*holder] -= part;
            cells -= part;
        }
        // where only primaries are left to take
        for holder in order {
            let part = self.spare(holder).min(cells);
            self.cells[holder] -= part;
            self.primaries[holder] = self.primaries[holder].min(self.cells[holder]);
            cells -= part;
        }
    }

    /// How many cells a holder has above the lower end of its band.
    fn spare(&self, holder: HolderId) -> u128 {
        self.cells[holder] - self.bands[holder].0
    }

    /// Gives `cells` to the holders that are lowest in their bands, and primaries among them as
    /// long as there are too few. Each one takes both as far as it can before the next one does:
    /// its primaries reach the upper end of their band together with its cells.
    fn raise(&mut self, holders: &[HolderId], mut cells: u128, mut primaries: u128) {
        let order = self.by_height(holders, false);
        for holder in &order {
            let most = self.of_primaries[*holder].1;
            let part = most.saturating_sub(self.primaries[*holder]).min(primaries);
            let part = self.raise_one(*holder, part.min(cells));
            self.primaries[*holder] += part;
            primaries -= part;
            cells -= part;
            let others = self.cells[*holder] - self.primaries[*holder];
            let room = self.bands[*holder].1.saturating_sub(most);
            cells -= self.raise_one(*holder, room.saturating_sub(others).min(cells));
        }
        // where no primaries are left to give
        for holder in order {
            cells -= self.raise_one(holder, cells);
        }
    }

    /// Gives a holder up to `cells` cells, as far as its band and its domains allow. Returns how
    /// many it got.
    fn raise_one(&mut self, holder: HolderId, cells: u128) -> u128 {
        let domains = self.aim.domains.of(holder);
        let room = domains.iter().map(|id| self.room[*id]).min();
        let below = self.bands[holder].1 - self.cells[holder];
        let part = cells.min(below).min(room.unwrap_or(u128::MAX));
        self.cells[holder] += part;
        for id in domains {
            self.room[*id] -= part;
        }
        part
    }

    /// The holders by how far up in their bands their numbers of cells are. Of equal ones the first
    /// of each outermost domain come before the second ones, and so on: otherwise those that take
    /// together would stand in one domain, where a part of the cells cannot go.
    fn by_height(&self, holders: &[HolderId], highest_first: bool) -> Vec<HolderId> {
        let rank = |holder: HolderId| {
            let height = height(self.cells[holder], self.bands[holder]);
            let height = if highest_first {
                u128::MAX - height
            } else {
                height
            };
            (height, self.turns[holder], holder)
        };
        let mut order: Vec<_> = holders.iter().map(|holder| rank(*holder)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, _, holder)| holder).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of cells and of primaries that holders in these zones get at a tolerance of 10%.
    fn numbers(
        zones: &[&str],
        replicas: u32,
        targets: &[u128],
        now: &[(u128, &[u32])],
    ) -> (Vec<u128>, Vec<u128>) {
        let mut sets = Sets::default();
        let pieces = sets.pieces(now);
        let exact = Aim::zoned(zones, replicas, targets);
        let tenth = Tolerance::from_millionths(100_000).unwrap();
        let aim = tolerated(&pieces, &sets, &exact, tenth);
        let chosen = aim.chosen.unwrap();
        (aim.targets.into_values(), chosen.primaries.into_values())
    }

    #[test]
    fn a_band_is_rounded_inwards_and_ends_with_the_space() {
        let tenth = Tolerance::from_millionths(100_000).unwrap();
        assert_eq!(band(100, tenth, 1000), (90, 110));
        assert_eq!(band(15, tenth, 1000), (14, 16));
        assert_eq!(band(1000, tenth, 1000), (900, 1000));
        assert_eq!(
            (band(9, tenth, 1000), band(0, tenth, 1000)),
            ((9, 9), (0, 0))
        );
    }

    #[test]
    fn who_is_in_the_band_keeps_its_number() {
        let now: &[(u128, &[u32])] = &[(105, &[0]), (95, &[1]), (100, &[2])];
        let kept = vec![105, 95, 100];
        let made = numbers(&["a", "b", "c"], 1, &[100, 100, 100], now);
        assert_eq!(made, (kept.clone(), kept));
    }

    #[test]
    fn what_a_leaving_holder_has_fills_the_lowest_up_first() {
        let now: &[(u128, &[u32])] = &[(10, &[0]), (95, &[1]), (99, &[2]), (96, &[3])];
        let made = numbers(&["-", "a", "b", "c"], 1, &[0, 100, 100, 100], now);
        assert_eq!(made.0, [0, 105, 99, 96]);
    }

    #[test]
    fn cells_and_primaries_reach_the_upper_end_together() {
        // a node of zone a leaves with 20 cells, 6 of them as the primary; the first of the other
        // two takes 15 in both roles, although both are as low
        let now: &[(u128, &[u32])] = &[
            (22, &[1, 3]),
            (18, &[3, 1]),
            (22, &[2, 3]),
            (18, &[3, 2]),
            (6, &[0, 3]),
            (14, &[3, 0]),
        ];
        let made = numbers(&["-", "a", "a", "b"], 2, &[0, 50, 50, 100], now);
        assert_eq!(made, (vec![0, 55, 45, 100], vec![0, 28, 22, 50]));
    }

    #[test]
    fn of_equally_low_holders_those_that_take_stand_in_different_domains() {
        let now: &[(u128, &[u32])] = &[(20, &[0]), (95, &[1]), (95, &[2]), (95, &[3]), (95, &[4])];
        let made = numbers(&["-", "a", "a", "b", "b"], 1, &[0, 100, 100, 100, 100], now);
        assert_eq!(made.0, [0, 110, 95, 100, 95]);
    }

    #[test]
    fn a_new_holder_gets_the_least_it_must_have_from_the_highest() {
        let now: &[(u128, &[u32])] = &[(108, &[0]), (104, &[1]), (88, &[2])];
        let made = numbers(&["a", "b", "c", "d"], 1, &[90, 95, 85, 30], now);
        // the first two are at the upper ends of their bands; the earlier one gives all
        assert_eq!(made.0, [81, 104, 88, 27]);
    }

    #[test]
    fn a_full_domain_is_lowered_by_itself_and_primaries_stay_in_their_bands() {
        // two zones, each with one copy of 100 cells: what zone a gets too much, its own nodes give
        let zones = ["a", "a", "b"];
        let now: &[(u128, &[u32])] = &[(52, &[0, 2]), (48, &[2, 1])];
        let (cells, primaries) = numbers(&zones, 2, &[40, 60, 100], now);
        assert_eq!(cells, [44, 56, 100]);
        assert_eq!(primaries.iter().sum::<u128>(), 100);
        assert!((18..=22).contains(&primaries[0]) && (27..=33).contains(&primaries[1]));
    }
}
