"""A site whose data is carried: nodes that are directories, and applications on several
hosts that read, write and delete all the while.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "reference")]

import comparison
import stead_reference as reference
from sync_site import Site

# the files of a carry's key are FIRST LETTERS/KEY
PATTERN = "{a}/{key}"


class Ledger:
    """What must be there: the last value of each key that was acknowledged; None once it
    was deleted. A key is locked during each operation. Every tenth key is never touched.
    """

    def __init__(self, keys):
        self.values = dict.fromkeys(keys)
        self.still = list(keys)[::10]
        self.worked = [key for key in keys if key not in self.still]
        self.locks = {key: threading.Lock() for key in keys}
        self.looks = self.writes = self.deletes = 0
        self.wrong = []
        # keys that a cache which was killed has forgotten, until they are written again
        self.excused, self.is_down, self.forgotten = set(), False, 0
        # keys that were being written when the map of their host changed
        self.crossed = set()

    def excuse(self, key, found):
        """Whether nothing was found because a cache was killed."""
        is_excused = found is None and key in self.excused
        self.forgotten += is_excused
        return is_excused

    def written(self, key, value):
        """Notes what was acknowledged."""
        self.values[key] = value
        if not self.is_down:
            self.excused.discard(key)


class App(threading.Thread):
    """An application on a host: it opens the map anew for each operation."""

    def __init__(self, carry, map, ledger, seed):
        super().__init__(daemon=True)
        self.carry, self.map, self.ledger = carry, map, ledger
        self.random, self.ends = random.Random(seed), threading.Event()
        self.seen, self.pair, self.number = None, None, 0
        self.name = f"app{seed}"

    def lists(self, key):
        """The nodes to write to, in order. The first of them is the first to read from."""
        stat = os.stat(self.map)
        mark = stat.st_ino, stat.st_mtime_ns
        if mark != self.seen:
            new = reference.read_map(self.map.read_bytes())
            old, state = new, "new"
            if new.carry:
                old = f"{self.map}.history/{new.carry.from_epoch}"
                old = reference.read_map(Path(old).read_bytes())
                state = new.carry.state
            self.seen, self.pair = mark, (old, new, state)
        old, new, state = self.pair
        before, after = comparison.both_lists(old, new, new.point(key.encode()))
        return comparison.in_state(state, before, after)[1]

    def path(self, node, key):
        return self.carry.path(node, key)

    def put(self, key, value):
        for node in self.lists(key):
            path = self.path(node, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.carry.roots / node / f".{self.name}"
            fresh.write_text(value)
            fresh.rename(path)
        # without a grace, what begins before a state may end when old copies are removed
        stat = os.stat(self.map)
        if (stat.st_ino, stat.st_mtime_ns) != self.seen:
            self.ledger.crossed.add(key)

    def delete(self, key):
        for node in self.lists(key):
            self.path(node, key).unlink(missing_ok=True)

    def get(self, key):
        """What the first node has; None when it has no such key."""
        try:
            return self.path(self.lists(key)[0], key).read_text()
        except FileNotFoundError:
            return None

    def operate(self):
        """One operation, judged."""
        ledger = self.ledger
        key = self.random.choice(ledger.worked)
        with ledger.locks[key]:
            what = self.random.random()
            if what < 0.5:
                found, due = self.get(key), ledger.values[key]
                ledger.looks += 1
                if found != due and not ledger.excuse(key, found):
                    state = self.pair[2]
                    ledger.wrong.append(f"{key} in {state}: {found!r}, not {due!r}")
            elif what < 0.85:
                self.number += 1
                value = f"{key} {self.name} {self.number}"
                self.put(key, value)
                ledger.written(key, value)
                ledger.writes += 1
            else:
                self.delete(key)
                ledger.written(key, None)
                ledger.deletes += 1

    def close(self):
        """Closes what it has open."""

    def run(self):
        while not self.ends.wait(0.002):
            try:
                self.operate()
            except Exception as error:
                self.ledger.wrong.append(repr(error))
                raise

    def stop(self):
        self.ends.set()
        self.join()
        self.close()


class Carry:
    """A site, its nodes, and the file of a carry."""

    # what applications are
    app = App

    def __init__(
        self, site, keys, old=("a", "b", "c"), more="", limits="", attributes=""
    ):
        self.site, self.place = site, site.place
        self.roots = self.place / "nodes"
        self.anna = site.operator()
        self.nodes, self.more, self.attributes = list(old), more, attributes
        self.make_roots(old)
        self.anna.apply(*old, more=more, attributes=attributes)
        assert self.anna.push().returncode == 0
        self.ledger = Ledger(keys)
        self.apps = []
        self.file = self.place / "carry.toml"
        self.write_file(limits=limits)

    def make_roots(self, nodes):
        for node in nodes:
            (self.roots / node).mkdir(parents=True, exist_ok=True)

    def write_file(self, limits="", kind="", grace=0, top=""):
        files = f"[files]\nroot = '{self.roots}/{{node}}'\npattern = '{PATTERN}'\n"
        self.file.write_text(
            f"map = '{self.anna.map}'\nurl = '{self.site.url}'\ngrace = {grace}\n{top}\n"
            f"{kind or files}\n[limits]\n{limits}\n"
        )

    def path(self, node, key):
        return self.roots / node / key[-2:] / key

    def fill(self):
        """Writes every key by an application that knows the first map."""
        app = self.app(self, self.anna.map, self.ledger, 0)
        for key in self.ledger.values:
            app.put(key, f"{key} first")
            self.ledger.values[key] = f"{key} first"
        app.close()

    def start(self, hosts=2):
        """Starts hosts with applications that work."""
        for n in range(1, hosts + 1):
            host = self.site.host(f"web{n}", *self.watch_options(n))
            host.wait(int.from_bytes(self.anna.bytes()[48:56], "little"))
            app = self.app(self, host.map, self.ledger, n)
            self.apps.append(app)
            app.start()

    def watch_options(self, n):
        """The options of the watch of a host."""
        return ()

    def stop(self):
        for app in self.apps:
            app.stop()
        self.apps = []

    def begin(self, *nodes, options=()):
        """Makes the next map, with a carry, and the roots of new nodes."""
        self.make_roots(nodes)
        self.nodes = list(nodes)
        self.anna.apply(
            *nodes,
            options=("--carry", *options),
            more=self.more,
            attributes=self.attributes,
        )

    def run(self, *options):
        """Carries, and returns the finished process."""
        return self.site.sync("carry", "run", self.file, *options)

    def start_run(self, *options):
        return self.site.start("carry", "run", self.file, *options)

    def state(self):
        """The state in the operator's map; None when no carry is open."""
        found = reference.read_map(self.anna.bytes()).carry
        return found and found.state

    def all_see(self, state):
        """Whether the applications have seen this state of the carry."""
        return all(app.pair and app.pair[2] == state for app in self.apps)

    def homes(self, key):
        """The nodes where the operator's map places a key."""
        now = reference.read_map(self.anna.bytes())
        return comparison.both_lists(now, now, now.point(key.encode()))[1]

    def home(self, key):
        """The first of them."""
        return self.homes(key)[0]

    def copies(self):
        """{key: {node: value}} of all files. An application may delete a file meanwhile."""
        found = {}
        for node in sorted(os.listdir(self.roots)):
            for path in (self.roots / node).glob("[!.]*/*"):
                with contextlib.suppress(FileNotFoundError):
                    found.setdefault(path.name, {})[node] = path.read_text()
        return {key: values for key, values in found.items() if values}

    def judge(self):
        """Checks that each key is where the map says, once, as it was last written.
        Returns (keys, lost, twice, come back).
        """
        # applications that still work wait meanwhile
        with contextlib.ExitStack() as stack:
            for lock in self.ledger.locks.values():
                stack.enter_context(lock)
            return self.judge_quiet()

    def judge_quiet(self):
        """Judges while nobody works."""
        now = reference.read_map(self.anna.bytes())
        found, lost, twice, back = self.copies(), [], [], []
        for key, value in self.ledger.values.items():
            nodes = comparison.both_lists(now, now, now.point(key.encode()))[1]
            there = found.get(key, {})
            if value is None:
                back += [key] * bool(there)
                continue
            missed = [there.get(node) for node in nodes if there.get(node) != value]
            missed = [found for found in missed if not self.ledger.excuse(key, found)]
            lost += [key] * bool(missed)
            is_late = key in self.ledger.crossed
            twice += [key] * bool(set(there) - set(nodes) and not is_late)
        assert not self.ledger.wrong, self.ledger.wrong[:5]
        assert (lost, twice, back) == ([], [], []), (lost[:3], twice[:3], back[:3])
        leftovers = [str(p) for p in self.roots.rglob(".stead-carry*")]
        assert leftovers == []
        return len(self.ledger.values), len(lost), len(twice), len(back)

    def told(self):
        """Figures for the summary."""
        ledger = self.ledger
        return (
            f"{ledger.looks} looks, {ledger.writes} writes, {ledger.deletes} deletes; "
            f"{len(ledger.wrong)} misses"
        )


def local(programs, place):
    """A site with a shared directory."""
    (place / "shared").mkdir()
    return Site(programs, place, f"file://{place}/shared/members.map")


def kill(process):
    """Kills a process; returns whether it was still there."""
    there = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return there


def mount(path, size):
    """Mounts a small file system."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], check=True
    )


def unmount(path):
    subprocess.run(["umount", "-l", path], check=False)
