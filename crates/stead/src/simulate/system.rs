//! What can be simulated: the interface of a system, and the list of all of them.

use serde::Serialize;

use super::claim::Claim;
use super::contiguous::Contiguous;
use super::gaps::{Collect, Slicing};
use super::ideal::{Names, Wanted};
use super::own::Own;
use super::table::Layout;
use super::vnodes::Vnodes;
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
    fn layout(&self, names: &mut Names) -> Layout;
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

/// The peers, and those that are left out because they do not say where a second copy goes.
pub fn peers(replicas: u32, sizes: Sizes) -> (Vec<Box<dyn System>>, Vec<LeftOut>) {
    let single: Vec<Box<dyn System>> = vec![
        Box::new(Slicing::new(Collect::CutShift)),
        Box::new(Slicing::new(Collect::LeftToRight)),
        Box::new(Contiguous::default()),
    ];
    let rings: Vec<Box<dyn System>> = vec![
        Box::new(Claim::new(sizes.partitions)),
        Box::new(Vnodes::new(sizes.ring_points)),
    ];
    if replicas == 1 {
        return (single.into_iter().chain(rings).collect(), Vec::new());
    }
    let reason = "defined for one replica only";
    let left_out = single
        .iter()
        .map(|system| LeftOut {
            system: system.name(),
            reason,
        })
        .collect();
    (rings, left_out)
}

/// stead and its peers.
pub fn systems(replicas: u32, sizes: Sizes) -> (Vec<Box<dyn System>>, Vec<LeftOut>) {
    let (peers, left_out) = peers(replicas, sizes);
    let own: Box<dyn System> = Box::new(Own::default());
    (std::iter::once(own).chain(peers).collect(), left_out)
}
