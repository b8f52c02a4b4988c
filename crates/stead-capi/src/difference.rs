//! What moves between two maps.

use std::ffi::{c_char, c_void};

use stead_core::plan::Cause;
use stead_core::point::SPACE;
use stead_core::report::Report;
use stead_core::Plan;

use crate::boundary::{status, value, Foreign};
use crate::inside::text_of;
use crate::locate::number;
use crate::types::{stead_cause, stead_error, stead_map, stead_move, stead_plan};

/// Compares two maps of one cluster. Call it before a change, with a new_map that is built and not
/// published yet, or afterwards. Cost: one pass over the slices of both maps.
/// plan: where the handle goes; free it with stead_plan_free.
#[no_mangle]
pub extern "C" fn stead_plan_between(
    old_map: Foreign<*const stead_map>,
    new_map: Foreign<*const stead_map>,
    plan: Foreign<*mut *mut stead_plan>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_between", error, |c| {
        let (old, new, place) = (c.share(old_map)?, c.share(new_map)?, c.out(plan, "plan")?);
        let plan = Plan::between(&old, &new)?;
        c.give_plan(stead_plan { plan, old, new }, place);
        Ok(())
    })
}

/// Returns how many moves the plan has; 0 when plan is NULL.
#[no_mangle]
pub extern "C" fn stead_plan_count(plan: Foreign<*const stead_plan>) -> usize {
    value("stead_plan_count", 0, |c| {
        Some(c.plan(plan).ok()?.plan.moves.len())
    })
}

/// Gets a move. Moves are numbered from 0 in the order of their first points. Each move is one
/// copy of a range of points; together they are all that has to be copied.
#[no_mangle]
pub extern "C" fn stead_plan_move(
    plan: Foreign<*const stead_plan>,
    index: usize,
    one: Foreign<*mut stead_move>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_move", error, |c| {
        let (moves, one) = (&c.plan(plan)?.plan.moves, c.out(one, "one")?);
        let found = moves.get(index).ok_or_else(|| {
            c.invalid(format_args!(
                "there is no move {index}; the plan has {}, numbered from 0",
                moves.len()
            ))
        })?;
        let cause = match found.cause {
            Cause::Pin => stead_cause::STEAD_CAUSE_PIN,
            Cause::Policy => stead_cause::STEAD_CAUSE_POLICY,
            Cause::Rebalance => stead_cause::STEAD_CAUSE_REBALANCE,
        };
        one.put(stead_move {
            first: found.first.0,
            last: found.last.0,
            from: found.from.map_or(-1, number),
            to: found.to.map_or(-1, number),
            cause: cause as i32,
            reserved: 0,
        });
        Ok(())
    })
}

/// Finds the numbers of the moves that concern a key: none when the key stays where it is. indexes,
/// capacity and count are as nodes, capacity and count in stead_map_locate_all.
#[no_mangle]
pub extern "C" fn stead_plan_moves_of(
    plan: Foreign<*const stead_plan>,
    key: Foreign<*const c_void>,
    length: usize,
    indexes: Foreign<*mut usize>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_moves_of", error, |c| {
        let (plan, key) = (c.plan(plan)?, c.key(key, length)?);
        let indexes = c.counted(indexes, capacity, count, "indexes")?;
        let mut found: Vec<usize> = plan.plan.at(plan.new.point(key)).collect();
        found.reverse();
        indexes.put(found);
        Ok(())
    })
}

/// Returns the part of all copies that rebalancing moves, from 0 to 1; NaN when plan is NULL.
/// stead_plan_report has the exact number of points.
#[no_mangle]
pub extern "C" fn stead_plan_fraction(plan: Foreign<*const stead_plan>) -> f64 {
    value("stead_plan_fraction", f64::NAN, |c| {
        let plan = c.plan(plan).ok()?;
        Some(plan.plan.amounts.moved.0 as f64 / (f64::from(plan.new.replicas()) * SPACE as f64))
    })
}

/// Describes a plan as JSON, in the form of `stead diff --json` (docs/cli.md): what moves, the
/// least that could move, and the share of every node. Free the text with stead_text_free.
/// with_moves: 1 also lists every move; 0 leaves the list out.
#[no_mangle]
pub extern "C" fn stead_plan_report(
    plan: Foreign<*const stead_plan>,
    with_moves: i32,
    json: Foreign<*mut *mut c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_report", error, |c| {
        let (plan, json) = (c.plan(plan)?, c.out(json, "json")?);
        let report = Report::of_plan(&plan.plan, &plan.old, &plan.new, with_moves != 0);
        c.give_text(text_of(&report)?, json)
    })
}

/// Frees a plan. NULL is allowed and does nothing.
#[no_mangle]
pub extern "C" fn stead_plan_free(plan: Foreign<*mut stead_plan>) {
    value("stead_plan_free", (), |c| {
        c.take_plan(plan);
        Some(())
    });
}
