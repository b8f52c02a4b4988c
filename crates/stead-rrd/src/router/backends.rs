//! The backends of the maps, by their numbers, and the tasks that keep them up to date.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use stead::map::Node;
use stead::Map;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::adopting::attribute;
pub use crate::adopting::{ADDRESS, FILES};
use crate::backend::{Access, Backend};
use crate::connection::Address;
use crate::files::Files;
use crate::layout::{BackendId, Placement};
use crate::lock::lock;
use crate::shared::Shared;

/// The pause between two looks of `have_everything`.
const LOOK: Duration = Duration::from_millis(20);

/// All backends.
pub struct Backends {
    shared: Arc<Shared>,
    /// indexed by their numbers; a backend that is no longer in a map keeps its number
    list: RwLock<Vec<Arc<Backend>>>,
    tasks: Mutex<HashMap<BackendId, [JoinHandle<()>; 2]>>,
    /// Notified when a backend has come up.
    pub came_up: Arc<Notify>,
}

impl Backends {
    /// Returns an empty list.
    pub fn new(shared: Arc<Shared>) -> Backends {
        Backends {
            shared,
            list: RwLock::default(),
            tasks: Mutex::default(),
            came_up: Arc::default(),
        }
    }

    /// Starts the tasks of all backends.
    pub fn start(&self) {
        for id in self.shared.layout().all() {
            self.start_one(id);
        }
    }

    /// Starts the tasks of a backend that has none.
    pub fn start_one(&self, id: BackendId) {
        let backend = self.get(id);
        lock(&self.tasks).entry(id).or_insert_with(|| {
            [
                tokio::spawn(Arc::clone(&backend).run()),
                tokio::spawn(backend.confirm()),
            ]
        });
    }

    /// Waits until every server has got all writes.
    pub async fn have_everything(&self) {
        let waits = |id: &BackendId| self.get(*id).has_to_get();
        while self.shared.layout().all().iter().any(waits) {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Stops the tasks of backends that are no longer in a map.
    pub fn retire(&self) {
        let all = self.shared.layout().all();
        lock(&self.tasks).retain(|id, tasks| {
            let stays = all.contains(id);
            if !stays {
                tasks.iter().for_each(JoinHandle::abort);
                self.get(*id).down(&io::Error::new(
                    io::ErrorKind::NotConnected,
                    "it is in no map any more",
                ));
            }
            stays
        });
    }

    /// Returns a map with the backends of its nodes. Backends whose names are known get the
    /// addresses of the map; the others are new.
    pub fn place(&self, map: Map) -> Result<Placement, String> {
        let accesses = self.accesses(&map)?;
        let known = self.shared.layout().all();
        let mut backends = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let mut ids = Vec::new();
        for (node, access) in map.nodes().zip(accesses) {
            if let Some(backend) = backends
                .iter()
                .find(|backend| backend.name() == node.name() && known.contains(&backend.id()))
            {
                backend.move_to(access);
                ids.push(backend.id());
                continue;
            }
            let id = BackendId::try_from(backends.len()).map_err(|_| {
                "too many backends since the start; start the router again".to_owned()
            })?;
            let (shared, came_up) = (Arc::clone(&self.shared), Arc::clone(&self.came_up));
            backends.push(Arc::new(Backend::new(
                node.name(),
                id,
                access,
                shared,
                came_up,
            )));
            ids.push(id);
        }
        drop(backends);
        Ok(Placement::new(map, ids))
    }

    /// Forgets the backends that are new in a map which is not taken up.
    pub fn forget(&self, placement: &Placement) {
        let known = self.shared.layout().all();
        let mut backends = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = |id: BackendId| placement.all().contains(&id) && !known.contains(&id);
        while backends.last().is_some_and(|last| is_new(last.id())) {
            backends.pop();
        }
    }

    /// Gives the backends that are known the addresses of a map that does not place files yet. So a
    /// server that has to be reached for the move, and got another address or its agent meanwhile,
    /// is found there.
    pub fn reach_by(&self, map: &Map) -> Result<(), String> {
        let accesses = self.accesses(map)?;
        let known = self.shared.layout().all();
        let backends = self.list.read().unwrap_or_else(PoisonError::into_inner);
        for (node, access) in map.nodes().zip(accesses) {
            let found = backends
                .iter()
                .find(|backend| backend.name() == node.name() && known.contains(&backend.id()));
            if let Some(backend) = found {
                backend.move_to(access);
            }
        }
        Ok(())
    }

    /// Returns how each node of a map is reached. No two may be at one address: their copies would
    /// be one file.
    fn accesses(&self, map: &Map) -> Result<Vec<Access>, String> {
        let pair = self.shared.options.pair.as_ref();
        let mut accesses: Vec<Access> = Vec::new();
        for node in map.nodes() {
            let Access { address, files } = access(node)?;
            let same = accesses.iter().position(|other| other.address == address);
            if let Some(other) = same.and_then(|same| map.nodes().nth(same)) {
                return Err(format!(
                    "the nodes {} and {} have the same address, {address}: two copies would be one \
                     file",
                    other.name(),
                    node.name()
                ));
            }
            let own = attribute(node, FILES);
            let mut others = map.nodes().take(accesses.len());
            if let Some(other) =
                others.find(|other| own.is_some() && attribute(*other, FILES) == own)
            {
                return Err(format!(
                    "the nodes {} and {} have the same attribute {FILES}={}: two copies would be one \
                     file",
                    other.name(),
                    node.name(),
                    own.unwrap_or_default()
                ));
            }
            let files = files.map(|files| match pair {
                Some(pair) => files.claiming(pair.claim()),
                None => files,
            });
            accesses.push(Access { address, files });
        }
        Ok(accesses)
    }

    /// Tells the log which backends to keep records for.
    pub fn follow(&self) -> Result<(), String> {
        let all = self.shared.layout().all();
        self.follow_these(&all)
    }

    /// Tells the log to keep records for these backends.
    pub fn follow_these(&self, ids: &[BackendId]) -> Result<(), String> {
        let backends: Vec<_> = ids.iter().map(|id| self.get(*id)).collect();
        let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
        self.shared
            .log
            .follow(&names)
            .map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull => format!("the log: {error}: make room on that disk"),
                _ => format!("the log: {error}"),
            })
    }

    /// Returns a backend by its number.
    pub fn get(&self, id: BackendId) -> Arc<Backend> {
        Arc::clone(&self.read()[id as usize])
    }

    /// Returns the backends of the map, or of both maps.
    pub fn all(&self) -> Vec<Arc<Backend>> {
        self.shared
            .layout()
            .all()
            .into_iter()
            .map(|id| self.get(id))
            .collect()
    }

    /// Returns all backends that ever were in a map, indexed by their numbers.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<Backend>>> {
        self.list.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the addresses of a node, from its attributes.
fn access(node: Node<'_>) -> Result<Access, String> {
    let wrong = |attribute: &str, error: String| {
        format!("node {}, attribute {attribute:?}: {error}", node.name())
    };
    let address = attribute(node, ADDRESS).ok_or_else(|| {
        let name = node.name();
        format!(
            "node {name} has no attribute {ADDRESS:?}; give it one in the fleet: attributes = \
            {{ {ADDRESS} = \"host:port\" }}"
        )
    })?;
    let address = Address::parse(address).map_err(|error| wrong(ADDRESS, error))?;
    let files = attribute(node, FILES)
        .map(|text| Files::parse(text).map_err(|error| wrong(FILES, error)))
        .transpose()?;
    Ok(Access { address, files })
}
