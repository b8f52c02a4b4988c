//! The control of `make tsan`: two threads count in one number without a lock. The sanitizer must
//! report it.

use std::cell::UnsafeCell;

struct Unlocked(UnsafeCell<u32>);

// SAFETY: this is false, and that is the mistake.
unsafe impl Sync for Unlocked {}

impl Unlocked {
    fn add_one(&self) {
        // SAFETY: this is false when two threads call it at once.
        unsafe { *self.0.get() += 1 };
    }
}

fn main() {
    let number = Unlocked(UnsafeCell::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..1000).for_each(|_| number.add_one()));
        }
    });
    println!("the threads counted to {}", number.0.into_inner());
}
