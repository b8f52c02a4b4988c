//! The agent: `stead-rrd files` beside an rrdcached, which reads and writes the files there for the
//! router.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::copy::{blocking, work};
use super::entries;
use super::fence::{bytes_of, term_from, Fence};
use super::tree::{Reading, Tree};
use super::wire::{broken, digest_bytes, kind, place_bytes, sum_bytes, Message, Wire, CHUNK};
use super::writing::Writing;
use crate::connection::{Address, Stream};
use crate::socket::Socket;
use crate::term::Term;

/// How many clients are served at once; more have to wait. Each has at most about 70 open files,
/// and only while it lists the deepest directory.
const CLIENTS: usize = 128;
/// How long a client may be silent. The router's side is silent for at most ten seconds while it
/// copies, and it opens an idle connection again if the agent has closed it.
const SILENT: Duration = Duration::from_secs(300);

/// The most names of a page: they are in memory until they are sent.
const PAGE: u32 = 4096;

/// An agent that listens for clients.
pub struct Agent {
    socket: Socket,
    tree: Tree,
    fence: Arc<Fence>,
    read_only: bool,
    silent: Duration,
}

impl Agent {
    /// Listens on `address`. The directory must exist. An address that is not loopback is refused
    /// unless `public` is set.
    pub async fn bind(
        base: impl Into<PathBuf>,
        address: &Address,
        public: bool,
        read_only: bool,
    ) -> io::Result<Agent> {
        let tree = Tree { base: base.into() };
        std::fs::read_dir(&tree.base).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", tree.base.display()))
        })?;
        let fence = Arc::new(Fence::open(tree.base.clone(), read_only)?);
        let socket = Socket::bind(address, public).await?;
        Ok(Agent {
            socket,
            tree,
            fence,
            read_only,
            silent: SILENT,
        })
    }

    /// Returns the address, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> io::Result<String> {
        self.socket.address()
    }

    /// Serves clients. Never returns. When this is dropped with its runtime, no half-written file
    /// remains.
    pub async fn run(self) {
        let agent = Arc::new(self);
        let clients = Arc::new(Semaphore::new(CLIENTS));
        loop {
            // the semaphore is never closed
            let Ok(room) = Arc::clone(&clients).acquire_owned().await else {
                return;
            };
            match agent.socket.accept().await {
                Ok(stream) => {
                    let agent = Arc::clone(&agent);
                    tokio::spawn(async move {
                        // why a client leaves does not matter here
                        let _ = agent.serve(stream).await;
                        drop(room);
                    });
                }
                Err(error) => {
                    // probably no descriptor is left: some client has to leave first
                    tracing::error!(%error, "cannot take a client: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Serves one client until it leaves.
    async fn serve(&self, stream: Stream) -> io::Result<()> {
        let mut client = Client {
            wire: Wire::open(stream, self.silent).await?,
            agent: self,
            term: Term::default(),
            doing: Doing::Nothing,
        };
        loop {
            match client.wire.receive().await {
                Ok(Some(frame)) => client.answer(frame).await?,
                Ok(None) => return Ok(()),
                // its connection is just closed: it would take an error for the answer to its next
                // request
                Err(error) if client.is_silent(&error) => return Ok(()),
                Err(error) => {
                    // drop the file first, so that nothing of it remains when the client reads the
                    // error
                    client.doing = Doing::Nothing;
                    return client.wire.send_error(&error).await;
                }
            }
        }
    }
}

/// The request that a client has begun.
enum Doing {
    Nothing,
    Reading(Option<Reading>),
    Writing(Option<Writing>),
    /// A file could not be written; the error is the answer to `verify`.
    Failed(io::Error),
}

struct Client<'a> {
    wire: Wire,
    agent: &'a Agent,
    /// the term of the router; the lowest if it has told none
    term: Term,
    doing: Doing,
}

impl Client<'_> {
    /// Returns whether it has nothing to ask, and has had nothing for a long time.
    fn is_silent(&self, error: &io::Error) -> bool {
        matches!(self.doing, Doing::Nothing) && error.kind() == io::ErrorKind::TimedOut
    }

    async fn answer(&mut self, (kind, body): Message) -> io::Result<()> {
        let done = match kind {
            kind::LIST => return self.list().await,
            kind::PAGE => return self.page(body).await,
            kind::DATA => return self.data(body).await,
            kind::MORE => self.more(&body).await,
            kind::VERIFY => self.verify().await,
            kind::COMMIT => self.commit().await,
            kind::TERM => self.hear(&body).await,
            kind::PLACE => self.place().await,
            kind::SUM | kind::DIGEST | kind::GET | kind::PUT | kind::REMOVE => {
                self.begin(kind, body).await
            }
            kind => Err(broken(&format!("a request of the unknown kind {kind}"))),
        };
        match done {
            Ok(bytes) => self.wire.send(kind::DONE, &[&bytes]).await,
            Err(error) => {
                self.doing = Doing::Nothing;
                self.wire.send_error(&error).await
            }
        }
    }

    async fn begin(&mut self, kind: u8, body: Vec<u8>) -> io::Result<Vec<u8>> {
        self.doing = Doing::Nothing;
        let tree = self.agent.tree.clone();
        let (fence, term) = (Arc::clone(&self.agent.fence), self.term);
        if self.agent.read_only && matches!(kind, kind::PUT | kind::REMOVE) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "this agent runs with --read-only",
            ));
        }
        match kind {
            kind::SUM => {
                let sum = blocking(move || tree.sum(&body)).await?;
                Ok(sum.map(|sum| sum_bytes(sum).to_vec()).unwrap_or_default())
            }
            kind::DIGEST => {
                let digest = blocking(move || tree.digest(&body)).await?;
                Ok(digest.as_ref().map(digest_bytes).unwrap_or_default())
            }
            kind::GET => {
                let Some(reading) = blocking(move || tree.open(&body)).await? else {
                    return Ok(Vec::new());
                };
                let mode = reading.mode.to_le_bytes().to_vec();
                self.doing = Doing::Reading(Some(reading));
                Ok(mode)
            }
            kind::PUT => {
                let writing = blocking(move || {
                    let (mode, name) = body
                        .split_first_chunk()
                        .ok_or_else(|| broken("a request without a mode"))?;
                    fence.pass(term, || tree.create(name, u32::from_le_bytes(*mode)))
                });
                self.doing = Doing::Writing(Some(writing.await?));
                Ok(Vec::new())
            }
            _ => blocking(move || fence.pass(term, || tree.remove(&body)))
                .await
                .map(|removed| vec![u8::from(removed)]),
        }
    }

    /// Takes the term of the router, for this connection and all others.
    async fn hear(&mut self, body: &[u8]) -> io::Result<Vec<u8>> {
        self.term = term_from(body)?;
        let (fence, term) = (Arc::clone(&self.agent.fence), self.term);
        let highest = blocking(move || fence.hear(term)).await?;
        Ok(bytes_of(highest).to_vec())
    }

    async fn place(&mut self) -> io::Result<Vec<u8>> {
        let tree = self.agent.tree.clone();
        let place = blocking(move || tree.place()).await?;
        Ok(place_bytes(place).to_vec())
    }

    async fn list(&mut self) -> io::Result<()> {
        self.doing = Doing::Nothing;
        let (mut pieces, task) = entries::list(self.agent.tree.clone(), !self.agent.read_only);
        while let Some(piece) = pieces.recv().await {
            self.wire.send(kind::ENTRIES, &[&piece.0]).await?;
        }
        match task
            .await
            .unwrap_or_else(|_| Err(io::Error::other("a fault in the listing")))
        {
            Ok(listed) => {
                let (files, left_out) = (listed.files.to_le_bytes(), listed.left_out.to_le_bytes());
                let example = listed.example.unwrap_or_default();
                self.wire
                    .send(kind::DONE, &[&files, &left_out, &example])
                    .await
            }
            Err(error) => self.wire.send_error(&error).await,
        }
    }

    async fn page(&mut self, body: Vec<u8>) -> io::Result<()> {
        self.doing = Doing::Nothing;
        let tree = self.agent.tree.clone();
        let page = blocking(move || {
            let (most, after) = body
                .split_first_chunk()
                .ok_or_else(|| broken("a request without a number"))?;
            let most = u32::from_le_bytes(*most).clamp(1, PAGE);
            tree.page(after, most as usize)
        });
        let page = match page.await {
            Ok(page) => page,
            Err(error) => return self.wire.send_error(&error).await,
        };
        for piece in entries::pieces(&page.names) {
            self.wire.send(kind::ENTRIES, &[&piece.0]).await?;
        }
        let (left_out, example) = (
            page.left_out.to_le_bytes(),
            page.example.unwrap_or_default(),
        );
        let length = (example.len() as u32).to_le_bytes();
        let (more, next) = match &page.next {
            Some(next) => (&[1][..], &next[..]),
            None => (&[][..], &[][..]),
        };
        self.wire
            .send(kind::DONE, &[&left_out, &length, &example, more, next])
            .await
    }

    async fn more(&mut self, body: &[u8]) -> io::Result<Vec<u8>> {
        let want = body
            .try_into()
            .map(u32::from_le_bytes)
            .map_err(|_| broken("a request without a number"))? as usize;
        if want > CHUNK {
            return Err(broken(&format!("{want} bytes at once; at most {CHUNK}")));
        }
        let Doing::Reading(reading) = &mut self.doing else {
            return Err(broken("more of a file that is not being read"));
        };
        let bytes = work(reading, move |reading| reading.more(want)).await?;
        if bytes.len() < want {
            self.doing = Doing::Nothing;
        }
        Ok(bytes)
    }

    async fn data(&mut self, body: Vec<u8>) -> io::Result<()> {
        let failed = match &mut self.doing {
            // an empty frame only shows that the client lives; it needs no thread
            _ if body.is_empty() => return Ok(()),
            Doing::Writing(writing) => {
                match work(writing, move |writing| writing.write(&body)).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                }
            }
            Doing::Failed(_) => return Ok(()),
            _ => broken("data of a file that is not being written"),
        };
        self.doing = Doing::Failed(failed);
        Ok(())
    }

    async fn verify(&mut self) -> io::Result<Vec<u8>> {
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Writing(mut writing) => {
                let sum = work(&mut writing, Writing::verify).await?;
                self.doing = Doing::Writing(writing);
                Ok(sum_bytes(sum).to_vec())
            }
            Doing::Failed(error) => Err(error),
            _ => Err(broken("the end of a file that is not being written")),
        }
    }

    async fn commit(&mut self) -> io::Result<Vec<u8>> {
        let Doing::Writing(Some(writing)) = std::mem::replace(&mut self.doing, Doing::Nothing)
        else {
            return Err(broken("the place for a file that is not being written"));
        };
        let (fence, term) = (Arc::clone(&self.agent.fence), self.term);
        blocking(move || fence.pass(term, || writing.commit()))
            .await
            .map(|()| Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;

    #[tokio::test]
    async fn a_client_that_had_nothing_to_ask_for_long_is_no_fault() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("base");
        std::fs::create_dir(&base).unwrap();
        let any = Address::parse("127.0.0.1:0").unwrap();
        let mut agent = Agent::bind(base, &any, false, false).await.unwrap();
        let address = Address::parse(&agent.address().unwrap()).unwrap();
        agent.silent = Duration::from_millis(50);
        tokio::spawn(agent.run());
        let files = Files::agent_within(address, Duration::from_secs(60));
        for _ in 0..3 {
            assert_eq!(files.sum(b"none.rrd").await.unwrap(), None);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
