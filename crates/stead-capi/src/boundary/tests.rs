//! Tests of the boundary itself.

use super::passing::{passed, Places, Record, Unlocked};
use super::*;
use std::ptr;

/// Returns the status of a call, the status and errno of its record, and its message.
fn called(body: impl FnOnce(&Caller) -> Result<()>) -> (i32, i32, i32, String) {
    let mut error = Record::new();
    let status = status("stead_map_x", error.out(), body);
    let (in_record, os_errno, message) = error.said();
    (status, in_record, os_errno, message)
}

#[test]
fn a_panic_is_a_status_and_a_fallback() {
    let (status_, record, os_errno, message) = called(|_| panic!("no {}", "way"));
    assert_eq!((status_, record, os_errno), (15, 15, 0));
    assert_eq!(
        message,
        "internal fault, please report it: stead_map_x: no way"
    );
    let panicked = status("stead_map_x", passed(ptr::null_mut()), |_| panic!());
    assert_eq!(panicked, 15);
    assert_eq!(value("stead_map_x", -1, |_| panic!()), -1);
}

#[test]
fn success_clears_the_record() {
    assert_eq!(called(|_| Ok(())), (0, 0, 0, String::new()));
}

#[test]
fn an_argument_is_named() {
    let (status, _, _, message) = called(|c| c.map(passed(ptr::null())).map(|_| ()));
    assert_eq!((status, message.as_str()), (1, "map is NULL"));
    let odd = called(|c| {
        c.out(passed(ptr::without_provenance_mut::<u64>(3)), "point")
            .map(|_| ())
    });
    assert!(
        odd.0 == 1 && odd.3.contains("point is not aligned"),
        "{odd:?}"
    );
}

#[test]
fn a_length_that_no_object_has_is_refused_before_anything_is_read() {
    for length in [
        usize::MAX,
        isize::MAX as usize + 1,
        isize::MAX as usize,
        usize::try_from((1_u64 << 56) + 1).unwrap_or(usize::MAX),
    ] {
        let long = called(|c| {
            c.bytes(passed(ptr::dangling::<u8>().cast()), length, "key")
                .map(|_| ())
        });
        assert!(
            long.0 == 1 && long.3.contains("key cannot be so long"),
            "{long:?}"
        );
        let many = called(|c| {
            c.many(passed(ptr::dangling::<u64>()), length / 8 + 1, "offsets")
                .map(|_| ())
        });
        assert!(
            many.0 == 1 && many.3.contains("offsets cannot be so long"),
            "{many:?}"
        );
    }
}

#[test]
fn the_longest_length_is_below_half_of_the_address_space() {
    // isize::MAX of a 32-bit machine, which is its SIZE_MAX / 2
    const HALF: usize = i32::MAX as usize;
    for (count, size, is_long) in [
        (HALF - 1, 1, false),
        (HALF, 1, true),
        (HALF + 1, 1, true),
        (HALF / 8, 8, false),
        (HALF / 8 + 1, 8, true),
        (HALF / 24, 24, false),
        (HALF / 24 + 1, 24, true),
        (0, 8, false),
    ] {
        assert_eq!(too_long(count, size, 32), is_long, "{count} of {size}");
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn the_longest_length_is_what_a_process_can_have() {
    const MOST: usize = 1 << 56;
    const HALF: usize = isize::MAX as usize;
    for (count, size, is_long) in [
        (MOST, 1, false),
        (MOST + 1, 1, true),
        (MOST / 8, 8, false),
        (MOST / 8 + 1, 8, true),
        (HALF - 1, 1, true),
        (HALF, 1, true),
        (HALF + 1, 1, true),
        (HALF / 8, 8, true),
        (usize::MAX, usize::MAX, true),
    ] {
        assert_eq!(too_long(count, size, 64), is_long, "{count} of {size}");
    }
}

#[test]
#[ignore = "a control of `make miri`, which must report it"]
fn control_an_answer_that_was_not_written_is_read() {
    std::hint::black_box(Places::<u32>::new(1).one());
}

#[test]
#[ignore = "a control of `make miri`, which must report it"]
fn control_two_threads_count_without_a_lock() {
    let number = Unlocked::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..1000).for_each(|_| number.add_one()));
        }
    });
}
