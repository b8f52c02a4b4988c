//! Helpers of the tests of files: places with files, the agent as a process, a connection that
//! fails on demand, and raw frames.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_rrd::connection::Address;
use stead_rrd::files::{Agent, Files};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How many bytes are sent at once; sizes around it are the interesting ones.
pub const CHUNK: usize = 128 << 10;
/// A generous limit: the machine may be very busy, and nothing is measured by it.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Waits until `condition` holds.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < end, "waited {LIMIT:?} for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns the bytes of an RRD of this size, as far as copying is concerned. They differ for each
/// version.
pub fn rrd(size: usize, version: u64) -> Vec<u8> {
    let mut bytes = b"RRD\0".to_vec();
    let mut state = version.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while bytes.len() < size {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        bytes.extend_from_slice(&(state >> 16).to_le_bytes()[..6]);
    }
    bytes.truncate(size);
    bytes
}

/// Returns everything below the directory: each path, and the bytes if it is a file.
pub fn contents(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(next) = left.pop() {
        // ignore what vanishes meanwhile
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            let bytes = match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    left.push(path.clone());
                    None
                }
                Ok(kind) if kind.is_file() => fs::read(&path).ok(),
                _ => None,
            };
            found.insert(path.strip_prefix(dir).unwrap().to_path_buf(), bytes);
        }
    }
    found
}

/// Returns whether a temporary file of the agent exists.
pub fn has_temporary(dir: &Path) -> bool {
    contents(dir).keys().any(|path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(".stead-rrd-copy.")
    })
}

pub fn put(dir: &Path, name: &str, bytes: &[u8]) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Starts an agent in this process and returns its address.
pub async fn agent(base: &Path, listen: &str, read_only: bool) -> Address {
    let agent = Agent::bind(base, &Address::parse(listen).unwrap(), false, read_only)
        .await
        .unwrap();
    let address = Address::parse(&agent.address().unwrap()).unwrap();
    tokio::spawn(agent.run());
    address
}

