"""Measures what items cost a real `stead-sync carry run` on this machine, and checks the
simulation against carries of another shape.

    make scale ARGS=--measure

For each kind of data, two carries give the costs: one with few and large transactions,
one with many small ones. The processor time of the carrier and of each server is read
when a pass ends. Then two carries of other shapes are predicted and run, one of them
with a limit. Times on the clock depend on what else the machine does: a carry that keeps
all processors busy says how much slower than its processor time everything was. These
carries take turns, and the quickest of two counts. All is written to rates.json.
"""

import json
import os
import re
import shutil
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from carries import NAMES, Shape, carry, quickest
from nodes import Files, Postgres
from passes import jobs, loads, play
from rates import FILE, Cost, Rates, Site

# what a question of the carrier waits for in each transaction (sql/alike.rs and mod.rs)
TRIPS = {"copy": 9, "check": 2, "remove": 6}


def sync_seconds(place):
    """How long a small write takes to be on the disk: the median of 50."""
    found = []
    with open(place / "sync", "ab") as file:
        for _ in range(50):
            began = time.monotonic()
            file.write(bytes(1024))
            file.flush()
            os.fsync(file.fileno())
            found.append(time.monotonic() - began)
    return statistics.median(found)


def waited(ran):
    """For how long each file waited for the disk, in a carry of one after the other."""
    return max(ran.seconds["copy"] - ran.carrier["copy"], 0.0) / ran.items["copy"]


def units_of(task, ways, rows, at_once):
    """How many transactions a pass makes, as the simulation counts them."""
    flat = Cost(carrier=1.0)
    rates = Rates(Cost(), {}, unit={task: flat}, at_once=at_once)
    todo = jobs(task, ways, rows, rates, Site())
    return sum(job.use["carrier", ""] for job in todo)


def fit(nodes, runs, removed, rows, size):
    """Returns the rates that explain two carries, and a smaller one that removes:
    (it, its number of rows).
    """
    names = ("copy", "check", "stray", "remove") if nodes.kind != "files" else ()
    at_once = dict.fromkeys(names, 100)
    listed = (
        statistics.mean(ran.carrier["count"] / rows for ran, _ in runs),
        statistics.mean(sum(ran.node["count"].values()) / rows for ran, _ in runs),
    )
    item, unit = {}, {}
    for task in ("copy", "check", "remove"):
        equations = {"carrier": [], "source": [], "target": []}
        used = [removed] * 2 if task == "remove" else zip(runs, [rows] * 2)
        for (ran, ways), count in used:
            items = sum(
                n for work in loads(task, ways, count).values() for *_, n in work
            )
            units = units_of(task, ways, count, at_once)
            sources = {
                name for name, _ in (ways.drop if task == "remove" else ways.bring)
            }
            here = sum(ran.node[task][name] for name in sources)
            there = sum(ran.node[task].values()) - here
            # every source is listed, too
            spent = {
                "carrier": ran.carrier[task] - count * listed[0],
                "source": here - count * listed[1],
                "target": there,
            }
            for place, seconds in spent.items():
                equations[place].append((items, units, max(seconds, 0.0)))
        solved = {place: solve(*two) for place, two in equations.items()}
        item[task] = Cost(**{place: one for place, (one, _) in solved.items()})
        if at_once and task != "remove":
            unit[task] = Cost(**{place: one for place, (_, one) in solved.items()})
    return Rates(
        listed=Cost(listed[0], listed[1]),
        item=item,
        unit=unit,
        trips=TRIPS if nodes.kind != "files" else {},
        syncs=nodes.syncs,
        at_once=at_once,
        journal={"copy": 1},
        bytes=float(size),
        name_bytes=16.0,
    )


def solve(first, second):
    """The cost of an item and of a unit that explain both carries, none of them below
    zero.
    """
    (items, units, seconds), (more_items, more_units, more_seconds) = first, second
    below = items * more_units - more_items * units
    if abs(below) > 1e-6 * items * more_items:
        one = (seconds * more_units - more_seconds * units) / below
        each = (items * more_seconds - more_items * seconds) / below
        if one >= 0 and each >= 0:
            return one, each
    return (seconds + more_seconds) / (items + more_items), 0.0


def predicted(ways, rows, rates, shape, slower, sync):
    """{pass: (seconds, seconds of processor time)} of a carry on this machine, as the
    simulation has it. `slower` says for each pass by how much everything is slower.
    """
    site = Site(
        carrier_cores=os.cpu_count(),
        trip=0.0,
        nodes=shape.nodes,
        workers=shape.workers,
        items_per_second=shape.items_per_second,
        one_machine=True,
    )
    found = {}
    for task in slower:
        some = slowed(rates, slower[task])
        here = replace(site, sync=sync * slower[task])
        played = play(jobs(task, ways, rows, some, here), here)
        busy = played.busy["carrier", ""] * played.seconds * site.carrier_cores
        found[task] = played.seconds, busy / slower[task]
    return found


