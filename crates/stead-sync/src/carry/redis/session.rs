//! A connection to one Redis, and what is done with a key there.
//!
//! A key travels as DUMP gives it, with the instant at which it expires. Two servers may give two
//! DUMPs of one value: the order of a set depends on a secret of the server. So values are compared
//! by their [mark](Held::mark), which is made of what a client can read.

use std::time::Duration;

use ::redis::{Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo};
use ::redis::{FromRedisValue, RedisError, RedisResult, Value};
use sha2::{Digest, Sha256};

use crate::access::Secret;
use crate::carry::kind::{Done, Fault, Version};

/// How long connecting may take, and after it the first answer of TLS.
const CONNECT: Duration = Duration::from_secs(5);

/// How long one answer may take: the DUMP of a key of some GB takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many milliseconds apart a key may expire at two servers.
const APART: u64 = 10_000;

/// How often a key is read again that changes its type or value between two commands.
const TRIES: u32 = 100;

/// How many keys a page of SCAN has, more or less.
const PAGE: u32 = 1000;

/// The bytes at the end of a DUMP that are not the value: its version and a checksum.
const FOOTER: usize = 10;

/// What a key holds.
pub struct Held {
    /// The value, as RESTORE takes it, where it is to travel.
    dump: Vec<u8>,
    /// When it expires, in milliseconds since 1970; -1 when it does not.
    expires: i64,
    /// A digest of the value. It is the same at every server.
    mark: [u8; 32],
}

impl Held {
    /// Returns the version: the digest, and when the key expires.
    pub fn version(&self) -> Version {
        Version([&self.mark[..], &self.expires.to_le_bytes()].concat())
    }

    /// Returns the size of the value, as it travels.
    pub fn size(&self) -> u64 {
        self.dump.len() as u64
    }

    /// Whether two servers hold the same. An application that gives a key a time to live at both
    /// does so at two moments.
    pub fn equals(&self, other: &Held) -> bool {
        let forever = |held: &Held| held.expires < 0;
        self.mark == other.mark
            && forever(self) == forever(other)
            && self.expires.abs_diff(other.expires) <= APART
    }
}

/// What a key is read for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// It is copied: the value itself is needed.
    Copy,
    /// It is compared.
    Compare,
    /// It is removed, and was named to WATCH. This read is no transaction, because the end of one
    /// ends the watch: what changes meanwhile is noticed when the key is removed.
    Removal,
}

/// A connection.
pub struct Session {
    server: String,
    database: i64,
    connection: ::redis::Connection,
}

