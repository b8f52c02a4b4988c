//! First layout: the slices of a fleet that has no map yet.
//!
//! At one replica, each holder gets one contiguous run. At more replicas, the space is cut into
//! chunks. In each chunk the holders are laid end to end, each time in another order, and the line
//! is wrapped around the chunk (McNaughton 1959). Holders of one domain lie beside each other. So
//! every point gets R different holders, and no domain holds more copies than its cap.
//!
//! Different orders make many different sets. When a node fails, many others can therefore take
//! part in the rebuild, and later moves find a legal exchange nearly everywhere.

use std::cmp::Reverse;

use super::aim::Aim;
use super::domains::{DomainId, Domains, Inside};
use super::holder::{ByHolder, HolderId, Role};
use super::piece::{join, Piece};
use super::sets::Sets;
use super::table::Table;
use crate::map::mix;
use crate::point::Point;

/// The largest and the smallest number of chunks. In between, chunks * holders is at most `PIECES`:
/// 64 chunks up to 256 holders, 16 at 1,000, 4 at 4,000 and more. Measured (docs/rebalance.md):
/// more chunks make later moves cheaper and the table larger.
const CHUNKS_MOST: u32 = 64;
const CHUNKS_LEAST: u32 = 4;
const PIECES: u32 = 16_384;

/// The number of chunks of a first layout: a power of two, and fewer where they would make more
/// than `most` pieces.
pub(super) fn chunks(holding: usize, replicas: u32, most: usize) -> u32 {
    if replicas == 1 || holding <= replicas as usize {
        return 1;
    }
    let holding = u32::try_from(holding).unwrap_or(u32::MAX);
    let wish = (PIECES / holding).max(1).ilog2();
    let chunks = (1 << wish).clamp(CHUNKS_LEAST, CHUNKS_MOST);
    // primaries make about as many cuts as holders do
    let fit = (most as u64 / (2 * u64::from(holding))).max(1).ilog2();
    chunks.min(1u32.checked_shl(fit).unwrap_or(CHUNKS_MOST))
}

/// The first pieces. Every holder has its target; every set has R holders and keeps the caps.
pub(super) fn first_layout(sets: &mut Sets, aim: &Aim, chunks: u32) -> Vec<Piece> {
    let domains = &aim.domains;
    if aim.replicas() == 1 {
        return join(aim.targets.iter().map(|(holder, cells)| Piece {
            cells: *cells,
            set: sets.id([Role::primary(holder)]),
        }));
    }
    let mut random = Random { drawn: 0 };
    let mut left = aim.targets.clone();
    let mut cells_left = aim.cells;
    let mut pieces = Vec::new();
    for chunk in 0..chunks {
        let length = cells_left / u128::from(chunks - chunk);
        let shares = share_of_chunk(&left, domains, length, u128::from(chunks - chunk));
        let mut order = Vec::new();
        random.shuffle_inside(domains.outermost(), domains, &mut order);
        let line: Vec<(HolderId, u128)> = order
            .into_iter()
            .map(|holder| (holder, shares[holder]))
            .collect();
        for (holder, cells) in &line {
            left[*holder] -= cells;
        }
        wrap(&line, length, aim.replicas(), sets, &mut pieces);
        cells_left -= length;
    }
    join(pieces)
}

/// Computes what each holder gets of one chunk, when `parts` equal chunks are left. Each holder,
/// and each domain, gets its part rounded down or up (from the outside in, by largest remainder),
/// so that R * `length` cells are given out in all.
fn share_of_chunk(left: &ByHolder, domains: &Domains, length: u128, parts: u128) -> ByHolder {
    let mut of_domain = Table::zeros(domains.list().len());
    for (holder, cells) in left.iter() {
        for domain in domains.of(holder) {
            of_domain[*domain] += cells;
        }
    }
    let mut chunk = Chunk {
        left,
        of_domain,
        domains,
        parts,
        shares: ByHolder::zeros(left.len()),
    };
    let all = length * u128::from(domains.replicas());
    chunk.share(all, domains.outermost());
    chunk.shares
}

