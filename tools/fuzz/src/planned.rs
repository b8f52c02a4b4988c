//! What moves, as a program in C asks libstead, and the answers of the Rust library.
#![allow(unsafe_code)] // `call!`, whose one block of unsafe code is in foreign.rs

use std::ptr::{null, null_mut};

use stead::plan::{all_copies, Cause};
use stead::report::Report;
use stead_capi::types::{stead_affected, stead_amounts, stead_move, stead_plan, stead_points};

use crate::arguments::{
    key, number, status_of, taken, Batch, Both, Nulls, Planned, Record, BEHIND, INVALID, UNTOUCHED,
};
use crate::foreign::call;
use crate::input::Input;

/// Asks what moves.
pub(crate) fn plan(plan: &Both<stead_plan, Planned>, input: &mut Input<'_>) {
    let (c, rust) = (plan.c, &plan.rust.plan);
    let count = rust.moves.len();
    assert_eq!(call!(stead_plan_count(c)), count);
    assert_eq!(call!(stead_plan_count(null())), 0);
    match input.below(5) {
        0 => {
            let index = *input.one_of(&[0, count / 2, count.wrapping_sub(1), count, usize::MAX]);
            let mut one = stead_move {
                first: 7,
                last: 7,
                from: 7,
                to: 7,
                cause: 7,
                reserved: 7,
            };
            let (nulls, mut record) = (Nulls::of(input), Record::new());
            let at = nulls.or_mut(1, &mut one);
            let status = call!(stead_plan_move(
                nulls.or(0, c),
                index,
                at,
                record.place(input)
            ));
            let there = if index < count { 0 } else { INVALID };
            record.check("stead_plan_move", status, nulls.status(2, there));
            if let (0, Some(wanted)) = (status, rust.moves.get(index)) {
                let cause = match wanted.cause {
                    Cause::Pin => 1,
                    Cause::Policy => 2,
                    Cause::Rebalance => 3,
                };
                let ends = [wanted.from, wanted.to].map(|node| node.map_or(-1, number));
                assert_eq!((one.first, one.last), (wanted.first.0, wanted.last.0));
                assert_eq!(
                    ([one.from, one.to], one.cause, one.reserved),
                    (ends, cause, 0)
                );
            }
        }
        1 => {
            let (nulls, mut record) = (Nulls::of(input), Record::new());
            let capacity = input.below(5);
            let (mut indexes, mut found) = (vec![usize::MAX; capacity + BEHIND], 77);
            let key = key(input);
            let by_point = input.below(2) == 0;
            let (at, place) = (
                nulls.or_mut(1, &mut found),
                nulls.or_mut(2, indexes.as_mut_ptr()),
            );
            let mut bad = nulls.any(2) || (capacity > 0 && nulls.any(3));
            let point = rust.point(key);
            let (status, name) = if by_point {
                let c = nulls.or(0, c);
                let error = record.place(input);
                let status = call!(stead_plan_affects_point(
                    c, point.0, place, capacity, at, error
                ));
                (status, "stead_plan_affects_point")
            } else {
                bad |= !key.is_empty() && nulls.or(3, &key).is_null();
                let data = nulls.or(3, key.as_ptr()).cast();
                let (c, error) = (nulls.or(0, c), record.place(input));
                let status = call!(stead_plan_affects(
                    c,
                    data,
                    key.len(),
                    place,
                    capacity,
                    at,
                    error
                ));
                (status, "stead_plan_affects")
            };
            record.check(name, status, if bad { INVALID } else { 0 });
            let wanted = if status == 0 {
                rust.affects_point(point)
            } else {
                Vec::new()
            };
            let written = wanted.len().min(capacity);
            assert_eq!(found, if status == 0 { wanted.len() } else { 77 });
            assert_eq!(indexes[..written], wanted[..written]);
            assert!(indexes[written..].iter().all(|one| *one == usize::MAX));
        }
        2 => affects_many(c, rust, input),
        3 => {
            let zero = || stead_amounts {
                moved: points(7),
                lower_bound: points(7),
                by_hand: points(7),
                reordered: points(7),
            };
            let (nulls, mut record, mut amounts) = (Nulls::of(input), Record::new(), zero());
            let at = nulls.or_mut(1, &mut amounts);
            let status = call!(stead_plan_amounts(nulls.or(0, c), at, record.place(input)));
            record.check("stead_plan_amounts", status, nulls.status(2, 0));
            let wanted = &rust.amounts;
            let wanted = [
                wanted.moved,
                wanted.lower_bound,
                wanted.by_hand,
                wanted.reordered,
            ];
            let found = [
                amounts.moved,
                amounts.lower_bound,
                amounts.by_hand,
                amounts.reordered,
            ];
            for (found, wanted) in found.iter().zip(wanted) {
                let found = u128::from(found.high) << 64 | u128::from(found.low);
                assert_eq!(found, if status == 0 { wanted.0 } else { 7 });
            }
            let all = all_copies(&plan.rust.old, &plan.rust.new);
            let part = rust.amounts.moved.0 as f64 / all as f64;
            assert!(call!(stead_plan_fraction(c)).to_bits() == part.to_bits());
            assert!(call!(stead_plan_fraction(null())).is_nan());
        }
        _ => {
            let with_moves = input.below(3) as i32;
            let report = Report::of_plan(rust, &plan.rust.old, &plan.rust.new, with_moves != 0);
            let report = report.map(|report| serde_json::to_string(&report).expect("JSON"));
            let (nulls, mut record, mut text) = (Nulls::of(input), Record::new(), null_mut());
            let at = nulls.or_mut(1, &mut text);
            let (c, error) = (nulls.or(0, c), record.place(input));
            let status = call!(stead_plan_report(c, with_moves, at, error));
            record.check(
                "stead_plan_report",
                status,
                nulls.status(2, status_of(&report)),
            );
            assert_eq!(taken(text), report.ok().filter(|_| status == 0));
        }
    }
}

