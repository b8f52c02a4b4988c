//! Layout: the first slices of a fleet.
//!
//! One replica: one contiguous run a holder. More: the space is cut into chunks, and in each the
//! holders are laid end to end in an order of its own and wrapped around (McNaughton 1959), domain
//! beside domain, so that every point gets R different holders and every domain at most its cap.
//! Different orders bring many different sets about: when a node fails, many others take part in
//! the rebuild, and later moves find legal exchanges nearly everywhere.

use super::domains::{DomainId, Domains};
use super::holder::{ByHolder, HolderId};
use super::piece::{join, Piece};
use super::role::Role;
use super::sets::Sets;
use crate::map::mix;
use crate::point::Point;

/// The most chunks, the fewest, and about how many pieces a first layout has at most between the
/// two: 64 chunks up to 256 holders, 16 at 1,000, 4 at 4,000 and more. Measured
/// (docs/rebalance.md): more chunks make later moves cheaper and the table larger.
const CHUNKS_MOST: u32 = 64;
const CHUNKS_LEAST: u32 = 4;
const PIECES: u32 = 16_384;

/// How many chunks a first layout has: a power of two, fewer where `most` pieces would be passed.
pub(super) fn chunks(holding: usize, replicas: u32, most: usize) -> u32 {
    if replicas == 1 || holding <= replicas as usize {
        return 1;
    }
    let holding = u32::try_from(holding).unwrap_or(u32::MAX);
    let wish = (PIECES / holding).max(1).ilog2();
    let chunks = (1 << wish).clamp(CHUNKS_LEAST, CHUNKS_MOST);
    // primaries cut about as often as holders do
    let fit = (most as u64 / (2 * u64::from(holding))).max(1).ilog2();
    chunks.min(1u32.checked_shl(fit).unwrap_or(CHUNKS_MOST))
}

/// The first pieces: every holder has its target, every set R holders within the caps.
pub(super) fn layout(
    targets: &ByHolder,
    domains: &Domains,
    sets: &mut Sets,
    cells: u128,
    chunks: u32,
) -> Vec<Piece> {
    if domains.replicas() == 1 {
        return join(targets.iter().map(|(holder, cells)| Piece {
            cells,
            set: sets.id([Role::primary(holder)]),
        }));
    }
    let mut random = Random { drawn: 0 };
    let mut left = targets.clone();
    let mut cells_left = cells;
    let mut pieces = Vec::new();
    for chunk in 0..chunks {
        let length = cells_left / u128::from(chunks - chunk);
        let shares = share_of_chunk(&left, domains, length, u128::from(chunks - chunk));
        let order = shuffled(domains, &mut random);
        let line: Vec<(HolderId, u128)> = order
            .into_iter()
            .map(|holder| (holder, shares.of(holder)))
            .collect();
        for (holder, cells) in &line {
            left.take(*holder, *cells);
        }
        wrap(&line, length, domains.replicas(), sets, &mut pieces);
        cells_left -= length;
    }
    join(pieces)
}

/// What each holder gets of a chunk, which is one of `parts` equal ones that are left: its part
/// rounded down or up, so that every domain's is, too (from the outside in, by largest remainder),
/// and so that R * `length` are given out.
fn share_of_chunk(left: &ByHolder, domains: &Domains, length: u128, parts: u128) -> ByHolder {
    let mut sums = vec![0u128; domains.list().len()];
    for (holder, cells) in left.iter() {
        for domain in domains.of(holder) {
            if let Some(sum) = sums.get_mut(*domain) {
                *sum += cells;
            }
        }
    }
    let mut shares = ByHolder::zeros(left.0.len());
    let whole = length * u128::from(domains.replicas());
    share_among(
        whole,
        domains.outermost(),
        domains.outside(),
        left,
        &sums,
        domains,
        parts,
        &mut shares,
    );
    shares
}

/// Shares `total` among parts and members, each of which gets its sum / `parts` rounded down or up.
// one recursion, whose context would be a type of its own for one function
#[allow(clippy::too_many_arguments)]
fn share_among(
    total: u128,
    parts_of: &[DomainId],
    members: &[HolderId],
    left: &ByHolder,
    sums: &[u128],
    domains: &Domains,
    parts: u128,
    shares: &mut ByHolder,
) {
    let domain_sums = parts_of
        .iter()
        .map(|id| sums.get(*id).copied().unwrap_or(0));
    let all: Vec<u128> = domain_sums
        .chain(members.iter().map(|holder| left.of(*holder)))
        .collect();
    let mut given: Vec<u128> = all.iter().map(|sum| sum / parts).collect();
    let mut over = total.saturating_sub(given.iter().sum());
    let mut order: Vec<(u128, usize)> = all
        .iter()
        .zip(0..)
        .map(|(sum, i)| (sum % parts, i))
        .collect();
    order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    for (rest, i) in order {
        if let Some(given) = given.get_mut(i).filter(|_| over > 0 && rest > 0) {
            *given += 1;
            over -= 1;
        }
    }
    for (id, total) in parts_of.iter().zip(&given) {
        if let Some(domain) = domains.list().get(*id) {
            share_among(
                *total,
                &domain.parts,
                &domain.members,
                left,
                sums,
                domains,
                parts,
                shares,
            );
        }
    }
    for (holder, cells) in members.iter().zip(given.iter().skip(parts_of.len())) {
        shares.add(*holder, *cells);
    }
}