impl Session {
    /// Connects to `redis://`, `rediss://` (TLS) or `redis+unix://`, or to `HOST:PORT`.
    pub fn open(url: &str, user: Option<&str>, password: Option<&Secret>) -> Done<Session> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let full = match url.contains("://") || url.starts_with('/') {
            true => match url.strip_prefix('/') {
                Some(path) => format!("redis+unix:///{path}"),
                None => url.to_owned(),
            },
            false => format!("redis://{url}"),
        };
        let info = full.as_str().into_connection_info().map_err(|_| {
            Fault::final_one(format_args!(
                "{:?} is no address of a Redis; write redis://HOST:PORT/DB, rediss://... for TLS, \
                 HOST:PORT, or the path of a socket",
                without_password(url)
            ))
        })?;
        // an address with a password in it is not shown
        let server = format!("redis {}/{}", info.addr(), info.redis_settings().db());
        let database = info.redis_settings().db();
        let mut settings = info.redis_settings().clone().set_skip_set_lib_name();
        if let Some(user) = user {
            settings = settings.set_username(user);
        }
        if let Some(password) = password {
            settings = settings.set_password(password.reveal());
        }
        let has_user = settings.username().is_some();
        let info: ConnectionInfo = info.set_redis_settings(settings);
        let connection = connect(&info).map_err(|error| {
            let is_refused = error.kind() == ErrorKind::AuthenticationFailed;
            if is_refused && !has_user && answers_without_password(&info) {
                return Fault::final_one(format_args!(
                    "{server}: a password is given, and this server asks for none; leave out \
                     password_file and STEAD_CARRY_PASSWORD, or set the password there \
                     (requirepass)"
                ));
            }
            match info.addr() {
                ConnectionAddr::TcpTls { host, port, .. } if is_without_tls(&error) => {
                    let plain = ConnectionAddr::Tcp(host.clone(), *port);
                    match answers_at_all(&info.clone().set_addr(plain)) {
                        true => Fault::final_one(format_args!(
                            "{server}: this server has no TLS there; write redis:// for rediss://"
                        )),
                        false => Fault::passing(format_args!(
                            "{server}: it does not answer with TLS; if this server has no TLS \
                             there, write redis:// for rediss://"
                        )),
                    }
                }
                _ => failure(&server, &error),
            }
        })?;
        Ok(Session {
            server,
            database,
            connection,
        })
    }

    /// Checks that the server has the commands that are needed, takes writes, evicts no keys unless
    /// it is a cache, and is no part of a cluster. Returns what tells this server and database from
    /// all others.
    pub fn check(&mut self, is_cache: bool) -> Done<String> {
        let mut sections = ::redis::cmd("INFO");
        sections.arg("server").arg("memory").arg("replication");
        let info: String = self.ask(&sections)?;
        let field = |name: &str| {
            let mut lines = info.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        if field("role") == Some("slave") {
            let at = |name| field(name).unwrap_or("?");
            return Err(self.refused(format_args!(
                "it is a replica of {}:{}, so nothing can be written here; name its master",
                at("master_host"),
                at("master_port")
            )));
        }
        // the volatile policies evict only keys with an expiry
        let policy = field("maxmemory_policy").filter(|policy| policy.starts_with("allkeys"));
        let most = field("maxmemory").unwrap_or("0");
        if let Some(policy) = policy.filter(|_| most != "0" && !is_cache) {
            return Err(self.refused(format_args!(
                "it evicts keys when {most} bytes are full (maxmemory-policy {policy}), also those \
                 that were just carried; set maxmemory-policy noeviction, or write cache = true \
                 below [redis] if keys may be missing"
            )));
        }
        if field("redis_mode") == Some("cluster") {
            return Err(self.refused(
                "it is part of a Redis cluster, which places keys itself; stead places keys on servers that do not",
            ));
        }
        let version = field("redis_version").unwrap_or_default();
        let major = version.split('.').next().and_then(|text| text.parse().ok());
        match major {
            Some(7u32..) => {
                let id = field("run_id").unwrap_or_default();
                Ok(format!("{id}/{}", self.database))
            }
            _ => Err(self.refused(format_args!(
                "it has version {version}; stead-sync needs Redis 7.0, whose PEXPIRETIME says when a key expires"
            ))),
        }
    }

    /// Returns a page of keys, and the cursor of the next one; 0 after the last. A key that is
    /// there from the first page to the last is in one of them, or in several.
    pub fn page(&mut self, cursor: u64) -> Done<(u64, Vec<Vec<u8>>)> {
        self.ask(::redis::cmd("SCAN").arg(cursor).arg("COUNT").arg(PAGE))
    }

    /// Returns the numbers of the databases of this server that have keys.
    pub fn filled(&mut self) -> Done<Vec<i64>> {
        let info: String = self.ask(::redis::cmd("INFO").arg("keyspace"))?;
        let number = |line: &str| line.strip_prefix("db")?.split_once(':')?.0.parse().ok();
        Ok(info.lines().filter_map(number).collect())
    }

    /// The number of the database in which keys are carried.
    pub fn database(&self) -> i64 {
        self.database
    }

    /// Returns what keys hold.
    pub fn read(&mut self, keys: &[&[u8]], goal: Goal) -> Done<Vec<Option<Held>>> {
        for _ in 0..TRIES {
            let mut types = ::redis::pipe();
            for key in keys {
                types.cmd("TYPE").arg(key);
            }
            let types = types.query::<Vec<String>>(&mut self.connection);
            let types = types.map_err(|error| failure(&self.server, &error))?;
            let mut commands = ::redis::pipe();
            if goal != Goal::Removal {
                commands.atomic();
            }
            for (key, kind) in keys.iter().zip(&types) {
                ask_for(&mut commands, key, kind, goal);
            }
            let answer = match commands.is_empty() {
                true => Ok(Vec::new()),
                false => commands.query::<Vec<Value>>(&mut self.connection),
            };
            let answer = match answer {
                // a key changed its type after it was asked for
                Err(error) if error.code() == Some("WRONGTYPE") => None,
                Err(error) if error.to_string().contains("no such key") => None,
                answer => Some(answer.map_err(|error| failure(&self.server, &error))?),
            };
            if let Some(answer) = answer {
                let mut parts = answer.into_iter();
                let held = types.iter().map(|kind| held(kind, &mut parts, goal));
                if let Some(all) = held.collect() {
                    return Ok(all);
                }
            }
            if keys.len() > 1 && goal != Goal::Removal {
                // one that changes must not hold up the others
                let alone = |key: &&[u8]| Ok(self.read(&[*key], goal)?.pop().flatten());
                return keys.iter().map(alone).collect();
            }
        }
        Err(self.busy())
    }

    /// Stores what another server holds, if there is nothing here. Returns whether there was
    /// nothing.
    pub fn add(&mut self, key: &[u8], held: &Held) -> Done<bool> {
        let mut restore = ::redis::cmd("RESTORE");
        restore.arg(key).arg(held.expires.max(0)).arg(&held.dump);
        // the same instant, as with replicas: a time to live would grow by the way
        restore.arg("ABSTTL");
        match restore.query::<Value>(&mut self.connection) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some("BUSYKEY") => Ok(false),
            Err(error) => Err(failure(&self.server, &error)),
        }
    }

    /// Removes keys that have these versions. Returns for each whether it is gone now.
    pub fn remove(&mut self, keys: &[(&[u8], &Version)]) -> Done<Vec<bool>> {
        let names: Vec<&[u8]> = keys.iter().map(|(key, _)| *key).collect();
        for _ in 0..TRIES {
            self.ask::<Value>(::redis::cmd("WATCH").arg(&names))?;
            let held = self.read(&names, Goal::Removal)?;
            let mut commands = ::redis::pipe();
            commands.atomic();
            let found = keys.iter().zip(held);
            let gone = found.map(|((key, wanted), held)| match held {
                Some(held) if held.version() == **wanted => {
                    commands.cmd("UNLINK").arg(*key);
                    true
                }
                held => held.is_none(),
            });
            let gone = gone.collect();
            if commands.is_empty() {
                self.ask::<Value>(&::redis::cmd("UNWATCH"))?;
                return Ok(gone);
            }
            // nothing is removed when another client has changed one of the keys since WATCH
            let answer = commands.query::<Value>(&mut self.connection);
            match answer.map_err(|error| failure(&self.server, &error))? {
                Value::Nil if keys.len() > 1 => {
                    let alone = |key| Ok(self.remove(&[key])?.pop().unwrap_or(false));
                    return keys.iter().copied().map(alone).collect();
                }
                Value::Nil => (),
                _ => return Ok(gone),
            }
        }
        Err(self.busy())
    }

    fn ask<T: FromRedisValue>(&mut self, command: &Cmd) -> Done<T> {
        let answer = command.query(&mut self.connection);
        answer.map_err(|error| failure(&self.server, &error))
    }

    fn busy(&self) -> Fault {
        Fault::passing(format_args!("{}: a key changes all the time", self.server))
    }

    fn refused(&self, why: impl std::fmt::Display) -> Fault {
        Fault::final_one(format_args!("{}: {why}", self.server))
    }
}

