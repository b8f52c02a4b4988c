#!/usr/bin/env python3
"""Measures the cost of stead in PHP: of locating a key, and of a page under nginx and
php-fpm. Run it with `make bench-php`.

Keys: locate.php times the candidates; a process with the extension and one with FFI take
turns, without and with PHP's JIT. The figures are medians of the CPU time per key; a
ratio is the median of the rounds' ratios to md5() in the same process.

Page: wrk requests examples/php/fpm/where.php and the same page without stead
(without.php) in turns, in each way of allowing FFI. The ratio is the median of the
rounds' ratios.

System calls: both pages run under strace, which shows the calls of a request to a
worker that is warm.

    run.py [--rounds N] [--keys N] [--web-rounds N] [--seconds S] [--requests N] [--ways WAY...]
           [--only keys|page|calls]
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests"
sys.path[:0] = [
    str(TESTS),
    str(TESTS / "web"),
    str(TESTS / "php"),
    str(TESTS / "reference"),
]

import fpm_server
from built import libraries, script
from web_publisher import Publisher

PHP = os.environ.get("PHP", "php")
NODES = (10, 100, 1000)
MD5 = "md5($key, true)"
WAYS = ("extension", "pool", "preload", "scope", "enable")
OPCACHE = ["-d", "opcache.enable_cli=1", "-d"]
MODES = {
    "without JIT": [*OPCACHE, "opcache.jit=0"],
    "with JIT": [*OPCACHE, "opcache.jit=tracing", "-d", "opcache.jit_buffer_size=64M"],
}
# one script serves both pages, so that nginx and php-fpm do the same work for both
PAGE = (
    "<?php\nrequire __DIR__ . (str_starts_with($_SERVER['REQUEST_URI'], '/where/') ? "
    "'/where.php' : '/without.php');\n"
)


def table(lines):
    """Prints lines of words in columns; only the first column is aligned to the left."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    for line in lines:
        print(
            "  ".join(
                [
                    line[0].ljust(widths[0]),
                    *(word.rjust(width) for word, width in zip(line[1:], widths[1:])),
                ]
            ).rstrip()
        )
    print(flush=True)


