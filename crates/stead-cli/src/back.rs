//! The command that goes back to an old epoch, with the words that the guards will ask it for.

use stead::guard::Guard;
use stead::store::Back;
use stead::{Map, Store};

use crate::guards::words;

/// Returns the command that goes back from `present` to the slices of an old epoch. `options` are
/// further options, and `also` is a guard that will refuse it, although it does not refuse it now.
pub fn rollback(
    store: &Store,
    present: &Map,
    epoch: u64,
    options: &str,
    also: Option<Guard>,
) -> String {
    let new = store.back_to(present, epoch, Some(Back::Exact));
    // what cannot be judged now is said by the command itself
    let found = new.and_then(|new| store.findings(Some(present), &new));
    let mut refused: Vec<Guard> = Guard::ALL.to_vec();
    let found: Vec<Guard> = found.unwrap_or_default().iter().map(|f| f.guard).collect();
    // a rollback does not ask about what it takes back, and `also` says what becomes of the data
    let asked = |guard: Guard| !matches!(guard, Guard::TakeBack | Guard::LeaveData);
    refused.retain(|guard| found.contains(guard) && asked(*guard) || also == Some(*guard));
    let map = store.path().display();
    format!(
        "stead rollback {map} {epoch} --exact{options}{}",
        allowing(&refused)
    )
}

/// Returns the option that lifts these guards, with a space before it; nothing without guards.
pub fn allowing(guards: &[Guard]) -> String {
    match guards {
        [] => String::new(),
        guards => format!(" --allow {}", words(guards)),
    }
}
