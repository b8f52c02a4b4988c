//! Whether the places that keep the data are still what they were: the new ones, and in reverse the
//! old ones.

use std::collections::BTreeMap;

use super::journal::Journal;
use super::kind::Fault;
use super::protocol::Protocol;
use super::route::Routes;
use crate::exit::{Failure, Result, NO_INPUT};

/// Looks which of these places were emptied or replaced since the last look, and notes what they
/// hold now. If there are any, the journal says that all passes begin again.
pub fn replaced(
    protocol: &Protocol,
    routes: &Routes,
    reverse: bool,
    journal: &Journal,
) -> Result<Vec<String>> {
    let mut now = BTreeMap::new();
    let (old, new) = routes.ends();
    for number in if reverse { old } else { new } {
        let node = &routes.nodes[number];
        let holding = protocol.retry(|| protocol.kind.holding(node));
        let holding = holding.map_err(|Fault { line, .. }| Failure::new(NO_INPUT, line))?;
        now.insert(node.name.clone(), holding);
    }
    journal.note_holdings(&now)
}
