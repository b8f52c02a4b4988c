//! Contiguous: one interval for each node, drawn anew at every step, in the order of the names.
//! This is figure 5 of the article. At least one published crate that calls itself Random Slicing
//! rebuilds its table like this.

use super::ideal::{Names, NodeNumber, Wanted};
use super::placement::Placement;
use super::system::System;
use crate::error::Result;
use crate::fleet::Fleet;

/// The present intervals.
#[derive(Default)]
pub struct Contiguous {
    pieces: Vec<(NodeNumber, u128)>,
}

impl System for Contiguous {
    fn name(&self) -> &'static str {
        "contiguous"
    }

    fn step(&mut self, _: &Fleet, wanted: &Wanted) -> Result<()> {
        let nodes = wanted.holders.iter().map(|holder| holder.node);
        self.pieces = nodes
            .zip(wanted.ideal.iter().copied())
            .filter(|(_, points)| *points > 0)
            .collect();
        Ok(())
    }

    fn placement(&self, _: &mut Names) -> Placement {
        Placement::of_pieces(self.pieces.iter().copied())
    }
}
