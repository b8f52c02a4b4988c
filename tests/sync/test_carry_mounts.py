"""Disks that are not mounted any more when a carry goes on, with real mounts: what is copied
below a mount point is covered, and missed, when the disk is mounted again.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from carry_site import PATTERN, Carry, local, mount, unmount
from sync_servers import wait_for

KEYS = [f"key{n:04}" for n in range(240)]
NEW = ("a", "b", "c", "d")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="mounting a file system needs root"
)


class Disk:
    """A disk of a node: a file system of its own, or a directory of the same one, that can be
    taken away and mounted again with all that is in it.
    """

    def __init__(self, carry, node, own):
        self.place, self.root = carry.place / "disks" / node, carry.roots / node
        self.place.mkdir(parents=True)
        self.root.mkdir(exist_ok=True)
        self.own = own
        if own:
            mount(self.place, "10m")

    def __enter__(self):
        subprocess.run(["mount", "--bind", self.place, self.root], check=True)
        return self

    def __exit__(self, *_):
        self.away()
        if self.own:
            unmount(self.place)

    def away(self):
        if os.path.ismount(self.root) or not self.own:
            unmount(self.root)

    def files(self):
        """The files that are in the directory that is at the root now."""
        return [p for p in self.root.rglob("key*") if p.is_file()]


def mark(*roots):
    """Writes markers, which have the name of the node in them."""
    for root in roots:
        (root / ".node").write_text(root.name)


def with_marker(carry):
    """Lets the file of a carry look for markers."""
    root = f"root = '{carry.roots}/{{node}}'\npattern = '{PATTERN}'"
    carry.write_file(kind=f"[files]\n{root}\nmarker = '.node'")


def refused(carry, node, *options):
    """Runs a carry that is refused for the disk of a node."""
    done = carry.run(*options)
    begin = f"node {node}: when this carry began, its root {carry.roots / node} was on the file"
    assert (done.returncode, begin in done.stderr) == (66, True), done
    assert f"--moved {node} once" in done.stderr
    return done


@pytest.mark.parametrize("own", [True, False], ids=["disk", "bind"])
@pytest.mark.parametrize("marked", [False, True], ids=["plain", "marked"])
def test_a_disk_that_goes_away_between_two_runs(programs, place, own, marked):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        with Disk(carry, "d", own) as disk:
            if marked:
                # someone has marked what is below the mount point, too
                disk.away()
                mark(disk.root)
                disk.__enter__()
                mark(*(carry.roots / node for node in NEW))
                with_marker(carry)
            carry.begin(*NEW)
            done = carry.run("--until", "both_old_first")
            assert done.returncode == 0, done.stderr
            copied = len(disk.files())
            assert copied > 20
            disk.away()
            for options in ["--dry-run"], [], ["--until", "both_old_first"]:
                refused(carry, "d", *options)
                assert carry.state() == "both_old_first" and disk.files() == []
            # mounted again, it goes on as if nothing had happened
            disk.__enter__()
            done = carry.run()
            assert done.returncode == 0, done.stderr
            assert len(disk.files()) == copied
            carry.judge()


@pytest.mark.parametrize("until", ["old", "both_old_first", "both_new_first"])
def test_a_root_that_is_moved_on_purpose(programs, place, until):
    with local(programs, place) as site:
        carry = Carry(site, KEYS[:120])
        carry.fill()
        with Disk(carry, "d", True) as disk:
            carry.begin(*NEW)
            done = carry.run("--until", until)
            assert done.returncode == 0, done.stderr
            # what it has moves along
            fresh = place / "moved"
            subprocess.run(["cp", "-a", disk.root, fresh], check=True)
            disk.away()
            disk.root.rmdir()
            fresh.rename(disk.root)
            refused(carry, "d")
            wrong = carry.run("--moved", "x")
            assert wrong.returncode == 64 and 'node "x"' in wrong.stderr, wrong
            counted = carry.run("--moved", "d", "--dry-run")
            assert counted.returncode == 0, counted.stderr
            refused(carry, "d")
            done = carry.run("--moved", "d", "--until", "both_new_first")
            assert done.returncode == 0, done.stderr
            # once is enough
            done = carry.run()
            assert done.returncode == 0, done.stderr
            carry.judge()


@pytest.fixture
def on_the_first_disk():
    """Makes a directory on the file system that is mounted at /."""
    place = Path(tempfile.mkdtemp(prefix="stead-", dir="/var/tmp"))
    yield place
    shutil.rmtree(place, ignore_errors=True)


def test_the_only_root_without_a_disk_of_its_own_is_told(programs, on_the_first_disk):
    if os.stat(on_the_first_disk).st_dev != os.stat("/").st_dev:
        pytest.skip("/var/tmp has a file system of its own")
    with local(programs, on_the_first_disk) as site:
        carry = Carry(site, KEYS[:60])
        with Disk(carry, "a", True), Disk(carry, "b", True), Disk(carry, "c", True):
            carry.fill()
            carry.begin(*NEW)
            told = f"node d: its root {carry.roots / 'd'} is on the file system mounted at /"
            dry = carry.run("--dry-run")
            assert dry.returncode == 0 and told in dry.stdout, dry
            with Disk(carry, "d", True):
                assert told not in carry.run("--dry-run").stdout
            done = carry.run()
            assert done.returncode == 0 and told in done.stderr, done
            carry.judge()


def test_an_old_disk_that_is_away(programs, place):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        with Disk(carry, "a", True) as disk:
            carry.fill()
            carry.begin(*NEW)
            assert carry.run("--until", "both_new_first").returncode == 0
            disk.away()
            refused(carry, "a")
            ahead = site.sync("carry", "ahead", carry.file)
            assert ahead.returncode == 66 and "--moved a" in ahead.stderr, ahead
            disk.__enter__()
            done = carry.run()
            assert done.returncode == 0, done.stderr
            carry.judge()


def test_a_disk_that_goes_away_in_a_run_although_there_is_a_marker_below_it(
    programs, place
):
    with local(programs, place) as site:
        carry = Carry(site, KEYS)
        carry.fill()
        with Disk(carry, "d", True) as disk:
            disk.away()
            mark(disk.root)
            disk.__enter__()
            mark(*(carry.roots / node for node in NEW))
            root = f"root = '{carry.roots}/{{node}}'\npattern = '{PATTERN}'"
            carry.write_file(
                kind=f"[files]\n{root}\nmarker = '.node'",
                limits="items_per_second = 40\ntries = 1",
            )
            carry.begin(*NEW)
            run = carry.start_run()
            wait_for(lambda: len(disk.files()) > 3, "copies at d")
            disk.away()
            _, told = run.communicate(timeout=120)
            assert run.returncode != 0, told
            assert disk.files() == [] and carry.state() == "both_old_first"
            disk.__enter__()
            with_marker(carry)
            done = carry.run()
            assert done.returncode == 0, done.stderr
            carry.judge()