fn points(low: u64) -> stead_points {
    stead_points { low, high: 0 }
}

fn affects_many(c: *const stead_plan, rust: &stead::Plan, input: &mut Input<'_>) {
    let batch = Batch::of(input);
    let (nulls, mut record) = (Nulls::of(input), Record::new());
    let capacity = *input.one_of(&[0, 1, 3, 50]);
    let none = || stead_affected {
        key: 77,
        from: UNTOUCHED,
        to: UNTOUCHED,
    };
    let mut rows: Vec<stead_affected> = (0..capacity + BEHIND).map(|_| none()).collect();
    let mut count = usize::MAX;
    let bad = batch.is_bad(&nulls, 2) || (capacity > 0 && nulls.or(4, &0).is_null());
    let status = call!(stead_plan_affects_many(
        nulls.or(0, c),
        nulls.or(2, batch.bytes.as_ptr()).cast(),
        batch.bytes.len(),
        nulls.or(3, batch.offsets.as_ptr()),
        batch.count(),
        nulls.or_mut(4, rows.as_mut_ptr()),
        capacity,
        nulls.or_mut(1, &mut count),
        record.place(input),
    ));
    record.check(
        "stead_plan_affects_many",
        status,
        if bad { INVALID } else { 0 },
    );
    let wanted = rust.affects_many(batch.keys());
    let wanted: Vec<(u64, i32, i32)> = wanted
        .map(|row| {
            (
                row.key as u64,
                row.from.map_or(-1, number),
                row.to.map_or(-1, number),
            )
        })
        .collect();
    assert_eq!(
        count,
        if status == 0 {
            wanted.len()
        } else {
            usize::MAX
        }
    );
    let written = if status == 0 {
        wanted.len().min(capacity)
    } else {
        0
    };
    let found = |row: &stead_affected| (row.key, row.from, row.to);
    assert!(rows[..written]
        .iter()
        .map(found)
        .eq(wanted[..written].iter().copied()));
    assert!(rows[written..]
        .iter()
        .all(|row| found(row) == (77, UNTOUCHED, UNTOUCHED)));
}
