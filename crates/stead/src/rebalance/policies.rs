//! Policies of a map that is being built: the fleet's named ones, and the lists of nodes that stead chose.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::format::PolicyPart;
use crate::policy::{NodeId, PolicyId};

/// The policies of the new map, in the order of the format.
pub(super) struct Policies {
    pub list: Vec<PolicyPart>,
    names: BTreeMap<String, PolicyId>,
    unnamed: BTreeMap<Vec<NodeId>, PolicyId>,
}

impl Policies {
    /// The fleet's, and those for all `lists` of nodes.
    pub(super) fn new(fleet: &Fleet, node_ids: &BTreeMap<&str, NodeId>, lists: impl Iterator<Item = Vec<NodeId>>) -> Result<Policies> {
        let mut policies = Policies { list: Vec::new(), names: BTreeMap::new(), unnamed: lists.map(|list| (list, PolicyId(0))).collect() };
        for policy in &fleet.policies {
            policies.names.insert(policy.name.clone(), PolicyId(policies.list.len() as u32));
            policies.list.push(PolicyPart {
                name: Some(policy.name.clone()),
                kind: policy.kind.clone(),
                weight: policy.weight,
                members: members(&policy.nodes, node_ids)?,
            });
        }
        for (members, id) in &mut policies.unnamed {
            *id = PolicyId(policies.list.len() as u32);
            policies.list.push(PolicyPart { name: None, kind: String::new(), weight: None, members: members.clone() });
        }
        Ok(policies)
    }

    pub(super) fn by_name(&self, name: &str) -> Result<PolicyId> {
        self.names.get(name).copied().ok_or_else(|| Error::Internal { problem: format!("no policy `{name}`") })
    }

    pub(super) fn by_members(&self, members: &[NodeId]) -> Result<PolicyId> {
        self.unnamed.get(members).copied().ok_or_else(|| Error::Internal { problem: "a policy was not listed".into() })
    }
}

/// The numbers of the nodes of these names.
pub(super) fn members(names: &[String], node_ids: &BTreeMap<&str, NodeId>) -> Result<Vec<NodeId>> {
    let id = |name: &String| {
        node_ids.get(name.as_str()).copied().ok_or_else(|| Error::Internal { problem: format!("no node `{name}`") })
    };
    names.iter().map(id).collect()
}
