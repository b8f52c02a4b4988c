//! stead itself: calls [`build`] in the same way as `stead apply`.

use super::ideal::{Names, Wanted};
use super::placement::Placement;
use super::system::System;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::map::Map;
use crate::rebalance::build;

/// stead as a system, with the map of the present epoch.
#[derive(Default)]
pub struct Own {
    map: Option<Map>,
}

impl System for Own {
    fn name(&self) -> &'static str {
        "stead"
    }

    fn step(&mut self, fleet: &Fleet, _: &Wanted) -> Result<()> {
        self.map = Some(build(fleet, self.map.as_ref())?);
        Ok(())
    }

    fn placement(&self, names: &mut Names) -> Placement {
        let mut placement = Placement::default();
        let Some(map) = &self.map else {
            return placement;
        };
        let members = |policy: crate::map::Policy<'_>| {
            policy
                .members()
                .map(|node| names.number(map.node(node).name()))
                .collect()
        };
        let policies: Vec<Vec<u32>> = map.policies().map(members).collect();
        for slice in map.base_slices() {
            placement.push(
                slice.first.0,
                policies
                    .get(slice.policy.index())
                    .into_iter()
                    .flatten()
                    .copied(),
            );
        }
        placement.entries = map.base_count();
        placement
    }
}
