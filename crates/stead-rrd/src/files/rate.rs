//! A limit on how fast files are copied, for all copies together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::lock::lock;

/// A limit that many copies share: bytes a second, or none. Requests are served in the order in
/// which they come.
#[derive(Clone, Debug, Default)]
pub struct Rate(Option<Arc<Limit>>);

#[derive(Debug)]
struct Limit {
    bytes_a_second: u64,
    /// The moment from which the next bytes may be copied: by then, the limit allows everything
    /// that was requested so far.
    free: Mutex<Instant>,
}

impl Rate {
    /// Returns a limit of this many bytes a second, and of at least one. `None` means no limit.
    pub fn new(bytes_a_second: Option<u64>) -> Rate {
        let limit = |bytes: u64| {
            Arc::new(Limit {
                bytes_a_second: bytes.max(1),
                free: Mutex::new(Instant::now()),
            })
        };
        Rate(bytes_a_second.map(limit))
    }

    /// Returns the moment from which `bytes` bytes may be copied; `None` means now. The bytes are
    /// counted at once, whether they are copied or not.
    pub(crate) fn take(&self, bytes: u64) -> Option<Instant> {
        let limit = self.0.as_ref().filter(|_| bytes > 0)?;
        let mut free = lock(&limit.free);
        // unused time is lost: there is no burst after a pause
        let from = (*free).max(Instant::now());
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(limit.bytes_a_second);
        let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        // if the limit is so low that the clock overflows, the moment never comes
        *free = from
            .checked_add(time)
            .unwrap_or(from + Duration::from_secs(1 << 30));
        Some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_together_are_as_fast_as_the_rate_and_no_faster() {
        let rate = Rate::new(Some(1000));
        let start = Instant::now();
        let one = |rate: Rate| async move {
            for _ in 0..10 {
                let from = rate.take(100).unwrap();
                tokio::time::sleep_until(from).await;
            }
        };
        tokio::join!(one(rate.clone()), one(rate.clone()), one(rate.clone()));
        // 3000 bytes in all; the last 100 begin when it is their turn
        assert_eq!(start.elapsed().as_millis() / 10, 290);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(rate.take(5000), Some(Instant::now()));
        assert_eq!(rate.take(1), Some(Instant::now() + Duration::from_secs(5)));
        assert_eq!(Rate::new(None).take(u64::MAX), None);
        let slow = Rate::new(Some(0));
        slow.take(u64::MAX);
        slow.take(u64::MAX);
        assert!(slow.take(1).unwrap() > Instant::now() + Duration::from_secs(1 << 29));
    }
}
