//! Runs one command to its end: what it reads, what it writes, how long it may take.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{kill_process_group, Pid, Signal};

use crate::carry::kind::{Done, Fault};

/// How much of what a command writes to standard error is kept for messages.
const SAID: u64 = 500;

/// How much a command may write to standard output: much more than the keys of a batch.
const ANSWER: u64 = 256 << 20;

/// How long a pipe may stay open after its command has ended.
const LINGER: Duration = Duration::from_secs(10);

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The beginning of what it wrote to standard error.
    pub said: String,
    /// What it wrote to standard output, where that was asked for.
    pub answer: Vec<u8>,
}

/// Runs a command that reads `input`. With `answers`, what it writes to standard output is kept.
///
/// Errors: one that does not start, or that takes longer than `limit`; it is killed, with its whole
/// process group.
pub fn run(command: &mut Command, input: Vec<u8>, limit: Duration, answers: bool) -> Done<Ended> {
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    command.stdout(match answers {
        true => Stdio::piped(),
        false => Stdio::null(),
    });
    let mut child = command.spawn().map_err(not_started)?;
    // each pipe has a thread, because a command may read and write in any order
    if let Some(mut pipe) = child.stdin.take() {
        // a command need not read it
        thread::spawn(move || pipe.write_all(&input));
    }
    let said = child.stderr.take().map(|pipe| read(pipe, SAID));
    let answer = child.stdout.take().map(|pipe| read(pipe, ANSWER));
    let code = wait(&mut child, limit)?;
    let received = |from: Option<Receiver<Vec<u8>>>, most| match from {
        Some(from) => from.recv_timeout(most).ok(),
        None => Some(Vec::new()),
    };
    let Some(answer) = received(answer, LINGER) else {
        kill(&mut child);
        return Err(Fault::final_one(
            "what the command left running keeps its standard output open; let it close that",
        ));
    };
    // what it started in the background may keep the pipe open
    let said = received(said, Duration::from_secs(1)).unwrap_or_default();
    Ok(Ended {
        code,
        said: String::from_utf8_lossy(&said).trim().to_owned(),
        answer,
    })
}

/// Returns the fault of a shell that does not start.
pub fn not_started(error: io::Error) -> Fault {
    Fault::passing(format_args!("cannot start /bin/sh: {error}"))
}

/// Reads a pipe to its end, and sends the first `most` bytes of it.
fn read(mut pipe: impl Read + Send + 'static, most: u64) -> Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = (&mut pipe).take(most).read_to_end(&mut bytes);
        let _ = send.send(bytes);
        // the command must not wait for a reader
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    receive
}

fn wait(child: &mut Child, limit: Duration) -> Done<Option<i32>> {
    let (began, mut nap) = (Instant::now(), Duration::from_millis(1));
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) if began.elapsed() < limit => {
                thread::sleep(nap);
                nap = (nap * 2).min(Duration::from_millis(20));
            }
            Ok(None) => {
                kill(child);
                return Err(Fault::passing(format_args!(
                    "the command took longer than {} s and was killed; command.seconds is the limit",
                    limit.as_secs()
                )));
            }
            Err(error) => return Err(Fault::passing(format_args!("the command: {error}"))),
        }
    }
}

/// Kills a command with all that it has started, and waits for it.
pub fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;

    fn shell(text: &str, input: usize, seconds: u64) -> Done<Ended> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(text).process_group(0);
        let limit = Duration::from_secs(seconds);
        run(&mut command, vec![b'x'; input], limit, true)
    }

    #[test]
    fn a_command_may_read_and_write_more_than_a_pipe_holds() {
        let ended = shell("cat; echo no >&2; exit 7", 1 << 20, 60).unwrap();
        assert_eq!((ended.code, ended.answer.len()), (Some(7), 1 << 20));
        assert_eq!(ended.said, "no");
        // and it may leave its input alone
        assert_eq!(shell("true", 1 << 20, 60).unwrap().code, Some(0));
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed() {
        let began = Instant::now();
        let fault = shell("sleep 600 & sleep 600", 0, 1).unwrap_err();
        assert!(fault.passes && fault.line.contains("longer than 1 s"));
        assert!(began.elapsed() < Duration::from_secs(300));
    }
}
