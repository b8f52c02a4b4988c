"""Runs OpenStack Swift's ring builder through a scenario and judges every step. `make
bench-balance` runs it in .venv-swift.

    .venv-swift/bin/python benches/balance/swift_ring.py SCENARIO.json [--overload X] [--part-power N] ... >STEPS.jsonl

A scenario looks as follows. Only `name` and `nodes` are required; the defaults are one
replica, no spread and no steps:

    {"name": "text", "replicas": 3, "spread": ["zone", "rack"],
     "nodes": [{"name": "n1", "weight": 1.5, "labels": {"zone": "a", "rack": "a1"}}, ...],
     "steps": [{"remove": ["n1", ...], "add": [NODE, ...], "reweight": {"n2": 2.5, ...}}, ...]}

Prints a line of JSON for the first build (step 0), one for each step, and a last one,
`{"summary": ...}`. Except for the seconds, all figures are the same in every run. Each
step is one `rebalance` with a fixed seed and min_part_hours 0. `moved` and the bounds
are fractions of all copies; errors are relative to a node's ideal share; `violations`
counts partitions.
"""

import argparse
import hashlib
import json
import statistics
import sys
import time
from fractions import Fraction

import measure
from swift.common.ring import RingBuilder

SEED = 5  # arbitrary


class Numbers(dict):
    """Gives each new name the next number; the first gets 1."""

    def __missing__(self, name):
        self[name] = len(self) + 1
        return self[name]


class Cluster:
    """The scenario's nodes, and the ring builder that has them as devices.

    Swift's tree has four tiers: region, zone, ip, device. It keeps the copies of a
    partition apart at all of them by the same rule. So the spread labels, three at
    most, become the tiers directly above the device: `zone` becomes Swift's zone, and
    `rack` its ip. Higher tiers that are not needed have a single value. With `high` the
    labels begin at the region, and each device has its own ip.
    """

    def __init__(self, scenario, part_power, overload, high):
        self.replicas, self.spread, self.high = (
            scenario.get("replicas", 1),
            scenario.get("spread", []),
            high,
        )
        if len(self.spread) > 3:
            sys.exit(
                "swift_ring: Swift has three tiers above the device, and this "
                "scenario spreads over " + ", ".join(self.spread)
            )
        self.builder = RingBuilder(part_power, self.replicas, 0)
        self.builder.set_overload(overload)
        self.regions, self.zones = Numbers(), Numbers()
        self.nodes, self.ids = {}, {}
        for node in scenario["nodes"]:
            self.add(node)

    def add(self, node):
        node = {"weight": 1, "labels": {}, **node}
        name, values = node["name"], [node["labels"][label] for label in self.spread]
        if name in self.nodes:
            sys.exit(f"swift_ring: node {name} is there already")
        one = [""] * (3 - len(values))
        region, zone, ip = values + [name] * len(one) if self.high else one + values
        self.nodes[name] = node
        self.ids[name] = self.builder.add_dev(
            {
                "region": self.regions[region],
                "zone": self.zones[region, zone],
                "ip": ip,
                "port": 6200,
                "device": name,
                "weight": float(Fraction(node["weight"])),
            }
        )

    def change(self, step):
        """Applies one step of the scenario. A removed device keeps its number until the
        next rebalance.
        """
        for name in step.get("remove", []):
            del self.nodes[name]
            self.builder.remove_dev(self.ids.pop(name))
        for node in step.get("add", []):
            self.add(node)
        for name, weight in step.get("reweight", {}).items():
            self.nodes[name] = {**self.nodes[name], "weight": weight}
            self.builder.set_dev_weight(self.ids[name], float(Fraction(weight)))

    def table(self):
        """Returns the nodes of each partition."""
        names = {number: name for name, number in self.ids.items()}
        return [
            tuple(names[number] for number in numbers)
            for numbers in zip(*self.builder._replica2part2dev)
        ]


