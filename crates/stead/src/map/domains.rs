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

    fn domain(&self, node: NodeId) -> u32 {
        let domain = self.of_nodes.get(node.index()).copied();
        domain.unwrap_or(Domains::NONE)
    }

    /// Whether the domain of a node holds points and has no node in the list yet.
    fn is_fresh(&self, node: NodeId, listed: &[NodeId]) -> bool {
        let domain = self.domain(node);
        domain < Domains::EMPTY && listed.iter().all(|other| self.domain(*other) != domain)
    }

    /// Returns how many domains that hold points have no node in the list.
    pub(super) fn fresh(&self, listed: &[NodeId]) -> usize {
        let mut rest = listed;
        let mut taken = 0;
        while let [before @ .., node] = rest {
            taken += usize::from(self.is_fresh(*node, before));
            rest = before;
        }
        self.holding.saturating_sub(taken)
    }

    /// While there are fresh domains: whether a node is in one, and whether it may be listed.
    pub(super) fn judge(&self, node: NodeId, listed: &[NodeId]) -> (bool, bool) {
        let is_fresh = self.is_fresh(node, listed);
        (is_fresh, is_fresh || self.domain(node) == Domains::NONE)
    }
}
