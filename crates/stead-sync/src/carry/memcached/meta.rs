//! A connection to one memcached, by the text protocol and the meta commands of memcached 1.6.
//!
//! Own code, because no client serves here: the crates `memcache` and `async-memcached` know meta
//! commands in part, but neither lists keys, and they bring OpenSSL or tokio.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use crate::carry::kind::{Done, Fault};

/// How long connecting, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// memcached takes a time to live above 30 days for the seconds since 1970.
const ABSOLUTE: i64 = 30 * 24 * 3600;

/// The longest line of an answer: a key of 250 bytes, each written with three, and its fields.
const LINE: u64 = 4096;

/// An item as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    /// The value.
    pub value: Vec<u8>,
    /// The flags, which mean something to the client that wrote them.
    pub flags: u32,
    /// The seconds that the item has left; `None` when it does not expire.
    pub left: Option<i64>,
    /// The number of this version of the item.
    pub cas: u64,
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A connection.
pub struct Connection {
    server: String,
    stream: BufReader<Box<dyn Stream>>,
}

/// The answer to a meta command: its code, and the fields after it.
struct Answer {
    line: String,
    size: usize,
}

impl Answer {
    fn code(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// Returns the field that begins with a letter, as a number.
    fn number(&self, letter: char) -> Option<i128> {
        let mut fields = self.line.split(' ').skip(1);
        fields
            .find_map(|field| field.strip_prefix(letter))?
            .parse()
            .ok()
    }
}

impl Connection {
    /// Connects to `HOST:PORT`, or to a socket, which is written as a path.
    pub fn open(server: &str) -> Done<Connection> {
        let lost = |e: io::Error| lost(server, &e);
        let stream: Box<dyn Stream> = if server.starts_with('/') {
            let stream = UnixStream::connect(server).map_err(lost)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
            stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
            Box::new(stream)
        } else {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "no address has this name");
            let mut found = None;
            for address in server.to_socket_addrs().map_err(lost)? {
                match TcpStream::connect_timeout(&address, PATIENCE) {
                    Ok(stream) => {
                        found = Some(stream);
                        break;
                    }
                    Err(error) => last = error,
                }
            }
            let stream = found.ok_or(last).map_err(lost)?;
            stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
            stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
            stream.set_nodelay(true).map_err(lost)?;
            Box::new(stream)
        };
        Ok(Connection {
            server: server.to_owned(),
            stream: BufReader::new(stream),
        })
    }

    /// Checks that the server knows the meta commands, keeps the numbers of versions, and lists its
    /// keys.
    pub fn check(&mut self) -> Done {
        self.send(b"mn\r\n")?;
        let answer = self.line()?;
        if answer != "MN" {
            return Err(self
                .refused("it does not know the meta commands; stead-sync needs memcached 1.6.9"));
        }
        self.send(b"version\r\n")?;
        let version = self.line()?;
        if !lists_by_hash(&version) {
            return Err(self.refused(format_args!(
                "it is {version:?}, which cannot list its keys without leaving some out; \
                 stead-sync needs memcached 1.6.9"
            )));
        }
        self.send(b"stats settings\r\n")?;
        let mut refused = None;
        loop {
            match self.line()?.as_str() {
                "END" => break,
                "STAT cas_enabled no" => {
                    refused =
                        Some("it runs with -C, without the numbers that tell two versions apart");
                }
                "STAT lru_crawler no" => {
                    refused = Some("its lru_crawler is off, which lists the keys");
                }
                "STAT dump_enabled no" => {
                    refused = Some("it runs with -X, which forbids to list the keys");
                }
                _ => (),
            }
        }
        match refused {
            Some(why) => Err(self.refused(format_args!("{why}; start it without this option"))),
            None => Ok(()),
        }
    }

    /// Returns an item; `None` when there is none, or when it expires within this second.
    pub fn get(&mut self, key: &[u8]) -> Done<Option<Stored>> {
        self.command("mg", key, " v f t c", None)?;
        let answer = self.answer()?;
        if answer.code() == "EN" {
            return Ok(None);
        }
        let mut value = vec![0; answer.size];
        if answer.code() == "VA" {
            let mut end = [0; 2];
            let stream = &mut self.stream;
            let read = stream
                .read_exact(&mut value)
                .and_then(|()| stream.read_exact(&mut end));
            read.map_err(|e| lost(&self.server, &e))?;
        }
        let (flags, left, cas) = (answer.number('f'), answer.number('t'), answer.number('c'));
        let (Some(flags), Some(left), Some(cas)) = (flags, left, cas) else {
            return Err(self.strange(&answer));
        };
        let item = Stored {
            value,
            flags: flags as u32,
            left: (left >= 0).then_some(left as i64),
            cas: cas as u64,
        };
        Ok((item.left != Some(0)).then_some(item))
    }

    /// Returns the version of an item; `None` when there is none.
    pub fn cas(&mut self, key: &[u8]) -> Done<Option<u64>> {
        self.command("mg", key, " c", None)?;
        let answer = self.answer()?;
        match (answer.code(), answer.number('c')) {
            ("EN", _) => Ok(None),
            ("HD", Some(cas)) => Ok(Some(cas as u64)),
            _ => Err(self.strange(&answer)),
        }
    }

    /// Stores an item if there is none, and returns its version; `None` when there is one.
    pub fn add(&mut self, key: &[u8], item: &Stored) -> Done<Option<u64>> {
        let life = match item.left {
            None => String::new(),
            Some(left) if left <= ABSOLUTE => format!(" T{left}"),
            Some(left) => format!(" T{}", now().saturating_add(left)),
        };
        let rest = format!(" {} F{}{life} ME c", item.value.len(), item.flags);
        self.command("ms", key, &rest, Some(&item.value))?;
        let answer = self.answer()?;
        match (answer.code(), answer.number('c')) {
            ("HD", Some(cas)) => Ok(Some(cas as u64)),
            ("NS", _) => Ok(None),
            _ => Err(self.strange(&answer)),
        }
    }