/// Connects, and waits for the first answer of TLS.
fn connect(info: &ConnectionInfo) -> RedisResult<::redis::Connection> {
    let client = ::redis::Client::open(info.clone())?;
    let mut connection = client.get_connection_with_timeout(CONNECT)?;
    if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        connection.set_read_timeout(Some(CONNECT))?;
        connection.set_write_timeout(Some(CONNECT))?;
        // TLS begins with the first command, which a server without TLS may never answer
        match ::redis::cmd("PING").query::<Value>(&mut connection) {
            Err(error) if error.is_io_error() => return Err(error),
            _ => {}
        }
    }
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    Ok(connection)
}

/// Whether this is what comes of TLS with a server that has none: it waits for the end of a line,
/// or answers with words of its own.
fn is_without_tls(error: &RedisError) -> bool {
    let text = error.to_string();
    // a server that cannot be reached is `timed out`
    (error.is_timeout() && !text.contains("timed out")) || text.contains("corrupt message")
}

/// Asks a server for a sign of life, without a user, a password and a database.
fn ping(info: &ConnectionInfo) -> RedisResult<Value> {
    let bare = ::redis::RedisConnectionInfo::default().set_skip_set_lib_name();
    let mut connection = connect(&info.clone().set_redis_settings(bare))?;
    connection.set_read_timeout(Some(CONNECT))?;
    ::redis::cmd("PING").query(&mut connection)
}

