//! First layout: the slices of a fleet that has no map yet.
//!
//! At one replica, each holder gets one contiguous run. At more replicas, the space is cut into
//! chunks. In each chunk the holders are laid end to end, each time in another order, and the line
//! is wrapped around the chunk (McNaughton 1959). Holders of one domain lie beside each other. So
//! every point gets R different holders, and no domain holds more copies than its cap.
//!
//! Different orders make many different sets. When a node fails, many others can therefore take
//! part in the rebuild, and later moves find a legal exchange nearly everywhere.
//!
//! R chunks in a row form a group, which keeps the primaries balanced. The line of a group is cut
//! into R *rounds*, one for each time that it goes around the chunk. Each chunk of the group takes
//! its primaries from another of these rounds, and shuffles the holders in it, and those in the
//! others. So nearly every holder is the primary of its part of the group, and at nearly every
//! border only one holder changes: later steps can move such borders, and can let two cuts share
//! them.

use std::cmp::Reverse;

use super::aim::Aim;
use super::domains::{DomainId, Domains, Inside};
use super::holder::{ByHolder, HolderId, Role};
use super::piece::{join, Piece};
use super::sets::Sets;
use super::table::Table;
use crate::map::mix;
use crate::point::Point;

/// The largest and the smallest number of chunks, before they are rounded up to whole groups. In
/// between, chunks * holders is at most `PIECES`: 64 chunks up to 256 holders, 16 at 1,000, 4 at
/// 4,000 and more. Measured (docs/rebalance.md): more chunks make later moves cheaper and the table
/// larger.
const CHUNKS_MOST: u32 = 64;
const CHUNKS_LEAST: u32 = 4;
const PIECES: u32 = 16_384;

/// The number of chunks of a first layout: a power of two, rounded up to whole groups of R chunks
/// where there are at least R, and fewer where they would make more than `most` pieces.
pub(super) fn chunks(holding: usize, replicas: u32, most: usize) -> u32 {
    if replicas == 1 || holding <= replicas as usize {
        return 1;
    }
    let holding = u32::try_from(holding).unwrap_or(u32::MAX);
    let wish = (PIECES / holding).max(1).ilog2();
    let chunks = (1u32 << wish).clamp(CHUNKS_LEAST, CHUNKS_MOST);
    let whole_groups = match replicas <= chunks {
        true => chunks.next_multiple_of(replicas),
        false => chunks,
    };
    // twice the pieces of a whole group, so that later steps have room
    let fit = most as u64 / (2 * u64::from(holding));
    if fit >= u64::from(whole_groups) {
        return whole_groups;
    }
    let group_fits = most as u64 >= u64::from(replicas) * u64::from(holding);
    if fit < u64::from(replicas) && replicas <= whole_groups && group_fits {
        return replicas; // one group has borders that can move, and fewer pieces than R - 1 chunks
    }
    fewer(whole_groups, replicas, fit as u32)
}

/// The next number of chunks to try: the largest one below `chunks`, and at most `most`, that is R
/// times a power of two; or a power of two, where fewer than R chunks are left.
pub(super) fn fewer(chunks: u32, replicas: u32, most: u32) -> u32 {
    let most = most.min(chunks - 1).max(1);
    let group = if most >= replicas { replicas } else { 1 };
    group << (most / group).ilog2()
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
    let mut order = Vec::new();
    let mut pieces = Vec::new();
    for chunk in 0..chunks {
        let length = cells_left / u128::from(chunks - chunk);
        let shares = share_of_chunk(&left, domains, length, cells_left);
        // whole groups only: without them, the primaries come from each round in turn
        let primaries = (chunks % aim.replicas() == 0).then(|| (chunk % aim.replicas()) as usize);
        if primaries.is_none_or(|round| round == 0) {
            order.clear();
            random.shuffle_inside(domains.outermost(), domains, &mut order);
        }
        let line = order.iter().map(|holder| (*holder, shares[*holder]));
        let line: Line = match primaries {
            Some(round) if round > 0 => random.shuffle_line(rounds(line, length), round, domains),
            _ => line.collect(),
        };
        for (holder, cells) in &line {
            left[*holder] -= cells;
        }
        let rounds = rounds(line.into_iter(), length);
        overlay(rounds, primaries.is_some(), sets, &mut pieces);
        cells_left -= length;
    }
    join(pieces)
}

/// Computes what each holder gets of a chunk of `length` cells, when `whole` cells are left. Each
/// holder, and each domain, gets its part rounded down or up (from the outside in, by largest
/// remainder), so that R * `length` cells are given out in all.
fn share_of_chunk(left: &ByHolder, domains: &Domains, length: u128, whole: u128) -> ByHolder {
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
        length,
        whole,
        shares: ByHolder::zeros(left.len()),
    };
    let all = length * u128::from(domains.replicas());
    chunk.share(all, domains.outermost());
    chunk.shares
}

