//! A hub whose every request lets others act before it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stead::store::{Accept, Arrival};
use stead::Map;

use super::baton::Baton;
use crate::directory::Directory;
use crate::exit::Result;
use crate::hub::{Head, Host, Hub, Shared, Turn};
use crate::report::Report;

/// The hub as one carrier has it.
pub struct HookedHub {
    hub: Directory,
    baton: Arc<Baton>,
    carrier: usize,
}

impl HookedHub {
    pub fn new(map: &Path, baton: Arc<Baton>, carrier: usize) -> HookedHub {
        let hub = Directory::new(map);
        HookedHub {
            hub,
            baton,
            carrier,
        }
    }

    fn turn(&self) -> &Directory {
        self.baton.stop(self.carrier);
        &self.hub
    }
}

impl Hub for HookedHub {
    fn head(&self) -> Result<Option<Head>> {
        self.turn().head()
    }

    fn map(&self, head: &Head, epoch: u64) -> Result<Option<Map>> {
        self.turn().map(head, epoch)
    }

    fn wait(&mut self, head: Option<&Head>, most: Duration) -> Result {
        self.baton.stop(self.carrier);
        self.hub.wait(head, most)
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

impl Shared for HookedHub {
    fn push(
        &self,
        base: Option<&Head>,
        arrival: Arrival,
        accept: Accept,
        keep: usize,
    ) -> Result<Turn> {
        self.turn().push(base, arrival, accept, keep)
    }

    fn hosts(&self) -> Result<Vec<Host>> {
        self.turn().hosts()
    }

    fn report(&self, report: &Report, alive: bool) -> Result {
        self.turn().report(report, alive)
    }

    fn beat(&self, report: &Report) -> Result<bool> {
        self.turn().beat(report)
    }

    fn leave(&self, report: &Report) -> Result {
        self.turn().leave(report)
    }

    fn forget(&self, host: &str) -> Result<bool> {
        self.turn().forget(host)
    }

    fn give_up(&self, host: &str, epoch: u64) -> Result {
        self.turn().give_up(host, epoch)
    }

    fn given_up(&self) -> Result<BTreeMap<String, u64>> {
        self.turn().given_up()
    }
}
