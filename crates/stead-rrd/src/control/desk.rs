//! The router's side of the control socket.

use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixSocket};
use tokio::sync::watch;

use super::command::{Answer, Command, NAME, STOP};
use crate::status::{Progress, Source};

/// The longest request; the name of a node has at most 255 bytes.
pub(super) const LINE_BYTES: u64 = 4096;

/// The most time that a request may take to arrive; it comes from a program on the same machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two reports of progress: as often as a person can read them.
const EVERY: Duration = Duration::from_millis(200);

/// What the router can be told to do. An error is one line that says why the router refuses.
///
/// The receiver gets the newest state of the work; in the last one, `ended` is set. When the
/// receiver is dropped, a repair or a check stops after the files in hand, and a move goes on.
pub trait Operable: Source {
    /// Moves files to where the newest map places them, at most this many bytes a second.
    fn start_move(
        &self,
        _rate: Option<u64>,
    ) -> impl Future<Output = Result<watch::Receiver<Progress>, String>> + Send {
        self.refused()
    }

    /// Stops a move or a repair after the files in hand, until somebody starts it again.
    fn stop(&self) -> impl Future<Output = Result<(), String>> + Send {
        async { Ok(()) }
    }

    /// Compares the copies of every file that a backend should have, and makes them equal. With
    /// `replace`, the backend's copies are replaced without a look at them.
    fn start_repair(
        &self,
        _node: &str,
        _replace: bool,
    ) -> impl Future<Output = Result<watch::Receiver<Progress>, String>> + Send {
        self.refused()
    }

    /// Compares the copies of every file, at most this many bytes a second. Continues the check
    /// that was stopped last, unless `restart` is set.
    fn start_check(
        &self,
        _rate: Option<u64>,
        _restart: bool,
    ) -> impl Future<Output = Result<watch::Receiver<Progress>, String>> + Send {
        self.refused()
    }

    /// Makes this router the primary of its pair. After the answer was sent,
    /// [`start_again`](Operable::start_again) is called.
    fn promote(&self, _force: bool) -> impl Future<Output = Result<String, String>> + Send {
        async {
            Err("this router has no other one beside it: it runs without --standby".to_owned())
        }
    }

    /// Lets the promotion take effect.
    fn start_again(&self) {}

    /// Returns why this router works on no files.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Returns the refusal of work on files.
    fn refused<T: Send>(&self) -> impl Future<Output = Result<T, String>> + Send {
        std::future::ready(Err(self.refusal().unwrap_or_default()))
    }
}

/// The router's side of the control socket. The socket is removed when this is dropped.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Listens in a state directory that must belong to this process. A socket that exists there is
    /// taken for one that a dead router left behind.
    pub fn bind(directory: &Path) -> io::Result<Control> {
        let path = directory.join(NAME);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_socket() => std::fs::remove_file(&path)?,
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "it exists and is not a socket; remove it",
                ))
            }
            Err(_) => {} // bind reports the error
        }
        let socket = UnixSocket::new_stream()?;
        socket.bind(&path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => io::Error::new(
                error.kind(),
                "the path of a socket has at most 107 bytes; choose a shorter directory",
            ),
            _ => error,
        })?;
        // before anybody can connect
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Control {
            listener: socket.listen(16)?,
            path,
        })
    }

    /// Serves requests. Never returns.
    pub async fn run<W: Operable>(&self, work: Arc<W>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let work = Arc::clone(&work);
                    tokio::spawn(async move {
                        let (from, mut to) = stream.into_split();
                        // the caller has left: there is nobody to tell
                        let _ = serve(BufReader::new(from), &mut to, work).await;
                    });
                }
                // no descriptor is left: a client has to leave first
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // if it stays, the next start takes it over
    }
}

