#!/usr/bin/env python3
"""Measures updates per second through the RRD router, against one rrdcached, and
against a client that writes two rrdcached itself. Run it with `make bench-rrd`.

Real rrdcached servers, and routers in a release build with the log on a real disk, run
at the same time on loopback. One client program (client/load.c) loads them, one at a
time and in turns, so that other work on the machine affects all of them alike. Figures
are medians of the rounds; a ratio is the median of the rounds' ratios.

`answered` is the rate at which clients get answers, `delivered` the rate until every
server has received every update, no fewer and no more. Any answer that is not success
ends the run. Nothing is flushed during a load; after each round everything is.

CPU is the time of all threads per update, that of `pair:` of both routers together. The
client, the routers and the servers share the cores. Where there are few, a ratio says
how the cores were shared rather than what a router on its own machine would reach:
compare the CPU instead. `others` is the number of cores that other programs kept busy;
a run in which it is not near 0 says little about speed, and --others repeats it.
"""

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "rrd")]

import figures
import memory
from bench import BASELINES, BEFORE, JOURNAL, LOADS, ONE, TWO, ZONES, Bench, label
from machine import build, clean_up_when_told, disk
from systems import PAIR, known, pairs, understands


def show(found, copies):
    """Prints the tables of one number of copies; returns their medians."""
    results = {}
    for load, systems in found.items():
        rows, results[load] = [], {}
        one, two = systems.get(ONE), systems.get(TWO) if copies > 1 else None
        for key, rounds in systems.items():
            if not rounds or (key == TWO and copies == 1):
                continue
            if key not in BASELINES and key[1] != copies:
                continue
            name = BASELINES[key] if key in BASELINES else key[0]
            medians = figures.summary(
                rounds, None if key == ONE else one, None if key in (ONE, TWO) else two
            )
            results[load][name] = medians
            name = f"- {BEFORE}" if name.startswith(BEFORE) else name
            rows.append(figures.row(name, medians))
        others = [medians["others"] for medians in results[load].values()]
        title = f"{load}, R = {copies}; others: {min(others):.1f} to {max(others):.1f} cores"
        print("\n".join(figures.table(title, rows)))
        drains = [
            f"{name} {figures.time(medians['drain_ms'])}"
            for name, medians in results[load].items()
            if name not in BASELINES.values() and not name.startswith(BEFORE)
        ]
        if drains:
            print(f"delivered after the last answer: {', '.join(drains)}")
        for name in results[load]:
            if f"{BEFORE} {name}" in results[load]:
                new, old = (systems[n, copies] for n in (name, f"{BEFORE} {name}"))
                print(f"{name} to {BEFORE}: {figures.comparison(new, old)}")
        print(flush=True)
    return results


def command_line():
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__.partition("\n\n")[0]
    )
    add = parser.add_argument
    add("--rounds", type=int, default=5)
    add(
        "--seconds",
        type=float,
        default=1.5,
        help="of one load in one round (%(default)s)",
    )
    add(
        "--others",
        type=float,
        default=math.inf,
        metavar="CORES",
        help="measure a load again, at most 30 times, if other programs kept more cores "
        "busy, as 0.2",
    )
    add("--files", type=int, default=2000, help="RRD files, at least 64 (%(default)s)")
    add(
        "--copies",
        default="2",
        metavar="R,R",
        help="copies of each file, 1 or 2 or both (%(default)s)",
    )
    add(
        "--only",
        metavar="NAME,NAME",
        help="some of one, two, journal (one rrdcached with -j), the variants, memory; "
        f"variants that begin with {PAIR} have two routers; default: all but journal",
    )
    add("--loads", help="only loads with this in their names, as '1 client' or BATCH")
    add(
        "--router-args",
        action="append",
        default=[],
        metavar="OPTIONS",
        help="one more variant, with options of stead-rrd serve: --router-args='--no-log'; "
        "they stand after its --listen. The variants are called args1, args2 …",
    )
    add(
        "--compare",
        metavar="FILE",
        help="an older stead-rrd, which is measured in the same rounds",
    )
    add(
        "--dir",
        default="/tmp",
        help="where to put files and log: a disk, with a short name (%(default)s)",
    )
    add(
        "--socket",
        choices=["tcp", "unix"],
        default="tcp",
        help="how clients connect (%(default)s)",
    )
    add("--json", metavar="FILE", help="also write all figures there")
    options = parser.parse_args()
    if options.copies not in ("1", "2", "1,2", "2,1"):
        sys.exit(f"--copies {options.copies}: give 1, 2 or 1,2")
    options.copies = sorted(map(int, options.copies.split(",")))
    if options.compare and not os.access(options.compare, os.X_OK):
        sys.exit(f"--compare {options.compare}: there is no such program")
    if options.files < max(clients for _, clients, _ in LOADS):
        sys.exit(f"--files {options.files}: give each client at least one")
    if options.loads:
        LOADS[:] = [load for load in LOADS if options.loads in load[0]]
        if not LOADS:
            sys.exit(f"--loads {options.loads}: no load has that in its name")
    return options


