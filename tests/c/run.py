"""Tests the C library from outside: its headers, its symbols, every function, threads,
forks, the cache of open maps, and memory.

    python3 tests/c/run.py [PART ...]     runs only these parts; each prints its name when it ends

In the plain run every check of a C program counts. Under valgrind and the sanitizers a
whole run of the suite counts as one.
"""

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import built
import headers
import memory
import statuses
import symbols
import tracing
from checking import GCC, MAPS, Done, Part, compiled, new_directory

ROUNDS = "10"
# random calls beside a model; STEAD_CALLS=1000000 for a long run
CALLS = os.environ.get("STEAD_CALLS") or "20000"
MODES = ["hammer", "first", "names", "publish", "control"]


def library(scratch, name, *options):
    """Returns a directory with libstead under the names that linker and loader use: as it
    is shipped, or built with these options.
    """
    there = os.path.join(built.libraries(), "libstead.so")
    if options:
        there = next(
            file
            for m in built.messages(
                ["build", "--locked", "-q", "-p", "stead-capi", *options]
            )
            for file in m.get("filenames", [])
            if os.path.basename(file) == "libstead.so"
        )
    directory = new_directory(scratch, name)
    for link in ("libstead.so", "libstead.so.1"):
        os.symlink(there, os.path.join(directory, link))
    return directory


def suite(part, scratch, programs):
    """Tests every function, with right and wrong arguments, and with little memory; and
    compares what they returned with what the header says.
    """
    directory = new_directory(scratch, "suite-run")
    done = Done([programs["suite"], directory, MAPS, ROUNDS])
    part.program("the suite", done)
    if os.environ.get("STEAD_EMULATED"):
        part.without("a limit of memory would be that of the emulator")
        statuses.check(part, done.text, without={"STEAD_MEMORY"})
    else:
        scarce = Done([programs["scarce"], new_directory(scratch, "scarce-run")])
        part.program("a process that may have hardly any more memory", scarce)
        refusing = Done([programs["refusing"], new_directory(scratch, "refusing-run")])
        part.program("an allocator that refuses one block after the other", refusing)
        for line in refusing.text.splitlines():
            if " blocks: " in line:
                part.say("  " + line)
        statuses.check(part, done.text + scarce.text)
    for line in done.text.splitlines():
        if line.startswith("part "):
            part.say("  " + line)


def forks(part, scratch, program):
    """Forks while threads work. The last mode is the control: it hangs, and the hang must
    be noticed.
    """
    for mode in MODES:
        part.program(
            f"forks, {mode}",
            Done([program, mode, new_directory(scratch, f"forks-{mode}"), ROUNDS]),
        )


def sequences(part, scratch, libraries):
    """Makes long sequences of random calls, beside a model of the library."""
    library = os.path.join(libraries, "libstead.so")
    for seed in ("1", "2"):
        words = [library, new_directory(scratch, f"model-{seed}"), seed, CALLS]
        done = Done([sys.executable, "-B", os.path.join(HERE, "model.py"), *words])
        part.program(f"random calls beside a model, seed {seed}", done)


def parts(scratch, libraries, faults, programs):
    """Returns (name, function) of each part; the longest first, since they run at once."""
    return [
        (
            "valgrind",
            lambda part: memory.valgrind(
                part,
                scratch,
                programs["suite"],
                programs["forks"],
                programs["controls"],
            ),
        ),
        (
            "sanitizers of gcc",
            lambda part: memory.sanitizers(part, scratch, libraries, GCC),
        ),
        (
            "sanitizers of clang",
            lambda part: memory.sanitizers(part, scratch, libraries, "clang"),
        ),
        ("forks", lambda part: forks(part, scratch, programs["forks"])),
        ("headers", lambda part: headers.check(part, scratch, libraries)),
        ("symbols", lambda part: symbols.check(part, scratch, libraries, faults)),
        ("suite", lambda part: suite(part, scratch, programs)),
        ("sequences", lambda part: sequences(part, scratch, libraries)),
        ("system calls", lambda part: tracing.check(part, scratch, libraries)),
    ]


def timed(name, body):
    """Runs a part and prints its output."""
    part, start = Part(name), time.monotonic()
    try:
        body(part)
    except (OSError, ValueError) as error:
        part.that(f"{name} runs", False, repr(error))
    part.say(
        f"== {name}: {part.passed} passed, {part.failed} failed, {part.skipped} "
        f"skipped, {time.monotonic() - start:.1f} s"
    )
    print("\n".join(part.lines), flush=True)
    return part


def main():
    """Builds the library, runs the parts at the same time, and prints the total."""
    with tempfile.TemporaryDirectory() as scratch:
        # a child of the suite runs as nobody, and must find its files
        os.chmod(scratch, 0o755)
        start = time.monotonic()
        libraries = library(scratch, "release")
        faults = library(
            scratch, "faults", "--profile", "faults", "--features", "faults"
        )
        programs = {
            name: os.path.join(scratch, name)
            for name in ("suite", "forks", "controls", "scarce", "refusing")
        }
        complaints = [
            compiled(programs["suite"], memory.SUITE, libraries),
            compiled(programs["forks"], ["forks.c", "check.c"], libraries),
            compiled(programs["controls"], ["controls.c"], libraries),
            compiled(programs["scarce"], ["scarce.c", "check.c"], libraries),
            compiled(programs["refusing"], ["refusing.c", "check.c"], libraries),
        ]
        print(f"== built in {time.monotonic() - start:.1f} s", flush=True)
        if any(complaints):
            print("".join(complaints) + "\n0 passed, 1 failed, 0 skipped")
            return 1
        wanted = [
            (name, body)
            for name, body in parts(scratch, libraries, faults, programs)
            if not sys.argv[1:] or any(word in name for word in sys.argv[1:])
        ]
        with ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
            done = list(pool.map(lambda one: timed(*one), wanted))
    passed, failed, skipped = (
        sum(getattr(part, count) for part in done)
        for count in ("passed", "failed", "skipped")
    )
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