/// One chunk of `length` cells, when `whole` cells are left.
struct Chunk<'a> {
    /// How many cells each holder gets in all chunks that are left.
    left: &'a ByHolder,
    /// How many cells each domain gets in all chunks that are left.
    of_domain: Table<DomainId, u128>,
    domains: &'a Domains,
    length: u128,
    whole: u128,
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
        let all: Vec<(u128, u128)> = of_parts
            .chain(of_members)
            .map(|cells| self.part(cells))
            .collect();
        let given = round(total, &all);
        let (to_parts, to_members) = given.split_at(parts.len());
        for (id, total) in parts.iter().zip(to_parts) {
            self.share(*total, &self.domains.list()[*id].inside);
        }
        for (holder, cells) in members.iter().zip(to_members) {
            self.shares[*holder] = *cells;
        }
    }

    /// The part of a number that falls to the chunk, rounded down, and the remainder.
    fn part(&self, cells: u128) -> (u128, u128) {
        // both factors are at most 2^64, and one is less
        let rest = cells % self.whole * self.length;
        let down = cells / self.whole * self.length + rest / self.whole;
        (down, rest % self.whole)
    }
}

/// Rounds each number down or up, so that the results add up to `total`. The numbers with the
/// largest remainders are rounded up; of equal ones, the first.
fn round(total: u128, all: &[(u128, u128)]) -> Vec<u128> {
    let mut given: Vec<u128> = all.iter().map(|(down, _)| *down).collect();
    let over = total.saturating_sub(given.iter().sum());
    let remainders = all.iter().map(|(_, remainder)| *remainder);
    let mut up: Vec<(u128, &mut u128)> = remainders.zip(&mut given).collect();
    up.retain(|(remainder, _)| *remainder > 0);
    up.sort_by_key(|(remainder, _)| Reverse(*remainder));
    let over = usize::try_from(over).unwrap_or(usize::MAX);
    for (_, given) in up.into_iter().take(over) {
        *given += 1;
    }
    given
}

/// Holders and their cells, end to end.
type Line = Vec<(HolderId, u128)>;

/// Wraps the line around the chunk: cuts it into rounds of `length` cells each.
fn rounds(line: impl Iterator<Item = (HolderId, u128)>, length: u128) -> Vec<Line> {
    let mut rounds = Vec::new();
    let mut round = Line::new();
    let mut room = length;
    for (holder, mut cells) in line {
        while cells > 0 {
            let taken = cells.min(room);
            round.push((holder, taken));
            cells -= taken;
            room -= taken;
            if room == 0 {
                room = length;
                rounds.push(std::mem::take(&mut round));
            }
        }
    }
    rounds
}