    /// Removes an item if it has this version. Returns whether the item is gone now.
    pub fn remove(&mut self, key: &[u8], cas: u64) -> Done<bool> {
        self.command("md", key, &format!(" C{cas}"), None)?;
        let answer = self.answer()?;
        match answer.code() {
            "HD" | "NF" => Ok(true),
            "EX" => Ok(false),
            _ => Err(self.strange(&answer)),
        }
    }

    /// Calls `each` with every key of the server, in no order, until it returns `false`. A key that
    /// is stored for the first time meanwhile may be left out.
    ///
    /// The server walks its hash table: a walk along its lists of items by age leaves out those
    /// that a write or a read moves from one list to another meanwhile.
    pub fn keys(&mut self, mut each: impl FnMut(Vec<u8>) -> bool) -> Done {
        self.send(b"lru_crawler metadump hash\r\n")?;
        loop {
            let line = self.line()?;
            if line == "END" {
                return Ok(());
            }
            if line.starts_with("BUSY") {
                let line = format!(
                    "memcached {}: it is listing its keys for another client",
                    self.server
                );
                return Err(Fault::passing(line));
            }
            let key = line
                .strip_prefix("key=")
                .and_then(|rest| plain(rest.split(' ').next()?));
            let Some(key) = key else {
                return Err(self.refused(format_args!("the answer is {line:?}")));
            };
            if !each(key) {
                return Ok(());
            }
        }
    }

    fn command(&mut self, name: &str, key: &[u8], rest: &str, value: Option<&[u8]>) -> Done {
        let mut bytes = format!("{name} ").into_bytes();
        let text = key.iter().all(|&byte| byte > b' ' && byte != 0x7f) && !key.is_empty();
        match text {
            true => bytes.extend_from_slice(key),
            false => bytes.extend_from_slice(STANDARD.encode(key).as_bytes()),
        }
        bytes.extend_from_slice(rest.as_bytes());
        bytes.extend_from_slice(if text { b"\r\n" } else { b" b\r\n" });
        if let Some(value) = value {
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        self.send(&bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> Done {
        let stream = self.stream.get_mut();
        let sent = stream.write_all(bytes).and_then(|()| stream.flush());
        sent.map_err(|e| lost(&self.server, &e))
    }

    fn line(&mut self) -> Done<String> {
        let mut line = Vec::new();
        let read = (&mut self.stream).take(LINE).read_until(b'\n', &mut line);
        read.map_err(|e| lost(&self.server, &e))?;
        if line.pop() != Some(b'\n') {
            let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed");
            return Err(lost(&self.server, &error));
        }
        let line = String::from_utf8_lossy(&line);
        Ok(line.trim_end_matches('\r').to_owned())
    }

    fn answer(&mut self) -> Done<Answer> {
        let line = self.line()?;
        let size = match line.strip_prefix("VA ") {
            None => 0,
            Some(rest) => {
                let size = rest.split(' ').next().and_then(|size| size.parse().ok());
                // no server has items of more than 1 GiB
                match size.filter(|&size: &usize| size <= 1 << 30) {
                    Some(size) => size,
                    None => return Err(self.refused(format_args!("the answer is {line:?}"))),
                }
            }
        };
        Ok(Answer { line, size })
    }

    fn strange(&self, answer: &Answer) -> Fault {
        let line = &answer.line;
        match line.as_str() {
            "SERVER_ERROR object too large for cache" => self.refused(
                "an item is too large for it; start it with a larger -I, as the other servers have",
            ),
            _ => self.refused(format_args!("the answer is {line:?}")),
        }
    }

    fn refused(&self, why: impl std::fmt::Display) -> Fault {
        Fault::final_one(format_args!("memcached {}: {why}", self.server))
    }
}

fn lost(server: &str, error: &io::Error) -> Fault {
    let timeout = matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    );
    let why = match timeout {
        true => "no answer in time".to_owned(),
        false => error.to_string(),
    };
    Fault::passing(format_args!("memcached {server}: {why}"))
}

/// The seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

/// Returns whether a server that gives this version can list its keys by walking its hash table.
fn lists_by_hash(version: &str) -> bool {
    let numbers = version.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u32> = numbers.filter_map(|n| n.parse().ok()).take(3).collect();
    numbers[..] >= [1, 6, 9][..]
}

/// Returns the key that a listing names: bytes may be written as `%` and two digits.
fn plain(text: &str) -> Option<Vec<u8>> {
    let mut key = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || Some((bytes.next()? as char).to_digit(16)? as u8);
                key.push(digit()? * 16 + digit()?);
            }
            byte => key.push(byte),
        }
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_that_list_every_key_are_taken() {
        for taken in [
            "1.6.9",
            "1.6.18",
            "1.6.9-rc1",
            "1.7.0",
            "1.6.21_13_gdf54d8b",
            "2.0",
        ] {
            assert!(lists_by_hash(&format!("VERSION {taken}")), "{taken}");
        }
        for refused in ["1.6.8", "1.6", "1.5.22", "UNKNOWN", ""] {
            assert!(!lists_by_hash(&format!("VERSION {refused}")), "{refused}");
        }
    }

    #[test]
    fn a_listed_key_is_its_bytes() {
        assert_eq!(plain("foo").unwrap(), b"foo");
        assert_eq!(plain("a%20b%00%FF%25").unwrap(), b"a b\0\xff%");
        assert_eq!(plain("a%2"), None);
        assert_eq!(plain("a%zz"), None);
    }
}
