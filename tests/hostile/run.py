"""Hostile maps and fleets: each gets the status that the pages of the format give it, and no
call takes more memory than it may.

    python3 tests/hostile/run.py [--long] [--only NAME] [--library LIBSTEAD.SO]

Maps of 2 MB with one broken rule and the right digest, the small ones of the vectors, and
fleets that are one mistake, repeated. The short form, of `make test`, takes a sample of the
maps, and fleets of 1 MiB; `--long`, of `make faults`, takes all maps, and fleets of 1, 16 and 63
MiB. For fleets it also prints which of them take the most memory for each byte.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, TESTS, os.path.join(TESTS, "reference")]
sys.dont_write_bytecode = True

import built
import damage
import fleets
import maps
from measured import Library, measure

STATUSES = {"format": 4, "digest": 5, "version": 6}
MEMORY = 17
# What a call may take: some bytes for itself, and so many times the input. (A map that is
# whole takes twice its size.)
SOME, TIMES, TIMES_FLEET = 512 << 10, 3, 4
SIZES_SHORT, SIZES_LONG = (1 << 20,), (1 << 20, 16 << 20, 63 << 20)
# every so many maps, in the short form
STEP = 5


class Tally:
    """Counts tests; each line that it prints is a table's row."""

    def __init__(self):
        self.passed = self.failed = 0

    def row(self, name, outcomes, wrong, seconds):
        """Counts and prints a row: of (bytes of the input, outcome) pairs."""
        self.passed += len(outcomes) - len(wrong)
        self.failed += len(wrong) + (not outcomes)
        size, most = max(outcomes, key=lambda one: one[1].peak)
        slow = max(outcome.seconds / size for size, outcome in outcomes if size)
        refused = sum(outcome.status != 0 for _, outcome in outcomes)
        print(
            f"{name:<26} {len(outcomes):>5} tries {refused:>5} refused {len(wrong):>3} failed  "
            f"at most {most.peak / 2**20:>6.1f} MiB ({most.peak / max(size, 1):>6.1f} x)  "
            f"{slow * 1e9:>7.1f} ns a byte {seconds:>6.1f} s",
            flush=True,
        )
        for line in wrong[:10]:
            print(f"    FAILED: {line}")

    def control(self, name, found):
        """Counts a control, which must have been found wrong."""
        self.passed, self.failed = self.passed + bool(found), self.failed + (not found)
        print(f"control: {name}: {found or 'FAILED: nothing was found'}", flush=True)


def room(size, is_fleet):
    """Returns how many bytes a call may take for an input of this size."""
    if not is_fleet:
        return SOME + TIMES * size
    return SOME + TIMES_FLEET * size


def judged(outcome, status, size, is_fleet=False):
    """Returns what is wrong with an outcome; empty when all is as it must be."""
    # a large text may be refused for the memory that it may need, before it is read
    is_early = is_fleet and size > 8 << 20 and outcome.status == MEMORY
    if outcome.status != status and not is_early:
        said = f"{outcome.status} {outcome.message}".strip()
        return f"status {said}, must be {status}"
    if status and not outcome.message:
        return f"status {status} without a message"
    if "\n" in outcome.message:
        return f"a message of several lines: {outcome.message!r}"
    most = room(size, is_fleet)
    if outcome.peak > most:
        return f"{outcome.peak} bytes of memory, may be {most}"
    return ""


def hungriest(taken):
    """Prints the fleets that take the most memory for each byte, and how many are above 4
    bytes for each; `taken` has (times, rule).
    """
    taken.sort(reverse=True)
    some = ", ".join(f"{times:.1f} x {rule}" for times, rule in taken[:5])
    above = sum(times > 4 for times, _ in taken)
    print(f"    {above} of {len(taken)} take more than 4 x the text: {some}")


