//! A status for the tests of the code that shows it.

use std::sync::Arc;
use std::time::Duration;

use crate::health::Health;
use crate::status::{BackendStatus, CheckStatus, Exposed, LogStatus, Status};
use crate::tally::Tally;
use crate::verb::Verb;

/// Returns the status of a router with four backends in two zones and no problems.
pub(crate) fn sample() -> Status {
    let tally = Arc::new(Tally::default());
    let _connected = tally.arrived();
    tally.observe_many(Some(Verb::Update), Duration::from_micros(700), 1_203_231, 3);
    tally.observe(Some(Verb::Fetch), Duration::from_millis(3), false);
    let backend = |name: &str, zone: &str| BackendStatus {
        name: name.to_owned(),
        address: format!(
            "10.0.0.{}:42217",
            name.len() + usize::from(name.as_bytes()[1])
        ),
        labels: vec![("zone".to_owned(), zone.to_owned())],
        state: Health::Up,
        since: 1_700_000_010,
        reason: None,
        queued_lines: 12,
        queued_bytes: 1229,
        lag_ms: 8,
        behind: 0,
        unflushed_files: 1204,
        confirmed: 20_000,
        answered: 601_615,
        errors: 3,
        reconnects: 1,
        lacking: 0,
        gone: 0,
        gone_example: None,
        doubtful: 0,
        uncompared: false,
        repair_error: None,
        late_errors: 0,
        stuck: 0,
        suspended: None,
        files_error: None,
        journal: false,
    };
    Status {
        version: "0.1.0".to_owned(),
        now: 1_700_086_400,
        started: 1_700_000_000,
        fleet: "rrd".to_owned(),
        epoch: 7,
        next_epoch: None,
        waiting_epoch: None,
        map_refused: None,
        carry: None,
        known_files: 1200,
        exposed: Exposed::default(),
        backends: vec![
            backend("a1", "a"),
            backend("a2", "a"),
            backend("b1", "b"),
            backend("b2", "b"),
        ],
        log: Some(LogStatus {
            bytes: 12 << 20,
            bound: 1 << 30,
            oldest: 20_001,
            newest: 20_123,
            short: None,
            refuses: false,
            failed: None,
        }),
        state_error: None,
        clients: tally.read(),
        moving: None,
        move_goes_on: false,
        check: CheckStatus::default(),
        pair: None,
    }
}
