"""What the tries of the packages share: the answers that are known, the packages that were
made, and a count of what was checked.
"""

import glob
import os
import subprocess

import system
import tree

ROOT = tree.ROOT

# the fleet of the README, and where its keys live
FLEET = """name = "members"
[[node]]
name = "db1"
[[node]]
name = "db2"
weight = 1.5
"""
KEYS = ["frank", "bob"]
NODES = "db1 db2"

PYTHON = """
import stead
members = stead.Map.open("members.map")
print(*(members.locate(key) for key in ("frank", "bob")))
"""
PHP = """
$members = Stead\\Map::open('members.map');
echo $members->locate('frank'), ' ', $members->locate('bob');
"""
PERL = """
use Stead;
my $members = Stead::Map->open('members.map');
print join ' ', map { $members->locate($_) } qw(frank bob);
"""


class Count:
    """Counts checks, and prints each."""

    passed = failed = skipped = 0

    def that(self, sentence, ok, detail=""):
        """Counts a check."""
        if ok:
            self.passed += 1
            print(f"passed: {sentence}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED: {sentence}\n{detail}", flush=True)

    def equal(self, sentence, got, wanted):
        """Counts a check that two values are equal."""
        self.that(sentence, got == wanted, f"  got    {got!r}\n  wanted {wanted!r}")

    def without(self, reason):
        """Counts what cannot be tried here."""
        self.skipped += 1
        print(f"skipped: {reason}", flush=True)


COUNT = Count()


def made(*pattern):
    """Returns the packages that a pattern names; `make dist` must have made some."""
    found = sorted(glob.glob(os.path.join(tree.OUT, *pattern)))
    if not found:
        tree.fail(f"target/dist/{'/'.join(pattern)} is missing; run 'make dist' before")
    return found


def here(command, folder, **environment):
    """Runs a command on this machine; returns its exit code and its output."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def copy_of(suite, name):
    """Returns a fresh system of a release."""
    return system.System(suite, name)
