//! Sends updates to an rrdcached, or to a router, as fast as they are answered: `rrd_load ADDRESS
//! --files LIST`.
//!
//! Each connection has files of its own and updates them in turn, each time one second later than
//! the last. A connection sends the next request when it has an answer: one request at a time, or
//! `--pipeline` of them, or a BATCH of `--batch` lines. Any answer that is not success ends the
//! program with an error, so that a server cannot look fast by refusing. The program prints its
//! results as one line of JSON.
//!
//! It runs on one thread, so that it takes at most one core from the servers that it measures.

use std::collections::VecDeque;
use std::io::{Error, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use stead_rrd::batch::GO_AHEAD;
use stead_rrd::connection::{Address, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// Updates RRD files as fast as the server answers, and counts
#[derive(Parser)]
struct Line {
    /// Where the server listens: unix:/path or host:port
    address: String,
    /// A file with the names of the RRD files, one a line
    #[arg(long)]
    files: PathBuf,
    /// The time of the first update, in seconds since 1970; it must be newer than what the files
    /// have
    #[arg(long)]
    start: u64,
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// Requests of one connection that wait for their answers
    #[arg(long, default_value_t = 1)]
    pipeline: usize,
    /// Lines in one BATCH; without it updates go one by one
    #[arg(long)]
    batch: Option<usize>,
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
}

/// What a connection did.
struct Done {
    /// The time from sending each request to its answer, in nanoseconds. A BATCH is one request.
    latencies: Vec<u64>,
    updates: u64,
    /// The newest time that was written.
    newest: u64,
    end: Instant,
}

fn main() -> ExitCode {
    let line = Line::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime.and_then(|runtime| runtime.block_on(load(line))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rrd_load: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn load(line: Line) -> Result<(), Error> {
    let address = Address::parse(&line.address).map_err(Error::other)?;
    let files = std::fs::read_to_string(&line.files)
        .map_err(|error| Error::other(format!("{}: {error}", line.files.display())))?;
    let files: Vec<&str> = files.lines().collect();
    if line.connections == 0
        || line.pipeline == 0
        || line.batch == Some(0)
        || files.len() < line.connections
    {
        return Err(Error::other(format!(
            "{} connections cannot share {} files; give each at least one",
            line.connections,
            files.len()
        )));
    }
    if line.pipeline > files.len() / line.connections {
        return Err(Error::other(format!(
            "--pipeline {}: a connection would ask for a file again before it was answered",
            line.pipeline
        )));
    }
    let ready = Arc::new(Barrier::new(line.connections));
    let mut connections = JoinSet::new();
    for at in 0..line.connections {
        let stream = open(&address)
            .await
            .map_err(|error| Error::other(format!("{}: {error}", line.address)))?;
        let own = files
            .iter()
            .skip(at)
            .step_by(line.connections)
            .map(|name| format!("update {name} ").into_bytes())
            .collect();
        let updates = Updates {
            files: own,
            at: 0,
            time: line.start,
        };
        let client = Client {
            stream,
            updates,
            unread: Vec::new(),
        };
        let (ready, time) = (Arc::clone(&ready), Duration::from_secs_f64(line.seconds));
        let (pipeline, batch) = (line.pipeline, line.batch);
        connections.spawn(async move {
            ready.wait().await;
            let start = Instant::now();
            let done = match batch {
                None => client.singles(pipeline, start + time).await,
                Some(lines) => client.batches(lines, start + time).await,
            };
            done.map(|done| (start, done))
        });
    }
    let mut latencies = Vec::new();
    let (mut updates, mut newest, mut span) = (0, 0, None);
    while let Some(joined) = connections.join_next().await {
        let (start, done) = joined??;
        latencies.extend(done.latencies);
        updates += done.updates;
        newest = newest.max(done.newest);
        let (first, last) = span.get_or_insert((start, done.end));
        (*first, *last) = (start.min(*first), done.end.max(*last));
    }
    let seconds = span.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    latencies.sort_unstable();
    let micros = |part: usize| {
        latencies
            .get((latencies.len() * part / 1000).min(latencies.len().saturating_sub(1)))
            .map_or(0.0, |n| *n as f64 / 1000.0)
    };
    println!(
        "{{\"updates\": {updates}, \"requests\": {}, \"seconds\": {seconds:.6}, \"p50_us\": {:.1}, \"p99_us\": {:.1}, \"max_us\": {:.1}, \"newest\": {newest}}}",
        latencies.len(),
        micros(500),
        micros(990),
        micros(1000),
    );
    Ok(())
}

async fn open(address: &Address) -> Result<Stream, Error> {
    Ok(match address {
        Address::Unix(path) => Stream::Unix(UnixStream::connect(path).await?),
        Address::Tcp(text) => {
            let stream = TcpStream::connect(text.as_str()).await?;
            stream.set_nodelay(true)?;
            Stream::Tcp(stream)
        }
        Address::Tls(_) => {
            return Err(Error::other(
                "TLS is not measured; give an address without tls:",
            ))
        }
    })
}

/// The lines of one connection.
struct Updates {
    /// `update NAME `
    files: Vec<Vec<u8>>,
    at: usize,
    time: u64,
}

impl Updates {
    fn push(&mut self, text: &mut Vec<u8>) {
        if self.at == self.files.len() {
            self.at = 0;
            self.time += 1;
        }
        text.extend_from_slice(&self.files[self.at]);
        // a value that changes from file to file and from time to time
        let _ = writeln!(
            text,
            "{}:{}",
            self.time,
            self.time * 7919 % 9973 + self.at as u64
        );
        self.at += 1;
    }
}

struct Client {
    stream: Stream,
    updates: Updates,
    /// Bytes that were received and are not a whole line yet.
    unread: Vec<u8>,
}

impl Client {
    async fn singles(mut self, pipeline: usize, until: Instant) -> Result<Done, Error> {
        let mut asked = VecDeque::new();
        let mut latencies = Vec::new();
        let mut text = Vec::new();
        loop {
            let now = Instant::now();
            text.clear();
            while now < until && asked.len() < pipeline {
                self.updates.push(&mut text);
                asked.push_back(now);
            }
            if asked.is_empty() {
                return Ok(Done {
                    updates: latencies.len() as u64,
                    latencies,
                    newest: self.updates.time,
                    end: now,
                });
            }
            self.stream.write_all(&text).await?;
            self.receive().await?;
            let now = Instant::now();
            let mut from = 0;
            while let Some(end) = self.unread[from..].iter().position(|byte| *byte == b'\n') {
                let line = &self.unread[from..from + end];
                if line != b"0 errors, enqueued 1 value(s)." {
                    return Err(failed(line));
                }
                from += end + 1;
                let since = asked
                    .pop_front()
                    .ok_or_else(|| Error::other("an answer to nothing"))?;
                latencies.push((now - since).as_nanos() as u64);
            }
            self.unread.drain(..from);
        }
    }

    /// Sends BATCHes. It waits for the answer to the word BATCH, as the protocol requires, and
    /// makes the lines meanwhile.
    async fn batches(mut self, lines: usize, until: Instant) -> Result<Done, Error> {
        let mut latencies = Vec::new();
        let mut text = Vec::new();
        loop {
            let asked = Instant::now();
            if asked >= until {
                return Ok(Done {
                    updates: (latencies.len() * lines) as u64,
                    latencies,
                    newest: self.updates.time,
                    end: asked,
                });
            }
            self.stream.write_all(b"BATCH\n").await?;
            text.clear();
            (0..lines).for_each(|_| self.updates.push(&mut text));
            text.extend_from_slice(b".\n");
            self.expect(format!("0 {GO_AHEAD}").as_bytes()).await?;
            self.stream.write_all(&text).await?;
            self.expect(b"0 errors").await?;
            latencies.push(asked.elapsed().as_nanos() as u64);
        }
    }

    /// Reads one line, which must equal `wanted`.
    async fn expect(&mut self, wanted: &[u8]) -> Result<(), Error> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                if self.unread[..end] != *wanted {
                    if self.unread.len() == end + 1 {
                        self.receive().await?; // the line after it says more
                    }
                    return Err(failed(&self.unread));
                }
                self.unread.drain(..=end);
                return Ok(());
            }
            self.receive().await?;
        }
    }

    async fn receive(&mut self) -> Result<(), Error> {
        match self.stream.read_buf(&mut self.unread).await? {
            0 => Err(Error::other("the server closed the connection")),
            _ => Ok(()),
        }
    }
}

fn failed(answer: &[u8]) -> Error {
    Error::other(format!(
        "the server refused an update: {:?}",
        String::from_utf8_lossy(answer)
    ))
}
