"""Real carries on this machine, with nodes of nodes.py: what they took, and how much
processor time.
"""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import ways as ways_of
from nodes import by_node, cpu, first_map, fleet
from rates import PASSES
from stead import Map

ROOT = Path(__file__).resolve().parents[2]
NAMES = [f"n{number}" for number in range(10)]


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
