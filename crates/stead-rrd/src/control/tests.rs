//! Tests of both sides of the control socket.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::watch;

use super::command::NAME;
use super::desk::LINE_BYTES;
use super::{Answer, Asked, Command, Control, Operable};
use crate::sample::sample;
use crate::status::{Progress, Source, Status};

/// A router whose moves are what the test sends through the other end.
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

    async fn stop(&self) -> Result<(), String> {
        match self.0.borrow().done {
            13 => Err("the disk is full".to_owned()),
            _ => Ok(()),
        }
    }

    async fn start_repair(
        &self,
        node: &str,
        replace: bool,
    ) -> Result<watch::Receiver<Progress>, String> {
        Err(format!("{node} lacks nothing; replace: {replace}"))
    }

    async fn start_check(
        &self,
        rate: Option<u64>,
        restart: bool,
    ) -> Result<watch::Receiver<Progress>, String> {
        Err(format!("rate {rate:?}, restart {restart}"))
    }
}

/// Starts a router in a directory of its own. Returns it with the sender of its progress.
fn router() -> (tempfile::TempDir, watch::Sender<Progress>) {
    let directory = tempfile::tempdir().unwrap();
    let (sender, receiver) = watch::channel(Progress::default());
    let control = Control::bind(directory.path()).unwrap();
    tokio::spawn(async move { control.run(Arc::new(FakeRouter(receiver))).await });
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
    for (command, said) in [
        (
            Command::Repair("b 1".to_owned()),
            "b 1 lacks nothing; replace: false",
        ),
        (
            Command::Replace("b 1".to_owned()),
            "b 1 lacks nothing; replace: true",
        ),
        (
            Command::Check {
                rate: None,
                restart: true,
            },
            "rate None, restart true",
        ),
        (
            Command::Check {
                rate: Some(7),
                restart: false,
            },
            "rate Some(7), restart false",
        ),
    ] {
        let mut asked = Asked::of(directory.path(), &command).await.unwrap();
        assert_eq!(asked.next().await, Ok(Answer::Error(said.to_owned())));
    }
    assert_eq!(
        Command::parse("check"),
        Ok(Command::Check {
            rate: None,
            restart: false
        })
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
    assert!(asked.next().await.unwrap_err().contains("stopped before"));
}

#[tokio::test]
async fn a_caller_can_stop_the_work_and_hears_that_it_did() {
    let (directory, sender) = router();
    for (done, said) in [(5, Ok(())), (13, Err("the disk is full".to_owned()))] {
        sender.send_modify(|progress| progress.done = done);
        let mut asked = Asked::of(directory.path(), &Command::Move(None))
            .await
            .unwrap();
        asked.next().await.unwrap();
        assert_eq!(asked.stop().await, said);
        assert!(asked.next().await.is_err());
    }
    // anything else is not a request to stop
    let said = raw(directory.path(), b"move\nstop it\n").await;
    assert!(said.starts_with(r#"{"progress":"#), "{said}");
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
        (&b"stat\n"[..], "is not a request"),
        (b"\n", "is not a request"),
        (b"status now\n", "is not a request"),
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
    assert!(
        error.contains("has ended: start it again, or wait a moment"),
        "{error}"
    );
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
