//! The allocator that gives back what a call holds: with an allocator below it that refuses what
//! is beyond a budget, for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use stead::memory::{empty, filled, room, Reserving};
use stead::{build, Error, Fleet, Plan};

thread_local! {
    /// How many bytes this thread may allocate.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX / 2) };
    /// How many large blocks are granted before somebody else takes all that is left.
    static BEFORE_ALL_IS_TAKEN: Cell<usize> = const { Cell::new(usize::MAX) };
}

struct Budget;

#[global_allocator]
static ALLOCATOR: Reserving<Budget> = Reserving::of(Budget);

const LARGE: usize = 64 << 10;

/// Small blocks cost nothing and are always granted.
fn cost(size: usize) -> usize {
    match size < LARGE {
        true => 0,
        false => size,
    }
}

fn pays(size: usize) -> bool {
    if size > 0 && BEFORE_ALL_IS_TAKEN.get() != usize::MAX {
        BEFORE_ALL_IS_TAKEN.set(BEFORE_ALL_IS_TAKEN.get().saturating_sub(1));
        if BEFORE_ALL_IS_TAKEN.get() == 0 {
            BEFORE_ALL_IS_TAKEN.set(usize::MAX);
            LEFT.set(0);
        }
    }
    let left = LEFT.get().checked_sub(size);
    left.inspect(|left| LEFT.set(*left)).is_some()
}

fn returns(size: usize) {
    LEFT.set(LEFT.get() + size);
}

// SAFETY: every method returns NULL, or what the same method of `System` returns for the same
// arguments.
unsafe impl GlobalAlloc for Budget {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !pays(cost(layout.size())) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller promises what `System` demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (before, after) = (cost(layout.size()), cost(size));
        if after > before && !pays(after - before) {
            return std::ptr::null_mut();
        }
        returns(before.saturating_sub(after));
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        returns(cost(layout.size()));
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

const MIB: usize = 1 << 20;

/// Runs with a budget, and returns how much of it is left in the end.
fn with(budget: usize, body: impl FnOnce()) -> usize {
    let before = LEFT.replace(budget);
    body();
    LEFT.replace(before)
}

fn is_refused<T>(result: stead::Result<T>) -> bool {
    matches!(result, Err(Error::Memory { .. }))
}

#[test]
fn what_a_call_holds_is_for_its_own_blocks() {
    // the first large block of the program shows that the allocator is there
    drop(filled(LARGE, 0u8).unwrap());
    let left = with(16 * MIB, || {
        {
            let _room = room(10 * MIB as u64).unwrap();
            // somebody else takes the rest
            LEFT.set(0);
            let mut first: Vec<u8> = empty(4 * MIB).unwrap();
            first.push(1);
            let mut second: Vec<u8> = empty(MIB).unwrap();
            second.try_reserve_exact(2 * MIB).unwrap();
            assert!(is_refused(empty::<u8>(10 * MIB)));
            assert_eq!(first, [1]);
        }
        LEFT.set(LEFT.get() + 6 * MIB);
        assert!(is_refused(room(17 * MIB as u64)));
        // nothing is held any more
        LEFT.set(LEFT.get() - MIB);
        assert!(is_refused(empty::<u8>(15 * MIB + 1)));
        assert!(empty::<u8>(15 * MIB).is_ok());
    });
    assert_eq!(left, 15 * MIB);
}

#[test]
fn a_call_within_a_call_holds_its_own() {
    drop(filled(LARGE, 0u8).unwrap());
    let left = with(20 * MIB, || {
        let outer = room(8 * MIB as u64).unwrap();
        {
            let _inner = room(8 * MIB as u64).unwrap();
            LEFT.set(0);
            assert!(empty::<u8>(5 * MIB).is_ok());
        }
        // the inner one is back: what it gave for the block, and what it had left
        assert_eq!(LEFT.get(), 8 * MIB);
        LEFT.set(0);
        assert!(empty::<u8>(5 * MIB).is_ok());
        LEFT.set(0);
        drop(outer);
    });
    assert!(left <= 8 * MIB);
    // the budget is too small for both, so the inner one gets a part of what the outer one holds
    let left = with(10 * MIB, || {
        let _outer = room(8 * MIB as u64).unwrap();
        let _inner = room(6 * MIB as u64).unwrap();
    });
    assert_eq!(left, 10 * MIB);
}

#[test]
#[cfg_attr(miri, ignore = "would take an hour")]
fn no_refusal_within_a_call_ends_the_process() {
    let nodes: String = (0..2000)
        .map(|n| {
            format!(
                "[[node]]\nname = 'n{n}'\nlabels = {{ zone = 'z{}' }}\n",
                n % 7
            )
        })
        .collect();
    let text = format!("name = 'm'\nreplicas = 2\nspread = ['zone']\n{nodes}");
    let more = format!("{text}weight = 3\n");
    let fleet = Fleet::parse(&text, "fleet.toml").unwrap();
    let map = build(&fleet, None).unwrap();
    let next = build(&Fleet::parse(&more, "fleet.toml").unwrap(), Some(&map)).unwrap();
    let calls: [(&str, &dyn Fn() -> stead::Result<()>); 2] = [
        ("fleet and map", &|| {
            let fleet = Fleet::parse(&more, "fleet.toml")?;
            build(&fleet, Some(&map)).map(drop)
        }),
        ("plan", &|| Plan::between(&map, &next).map(drop)),
    ];
    for (name, call) in calls {
        let (mut refused, mut made) = (0, 0);
        for nth in 1.. {
            let before = LEFT.get();
            BEFORE_ALL_IS_TAKEN.set(nth);
            let end = call();
            let all_were_granted = BEFORE_ALL_IS_TAKEN.replace(usize::MAX) != usize::MAX;
            LEFT.set(before);
            match end {
                Ok(()) if all_were_granted => break,
                Ok(()) => made += 1,
                Err(Error::Memory { .. }) => refused += 1,
                Err(error) => panic!("{name}, block {nth}: {error}"),
            }
        }
        println!("{name}: {refused} refused, {made} did with what they held");
        assert!(refused > 0 && made > 0, "{name}: {refused}, {made}");
    }
}