def started(backend, settings, environment, count):
    """Starts locate.php with the extension or with FFI; it answers a round per line."""
    options = (
        ["-d", f"extension={script('php-extension').build()}"]
        if backend == "extension"
        else []
    )
    return subprocess.Popen(
        [PHP, *settings, *options, str(HERE / "locate.php"), str(count)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def keys(options):
    """Measures locating a key: a process with the extension and one with FFI take
    turns.
    """
    environment = dict(
        os.environ, STEAD_LIBRARY=os.path.join(libraries(), "libstead.so")
    )
    for mode, settings in MODES.items():
        running = {
            backend: started(backend, settings, environment, options.keys)
            for backend in ("extension", "ffi")
        }
        times, last = {}, {}
        for nodes in NODES:
            for number in range(-1, options.rounds):
                order = sorted(running, reverse=bool(number % 2))
                for backend in order:
                    running[backend].stdin.write(f"{nodes} {number + 1}\n")
                    running[backend].stdin.flush()
                    last = json.loads(running[backend].stdout.readline())
                    assert last["backend"] == backend
                    for name, taken in last["ns"].items():
                        # the first round warms up
                        if number >= 0:
                            times.setdefault((backend, name), {}).setdefault(
                                nodes, []
                            ).append(taken)
        for process in running.values():
            process.stdin.close()
            process.wait()
        if last["jit"] != (mode == "with JIT"):
            print(f"skipped: keys {mode}, php.ini or the processor decides otherwise\n")
            continue
        print(
            f"PHP {last['php']} {mode}, {options.keys} keys, medians of "
            f"{options.rounds} rounds in turns; ratio: to md5() in the same process\n"
        )
        lines = [
            [
                "CPU time of a key",
                *(word for nodes in NODES for word in (f"{nodes} nodes", "ratio")),
            ]
        ]
        for (backend, name), taken in times.items():
            lines.append([f"{backend}: {name}"])
            for nodes in NODES:
                if nodes in taken:
                    base = times[backend, MD5][nodes]
                    ratio = statistics.median(a / b for a, b in zip(taken[nodes], base))
                    lines[-1] += [
                        f"{statistics.median(taken[nodes]):.0f} ns",
                        f"{ratio:.2f}",
                    ]
                else:
                    lines[-1] += ["-", "-"]
        table(lines)


class Site:
    """A context manager: a server with the two pages and a published map, for one way
    of allowing FFI.
    """

    def __init__(self, way, **options):
        self.place = Path(tempfile.mkdtemp(prefix="stead-bench-"))
        self.place.chmod(0o755)
        try:
            (self.place / "own").mkdir()
            (self.place / "own").chmod(0o777)
            Publisher(self.place).publish(6)
            self.server = fpm_server.FpmServer(
                self.place, way, page="page.php", **options
            )
            (self.place / "page.php").write_text(PAGE)
            shutil.copyfile(HERE / "without.php", self.place / "without.php")
            # opcache does not cache files that are younger than 2 seconds
            # (opcache.file_update_protection)
            for file in self.place.rglob("*.php"):
                os.utime(file, (time.time() - 60,) * 2)
        except BaseException:
            shutil.rmtree(self.place, ignore_errors=True)
            raise

    def __enter__(self):
        return self.server.__enter__()

    def __exit__(self, *_):
        try:
            self.server.__exit__()
        finally:
            shutil.rmtree(self.place, ignore_errors=True)


def ask(server, kind, times=1):
    """Sends one request after the other; each must be answered."""
    for number in range(times):
        with urlopen(
            "http://{}:{}/{}/member{}".format(*server.address, kind, number), timeout=60
        ) as answer:
            assert json.load(answer)["node"]


def spent(server):
    """The CPU seconds that all workers have used so far: the first number of schedstat,
    in nanoseconds. The ticks of /proc/PID/stat, of 10 ms, miss the short requests.
    """
    return sum(
        int(Path(f"/proc/{worker}/schedstat").read_text().split()[0]) / 1e9
        for worker in server.workers()
    )


def rate(server, kind, seconds):
    """Returns the requests per second, and the workers' CPU microseconds per request."""
    before = spent(server)
    url = "http://{}:{}/{}/frank".format(*server.address, kind)
    said = subprocess.run(
        [
            fpm_server.find("wrk"),
            "-t",
            "1",
            "-c",
            "8",
            "-d",
            f"{seconds}s",
            "--timeout",
            "60s",
            url,
        ],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    asked = int(re.search(r"(\d+) requests in", said)[1])
    return float(re.search(r"Requests/sec: +([\d.]+)", said)[1]), (
        spent(server) - before
    ) / asked * 1e6


def page(options):
    """Measures requests per second with and without stead."""
    print(
        f"A page under nginx and php-fpm, 3 workers, {options.web_rounds} rounds of "
        f"{options.seconds} s each, in turns\n"
    )
    lines = [
        [
            "way of allowing FFI",
            "with stead",
            "without",
            "ratio",
            "CPU of a request",
            "without",
            "more",
            "ratio",
        ]
    ]
    for way in options.ways:
        with Site(way) as server:
            for kind in ("where", "without"):
                ask(server, kind, 50)
            rounds = []
            for number in range(options.web_rounds):
                order = ("where", "without") if number % 2 else ("without", "where")
                rounds.append(
                    {kind: rate(server, kind, options.seconds) for kind in order}
                )
        rates, costs = (
            {
                kind: statistics.median(one[kind][at] for one in rounds)
                for kind in ("where", "without")
            }
            for at in (0, 1)
        )
        ratio = statistics.median(one["where"][0] / one["without"][0] for one in rounds)
        more = statistics.median(one["where"][1] - one["without"][1] for one in rounds)
        lines.append(
            [
                way,
                f"{rates['where']:.0f}/s",
                f"{rates['without']:.0f}/s",
                f"{ratio:.3f}",
                f"{costs['where']:.0f} us",
                f"{costs['without']:.0f} us",
                f"{more:.1f} us",
                f"{statistics.median(one['where'][1] / one['without'][1] for one in rounds):.3f}",
            ]
        )
    table(lines)


def requests_of(trace):
    """The names of the system calls of each request: the calls between one accept of
    the worker and the next.
    """
    found = []
    for line in trace.splitlines():
        # "12345 accept(...) = 5", or only its second half, "12345 <... accept
        # resumed>...": strace may write a call in which a worker waits in two lines
        if re.match(r"\d+ +(accept4?\(|<\.\.\. accept)", line):
            if "unfinished" not in line:
                found.append([])
        elif found and (call := re.match(r"\d+ +(\w+)\(", line)):
            found[-1].append(call[1])
    return found


def calls(options):
    """Shows the system calls of a request with and without stead."""
    lines = [
        ["way of allowing FFI", "without", "with stead", "the calls that come to it"]
    ]
    for way in options.ways:
        with Site(
            way, workers=1, before=["strace", "-f", "-qq", "-o", "trace"]
        ) as server:
            # these requests do the work that is done once: opcache reads files, the map
            # is opened
            for kind in ("where", "without"):
                ask(server, kind, 20)
            for kind in ("without", "where"):
                ask(server, kind, options.requests)
            server.__exit__()
            by_request = requests_of(
                (server.place / "trace").read_text("utf-8", "replace")
            )[-2 * options.requests :]
        assert len(by_request) == 2 * options.requests, (
            f"strace saw {len(by_request)} requests"
        )
        # the calls are the same in most requests; now and then PHP also checks whether
        # a script has changed
        without, where = (
            Counter(map(tuple, part)).most_common(1)[0][0]
            for part in (by_request[: options.requests], by_request[options.requests :])
        )
        more = Counter(where)
        more.subtract(Counter(without))
        lines.append(
            [
                way,
                str(len(without)),
                str(len(where)),
                ", ".join(
                    f"{count} {name}" for name, count in sorted(more.items()) if count
                ),
            ]
        )
    print(f"System calls of a request, as in most of {options.requests}\n")
    table(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--web-rounds", type=int, default=11)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--only", choices=("keys", "page", "calls"))
    options = parser.parse_args()
    wanted = lambda part: options.only in (None, part)
    if wanted("keys"):
        keys(options)
    lacking = fpm_server.why_not()
    for part, run, why in (
        ("page", page, lacking),
        (
            "calls",
            calls,
            lacking or (None if shutil.which("strace") else "strace not installed"),
        ),
    ):
        if wanted(part):
            print(f"skipped: {part}, {why}\n") if why else run(options)


if __name__ == "__main__":
    main()
