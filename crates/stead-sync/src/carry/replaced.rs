//! Whether new places are still what copies were brought to.

use std::collections::BTreeMap;

use super::journal::Journal;
use super::kind::Fault;
use super::protocol::Protocol;
use super::route::Routes;
use crate::exit::{Failure, Result, NO_INPUT};

/// Looks which new places were emptied or replaced since the last look, and notes what they hold
/// now. If there are any, the journal says that all passes begin again.
pub fn replaced(protocol: &Protocol, routes: &Routes, journal: &Journal) -> Result<Vec<String>> {
    let mut now = BTreeMap::new();
    for number in routes.ends().1 {
        let node = &routes.nodes[number];
        let holding = protocol.retry(|| protocol.kind.holding(node));
        let holding = holding.map_err(|Fault { line, .. }| Failure::new(NO_INPUT, line))?;
        now.insert(node.name.clone(), holding);
    }
    journal.note_holdings(&now)
}
