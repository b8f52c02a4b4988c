"""Plays a carry of many rows over many nodes, and says how long it takes.

make scale                                        the changes of docs/scale.md, and its tables and pictures
make scale ARGS='--old old.map --new new.map'     two maps of your own
make scale ARGS='--rows 2e8 --node-cores 2 --limit-nodes 32 --json'
make scale ARGS=--measure                         measures the costs again, with real carries (some minutes)
"""

import argparse
import json
import sys

import measure
import page
import play
import stead
import ways as ways_of
from rates import PASSES, Site, measured
from tables import Question, told


def options():
    parser = argparse.ArgumentParser(
        description="How long a carry of many rows takes, by simulation."
    )
    add = parser.add_argument
    add("--rows", type=float, default=1e9, help="how many rows there are (1e9)")
    add("--kind", default="postgresql", help="whose costs: postgresql or files")
    add("--count", type=int, default=1000, help="nodes of the made-up fleets (1000)")
    add("--change", action="append", help="only changes whose name contains this")
    add("--old", help="the map before, and")
    add("--new", help="the map after, instead of made-up ones")
    add("--lost", nargs="*", default=[], help="nodes that are gone for good")
    add("--node-cores", type=float, default=1.0, help="processors of a node (1)")
    add("--carrier-cores", type=float, default=8.0, help="of the carrier (8)")
    add(
        "--gigabit", type=float, default=10.0, help="the carrier's network, Gbit/s (10)"
    )
    add("--trip-ms", type=float, default=0.5, help="from question to answer (0.5)")
    add("--sync-ms", type=float, default=1.0, help="until a write is on a disk (1)")
    add("--bytes", type=float, default=1024.0, help="bytes of a row (1024)")
    add("--limit-nodes", type=int, default=4, help="limits.nodes (4)")
    add("--limit-workers", type=int, default=4, help="limits.workers (4)")
    add(
        "--limit-items",
        type=float,
        default=0.0,
        help="limits.items_per_second (0: none)",
    )
    add("--slow", action="append", default=[], help="NODE=TIMES: so many times slower")
    add("--hosts", type=int, default=1000, help="how many hosts confirm (1000)")
    add("--grace", type=float, default=60.0, help="seconds (60)")
    add(
        "--slow-host",
        type=float,
        default=0.0,
        help="seconds of one more host, each state",
    )
    add("--dead-host", type=float, default=0.0, help="seconds until one is forgotten")
    add(
        "--ideas",
        nargs="*",
        default=[],
        choices=play.IDEAS,
        help="what could be otherwise",
    )
    add("--json", action="store_true", help="writes what was found as JSON")
    add(
        "--page", action="store_true", help="writes docs/scale.md's tables and pictures"
    )
    add("--measure", action="store_true", help="measures the costs first")
    return parser


def question(given):
    """What is asked, from the options."""
    rates = measured(given.kind)
    slow = dict(one.rsplit("=", 1) for one in given.slow)
    site = Site(
        node_cores=given.node_cores,
        carrier_cores=given.carrier_cores,
        network=given.gigabit * 1e9 / 8,
        trip=given.trip_ms / 1000,
        sync=given.sync_ms / 1000,
        nodes=given.limit_nodes,
        workers=given.limit_workers,
        items_per_second=given.limit_items,
        slow={node: float(times) for node, times in slow.items()},
    )
    hosts = play.Hosts(
        count=given.hosts, grace=given.grace, slow=given.slow_host, dead=given.dead_host
    )
    if given.old and given.new:
        old, new = stead.Map.open(given.old), stead.Map.open(given.new)
        ways = ways_of.between(old, new, set(given.lost))
        changes = {f"epoch {old.epoch} to {new.epoch}": (ways, new.replicas)}
    else:
        changes = {
            name: ways_of.of_change(name, given.count)
            for name in ways_of.changes(given.count)
            if not given.change or any(part in name for part in given.change)
        }
    return Question(given.rows, rates.with_bytes(given.bytes), site, hosts, changes)


def as_json(asked, ideas):
    """What was found, for programs."""
    found = []
    for name, (ways, replicas) in asked.changes.items():
        made = asked.carry(ways, ideas=ideas)
        found.append(
            {
                "change": name,
                "replicas": replicas,
                "moved": ways.moved() * asked.rows,
                "listed": made.listed(),
                "seconds": made.seconds,
                "busiest": dict(zip(("node", "part"), made.busiest("cpu"))),
                "phases": [
                    {"name": p.name, "state": p.state, "begin": p.begin, "end": p.end}
                    for p in made.phases
                ],
            }
        )
    return json.dumps(found, indent=1)


def main():
    given = options().parse_args()
    if given.measure:
        measure.main(("postgresql", 200_000), ("files", 6_000), size=1024)
    asked = question(given)
    if given.page:
        page.write(asked)
    elif given.json:
        print(as_json(asked, given.ideas))
    else:
        for name, (ways, replicas) in asked.changes.items():
            made = asked.carry(ways, ideas=given.ideas)
            node, part = made.busiest("cpu")
            phases = ", ".join(f"{task} {told(made.taken(task))}" for task in PASSES)
            print(
                f"{name}: {told(made.seconds)}; {ways.moved() * asked.rows:,.0f} copies move, "
                f"{made.listed():,.0f} are listed; {phases}, hosts "
                f"{told(made.taken('wait'))}; busiest while copying: {node} {part:.0%}"
                + f" ({replicas} copies)"
                * (replicas > 1)
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
