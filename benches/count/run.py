#!/usr/bin/env python3
"""Counts many names with `stead locate --count` and `stead survey`, and says what that
costs: CPU seconds, time on the clock, and the most memory.

The names are made up by crates/stead-cli/examples/names.rs, of the lengths of real
ones (9.8 bytes in the mean). They come through a pipe, made while they are counted, and
as a file if the disk has room for it twice. The runs are interleaved: each round runs
each case once, in a rotated order. A figure is the median over the rounds, and a ratio
is the median of the rounds' ratios. Run it with `make bench-count`.

    run.py [--count N] [--rounds N] [--nodes N] [--directory DIRECTORY]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"), "release")
STEAD = os.path.join(RELEASE, "stead")
NAMES = os.path.join(RELEASE, "examples", "names")
# the mean name has 9.8 bytes and a newline; the file is not written unless this much is free
BYTES_A_NAME = 2 * 11


class Run:
    """A run of the program: its CPU seconds, seconds, memory in bytes, and answer."""

    def __init__(self, arguments, stdin, environment):
        begun = time.monotonic()
        self.memory = 0
        process = subprocess.Popen(
            [STEAD, *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        watch = threading.Thread(target=self.watch, args=[process.pid])
        watch.start()
        self.answer = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - begun
        watch.join()
        self.cpu = usage.ru_utime + usage.ru_stime
        if process.returncode:
            sys.exit(f"stead {' '.join(arguments)} failed: {process.returncode}")

    def watch(self, process):
        """Looks at the most memory that the process had, until it has ended. (The
        system's own answer at the end, ru_maxrss, includes Python before exec.)"""
        while True:
            try:
                with open(f"/proc/{process}/status", encoding="ascii") as status:
                    lines = dict(line.split(":", 1) for line in status)
            except OSError:
                return
            if "VmHWM" not in lines:
                return
            self.memory = 1024 * int(lines["VmHWM"].split()[0])
            time.sleep(0.02)


def through_a_pipe(count, arguments, environment):
    """Runs the program on names that are made meanwhile."""
    with subprocess.Popen([NAMES, str(count)], stdout=subprocess.PIPE) as names:
        run = Run(arguments, names.stdout, environment)
    if names.returncode:
        sys.exit("names failed")
    return run


def on_a_file(path, arguments, environment):
    """Runs the program on a file."""
    with open(path, "rb") as names:
        return Run(arguments, names, environment)


def with_map(directory, nodes):
    """Makes a map that grew in ten steps, so that its slices are like those of real
    maps."""
    fleet, members = (os.path.join(directory, name) for name in ("fleet.toml", "m.map"))
    for tenth in range(1, 11):
        with open(fleet, "w", encoding="ascii") as text:
            print('name = "bench"', file=text)
            for node in range(max(1, nodes * tenth // 10)):
                print(f'[[node]]\nname = "n{node:04}"', file=text)
        subprocess.run(
            [STEAD, "apply", fleet, members], check=True, stdout=subprocess.DEVNULL
        )
    return members


def cases(members, count, file):
    """{what: a function that runs it}. The first one is what the others are compared
    with."""
    one = ["locate", members, "--count", "--threads", "1"]
    two = ["locate", members, "--count", "--threads", "2"]
    survey = ["survey", "-", "--json", "--threads"]
    found = {}

    def case(what, arguments, environment):
        if file:
            found[f"{what}, file"] = lambda: on_a_file(file, arguments, environment)
        found[f"{what}, pipe"] = lambda: through_a_pipe(count, arguments, environment)

    case("locate --count, 1 thread", one, {})
    case("locate --count, 2 threads", two, {})
    if file:
        found["locate --count, 1 thread, STEAD_KERNEL=scalar, file"] = lambda: (
            on_a_file(file, one, {"STEAD_KERNEL": "scalar"})
        )
        found["survey, 1 thread, file"] = lambda: on_a_file(file, [*survey, "1"], {})
        found["survey, 2 threads, file"] = lambda: on_a_file(file, [*survey, "2"], {})
    return found


def main():
    """Runs all cases, and prints a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20_000_000, help="names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--directory", help="where the file of names is written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        members, file = with_map(directory, options.nodes), None
        if shutil.disk_usage(directory).free > BYTES_A_NAME * options.count:
            file = os.path.join(directory, "names")
            with open(file, "wb") as names:
                subprocess.run([NAMES, str(options.count)], check=True, stdout=names)
        else:
            print(f"no file of {options.count} names: the disk has no room for it")
        runs = {what: [] for what in cases(members, options.count, file)}
        for number in range(options.rounds):
            order = list(cases(members, options.count, file).items())
            turn = number % len(order)
            for what, run in order[turn:] + order[:turn]:
                runs[what].append(run())
        table(runs, options.count)


def table(runs, count):
    """Prints the medians, and the ratios to the first case. Different answers are an
    error."""
    answers = {
        (what.startswith("survey"), run.answer) for what in runs for run in runs[what]
    }
    if len(answers) > 2:
        sys.exit("the answers differ")
    print(f"{count} names; {os.cpu_count()} processors; medians")
    print(f"{'':58}{'CPU s':>8}{'ns/name':>9}{'ratio':>7}{'s':>8}{'MB':>6}")
    first = next(iter(runs.values()))
    for what, times in runs.items():
        cpu = statistics.median(run.cpu for run in times)
        ratio = statistics.median(run.cpu / base.cpu for run, base in zip(times, first))
        seconds = statistics.median(run.seconds for run in times)
        memory = max(run.memory for run in times) / 1e6
        print(
            f"{what:58}{cpu:8.2f}{cpu / count * 1e9:9.1f}{ratio:7.2f}{seconds:8.2f}"
            f"{memory:6.1f}"
        )


if __name__ == "__main__":
    main()
