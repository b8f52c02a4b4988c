"""Changes the closely measured parts in one place at a time, and tells which changes no test
notices. Started by `make mutants`; docs/assurance.md has its figures.

    python3 tests/campaigns/mutants.py [--only NAME] [--sample N | --all] [--seed N]

cargo-mutants lists the possible changes, called mutants: another operator, a function that
returns a constant, an arm of a match that is gone. Each one costs a build and a run of the
tests, so a run tries a sample: the mutants of a part are divided into N equal stretches,
and of each one is tried. Another seed chooses others.

A mutant is tried in a copy of the tree in target/mutants. The unit tests of its own module
run first, then all unit tests, then the integration tests of its part; the first failure
ends it. One that all tests pass has survived. survivors.py lists those that must survive,
each with the reason: only others make a run red.
"""

import argparse
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, namedtuple

sys.dont_write_bytecode = True

import coverage
from survivors import SURVIVORS

import tools

OWN = os.path.join(tools.ROOT, "target", "mutants")
TREE = os.path.join(OWN, "tree")
# how many mutants of each part a run tries
SAMPLE = 25
# KiB: a changed loop may never end, and may fill the memory meanwhile
MEMORY = 4 << 20
# unit tests of the crate stead that take long and reach no more of the parts than others do
SKIPPED = ("ring::kinds::", "kernel::tests::", "fleet::text::", "fleet::from_toml::")
SHORTEST = 60  # seconds, for tests that take less than a fifth of it

# module: where the unit tests of the part are
# program, tests: the program of the integration tests, and which of its tests run
# control: a change that the tests must notice, as (file, text in it, text in its place)
Area = namedtuple("Area", "package files module program tests control")
AREAS = {
    name: Area(*coverage.AREAS[name], *tests)
    for name, tests in {
        "format": (
            "format::",
            "all",
            ("golden::", "carry::", "vectors::damaged", "vectors::pairs"),
            ("verify.rs", "if digest(bytes) != header.digest {", "if false {"),
        ),
        "rebalance": (
            "rebalance::",
            "all",
            ("golden::", "gradual::", "limits::", "guarantees::"),
            ("exact.rs", "if aim.replicas() > 1 {", "if false {"),
        ),
        "store": (
            "store::",
            "all",
            ("store::", "installing::", "guards::", "carry::"),
            ("change.rs", "if newest.same(&next) =>", "if false =>"),
        ),
        "verdict": (
            "verdict::",
            "all",
            ("verdicts::",),
            ("caps.rs", "cap: replicas,", "cap: 0,"),
        ),
        # its tests from C, which link the library, run after its unit tests
        "C boundary": ("", "", (), ("locate.rs", "node.0 as i32", "node.0 as i32 + 1")),
        "the router's log": (
            "log::",
            "log_crash",
            (),
            (
                "frame.rs",
                "[0, number, durable, length]",
                "[0, number, number, length]",
            ),
        ),
    }.items()
}


def changed(text, mutant):
    """The source with the change made. Lines and columns begin with 1."""
    lines = text.splitlines(keepends=True)
    place = lambda at: sum(map(len, lines[: at["line"] - 1])) + at["column"] - 1
    start, end = (place(mutant["span"][name]) for name in ("start", "end"))
    return text[:start] + mutant["replacement"] + text[end:]


def described(text, mutant):
    """What survivors.py calls a mutant: its file, the change, and the line as it is then."""
    line = changed(text, mutant).splitlines()[mutant["span"]["start"]["line"] - 1]
    # file:line:column: change
    return mutant["file"], mutant["name"].split(": ", maxsplit=1)[1], line.strip()


