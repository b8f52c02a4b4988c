"""Changes the closely measured parts in one place at a time, and tells which changes no test
notices. Started by `make mutants`; docs/assurance.md has its figures.

    python3 tests/campaigns/mutants.py [--only NAME]... [--sample N] [--seed N] [--again]

cargo-mutants lists the possible changes, called mutants: another operator, a function that
returns a constant, an arm of a match that is gone. Nearly all of them are put into one build
of a crate, where one of them can be switched on (switched.py), in a copy of the tree in
target/mutants. Each test runs alone first, which tells what it reaches. Then the tests that
reach a mutant run with it: those of its part, then others for some 20 seconds at most, the
quickest first. The first failure ends it. The few mutants that cannot be switched are built
one at a time, and run the unit tests of their module, all unit tests, and the integration
tests of their part.

A mutant that all tests pass has survived. survivors.py lists those that must survive, each
with the reason: only others make a run red.
"""

import argparse
import fcntl
import importlib.util
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, namedtuple
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True

import coverage
from survivors import SURVIVORS
from trials import OWN, TREE, Alone, Together, replace

import tools

# what survived the last run, for --again
LAST = os.path.join(OWN, "survived.json")


# module: where the unit tests of the part are
# program, tests: the program of the integration tests, and which of its tests run
# control: a change that the tests must notice, as (file, text in it, expression in that text,
#   the expression in its place)
class Area(namedtuple("Area", "package files module program tests control")):
    """A part, its tests and its control."""

    def own(self):
        """How the names of its tests begin."""
        return (self.module, *self.tests)


