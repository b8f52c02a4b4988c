//! A router that serves no clients: a standby, or a primary that does not know yet whether somebody
//! else is the primary.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Semaphore;

use super::again::start_again;
use super::hub::Pair;
use crate::clock::now;
use crate::connection::Stream;
use crate::control::Operable;
use crate::log::Log;
use crate::socket::Socket;
use crate::status::{LogStatus, PairStatus, Source, StateError, Status};

/// The most clients that are told why they are not served.
const CLIENTS: usize = 256;

/// How long such a client may be silent, and the longest line of it.
const SILENT: Duration = Duration::from_secs(60);
const LINE_BYTES: u64 = 64 << 10;

/// Answers every request with this error. Never returns.
pub async fn refuse_clients(socket: Arc<Socket>, why: String) {
    let room = Arc::new(Semaphore::new(CLIENTS));
    let answer: Arc<[u8]> = format!("-1 {why}\n").into_bytes().into();
    let mut tasks = tokio::task::JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        match socket.accept().await {
            Ok(stream) => {
                let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
                    let _ = stream.try_write(&answer); // it may have left already
                    continue;
                };
                let answer = Arc::clone(&answer);
                tasks.spawn(async move {
                    let _permit = permit;
                    // why a client leaves does not matter here
                    let _ = tokio::time::timeout(SILENT, refuse(stream, &answer)).await;
                });
            }
            // no descriptor is left: a client has to leave first
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn refuse(stream: Stream, answer: &[u8]) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        (&mut stream)
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)
            .await?;
        if !line.ends_with(b"\n") {
            return Ok(());
        }
        stream.write_all(answer).await?;
        stream.flush().await?; // over TLS
    }
}

/// A primary that does not serve clients yet.
pub struct Waiting {
    pair: Arc<Pair>,
    started: u64,
}

impl Waiting {
    /// Returns the primary's side of a pair as what can be asked for a status.
    pub fn new(pair: Arc<Pair>) -> Waiting {
        Waiting {
            pair,
            started: now(),
        }
    }
}

impl Source for Waiting {
    async fn status(&self) -> Status {
        let extent = self.pair.extent();
        let state_error = StateError::of(self.pair.state.unwritable(), extent.unsaved);
        Status {
            log: Some(LogStatus {
                bytes: extent.bytes,
                bound: extent.bound,
                oldest: extent.oldest,
                newest: self.pair.log.newest(),
                short: extent.short,
                refuses: extent.refuses,
                failed: None,
            }),
            state_error,
            // Clients are served after this has ended, even if the router may serve already.
            pair: Some(PairStatus {
                serving: false,
                ..self.pair.status()
            }),
            ..Status::empty(self.started)
        }
    }
}

impl Operable for Waiting {
    async fn promote(&self, force: bool) -> Result<String, String> {
        match force {
            true => self.pair.force(),
            false => {
                let reason = self.pair.status().reason;
                let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
                Err(format!(
                    "this router is the primary already, and waits for the standby{reason}; \
                     --force lets it go on alone, but if the standby was promoted meanwhile, there \
                     are two primaries"
                ))
            }
        }
    }

    fn start_again(&self) {
        start_again()
    }

    fn refusal(&self) -> Option<String> {
        Some("this router waits for the other one of its pair".to_owned())
    }
}
