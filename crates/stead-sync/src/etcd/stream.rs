//! The watch stream: a thread that reads it and says when the head has changed.

use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{json, Value};

use super::calls::{encoded, Calls};
use crate::exit::{Failure, Result, NO_CONTACT};

/// How long a stream is open before it is opened anew. A connection that died without a word is
/// noticed then; until then the heartbeat finds a new head.
const SILENCE: Duration = Duration::from_secs(120);

/// A stream of changes of one key. Dropping it ends the thread, at the latest when the stream is to
/// be opened anew.
pub struct Stream {
    changes: Receiver<Result>,
    ended: Arc<AtomicBool>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl Stream {
    /// Opens a stream of the changes of a key after a revision.
    pub fn open(calls: Calls, key: &str, after: u64) -> Result<Stream> {
        let (sender, changes) = channel();
        let ended = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&ended);
        let asked = json!({"create_request": {
            "key": encoded(key.as_bytes()),
            "start_revision": (after + 1).to_string(),
        }});
        let read = move || {
            while !stop.load(Ordering::Relaxed) {
                match follow(&calls, &asked, &|| sender.send(Ok(())).is_ok()) {
                    Ok(()) => {}
                    Err(failure) => {
                        let _ = sender.send(Err(failure));
                        return;
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("watch".into()).spawn(read);
        thread.map_err(|e| Failure::io("cannot start a thread", &e))?;
        Ok(Stream { changes, ended })
    }

    /// Waits for a change, at most so long. An error means that the stream has ended.
    pub fn wait(&self, most: Duration) -> Result {
        match self.changes.recv_timeout(most) {
            Ok(changed) => changed,
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Failure::new(NO_CONTACT, "the watch of etcd has ended"))
            }
        }
    }
}

/// Reads one stream until it is silent for too long. Other ends are errors.
fn follow(calls: &Calls, asked: &Value, changed: &dyn Fn() -> bool) -> Result {
    let mut body = calls.stream("watch", asked, SILENCE)?;
    let mut lines = BufReader::new(body.with_config().limit(u64::MAX).reader());
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => return Err(Failure::new(NO_CONTACT, "etcd has closed the watch")),
            Ok(_) => {}
            Err(error) if is_silence(&error) => return Ok(()),
            Err(error) => {
                return Err(Failure::new(
                    NO_CONTACT,
                    format_args!("the watch of etcd: {error}"),
                ))
            }
        }
        let told: Value = serde_json::from_slice(&line).unwrap_or(Value::Null);
        let result = &told["result"];
        if !told["error"].is_null() || result["canceled"] == true {
            let why = result["cancel_reason"]
                .as_str()
                .or(told["error"]["message"].as_str());
            let why = why.unwrap_or("it says no reason");
            // a compaction has removed the revision: the caller reads the head and watches anew
            return Err(Failure::new(
                NO_CONTACT,
                format_args!("etcd has ended the watch: {why}"),
            ));
        }
        if result["events"].is_array() && !changed() {
            return Ok(());
        }
    }
}

/// Whether an error of reading only says that nothing came.
fn is_silence(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::TimedOut
        || error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<ureq::Error>())
            .is_some_and(|inner| matches!(inner, ureq::Error::Timeout(_)))
}