def chosen(mutants, size, seed):
    """One mutant of each of `size` equal stretches."""
    if not size or size >= len(mutants):
        return mutants
    pick = random.Random(seed)
    bounds = [i * len(mutants) // size for i in range(size + 1)]
    return [mutants[pick.randrange(*ends)] for ends in zip(bounds, bounds[1:])]


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    """Writes a file of the copy. Its time is now, so that cargo builds it again."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy_tree():
    """Makes the copy the same as the tree. Files that are the same keep their times."""
    listed = tools.said(
        *("git", "-C", tools.ROOT, "ls-files", "-co", "--exclude-standard", "-z")
    )
    if not listed:
        tools.refuse("make mutants copies what git lists: it needs git and a clone")
    names = {name for name in listed.split("\0") if name}
    for name in names:
        source, copy = os.path.join(tools.ROOT, name), os.path.join(TREE, name)
        if not os.path.isfile(source):
            continue
        with open(source, "rb") as file:
            data = file.read()
        if os.path.exists(copy):
            with open(copy, "rb") as file:
                if file.read() == data:
                    continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)
    for directory, below, files in os.walk(TREE):
        below[:] = [one for one in below if one != "target"]
        for file in files:
            path = os.path.join(directory, file)
            if os.path.relpath(path, TREE) not in names:
                os.remove(path)


class Tests:
    """The tests of a part, as they are built in the copy: quickly, not for speed."""

    def __init__(self, area):
        self.area = area
        # to optimise the changed crate takes longer than its tests
        self.profile = f"profile.dev.package.{area.package}.opt-level=0"
        self.env = {
            **os.environ,
            "CARGO_TARGET_DIR": os.path.join(OWN, "build"),
            "CARGO_PROFILE_DEV_DEBUG": "0",
            "RUST_BACKTRACE": "0",
            # what one mutant failed with must not be tried with the next one
            "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        }
        self.scratch = tempfile.TemporaryDirectory()
        # how long the tests may take: of the tree as it is, without a limit at first
        self.limits = {}

    def cargo(self, *arguments):
        """The programs that cargo builds, by name; None when it does not compile."""
        done = subprocess.run(
            [os.environ.get("CARGO", "cargo"), "--config", self.profile, *arguments]
            + ["--locked", "-q", "-p", self.area.package, "--message-format=json"],
            cwd=TREE,
            env=self.env,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            return None
        made = [json.loads(line) for line in done.stdout.splitlines()]
        return [one for one in made if one["reason"] == "compiler-artifact"]

    def built(self, *targets):
        """The test programs of these targets, in this order; None: does not compile."""
        made = self.cargo("test", "--no-run", *targets)
        if made is None:
            return None
        made = [one for one in made if one["executable"] and one["profile"]["test"]]
        made.sort(key=lambda one: "test" in one["target"]["kind"])
        return [one["executable"] for one in made]

    def passes(self, name, command, directory):
        """Whether the tests of a program pass: True, False, or "timeout". The program is
        stopped at its first failure.
        """
        began = time.monotonic()
        program = subprocess.Popen(
            ["sh", "-c", f'ulimit -d {MEMORY}; exec "$@"', "sh", *command],
            cwd=directory,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        late = threading.Event()

        def stop():
            try:
                os.killpg(program.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        def give_up():
            late.set()
            stop()

        timer = threading.Timer(self.limits.get(name, 3600), give_up)
        timer.start()
        failed = False
        for line in program.stdout:
            if re.match(r"test .* \.\.\. FAILED", line):
                failed = True
                stop()
                break
        program.stdout.close()
        code = program.wait()
        timer.cancel()
        if name not in self.limits:
            spent = time.monotonic() - began
            self.limits[name] = max(SHORTEST, 5 * spent)
        if late.is_set():
            return "timeout"
        return code == 0 and not failed

    def steps(self):
        """Yields (name, command, directory) of what to run, building it when it is asked
        for; None when it does not compile.
        """
        crate = os.path.join(TREE, "crates", self.area.package)
        unit = self.built("--lib")
        if not unit:
            yield None
            return
        if self.area.module:
            yield "module", [*unit, self.area.module], crate
        yield "unit", [*unit, *(f"--skip={name}" for name in SKIPPED)], crate
        if self.area.program:
            integration = self.built(f"--test={self.area.program}")
            # the signature may be one that only the tests of another crate do not accept
            if not integration:
                yield None
                return
            yield "integration", [*integration, *self.area.tests], crate
        if self.area.package == "stead-capi":
            yield "from C", *self.from_c()

    def from_c(self):
        """The suite of tests/c, with the library of the copy."""
        made = self.cargo("build")
        files = [name for one in made or () for name in one["filenames"]]
        library = next(name for name in files if name.endswith("/libstead.so"))
        # a short path, since messages with long ones are cut; a child runs there as nobody
        directory = tempfile.mkdtemp(dir=self.scratch.name)
        for parent in (self.scratch.name, directory):
            os.chmod(parent, 0o755)
        for name in ("libstead.so", "libstead.so.1"):
            os.symlink(library, os.path.join(directory, name))
        sys.path[:0] = [os.path.join(tools.ROOT, "tests", "c")]
        sys.path[:0] = [os.path.join(tools.ROOT, "tests")]
        import memory
        from checking import MAPS, compiled

        suite, run = (os.path.join(directory, name) for name in ("suite", "run"))
        os.mkdir(run)
        complaint = compiled(suite, memory.SUITE, directory)
        if complaint:
            tools.refuse(f"tests/c does not compile: {complaint}")
        return [suite, run, MAPS, "2"], directory

    def ends(self):
        """How the copy as it is now ends: "caught", "timeout", "unviable", "survived"."""
        for step in self.steps():
            if step is None:
                return "unviable"
            passed = self.passes(*step)
            if passed is not True:
                return passed or "caught"
        return "survived"


def tried(tests, path, text):
    """How a file with this text ends. The file is put back afterwards."""
    whole = read(path)
    write(path, text)
    try:
        return tests.ends()
    finally:
        write(path, whole)


class Run:
    """The mutants of a part, and what became of them."""

    def __init__(self, name, size, seed):
        self.name, self.area = name, AREAS[name]
        listed = tools.said(
            *(tools.program("cargo-mutants"), "mutants", "--list", "--json"),
            *("--dir", TREE, "--package", self.area.package),
            *("--file", self.area.files + "**/*.rs"),
            # compiled only for a test, by the feature `faults`
            *("--exclude-re", "faults::"),
        )
        every = json.loads(listed or "[]")
        self.of = len(every)
        self.mutants = chosen(every, size, seed)
        self.count = Counter()
        self.failures = []
        self.seconds = 0

    def start(self):
        """Tries the tree as it is, and the control. Without both, the rest says nothing."""
        tests = Tests(self.area)
        if tests.ends() != "survived":
            tools.refuse(f"{self.name}: the tests fail without a change")
        file, old, new = self.area.control
        path = os.path.join(TREE, self.area.files, file)
        whole = read(path)
        if old not in whole:
            tools.refuse(f"{self.name}: the control's text is not in {file}: {old}")
        if tried(tests, path, whole.replace(old, new, 1)) != "caught":
            self.failures.append("the control was not noticed")
        return tests

    def go(self, tests):
        """Tries the mutants."""
        began = time.monotonic()
        for mutant in self.mutants:
            one = time.monotonic()
            path = os.path.join(TREE, mutant["file"])
            whole = read(path)
            end = tried(tests, path, changed(whole, mutant))
            key = described(whole, mutant)
            if end == "survived" and key in SURVIVORS:
                end = "explained"
            elif end == "survived":
                self.failures.append("survived: {}\n        {}".format(*key[1:]))
            elif key in SURVIVORS and end == "caught":
                self.failures.append("caught, but in survivors.py: " + mutant["name"])
            self.count[end] += 1
            print(
                f"    {time.monotonic() - one:5.0f} s  {end:<9}  {mutant['name']}",
                flush=True,
            )
        self.seconds = time.monotonic() - began

    def row(self):
        """A line of the table."""
        words = ("caught", "timeout", "unviable", "explained", "survived")
        counts = "  ".join(f"{self.count[word]:>4} {word}" for word in words)
        print(
            f"{self.name:<16} {len(self.mutants):>4} of {self.of:>4}  {counts} "
            f"{self.seconds:>6.0f} s"
        )
        for failure in self.failures:
            print(f"    {failure}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--only", help="parts whose name has this in it", default="")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants of a part")
    parser.add_argument("--all", action="store_true", help="every mutant: takes days")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample")
    given = parser.parse_args()
    tools.program("cargo-mutants")
    os.makedirs(OWN, exist_ok=True)
    with open(os.path.join(OWN, "lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            tools.refuse("make mutants runs already, and changes the same copy")
        run_all(given)


def run_all(given):
    """Tries what was asked for, prints the table, and ends the program."""
    copy_tree()
    runs = []
    for name in AREAS:
        if given.only in name:
            run = Run(name, None if given.all else given.sample, given.seed)
            print(f"== {name}: {len(run.mutants)} of {run.of} mutants", flush=True)
            run.go(run.start())
            runs.append(run)
    for run in runs:
        run.row()
    failed = sum(len(run.failures) for run in runs)
    passed = sum(
        run.count["caught"] + run.count["timeout"] + run.count["explained"]
        for run in runs
    )
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