def group(tally, library, name, inputs, is_fleet):
    """Measures inputs, given as (rule, bytes, status, call), and counts them."""
    begun, outcomes, wrong, taken = time.monotonic(), [], [], []
    for rule, data, status, call in inputs:
        outcome = measure(library, lambda data=data, call=call: call(data))
        outcomes.append((len(data), outcome))
        taken.append((outcome.peak / max(len(data), 1), rule))
        said = judged(outcome, status, len(data), is_fleet)
        if said:
            wrong.append(f"{rule}: {said}")
    tally.row(name, outcomes, wrong, time.monotonic() - begun)
    if is_fleet:
        hungriest(taken)


def large_map(library_directory, scratch):
    """Returns the bytes of the large map, which the program makes."""
    fleet, path = (
        os.path.join(scratch, "large.toml"),
        os.path.join(scratch, "large.map"),
    )
    with open(fleet, "wb") as file:
        file.write(maps.fleet())
    stead = os.path.join(library_directory, "stead")
    subprocess.run([stead, "apply", fleet, path], stdout=subprocess.DEVNULL, check=True)
    with open(path, "rb") as file:
        return file.read()


def vectors(library):
    """Yields the small hostile maps of the vectors."""
    with open(os.path.join(TESTS, "vectors", "damaged.json"), encoding="utf-8") as file:
        found = json.load(file)["vectors"]
    files = {}
    for vector in found:
        name = vector["map"]
        if name not in files:
            with open(os.path.join(TESTS, "maps", name + ".map"), "rb") as file:
                files[name] = file.read()
        data = damage.rebuild(files[name], vector)
        yield vector["comment"], data, STATUSES[vector["status"]], library.read


def texts(library, size):
    """Yields the hostile fleets, of about this many bytes."""
    for one in fleets.hostile():
        yield one.rule, one.bytes(size), one.status, library.build


def opened(library, scratch):
    """Returns a call that opens the bytes as a file, which is mapped when it is large."""
    path = os.path.join(scratch, "hostile.map")

    def call(data):
        with open(path, "wb") as file:
            file.write(data)
        return library.open(path)

    return call


def controls(tally, library, data):
    """What must be found wrong, or nothing else that is not found means anything."""
    accepted = measure(library, lambda: library.read(data))
    assert accepted.status == 0, f"the large map itself is refused: {accepted}"
    said = judged(accepted, maps.FORMAT, len(data))
    tally.control("a map that breaks no rule", said)
    small = maps.sealed(data[:1024])

    def hungry():
        return library.read(small) if bytearray(64 << 20) else None

    said = judged(measure(library, hungry), maps.FORMAT, len(small))
    tally.control("a call that takes 64 MiB", said)

    def endless():
        while True:
            pass

    said = judged(measure(library, endless, seconds=1), maps.FORMAT, len(small))
    tally.control("a call that never ends", said)
    greedy = measure(library, lambda: (len(bytes(2 << 30)), ""))
    tally.control("a call that takes 2 GiB", judged(greedy, maps.FORMAT, len(small)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--long", action="store_true", help="all maps, and large fleets"
    )
    parser.add_argument("--only", default="", help="only groups with this in the name")
    parser.add_argument(
        "--library", help="this libstead.so, with the program beside it"
    )
    options = parser.parse_args()
    path = options.library or os.path.join(built.libraries(), "libstead.so")
    library, tally = Library(path), Tally()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        data = large_map(os.path.dirname(path), scratch)
        controls(tally, library, data)
        some = lambda inputs: itertools.islice(
            inputs, 0, None, 1 if options.long else STEP
        )
        broken = lambda call: (
            (one.rule, one.bytes(data), one.status, call)
            for one in some(maps.hostile(data))
        )
        groups = [
            ("small maps", some(vectors(library)), False),
            ("large maps, bytes", broken(library.read), False),
            ("large maps, files", broken(opened(library, scratch)), False),
        ]
        for size in SIZES_LONG if options.long else SIZES_SHORT:
            groups.append((f"fleets of {size >> 10} KiB", texts(library, size), True))
        for name, inputs, is_fleet in groups:
            if options.only in name:
                group(tally, library, name, inputs, is_fleet)
    print(f"{tally.passed} passed, {tally.failed} failed, 0 skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
