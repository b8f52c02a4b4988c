//! The caller's side of the control socket: a question to a running router, and its answers.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::UnixStream;

use super::command::{Answer, Command, NAME, STOP};

/// A question to a running router, and its answers.
pub struct Asked {
    from: BufReader<OwnedReadHalf>,
    /// when this half is closed, the router takes the caller to have left
    to: OwnedWriteHalf,
    path: PathBuf,
}

impl Asked {
    /// Asks the router with this state directory. The error says what to do.
    pub async fn of(directory: &Path, request: &Command) -> Result<Asked, String> {
        let path = directory.join(NAME);
        let stream = UnixStream::connect(&path).await.map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::NotFound if !directory.is_dir() => {
                    "there is no such directory; give the router's --state directory"
                }
                io::ErrorKind::NotADirectory => {
                    return format!(
                        "{} is a file and no state directory; give the router's --state directory",
                        directory.display()
                    )
                }
                io::ErrorKind::NotFound => {
                    "no router runs on this directory; is it the router's --state directory?"
                }
                io::ErrorKind::ConnectionRefused => {
                    "the router that ran on this directory has ended: start it again, or wait a \
                    moment if it does so by itself, as after a promotion or under systemd"
                }
                io::ErrorKind::PermissionDenied => {
                    "the router belongs to another user; ask as \
                    that user, or as root"
                }
                io::ErrorKind::InvalidInput => {
                    "the path of a socket has at most 107 bytes; change \
                    into a directory above and give a shorter path"
                }
                _ => return format!("{}: {error}", path.display()),
            };
            format!("{}: {what}", path.display())
        })?;
        let (from, mut to) = stream.into_split();
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        to.write_all(request.line().as_bytes())
            .await
            .map_err(failed)?;
        Ok(Asked {
            from: BufReader::new(from),
            to,
            path,
        })
    }

    /// Stops the work, whose progress this gets, after the files in hand.
    pub async fn stop(&mut self) -> Result<(), String> {
        if self.to.write_all(STOP.as_bytes()).await.is_err() {
            return Ok(()); // the work has ended, or its router
        }
        loop {
            match self.next().await? {
                Answer::Stopped | Answer::End(_) => return Ok(()),
                Answer::Error(line) => return Err(line),
                _ => {}
            }
        }
    }

    /// Returns the next answer. The end of the connection is an error, because every answer says
    /// whether it is the last.
    pub async fn next(&mut self) -> Result<Answer, String> {
        let mut line = String::new();
        let read = self.from.read_line(&mut line).await;
        let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", self.path.display());
        match read {
            Ok(_) if line.ends_with('\n') => serde_json::from_str(&line).map_err(|error| {
                wrong(&format!(
                    "an answer that this version does not know \
                    ({error}); use the stead-rrd that the router was started with"
                ))
            }),
            Ok(_) => Err(wrong(
                &"the router stopped before it answered, and its messages say why; a move goes on \
                when it is started again",
            )),
            Err(error) => Err(wrong(&error)),
        }
    }
}