/// Whether a server does what it is asked without a password.
fn answers_without_password(info: &ConnectionInfo) -> bool {
    ping(info).is_ok()
}

/// Whether a server answers as a Redis does, and be it that it wants a password.
fn answers_at_all(info: &ConnectionInfo) -> bool {
    ping(info).map_or_else(|error| error.code().is_some(), |_| true)
}

/// Returns an address for messages: only its beginning, where it may have a password in it.
fn without_password(address: &str) -> String {
    let scheme = address.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = address.split_at(scheme);
    let is_plain = !rest.contains(['@', '?']) && rest.matches(':').count() < 2;
    match is_plain {
        true => address.to_owned(),
        false => format!("{scheme}..."),
    }
}

/// Returns the command that reads what clients see of a type; `None` for the types of modules.
fn command_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" => "GET",
        "list" => "LRANGE",
        "set" => "SMEMBERS",
        "hash" => "HGETALL",
        "zset" => "ZRANGE",
        "stream" => "XRANGE",
        _ => return None,
    })
}

/// Adds the commands that read a key of a type.
fn ask_for(commands: &mut ::redis::Pipeline, key: &[u8], kind: &str, goal: Goal) {
    if kind == "none" {
        return;
    }
    let known = command_of(kind);
    commands.cmd("TYPE").arg(key);
    commands.cmd("PEXPIRETIME").arg(key);
    if goal == Goal::Copy || known.is_none() {
        commands.cmd("DUMP").arg(key);
    }
    let Some(known) = known else { return };
    let command = commands.cmd(known).arg(key);
    match kind {
        "list" => command.arg(0).arg(-1),
        "zset" => command.arg(0).arg(-1).arg("WITHSCORES"),
        "stream" => {
            command.arg("-").arg("+");
            commands.cmd("XINFO").arg("GROUPS").arg(key)
        }
        _ => command,
    };
}

/// Takes what a key holds from the answer to these commands; `None` when the key is another one
/// than it was.
fn held(kind: &str, parts: &mut impl Iterator<Item = Value>, goal: Goal) -> Option<Option<Held>> {
    if kind == "none" {
        return Some(None);
    }
    let mut next = || parts.next().unwrap_or_default();
    let (now, expires) = (next(), next());
    let is_known = command_of(kind).is_some();
    let dump = match goal == Goal::Copy || !is_known {
        true => next(),
        false => Value::BulkString(Vec::new()),
    };
    let mut mark = Sha256::new();
    mark.update(kind.as_bytes());
    mark.update([0]);
    match kind {
        "set" => unordered(&mut mark, next(), 1),
        "hash" => unordered(&mut mark, next(), 2),
        "stream" => {
            update(&mut mark, &next());
            update(&mut mark, &next());
        }
        _ if is_known => update(&mut mark, &next()),
        _ => {}
    }
    let (Value::BulkString(dump), Value::Int(expires)) = (dump, expires) else {
        return None;
    };
    if !is_known {
        mark.update(&dump[..dump.len().saturating_sub(FOOTER)]);
    }
    let is_same = String::from_redis_value(now).is_ok_and(|now| now == kind);
    is_same.then(|| {
        Some(Held {
            dump,
            expires,
            mark: mark.finalize().into(),
        })
    })
}

/// Adds an answer to a mark: every text with its length, every list with its number of parts.
fn update(mark: &mut Sha256, value: &Value) {
    let mut text = |bytes: &[u8]| {
        mark.update((bytes.len() as u64).to_le_bytes());
        mark.update(bytes);
    };
    match value {
        Value::BulkString(bytes) => text(bytes),
        Value::SimpleString(bytes) => text(bytes.as_bytes()),
        Value::Int(number) => text(number.to_string().as_bytes()),
        Value::Array(parts) | Value::Set(parts) => {
            mark.update((parts.len() as u64).to_le_bytes());
            parts.iter().for_each(|part| update(mark, part));
        }
        other => text(format!("{other:?}").as_bytes()),
    }
}

