"""Fuzzes what reads bytes of others, with libFuzzer and the targets of tools/fuzz. Started
by `make fuzz`. It goes on from what earlier runs reached (target/fuzz/corpus), and adds up their
executions (target/fuzz/executions.json).

It first runs a control, which only a guided engine can make fail. A failing input is kept,
and the last lines say how to see it again. Exit 1 when anything failed.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CARGO = os.environ.get("CARGO", "cargo")
BUILD = os.path.join(ROOT, "target", "fuzz")
COMMITTED = os.path.join(ROOT, "fuzz", "corpus")
FAILED = os.path.join(ROOT, "fuzz", "failed")
REACHED = os.path.join(BUILD, "corpus")
FOUND = os.path.join(BUILD, "found")
EXECUTIONS = os.path.join(BUILD, "executions.json")

# What cargo-fuzz gives rustc, too: the counters that guide the engine, and what it learns from
# comparisons. All of it works with a stable compiler.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Ccodegen-units=1",
]
COMPARISONS = ["-Cllvm-args=-sanitizer-coverage-trace-compares"]

# One input may take this long and this much memory (the program itself takes 60 MiB). libFuzzer
# also counts the time in which other programs compute, so a run with --nice gets more of it.
SECONDS_EACH, SECONDS_NICE, MEMORY = 10, 120, 1024

# Targets whose bytes only choose what is done next, and which then compute long. What the engine
# learns from comparisons helps little there, and takes much of the time. And they reach so many
# places of the code that libFuzzer takes longer to weigh an input, by how seldom others reach the
# same, than to run it. Without both they reach more in the same time, and the other targets less.
WIDE = ("c_calls", "changes", "map_changes", "outages", "part_changes")

# The control is found within some 100,000 executions.
CONTROL_SECONDS = 120

# The most inputs of a target, and the most bytes of one, that are committed.
KEPT, KEPT_BYTES = 40, 2500


def host():
    """The target triple of this machine."""
    rustc = os.environ.get("RUSTC", "rustc")
    said = subprocess.run(
        [rustc, "-vV"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return re.search(r"^host: (\S+)", said, re.MULTILINE)[1]


def build(names):
    """Builds the programs of these targets; returns {name: path}."""
    print("== building the targets (the first time some minutes)", flush=True)
    triple = host()
    flags = {
        BUILD: COVERAGE + COMPARISONS,
        os.path.join(BUILD, "wide"): COVERAGE,
    }
    programs = {}
    for name in names:
        programs[name] = os.path.join(BUILD, "wide") if name in WIDE else BUILD
    for place in sorted(set(programs.values())):
        # with --target, build scripts and macros are built without the counters
        subprocess.run(
            [CARGO, "build", "--release", "--locked", "-q", "--target", triple]
            + ["--manifest-path", "fuzz/Cargo.toml", "--target-dir", place],
            cwd=ROOT,
            env={**os.environ, "RUSTFLAGS": " ".join(flags[place])},
            check=True,
        )
    built = os.path.join(triple, "release", "target")
    return {name: os.path.join(place, built) for name, place in programs.items()}


def targets():
    """{name: (directories of more seeds, the longest input)}, from the sources."""
    with open(os.path.join(ROOT, "tools/fuzz/src/lib.rs"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for seeds, name, longest in re.findall(
        r'(?:seeds: &\[([^\]]*)\],\s*\.\.)?target\("(\w+)", [\w:]+, (\d+)\)', text
    ):
        found[name] = (re.findall(r'"([^"]+)"', seeds), int(longest))
    return found


def files(directory):
    """The paths of the files of a directory; none where there is no such directory."""
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    return [os.path.join(directory, name) for name in names]


def begins(path, wanted):
    """Whether a file begins with these bytes."""
    with open(path, "rb") as file:
        return file.read(len(wanted)) == wanted


# The engines at work, and whether they were told to end. Told by SIGINT, an engine still says what
# it did, and ends with this code.
WORKING, STOPPING, INTERRUPTED = set(), threading.Event(), 72


def stop(number=None, frame=None):
    """Ends all engines; what they have done counts."""
    STOPPING.set()
    for child in list(WORKING):
        child.send_signal(signal.SIGINT)


def give_way(child):
    """Lets every other session have the processor first. Linux divides the processor between
    sessions, and `nice` only says who goes first within one.
    """
    with (
        contextlib.suppress(OSError),
        open(f"/proc/{child.pid}/autogroup", "w", encoding="ascii") as file,
    ):
        file.write("19")


class Run:
    """One run of one target."""

    def __init__(self, program, name, seconds, nice, most=0, longest=0):
        """Runs for `seconds`, or until `most` executions, if that is not 0. No input has more than
        `longest` bytes, if that is not 0, nor more than the target says.
        """
        self.name = name
        self.in_all = 0
        seeds, most_bytes = targets()[name]
        longest = min(longest or most_bytes, most_bytes)
        own = os.path.join(REACHED, name)
        found = os.path.join(FOUND, name)
        for place in (own, found):
            os.makedirs(place, exist_ok=True)
        read = [os.path.join(COMMITTED, name), os.path.join(FAILED, name)]
        read += [os.path.join(ROOT, seed) for seed in seeds]
        before = set(files(found))
        began = time.monotonic()
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen(
                ["nice", "-n", str(nice), program, f"-max_total_time={seconds}"]
                + [f"-timeout={SECONDS_NICE if nice else SECONDS_EACH}"]
                + [f"-runs={most or -1}", f"-rss_limit_mb={MEMORY}"]
                + [f"-max_len={longest}", f"-artifact_prefix={found}/"]
                + [
                    "-print_final_stats=1",
                    "-reload=0",
                    f"-entropic={int(name not in WIDE)}",
                ]
                + [own]
                + [place for place in read if os.path.isdir(place)],
                cwd=ROOT,
                env={**os.environ, "STEAD_FUZZ": name, "RUST_BACKTRACE": "1"},
                stdout=subprocess.DEVNULL,
                stderr=said,
                # so ^C in a terminal reaches this program alone, which then ends the engines
                start_new_session=True,
            )
            WORKING.add(child)
            if nice:
                give_way(child)
            if STOPPING.is_set():
                child.send_signal(signal.SIGINT)
            # how long it computed; on a busy machine that is less than the time that passed
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            WORKING.discard(child)
            said.seek(0)
            self.said = said.read().decode("utf-8", "replace")
        self.seconds = time.monotonic() - began
        self.processor = used.ru_utime + used.ru_stime
        self.failed = sorted(set(files(found)) - before)
        interrupted = STOPPING.is_set() and child.returncode == INTERRUPTED
        self.ended_well = child.returncode == 0 or interrupted
        last = re.findall(r"^#(\d+)\s.* cov: (\d+) ft: (\d+)", self.said, re.MULTILINE)
        self.reached = int(last[-1][1]) if last else 0
        stat = re.findall(r"^stat::(\w+):\s+(\d+)", self.said, re.MULTILINE)
        stat = {name: int(value) for name, value in stat}
        self.memory = stat.get("peak_rss_mb", 0)
        self.slowest = stat.get("slowest_unit_time_sec", 0)
        counted = stat.get("number_of_executed_units", int(last[-1][0]) if last else 0)
        self.executions = counted

    def line(self):
        """What it did, in a line."""
        each = self.executions / max(self.seconds, 0.001)
        text = (
            f"{self.name:16}{self.executions:>12,}{each:>10,.0f}{self.reached:>8,}"
            f"{self.memory:>6}{self.in_all:>14,}"
        )
        return text if self.ended_well else text + "  FAILED"


def earlier():
    """{name: (executions, seconds of one processor)} of all runs before."""
    if not os.path.exists(EXECUTIONS):
        return {}
    with open(EXECUTIONS, encoding="utf-8") as file:
        return json.load(file)


def added(run):
    """Adds a run to those before it, in EXECUTIONS; returns the executions of all."""
    sums = earlier()
    executions, processor = sums.get(run.name, (0, 0))
    sums[run.name] = (executions + run.executions, processor + run.processor)
    with open(EXECUTIONS + ".new", "w", encoding="utf-8") as file:
        json.dump(sums, file, indent=1, sort_keys=True)
    os.replace(EXECUTIONS + ".new", EXECUTIONS)
    return sums[run.name][0]


def minimize(programs, names):
    """Takes the fewest inputs that reach everything that was reached into fuzz/corpus: at
    most KEPT of at most KEPT_BYTES each.
    """
    for name in names:
        merged = os.path.join(BUILD, "merged", name)
        shutil.rmtree(merged, ignore_errors=True)
        os.makedirs(merged)
        own, kept = os.path.join(REACHED, name), os.path.join(COMMITTED, name)
        subprocess.run(
            [
                programs[name],
                "-merge=1",
                f"-max_len={KEPT_BYTES}",
                f"-timeout={SECONDS_EACH}",
            ]
            + [merged]
            + [place for place in (kept, own) if os.path.isdir(place)],
            cwd=ROOT,
            env={**os.environ, "STEAD_FUZZ": name},
            stderr=subprocess.DEVNULL,
            check=False,
        )
        shutil.rmtree(kept, ignore_errors=True)
        os.makedirs(kept)
        # spread over the sizes: small ones reach the beginnings, large ones the rest
        all_files = sorted(files(merged), key=os.path.getsize)
        step = max(1, -(-len(all_files) // KEPT))
        chosen = all_files[step - 1 :: step] or all_files
        for path in chosen[:KEPT]:
            shutil.copy(path, kept)
        print(f"{name:16}{len(all_files):>6} inputs, {min(len(chosen), KEPT)} kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument(
        "--seconds", type=int, default=60, help="for each target (%(default)s)"
    )
    parser.add_argument(
        "--executions",
        type=int,
        default=0,
        help="end a target when it has had so many in all runs (default: never)",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="targets at once (%(default)s)"
    )
    parser.add_argument(
        "--longest",
        type=int,
        default=0,
        metavar="BYTES",
        help="of an input (default: as each target says); shorter ones are more in the same time",
    )
    parser.add_argument("--nice", type=int, default=0, help="(%(default)s)")
    parser.add_argument(
        "--minimize",
        action="store_true",
        help="instead: write the fewest inputs that reach the most into fuzz/corpus",
    )
    parser.add_argument("--list", action="store_true", help="lists the targets")
    options = parser.parse_args()
    known = [name for name in targets() if name != "control"]
    if options.list:
        print("\n".join(known))
        return
    strange = set(options.targets) - set(known)
    if strange:
        sys.exit(f"there is no target {', '.join(sorted(strange))}; see --list")
    names = options.targets or known
    programs = build(["control", *names])
    if options.minimize:
        minimize(programs, names)
        return
    for place in (REACHED, FOUND):
        shutil.rmtree(os.path.join(place, "control"), ignore_errors=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    control = Run(programs["control"], "control", CONTROL_SECONDS, options.nice)
    if STOPPING.is_set():
        sys.exit("ended before any target began")
    guided = any(begins(path, b"stead!") for path in control.failed)
    word = "fails, as it must" if guided else "DOES NOT FAIL: the engine is not guided"
    print(f"control: {word}, after {control.executions:,} executions", flush=True)
    print(f"{len(names)} targets, {options.seconds} s each, {options.jobs} at once")
    print(
        "target           executions  a second   edges   MiB        in all", flush=True
    )
    lock = threading.Lock()

    def run(name):
        if STOPPING.is_set():
            return None
        most = options.executions
        if most:
            most -= earlier().get(name, (0, 0))[0]
            if most <= 0:
                print(f"{name:16}had {options.executions:,} executions before")
                return None
        done = Run(
            *(programs[name], name, options.seconds, options.nice),
            *(most, options.longest),
        )
        with lock:
            done.in_all = added(done)
            print(done.line(), flush=True)
        return done

    with ThreadPoolExecutor(options.jobs) as pool:
        runs = [run for run in pool.map(run, names) if run]
    bad = [run for run in runs if not run.ended_well]
    for one in bad:
        print(f"\n== {one.name}")
        said = [line for line in one.said.splitlines() if not line.startswith("#")]
        # the panic comes first, and a long trace after it
        why = [at for at, line in enumerate(said) if "panicked at" in line]
        shown = said[-30:] if not why else [*said[why[0] : why[0] + 3], *said[-27:]]
        print("\n".join(shown))
        for path in one.failed:
            path = os.path.relpath(path, ROOT)
            print(f"see it again: STEAD_FUZZ={one.name} {programs[one.name]} {path}")
            print(f"keep it:      cp {path} fuzz/failed/{one.name}/  (and mend it)")
    total = sum(run.executions for run in runs)
    seconds = sum(run.processor for run in runs)
    print(f"{total:,} executions in {seconds / 3600:.2f} hours of one processor")
    failed = len(bad) + (not guided)
    print(f"{len(runs) - len(bad) + guided} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
