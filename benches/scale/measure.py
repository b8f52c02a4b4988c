"""Measures what items cost a real `stead-sync carry run` on this machine, and checks the
simulation against carries of another shape.

    make scale ARGS=--measure

For each kind of data, two carries give the costs: one with few and large transactions,
one with many small ones. The processor time of the carrier and of each server is read
when a pass ends. Then two carries of other shapes are predicted and run, one of them
with a limit. Times on the clock depend on what else the machine does: a carry that keeps
all processors busy says how much slower than its processor time everything was. These
carries take turns, and the quickest of three counts. All is written to rates.json.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import ways as ways_of
from nodes import Files, Postgres, by_node, cpu, first_map, fleet
from passes import jobs, loads, play
from rates import FILE, PASSES, Cost, Rates, Site
from stead import Map

ROOT = Path(__file__).resolve().parents[2]
NAMES = [f"n{number}" for number in range(10)]

# what a question of the carrier waits for in each transaction (sql/alike.rs and mod.rs)
TRIPS = {"copy": 9, "check": 2, "remove": 6}


@dataclass
class Shape:
    """A carry: from how many nodes to how many, and its limits."""

    before: int
    after: int
    nodes: int = 1
    workers: int = 1
    items_per_second: int = 0


@dataclass
class Ran:
    """What was measured in a carry: {pass: ...}."""

    seconds: dict = field(default_factory=dict)
    items: dict = field(default_factory=dict)
    # seconds of processor time of the carrier, and of each node
    carrier: dict = field(default_factory=dict)
    node: dict = field(default_factory=dict)


def program(name):
    where = os.environ.get("STEAD_PROGRAMS") or (
        Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    )
    return str(Path(where) / name)


def call(*command):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def carry(nodes, place, shape, rows, size, removes=False):
    """Runs a carry, to its end if it `removes`. Returns what it took, and its ways."""
    work = Path(tempfile.mkdtemp(dir=place))
    (work / "hub").mkdir()
    names = NAMES[: shape.before], NAMES[: shape.after]
    old = first_map(nodes, names[0])
    nodes.fill(old, rows, size)
    url, map = f"file://{work}/hub/members.map", work / "members.map"
    for number, some in enumerate(names):
        (work / "fleet.json").write_text(json.dumps(fleet(nodes, some)))
        option = ["--carry"] * number
        call(program("stead"), "apply", *option, work / "fleet.json", map)
        if not number:
            call(program("stead-sync"), "push", map, url)
    (work / "carry.toml").write_text(
        f"map = '{map}'\nurl = '{url}'\ngrace = 0\n{nodes.settings()}[limits]\n"
        f"nodes = {shape.nodes}\nworkers = {shape.workers}\n"
        f"items_per_second = {shape.items_per_second}\n"
    )
    until = [] if removes else ["--until", "both_new_first"]
    run = [program("stead-sync"), "carry", "run", "--json", *until, work / "carry.toml"]
    ran = watch(run, nodes)
    new = Map.build(fleet(nodes, names[1]), old)
    ways = ways_of.between(old, new)
    held = nodes.held()
    for name, keys in by_node(new, rows).items():
        there = held[name] if removes or name not in names[0] else len(keys)
        assert there == len(keys), (name, there, len(keys))
    return ran, ways


def maps(shape):
    """The maps of a carry, whose nodes have no attributes: the same placement."""
    node = lambda name: {"name": name}
    old, new = (
        {"name": "members", "node": [node(name) for name in NAMES[:count]]}
        for count in (shape.before, shape.after)
    )
    old = Map.build(old)
    return old, Map.build(new, old)


def watch(command, nodes):
    """Runs a carry, and reads the processor times when its passes end."""
    ran, last = Ran(), (0.0, nodes.cpu())
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = []
    for line in process.stderr:
        said.append(line)
        found = re.match(rf"stead-sync: ({'|'.join(PASSES)}): \d+ items", line)
        if found:
            now = cpu(process.pid), nodes.cpu()
            ran.carrier[found[1]] = now[0] - last[0]
            ran.node[found[1]] = {n: now[1][n] - last[1][n] for n in now[1]}
            last = now
    report = process.stdout.read()
    assert process.wait() == 0, "".join(said)
    for work in json.loads(report)["work"]:
        ran.seconds[work["pass"]], ran.items[work["pass"]] = (
            work["seconds"],
            work["items"],
        )
    return ran


def sync_seconds(place, kind):
    """How long a small write takes to be on the disk: the median of 50. For files it is
    a new one.
    """
    found = []
    for number in range(50):
        began = time.monotonic()
        with open(place / f"sync{number if kind == 'files' else ''}", "ab") as file:
            file.write(bytes(1024))
            file.flush()
            os.fsync(file.fileno())
        found.append(time.monotonic() - began)
    return statistics.median(found)


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
    at_once = {"copy": 100, "check": 100, "stray": 100} if nodes.kind != "files" else {}
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
    """{pass: seconds} of a carry on this machine, as the simulation has it."""
    stretched = lambda cost: Cost(*(slower * part for part in vars(cost).values()))
    rates = replace(
        rates,
        listed=stretched(rates.listed),
        item={task: stretched(cost) for task, cost in rates.item.items()},
        unit={task: stretched(cost) for task, cost in rates.unit.items()},
    )
    site = Site(
        carrier_cores=os.cpu_count(),
        trip=0.0,
        sync=sync,
        nodes=shape.nodes,
        workers=shape.workers,
        items_per_second=shape.items_per_second,
        one_machine=True,
    )
    return {
        task: play(jobs(task, ways, rows, rates, site), site).seconds for task in PASSES
    }


FITTED = (Shape(2, 3), Shape(2, 10))
CHECKED = (
    Shape(3, 5, nodes=3, workers=4),
    Shape(3, 6, nodes=2, workers=2, items_per_second=4000),
)
# how busy the machine is, is seen by a carry that keeps all processors busy
BUSY = Shape(2, 3, nodes=2, workers=4)
WORK = ("copy", "verify", "check", "remove")

# how often each carry runs that is compared
ROUNDS = 3

# passes that took fewer seconds are not compared: starting and looking for a new map is
# most of it
SHORT = 0.5


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
        sync = sync_seconds(place, kind)
        turns = [[run(shape) for shape in (BUSY, *CHECKED)] for _ in range(ROUNDS)]
        busy, *checked = [quickest(list(runs)) for runs in zip(*turns)]
        slower = round(float(slowness(*busy, rates, rows, sync)), 3)
        checks = []
        for shape, (ran, ways) in zip(CHECKED, checked):
            due = predicted(ways, rows, rates, shape, slower, sync)
            found = {
                task: {
                    "items": ran.items[task],
                    "predicted": round(float(due[task]), 3),
                    "measured": round(ran.seconds[task], 3),
                }
                for task in WORK
                if task in ran.seconds
            }
            checks.append(
                {"shape": vars(shape), "slower": slower, "sync": sync, **found}
            )
            for task, both in found.items():
                say(f"{kind}: {task} {both}")
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


def quickest(runs):
    """Returns a run that has the least of each figure of several runs of one shape."""
    least = Ran(items=runs[0][0].items)
    for task in least.items:
        least.seconds[task] = min(ran.seconds[task] for ran, _ in runs)
        least.carrier[task] = min(ran.carrier[task] for ran, _ in runs)
        least.node[task] = {
            name: min(ran.node[task][name] for ran, _ in runs)
            for name in runs[0][0].node[task]
        }
    return least, runs[0][1]


def slowness(ran, ways, rates, rows, sync):
    """How many times longer than predicted the work of a carry took."""
    due = predicted(ways, rows, rates, BUSY, 1.0, sync)
    done = [task for task in WORK if task in ran.seconds]
    return sum(ran.seconds[task] for task in done) / sum(due[task] for task in done)


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
