//! Servers in temporary directories, which end when they are dropped.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take to start, on a machine that does other things too.
const START: Duration = Duration::from_secs(60);

/// A running server, in a directory of its own.
pub struct Server {
    child: Option<Child>,
    command: Command,
    ready: Box<dyn Fn() -> bool + Send>,
    has_children: bool,
    /// What the kind's template makes of the node: the attribute `server`.
    pub address: String,
    _directory: TempDir,
}

impl Server {
    fn start(
        command: Command,
        address: String,
        directory: TempDir,
        ready: impl Fn() -> bool + Send + 'static,
    ) -> Server {
        let mut server = Server {
            child: None,
            has_children: address.contains("dbname="),
            command,
            ready: Box::new(ready),
            address,
            _directory: directory,
        };
        server.up();
        server
    }

    /// Starts it, and waits until it answers.
    pub fn up(&mut self) {
        let log = Stdio::null;
        let child = self
            .command
            .stdin(log())
            .stdout(log())
            .stderr(log())
            .spawn();
        self.child = Some(child.unwrap());
        let end = Instant::now() + START;
        while !(self.ready)() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < end,
                "{}: {ended:?}",
                self.address
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills it: with SIGKILL, or, if it has processes of its own that would outlive it, with
    /// PostgreSQL's signal for the same.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            if self.has_children {
                let mut quit = Command::new("kill");
                quit.args(["-QUIT", &child.id().to_string()]);
                assert!(quit.status().unwrap().success());
            } else {
                child.kill().unwrap();
            }
            child.wait().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Finds a program; prints why a test is skipped where it is missing.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.push("/usr/sbin".into());
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        places.extend(versions.map(|entry| entry.unwrap().path().join("bin")));
    }
    let found = places.into_iter().map(|place| place.join(name));
    let found = found.into_iter().find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: {name} is missing; scripts/setup --tests installs it");
    }
    found
}

fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Lets a server run as another user where it refuses to run as root.
fn as_user(command: &mut Command, user: &str, directory: &Path) {
    let id = |option: &str| {
        let output = Command::new("id").args([option, user]).output().unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse::<u32>()
    };
    let me = Command::new("id").arg("-u").output().unwrap();
    if me.stdout == b"0\n" {
        let (uid, gid) = (id("-u").unwrap(), id("-g").unwrap());
        command.uid(uid).gid(gid).current_dir(directory);
        own(directory, uid, gid);
    }
}

fn own(path: &Path, uid: u32, gid: u32) {
    chown(path, Some(uid), Some(gid)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_symlink() {
                own(&path, uid, gid);
            }
        }
    }
}

fn copied(from: &Path, to: &Path) {
    let done = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(done.success());
}

pub fn memcached(options: &[&str]) -> Option<Server> {
    let program = program("memcached")?;
    let (directory, port) = (tempfile::tempdir().unwrap(), port());
    let mut command = Command::new(program);
    command.args(["-l", "127.0.0.1", "-U", "0", "-p", &port.to_string()]);
    command.args(options);
    as_user(&mut command, "nobody", directory.path());
    let address = format!("127.0.0.1:{port}");
    let ready = move || TcpStream::connect(("127.0.0.1", port)).is_ok();
    Some(Server::start(command, address, directory, ready))
}

/// Every write is in its file before it is answered, so that nothing is lost when it is killed.
pub fn redis(options: &[&str]) -> Option<Server> {
    let program = program("redis-server")?;
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("redis.sock");
    let mut command = Command::new(program);
    command.args(["--port", "0", "--save", "", "--appendonly", "yes"]);
    command.args(["--appendfsync", "always", "--dir"]);
    command
        .arg(directory.path())
        .arg("--unixsocket")
        .arg(&socket);
    command.args(options);
    let url = format!("redis+unix://{}", socket.display());
    let address = url.clone();
    let ready = move || {
        let connect = || ::redis::Client::open(url.as_str())?.get_connection();
        match connect() {
            Ok(mut connection) => {
                let pong: ::redis::RedisResult<String> =
                    ::redis::cmd("PING").query(&mut connection);
                pong.map_or_else(|error| error.code() == Some("NOAUTH"), |_| true)
            }
            Err(error) => error.code() == Some("NOAUTH"),
        }
    };
    Some(Server::start(command, address, directory, ready))
}

/// A Redis that is part of a cluster.
pub fn redis_cluster() -> Option<Server> {
    let (own, bus) = (port().to_string(), port().to_string());
    redis(&[
        "--cluster-enabled",
        "yes",
        "--bind",
        "127.0.0.1",
        "--port",
        &own,
        "--cluster-port",
        &bus,
    ])
}

pub fn postgres(count: usize) -> Option<Vec<Server>> {
    let (initdb, postgres) = (program("initdb")?, program("postgres")?);
    let base = tempfile::tempdir().unwrap();
    let data = base.path().join("data");
    let mut init = Command::new(initdb);
    init.arg("-D").arg(&data);
    init.args([
        "-U",
        "carry",
        "-A",
        "trust",
        "-N",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
    ]);
    as_user(&mut init, "postgres", base.path());
    let made = init.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let server = |_| {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("data");
        copied(&data, &own);
        let mut command = Command::new(&postgres);
        command.arg("-D").arg(&own).arg("-k").arg(directory.path());
        command.args([
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
            "-c",
            "max_connections=50",
        ]);
        as_user(&mut command, "postgres", directory.path());
        let address = format!(
            "host={} user=carry dbname=postgres",
            directory.path().display()
        );
        let config = address.clone();
        let ready = move || ::postgres::Client::connect(&config, ::postgres::NoTls).is_ok();
        Server::start(command, address, directory, ready)
    };
    Some((0..count).map(server).collect())
}

pub fn mariadb(count: usize) -> Option<Vec<Server>> {
    let (install, mariadb) = (program("mariadb-install-db")?, program("mariadbd")?);
    let base = tempfile::tempdir().unwrap();
    let data = base.path().join("data");
    fs::create_dir(&data).unwrap();
    let mut init = Command::new(install);
    init.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
    init.args(["--skip-test-db", "--skip-name-resolve"]);
    init.arg(format!("--datadir={}", data.display()));
    as_user(&mut init, "mysql", base.path());
    let made = init.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let server = |_| {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("data");
        copied(&data, &own);
        let socket = directory.path().join("m.sock");
        let mut command = Command::new(&mariadb);
        command.args([
            "--no-defaults",
            "--skip-networking",
            "--innodb-buffer-pool-size=32M",
        ]);
        command.arg("--innodb-flush-log-at-trx-commit=2");
        command.arg(format!("--datadir={}", own.display()));
        command.arg(format!("--socket={}", socket.display()));
        as_user(&mut command, "mysql", directory.path());
        let url = |database: &str| {
            let socket = socket.display().to_string().replace('/', "%2F");
            format!("mysql://root@localhost/{database}?socket={socket}&prefer_socket=false")
        };
        let (address, system) = (url("app"), url("mysql"));
        let ready = move || {
            let Ok(mut connection) = ::mysql::Conn::new(system.as_str()) else {
                return false;
            };
            let make = "CREATE DATABASE IF NOT EXISTS app CHARACTER SET utf8mb4";
            ::mysql::prelude::Queryable::query_drop(&mut connection, make).is_ok()
        };
        Server::start(command, address, directory, ready)
    };
    Some((0..count).map(server).collect())
}
