//! The headline of a change: which map, which epochs, and what moves against what must.

use stead::report::{part, Amount, Report};

use crate::text::count;

/// The part of all copies that is too small for two decimals of a percentage.
const SMALL: f64 = 0.000_05;

/// Returns the headline in one sentence. `needed` says whether there is anything to do, and `step`
/// which step of a gradual change it is.
pub fn sentence(report: &Report, needed: bool, step: Option<String>) -> String {
    let (name, epoch) = (report.name, report.epoch);
    let slices = count(report.slices, "slice");
    let step = step.map_or(String::new(), |step| format!(", {step}"));
    let to_come = report.to_come.as_ref().map_or(step.clone(), |amount| {
        let to_come = part(amount.count(), report.replicas);
        format!("{step}, {to_come} still to come")
    });
    if !needed {
        return format!("{name}: nothing to do, epoch {epoch} stays{to_come}, {slices}");
    }
    let (Some(old), Some(copies)) = (report.old_epoch, &report.copies) else {
        let replicas = match report.replicas {
            1 => String::new(),
            replicas => format!(", {replicas} replicas"),
        };
        let nodes = count(report.nodes.len(), "node");
        return format!("{name}: first map, epoch {epoch}, {nodes}{replicas}, {slices}");
    };
    let mut parts = vec![format!("{name}: epoch {old} -> {epoch}")];
    let of = |amount: &Amount| part(amount.count(), copies.of_replicas);
    let keys = report.pinned_keys.as_ref().map_or(0, |keys| keys.moved);
    // a key is one point, so a small amount says little of many of them
    let is_told = copies.pinned.count() > 0 && (keys == 0 || copies.pinned.fraction >= SMALL);
    let amount = is_told.then(|| of(&copies.pinned));
    let keys = (keys > 0).then(|| count(keys, "pinned key"));
    let by_hand: Vec<String> = amount.into_iter().chain(keys).collect();
    let by_hand = by_hand.join(", ");
    // "moves nothing" would be taken for the whole answer
    let by_hand_only = report.moved.count() == 0 && !by_hand.is_empty();
    parts.push(match by_hand_only {
        true => format!("moves by hand only: {by_hand}"),
        false => moves(report),
    });
    if copies.dropped.count() > 0 {
        parts.push(format!("drops {}", of(&copies.dropped)));
    }
    if !by_hand_only && !by_hand.is_empty() {
        parts.push(format!("by hand {by_hand}"));
    }
    parts.join(", ") + &to_come
}

/// Says what moves, and what must: `moves 20.00 % (the least possible)`.
fn moves(report: &Report) -> String {
    let moved = &report.moved;
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |c| c.of_replicas);
    let of = |amount: &Amount| part(amount.count(), copies);
    let least = report.optimum.as_ref().unwrap_or(&report.lower_bound);
    match moved.count() {
        0 => "moves nothing".to_owned(),
        _ if moved.points == least.points => format!("moves {} (the least possible)", of(moved)),
        _ => format!("moves {} (at least {})", of(moved), of(least)),
    }
}
