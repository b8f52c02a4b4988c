//! A judge of maps that shares no code with what it judges. It reads the bytes by
//! docs/map-format.md alone and does its own arithmetic.

mod bytes;
pub mod copies;
mod filling;
mod flow;
pub mod pins;

use std::collections::BTreeMap;

use bytes::{allowed, section, text, tolerance, u32_at, u64_at};

/// A holder of base slices: a node or a named policy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holder {
    Node(String),
    Policy(String),
}

/// The parts of a map that the judge reads.
#[derive(Clone, Debug)]
pub struct Judged {
    pub weights: BTreeMap<Holder, u128>,
    /// The first point and the holder of each base slice.
    pub slices: Vec<(u64, Holder)>,
    /// How far a share may be from its target, in millionths.
    pub tolerance: u128,
}

pub fn read(bytes: &[u8]) -> Judged {
    let text = |at: usize| text(bytes, at);
    let (nodes, node_count) = section(bytes, 3);
    let (policies, policy_count) = section(bytes, 6);
    let (members, _) = section(bytes, 7);
    let mut weights = BTreeMap::new();
    for i in 0..node_count {
        weights.insert(
            Holder::Node(text(nodes + 40 * i)),
            u128::from(u64_at(bytes, nodes + 40 * i + 16)),
        );
    }
    let mut holders = Vec::new();
    for i in 0..policy_count {
        let record = policies + 40 * i;
        let flags = u32_at(bytes, record + 32);
        let node = nodes + 40 * u32_at(bytes, members + 4 * u32_at(bytes, record + 24));
        let holder = if flags & 1 == 1 {
            Holder::Policy(text(record))
        } else {
            Holder::Node(text(node))
        };
        if flags & 2 == 2 {
            weights.insert(holder.clone(), u128::from(u64_at(bytes, record + 16)));
        }
        holders.push(holder);
    }
    let (points, count) = section(bytes, 8);
    let (held, _) = section(bytes, 9);
    let slices = (0..count)
        .map(|i| {
            (
                u64_at(bytes, points + 8 * i),
                holders[u32_at(bytes, held + 4 * i)].clone(),
            )
        })
        .collect();
    Judged {
        weights,
        slices,
        tolerance: tolerance(bytes),
    }
}

impl Judged {
    /// The points of each holder.
    pub fn points(&self) -> BTreeMap<Holder, u128> {
        let mut sums: BTreeMap<Holder, u128> =
            self.weights.keys().map(|h| (h.clone(), 0)).collect();
        let ends = self
            .slices
            .iter()
            .skip(1)
            .map(|(first, _)| u128::from(*first))
            .chain([1 << 64]);
        for ((first, holder), end) in self.slices.iter().zip(ends) {
            *sums.entry(holder.clone()).or_default() += end - u128::from(*first);
        }
        sums
    }

    /// The target of each holder: its share rounded down, and one point more for the holders with
    /// the largest remainders.
    pub fn targets(&self) -> BTreeMap<Holder, u128> {
        let total: u128 = self.weights.values().sum();
        let (mut targets, mut order) = (BTreeMap::new(), Vec::new());
        for (holder, weight) in &self.weights {
            // in two halves, because 2^64 * w may need more than 128 bits
            let (high, rest) = ((weight << 32) / total, (weight << 32) % total);
            let target = (high << 32) + (rest << 32) / total;
            order.push((std::cmp::Reverse((rest << 32) % total), holder));
            targets.insert(holder.clone(), target);
        }
        let left = (1 << 64) - targets.values().sum::<u128>();
        order.sort();
        for (_, holder) in order.into_iter().take(left as usize) {
            *targets.entry(holder.clone()).or_default() += 1;
        }
        targets
    }