def choose(options, router):
    """Sets the variants, and the systems that are measured."""
    own = {f"args{number}": text for number, text in enumerate(options.router_args, 1)}
    options.variants = known(router) | pairs(router) | own
    if options.compare:
        # an older router that does not know a variant is measured without options
        options.before = {
            name: text if understands(options.compare, text) else ""
            for name, text in options.variants.items()
        }
    names = [*BASELINES, *options.variants, "memory"]
    options.only = (
        options.only.split(",")
        if options.only
        else [name for name in names if name != JOURNAL]
    )
    for name in options.only:
        if name not in names:
            sys.exit(f"--only {name}: it is none of {', '.join(names)}")
    options.memory = "memory" in options.only
    options.only = [name for name in options.only if name != "memory"]


def main():
    options = command_line()
    for name in ("rrdcached", "rrdtool"):
        if not shutil.which(name):
            sys.exit(
                f"{name} is not installed; on Debian: apt install rrdcached rrdtool"
            )
    kind = disk(Path(options.dir).resolve())
    clean_up_when_told()
    place = Path(tempfile.mkdtemp(prefix="stead-rrd-", dir=Path(options.dir).resolve()))
    try:
        measure(options, kind, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(options, kind, place):
    programs = build(place)
    choose(options, programs["stead-rrd"])
    bench = Bench(options, programs, place)
    cores = len(os.sched_getaffinity(0))
    about = {
        "cores": cores,
        "file_system": kind,
        "zones": ZONES,
        **{
            name: getattr(options, name)
            for name in ("files", "rounds", "seconds", "socket", "variants")
        },
    }
    print(
        f"{cores} cores, log on {kind}; {options.files} files, {options.socket}; "
        f"medians of {options.rounds} rounds of {options.seconds} s"
    )
    for name, text in (
        (ONE, "asked directly; /one is the ratio to it"),
        (TWO, "the client writes both and waits for both; /two is the ratio to it"),
        (JOURNAL, "asked directly, with -j"),
    ):
        if name in options.only:
            print(f"{BASELINES[name]}: {text}")
    for name, text in options.variants.items():
        if name in options.only:
            who = "two routers" if name.startswith(PAIR) else "the router"
            print(f"{name}: {sum(ZONES)} servers behind {who}; {text or 'no options'}")
    print(flush=True)
    results, rounds, rows, entered = {}, [], [], []
    try:
        for system in bench.systems.values():
            system.__enter__()
            entered.append(system)
        if bench.systems:
            about["client"] = bench.own()
            found, about["sync_us"] = bench.run()
            for copies in options.copies:
                results[f"R = {copies}"] = show(found, copies)
            rounds = [
                {"load": load, "system": label(key), "rounds": all_rounds}
                for load, systems in found.items()
                for key, all_rounds in systems.items()
            ]
    finally:
        for system in entered:
            system.__exit__()
    if bench.systems:
        print("the client's own CPU an update, with a server that only answers:")
        for load, figure in about["client"].items():
            print(
                f"  {load}: {figure['cpu_us']:.2g} us, of which {figure['user_us']:.2g} us "
                "outside the kernel"
            )
        first = next(iter(about["client"].values()))["p50_us"]
        print(
            f"such a server answers in {first:.0f} us; a write with its sync took "
            f"{about['sync_us']:,.0f} us (the quickest of 30,\nmedian of all rounds): "
            "nothing durable answers sooner\n"
        )
    if options.memory:
        rows = memory.measure(bench)
        memory.show(rows)
    if options.json:
        Path(options.json).write_text(
            json.dumps(
                {"about": about, "updates": results, "rounds": rounds, "memory": rows},
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