/// One directory, reached in each way.
pub struct Place {
    pub dir: TempDir,
    /// For the agent's socket, outside the directory of the files.
    _run: TempDir,
    pub ways: Vec<(&'static str, Files)>,
}

impl Place {
    pub async fn new() -> Place {
        let (dir, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let unix = agent(
            dir.path(),
            &format!("unix:{}", run.path().join("s").display()),
            false,
        )
        .await;
        let tcp = agent(dir.path(), "127.0.0.1:0", false).await;
        let ways = vec![
            ("directory", Files::directory(dir.path())),
            ("unix", Files::agent(unix)),
            ("tcp", Files::agent(tcp)),
        ];
        Place {
            dir,
            _run: run,
            ways,
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// The program `stead-rrd files`, killed when the test ends, even if it fails.
pub struct Process {
    pub child: Child,
    pub address: Address,
    pub said: BufReader<std::process::ChildStderr>,
    _run: TempDir,
}

impl Process {
    /// Starts it on a unix socket, from a shell that first runs `setup`. Returns `None` if that is
    /// not allowed here.
    pub fn start(base: &Path, setup: Option<&str>, options: &[&str]) -> Option<Process> {
        let run = tempfile::tempdir().unwrap();
        let listen = format!("unix:{}", run.path().join("s").display());
        let program = env!("CARGO_BIN_EXE_stead-rrd");
        let mut command = match setup {
            None => Command::new(program),
            Some(setup) => {
                let mut command = Command::new("unshare");
                let script = format!("{setup} || exit 99; exec \"$0\" \"$@\"");
                command
                    .args(if setup.contains("mount") {
                        &["-m"][..]
                    } else {
                        &[]
                    })
                    .args(["sh", "-c", &script, program]);
                command.env("DIR", base);
                command
            }
        };
        command
            .args(["files", "--listen", &listen, "--base"])
            .arg(base)
            .args(options);
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut process = Process {
            child,
            address: Address::parse(&listen).unwrap(),
            said,
            _run: run,
        };
        let mut before = String::new();
        loop {
            let mut line = String::new();
            if process.said.read_line(&mut line).unwrap() == 0 {
                assert!(setup.is_some(), "{before}");
                return None; // and the started process is waited for
            }
            if line.contains("listening on ") {
                return Some(process);
            }
            before += &line;
        }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn files(&self) -> Files {
        Files::agent(self.address.clone())
    }

    /// Returns its remaining output. It must have ended or be ending.
    pub fn rest(&mut self) -> String {
        let mut text = String::new();
        self.said.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A proxy before an agent. It does something when a number of bytes have passed, in both
/// directions together.
pub struct Between {
    pub address: Address,
    /// How many bytes have passed.
    pub passed: Arc<AtomicU64>,
    _run: TempDir,
}

impl Between {
    /// Lets `at` bytes pass and calls `act` before the next one. If `act` says so, both connections
    /// are closed.
    pub fn new(
        agent: &Address,
        at: u64,
        act: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Between {
        let run = tempfile::tempdir().unwrap();
        let path = run.path().join("s");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let passed = Arc::new(AtomicU64::new(0));
        let Address::Unix(to) = agent.clone() else {
            panic!("{agent}")
        };
        let (count, act) = (Arc::clone(&passed), Arc::new(act));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = tokio::net::UnixStream::connect(&to).await else {
                    return;
                };
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let (count, act) = (Arc::clone(&count), Arc::clone(&act));
                tokio::spawn(async move {
                    let act = || act();
                    tokio::select! {
                        // one direction at a time, so that bytes are counted in the order in which
                        // they passed
                        () = pass(&mut from_client, &mut to_server, &count, at, &act) => {}
                        () = pass(&mut from_server, &mut to_client, &count, at, &act) => {}
                    }
                });
            }
        });
        Between {
            address: Address::Unix(path),
            passed,
            _run: run,
        }
    }
}

async fn pass(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    count: &AtomicU64,
    at: u64,
    act: &(impl Fn() -> bool + ?Sized),
) {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let Ok(length @ 1..) = from.read(&mut bytes).await else {
            return;
        };
        let before = count.fetch_add(length as u64, Ordering::SeqCst);
        let mut rest = &bytes[..length];
        if before <= at && at < before + length as u64 {
            let (first, second) = rest.split_at((at - before) as usize);
            if to.write_all(first).await.is_err() || act() {
                return;
            }
            rest = second;
        }
        if to.write_all(rest).await.is_err() {
            return;
        }
    }
}

pub const HELLO: &[u8] = b"stead-rrd files 4\n";

/// A connection to an agent that sends whatever the test wants.
pub struct Raw(pub UnixStream);

impl Raw {
    pub fn new(address: &Address) -> Raw {
        let Address::Unix(path) = address else {
            panic!("{address}")
        };
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        Raw(stream)
    }

    /// Connects and exchanges the hello lines.
    pub fn greeted(address: &Address) -> Raw {
        let mut raw = Raw::new(address);
        raw.0.write_all(HELLO).unwrap();
        let mut hello = [0; HELLO.len()];
        raw.0.read_exact(&mut hello).unwrap();
        assert_eq!(hello, HELLO);
        raw
    }

    pub fn send(&mut self, kind: u8, body: &[u8]) {
        self.0.write_all(&frame(kind, body)).unwrap();
    }

    /// Returns the next answer, or `None` if there is no more.
    pub fn answer(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).ok()?;
        let mut body = vec![0; u32::from_le_bytes(head[..4].try_into().unwrap()) as usize];
        self.0.read_exact(&mut body).ok()?;
        Some((head[4], body))
    }

    pub fn ask(&mut self, kind: u8, body: &[u8]) -> (u8, Vec<u8>) {
        self.send(kind, body);
        self.answer().unwrap()
    }
}

pub fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..], &[kind], body].concat()
}
