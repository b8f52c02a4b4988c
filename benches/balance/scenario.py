"""Writes the scenario of `make bench-balance`: a cluster and a history of single
changes. It is the same on every machine.

    python3 benches/balance/scenario.py FILE [--steps N] [--seed N]

The cluster has 3 zones of 10 racks of 20 nodes, with weights from 100 to 300 and three
copies that are kept apart by zone and rack. Each of the 200 steps adds a node to a
random rack, removes a node, or changes a node's weight. All random numbers come from
SplitMix64 (Steele, Lea, Flood, OOPSLA 2014); a number below n is its next output modulo
n. They are drawn in this order:

* for each node of the start, zone by zone and rack by rack: its weight;
* for each step: the kind of change (0 adds, 1 removes, 2 changes a weight); then, to add,
  the zone, the rack and the weight; to remove, the node; to change, the node and the
  weight.

A new node is added at the end of the list from which nodes are drawn; its number is one
more than the largest that its rack ever had.
"""

import argparse
import json

ZONES, RACKS, NODES, STEPS = "abc", 10, 20, 200
LIGHTEST, HEAVIEST = 100, 300
# arbitrary: the number of the section of our research that describes the scenario
SEED = 5
REPLICAS, SPREAD = 3, ["zone", "rack"]


def splitmix64(state):
    """Yields SplitMix64's numbers, 64 bits each."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        yield z ^ z >> 31


def make(steps=STEPS, seed=SEED):
    """Returns the scenario, in the form in which it is written."""
    numbers = splitmix64(seed)

    def below(n):
        return next(numbers) % n

    def node(zone, rack, number, weight):
        rack_name = f"{zone}-{rack:02}"
        return {
            "name": f"{rack_name}-{number:02}",
            "weight": weight,
            "labels": {"zone": zone, "rack": rack_name},
        }

    def weight():
        return LIGHTEST + below(HEAVIEST - LIGHTEST + 1)

    nodes = [
        node(z, r, n, weight())
        for z in ZONES
        for r in range(1, RACKS + 1)
        for n in range(1, NODES + 1)
    ]
    largest = {(z, r): NODES for z in ZONES for r in range(1, RACKS + 1)}
    names, changes = [n["name"] for n in nodes], []
    for _ in range(steps):
        what = below(3)
        if what == 0:
            place = ZONES[below(len(ZONES))], 1 + below(RACKS)
            largest[place] += 1
            new = node(*place, largest[place], weight())
            names.append(new["name"])
            changes.append({"add": [new]})
        elif what == 1:
            changes.append({"remove": [names.pop(below(len(names)))]})
        else:
            name = names[below(len(names))]
            changes.append({"reweight": {name: weight()}})
    title = f"{len(ZONES)} zones x {RACKS} racks x {NODES} nodes, then {steps} single changes"
    return {
        "name": title,
        "replicas": REPLICAS,
        "spread": SPREAD,
        "nodes": nodes,
        "steps": changes,
    }


def write(path, steps=STEPS, seed=SEED):
    """Writes the scenario and returns it. A scenario with fewer steps is the beginning
    of a longer one.
    """
    made = make(steps, seed)
    with open(path, "w", encoding="ascii", newline="\n") as file:
        json.dump(made, file, indent=1)
        file.write("\n")
    return made


def main():
    parser = argparse.ArgumentParser(
        description="Writes the scenario of `make bench-balance`."
    )
    parser.add_argument("file")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=SEED)
    wanted = parser.parse_args()
    write(wanted.file, wanted.steps, wanted.seed)


if __name__ == "__main__":
    main()