/// Adds an answer to a mark whose order means nothing; `size` parts belong together.
fn unordered(mark: &mut Sha256, value: Value, size: usize) {
    let parts = match &value {
        Value::Array(parts) | Value::Set(parts) => parts.as_slice(),
        _ => &[],
    };
    let digests = parts.chunks(size).map(|chunk| {
        let mut one = Sha256::new();
        chunk.iter().for_each(|part| update(&mut one, part));
        <[u8; 32]>::from(one.finalize())
    });
    let mut digests: Vec<[u8; 32]> = digests.collect();
    digests.sort_unstable();
    digests.iter().for_each(|digest| mark.update(digest));
}

fn failure(server: &str, error: &RedisError) -> Fault {
    if let Some(fault) = refusal(server, error) {
        return fault;
    }
    let code = error.code().unwrap_or_default();
    let (passes, help) = match code {
        "OOM" => (false, "; give it more memory (maxmemory)"),
        "READONLY" => (false, "; give the address of the primary, not of a replica"),
        "LOADING" | "BUSY" | "MASTERDOWN" | "TRYAGAIN" | "MISCONF" => (true, ""),
        "NOAUTH" | "WRONGPASS" | "NOPERM" => (false, "; check the user and the password"),
        _ if error.is_io_error() || error.is_connection_dropped() => (true, ""),
        _ if error.to_string().contains("DUMP payload version") => (
            false,
            "; its version is older than that of the server with the key",
        ),
        _ => (false, ""),
    };
    Fault::new(format_args!("{server}: {error}{help}"), passes)
}

/// Says in plain words why no connection came about, where the words of the library do not.
fn refusal(server: &str, error: &RedisError) -> Option<Fault> {
    if error.kind() == ErrorKind::AuthenticationFailed {
        return Some(Fault::final_one(format_args!(
            "{server}: it refuses this user or this password; check both"
        )));
    }
    let detail = error.detail().unwrap_or_default();
    if detail.contains("DB index is out of range") {
        let database = server.rsplit('/').next().unwrap_or_default();
        return Some(Fault::final_one(format_args!(
            "{server}: database {database} does not exist there; correct the number at the end of \
             the address"
        )));
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Says why no session is opened.
    fn why_not(address: &str) -> String {
        let password = Secret::from("geheim".to_owned());
        let end = Session::open(address, None, Some(&password));
        end.err().unwrap().line
    }

    #[test]
    fn an_address_that_is_none_is_shown_without_its_password() {
        let what = "is no address of a Redis; write redis://HOST:PORT/DB, rediss://... for TLS, \
                    HOST:PORT, or the path of a socket";
        for (address, shown) in [
            ("http://127.0.0.1:6379", "http://127.0.0.1:6379"),
            ("http://carry:geheim@127.0.0.1:6379", "http://..."),
            ("http://:geheim:6379", "http://..."),
            ("redis://carry:ge/heim@h:x", "redis://..."),
            ("http://h/?pass=geheim", "http://..."),
            ("carry:geheim@h:x", "..."),
            ("redis://127.0.0.1:x", "redis://127.0.0.1:x"),
        ] {
            assert_eq!(why_not(address), format!("{shown:?} {what}"));
        }
    }

    #[test]
    fn a_server_without_tls_is_told() {
        let none = "this server has no TLS there; write redis:// for rediss://";
        let silent = "it does not answer with TLS; if this server has no TLS there, write \
                      redis:// for rediss://";
        // a Redis answers when there is the end of a line among the bytes of TLS, and waits
        // otherwise
        for (answers, told) in [
            (["-ERR unknown command\r\n", "+PONG\r\n"], none),
            (["", "-NOAUTH Authentication required.\r\n"], none),
            (["-ERR unknown command\r\n", ""], silent),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = thread::spawn(move || {
                for answer in answers {
                    let mut line = listener.accept().unwrap().0;
                    line.write_all(answer.as_bytes()).unwrap();
                    // until the client hangs up
                    let _ = line.read_to_end(&mut Vec::new());
                }
            });
            let line = why_not(&format!("rediss://127.0.0.1:{port}/2"));
            assert_eq!(line, format!("redis 127.0.0.1:{port}/2: {told}"));
            server.join().unwrap();
        }
    }
}