/// One chunk, while `parts` chunks are left.
struct Chunk<'a> {
    /// How many cells each holder gets in all chunks that are left.
    left: &'a ByHolder,
    /// How many cells each domain gets in all chunks that are left.
    of_domain: Table<DomainId, u128>,
    domains: &'a Domains,
    parts: u128,
    /// How many cells each holder gets in this chunk.
    shares: ByHolder,
}

impl Chunk<'_> {
    /// Shares `total` among the domains and holders directly inside. Each gets its part of the
    /// chunk, rounded down or up.
    fn share(&mut self, total: u128, inside: &Inside) {
        let Inside { parts, members } = inside;
        let of_parts = parts.iter().map(|id| self.of_domain[*id]);
        let of_members = members.iter().map(|holder| self.left[*holder]);
        let all: Vec<u128> = of_parts.chain(of_members).collect();
        let given = round(total, &all, self.parts);
        let (to_parts, to_members) = given.split_at(parts.len());
        for (id, total) in parts.iter().zip(to_parts) {
            self.share(*total, &self.domains.list()[*id].inside);
        }
        for (holder, cells) in members.iter().zip(to_members) {
            self.shares[*holder] = *cells;
        }
    }
}

/// Divides each number by `parts` and rounds it down or up so that the results add up to `total`.
/// The numbers with the largest remainders are rounded up; of equal ones, the first.
fn round(total: u128, all: &[u128], parts: u128) -> Vec<u128> {
    let mut given: Vec<u128> = all.iter().map(|number| number / parts).collect();
    let over = total.saturating_sub(given.iter().sum());
    let remainder = |number: &u128| number % parts;
    let mut up: Vec<(u128, &mut u128)> = all.iter().map(remainder).zip(&mut given).collect();
    up.retain(|(remainder, _)| *remainder > 0);
    up.sort_by_key(|(remainder, _)| Reverse(*remainder));
    let over = usize::try_from(over).unwrap_or(usize::MAX);
    for (_, given) in up.into_iter().take(over) {
        *given += 1;
    }
    given
}

/// Wraps the line around the chunk R times. The holders of a point are the ones that lie over it,
/// one in each round. No holder has more than `length` cells, so none lies over a point twice.
fn wrap(
    line: &[(HolderId, u128)],
    length: u128,
    replicas: u32,
    sets: &mut Sets,
    pieces: &mut Vec<Piece>,
) {
    // the holders of each round, cut at the chunk's end
    let mut rounds = Vec::with_capacity(replicas as usize);
    let mut round: Vec<(HolderId, u128)> = Vec::new();
    let mut room = length;
    for (holder, mut cells) in line.iter().copied() {
        while cells > 0 {
            let taken = cells.min(room);
            round.push((holder, taken));
            cells -= taken;
            room -= taken;
            if room == 0 {
                room = length;
                rounds.push(std::mem::take(&mut round).into_iter().peekable());
            }
        }
    }
    // the primary is taken from each round in turn, so that few primaries have to be changed later
    // to give every holder its share of them
    let mut turn = pieces.len();
    loop {
        let now = rounds.iter_mut().filter_map(|round| round.peek().copied());
        let now: Vec<(HolderId, u128)> = now.collect();
        let Some(cells) = now.iter().map(|(_, cells)| *cells).min() else {
            return;
        };
        let first = turn % now.len();
        turn += 1;
        let role = |(i, (holder, _)): (usize, &(HolderId, u128))| Role::of(*holder, i == first);
        let set = sets.id(now.iter().enumerate().map(role));
        pieces.push(Piece { cells, set });
        for round in &mut rounds {
            if let Some((_, rest)) = round.peek_mut() {
                *rest -= cells;
            }
            round.next_if(|(_, rest)| *rest == 0);
        }
    }
}