def slowed(rates, times):
    """The same costs, all of them so many times higher."""
    more = lambda cost: Cost(*(times * part for part in vars(cost).values()))
    return replace(
        rates,
        listed=more(rates.listed),
        item={task: more(cost) for task, cost in rates.item.items()},
        unit={task: more(cost) for task, cost in rates.unit.items()},
    )


FITTED = (Shape(2, 3), Shape(2, 10))


def checked(rows):
    """The carries that are predicted; the limit is such that a pass takes some seconds."""
    return (
        Shape(3, 5, nodes=3, workers=4),
        Shape(3, 6, nodes=2, workers=2, items_per_second=rows // 15),
    )


# how busy the machine is, is seen by a carry that keeps all processors busy
BUSY = Shape(2, 3, nodes=2, workers=4)
WORK = ("copy", "verify", "check", "remove")

# how often each carry runs that is compared
ROUNDS = 2

# passes that took fewer seconds are not compared: starting and looking for a new map is
# most of it
SHORT = 1.0


def measure(kind, rows, size, say):
    """Measures a kind; returns its part of rates.json."""
    place = Path(tempfile.mkdtemp(prefix="stead-scale-", dir="/var/tmp"))
    nodes = None
    try:
        nodes = {"postgresql": Postgres, "files": Files}[kind](place, NAMES)
        run = lambda shape: carry(nodes, place, shape, rows, size)
        few = rows // 10
        removed = carry(nodes, place, FITTED[0], few, size, removes=True), few
        runs = [quickest([run(shape) for _ in range(2)]) for shape in FITTED]
        rates = fit(nodes, runs, removed, rows, size)
        say(f"{kind}: {rates.to_json()}")
        # other work on the machine: the shapes take turns, and the quickest run counts
        sync = waited(runs[0][0]) if kind == "files" else sync_seconds(place)
        shapes = (BUSY, *checked(rows))
        turns = [[run(shape) for shape in shapes] for _ in range(ROUNDS)]
        busy, *others = [quickest(list(runs)) for runs in zip(*turns)]
        slower = slowness(*busy, rates, rows, sync)
        checks = []
        for shape, (ran, ways) in zip(shapes[1:], others):
            due = predicted(ways, rows, rates, shape, slower, sync)
            found = {}
            for task, (seconds, busy) in due.items():
                used = ran.carrier[task] + sum(ran.node[task].values())
                found[task] = {
                    "items": ran.items[task],
                    "predicted": round(float(seconds), 3),
                    "measured": round(ran.seconds[task], 3),
                    "cpu_predicted": round(float(busy), 3),
                    "cpu_measured": round(used, 3),
                }
                say(f"{kind}: {task} {found[task]}")
            checks.append(
                {"shape": vars(shape), "slower": slower, "sync": sync, "passes": found}
            )
        speeds = [(runs[0][0], WORK[:3]), (removed[0][0], WORK[3:])]
        return {
            "rates": rates.to_json(),
            "measured": {
                "rows": rows,
                "row_bytes": size,
                "load": round(os.getloadavg()[0], 1),
                "items_per_second": {
                    task: round(ran.items[task] / ran.seconds[task])
                    for ran, tasks in speeds
                    for task in tasks
                },
                "listed_per_second": round(rows / runs[0][0].seconds["count"]),
                "checks": checks,
            },
        }
    finally:
        if nodes:
            nodes.end()
        shutil.rmtree(place, ignore_errors=True)


def slowness(ran, ways, rates, rows, sync):
    """{pass: how many times longer than predicted it took}."""
    alone = dict.fromkeys(ran.seconds, 1.0)
    due = predicted(ways, rows, rates, BUSY, alone, sync)
    return {
        task: round(float(ran.seconds[task] / due[task][0]), 3)
        for task in WORK
        if task in due
    }


def main(*kinds, size, say=print):
    """Measures some kinds, each with a number of rows, and writes rates.json."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {"kinds": {}}
    found["machine"] = machine()
    for kind, rows in kinds:
        found["kinds"][kind] = measure(kind, rows, size, say)
        FILE.write_text(json.dumps(found, indent=1) + "\n")


def machine():
    """The processor, and how many there are."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else 'unknown processor'}, {os.cpu_count()} processors"
