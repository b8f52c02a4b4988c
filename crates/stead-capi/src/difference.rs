//! What moves between two maps.

use std::ffi::{c_char, c_void};

use stead_core::plan::{all_copies, Cause};
use stead_core::report::Report;
use stead_core::{Plan, Point};

use crate::boundary::{status, value, Foreign};
use crate::inside::text_of;
use crate::locate::number;
use crate::types::{
    stead_affected, stead_amounts, stead_cause, stead_error, stead_map, stead_move, stead_plan,
    stead_points,
};

/// Compares two maps of one cluster. Call it before a change, with a new_map that is built and not
/// published yet, or afterwards. Cost: one pass over the slices of both maps.
/// plan: where the handle goes; free it with stead_plan_free.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_IDENTITY when the maps are of two
/// clusters, or have other hashes or key rules; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_plan_between(
    old_map: Foreign<*const stead_map>,
    new_map: Foreign<*const stead_map>,
    plan: Foreign<*mut *mut stead_plan>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_between", error, |c| {
        let (old, new, place) = (
            c.share(old_map, "old_map")?,
            c.share(new_map, "new_map")?,
            c.out(plan, "plan")?,
        );
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
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
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

/// Finds the numbers of the moves that affect a key: none when the key stays where it is. indexes,
/// capacity and count are as nodes, capacity and count in stead_map_locate_all.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_plan_affects(
    plan: Foreign<*const stead_plan>,
    key: Foreign<*const c_void>,
    length: usize,
    indexes: Foreign<*mut usize>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_affects", error, |c| {
        let (plan, key) = (c.plan(plan)?, c.key(key, length)?);
        let indexes = c.counted(indexes, capacity, count, "indexes")?;
        indexes.put(plan.plan.affecting(plan.plan.point(key)));
        Ok(())
    })
}

/// Finds the numbers of the moves that contain a point, as stead_plan_affects does for a key.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_plan_affects_point(
    plan: Foreign<*const stead_plan>,
    point: u64,
    indexes: Foreign<*mut usize>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_affects_point", error, |c| {
        let plan = c.plan(plan)?;
        let indexes = c.counted(indexes, capacity, count, "indexes")?;
        indexes.put(plan.plan.affecting(Point(point)));
        Ok(())
    })
}

/// Finds what moves of many keys: one row for each copy that moves, in the order of the keys, and
/// none for a key that stays where it is. Each key is hashed once.
/// keys, length, offsets, key_count: the keys, as keys, length, offsets and count in
/// stead_map_locate_many.
/// rows, capacity: an array, and how many rows it has room for. Rows beyond the capacity are not
/// written.
/// count: how many rows there are, whatever the capacity. In a map with R replicas a key has up to
/// R rows, or more when a named policy lists more nodes.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_plan_affects_many(
    plan: Foreign<*const stead_plan>,
    keys: Foreign<*const c_void>,
    length: usize,
    offsets: Foreign<*const u64>,
    key_count: usize,
    rows: Foreign<*mut stead_affected>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_affects_many", error, |c| {
        let plan = c.plan(plan)?;
        let keys = c.keys(keys, length, offsets, key_count)?;
        let mut rows = c.counted(rows, capacity, count, "rows")?;
        keys.blocks(|first, keys| {
            plan.plan.affects_keys(keys, first, |row| {
                rows.push(stead_affected {
                    key: row.key as u64,
                    from: row.from.map_or(-1, number),
                    to: row.to.map_or(-1, number),
                });
            });
        });
        rows.close();
        Ok(())
    })
}

/// Gets how much moves, in points: exact numbers, of which stead_plan_fraction is a rounded part.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_plan_amounts(
    plan: Foreign<*const stead_plan>,
    amounts: Foreign<*mut stead_amounts>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_amounts", error, |c| {
        let (plan, place) = (c.plan(plan)?, c.out(amounts, "amounts")?);
        let amounts = &plan.plan.amounts;
        place.put(stead_amounts {
            moved: stead_points::of(amounts.moved),
            lower_bound: stead_points::of(amounts.lower_bound),
            by_hand: stead_points::of(amounts.by_hand),
            reordered: stead_points::of(amounts.reordered),
        });
        Ok(())
    })
}

/// Returns the part of all copies that rebalancing moves, from 0 to 1; NaN when plan is NULL. All
/// copies are those of the map that has more of them, as in `stead plan`.
/// A map that stead did not build may give points more copies than replicas; then it can be more.
/// stead_plan_report has the exact number of points.
#[no_mangle]
pub extern "C" fn stead_plan_fraction(plan: Foreign<*const stead_plan>) -> f64 {
    value("stead_plan_fraction", f64::NAN, |c| {
        let plan = c.plan(plan).ok()?;
        let all = all_copies(&plan.old, &plan.new);
        Some(plan.plan.amounts.moved.0 as f64 / all as f64)
    })
}

/// Describes a plan as JSON, in the form of `stead diff --json` (docs/cli.md): what moves, the
/// least that could move, and the share of every node. Free the text with stead_text_free.
/// with_moves: 1 also lists every move; 0 leaves the list out.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_VERSION when a map needs a newer
/// stead than this one to judge it; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_plan_report(
    plan: Foreign<*const stead_plan>,
    with_moves: i32,
    json: Foreign<*mut *mut c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_plan_report", error, |c| {
        let (plan, json) = (c.plan(plan)?, c.out(json, "json")?);
        let report = Report::of_plan(&plan.plan, &plan.old, &plan.new, with_moves != 0)?;
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
