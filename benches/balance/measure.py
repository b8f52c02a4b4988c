"""Judges a placement: caps, ideal shares, what moved and what stands too close
together.

Knows docs/placement.md ("Fault domains and caps", "Targets") and nothing of stead's or
of Swift's code. A node is `{"name", "weight", "labels"}`; a weight is anything that
`Fraction` reads exactly. A table is a list with a tuple of node names for each
partition. Shares are exact fractions, counted in copies of the whole key space: all of
them together are `replicas`.
"""

from collections import Counter, defaultdict
from fractions import Fraction


def domain(node, spread, depth):
    """The values of the node's first `depth` spread labels; () is the whole."""
    return tuple(node["labels"][label] for label in spread[:depth])


def holding(nodes):
    """The nodes that can hold: those with a weight above 0."""
    return [node for node in nodes if Fraction(node["weight"]) > 0]


def caps(nodes, spread, replicas):
    """How many copies of one point each domain may hold, by domain; the whole, (), may
    hold all.
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
    """Each node's share by its weight alone; may be more than the 1 that a node can
    hold.
    """
    total = sum(Fraction(node["weight"]) for node in nodes)
    return {node["name"]: replicas * Fraction(node["weight"]) / total for node in nodes}


def ideals(nodes, spread, replicas):
    """Each node's share as far as the caps allow: progressive filling, exact.

    A level x rises, a node of weight w has x * w, and a bound that is reached freezes
    the nodes under it. Bounds that are reached together give the same shares in any
    order, since nothing is rounded here.
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
    """The sum of what nodes gain: no way from the one set of shares to the other moves
    less.
    """
    return sum(max(0, share - before.get(name, 0)) for name, share in after.items())


def counted(table):
    """How many copies each node holds."""
    return Counter(name for names in table for name in names)


def moved(before, after):
    """How many copies are on a node that had none of their partition before."""
    return sum(len(set(new) - set(old)) for old, new in zip(before, after))


def violations(table, nodes, spread, replicas):
    """How many partitions break a cap: by label, `node` for two copies on one node, and
    `any`.
    """
    cap = caps(nodes, spread, replicas)
    # a node that cannot hold counts like its domain; a domain in which none can hold
    # may hold no copy
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
    """The largest |share - ideal| / ideal; a share on a node that should have none is
    infinitely wrong.
    """
    worst = Fraction(0)
    for name in shares.keys() | ideal.keys():
        share, due = shares.get(name, 0), ideal.get(name, 0)
        if due:
            worst = max(worst, abs(share - due) / due)
        elif share:
            return float("inf")
    return float(worst)
