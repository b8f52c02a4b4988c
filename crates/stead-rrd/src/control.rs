//! The socket on which a running router is asked and told: `DIR/control`, for its own user alone.
//!
//! ```text
//! >  status                      <  {"status":{...}}
//! >  move {"rate":1048576}       <  {"progress":{...}}   again and again, and at the end {"end":{...}}
//! >  repair b1                   <  the same
//! ```
//!
//! One request a connection; an answer is one line of JSON. `{"error":"..."}` can come at any time
//! and is the last. A client that goes ends what it started: the work stops after the files in
//! hand, and the same request goes on with it later.

use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::sync::watch;

use crate::status::{Progress, Source, Status};

/// The socket's name in the state directory.
pub const NAME: &str = "control";
/// The longest request; the name of a node has at most 255 bytes.
const LINE_BYTES: u64 = 4096;
/// The most that a request may take to arrive: it comes from a program beside us.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two reports of progress: as often as a person can read them.
const EVERY: Duration = Duration::from_millis(200);

/// What the router does when it is told so. The error is one line that says why not.
///
/// The receiver gets the newest state of the work; the last has `ended`. When it is dropped, the
/// work stops after the files in hand.
pub trait Operable: Source {
    /// Moves files to where the newest map has them, at most so many bytes a second.
    fn start_move(
        &self,
        rate: Option<u64>,
    ) -> impl Future<Output = Result<watch::Receiver<Progress>, String>> + Send;
    /// Copies to a backend what it should have and lacks.
    fn start_repair(
        &self,
        node: &str,
    ) -> impl Future<Output = Result<watch::Receiver<Progress>, String>> + Send;
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// How are you?
    Status,
    /// Move files, at most so many bytes a second.
    Move(Option<u64>),
    /// Give a backend what it lacks.
    Repair(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveOptions {
    rate: Option<u64>,
}

impl Command {
    /// Reads a line; the error says what is wrong with it.
    pub fn parse(line: &str) -> Result<Command, String> {
        let (word, rest) = line
            .trim_end()
            .split_once(' ')
            .unwrap_or((line.trim_end(), ""));
        match (word, rest) {
            ("status", "") => Ok(Command::Status),
            ("move", "") => Ok(Command::Move(None)),
            ("move", options) => {
                let options: MoveOptions = serde_json::from_str(options)
                    .map_err(|error| format!("move: {error}; write move {{\"rate\":BYTES}}"))?;
                match options.rate {
                    Some(0) => Err("move: with a rate of 0 nothing would ever move".to_owned()),
                    rate => Ok(Command::Move(rate)),
                }
            }
            ("repair", "") => Err("repair: which backend? write repair NAME".to_owned()),
            ("repair", node) => Ok(Command::Repair(node.to_owned())),
            _ => Err(format!(
                "{line:?} is no request: ask for status, move or repair"
            )),
        }
    }

    fn line(&self) -> String {
        match self {
            Command::Status => "status\n".to_owned(),
            Command::Move(None) => "move\n".to_owned(),
            Command::Move(Some(rate)) => format!("move {{\"rate\":{rate}}}\n"),
            Command::Repair(node) => format!("repair {node}\n"),
        }
    }
}

/// A line of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(clippy::large_enum_variant)] // one at a time
pub enum Answer {
    /// How it is.
    Status(Status),
    /// How far the work is; more comes.
    Progress(Progress),
    /// How the work ended.
    End(Progress),
    /// Why there is no other answer.
    Error(String),
}

/// The router's side. The socket is removed when it is dropped.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Listens in a state directory, which has to be this process's own: a socket that is there is
    /// taken as left behind.
    pub fn bind(directory: &Path) -> io::Result<Control> {
        let path = directory.join(NAME);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.file_type().is_socket() => std::fs::remove_file(&path)?,
            Ok(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "it is there, and no socket; remove it",
                ))
            }
            Err(_) => {} // bind says what is wrong
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

    /// Serves; never ends.
    pub async fn run<W: Operable>(self, work: Arc<W>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let work = Arc::clone(&work);
                    tokio::spawn(async move {
                        let (from, mut to) = stream.into_split();
                        // whoever asked has gone: nobody to tell
                        let _ = serve(BufReader::new(from), &mut to, work).await;
                    });
                }
                // no descriptor is left: some client has to go first
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // taken over at the next start if it stays
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
    let started = match Command::parse(&line) {
        Ok(Command::Status) => {
            let status = work.status().await;
            return say(to, &Answer::Status(status)).await;
        }
        Ok(Command::Move(rate)) => work.start_move(rate).await,
        Ok(Command::Repair(node)) => work.start_repair(&node).await,
        Err(error) => Err(error),
    };
    match started {
        Ok(progress) => report(from, to, progress).await,
        Err(error) => say(to, &Answer::Error(error)).await,
    }
}

