"""`stead-sync carry` to and from nodes at other machines, by ssh: their agents and
connections are killed while applications work.
"""

import os
import random
import threading
from collections import Counter

import pytest
from carry_site import PATTERN, Carry, kill, mount, unmount
from carry_ssh import SSHD, Sshd, end
from sync_site import Site

pytestmark = pytest.mark.skipif(not SSHD, reason="sshd is not installed")

KEYS = [f"key{n:03}" for n in range(240)]
STATES = ("old", "both_old_first", "both_new_first", "new")


class Far(Carry):
    """A site whose nodes are at another machine, all but `a`."""

    def __init__(self, site, sshd, keys, **more):
        self.sshd, self.agent = sshd, site.programs["stead-sync"]
        super().__init__(site, keys, ("b", "c"), attributes=self.place_of, **more)

    def place_of(self, node):
        host = "" if node == "a" else "127.0.0.1:"
        return f"attributes = {{ place = '{host}{self.roots}/{node}' }}\n"

    def write_file(self, limits="", **change):
        words = {"ssh": self.sshd.words(), "agent": self.agent, **change}
        super().write_file(
            kind=f"[files]\nroot = '{{place}}'\npattern = '{PATTERN}'\n"
            f"ssh = {words['ssh']}\nagent = '{words['agent']}'\n",
            limits=limits,
        )


@pytest.fixture
def sshd(place):
    """Starts an sshd."""
    with Sshd(place / "sshd") as made:
        yield made


@pytest.fixture
def far(programs, place, sshd):
    """Makes a site with a shared directory, and nodes that are reached by ssh."""
    (place / "shared").mkdir()
    with Site(programs, place, f"file://{place}/shared/members.map") as site:
        yield Far(site, sshd, KEYS)


class Saboteur(threading.Thread):
    """Kills agents and connections at random until it is stopped."""

    def __init__(self, sshd, rng):
        super().__init__(daemon=True)
        self.sshd, self.rng, self.ends = sshd, rng, threading.Event()
        self.killed = Counter()

    def run(self):
        while not self.ends.wait(self.rng.uniform(0.1, 0.9)):
            what = self.rng.choice(["agents", "connections"])
            found = getattr(self.sshd, what)()
            if found:
                self.killed[what] += end(self.rng.choice(found))

    def least(self, before):
        """How many agents or connections were killed, whichever is less, with those before."""
        return min(
            before[what] + self.killed[what] for what in ("agents", "connections")
        )

    def stop(self):
        self.ends.set()
        self.join()


def test_lines_and_agents_and_carriers_are_killed(far, sshd, record_property):
    rng, killed = random.Random(3), Counter()
    far.write_file(limits="items_per_second = 30\nworkers = 2")
    far.fill()
    far.start()
    # to a node here and to one at another machine
    far.begin("a", "b", "c", "d")
    for number, state in enumerate(STATES, 1):
        saboteur = Saboteur(sshd, rng)
        saboteur.start()
        turns, at_work = 0, True
        # on a busy machine a carrier may be killed before it has an agent
        while turns < 3 or (at_work and saboteur.least(killed) < number):
            running = far.start_run("--until", state)
            threading.Event().wait(rng.uniform(0.3, 2))
            at_work = kill(running)
            killed["carriers"] += at_work
            turns += 1
        saboteur.stop()
        killed += saboteur.killed
        done = far.run("--until", state)
        assert done.returncode == 0, done.stderr
    done = far.run()
    assert done.returncode == 0, done.stderr
    keys, *_ = far.judge()
    far.stop()
    assert min(killed[what] for what in ("agents", "connections", "carriers")) > 3, (
        killed
    )
    told = ", ".join(f"{count} {what}" for what, count in killed.items())
    record_property(
        "killed:", f"{told}; {far.told()}; {keys} keys, 0 lost, 0 back, 0 twice"
    )


def test_every_sort_of_file_travels(far):
    paths = {}
    for n, key in enumerate(KEYS):
        path = far.path(far.home(key), key)
        path.parent.mkdir(exist_ok=True)
        # empty, of several pieces, with holes; by mode and time
        path.write_bytes(random.Random(n).randbytes(n % 3 * 100_000))
        if n % 4 == 0:
            os.truncate(path, 3_000_000)
        os.chmod(path, 0o600 + n % 64)
        os.utime(path, ns=(n * 10**9 + 5, n * 10**9 + 7))
        paths[key] = path.read_bytes(), path.stat()
    # to here and to another machine, and then from both to one more
    for new in ("ad", "e"):
        far.begin(*far.nodes, *new)
        done = far.run()
        assert done.returncode == 0, done.stderr
        moved = [path for node in new for path in (far.roots / node).glob("[!.]*/*")]
        assert len(moved) > 20 * len(new)
        for path in moved:
            content, before = paths[path.name]
            after = path.stat()
            assert path.read_bytes() == content, path
            same = ("st_mode", "st_mtime_ns", "st_uid", "st_gid")
            assert all(getattr(before, name) == getattr(after, name) for name in same)
            assert after.st_blocks * 512 < 700_000
    assert not list(far.roots.rglob(".stead-carry*"))


def test_a_full_disk_at_another_machine(far, record_property):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    far.make_roots("d")
    far.fill()
    mount(far.roots / "d", "200k")
    try:
        far.begin("a", "b", "c", "d")
        full = far.run()
        assert full.returncode == 69 and far.state() == "old", full
        assert "the disk of d has " in full.stderr
        far.write_file(limits="full = 1")
        full = far.run()
        assert full.returncode == 1, full.stderr
        failed = full.stdout.count("No space left")
        assert failed and set(far.copies()) == set(KEYS)
        assert far.state() == "both_old_first"
    finally:
        unmount(far.roots / "d")
    away = far.run()
    assert away.returncode == 66 and "--moved d" in away.stderr, away
    assert not list((far.roots / "d").iterdir())
    done = far.run("--moved", "d")
    assert done.returncode == 0, done.stderr
    far.judge()
    record_property("a full disk:", f"{failed} items failed, 0 lost")


def test_a_machine_that_cannot_be_used_is_named(far, sshd):
    far.fill()
    far.begin("a", "b", "c", "d")
    once = "tries = 1"
    wrong = [word.replace(str(sshd.port), "1") for word in sshd.words()]
    for change, said in [
        ({"ssh": wrong}, ": 127.0.0.1: no agent answers: ssh: connect"),
        ({"agent": "/nothing/stead-sync"}, "install stead-sync there"),
        ({"agent": f"echo Welcome to this machine; {far.agent}"}, "login script"),
        ({"ssh": ["/nothing/ssh"]}, "cannot start"),
    ]:
        far.write_file(once, **change)
        done = far.run()
        assert done.returncode == 66 and said in done.stderr, done.stderr
        assert done.stderr.splitlines()[-1].startswith("stead-sync: node "), done.stderr
        assert len(done.stderr.strip().splitlines()[-1]) < 500
    far.write_file()
    assert far.run().returncode == 0
    far.judge()
