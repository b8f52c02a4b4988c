"""Faults while maps are written: kills, errors and lies at each system call, many
writers at once, full disks, forks in every language while a map is replaced, and power
cuts. After each fault the exit code is held against what is on disk.

    python3 tests/faults/run.py [--long] [--seed N] [--only NAME] [--part PART]

The short form, of `make test`, takes a sample of the faults; `--long`, which is `make
faults`, takes all.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, TESTS, os.path.join(TESTS, "c")]
sys.dont_write_bytecode = True

import built
import checking
import disks
import forked
import powercuts
import scenes
import strace
import synced
import verdict
import writers

SEED = 23
# faults of each kind and scene in the short form
SAMPLE = 12
KINDS = ("kill", "errno", "lie")
PARTS = ("calls", "disks", "writers", "forks", "cuts")


class Tally:
    """Counts tests; each line that it prints is a table's row."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def row(self, name, tries, effect, wrong, seconds, note=""):
        """Counts and prints a row. A row whose faults took no effect has failed."""
        self.failed += len(wrong) + (tries > 0 and effect == 0)
        self.passed += tries - len(wrong)
        print(
            f"{name:<28} {tries:>6} tries {effect:>6} took effect {len(wrong):>4} failed "
            f"{seconds:>6.1f} s{note}",
            flush=True,
        )
        for line in wrong[:10]:
            print(f"    FAILED: {line}")

    def without(self, name, reason):
        """Counts what is not possible here."""
        self.skipped += 1
        print(f"{name}\nskipped: {reason}")


def programs(scratch):
    """Returns the program stead, and the program in C or why it cannot be made."""
    given = os.environ.get("STEAD_PROGRAMS")
    stead = os.path.join(given, "stead") if given else built.program()
    store = os.path.join(scratch, "store")
    if not shutil.which("gcc"):
        return stead, None, "gcc is missing (package gcc)"
    library = os.path.join(os.path.dirname(stead), "libstead.so")
    for name in ("libstead.so", "libstead.so.1"):
        os.symlink(library, os.path.join(scratch, name))
    said = checking.compiled(store, [os.path.join(HERE, "store.c")], scratch)
    return stead, None if said else store, said


def tried(scene, stead, scratch, fault):
    """Runs the scene's command with one fault; returns whether the fault took effect,
    the exit code, and what is wrong.
    """
    directory = tempfile.mkdtemp(dir=scratch)
    os.rmdir(directory)
    shutil.copytree(scene.start, directory)
    try:
        code, said, effect = strace.run(scene.command, fault, directory, scenes.ENV)
        wrong = ""
        if effect:
            wrong = verdict.judged(scene, stead, directory, code, fault)
    finally:
        shutil.rmtree(directory)
    what = f"{scene.name}: {fault.name} {fault.nth} {fault.inject}: {wrong}"
    return effect, code, wrong and f"{what} ({said.strip()})"


def calls(tally, stead, all_scenes, scratch, options):
    """The campaign of system calls."""
    chance = random.Random(options.seed)
    codes = Counter()
    for scene in all_scenes:
        if options.only not in scene.name:
            continue
        copy = os.path.join(scratch, "calls")
        shutil.copytree(scene.start, copy)
        found = list(strace.faults(strace.calls(scene.command, copy, scenes.ENV)))
        shutil.rmtree(copy)
        is_control = scene.name.startswith("control")
        for kind in KINDS:
            faults = [fault for fault in found if fault.kind == kind]
            if is_control and not faults:
                continue
            begun = time.monotonic()
            if not options.long and not is_control:
                faults = chance.sample(faults, min(SAMPLE, len(faults)))
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                going = [
                    pool.submit(tried, scene, stead, scratch, fault) for fault in faults
                ]
                done = [one.result() for one in going]
            effect = sum(effect for effect, _, _ in done)
            wrong = [wrong for _, _, wrong in done if wrong]
            seconds = time.monotonic() - begun
            name = f"{scene.name}, {kind}"
            if is_control:
                torn = [line for line in wrong if "torn" in line]
                # a map written in place must be found torn, or the judge is blind
                blind = [] if torn or kind != "kill" else ["no torn map was found"]
                note = f"  (a control: {len(torn)} torn maps found)"
                tally.row(name, len(done), effect, blind, seconds, note)
                continue
            codes.update(code for effect, code, _ in done if effect)
            tally.row(name, len(done), effect, wrong, seconds)
    print("exit codes:", ", ".join(f"{c}: {n}" for c, n in sorted(codes.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="try every fault")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help="only scenes with this in the name")
    parser.add_argument(
        "--part", default="", choices=["", *PARTS], help="only this part"
    )
    options = parser.parse_args()
    tally = Tally()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        stead, store, why = programs(scratch)
        if not store:
            tally.without("save and publish of the library", why)
        all_scenes = scenes.made(scratch, stead, store)
        wanted = lambda part: options.part in ("", part)
        reason = strace.why_not()
        if wanted("calls") and reason:
            tally.without("faults at system calls", reason)
        elif wanted("calls"):
            calls(tally, stead, all_scenes, scratch, options)
        if wanted("disks"):
            disks.campaign(tally, stead, all_scenes, scratch)
        if wanted("writers"):
            # the last one has an old map, a new map, and no history
            last = all_scenes[-1]
            writers.campaign(tally, stead, store, last, scratch, options.long)
        if wanted("forks"):
            forked.campaign(tally, stead, all_scenes[-1], scratch, options.long)
        if wanted("cuts"):
            sync = os.path.join(os.path.dirname(stead), "stead-sync")
            more = synced.made(scratch, stead, sync)
            powercuts.campaign(tally, stead, all_scenes + more, scratch, options)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
