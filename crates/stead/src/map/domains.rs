//! The outermost domains of a map, for `prefer`: which nodes are in a domain that holds points.

use crate::policy::NodeId;

/// The outermost domains of a map. They depend on the map alone, so it keeps them.
pub(super) struct Domains {
    /// for each node the number of its domain, or one of the two constants below
    of_nodes: Vec<u32>,
    /// how many domains hold points; they are numbered from 0
    holding: usize,
}

impl Domains {
    /// of a node without the label
    pub(super) const NONE: u32 = u32::MAX;
    /// of a node whose domain holds no points
    pub(super) const EMPTY: u32 = u32::MAX - 1;

    /// `of_nodes` has the number of each node's domain; `holding` is how many domains there are.
    pub(super) fn new(of_nodes: Vec<u32>, holding: usize) -> Domains {
        Domains { of_nodes, holding }
    }

    /// How many domains hold points.
    pub(super) fn holding(&self) -> usize {
        self.holding
    }

    /// The number of a node's domain, or one of the two constants.
    pub(super) fn domain(&self, node: NodeId) -> u32 {
        let domain = self.of_nodes.get(node.index()).copied();
        domain.unwrap_or(Domains::NONE)
    }
}
