"""A site for the tests: operators with map files, hosts with watches, and one hub."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from sync_servers import LIMIT, wait_for


class Operator:
    """Somebody with a map file, who changes it and pushes it."""

    def __init__(self, site, name):
        self.site, self.name = site, name
        self.directory = site.place / name
        self.directory.mkdir()
        self.map = self.directory / "members.map"

    def apply(self, *nodes, options=(), more="", attributes=""):
        """Makes the next epoch with these nodes. The attributes are text, or a function
        of the node that returns it. Returns the finished process.
        """
        fleet = self.directory / "fleet.toml"
        # a table of the fleet stands behind its plain keys
        of_node = attributes if callable(attributes) else lambda _: attributes
        lines = "".join(f"[[node]]\nname = '{n}'\n{of_node(n)}" for n in nodes)
        fleet.write_text(f"name = 'members'\n{more}\n{lines}")
        done = self.site.run("stead", "apply", fleet, self.map, *options, who=self.name)
        assert done.returncode == 0, done.stderr
        return done

    def push(self, *options, url=None):
        """Pushes the map, and returns the finished process."""
        return self.site.sync(
            "push", self.map, url or self.site.url, *options, who=self.name
        )

    def start_push(self, *options, url=None, waits=False):
        """Starts a push."""
        return self.site.start(
            "push", self.map, url or self.site.url, *options, who=self.name, waits=waits
        )

    def bytes(self):
        return self.map.read_bytes()

    def digest(self):
        """The first digits of the digest of the map."""
        return digest(self.bytes())


def epoch(data):
    """The epoch in the header of a map."""
    return int.from_bytes(data[48:56], "little")


def digest(data):
    """The first digits of the digest in the header of a map."""
    return data[96:100].hex()


# Root without its capabilities, who may write no more than another user.
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]

needs_setpriv = pytest.mark.skipif(
    not shutil.which("setpriv"), reason="setpriv is not installed"
)


def powerless(*arguments):
    """Runs a program that may write no more than another user. Returns the process."""
    command = [*POWERLESS, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Host:
    """A host with a watch."""

    def __init__(self, site, name, options=(), url=None):
        self.site, self.name = site, name
        self.options, self.url = list(options), url or site.url
        self.directory = site.place / f"host-{name}"
        self.directory.mkdir(exist_ok=True)
        self.map = self.directory / "members.map"
        self.log = self.directory / "said"
        self.process = None
        # what the program is started by, if it is not started directly
        self.prefix = []

    def start(self):
        with open(self.log, "ab") as said:
            self.process = subprocess.Popen(
                [
                    *self.prefix,
                    self.site.programs["stead-sync"],
                    "watch",
                    self.url,
                    self.map,
                    "--host",
                    self.name,
                    *self.options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=self.site.environment("root"),
            )
        return self

    def stop(self, number=signal.SIGKILL):
        if self.process:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    def said(self):
        return self.log.read_text()

    def epoch(self):
        """The epoch of the map here; 0 when there is none."""
        try:
            with open(self.map, "rb") as file:
                return epoch(file.read(176))
        except FileNotFoundError:
            return 0

    def wait(self, number):
        """Waits until the map here has this epoch."""
        wait_for(lambda: self.epoch() == number, f"epoch {number} of {self.name}")

    def wait_said(self, text, times=1):
        wait_for(
            lambda: self.said().count(text) >= times, f"{self.name} to say {text!r}"
        )

    def cpu(self):
        """The seconds of processor time that the watch has used."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


class Site:
    """Operators, hosts and a hub."""

    def __init__(self, programs, place, url, cluster=None):
        self.programs, self.place, self.url, self.cluster = (
            programs,
            place,
            url,
            cluster,
        )
        self.hosts = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.stop()

    def environment(self, who):
        keep = {k: v for k, v in os.environ.items() if not k.startswith("STEAD_")}
        return {**keep, "LOGNAME": who, "SUDO_USER": "", "HOSTNAME": "ops1"}

    def run(self, program, *arguments, who="anna", **more):
        """Runs a program to its end."""
        return subprocess.run(
            [self.programs[program], *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env={**self.environment(who), **more},
        )

    def sync(self, *arguments, who="anna", **more):
        return self.run("stead-sync", *arguments, who=who, **more)

    def start(self, *arguments, who="anna", waits=False):
        """Starts the program; one that `waits` begins when a line is written to it."""
        held = ["sh", "-c", 'read -r _ && exec "$0" "$@"'] if waits else []
        return subprocess.Popen(
            [*held, self.programs["stead-sync"], *map(str, arguments)],
            stdin=subprocess.PIPE if waits else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(who),
        )

    def operator(self, name="anna"):
        return Operator(self, name)

    def host(self, name, *options, url=None):
        """Starts a host."""
        host = Host(self, name, options, url)
        self.hosts.append(host)
        return host.start()

    def pull(self, map, *options, url=None):
        """Pulls, without being registered."""
        return self.sync("pull", "--unregistered", url or self.url, map, *options)

    def status(self):
        """The rows of `status --json` by host."""
        done = self.sync("status", "--json", self.url)
        # 66: without a map, too, the hub has hosts
        assert done.returncode in (0, 1, 66), done.stderr
        return {row["host"]: row for row in json.loads(done.stdout)["hosts"]}

    def wait_state(self, host, state, **more):
        """Waits until a host has a state, and these fields."""

        def has():
            row = self.status().get(host)
            fields = row and [
                row["state"] == state,
                *(row[k] == v for k, v in more.items()),
            ]
            return row if row and all(fields) else None

        return wait_for(has, f"{host} to be {state} {more}")

    def change_report(self, host, change):
        """Changes the report of a host at the hub, as if it were another one."""
        if self.cluster:
            key = f"/stead/{self.url.rpartition('/')[2]}/hosts/{host}"
            report = json.loads(self.cluster.keys(key)[key])
            change(report)
            self.cluster.put(key, json.dumps(report))
        else:
            path = self.place / "shared" / "members.map.hosts" / host
            report = json.loads(path.read_text())
            change(report)
            path.write_text(json.dumps(report))

    def lose(self):
        """Takes everything from the hub, as if its disks were empty."""
        if self.cluster:
            self.cluster.delete(f"/stead/{self.url.rpartition('/')[2]}/")
            return
        for path in (self.place / "shared").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def verify(site, map):
    """Checks a map file by the program `stead`."""
    done = site.run("stead", "check", map)
    assert done.returncode == 0, done.stderr


def leftovers(directory):
    """The temporary files in a directory and below."""
    return [
        str(p) for p in directory.rglob("*") if re.search(r"\.tmp$|/\.", str(p)[5:])
    ]
