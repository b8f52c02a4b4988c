//! Questions to a backend, on connections apart from the one of the writes.

use std::io;

use super::server::Backend;
use crate::connection::Connection;
use crate::lock::lock;
use crate::reply::{rebase, Reply};

/// Connections for reads that are kept open while nobody reads.
const IDLE_CONNECTIONS: usize = 8;

/// How many times as long a large answer may take.
const LARGE_PATIENCE: u32 = 6;

impl Backend {
    /// Asks it something that changes nothing, on a connection apart from the writes, after all
    /// that it was offered before.
    pub async fn ask(&self, line: &[u8], binary: bool) -> io::Result<Reply> {
        self.caught_up().await?;
        let kept = lock(&self.idle).pop();
        if let Some(mut connection) = kept {
            // it may have been closed meanwhile: then a new one is asked the same
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

    /// As [`ask`](Backend::ask), on a connection of its own and with more patience: what has a
    /// large answer. The paths in its lines stay.
    pub async fn ask_large(&self, line: &[u8], binary: bool) -> io::Result<Reply> {
        self.caught_up().await?;
        let address = self.access().address;
        let mut connection = self
            .in_time(Connection::open(&address))
            .await
            .map_err(|error| self.broken(error))?;
        let patience = LARGE_PATIENCE * self.shared.options.patience;
        let reply = tokio::time::timeout(patience, connection.ask(line, binary)).await;
        reply
            .map_err(|_| {
                io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no answer within {} s", patience.as_secs_f64()),
                )
            })?
            .map(|reply| self.as_ours(reply, true))
    }

    /// As [`ask`](Backend::ask), on a connection of its own: rrdcached closes it after some errors
    /// of SUSPEND and RESUME.
    pub async fn ask_apart(&self, line: &[u8]) -> io::Result<Reply> {
        self.caught_up().await?;
        let (_, reply) = self.ask_new(line, false).await?;
        Ok(self.as_ours(reply, false))
    }

    async fn ask_new(&self, line: &[u8], binary: bool) -> io::Result<(Connection, Reply)> {
        let address = self.access().address;
        let mut connection = self
            .in_time(Connection::open(&address))
            .await
            .map_err(|error| self.broken(error))?;
        match self.in_time(connection.ask(line, binary)).await {
            Ok(reply) => Ok((connection, reply)),
            // it stands still; anything else may be this request's fault
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(self.broken(error)),
            Err(error) => Err(error),
        }
    }

    /// A reply with the paths that clients know.
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

    /// Keeps a connection for the next read. After an error it may be out of step: of an unknown
    /// column rrdcached answers with memory that it has freed, line ends and all.
    fn keep(&self, connection: Connection, reply: &Reply) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_CONNECTIONS && !reply.is_error() {
            idle.push(connection);
        }
    }
}
