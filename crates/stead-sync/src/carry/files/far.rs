//! A root at another machine, which is reached by ssh: see `agent.rs` for what is said there, and
//! `own.rs` for the tokens.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::carry::base64_bytes::Bytes;
use crate::carry::kind::{Added, Disk, Done, Fault, Ground, Item, Version};
use crate::carry::whole_file::Piece;
use crate::carry::wire::{hear, say, say_piece, sent, Ask, Hello, Sent};
use crate::token::token;

use super::agent::{Arrived, Page, Pieces};
use super::root::{Left, Opening, Taking};

/// How much of what ssh writes to standard error is shown.
const SAID: u64 = 500;

/// The exit code of a shell for a program that is not there.
const NO_PROGRAM: i32 = 127;

/// A line to an agent.
struct Line {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Line {
    fn ask<T: DeserializeOwned>(&mut self, ask: &Ask) -> io::Result<Done<T>> {
        say(&mut self.input, ask)?;
        self.input.flush()?;
        hear(&mut self.output)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The token that agents must have, and whether the root knows it.
struct Fence {
    token: String,
    is_set: bool,
}

impl Fence {
    fn new() -> Fence {
        Fence {
            token: token(),
            is_set: false,
        }
    }
}

/// A root at another machine.
pub struct Far {
    host: String,
    ssh: Vec<String>,
    hello: Hello,
    idle: Mutex<Vec<Line>>,
    /// what the root stood on when it was last ready, which agents get in their hello
    ground: Mutex<Option<Ground>>,
    fence: Mutex<Fence>,
}

/// What is done with a line. The first error is one of the line.
type Said<T> = io::Result<Done<T>>;

impl Far {
    /// Returns the root at a host, which is reached by the words `ssh` and the name of the host.
    pub fn new(host: String, ssh: Vec<String>, hello: Hello) -> Far {
        Far {
            host,
            ssh,
            hello,
            idle: Mutex::default(),
            ground: Mutex::default(),
            fence: Mutex::new(Fence::new()),
        }
    }

    fn open(&self) -> Done<Line> {
        let mut words = self.ssh.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        command.args(words).arg("--").arg(&self.host);
        command.arg(format!("{} carry agent", self.hello.options.agent));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| {
            self.at(Fault::final_one(format_args!(
                "cannot start {:?}: {error}",
                self.ssh
            )))
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(self.at(Fault::final_one("ssh has no pipes")));
        };
        let mut line = Line {
            child,
            input: BufWriter::new(input),
            output: BufReader::new(output),
        };
        let hello = Hello {
            ground: self.ground(),
            ..self.hello.clone()
        };
        let mut greet = || {
            say(&mut line.input, &hello)?;
            line.input.flush()?;
            hear::<Done>(&mut line.output)
        };
        match greet() {
            Ok(Ok(())) => Ok(line),
            Ok(Err(fault)) => Err(self.at(fault)),
            Err(error) => Err(self.no_line(line, &error)),
        }
    }

    /// Says why no agent has answered: what ssh or the shell there has written.
    fn no_line(&self, mut line: Line, error: &io::Error) -> Fault {
        let ended = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe
        );
        if !ended {
            let _ = line.child.kill();
        }
        let code = line.child.wait().ok().and_then(|status| status.code());
        let (send, said) = mpsc::channel();
        let errors = line.child.stderr.take();
        // a connection that ssh shares may keep this pipe open
        thread::spawn(move || {
            let mut text = Vec::new();
            let read = errors.map(|errors| errors.take(SAID).read_to_end(&mut text));
            let _ = send.send((read, text));
        });
        let said = said.recv_timeout(Duration::from_secs(1)).ok();
        let said = said.map(|(_, text)| String::from_utf8_lossy(&text).trim().to_owned());
        let said = match said.filter(|said| ended && !said.is_empty()) {
            None => error.to_string(),
            Some(said) => said.replace(['\r', '\n'], " "),
        };
        let help = match code {
            Some(NO_PROGRAM) => "; install stead-sync there, or name it by `agent`",
            _ => "",
        };
        let (node, host) = (&self.hello.node, &self.host);
        Fault::new(
            format_args!("node {node}: {host}: no agent answers: {said}{help}"),
            ended && code != Some(NO_PROGRAM),
        )
    }

    /// Says at which node and host a fault is.
    fn at(&self, fault: Fault) -> Fault {
        let line = match fault.line.starts_with("node ") {
            true => fault.line,
            false => format!("node {}: {}: {}", self.hello.node, self.host, fault.line),
        };
        Fault { line, ..fault }
    }

    fn line(&self) -> Done<Line> {
        let idle = lock(&self.idle).pop();
        idle.map_or_else(|| self.open(), Ok)
    }

    /// Says something on a line that nobody uses. A line that is lost is closed, and others with
    /// it, because they may have the same fate; what its agent still does is fenced off.
    fn with<T>(&self, work: impl FnOnce(&mut Line, &str) -> Said<T>) -> Done<T> {
        let token = self.token()?;
        let mut line = self.line()?;
        match work(&mut line, &token) {
            Ok(done) => {
                lock(&self.idle).push(line);
                done.map_err(|fault| self.at(fault))
            }
            Err(error) => {
                let mut fence = lock(&self.fence);
                if fence.token == token {
                    *fence = Fence::new();
                }
                lock(&self.idle).clear();
                Err(self.at(Fault::passing(format_args!("the line was lost: {error}"))))
            }
        }
    }

    /// Returns the token, which the root knows.
    fn token(&self) -> Done<String> {
        let mut fence = lock(&self.fence);
        if !fence.is_set {
            let mut line = self.line()?;
            let ask = Ask::Fence {
                token: fence.token.clone(),
            };
            let lost = |error| Fault::passing(format_args!("the line was lost: {error}"));
            let set = line.ask::<()>(&ask).map_err(lost).and_then(|done| done);
            set.map_err(|fault| self.at(fault))?;
            lock(&self.idle).push(line);
            fence.is_set = true;
        }
        Ok(fence.token.clone())
    }

    fn ask<T: DeserializeOwned>(&self, ask: impl FnOnce(String) -> Ask) -> Done<T> {
        self.with(|line, token| line.ask(&ask(token.to_owned())))
    }

    /// Asks something that writes nothing, so it needs no token.
    fn look<T: DeserializeOwned>(&self, ask: &Ask) -> Done<T> {
        let mut line = self.line()?;
        let said = line.ask(ask);
        let lost = |error| Fault::passing(format_args!("the line was lost: {error}"));
        let said = said.map_err(lost).and_then(|done| done);
        let said = said.map_err(|fault| self.at(fault))?;
        lock(&self.idle).push(line);
        Ok(said)
    }

    /// [`Root::ready`](super::root::Root::ready) there.
    pub fn ready(&self) -> Done<String> {
        let (place, mut ground): (String, Ground) = self.look(&Ask::Ready)?;
        ground.root = format!("{}:{}", self.host, ground.root);
        let mut known = lock(&self.ground);
        if known.as_ref() != Some(&ground) {
            // the agents expect what was before
            lock(&self.idle).clear();
            *known = Some(ground);
        }
        Ok(place)
    }

    /// Returns what the root stood on when it was last ready.
    pub fn ground(&self) -> Option<Ground> {
        lock(&self.ground).clone()
    }

    /// [`Root::sizes`](super::root::Root::sizes) there.
    pub fn sizes(&self, items: &[&Item]) -> Done<Vec<u64>> {
        let items = items.iter().map(|item| Sent::from(*item)).collect();
        self.look(&Ask::Sizes { items })
    }

    /// [`Root::disk`](super::root::Root::disk) there. Machines that were cloned may call their
    /// disks alike, so the host is a part of the name.
    pub fn disk(&self) -> Done<Disk> {
        let disk: Disk = self.look(&Ask::Disk)?;
        let name = format!("{}:{}", self.host, disk.name);
        Ok(Disk { name, ..disk })
    }

    /// `Own::clear` there.
    pub fn clear(&self, last: bool) -> Done {
        self.ask::<()>(|token| Ask::Clear {
            token: (!last).then_some(token),
        })?;
        lock(&self.fence).is_set = !last;
        Ok(())
    }

    /// [`Root::holding`](super::root::Root::holding) there.
    pub fn holding(&self) -> Done<Option<String>> {
        self.ask(|_| Ask::Holding)
    }

    /// Asks something about an item.
    pub fn about<T: DeserializeOwned>(
        &self,
        item: &Item,
        ask: impl FnOnce(Sent) -> Ask,
    ) -> Done<T> {
        self.ask(|_| ask(item.into()))
    }

    /// `Root::keys` there.
    pub fn keys(
        &self,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done<Option<Left>> {
        let after = after.map(|after| Bytes(after.to_vec()));
        // a line of its own, which is closed where the listing is broken off
        let mut line = self.open()?;
        let lost = |error| self.at(Fault::passing(format_args!("the line was lost: {error}")));
        let mut page = line.ask::<Page>(&Ask::Keys { after }).map_err(lost)?;
        loop {
            match page.map_err(|fault| self.at(fault))? {
                Page::End(left) => return Ok(Some(left)),
                Page::Items(items) => {
                    for item in items {
                        if stop.load(Ordering::Relaxed) || !each(item.into()) {
                            return Ok(None);
                        }
                    }
                }
            }
            page = hear(&mut line.output).map_err(lost)?;
        }
    }

    /// Sends a file from there to where `take` puts it.
    pub fn give(&self, item: &Item, above: bool, take: &mut Taking<'_>) -> Done<Added> {
        self.with(|line, _| {
            let item = item.into();
            let opening = line.ask::<Option<Opening>>(&Ask::Give { item, above })?;
            let opening = match opening {
                Ok(Some(opening)) => opening,
                none => return Ok(none.map(|_| Added::Gone)),
            };
            let mut pieces = Pieces::new(&mut line.output);
            let added = take(&opening, &mut || pieces.piece());
            pieces.finish()?;
            Ok(added)
        })
    }

    /// `Root::take` there.
    pub fn take(
        &self,
        item: &Item,
        opening: &Opening,
        next: &mut dyn FnMut() -> Done<Option<Piece>>,
        over: Option<&Version>,
    ) -> Done<Added> {
        self.with(|line, token| {
            let token = token.to_owned();
            let item = item.into();
            let over = over.map(sent);
            say(&mut line.input, &Ask::Take { item, over, token })?;
            say(&mut line.input, opening)?;
            let end = loop {
                match next() {
                    Ok(Some(piece)) => say_piece(&mut line.input, &piece)?,
                    Ok(None) => break Ok(()),
                    Err(fault) => break Err(fault),
                }
            };
            say(&mut line.input, &end)?;
            line.input.flush()?;
            let arrived: Done<Arrived> = hear(&mut line.output)?;
            Ok(end.and(arrived).map(|arrived| match arrived {
                Arrived::Present => Added::Present,
                Arrived::There { wrote, bytes } => Added::Copied {
                    read: Version(opening.read.0.clone()),
                    wrote: Version(wrote.0),
                    bytes,
                },
            }))
        })
    }

    /// `Root::remove` there.
    pub fn remove(&self, item: &Item, version: &Version) -> Done<bool> {
        self.ask(|token| Ask::Remove {
            item: item.into(),
            version: sent(version),
            token,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