/// Lays the rounds over each other. The holders of a point are the ones that lie over it, one of
/// each round. No holder has more cells than the chunk, so none lies over a point twice. The
/// primary is the holder of the first round, or that of the next round in each piece.
fn overlay(rounds: Vec<Line>, of_first_round: bool, sets: &mut Sets, pieces: &mut Vec<Piece>) {
    let mut rounds: Vec<_> = rounds
        .into_iter()
        .map(|round| round.into_iter().peekable())
        .collect();
    let mut turn = pieces.len();
    loop {
        let now = rounds.iter_mut().filter_map(|round| round.peek().copied());
        let now: Vec<(HolderId, u128)> = now.collect();
        let Some(cells) = now.iter().map(|(_, cells)| *cells).min() else {
            return;
        };
        let first = if of_first_round { 0 } else { turn % now.len() };
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

    /// Returns a line that begins with the holders of one round, and goes on with those of the
    /// others, both shuffled. A holder or a domain that lies in both keeps its place at their
    /// borders, of which one is the end of the line. So what belongs together still stands together
    /// on the circle that the line makes when it is wrapped around the chunk.
    fn shuffle_line(&mut self, mut rounds: Vec<Line>, first: usize, domains: &Domains) -> Line {
        rounds.rotate_left(first);
        let mut rounds = rounds.into_iter();
        let first = rounds.next().unwrap_or_default();
        let mut others = Line::new();
        for (holder, cells) in rounds.flatten() {
            match others.last_mut() {
                Some((last, sum)) if *last == holder => *sum += cells,
                _ => others.push((holder, cells)),
            }
        }
        let ends = |line: &Line| [line.last(), line.first()].map(|end| end.map(|(h, _)| *h));
        let (beside_first, beside_others) = (ends(&others), ends(&first));
        let mut line = self.shuffle_within(first, domains, 0, beside_first);
        line.extend(self.shuffle_within(others, domains, 0, beside_others));
        line
    }

    /// Shuffles holders that share a domain at each level above `level`: first the domains at this
    /// level, then the holders within each. `beside` are the holders before and after them that
    /// share that domain as well.
    fn shuffle_within(
        &mut self,
        list: Line,
        domains: &Domains,
        level: usize,
        beside: [Option<HolderId>; 2],
    ) -> Line {
        let alike = |a: HolderId, b: HolderId| match domains.of(a).get(level) {
            Some(domain) => domains.of(b).get(level) == Some(domain),
            None => a == b,
        };
        let groups = list.chunk_by(|a, b| alike(a.0, b.0));
        let mut groups: Vec<(Line, [Option<HolderId>; 2])> =
            groups.map(|group| (group.to_vec(), [None, None])).collect();
        let holds = |group: &Line, beside: &HolderId| {
            group
                .first()
                .is_some_and(|(holder, _)| alike(*holder, *beside))
        };
        let (mut from, mut to) = (0, groups.len());
        if let Some((group, sides)) = groups.first_mut() {
            sides[0] = beside[0].filter(|before| holds(group, before));
            from += usize::from(sides[0].is_some());
        }
        if let Some((group, sides)) = groups.last_mut() {
            sides[1] = beside[1].filter(|after| holds(group, after));
            to -= usize::from(sides[1].is_some());
        }
        if let Some(free) = groups.get_mut(from..to) {
            self.shuffle(free);
        }
        let mut shuffled = Line::with_capacity(list.len());
        for (group, sides) in groups {
            match group.as_slice() {
                [_] => shuffled.extend(group),
                _ => shuffled.extend(self.shuffle_within(group, domains, level + 1, sides)),
            }
        }
        shuffled
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
    fn the_chunks_are_whole_groups_and_fewer_where_pieces_are_limited() {
        let no_limit = usize::MAX;
        assert_eq!(
            (chunks(9, 1, no_limit), chunks(3, 3, no_limit)),
            (1, 1),
            "one replica, or everybody holds everything"
        );
        let number = |holding| chunks(holding, 3, no_limit);
        assert_eq!(
            [9, 256, 257, 1000, 4096, 65_536].map(number),
            [66, 66, 33, 18, 6, 6]
        );
        assert_eq!(chunks(65_536, 5, no_limit), 4, "fewer chunks than replicas");
        // nine holders make 9 pieces in each chunk of a whole group, and others in later steps
        assert_eq!(
            [26, 27, 107, 108, 300, 1187, 1188].map(|most| chunks(9, 3, most)),
            [1, 3, 3, 6, 12, 48, 66]
        );
        assert_eq!(
            [5 * 6000 - 1, 60_000].map(|most| chunks(6000, 5, most)),
            [2, 4],
            "no whole group"
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
        let line = [(HolderId(0), 3), (HolderId(1), 2), (HolderId(2), 3)];
        let rounds = rounds(line.into_iter(), 4);
        let mut pieces = Vec::new();
        overlay(rounds.clone(), false, &mut sets, &mut pieces);
        let in_turn = sets.pieces(&[(1, &[0, 1]), (2, &[2, 0]), (1, &[1, 2])]);
        assert_eq!(pieces, in_turn);
        pieces.clear();
        overlay(rounds, true, &mut sets, &mut pieces);
        let of_one_round = sets.pieces(&[(1, &[0, 1]), (2, &[0, 2]), (1, &[1, 2])]);
        assert_eq!(pieces, of_one_round);
    }

    #[test]
    fn a_chunk_has_its_part_of_each_domain_and_of_each_holder() {
        let share_of_chunk = |left: [u128; 4], length, whole| {
            let aim = Aim::zoned(&["a", "a", "b", "b"], 2, &left);
            share_of_chunk(&aim.targets, &aim.domains, length, whole).into_values()
        };
        // each zone gets 5 of 10 cells; odd cells go to the largest remainder, of equal ones to the
        // earlier
        assert_eq!(share_of_chunk([3, 7, 5, 5], 5, 10), [2, 3, 3, 2]);
        // a fifth of 6 and of 4 cells is 1.2 and 0.8, so the second is rounded up
        assert_eq!(share_of_chunk([6, 4, 10, 0], 2, 10), [1, 1, 2, 0]);
    }

    #[test]
    fn any_number_of_chunks_gives_every_holder_its_target_within_the_caps() {
        let zones = ["a/1", "a/2", "b/1", "b/1", "c/1", "-"];
        let aim = Aim::zoned(&zones, 3, &[667, 333, 499, 501, 1000, 0]);
        for chunks in [1, 2, 3, 4, 12, 64, 66] {
            let mut sets = Sets::default();
            let made = first_layout(&mut sets, &aim, chunks);
            assert_eq!(
                (
                    &loads(&made, &sets, 6),
                    made.iter().map(|piece| piece.cells).sum::<u128>()
                ),
                (&aim.targets, 1000)
            );
            assert!(aim.all_fit(&made, &sets), "{chunks} chunks");
        }
    }

    #[test]
    fn a_chunk_that_is_no_whole_part_of_the_space_keeps_the_caps() {
        let zones = ["s/a", "s/b", "s/c", "s/a", "s/a", "s/a"];
        let aim = Aim::zoned(&zones, 3, &[250, 1000, 1000, 250, 250, 250]);
        for chunks in [3, 12, 66] {
            let mut sets = Sets::default();
            let made = first_layout(&mut sets, &aim, chunks);
            assert_eq!(loads(&made, &sets, 6), aim.targets);
            assert!(aim.all_fit(&made, &sets), "{chunks} chunks");
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
