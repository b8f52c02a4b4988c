"""The least that a step can move, and the least that it can reorder: docs/placement.md,
"What every map keeps", 3, and "Primaries".

Both are minimum-cost flows, in cells, exact. The R nodes of a slice that keep the caps
are the bases of a laminar matroid, and the cost of a set is the sum over its nodes, so
a flow through the domains costs what the best cutting of the slices costs.
"""

from collections import Counter

from comparison import (
    cells_between,
    copies_moved,
    ends,
    is_reordered,
    pieces,
    same_nodes,
)
from domains import caps, chain
from flow import Network
from targets import targets


def moved(old, old_slices, m, slices):
    """What moves between two sets of slices, in cells."""
    return sum(
        cells_between(m, first, end) * copies_moved(p, q)
        for first, end, p, q in pieces(old, old_slices, m, slices)
    )


def reordered(old, old_slices, m, slices):
    """How many cells change their primary although the one before still holds a copy."""
    return sum(
        cells_between(m, first, end) * is_reordered(p, q)
        for first, end, p, q in pieces(old, old_slices, m, slices)
    )


def least_moved(old, old_slices, m):
    """The fewest cells that move on any way from the slices of an old map to the
    targets of the fleet of `m`.
    """
    target = {holder: cells for holder, cells in targets(m).items() if cells}
    groups = groups_of(old, old_slices, m, target)
    network, found = Network(), caps(m)
    inner = {("node", n.name): chain(n, m.spread)[-1] for n in m.nodes}
    for key, cells in groups.items():
        network.add("source", (key, ()), cells * m.replicas)
        for domain in sorted(found, key=len)[1:]:
            network.add((key, domain[:-1]), (key, domain), cells * found[domain])
        for holder in target:
            free = holder in key[1] or is_named(key) and m.replicas > 1
            network.add(
                (key, inner.get(holder, ())),
                ("holder", holder),
                cells,
                0 if free else 1,
            )
    for holder, cells in target.items():
        network.add(("holder", holder), "sink", cells)
    amount, cost = network.send("source", "sink")
    assert amount == m.replicas * m.cells, "the targets cannot be met under the caps"
    # what was held by a named policy moves once, to however many nodes
    return cost + sum(
        cells for key, cells in groups.items() if is_named(key) and m.replicas > 1
    )


def groups_of(old, old_slices, m, target):
    """{the holders of old slices that still are holders: cells}. Slices with the same
    are one: their feasible sets are the same.
    """
    same, groups = same_nodes(old, m), Counter()
    for first, end, policy in ends(old_slices):
        p = old.policies[policy]
        names = (
            [("policy", p.name)]
            if p.named
            else [("node", same.get(old.nodes[i].name)) for i in p.members]
        )
        key = (p.named, frozenset(name for name in names if name in target))
        groups[key] += cells_between(m, first, end)
    return groups


def is_named(key):
    """Whether a group's slices were held by named policies."""
    return key[0]


def primaries(m, slices):
    """{node: the cells whose primary it is} over the slices that unnamed policies hold."""
    count = Counter()
    for first, end, policy in ends(slices):
        p = m.policies[policy]
        if not p.named:
            count[m.nodes[p.members[0]].name] += cells_between(m, first, end)
    return count


def least_reordered(old, old_slices, m, slices):
    """The fewest cells that can be reordered when every slice keeps its nodes and every
    node its number of primaries.
    """
    groups = Counter()
    for first, end, before, after in pieces(old, old_slices, m, slices):
        if not after[0]:
            primary = (
                before[1][0] if not before[0] and before[1][0] in after[1] else None
            )
            groups[primary, frozenset(after[1])] += cells_between(m, first, end)
    network = Network()
    for key, cells in groups.items():
        primary, nodes = key
        network.add("source", key, cells)
        for node in sorted(nodes):
            network.add(
                key, ("node", node), cells, int(primary is not None and node != primary)
            )
    for node, cells in primaries(m, slices).items():
        network.add(("node", node), "sink", cells)
    return network.send("source", "sink")[1]


def primary_numbers(m, slices):
    """{node: how many primaries it is due} by the page's rule of remainders, on slices
    whose nodes all have their targets.

    Every node gets its part rounded down; then one node after the other, by the largest
    remainder, is rounded up if the slices let it be, together with those that were
    rounded up before it.
    """
    target = {
        name: cells for (kind, name), cells in targets(m).items() if kind == "node"
    }
    network, arcs, sets = Network(), {}, Counter()
    for first, end, policy in ends(slices):
        if not m.policies[policy].named:
            sets[tuple(m.policies[policy].members)] += cells_between(m, first, end)
    for members, cells in sets.items():
        network.add("source", members, cells)
        for i in members:
            network.add(members, ("node", m.nodes[i].name), cells)
    for name, cells in target.items():
        arcs[name] = network.add(("node", name), "sink", cells // m.replicas)
    network.send("source", "sink")
    due = {name: cells // m.replicas for name, cells in target.items()}
    for name in sorted(target, key=lambda name: -(target[name] % m.replicas)):
        if target[name] % m.replicas:
            network.room[arcs[name]] += 1
            up = network.send("source", "sink")[0]
            due[name] += up
            network.room[arcs[name]] -= 1 - up
    return due
