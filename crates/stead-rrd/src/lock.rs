//! The lock of a mutex.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock of a mutex, also after a panic of another holder.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