/// Random numbers that are the same on every machine: the draws of [`mix`] for point 0, which are
/// those of SplitMix64.
struct Random {
    drawn: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        mix(Point(0), self.drawn).0
    }

    /// Appends all holders inside that can hold, in a random order in which the holders of each
    /// domain, at every level, stand beside each other.
    fn shuffle_inside(&mut self, inside: &Inside, domains: &Domains, order: &mut Vec<HolderId>) {
        let Inside {
            mut parts,
            mut members,
        } = inside.clone();
        self.shuffle(&mut parts);
        for id in parts {
            self.shuffle_inside(&domains.list()[id].inside, domains, order);
        }
        self.shuffle(&mut members);
        order.extend(members);
    }

    /// Fisher-Yates shuffle. The bias of `%` is below 2^-48 for 65,536 holders.
    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = (self.next() % (last as u64 + 1)) as usize;
            list.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::piece::loads;
    use super::*;

    #[test]
    fn the_chunks_are_a_power_of_two_and_fewer_where_pieces_are_limited() {
        let no_limit = usize::MAX;
        assert_eq!(
            (chunks(9, 1, no_limit), chunks(3, 3, no_limit)),
            (1, 1),
            "one replica, or everybody holds everything"
        );
        let number = |holding| chunks(holding, 3, no_limit);
        assert_eq!(
            [9, 256, 257, 1000, 4096, 65_536].map(number),
            [64, 64, 32, 16, 4, 4]
        );
        // nine holders make about 18 pieces in each chunk
        assert_eq!(
            [10, 36, 300, 1151, 1152].map(|most| chunks(9, 3, most)),
            [1, 2, 16, 32, 64]
        );
    }

    #[test]
    fn at_one_replica_each_holder_gets_one_run() {
        let mut sets = Sets::default();
        let made = first_layout(&mut sets, &Aim::free(1, &[3, 0, 2]), 1);
        assert_eq!(made, sets.pieces(&[(3, &[0]), (2, &[2])]));
    }

    #[test]
    fn a_wrapped_line_gives_no_point_to_a_holder_twice() {
        //   0 0 0 1
        //   1 2 2 2      and the primary comes from each round in turn
        let mut sets = Sets::default();
        let mut pieces = Vec::new();
        wrap(
            &[(HolderId(0), 3), (HolderId(1), 2), (HolderId(2), 3)],
            4,
            2,
            &mut sets,
            &mut pieces,
        );
        assert_eq!(
            pieces,
            sets.pieces(&[(1, &[0, 1]), (2, &[2, 0]), (1, &[1, 2])])
        );
    }

    #[test]
    fn a_chunk_has_its_part_of_each_domain_and_of_each_holder() {
        let share_of_chunk = |left: [u128; 4], length, parts| {
            let aim = Aim::zoned(&["a", "a", "b", "b"], 2, &left);
            share_of_chunk(&aim.targets, &aim.domains, length, parts).into_values()
        };
        // each zone gets 5 of 10 cells; odd cells go to the largest remainder, of equal ones to the
        // earlier
        assert_eq!(share_of_chunk([3, 7, 5, 5], 5, 2), [2, 3, 3, 2]);
        // 6 and 4 cells over 5 chunks are 1.2 and 0.8, so the second is rounded up
        assert_eq!(share_of_chunk([6, 4, 10, 0], 2, 5), [1, 1, 2, 0]);
    }

    #[test]
    fn any_number_of_chunks_gives_every_holder_its_target_within_the_caps() {
        let zones = ["a/1", "a/2", "b/1", "b/1", "c/1", "-"];
        let aim = Aim::zoned(&zones, 3, &[667, 333, 499, 501, 1000, 0]);
        for chunks in [1, 2, 4, 64] {
            let mut sets = Sets::default();
            let made = first_layout(&mut sets, &aim, chunks);
            assert_eq!(
                (
                    &loads(&made, &sets, 6),
                    made.iter().map(|piece| piece.cells).sum::<u128>()
                ),
                (&aim.targets, 1000)
            );
            let sound = |piece: &Piece| aim.fits(piece.set, &sets);
            assert!(made.iter().all(sound), "{chunks} chunks");
        }
    }

    #[test]
    fn the_random_numbers_are_those_of_splitmix64() {
        let mut random = Random { drawn: 0 };
        assert_eq!(
            [random.next(), random.next()],
            [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]
        );
    }
}
