//! A move that was started goes on by itself until it is done or somebody stops it: after the
//! router or the program that started it has died, and when servers or agents were away.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::carrying::Mover;
use super::telling::Tell;
use crate::lock::lock;
use crate::state::Intended;
use crate::status::Progress;

/// How often the router looks whether there is a move to go on with.
const LOOK: Duration = Duration::from_secs(1);

/// The pause after a move that ended before it was done. It has tried for half a minute by then,
/// with pauses that grow, so the next attempt need not be far away.
const AGAIN: Duration = Duration::from_secs(10);

/// How long a move that was told to stop may take to finish the files in hand before the same
/// command continues it.
const STOPPING: Duration = Duration::from_secs(30);

impl Mover {
    /// Moves the files to the places of the target, at most `rate` bytes a second, until it is done
    /// or stopped. If that move is running, it goes on, and a rate that is given replaces the one
    /// that it has.
    pub async fn start_move(
        self: &Arc<Self>,
        rate: Option<u64>,
    ) -> Result<watch::Receiver<Progress>, String> {
        // take up a map that was published a moment ago
        self.epochs.look().await;
        if let (Some(why), None) = (self.map_refused(), self.target_epoch()) {
            return Err(format!("the map at --map is not taken up: {why}"));
        }
        if let Some(running) = self.running_move() {
            if !running.is_stopped() {
                if rate.is_some() {
                    self.intend_move(rate).await?;
                    running.limit(rate);
                }
                return Ok(running.sender.subscribe());
            }
            let mut ended = running.sender.subscribe();
            let ended = ended.wait_for(|progress| progress.ended);
            let _ = tokio::time::timeout(STOPPING, ended).await;
        }
        self.rests()?;
        self.intend_move(rate).await?;
        self.begin_move(rate)
    }

    /// Stops the move or repair that is running, after the files in hand. A move stays stopped,
    /// also when the router is started again. A move that waits while a repair is running goes on
    /// after it.
    pub async fn stop(&self) -> Result<(), String> {
        let latest = lock(&self.latest).clone();
        let progress = latest.as_ref().map(|tell| tell.sender.borrow().clone());
        if !progress.is_some_and(|progress| progress.repair.is_some() && !progress.ended) {
            self.intend(None).await?;
        }
        latest.iter().for_each(|tell| tell.stop());
        Ok(())
    }

    /// Returns the move that goes on by itself, if files have to move.
    pub fn wanted(&self) -> Option<Intended> {
        let target = self.target_epoch()?;
        lock(&self.intended)
            .clone()
            .filter(|intended| intended.epoch == target)
    }

    /// Takes up the move that was going on when the router last stopped.
    pub fn load_move(&self) -> Result<(), String> {
        let intended = self.state.intended().map_err(|error| error.to_string())?;
        *lock(&self.intended) = intended;
        Ok(())
    }

    /// Goes on with the move, whenever one is wanted and none is running. Never returns.
    pub async fn keep_moving(self: Arc<Self>) {
        loop {
            if let Some(running) = self.running_move() {
                let mut ended = running.sender.subscribe();
                let _ = ended.wait_for(|progress| progress.ended).await;
                self.wait_after(&running).await;
            } else if let (Some(wanted), Ok(())) = (self.wanted(), self.rests()) {
                let epoch = wanted.epoch;
                if self.begin_move(wanted.rate).is_ok() {
                    tracing::info!(epoch, "the move to epoch {epoch} goes on by itself");
                    continue;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits after a move that ended before it was done, and says why it did.
    async fn wait_after(&self, ended: &Tell) {
        let Some(wanted) = self.wanted() else { return };
        let progress = ended.sender.borrow().clone();
        let epoch = wanted.epoch;
        let reason = progress.reasons.first().map_or("", String::as_str);
        tracing::warn!(
            epoch,
            "the move to epoch {epoch} is not done: {reason}; it goes on by itself in {} s",
            AGAIN.as_secs()
        );
        let end = tokio::time::Instant::now() + AGAIN;
        // somebody may start it before that
        while tokio::time::Instant::now() < end && self.running_move().is_none() {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn running_move(&self) -> Option<Arc<Tell>> {
        let latest = lock(&self.latest).clone();
        latest.filter(|tell| {
            let progress = tell.sender.borrow();
            !progress.ended && progress.repair.is_none()
        })
    }

    /// Returns why the map at --map is not taken up, if it is not.
    pub fn map_refused(&self) -> Option<String> {
        self.epochs.refused()
    }

    /// Returns why the state directory cannot be written, if it cannot.
    pub fn unwritable(&self) -> Option<(io::ErrorKind, String)> {
        self.state.unwritable()
    }

    /// Returns the epoch that waits until the files have moved.
    pub fn waiting_epoch(&self) -> Option<u64> {
        self.epochs.waiting()
    }

    fn target_epoch(&self) -> Option<u64> {
        let layout = self.router.shared().layout();
        layout.target().map(|target| target.map().epoch())
    }

    async fn intend_move(&self, rate: Option<u64>) -> Result<(), String> {
        match self.target_epoch() {
            Some(epoch) => self.intend(Some(Intended { epoch, rate })).await,
            None => Ok(()),
        }
    }

    /// Stores which move goes on by itself. It is durable when the call returns.
    pub(super) async fn intend(&self, intended: Option<Intended>) -> Result<(), String> {
        if *lock(&self.intended) == intended {
            return Ok(());
        }
        let stored = self.state.intend(intended.clone()).await;
        stored.map_err(|error| error.to_string())?;
        *lock(&self.intended) = intended;
        Ok(())
    }
}