async fn serve<W: Operable>(
    mut from: BufReader<OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
    work: Arc<W>,
) -> io::Result<()> {
    let mut line = String::new();
    let mut limited = (&mut from).take(LINE_BYTES);
    match tokio::time::timeout(PATIENCE, limited.read_line(&mut line)).await {
        Ok(Ok(0)) => return Ok(()),
        Ok(Ok(_)) if line.ends_with('\n') => {}
        Ok(Err(error)) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
        _ => {
            return say(
                to,
                &Answer::Error(format!(
                    "a request is one line of text, of at most {LINE_BYTES} bytes"
                )),
            )
            .await
        }
    }
    let command = Command::parse(&line);
    let checks = matches!(command, Ok(Command::Check { .. }));
    let started = match command {
        Ok(Command::Status) => {
            let status = work.status().await;
            return say(to, &Answer::Status(status)).await;
        }
        Ok(Command::Move(rate)) => work.start_move(rate).await,
        Ok(Command::Repair(node)) => work.start_repair(&node, false).await,
        Ok(Command::Replace(node)) => work.start_repair(&node, true).await,
        Ok(Command::Check { rate, restart }) => work.start_check(rate, restart).await,
        Ok(Command::Promote(force)) => match work.promote(force).await {
            Ok(text) => {
                // the caller may have left; the term is on disk all the same
                let _ = say(to, &Answer::Promoted(text)).await;
                work.start_again();
                return Ok(());
            }
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    match started {
        Ok(progress) => match report(from, to, progress).await? {
            Left::Alone => Ok(()),
            // a check has stopped, as nobody listens any more
            Left::Stop if checks => say(to, &Answer::Stopped).await,
            Left::Stop => match work.stop().await {
                Ok(()) => say(to, &Answer::Stopped).await,
                Err(error) => say(to, &Answer::Error(error)).await,
            },
        },
        Err(error) => say(to, &Answer::Error(error)).await,
    }
}

/// What the client wants to happen to the work when no more is reported.
enum Left {
    Alone,
    Stop,
}

/// Sends each state that the receiver gets, until the work has ended, or the client says that it
/// shall stop, or leaves.
async fn report(
    mut from: BufReader<OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
    mut receiver: watch::Receiver<Progress>,
) -> io::Result<Left> {
    let mut gone = std::pin::pin!(async move {
        let mut line = String::new();
        // after its request a client sends nothing else; anything else is dropped until the end
        while line != STOP {
            line.clear();
            match (&mut from).take(LINE_BYTES).read_line(&mut line).await {
                Ok(0) | Err(_) => return Left::Alone,
                Ok(_) => {}
            }
        }
        Left::Stop
    });
    loop {
        let progress = receiver.borrow_and_update().clone();
        if progress.ended {
            say(to, &Answer::End(progress)).await?;
            return Ok(Left::Alone);
        }
        let answer = Answer::Progress(progress);
        tokio::select! {
            said = say(to, &answer) => said?,
            left = &mut gone => return Ok(left),
        }
        let lost = tokio::select! {
            changed = next(&mut receiver) => changed.is_err(),
            left = &mut gone => return Ok(left),
        };
        if lost {
            let last = receiver.borrow().clone();
            let lost = Answer::Error(
                "the work broke off: a fault in the router; its messages say more".to_owned(),
            );
            say(to, &if last.ended { Answer::End(last) } else { lost }).await?;
            return Ok(Left::Alone);
        }
    }
}

/// Waits for the next state that is worth a line. It pauses after the last one, unless the work has
/// ended.
async fn next(receiver: &mut watch::Receiver<Progress>) -> Result<(), watch::error::RecvError> {
    // a separate clone: `wait_for` marks every state as seen, and `changed` must still report it
    let mut end = receiver.clone();
    if let Ok(ended) = tokio::time::timeout(EVERY, end.wait_for(|progress| progress.ended)).await {
        return ended.map(|_| ());
    }
    receiver.changed().await
}

async fn say(to: &mut OwnedWriteHalf, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    to.write_all(&line).await
}
