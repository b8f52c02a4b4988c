//! A system that can be simulated: its interface, and the sizes that it is given.

use serde::Serialize;

use super::ideal::{Names, Wanted};
use super::placement::Placement;
use crate::error::{Error, Result};
use crate::fleet::Fleet;

/// A way to place keys that has a state and follows a history of fleets.
pub trait System {
    /// What it is called in tables.
    fn name(&self) -> &'static str;

    /// The size that it was given, in words; empty when there is none to choose.
    fn size(&self) -> String {
        String::new()
    }

    /// Follows the fleet. This is what is timed.
    fn step(&mut self, fleet: &Fleet, wanted: &Wanted) -> Result<()>;

    /// Who holds what now.
    fn placement(&self, names: &mut Names) -> Placement;
}

/// What the peers are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Partitions of Riak's ring: a power of two, which never changes.
    pub partitions: u32,
    /// Points on the ring of a node of average weight.
    pub ring_points: u32,
}

impl Sizes {
    /// The most partitions or ring points a node: with 65,536 nodes the tables still fit a machine.
    pub const MOST: u32 = 1 << 20;

    /// What fits a history whose largest fleet has so many nodes: at least 16 partitions a node and
    /// at least Riak's default of 64; 160 ring points a node, as libketama gives.
    pub fn of(nodes: usize) -> Sizes {
        let partitions = (nodes * 16)
            .next_power_of_two()
            .clamp(64, Self::MOST as usize);
        Sizes {
            partitions: partitions as u32,
            ring_points: 160,
        }
    }

    /// The same sizes when they can be.
    pub fn check(self) -> Result<Sizes> {
        if !self.partitions.is_power_of_two() || self.partitions > Self::MOST {
            let problem = format!(
                "{} partitions: write a power of two up to {}",
                self.partitions,
                Self::MOST
            );
            return Err(Error::Invalid { problem });
        }
        if !(1..=Self::MOST).contains(&self.ring_points) {
            let problem = format!(
                "{} ring points: write 1 to {}",
                self.ring_points,
                Self::MOST
            );
            return Err(Error::Invalid { problem });
        }
        Ok(self)
    }
}

/// A system that does not take part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub system: &'static str,
    /// Why.
    pub reason: &'static str,
}
