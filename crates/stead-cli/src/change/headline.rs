//! The headline of a change: which map, which epochs, and what moves against what must.

use stead::report::{part, Amount, Report};

use crate::text::{by_hand, count};

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
    let by_hand = by_hand(copies.pinned.count(), keys, copies.of_replicas);
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

/// Says what moves, and what must: `moves 20.00 % (the least possible)`. With more replicas than
/// before nothing leaves its place, or not only: `copies`.
fn moves(report: &Report) -> String {
    let moved = &report.moved;
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |c| c.of_replicas);
    let of = |amount: &Amount| part(amount.count(), copies);
    let least = report.optimum.as_ref().unwrap_or(&report.lower_bound);
    let verb = match report.old_replicas {
        Some(old) if old < report.replicas => "copies",
        _ => "moves",
    };
    match moved.count() {
        0 => "moves nothing".to_owned(),
        _ if moved.points == least.points => format!("{verb} {} (the least possible)", of(moved)),
        _ => format!("{verb} {} (at least {})", of(moved), of(least)),
    }
}
