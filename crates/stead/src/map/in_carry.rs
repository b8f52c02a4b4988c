//! A map while a carry is open: refusing other changes, and the next epoch with another state.

use super::inside::Node;
use super::open::Map;
use crate::error::{Error, Result};
use crate::format::{Carry, NodeLists, Parts};
use crate::policy::NodeId;

impl Map {
    /// Checks that no carry is open: until it is closed, only attributes of nodes may change.
    ///
    /// Errors: `Carrying`, with the state of the carry and how to go on.
    pub fn no_carry(&self) -> Result<()> {
        let Some(carry) = self.carry() else {
            return Ok(());
        };
        let reversed = match carry.reverse {
            true => ", and is being reversed",
            false => "",
        };
        Err(Error::Carrying {
            file: None,
            problem: format!(
                "epoch {} has a carry open, which brings the data from where epoch {} placed it: \
                 it is in the state {}{reversed}; until it is closed, only attributes of nodes can \
                 change, and nothing was changed: `stead-sync carry` goes on with it or reverses \
                 it, and `stead carry` does so by hand",
                self.epoch(),
                carry.from_epoch,
                carry.state.word()
            ),
        })
    }

    /// Returns how many of the newest epochs a reader of this map needs: one, and while a carry is
    /// open all from the map where the data was.
    pub fn epochs_needed(&self) -> usize {
        let before = self
            .carry()
            .map_or(0, |carry| self.epoch().saturating_sub(carry.from_epoch));
        usize::try_from(before)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
    }

    /// Makes the same map, of the same epoch, with this carry or without one.
    pub(crate) fn with_carry(&self, carry: Option<Carry>) -> Result<Map> {
        let parts = Parts {
            carry,
            ..self.to_parts()
        };
        let map = Map::from_parts(&parts, &NodeLists::default())?;
        Ok(map.with_permits(self.permits()))
    }

    /// Makes the epoch after this one: the same map, with this carry or without one.
    pub(crate) fn followed_by(&self, carry: Option<Carry>) -> Result<Map> {
        let Some(epoch) = self.epoch().checked_add(1) else {
            return Err(Error::Impossible {
                problem: "no epoch can follow 2^64 - 1".into(),
            });
        };
        let parts = Parts {
            epoch,
            map_id: self.map_id(),
            parent: self.digest(),
            carry,
            ..self.to_parts()
        };
        Map::from_parts(&parts, &NodeLists::default())
    }

    /// Makes the same map, of the same epoch, in which each node has the attributes of the node
    /// that `like` finds for it. A node for which it finds none keeps its own.
    pub(crate) fn with_attributes<'a>(
        &self,
        like: impl Fn(NodeId) -> Option<Node<'a>>,
    ) -> Result<Map> {
        let mut parts = self.to_parts();
        for (node, id) in parts.nodes.iter_mut().zip((0..).map(NodeId)) {
            if let Some(like) = like(id) {
                let attributes = like.attributes();
                let attributes =
                    attributes.map(|(name, value)| (name.to_owned(), value.to_owned()));
                node.attributes = attributes.collect();
            }
        }
        Map::from_parts(&parts, &NodeLists::default())
    }

    /// Makes the epoch after this one, in which only attributes are other: each node has those that
    /// the node of its name has in `like`.
    pub(crate) fn followed_with_attributes(&self, like: &Map) -> Result<Map> {
        let next = self.followed_by(self.carry())?;
        next.with_attributes(|node| like.node_named(self.node(node).name()))
    }
}
