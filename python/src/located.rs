//! Asks for the nodes of many keys: the primary of each, or all of them.

use std::num::NonZeroUsize;

use stead::policy::PolicyId;
use stead::Keys;

use crate::array::Lists;
use crate::batch::{Answers, Ask};
use crate::error::Problem;

/// Asks for the primary node of each key, by its number.
pub(crate) struct Primary<'a> {
    /// Where the keys live.
    pub(crate) map: &'a stead::Map,
    /// The number of threads that locate keys.
    pub(crate) threads: NonZeroUsize,
}

impl Ask for Primary<'_> {
    type Answer = i32;
    const KEEPS: bool = true;

    fn threads(&self) -> usize {
        self.threads.get()
    }

    fn answer(&self, keys: Keys<'_>, nodes: &mut [i32]) {
        // a map has at most 65,536 nodes
        let number = |node: stead::policy::NodeId| node.0 as i32;
        self.map.locate_keys(keys, self.threads, nodes, number);
    }
}

/// Asks for all nodes of each key, primary first.
pub(crate) struct All<'a> {
    /// Where the keys live.
    pub(crate) map: &'a stead::Map,
    /// The number of threads that locate keys.
    pub(crate) threads: NonZeroUsize,
    /// The numbers of the nodes.
    pub(crate) nodes: Lists,
}

impl Ask for All<'_> {
    type Answer = PolicyId;
    const KEEPS: bool = false;

    fn threads(&self) -> usize {
        self.threads.get()
    }

    fn answer(&self, keys: Keys<'_>, policies: &mut [PolicyId]) {
        self.map.policies_of_keys(keys, self.threads, policies);
    }

    fn take(&mut self, policies: &Answers<PolicyId>) -> Result<(), Problem> {
        self.nodes.reserve(policies.values.len())?;
        for policy in policies.iter() {
            let members = policy.map(|policy| self.map.policy(policy).members());
            self.nodes
                .push(members.map(|nodes| nodes.map(|node| node.0 as i32)))?;
        }
        Ok(())
    }
}
