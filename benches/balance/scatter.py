"""Measures how the load of rebuilding a lost node is spread: how many peers each node
shares data with.

    make build && python3 benches/balance/scatter.py [--steps N] [--every N]

The scenario of `make bench-balance` goes through `stead apply`, one change in each
step, in a directory that is removed at the end. When a node is lost, its data is copied
from its **peers**: the nodes that hold a point together with it. The more peers it has,
the less each of them must copy. tests/reference reads the maps.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "reference")]
sys.dont_write_bytecode = True

import scenario
from comparison import ends
from stead_reference import read_map

STEAD = os.path.join(ROOT, "target", "release", "stead")
# the random histories give up copies and domains, and come back to older fleets
ALLOW = "drop-copies,lose-domain,take-back"


def together(sets):
    """Returns {node: {peer: how much the two hold together}}; `sets` are (amount,
    nodes) pairs.
    """
    found = defaultdict(Counter)
    for amount, nodes in sets:
        for node in nodes:
            found[node].update({peer: amount for peer in nodes if peer != node})
    return found


def figures(found, replicas):
    """Returns the median and the smallest number of a node's peers, and the median and
    the largest part of a node's data that a single peer holds.

    Every point of a node has replicas - 1 peers, so a node's peers together hold its
    data that many times.
    """
    peers = [len(held) for held in found.values()]
    most = [
        max(held.values()) * (replicas - 1) / sum(held.values())
        for held in found.values()
    ]
    return statistics.median(peers), min(peers), statistics.median(most), max(most)


def change(nodes, step):
    """Applies a step of a scenario to {name: node}."""
    for name in step.get("remove", []):
        del nodes[name]
    for name, weight in step.get("reweight", {}).items():
        nodes[name] = dict(nodes[name], weight=weight)
    nodes.update({node["name"]: node for node in step.get("add", [])})


def main():
    parser = argparse.ArgumentParser(
        description="With how many peers each node shares data, fresh and after many changes."
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=scenario.STEPS,
        help=f"number of changes (default {scenario.STEPS})",
    )
    parser.add_argument(
        "--every", type=int, default=50, help="steps between two rows (default 50)"
    )
    wanted = parser.parse_args()
    made, nodes = scenario.make(wanted.steps), {}
    print(
        f"{made['name']}, {made['replicas']} copies kept apart by {' and '.join(made['spread'])}\n",
        flush=True,
    )
    print(
        "| step | slices | peers of a node: median | fewest | of a node's data one "
        "peer has at most: median | worst |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as scratch:
        fleet, path = (
            os.path.join(scratch, "fleet.json"),
            os.path.join(scratch, "scatter.map"),
        )
        for number, step in enumerate([{"add": made["nodes"]}, *made["steps"]]):
            change(nodes, step)
            with open(fleet, "w", encoding="ascii") as file:
                json.dump(
                    {
                        "name": "scatter",
                        "replicas": made["replicas"],
                        "spread": made["spread"],
                        "node": list(nodes.values()),
                    },
                    file,
                )
            subprocess.run(
                [STEAD, "apply", fleet, path, "--json", "--allow", ALLOW],
                stdout=subprocess.DEVNULL,
                check=True,
            )
            if number % wanted.every == 0 or number == wanted.steps:
                with open(path, "rb") as file:
                    m = read_map(file.read())
                sets = [
                    (end - first, m.policies[policy].members)
                    for first, end, policy in ends(m.base)
                ]
                peers, fewest, median, worst = figures(together(sets), made["replicas"])
                print(
                    f"| {number} | {len(sets):,} | {peers:g} | {fewest} | "
                    f"{median:.1%} | {worst:.1%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
