"""Judges a placement: caps, ideal shares, movement, and copies that are too close
together.

It was written from docs/placement.md ("Fault domains and caps", "Targets") and knows
nothing of stead's or Swift's code. A node is `{"name", "weight", "labels"}`; a weight
is anything that `Fraction` reads exactly. A table is a list with a tuple of node names
for each partition. Shares are exact fractions, counted in copies of the whole key
space: their sum is `replicas`.
"""

from collections import Counter, defaultdict
from fractions import Fraction


def domain(node, spread, depth):
    """The values of the node's first `depth` spread labels; () is the whole fleet."""
    return tuple(node["labels"][label] for label in spread[:depth])


def holding(nodes):
    """The nodes that can hold copies: those with a weight above 0."""
    return [node for node in nodes if Fraction(node["weight"]) > 0]


def caps(nodes, spread, replicas):
    """{domain: how many copies of one point it may hold}; the whole fleet, (), may hold
    all.
    """
    nodes = holding(nodes)
    if len(nodes) < replicas:
        raise ValueError(
            f"{len(nodes)} nodes that can hold are too few for {replicas} replicas"
        )
    found = {(): replicas}
    for depth in range(1, len(spread) + 1):
        parts = defaultdict(Counter)
        for node in nodes:
            parts[domain(node, spread, depth - 1)][domain(node, spread, depth)] += 1
        for parent, sizes in parts.items():
            cap = 0
            while sum(min(cap, size) for size in sizes.values()) < found[parent]:
                cap += 1
            found.update({part: min(cap, size) for part, size in sizes.items()})
    return found


def wanted(nodes, replicas):
    """{node: its share by weight alone}. This may be more than 1, although a node
    cannot hold more than 1.
    """
    total = sum(Fraction(node["weight"]) for node in nodes)
    return {node["name"]: replicas * Fraction(node["weight"]) / total for node in nodes}


def ideals(nodes, spread, replicas):
    """{node: its share under the caps}, by exact progressive filling.

    A level x rises; a node of weight w has x * w; and a bound that is reached freezes
    the nodes under it. The order of bounds that are reached together makes no
    difference, since nothing is rounded here.
    """
    left = {
        bound: Fraction(cap) for bound, cap in caps(nodes, spread, replicas).items()
    }
    rising = {node["name"]: node for node in holding(nodes)}
    shares = {node["name"]: Fraction(0) for node in nodes}
    while rising:
        weights = defaultdict(Fraction)
        for node in rising.values():
            for depth in range(len(spread) + 1):
                weights[domain(node, spread, depth)] += Fraction(node["weight"])
        level, bound = min(
            (left[bound] / weight, bound) for bound, weight in weights.items()
        )
        heaviest = max(rising.values(), key=lambda node: Fraction(node["weight"]))
        if 1 / Fraction(heaviest["weight"]) <= level:
            level, frozen = 1 / Fraction(heaviest["weight"]), [heaviest]
        else:
            frozen = [
                node
                for node in rising.values()
                if domain(node, spread, len(bound)) == bound
            ]
        for node in frozen:
            shares[node["name"]] = level * Fraction(node["weight"])
            del rising[node["name"]]
            for depth in range(len(spread) + 1):
                left[domain(node, spread, depth)] -= shares[node["name"]]
    return shares


def gains(before, after):
    """The sum of the nodes' gains: a lower bound on the movement from one set of shares
    to the other.
    """
    return sum(max(0, share - before.get(name, 0)) for name, share in after.items())


def counted(table):
    """{node: how many copies it holds}."""
    return Counter(name for names in table for name in names)


def moved(before, after):
    """How many copies are on a node that had no copy of their partition before."""
    return sum(len(set(new) - set(old)) for old, new in zip(before, after))


def violations(table, nodes, spread, replicas):
    """{label: how many partitions break a cap at it}. `node` counts partitions with two
    copies on one node or with a wrong number of copies, `any` those with any violation.
    """
    cap = caps(nodes, spread, replicas)
    # a copy on a node of weight 0 counts in the node's domains, too; the cap of a
    # domain in which no node can hold a copy is 0
    paths = {
        node["name"]: [
            domain(node, spread, depth) for depth in range(1, len(spread) + 1)
        ]
        for node in nodes
    }
    broken = dict.fromkeys([*spread, "node", "any"], 0)
    for names in table:
        bad = []
        for depth, label in enumerate(spread):
            seen = Counter(paths[name][depth] for name in names)
            bad += (
                [label]
                if any(count > cap.get(path, 0) for path, count in seen.items())
                else []
            )
        bad += (
            ["node"] if len(set(names)) < len(names) or len(names) != replicas else []
        )
        for label in bad:
            broken[label] += 1
        broken["any"] += bool(bad)
    return broken


def worst_error(shares, ideal):
    """The largest |share - ideal| / ideal; infinite if a node has a share but its ideal
    share is 0.
    """
    worst = Fraction(0)
    for name in shares.keys() | ideal.keys():
        share, due = shares.get(name, 0), ideal.get(name, 0)
        if due:
            worst = max(worst, abs(share - due) / due)
        elif share:
            return float("inf")
    return float(worst)
