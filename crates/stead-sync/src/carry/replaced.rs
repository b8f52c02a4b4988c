//! Whether the places of a carry are still what they were: one may be emptied, or get a new disk.
//!
//! ```text
//!            an old place                           a new place
//! forward    ends the run, unless it is in `lost`   begins the passes of the state again
//! reverse    begins the passes of the state again   -
//! ```

use std::collections::BTreeSet;

use super::journal::{Holdings, Journal};
use super::kind::Fault;
use super::protocol::Protocol;
use super::route::Routes;
use super::story::{Lost, Side};
use crate::exit::{Failure, Result, NO_INPUT};

/// Looks which places that keep the data were emptied or replaced since the last look, and notes
/// what they hold now. If there are any, the journal says that all passes begin again.
pub fn replaced(
    protocol: &Protocol,
    routes: &Routes,
    reverse: bool,
    journal: &Journal,
) -> Result<Lost> {
    let side = if reverse { Side::Old } else { Side::New };
    let now = look(protocol, routes, side)?;
    let lost = journal.lost(side, &now);
    journal.note_holdings(side, &now, &lost.nodes)?;
    Ok(lost)
}

/// Looks whether old places were emptied or replaced since the last look, before their data is at
/// the new places: what is not there would be taken for deleted. More than `most` are refused.
pub fn refuse_emptied_sources(
    protocol: &Protocol,
    routes: &Routes,
    journal: &Journal,
    most: u64,
) -> Result {
    let now = look(protocol, routes, Side::Old)?;
    let lost = journal.lost(Side::Old, &now);
    if lost.nodes.len() as u64 > most {
        return Err(Failure::new(
            NO_INPUT,
            format_args!(
                "{}; nothing was changed; if a node has \
                 lost its data, name it in lost: then its other copies are the sources, and what \
                 the new places have stays there; if it is right as it is, raise limits.empty",
                lost.told("since the carry began")
            ),
        ));
    }
    journal.note_holdings(Side::Old, &now, &BTreeSet::new())
}

fn look(protocol: &Protocol, routes: &Routes, side: Side) -> Result<Holdings> {
    let (old, new) = routes.ends();
    let mut now = Holdings::new();
    for number in if side == Side::Old { old } else { new } {
        let node = &routes.nodes[number];
        let holding = protocol.retry(|| protocol.kind.holding(node, side == Side::New));
        let holding = holding.map_err(|Fault { line, .. }| Failure::new(NO_INPUT, line))?;
        now.insert(node.name.clone(), holding);
    }
    Ok(now)
}