/// Tells what the receiver gets, until it has the end or the client goes.
async fn report(
    mut from: BufReader<OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
    mut receiver: watch::Receiver<Progress>,
) -> io::Result<()> {
    let mut gone = std::pin::pin!(async move {
        // a client that has asked says nothing more: anything but the end is read and dropped
        while from.read_u8().await.is_ok() {}
    });
    loop {
        let progress = receiver.borrow_and_update().clone();
        if progress.ended {
            return say(to, &Answer::End(progress)).await;
        }
        let answer = Answer::Progress(progress);
        tokio::select! {
            said = say(to, &answer) => said?,
            () = &mut gone => return Ok(()),
        }
        let lost = tokio::select! {
            changed = next(&mut receiver) => changed.is_err(),
            () = &mut gone => return Ok(()),
        };
        if lost {
            let last = receiver.borrow().clone();
            let lost = Answer::Error(
                "the work broke off: a fault in the router, its log says more".to_owned(),
            );
            return say(to, &if last.ended { Answer::End(last) } else { lost }).await;
        }
    }
}

/// Waits for the next state worth a line: not at once after the last, unless it is the end.
async fn next(receiver: &mut watch::Receiver<Progress>) -> Result<(), watch::error::RecvError> {
    // of its own, since what it looks at counts as seen
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

/// The other side: a question to a running router, and its answers.
pub struct Asked {
    from: BufReader<OwnedReadHalf>,
    /// the router takes its end as ours
    _to: OwnedWriteHalf,
    path: PathBuf,
}

impl Asked {
    /// Asks the router whose state directory this is; the error says what to do.
    pub async fn of(directory: &Path, request: &Command) -> Result<Asked, String> {
        let path = directory.join(NAME);
        let stream = UnixStream::connect(&path).await.map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::NotFound if !directory.is_dir() => {
                    "there is no such directory; \
                    give the one that the router has as --state"
                }
                io::ErrorKind::NotFound => {
                    "no router runs on this directory; is it the one that \
                    stead-rrd serve has as --state?"
                }
                io::ErrorKind::ConnectionRefused => {
                    "the router that ran on this directory has \
                    ended; start it again"
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
            _to: to,
            path,
        })
    }

    /// The next answer; the end of the connection is an error, since every answer says when it is
    /// the last.
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
                &"the router ended before it had answered; its log says more",
            )),
            Err(error) => Err(wrong(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::sample;

    /// Moves as the test says, which holds the other end.
    struct FakeRouter(watch::Receiver<Progress>);

    impl Source for FakeRouter {
        async fn status(&self) -> Status {
            sample()
        }
    }

    impl Operable for FakeRouter {
        async fn start_move(&self, rate: Option<u64>) -> Result<watch::Receiver<Progress>, String> {
            match rate {
                Some(13) => Err("a move is under way".to_owned()),
                _ => Ok(self.0.clone()),
            }
        }

        async fn start_repair(&self, node: &str) -> Result<watch::Receiver<Progress>, String> {
            Err(format!("{node} lacks nothing"))
        }
    }

    /// A router in a directory of its own, and the sender of its progress.
    fn router() -> (tempfile::TempDir, watch::Sender<Progress>) {
        let directory = tempfile::tempdir().unwrap();
        let (sender, receiver) = watch::channel(Progress::default());
        let control = Control::bind(directory.path()).unwrap();
        tokio::spawn(control.run(Arc::new(FakeRouter(receiver))));
        (directory, sender)
    }

    async fn raw(directory: &Path, request: &[u8]) -> String {
        let mut stream = UnixStream::connect(directory.join(NAME)).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).await.unwrap();
        line
    }

    #[tokio::test]
    async fn the_socket_is_for_its_user_alone_and_answers() {
        let (directory, _sender) = router();
        let mode = std::fs::metadata(directory.path().join(NAME))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut asked = Asked::of(directory.path(), &Command::Status).await.unwrap();
        assert_eq!(asked.next().await, Ok(Answer::Status(sample())));
        let mut asked = Asked::of(directory.path(), &Command::Repair("b 1".to_owned()))
            .await
            .unwrap();
        assert_eq!(
            asked.next().await,
            Ok(Answer::Error("b 1 lacks nothing".to_owned()))
        );
        let mut asked = Asked::of(directory.path(), &Command::Move(Some(13)))
            .await
            .unwrap();
        assert_eq!(
            asked.next().await,
            Ok(Answer::Error("a move is under way".to_owned()))
        );
    }

    #[tokio::test]
    async fn progress_comes_until_the_end() {
        let (directory, sender) = router();
        let mut asked = Asked::of(directory.path(), &Command::Move(None))
            .await
            .unwrap();
        assert_eq!(
            asked.next().await,
            Ok(Answer::Progress(Progress::default()))
        );
        sender.send_modify(|progress| progress.done = 5);
        let Ok(Answer::Progress(progress)) = asked.next().await else {
            panic!()
        };
        assert_eq!(progress.done, 5);
        sender.send_modify(|progress| progress.ended = true);
        assert_eq!(
            asked.next().await,
            Ok(Answer::End(Progress {
                done: 5,
                ended: true,
                ..Progress::default()
            }))
        );
        assert!(asked.next().await.unwrap_err().contains("ended before"));
    }

    #[tokio::test]
    async fn work_that_breaks_off_is_no_success() {
        let (directory, sender) = router();
        let mut asked = Asked::of(directory.path(), &Command::Move(None))
            .await
            .unwrap();
        asked.next().await.unwrap();
        drop(sender);
        let Ok(Answer::Error(error)) = asked.next().await else {
            panic!()
        };
        assert!(error.contains("broke off"), "{error}");
    }

    #[tokio::test]
    async fn a_client_that_goes_lets_go_of_the_work() {
        let (directory, sender) = router();
        let held = sender.receiver_count();
        let mut asked = Asked::of(directory.path(), &Command::Move(None))
            .await
            .unwrap();
        asked.next().await.unwrap();
        assert!(sender.receiver_count() > held);
        drop(asked);
        while sender.receiver_count() > held {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn bad_requests_are_answered_in_words() {
        let (directory, _sender) = router();
        let long = [&b"x"[..]; LINE_BYTES as usize].concat();
        for (request, words) in [
            (&b"stat\n"[..], "is no request"),
            (b"\n", "is no request"),
            (b"status now\n", "is no request"),
            (b"move fast\n", "write move"),
            (b"move {\"rate\":-1}\n", "write move"),
            (b"move {\"rat\":1}\n", "unknown field"),
            (b"move {\"rate\":0}\n", "nothing would ever move"),
            (b"repair\n", "which backend"),
            (b"\xff\xfe\n", "one line of text"),
            (&long, "one line of text"),
        ] {
            let line = raw(directory.path(), request).await;
            assert!(
                line.starts_with("{\"error\":\"") && line.contains(words),
                "{line}"
            );
        }
        for request in [
            Command::Status,
            Command::Move(None),
            Command::Move(Some(7)),
            Command::Repair("a b".to_owned()),
        ] {
            assert_eq!(Command::parse(&request.line()), Ok(request));
        }
    }

    #[tokio::test]
    async fn a_socket_left_behind_is_taken_over_and_a_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let error = Asked::of(directory.path(), &Command::Status)
            .await
            .err()
            .unwrap();
        assert!(error.contains("has ended"), "{error}");
        let control = Control::bind(directory.path()).unwrap();
        drop(control);
        let error = Asked::of(directory.path(), &Command::Status)
            .await
            .err()
            .unwrap();
        assert!(error.contains("no router runs"), "{error}");
        std::fs::write(&path, "somebody's").unwrap();
        assert_eq!(
            Control::bind(directory.path()).err().unwrap().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"somebody's");
        let error = Asked::of(&directory.path().join("none"), &Command::Status)
            .await
            .err()
            .unwrap();
        assert!(error.contains("no such directory"), "{error}");
        let long = directory.path().join("d".repeat(108));
        std::fs::create_dir(&long).unwrap();
        assert!(Control::bind(&long)
            .err()
            .unwrap()
            .to_string()
            .contains("107 bytes"));
        assert!(Asked::of(&long, &Command::Status)
            .await
            .err()
            .unwrap()
            .contains("107 bytes"));
    }
}
