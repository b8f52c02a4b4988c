//! stead itself: [`build`], as `stead apply` calls it.

use super::ideal::{Names, Wanted};
use super::system::System;
use super::table::Layout;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::map::Map;
use crate::rebalance::build;

/// The map of the present epoch.
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

    fn layout(&self, names: &mut Names) -> Layout {
        let mut layout = Layout::default();
        let Some(map) = &self.map else { return layout };
        let members = |policy: crate::map::Policy<'_>| {
            policy
                .members()
                .map(|node| names.number(map.node(node).name()))
                .collect()
        };
        let policies: Vec<Vec<u32>> = map.policies().map(members).collect();
        for slice in map.base_slices() {
            layout.push(
                slice.first.0,
                policies
                    .get(slice.policy.index())
                    .into_iter()
                    .flatten()
                    .copied(),
            );
        }
        layout.entries = map.base_count();
        layout
    }
}
