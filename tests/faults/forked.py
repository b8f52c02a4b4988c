"""Processes of Python, PHP and Perl that fork while the map is replaced all the time. Each
child asks the map that its parent has open, and one that it opens. (The C suite has its
own, tests/c/forks.c, with threads and every function.)
"""

import os
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [os.path.join(TESTS, "runners")]

import built
import perl
from scenes import TARGET
from test_perl import HAS_PERL

FORKS_SHORT, FORKS = 20, 100
KEYS = [f"key{i}" for i in range(200)]


def php():
    """Returns the command of PHP, and why it cannot fork here."""
    command = os.environ.get("PHP", "php")
    check = "exit((int) !(extension_loaded('FFI') && extension_loaded('pcntl')));"
    try:
        code = subprocess.call([command, "-r", check], stderr=subprocess.DEVNULL)
    except OSError:
        code = 1
    return [command], "there is no php with the extensions FFI and pcntl" * bool(code)


def languages(libraries):
    """Yields (name, command, environment, why there is none)."""
    venv = os.path.join(built.ROOT, ".venv", "bin", "python")
    has = os.path.exists(venv) and not subprocess.call(
        [venv, "-c", "import stead"], stderr=subprocess.DEVNULL
    )
    yield (
        "Python",
        [venv, "fork.py"],
        {},
        "the module stead is not in .venv" * (not has),
    )
    command, why = php()
    library = {"STEAD_LIBRARY": os.path.join(libraries, "libstead.so")}
    yield "PHP", [*command, "fork.php"], library, why
    if HAS_PERL:
        module = perl.MODULE["build"]()
        words = [perl.MODULE["PERL"], "-w", "-Mblib=" + module, "fork.pl"]
        yield "Perl", words, {}, ""
    else:
        yield "Perl", [], {}, "there is no perl with its headers (libperl-dev)"


class Replaced:
    """A map that a thread replaces by one of two, in turns, as publishing does."""

    def __init__(self, path, maps):
        self.path, self.maps, self.times = path, maps, 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.replace)

    def replace(self):
        while not self.stop.is_set():
            new = self.path + ".new"
            shutil.copy(self.maps[self.times % 2], new)
            os.replace(new, self.path)
            self.times += 1
            time.sleep(0.001)

    def __enter__(self):
        shutil.copy(self.maps[1], self.path)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def located(stead, path):
    """Returns the first node of each key."""
    said = subprocess.run(
        [stead, "locate", path, *KEYS], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    pairs = (line.split("\t") for line in said.splitlines())
    return {key: nodes.split(",")[0] for key, nodes in pairs}


def two_maps(stead, scene, scratch):
    """Returns the paths of two epochs of a map, and a key with its nodes in them."""
    directory = os.path.join(scratch, "forked")
    shutil.copytree(scene.start, directory)
    maps = [os.path.join(directory, f"{epoch}.map") for epoch in (1, 2)]
    path = os.path.join(directory, "forked.map")
    for nodes, copy in zip((2, 3), maps):
        fleet = os.path.join(directory, f"f{nodes}.toml")
        subprocess.run([stead, "apply", fleet, path], capture_output=True, check=True)
        shutil.copy(path, copy)
    first, second = (located(stead, one) for one in maps)
    key = next(key for key in KEYS if first[key] != second[key])
    return os.path.join(directory, TARGET), maps, [key, first[key], second[key]]


def campaign(tally, stead, scene, scratch, long):
    """Lets each language fork, and counts the children that were right. Control: with the
    nodes the other way round, every child must be wrong.
    """
    path, maps, (key, *nodes) = two_maps(stead, scene, scratch)
    count = FORKS if long else FORKS_SHORT
    for name, command, environment, why in languages(os.path.dirname(stead)):
        if why:
            tally.without(f"forks, {name}", why)
            continue
        for control in (False, True):
            begun = time.monotonic()
            words = [path, str(count), key, *(nodes[::-1] if control else nodes)]
            with Replaced(path, maps) as replaced:
                done = subprocess.run(
                    [*command, *words],
                    cwd=os.path.join(HERE, "forked"),
                    env={**os.environ, **environment},
                    capture_output=True,
                    check=False,
                )
            said = done.stdout.decode("utf-8", "replace").strip()
            wrong = (
                []
                if said == str(0 if control else count)
                else [
                    f"{said or 'no'} of {count} children were right; exit {done.returncode}: "
                    + done.stderr.decode("utf-8", "replace").strip()[-300:]
                ]
            )
            note = f"  ({replaced.times} epochs)"
            note = "  (a control: all wrong)" if control else note
            seconds = time.monotonic() - begun
            what = f"forks, {name}" + ", control" * control
            tally.row(what, count, count, wrong, seconds, note)
