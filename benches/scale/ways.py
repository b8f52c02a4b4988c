"""Fleets of 1,000 nodes in racks, the maps that stead builds for them, and what a carry
between two of those maps has to do: how much goes from which node to which.

A *share* is a part of all points, so a share times the number of rows is the expected
number of rows. The rules are those of the carrier (crates/stead-sync/src/carry/route.rs).
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

import stead

SPACE = 1 << 64

# how many nodes a rack has; 1,000 nodes make 50 racks
RACK = 20


@dataclass
class Ways:
    """What goes where between two maps, in shares."""

    # the order in which the carrier takes the nodes
    nodes: list = field(default_factory=list)
    # what a node holds in the old map, and what it gains
    held: dict = field(default_factory=lambda: defaultdict(float))
    gained: dict = field(default_factory=lambda: defaultdict(float))
    # (source, target): what is copied
    bring: dict = field(default_factory=lambda: defaultdict(float))
    # (node, keeper): what is removed at the node, while the keeper has it
    drop: dict = field(default_factory=lambda: defaultdict(float))

    def moved(self):
        """The share that is copied; a row that gains two copies counts twice."""
        return sum(self.bring.values())


def runs(old, new):
    """Yields (first, last, old nodes, new nodes) of each run of points that both maps
    treat alike.
    """
    before, after = old.slices, new.slices
    starts = [part.first for part in before], [part.first for part in after]
    bounds = sorted({*starts[0], *starts[1]})
    for first, past in zip(bounds, [*bounds[1:], SPACE]):
        yield (
            first,
            past - 1,
            before[bisect_right(starts[0], first) - 1].nodes,
            after[bisect_right(starts[1], first) - 1].nodes,
        )


def in_mixed_order(names):
    """The order in which the carrier takes nodes: as in_mixed_order of pass.rs has it."""
    return sorted(names, key=dict(zip(names, map(mixed, range(len(names))))).get)


def mixed(number):
    """A multiple of 2^32 by the golden ratio."""
    return number * 0x9E3779B1 & 0xFFFFFFFF


def between(old, new, lost=()):
    """Returns the ways between two maps. `lost` are nodes that are gone for good."""
    there = [node.name for node in new.nodes]
    there += {node.name: 0 for node in old.nodes if node.name not in set(there)}
    ways = Ways(nodes=in_mixed_order(there))
    for first, last, before, after in runs(old, new):
        share = (last - first + 1) / SPACE
        living = [node for node in before if node not in lost]
        gains = [node for node in after if node not in before and node not in lost]
        for node in living:
            ways.held[node] += share
            if node not in after:
                # every new copy is looked at before an old one is removed
                for keeper in gains or [next(n for n in after if n not in lost)]:
                    ways.drop[node, keeper] += share
        if living:
            for node in gains:
                ways.bring[living[0], node] += share
                ways.gained[node] += share
    return ways


def node(number, weight=1, rack=None):
    """A node of a fleet."""
    rack = number // RACK if rack is None else rack
    return {
        "name": f"n{number:04}",
        "weight": str(weight),
        "labels": {"rack": f"r{rack:03}"},
    }


def build(nodes, replicas, previous=None):
    """Builds the map of a fleet. Copies are kept in different racks."""
    fleet = {"name": "members", "replicas": replicas, "node": nodes}
    if replicas > 1:
        fleet["spread"] = ["rack"]
    return stead.Map.build(fleet, previous)


def changes(count=1000):
    """{name: (nodes before, nodes after, nodes that are lost, least replicas)} of the
    changes that docs/scale.md shows.
    """
    fleet = [node(number) for number in range(count)]
    racks = count // RACK
    return {
        "1 node is added": (fleet, [*fleet, node(count, rack=racks - 1)], (), 1),
        "a rack of 20 is added": (
            fleet,
            [*fleet, *(node(count + number) for number in range(RACK))],
            (),
            1,
        ),
        "a rack of 20 is drained": (fleet, fleet[:-RACK], (), 1),
        "every 10th node gets twice the weight": (
            fleet,
            [node(number, 2 if number % 10 == 0 else 1) for number in range(count)],
            (),
            1,
        ),
        # the dead one is replaced in its own rack; the rows come from the other copies
        "a dead node is replaced": (
            fleet,
            [*fleet[1:], node(count, rack=0)],
            (fleet[0]["name"],),
            2,
        ),
    }


def of_change(name, count=1000, replicas=1):
    """Returns the ways of a change, and with how many replicas it was played."""
    before, after, lost, least = changes(count)[name]
    replicas = max(replicas, least)
    old = build(before, replicas)
    return between(old, build(after, replicas, old), lost), replicas
