//! A system that can be simulated: its interface, and the sizes that the peers get.

use serde::Serialize;

use super::ideal::{Names, Wanted};
use super::placement::Placement;
use crate::error::{Error, Result};
use crate::fleet::Fleet;

/// A method of placing keys that has a state and follows a history of fleets.
pub trait System {
    /// The name of the system in tables.
    fn name(&self) -> &'static str;

    /// The size that the system was given, in words; empty when it has no size to choose.
    fn size(&self) -> String {
        String::new()
    }

    /// Changes the placement so that it follows the fleet. This call is timed.
    fn step(&mut self, fleet: &Fleet, wanted: &Wanted) -> Result<()>;

    /// The current placement: which nodes hold which points.
    fn placement(&self, names: &mut Names) -> Placement;
}

/// The sizes that the peers are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The number of partitions of Riak's ring: a power of two, which never changes.
    pub partitions: u32,
    /// The number of points on the ring for a node of average weight.
    pub ring_points: u32,
}

impl Sizes {
    /// The upper bound on partitions and on ring points a node. With 65,536 nodes the tables still
    /// fit into memory.
    pub const MOST: u32 = 1 << 20;

    /// The sizes for a history whose largest fleet has `nodes` nodes: at least 16 partitions a node
    /// and at least 64, which is Riak's default; 160 ring points a node, as in libketama.
    pub fn of(nodes: usize) -> Sizes {
        let partitions = (nodes * 16)
            .next_power_of_two()
            .clamp(64, Self::MOST as usize);
        Sizes {
            partitions: partitions as u32,
            ring_points: 160,
        }
    }

    /// Returns the sizes, or `Invalid` when they are not allowed.
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

/// A system that does not take part in a simulation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LeftOut {
    /// The name of the system.
    pub system: &'static str,
    /// Why it does not take part.
    pub reason: &'static str,
}
