"""Two routers before four servers, with relays between all of them that can be cut for
one process, and clients that judge what was acknowledged.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import urllib.request

from rrd_feed import Feed, contents, lacking, names
from rrd_servers import Cluster, wait_for

FILES = 12


class Relay:
    """Passes on what comes to a unix socket, except for processes that are cut off: of
    these it takes everything and passes on nothing, like a network that drops packets.

    With `other_version`, each of two routers hears that the other one speaks the next
    version of the protocol of pairs.
    """

    other_version = False

    def __init__(self, path, target):
        self.path, self.target = path, target
        self.cut, self.changed = set(), threading.Condition()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen(128)
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def address(self):
        return f"unix:{self.path}"

    def accept(self):
        while True:
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            who = one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pid = struct.unpack("3i", who)[0]
            threading.Thread(target=self.serve, args=(one, pid), daemon=True).start()

    def passes(self, pid):
        """Waits while the process is cut off. Returns false if it was."""
        with self.changed:
            was_cut = pid in self.cut
            while pid in self.cut:
                self.changed.wait()
        return not was_cut

    def serve(self, one, pid):
        other = socket.socket(socket.AF_UNIX)
        try:
            if not self.passes(pid):
                one.close()
                return
            other.connect(str(self.target))
        except OSError:
            one.close()
            return
        for sides in ((one, other), (other, one)):
            threading.Thread(target=self.pump, args=(*sides, pid), daemon=True).start()

    def pump(self, source, target, pid):
        with contextlib.suppress(OSError):
            while True:
                data = source.recv(1 << 16)
                if not data or not self.passes(pid):
                    break
                if self.other_version:
                    data = data.replace(b"stead-rrd pair 1\n", b"stead-rrd pair 2\n")
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut_off(self, pid):
        with self.changed:
            self.cut.add(pid)

    def heal(self):
        with self.changed:
            self.cut.clear()
            self.changed.notify_all()

    def close(self):
        self.heal()
        self.socket.close()


class Router:
    """One of the two routers."""

    def __init__(self, pair, name, role):
        self.pair, self.name, self.role = pair, name, role
        self.state = pair.place / f"state-{name}"
        self.unix = f"unix:{pair.place}/{name}.clients"
        self.own = pair.place / f"{name}.pair"
        # the addresses of --standby and --pair, if the relay is not between them
        self.addresses = None
        self.process, self.options = None, []
        # its --map, if that is not the one of both
        self.map = None
        # what its command begins with
        self.prefix = []
        self.said_in = pair.place / f"router-{name}"

    def start(self, *options, single=False):
        """Starts the router, or, with `single`, as one that has no other beside it."""
        other, own = self.addresses or (
            self.pair.relays[self.name].address,
            f"unix:{self.own}",
        )
        pair = [
            *("--standby", other, "--pair", own, "--role", self.role),
            *("--standby-lost", self.pair.lost),
        ]
        command = [
            *self.prefix,
            self.pair.programs["stead-rrd"],
            "serve",
            *("--map", self.map or self.pair.map, "--base", self.pair.base),
            *("--state", self.state, "--listen", self.unix, *self.pair.policy),
            *("--metrics", "127.0.0.1:0"),
            *([] if single else pair),
            *self.pair.options,
            *options,
        ]
        with open(self.said_in, "ab") as said:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def kill(self, how=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            os.kill(self.process.pid, how)
        if self.process:
            self.process.wait()
        self.process = None

    def wipe(self):
        shutil.rmtree(self.state)

    def said(self, pattern=""):
        text = self.said_in.read_text(errors="replace")
        return re.findall(pattern, text) if pattern else text

    def status(self):
        """Returns the status, or None if the router does not answer."""
        done = subprocess.run(
            [self.pair.programs["stead-rrd"], "status", self.state, "--json"],
            capture_output=True,
            check=False,
        )
        return json.loads(done.stdout) if done.stdout else None

    def metrics(self):
        """Returns the metrics."""
        found = self.said(r"metrics at (http://\S+)")
        with urllib.request.urlopen(found[-1]) as answer:
            return answer.read().decode()

    def is_so(self, what, **expected):
        """Waits until the status of the pair has these values."""

        def so():
            assert self.process.poll() is None, self.said()
            status = self.status()
            return status and all(
                status["pair"][key] == value for key, value in expected.items()
            )

        try:
            wait_for(so, f"{self.name}: {what}")
        except AssertionError as error:
            both = "\n".join(
                f"{router.name}: {router.status()}\n{router.said()[:5000]}"
                for router in (self.pair.a, self.pair.b)
            )
            raise AssertionError(f"{error}\n{both}") from None

    def promote(self, *options):
        """Returns the exit code and everything that the program says."""
        done = subprocess.run(
            [self.pair.programs["stead-rrd"], "promote", self.state, *options],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


class Pair(Cluster):
    """Four servers with agents, behind relays, and two routers before them."""

    def __init__(self, programs, place, lost="wait", flush_after="2"):
        super().__init__(programs, place)
        self.relays = {}
        self.lost = lost
        self.options = [
            "--flush-after",
            flush_after,
            "--sync-after",
            "0",
            "--timeout",
            "5",
        ]
        self.options += ["--log-size", "256"]
        self.a, self.b = Router(self, "A", "primary"), Router(self, "B", "standby")

    def node(self, name):
        files = self.relays[f"{name}.files"].address
        address = self.relays[name].address
        return (
            f'[[node]]\nname = "{name}"\nlabels = {{ zone = "{name[0]}" }}\n'
            f'attributes = {{ rrdcached = "{address}", files = "{files}" }}\n'
        )

    def __enter__(self):
        try:
            for name, server in self.backends.items():
                server.address = f"unix:{server.directory}/s"
                server.start()
                server.start_agent(self.programs)
                path = self.place / name
                self.relays[name] = Relay(path / "r", path / "s")
                self.relays[f"{name}.files"] = Relay(path / "rf", path / "files")
            self.relays["A"] = Relay(self.place / "to-B", self.b.own)
            self.relays["B"] = Relay(self.place / "to-A", self.a.own)
            self.publish()
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        """Starts both routers."""
        self.b.start()
        self.a.start()
        self.ready(self.a)
        self.b.is_so("in sync", in_sync=True, connected=True)

    def __exit__(self, *_):
        for relay in self.relays.values():
            relay.close()
        for router in (self.a, self.b):
            router.kill()
        for server in self.backends.values():
            server.stop_agent()
            server.stop(signal.SIGKILL)

    def ready(self, router):
        """Waits until a router serves clients and all servers are up to date."""

        def up():
            assert router.process.poll() is None, router.said()
            status = router.status()
            return (
                status
                and (not status["pair"] or status["pair"]["serving"])
                and status["backends"]
                and all(one["state"] == "up" for one in status["backends"])
            )

        try:
            wait_for(up, f"{router.name} to serve with all servers up")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{router.said()}") from None
        self.unix = router.unix

    def servers_of(self):
        """Returns the relays to the servers and their agents."""
        return [relay for name, relay in self.relays.items() if name not in "AB"]

    def cut(self, router, other=True, servers=False):
        """Cuts a router off from the other one, from the servers, or from both."""
        pids = [router.process.pid]
        links = []
        if other:
            links += [self.relays["A"], self.relays["B"]]
            pids = [self.a.process.pid, self.b.process.pid]
        for relay in links:
            for pid in pids:
                relay.cut_off(pid)
        for relay in self.servers_of() if servers else []:
            relay.cut_off(router.process.pid)

    def heal(self):
        for relay in self.relays.values():
            relay.heal()


def files_of(prefix, files=FILES):
    return names(files, prefix)


class Load(Feed):
    """A feed through a router that may be cut off, and then never answers."""

    def __init__(self, router, files):
        super().__init__(router, files, patience=2)


def judged(pair, loads, record_property, fault):
    """Reads every copy. Returns how many acknowledged values are lost, and how many files
    differ between their copies.
    """
    acknowledged = {}
    for load in loads:
        acknowledged.update(load.acknowledged)
    # also what nobody was told of must be the same in both copies
    every = contents(pair, acknowledged, max(load.last for load in loads) + 1)
    lost = set(lacking(acknowledged, every))
    differ = sum(any(one != found[0] for one in found) for found in every.values())
    count = sum(map(len, acknowledged.values()))
    record_property(
        "fault",
        f"{fault}: {count} updates acknowledged, {len(lost)} lost, {differ} of "
        f"{len(acknowledged)} files differ",
    )
    copies = sum(map(len, every.values()))
    assert copies == 2 * len(acknowledged) and count
    return len(lost), differ
