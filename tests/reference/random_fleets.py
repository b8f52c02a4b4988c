"""Random fleets for the judge's tests, and random changes of them. The fleets are
small, with 0 to 3 spread levels and 1 to 5 replicas.

`draw` is a random.Random with a fixed seed. Few different weights and few cells are as
likely as many, so that ties and remainders occur.
"""

SPREAD = ["zone", "rack", "shelf"]
CELLS = [0, 0, 2**40, 1000, 16384, 97, 12]


def random_fleet(draw, most=9, cells=None):
    """Returns the description of a fleet, without base slices."""
    replicas = draw.choice([1, 2, 2, 3, 3, 4, 5])
    levels = draw.randrange(4)
    names = [f"n{i}" for i in range(draw.randrange(replicas, max(replicas, most) + 1))]
    return {
        "name": "random",
        "replicas": replicas,
        "spread": SPREAD[:levels],
        "cells": draw.choice(CELLS) if cells is None else cells,
        "nodes": [random_node(draw, name) for name in names[:replicas]]
        + [random_node(draw, name, zero=True) for name in names[replicas:]],
    }


def random_node(draw, name, zero=False):
    """Returns a node that has all labels."""
    weight = draw.choice(
        [
            "1",
            "1",
            "2",
            str(draw.randrange(1, 100)),
            f"0.{draw.randrange(1, 10**6):06}",
            "10",
        ]
        + ["0"] * zero
    )
    return {
        "name": name,
        "weight": weight,
        "labels": {
            label: draw.choice("abc"[: draw.randrange(1, 4)]) for label in SPREAD
        },
    }


def changed(draw, description):
    """Returns the fleet after one to three changes: a node is added, removed, drained,
    given another weight or moved, or the replicas or the spread change.
    """
    nodes = [dict(node, formerly="") for node in description["nodes"]]
    replicas, spread = description["replicas"], description["spread"]
    for _ in range(draw.randrange(1, 4)):
        what, i = draw.randrange(8), draw.randrange(len(nodes))
        if what < 2:
            nodes.append(random_node(draw, f"m{draw.randrange(10**6)}"))
        elif what == 2:
            del nodes[i]
        elif what == 3:
            nodes[i] = dict(nodes[i], weight=random_node(draw, "", zero=True)["weight"])
        elif what == 4:
            nodes[i] = random_node(draw, nodes[i]["name"])
        elif what == 5:
            nodes[i] = dict(
                nodes[i], name=f"r{draw.randrange(10**6)}", formerly=nodes[i]["name"]
            )
        elif what == 6:
            replicas = draw.randrange(1, 5)
        else:
            spread = SPREAD[: draw.randrange(4)]
        if not nodes:
            nodes = [random_node(draw, "last")]
    while sum(node["weight"] != "0" for node in nodes) < replicas:
        nodes.append(random_node(draw, f"more{draw.randrange(10**6)}"))
    return dict(description, nodes=nodes, replicas=replicas, spread=spread)
