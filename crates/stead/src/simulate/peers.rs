//! The systems that take part in a simulation: stead and its peers.

use super::claim::Claim;
use super::contiguous::Contiguous;
use super::gaps::{Collect, Slicing};
use super::own::Own;
use super::system::{LeftOut, Sizes, System};
use super::vnodes::Vnodes;

/// The peers that take part, and those that are left out because their rules do not say where a
/// second copy goes.
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

/// stead and its peers, and the systems that are left out.
pub fn systems(replicas: u32, sizes: Sizes) -> (Vec<Box<dyn System>>, Vec<LeftOut>) {
    let (peers, left_out) = peers(replicas, sizes);
    let own: Box<dyn System> = Box::new(Own::default());
    (std::iter::once(own).chain(peers).collect(), left_out)
}