/// All that can hold, domain beside domain at every level, in a random order.
fn shuffled(domains: &Domains, random: &mut Random) -> Vec<HolderId> {
    let mut order = Vec::new();
    visit(
        domains.outermost(),
        domains.outside(),
        domains,
        random,
        &mut order,
    );
    order
}

fn visit(
    parts: &[DomainId],
    members: &[HolderId],
    domains: &Domains,
    random: &mut Random,
    order: &mut Vec<HolderId>,
) {
    let mut parts = parts.to_vec();
    random.shuffle(&mut parts);
    for id in parts {
        if let Some(domain) = domains.list().get(id) {
            visit(&domain.parts, &domain.members, domains, random, order);
        }
    }
    let mut members = members.to_vec();
    random.shuffle(&mut members);
    order.extend(members);
}

/// Lays the line around the chunk, R times: a point's holders are those above it in each round.
/// None has more than `length`, so none meets itself.
fn wrap(
    line: &[(HolderId, u128)],
    length: u128,
    replicas: u32,
    sets: &mut Sets,
    pieces: &mut Vec<Piece>,
) {
    // the holders of each round, cut at the chunk's end
    let mut rounds: Vec<Vec<(HolderId, u128)>> = vec![Vec::new()];
    let mut room = length;
    for (holder, cells) in line {
        let mut cells = *cells;
        while cells > 0 {
            let taken = cells.min(room);
            if let Some(round) = rounds.last_mut() {
                round.push((*holder, taken));
            }
            cells -= taken;
            room -= taken;
            if room == 0 {
                room = length;
                rounds.push(Vec::new());
            }
        }
    }
    rounds.truncate(replicas as usize);
    let mut places = vec![0usize; rounds.len()];
    let mut left = length;
    // whose turn it is to be the primary rotates, so that few have to be changed for everybody's
    // share of primaries
    let mut turn = pieces.len();
    while left > 0 {
        let now: Vec<(HolderId, u128)> = rounds
            .iter()
            .zip(&places)
            .filter_map(|(round, place)| round.get(*place))
            .copied()
            .collect();
        let Some(cells) = now.iter().map(|(_, cells)| *cells).min() else {
            break;
        };
        let first = turn % now.len().max(1);
        turn += 1;
        let role = |(i, (holder, _)): (usize, &(HolderId, u128))| {
            if i == first {
                Role::primary(*holder)
            } else {
                Role::other(*holder)
            }
        };
        pieces.push(Piece {
            cells,
            set: sets.id(now.iter().enumerate().map(role)),
        });
        for (round, place) in rounds.iter_mut().zip(&mut places) {
            if let Some((_, rest)) = round.get_mut(*place) {
                *rest -= cells;
                if *rest == 0 {
                    *place += 1;
                }
            }
        }
        left -= cells;
    }
}

/// Random numbers that are the same everywhere: the draws of [`mix`] for point 0, which is
/// SplitMix64.
struct Random {
    drawn: u64,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        mix(Point(0), self.drawn).0
    }

    /// Fisher-Yates. The bias of `%` is below 2^-48 for 65,536 holders.
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
        // nine holders make about 18 pieces a chunk
        assert_eq!(
            [10, 36, 300, 1151, 1152].map(|most| chunks(9, 3, most)),
            [1, 2, 16, 32, 64]
        );
    }

    #[test]
    fn one_replica_is_one_run_a_holder() {
        let mut sets = Sets::default();
        let domains = Domains::new(&[Some(Vec::new()), None, Some(Vec::new())], 1);
        let made = layout(&ByHolder(vec![3, 0, 2]), &domains, &mut sets, 5, 1);
        assert_eq!(made, sets.pieces(&[(3, &[0]), (2, &[2])]));
    }

    #[test]
    fn a_line_is_wrapped_around_so_that_nobody_meets_itself() {
        //  0 0 0 1
        //  1 2 2 2      and the turn to be the primary goes around
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
        let paths: Vec<Option<Vec<&str>>> = ["a", "a", "b", "b"]
            .iter()
            .map(|zone| Some(vec![*zone]))
            .collect();
        let domains = Domains::new(&paths, 2);
        // of 10 cells a zone 5, the odd ones to the largest remainder, of equal ones to the earlier
        assert_eq!(
            share_of_chunk(&ByHolder(vec![3, 7, 5, 5]), &domains, 5, 2).0,
            [2, 3, 3, 2]
        );
        // 6 and 4 of 5 chunks: both are 1.2 and 0.8, so the second is rounded up
        assert_eq!(
            share_of_chunk(&ByHolder(vec![6, 4, 10, 0]), &domains, 2, 5).0,
            [1, 1, 2, 0]
        );
    }

    #[test]
    fn every_chunk_number_gives_everybody_the_target_within_the_caps() {
        let paths: Vec<Option<Vec<&str>>> = ["a/1", "a/2", "b/1", "b/1", "c/1", "-"]
            .iter()
            .map(|path| (*path != "-").then(|| path.split('/').collect()))
            .collect();
        let domains = Domains::new(&paths, 3);
        let targets = ByHolder(vec![667, 333, 499, 501, 1000, 0]);
        for chunks in [1, 2, 4, 64] {
            let mut sets = Sets::default();
            let made = layout(&targets, &domains, &mut sets, 1000, chunks);
            assert_eq!(
                (
                    loads(&made, &sets, 6),
                    made.iter().map(|piece| piece.cells).sum::<u128>()
                ),
                (targets.clone(), 1000)
            );
            let sound = |piece: &Piece| {
                sets.roles(piece.set).len() == 3
                    && domains.broken(sets.holders(piece.set)).is_none()
            };
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