    /// Guarantee 1 of a map with a tolerance: each holder is within it of its target.
    fn check_band(&self) -> Result<(), String> {
        let points = self.points();
        for (holder, target) in self.targets() {
            let had = points.get(&holder).copied().unwrap_or(0);
            let (least, most) = allowed(target, self.tolerance, 1 << 64);
            if had < least || had > most {
                return Err(format!(
                    "{holder:?} has {had} points, not {least} to {most}"
                ));
            }
        }
        Ok(())
    }

    /// Guarantee 1: each holder has its share rounded down, or one point more if its remainder is
    /// among the largest. A map with a tolerance is judged by the band around this share.
    pub fn check_balance(&self) -> Result<(), String> {
        if self.tolerance > 0 {
            return self.check_band();
        }
        let total: u128 = self.weights.values().sum();
        let points = self.points();
        let mut remainders: Vec<(u128, &Holder)> = Vec::new();
        let mut left: u128 = 1 << 64;
        for (holder, weight) in &self.weights {
            // 2^64 * w / W by long division, 32 bits at a time, so that nothing overflows
            let (mut share, mut rest) = (0u128, *weight);
            for _ in 0..2 {
                share = (share << 32) + (rest << 32) / total;
                rest = (rest << 32) % total;
            }
            remainders.push((rest, holder));
            left -= share;
            let had = points.get(holder).copied().unwrap_or(0);
            if had != share && had != share + 1 {
                return Err(format!("{holder:?} has {had} points, its share is {share}"));
            }
            if had == share + 1 {
                remainders.last_mut().unwrap().0 += 1 << 100; // marks holders that got one more
            }
        }
        // the marked holders must be the first `left` ones by remainder; of equal remainders, the
        // earlier by kind and name
        let mut order: Vec<(u128, &Holder)> = remainders
            .iter()
            .map(|(r, h)| (r & ((1 << 100) - 1), *h))
            .collect();
        order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        for (i, (_, holder)) in order.iter().enumerate() {
            let marked = remainders
                .iter()
                .any(|(r, h)| h == holder && *r >> 100 == 1);
            if marked != ((i as u128) < left) {
                return Err(format!("{holder:?} got the wrong left-over point"));
            }
        }
        Ok(())
    }

    /// The points that have another holder in `new`. `renamed` returns the name in `new` of a
    /// holder of `self`.
    pub fn moved(&self, new: &Judged, renamed: &dyn Fn(&Holder) -> Holder) -> u128 {
        let owner = |slices: &[(u64, Holder)], at: u64| {
            slices[slices.partition_point(|(first, _)| *first <= at) - 1]
                .1
                .clone()
        };
        let mut cuts: Vec<u64> = self
            .slices
            .iter()
            .chain(&new.slices)
            .map(|(first, _)| *first)
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let ends: Vec<u128> = cuts
            .iter()
            .skip(1)
            .map(|c| u128::from(*c))
            .chain([1 << 64])
            .collect();
        let changed = |at: u64| renamed(&owner(&self.slices, at)) != owner(&new.slices, at);
        cuts.iter()
            .zip(ends)
            .filter(|(first, _)| changed(**first))
            .map(|(first, end)| end - u128::from(*first))
            .sum()
    }

    /// The sum of the gains of all holders.
    pub fn bound(&self, new: &Judged, renamed: &dyn Fn(&Holder) -> Holder) -> u128 {
        let mut had: BTreeMap<Holder, u128> = BTreeMap::new();
        for (holder, points) in self.points() {
            *had.entry(renamed(&holder)).or_default() += points;
        }
        new.points()
            .iter()
            .map(|(holder, points)| points.saturating_sub(had.get(holder).copied().unwrap_or(0)))
            .sum()
    }

    /// Guarantee 3: no more points move than the lower bound.
    pub fn check_movement(
        &self,
        new: &Judged,
        renamed: &dyn Fn(&Holder) -> Holder,
    ) -> Result<(), String> {
        let (moved, bound) = (self.moved(new, renamed), self.bound(new, renamed));
        if moved == bound {
            Ok(())
        } else {
            Err(format!("{moved} points moved, {bound} would do"))
        }
    }
}