def run(scenario, part_power, overload, high, rebalances, progress):
    """Yields the figures of each step."""
    cluster = Cluster(scenario, part_power, overload, high)
    table, shares, ideal, wanted = None, {}, {}, {}
    replicas, spread, parts = cluster.replicas, cluster.spread, 2**part_power
    for number, step in enumerate([{}, *scenario.get("steps", [])]):
        cluster.change(step)
        clock, cpu = time.perf_counter(), time.process_time()
        for _ in range(rebalances):
            cluster.builder.rebalance(seed=SEED)
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu

        nodes, before = list(cluster.nodes.values()), (table, shares, ideal, wanted)
        table = cluster.table()
        shares = {
            name: Fraction(count, parts)
            for name, count in measure.counted(table).items()
        }
        ideal, wanted = (
            measure.ideals(nodes, spread, replicas),
            measure.wanted(nodes, replicas),
        )
        result = {
            "step": number,
            "nodes": len(nodes),
            "entries": replicas * parts,
            "moved": 0.0
            if before[0] is None
            else measure.moved(before[0], table) / (replicas * parts),
            "bound": 0.0,
            "bound_by_weight": 0.0,
            "bound_achieved": 0.0,
            "error": measure.worst_error(shares, ideal),
            "error_by_weight": measure.worst_error(shares, wanted),
            "violations": measure.violations(table, nodes, spread, replicas),
            "seconds": round(clock, 4),
            "cpu_seconds": round(cpu, 4),
            "swift_balance": cluster.builder.get_balance(),
            "swift_dispersion": cluster.builder.dispersion,
            "digest": hashlib.sha256(
                "\n".join(map(" ".join, table)).encode()
            ).hexdigest()[:16],
        }
        if before[0] is not None:
            for bound, old, new in zip(
                ("bound_achieved", "bound", "bound_by_weight"),
                before[1:],
                (shares, ideal, wanted),
            ):
                result[bound] = float(measure.gains(old, new) / replicas)
        progress(result)
        yield result


def summary(results):
    """Returns the summary of all steps: one line of the table."""
    first, steps = results[0], results[1:]
    found = {
        "steps": len(steps),
        "entries": [first["entries"], results[-1]["entries"]],
        "seconds_first": first["seconds"],
    }
    for name in ("seconds", "cpu_seconds"):
        times = [step[name] for step in steps] or [first[name]]
        found[name + "_median"], found[name + "_worst"] = (
            statistics.median(times),
            max(times),
        )
    for name in ("error", "error_by_weight"):
        found["first_" + name] = first[name]
        found["worst_" + name] = max(result[name] for result in results)
    broken = [result["violations"]["any"] for result in results]
    found.update(
        violations_first=broken[0],
        violations_total=sum(broken),
        violations_worst=max(broken),
    )
    found["moved"] = sum(step["moved"] for step in steps)
    for name in ("bound", "bound_by_weight", "bound_achieved"):
        found[name] = sum(step[name] for step in steps)
        found["moved_per_" + name] = (
            found["moved"] / found[name] if found[name] else None
        )
    found["worst_moved_per_bound"] = max(
        (step["moved"] / step["bound"] for step in steps if step["bound"]), default=None
    )
    return found


def main():
    parser = argparse.ArgumentParser(
        description="Runs OpenStack Swift's ring builder through a scenario."
    )
    parser.add_argument("scenario")
    parser.add_argument(
        "--overload",
        type=float,
        default=0.0,
        help="how far a device may go above its weight's share (default 0)",
    )
    parser.add_argument(
        "--part-power",
        type=int,
        default=14,
        help="2 to this power partitions (default 14)",
    )
    parser.add_argument(
        "--rebalances", type=int, default=1, help="rebalances in a step (default 1)"
    )
    parser.add_argument(
        "--high",
        action="store_true",
        help="put the labels from the region downwards, not directly above the device",
    )
    parser.add_argument("--steps", type=int, help="only the first steps")
    wanted = parser.parse_args()
    with open(wanted.scenario, encoding="utf-8") as file:
        # numbers stay as text, since Fraction then reads 1.1 exactly as it is written
        scenario = json.load(file, parse_float=str)
    scenario["steps"] = scenario.get("steps", [])[: wanted.steps]
    start, said, results = time.monotonic(), [-1e9], []

    def progress(result):
        now = time.monotonic()
        if now - said[0] >= 20 or result["step"] == len(scenario["steps"]):
            said[0] = now
            print(
                f"   Swift, overload {wanted.overload:g}: step {result['step']} of "
                f"{len(scenario['steps'])}, {now - start:.0f} s, "
                f"this one {result['seconds']:.1f} s",
                file=sys.stderr,
                flush=True,
            )

    for result in run(
        scenario,
        wanted.part_power,
        wanted.overload,
        wanted.high,
        wanted.rebalances,
        progress,
    ):
        results.append(result)
        print(json.dumps(result), flush=True)
    print(json.dumps({"summary": summary(results)}), flush=True)


main()
