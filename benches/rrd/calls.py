#!/usr/bin/env python3
"""Counts the system calls of the RRD router per request, by kind, for each load of `make
bench-rrd`: a request is one update, or one BATCH. Run it with `make bench-rrd-calls`. It
needs root, and the program perf.

`recvfrom 2.0 (1.0)` are two calls a request, one of which found nothing (EAGAIN). The
counting slows the router down, so the rates are no figures of speed.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "rrd")]

from bench import LOADS, Bench
from machine import build, clean_up_when_told, disk
from systems import known

# Each event costs time whenever a thread goes to sleep, so these are not all of them.
CALLS = [
    "accept4",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_wait",
    "fdatasync",
    "fsync",
    "futex",
    "io_uring_enter",
    "madvise",
    "mprotect",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "sched_yield",
    "sendmsg",
    "sendto",
    "sync_file_range",
    "write",
    "writev",
]
# calls for which it is of interest how many found nothing; EAGAIN is -11
FILTERS = {"recvfrom": "ret==-11"}


def counted(pid, work):
    """Does the work; returns its result, and how often the process called each system
    call meanwhile: {name: [calls, of these with EAGAIN]}.
    """
    # all threads that run now; the router starts no more while it is loaded
    command = ["perf", "stat", "-x", ";", "-p", str(pid)]
    command += ["-e", "context-switches,raw_syscalls:sys_enter"]
    command += ["-e", ",".join(f"syscalls:sys_enter_{name}" for name in CALLS)]
    for name, condition in FILTERS.items():
        command += ["-e", f"syscalls:sys_exit_{name}", "--filter", condition]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as perf:
        time.sleep(1)  # until it has opened its counters
        result = work()
        perf.send_signal(signal.SIGINT)
        said = perf.communicate()[1]
    calls = {}
    for line in said.splitlines():
        count, _, event, *_ = line.split(";")
        if not count.isdigit():
            sys.exit(f"perf cannot count {event}: {line}")
        kind, _, name = event.partition(":sys_")[2].partition("_")
        if kind == "exit":
            calls[name][1] = int(count)
        elif event == "raw_syscalls:sys_enter":
            calls["all"] = [int(count), 0]
        else:
            calls[name or event] = [int(count), 0]
    return result, calls


def main():
    parser = argparse.ArgumentParser(
        prog="calls.py", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--copies", type=int, choices=[1, 2], default=2)
    parser.add_argument("--loads", default="", help="as of run.py")
    parser.add_argument("--router-args", help="as of run.py; default: each variant")
    parser.add_argument("--dir", default="/tmp")
    options = parser.parse_args()
    if not shutil.which("perf") or os.geteuid():
        sys.exit(
            "perf is not installed (on Debian: apt install linux-perf), or not root"
        )
    disk(Path(options.dir).resolve())
    clean_up_when_told()
    place = Path(tempfile.mkdtemp(prefix="stead-rrd-", dir=Path(options.dir).resolve()))
    try:
        programs = build(place)
        variants = known(programs["stead-rrd"])
        if options.router_args:
            variants = {"args": options.router_args}
        options.files, options.socket, options.compare = 2000, "tcp", None
        options.only, options.variants = list(variants), variants
        options.copies = [options.copies]
        bench = Bench(options, programs, place)
        for key, system in bench.systems.items():
            with system:
                bench.warm_up(key)
                print(f"{key[0]}, R = {key[1]}: system calls of the router a request")
                for name, clients, arguments in LOADS:
                    if options.loads in name:
                        show(name, *measure(bench, key, clients, arguments))
                print(flush=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(bench, key, clients, arguments):
    """Returns the figures of a load, and the calls."""
    seconds = ["--seconds", bench.options.seconds]
    return counted(
        bench.systems[key].router.pid,
        lambda: bench.load(key, clients, [*seconds, *arguments]),
    )


def show(name, found, calls):
    """Prints the calls of one load, the most frequent first."""
    requests, words = found["requests"], []
    switches = calls.pop("context-switches")[0]
    total = calls.pop("all")[0]
    calls["other"] = [total - sum(count for count, _ in calls.values()), 0]
    for call, (count, nothing) in sorted(calls.items(), key=lambda pair: -pair[1][0]):
        if count * 1000 >= total:
            some = f" ({nothing / requests:.2g})" if nothing else ""
            words.append(f"{call} {count / requests:.2g}{some}")
    print(
        f"{name}: {total / requests:.3g} calls, {switches / requests:.2g} context "
        f"switches ({found['answered']:,.0f} updates a second)\n  {', '.join(words)}"
    )


if __name__ == "__main__":
    main()
