//! The primary keeps its standby connected. It has a thread of its own for that, so that no other
//! work of the router can delay it.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{BufReader, ReadHalf, WriteHalf};

use super::exchange::{bye, hear, introduce, Ready};
use super::frame::{broken, kind, push, put, read, within};
use super::hub::{Pair, Told};
use super::repeats::LASTING;
use super::sending::{Asked, SILENT};
use crate::connection::{Address, Stream};
use crate::lock::lock;
use crate::log::Log;
use crate::socket::Socket;

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(2);

/// The pause before the next attempt.
const RETRY: Duration = Duration::from_millis(200);

/// How long the standby may take to prepare its log: it reads all of it.
const PREPARE: Duration = Duration::from_secs(120);

impl Pair {
    /// Keeps the standby connected, in a thread of its own, and listens for a router that is the
    /// primary of a later term.
    pub fn start(self: &Arc<Self>, socket: Socket) -> io::Result<()> {
        let pair = Arc::clone(self);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // the socket belongs to the runtime that has made it
        tokio::spawn(Arc::clone(self).listen(socket));
        std::thread::Builder::new()
            .name("pair".to_owned())
            .spawn(move || runtime.block_on(pair.keep()))?;
        let pair = Arc::clone(self);
        tokio::spawn(async move {
            let mut higher = pair.claim().higher();
            let found = higher
                .wait_for(Option::is_some)
                .await
                .ok()
                .and_then(|it| *it);
            if let Some(term) = found {
                pair.step_down(term);
            }
        });
        Ok(())
    }

    async fn keep(self: Arc<Self>) {
        let local = Arc::clone(&self);
        tokio::spawn(async move {
            let mut frontier = local.log.frontier();
            while frontier.changed().await.is_ok() {
                frontier.borrow_and_update();
                local.publish();
                local.bell.notify_one();
            }
        });
        loop {
            // a standby that stands still may take long to say who it is
            let going_alone = async {
                loop {
                    tokio::time::sleep(RETRY).await;
                    self.go_alone_or_say();
                }
            };
            let ended: io::Result<Infallible> = tokio::select! {
                ended = self.session() => ended,
                never = going_alone => never,
            };
            let error = match ended {
                Ok(never) => match never {},
                Err(error) => error.to_string(),
            };
            self.lost(error);
            self.go_alone_or_say();
            tokio::time::sleep(RETRY).await;
        }
    }

    fn go_alone_or_say(&self) {
        if let Err(error) = self.go_alone() {
            let reason = format!("cannot go on alone: {error}");
            if lock(&self.repeats).is_new(&reason) {
                tracing::error!(%error, "{reason}");
            }
        }
    }

    /// Connects the standby and feeds it until the connection is lost.
    async fn session(&self) -> io::Result<Infallible> {
        let begun_at = Instant::now();
        let stream = within(CONNECT, Stream::connect(&self.peer)).await?;
        let (from, mut to) = tokio::io::split(stream);
        let mut from = BufReader::new(from);
        let (begun, digest) = {
            let link = self.link();
            if link.begun != link.ended {
                return Err(broken("the state is being changed; once more"));
            }
            (link.begun, self.state.digest()?)
        };
        let hello = self.hello(digest);
        let other = introduce(&mut from, &mut to, &hello).await?;
        self.compare(&hello, &other)?;
        let ready: Ready = hear(&mut from, kind::READY, PREPARE).await?;
        {
            let mut saved = lock(&self.saved);
            if saved.lost != self.wanted || !saved.met {
                (saved.lost, saved.met) = (self.wanted, true);
                saved.store(self.state.dir())?;
            }
        }
        if ready.digest != digest {
            self.send_state(&mut from, &mut to).await?;
        }
        let told = Told {
            at: begun_at,
            begun,
            alone: hello.alone,
        };
        let peer = &self.peer;
        if self.join(&told, ready.next)? {
            tracing::info!(%peer, record = ready.next, "the standby {peer} takes the log from \
                record {} on", ready.next);
        }
        if ready.discarded > 0 {
            tracing::warn!(%peer, records = ready.discarded, "the standby {peer} has discarded {} \
                records that this router does not have", ready.discarded);
        }
        let asked = Asked::default();
        let fed = self.feed(&mut to, &ready, &asked);
        let heard = self.hear(&mut from, &asked);
        let lasting = async {
            tokio::time::sleep(LASTING).await;
            if lock(&self.repeats).lasts(tokio::time::Instant::now()) {
                tracing::info!(%peer, "the standby {peer} takes the log again");
            }
            std::future::pending().await
        };
        let ended = tokio::select! {
            ended = fed => ended,
            ended = heard => ended,
            never = lasting => never,
        };
        if let Err(error) = &ended {
            bye(&mut to, &error.to_string()).await;
        }
        ended
    }

    /// Makes the state directory of the standby equal to this one.
    async fn send_state(
        &self,
        from: &mut BufReader<ReadHalf<Stream>>,
        to: &mut WriteHalf<Stream>,
    ) -> io::Result<()> {
        for change in self.state.snapshot()? {
            let mut buffer = Vec::new();
            let (letter, bytes) = change.parts();
            push(
                &mut buffer,
                kind::CHANGE,
                &[&0u64.to_le_bytes(), &[letter], bytes],
            );
            within(SILENT * 10, put(to, &buffer)).await?;
            loop {
                match read(from, PREPARE).await?.0 {
                    kind::CHANGED => break,
                    // the standby says which records it has had before
                    kind::ACK => {}
                    found => {
                        return Err(broken(format!("a frame of the unexpected kind {found}")));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns where the other router listens.
    pub fn peer(&self) -> &Address {
        &self.peer
    }
}
