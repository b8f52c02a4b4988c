//! Measures what the C boundary costs: `stead_map_locate` of a libstead.so against `Map::locate`,
//! in one process, in turns.
//!
//! ```text
//! locate_cost LIBSTEAD.so       (make bench-c)
//! ```
//!
//! Prints, for several sizes of map, the median nanoseconds of a call over all rounds and the
//! median of the rounds' ratios. Each round times both on the same keys, one after the other; they
//! take turns in going first.

use std::ffi::{c_char, c_void, CString};
use std::hint::black_box;
use std::time::Instant;

use stead_core::{build, Fleet, Map};

const ROUNDS: usize = 101;
const KEYS: usize = 20_000;

type FromBytes = unsafe extern "C" fn(*const c_void, usize, *mut *mut c_void, *mut c_void) -> i32;
type Locate =
    unsafe extern "C" fn(*const c_void, *const c_void, usize, *mut i32, *mut c_void) -> i32;

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: locate_cost LIBSTEAD.so");
        std::process::exit(64);
    };
    let name = CString::new(path).expect("arguments have no NUL");
    // SAFETY: the name ends with NUL, and loading the library runs nothing but its initialisers.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "cannot load {name:?}");
    // SAFETY: the header gives the function this type.
    let from_bytes: FromBytes =
        unsafe { std::mem::transmute(symbol(library, c"stead_map_from_bytes".as_ptr())) };
    // SAFETY: the header gives the function this type.
    let locate: Locate =
        unsafe { std::mem::transmute(symbol(library, c"stead_map_locate".as_ptr())) };

    let keys: Vec<String> = (0..KEYS)
        .map(|i| format!("user{}", i * 7919 % 1_000_003))
        .collect();
    println!(
        "{:>6} {:>8} {:>8} {:>12} {:>12} {:>8}",
        "nodes", "hash", "slices", "Rust ns", "C ns", "C / Rust"
    );
    for (nodes, hash) in [(10, "md5"), (1000, "md5"), (1000, "xxh3")] {
        let map = map(nodes, hash);
        let mut handle = std::ptr::null_mut();
        // SAFETY: the bytes come with their length, there is a place for the handle, and the error
        // record may be NULL.
        let status = unsafe {
            from_bytes(
                map.bytes().as_ptr().cast(),
                map.bytes().len(),
                &mut handle,
                std::ptr::null_mut(),
            )
        };
        assert_eq!(status, 0);
        let rust = || time(&keys, |key| map.locate(key).0 as i32);
        let c = || {
            time(&keys, |key| {
                let mut node = -1;
                // SAFETY: the handle is open, the key comes with its length, there is a place for
                // the node, and the error record may be NULL.
                let status = unsafe {
                    locate(
                        handle,
                        key.as_ptr().cast(),
                        key.len(),
                        &mut node,
                        std::ptr::null_mut(),
                    )
                };
                node + status
            })
        };
        let mut rounds: Vec<(f64, f64)> = Vec::new();
        for round in 0..=ROUNDS {
            let ((a, first), (b, second)) = if round % 2 == 0 {
                let a = rust();
                (a, c())
            } else {
                let b = c();
                (rust(), b)
            };
            assert_eq!(first, second, "both give the same nodes");
            if round > 0 {
                rounds.push((a, b)); // the first one warms up
            }
        }
        let median = |pick: &dyn Fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(pick).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (rust_ns, c_ns, ratio) = (median(&|r| r.0), median(&|r| r.1), median(&|r| r.1 / r.0));
        println!(
            "{nodes:>6} {hash:>8} {:>8} {rust_ns:>12.1} {c_ns:>12.1} {ratio:>8.3}",
            map.slice_count()
        );
    }
}

/// Builds a map in ten steps of growth, so that it has slices as real maps do.
fn map(nodes: usize, hash: &str) -> Map {
    let mut map: Option<Map> = None;
    for count in (nodes / 10..=nodes).step_by(nodes / 10) {
        let list: String = (0..count)
            .map(|i| format!("[[node]]\nname = \"n{i:04}\"\n"))
            .collect();
        let fleet = Fleet::parse(
            &format!("name = \"bench\"\nhash = \"{hash}\"\n{list}"),
            "bench",
        )
        .expect("a good fleet");
        map = Some(build(&fleet, map.as_ref()).expect("it can be built"));
    }
    map.expect("ten steps")
}

/// Returns the nanoseconds per call, and the sum of the answers.
fn time(keys: &[String], mut one: impl FnMut(&[u8]) -> i32) -> (f64, i64) {
    let start = Instant::now();
    let sum = keys
        .iter()
        .map(|key| i64::from(one(black_box(key.as_bytes()))))
        .sum();
    (start.elapsed().as_nanos() as f64 / keys.len() as f64, sum)
}

fn symbol(library: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the library is open, and the name ends with NUL.
    let found = unsafe { libc::dlsym(library, name) };
    assert!(
        !found.is_null(),
        "the library lacks a function of its header"
    );
    found
}
