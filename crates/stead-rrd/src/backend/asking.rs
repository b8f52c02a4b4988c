//! Sends questions to a backend, on connections apart from the one of the writes.

use std::io;

use super::server::Backend;
use super::turns::Turn;
use crate::connection::Connection;
use crate::health::Health;
use crate::lock::lock;
use crate::reply::{rebase, Reply};
use crate::verb::Verb;
use crate::words::Split;

/// How many connections for reads are kept open while nobody uses them.
const IDLE_CONNECTIONS: usize = 8;

/// How many times longer than other answers a large answer may take.
const LARGE_PATIENCE: u32 = 6;

/// How many files are asked about before the answers are read: so few that neither side waits with
/// a full socket, since a question has at most 2 KiB.
const INFOS: usize = 12;

impl Backend {
    /// Asks the backend something that changes nothing, on a connection apart from the writes. The
    /// question is sent after the backend has answered all writes that it was offered before.
    pub async fn ask(&self, line: &[u8], binary: bool) -> io::Result<Reply> {
        self.caught_up().await?;
        self.ask_at_once(line, binary).await
    }

    /// Asks about one file like [`ask`](Backend::ask), after the backend has answered the writes to
    /// this file, and those that are being sent. It may have a long queue of writes to others.
    pub async fn ask_about(&self, name: &[u8], line: &[u8], binary: bool) -> io::Result<Reply> {
        self.caught_up_with(Some(name)).await?;
        self.ask_at_once(line, binary).await
    }

    /// Asks like [`ask`](Backend::ask), but does not wait for writes, and also while the backend is
    /// catching up. What makes the backend write a file waits for its turn.
    pub async fn ask_at_once(&self, line: &[u8], binary: bool) -> io::Result<Reply> {
        let _turn = self.turn(line).await?;
        let kept = lock(&self.idle).pop();
        if let Some(mut connection) = kept {
            // the backend may have closed it meanwhile; then a new connection asks the same
            match self.in_time(connection.ask(line, binary)).await {
                Ok(reply) => {
                    self.keep(connection, &reply);
                    return Ok(self.as_ours(reply, binary));
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Err(self.broken(error))
                }
                Err(_) => {}
            }
        }
        let (connection, reply) = self.ask_new(line, binary).await?;
        self.keep(connection, &reply);
        Ok(self.as_ours(reply, binary))
    }

    /// Asks INFO and LAST about several files, after the backend has answered all writes that it
    /// was offered before. Returns the answers in the order of the names.
    pub async fn infos(&self, names: &[Vec<u8>]) -> io::Result<Vec<[Reply; 2]>> {
        self.caught_up().await?;
        let kept = lock(&self.idle).pop();
        if let Some(mut connection) = kept {
            // the backend may have closed it meanwhile; then a new connection asks the same
            match self.infos_on(&mut connection, names).await {
                Ok(infos) => {
                    self.keep_all(connection, infos.iter().flatten());
                    return Ok(infos);
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Err(self.broken(error))
                }
                Err(_) => {}
            }
        }
        let mut connection = self.opened().await?;
        let infos = self.infos_on(&mut connection, names).await?;
        self.keep_all(connection, infos.iter().flatten());
        Ok(infos)
    }

    async fn infos_on(
        &self,
        connection: &mut Connection,
        names: &[Vec<u8>],
    ) -> io::Result<Vec<[Reply; 2]>> {
        let mut infos = Vec::with_capacity(names.len());
        for names in names.chunks(INFOS) {
            infos.extend(self.in_time(connection.infos(names)).await?);
        }
        Ok(infos)
    }

    /// Asks for a list at once, on a connection of its own. Returns `None` if the list has more
    /// lines than that, or if the backend is not up or does not answer.
    pub async fn list_at_most(&self, line: &[u8], most: usize) -> Option<Reply> {
        let address = self.access().address;
        let listed = self.in_time(async {
            let mut connection = Connection::open(&address).await?;
            connection.list_at_most(line, most).await
        });
        match self.health() {
            Health::Up => listed.await.ok().flatten(),
            _ => None,
        }
    }

    /// Asks like [`ask_about`](Backend::ask_about), for requests with a large answer: on a
    /// connection of its own, and with more patience. The paths in the lines of the answer are not
    /// rewritten.
    pub async fn ask_large(&self, name: &[u8], line: &[u8], binary: bool) -> io::Result<Reply> {
        self.caught_up_with(Some(name)).await?;
        let turn = self.turn(line).await?;
        let mut connection = self.opened().await?;
        let patience = LARGE_PATIENCE * self.shared.options.patience;
        // when the answer begins, the file is written and read
        let asked = connection.ask_until(line, binary, || drop(turn));
        let reply = tokio::time::timeout(patience, asked).await;
        reply
            .map_err(|_| {
                io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no answer within {} s", patience.as_secs_f64()),
                )
            })?
            .map(|reply| self.as_ours(reply, true))
    }

    /// Asks like [`ask`](Backend::ask), on a connection of its own: rrdcached closes it after some
    /// errors of SUSPEND and RESUME.
    pub async fn ask_apart(&self, line: &[u8]) -> io::Result<Reply> {
        self.caught_up().await?;
        let (_, reply) = self.ask_new(line, false).await?;
        Ok(self.as_ours(reply, false))
    }

    /// Waits until nothing else makes the backend write the file of this line, if the line makes it
    /// do so. Gives up after the usual patience: then the answer could lack values.
    async fn turn(&self, line: &[u8]) -> io::Result<Option<Turn<'_>>> {
        let split = Split::of(line);
        let writes = matches!(split.verb, Some(Verb::Fetch | Verb::Fetchbin | Verb::Flush));
        let Some((name, _)) = split.path().filter(|_| writes) else {
            return Ok(None);
        };
        let losses = self.standing().losses;
        let turn = self.in_time(async { Ok(self.turns.take(&name).await) });
        let turn = turn.await?;
        // it may have been lost while the request before this one waited for it
        let standing = self.standing();
        match standing.losses == losses && standing.broken.is_none() {
            true => Ok(Some(turn)),
            false => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }

    async fn ask_new(&self, line: &[u8], binary: bool) -> io::Result<(Connection, Reply)> {
        let mut connection = self.opened().await?;
        match self.in_time(connection.ask(line, binary)).await {
            Ok(reply) => Ok((connection, reply)),
            // the backend hangs; any other error may be the fault of this request
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(self.broken(error)),
            Err(error) => Err(error),
        }
    }

    /// Opens a connection for reads.
    async fn opened(&self) -> io::Result<Connection> {
        let address = self.access().address;
        self.in_time(Connection::open(&address))
            .await
            .map_err(|error| self.broken(error))
    }

    /// Rewrites the paths of a reply to those that clients know.
    fn as_ours(&self, reply: Reply, binary: bool) -> Reply {
        let ours = self.shared.options.base.directory();
        match binary {
            true => Reply {
                text: rebase(&reply.text, &self.base(), ours),
                ..reply
            },
            false => reply.rebased(&self.base(), ours),
        }
    }

    /// Keeps a connection for the next read, but not after an error, when it may be out of step.
    /// For an unknown column, for example, rrdcached answers with memory that it has freed, line
    /// ends included.
    fn keep(&self, connection: Connection, reply: &Reply) {
        self.keep_all(connection, [reply]);
    }

    /// Keeps a connection like [`keep`](Backend::keep) after several replies.
    fn keep_all<'a>(&self, connection: Connection, replies: impl IntoIterator<Item = &'a Reply>) {
        let failed = replies.into_iter().any(Reply::is_error);
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_CONNECTIONS && !failed {
            idle.push(connection);
        }
    }
}
