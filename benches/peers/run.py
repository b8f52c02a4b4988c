#!/usr/bin/env python3
"""Times stead and what users of each language would pick instead, on the same user names
and in turns. Run it with `make bench`.

Each language has a process (workers.py), and each round asks every candidate of every
language once; the order rotates from round to round. A figure is the median of the CPU
time per key, and a ratio is the median of the rounds' ratios to the single call of stead
with md5 in the same language. Afterwards the candidates are asked what they can do
(checks.py). Writes the tables and the picture of docs/measuring.md.

    run.py [--quick] [--rounds N] [--keys N] [--only LANGUAGE ...] [--write | --no-write]
    run.py --again          makes tables and picture again, from the last whole run
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time
from pathlib import Path

import candidates
import chart
import checks
import clusters
import tables
import workers

ROOT = workers.ROOT
RESULTS = workers.TARGET / "results.json"
PAGE, PICTURE = ROOT / "docs" / "measuring.md", ROOT / "docs" / "measuring.svg"


class Progress:
    """A line that says how far the run is and how long it will take: on a terminal
    always the same line, elsewhere a new one every 20 seconds.
    """

    def __init__(self):
        self.start = self.last = time.monotonic()

    def say(self, what, done=0.0):
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if done and not terminal and now - self.last < 20:
            return
        self.last = now
        left = ""
        if done:
            seconds = (now - self.start) / done * (1 - done)
            left = f", {100 * done:.0f} %, {seconds:.0f} s left"
        end = "\x1b[K\r" if terminal else "\n"
        print(f"== {what}{left}", end=end, file=sys.stderr, flush=True)

    def begin(self):
        self.start = self.last = time.monotonic()


def names(count):
    """Returns the path of the list of user names, which is made once."""
    path = workers.TARGET / f"names-{count}"
    if not path.exists():
        program = ROOT / "examples" / "names" / "make_names.py"
        workers.run([sys.executable, program, path, "--count", count])
    return path


def start(languages, keys, progress):
    """Returns ({language: worker}, {language: why there is none})."""
    started, missing = {}, {}
    for language in languages:
        progress.say(f"building the worker for {language}")
        try:
            # PHP's extension loads this library
            environment = {"STEAD_LIBRARY": str(workers.library())}
            started[language] = workers.Worker(
                workers.MAKERS[language](), keys, environment
            )
        except (workers.Missing, SystemExit) as why:
            missing[language] = str(why)
    return started, missing


def build(running, rows, size, missing):
    """Builds every candidate for a cluster; returns those that could be built."""
    built = []
    path = clusters.TIMED[size].path
    for row in rows:
        worker = running[row.language]
        right, said = worker.ask("build", row.name, path)
        if right:
            built.append(row)
            continue
        missing.setdefault(row.key, {})[size] = said
        if not worker.alive:  # it took the others of its language with it
            for other in built:
                if other.language == row.language:
                    assert worker.ask("build", other.name, path)[0], other.key
    return built


def asked(worker, row, first, count):
    """Times a candidate; returns nanoseconds."""
    right, said = worker.ask("time", row.name, first, count)
    if not right:
        sys.exit(f"stead: {row.key}: {said}")
    return int(said)


def measure(running, rows, options, keys, progress):
    """Returns {key of a candidate: {size: [ns a key, for each round]}}, and why some
    could not be built.
    """
    times, missing = {}, {}
    draw = random.Random(18)  # a fixed seed; the parts of the list differ by round
    done, whole = 0, len(clusters.SIZES) * (options.rounds + 2)
    progress.begin()
    for size in clusters.SIZES:
        progress.say(f"{size} nodes, building", done / whole)
        built = build(running, rows, size, missing)
        done += 1
        counts = {}
        for number in range(-1, options.rounds):
            progress.say(f"{size} nodes, round {number + 1}", done / whole)
            done += 1
            turn = (number * 7) % len(built)
            for row in built[turn:] + built[:turn]:
                worker = running[row.language]
                if number < 0:
                    # warms up, and tells how many keys the candidate gets
                    few = min(keys, 200)
                    asked(worker, row, 0, few)
                    one = max(1, asked(worker, row, 0, few) / few)
                    counts[row.key] = min(keys, max(200, int(options.budget / one)))
                    continue
                count = counts[row.key]
                first = draw.randrange(keys - count + 1)
                taken = asked(worker, row, first, count)
                times.setdefault(row.key, {}).setdefault(size, []).append(taken / count)
    return times, missing


def agree(running, rows):
    """Asserts that all calls of stead in all languages give the same nodes."""
    answers = {}
    for row in rows:
        if row.kind == "stead" or row.name.startswith("pure "):
            found, why = checks.placed(
                running[row.language], row.name, clusters.TIMED[100], 20_000
            )
            assert not why, f"{row.key}: {why}"
            hash = row.name.split()[-1] if row.kind == "stead" else "md5"
            assert answers.setdefault(hash, found) == found, f"{row.key} differs"
    return len(answers)


def machine():
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    of = lambda name: next(
        (line.partition(": ")[2] for line in lines if line.startswith(name)), ""
    )
    flags = set(of("flags").split())
    vectors = [flag for flag in ("avx2", "avx512bw", "sha_ni") if flag in flags]
    version = lambda *command: subprocess.run(
        command, stdout=subprocess.PIPE, encoding="utf-8", check=False
    ).stdout.strip()
    said = {
        "processor": of("model name"),
        "vectors": ", ".join(vectors) or "none of AVX2, AVX-512 and SHA-NI",
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "rustc": version(os.environ.get("RUSTC", "rustc"), "--version"),
        "cc": version("cc", "-dumpfullversion"),
    }
    if kernel := os.environ.get("STEAD_KERNEL"):
        said["kernel"] = kernel
    return said


def versions(running, rows):
    return {row.key: running[row.language].ask("version", row.name)[1] for row in rows}


def check_all(running, rows, options, progress):
    """What each candidate can do, as {key: checks.check}. One row of stead is enough in
    a language, since all give the same nodes.
    """
    wanted = [
        row
        for row in rows
        if (row.kind == "peer" and not row.batch)
        or row.key == candidates.base(row.language)
    ]
    progress.begin()
    found = {}
    for done, row in enumerate(wanted):
        progress.say(f"checking what {row.key} can do", done / len(wanted))
        found[row.key] = checks.check(
            running[row.language], row.name, options.check_keys
        )
    return found


def whole_run(options):
    """Measures and checks; returns the results."""
    progress = Progress()
    workers.TARGET.mkdir(parents=True, exist_ok=True)
    progress.say("user names and maps")
    keys = names(options.keys)
    clusters.publish_all(workers.built.program())
    running, lacking = start(options.only, keys, progress)
    rows = [row for row in candidates.CANDIDATES if row.language in running]
    if not rows:
        sys.exit("stead: no language is left: " + "; ".join(lacking.values()))
    try:
        agree(running, rows)
        times, missing = measure(running, rows, options, options.keys, progress)
        return {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": machine(),
            "keys": options.keys,
            "check_keys": options.check_keys,
            "rounds": options.rounds,
            "times": times,
            "missing": missing,
            "lacking": lacking,
            "versions": versions(running, rows),
            "checks": check_all(running, rows, options, progress),
        }
    finally:
        for worker in running.values():
            worker.stop()


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="some 2 minutes")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=candidates.LANGUAGES)
    parser.add_argument("--again", action="store_true")
    parser.add_argument(
        "--write",
        action=argparse.BooleanOptionalAction,
        help="write docs/measuring.md; the default for a whole run",
    )
    options = parser.parse_args()
    whole = not (options.quick or options.only or options.rounds)
    if options.write is None:
        options.write = whole
    options.rounds = options.rounds or (3 if options.quick else 15)
    # the CPU nanoseconds that a candidate gets in a round
    options.budget = 20e6 if options.quick else 250e6
    options.check_keys = min(options.keys, 50_000 if options.quick else 400_000)
    options.only = options.only or candidates.LANGUAGES
    return options


def main():
    options = parsed()
    if options.again:
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
        options.write = True
    else:
        # a copy as it will be read back: the keys of JSON are texts
        results = json.loads(json.dumps(whole_run(options)))
        if options.write:
            RESULTS.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print("\n".join(tables.page(results)))
    print("\n".join(tables.goals(results)))
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(tables.into(text, results), encoding="utf-8")
        PICTURE.write_text("\n".join(chart.svg(results)) + "\n", encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)} and {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
