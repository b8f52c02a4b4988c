"""Data on real servers whose nodes are carried: memcached, Redis, PostgreSQL, MariaDB, and
the applications that use them. All listen on sockets of their own directory.
"""

import contextlib
import fcntl
import glob
import os
import shutil
import signal
import socket
import subprocess
import time

from carry_site import App, Carry
from sync_servers import LIMIT, Process, wait_for

PLACES = os.pathsep.join(
    [os.environ["PATH"], "/usr/sbin", *glob.glob("/usr/lib/postgresql/*/bin")]
)


def program(name):
    return shutil.which(name, path=PLACES)


class Away(Exception):
    """The server is not there, or not yet, or no longer."""


class Line:
    """A connection to a server with a protocol of lines."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")

    def ask(self, *parts):
        """Sends a request, and returns the first line of the answer."""
        self.socket.sendall(b"".join(parts))
        return self.line()

    def line(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise Away("the connection was closed")
        return line[:-2].decode()

    def text(self, size):
        """A text of so many bytes, and the end of its line."""
        text = self.file.read(size + 2)
        if len(text) != size + 2:
            raise Away("the connection was closed")
        return text[:-2].decode()

    def close(self):
        self.socket.close()


class Memcached(Line):
    """A client of memcached."""

    def put(self, key, value):
        head = f"set {key} 7 0 {len(value)}\r\n"
        assert self.ask(head.encode(), value.encode(), b"\r\n") == "STORED"

    def delete(self, key):
        answer = self.ask(f"delete {key}\r\n".encode())
        assert answer in ("DELETED", "NOT_FOUND"), answer

    def get(self, key):
        line = self.ask(f"get {key}\r\n".encode())
        if line == "END":
            return None
        value = self.text(int(line.split()[3]))
        assert self.line() == "END"
        return value

    def all(self, keys):
        found = {key: self.get(key) for key in keys}
        return {key: value for key, value in found.items() if value is not None}


class Redis(Line):
    """A client of Redis."""

    def command(self, *words):
        parts = [f"${len(word)}\r\n{word}\r\n".encode() for word in words]
        line = self.ask(f"*{len(words)}\r\n".encode(), *parts)
        if line.startswith("-LOADING"):
            raise Away(line)
        assert line[0] in "+:$", line
        if line[0] == "$":
            return None if line == "$-1" else self.text(int(line[1:]))
        return line

    def put(self, key, value):
        self.command("SET", key, value)

    def delete(self, key):
        self.command("DEL", key)

    def get(self, key):
        return self.command("GET", key)

    all = Memcached.all


class Sql:
    """A client of a database: its own program, which is given statements."""

    def __init__(self, command, upsert):
        self.upsert = upsert
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, statement):
        """The lines of the answer. The program ends at the first error."""
        try:
            self.process.stdin.write(f"{statement};\nSELECT 'the end';\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Away(statement) from None
        lines = []
        while (line := self.process.stdout.readline()) != "the end\n":
            if not line:
                raise Away(statement)
            lines.append(line.rstrip("\n"))
        return lines

    def put(self, key, value):
        self.run(f"INSERT INTO members VALUES ('{key}', '{value}') {self.upsert}")

    def delete(self, key):
        self.run(f"DELETE FROM members WHERE member = '{key}'")

    def get(self, key):
        found = self.run(f"SELECT value FROM members WHERE member = '{key}'")
        return found[0] if found else None

    def all(self, _keys):
        rows = self.run("SELECT concat(member, '=', value) FROM members")
        return dict(row.split("=") for row in rows)

    def close(self):
        self.process.kill()
        # what was not sent is of no use any more
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Kind:
    """A kind of server. `make` prepares the directory of a node, `command` runs there."""

    needs, user, kill = (), None, signal.SIGKILL

    def __init__(self, place):
        self.place = place

    def make(self, directory):
        """Prepares a directory in which nothing is yet."""

    def prepare(self, client):
        """Prepares a server that answers for the first time."""


class MemcachedKind(Kind):
    needs, user = ("memcached",), "nobody"

    def command(self, directory):
        return ["memcached", "-s", directory / "s", "-a", "777"]

    def connect(self, directory):
        return Memcached(directory / "s")

    def file(self, roots):
        return f"[memcached]\nserver = '{roots}/{{node}}/s'\n"


class RedisKind(Kind):
    needs = ("redis-server",)

    def command(self, directory):
        return [
            *("redis-server", "--port", "0", "--unixsocket", directory / "s"),
            # in the file before it is answered, so that a kill loses nothing
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always"),
            *("--dir", directory),
        ]

    def connect(self, directory):
        return Redis(directory / "s")

    def file(self, roots):
        return f"[redis]\nserver = '{roots}/{{node}}/s'\n"


class Named:
    """A client whose application stores each key under names, such as `cart:KEY`."""

    def __init__(self, client, names):
        self.client, self.names = client, names

    def put(self, key, value):
        for name in self.names:
            self.client.put(name.format(key), value)

    def delete(self, key):
        for name in self.names:
            self.client.delete(name.format(key))

    def get(self, key):
        """The value; all of them where they are not the same."""
        values = [self.client.get(name.format(key)) for name in self.names]
        return values[0] if len(set(values)) == 1 else str(values)

    def close(self):
        self.client.close()

    all = Memcached.all


def named(kind, names=("cart:{}",), pattern="'{any}:{key}'"):
    """The kind with names, and a pattern for them."""

    class NamedKind(kind):
        def connect(self, directory):
            return Named(super().connect(directory), names)

        def file(self, roots):
            return super().file(roots) + f"pattern = {pattern}\n"

    return NamedKind


class SqlKind(Kind):
    """Databases: each node gets a copy of one that is made once."""

    def make(self, directory):
        fresh = self.place / "fresh"
        if not fresh.exists():
            fresh.mkdir()
            user = self.user if os.geteuid() == 0 else None
            if user:
                shutil.chown(fresh, user)
            subprocess.run(
                self.initialise(fresh / "data"),
                user=user,
                cwd="/",
                check=True,
                capture_output=True,
            )
        subprocess.run(["cp", "-a", fresh / "data", directory / "data"], check=True)

    def prepare(self, client):
        """Makes a table, and a user for the carry: with the privileges that
        docs/carry-servers.md names, and no others.
        """
        client.run("CREATE TABLE members (member varchar(100) PRIMARY KEY, value text)")
        for statement in self.grants:
            client.run(statement)


class PostgresqlKind(SqlKind):
    grants = (
        "CREATE ROLE carry LOGIN",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON members TO carry",
    )
    needs, user = ("initdb", "postgres", "psql"), "postgres"
    # its signal for the end of all its processes at once
    kill = signal.SIGQUIT

    def initialise(self, data):
        options = ("-U", "owner", "-A", "trust", "-N", "-E", "UTF8", "--locale=C.UTF-8")
        return [program("initdb"), "-D", data, *options]

    def command(self, directory):
        return [
            *(program("postgres"), "-D", directory / "data", "-k", directory),
            *("-c", "listen_addresses=", "-c", "fsync=off"),
        ]

    def connect(self, directory):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", directory]
        upsert = "ON CONFLICT (member) DO UPDATE SET value = EXCLUDED.value"
        return Sql([*command, "-U", "owner", "postgres"], upsert)

    def file(self, roots):
        return (
            "[postgresql]\n"
            f"connection = 'host={roots}/{{node}} user=carry dbname=postgres'\n"
            "tables = [{ table = 'members', key = 'member' }]\n"
        )


class MariadbKind(SqlKind):
    grants = (
        # everybody may do everything in this database, as it is installed
        "DELETE FROM mysql.db",
        "FLUSH PRIVILEGES",
        "CREATE USER carry@localhost",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON test.members TO carry@localhost",
        "GRANT REFERENCES ON test.* TO carry@localhost",
    )
    needs, user = ("mariadb-install-db", "mariadbd", "mariadb"), "mysql"

    def initialise(self, data):
        return [
            *(program("mariadb-install-db"), "--no-defaults", f"--datadir={data}"),
            *("--auth-root-authentication-method=normal", "--skip-name-resolve"),
            "--innodb-log-file-size=4M",
        ]

    def command(self, directory):
        return [
            *(program("mariadbd"), "--no-defaults", f"--datadir={directory}/data"),
            *("--skip-networking", f"--socket={directory}/s"),
            # otherwise servers remove each other's temporary files
            f"--tmpdir={directory}",
            *("--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M"),
            "--innodb-flush-log-at-trx-commit=2",
        ]

    def connect(self, directory):
        command = ["mariadb", "--no-defaults", "-BNn", "-u", "root"]
        upsert = "ON DUPLICATE KEY UPDATE value = VALUES(value)"
        return Sql([*command, "-S", directory / "s", "test"], upsert)

    def file(self, roots):
        path = str(roots).replace("/", "%2F")
        socket = f"socket={path}%2F{{node}}%2Fs&prefer_socket=false"
        return (
            f"[mariadb]\nconnection = 'mysql://carry@localhost/test?{socket}'\n"
            "tables = [{ table = 'members', key = 'member' }]\n"
        )


KINDS = {
    "memcached": MemcachedKind,
    "redis": RedisKind,
    "postgresql": PostgresqlKind,
    "mariadb": MariadbKind,
}


class ServerApp(App):
    """An application that uses servers. It says itself when a map is in use: the watch of
    its host waits for the request that is under way.
    """

    def __init__(self, carry, map, ledger, seed):
        super().__init__(carry, map, ledger, seed)
        self.clients, self.waited = {}, 0
        self.busy = os.open(carry.busy(seed), os.O_WRONLY | os.O_CREAT)

    def client(self, node):
        if node not in self.clients:
            self.clients[node] = self.carry.connect(node)
        return self.clients[node]

    def attempt(self, work):
        """Does something with the nodes of the present map until they have answered."""
        end = time.monotonic() + LIMIT
        while True:
            fcntl.flock(self.busy, fcntl.LOCK_EX)
            try:
                return work()
            except (Away, OSError):
                assert time.monotonic() < end
                self.waited += 1
                self.disconnect()
            finally:
                fcntl.flock(self.busy, fcntl.LOCK_UN)
            time.sleep(0.02)

    def disconnect(self):
        clients, self.clients = self.clients, {}
        for client in clients.values():
            client.close()

    def put(self, key, value):
        self.attempt(
            lambda: [self.client(node).put(key, value) for node in self.lists(key)]
        )

    def delete(self, key):
        self.attempt(
            lambda: [self.client(node).delete(key) for node in self.lists(key)]
        )

    def get(self, key):
        return self.attempt(lambda: self.client(self.lists(key)[0]).get(key))

    def close(self):
        self.disconnect()
        os.close(self.busy)


class ServerCarry(Carry):
    """A site whose nodes are servers."""

    app = ServerApp

    def __init__(self, site, kind, *arguments, **more):
        # how often an application had to wait for a server
        self.servers, self.waited = {}, 0
        # where servers are reached that moved
        self.moved = {}
        site.place.chmod(0o711)
        self.kind = KINDS.get(kind, kind)(site.place)
        super().__init__(site, *arguments, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        for node in list(self.servers):
            self.kill_server(node)

    def make_roots(self, nodes):
        user = self.kind.user if os.geteuid() == 0 else None
        fresh = [node for node in nodes if node not in self.servers]
        for node in fresh:
            directory = self.roots / node
            directory.mkdir(parents=True)
            self.kind.make(directory)
            command = [str(word) for word in self.kind.command(directory)]
            if user:
                shutil.chown(directory, user)
                command = ["setpriv", f"--reuid={user}", "--clear-groups", *command]
            self.servers[node] = Process(command, self.place / f"{node}.log")
            self.servers[node].start()
        for node in fresh:
            self.answers(node, self.kind.prepare)

    def answers(self, node, work):
        """Waits until something can be done at a server."""

        def ready():
            with contextlib.suppress(Away, OSError):
                client = self.connect(node)
                with contextlib.closing(client):
                    work(client)
                    return True
            return False

        wait_for(ready, f"node {node}")

    def kill_server(self, node):
        self.servers[node].end(self.kind.kill)

    def start_server(self, node):
        self.servers[node].start()
        self.answers(node, lambda client: client.get("nothing"))

    def move_server(self, node):
        """Starts a PostgreSQL at another address, with its data; returns the address."""
        self.kill_server(node)
        address = self.moved[node] = self.place / f"{node}-elsewhere"
        address.mkdir()
        if os.geteuid() == 0:
            shutil.chown(address, self.kind.user)
        server = self.servers[node]
        server.command[server.command.index("-k") + 1] = str(address)
        self.start_server(node)
        return address

    def connect(self, node):
        return self.kind.connect(self.moved.get(node, self.roots / node))

    def delete_at(self, node, key):
        """Deletes a key at one node."""
        with contextlib.closing(self.connect(node)) as client:
            client.delete(key)

    def stop(self):
        self.waited += sum(app.waited for app in self.apps)
        super().stop()

    def write_file(self, **more):
        super().write_file(kind=self.kind.file(self.roots), **more)

    def busy(self, n):
        """The file that an application locks during each request."""
        return self.place / f"busy{n}"

    def watch_options(self, n):
        return ("--exec", f"flock {self.busy(n)} true")

    def copies(self):
        found = {}
        for node in self.servers:
            with contextlib.closing(self.connect(node)) as client:
                for key, value in client.all(self.ledger.values).items():
                    found.setdefault(key, {})[node] = value
        return found
