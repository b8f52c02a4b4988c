"""Real nodes for a small carry on this machine: PostgreSQL servers, or directories; and
how much processor time they use.

Servers listen on a socket in their own directory only. They are started here, and ended
by their process ids.
"""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import time
from pathlib import Path

import stead

TICK = os.sysconf("SC_CLK_TCK")
PORT = "5432"


def cpu(process):
    """The seconds of processor time of a process, and of its children."""
    stat = Path("/proc") / str(process) / "stat"
    own = times(stat)[0]
    try:
        ended = times(stat)[1]
    except OSError:
        ended = 0
    for child in children(process):
        try:
            own += times(Path("/proc") / child / "stat")[0]
        except OSError:
            pass  # it ended just now, and is counted with the children that have
    return (own + ended) / TICK


def times(stat):
    """(ticks of a process, ticks of its children that have ended)."""
    fields = stat.read_text().rsplit(")", 1)[1].split()
    own, system, ended, ended_system = map(int, fields[11:15])
    return own + system, ended + ended_system


def children(process):
    """The processes that a process has started."""
    found = []
    for path in glob.glob(f"/proc/{process}/task/*/children"):
        try:
            found += Path(path).read_text().split()
        except OSError:
            pass
    return found


def postgres_program(name):
    """Finds a program of PostgreSQL, which Debian does not put into the path."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


class Postgres:
    """PostgreSQL servers, one for each node."""

    kind = "postgresql"

    def __init__(self, place, names):
        # a locking SELECT and an insert write to the disk before their commit returns
        self.syncs = {"copy": 2, "remove": 1}
        self.place, self.names, self.running = place, names, {}
        os.chmod(place, 0o755)
        base = place / "base"
        base.mkdir()
        self.own(base)
        self.run(
            postgres_program("initdb"),
            *("-D", base, "-U", "carry", "-A", "trust", "-N", "-E", "UTF8"),
            "--locale=C.UTF-8",
        )
        for name in names:
            shutil.copytree(base, place / name)
            self.own(place / name)
            os.chmod(place / name, 0o700)
            self.start(name)

    def user(self):
        """PostgreSQL refuses to run as root."""
        return {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}

    def own(self, path):
        if os.getuid() == 0:
            who = pwd.getpwnam("postgres")
            for each in [path, *path.rglob("*")]:
                os.chown(each, who.pw_uid, who.pw_gid)

    def run(self, *command, **more):
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            cwd=self.place,
            check=False,
            **{**self.user(), **more},
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout

    def start(self, name):
        where = self.place / name
        with open(self.place / f"{name}.log", "wb") as log:
            self.running[name] = subprocess.Popen(
                [
                    postgres_program("postgres"),
                    *("-D", where, "-k", where, "-p", PORT),
                    *("-c", "listen_addresses=", "-c", "max_connections=100"),
                    *("-c", "autovacuum=off", "-c", "max_wal_size=8GB"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.place,
                **self.user(),
            )
        end = time.monotonic() + 60
        while not (where / f".s.PGSQL.{PORT}").exists():
            assert time.monotonic() < end, f"{name} does not start"
            time.sleep(0.05)
        ready = [postgres_program("pg_isready"), "-h", str(where), "-q"]
        while subprocess.run(ready, check=False).returncode:
            assert time.monotonic() < end, f"{name} does not answer"
            time.sleep(0.05)

    def sql(self, name, statement, given=b""):
        where = self.place / name
        return self.run(
            *("psql", "-h", where, "-U", "carry", "-d", "postgres", "-qAt"),
            *("-v", "ON_ERROR_STOP=1", "-c", statement),
            input=given,
        ).decode()

    def attributes(self, name):
        return {"server": f"host={self.place / name} user=carry dbname=postgres"}

    def settings(self):
        """The table of the kind in the file of a carry."""
        return (
            "[postgresql]\nconnection = '{server}'\n"
            "tables = [{ table = 'members', key = 'member' }]\n"
        )

    def fill(self, map, count, size):
        """Writes `count` rows of `size` bytes to where the map says."""
        rows = by_node(map, count)
        for name in self.names:
            # a table that was emptied by deletes has dead rows, which cost time
            self.sql(
                name,
                "DROP TABLE IF EXISTS members; CREATE TABLE members"
                "(member text PRIMARY KEY, value text NOT NULL)",
            )
            text = "".join(f"{key}\t{key:{'x'}<{size}}\n" for key in rows.get(name, ()))
            self.sql(name, "COPY members FROM STDIN", text.encode())
            self.sql(name, "VACUUM ANALYZE members")

    def held(self):
        """{node: how many rows it has}."""
        return {n: int(self.sql(n, "SELECT count(*) FROM members")) for n in self.names}

    def cpu(self):
        """{node: seconds of processor time}."""
        return {name: cpu(process.pid) for name, process in self.running.items()}

    def end(self):
        for process in self.running.values():
            process.send_signal(signal.SIGINT)
        for process in self.running.values():
            process.wait()


class Files:
    """Directories. All the work is done by the carrier itself."""

    kind = "files"

    def __init__(self, place, names):
        self.syncs = {"copy": 1}
        self.place, self.names = place, names

    def attributes(self, name):
        return {"mount": str(self.place / name)}

    def settings(self):
        return "[files]\nroot = '{mount}'\npattern = '{a}/{key}'\n"

    def fill(self, map, count, size):
        for name in self.names:
            shutil.rmtree(self.place / name, ignore_errors=True)
            (self.place / name).mkdir()
        for name, keys in by_node(map, count).items():
            for key in keys:
                # 256 directories
                file = self.place / name / f"{hash(key) % 256:02x}" / key
                file.parent.mkdir(exist_ok=True)
                file.write_text(f"{key:{'x'}<{size}}")

    def held(self):
        return {n: sum(1 for _ in (self.place / n).glob("*/*")) for n in self.names}

    def cpu(self):
        return dict.fromkeys(self.names, 0.0)

    def end(self):
        pass


def by_node(map, count):
    """{node: its keys} of `count` members."""
    keys, found = [f"member-{number:09}" for number in range(count)], {}
    for key, name in zip(keys, map.locate_many(keys)):
        found.setdefault(name, []).append(key)
    return found


def fleet(nodes, names):
    """A fleet of some of the nodes."""
    return {
        "name": "members",
        "node": [{"name": n, "attributes": nodes.attributes(n)} for n in names],
    }


def first_map(nodes, names):
    return stead.Map.build(fleet(nodes, names))