AREAS = {
    name: Area(*coverage.AREAS[name], *tests)
    for name, tests in {
        "format": (
            "format::",
            "all",
            ("golden::", "carry::", "vectors::damaged", "vectors::pairs"),
            (
                "verify.rs",
                "if digest(bytes) != header.digest {",
                "digest(bytes) != header.digest",
                "false",
            ),
        ),
        "rebalance": (
            "rebalance::",
            "all",
            ("golden::", "gradual::", "limits::", "guarantees::"),
            ("exact.rs", "if aim.replicas() > 1 {", "aim.replicas() > 1", "false"),
        ),
        "store": (
            "store::",
            "all",
            ("store::", "access::", "back::", "installing::", "guards::", "carry::"),
            ("change.rs", "if newest.same(&next) =>", "newest.same(&next)", "false"),
        ),
        "verdict": (
            "verdict::",
            "all",
            ("verdicts::",),
            ("caps.rs", "part.cap = most.min(size);", "most.min(size)", "0"),
        ),
        # its tests from C, which link the library, run after its unit tests
        "C boundary": (
            "",
            "",
            (),
            ("locate.rs", "node.0 as i32", "node.0 as i32", "node.0 as i32 + 1"),
        ),
        "the router's log": (
            "log::",
            "log_crash",
            (),
            (
                "frame.rs",
                "[0, number, durable, length]",
                "durable",
                "number",
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


def tried(alone, path, text):
    """How a file with this text ends. The file is put back afterwards."""
    whole = read(os.path.join(TREE, path))
    replace(path, text.encode())
    try:
        return alone.ends()
    finally:
        replace(path, whole.encode())


class Part:
    """The mutants of a part, and what became of them."""

    def __init__(self, name, given, again):
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
        self.mutants = chosen(every, given.sample, given.seed)
        if again is not None:
            self.mutants = [one for one in every if key_of(one) in again]
        self.count = Counter()
        self.survived, self.failures = [], []
        self.seconds = 0

    def control(self):
        """The control, as a mutant. Without it, the rest says nothing."""
        name, text, old, new = self.area.control
        path = self.area.files + name
        data = read(os.path.join(TREE, path)).encode()
        at = data.find(text.encode())
        if at < 0:
            tools.refuse(f"{self.name}: the control's text is not in {name}: {text}")
        at += text.index(old)
        span = at, at + len(old)
        return {"file": path, "genre": "Control", "bytes": span, "replacement": new}

    def ended(self, mutant, end, seconds):
        """Counts a mutant."""
        key = key_of(mutant)
        if end in ("survived", "unreached") and key in SURVIVORS:
            end = "explained"
        elif end in ("survived", "unreached"):
            self.survived.append(key)
            self.failures.append(
                "{}: {}\n        {}".format(end, mutant["name"], key[2])
            )
            print(f"    {seconds:5.1f} s  {end:<9}  {mutant['name']}", flush=True)
            end = "survived"
        elif key in SURVIVORS and end == "caught":
            self.failures.append("caught, but in survivors.py: " + mutant["name"])
        self.count[end] += 1

    def row(self):
        """A line of the table."""
        words = ("caught", "timeout", "unviable", "explained", "survived")
        counts = "  ".join(f"{self.count[word]:>4} {word}" for word in words)
        print(f"{self.name:<16} {len(self.mutants):>4} of {self.of:>4}  {counts}")
        for failure in self.failures:
            print(f"    {failure}")


class Crate:
    """The parts of a crate, which are built together."""

    def __init__(self, parts, scratch):
        self.parts, self.scratch = parts, scratch
        area = parts[0].area
        programs = [(area.package, area.program)] if area.program else []
        if area.package == "stead":
            programs.append(("stead-cli", "all"))
        self.all = [(part, mutant) for part in parts for mutant in part.mutants]
        mutants = [mutant for _, mutant in self.all]
        mutants += [part.control() for part in parts]
        self.together = Together(area.package, programs, mutants, scratch)

    def together_go(self, workers):
        """Tries those that can be switched."""
        began = time.monotonic()
        together = self.together
        together.build()
        numbers = [index for index in together.numbers if index < len(self.all)]
        print(
            f"    {len(numbers)} of {len(self.all)} are built together, in "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
        for index in sorted(one for one in together.unviable if one < len(self.all)):
            part, mutant = self.all[index]
            part.ended(mutant, "unviable", 0)
        began = time.monotonic()
        together.look(workers)
        print(
            f"    {len(together.tests)} tests run alone, in {time.monotonic() - began:.0f} s; "
            f"left out: {sorted(together.left_out) or 'none'}",
            flush=True,
        )
        for index, part in enumerate(self.parts, len(self.all)):
            own = part.area.own()
            if index not in together.numbers or together.ends(index, own) != "caught":
                part.failures.append("the control was not noticed")
        shown = time.monotonic()

        def one(index):
            began = time.monotonic()
            own = self.all[index][0].area.own()
            return index, together.ends(index, own), time.monotonic() - began

        with ThreadPoolExecutor(workers) as pool:
            ends = pool.map(one, sorted(numbers))
            for done, (index, end, seconds) in enumerate(ends, 1):
                part, mutant = self.all[index]
                part.ended(mutant, end, seconds)
                if time.monotonic() - shown > 60:
                    shown = time.monotonic()
                    print(f"    {done} of {len(numbers)} tried", flush=True)

    def alone_go(self):
        """Tries the others, one build for each."""
        for part in self.parts:
            left = [
                mutant
                for index, (owner, mutant) in enumerate(self.all)
                if owner is part
                and index not in self.together.numbers
                and index not in self.together.unviable
            ]
            if not left:
                continue
            print(f"    {part.name}: {len(left)} are built one at a time", flush=True)
            alone = Alone(part.area, self.scratch)
            if alone.ends() != "survived":
                tools.refuse(f"{part.name}: the tests fail without a change")
            for mutant in left:
                began = time.monotonic()
                text = changed(read(os.path.join(TREE, mutant["file"])), mutant)
                end = tried(alone, mutant["file"], text)
                part.ended(mutant, end, time.monotonic() - began)


def key_of(mutant):
    """What survivors.py calls a mutant."""
    return described(read(os.path.join(TREE, mutant["file"])), mutant)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument(
        "--only",
        help="parts whose name has this in it; can be given several times",
        action="append",
    )
    parser.add_argument("--sample", type=int, help="so many mutants of a part")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at once")
    parser.add_argument(
        "--again", action="store_true", help="only those that survived the last run"
    )
    given = parser.parse_args()
    tools.program("cargo-mutants")
    with_tree_sitter()
    os.makedirs(OWN, exist_ok=True)
    with open(os.path.join(OWN, "lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            tools.refuse("make mutants runs already, and changes the same copy")
        with tempfile.TemporaryDirectory() as scratch:
            run_all(given, scratch)


def with_tree_sitter():
    """Starts the program again with the Python that has tree-sitter, if this one has not."""
    names = ("tree_sitter", "tree_sitter_rust")
    if all(importlib.util.find_spec(name) for name in names):
        return
    python = os.path.join(tools.ROOT, "target", "tools", "python")
    program = os.path.join(python, "bin", "python3")
    if os.path.exists(program) and sys.prefix != python:
        os.execv(program, [program, "-B", *sys.argv])
    tools.refuse(
        "tree-sitter is missing; install it: python3 -m venv target/tools/python && "
        "target/tools/python/bin/pip install tree-sitter tree-sitter-rust"
    )


def keep_survivors(parts):
    """Writes down which have survived so far, for --again."""
    with open(LAST, "w", encoding="utf-8") as file:
        json.dump([key for part in parts for key in part.survived], file, indent=1)


def run_all(given, scratch):
    """Tries what was asked for, prints the table, and ends the program."""
    copy_tree()
    again = None
    if given.again:
        if not os.path.exists(LAST):
            tools.refuse("no run has ended yet, so --again has nothing to try")
        again = {tuple(key) for key in json.loads(read(LAST))}
    only = given.only or [""]
    names = [name for name in AREAS if any(word in name for word in only)]
    parts = [Part(name, given, again) for name in names]
    parts = [part for part in parts if part.mutants]
    if not parts:
        tools.refuse("there is nothing to try")
    crates = []
    for package in sorted({part.area.package for part in parts}):
        of = [part for part in parts if part.area.package == package]
        print(f"== {package}: {', '.join(part.name for part in of)}", flush=True)
        crates.append(Crate(of, scratch))
        crates[-1].together_go(given.jobs)
        keep_survivors(parts)
    for crate in crates:
        crate.alone_go()
    keep_survivors(parts)
    for part in parts:
        part.row()
    failed = sum(len(part.failures) for part in parts)
    words = ("caught", "timeout", "explained")
    passed = sum(part.count[word] for part in parts for word in words)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
